"""Does a belief fit? True beliefs pass, forgetful ones are found, and the remedy is the one that helps."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from examples import WARD
from numpy.typing import NDArray
from shell import answer, run

from quiltwork import (
    BeliefCheck,
    ChainSet,
    CycleChain,
    HiddenChain,
    InputError,
    IntervalChain,
    MarkovChain,
    MixingClass,
    NotCoveredError,
    Series,
    check_belief,
    read_series,
    save_belief,
)
from quiltwork.fitting.evidence import agreement, stays

LAZY = [[0.9, 0.1], [0.4, 0.6]]
THREE = [[0.95, 0.04, 0.01], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]]
FLIP = [[0.1, 0.9], [0.8, 0.2]]
Table = Sequence[Sequence[float]]


def simulate(transition: Table, length: int, many: int, seed: int) -> NDArray[np.int64]:
    """Many series at once; shape (many, length)."""
    chance = np.random.default_rng(seed)
    sums, state = np.cumsum(transition, axis=1), chance.integers(len(transition), size=many)
    found = np.empty((many, length), dtype=np.int64)
    for n, draw in enumerate(chance.random((length, many))):
        found[:, n] = state
        state = np.minimum((sums[state] < draw[:, None]).sum(axis=1), len(transition) - 1)
    return found


def held(codes: Sequence[NDArray[np.int64]], k: int, missing: str = "refuse") -> Series:
    states = [str(n) for n in range(k)]
    return Series.from_codes(codes, states=states, missing=missing)  # type: ignore[arg-type]


def fitted(series: Series) -> MarkovChain:
    return MarkovChain.from_counts(series.transitions(), smoothing=1, states=series.states, step=series.step)


@pytest.mark.parametrize("transition", [LAZY, THREE, FLIP], ids=["lazy", "three", "flip"])
@pytest.mark.parametrize(("length", "people"), [(1500, 1), (300, 10)])
def test_a_true_belief_passes(transition: Table, length: int, people: int) -> None:
    truth, tries = MarkovChain(transition, step=1), 60
    series = simulate(transition, length, people * tries, seed=length)
    checks = [check_belief(truth, held(list(series[n::tries]), len(transition))) for n in range(tries)]
    assert sum(check.forgets_too_fast for check in checks) <= 0.05 * tries
    assert sum(check.order is not None and check.order.significant for check in checks) <= 0.05 * tries


@pytest.mark.parametrize("transition", [LAZY, THREE], ids=["lazy", "three"])
def test_a_belief_that_forgets_too_fast_is_found(transition: Table) -> None:
    forgetful = MarkovChain(0.7 * np.array(transition) + 0.3 / len(transition), step="15min")
    for codes in simulate(transition, 2000, 10, seed=1):
        check = check_belief(forgetful, held([codes], len(transition)))
        assert check.forgets_too_fast
        assert check.worst is not None
        assert check.worst.data - check.worst.belief > 0.1
        assert "quiltwork belief fit" in check.remedy
        assert "--stays 2" in check.remedy
        assert check.notes == ("The data has no times; the belief's step of 15min was taken on trust.",)
    assert check.verdict.startswith("The belief forgets too fast: after ")
    assert " steps" not in check.verdict


def test_a_belief_that_remembers_longer_is_safe() -> None:
    slow = MarkovChain([[0.99, 0.01], [0.04, 0.96]], step=1)
    check = check_belief(slow, held(list(simulate(LAZY, 3000, 1, seed=2)), 2))
    assert not check.forgets_too_fast
    assert "remembers longer than the data, which is safe" in check.verdict
    assert check.remedy == "Nothing needs to change."


def test_a_set_fits_if_one_of_its_members_does() -> None:
    forgetful = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    sticky = [MarkovChain([[0.9, 0.1], [0.9, 0.1]]), MarkovChain([[0.4, 0.6], [0.4, 0.6]])]
    series = held(list(simulate(LAZY, 3000, 1, seed=7)), 2)
    assert not check_belief(ChainSet([forgetful, MarkovChain(LAZY)], step=1), series).forgets_too_fast
    # the largest of several members is no member
    apart = check_belief(ChainSet([forgetful, *sticky], step=1), series)
    assert apart.forgets_too_fast


def test_regimes_ask_for_phases() -> None:
    # two hidden regimes, each with its usual state and short excursions to the other
    hidden = [[0.80, 0.195, 0.005, 0.0], [0.795, 0.2, 0.0, 0.005], [0.005, 0.0, 0.2, 0.795], [0.0, 0.005, 0.195, 0.8]]
    codes = simulate(hidden, 20_000, 1, seed=3) % 2
    series = held(list(codes), 2)
    check = check_belief(fitted(series), series)
    assert check.forgets_too_fast
    assert "belief fit --phases 2" in check.remedy


def test_the_value_before_last_asks_for_order() -> None:
    chance = np.random.default_rng(4)
    codes = [0, 1]
    for draw in chance.random(6000):
        codes.append(codes[-2] if draw < 0.85 else 1 - codes[-2])
    series = held([np.array(codes)], 2)
    check = check_belief(fitted(series), series)
    assert check.forgets_too_fast
    assert check.order is not None
    assert check.order.significant
    assert check.order.gain > 0.3
    assert "belief fit --order 2" in check.remedy


def habits(days: int) -> pl.DataFrame:
    """Asleep at night, with some nights short."""
    chance, begun = np.random.default_rng(5), datetime(2024, 3, 4)
    at = [begun + timedelta(minutes=30 * n) for n in range(48 * days)]
    late = chance.integers(-2, 3, size=days)
    asleep = [(n % 48) < 14 + late[n // 48] for n in range(len(at))]
    what = ["sleep" if night else ("out" if chance.random() < 0.3 else "home") for night in asleep]
    return pl.DataFrame({"at": at, "what": what})


def test_time_of_day_asks_for_a_cycle() -> None:
    series = read_series(habits(40), column="what", states=None, time="at")
    check = check_belief(fitted(series), series)
    assert check.forgets_too_fast
    assert "belief fit --cycle day" in check.remedy
    night = next(one for one in check.hours if one.hour == 3 and one.state == "sleep")
    assert night.differs
    assert night.data == pytest.approx(1.0)
    assert 48 in {one.lag for one in check.lags}


def test_short_data_supports_nothing() -> None:
    check = check_belief(MarkovChain(LAZY, step=1), list("0001110001"))
    assert not check.forgets_too_fast
    assert "too short to support any belief well" in check.remedy
    assert "too few" in check.verdict
    json.dumps(check.to_dict())
    assert check_belief(MarkovChain(LAZY), ["0"]).lags == ()


def test_agreement_is_that_of_plain_loops_and_bridges_no_gap() -> None:
    chance = np.random.default_rng(6)
    codes = [np.where(chance.random(400) < 0.05, -1, chance.integers(3, size=400)) for _ in range(3)]
    series = held(codes, 3, missing="split")
    chain = MarkovChain(np.full((3, 3), 1 / 3))
    for belief in (chain, HiddenChain(chain.transition, shows=[*"012"], initial="stationary")):
        first_order = belief is chain
        for one in agreement(series.by_subject, series.states, belief=belief, first_order=first_order):
            state, pairs, same = int(one.state), 0, 0
            for subject in codes:
                for t in range(len(subject) - one.lag):
                    if subject[t] == state and min(subject[t : t + one.lag + 1]) >= 0:
                        pairs += 1
                        same += subject[t + one.lag] == state
            assert one.data == pytest.approx(same / pairs)
            assert one.band is None or one.band[0] <= one.data <= one.band[1]


def test_stays_count_from_where_they_begin() -> None:
    codes = np.repeat([0, 1] * 30, [1, 2, 4, 3] * 15)
    by_length = {(one.state, one.length): one.data for one in stays([[codes]], MarkovChain(LAZY))}
    assert by_length["0", 1] == pytest.approx(15 / 29)  # the first stay of the data may have begun before
    assert by_length["1", 1] == 1.0
    assert by_length["1", 2] == pytest.approx(15 / 30, abs=0.02)  # the last one is cut off
    assert by_length["0", 4] == 0.0 if ("0", 4) in by_length else True


def test_bounds_hold_for_chains_within_them() -> None:
    lags, chain = [1, 2, 5, 16, 100], MarkovChain(THREE)
    exact = chain.again(lags)
    assert exact == pytest.approx(np.array([np.linalg.matrix_power(chain.transition, lag).diagonal() for lag in lags]))
    point = IntervalChain(THREE, THREE)
    assert point.again(lags) == pytest.approx(exact)
    assert point.stay_survival(lags) == pytest.approx(chain.stay_survival(lags))
    wide = IntervalChain(0.9 * np.array(THREE), np.minimum(1, 1.1 * np.array(THREE)))
    assert np.all(wide.again(lags) >= exact - 1e-12)
    assert np.all(wide.stay_survival(lags) >= chain.stay_survival(lags) - 1e-12)
    for transition in (LAZY, THREE, FLIP):
        for member in (MarkovChain(transition), MarkovChain(transition).time_reversal()):
            (known,) = member.mixing_classes()
            assert np.all(known.again(lags) >= member.again(lags))
            assert np.all(known.stay_survival(lags) >= member.stay_survival(lags))


def test_what_cannot_be_checked_is_refused() -> None:
    with pytest.raises(NotCoveredError, match="does not say how soon"):
        check_belief(WARD, ["no"])
    with pytest.raises(InputError, match="belief must be a Belief"):
        check_belief("belief", ["no"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the belief's states"):
        check_belief(MarkovChain(LAZY), held([np.array([0, 1, 2])], 3))
    series = read_series(habits(2), column="what", states=["home", "out", "sleep"], time="at")
    with pytest.raises(InputError, match="steps of 1h, got data in steps of 30min"):
        check_belief(MarkovChain(THREE, states=series.states, step="1h"), series)
    mixing = MixingClass(["home", "out", "sleep"], pi_min=0.1, gap=0.9, step="30min")
    assert isinstance(check_belief(mixing, series), BeliefCheck)


def test_the_command_says_it_in_words_json_and_a_page(tmp_path: Path) -> None:
    data, belief, page = tmp_path / "data.csv", tmp_path / "belief.json", tmp_path / "check.html"
    habits(20).write_csv(data)
    save_belief(fitted(read_series(habits(20), column="what", states=None, time="at")), belief)
    asked = ["belief", "check", belief, data, "--column", "what", "--time", "at"]
    done = run(*asked, "--out", page, code=0)
    assert "do not check a belief on the data that you want to protect" in done.stderr
    assert "The belief forgets too fast: after 1 day" in done.stdout
    assert "--cycle day" in done.stdout
    assert "Time of day: " in done.stdout
    assert page.read_text().count("<svg") == 2
    found = answer(*asked)
    assert {"verdict", "forgets_too_fast", "lags", "remedy"} <= set(found)
    assert found["forgets_too_fast"] is True
    assert {"lag", "state", "data", "belief"} <= set(found["lags"][0])
    assert found["step"] == "30min"
    assert "--every 1h" in _refused(belief, asked)
    (tmp_path / "ward.json").write_text(json.dumps(WARD.to_dict()))
    assert "does not say" in run("belief", "check", tmp_path / "ward.json", *asked[3:], code=4).stderr


def _refused(belief: Path, asked: list[object]) -> str:
    run("belief", "every", belief, 2, "--out", belief, code=0)
    return run(*asked, code=2).stderr


SLOW = HiddenChain([[0.5, 0.0, 0.5], [0.0, 0.99, 0.01], [0.45, 0.05, 0.5]], shows=[*"001"], initial="stationary")
CLOCK = CycleChain([[[0.9, 0.1], [0.7, 0.3]]] * 14 + [[[0.2, 0.8], [0.02, 0.98]]] * 10, initial="stationary")


@pytest.mark.parametrize("truth", [SLOW, CLOCK])
def test_beliefs_with_more_memory_are_checked_by_what_they_make_up(truth: HiddenChain | CycleChain) -> None:
    """A true one passes in almost all of 40 data sets; phases that all last alike are found out."""
    paths = truth.simulated(1500, 40, np.random.default_rng(1))
    assert paths is not None
    found = [check_belief(truth, [truth.states[x] for x in path]).forgets_too_fast for path in paths]
    assert sum(found) <= 2
    assert [np.mean(paths == x) for x in range(2)] == pytest.approx(_law(truth), abs=0.03)
    quick = HiddenChain([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.3, 0.2, 0.5]], shows=[*"001"], initial="stationary")
    assert check_belief(quick, [quick.states[x] for x in paths[0]]).forgets_too_fast


def _law(belief: HiddenChain | CycleChain) -> list[float]:
    law = belief.stationary if isinstance(belief, HiddenChain) else belief.law.mean(axis=0)
    return [float(p) for p in law]
