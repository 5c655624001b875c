"""(ε, δ): the theorem against arbitrary mechanisms, noise against exact sums, and adversaries who choose as they go."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import ndtr
from strategies import chains, with_some_start

from quiltwork import (
    Accountant,
    BudgetError,
    Count,
    Frequencies,
    Histogram,
    Ledger,
    MarkovChain,
    NotCoveredError,
    Query,
    ReleaseRecord,
    Series,
    Session,
    Transitions,
    bayesian_leakage,
    calibrate,
    plan,
    release,
)
from quiltwork.accounting.envelope import Envelope
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time
from quiltwork.influence.delta import gaussian_kappa, kappa
from quiltwork.queries import Workload
from quiltwork.types import Guarantee, Noise

LAZY = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
Laws = list[tuple[np.ndarray, np.ndarray]]


def start_of(chain: MarkovChain) -> np.ndarray:
    return chain.stationary if chain.start == "stationary" else np.asarray(chain.initial)


def laws_given_secrets(chain: MarkovChain, length: int) -> tuple[np.ndarray, Laws]:
    """All series, and their laws given each two values at each time."""
    k = len(chain.states)
    series = np.array(list(itertools.product(range(k), repeat=length)))
    start = start_of(chain)
    probability = start[series[:, 0]] * np.prod(chain.transition[series[:, :-1], series[:, 1:]], axis=1)
    pairs = []
    for time in range(length):
        given_value = []
        for state in range(k):
            own = np.where(series[:, time] == state, probability, 0.0)
            given_value.append(own / own.sum() if own.sum() > 0 else None)
        pairs += [(p, q) for p, q in itertools.permutations(given_value, 2) if p is not None and q is not None]
    return series, pairs


def largest_delta(outputs: np.ndarray, pairs: Laws, epsilon: float) -> float:
    """sup_S P(S) - e^ε Q(S), the largest over all pairs; one row of outputs for each series."""
    return max(
        (float(np.maximum(p @ outputs - math.exp(epsilon) * (q @ outputs), 0).sum()) for p, q in pairs), default=0.0
    )


@given(chain=chains(max_states=3), length=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=examples(24))
def test_any_mechanism_keeps_the_delta_of_the_curve(chain: MarkovChain, length: int, seed: int) -> None:
    """Statement 77: outputs with arbitrary laws, zeros among them, and any profile."""
    chain, rng = with_some_start(chain), np.random.default_rng(seed)
    series, pairs = laws_given_secrets(chain, length)
    k = len(chain.states)
    profile = rng.choice([0.05, 0.3, 1.0]) * rng.random((k, k)) * ~np.eye(k, dtype=bool)
    for middle in range(k):  # as short as its detours
        profile = np.minimum(profile, profile[:, [middle]] + profile[[middle], :])
    epsilon = loss_along_time(chain, Profile.constant(profile, length=length)).epsilon
    distance = profile[series[:, None, :], series[None, :, :]].sum(axis=2)
    for _ in range(4):
        outputs = rng.random((len(series), 5)) ** rng.choice([1, 4, 20])
        if rng.random() < 0.5:  # near to keeping the profile
            towards = np.exp(-distance[:, rng.integers(len(series), size=5)])
            outputs = towards * (1 + rng.choice([0.01, 0.3]) * outputs)
        outputs /= outputs.sum(axis=1, keepdims=True)
        apart = np.maximum(outputs[:, None, :] - np.exp(distance)[:, :, None] * outputs[None, :, :], 0).sum(axis=2)
        claimed = math.exp(epsilon) * float((np.exp(-distance) * apart).max())
        assert largest_delta(outputs, pairs, epsilon) <= claimed + 1e-12


def lattice_law(scale: float, noise: Noise, reach: int) -> np.ndarray:
    steps = np.arange(-reach, reach + 1)
    weights = np.exp(-(steps**2) / (2 * scale**2)) if noise == "gaussian" else np.exp(-np.abs(steps) / scale)
    return np.asarray(weights / weights.sum())


def outputs_of(counts: np.ndarray, scale: float, noise: Noise, reach: int) -> np.ndarray:
    """The law of each series' count with noise, cut off where next to nothing is left."""
    law = lattice_law(scale, noise, 2 * reach)
    return np.stack([law[2 * reach - reach - int(c) : 2 * reach + reach + 1 - int(c)] for c in counts])


