"""Releases: value, accuracy, reason; nothing of the data but the noisy value."""

import json
import math

import numpy as np
import pytest

from quiltwork import (
    ChainSet,
    Count,
    Custom,
    Frequencies,
    Histogram,
    InputError,
    IntervalChain,
    MarkovChain,
    Mean,
    MixingClass,
    NotCoveredError,
    Series,
    Sum,
    Transitions,
    calibrate,
    plan,
    release,
)

CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["0", "10"])
DATA = ["0"] * 900 + ["10"] * 300


def test_values_come_in_the_form_that_people_read() -> None:
    assert isinstance(release(DATA, Count("10"), belief=CHAIN, epsilon=1.0).value, int)
    assert set(release(DATA, Histogram(), belief=CHAIN, epsilon=1.0).value) == {"0", "10"}
    assert release(DATA, Sum(), belief=CHAIN, epsilon=1.0).value % 10 == 0
    assert set(release(DATA, Transitions(), belief=CHAIN, epsilon=1.0).value["0"]) == {"0", "10"}
    shares = release(DATA, Frequencies(), belief=CHAIN, epsilon=1.0)
    assert shares.noise_scale == pytest.approx(2 * 3.33641 / 1200, rel=1e-5)
    assert sum(shares.value.values()) == pytest.approx(1, abs=1)


def test_noisy_values_are_near_the_truth() -> None:
    """With probability 1 - 1e-9 each."""
    for query, truth in ((Count("10"), 300), (Sum(), 3000), (Mean(), 2.5)):
        found = release(DATA, query, belief=CHAIN, epsilon=1.0)
        assert abs(found.value - truth) <= found.error(1 - 1e-9)


def test_accuracy_is_about_the_noise() -> None:
    found = release(DATA, Histogram(), belief=CHAIN, epsilon=1.0)
    assert found.error(0.95) == 20
    assert found.error(0.5) < found.error(0.95) < found.error(0.95, simultaneous=True)
    text = found.explain()
    assert "confidence interval" not in text
    assert "noise only" in text
    assert "0 and 10 are the hardest to keep apart" in text or "10 and 0 are the hardest" in text
    quilts = release(DATA, Histogram(), belief=CHAIN, epsilon=1.0, mechanism="quilt-exact")
    assert quilts.error(0.95) == 77
    assert "Theorem 4.4 of Wang" in quilts.explain()
    assert "5 steps before and 5 steps after" in quilts.explain()
    json.dumps(found.to_dict())


def test_custom_queries_on_floats_and_vectors() -> None:
    real = Custom(lambda runs: float(np.mean(runs[0])), constant=1 / 1200)
    found = release(DATA, real, belief=CHAIN, epsilon=1.0)
    assert isinstance(found.value, float)
    assert found.error(0.95) == pytest.approx(-found.noise_scale * math.log(0.05))
    vector = Custom(lambda runs: [len(runs), 3], constant=2, integer=True, name="pair")
    assert release(DATA, vector, belief=CHAIN, epsilon=1.0).labels == ("pair[0]", "pair[1]")


def test_an_answer_that_no_value_can_change_gets_no_noise() -> None:
    single = MarkovChain([[1]], states=["here"])
    found = release(["here"] * 5, Histogram(), belief=single, epsilon=1.0)
    assert found.value == {"here": 5}
    assert found.error() == 0


def test_gaps_do_not_buy_less_noise_unless_declared() -> None:
    held = Series.from_values((["0"] * 3 + [None]) * 10, states=CHAIN.states, missing="split")
    joined = release(held, Count("0"), belief=CHAIN, epsilon=1.0)
    assert joined.calibration.length is None  # gaps of any length
    quilts = release(held, Count("0"), belief=CHAIN, epsilon=1.0, mechanism="quilt-exact")
    assert quilts.calibration.length == 31  # and one for a value that was not recorded
    stuck = release(held, Count("0"), belief=MarkovChain(np.eye(2), states=CHAIN.states), epsilon=1.0)
    assert stuck.noise_scale == pytest.approx(31)  # never forgets: quilts over all of it
    apart = release(held, Count("0"), belief=CHAIN, epsilon=1.0, gaps="independent")
    assert apart.calibration.length == 3
    assert apart.noise_scale < joined.noise_scale


