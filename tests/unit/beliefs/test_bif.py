"""Networks in the Bayesian interchange format: read in full precision, or refused with the reason."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples import SPRINKLER

from quiltwork import BayesianNetwork, InputError, load_belief
from quiltwork.influence.quilts.inference import Inference, _pyagrum


def test_bif_is_read_in_full_precision(garden: Path) -> None:
    network = load_belief(garden)
    assert isinstance(network, BayesianNetwork)
    assert network.parents["wet grass"] == ("rain", "sprinkler")
    assert network.tables["sprinkler"].tolist() == [[0.6, 0.4], [0.99, 0.01]]
    assert network.tables["wet grass"][0].tolist() == [[0.9, 0.1, 0.0], [0.1, 0.2, 0.7]]
    assert network.tables["wet grass"][1, 1].tolist() == [0.0, 1e-3, 0.999]
    assert network.states == ("no", "yes", "off", "on", "dry", "damp", "wet")


def test_pyagrum_reads_the_same_network_in_single_precision(tmp_path: Path) -> None:
    text = SPRINKLER.replace('"wet grass"', "grass")
    text = text.replace("table 0.6 0.99 0.4 .01", "(no) 0.6, 0.4; (yes) 0.99, 0.01")
    text = text.replace("default 0.1, 0.2, 0.7;", "(no, on) 0.1, 0.2, 0.7; (yes, off) 0.1, 0.2, 0.7;")
    text = (
        text[text.index("variable rain") :].replace("property position = (1, 2);", "").split("/*")[0]
        + (text.split("*/")[1])
    )
    file = tmp_path / "grass.bif"
    file.write_text("network unknown {\n}\n" + text)
    gum: Any = _pyagrum()
    other = gum.loadBN(str(file))
    network = BayesianNetwork.from_bif(file)
    joint, possible = Inference(network).joint([0, 1, 2])
    engine = gum.LazyPropagation(other)
    engine.addJointTarget(set(network.variables))
    theirs = engine.jointPosterior(set(network.variables))
    order = [list(reversed(theirs.names)).index(name) for name in network.variables]
    assert np.allclose(np.transpose(theirs.toarray(), order), joint, atol=1e-6)
    assert not np.array_equal(np.transpose(theirs.toarray(), order), joint)
    assert (possible == (joint > 0)).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("table 0.8, 0.2", "table 0.8, 0.1"), "'rain' must sum to 1, got 0.9"),
        (("(no, off) 0.9, 0.1, 0;", "(no, off) 0.9, 0.2, 0;"), "sum to 1 given (no, off), got 1.1"),
        (("probability ( rain ) { table 0.8, 0.2; }", ""), "none for 'rain'"),
        (("default 0.1, 0.2, 0.7;", ""), "2 missing, the first (no, on)"),
        (("( sprinkler | rain )", "( sprinkler | snow )"), "declared, got 'snow'"),
        (("(yes, on)", "(yes, half)"), "'sprinkler' one of its states, got 'half'"),
        (("(yes, on)", "(yes)"), "each of its 2 parents a state"),
        (("[ 3 ]", "[ 4 ]"), "as many states as it says, got 3, not 4"),
        (("0.8, 0.2", "0.8, 0.1, 0.1"), "must have 2 numbers here, got 3"),
        (("0.8, 0.2", "0.8, lots"), "must consist of numbers"),
        (("0.8, 0.2", "1.2, -0.2"), "not negative"),
        (("probability ( rain ) { table 0.8, 0.2; }", "odds ( rain ) { table 0.8, 0.2; }"), "got odds"),
        (("variable sprinkler", "variable rain"), "declared once"),
        (("type discrete[2]{ off, on }", "type continuous"), "of type discrete"),
        (("0.999;\n}", "0.999\n}"), "';' at the end"),
        (("0.999;\n}", "0.999;"), "the end of the file"),
    ],
)
def test_a_wrong_bif_says_what_is_wrong(change: tuple[str, str], said: str, tmp_path: Path) -> None:
    assert change[0] in SPRINKLER
    (tmp_path / "wrong.bif").write_text(SPRINKLER.replace(*change))
    with pytest.raises(InputError) as problem:
        BayesianNetwork.from_bif(tmp_path / "wrong.bif")
    assert said in str(problem.value)


def test_awkward_but_legal_bif(tmp_path: Path) -> None:
    text = "\ufeffvariable x{type discrete[2]{n//first\n,y/*second*/};}probability(x){table 0.5/*half*/,0.5//rest\n;}"
    (tmp_path / "x.bif").write_text(text, encoding="utf-8")
    assert BayesianNetwork.from_bif(tmp_path / "x.bif").variables == {"x": ("n", "y")}
    for wrong, said in (("(no) 0.5, 0.5; (no) 0.5, 0.5; (yes) 0.5, 0.5;", "appear once"), ("(no) nan, 1;", "finite")):
        (tmp_path / "x.bif").write_text(SPRINKLER.replace("table 0.6 0.99 0.4 .01;", wrong))
        with pytest.raises(InputError, match=said):
            BayesianNetwork.from_bif(tmp_path / "x.bif")