@given(
    chain=chains(max_states=3),
    length=st.integers(1, 3),
    scales=st.lists(
        st.tuples(st.sampled_from([1.2, 3.0, 7.0]), st.sampled_from(["gaussian", "laplace"]), st.integers(0, 2)),
        min_size=1,
        max_size=2,
    ),
    delta=st.sampled_from([0.2, 0.05, 1e-3]),
)
@settings(max_examples=examples(16))
def test_releases_together_keep_what_the_accountant_says(
    chain: MarkovChain, length: int, scales: list[tuple[float, Noise, int]], delta: float
) -> None:
    """Exact sums over all outputs of one or two counts, about all times or some, with either noise."""
    chain = with_some_start(chain)
    series, pairs = laws_given_secrets(chain, length)
    records, joint, reach = [], np.ones((len(series), 1)), 60
    for n, (scale, noise, begun) in enumerate(scales):
        first = min(begun + 1, length)
        state = n % len(chain.states)
        counts = (series[:, first - 1 :] == state).sum(axis=1)
        records.append(
            ReleaseRecord(
                query=Count(chain.states[state]), noise=noise, noise_scale=scale, segment=(first, length), length=length
            )
        )
        outputs = outputs_of(counts, scale, noise, reach)
        joint = (joint[:, :, None] * outputs[:, None, :]).reshape(len(series), -1)
    try:
        told = Accountant(chain, length=length, releases=records, delta=delta).composed()
    except NotCoveredError:
        return
    for finding in told.rules:
        if finding.rule in ("squares", "mixture") and finding.epsilon is not None:
            assert largest_delta(joint, pairs, finding.epsilon) <= delta * (1 + 1e-9)
    assert largest_delta(joint, pairs, told.epsilon) <= delta * (1 + 1e-9)


@pytest.mark.parametrize("belief", [LAZY, LAZY.with_start("any"), LAZY.with_start([0.2, 0.8])], ids=repr)
def test_adversaries_who_choose_by_what_they_saw(belief: MarkovChain) -> None:
    """The second release depends on the first result; each path is within the envelope, or pure and within ε."""
    epsilon, delta, length, reach = 0.5, 0.05, 3, 80
    envelope = Envelope.of("count:1", belief=belief, epsilon=epsilon, delta=delta)
    held = with_some_start(belief)
    series, pairs = laws_given_secrets(held, length)
    accountant = Accountant(belief, delta=delta, envelope=envelope)
    pure = calibrate("count:1", belief=belief, epsilon=epsilon).noise_scale
    counts, last = (series == 1).sum(axis=1), (series[:, -1] == 1).astype(int)
    options = [
        (counts, ReleaseRecord(query="count:1", noise="gaussian", noise_scale=envelope.noise_scale * 2**0.5, length=3)),
        (
            last,
            ReleaseRecord(
                query="count:1", noise="gaussian", noise_scale=envelope.noise_scale * 2**0.5, segment=(3, 3), length=3
            ),
        ),
        (counts, ReleaseRecord(query="count:1", noise_scale=envelope.noise_scale * 2**0.5, length=3)),
        (counts, ReleaseRecord(query="count:1", noise_scale=2 * pure, length=3)),
    ]
    fitted = 0
    for (first, one), *then in itertools.product(options, repeat=3):
        seen = outputs_of(first, one.noise_scale or 1.0, one.noise, reach)
        for threshold in (2,):
            joint = []
            for place, (second, other) in enumerate(then):
                chosen = seen * ((np.arange(-reach, reach + 1) >= threshold) == bool(place))
                total = accountant.plus(accountant.plus(accountant.nothing(), one), other)
                if accountant.told_by(total).epsilon > epsilon * (1 + 1e-9):
                    joint.append(chosen)  # refused: nothing more is seen
                    continue
                fitted += 1
                outputs = outputs_of(second, other.noise_scale or 1.0, other.noise, reach)
                joint.append((chosen[:, :, None] * outputs[:, None, :]).reshape(len(series), -1))
            assert largest_delta(np.hstack(joint), pairs, epsilon) <= delta * (1 + 1e-9)
    assert fitted > 25


def test_known_values() -> None:
    """Section 15: κ and σ."""
    assert gaussian_kappa(1.0, 1e-6) == pytest.approx(4.2606, abs=2e-4)
    assert kappa(1.0, 1e-6) == pytest.approx(4.5663, abs=2e-4)
    one = calibrate("count:1", belief=LAZY, epsilon=1.0, delta=1e-6, noise="gaussian")
    assert one.noise_scale * gaussian_kappa(1.0, 1e-6) / kappa(1.0, 1e-6) == pytest.approx(14.21, abs=0.01)
    slow = MarkovChain([[0.99, 0.01], [0.02, 0.98]], initial="stationary")
    slower = calibrate("count:1", belief=slow, epsilon=1.0, delta=1e-6, noise="gaussian").noise_scale
    assert slower * gaussian_kappa(1.0, 1e-6) / kappa(1.0, 1e-6) == pytest.approx(292.3, abs=0.1)
    assert one.verify(LAZY) <= 1.0


