"""The influence curve (Statement 9): from a profile λ to a Pufferfish guarantee.

    ε = max over a ≠ b of  λ(a,b) + R(a,b) + L(a,b)

R bounds what the future tells about a value beyond the value itself, L what the past does. Here both hold for series
of every length, under a profile that is the same at every time; ``timeline.py`` follows profiles that change.
"""

from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs.base import Belief
from quiltwork.beliefs.chain import MarkovChain
from quiltwork.beliefs.interval import IntervalChain
from quiltwork.beliefs.mixing import MixingClass
from quiltwork.errors import NotCoveredError
from quiltwork.influence.curve.any_start import AnyStart
from quiltwork.influence.curve.given_start import GivenPast
from quiltwork.influence.curve.profile import links
from quiltwork.influence.curve.ratios import AnyPast, IntervalFuture, IntervalRatios, mixing_sides
from quiltwork.influence.curve.sides import Bound, KernelSide, Side, on_both
from quiltwork.influence.quilts.tables import UNIT_ROUNDOFF
from quiltwork.types import Floats, Guarantee

DIGITS = 9
MOST_STATES = 300
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


class InfluenceCurve:
    """Evaluates profiles that are the same at every time, for one chain or class and series of every length.

    The promise "bayesian" is against adversaries who know any other values exactly. Knowing values multiplies the rows
    or columns of kernels by functions that they share, which leaves cross-ratios as they are: so both sides are
    bounded by cross-ratios (Statement 20).

    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> count = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> round(InfluenceCurve(chain).at(count / 3.33641).epsilon, 4)
    1.0
    """

    def __init__(self, belief: Belief, *, guarantee: Guarantee = "pufferfish"):
        self.belief = belief
        self.guarantee = guarantee
        self.alive = belief.possible_states()
        self.future, self.past = both_sides(belief, against_all=guarantee == "bayesian")

    @property
    def started(self) -> bool:
        """Whether the law of the first value is given, so that nodes differ."""
        return isinstance(self.past, GivenPast)

    def own(self, profile: Floats) -> Floats:
        """λ between different states that can occur."""
        off = 1 - np.eye(len(self.alive))
        if self.belief.alike:
            return np.asarray(float(profile.max()) * off)
        return np.asarray(profile[np.ix_(self.alive, self.alive)] * off)

    def at(self, profile: Floats, *, thorough: bool = False) -> CurvePoint:
        """The guarantee under the profile λ(y, y')."""
        possible = canonical(self.own(profile))
        sides = self.future, self.past.linked(links(profile))
        R, L = on_both(lambda side: side.bound(possible, thorough=thorough), sides, states=len(possible))
        itself = possible + links(profile)
        total = itself + R.values + L.values  # Statements 9 and 49
        np.fill_diagonal(total, 0.0)
        a, b = np.unravel_index(int(np.argmax(total)), total.shape)
        parts = (float(part[a, b]) for part in (itself, R.values, L.values))
        return CurvePoint(float(total[a, b]) * (1 + 1e-12), R, L, (int(self.alive[a]), int(self.alive[b])), *parts)

    def estimate(self, profile: Floats) -> float:
        """About what ``at`` would find, without a proof where that is quicker."""
        possible = canonical(self.own(profile))
        sides = on_both(lambda side: side.estimate(possible), (self.future, self.past), states=len(possible))
        return float((possible + sides[0] + sides[1]).max()) + links(profile)


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


def curve_members(belief: Belief, *, guarantee: Guarantee = "pufferfish") -> list[InfluenceCurve]:
    """One curve for each member of a set of chains, else one."""
    return [InfluenceCurve(member, guarantee=guarantee) for member in belief.members]


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
        return AnyPast(P.T), AnyPast(P)  # Statement 20
    future = KernelSide(P, error=8 * UNIT_ROUNDOFF)
    return future, _past(belief, P, alive, future)


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
