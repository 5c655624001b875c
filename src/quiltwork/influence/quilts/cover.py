"""The search for quilts in a network (Statement 16).

A quilt Q for X_i leaves near variables N that still depend on X_i given Q; all others are independent of it. Smaller
is better twice: a score grows with the weight of N and with the max-influence e(X_Q | X_i), which never falls when Q
grows. So a variable q that is independent of X_i given the rest of Q only does harm, and every quilt worth a look can
be built up one variable at a time, each of them near at that moment (else all that are left would be independent of X_i
given those taken, and so superfluous). Quilts are looked at by their size; the nearest first where there are too many.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quiltwork.beliefs import BayesianNetwork, Belief, SecretPairs
from quiltwork.influence.quilts.inference import Inference
from quiltwork.influence.quilts.separation import Separation
from quiltwork.numeric import round_up
from quiltwork.types import Flags, Floats, Integers

QUILT_SIZE = 3
MOST_QUILTS = 200_000  # of one size, for one variable
MOST_GROWN = 2_000_000  # before repeated ones are left out
GAIN = 1e-10  # a larger quilt has to be better by more than rounding

Score = Callable[[float, float], float]
"""What the weight of the near variables and the max-influence make together; grows with both."""


@dataclass(frozen=True)
class Cover:
    """A variable's best quilt: the score, the quilt, the near variables and the max-influence.

    ``complete`` says whether all quilts up to the size limit were looked at, or could not have been better.
    """

    score: float
    node: int
    quilt: tuple[int, ...]
    near: tuple[int, ...]
    weight: float
    max_influence: float
    complete: bool = True


class QuiltSearch:
    """Finds quilts of up to ``size`` variables; ``weights`` say how much each near variable counts."""

    def __init__(self, network: BayesianNetwork, *, size: int = QUILT_SIZE):
        self.inference = Inference(network)
        self._separation = Separation.of(network.graph)
        self._moral = network.graph.moral()
        self._count = len(network.variables)
        self._size = size

    def worst(self, weights: Sequence[float], score: Score, secret: SecretPairs | None = None) -> Cover:
        """The variable whose best quilt has the largest score, among those that are secret."""
        weight_of = np.array(weights)
        worst: Cover | None = None
        for node in range(self._count):
            apart = None if secret is None or secret.everything else secret.within(node)
            if apart is not None and not apart.any():
                continue
            enough = -math.inf if worst is None else worst.score
            best = self.best(node, weight_of, score, enough=enough, apart=apart)
            if worst is None or best.score > worst.score:
                worst = best
        assert worst is not None  # noqa: S101 - there is a variable
        return worst

    def best(
        self, node: int, weights: Floats, score: Score, *, enough: float = -math.inf, apart: Flags | None = None
    ) -> Cover:
        """The best quilt of one variable; any quilt with a score of at most ``enough`` ends the search.

        ``apart`` says which two of its states are to be kept apart (None: every two).
        """
        best = self._empty(node, weights, score)
        if len(best.near) == 1 or best.score <= enough:
            return best
        alone = self._influence_of_each(node, apart)
        sets = np.empty((1, 0), dtype=np.int64)
        near = self._separation.near(node, np.full((1, 1), -1))
        complete = True
        for _ in range(self._size):
            # the max-influence of a quilt is at least that of each of its variables
            hopeful = np.array([score(float(weights[node]), e) < best.score for e in alone])
            hopeful[node] = False
            sets, all_of_them = self._grown(node, sets, near & hopeful)  # Statement 40
            complete &= all_of_them
            if not len(sets):
                break
            near = self._separation.near(node, sets)
            masses = near @ weights
            least = alone[sets].max(axis=1)  # Statement 23
            bounds = np.array([score(w, e) for w, e in zip(masses.tolist(), least.tolist(), strict=True)])
            useless = np.zeros(len(sets), dtype=bool)
            for at in np.argsort(bounds, kind="stable"):
                if bounds[at] >= best.score or best.score <= enough:
                    break
                quilt = tuple(int(n) for n in sets[at])
                e = self.inference.max_influence(node, quilt, apart)
                quilt_score = score(float(masses[at]), e)
                useless[at] = score(float(weights[node]), e) >= best.score
                if quilt_score < best.score * (1 - GAIN):
                    inside = tuple(int(n) for n in np.flatnonzero(near[at]))
                    best = Cover(quilt_score, node, quilt, inside, float(masses[at]), e)
            if best.score <= enough:
                break
            sets, near = sets[~useless], near[~useless]
        return replace(best, complete=complete)

    def _empty(self, node: int, weights: Floats, score: Score) -> Cover:
        """No quilt at all: what does not depend on the variable anyway is left out."""
        near = self._separation.near(node, np.full((1, 1), -1))[0]
        weight = float(near @ weights)
        # Statement 16
        return Cover(score(weight, 0.0), node, (), tuple(int(n) for n in np.flatnonzero(near)), weight, 0.0)

    def _influence_of_each(self, node: int, apart: Flags | None) -> Floats:
        """The max-influence of every other variable by itself."""
        others = (self.inference.max_influence(node, [q], apart) if q != node else 0.0 for q in range(self._count))
        return np.fromiter(others, dtype=np.float64, count=self._count)

    def _grown(self, node: int, sets: Integers, added: Flags) -> tuple[Integers, bool]:
        """Every set with one more of the variables that may be added to it, each once; and whether all are there."""
        complete = True
        if added.sum() > MOST_GROWN:
            kept = self._nearest(node, sets)[: max(1, int(MOST_GROWN * len(sets) // added.sum()))]
            sets, added, complete = sets[kept], added[kept], False
        rows, more = np.nonzero(added)
        if not len(rows):
            return np.empty((0, sets.shape[1] + 1), dtype=np.int64), complete
        grown = np.unique(np.sort(np.column_stack([sets[rows], more]), axis=1), axis=0)
        if len(grown) <= MOST_QUILTS:
            return grown, complete
        return grown[self._nearest(node, grown)[:MOST_QUILTS]], False

    def _nearest(self, node: int, sets: Integers) -> Integers:
        """The order of the sets by how near their variables are to the node."""
        distance = np.full(self._count, self._count)
        reached, frontier, steps = {node}, {node}, 0
        while frontier:
            for n in frontier:
                distance[n] = steps
            frontier = {m for n in frontier for m in self._moral[n]} - reached
            reached |= frontier
            steps += 1
        return np.argsort(distance[sets].sum(axis=1), kind="stable")


def quilts_epsilon(belief: Belief, profile: Sequence[Floats], secret: SecretPairs | None = None) -> float:
    """ε of everything released under a profile, with one quilt at each variable, for every network of the belief.

    Given the quilt and what is beyond it, all that was released changes by at most the sum of λ over the near
    variables; and the quilt itself tells e. So each variable takes the quilt with the smallest sum of the two, the same
    for all releases together (C Theorem 2.6).
    """
    heights = [float(matrix.max()) for matrix in profile]
    # Statement 17
    worst = max(QuiltSearch(m).worst(heights, lambda weight, e: weight + e, secret).score for m in belief.networks)
    return round_up(worst, roundings=8 + len(heights))
