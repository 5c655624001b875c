"""The past of a chain with a given start: exact backward kernels until its law has settled, then those of the limit.

    B_t[x,z] = P(X_{t-1} = z | X_t = x) = p_{t-1}(z) P[z,x] / p_t(x)

Once c π ≤ p_t ≤ C π, which stays true for ever after, B_t differs from the limit's kernel by a factor of at most C/c in
each of p_{t-1} and p_t, so a step with it is at most that of the limit plus 2 log C/c (8 log C/c are added, so that the
certificate's balls prove it). What holds for any start holds for this one too, and is taken where it is better.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quiltwork.beliefs.chain import MarkovChain
from quiltwork.beliefs.structure import closed_classes, following, stationary_law
from quiltwork.influence.curve.ratios import AnyPast
from quiltwork.influence.curve.sides import SHIPPED, Bound, KernelSide
from quiltwork.influence.curve.steps import Kernel, scalar_step, without_detours
from quiltwork.influence.curve.transport import LARGEST_DIFFERENCE, Shipments, shortest
from quiltwork.influence.quilts.kernels import TINY
from quiltwork.influence.quilts.tables import UNIT_ROUNDOFF
from quiltwork.types import Floats, Integers

MOST_NODES, MOST_WORK = 1000, 2e7  # followed one by one; nodes times states to the 4th
SETTLED = 1e-9  # log C/c


@dataclass(frozen=True)
class _Backward:
    """B_t, from the states possible at t to those possible at t - 1."""

    here: Integers
    before: Integers
    rows: Floats
    error: float

    @cached_property
    def kernel(self) -> Kernel:
        """Prepared when a series reaches this node."""
        return Kernel.of(self.rows)

    def step(self, difference: Floats) -> Bound:
        """One step with a D for each pair, over the states possible at t."""
        D = difference[np.ix_(self.before, self.before)]
        values = scalar_step(self.kernel, float(D.max(initial=0.0))) + self.error
        bound = Bound(values, np.ones(values.shape, dtype=np.int64))
        if len(self.before) > 2 and D.max() < LARGEST_DIFFERENCE:
            shipments = Shipments.of(self.rows, shortest(D))
            better = shipments.smallest(values, near=0.9 * values, precision=1e-4) * (1 + 1e-12) + self.error
            bound = bound.improved(better, SHIPPED)
        return bound


class GivenPast(AnyPast):
    """The past of a chain whose first value has a given law."""

    def __init__(self, chain: MarkovChain):
        super().__init__(chain.transition)
        assert chain.initial is not None  # noqa: S101 - the start is given
        self._backward: list[_Backward] = []
        self._limit: KernelSide | None = None
        self._class = np.arange(0)
        classes = closed_classes(chain.support)
        laws = {tuple(c): stationary_law(chain.transition[np.ix_(c, c)]) for c in classes}
        p, k = np.array(chain.initial), self.states
        reach = p > 0  # what is possible, whether or not a float can hold its probability
        for node in range(1, 2 + min(MOST_NODES, int(MOST_WORK / k**4))):
            here = np.flatnonzero(reach)
            if p[here].min() < TINY:
                return  # too small to trust
            law = laws.get(tuple(here))
            if law is not None and law.min() > TINY:
                ratio = p[here] / law
                spread = float(np.log(ratio.max() / ratio.min()))
                if spread <= SETTLED:
                    self._settle(chain.transition[np.ix_(here, here)], law, here, spread)
                    return
            later = p @ chain.transition
            reach = following(reach, chain.support)
            there = np.flatnonzero(reach)
            if later[there].min() < TINY:
                return
            joint = p[here, None] * chain.transition[np.ix_(here, there)]
            rows = np.ascontiguousarray((joint / later[there]).T)  # Statement 36
            error = 4.04 * node * (k + 4) * UNIT_ROUNDOFF
            self._backward.append(_Backward(there, here, rows, error))
            p = later
        self._backward = self._backward[:MOST_NODES]

    def _settle(self, P: Floats, law: Floats, here: Integers, spread: float) -> None:
        error = 8 * spread + 64 * (len(law) ** 3 + len(self._backward) * (len(law) + 4)) * UNIT_ROUNDOFF  # Statement 36
        self._limit = KernelSide(law[None, :] * P.T / law[:, None], error=error)
        self._class = here

    def one(self, difference: Floats, node: int | None = None) -> Bound:
        """The step into this node: with its own kernel, where that is better than any start's."""
        bound = super().one(difference)
        if node is None:
            return bound
        if node - 2 < len(self._backward):
            backward = self._backward[node - 2]
            return _embedded(bound, backward.step(difference), backward.here)
        if self._limit is None:
            return bound
        return _embedded(bound, self._limit.one(difference[np.ix_(self._class, self._class)]), self._class)

    def bound(self, profile: Floats, *, thorough: bool = False) -> Bound:
        """The largest bound of any node."""
        nodes = self.by_node(profile, thorough=thorough)
        values = np.max([node.values for node in nodes], axis=0)
        return Bound(values, nodes[-1].skips)

    def steady(self, profile: Floats, *, thorough: bool = False) -> Bound:
        """What holds for any start: the kernels of early nodes are not those of later ones."""
        return AnyPast(self._powers[1]).steady(profile, thorough=thorough)

    def by_node(self, profile: Floats, *, thorough: bool = False) -> list[Bound]:
        """Bounds for nodes 1, 2, ... until the law has settled; the last one holds for all later nodes too."""
        every = super().bound(profile)
        if self._limit is None or profile.max() == 0 or profile.max() > LARGEST_DIFFERENCE:
            return [every]
        nodes = [Bound(np.zeros_like(profile), np.ones(profile.shape, dtype=np.int64))]
        for node in range(2, len(self._backward) + 2):
            step = self.one(profile + nodes[-1].values, node)  # Statement 9
            nodes.append(_smaller(step, every))
        # a bound that rests on single steps: several would reach back to where the law had not settled
        block = np.ix_(self._class, self._class)
        limit = self._limit.steady(profile[block], thorough=thorough)
        if thorough:  # step(L + c) ≤ L + c, which a certificate would not prove
            values = without_detours(profile[block], limit.values)  # Statement 37
            values += float((nodes[-1].values[block] - values).max(initial=0.0))
            np.fill_diagonal(values, 0.0)
            limit = Bound(values, limit.skips)
        settled = _smaller(_embedded(every, limit, self._class), every)
        if np.any(nodes[-1].values > settled.values):
            return [every]  # later nodes would start from more than the limit covers
        return [*nodes, settled]


def _embedded(known: Bound, within: Bound, states: Integers) -> Bound:
    """A bound over the states that are possible, 0 elsewhere: what cannot occur is no secret."""
    values, skips = np.zeros_like(known.values), np.ones_like(known.skips)
    block = np.ix_(states, states)
    better = within.values < known.values[block]
    values[block] = np.where(better, within.values, known.values[block])
    skips[block] = np.where(better, within.skips, known.skips[block])
    return Bound(values, skips)


def _smaller(bound: Bound, other: Bound) -> Bound:
    better = other.values < bound.values
    return Bound(np.where(better, other.values, bound.values), np.where(better, other.skips, bound.skips))
