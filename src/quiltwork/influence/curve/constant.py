"""The influence curve (Statement 9): from a profile λ to a Pufferfish guarantee.

    ε = max over a ≠ b of  λ(a,b) + R(a,b) + L(a,b)

R bounds what the future tells about a value beyond the value itself, L what the past does. Here both hold for series
of every length, under a profile that is the same at every time; ``timeline.py`` follows profiles that change.
"""

import threading
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs.base import Belief
from quiltwork.beliefs.chain import MarkovChain
from quiltwork.beliefs.cycle import CycleChain
from quiltwork.beliefs.hidden import HiddenChain
from quiltwork.beliefs.interval import IntervalChain
from quiltwork.beliefs.mixing import MixingClass
from quiltwork.beliefs.secrets import SecretPairs
from quiltwork.errors import NotCoveredError
from quiltwork.influence.curve.any_start import AnyStart
from quiltwork.influence.curve.cycle import CycleSide, against_all_sides, cycle_sides
from quiltwork.influence.curve.given_start import GivenPast
from quiltwork.influence.curve.profile import links
from quiltwork.influence.curve.ratios import AnyPast, IntervalFuture, IntervalRatios, SingleSteps, mixing_sides
from quiltwork.influence.curve.sides import Bound, KernelSide, Side, on_both
from quiltwork.influence.curve.transport import LARGEST_DIFFERENCE, Shipments, shortest
from quiltwork.influence.quilts.tables import UNIT_ROUNDOFF
from quiltwork.types import Flags, Floats, Guarantee

DIGITS = 9
MOST_STATES = 300
MOST_PREPARED = 4  # beliefs whose curves a thread keeps
LEAST = 1e-200  # less than this counts as this: no noise is larger, and steps of tiny differences need digits


@dataclass(frozen=True)
class CurvePoint:
    """The guarantee of a constant profile, with the bounds that prove it."""

    epsilon: float
    future: Bound
    past: Bound
    pair: tuple[int, int]
    own_at_pair: float
    future_at_pair: float
    past_at_pair: float
    by_time: tuple[float, ...] = ()
    """The loss of each time of a cycle, if the belief is one."""


class Peak(NamedTuple):
    """The largest loss where given bounds meet: between which states, and what each bound adds to it."""

    loss: float
    pair: tuple[int, int]
    parts: tuple[float, ...]


