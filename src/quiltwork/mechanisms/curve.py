"""The influence curve as a mechanism (theory section 5): several times less noise than quilts.

Promise: ε-Pufferfish privacy for every query, under a chain or a set of chains, for series of every length.
Rule: noise of scale s on a query of sensitivity c gives every time the profile λ(y,y') = c(y,y') / s; the curve turns
it into ε. The scale is the smallest for which the curve is at most ε, found from the safe side, and never above that
of exact quilts, which are the special case of a single skip.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs import Belief, ChainSet, MarkovChain
from quiltwork.calibration import Calibration, Reason
from quiltwork.errors import NotCoveredError
from quiltwork.influence.curve import CurvePoint, InfluenceCurve
from quiltwork.mechanisms.quilt import exact_quilt
from quiltwork.queries import Query
from quiltwork.rounding import round_up

PRECISION = {True: 1e-6, False: 2e-3}  # of the scale, for two states and for more
MOST_LOOKS = 40
USUAL_SLOPE = 1.15  # of log ε against log λ


@dataclass(frozen=True)
class CurveReason(Reason):
    """The two states that are hardest to tell apart, and what tells them apart."""

    pair: tuple[str, str]
    own: float
    future: float
    past: float
    member: int | None = None

    def sentence(self) -> str:
        """The reason in words."""
        whose = "" if self.member is None else f" under chain {self.member} of the set"
        return (
            f"{self.pair[0]} and {self.pair[1]} are the hardest to keep apart{whose}: the value itself shows up to "
            f"{self.own:.4g}, what follows it up to {self.future:.4g}, and what led to it up to {self.past:.4g}."
        )

    def detail(self) -> dict[str, Any]:
        """The reason as plain values."""
        found = {"pair": list(self.pair), "own": self.own, "future": self.future, "past": self.past}
        return found if self.member is None else found | {"member": self.member}


def curve(query: Query, *, belief: Belief, epsilon: float, length: int | None) -> Calibration:
    """Noise of the smallest scale for which the influence curve is at most ε.

    >>> from quiltwork import Count
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> round(curve(Count("1"), belief=chain, epsilon=1.0, length=None).noise_scale, 4)
    3.3364
    """
    members = belief.members if isinstance(belief, ChainSet) else (belief,)
    if not all(isinstance(m, MarkovChain) for m in members):
        raise NotCoveredError(
            "curve needs a chain or a set of chains", got=repr(belief), fix="Use quilt-approx for a mixing class"
        )
    found = [
        _smallest(query, m, epsilon, length, n if isinstance(belief, ChainSet) else None)
        for n, m in enumerate(members, 1)
        if isinstance(m, MarkovChain)
    ]
    scale, theorem, reason = max(found, key=lambda one: one[0])
    return Calibration(
        mechanism="curve",
        query=query.text,
        epsilon=epsilon,
        length=length,
        lipschitz=query.lipschitz(belief.states),
        noise_scale=round_up(scale),
        guarantee="pufferfish",
        theorem=theorem,
        reason=reason,
    )


def _smallest(
    query: Query, chain: MarkovChain, epsilon: float, length: int | None, member: int | None
) -> tuple[float, str, Reason]:
    """The smaller of the curve's scale and the quilts', with its theorem and reason."""
    sensitivity = query.sensitivity(chain.states)
    lipschitz = float(sensitivity.max())
    quilt = exact_quilt(chain, epsilon, length, member)
    by_quilts = (lipschitz * quilt.score, "influence curve with a single skip (exact quilts)", quilt)
    if lipschitz == 0:
        return by_quilts
    found = _search(InfluenceCurve(chain), sensitivity, epsilon, by_quilts[0])
    if found is None or found[0] >= by_quilts[0]:
        return by_quilts
    scale, point = found
    a, b = point.pair
    own = float(sensitivity[a, b] / scale)
    reason = CurveReason((chain.states[a], chain.states[b]), own, point.future_at_pair, point.past_at_pair, member)
    return scale, "influence curve: what a value shows, what follows from it, and what led to it, added up", reason


def _search(
    influence: InfluenceCurve, sensitivity: NDArray[np.float64], epsilon: float, enough: float
) -> tuple[float, CurvePoint] | None:
    """The smallest scale below ``enough`` that the curve proves, with its proof; None if it proves none.

    Straight lines on logarithmic axes between a scale that is proved and one that is not.
    """
    precision = PRECISION[len(sensitivity) == 2]
    best: tuple[float, CurvePoint] | None = None
    safe, safe_epsilon = enough, math.nan
    unsafe, unsafe_epsilon = float(sensitivity.max()) / epsilon * (1 - 1e-9), math.inf
    scale = max(unsafe * 1.001, math.sqrt(unsafe * enough))
    for _ in range(MOST_LOOKS):
        point = influence.at(sensitivity / scale)
        if point.epsilon <= epsilon:
            best, safe, safe_epsilon = (scale, point), scale, point.epsilon
        else:
            unsafe, unsafe_epsilon = scale, point.epsilon
        if safe / unsafe <= 1 + precision or safe_epsilon >= epsilon * (1 - precision):
            break
        aimed, slope = math.sqrt(safe * unsafe), USUAL_SLOPE
        if point.epsilon < 50 * epsilon:
            if best is not None and unsafe_epsilon < 50 * epsilon:
                slope = max(math.log(unsafe_epsilon / safe_epsilon) / math.log(safe / unsafe), 0.1)
            aimed = scale * (point.epsilon / epsilon) ** (1 / slope) * (1 + precision)
        scale = min(max(aimed, unsafe * (1 + precision / 2)), safe / (1 + precision / 2))
    return best
