"""The audit against rational arithmetic and plain enumeration; its known values; what it refuses."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import reference
from effort import examples
from hypothesis import given, settings, strategies as st
from strategies import chains, with_some_start

from quiltwork import (
    Accountant,
    ChainSet,
    Count,
    Custom,
    DynamicNetwork,
    Frequencies,
    Histogram,
    InputError,
    JointTable,
    MarkovChain,
    Mean,
    MixingClass,
    Noisy,
    NotCoveredError,
    ReleaseRecord,
    Sum,
    Transitions,
    audit,
)
from quiltwork.auditor import audit_mechanism, smallest_scale
from quiltwork.laws.exact import Statistic, chain_laws
from quiltwork.question import bind

PAIR = MarkovChain([[0.99, 0.01], [0.1, 0.9]], initial=[0.1, 0.9])
LAZY = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")


def test_known_values_of_theorem_3_4() -> None:
    """C Theorem 3.4: e^(2 loss) = e² 6.2672 for one release, two together are worse than twice that."""
    one = audit(PAIR, [Noisy(Count("1"), 1.0)], length=2)
    two = audit(PAIR, [Noisy(Count("1"), 1.0)] * 2, length=2)
    assert one.epsilon == pytest.approx(1.9176648, abs=1e-7)
    assert two.epsilon == pytest.approx(3.8476323, abs=1e-7)
    assert two.epsilon > 2 * one.epsilon
    assert (one.node, one.pair, one.output) == (1, ("1", "0"), (2.0,))


@pytest.mark.parametrize(
    ("chain", "length", "scale", "digits"),
    [(LAZY, 200, 3.33641, 4), (MarkovChain([[0.99, 0.01], [0.02, 0.98]], initial="stationary"), 700, 68.61, 1)],
)
def test_smallest_scales_of_long_chains(chain: MarkovChain, length: int, scale: float, digits: int) -> None:
    """Statement 7: the smallest Laplace scale that any analysis could allow at ε = 1."""
    found = smallest_scale(Count("1"), belief=chain, epsilon=1.0, length=length)
    assert found == pytest.approx(scale, abs=10**-digits)
    assert audit(chain, [Noisy(Count("1"), found)], length=length).epsilon <= 1.0
    assert audit(chain, [Noisy(Count("1"), found * 0.9999)], length=length).epsilon > 1.0


def rational_loss(chain: MarkovChain, length: int, decay: Fraction) -> Fraction:
    """exp(loss) of a count with ratio ``decay`` per unit of distance, in exact arithmetic."""
    P = [[Fraction(float(p)) for p in row] for row in chain.transition]
    start = [Fraction(float(p)) for p in chain.initial]  # type: ignore[union-attr]
    k, worst = len(P), Fraction(1)
    law: dict[tuple[int, ...], Fraction] = {}
    for path in itertools.product(range(k), repeat=length):
        p = start[path[0]]
        for x, y in itertools.pairwise(path):
            p *= P[x][y]
        if p:
            law[path] = p
    for i in range(length):
        densities = []
        for x in range(k):
            mass = sum((p for path, p in law.items() if path[i] == x), Fraction(0))
            if mass:
                density = [
                    sum((p * decay ** abs(w - path.count(0)) for path, p in law.items() if path[i] == x), Fraction(0))
                    / mass
                    for w in range(length + 1)
                ]
                densities.append(density)
        for above, below in itertools.permutations(densities, 2):
            worst = max(worst, *(a / b for a, b in zip(above, below, strict=True)))
    return worst


@settings(max_examples=examples(10))
@given(chains(max_states=3), st.integers(1, 4), st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(1, 10**6)]))
def test_loss_equals_rational_arithmetic(chain: MarkovChain, length: int, decay: Fraction) -> None:
    chain = with_some_start(chain)
    exact = math.log(rational_loss(chain, length, decay))
    found = audit(chain, [Noisy(Count("0"), -1 / math.log(decay))], length=length).epsilon
    assert found == pytest.approx(exact, rel=1e-9, abs=5e-12)
    assert found >= exact * (1 - 1e-13)


def test_tails_of_any_size_are_accurate() -> None:
    """Sums of probability far below the smallest float, against logarithms by hand."""
    rare = MarkovChain([[1 - 1e-9, 1e-9], [1 - 1e-9, 1e-9]], initial=[1 - 1e-9, 1e-9])
    laws = chain_laws(rare, [Statistic(bind("count:1", rare).only)], 200)
    assert laws.logs[5, 1, 200] == pytest.approx(199 * math.log(1e-9), rel=1e-12)
    assert laws.logs[5, 0, 0] == pytest.approx(199 * math.log1p(-1e-9), rel=1e-6)
    # independent values: the loss is one over the scale, however far in the tails
    assert audit(rare, [Noisy(Count("1"), 0.05)], length=200).epsilon == pytest.approx(20, rel=1e-9)


@settings(max_examples=examples(14))
@given(chains(max_states=3), st.integers(1, 5), st.sampled_from(["count", "histogram"]), st.floats(0.3, 8))
def test_loss_equals_enumeration(chain: MarkovChain, length: int, statistic: str, scale: float) -> None:
    chain = with_some_start(chain)
    query = Count("0") if statistic == "count" else Histogram()
    law = reference.paths(chain.transition, chain.initial, length)  # type: ignore[arg-type]
    expected = reference.laplace_loss(law, statistic, scale)
    assert audit(chain, [Noisy(query, scale)], length=length).epsilon == pytest.approx(expected, rel=1e-9, abs=1e-12)


def enumerated_loss(
    chain: MarkovChain, length: int, releases: list[tuple[int, int, int, float]], know: dict[int, int]
) -> float:
    """Several counts (state, first, last, scale) seen together, given known values; by enumeration."""
    law = [
        (path, p)
        for path, p in reference.paths(chain.transition, chain.initial, length)  # type: ignore[arg-type]
        if all(path[t - 1] == x for t, x in know.items())
    ]
    ranges = [range(last - first + 2) for _, first, last, _ in releases]
    worst = 0.0
    for i in range(length):
        densities = []
        for x in range(len(chain.states)):
            here = [(path, p) for path, p in law if path[i] == x]
            if here:
                mass = sum(p for _, p in here)
                densities.append(
                    [
                        sum(
                            p
                            * math.exp(
                                -sum(
                                    abs(w - path[first - 1 : last].count(s)) / scale
                                    for w, (s, first, last, scale) in zip(output, releases, strict=True)
                                )
                            )
                            for path, p in here
                        )
                        / mass
                        for output in itertools.product(*ranges)
                    ]
                )
        for p, q in itertools.permutations(densities, 2):
            worst = max(worst, max(math.log(a / b) for a, b in zip(p, q, strict=True)))
    return worst


@settings(max_examples=examples(10))
@given(chains(max_states=3, zeros=False), st.data())
def test_joint_releases_segments_and_knowledge(chain: MarkovChain, data: st.DataObject) -> None:
    chain = with_some_start(chain)
    length = data.draw(st.integers(2, 4))
    releases = []
    for _ in range(data.draw(st.integers(1, 2))):
        first = data.draw(st.integers(1, length))
        last = data.draw(st.integers(first, length))
        releases.append((data.draw(st.integers(0, 1)), first, last, data.draw(st.floats(0.5, 3))))
    know = {data.draw(st.integers(1, length)): 0} if data.draw(st.booleans()) else {}
    if (chain.initial == 0).any():  # type: ignore[union-attr]
        know = {}
    expected = enumerated_loss(chain, length, releases, know)
    noisy = [Noisy(Count(str(s)), scale, (first, last)) for s, first, last, scale in releases]
    found = audit(chain, noisy, length=length, know={t: str(x) for t, x in know.items()})
    assert found.epsilon == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_numeric_queries_are_audited_in_their_own_terms() -> None:
    numeric = MarkovChain(LAZY.transition, initial="stationary", states=["0", "2.5"])
    count = audit(numeric, [Noisy(Count("2.5"), 2.0)], length=6)
    total = audit(numeric, [Noisy(Sum(), 5.0)], length=6)
    mean = audit(numeric, [Noisy(Mean(), 5.0 / 6)], length=6)
    assert count.epsilon == pytest.approx(total.epsilon, rel=1e-12)
    assert count.epsilon == pytest.approx(mean.epsilon, rel=1e-12)
    assert total.output == (15.0,)
    assert mean.output == (2.5,)
    shares = audit(numeric, [Noisy(Frequencies(), 4.0 / 6)], length=6)
    assert shares.epsilon == pytest.approx(audit(numeric, [Noisy(Histogram(), 4.0)], length=6).epsilon, rel=1e-12)


def test_a_histogram_is_one_joint_release() -> None:
    """With two states both bins move together: noise s on each tells as much as noise s/2 on one."""
    both = audit(LAZY, [Noisy(Histogram(), 4.0)], length=8).epsilon
    assert both == pytest.approx(audit(LAZY, [Noisy(Count("0"), 2.0)], length=8).epsilon, rel=1e-9)
    three = MarkovChain(np.full((3, 3), 1 / 3), initial="stationary")
    assert audit(three, [Noisy(Histogram(), 4.0)], length=5).epsilon == pytest.approx(0.5, rel=1e-9)


def test_sets_take_the_worst_member() -> None:
    loose = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
    found = audit(ChainSet([loose, LAZY]), [Noisy(Count("1"), 2.0)], length=10)
    assert found.member == 2
    assert found.epsilon == audit(LAZY, [Noisy(Count("1"), 2.0)], length=10).epsilon
    assert found.to_dict()["member"] == 2


def test_secrets_of_probability_zero_are_skipped_and_said_so() -> None:
    known = LAZY.with_start([1, 0])
    found = audit(known, [Noisy(Count("1"), 2.0)], length=3)
    assert found.skipped == 1
    assert "1 secrets have probability zero" in " ".join(found.lines())
    nothing = audit(MarkovChain([[0, 1], [1, 0]], initial=[1, 0]), [Noisy(Count("1"), 2.0)], length=3)
    assert (nothing.epsilon, nothing.pair) == (0.0, None)
    assert "no secret" in " ".join(nothing.lines())
    assert smallest_scale(Count("1"), belief=MarkovChain([[0, 1], [1, 0]], initial=[1, 0]), epsilon=1.0, length=3) == 0


FLU = JointTable(
    {f"p{n}": ["well", "ill"] for n in range(4)},
    [
        (tuple("ill" if bit else "well" for bit in bits), p / math.comb(4, sum(bits)))
        for bits in itertools.product([0, 1], repeat=4)
        for p in [(0.1, 0.15, 0.5, 0.15, 0.1)[sum(bits)]]
    ],
)


def test_joint_tables() -> None:
    one = audit(FLU, [Noisy(Count("ill"), 2.0)])
    assert one.node in FLU.variables
    known = audit(FLU, [Noisy(Count("ill"), 2.0)], know={"p0": "ill"})
    assert known.epsilon > 0
    with pytest.raises(InputError, match="variable and one of its states"):
        audit(FLU, [Noisy(Count("ill"), 2.0)], know={"p9": "ill"})
    with pytest.raises(InputError, match="no order in time"):
        audit(FLU, [Noisy(Count("ill"), 2.0, (1, 2))])
    for query in (Frequencies(), Mean({"well": 0, "ill": 1})):
        plain = audit(FLU, [Noisy(query, 0.5)]).epsilon
        assert audit(FLU, [Noisy(query, 0.5)], length=4).epsilon == plain
        with pytest.raises(InputError, match="number of variables"):
            audit(FLU, [Noisy(query, 0.5)], length=100)
    # the same chain as a joint table
    table = JointTable(
        {"1": "01", "2": "01", "3": "01"},
        [(tuple(map(str, path)), p) for path, p in reference.paths(LAZY.transition, LAZY.stationary, 3)],
    )
    chain = audit(LAZY, [Noisy(Count("1"), 1.5)], length=3).epsilon
    assert audit(table, [Noisy(Count("1"), 1.5)]).epsilon == pytest.approx(chain, rel=1e-12)


def test_mechanisms_given_as_tables() -> None:
    """Against B Theorem 2: two correlated values, each released by randomised response with ε = 1: together 1.977."""
    same = JointTable({"x": "01", "y": "01"}, [((a, b), 0.495 if a == b else 0.005) for a in "01" for b in "01"])
    keep = math.e / (1 + math.e)

    def row(a: str, b: str) -> list[float]:
        return [(keep if a == u else 1 - keep) * (keep if b == v else 1 - keep) for u in "01" for v in "01"]

    both = audit_mechanism(same, {(a, b): row(a, b) for a in "01" for b in "01"})
    assert both.epsilon == pytest.approx(1.976622, abs=1e-6)
    tell = audit_mechanism(same, {(a, b): [1.0, 0.0] if a == "0" else [0.0, 1.0] for a in "01" for b in "01"})
    assert tell.epsilon == math.inf
    for wrong in ({}, {(a, b): [0.5] for a in "01" for b in "01"}):
        with pytest.raises(InputError, match="law of its output"):
            audit_mechanism(same, wrong)
    with pytest.raises(InputError, match="one length"):
        audit_mechanism(same, {(a, b): [1.0] + [0.0] * (a == b) for a in "01" for b in "01"})


def test_refusals() -> None:
    with pytest.raises(NotCoveredError, match="adds up over values"):
        audit(LAZY, [Noisy(Transitions(), 1.0)], length=5)
    with pytest.raises(NotCoveredError, match="adds up"):
        audit(LAZY, [Noisy(Custom(len, constant=1), 1.0)], length=5)
    with pytest.raises(NotCoveredError, match=r"too large, got .* numbers.*limits"):
        audit(LAZY, [Noisy(Count("1"), 1.0)], length=10**6)
    with pytest.raises(NotCoveredError, match="too many outputs"):
        audit(LAZY, [Noisy(Count("1"), 1.0)] * 4, length=100)
    with pytest.raises(NotCoveredError, match="infinitely many"):
        audit(MixingClass(2, pi_min=0.1, gap=0.1), [Noisy(Count("1"), 1.0)], length=5)
    with pytest.raises(InputError, match="needs a length"):
        audit(LAZY, [Noisy(Count("1"), 1.0)])
    with pytest.raises(InputError, match="needs a release"):
        audit(LAZY, [], length=5)
    with pytest.raises(InputError, match="probability zero"):
        audit(MarkovChain([[0, 1], [1, 0]], initial=[1, 0]), [Noisy(Count("1"), 1.0)], length=5, know={2: "0"})
    with pytest.raises(InputError, match="Times are 1 to 5"):
        audit(LAZY, [Noisy(Count("1"), 1.0)], length=5, know={9: "0"})
    with pytest.raises(InputError, match="time and a state"):
        audit(LAZY, [Noisy(Count("1"), 1.0)], length=5, know={"x": "0"})
    with pytest.raises(InputError, match="within 1:5"):
        audit(LAZY, [Noisy(Count("1"), 1.0, (2, 6))], length=5)
    for scale in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="noise scale"):
            Noisy(Count("1"), scale)


@pytest.mark.parametrize(
    ("variables", "rows", "message"),
    [
        ({"x": "01"}, [(("0",), 0.4)], r"sum to 1, got 0.4"),
        ({"x": "01"}, [(("2",), 1.0)], "one of its states"),
        ({"x": "01"}, [(("0", "1"), 1.0)], "one of its states"),
        ({"x": "01"}, [(("0",), 0.5), (("0",), 0.5)], "repeat"),
        ({"x": "01"}, [(("0",), -1.0)], "not negative"),
        ({}, [], "needs variables"),
        ({"x": "00"}, [], "different states"),
    ],
)
def test_wrong_joint_tables(variables: dict[str, str], rows: list[tuple[tuple[str, ...], float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        JointTable(variables, rows)


def test_noise_near_the_limits_of_floats_is_refused() -> None:
    stuck = MarkovChain(np.eye(2), initial=[0.5, 0.5])
    assert audit(stuck, [Noisy(Count("1"), 1e-99)], length=10).epsilon == pytest.approx(1e100)
    for scale in (1e-308, 1e-310, 5e-324, 1e200):
        with pytest.raises(InputError, match="between 1e-100"):
            audit(stuck, [Noisy(Count("1"), scale)], length=10)


def test_sums_too_large_for_integers_are_refused() -> None:
    huge = JointTable({"x": ["0", "6000000000000000000"], "y": ["0", "1"]}, [(("0", "0"), 1.0)])
    with pytest.raises(InputError, match="2\\^62"):
        audit(huge, [Noisy(Sum(), 1.0)])


def test_progress_is_told() -> None:
    told: list[float] = []
    audit(LAZY, [Noisy(Count("1"), 1.0)], length=130, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.parametrize(("divided", "whole"), [("mean", "sum"), ("share:1", "count:1"), ("frequencies", "histogram")])
def test_records_of_shares_over_time_have_their_noise_on_counts(divided: str, whole: str) -> None:
    tables = {"x": [[0.9, 0.1], [0.4, 0.6]], "y": [[0.8, 0.2], [0.3, 0.7]]}
    belief = DynamicNetwork(
        {"x": "01", "y": "01"}, parents={"x": ["x@before"], "y": ["x"]}, tables=tables, initial="stationary"
    )

    def told(query: str, scale: float) -> float:
        lipschitz = bind(query, belief).lipschitz
        known = {"lipschitz": lipschitz, "length": 3, "noise_scale": scale, "epsilon": 0.1}
        record = ReleaseRecord(mechanism="audited", query=query, **known)  # type: ignore[arg-type]
        exact = audit(belief, record).epsilon
        assert Accountant(belief, length=3, releases=[record]).epsilon >= exact * (1 - 1e-9)  # it claims too little
        return exact

    assert told(divided, 3.0) == pytest.approx(told(whole, 3.0), rel=1e-9)
    both = [Noisy([query, "tally:x=1"], 3.0) for query in (divided, whole)]  # type: ignore[arg-type]
    first, second = (audit(belief, one, length=3).epsilon for one in both)
    assert first == pytest.approx(second, rel=1e-9)