@given(epsilon=st.floats(0.01, 20), log_delta=st.floats(-25, -1))
@settings(max_examples=examples(10))
def test_kappa_is_enough_and_hardly_more(epsilon: float, log_delta: float) -> None:
    delta = math.exp(log_delta)

    def concentrated(m: float, factor: float) -> float:
        def at(log_order: float) -> float:
            a = 1 + math.exp(log_order)
            return a * (a - 1) * m * m / 2 - a * factor * m + (a - 1) * math.log1p(-1 / a) - math.log(a)

        return float(minimize_scalar(at, bounds=(-8, 20), method="bounded", options={"xatol": 1e-9}).fun)

    found, exact = kappa(epsilon, delta), gaussian_kappa(epsilon, delta)
    shifts = np.geomspace(1e-2, 3 * found + 3, 60)
    assert max(concentrated(m, found) for m in shifts) + epsilon <= math.log(delta) + 1e-6
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(np.exp(-exact * shifts) * ndtr(shifts / 2 - exact) - ndtr(-shifts / 2 - exact), 0))
    assert float(logs.max()) + epsilon <= math.log(delta) + 1e-6
    fine = np.geomspace(1e-3, 3 * exact + 3, 4000)
    less = 0.999 * exact
    gap = np.exp(-less * fine) * ndtr(fine / 2 - less) - ndtr(-fine / 2 - less)
    assert math.exp(epsilon) * float(gap.max()) > delta
    assert exact < found < math.sqrt(2 * (epsilon - log_delta)) * (1 + 1e-6)


@pytest.mark.parametrize(
    "query",
    [
        Histogram(),
        Count("b"),
        Frequencies(),
        Transitions(),
        Transitions(linked=False),
        Workload([Histogram(), Transitions()], ratios=[1, 2]),
    ],
    ids=lambda query: query.text,
)
def test_changes_in_l2_norm(query: Query) -> None:
    """Of all pairs of series, each run of changed neighbours once more by the diagonal (Statement 79)."""
    states, length = ["a", "b", "c"], 4
    changes = query.euclidean(states)
    once = float(changes.diagonal().max())
    codes = [np.array(x) for x in itertools.product(range(3), repeat=length)]

    def answer(one: np.ndarray) -> np.ndarray:
        series = Series.from_codes([one], states=states)
        if not isinstance(query, Workload):
            return np.asarray(query.evaluate(series), dtype=float)
        return np.concatenate(
            [np.asarray(q.evaluate(series), dtype=float) / float(ratio) for _, q, ratio in query.asked]
        )

    answers = np.array([answer(one) for one in codes])
    largest = 0.0
    for x, y in itertools.combinations(range(len(codes)), 2):
        differ = codes[x] != codes[y]
        runs = int(differ[0]) + int((differ[1:] & ~differ[:-1]).sum())
        allowed = sum(changes[a, b] for a, b in zip(codes[x], codes[y], strict=True) if a != b) + once * runs
        moved = float(np.linalg.norm(answers[x] - answers[y]))
        assert moved <= allowed * (1 + 1e-12)
        largest = max(largest, moved / allowed if allowed else 0.0)
    assert largest > 0.85


def test_a_ledger_with_a_delta_says_what_compose_says() -> None:
    ledger = Ledger.in_memory(belief=LAZY, budget=1.0, delta=1e-6)
    assert "100 with 152" in (ledger.statement().room or "")
    session = Session(["0", "1", "0", "0"] * 250, belief=LAZY, ledger=ledger)
    for _ in range(5):
        made = session.release("count:1", epsilon=0.2, noise="gaussian")
        assert (made.calibration.noise, made.record().noise) == ("gaussian", "gaussian")
    session.release("count:1", epsilon=0.05)
    now = ledger.statement()
    records = [ReleaseRecord.from_dict(row.content["record"]) for row in now.rows if row.kind == "reserved"]
    together = Accountant(LAZY, releases=records, length=1000, delta=1e-6).composed()
    assert now.spent == pytest.approx(max(f.epsilon or 0 for f in together.rules if f.rule == "squares"), rel=2e-4)
    assert now.to_dict()["pure_epsilon"] is None
    assert 0.1 < now.used < 1
    assert ledger.verify() == []
    with pytest.raises(BudgetError, match="room for squares"):
        session.release("count:1", epsilon=0.95, noise="gaussian")
    assert ledger.statement().used == now.used


