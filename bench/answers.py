"""How far released shares are from the truth: as drawn, and consistent with public facts.

Both sides of noise that keeps the public total are drawn in one run, with independent noise of the same scale.

python bench/answers.py                 the sample diary, and people simulated from its belief
python bench/answers.py ARAS.csv.gz     also a resident of ARAS house 1: belief from 15 days, shares of 15 others
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from quiltwork import Belief, Series, fit_chain, read_series
from quiltwork.calibration.request import Request
from quiltwork.fitting import with_step
from quiltwork.fitting.cycle import fit_cycle
from quiltwork.papers.public_data import resident_periods
from quiltwork.releases.noise import add_noise
from quiltwork.releases.pipeline import prepare
from quiltwork.releases.prepared import Answer
from quiltwork.samples import diary_belief, diary_path

EPSILONS = (0.5, 1.0, 2.0, 5.0)
WINDOWS = (None, "week", "day", "hour-of-day")
DRAWS = 10
Row = dict[str, Any]


def errors_of_answers(series: Series, belief: Belief, *, draws: int = DRAWS) -> list[Row]:
    """The mean distance of a share from the truth, for each window and ε."""
    rows = []
    for window in WINDOWS:
        for epsilon in EPSILONS:
            request = Request.of(
                "frequencies", belief=belief, epsilon=epsilon, mechanism="curve", window=window, alone=True
            )
            ready = prepare(series, request)
            counted = ready.answers()
            truth = np.array([np.asarray(answer.numbers, dtype=np.float64) / answer.values for answer in counted])
            off: dict[str, list[float]] = {"independent": [], "raw": [], "consistent": []}
            for _ in range(draws):
                answers = ready.draw(counted).answers
                off["independent"].append(_distance(_independent(counted, ready.calibration.noise_scale), truth))
                off["raw"].append(_distance([answer.numbers for answer in answers], truth))
                off["consistent"].append(_distance([answer.best for answer in answers], truth))
            rows.append(
                {"window": window or "all", "epsilon": epsilon, "noise_scale": ready.calibration.noise_scale}
                | {name: float(np.mean(found)) for name, found in off.items()}
                | {"raw / independent": float(np.mean(off["raw"]) / np.mean(off["independent"]))}
            )
    return rows


def _independent(counted: list[Answer], scale: float) -> list[tuple[float, ...]]:
    """The shares with independent noise on each count."""
    return [tuple(float(n) / one.values for n in add_noise(one.numbers, scale=scale)) for one in counted]


def _distance(numbers: list[tuple[float, ...]], truth: np.ndarray) -> float:
    return float(np.abs(np.array(numbers) - truth).mean())


def of_the_sample() -> list[Row]:
    """The sample diary: 24 people, four weeks by the quarter hour."""
    belief = diary_belief().with_start("stationary")
    series = read_series(diary_path(), column="activity", states=belief.states, subject="person", time="time")
    return errors_of_answers(series, belief)


def of_simulated_people(people: int = 200) -> list[Row]:
    """People simulated from the sample's belief: two weeks each."""
    belief, rng = diary_belief().with_start("stationary"), np.random.default_rng(5)
    length = 14 * 96
    states, ends = np.array(belief.states), np.cumsum(belief.transition, axis=1)
    paths = np.empty((people, length), dtype=np.int64)
    paths[:, 0] = rng.choice(len(states), p=belief.stationary, size=people)
    for t in range(1, length):
        paths[:, t] = (rng.random(people)[:, None] > ends[paths[:, t - 1], :-1]).sum(axis=1)
    times = pl.datetime_range(pl.datetime(2024, 3, 4), interval="15m", end=pl.datetime(2024, 3, 17, 23, 45), eager=True)
    table = pl.DataFrame(
        {
            "person": np.repeat([f"p{n:03}" for n in range(people)], length),
            "time": pl.concat([times] * people),
            "activity": states[paths.ravel()],
        }
    )
    return errors_of_answers(
        read_series(table, column="activity", states=belief.states, subject="person", time="time"), belief
    )


def of_a_resident(path: Path) -> dict[str, list[Row]]:
    """A resident of ARAS house 1 by the quarter hour: beliefs from days 1 to 15, shares of days 16 to 30."""
    periods = resident_periods(path)
    before, after = periods.before, periods.after
    chain = fit_chain(before, initial="stationary").chain
    found = {"chain": errors_of_answers(after, chain)}
    cycle = with_step(fit_cycle(before, step=before.step, cycle="day"), "15min")
    return found | {"cycle": errors_of_answers(after, cycle)}


if __name__ == "__main__":
    tables = {"sample": of_the_sample(), "simulated": of_simulated_people()}
    if len(sys.argv) > 1:
        tables |= {f"ARAS, {kind}": rows for kind, rows in of_a_resident(Path(sys.argv[1])).items()}
    for name, rows in tables.items():
        print(f"\n{name}")
        for row in rows:
            shown = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values())
            print("  ".join(f"{key} {text}" for key, text in zip(row, shown, strict=True)))
