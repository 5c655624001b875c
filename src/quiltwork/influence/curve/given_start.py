"""The past of a chain with a given start: exact backward kernels until its law has settled, then those of the limit.

    B_t[x,z] = P(X_{t-1} = z | X_t = x) = p_{t-1}(z) P[z,x] / p_t(x)

Once c π ≤ p_t ≤ C π, which stays true for ever after, B_t differs from the limit's kernel by a factor of at most C/c in
each of p_{t-1} and p_t, so a step with it is at most that of the limit plus 2 log C/c (8 log C/c are added, so that the
certificate's balls prove it). What holds for any start holds for this one too, and is taken where it is better.
"""

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from quiltwork.beliefs.chain import MarkovChain
from quiltwork.beliefs.structure import closed_classes, following, stationary_law
from quiltwork.influence.curve.any_start import AnyStart
from quiltwork.influence.curve.ratios import AnyPast
from quiltwork.influence.curve.sides import BRIDGED, SHIPPED, UNCERTIFIED, Bound, KernelSide, Side
from quiltwork.influence.curve.steps import Kernel, scalar_step, without_detours
from quiltwork.influence.curve.transport import LARGEST_DIFFERENCE, Shipments, shortest
from quiltwork.influence.quilts.kernels import TINY
from quiltwork.influence.quilts.tables import UNIT_ROUNDOFF
from quiltwork.types import Floats, Integers

MOST_NODES, MOST_WORK = 1000, 4e7  # followed one by one; nodes times states to the third
PRECISION = 1e-6  # of a shipment: nodes must not end above the limit
SETTLED, NEARLY_SETTLED = 1e-9, 1e-6  # log C/c; what is enough where no more nodes can be followed


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

    def step(self, difference: Floats, near: Floats | None) -> Bound:
        """One step with a D for each pair, over the states possible at t; a guess makes it quicker."""
        D = difference[np.ix_(self.before, self.before)]
        most = float(D.max(initial=0.0))
        apart = 1 - np.eye(len(self.here))
        if near is None or len(self.before) <= 2 or most > LARGEST_DIFFERENCE:
            values = scalar_step(self.kernel, most) + self.error
        else:
            values = most * apart  # no step makes a difference larger
        bound = Bound(values, np.ones(values.shape, dtype=np.int64))
        if len(self.before) > 2 and most < LARGEST_DIFFERENCE:
            shipments = Shipments.of(self.rows, shortest(D))
            guess = 0.9 * values if near is None else np.minimum(near[np.ix_(self.here, self.here)], values)
            better = shipments.smallest(values, near=guess, precision=PRECISION) * (1 + 1e-12) + self.error * apart
            bound = bound.improved(better, SHIPPED)
        return bound


