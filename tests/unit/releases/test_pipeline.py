"""From data to a release: gaps, starts, subjects, the default mechanism, and slips that are named."""

import math

import numpy as np
import pytest
from examples import CHAIN, DATA, WARD

from quiltwork import (
    Accountant,
    ChainSet,
    Count,
    Custom,
    Frequencies,
    Histogram,
    InputError,
    IntervalChain,
    MarkovChain,
    MixingClass,
    NotCoveredError,
    Records,
    ReleaseRecord,
    Series,
    Session,
    Sum,
    calibrate,
    release,
)
from quiltwork.samples import contagion_belief, simulate_households


def test_custom_queries_on_floats_and_vectors() -> None:
    real = Custom(lambda runs: float(np.mean(runs[0])), constant=1 / 1200)
    found = release(DATA, real, belief=CHAIN, epsilon=1.0, anyway=True)
    assert isinstance(found.value, float)
    assert found.error(0.95) == pytest.approx(-found.noise_scale * math.log(0.05))
    vector = Custom(lambda runs: [len(runs), 3], constant=2, integer=True, name="pair")
    assert release(DATA, vector, belief=CHAIN, epsilon=1.0, anyway=True).labels == ("pair[0]", "pair[1]")


def test_gaps_do_not_buy_less_noise_unless_declared() -> None:
    held = Series.from_values((["0"] * 3 + [None]) * 10, states=CHAIN.states, missing="split")
    joined = release(held, Count("0"), belief=CHAIN, epsilon=1.0, anyway=True)
    assert joined.calibration.length is None  # gaps of any length
    quilts = release(held, Count("0"), belief=CHAIN, epsilon=1.0, mechanism="quilt-exact", anyway=True)
    assert quilts.calibration.length == 31  # and one for a value that was not recorded
    stuck = release(held, Count("0"), belief=MarkovChain(np.eye(2), states=CHAIN.states), epsilon=1.0, anyway=True)
    assert stuck.noise_scale == pytest.approx(31)  # never forgets: quilts over all of it
    apart = release(held, Count("0"), belief=CHAIN, epsilon=1.0, gaps="independent", anyway=True)
    assert apart.calibration.length == 3
    assert apart.noise_scale < joined.noise_scale


def test_a_known_start_is_forgotten_after_a_gap_or_in_a_later_segment() -> None:
    known = CHAIN.with_start([1, 0])
    held = Series.from_values([*DATA, None, "0"], states=CHAIN.states, missing="split")
    expected = calibrate(Count("0"), belief=CHAIN.with_start("any"), epsilon=1.0, length=1202).noise_scale
    assert release(held, Count("0"), belief=known, epsilon=1.0, anyway=True).noise_scale == pytest.approx(
        expected, rel=1e-12
    )
    both = release(held, Count("0"), belief=ChainSet([known, CHAIN]), epsilon=1.0, anyway=True)
    assert both.noise_scale == pytest.approx(expected, rel=1e-12)
    later = Series.from_codes([np.zeros(40, dtype=np.int64)], states=CHAIN.states, segment=(11, 40))
    expected = calibrate(Count("0"), belief=CHAIN.with_start("any"), epsilon=1.0, length=30).noise_scale
    found = release(later, Count("0"), belief=known, epsilon=1.0, mechanism="curve", anyway=True)
    assert found.noise_scale == pytest.approx(expected, rel=1e-12)


def test_a_single_release_takes_the_least_noise() -> None:
    """Without a budget whatever mechanism needs least; within one, that which adds up."""
    belief, data = CHAIN.with_start("any"), Series.from_values(DATA[:30], states=CHAIN.states)
    noise = {
        name: calibrate(Count("0"), belief=belief, epsilon=1.0, length=30, mechanism=name).noise_scale
        for name in ("curve", "audited", "wasserstein")
    }
    found = release(data, Count("0"), belief=belief, epsilon=1.0, anyway=True)
    assert found.noise_scale == pytest.approx(min(noise.values()))
    assert found.calibration.mechanism == "audited"
    assert any("add up by their noise" in note for note in found.notes)
    session = Session(data, belief=belief, budget=2.0)
    assert session.release(Count("0"), epsilon=1.0, anyway=True).calibration.mechanism == "curve"
    assert (
        release(data, Count("0"), belief=belief, epsilon=1.0, window=10, anyway=True).calibration.mechanism == "curve"
    )


def test_each_subject_is_a_chain_of_its_own() -> None:
    held = Series.from_values(DATA, states=CHAIN.states, subject=list(range(600)) * 2)
    found = release(held, Count("0"), belief=CHAIN, epsilon=1.0, anyway=True)
    alone = calibrate(Count("0"), belief=CHAIN, epsilon=1.0, length=2).noise_scale
    assert found.noise_scale == pytest.approx(alone)
    assert found.noise_scale < 1.6


def test_the_default_mechanism_fits_the_belief() -> None:
    known = MixingClass(["0", "10"], pi_min=0.2, gap=0.5, reversible=True)
    assert release(DATA, Count("0"), belief=known, epsilon=1.0, anyway=True).calibration.mechanism == "curve"
    assert release(DATA, Count("0"), belief=CHAIN, epsilon=1.0, anyway=True).calibration.mechanism == "curve"
    bounds = IntervalChain([[0.8, 0.1], [0.3, 0.5]], [[0.9, 0.2], [0.5, 0.7]], states=["0", "10"])
    assert release(DATA, Count("0"), belief=bounds, epsilon=1.0, anyway=True).calibration.mechanism == "curve"