class InfluenceCurve:
    """Evaluates profiles that are the same at every time, for one chain or class and series of every length.

    The promise "bayesian" is against adversaries who know any other values exactly. Knowing values multiplies the rows
    or columns of kernels by functions that they share, which leaves cross-ratios as they are: so both sides are
    bounded by cross-ratios (Statement 20).

    Where phases lie behind values, both sides are about phases. A difference between two phases of one state costs
    nothing by itself, and secrets are states: two mixtures of phases (Statement 54).

    ``secret`` says which pairs the last maximum is over; both sides are bounded for all pairs, for context counts
    whatever is secret (Statement 61). A pair of sets is the largest of its pairs of states or, where the law of a value
    is known, one more step between the laws given each of them (Statement 62).

    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> count = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> round(InfluenceCurve(chain).at(count / 3.33641).epsilon, 4)
    1.0
    """

    def __init__(self, belief: Belief, *, guarantee: Guarantee = "pufferfish", secret: SecretPairs | None = None):
        self.belief = belief
        self.guarantee = guarantee
        self.secret = None if secret is None or secret.everything else secret
        self.alive = belief.shown_states()
        self.future, self.past = both_sides(belief, against_all=guarantee == "bayesian")

    def afresh(self, belief: Belief) -> "InfluenceCurve":
        """The same curve about an equal belief, without guesses from earlier questions."""
        curve = copy(self)
        curve.belief, curve.future = belief, self.future.afresh()
        curve.past = self.past.afresh(curve.future)
        return curve

    @property
    def started(self) -> bool:
        """Whether the law of the first value is given, so that nodes differ."""
        return isinstance(self.past, GivenPast)

    @property
    def cyclic(self) -> bool:
        """Whether times of a cycle differ."""
        return isinstance(self.future, CycleSide)

    @cached_property
    def in_phases(self) -> bool:
        """Whether several phases show the same state."""
        return len(np.unique(self.alive)) < len(self.alive)

    @cached_property
    def _differ(self) -> Floats:
        """1 between phases that show different states, else 0."""
        return np.asarray(self.alive[:, None] != self.alive[None, :], dtype=np.float64)

    def own(self, profile: Floats) -> Floats:
        """λ between different states that can occur."""
        if self.belief.alike:
            return np.asarray(float(profile.max()) * (1 - np.eye(len(self.alive))))
        if self.in_phases:  # a value that looks the same may part two that changed: each counts by itself
            return np.asarray((profile[np.ix_(self.alive, self.alive)] + links(profile)) * self._differ)
        return np.asarray(profile[np.ix_(self.alive, self.alive)] * self._differ)

    def links(self, profile: Floats) -> float:
        """What any change of a value tells besides its own λ, once."""
        return 0.0 if self.in_phases else links(profile)

    @cached_property
    def compared(self) -> Flags:
        """Which two states that can occur, or phases of them, are to be kept apart; of sets, those of both sides."""
        if self.secret is None or self.belief.alike:  # nothing tells the states of a class apart
            return np.asarray(self._differ > 0)
        return self.secret.of_steps()[np.ix_(self.alive, self.alive)]

    @cached_property
    def _sets(self) -> list[tuple[Flags, Flags]]:
        """The pairs of sets that are to be kept apart, over the states that can occur, or phases of them."""
        if self.secret is None or self.belief.alike or self.belief.step_variables is not None:
            return []
        both = [(one[self.alive], other[self.alive]) for one, other in self.secret.sets[0]]
        return [(one, other) for one, other in both if one.any() and other.any()]

    @cached_property
    def _single(self) -> Flags:
        """Which two states are to be kept apart by themselves; in sets of which nothing more is known, too."""
        if not self._sets or not self._knows_law:
            return self.compared
        return self.secret.pairs[0][np.ix_(self.alive, self.alive)] if self.secret is not None else self.compared

    def peak(self, parts: Sequence[Floats], time: int | None = None) -> Peak:
        """The largest sum of bounds (λ, R and L) over what is to be kept apart, with its parts.

        ``time`` is a time of a cycle, if the bounds are those of one.
        """
        law = self.law_at(time)
        single = self.compared if law is None else self._single
        total = np.where(single, sum(parts), -np.inf)  # Statement 61
        peaks = [self._peak_between(*sides, parts, law) for sides in self._sets] if law is not None else []
        if self.in_phases:
            peaks.append(self._peak_of_mixtures(parts, total))
        else:
            peaks.append(self._peak_of_pairs(parts, total))
        return max(peaks, key=lambda peak: peak.loss)

    def _peak_between(self, one: Flags, other: Flags, parts: Sequence[Floats], law: Floats) -> Peak:
        """One more step between the laws of a value in one of two sets of states (Statement 62)."""
        D = np.array(sum(parts))
        both = np.outer(one, other) | np.outer(other, one)
        here = self._peak_of_pairs(parts, np.where(both, D, -np.inf))
        kept = law > 0  # nothing is known about what cannot occur
        if not (one & kept).any() or not (other & kept).any():
            return Peak(0.0, here.pair, here.parts)
        most = np.where(both[np.ix_(kept, kept)], D[np.ix_(kept, kept)], 0.0).max()
        if not 0 < most <= LARGEST_DIFFERENCE:
            return here
        D = D[np.ix_(kept, kept)]
        np.fill_diagonal(D, 0.0)
        rows = np.array([side[kept] * law[kept] for side in (one, other)])
        rows /= rows.sum(axis=1, keepdims=True)
        known = np.array([[0.0, most], [most, 0.0]])
        claims = Shipments.of(rows, shortest(D)).smallest(known, near=0.9 * known, precision=1e-6)
        loss = min(float(claims.max()) + 2 * self.past.error + 1e-12, float(most))
        share = loss / here.loss if 0 < here.loss < np.inf else 1.0
        return Peak(loss, here.pair, tuple(min(share, 1.0) * part for part in here.parts))

    def law_at(self, time: int | None) -> Floats | None:
        """The law of a value over the states that can occur (or phases), if sets need it and it is known."""
        if not self._sets or not self._knows_law:
            return None
        if self.cyclic:
            return None if time is None else np.asarray(self.belief.law[time][self.alive])  # type: ignore[attr-defined]
        if self.belief.hidden_chains:
            return self.belief.phase_law()
        return np.asarray(self.belief.chains[0].stationary[self.alive])

    @cached_property
    def _knows_law(self) -> bool:
        """Whether the law of a value is known, the same at every time or at each time of a cycle."""
        known = self.cyclic or self.belief.hidden_chains or self.belief.chains
        return bool(known) and self.guarantee == "pufferfish" and self.belief.start == "stationary"

    def _peak_of_pairs(self, parts: Sequence[Floats], total: Floats) -> Peak:
        np.fill_diagonal(total, -np.inf)
        a, b = np.unravel_index(int(np.argmax(total)), total.shape)
        shares = tuple(float(part[a, b]) for part in parts)
        return Peak(max(float(total[a, b]), 0.0), (int(self.alive[a]), int(self.alive[b])), shares)

    def _peak_of_mixtures(self, parts: Sequence[Floats], total: Floats) -> Peak:
        """The same where a state is a mixture of phases: the largest over phases, or one more step between them."""
        states = np.unique(self.alive)
        groups = [np.flatnonzero(self.alive == state) for state in states]
        most = np.array([[total[np.ix_(x, y)].max() for y in groups] for x in groups])
        most = np.where(np.eye(len(states), dtype=bool), 0.0, np.maximum(most, 0.0))
        losses = most
        if self._weights is not None and 0 < most.max() <= LARGEST_DIFFERENCE:
            D = np.array(sum(parts))
            np.fill_diagonal(D, 0.0)
            shipments = Shipments.of(self._weights, shortest(D))  # Statement 54
            losses = shipments.smallest(most, near=0.9 * most, precision=1e-6) + 2 * self.past.error
            losses = np.minimum(np.where(np.eye(len(states), dtype=bool), 0.0, losses), most)
        x, y = np.unravel_index(int(np.argmax(losses)), losses.shape)
        block = np.ix_(groups[x], groups[y])
        a, b = np.unravel_index(int(np.argmax(total[block])), total[block].shape)
        share = float(losses[x, y] / most[x, y]) if 0 < most[x, y] < np.inf else 1.0
        shares = tuple(share * float(part[block][a, b]) for part in parts)
        return Peak(max(float(losses[x, y]), 0.0), (int(states[x]), int(states[y])), shares)

    @cached_property
    def _weights(self) -> Floats | None:
        """P(phase | state) at every time, if it is known: states x phases."""
        law = None if self.guarantee == "bayesian" else self.belief.phase_law()
        if law is None:
            return None
        inside = law[None, :] * (self.alive[None, :] == np.unique(self.alive)[:, None])
        return np.asarray(inside / inside.sum(axis=1, keepdims=True))

    def at(self, profile: Floats, *, thorough: bool = False) -> CurvePoint:
        """The guarantee under the profile λ(y, y')."""
        possible = canonical(self.own(profile))
        sides = self.future, self.past.linked(self.links(profile))
        R, L = on_both(lambda side: side.bound(possible, thorough=thorough), sides, states=len(possible))
        itself = possible + self.links(profile)
        if R.by_time is not None and L.by_time is not None:
            times = zip(R.by_time, L.by_time, strict=True)
            peaks = [self.peak((itself, *both), t) for t, both in enumerate(times)]  # Statement 55
            if self.secret is not None and self.secret.cycle is not None:
                nothing = Peak(0.0, (0, 0), (0.0, 0.0, 0.0))
                peaks = [p if s else nothing for p, s in zip(peaks, self.secret.cycle, strict=True)]  # Statement 61
        else:
            peaks = [self.peak((itself, R.values, L.values))]  # Statements 9 and 49
        worst = max(peaks, key=lambda peak: peak.loss)
        by_time = tuple(peak.loss for peak in peaks) if len(peaks) > 1 else ()
        own, future, past = worst.parts
        return CurvePoint(worst.loss * (1 + 1e-12), R, L, worst.pair, own, future, past, by_time)

    def estimate(self, profile: Floats) -> float:
        """About what ``at`` would find, without a proof where that is quicker."""
        if self.cyclic:
            return self.at(profile).epsilon
        possible = canonical(self.own(profile))
        sides = on_both(lambda side: side.estimate(possible), (self.future, self.past), states=len(possible))
        return self.peak((possible + self.links(profile), *sides)).loss

    def outline(self, profile: Floats) -> float | None:
        """About the same at much less cost, for fast chains with many states; else None."""
        if not isinstance(self.future, KernelSide) or not isinstance(self.past, KernelSide):
            return None
        possible = canonical(self.own(profile))
        future, past = self.future.outline(possible), self.past.outline(possible)
        if future is None or past is None:
            return None
        return self.peak((possible + self.links(profile), future, past)).loss