def test_a_ledger_without_a_delta_takes_no_gaussian_noise() -> None:
    session = Session(["0", "1"] * 50, belief=LAZY, budget=1.0)
    record = ReleaseRecord(query="count:1", noise="gaussian", noise_scale=100.0, length=100)
    with pytest.raises(NotCoveredError, match="takes no releases with a delta"):
        session.ledger.reserve(record, {})
    with pytest.raises(NotCoveredError, match="Gaussian noise"):
        Accountant(LAZY, length=100, releases=[record]).composed()


def test_gaussian_noise_that_others_vouch_for_is_not_believed() -> None:
    told = {"noise": "gaussian", "noise_scale": 1e4, "query": "count:1", "epsilon": 3.0, "length": 100}
    for mechanism in ("other", "entry", "wasserstein", "audited"):
        with pytest.raises(NotCoveredError):
            Accountant(
                LAZY, length=100, delta=1e-6, releases=[ReleaseRecord.from_dict({"mechanism": mechanism, **told})]
            ).composed()


def test_the_envelope_holds_without_a_given_start() -> None:
    given = LAZY.with_start([0.05, 0.95])
    ledger = Ledger.in_memory(belief=given, budget=1.0, delta=1e-6, envelope="count:1")
    assert ledger.terms.envelope is not None
    every = Envelope.of("count:1", belief=LAZY.with_start("any"), epsilon=1.0, delta=1e-6)
    assert ledger.terms.envelope.noise_scale >= every.noise_scale * (1 - 1e-6)


def test_many_releases_need_little() -> None:
    made = plan("count:1", belief=LAZY, epsilon=1.0, length=1000, delta=1e-6, releases=100, mechanisms=["curve"])
    ways = {way.name: way for way in made.ways}
    assert ways["Laplace by sums"].noise_scale == pytest.approx(333.64, rel=1e-3)
    assert ways["Gaussian by squares"].noise_scale == pytest.approx(152.35, rel=1e-3)
    assert ways["Gaussian by squares"].least_from is not None
    assert ways["Gaussian by squares"].least_from <= 12
    assert made.best is not None
    assert made.best.calibration is not None
    assert made.best.calibration.noise == "gaussian"


@pytest.mark.parametrize("guarantee", ["pufferfish", "bayesian"])
def test_gaussian_releases_are_drawn_and_told(guarantee: Guarantee) -> None:
    wanted: dict[str, Any] = {"belief": LAZY, "epsilon": 1.0, "delta": 1e-6, "noise": "gaussian"}
    result = release(["0", "1", "0", "0"] * 500, "histogram", **wanted, guarantee=guarantee)
    assert result.calibration.guarantee == f"approximate {guarantee}"
    assert "Gaussian noise" in result.explain()
    assert "δ = 1e-06" in result.explain()
    record = result.record()
    assert ReleaseRecord.from_dict(record.to_dict()) == record
    assert (record.noise, record.delta) == ("gaussian", 1e-6)
    again = [release(["0"] * 50, "count:0", **wanted).value - 50 for _ in range(60)]
    assert np.std(again) == pytest.approx(15.2, rel=0.5)


def test_what_has_no_theorem_is_refused() -> None:
    with pytest.raises(Exception, match="needs a delta"):
        calibrate("histogram", belief=LAZY, epsilon=1.0, noise="gaussian")
    with pytest.raises(NotCoveredError, match="no Gaussian noise"):
        calibrate("count:1", belief=LAZY, epsilon=1.0, length=5, delta=1e-6, noise="gaussian", mechanism="audited")


def test_leakage_at_a_delta() -> None:
    """The noise of a Bayesian calibration comes to its ε, and sums are used where they are less."""
    made = calibrate("count:1", belief=LAZY, epsilon=1.0, delta=1e-6, noise="gaussian", guarantee="bayesian")
    scale = made.noise_scale
    found = bayesian_leakage(LAZY, "count:1", noise_scale=scale * 10, releases=100, noise="gaussian", delta=1e-6)
    assert found.epsilon == pytest.approx(1.0, rel=1e-3)
    few = bayesian_leakage(LAZY, "count:1", noise_scale=scale, delta=1e-6)
    assert few.epsilon == bayesian_leakage(LAZY, "count:1", noise_scale=scale, length="any").epsilon
    with pytest.raises(Exception, match="delta"):
        bayesian_leakage(LAZY, "count:1", noise_scale=scale, noise="gaussian")