def test_a_known_start_is_forgotten_after_a_gap_or_in_a_later_segment() -> None:
    known = CHAIN.with_start([1, 0])
    held = Series.from_values([*DATA, None, "0"], states=CHAIN.states, missing="split")
    expected = calibrate(Count("0"), belief=CHAIN.with_start("any"), epsilon=1.0, length=1202).noise_scale
    assert release(held, Count("0"), belief=known, epsilon=1.0).noise_scale == pytest.approx(expected, rel=1e-12)
    both = release(held, Count("0"), belief=ChainSet([known, CHAIN]), epsilon=1.0)
    assert both.noise_scale == pytest.approx(expected, rel=1e-12)
    later = Series.from_codes([np.zeros(40, dtype=np.int64)], states=CHAIN.states, segment=(11, 40))
    expected = calibrate(Count("0"), belief=CHAIN.with_start("any"), epsilon=1.0, length=30).noise_scale
    found = release(later, Count("0"), belief=known, epsilon=1.0)
    assert found.noise_scale == pytest.approx(expected, rel=1e-12)


def test_each_subject_is_a_chain_of_its_own() -> None:
    held = Series.from_values(DATA, states=CHAIN.states, subject=list(range(600)) * 2)
    found = release(held, Count("0"), belief=CHAIN, epsilon=1.0)
    alone = calibrate(Count("0"), belief=CHAIN, epsilon=1.0, length=2).noise_scale
    assert found.noise_scale == pytest.approx(alone)
    assert found.noise_scale < 1.6


def test_the_default_mechanism_fits_the_belief() -> None:
    known = MixingClass(["0", "10"], pi_min=0.2, gap=0.5, reversible=True)
    assert release(DATA, Count("0"), belief=known, epsilon=1.0).calibration.mechanism == "curve"
    assert release(DATA, Count("0"), belief=CHAIN, epsilon=1.0).calibration.mechanism == "curve"
    bounds = IntervalChain([[0.8, 0.1], [0.3, 0.5]], [[0.9, 0.2], [0.5, 0.7]], states=["0", "10"])
    assert release(DATA, Count("0"), belief=bounds, epsilon=1.0).calibration.mechanism == "curve"


def test_refusals() -> None:
    with pytest.raises(NotCoveredError, match="comparison only"):
        release(DATA, Count("0"), belief=CHAIN, epsilon=1.0, mechanism="entry")
    bounds = IntervalChain([[0.8, 0.1], [0.3, 0.5]], [[0.9, 0.2], [0.5, 0.7]])
    with pytest.raises(NotCoveredError, match="needs chains"):
        calibrate(Count("0"), belief=bounds, epsilon=1.0, length=10, mechanism="quilt-exact")
    with pytest.raises(NotCoveredError, match="mixing class"):
        calibrate(Count("0"), belief=bounds, epsilon=1.0, length=10, mechanism="quilt-approx")
    with pytest.raises(NotCoveredError, match="two states"):
        calibrate(Count("0"), belief=bounds, epsilon=1.0, length=10, mechanism="gk16")
    stuck = MarkovChain([[1, 0], [0.5, 0.5]])
    with pytest.raises(NotCoveredError, match="reducible"):
        calibrate(Count("0"), belief=stuck, epsilon=1.0, length=10, mechanism="quilt-approx")
    for epsilon in (0, -1, math.nan, math.inf, True, "1"):
        with pytest.raises(InputError, match="epsilon must be a positive"):
            calibrate(Count("0"), belief=CHAIN, epsilon=epsilon, length=10)  # type: ignore[arg-type]
    for length in (0, -5, 10**16, 2.5, True):
        with pytest.raises(InputError, match="length must be a whole number"):
            calibrate(Count("0"), belief=CHAIN, epsilon=1.0, length=length)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Known: curve, quilt-exact"):
        calibrate(Count("0"), belief=CHAIN, epsilon=1.0, length=10, mechanism="magic")


def test_a_series_over_other_states_is_refused() -> None:
    """The noise is calibrated for the belief's states; a series that means others by the same codes would break it."""
    for states in (["a", "b"], ["10", "0"], ["0", "10", "20"]):
        held = Series.from_values([states[0]] * 50, states=states)
        with pytest.raises(InputError, match="belief's states"):
            release(held, Count(states[0]), belief=CHAIN, epsilon=1.0)


