"""The Markov Quilt Mechanism on chains (A section 4, C Algorithm 1).

Promise: ε-Pufferfish privacy for every L-Lipschitz query and every chain of the belief.
Rule (A Theorem 4.4): a quilt {X_{i-a}, X_{i+b}} for X_i leaves card(N) = a+b-1 nearby nodes and has max-influence e.
Its score is card(N) / (ε - e), infinite if e ≥ ε. Each node takes its best quilt, the empty one included; the noise
is L times the largest of these scores over all nodes and beliefs.

Search. Within a phase (``influence/quilts/priors.py``) let D_i be node i's best score with a left node and E_i without.
D_i never rises and E_i never falls with i: a quilt moves one node to the right with the same or a smaller influence,
and what sticks out at the right end turns into the one-sided form with the same card(N). So the worst node of a phase
is where D and E cross, found by doubling and bisection; the length does not matter. Where influence does not depend on
the node at all, the middle node is tried first: if its best quilt has two sides it serves every node (A Claim B.2).
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quiltwork.beliefs import MarkovChain, MixingClass, SecretPairs
from quiltwork.calibration.record import Calibration, Reason
from quiltwork.calibration.request import Request
from quiltwork.errors import NotCoveredError
from quiltwork.influence.quilts.kernels import best_quilt, row_peaks
from quiltwork.influence.quilts.priors import Phase, secret_phases
from quiltwork.influence.quilts.spectral import SpectralTables
from quiltwork.influence.quilts.tables import FURTHEST, ChainTables, Tables
from quiltwork.numeric import round_up
from quiltwork.types import Flags, Floats

THEOREM = "Markov Quilt Mechanism, Theorem 4.4 of Wang, Song and Chaudhuri 2016"
FIRST_LOOK = 16  # distances tabulated before the first search
HOPELESS_HORIZON = 64  # how far to look where influence never falls to zero
NO_SCORE, NO_END = 1e280, 1e305  # stand for an infinite score and an end that is not there in compiled code


@dataclass(frozen=True)
class Quilt(Reason):
    """A node's active quilt: distances to its left and right node (None: no such node), and its score.

    ``node`` is None for a node far from both ends of a series of any length.
    """

    score: float
    node: int | None
    left: int | None
    right: int | None
    max_influence: float
    nearby: int | None
    member: int | None = None

    def detail(self) -> dict[str, Any]:
        """The reason as plain values."""
        detail = {
            "node": self.node,
            "left": self.left,
            "right": self.right,
            "max_influence": self.max_influence,
            "nearby": self.nearby,
        }
        return detail if self.member is None else detail | {"member": self.member}


def quilt_exact(request: Request) -> Calibration:
    """The mechanism with exact max-influence, for chains and networks.

    On a network quilts of up to ``quilt_size`` variables are searched (3 if left out); on a chain two are enough.

    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> request = Request.of("count:1", belief=chain, epsilon=1.0, mechanism="quilt-exact")
    >>> quilt_exact(request).reason.detail()["nearby"]
    9
    """
    belief, epsilon, length = request.belief, request.epsilon, request.length
    if belief.networks:
        from quiltwork.calibration.mechanisms.networks import network_quilts

        return network_quilts(request)
    if not belief.chains:
        raise NotCoveredError(
            "quilt-exact needs chains or networks",
            got=repr(belief),
            why="exact max-influence is computed from transition matrices or tables",
            fix="Use quilt-approx for a mixing class, group for others",
        )
    numbers = (number for number, _ in belief.numbered_members)
    secret = request.secrets.on(belief)
    quilts = [exact_quilt(chain, epsilon, length, n, secret) for n, chain in zip(numbers, belief.chains, strict=True)]
    worst = max(quilts, key=lambda quilt: quilt.score)
    return _calibration(request, worst, f"{THEOREM} with exact max-influence")


def quilt_approx(request: Request) -> Calibration:
    """The mechanism with max-influence bounded through the spectral gap, for chains, sets and mixing classes.

    >>> known = MixingClass(5, pi_min=0.05, gap=0.1, reversible=True)
    >>> request = Request.of("histogram", belief=known, epsilon=1.0, mechanism="quilt-approx")
    >>> quilt_approx(request).reason.detail()["left"]
    71
    """
    belief, epsilon, length = request.belief, request.epsilon, request.length
    known, numbers = belief.mixing_classes(), (number for number, _ in belief.numbered_members)
    quilts = [approx_quilt(mixing, epsilon, length, n) for n, mixing in zip(numbers, known, strict=True)]
    worst = max(quilts, key=lambda quilt: quilt.score)
    theorem = f"{THEOREM} with Lemma 2.3 of Song and Chaudhuri 2017 (multiplicity counted)"
    return _calibration(request, worst, theorem)


def exact_quilt(
    chain: MarkovChain,
    epsilon: float,
    length: int | None,
    member: int | None = None,
    secret: SecretPairs | None = None,
) -> Quilt:
    """The active quilt of the worst node of one chain; influence is that on pairs that are secret."""
    worst = _exact_quilt(chain, epsilon, length, member, secret)
    if chain.start == "given" and worst.score > 0:
        # beyond the nodes followed one by one the bound for a given start may be looser than for every start
        every = _exact_quilt(chain.with_start("any"), epsilon, length, member, secret)
        worst = min(worst, every, key=lambda quilt: quilt.score)  # Statement 36
    if worst.score == math.inf:
        raise NotCoveredError(
            f"no noise is enough at epsilon = {epsilon:g} for series of any length",
            why="under this belief some values stay linked however far apart they are",
            fix="Give the length of the longest series",
        )
    return worst


def _exact_quilt(
    chain: MarkovChain, epsilon: float, length: int | None, member: int | None, secret: SecretPairs | None
) -> Quilt:
    tables = ChainTables(chain.transition)
    search = _Search(tables, epsilon, length, member)

    def look(phase: Phase, node: int | None) -> Quilt:
        search.attend(phase.pairs, horizon=FURTHEST if tables.forgets(phase.pairs) else HOPELESS_HORIZON)
        place = FURTHEST if node is None else node
        prior = phase.prior_at(tables, place)
        return search.best(node, prior, lambda n: phase.left_at(tables, place, n), place - phase.furthest_left)

    return _worst(secret_phases(chain, length, secret), look, length)


def approx_quilt(known: MixingClass, epsilon: float, length: int | None, member: int | None = None) -> Quilt:
    """The active quilt of the worst node, by the bound for a mixing class."""
    tables = SpectralTables(len(known.states), pi_min=known.pi_min, gap=known.gap, reversible=known.reversible)
    search = _Search(tables, epsilon, length, member)
    search.attend(np.ones(1, dtype=bool), horizon=FURTHEST)

    def look(_: Phase, node: int | None) -> Quilt:
        return search.best(node, np.zeros(1), tables.left, (FURTHEST if node is None else node) - 1)

    everything = Phase(1, length, np.ones((1, 1), dtype=bool), np.zeros(1), uniform=True)
    return _worst([everything], look, length)


def _worst(
    cut: Iterable[Phase],
    look: Callable[[Phase, int | None], Quilt],
    length: int | None,
) -> Quilt:
    """The quilt with the largest score over all nodes of all phases."""
    worst = Quilt(0.0, None, None, None, 0.0, None)
    for phase in cut:
        quilt = _worst_of_phase(phase, lambda node, phase=phase: look(phase, node), length)  # type: ignore[misc]
        if quilt.score > worst.score:
            worst = quilt
        if worst.left is None and worst.right is None:
            break  # the empty quilt: no node can need more
    return worst


def _worst_of_phase(phase: Phase, look: Callable[[int | None], Quilt], length: int | None) -> Quilt:
    if phase.uniform:
        middle = None if length is None else (length + 1) // 2
        quilt = look(middle)
        if length is None or (quilt.left is not None and quilt.right is not None):
            return quilt  # Statement 39 (A Claim B.2)
    low, quilt = phase.first, look(phase.first)
    if quilt.left is not None or quilt.right is None or phase.last == phase.first:
        return quilt
    step, high = 1, low
    while quilt.left is None and high != phase.last:
        low, below = high, quilt
        high = low + step if phase.last is None else min(low + step, phase.last)
        step *= 2
        quilt = look(high)
        if quilt.left is None and quilt.right is None:
            return quilt  # the empty quilt: no node can need more
        if high > FURTHEST:
            return replace(quilt, score=math.inf)
    if quilt.left is None:
        return quilt
    while high - low > 1:
        middle_node = (low + high) // 2
        candidate = look(middle_node)
        if candidate.left is None:
            low, below = middle_node, candidate
        else:
            high, quilt = middle_node, candidate
    return max(below, quilt, key=lambda either: either.score)  # Statement 39


class _Search:
    """Finds the best quilt of a node, tabulating only as far as quilts can still improve on it."""

    def __init__(self, tables: Tables, epsilon: float, length: int | None, member: int | None):
        self._tables, self._epsilon, self._length, self._member = tables, epsilon, length, member
        self._pairs = np.zeros(0, dtype=bool)
        self._peaks = np.zeros(0)
        self._span = FIRST_LOOK

    def attend(self, pairs: Flags, *, horizon: int) -> None:
        """Look at these pairs of states from now on, and at no distance beyond the horizon."""
        self._horizon = horizon
        if not np.array_equal(pairs, self._pairs):
            self._pairs, self._peaks = pairs, np.zeros(0)

    def best(self, node: int | None, prior: Floats, left: Callable[[int], Floats], reach: int) -> Quilt:
        """The node's best quilt; left nodes are at most ``reach`` away."""
        length, tables = self._length, self._tables
        empty = math.inf if length is None else length / self._epsilon
        if not self._pairs.any():
            # no secret here: as much noise as the nearest quilt, which covers the node alone
            return Quilt(1 / self._epsilon, node, 1, 1, 0.0, 1, self._member)
        space = FURTHEST if node is None or length is None else length - node
        left_end = math.inf if node is None else float(node)
        right_end = math.inf if length is None else space + 1.0
        score, a, b, e = empty, 0, 0, 0.0
        span, far_left, far_right = self._span, reach, space
        while True:
            far = min(max(far_left, far_right), self._horizon)
            tables.extend(min(span, far))
            na = int(np.searchsorted(tables.distances, min(far_left, span), side="right"))
            nb = int(np.searchsorted(tables.distances, min(far_right, span), side="right"))
            behind, ahead = left(na), tables.right(nb)
            behind_peaks, ahead_peaks = row_peaks(behind, prior), self._peaks_up_to(nb)
            best_score, ia, ib, influence = best_quilt(
                self._epsilon,
                min(score, NO_SCORE),
                tables.distances,
                behind,
                prior,
                behind_peaks,
                ahead,
                ahead_peaks,
                (min(left_end, NO_END), min(right_end, NO_END)),
            )
            if ia >= 0:
                score, e = best_score, influence
                a = int(tables.distances[ia]) if ia < na else 0
                b = int(tables.distances[ib]) if ib < nb else 0
            far_left = min(reach, self._useful(score, ahead_peaks, right_end, span))
            far_right = min(space, self._useful(score, behind_peaks, left_end, span))
            if span >= min(max(far_left, far_right), self._horizon):
                break
            span += span // 4
        self._span = span  # the next node begins where this one ended
        nearby = (a or left_end) + (b or right_end) - 1
        if (not a and not b) or nearby == math.inf:  # a side without an end, beside an ε beyond all measure
            return Quilt(empty, node, None, None, 0.0, length, self._member)
        return Quilt(score, node, a or None, b or None, e, int(nearby), self._member)

    def _useful(self, score: float, other_side: Floats, other_end: float, known: int) -> int:
        """Up to which distance a node on one side can improve on the score, whatever node is on the other side.

        card(N) = a + b - 1 must be below score · (ε - e), and e is at least the other side's own influence.
        """
        if score == math.inf:
            return FURTHEST
        rooms = score * (self._epsilon - np.minimum(other_side, self._epsilon))
        rooms -= self._tables.distances[: len(other_side)]
        room = rooms.max(initial=score * self._epsilon - min(other_end, known + 1.0))
        return int(min(max(room, 0.0) + 1, FURTHEST - 1)) + 1

    def _peaks_up_to(self, count: int) -> Floats:
        """The right side's largest influence over the pairs attended to, by distance."""
        known = len(self._peaks)
        if known < count:
            new = np.max(self._tables.right(count)[known:], axis=1, where=self._pairs, initial=0.0)
            self._peaks = np.concatenate([self._peaks, new])
        return self._peaks[:count]


def _calibration(request: Request, worst: Quilt, theorem: str) -> Calibration:
    noise_scale = round_up(request.lipschitz * worst.score)  # Statement 4
    return Calibration.of(request, noise_scale=noise_scale, theorem=theorem, reason=worst)
