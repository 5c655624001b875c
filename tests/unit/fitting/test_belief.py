"""Beliefs of every kind that can be fitted: by Python as by the command, and taken wherever a belief is."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from shell import answer

from quiltwork import (
    Accountant,
    Belief,
    Histogram,
    InputError,
    Ledger,
    Noisy,
    Series,
    Session,
    audit,
    bayesian_leakage,
    calibrate,
    check_belief,
    compare,
    entry_epsilon,
    entry_guarantee,
    fit_belief,
    fit_chain,
    load_belief,
    plan,
    release,
    save_belief,
)
from quiltwork.samples import power_path, simulate_diary

DIARY: dict[str, Any] = {"column": "activity", "subject": "person", "time": "time"}


@pytest.fixture(scope="module")
def diary() -> pl.DataFrame:
    return simulate_diary().filter(pl.col("time").dt.day() < 14)


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, []),
        ({"confidence": 0.9}, ["--confidence", 0.9]),
        ({"confidence": 0.9, "intervals": True}, ["--confidence", 0.9, "--intervals"]),
        ({"kind": "chain", "stays": 2.0}, ["--stays", 2]),
        ({"smoothing": 1.0, "states": ["sleep", "home", "work", "transit", "exercise", "shop", "else"]}, None),
        ({"kind": "cycle"}, ["--cycle", "day"]),
        ({"cycle": "day"}, ["--cycle", "day"]),
        ({"kind": "order"}, ["--order", 2]),
    ],
)
def test_the_command_fits_the_same(
    settings: dict[str, Any], options: list[object] | None, diary: pl.DataFrame, tmp_path: Path
) -> None:
    file = tmp_path / "diary.parquet"
    diary.write_parquet(file)
    fit = fit_belief(diary, **DIARY, **settings)
    assert fit_belief(file, **DIARY, **settings).belief == fit.belief
    if options is None:
        options = ["--smoothing", 1, "--states", ",".join(settings["states"])]
    words = [word for name, value in DIARY.items() for word in (f"--{name}", value)]
    assert answer("belief", "fit", file, *words, *options) == json.loads(json.dumps(fit.belief.to_dict()))
    assert str(fit.belief.step) == "15min"


def test_numbers_and_phases_and_people() -> None:
    numbers = fit_belief(
        power_path(), kind="gaussian", distance=1.0, unit="kW", column="kw", subject="home", time="time"
    )
    assert (numbers.belief.to_dict()["kind"], numbers.belief.distance) == ("gaussian", 1.0)
    values = ["a", "a", "b"] * 60
    hidden = fit_belief(values, phases=2)
    assert hidden.belief.to_dict()["shows"] == ["a", "a", "b", "b"]
    days = pl.DataFrame(
        {
            "day": [day for day in range(40) for _ in range(2)],
            "who": ["ann", "bob"] * 40,
            "flu": [["well", "ill"][(day // 3 + n) % 2] for day in range(40) for n in range(2)],
        }
    )
    reading: dict[str, Any] = {"column": "flu", "time": "day", "together": "who"}
    home = fit_belief(days, kind="dynamic", **reading)
    assert home.belief == fit_belief(days, **reading).belief
    assert home.belief.step_variables == {"ann": ("ill", "well"), "bob": ("ill", "well")}
    found = release(days, "count:ill", belief=home, epsilon=1.0, anyway=True, **reading)
    assert found.values == 40
    assert check_belief(home, days, remedies=False, **reading).values == 40


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"kind": "circle"}, "kind must be one of chain"),
    ({"cycle": "day", "order": 2}, "of one kind, got cycle= and order="),
    ({"cycle": "day", "confidence": 0.9}, "confidence= is for kind chain or gaussian"),
    ({"kind": "hidden", "order": 2}, "order= is for kind order, got kind hidden"),
    ({"distance": 1.0}, "distance= is for numbers"),
    ({"kind": "gaussian"}, "needs a distance"),
    ({"kind": "gaussian", "distance": 1.0, "stays": 2.0}, "stays= is for states"),
    ({"intervals": True}, "intervals need a confidence"),
    ({"together": "who", "states": ["0"], "column": "x"}, "states= is for kind chain"),
    ({"column": "x"}, "column= says how a file or a table is read"),
]


@pytest.mark.parametrize(("settings", "message"), WRONG)
def test_what_does_not_go_together(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit_belief(["0", "1"] * 20, **settings)


SERIES = Series.from_values("0010011001" * 10)
TAKEN: dict[str, Callable[[Any], object]] = {
    "release": lambda fit: release(SERIES, "count:1", belief=fit, epsilon=9.0).belief,
    "values": lambda fit: release([0, 1, 1] * 50, "count:1", belief=fit, epsilon=9.0).belief,
    "plan": lambda fit: plan("count:1", belief=fit, epsilon=1.0, length=9)["curve"].noise_scale,
    "calibrate": lambda fit: calibrate("count:1", belief=fit, epsilon=1.0, length=9).noise_scale,
    "verify": lambda fit: calibrate("count:1", belief=fit, epsilon=1.0, length=9).verify(fit),
    "Session": lambda fit: Session(SERIES, belief=fit, budget=1.0).belief,
    "Accountant": lambda fit: Accountant(fit).terms.belief,
    "audit": lambda fit: audit(fit, Noisy(Histogram(), 2.0), length=4).epsilon,
    "Ledger": lambda fit: Ledger.in_memory(belief=fit, budget=1.0).check(belief=fit),
    "compare": lambda fit: compare("count:1", belief=fit, other=fit, noise_scale=3.0, length=9).epsilon_other,
    "leakage": lambda fit: bayesian_leakage(fit, "count:1", noise_scale=3.0, length=3).epsilon,
    "check": lambda fit: check_belief(fit, SERIES).outcome,
    "checked": lambda fit: check_belief(fit, SERIES).checked(fit).belief,
    "entry_epsilon": lambda fit: entry_epsilon(fit, 1.0, length=9).epsilon,
    "entry_guarantee": lambda fit: entry_guarantee(fit, epsilon_dp=1.0, length=9).epsilon,
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_fit_stands_for_its_belief(name: str) -> None:
    fit = fit_chain(SERIES)
    assert isinstance(fit.belief, Belief)
    of_fit, of_belief = TAKEN[name](fit), TAKEN[name](fit.belief)
    assert of_fit == (pytest.approx(of_belief) if isinstance(of_belief, float) else of_belief)


def test_a_fit_is_saved_and_states_come_from_public_values(tmp_path: Path) -> None:
    fit = fit_belief(["b", "a"] * 9)
    save_belief(fit, tmp_path / "fit.json")
    assert load_belief(tmp_path / "fit.json") == fit.belief
    assert Series.from_values([10, 9, None, "walk"], missing="split").states == ("9", "10", "walk")
