"""The step of a belief and that of data: found, compared, refused with a remedy."""

from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pytest
from shell import answer, run

from quiltwork import (
    ChainSet,
    InputError,
    MarkovChain,
    MixingClass,
    Session,
    load_belief,
    plan as make_plan,
    read_series,
    release,
    save_belief,
)
from quiltwork.data.held import NO_STEP, check_step

P = [[0.9, 0.1], [0.4, 0.6]]
BEGUN = datetime(2024, 3, 4)


def table(minutes: list[float], *, people: int = 2) -> pl.DataFrame:
    at = [BEGUN + timedelta(minutes=m) for m in minutes]
    return pl.DataFrame(
        {
            "who": [n for n in range(people) for _ in at],
            "at": at * people,
            "n": [round(m * 2) for m in minutes] * people,
            "what": (["0", "1", "0"] * len(at))[: len(at)] * people,
        }
    )


def read(frame: object, time: str | None = "at", **options: object) -> object:
    return read_series(frame, column="what", states=["0", "1"], subject="who", time=time, **options)  # type: ignore[arg-type]


def step_of(frame: object, time: str | None = "at", **options: object) -> str | None:
    found = read(frame, time, **options).step  # type: ignore[attr-defined]
    return None if found is None else str(found)


def test_the_step_of_data_is_the_spacing_of_its_times() -> None:
    even = table([15.0 * n for n in range(40)])
    assert step_of(even) == "15min"
    assert step_of(even.sort("at"), unsorted="sort") == "15min"
    assert step_of(duckdb.connect().from_arrow(even.to_arrow())) == "15min"
    assert step_of(even, every="1h") == "1h"
    assert step_of(even, "n") == "30"
    assert step_of(even.with_columns(n=pl.col("n") / 4), "n") == "7.5"
    assert step_of(even.select("who", "what"), None) == "1"
    assert step_of(even[:1]) is None  # a single time has no spacing


def test_pauses_do_not_hide_the_usual_spacing() -> None:
    paused = table([15.0 * n for n in range(40) if n % 8 != 7])
    for frame in (paused, duckdb.connect().from_arrow(paused.to_arrow())):
        assert step_of(frame) == "15min"
        assert step_of(frame, gap="20min") == "15min"
    wild = table([0.0, 1, 3, 7, 15, 31, 63, 127])
    assert step_of(wild) is None
    (note,) = check_step(read(wild), MarkovChain(P, step="1min"))  # type: ignore[arg-type]
    assert "no usual spacing" in note


