"""The past of a chain with any start: two-point starts, and the values between a start and a node (Statement 46).

Some law of the first value is believed, nobody says which. For one output and two states a, b the worst law sits on two
states z, z', and n steps after it

    L(a,b) ≤ max over z, z' of  max(Γ_n[z](a,b), Γ_n[z'](a,b)) + proj(c(z,z'), D(z,z')) .

Γ_n[z] is what the values in between tell if the start is z for certain, D what they and the start itself tell about the
start, c the cross-ratio of the two starts' ways to a and b. At every later node the value n steps before it may stand
for the start, if what came before that is added to D (Statement 47): so a bound X with L_1 ≤ X, .., L_n ≤ X that this
step does not raise holds at all nodes. With n = 1 this is the projective step.
"""

import itertools
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from quiltwork.influence.curve.bridges import TINY, UNIT_ROUNDOFF, Bridge, any_start
from quiltwork.influence.curve.ratios import AnyPast
from quiltwork.influence.curve.sides import BRIDGED, UNCERTIFIED, Bound, KernelSide, Side, Tables
from quiltwork.influence.curve.solve import alike
from quiltwork.influence.curve.transport import LARGEST_DIFFERENCE
from quiltwork.types import Floats, Integers

APART_UP_TO = 16  # states: with more, starts are taken together in groups
TOGETHER_FROM = 32  # states: with more, so are the values in between
FEW = 8  # groups
MOST_NODES, MOST_WORK, GIVE_UP = 1500, 8e6, 64  # looked at; times states to the third; where starts stay apart
LEAST_STEPS = 20  # with fewer, cross-ratios do as well
NO_GAIN = 0.98
LEAST_DIFFERENCE = 1e-9  # less than this drowns in rounding errors
MOST_KEPT = 4e4  # entries of all tables: more would take minutes to be proved anew
FINE = 20  # steps, one by one, before several are taken at once
COARSE, PRECISION = {True: 0.025, False: 0.03}, {True: 2e-4, False: 1e-3}  # with few states, and with many
RAISED = 5e-3  # relatively: by how much later nodes may be above the first ones
MOST_RAISES = 60
LOOK_AGAIN = 1.15
REMEMBERED = 8  # profiles: what is calibrated is added up afterwards


@dataclass(frozen=True)
class _Between:
    """Bridges to and from a start, n steps before a node."""

    told: Bridge
    ends: Bridge
    taken: int
    """How many steps were taken at once: the bound has room for all nodes up to the next one looked at."""

    def bound(self, profile: Floats, earlier: Floats) -> Floats:
        """L at the node, if what came before the start tells at most this about it."""
        k, most = len(profile), float(profile.max())
        bounds = np.empty((k, k))
        with np.errstate(divide="ignore"):
            logs = np.log(self.told.power)
        changed = profile + earlier
        between = (self.told.steps - 1) * most * (1 + 1e-12)
        any_start(logs, self.told.by_end(), self.ends.by_end() + changed, float(changed.max()), between, bounds)
        sizes = float(np.abs(logs[self.told.support]).max())
        bounds += 16 * (self.told.steps * (k + 4) + sizes) * UNIT_ROUNDOFF  # of the cross-ratios
        np.fill_diagonal(bounds, 0.0)
        return bounds


@dataclass(frozen=True)
class Node:
    """A bound that holds ``steps`` after the start, and at ``reach`` nodes from there on."""

    steps: int
    values: Floats
    reach: int = 1


@dataclass(frozen=True)
class _Nodes:
    """Bounds from the start on; ``later`` holds at every node."""

    first: tuple[Node, ...]
    later: Floats
    settled: bool
    bridges: Tables | None
    """What proves them, where that is little enough to be kept."""

    def up_to(self, last: int, every: Floats) -> "_Nodes":
        """The same where nodes of more than ``last`` steps do not matter."""
        for n, node in enumerate(self.first, 1):
            if node.steps + node.reach > last:
                return _Nodes(self.first[:n], every, True, None)
        return self