def test_a_series_over_other_states_is_refused() -> None:
    """The noise is calibrated for the belief's states; a series that means others by the same codes would break it."""
    for states in (["a", "b"], ["10", "0"], ["0", "10", "20"]):
        held = Series.from_values([states[0]] * 50, states=states)
        with pytest.raises(InputError, match="belief's states"):
            release(held, Count(states[0]), belief=CHAIN, epsilon=1.0, anyway=True)


def test_likely_slips_in_python_are_named() -> None:
    assert release(DATA, "histogram", belief=CHAIN, epsilon=1.0, anyway=True).labels == ("0", "10")
    assert calibrate("count:0", belief=CHAIN, epsilon=1.0, length="any").length is None
    slips: list[tuple[object, object, dict[str, object], str]] = [
        (Histogram, CHAIN, {}, "query must be"),
        ("histogram", "belief.json", {}, "belief must be"),
        ("histogram", None, {}, "belief must be"),
        ("histogram", CHAIN, {"gaps": "whatever"}, "gaps must be"),
        ("histogram", CHAIN, {"epsilon": 1e-60}, "epsilon is too small"),
    ]
    for query, belief, more, said in slips:
        with pytest.raises(InputError, match=said):
            release(DATA, query, **({"belief": belief, "epsilon": 1.0} | more))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="mapping of states"):
        Sum([0, 1])  # type: ignore[list-item]
    with pytest.raises(InputError, match="missing must be"):
        Series.from_values(["0"], states=["0"], missing="perhaps")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="list of chains"):
        ChainSet(CHAIN)  # type: ignore[arg-type]
    for function, constant, said in ((5, 1, "function"), (len, "x", "Lipschitz")):
        with pytest.raises(InputError, match=said):
            Custom(function, constant=constant)  # type: ignore[arg-type]
    assert "values of 2 states" in repr(Series.from_values(DATA, states=CHAIN.states))
    assert "no limit at all" in release(DATA, "histogram", belief=CHAIN, epsilon=1e6, anyway=True).explain()


@pytest.mark.parametrize("mechanism", ["wasserstein", "audited"])
def test_mechanisms_for_one_length_are_calibrated_for_all_that_occur(mechanism: str) -> None:
    """Two subjects of lengths 2 and 3 under a chain where the shorter series needs more noise."""
    flips = MarkovChain([[0.1, 0.9], [0.9, 0.1]], initial="stationary", states=["0", "10"])
    held = Series.from_values(["0"] * 7, states=flips.states, subject=list("aaabbcc"))
    found = release(held, Count("0"), belief=flips, epsilon=1.0, mechanism=mechanism, anyway=True)
    scales = [
        calibrate(Count("0"), belief=flips, epsilon=1.0, length=n, mechanism=mechanism).noise_scale for n in (2, 3)
    ]
    assert found.noise_scale == pytest.approx(max(scales), rel=1e-12)
    assert "exactly" in found.explain()
    split = Series.from_values(["0", None, "0"], states=flips.states, missing="split")
    with pytest.raises(NotCoveredError, match="gaps"):
        release(split, Count("0"), belief=flips, epsilon=1.0, mechanism=mechanism, anyway=True)
    apart = release(split, Count("0"), belief=flips, epsilon=1.0, mechanism=mechanism, gaps="independent", anyway=True)
    assert apart.calibration.length == 1


def test_records_in_another_order_are_not_taken_for_the_beliefs() -> None:
    shuffled = Records.from_rows(
        [{"flu": "no", "fever": "none"}], variables=dict(reversed(list(WARD.variables.items())))
    )
    with pytest.raises(InputError, match="in the same order"):
        release(shuffled, "count:yes over flu", belief=WARD, epsilon=1.0, anyway=True)


def test_records_are_released() -> None:
    household = contagion_belief()
    rows = simulate_households().to_dicts()
    made = release(rows, "count:yes", belief=household, epsilon=50.0, mechanism="wasserstein", anyway=True)
    truth = int((simulate_households().to_numpy() == "yes").sum())
    assert abs(made.value - truth) <= made.error(0.999999)
    assert (made.subjects, made.values) == (250, 1000)
    assert "of any variable" in made.explain()
    shares = release(simulate_households().to_dicts(), Frequencies(), belief=household, epsilon=50.0, anyway=True)
    assert shares.divisor == 1000
    assert shares.value["yes"] == pytest.approx(truth / 1000, abs=shares.error(0.999999))
    record = made.record()
    assert record.query == Count("yes")
    assert Accountant(household, releases=[ReleaseRecord.from_dict(record.to_dict())]).composed().epsilon <= 50.0 * (
        1 + 1e-9
    )
    with pytest.raises(NotCoveredError, match="comparison only"):
        release(
            simulate_households().to_dicts(), "count:yes", belief=household, epsilon=1.0, mechanism="entry", anyway=True
        )
