"""Beliefs near each other (Statement 56), by enumeration of every series."""

import itertools
import math

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st
from strategies import chains, transitions

from quiltwork import MarkovChain
from quiltwork.accounting.compare import distance_between

Law = dict[tuple[int, ...], float]


def law_of(chain: MarkovChain, start: np.ndarray, length: int) -> Law:
    P = chain.transition
    series = itertools.product(range(len(P)), repeat=length)
    return {x: float(start[x[0]] * np.prod([P[a, b] for a, b in itertools.pairwise(x)])) for x in series}


def loss(law: Law, density: dict[tuple[int, ...], float], position: int) -> float:
    """The largest log-ratio of the density of one output given two values at a position."""
    given_value: dict[int, list[float]] = {}
    for x, p in law.items():
        total = given_value.setdefault(x[position], [0.0, 0.0])
        total[0] += p
        total[1] += p * density[x]
    averages = [output / p for p, output in given_value.values() if p > 0]
    return math.log(max(averages) / min(averages))


@settings(max_examples=examples(36))
@given(transitions(max_states=3, zeros=False), st.data(), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_a_near_belief_loses_at_most_twice_the_distance(
    P: np.ndarray, data: st.DataObject, length: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    tilted = P * np.exp(data.draw(st.sampled_from([0.01, 0.3, 2.0])) * rng.normal(size=P.shape))
    first = MarkovChain(P, initial="stationary")
    second = MarkovChain(tilted / tilted.sum(axis=1, keepdims=True), initial="stationary")
    distance = distance_between(first, second, length=length)
    assert distance is not None
    laws = [law_of(chain, chain.stationary, length) for chain in (first, second)]
    ratios = [math.log(laws[1][x] / laws[0][x]) for x in laws[0]]
    assert distance == pytest.approx(max(0.0, *ratios) - min(0.0, *ratios), rel=1e-8, abs=1e-9)
    density = {x: math.exp(rng.normal() * rng.choice([0.1, 1.0, 10.0])) for x in laws[0]}
    for position in range(length):
        before, after = (loss(law, density, position) for law in laws)
        assert after <= before + 2 * distance + 1e-9


def test_twice_the_distance_cannot_be_improved() -> None:
    """A rare second value that the output gives away: ε is 0 under one law, and almost 2 · distance under the other."""
    rare, size = 1e-6, 0.1
    signs: dict[tuple[int, ...], int] = {(0, 1): 1, (0, 0): -1, (1, 1): -1, (1, 0): 1}
    law = {x: 0.5 * (rare if x[1] else 1 - rare) for x in signs}
    other = {x: p * math.exp(size * signs[x]) for x, p in law.items()}
    other = {x: p / sum(other.values()) for x, p in other.items()}
    density = {x: 1.0 if x[1] else rare**2 for x in law}
    ratios = [math.log(other[x] / law[x]) for x in law]
    assert loss(law, density, 0) == 0
    assert loss(other, density, 0) == pytest.approx(2 * (max(ratios) - min(ratios)), rel=1e-4)


@settings(max_examples=examples(14))
@given(chains(max_states=3), st.integers(1, 4))
def test_no_chain_is_apart_from_itself(chain: MarkovChain, length: int) -> None:
    distance = distance_between(chain, chain, length=length)
    assert distance is None or distance == 0
