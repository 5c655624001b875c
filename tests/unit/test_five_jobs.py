"""Five jobs that people come for: the code of docs/how-to/five-jobs.md runs as it stands, in at most twelve lines."""

import inspect
import re
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from examples import COIN

from quiltwork import BudgetError, QuiltworkError, Release, Session, check_belief, fit_belief, release
from quiltwork.data.held import Reads
from quiltwork.fields import declared
from quiltwork.job import READING, Data

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "five-jobs.md"
MOST_LINES = 12


def job(title: str) -> dict[str, Any]:
    """Run the code under a heading; what its names stand for afterwards."""
    section = PAGE.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, flags=re.S)
    assert sum(bool(line.strip()) for line in code.splitlines()) <= MOST_LINES
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - the code of the documents
    return names


def test_every_job_is_run_here() -> None:
    tested = re.findall(r'job\("(.*)"\)', Path(__file__).read_text())
    assert re.findall(r"^## (.*)$", PAGE.read_text(), flags=re.M) == tested[: len(tested)]
    assert len(tested) == PAGE.read_text().count("```python") == 5


def test_a_histogram(capsys: pytest.CaptureFixture[str]) -> None:
    result = job("A histogram of a table")["result"]
    assert sum(result.value.values()) == 400
    assert result.verify() <= result.epsilon == 1.0
    assert (result.mechanism, result.guarantee) == ("curve", "pufferfish")
    assert "histogram by curve" in capsys.readouterr().out


def test_fit_check_and_release() -> None:
    made = job("Fit a belief to public data, check it, release")
    assert made["check"].outcome == "holds"
    assert made["result"].belief == made["fit"].belief
    assert made["result"].checked.outcome == "holds"
    assert 0.2 < made["result"].value < 0.5


def test_a_budget() -> None:
    made = job("Several releases within a budget")
    assert len(made["by_day"].parts) == 28
    assert 0.5 < made["session"].spent() <= 0.9
    with pytest.raises(BudgetError):
        made["session"].release("transitions", epsilon=0.3)


def test_households() -> None:
    made = job("Records of households")
    assert made["both_ill"].subjects == made["ill"].subjects == 250


def test_an_audit() -> None:
    made = job("Audit what was released")
    assert 0.5 < made["exact"].epsilon <= made["accountant"].epsilon
    assert len(made["accountant"].releases) == 2
    assert all(isinstance(one, Release) for one in made["releases"])


def test_what_says_how_a_table_is_read_is_said_once() -> None:
    """The keywords of every function that reads data are those of the record of how data are read."""
    for function in (release, Session, fit_belief, check_belief):
        parameters = inspect.signature(function).parameters
        for name, kind in get_type_hints(Reads).items():
            assert parameters[name].default == declared(Data)[name].default, name
            assert kind == declared(Data)[name].type, name
            assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    assert set(READING) - set(Reads.__annotations__) == {"gaps"}
    for function in (release, Session):
        assert inspect.signature(function).parameters["gaps"].default == declared(Data)["gaps"].default


def test_what_is_no_keyword_is_refused() -> None:
    with pytest.raises(TypeError, match=r"'colum'\. Did you mean 'column'"):
        release([], "histogram", belief=None, epsilon=1.0, colum="a")  # type: ignore[call-arg, arg-type]
    with pytest.raises(QuiltworkError, match="column= says how a file or a table is read"):
        release(["0", "1"], "histogram", belief=COIN, epsilon=1.0, column="a")
