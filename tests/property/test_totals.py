"""Noise that keeps a public total (Statement 75): its law, its loss, and what is said of its size."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import oracle
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st

from quiltwork import (
    Accountant,
    BayesianNetwork,
    Count,
    Frequencies,
    Histogram,
    MarkovChain,
    Noisy,
    Over,
    ReleaseRecord,
    Top,
    Transitions,
    audit,
    calibrate,
    plan,
    release,
)
from quiltwork.calibration.accuracy import answer_error
from quiltwork.errors import InternalError
from quiltwork.question import bind
from quiltwork.releases.noise import add_noise

LAZY = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
STATES = {"flu": ("no", "yes"), "fever": ("no", "yes")}
FLU = BayesianNetwork(STATES, parents={"fever": ["flu"]}, tables={"flu": [0.9, 0.1], "fever": [[0.9, 0.1], [0.3, 0.7]]})
FAR = 14


def law_of_noise(size: int, scale: float, far: int = FAR) -> dict[tuple[int, ...], float]:
    """P(z) ∝ exp(-Σ|z| / scale) over whole numbers that add up to 0, by going through them."""
    law = {}
    for free in itertools.product(range(-far, far + 1), repeat=size - 1):
        numbers = (*free, -sum(free))
        law[numbers] = math.exp(-sum(map(abs, numbers)) / scale)
    whole = sum(law.values())
    return {numbers: mass / whole for numbers, mass in law.items()}


@pytest.mark.parametrize(("size", "scale"), [(2, 1.5), (3, 0.9), (4, 0.6)])
def test_noise_is_drawn_by_its_law(size: int, scale: float) -> None:
    """Chi-square over the likely outcomes, all others together; it fails once in a million runs."""
    law, groups = law_of_noise(size, scale), 6000
    totals = [tuple(range(size * n, size * n + size)) for n in range(groups)]
    drawn = add_noise(np.zeros(size * groups, dtype=np.int64), scale=scale, noise="laplace-total", totals=totals)
    counts: dict[tuple[int, ...], int] = {}
    for group in totals:
        numbers = tuple(int(drawn[place]) for place in group)
        assert sum(numbers) == 0
        counts[numbers] = counts.get(numbers, 0) + 1
    likely = [numbers for numbers, mass in law.items() if mass * groups >= 10]
    expected = np.array([law[numbers] * groups for numbers in likely])
    seen = np.array([counts.get(numbers, 0) for numbers in likely])
    expected, seen = np.append(expected, groups - expected.sum()), np.append(seen, groups - seen.sum())
    freedom = len(likely)
    statistic = float(((seen - expected) ** 2 / expected).sum())
    assert statistic < freedom + 4.9 * math.sqrt(2 * freedom) + 17  # Wilson and Hilferty's bound is below


def test_other_noise_stays_independent() -> None:
    drawn = add_noise(np.zeros(4, dtype=np.int64), scale=50.0, noise="laplace-total", totals=[(0, 2)])
    assert drawn[0] == -drawn[2]
    projected = add_noise(np.zeros(3, dtype=np.int64), scale=50.0, noise="gaussian", totals=[(0, 1, 2)])
    assert sum(projected) == 0
    assert math.lcm(*(number.denominator for number in projected)) in (1, 3)  # type: ignore[union-attr]


@pytest.mark.parametrize(("size", "scale"), [(2, 1.0), (3, 1.2), (4, 0.8)])
def test_errors_are_those_of_all_noise(size: int, scale: float) -> None:
    law = law_of_noise(size, scale)
    for confidence in (0.5, 0.9, 0.95, 0.99):
        one = answer_error(scale, confidence, numbers=size, totals=[size], noise="laplace-total")
        everyone = answer_error(
            scale, confidence, numbers=size, totals=[size], simultaneous=True, noise="laplace-total"
        )
        for within, places in ((one, 1), (everyone, size)):
            inside, nearer = (
                sum(mass for z, mass in law.items() if max(map(abs, z[:places])) <= reach)
                for reach in (within, within - 1)
            )
            assert inside >= confidence - 1e-9
            assert within == 0 or nearer < confidence + 1e-9


def test_errors_of_large_noise_are_rounded_up() -> None:
    for size, known in ((2, 150), (3, 191), (4, 214), (6, 240), (10, 263), (20, 281)):
        assert answer_error(100.0, 0.95, numbers=size, totals=[size], noise="laplace-total") == known
        coarse = answer_error(1e6, 0.95, numbers=size, totals=[size], noise="laplace-total")
        assert known - 1 <= coarse / 1e4 <= 1.005 * known


def brute(chain: MarkovChain, query: str, scale: float, length: int) -> tuple[list[dict[tuple[int, ...], float]], int]:
    """The masses of all outputs near the answers, given each state of each value, by going through all series."""
    k = len(chain.states)
    size = k if query == "histogram" else k * k
    noise = law_of_noise(size, scale, far=9 if size < 4 else 6)
    start = chain.stationary
    laws: list[dict[tuple[int, ...], float]] = []
    for node, state in itertools.product(range(length), range(k)):
        output: dict[tuple[int, ...], float] = {}
        total = 0.0
        for path in itertools.product(range(k), repeat=length):
            if path[node] != state:
                continue
            chance = start[path[0]] * math.prod(chain.transition[x, y] for x, y in itertools.pairwise(path))
            total += chance
            answer = [0] * size
            for n, x in enumerate(path):
                if query == "histogram":
                    answer[x] += 1
                elif n:
                    answer[path[n - 1] * k + x] += 1
            for z, mass in noise.items():
                out = tuple(a + b for a, b in zip(answer, z, strict=True))
                output[out] = output.get(out, 0.0) + chance * mass
        laws.append({out: mass / total for out, mass in output.items()} if total > 0 else {})
    return laws, k


def loss_of(laws: list[dict[tuple[int, ...], float]], k: int, near: int) -> float:
    worst = 0.0
    for node in range(0, len(laws), k):
        for p, q in itertools.permutations(laws[node : node + k], 2):
            worst = max(
                [worst, *(math.log(m / q[w]) for w, m in p.items() if q and max(map(abs, w)) <= near and q.get(w))]
            )
    return worst


@settings(max_examples=examples(8), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.floats(0.6, 2.0), st.integers(1, 3))
def test_the_audit_is_that_of_all_series_and_outputs(seed: int, k: int, scale: float, length: int) -> None:
    chain = MarkovChain(np.random.default_rng(seed).dirichlet(np.ones(k), size=k), initial="stationary")
    laws, _ = brute(chain, "histogram", scale, length)
    found = audit(chain, [Noisy(Histogram(), scale, noise="laplace-total")], length=length).epsilon
    assert found == pytest.approx(loss_of(laws, k, near=5), abs=1e-7)
    assert found <= audit(chain, [Noisy(Histogram(), scale)], length=length).epsilon * (1 + 1e-9)
    for delta in (0.01, 0.1):
        at = audit(chain, [Noisy(Histogram(), scale, noise="laplace-total")], length=length, delta=delta).epsilon
        for node in range(0, len(laws), k):
            for p, q in itertools.permutations(laws[node : node + k], 2):
                near = [w for w in p if max(map(abs, w)) <= 6]  # all answers lead there by noise that is gone through
                left = sum(max(0.0, p[w] - math.exp(at) * q[w]) for w in near)
                assert left <= 1.01 * delta  # without the far noise, and what is near weighs a little more


@settings(max_examples=examples(5), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["histogram", "transitions"]), st.floats(0.5, 2.0))
def test_what_is_released_keeps_its_promise(seed: int, query: str, epsilon: float) -> None:
    chain = MarkovChain(np.random.default_rng(seed).dirichlet(np.ones(2), size=2), initial="stationary")
    made = calibrate(query, belief=chain, epsilon=epsilon, length=3)
    assert made.noise == "laplace-total"
    if made.noise_scale < 3:
        laws, k = brute(chain, query, made.noise_scale, 3)
        assert loss_of(laws, k, near=4) <= epsilon * (1 + 1e-9)


def test_totals_are_found_in_what_values_add() -> None:
    chain = MarkovChain(np.full((3, 3), 1 / 3))
    assert oracle.kept_totals(Histogram(), chain) == ((0, 1, 2),)
    assert oracle.kept_totals(Frequencies(), chain) == oracle.kept_totals(Top(1), chain) == ((0, 1, 2),)
    assert oracle.kept_totals(Transitions(), chain) == (tuple(range(9)),)
    assert oracle.kept_totals(Count("0"), chain) == ()
    assert oracle.kept_totals(Histogram(), FLU) == ((0, 1),)
    assert oracle.kept_totals(Over(Histogram(), {"flu": 2, "fever": -1}), FLU) == ((0, 1),)
    apart = BayesianNetwork(
        {"a": ("x", "y"), "b": ("u", "v", "w")}, parents={}, tables={"a": [0.5, 0.5], "b": [0.2, 0.3, 0.5]}
    )
    assert oracle.kept_totals(Histogram(), apart) == ((0, 1), (2, 3, 4))
    large = MarkovChain(np.full((300, 300), 1 / 300))
    assert oracle.kept_totals(Histogram(), large) == ()


@pytest.mark.parametrize("query", ["histogram", "frequencies", "top:1"])
@pytest.mark.parametrize("mechanism", [None, "quilt-approx", "curve"])
@pytest.mark.parametrize("alone", [False, True])
def test_a_path_of_two_states_has_noise_for_both_counts(query: str, mechanism: str | None, alone: bool) -> None:
    """The noise of flu and fever was that of one count, drawn twice."""
    rows = [{"flu": "no", "fever": "yes"}] * 20
    made = oracle.prepared(rows, query, belief=FLU, epsilon=1.0, mechanism=mechanism, alone=alone).draw()
    counts = Noisy(Histogram(), made.calibration.noise_scale, noise=made.calibration.noise)
    assert audit(FLU, [counts]).epsilon <= 1.0 + 1e-9
    assert sum(made.numbers) == pytest.approx(1 if query == "frequencies" else 40)


def test_the_noise_of_flu_and_fever() -> None:
    by_curve = calibrate("histogram", belief=FLU, epsilon=1.0, mechanism="curve")
    assert by_curve.noise_scale == pytest.approx(3.2526, abs=1e-4)
    kept = audit(FLU, [Noisy(Histogram(), by_curve.noise_scale, noise="laplace-total")]).epsilon
    assert kept == pytest.approx(1.0, abs=1e-4)
    bayesian = calibrate("histogram", belief=FLU, epsilon=1.0, guarantee="bayesian")
    assert bayesian.noise_scale == pytest.approx(3.2777, abs=1e-4)
    gaussian = calibrate("histogram", belief=FLU, epsilon=1.0, delta=1e-6, noise="gaussian")
    assert gaussian.noise_scale == pytest.approx(10.51, abs=0.01)
    several = release([{"flu": "no", "fever": "yes"}] * 20, ["histogram", "count:yes"], belief=FLU, epsilon=1.0)
    assert sum(several.questions[0].numbers) == 40
    counted = several.questions[1]
    assert counted.error() == counted.error(simultaneous=True) == several.questions[0].error()


def test_a_record_of_a_histogram_is_not_taken_for_one_count() -> None:
    record = ReleaseRecord(mechanism="curve", epsilon=1.0, query="histogram", noise_scale=3.3365)
    found = Accountant(LAZY, releases=[record]).composed()
    assert found.epsilon > 2
    assert not next(rule for rule in found.rules if rule.rule == "single-release").applies
    by_transport = ReleaseRecord(mechanism="wasserstein", epsilon=1.0, query="histogram", noise_scale=4.0, length=5)
    exact = audit(LAZY, [Noisy(Histogram(), 4.0)], length=5).epsilon
    assert Accountant(LAZY, length=5, releases=[by_transport]).composed().epsilon >= exact > 1.3


def test_a_mismatch_stops_the_release() -> None:
    ready = oracle.prepared(["0", "1"] * 20, "histogram", belief=LAZY, epsilon=1.0, alone=True)
    with pytest.raises(InternalError, match="calibrated and recorded"):
        replace(ready, calibration=replace(ready.calibration, asked=bind(Count("0"), LAZY)))
    with pytest.raises(InternalError, match="calibrated and recorded"):
        replace(ready, record=replace(ready.record, noise_scale=1.0))
    with pytest.raises(InternalError, match="calibrated and recorded"):
        replace(ready, calibration=replace(ready.calibration, noise="laplace"))


def test_no_offer_is_below_the_least_noise() -> None:
    made = plan("histogram", belief=LAZY, epsilon=1.0, length=9)
    least = next(offer for offer in made.offers if offer.mechanism == "audited")
    assert all((made.multiple(o) or 1) > 1 - 1e-6 for o in made.offers if o.mechanism not in ("entry", "audited"))
    assert least.noise_scale is not None
    wrong = tuple(
        replace(offer, noise_scale=0.9 * least.noise_scale) if offer.mechanism == "curve" else offer
        for offer in made.offers
    )
    with pytest.raises(InternalError, match="less noise than the exact audit"):
        replace(made, offers=wrong)


def test_records_say_the_noise() -> None:
    made = release(["0", "1"] * 20, "histogram", belief=LAZY, epsilon=1.0)
    written = json.loads(json.dumps(made.record().to_dict()))
    assert written["noise"] == "laplace-total"
    assert ReleaseRecord.from_dict(written) == made.record()
    assert made.to_dict()["noise"] == "laplace-total"
    assert "noise" not in release(["0", "1"] * 20, "count:1", belief=LAZY, epsilon=1.0).record().to_dict()
