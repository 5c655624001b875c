"""Where rounding decides: bounds that are too small by a billionth are too small."""

import math

import numpy as np
import pytest

from quiltwork import MarkovChain
from quiltwork.influence.curve.given_start import SETTLED, GivenPast
from quiltwork.influence.curve.walk import Arrays, walk
from quiltwork.types import Floats

P = np.array([[0.9, 0.1], [0.2, 0.8]])
STATIONARY = np.array([2 / 3, 1 / 3])


def told_by_the_first(law: Floats, most: float) -> Floats:
    """What the first of two values, asked with this λ, tells about the second: the exact largest log-ratio."""
    later = law @ P
    backward = (law[:, None] * P / later).T
    told = np.zeros((2, 2))
    for x, y in ((0, 1), (1, 0)):
        for weights in (np.array([1.0, math.exp(-most)]), np.array([math.exp(-most), 1.0])):
            told[x, y] = max(told[x, y], math.log((backward[x] @ weights) / (backward[y] @ weights)))
    return told


@pytest.mark.parametrize("apart", [0.45 * SETTLED, -0.45 * SETTLED])
def test_a_start_that_has_nearly_settled_is_not_taken_for_the_limit(apart: float) -> None:
    """Its kernels differ from the limit's by up to the spread, which is then added; much noise makes it all of it."""
    law = STATIONARY * (1 + apart * np.array([1, -1]))
    past = GivenPast(MarkovChain(P, initial=law / law.sum()))
    assert past._limit is not None
    assert not past._backward  # it settles at once
    profile = 39.0 * (1 - np.eye(2))
    assert np.all(past.by_node(profile)[-1].values >= told_by_the_first(law / law.sum(), 39.0))


def forgets_after(nodes: int) -> Arrays:
    """A line of delay: a value is passed on as it is, and after so many nodes nothing is left of it."""
    never, at_once = 1000.0, 0.0
    cross, zeros = np.array([never, at_once]), np.zeros((2, 1))
    return np.array([1, nodes]), zeros, zeros, np.zeros(2, np.int64), cross, np.zeros(2)


@pytest.mark.parametrize(("before", "most", "nodes"), [(1e8, 1e-9, 2), (1e8, 7.4e-9, 100), (1e6, 5e-11, 100)])
def test_what_lies_between_is_not_lost_beside_a_large_release(before: float, most: float, nodes: int) -> None:
    """The nodes between tell λ each, also where the sum of all costs is so large that λ vanishes in it."""
    firsts, bounds = np.zeros(4096, np.int64), np.zeros(4096)
    count = walk(np.array([before, most]), np.array([1, 2 * nodes]), forgets_after(nodes), firsts, bounds)
    assert bounds[count - 1] >= (nodes - 1) * most
