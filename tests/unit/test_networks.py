"""Networks as files, as beliefs and on the command line: what is read, what is refused, what is shown."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from shell import answer, run

from quiltwork import (
    Accountant,
    BayesianNetwork,
    Count,
    Frequencies,
    Histogram,
    InputError,
    JointTable,
    MarkovChain,
    Mean,
    NetworkSet,
    Noisy,
    NotCoveredError,
    Over,
    QuiltworkError,
    Records,
    ReleaseRecord,
    Sum,
    Tally,
    Transitions,
    audit,
    bayesian_leakage,
    calibrate,
    load_belief,
    parse_query,
    plan,
    read_records,
    release,
    save_belief,
)
from quiltwork.beliefs.graph import Graph
from quiltwork.influence.quilts.inference import Inference, _pyagrum
from quiltwork.papers.reproduce import reproduce
from quiltwork.samples import contagion_belief, household_network, households_path, simulate_households
from quiltwork.show.charts import network_chart
from quiltwork.show.style import to_svg

SPRINKLER = """
network garden { property "made for a test"; }
// the last of several parents changes fastest
variable rain { type discrete [ 2 ] { no, yes }; property position = (1, 2); }
variable sprinkler { type discrete[2]{ off, on }; }
variable "wet grass" { type discrete [ 3 ] { dry, damp, wet }; }
probability ( rain ) { table 0.8, 0.2; }
probability ( sprinkler | rain ) { table 0.6 0.99 0.4 .01; } /* P(off|no), P(off|yes), P(on|no), P(on|yes) */
probability ( "wet grass" | rain, sprinkler ) {
  default 0.1, 0.2, 0.7;
  (no, off) 0.9, 0.1, 0;
  (yes, on) 0.0, 1e-3, 0.999;
}
"""


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    (tmp_path / "garden.bif").write_text(SPRINKLER)
    path = tmp_path / "garden.json"
    path.write_text(json.dumps({"kind": "network", "bif": "garden.bif"}))
    return path


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


def test_a_network_survives_its_file(garden: Path, tmp_path: Path) -> None:
    network = load_belief(garden)
    save_belief(network, tmp_path / "copy.json")
    assert load_belief(tmp_path / "copy.json") == network
    assert load_belief(tmp_path / "copy.json").fingerprint == network.fingerprint
    both = {"kind": "set", "members": [network.to_dict(), {"kind": "network", "bif": "garden.bif"}]}
    (tmp_path / "both.json").write_text(json.dumps(both))
    members = load_belief(tmp_path / "both.json")
    assert isinstance(members, NetworkSet)
    assert members.members == (network, network)
    assert network.summary()["width"] == 2
    assert members.summary()["members"] == 2


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


def test_a_cycle_is_named() -> None:
    row = [[0.5, 0.5], [0.5, 0.5]]
    with pytest.raises(InputError, match=r"must not have a cycle, got . → . → . → .:"):
        BayesianNetwork(
            {"a": "01", "b": "01", "c": "01"},
            parents={"a": ["c"], "b": ["a"], "c": ["b"]},
            tables={"a": row, "b": row, "c": row},
        )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"variables": {}, "tables": {}}, "needs variables"),
        ({"variables": {"a": ["0", "0"]}, "tables": {}}, "a repeated one"),
        ({"variables": {"a": ["0", "1"]}, "tables": {"b": [1]}}, "got 'b'"),
        ({"variables": {"a": ["0", "1"]}, "tables": {"a": [1]}}, "shape 2"),
        ({"variables": {"a": ["0", "1"]}, "tables": {"a": ["x", 1]}}, "numbers in rows"),
        ({"variables": {"a": ["0", "1"]}, "tables": {}, "parents": {"a": ["a", "a"]}}, "must differ"),
        ({"variables": {"a": ["0", "1"]}, "parents": {"a": "b"}, "tables": {}}, "lists by variable"),
        ({"variables": [], "tables": {}}, "needs variables"),
        ({"bif": 3}, "path of a file"),
        ({"bif": "absent.bif"}, "absent.bif cannot be read"),
        ({"bif": "a.bif", "tables": {}}, "no key 'tables'"),
    ],
)
def test_wrong_network_files_are_named(content: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = tmp_path / "belief.json"
    path.write_text(json.dumps({"kind": "network"} | content))
    with pytest.raises(InputError) as problem:
        load_belief(path)
    assert said in str(problem.value)
    done = run("plan", path, "--query", "count:0", "--epsilon", 1, code=2)
    assert len(done.stderr.splitlines()) == 1


def test_sets_of_networks_share_one_graph() -> None:
    coin = BayesianNetwork({"x": "01"}, tables={"x": [0.5, 0.5]})
    with pytest.raises(InputError, match="variables, states and parents of member 1"):
        NetworkSet([coin, BayesianNetwork({"y": "01"}, tables={"y": [0.5, 0.5]})])
    with pytest.raises(InputError, match="networks as members"):
        NetworkSet([coin, MarkovChain([[1.0]])])  # type: ignore[list-item]
    with pytest.raises(InputError, match="none"):
        NetworkSet([])
    with pytest.raises(InputError, match="single belief"):
        NetworkSet(coin)  # type: ignore[arg-type]


def dense(count: int) -> BayesianNetwork:
    names = [f"v{n}" for n in range(count)]
    half = [0.5, 0.5]
    tables = {name: np.full((2,) * n + (2,), 0.5) if n < 6 else half for n, name in enumerate(names)}
    parents = {name: names[:n] if n < 6 else [] for n, name in enumerate(names)}
    return BayesianNetwork(dict.fromkeys(names, "01"), parents=parents, tables=tables)


def test_a_dense_network_says_its_width_and_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    network = dense(7)
    assert network.width == (6, 6.0)
    monkeypatch.setattr("quiltwork.influence.quilts.inference.WIDEST", 5.0)
    with pytest.raises(NotCoveredError, match=r"width 5: a table of 6 variables with 2\^6 entries: the limit is 2\^5"):
        calibrate(Count("1"), belief=network, epsilon=1.0, mechanism="quilt-exact")
    offers = {offer.mechanism: offer for offer in plan(Count("1"), belief=network, epsilon=1.0).offers}
    assert "width 5" in (offers["quilt-exact"].refused or "")
    assert offers["group"].noise_scale == pytest.approx(6.0)


def test_without_pyagrum_the_install_command_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyagrum", None)
    with pytest.raises(InputError, match=r'pip install "quiltwork\[networks\]"'):
        calibrate(Count("yes"), belief=contagion_belief(), epsilon=1.0)
    tree = BayesianNetwork.from_chain(MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[0.5, 0.5]), 3)
    assert calibrate(Count("1"), belief=tree, epsilon=1.0).mechanism == "curve"


def test_the_household_of_the_paper() -> None:
    """Four people, infected with probabilities (.1, .15, .5, .15, .1) on 0..4: W = 2, group privacy 4 (A section 3)."""
    household = contagion_belief()
    infected = household.all_outcomes.codes.sum(axis=1)
    law = [math.fsum(np.exp(household.all_outcomes.logs[infected == n])) for n in range(5)]
    assert law == pytest.approx([0.1, 0.15, 0.5, 0.15, 0.1])
    scales = {
        name: calibrate(Count("yes"), belief=household, epsilon=1.0, mechanism=name).noise_scale
        for name in ("wasserstein", "group", "quilt-exact", "audited")
    }
    assert scales["wasserstein"] == pytest.approx(2.0)
    assert scales["group"] == pytest.approx(4.0)
    assert scales["audited"] <= scales["quilt-exact"] <= scales["group"]
    for name, scale in scales.items():
        assert audit(household, [Noisy(Count("yes"), scale)]).epsilon <= 1 + 1e-6, name


def test_independent_households_need_no_more_than_the_hardest() -> None:
    laws = {("a", "b", "c", "d"): (0.1, 0.15, 0.5, 0.15, 0.1), ("e", "f"): (0.6, 0.1, 0.3)}
    street = household_network(laws)
    for name in ("wasserstein", "group", "quilt-exact"):
        alone = [
            calibrate(Count("yes"), belief=household_network({who: law}), epsilon=1.0, mechanism=name).noise_scale
            for who, law in laws.items()
        ]
        together = calibrate(Count("yes"), belief=street, epsilon=1.0, mechanism=name).noise_scale
        assert together == pytest.approx(max(alone))
    with pytest.raises(InputError, match="law of 3 numbers"):
        household_network({("a", "b"): (0.5, 0.5)})


def test_the_shipped_households_are_the_simulated_ones() -> None:
    assert pl.read_csv(households_path()).equals(simulate_households())


def test_contagion_is_reproduced(tmp_path: Path) -> None:
    made = reproduce("contagion", tmp_path)
    scales = {row["mechanism"]: row["noise scale"] for row in made.rows if row["households"].startswith("one")}
    assert scales["wasserstein"] == pytest.approx(2.0)
    assert scales["group"] == pytest.approx(4.0)
    assert {file.suffix for file in made.files} == {".csv", ".svg", ".png"}


def test_queries_about_some_variables() -> None:
    variables = {"visits": ("0", "1", "2"), "nights": ("0", "10"), "flu": ("no", "yes")}
    found = Over(Sum(), {"visits": 1, "nights": 2.5}).by_variable(variables)
    assert found.lipschitz_by_variable == pytest.approx((2.0, 25.0, 0.0))
    assert float(found.unit) * found.total([np.array([1, 0, 2]), np.array([1, 2]), np.array([3, 0])]) == pytest.approx(
        [2 * 2 + 2.5 * 20]
    )
    assert Tally({"visits": ["1", "2"], "flu": "yes"}).by_variable(variables).lipschitz_by_variable == (1.0, 0.0, 1.0)
    histogram = Histogram().by_variable(variables)
    assert histogram.states == ("0", "1", "2", "10", "no", "yes")
    assert histogram.lipschitz_by_variable == (2.0, 2.0, 2.0)
    assert Over(Mean(), ["visits", "nights"]).by_variable(variables).asked == 2
    for text in (
        "count:yes over flu",
        "sum over visits,nights=2.5",
        "tally:visits=1|2,flu=yes",
        "mean over flu",
    ):
        assert parse_query(text).text == text
    wrong: list[tuple[Any, str]] = [
        (lambda: Over(Count("yes"), ["snow"]).by_variable(variables), "'snow'"),
        (lambda: Tally({"flu": "maybe"}).by_variable(variables), "Choose from no, yes"),
        (lambda: Over(Mean(), {"visits": 2}), "takes no weights"),
        (lambda: Over(Count("yes"), "flu"), "list of variables"),
        (lambda: Over(Count("yes"), {"flu": math.inf}).text, "finite numbers"),
        (lambda: Over(Tally({"flu": "yes"}), ["flu"]), "without names of its own"),
        (lambda: parse_query("tally:flu"), "VARIABLE=STATE"),
        (lambda: parse_query("sum over a=1,a=2"), "once"),
        (lambda: parse_query("tally:a=1,a=2"), "once"),
        (lambda: Transitions().by_variable(variables), "need a series"),
        (lambda: Tally({}), "needs variables"),
    ]
    for ask, said in wrong:
        with pytest.raises(InputError, match=said):
            ask()
    with pytest.raises(InputError, match="asks named variables"):
        calibrate("count:1 over X1", belief=MarkovChain([[0.5, 0.5], [0.5, 0.5]]), epsilon=1.0, length=3)


def test_records_are_released() -> None:
    household = contagion_belief()
    rows = simulate_households().to_dicts()
    made = release(rows, "count:yes", belief=household, epsilon=50.0, mechanism="wasserstein")
    truth = int((simulate_households().to_numpy() == "yes").sum())
    assert abs(made.value - truth) <= made.error(0.999999)
    assert (made.subjects, made.values) == (250, 1000)
    assert "of any variable" in made.explain()
    shares = release(simulate_households().to_dicts(), Frequencies(), belief=household, epsilon=50.0)
    assert shares.divisor == 1000
    assert shares.value["yes"] == pytest.approx(truth / 1000, abs=shares.error(0.999999))
    record = made.record()
    assert record.query == Count("yes")
    assert Accountant(household, releases=[ReleaseRecord.from_dict(record.to_dict())]).composed().epsilon <= 50.0 * (
        1 + 1e-9
    )
    with pytest.raises(NotCoveredError, match="comparison only"):
        release(simulate_households().to_dicts(), "count:yes", belief=household, epsilon=1.0, mechanism="entry")


def test_records_in_all_their_forms(tmp_path: Path) -> None:
    household = contagion_belief()
    wide = read_records(households_path(), belief=household)
    frame = simulate_households().with_row_index("house")
    long = frame.unpivot(index="house", variable_name="person", value_name="flu")
    long.write_csv(tmp_path / "long.csv")
    named = read_records(tmp_path / "long.csv", belief=household, column="flu", variable="person", subject="house")
    assert [c.tolist() for c in named.counts()] == [c.tolist() for c in wide.counts()]
    in_order = read_records(tmp_path / "long.csv", belief=household, column="flu", subject="house")
    assert in_order.codes.tolist() == named.codes.tolist()
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"column": "flu", "variable": "person"}, "two for one of them"),
        ({"column": "flu"}, "with another number"),
        ({"column": "fever"}, "columns 'house', 'person', 'flu'"),
        ({}, "'ann'"),
        ({"column": "flu", "variable": "flu"}, "different columns"),
        ({"column": "flu", "variable": "house", "subject": "person"}, "about others"),
    ]
    for options, said in wrong:
        with pytest.raises(InputError, match=said):
            read_records(tmp_path / "long.csv", belief=household, **options)
    (tmp_path / "holes.csv").write_text("ann,bob,cem,dea\nyes,,no,no\n")
    with pytest.raises(InputError, match="'bob' must have a value in every record, got 1 missing"):
        read_records(tmp_path / "holes.csv", belief=household)
    (tmp_path / "other.csv").write_text("ann,bob,cem,dea\nyes,secretive,no,no\n")
    with pytest.raises(InputError) as problem:
        read_records(tmp_path / "other.csv", belief=household)
    assert "secretive" not in str(problem.value)
    (tmp_path / "none.csv").write_text("ann,bob,cem,dea\n")
    with pytest.raises(InputError, match="at least one record"):
        read_records(tmp_path / "none.csv", belief=household)
    with pytest.raises(InputError, match="one without 'bob'"):
        Records.from_rows([{"ann": "yes"}], variables=household.variables)
    with pytest.raises(InputError, match="must be records"):
        release("yes", "count:yes", belief=household, epsilon=1.0)
    with pytest.raises(InputError, match="must be a series"):
        release(wide, "count:yes", belief=MarkovChain([[1.0]], states=["yes"]), epsilon=1.0)


def test_the_command_takes_networks(garden: Path, tmp_path: Path) -> None:
    made = answer("plan", garden, "--query", "count:yes over rain", "--epsilon", 1, "--out", tmp_path / "plan.html")
    quilts = next(m for m in made["mechanisms"] if m["mechanism"] == "quilt-exact")
    assert quilts["detail"]["node"] in ("rain", "sprinkler", "wet grass")
    assert quilts["detail"]["complete"] is True
    assert "quilt" in (tmp_path / "plan.html").read_text()
    exact = answer("audit", garden, "--query", "count:yes over rain", "--noise-scale", quilts["noise_scale"])
    assert exact["epsilon"] <= 1 + 1e-9
    assert exact["node"] in ("rain", "sprinkler", "wet grass")
    knowing = answer("audit", garden, "--query", "count:yes over rain", "--noise-scale", 2, "--know", "sprinkler=on")
    assert knowing["epsilon"] > 0
    leaked = answer("leakage", garden, "--query", "count:yes over rain", "--noise-scale", 2)
    assert leaked["method"] == "enumeration"
    assert leaked["epsilon"] >= knowing["epsilon"]
    data = tmp_path / "gardens.csv"
    data.write_text("rain,sprinkler,wet grass\nno,off,dry\nyes,on,wet\n")
    options = ("--belief", garden, "--query", "count:yes over rain", "--epsilon", 1)
    released = answer("release", data, *options, "--out", tmp_path / "release.html")
    assert released["guarantee"] == "pufferfish"
    assert "Parents above children" in (tmp_path / "release.html").read_text()
    log = tmp_path / "releases.json"
    log.write_text(json.dumps([released["record"], released["record"]]))
    composed = answer("compose", garden, log)
    assert composed["rule"] in ("same-quilts", "group")  # here they say the same
    assert 1 <= composed["epsilon"] <= 2 * (1 + 1e-6)
    log.write_text(json.dumps([{"mechanism": "quilt-exact", "epsilon": 1}, {"mechanism": "quilt-exact", "epsilon": 2}]))
    refused = run("compose", garden, log, code=4)
    assert "group: release 1 does not say" in refused.stderr
    log.write_text(json.dumps([released["record"] | {"segment": [1, 2]}]))
    assert "has no segment" in run("compose", garden, log, code=2).stderr
    assert "got --segment" in run("release", data, *options, "--segment", "1:2", code=2).stderr
    assert "column of values is needed" in run("release", data, *options, "--variable", "rain", code=2).stderr
    assert answer("belief", "show", garden)["variables"] == 3
    histogram = ("--query", "histogram", "--epsilon", 1)
    small = answer("plan", garden, *histogram, "--quilt-size", 1, "--mechanism", "quilt-exact")
    assert small["mechanisms"][0]["detail"]["quilt_size"] == 1
    assert "from 1 to 8" in run("plan", garden, *histogram, "--quilt-size", 9, code=2).stderr
    assert "a length is needed" in _plan_of_a_chain(tmp_path).stderr
    wrong = run("plan", garden, "--query", "histogram", "--epsilon", 1, "--length", 7, code=2)
    assert "7 for 3 variables" in wrong.stderr


def _plan_of_a_chain(folder: Path) -> Any:
    path = folder / "chain.json"
    path.write_text(json.dumps({"kind": "chain", "transition": [[0.5, 0.5], [0.5, 0.5]]}))
    return run("plan", path, "--query", "histogram", "--epsilon", 1, code=2)


def test_composition_on_a_network_adds_e_once() -> None:
    """K equal releases cost less than K times one: through a quilt its max-influence is told once, not K times."""
    household = contagion_belief()
    one = calibrate(Count("yes"), belief=household, epsilon=1.0, mechanism="quilt-exact")
    record = ReleaseRecord(mechanism="quilt-exact", epsilon=1.0, noise_scale=one.noise_scale, query="count:yes")
    composed = Accountant(household, releases=[record] * 3).composed()
    assert composed.rule == "same-quilts"
    assert 1.0 < composed.epsilon <= 3 - 2 * one.detail()["max_influence"] + 1e-9
    assert audit(household, [Noisy(Count("yes"), one.noise_scale)] * 3).epsilon <= composed.epsilon
    lie = ReleaseRecord(mechanism="quilt-exact", epsilon=0.01, noise_scale=one.noise_scale, query="count:yes")
    honest = Accountant(household, releases=[lie]).composed()
    assert honest.epsilon == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(InputError, match="has no segment"):
        Accountant(household, releases=[ReleaseRecord(noise_scale=1.0, lipschitz=1.0, segment=(1, 2))])


def test_trees_compose_by_profiles_and_hold_against_all_adversaries() -> None:
    star = BayesianNetwork(
        dict.fromkeys(("hub", "a", "b", "c"), "01"),
        parents={"a": ["hub"], "b": ["hub"], "c": ["hub"]},
        tables={"hub": [0.5, 0.5], **{name: [[0.7, 0.3], [0.3, 0.7]] for name in "abc"}},
    )
    bayesian = calibrate(Count("1"), belief=star, epsilon=1.0, guarantee="bayesian")
    assert bayesian.guarantee == "bayesian"
    exact = bayesian_leakage(star, "count:1", noise_scale=bayesian.noise_scale)
    bound = bayesian_leakage(star, "count:1", noise_scale=bayesian.noise_scale, method="projective")
    assert exact.epsilon <= bound.epsilon == pytest.approx(1.0, rel=1e-5)
    plain = calibrate(Count("1"), belief=star, epsilon=1.0)
    assert plain.noise_scale < bayesian.noise_scale
    record = ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=plain.noise_scale, query="count:1")
    composed = Accountant(star, releases=[record, record]).composed()
    assert composed.rule == "influence-curve"
    assert audit(star, [Noisy(Count("1"), plain.noise_scale)] * 2).epsilon <= composed.epsilon
    with pytest.raises(NotCoveredError, match="needs a tree, got 'cem' with 2 parents"):
        calibrate(Count("yes"), belief=contagion_belief(), epsilon=1.0, mechanism="curve")
    with pytest.raises(NotCoveredError, match="no Bayesian promise"):
        calibrate(Count("yes"), belief=contagion_belief(), epsilon=1.0, guarantee="bayesian")
    with pytest.raises(NotCoveredError, match="tree, or small enough"):
        bayesian_leakage(contagion_belief(), "count:yes", noise_scale=1.0, method="projective")


def test_quilt_size_is_for_networks() -> None:
    with pytest.raises(InputError, match="for quilt-exact on a network"):
        calibrate("count:0", belief=MarkovChain([[0.5, 0.5], [0.5, 0.5]]), epsilon=1.0, length=3, quilt_size=2)


def test_the_picture_shows_every_part() -> None:
    chain = MarkovChain([[0.7, 0.3], [0.4, 0.6]], initial="stationary")
    path = BayesianNetwork.from_chain(chain, 9)
    made = calibrate(Count("1"), belief=path, epsilon=1.0, mechanism="quilt-exact")
    svg = to_svg(network_chart(path, made))
    for text in ("X1", "X9", "hardest to hide", "near (covered", "remote (independent", "quilt"):
        assert text in svg
    assert "hardest" not in to_svg(network_chart(path))


def test_a_graph_knows_its_order_and_width() -> None:
    grid = Graph(((), (0,), (0,), (1, 2)))
    assert grid.order.index(3) == 3
    together, bits = grid.widest([2, 3, 5, 7])
    assert (together, round(2**bits)) == (3, 3 * 5 * 7)
    assert Graph(((), ())).components == ((0,), (1,))


def test_every_error_is_ours() -> None:
    with pytest.raises(QuiltworkError):
        BayesianNetwork.from_chain(MarkovChain([[1.0]]), 3)


@pytest.mark.parametrize(
    ("transition", "start", "length"),
    [
        ([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.01, 0.0, 0.99]], [0.5, 0.5, 1e-17], 6),
        ([[1 - 1e-30, 1e-30], [0.5, 0.5]], [1.0, 1e-17], 6),
        ([[1 - 1e-20, 1e-20], [0.1, 0.9]], [1 - 3e-16, 3e-16], 8),
    ],
)
def test_a_rare_start_is_not_taken_for_the_stationary_one(
    transition: list[list[float]], start: list[float], length: int
) -> None:
    states = ["0", "1", "100"][: len(start)]
    path = BayesianNetwork.from_chain(MarkovChain(transition, initial=start, states=states), length)
    for guarantee in ("pufferfish", "bayesian"):
        made = calibrate(Sum(), belief=path, epsilon=1.0, guarantee=guarantee)
        assert audit(path, [Noisy(Sum(), made.noise_scale)]).epsilon <= 1 + 1e-9


def test_a_record_says_all_of_its_query() -> None:
    """Also what its text does not: the values of a sum, and a variable whose name looks like a weight."""
    network = BayesianNetwork({"A": ["1", "2", "3"]}, tables={"A": [0.4, 0.3, 0.3]})
    queries = [Sum({"1": 0, "2": 100, "3": 100}), Count("2")]
    made = [release([{"A": "1"}], query, belief=network, epsilon=1.0) for query in queries]
    records = [ReleaseRecord.from_dict(one.record().to_dict()) for one in made]
    assert [record.query.to_dict() for record in records] == [query.to_dict() for query in queries]  # type: ignore[union-attr]
    exact = audit(network, [Noisy(q, one.noise_scale) for q, one in zip(queries, made, strict=True)]).epsilon
    assert Accountant(network, releases=records).composed().epsilon >= exact - 1e-9
    odd = BayesianNetwork({"a=2": "01", "a": "01"}, tables={"a=2": [0.5, 0.5], "a": [0.5, 0.5]})
    asked = release([{"a=2": "0", "a": "1"}], Over(Sum(), ["a=2"]), belief=odd, epsilon=1.0).record()
    profile = ReleaseRecord.from_dict(asked.to_dict()).profile(odd)
    assert profile is not None
    assert [bool(matrix.any()) for matrix in profile] == [True, False]


def test_weights_do_not_wrap_around() -> None:
    network = BayesianNetwork({"a": ["0", "1", "8"], "b": ["0", "1"]}, tables={"a": [0.5, 0, 0.5], "b": [0.5, 0.5]})
    for weight in (2**61, 2**62, 1e30):
        with pytest.raises(InputError, match=r"2\^62 steps"):
            calibrate(Over(Sum(), {"a": weight, "b": 1}), belief=network, epsilon=1.0)
    with pytest.raises(InputError, match="finite numbers"):
        Over(Sum(), {"a": "1/0"})


def test_what_one_member_of_a_set_rules_out_others_may_know() -> None:
    sure, unsure = (
        BayesianNetwork(
            {"x": "01", "y": "01"}, parents={"y": "x"}, tables={"x": [0.5, 0.5], "y": [[p, 1 - p], [0.4, 0.6]]}
        )
        for p in (1.0, 0.8)
    )
    never = BayesianNetwork({"x": "01", "y": "01"}, parents={"y": "x"}, tables={"x": [0.5, 0.5], "y": [[1, 0], [1, 0]]})
    noisy, known = [Noisy(Count("1"), 1.0)], {"y": "1"}
    both = audit(NetworkSet([unsure, never]), noisy, know=known)
    assert both.epsilon == audit(unsure, noisy, know=known).epsilon
    with pytest.raises(InputError, match="possible under the belief"):
        audit(NetworkSet([never, never]), noisy, know=known)
    assert audit(NetworkSet([sure, unsure]), noisy, know=known).epsilon > 0


def test_joint_tables_compose_what_they_release() -> None:
    table = JointTable({"x": "01", "y": "01"}, [(("0", "0"), 0.5), (("1", "1"), 0.5)])
    made = release([{"x": "0", "y": "0"}], "count:1 over x", belief=table, epsilon=1.0)
    record = ReleaseRecord.from_dict(made.record().to_dict())
    assert Accountant(table, releases=[record]).composed().epsilon == pytest.approx(1.0)


def test_awkward_but_legal_bif(tmp_path: Path) -> None:
    text = "\ufeffvariable x{type discrete[2]{n//first\n,y/*second*/};}probability(x){table 0.5/*half*/,0.5//rest\n;}"
    (tmp_path / "x.bif").write_text(text, encoding="utf-8")
    assert BayesianNetwork.from_bif(tmp_path / "x.bif").variables == {"x": ("n", "y")}
    for wrong, said in (("(no) 0.5, 0.5; (no) 0.5, 0.5; (yes) 0.5, 0.5;", "stand once"), ("(no) nan, 1;", "finite")):
        (tmp_path / "x.bif").write_text(SPRINKLER.replace("table 0.6 0.99 0.4 .01;", wrong))
        with pytest.raises(InputError, match=said):
            BayesianNetwork.from_bif(tmp_path / "x.bif")


def test_noise_too_small_to_say_anything_is_refused() -> None:
    record = ReleaseRecord(noise_scale=1e-310, lipschitz=1.0)
    with pytest.raises(NotCoveredError, match="too little noise"):
        Accountant(contagion_belief(), releases=[record, record]).composed()
    claim = ReleaseRecord(mechanism="gk16", epsilon=0.01, noise_scale=0.5, lipschitz=1.0)
    assert Accountant(contagion_belief(), releases=[claim]).composed().epsilon > 1.0
    nearly_sure = MarkovChain([[2e-24, 1.0], [1.0, 7e-30]], initial=[0.5, 0.5])
    with pytest.raises(NotCoveredError, match="gk16 does not apply"):
        calibrate(Count("0"), belief=nearly_sure, epsilon=1.0, length=3, mechanism="gk16")


def test_means_are_divided_by_what_was_asked(garden: Path, tmp_path: Path) -> None:
    data = tmp_path / "gardens.csv"
    data.write_text("rain,sprinkler,wet grass\n" + "no,off,dry\nyes,on,wet\n" * 50)
    options = ("--belief", garden, "--query", "frequencies over rain", "--epsilon", 1)
    made = answer("release", data, *options, "--out", tmp_path / "r.html")
    assert made["noise_scale"] == pytest.approx(made["record"]["noise_scale"] / 100)
    shown = (tmp_path / "r.html").read_text()
    assert f">{made['noise_scale']:.4g}<" in shown
    audited = answer(
        "audit", garden, "--query", "frequencies over rain", "--noise-scale", made["noise_scale"], "--values", 100
    )
    assert audited["epsilon"] <= 1 + 1e-9


def test_small_mistakes_get_an_answer(garden: Path, tmp_path: Path) -> None:
    wrong: list[tuple[tuple[object, ...], int, str]] = [
        (("plan", garden, "--query", "sum over rain=1e200", "--epsilon", 1), 2, "between 1e-50 and 1e50"),
        (("plan", garden, "--query", "count:yes over rain=0", "--epsilon", 1), 2, "not asked"),
        (("plan", garden, "--query", "transitions over rain", "--epsilon", 1), 2, "need a series"),
        (("plan", garden, "--query", "histogram", "--epsilon", 1, "--quilt-size", 0), 2, "from 1 to 8"),
        (
            ("plan", garden, "--query", "histogram", "--epsilon", 1, "--guarantee", "bayesian", "--mechanism", "curve"),
            4,
            "Use group",
        ),
        (("leakage", garden, "--query", "count:yes", "--noise-scale", 1, "--seconds", 0), 2, "must be positive"),
        (("audit", garden, "--query", "mean", "--noise-scale", 1, "--values", 0), 2, "at least 1"),
    ]
    for arguments, code, said in wrong:
        assert said in run(*arguments, code=code).stderr
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "twice.json").write_text('{"kind": "mixing", "states": 2, "states": 3, "pi_min": 0.1, "gap": 0.2}')
    (tmp_path / "none.json").write_text('{"kind": "network"}')
    for name, said in (("deep", "nested"), ("twice", "'states' twice"), ("none", "bif")):
        with pytest.raises(InputError, match=said):
            load_belief(tmp_path / f"{name}.json")
    assert load_belief(garden.with_suffix(".bif")) == load_belief(garden)
    (tmp_path / "twice.csv").write_text("rain,rain,sprinkler,wet grass\nno,yes,off,dry\n")
    network = load_belief(garden)
    assert isinstance(network, BayesianNetwork)
    with pytest.raises(InputError, match="'rain' more than once"):
        read_records(tmp_path / "twice.csv", belief=network)
    with pytest.raises(InputError, match="mapping of variables"):
        release([["no", "off", "dry"]], "count:no", belief=network, epsilon=1.0)
    assert parse_query("histogram  over  rain , sprinkler").text == "histogram over rain,sprinkler"
    assert parse_query("tally: rain = yes | no").text == "tally:rain=yes|no"


def test_several_quilt_releases_share_one_quilt() -> None:
    household = contagion_belief()
    one = plan("count:yes", belief=household, epsilon=1.0, mechanisms=["quilt-exact"]).offers[0]
    three = plan("count:yes", belief=household, epsilon=1.0, mechanisms=["quilt-exact"], releases=3).offers[0]
    assert three.rule == "same-quilts"
    assert three.noise_scale == pytest.approx(3 * (one.noise_scale or 0.0))
    record = ReleaseRecord(noise_scale=three.noise_scale, query="count:yes")
    assert Accountant(household, releases=[record] * 3).composed().epsilon <= 1 + 1e-9


def test_ordinary_dp_on_networks() -> None:
    from quiltwork import entry_epsilon, entry_guarantee

    tree = BayesianNetwork.from_chain(MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[0.5, 0.5]), 4)
    found = entry_guarantee(tree, 0.3)
    assert found.epsilon > 0.3
    assert entry_epsilon(tree, found.epsilon).epsilon_dp == pytest.approx(0.3, rel=1e-3)
    assert entry_guarantee(contagion_belief(), 0.3).epsilon > 0.3


def test_a_false_epsilon_is_not_believed_on_a_joint_table() -> None:
    table = JointTable({"x": "01", "y": "01"}, [(("0", "0"), 0.5), (("1", "1"), 0.5)])
    exact = audit(table, [Noisy(Count("1"), 0.5)]).epsilon
    for mechanism in ("wasserstein", "audited", "group"):
        claim = ReleaseRecord(mechanism=mechanism, epsilon=0.01, noise_scale=0.5, query="count:1")
        composed = Accountant(table, releases=[claim]).composed()
        assert composed.epsilon == pytest.approx(4.0)
        assert composed.rule == "group"
        assert "epsilon = 0.01, but tells 4" in next(f.why or "" for f in composed.rules if f.rule == "single-release")
        honest = ReleaseRecord(mechanism=mechanism, epsilon=exact, noise_scale=0.5, query="count:1")
        assert Accountant(table, releases=[honest]).composed().epsilon == pytest.approx(exact)
