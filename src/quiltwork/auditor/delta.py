"""The exact δ at an ε, and the smallest ε at a δ, between the laws of outputs given two secrets (Statement 81).

    δ(ε) = sum over outputs w of (p(w | a) - e^ε p(w | b))₊ ,

the largest over secrets a and b, in both directions. Both ends of every number are computed: sums of masses with their
errors and with what was cut off on the safe side, and on the other. Under any start, a start on two states is the
worst; pieces of their odds are divided until both ends are close.
"""

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from quiltwork.auditor.loss import NodeLoss
from quiltwork.auditor.outputs import Outputs
from quiltwork.errors import NotCoveredError
from quiltwork.laws.exact import SecretLaws
from quiltwork.numeric import round_up
from quiltwork.types import Floats

CURVE = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Every ε at which an audit says its δ."""
LARGEST = 1e290  # of e^ε
NOTHING = 1e-300  # more than a mass that is written as 0
SUMMED = 1e-12  # more than the relative error of a sum
CLOSE, MOST_PIECES = 1e-3, 400
NEAR = 1e-9  # differences in ε or δ that are not looked into
FAR, FARTHEST, SOME = 40.0, 300.0, 8.0  # log odds of a start that is all but certain, to be shown and to be looked at
ODDS = 1e-12  # more than the relative error of shares


Score = Callable[[Floats, Floats], float]
Bounds = tuple[float, float]


@dataclass(frozen=True)
class Measure:
    """δ between two laws of outputs, from above and from below."""

    slack: float
    missing: float

    @classmethod
    def of(cls, outputs: Outputs, *, any_start: bool) -> "Measure":
        """With the errors of these outputs."""
        return cls(outputs.slack + (ODDS if any_start else 0.0), outputs.missing)

    def at_most(self, above: Floats, below: Floats, ratio: float) -> float:
        """No less than δ at e^ε = ratio."""
        gap = above * (1 + self.slack) - below * (ratio * (1 - self.slack))
        return float(gap[gap > 0].sum()) * (1 + SUMMED) + self.missing + NOTHING * len(above)

    def at_least(self, above: Floats, below: Floats, ratio: float) -> float:
        """No more than it."""
        gap = above * (1 - self.slack) - (below + NOTHING) * (ratio * (1 + self.slack))
        return max(0.0, float(gap[gap > 0].sum()) * (1 - SUMMED) - ratio * self.missing)

    def largest_epsilon(self, above: Floats, below: Floats, delta: float) -> float:
        """No less than the smallest ε with that δ; infinite where none is found."""
        aim = (delta - self.missing - NOTHING * len(above)) / (1 + SUMMED)
        return _root(above * (1 + self.slack), below * (1 - self.slack), aim)

    def smallest_epsilon(self, above: Floats, below: Floats, delta: float, known: float) -> float:
        """No more than it; ``known`` is no less."""
        if math.isinf(known):
            return 0.0
        aim = (delta + math.exp(known) * self.missing) / (1 - SUMMED)
        return _root(above * (1 - self.slack), (below + NOTHING) * (1 + self.slack), aim) * (1 - SUMMED)


def _root(above: Floats, below: Floats, aim: float) -> float:
    """The smallest ε ≥ 0 with Σ (above - e^ε below)₊ ≤ aim, hardly more.

    The sum is convex and piecewise linear in e^ε, and falls: Newton's steps come from the left and end in few pieces.
    """
    ratio = 1.0
    if aim <= 0:
        return math.inf
    while ratio < LARGEST:
        gap = above - ratio * below
        active = gap > 0
        over = float(gap[active].sum()) - aim
        if over <= 0:
            return round_up(math.log(ratio))
        slope = float(below[active].sum())
        if slope <= over / LARGEST:
            return math.inf
        ratio = (ratio + over / slope) * (1 + 1e-14)
    return math.inf


@dataclass(frozen=True)
class Found:
    """The largest score at one node: between two rows of states, or at a start on two states."""

    score: float
    loss: NodeLoss
    above: Floats
    below: Floats


@dataclass(frozen=True)
class NodeDelta:
    """What one node says at a δ: an ε from above, and the two laws where it is; δ at each ε of the curve."""

    loss: NodeLoss
    epsilon_at_least: float
    at_most: tuple[float, ...]
    at_least: tuple[float, ...]


def nodes_at_delta(laws: SecretLaws, outputs: Outputs, delta: float) -> list[NodeDelta]:
    """The smallest ε at a δ for every node, and its curve."""
    measure, nodes = Measure.of(outputs, any_start=laws.leads is not None), []
    for node in range(len(laws.nodes)):
        masses = outputs.masses(laws.logs[node])
        worst = _largest(laws, node, masses, lambda p, q: measure.largest_epsilon(p, q, delta), NEAR)
        if math.isinf(worst.score):
            raise NotCoveredError(
                "no epsilon was found that is enough",
                got=f"{laws.nodes[node]} of the values, above {math.log(LARGEST):.0f}",
                why="the noise is too small for numbers of this size",
                fix="Use more noise, or a larger delta",
            )
        at_least = measure.smallest_epsilon(worst.above, worst.below, delta, worst.score) if len(worst.above) else 0.0
        both = [_delta(laws, node, masses, measure, math.exp(epsilon), CLOSE * delta) for epsilon in CURVE]
        nodes.append(NodeDelta(worst.loss, at_least, tuple(b[0] for b in both), tuple(b[1] for b in both)))
    return nodes


def largest_delta(laws: SecretLaws, outputs: Outputs, epsilon: float) -> tuple[float, float]:
    """The largest δ at an ε over all nodes: no less than it, and no more."""
    measure, ratio = Measure.of(outputs, any_start=laws.leads is not None), math.exp(epsilon)
    both = [_delta(laws, n, outputs.masses(laws.logs[n]), measure, ratio, NEAR) for n in range(len(laws.nodes))]
    return min(1.0, max(b[0] for b in both)), max(b[1] for b in both)


def _delta(
    laws: SecretLaws, node: int, masses: Floats, measure: Measure, ratio: float, near: float
) -> tuple[float, float]:
    worst = _largest(laws, node, masses, lambda p, q: measure.at_most(p, q, ratio), near)
    if not len(worst.above):
        return 0.0, 0.0
    return min(1.0, worst.score), measure.at_least(worst.above, worst.below, ratio)


def _largest(laws: SecretLaws, node: int, masses: Floats, score: Score, near: float) -> Found:
    """The largest score over the secrets of one node that are to be kept apart; under any start, nearly."""
    best = Found(0.0, NodeLoss(0.0, -1, -1, 0), np.empty(0), np.empty(0))
    possible, apart = laws.possible[node], laws.pairs[node]
    for more, less in np.argwhere(apart & possible[:, None] & possible[None, :]):
        if more == less:
            continue
        if laws.leads is None:
            found = Found(0.0, NodeLoss(0.0, int(more), int(less), 0), masses[more], masses[less])
            candidates: Iterator[Found] = iter([_scored(found, score(found.above, found.below))])
        else:
            by_start, pair = masses.reshape(*laws.leads[node].shape, -1), (int(more), int(less))
            candidates = _any_start(by_start[:, more], by_start[:, less], laws.leads[node], pair, score, near)
        for found in candidates:
            if found.score > best.score or best.loss.more < 0:
                best = found
    return best


def _scored(found: Found, score: float) -> Found:
    at = found.loss
    loss = NodeLoss(score, at.more, at.less, at.output, at.starts, at.log_odds)
    return Found(score, loss, found.above, found.below)


def _any_start(
    above: Floats, below: Floats, leads: Floats, pair: tuple[int, int], score: Score, near: float
) -> Iterator[Found]:
    """For every two starts, the largest score over their odds, from above, and the start that comes nearest to it.

    δ is convex in the shares of the two starts given either secret: corners around a piece of odds are enough
    (Statement 81).
    """
    more, less = pair
    relevant = np.flatnonzero(np.isfinite(leads[:, [more, less]]).any(axis=1))
    for place, first in enumerate(relevant):
        for second in relevant[place:] if len(relevant) == 1 else relevant[place + 1 :]:
            two = np.array([first, second])
            to_above, to_below = leads[two, more], leads[two, less]
            if np.isfinite(to_above).any() and np.isfinite(to_below).any():
                at = NodeLoss(0.0, more, less, 0, (int(first), int(second)))
                yield _over_odds(above[two], below[two], to_above, to_below, at, score, near)


def _over_odds(
    above: Floats, below: Floats, to_above: Floats, to_below: Floats, at: NodeLoss, score: Score, near: float
) -> Found:
    def scored(shares: tuple[float, float]) -> float:
        return score(_mixed(above, shares[0]), _mixed(below, shares[1]))

    def shares(log_odds: float) -> tuple[float, float]:
        return _share(_odds(to_above, log_odds)), _share(_odds(to_below, log_odds))

    best, where = -math.inf, 0.0

    def actual(log_odds: float) -> float:
        nonlocal best, where
        value = scored(shares(log_odds))
        if value > best:
            best, where = value, log_odds
        return value

    def piece(left: float, right: float, ends: tuple[float, float]) -> tuple[float, float, float, float, float]:
        meeting = _meeting([(_odds(to_above, x), _odds(to_below, x)) for x in (left, right)])
        return (-max(*ends, scored(meeting) if meeting else 0.0), left, right, *ends)

    evens = sorted(float(leads[0] - leads[1]) for leads in (to_above, to_below) if np.isfinite(leads).all()) or [0.0]
    odds = [evens[0] - FARTHEST, evens[0] - SOME, *evens, evens[-1] + SOME, evens[-1] + FARTHEST]
    values = [actual(x) for x in odds]
    heap = [piece(a, b, (v, w)) for a, b, v, w in zip(odds[:-1], odds[1:], values[:-1], values[1:], strict=True)]
    heapq.heapify(heap)
    for _ in range(MOST_PIECES):
        bound, left, right, begin, end = heap[0]
        if -bound <= best * (1 + CLOSE) + near:
            break
        middle = (left + right) / 2
        value = actual(middle)
        heapq.heapreplace(heap, piece(left, middle, (begin, value)))
        heapq.heappush(heap, piece(middle, right, (value, end)))
    p, q = shares(where)
    known = NodeLoss(0.0, at.more, at.less, 0, at.starts, min(max(where, -FAR), FAR))
    return _scored(Found(0.0, known, _mixed(above, p), _mixed(below, q)), max(-heap[0][0], best))


def _mixed(of_starts: Floats, share: float) -> Floats:
    return np.asarray((1 - share) * of_starts[0] + share * of_starts[1])


def _odds(leads: Floats, log_odds: float) -> float:
    """The odds of the second of two starts, given the state that they lead to."""
    if leads[0] == -math.inf or leads[1] == -math.inf:
        return 0.0 if leads[1] == -math.inf else math.inf
    return math.exp(min(max(log_odds - float(leads[0] - leads[1]), -FARTHEST), FARTHEST))


def _share(odds: float) -> float:
    return 1.0 if math.isinf(odds) else odds / (1 + odds)


def _meeting(ends: list[tuple[float, float]]) -> tuple[float, float] | None:
    """The point that has, with both ends, all shares between two odds in its hull; None if the ends are enough.

    With odds y given a and z = cy given b, the shares y/(1+y) and z/(1+z) are fractions of quadratic polynomials: an
    arc within the triangle of its ends and of the point where its tangents meet. There y² becomes the product of both.
    """
    (y, z), (y_end, z_end) = ends
    if 0.0 in (y, z) or math.inf in (y, z):
        return None  # one share is the same all along: a straight line
    first, second, both = (y + y_end) / 2, (z + z_end) / 2, (y * z_end + y_end * z) / 2
    return (first + both) / (1 + first + second + both), (second + both) / (1 + first + second + both)
