"""Brute force: the exact loss of a release, by enumerating every series, never exceeds ε."""

import numpy as np
import pytest
import reference
from effort import examples
from hypothesis import given, settings, strategies as st
from strategies import chains, distributions, transitions, with_some_start

from quiltwork import Count, Histogram, MarkovChain, calibrate
from quiltwork.question import Query

STATISTICS: dict[str, Query] = {"count": Count("0"), "histogram": Histogram()}
targets = st.sampled_from([0.2, 0.5, 1.0, 2.0, 4.0])


def loss(chain: MarkovChain, start: np.ndarray, length: int, statistic: str, scale: float) -> float:
    return reference.laplace_loss(reference.paths(chain.transition, start, length), statistic, scale)


@settings(max_examples=examples(22))
@given(chains(max_states=3), st.integers(1, 5), targets, st.sampled_from(list(STATISTICS)))
def test_exact_quilts_keep_the_promise(chain: MarkovChain, length: int, epsilon: float, statistic: str) -> None:
    start = with_some_start(chain).initial
    assert start is not None
    scale = calibrate(STATISTICS[statistic], belief=chain, epsilon=epsilon, length=length).noise_scale
    drawn = statistic if len(chain.states) > 2 else "count"  # of two states one number has noise
    assert loss(chain, start, length, drawn, scale) <= epsilon * (1 + 1e-12)


@settings(max_examples=examples(14))
@given(transitions(max_states=3), st.data(), st.integers(1, 5), targets, st.sampled_from(list(STATISTICS)))
def test_any_start_keeps_the_promise_for_every_start(
    P: np.ndarray, data: st.DataObject, length: int, epsilon: float, statistic: str
) -> None:
    start = data.draw(distributions(len(P)))
    if data.draw(st.booleans()):
        # nearly deterministic: the worst starts have a trace of everything
        start = 0.999999 * start + 1e-6 / len(P)
    scale = calibrate(STATISTICS[statistic], belief=MarkovChain(P), epsilon=epsilon, length=length).noise_scale
    drawn = statistic if len(P) > 2 else "count"  # of two states one number has noise
    assert loss(MarkovChain(P), start, length, drawn, scale) <= epsilon * (1 + 1e-12)


@settings(max_examples=examples(20))
@given(transitions(max_states=3, zeros=False), st.data(), st.integers(1, 6), targets)
def test_approximate_quilts_keep_the_promise(P: np.ndarray, data: st.DataObject, length: int, epsilon: float) -> None:
    start = data.draw(distributions(len(P)))
    scale = calibrate(
        Count("0"), belief=MarkovChain(P), epsilon=epsilon, length=length, mechanism="quilt-approx"
    ).noise_scale
    assert loss(MarkovChain(P), start, length, "count", scale) <= epsilon * (1 + 1e-12)


@settings(max_examples=examples(20))
@given(st.floats(0.3, 0.7), st.floats(-0.12, 0.12), st.data(), st.integers(1, 7), targets)
def test_gk16_keeps_the_promise_where_it_applies(
    q: float, drift: float, data: st.DataObject, length: int, epsilon: float
) -> None:
    chain = MarkovChain([[1 - q, q], [1 - q - drift, q + drift]])
    start = data.draw(distributions(2))
    belief = chain.with_start(start)
    scale = calibrate(Count("0"), belief=belief, epsilon=epsilon, length=length, mechanism="gk16").noise_scale
    assert loss(chain, start, length, "count", scale) <= epsilon * (1 + 1e-12)


def test_too_little_noise_is_caught() -> None:
    """The brute force has teeth: entry-level noise breaks the promise on a sticky chain."""
    chain = MarkovChain([[0.9, 0.1], [0.1, 0.9]], initial="stationary")
    entry = calibrate(Count("0"), belief=chain, epsilon=1.0, length=6, mechanism="entry")
    assert entry.guarantee == "none"
    assert loss(chain, chain.stationary, 6, "count", entry.noise_scale) > 2.0


@pytest.mark.parametrize("cut", [[2, 2], [1, 3], [1, 1, 1, 1]])
def test_stretches_of_one_subject_may_be_joined(cut: list[int]) -> None:
    """Gaps of any size between stretches: the joined chain's noise keeps the promise for the true, longer chain."""
    chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]], initial="stationary")
    scale = calibrate(Count("0"), belief=chain, epsilon=0.7, length=sum(cut)).noise_scale
    for gap in (1, 2):
        keep: list[int] = []
        for size in cut:
            begin = keep[-1] + gap + 1 if keep else 0
            keep += range(begin, begin + size)
        law: dict[tuple[int, ...], float] = {}
        for path, p in reference.paths(chain.transition, chain.stationary, keep[-1] + 1):
            seen = tuple(path[t] for t in keep)
            law[seen] = law.get(seen, 0.0) + p
        assert reference.laplace_loss(list(law.items()), "count", scale) <= 0.7