def test_likely_slips_in_python_are_named() -> None:
    assert release(DATA, "histogram", belief=CHAIN, epsilon=1.0).labels == ("0", "10")
    assert calibrate("count:0", belief=CHAIN, epsilon=1.0, length="any").length is None
    slips: list[tuple[object, object, dict[str, object]]] = [
        (Histogram, CHAIN, {}),
        ("histogram", "belief.json", {}),
        ("histogram", None, {}),
        ("histogram", CHAIN, {"gaps": "whatever"}),
        ("histogram", CHAIN, {"epsilon": 1e-60}),
    ]
    for query, belief, more in slips:
        with pytest.raises(InputError):
            release(DATA, query, **({"belief": belief, "epsilon": 1.0} | more))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="mapping of states"):
        Sum([0, 1])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="missing must be"):
        Series.from_values(["0"], states=["0"], missing="perhaps")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="list of chains"):
        ChainSet(CHAIN)  # type: ignore[arg-type]
    for function, constant in ((5, 1), (len, "x")):
        with pytest.raises(InputError):
            Custom(function, constant=constant)  # type: ignore[arg-type]
    assert "values of 2 states" in repr(Series.from_values(DATA, states=CHAIN.states))
    assert "no limit at all" in release(DATA, "histogram", belief=CHAIN, epsilon=1e6).explain()


def test_shares_and_means_explain_their_own_noise() -> None:
    found = release(DATA, Mean(), belief=CHAIN, epsilon=1.0)
    assert "divided by the 1,200 values" in found.explain()
    assert f"{found.noise_scale:.6g}" in found.explain()


@pytest.mark.parametrize("mechanism", ["wasserstein", "audited"])
def test_mechanisms_for_one_length_are_calibrated_for_all_that_occur(mechanism: str) -> None:
    """Two subjects of lengths 2 and 3 under a chain where the shorter series needs more noise."""
    flips = MarkovChain([[0.1, 0.9], [0.9, 0.1]], initial="stationary", states=["0", "10"])
    held = Series.from_values(["0"] * 7, states=flips.states, subject=list("aaabbcc"))
    found = release(held, Count("0"), belief=flips, epsilon=1.0, mechanism=mechanism)
    scales = [
        calibrate(Count("0"), belief=flips, epsilon=1.0, length=n, mechanism=mechanism).noise_scale for n in (2, 3)
    ]
    assert found.noise_scale == pytest.approx(max(scales), rel=1e-12)
    assert "exactly" in found.explain()
    split = Series.from_values(["0", None, "0"], states=flips.states, missing="split")
    with pytest.raises(NotCoveredError, match="gaps"):
        release(split, Count("0"), belief=flips, epsilon=1.0, mechanism=mechanism)
    apart = release(split, Count("0"), belief=flips, epsilon=1.0, mechanism=mechanism, gaps="independent")
    assert apart.calibration.length == 1


def test_gk16_by_hand() -> None:
    """γ = 0 for independent values; norms of 1 and more are refused; a long series takes the limit 1/(1-2γ)."""
    coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
    assert calibrate(Count("0"), belief=coin, epsilon=1.0, length=50, mechanism="gk16").noise_scale == pytest.approx(2)
    weak = MarkovChain([[0.5, 0.5], [0.45, 0.55]], initial="stationary")
    scales = [
        calibrate(Count("0"), belief=weak, epsilon=1.0, length=n, mechanism="gk16").noise_scale
        for n in (1, 2, 10, 200, 201, None)
    ]
    assert scales == sorted(scales)
    assert scales[-1] == pytest.approx(scales[-3], rel=1e-9)
    with pytest.raises(NotCoveredError, match="spectral norm"):
        calibrate(Count("0"), belief=CHAIN, epsilon=1.0, length=None, mechanism="gk16")
    one_way = MarkovChain([[1, 0], [0.5, 0.5]])
    with pytest.raises(NotCoveredError, match="spectral norm"):
        calibrate(Count("0"), belief=one_way, epsilon=1.0, length=5, mechanism="gk16")


def test_plans_name_the_best_real_guarantee() -> None:
    made = plan(Histogram(), belief=CHAIN, epsilon=1.0, length=100)
    assert made.best is not None
    assert made.best.mechanism == "audited"
    assert [made.multiple(o) is None for o in made.offers] == [o.refused is not None for o in made.offers]
    quick = plan(Histogram(), belief=CHAIN, epsilon=1.0, length=5000)
    assert [o.mechanism for o in quick.offers if "would take" in (o.refused or "")] == ["wasserstein", "audited"]
    assert plan("mean", belief=CHAIN, epsilon=1.0, length=100, values=400).lipschitz == pytest.approx(10 / 400)
    assert plan(Frequencies(), belief=CHAIN, epsilon=1.0, length=100).lipschitz == pytest.approx(0.02)
    with pytest.raises(InputError, match="frequencies needs a length"):
        plan(Frequencies(), belief=CHAIN, epsilon=1.0)
    assert plan(Count("0"), belief=CHAIN, epsilon=1.0, mechanisms=["entry"]).best is None
