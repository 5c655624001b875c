"""Interval beliefs: enumeration over chains that move within their bounds, and certificates that verify."""

import itertools

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st

from quiltwork import IntervalChain, NotCoveredError, calibrate

Row = tuple[float, ...]


@st.composite
def bounds(draw: st.DrawFn, max_states: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds; often the same ones for every row, sometimes with zeros."""
    k = draw(st.integers(2, max_states))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    P = rng.dirichlet(np.ones(k), size=k)
    width = rng.choice([0.0, 0.02, 0.2, 0.5], size=(k, 1))
    lower = np.maximum(P - width * rng.random((k, k)), 0.0) * (rng.random((k, k)) > draw(st.sampled_from([0.0, 0.2])))
    upper = np.minimum(P + width * rng.random((k, k)), 1.0)
    if draw(st.booleans()):
        lower[:], upper[:] = lower[0], upper[0]
    return lower, upper


def corners(lower: np.ndarray, upper: np.ndarray) -> list[Row]:
    """The corners of the laws within the bounds of one row: filled up in every order."""
    found = set()
    for order in itertools.permutations(range(len(lower))):
        row, left = [float(x) for x in lower], 1 - float(lower.sum())
        for y in order:
            more = min(left, float(upper[y] - lower[y]))
            row[y], left = row[y] + more, left - more
        found.add(tuple(row))
    return sorted(found)


def loss(start: np.ndarray, kernels: list[list[Row]], scale: float) -> float:
    """The loss of a count of state 1 with Laplace noise, about any value, by enumeration of all series."""
    T, k = len(kernels) + 1, len(start)
    law = np.zeros((T, k, T + 1))
    for series in itertools.product(range(k), repeat=T):
        p = start[series[0]]
        for kernel, (x, y) in zip(kernels, itertools.pairwise(series), strict=True):
            p *= kernel[x][y]
        for t, x in enumerate(series):
            law[t, x, series.count(1)] += p
    counts = np.arange(T + 1)
    density = law @ np.exp(-np.abs(counts[:, None] - counts[None, :]) / scale)
    total = law.sum(axis=2)
    worst = 0.0
    for t, (a, b) in itertools.product(range(T), itertools.permutations(range(k), 2)):
        if min(total[t, a], total[t, b]) > 1e-12:
            worst = max(worst, float(np.log(density[t, a] / total[t, a] * total[t, b] / density[t, b]).max()))
    return worst


def climbed(lower: np.ndarray, upper: np.ndarray, length: int, scale: float, rng: np.random.Generator) -> float:
    """A large loss among chains that move within the bounds: hill climbing over corners and starts on two states."""
    k = len(lower)
    rows = [corners(low, high) for low, high in zip(lower, upper, strict=True)]
    kernels = [[choices[rng.integers(len(choices))] for choices in rows] for _ in range(length - 1)]
    starts = [
        u * np.eye(k)[x] + (1 - u) * np.eye(k)[z]
        for (x, z), u in itertools.product(itertools.permutations(range(k), 2), (1e-6, 0.1, 0.5))
    ]
    start = np.full(k, 1 / k)
    best, before = loss(start, kernels, scale), -1.0
    while best > before + 1e-9:
        before = best
        for kernel, x in itertools.product(kernels, range(k)):
            tried = []
            for row in rows[x]:
                kernel[x] = row
                tried.append((loss(start, kernels, scale), row))
            best, kernel[x] = max(tried)
        losses = [best, *(loss(s, kernels, scale) for s in starts)]
        start, best = [start, *starts][int(np.argmax(losses))], max(losses)
    return best


@settings(max_examples=examples(20))
@given(bounds(), st.integers(2, 4), st.sampled_from([0.5, 1.0, 3.0, 4.0]), st.booleans(), st.integers(0, 2**32 - 1))
def test_no_chain_within_the_bounds_loses_more(
    within: tuple[np.ndarray, np.ndarray], length: int, epsilon: float, known: bool, seed: int
) -> None:
    try:
        found = calibrate(
            "count:1",
            belief=IntervalChain(*within),
            epsilon=epsilon,
            length=length if known else None,
            mechanism="curve",
        )
    except NotCoveredError:
        return  # with a lower bound of 0 values may stay linked for ever
    assert climbed(*within, length, found.noise_scale, np.random.default_rng(seed)) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize(
    ("lower", "upper", "length", "epsilon"),
    [([0.679, 0.148], [0.857, 0.313], 5, 4.0), ([0.077, 0.794], [0.194, 1.0], 4, 4.0)],
)
def test_rows_with_the_same_bounds(lower: list[float], upper: list[float], length: int, epsilon: float) -> None:
    low, high = np.array([lower, lower]), np.array([upper, upper])
    scale = calibrate("count:1", belief=IntervalChain(low, high), epsilon=epsilon, mechanism="curve").noise_scale
    assert climbed(low, high, length, scale, np.random.default_rng(0)) <= epsilon


def test_the_certificate_of_an_interval_verifies() -> None:
    belief = IntervalChain([[0.54, 0.24], [0.48, 0.20]], [[0.70, 0.41], [0.68, 0.36]])
    certificate = calibrate("count:1", belief=belief, epsilon=1.0, mechanism="curve").certificate
    assert certificate is not None
    assert certificate.verify(belief) <= 1.0


@pytest.mark.parametrize("length", [None, 3, 10, 100])
def test_the_certificate_of_wide_bounds_verifies(length: int | None) -> None:
    belief = IntervalChain([[0.54, 0.24], [0.48, 0.20]], [[0.70, 0.41], [0.68, 0.36]])
    found = calibrate("count:1", belief=belief, epsilon=1.0, length=length, mechanism="curve")
    assert found.certificate is not None
    assert found.certificate.verify(belief) <= 1.0


@settings(max_examples=examples(30))
@given(
    bounds(max_states=4),
    st.sampled_from([0.1, 1.0, 4.0]),
    st.sampled_from([None, 2, 5, 1000]),
    st.sampled_from(["pufferfish", "bayesian"]),
    st.sampled_from(["count:1", "histogram"]),
)
def test_every_certificate_verifies(
    within: tuple[np.ndarray, np.ndarray], epsilon: float, length: int | None, guarantee: str, query: str
) -> None:
    belief = IntervalChain(*within)
    try:
        found = calibrate(
            query,
            belief=belief,
            epsilon=epsilon,
            length=length,
            mechanism="curve",
            guarantee=guarantee,  # type: ignore[arg-type]
        )
    except NotCoveredError:
        return
    assert found.certificate is not None
    assert found.certificate.verify(belief) <= epsilon
