"""Random beliefs for property tests: zeros, periodic and reducible chains, deterministic starts included."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from quiltwork.beliefs import BayesianNetwork, MarkovChain

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


def with_some_start(chain: MarkovChain) -> MarkovChain:
    """The chain, with a uniform start if it has none: an audit needs a law of the first value."""
    return chain if chain.initial is not None else chain.with_start(np.full(len(chain.states), 1 / len(chain.states)))


epsilons = st.sampled_from([0.1, 0.5, 1.0, 2.0, 5.0])


@st.composite
def networks(
    draw: st.DrawFn,
    *,
    min_variables: int = 1,
    max_variables: int = 6,
    max_states: int = 3,
    most_parents: int = 3,
    zeros: bool = True,
) -> BayesianNetwork:
    """A network with colliders, chains and separate parts; variables are not named in the order of the edges."""
    n = draw(st.integers(min_variables, max_variables))
    order = draw(st.permutations(range(n)))
    sizes = draw(st.lists(st.integers(1 if zeros else 2, max_states), min_size=n, max_size=n))
    variables = {f"v{j}": tuple(f"s{x}" for x in range(sizes[j])) for j in range(n)}
    parents: dict[str, list[str]] = {}
    tables = {}
    for place, j in enumerate(order):
        before = draw(st.lists(st.sampled_from(order[:place]), max_size=most_parents, unique=True)) if place else []
        parents[f"v{j}"] = [f"v{p}" for p in before]
        rows = int(np.prod([sizes[p] for p in before], dtype=int))
        seed = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        table = seed.dirichlet(np.full(sizes[j], draw(st.sampled_from([0.3, 1.0, 5.0]))), size=rows)
        if zeros and draw(st.integers(0, 3)) == 0:
            table = np.where(seed.random(table.shape) < 0.3, 0.0, table)
            table[table.sum(axis=1) == 0, 0] = 1.0
        table = np.maximum(table, 0.0 if zeros else 1e-3)
        tables[f"v{j}"] = table / table.sum(axis=1, keepdims=True)
        if not before:
            tables[f"v{j}"] = tables[f"v{j}"][0]
    return BayesianNetwork(variables, parents=parents, tables=tables)


def trees(**limits: int | bool) -> st.SearchStrategy[BayesianNetwork]:
    """Networks in which no variable has two parents."""
    return networks(most_parents=1, **limits)  # type: ignore[arg-type]