def test_times_that_waver_a_little_are_of_one_step() -> None:
    series = read(table([n + 0.1 * (n % 3) for n in range(60)]))
    assert check_step(series, MarkovChain(P, step="1min")) == ()  # type: ignore[arg-type]
    with pytest.raises(InputError, match="steps of 2min"):
        check_step(series, MarkovChain(P, step="2min"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("step", "remedy"),
    [
        ("1h", "every='1h'"),
        ("5min", "quiltwork belief every BELIEF 3 --out NEW.json"),
        ("10min", "Use a belief with a step of 15min"),
        (1, 'write "step": "15min" into the belief file'),
    ],
)
def test_another_step_is_refused_with_a_remedy(step: str | int, remedy: str) -> None:
    series = read(table([15.0 * n for n in range(40)]))
    chain = MarkovChain(P, step=step)
    for refused in (
        lambda: release(series, "count:1", belief=chain, epsilon=1.0),
        lambda: Session(series, belief=chain, budget=1.0),
    ):
        with pytest.raises(InputError, match=remedy):
            refused()


def test_plain_positions_and_units_of_time() -> None:
    series = read(table([15.0 * n for n in range(40)]), "n")
    assert check_step(series, MarkovChain(P, step=30)) == ()  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"belief every BELIEF 30 .*, or leave time= out if a step is one row"):
        check_step(series, MarkovChain(P, step=1))  # type: ignore[arg-type]
    with pytest.raises(InputError, match='write "step": 30 into'):
        check_step(series, MarkovChain(P, step="15min"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Keep only every so many"):
        release(list("0110"), "count:1", belief=MarkovChain(P, step=3), epsilon=1.0)


def test_what_cannot_be_checked_is_said() -> None:
    assert (
        release(list("0110") * 9, "count:1", belief=MarkovChain(P, step=1), epsilon=1.0, mechanism="curve").notes == ()
    )
    trusted = release(list("0110") * 9, "count:1", belief=MarkovChain(P, step="15min"), epsilon=1.0)
    assert "the belief's step of 15min was taken on trust" in trusted.explain()
    assert NO_STEP in release(list("0110") * 9, "count:1", belief=MarkovChain(P), epsilon=1.0).to_dict()["notes"]


def test_every_nth_value_is_a_chain_again() -> None:
    quick = MarkovChain(P, initial=[0.3, 0.7], step="15min")
    slow = quick.every(4)
    assert slow.transition == pytest.approx(quick.transition @ quick.transition @ quick.transition @ quick.transition)
    assert slow.initial == pytest.approx([0.3, 0.7])
    assert quick.every(1) == quick
    assert quick.every(10**9).transition.ravel() == pytest.approx([0.8, 0.2] * 2, abs=1e-6)
    rare = MarkovChain([[1 - 1e-200, 1e-200, 0], [0, 1 - 1e-200, 1e-200], [1, 0, 0]]).every(2)
    assert rare.transition[0, 2] > 0  # possible, however unlikely
    mixing = MixingClass(2, pi_min=0.2, gap=0.5, reversible=True).every(2)
    assert mixing.gap == pytest.approx(0.75, abs=1e-9)
    assert mixing.gap < 0.75
    assert quick.every(2).gap >= MixingClass(2, pi_min=0.2, gap=0.5, reversible=True).every(2).gap
    for wrong in (0, True, 1.5, 10**10):
        with pytest.raises(InputError, match="whole number of steps"):
            quick.every(wrong)  # type: ignore[arg-type]


def test_steps_are_read_with_care() -> None:
    chain = MarkovChain(P)
    assert str(ChainSet([chain, MarkovChain(P, step="1h")]).members[0].step) == "1h"
    with pytest.raises(InputError, match="one step, got 15min, 1h"):
        ChainSet([MarkovChain(P, step="15min"), MarkovChain(P, step="1h")])
    for wrong in (True, [1], "soon", 0, -1, float("nan")):
        with pytest.raises(InputError, match="step must be"):
            MarkovChain(P, step=wrong)  # type: ignore[arg-type]
    plan = make_plan("count:1", belief=MarkovChain(P, step="15min"), epsilon=1.0, length=9, mechanisms=["group"])
    assert plan.to_dict()["step"] == "15min"


def test_the_command_warns_once_and_names_the_remedy(tmp_path: Path) -> None:
    data, belief = tmp_path / "data.csv", tmp_path / "belief.json"
    table([15.0 * n for n in range(40)]).write_csv(data)
    save_belief(MarkovChain(P), belief)
    asked = ["release", data, "--column", "what", "--subject", "who", "--time", "at", "--belief", belief]
    asked += ["--query", "count:1", "--epsilon", 1]
    done = run(*asked, code=0)
    assert done.stderr == f"warning: {NO_STEP}\n"
    assert NO_STEP not in done.stdout
    assert NO_STEP in answer(*asked)["notes"]
    save_belief(MarkovChain(P, step="5min"), belief)
    refused = run(*asked, code=2).stderr
    assert "the belief is about steps of 5min, got data in steps of 15min" in refused
    assert "quiltwork belief every BELIEF 3 --out NEW.json" in refused
    made = run("belief", "every", belief, 3, "--out", tmp_path / "new.json", code=0)
    assert "in steps of 15min" in made.stdout
    assert answer("belief", "every", belief, 3)["step"] == "15min"
    asked[asked.index(belief)] = tmp_path / "new.json"
    assert run(*asked, code=0).stderr == ""
    planned = run("plan", tmp_path / "new.json", "--query", "count:1", "--length", 96, "--epsilon", 1, code=0)
    assert "length 96 in steps of 15min" in planned.stdout
    save_belief(load_belief(tmp_path / "new.json").every(4), belief)
    asked[asked.index(tmp_path / "new.json")] = belief
    assert "--every 1h" in run(*asked, code=2).stderr
    assert run(*asked, "--every", "1h", code=0).stderr == ""
