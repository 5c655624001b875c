"""Sets cover those who know the member: what others may learn, against mixtures by brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from shell import answer, run

from quiltwork import (
    AnyMixture,
    BayesianNetwork,
    Belief,
    ChainSet,
    CycleChain,
    HiddenChain,
    IntervalChain,
    MarkovChain,
    MixingClass,
    NetworkSet,
    calibrate,
    save_belief,
)
from quiltwork.beliefs.unknown_member import _between, _levels, unknown_member

Floats = NDArray[np.float64]


def coins(*shares: float) -> ChainSet:
    return ChainSet([MarkovChain([[p, 1 - p]] * 2, initial="stationary") for p in shares])


def adds(belief: Belief) -> float:
    known = unknown_member(belief)
    assert known is not None
    return known.adds


def test_known_values() -> None:
    assert 1 + adds(coins(0.45, 0.64)) == pytest.approx(1.7760, abs=1e-4)
    assert 1 + adds(coins(0.1, 0.9)) == pytest.approx(5.3944, abs=1e-4)
    assert adds(coins(0.3, 0.3)) == 0.0
    assert adds(coins(0.45, 0.5, 0.64)) == adds(coins(0.45, 0.64))
    exact = math.log(0.64 / 0.36 * 0.55 / 0.45)
    assert 0 <= adds(coins(0.45, 0.64)) - exact < 1e-8  # rounded up
    # the same shares with other memory: nothing is added
    slow = MarkovChain([[0.99, 0.01], [0.03, 0.97]], initial="stationary")
    quick = MarkovChain([[0.75, 0.25], [0.75, 0.25]], initial="stationary")
    assert adds(ChainSet([slow, quick])) < 1e-8


def mixed_loss(members: list[tuple[Floats, Floats]], weight: float, scale: float) -> float:
    """The exact loss of a noisy count, for a mixture of members (start, transition), by enumeration.

    Between two counts the ratio of densities only rises or only falls, so it is largest on a count or far out.
    """
    length, k = 3, 2
    paths = list(itertools.product(range(k), repeat=length))
    weights = [weight, 1 - weight]
    worst = 0.0
    for i, (a, b) in itertools.product(range(length), [(0, 1), (1, 0)]):
        laws = []
        for value in (a, b):
            law: dict[int, float] = {}
            for (start, table), share in zip(members, weights, strict=True):
                for path in paths:
                    if path[i] == value:
                        p = share * start[path[0]] * math.prod(table[x, y] for x, y in itertools.pairwise(path))
                        law[sum(path)] = law.get(sum(path), 0.0) + p
            total = sum(law.values())
            laws.append({count: p / total for count, p in law.items()})
        for w in (*range(length + 1), -1000, 1000):
            first, second = (
                sum(p * math.exp(-(abs(w - count) - abs(w)) / scale) for count, p in law.items()) for law in laws
            )
            worst = max(worst, math.log(first / second))
    return worst


def one_start(start: float, stay: float, back: float) -> tuple[Floats, Floats]:
    return np.array([start, 1 - start]), np.array([[stay, 1 - stay], [back, 1 - back]])


PART = st.floats(0.05, 0.95)


@settings(max_examples=60, deadline=None)
@given(st.tuples(PART, PART, PART), st.tuples(PART, PART, PART), st.floats(0.001, 0.999), st.floats(0.3, 4.0))
def test_mixtures_lose_no_more(
    one: tuple[float, float, float], other: tuple[float, float, float], weight: float, scale: float
) -> None:
    """At most the largest loss of the members and the cross-ratio, at every time of given starts."""
    members = [one_start(*one), one_start(*other)]
    alone = max(mixed_loss([member, member], 0.5, scale) for member in members)
    chains = [MarkovChain(table, initial=start) for start, table in members]
    assert mixed_loss(members, weight, scale) <= alone + adds(ChainSet(chains)) + 1e-9


def test_mixtures_reach_it_in_the_limit() -> None:
    """Values are independent, and each is released with randomised response of ε = 1: so each member loses 1.

    What is reported of the others gives the member away, and with it the odds of a value. The less that member was
    expected, the more that says.
    """
    shares, keep = (0.45, 0.64), math.e / (1 + math.e)
    bound = 1 + adds(coins(*shares))
    reported = [p * keep + (1 - p) * (1 - keep) for p in shares]  # how often state 0 is reported
    losses = []
    for others, weight, sign in itertools.product((1, 30, 3000), (0.5, 1e-3, 1e-9), (0, 1)):
        rates = [r if sign == 0 else 1 - r for r in reported]  # all others report state 0, or state 1
        likely = np.exp(others * (np.log(rates) - np.log(max(rates))))
        expected = np.array([weight, 1 - weight]) if rates[0] > rates[1] else np.array([1 - weight, weight])
        for a, b in (np.array([shares, 1 - np.array(shares)]), np.array([1 - np.array(shares), shares])):
            before = math.log((expected @ a) / (expected @ b))
            after = math.log((expected * likely) @ a / ((expected * likely) @ b))
            losses.append(1 + after - before)
    assert max(losses) <= bound
    assert max(losses) == pytest.approx(bound, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(PART, PART, PART), min_size=2, max_size=3))
def test_given_starts_are_followed_at_every_time(drawn: list[tuple[float, float, float]]) -> None:
    """Never below the cross-ratio of some time, and hardly above the largest."""
    members = [one_start(*one) for one in drawn]
    laws = []
    for start, table in members:
        law, own = start, []
        for _ in range(300):
            own.append(law)
            law = law @ table
        laws.append(np.array(own))
    largest = 0.0
    for one, other in itertools.permutations(laws, 2):
        for x, y in zip(one, other, strict=True):
            largest = max(largest, *(math.log(x[a] * y[1 - a] / (x[1 - a] * y[a])) for a in (0, 1)))
    found = adds(ChainSet([MarkovChain(table, initial=start) for start, table in members]))
    assert largest <= found <= largest + 1e-6


def test_cycles_are_compared_at_each_time_of_their_clock() -> None:
    """Members of a cycle have the same clock; the shares of a phase are those of what it shows."""
    day, night = [[0.9, 0.1], [0.5, 0.5]], [[0.2, 0.8], [0.1, 0.9]]
    clocks = [CycleChain(tables, initial="stationary") for tables in ([day, night], [night, day])]
    apart = [np.log(one / (1 - one)) for one in (clock.law[:, 0] for clock in clocks)]
    assert _between(*map(_levels, clocks)) == pytest.approx(np.abs(apart[0] - apart[1]).max(), abs=1e-8)
    one, other = _levels(clocks[0]), _levels(MarkovChain(day, initial="stationary"))
    flat = math.log(other.repeated[0, 0] / other.repeated[0, 1])
    assert _between(one, other) == pytest.approx(np.abs(apart[0] - flat).max(), abs=1e-8)
    naps = HiddenChain([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]], shows=["a", "a", "b"], initial="stationary")
    assert _levels(naps).repeated == pytest.approx(naps.stationary[None])


def test_where_nothing_limits_it_the_reason_is_said() -> None:
    given = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[1.0, 0.0])
    even = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
    reasons = {
        "any law": ChainSet([MarkovChain([[0.9, 0.1], [0.4, 0.6]]), even]),
        "impossible under one member": ChainSet([given, even]),
        "leaves states for good": ChainSet([MarkovChain([[0.5, 0.5], [0.0, 1.0]], initial=[0.5, 0.5]), even]),
        "its bounds allow": MixingClass(2, pi_min=0.1, gap=0.5),
        "every share": IntervalChain([[0.5, 0.3], [0.3, 0.5]], [[0.7, 0.5], [0.5, 0.7]]),
    }
    for reason, belief in reasons.items():
        known = unknown_member(belief)
        assert known is not None
        assert math.isinf(known.adds)
        assert known.finite is None
        assert reason in known.why
        assert "no limit holds" in known.sentence(1.0)
    assert unknown_member(given) is None
    assert unknown_member(ChainSet([even])) is None
    taking_turns = MarkovChain([[0.0, 1.0], [1.0, 0.0]], initial=[0.5, 0.5])
    assert adds(ChainSet([taking_turns, even])) < 1e-8


def test_sets_of_networks_are_compared_by_variable() -> None:
    networks = [BayesianNetwork({"coin": "ht"}, tables={"coin": [p, 1 - p]}) for p in (0.45, 0.64)]
    assert adds(NetworkSet(networks)) == pytest.approx(adds(coins(0.45, 0.64)), abs=1e-8)
    assert unknown_member(AnyMixture(networks)) is None  # holds for all mixtures


def test_people_are_told(tmp_path: object) -> None:
    homes = coins(0.45, 0.64)
    explained = calibrate("count:0", belief=homes, epsilon=1.0).explain(homes)
    told = "This is for those who know which belief in the class is true; for those who do not, ε is at most 1.78."
    assert told in explained
    assert told not in calibrate("count:0", belief=homes.members[0], epsilon=1.0).explain(homes.members[0])
    file = f"{tmp_path}/homes.json"
    save_belief(homes, file)
    assert "0.777 is added to ε" in run("belief", "show", file, code=0).stdout.replace("\n", " ")
    shown = answer("belief", "show", file)
    assert shown["unknown_member_adds"] == pytest.approx(0.7760, abs=1e-4)
    assert "those who know" in shown["promise"]