def check_states(states: int) -> None:
    """Refuse what would take hours: profiles that change, and classes of chains, with very many states."""
    if states > MOST_STATES:
        raise NotCoveredError(
            f"the influence curve covers up to {MOST_STATES} states here",
            got=f"{states:,}",
            why="every pair of states is compared by every set of states, which would take hours",
            fix="Join states that behave alike",
        )


def canonical(profile: Floats) -> Floats:
    """Rounded up to 9 digits, so that sums of the same releases in another order mean the same."""
    asked = profile > 0
    profile = np.where(asked, np.maximum(profile, LEAST), 0.0)
    unit = 10.0 ** (np.floor(np.log10(np.where(asked, profile, 1.0))) - DIGITS + 1)
    return np.where(asked, np.maximum(np.ceil(profile / unit) * unit, profile), 0.0)


def within_cell(number: float) -> float:
    """A number just below one of 9 digits, which stays with it under rounding errors."""
    unit = 10.0 ** (np.floor(np.log10(number)) - DIGITS + 1)
    return float((np.floor(number / unit) - 0.5) * unit)


class _Prepared(threading.local):
    """The curves that a thread has prepared last: calibration and accounts ask about the same belief in turn."""

    def __init__(self) -> None:
        self.curves: dict[tuple[str, Guarantee, bytes], list[InfluenceCurve]] = {}


