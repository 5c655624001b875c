"""(ε, δ): the theorem against arbitrary mechanisms, noise against exact sums, and adversaries who choose as they go."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import oracle
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st
from reference import Laws, claimed_delta, given_secrets, largest_delta, lattice_law, mechanisms_near, noisy_outputs
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
from quiltwork.errors import ParameterError
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time
from quiltwork.influence.delta import gaussian_kappa, kappa, noise_kappa
from quiltwork.question import Workload
from quiltwork.types import Guarantee, Noise

LAZY = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")


def start_of(chain: MarkovChain) -> np.ndarray:
    return chain.stationary if chain.start == "stationary" else np.asarray(chain.initial)


def laws_given_secrets(chain: MarkovChain, length: int) -> tuple[np.ndarray, Laws]:
    """All series, and their laws given each two values at each time."""
    series = np.array(list(itertools.product(range(len(chain.states)), repeat=length)))
    start = start_of(chain)
    probability = start[series[:, 0]] * np.prod(chain.transition[series[:, :-1], series[:, 1:]], axis=1)
    return series, given_secrets(series, probability)


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
    for outputs in mechanisms_near(distance, rng, 4):
        assert largest_delta(outputs, pairs, epsilon) <= claimed_delta(outputs, distance, epsilon) + 1e-12


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
        outputs = noisy_outputs(counts, scale, noise, reach)
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
        seen = noisy_outputs(first, one.noise_scale or 1.0, one.noise, reach)
        for threshold in (2,):
            joint = []
            for place, (second, other) in enumerate(then):
                chosen = seen * ((np.arange(-reach, reach + 1) >= threshold) == bool(place))
                total = accountant.plus(accountant.plus(accountant.nothing(), one), other)
                if accountant.told_by(total).epsilon > epsilon * (1 + 1e-9):
                    joint.append(chosen)  # refused: nothing more is seen
                    continue
                fitted += 1
                outputs = noisy_outputs(second, other.noise_scale or 1.0, other.noise, reach)
                joint.append((chosen[:, :, None] * outputs[:, None, :]).reshape(len(series), -1))
            assert largest_delta(np.hstack(joint), pairs, epsilon) <= delta * (1 + 1e-9)
    assert fitted > 25


def best_moment_to_stop(scale: float, epsilons: Sequence[float]) -> float:
    """sup over stopping rules of E_a[1(stopped) ..]: how far what is seen exceeds the ε that is shown then.

    One value of two alike, counted again and again with discrete Gaussian noise: the sum of results says everything.
    """
    count = len(epsilons)
    reach = int(9 * scale * count**0.5) + count
    sums, law = np.arange(-reach, reach + 1), lattice_law(scale, "gaussian", int(9 * scale) + 1)
    value = np.zeros(len(sums))  # under b, what may still be gained by going on
    for n in range(count, 0, -1):
        stopped = np.maximum(np.exp((sums - n / 2) / scale**2) - math.exp(epsilons[n - 1]), 0)
        value = np.convolve(np.maximum(stopped, value), law, mode="same")
    return float(value[reach])


@pytest.mark.parametrize(("epsilon", "delta", "count"), [(1.0, 1e-3, 12), (3.0, 1e-2, 40), (0.5, 0.05, 25)])
def test_whoever_stops_at_the_best_moment(epsilon: float, delta: float, count: int) -> None:
    """Statement 83: what a budget shows as spent holds whenever one stops."""
    coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
    envelope = Envelope.of("count:1", belief=coin, epsilon=epsilon, delta=delta)
    accountant = Accountant(coin, envelope=envelope)
    scale = envelope.noise_scale * count**0.5
    total, shown = accountant.nothing(), []
    for _ in range(count):
        record = ReleaseRecord(query="count:1", noise="gaussian", noise_scale=scale, segment=(1, 1), length=1)
        total = accountant.plus(total, record)
        shown.append(accountant.told_by(total).epsilon)
    assert shown == sorted(shown)
    assert shown[0] < 0.6 * shown[-1] <= 0.6 * epsilon * (1 + 1e-9)
    assert best_moment_to_stop(scale, shown) <= delta
    assert best_moment_to_stop(scale, [0.5 * e for e in shown]) > delta  # the test has teeth


def test_the_epsilon_of_releases_chosen_in_advance_does_not_hold_at_the_best_moment() -> None:
    """Why there is an odometer."""
    coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
    scale, in_advance = 4.0, []
    for count in range(1, 31):
        accountant = Accountant(coin, delta=0.01, length=1)
        record = ReleaseRecord(query="count:1", noise="gaussian", noise_scale=scale / count**0.5, length=1)
        in_advance.append(accountant.dry_run(record).epsilon)
    assert best_moment_to_stop(scale, in_advance) > 0.01


def test_levels_hold_what_they_say() -> None:
    """Each level is a budget of its own, and all their δ together are the reserve."""
    envelope = Envelope.of("count:1", belief=LAZY, epsilon=1.0, delta=1e-6)
    levels = [envelope.level(share) for share in envelope.shares]
    assert [level.share for level in levels] == list(envelope.shares)
    assert sum(level.delta for level in levels) + envelope.whole.delta == pytest.approx(1e-6, rel=1e-12)
    accountant = Accountant(LAZY, envelope=envelope)
    assert accountant.odometer is not None
    for level in (envelope.whole, *levels[::6]):
        found = accountant.odometer.at(level).epsilon
        assert found is not None
        scale = calibrate("count:1", belief=LAZY, epsilon=found, delta=level.delta, noise="gaussian").noise_scale
        assert envelope.filled(level.share).noise_scale == pytest.approx(scale, rel=2e-3)
    assert Envelope.from_dict(envelope.to_dict(), epsilon=1.0, delta=1e-6) == envelope
    without = replace(envelope, reserve=0.0, shares=())
    assert without.level(1e-9) == without.whole
    earlier = {key: envelope.to_dict()[key] for key in ("query", "noise_scale")}  # as ledgers without levels have it
    assert Envelope.from_dict(earlier, epsilon=1.0, delta=1e-6) == without


def test_known_values() -> None:
    """Section 15: κ and σ."""
    assert gaussian_kappa(1.0, 1e-6) == pytest.approx(4.2606, abs=2e-4)
    assert kappa(1.0, 1e-6) == pytest.approx(4.5663, abs=2e-4)
    one = calibrate("count:1", belief=LAZY, epsilon=1.0, delta=1e-6, noise="gaussian")
    continuous = gaussian_kappa(1.0, 1e-6) / noise_kappa(1.0, 1e-6)
    assert one.noise_scale * continuous == pytest.approx(14.21, abs=0.01)
    slow = MarkovChain([[0.99, 0.01], [0.02, 0.98]], initial="stationary")
    slower = calibrate("count:1", belief=slow, epsilon=1.0, delta=1e-6, noise="gaussian").noise_scale
    assert slower * continuous == pytest.approx(292.3, abs=0.1)
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
        Workload([Histogram(), Transitions()], ratios=[1, 2]),
    ],
    ids=lambda query: query.text,
)
def test_changes_in_l2_norm(query: Query) -> None:
    """Of all pairs of series, each run of changed neighbours once more by the diagonal (Statement 79)."""
    states, length = ["a", "b", "c"], 4
    changes = oracle.changes(query, states, norm=2)
    once = float(changes.diagonal().max())
    codes = [np.array(x) for x in itertools.product(range(3), repeat=length)]

    def answer(one: np.ndarray) -> np.ndarray:
        series = Series.from_codes([one], states=states)
        return oracle.answer_to(query, series)

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
    assert "100 with 216" in (ledger.statement().room or "")
    session = Session(["0", "1", "0", "0"] * 250, belief=LAZY, ledger=ledger)
    for _ in range(5):
        made = session.release("count:1", epsilon=0.2, noise="gaussian", anyway=True)
        assert (made.calibration.noise, made.record().noise) == ("gaussian", "gaussian")
    session.release("count:1", epsilon=0.05, noise="laplace", anyway=True)
    now = ledger.statement()
    records = [ReleaseRecord.from_dict(row.content["record"]) for row in now.rows if row.kind == "reserved"]
    together = Accountant(LAZY, releases=records, length=1000, delta=1e-6).composed()
    in_advance = next(f.epsilon for f in together.rules if f.rule == "squares") or 0.0
    assert in_advance < now.spent < 1.5 * in_advance  # it holds whenever one stops
    assert now.to_dict()["pure_epsilon"] is None
    assert 0.1 < now.used < 1
    assert ledger.verify() == []
    with pytest.raises(BudgetError, match="room for squares"):
        session.release("count:1", epsilon=0.95, noise="gaussian", anyway=True)
    assert ledger.statement().used == now.used


@pytest.mark.parametrize("start", ["stationary", "any"])
@pytest.mark.parametrize("budget", [0.3, 1.0, 4.0])
def test_a_release_may_ask_for_all_of_a_budget(start: Any, budget: float) -> None:
    chain = MarkovChain([[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6]], initial=start)
    session = Session(["0", "1", "2", "0"] * 250, belief=chain, budget=budget, delta=1e-6)
    session.release("histogram", epsilon=budget, noise="gaussian", anyway=True)
    now = session.statement()
    assert now.used == pytest.approx(1.0, rel=0.02)
    assert now.spent == pytest.approx(budget, rel=0.01)


def test_a_ledger_with_a_delta_says_which_noise_and_what_is_left() -> None:
    session = Session(["0", "1", "0", "0"] * 250, belief=LAZY, budget=1.0, delta=1e-6)
    assert session.release("count:1", epsilon=0.5, anyway=True).calibration.noise == "gaussian"
    with pytest.raises(NotCoveredError, match="delta of its ledger"):
        session.ledger.noise_and_delta(delta=1e-5)
    with pytest.raises(BudgetError, match="numbers are shares of the room") as refused:
        session.release("count:1", epsilon=0.95, anyway=True)
    assert refused.value.requested > refused.value.remaining
    assert refused.value.short_by == pytest.approx(refused.value.requested - refused.value.remaining)
    fits = float(str(refused.value).partition("A request of ε = ")[2].split()[0])
    session.release("count:1", epsilon=fits, anyway=True)
    assert 0.95 < session.statement().used <= 1
    sums = Session(["0", "1", "0", "0"] * 250, belief=LAZY, budget=1.0, delta=1e-6)
    sums.release("count:1", epsilon=0.9, noise="laplace", anyway=True)  # more than the room, and still within ε
    with pytest.raises(BudgetError, match="would bring the total to"):
        sums.release("count:1", epsilon=0.9, noise="laplace", anyway=True)
    with pytest.raises(ParameterError, match="number of people"):
        Session(["0", "1"] * 50, belief=LAZY, budget=1.0, delta=0.2)


@pytest.mark.parametrize(("releases", "delta"), [(24, 1e-6), (7, 0.0)])
def test_a_plan_says_which_epsilon_to_give_each_release(releases: int, delta: float) -> None:
    made = plan("count:1", belief=LAZY, epsilon=1.0, delta=delta, releases=releases, length=1000, mechanisms=["curve"])
    each = made.to_dict()["epsilon_each"]
    session = Session(["0", "1", "0", "0"] * 250, belief=LAZY, budget=1.0, delta=delta or None)
    for _ in range(releases):
        session.release("count:1", epsilon=each, anyway=True)
    with pytest.raises(BudgetError):
        session.release("count:1", epsilon=each, anyway=True)


@pytest.mark.parametrize("delta", [1e-200, 1e-199, 1e-150, 0.4])
def test_extreme_deltas_have_ledgers_that_work(delta: float) -> None:
    ledger = Ledger.in_memory(belief=LAZY, budget=1.0, delta=delta)
    record = ReleaseRecord(query="count:1", noise="gaussian", noise_scale=1e4, length=10)
    assert 0 < ledger.preview(record)[0] <= 1.0
    with pytest.raises(ParameterError, match="in the shape of a count"):
        Ledger.in_memory(belief=LAZY, budget=1.0, delta=delta, envelope="share:1")


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
    wanted: dict[str, Any] = {"belief": LAZY, "epsilon": 1.0, "delta": 1e-6, "noise": "gaussian", "anyway": True}
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
