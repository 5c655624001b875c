"""What is noise only is refused before anything is spent, and drawn as ranges where it is wanted anyway."""

import json
import re
from pathlib import Path
from typing import Any

import oracle
import pytest
from shell import run

from quiltwork import GaussianBelief, Histogram, MarkovChain, Series, Session, release
from quiltwork.data.measured import Measurements
from quiltwork.errors import NoiseOnlyError
from quiltwork.releases.answer import PartAnswer
from quiltwork.releases.result import Release
from quiltwork.view.charts.releases import numbers_drawn, release_chart
from quiltwork.view.charts.style import to_spec
from quiltwork.view.files import as_markdown
from quiltwork.view.of_release import caption, table_of

CHAIN = MarkovChain([[0.95, 0.05], [0.1, 0.9]], initial="stationary", states=["sit", "walk"])
DATA = ["sit", "sit", "walk"] * 100
POWER = GaussianBelief({"ar1": 0.9}, distance=1.0, unit="kW", spread=4.0)


def poor(query: Any = "histogram", **options: Any) -> Release:
    return release(DATA, query, belief=CHAIN, epsilon=0.1, anyway=True, **options)


def marks(chart: Any) -> set[str]:
    """The kinds of marks of a picture."""
    found, pending = set(), [to_spec(chart)]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            if "mark" in one:
                found.add(one["mark"]["type"] if isinstance(one["mark"], dict) else one["mark"])
            pending += one.values()
        elif isinstance(one, list):
            pending += one
    return found


def test_nothing_is_spent_on_noise() -> None:
    session = Session(DATA, belief=CHAIN, budget=1.0)
    with pytest.raises(NoiseOnlyError, match="would be noise only") as told:
        session.histogram(epsilon=0.1)
    assert told.value.exit_code == 4
    assert session.spent() == 0
    for said in ("it takes ε = ", "people", "anyway"):
        assert said in str(told.value)
    session.histogram(epsilon=0.1, anyway=True)
    assert session.spent() > 0


def test_windows_name_longer_ones_and_the_whole_period() -> None:
    series = Measurements.of_numbers([1.0, 2.0] * 2000)
    with pytest.raises(NoiseOnlyError, match=r"for 40 of 40 parts.*one answer about the whole period"):
        release(series, "mean", belief=POWER, epsilon=0.2, window=100)
    assert not release(series, "mean", belief=POWER, epsilon=0.2).answers[0].pure_noise


def test_real_values_need_a_spread_to_be_judged() -> None:
    series = Measurements.of_numbers([1.0, 2.0] * 50)
    with pytest.raises(NoiseOnlyError, match="it can only vary by 4"):
        release(series, "mean", belief=POWER, epsilon=0.1)
    silent = GaussianBelief({"ar1": 0.9}, distance=1.0)
    assert release(series, "mean", belief=silent, epsilon=0.1).value is not None
    with pytest.raises(NoiseOnlyError):
        release(series, "mean", belief=silent, epsilon=0.1, spread=2.0)
    assert release(series, "mean", belief=silent, epsilon=0.1, spread=1e4).value is not None


@pytest.mark.parametrize(
    ("query", "options", "shown"),
    [
        ("histogram", {}, {"rule"}),
        ("count:walk", {}, {"rule"}),
        ("histogram", {"window": 100}, {"rule"}),
        ("transitions", {}, {"rect", "text"}),
    ],
)
def test_it_is_drawn_as_grey_ranges(query: str, options: dict[str, Any], shown: set[str]) -> None:
    result = poor(query, **options)
    assert marks(release_chart(result)) <= shown  # lines and areas have no rows: what is noise only is filtered out
    assert caption(result).startswith("Noise only.")
    texts = [str(result), as_markdown(result), json.dumps(table_of(result))]
    assert not any(re.search(r"\d ± \d", text) for text in texts)
    assert all("noise only" in text for text in texts)
    assert result.to_dict()["noise_only"] is True
    assert "noise only" in " ".join(result.notes)


def test_every_range_is_all_that_is_possible() -> None:
    """Of many windows some draws are far out: what is left of their ranges would look like a finding."""
    for _ in range(20):
        result = poor("count:walk", window=10)
        assert {row["count:walk"] for row in table_of(result)} == {"0 to 10"}
        assert {(drawn.low, drawn.high) for drawn in numbers_drawn(result)} == {(0.0, 10.0)}
        assert result.consistent is None


def test_nothing_follows_from_noise() -> None:
    result = poor("top:1")
    assert result.derived is None
    assert result.answers[0].told is None
    assert result.to_polars()["noise_only"].all()


def test_parts_that_are_precise_enough_stay_as_they_are() -> None:
    values = ["sit", "walk"] * 400
    whose = ["ann"] * 780 + ["bob"] * 20
    series = Series.from_values(values, states=CHAIN.states, subject=whose)
    with pytest.raises(NoiseOnlyError, match="for 1 of 2 parts"):
        release(series, "count:walk", belief=CHAIN, epsilon=1.0, by_subject=True)
    result = release(series, "count:walk", belief=CHAIN, epsilon=1.0, by_subject=True, anyway=True)
    assert [part.pure_noise for part in result.parts] == [False, True]
    assert {"rule", "point"} <= marks(release_chart(result))
    rows = table_of(result)
    assert [row[" "] for row in rows] == ["", "noise only"]
    assert " to " in rows[1]["count:walk"]


def test_the_command_refuses_with_its_own_code(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("doing\n" + "\n".join(DATA) + "\n")
    (tmp_path / "belief.json").write_text(json.dumps(CHAIN.to_dict()))
    options: list[Any] = ["release", tmp_path / "data.csv", "--column", "doing", "--belief", tmp_path / "belief.json"]
    options += ["--query", "histogram", "--epsilon", 0.1]
    refused = run(*options, code=4)
    assert "noise only" in refused.stderr
    assert "--anyway" in refused.stderr
    shown = run(*options, "--anyway", code=0)
    assert "█" not in shown.stdout
    assert "noise only" in shown.stdout + shown.stderr


def test_a_range_is_never_a_point() -> None:
    """A draw far below 0 leaves room for what is true: no count is shown as 0 for certain."""
    asked = oracle.bound(Histogram(), ["sit", "walk"]).only
    answer = PartAnswer(asked, (1200, -200), values=1000, noise_scale=30.0, limits=asked.limits(1000))
    assert answer.between(-200) == (0, answer.error())
    assert answer.between(1200) == (1000 - answer.error(), 1000)
    assert answer.between(500) == (500 - answer.error(), 500 + answer.error())