class AnyStart(AnyPast):
    """The past of a chain with any start, by bridges where that is better than by cross-ratios alone.

    ``limit`` is the past of the stationary chain, for guesses.
    """

    def __init__(self, P: Floats, limit: KernelSide | None = None):
        super().__init__(P)
        self._limit = limit
        self._above = 1.0  # by how much the last bound was above the limit's
        self._links = 0.0
        self._known: dict[tuple[bytes, bytes, float], _Nodes | None] = {}  # of the last profiles

    def afresh(self, other: Side | None = None) -> "AnyStart":
        """Without what the last bound was."""
        side = copy(self)
        side._limit, side._above = None if self._limit is None else self._limit.afresh(other), 1.0
        return side

    def linked(self, links: float) -> "AnyStart":
        """An earlier value that stands for the start belongs to two transitions, of which one leads into it."""
        if links == self._links:
            return self
        side = copy(self)
        side._links = links  # Statement 49
        return side

    def refined(self, profile: Floats, bound: Bound, *, thorough: bool = False) -> Bound:  # noqa: ARG002 - always so
        """The smaller of both bounds."""
        nodes = self._nodes(profile, bound.values)
        if nodes is None:
            return bound
        if self._limit is not None and (limit := float(self._limit.estimate(profile).max())) > 0:
            self._above = max(float(np.minimum(nodes.later, bound.values).max()) / limit, 1.0)
        how = UNCERTIFIED if nodes.bridges is None else BRIDGED
        return replace(bound.improved(nodes.later, how), settled=nodes.settled, bridges=nodes.bridges)

    def by_node(self, profile: Floats, *, last: int | None = None) -> list[Node]:
        """Bounds at the start and after it, each up to the next one's node; the last holds at all nodes.

        Nodes of more than ``last`` steps after the start do not matter.
        """
        every, start = self.cross_bound(profile).values, Node(0, np.zeros_like(profile))
        nodes = self._nodes(profile, every, last)
        if nodes is None:
            return [start, Node(1, every)]
        first = [Node(node.steps, np.minimum(node.values, every), node.reach) for node in nodes.first]
        return [start, *first, Node(first[-1].steps + first[-1].reach, np.minimum(nodes.later, every))]

    def cross_bound(self, profile: Floats) -> Bound:
        """By cross-ratios alone."""
        return AnyPast(self._power(1)[0]).bound(profile)

    def steady(self, profile: Floats, *, thorough: bool = False) -> Bound:
        """By cross-ratios alone: bridges reach back to before a change of the profile."""
        return AnyPast(self._power(1)[0]).steady(profile, thorough=thorough)

    def estimate(self, profile: Floats) -> Floats:
        """About what ``bound`` would find: the stationary chain's, enlarged as the last time."""
        if self._limit is None or not self._worthwhile(profile):
            return super().estimate(profile)
        return np.asarray(self._limit.estimate(profile) * self._above)

    def _worthwhile(self, profile: Floats) -> bool:
        few = LEAST_STEPS * self.states**3 <= MOST_WORK
        return few and LEAST_DIFFERENCE < float(profile.max()) <= LARGEST_DIFFERENCE / 2

    def _nodes(self, profile: Floats, every: Floats, last: int | None = None) -> _Nodes | None:
        """Node by node, until later nodes cannot be much worse; None if that is never seen."""
        if not self._worthwhile(profile):
            return None
        asked = profile.tobytes(), every.tobytes(), self._links
        known = self._known.get(asked)
        if known is not None and last is not None:
            return known.up_to(last, every)
        if last is None and asked in self._known:
            return known
        found = self._followed(profile, every, last)
        if last is None:
            while len(self._known) >= REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[asked] = found
        return found

    def _followed(self, profile: Floats, every: Floats, last: int | None) -> _Nodes | None:
        most, off = float(profile.max()), 1 - np.eye(self.states)
        largest, first, looked = np.zeros_like(profile), [], 0.0
        kept: list[_Between] = []
        few = MOST_NODES if np.isfinite(every).all() else GIVE_UP  # what is never forgotten does not settle either
        for between in itertools.islice(self._walk(profile, largest), few):
            reach = (between.taken - 1) * most * (1 + 1e-12)
            values = between.bound(profile, np.zeros_like(profile)) + reach * off  # Statements 12 and 46
            first.append(Node(between.told.steps, values, between.taken))
            kept.append(between)
            np.maximum(largest, values, out=largest)
            if last is None and np.minimum(largest, every).max() >= NO_GAIN * every.max():
                return None
            if last is not None and between.told.steps + between.taken > last:
                return _Nodes(tuple(first), every, True, None)
            if between.told.steps < LOOK_AGAIN * looked:
                continue
            looked = between.told.steps
            later = np.maximum(between.bound(profile, np.minimum(largest, every) + self._links * off), largest)
            if float((np.minimum(later, every) - largest).max()) <= RAISED * float(largest.max()):
                return _Nodes(tuple(first), self._kept(between, profile, largest, every), True, _tables(kept))
        if not first:
            return None
        return _Nodes(tuple(first), self._kept(between, profile, largest, every), False, _tables(kept))

    def _kept(self, between: _Between, profile: Floats, largest: Floats, every: Floats) -> Floats:
        """A bound on the first nodes that the step to later ones does not raise; what holds anyway if none is found."""
        bound = largest
        for _ in range(MOST_RAISES):
            enlarged = np.minimum(bound * (1 + 1e-4), every)
            raised = between.bound(profile, enlarged + self._links * (1 - np.eye(self.states)))
            if np.all(np.minimum(raised, every) <= enlarged):  # Statement 47
                return np.asarray(enlarged)
            bound = np.maximum(bound, raised)
        return every

    def _walk(self, profile: Floats, largest: Floats) -> Iterator[_Between]:
        """Bridges of 1, 2, 3, .. steps, later several at once; ``largest`` is what they have led to so far."""
        k, most = self.states, float(profile.max())
        few = k <= APART_UP_TO
        P, _ = self._power(1)
        after, _ = self._power(4)
        kinds = self._kinds(profile)
        told, ends = (Bridge.shortest(Q, _starts(far), kinds) for Q, far in ((P, after), (P.T, after.T)))
        taken = 1
        while told.usable:
            ahead = 1
            if told.steps >= FINE:
                ahead = min(max(1, int(COARSE[few] * float(largest.max()) / most)), told.steps)
            # a node's bound reaches up to the next one
            yield _Between(told, ends, ahead)
            taken += 1
            if taken * k**3 > MOST_WORK:
                return
            by, possible = self._power(ahead)
            if (possible & (by < TINY)).any():
                return
            told = told.longer(profile, by, steps=ahead, precision=PRECISION[few])
            ends = ends.longer(profile, np.ascontiguousarray(by.T), steps=ahead, precision=PRECISION[few])

    def _kinds(self, profile: Floats) -> Integers:
        """States that values in between are told apart by: all, or a few kinds with little between their own."""
        if self.states <= TOGETHER_FROM or self._limit is None:
            return np.arange(self.states)
        D = profile + self._limit.estimate(profile)
        return alike(D, FEW) if np.isfinite(D).all() else np.arange(self.states)


def _starts(power: Floats) -> tuple[Integers, ...]:
    """Every start by itself, or groups of starts that lead to much the same within a few steps."""
    k = len(power)
    if k <= APART_UP_TO:
        return tuple(np.array([z]) for z in range(k))
    laws = power / np.maximum(power.sum(axis=1, keepdims=True), 1e-300)
    labels = alike(np.array([np.abs(laws - law).sum(axis=1) for law in laws]), FEW)
    return tuple(np.flatnonzero(labels == g) for g in range(int(labels.max()) + 1))


def _tables(walked: list[_Between]) -> Tables | None:
    """The tables of all bridges, if they are few enough to be kept and proved anew."""
    k = len(walked[0].told.power)
    if k > APART_UP_TO or len(walked) * k**3 > MOST_KEPT:
        return None
    told, ends = (
        np.array([b.by_end() for b in bridges]) for bridges in zip(*((w.told, w.ends) for w in walked), strict=True)
    )
    return Tables(np.array([w.told.steps for w in walked]), told, ends)
