"""Random chains with phases, cycles and bounds, and every path that they allow."""

import itertools
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import Array, distributions, transitions

from quiltwork import Belief, CycleChain, HiddenChain, IntervalChain, MarkovChain, QuiltworkError

Paths = tuple[NDArray[np.int64], Array]  # what is seen (paths x times), and how likely


def enumerated(start: Array, kernels: Sequence[Array], shown: Sequence[int]) -> Paths:
    """Every path of phases, one after the other."""
    seen: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(len(start)), repeat=len(kernels) + 1):
        p = start[path[0]]
        for (x, y), kernel in zip(itertools.pairwise(path), kernels, strict=True):
            p *= kernel[x, y]
        if p > 0:
            states = tuple(shown[h] for h in path)
            seen[states] = seen.get(states, 0.0) + p
    return np.array(list(seen)), np.array(list(seen.values()))


@st.composite
def hidden(draw: st.DrawFn) -> HiddenChain:
    P = draw(transitions(min_states=2, max_states=4))
    states = draw(st.integers(1, len(P)))
    rest = draw(st.lists(st.integers(0, states - 1), min_size=len(P) - states, max_size=len(P) - states))
    chain = MarkovChain(P)
    start = draw(st.sampled_from(["stationary", "any", "given"]))
    if start == "stationary" and len(chain._closed) != 1:
        start = "any"
    initial = draw(distributions(len(P))) if start == "given" else start
    return HiddenChain(P, shows=[*range(states), *rest], initial=initial)


@st.composite
def cycles(draw: st.DrawFn) -> CycleChain:
    k, n = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    tables = [draw(transitions(min_states=k, max_states=k)) for _ in range(n)]
    try:
        return CycleChain(tables, initial=draw(st.sampled_from(["stationary", "any"])))
    except QuiltworkError:
        return CycleChain(tables, initial="any")


@st.composite
def intervals(draw: st.DrawFn) -> IntervalChain:
    """Bounds around two chains."""
    P = draw(transitions(min_states=2, max_states=3))
    Q = draw(transitions(min_states=len(P), max_states=len(P)))
    return IntervalChain(np.minimum(P, Q), np.maximum(P, Q))


def cases(belief: Belief, length: int, rng: np.random.Generator) -> list[Paths]:
    """The laws that a belief allows: one for each time of a cycle, and a few starts where any is."""
    if isinstance(belief, CycleChain):
        k = len(belief.states)
        starts = [rng.dirichlet(np.full(k, 0.5)) for _ in range(2)]
        return [
            enumerated(start, [belief.transitions[(begun + t) % belief.period] for t in range(length - 1)], range(k))
            for begun in range(belief.period)
            for start in ([belief.law[begun]] if belief.start == "stationary" else starts)
        ]
    if isinstance(belief, IntervalChain):
        k = len(belief.states)
        return [
            enumerated(rng.dirichlet(np.full(k, 0.5)), [_within(belief, rng) for _ in range(length - 1)], range(k))
            for _ in range(3)
        ]
    assert isinstance(belief, HiddenChain)
    phases = belief.phases
    starts = (
        [phases.initial]
        if phases.initial is not None
        else [rng.dirichlet(np.full(len(belief.shown), 0.4)) for _ in range(3)]
    )
    return [enumerated(start, [phases.transition] * (length - 1), belief.shown.tolist()) for start in starts]


def _within(belief: IntervalChain, rng: np.random.Generator) -> Array:
    """A matrix within the bounds: each row takes what it must, then shares out the rest in a random order."""
    rows = belief.lower.copy()
    for row, most in zip(rows, belief.upper, strict=True):
        for y in rng.permutation(len(row)):
            row[y] += min(most[y] - row[y], max(0.0, 1 - row.sum()))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))
