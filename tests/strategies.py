"""Random beliefs for property tests: zeros, periodic and reducible chains, deterministic starts included."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from quiltwork.beliefs import MarkovChain

Array = NDArray[np.float64]


@st.composite
def distributions(draw: st.DrawFn, size: int, *, zeros: bool = True) -> Array:
    """A law on ``size`` states, with zeros if allowed."""
    weights = draw(st.lists(st.integers(0 if zeros else 1, 12), min_size=size, max_size=size))
    if sum(weights) == 0:
        weights[draw(st.integers(0, size - 1))] = 1
    return np.array(weights) / sum(weights)


@st.composite
def transitions(draw: st.DrawFn, *, min_states: int = 2, max_states: int = 6, zeros: bool = True) -> Array:
    """A transition matrix: random, sticky, periodic or reducible."""
    k = draw(st.integers(min_states, max_states))
    P = np.array([draw(distributions(k, zeros=zeros)) for _ in range(k)])
    if draw(st.booleans()):
        stay = draw(st.sampled_from([0.5, 0.9, 0.99]))
        P = stay * np.eye(k) + (1 - stay) * P
    if draw(st.integers(0, 3)) == 0:
        # values that alternate or go round: what one tells about the next is negative
        P = 0.9 * np.roll(np.eye(k), 1, axis=1) + 0.1 * P
    if zeros and draw(st.integers(0, 5)) == 0:
        P = np.roll(np.eye(k), draw(st.integers(0, k - 1)), axis=1)
    return P


@st.composite
def chains(draw: st.DrawFn, *, max_states: int = 6, zeros: bool = True, min_states: int = 2) -> MarkovChain:
    """A chain with a given, stationary (where unique) or any start."""
    P = draw(transitions(max_states=max_states, zeros=zeros, min_states=min_states))
    chain = MarkovChain(P)
    kind = draw(st.sampled_from(["given", "stationary", "any"]))
    if kind == "given":
        return chain.with_start(draw(distributions(len(P))))
    if kind == "stationary" and len(chain._closed) == 1:
        return chain.with_start("stationary")
    return chain


epsilons = st.sampled_from([0.1, 0.5, 1.0, 2.0, 5.0])