_prepared = _Prepared()


def curve_members(
    belief: Belief, *, guarantee: Guarantee = "pufferfish", secret: SecretPairs | None = None
) -> list[InfluenceCurve]:
    """One curve for each member of a set of chains, else one.

    Kernels, skips and bridges of a belief are prepared once and shared; what is found does not depend on that.
    """
    asked = belief.fingerprint, guarantee, b"" if secret is None or secret.everything else secret.key
    curves = _prepared.curves.pop(asked, None)
    if curves is None:
        curves = [InfluenceCurve(member, guarantee=guarantee, secret=secret) for member in belief.members]
    while len(_prepared.curves) >= MOST_PREPARED:
        del _prepared.curves[next(iter(_prepared.curves))]
    _prepared.curves[asked] = curves
    return [curve.afresh(member) for curve, member in zip(curves, belief.members, strict=True)]


def forget_prepared() -> None:
    """Forget the curves that were prepared before."""
    _prepared.curves.clear()


@singledispatch
def both_sides(belief: Belief, *, against_all: bool) -> tuple[Side, Side]:  # noqa: ARG001
    """What the future and the past of a value may tell about it; ``against_all`` whatever else is known."""
    raise NotCoveredError(
        "the influence curve needs a chain, a set of chains, an interval or a mixing class",
        got=repr(belief),
        why="it goes from each value to the next",
        fix="Use wasserstein or group",
    )


@both_sides.register
def _of_chain(belief: MarkovChain, *, against_all: bool) -> tuple[Side, Side]:
    alive = belief.possible_states()
    P = belief.transition[np.ix_(alive, alive)]
    if against_all:
        known_in_parts = belief.step_variables is not None
        return _against_all(P, by_part=known_in_parts)  # Statement 20
    future = KernelSide(P, error=8 * UNIT_ROUNDOFF)
    return future, _past(belief, P, alive, future)


def _against_all(P: Floats, *, by_part: bool) -> tuple[Side, Side]:
    """Both sides by cross-ratios; where only part of a state may be known, by those of single steps."""
    kind = SingleSteps if by_part else AnyPast
    return kind(np.ascontiguousarray(P.T)), kind(P)


@both_sides.register
def _of_hidden(belief: HiddenChain, *, against_all: bool) -> tuple[Side, Side]:
    if against_all:
        alive = belief.phases.possible_states()
        P = belief.phases.transition[np.ix_(alive, alive)]
        return _against_all(P, by_part=len(np.unique(belief.shown)) < len(belief.shown))
    return both_sides(belief.phases, against_all=False)  # Statement 54


@both_sides.register
def _of_cycle(belief: CycleChain, *, against_all: bool) -> tuple[Side, Side]:
    return against_all_sides(belief) if against_all else cycle_sides(belief)  # Statement 55


@both_sides.register
def _of_interval(belief: IntervalChain, *, against_all: bool) -> tuple[Side, Side]:
    check_states(len(belief.lower))
    past = IntervalRatios(belief.lower, belief.upper, rows=False)
    if against_all:
        return IntervalRatios(belief.lower, belief.upper, rows=True), past
    return IntervalFuture(belief.lower, belief.upper), past


@both_sides.register
def _of_mixing(belief: MixingClass, *, against_all: bool) -> tuple[Side, Side]:
    future, past = mixing_sides(
        len(belief.possible_states()), pi_min=belief.pi_min, gap=belief.gap, reversible=belief.reversible
    )
    if against_all:
        return past, past
    return future, future if belief.start == "stationary" else past  # Statement 51: read backwards it mixes as well


def _past(chain: MarkovChain, P: Floats, alive: NDArray[np.intp], future: KernelSide) -> Side:
    if chain.start != "stationary":
        limit = _reversed(chain.stationary, chain.transition, future) if chain.irreducible else None
        return GivenPast(chain, limit) if chain.start == "given" else AnyStart(P, limit)
    return _reversed(chain.stationary[alive], P, future)


def _reversed(law: Floats, P: Floats, future: KernelSide) -> KernelSide:
    """The past of a stationary chain; its entries carry the error of the stationary law."""
    error = 16 * (len(P) ** 3 + 1) * UNIT_ROUNDOFF
    return KernelSide(law[None, :] * P.T / law[:, None], error=error, other=future)  # Statement 9