class GivenPast(AnyPast):
    """The past of a chain whose first value has a given law."""

    def __init__(self, chain: MarkovChain, any_limit: KernelSide | None = None):
        super().__init__(chain.transition)
        self._any = AnyStart(chain.transition, any_limit)
        assert chain.initial is not None  # noqa: S101 - the start is given
        self._backward: list[_Backward] = []
        self._limit: KernelSide | None = None
        self._class = np.arange(0)
        self._asked: tuple[bytes, bool] | None = None  # the last profile, and its bounds
        self._answered: list[Bound] = []
        classes = closed_classes(chain.support)
        laws = {tuple(c): stationary_law(chain.transition[np.ix_(c, c)]) for c in classes}
        p, k = np.array(chain.initial), self.states
        reach = p > 0  # what is possible, whether or not a float can hold its probability
        most = min(MOST_NODES, int(MOST_WORK / k**3))
        for node in range(1, 2 + most):
            here = np.flatnonzero(reach)
            if p[here].min() < TINY:
                return  # too small to trust
            law = laws.get(tuple(here))
            if law is not None and law.min() > TINY:
                ratio = p[here] / law
                spread = float(np.log(ratio.max() / ratio.min()))
                if spread <= (SETTLED if node <= most else NEARLY_SETTLED):
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

    def one(self, difference: Floats, node: int | None = None, near: Floats | None = None) -> Bound:
        """The step into this node: with its own kernel, where that is better than any start's."""
        bound = super().one(difference)
        if node is None:
            return bound
        if node - 2 < len(self._backward):
            backward = self._backward[node - 2]
            return _embedded(bound, backward.step(difference, near), backward.here)
        if self._limit is None:
            return bound
        return _embedded(bound, self._limit.one(difference[np.ix_(self._class, self._class)]), self._class)

    def bound(self, profile: Floats, *, thorough: bool = False) -> Bound:
        """The largest bound of any node."""
        nodes = self.by_node(profile, thorough=thorough)
        values = np.max([node.values for node in nodes], axis=0)
        return Bound(values, nodes[-1].skips, nodes[-1].settled)

    def afresh(self, other: Side | None = None) -> "GivenPast":
        """With both of its limits afresh."""
        side = copy(self)
        side._any = self._any.afresh(other)
        side._limit = None if self._limit is None else self._limit.afresh()
        side._asked, side._answered = None, []
        return side

    def linked(self, links: float) -> "GivenPast":
        """The same with what any start says about transitions."""
        if links == 0:
            return self
        side = copy(self)
        side._any, side._asked, side._answered = self._any.linked(links), None, []
        return side

    def steady(self, profile: Floats, *, thorough: bool = False) -> Bound:
        """What holds for any start: the kernels of early nodes are not those of later ones."""
        return AnyPast(self._powers[1]).steady(profile, thorough=thorough)

    def estimate(self, profile: Floats) -> Floats:
        """About what ``bound`` would find: what the law it settles to needs."""
        if self._limit is None:
            return self._any.estimate(profile)
        values, block = np.zeros_like(profile), np.ix_(self._class, self._class)
        values[block] = self._limit.estimate(profile[block])
        return values

    def by_node(self, profile: Floats, *, thorough: bool = False) -> list[Bound]:
        """Bounds for nodes 1, 2, ... until the law has settled; the last one holds for all later nodes too."""
        asked = profile.tobytes(), thorough
        if asked != self._asked:
            self._asked, self._answered = asked, self._by_node(profile, thorough)
        return self._answered

    def _for_any_start(self, profile: Floats, thorough: bool) -> Bound:
        """A certificate proves bridges for any start only."""
        bound = self._any.bound(profile, thorough=thorough)
        return replace(bound, skips=np.where(bound.skips == BRIDGED, UNCERTIFIED, bound.skips), bridges=None)

    def _by_node(self, profile: Floats, thorough: bool) -> list[Bound]:
        if self._limit is None or profile.max() == 0 or profile.max() > LARGEST_DIFFERENCE:
            return [self._for_any_start(profile, thorough)]
        every = AnyPast.bound(self, profile)
        nodes = [Bound(np.zeros_like(profile), np.ones(profile.shape, dtype=np.int64))]
        for node in range(2, len(self._backward) + 2):
            step = self.one(profile + nodes[-1].values, node, nodes[-1].values if node > 2 else None)  # Statement 9
            nodes.append(_smaller(step, every))
        # a bound that rests on single steps: several would reach back to where the law had not settled
        block = np.ix_(self._class, self._class)
        limit = self._limit.steady(profile[block], thorough=thorough)
        if thorough or np.any(nodes[-1].values[block] > limit.values):  # step(L + c) ≤ L + c
            values = without_detours(profile[block], limit.values)  # Statement 37
            values += float((nodes[-1].values[block] - values).max(initial=0.0))
            np.fill_diagonal(values, 0.0)
            limit = Bound(values, np.full_like(limit.skips, UNCERTIFIED), limit.settled)
        settled = _smaller(_embedded(every, limit, self._class), every)
        if np.any(nodes[-1].values > settled.values):
            return [self._for_any_start(profile, thorough)]  # later nodes would start from more than that
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
    return Bound(
        np.where(better, other.values, bound.values), np.where(better, other.skips, bound.skips), bound.settled
    )
