"""The influence curve as a mechanism (Statement 9): several times less noise than quilts.

Promise: ε-Pufferfish privacy for every query, under chains, an interval, a mixing class, or networks.
Rule: noise of scale s on a query of sensitivity c gives every time the profile λ(y,y') = c(y,y') / s; the curve turns
it into ε. The scale is the smallest for which the curve is at most ε, found from the safe side, and never above that
of quilts, which are the special case of a single skip. Series too short to forget are followed node by node.
"""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quiltwork.beliefs import Belief, SecretPairs
from quiltwork.calibration.mechanisms.quilt import Quilt, approx_quilt, exact_quilt
from quiltwork.calibration.mechanisms.scales import CLOSE, Look, look_at, smallest_proved
from quiltwork.calibration.record import Calibration, Plain, Reason
from quiltwork.calibration.request import Request
from quiltwork.certificate import ChainCertificate
from quiltwork.errors import BeliefError, NotCoveredError
from quiltwork.influence.curve.constant import MOST_STATES, InfluenceCurve, curve_members
from quiltwork.influence.curve.parts import PartLoss, knows_parts, part_loss
from quiltwork.influence.curve.sides import KernelSide
from quiltwork.numeric import round_up, smallest_within
from quiltwork.types import Floats

LONG = 50.0  # a series with λ T beyond this many ε gains nothing from its ends
MANY_NODES = 2048
MANY_STATES, FURTHEST_DOUBLING = 32, 24
THEOREM = "influence curve: what a value shows, what follows from it, and what led to it, added up"
ABOUT_PARTS = "influence curve between the laws of a step given one of its variables"


@dataclass(frozen=True)
class CurveReason(Reason):
    """The two states that are hardest to tell apart, and what tells them apart."""

    pair: tuple[str, str]
    own: float
    future: float
    past: float
    node: int | None = None
    member: int | None = None
    settled: bool = True
    """Whether the search came to its own end; if it came to a limit, there may be less noise that would do."""
    by_time: tuple[float, ...] = ()
    """The loss of each time of a cycle, if the belief is one; 0 at times that are not secret."""
    sets: bool = False
    """Whether sets of states are secret, of which the two are the hardest."""

    def detail(self) -> dict[str, Any]:
        """The reason as plain values."""
        detail: dict[str, Any] = {
            "pair": list(self.pair),
            "own": self.own,
            "future": self.future,
            "past": self.past,
            "node": self.node,
        }
        detail |= {} if self.settled else {"settled": False}
        detail |= {"by_time": [loss or None for loss in self.by_time]} if self.by_time else {}
        return detail if self.member is None else detail | {"member": self.member}


@dataclass(frozen=True)
class _Needed:
    """The noise that one chain needs, by which theorem and why; with the look at it that proves it."""

    scale: float
    theorem: str
    reason: Reason
    look: Look | None
    always: float = math.inf
    """The scale that is enough for every length."""


def curve(request: Request) -> Calibration:
    """Noise of the smallest scale for which the influence curve is at most ε.

    With the guarantee "bayesian" it is against adversaries who know any other values exactly.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> round(curve(Request.of("count:1", belief=chain, epsilon=1.0, mechanism="curve")).noise_scale, 4)
    3.3364
    """
    belief, epsilon, length, guarantee = request.belief, request.epsilon, request.length, request.guarantee
    if belief.networks:
        from quiltwork.calibration.mechanisms.networks import record_curve  # for networks only

        return record_curve(request)
    secret = request.secrets.on(belief)
    curves = curve_members(belief, guarantee=guarantee, secret=secret)  # refuses joint tables
    (sensitivity,) = request.asked.table()
    numbers = (number for number, _ in belief.numbered_members)
    needed = [_smallest(c, request, sensitivity, n) for n, c in zip(numbers, curves, strict=True)]
    most = max(needed, key=lambda candidate: candidate.scale)
    noise_scale = round_up(most.scale)
    profile = sensitivity / noise_scale if most.scale > 0 else np.zeros_like(sensitivity)  # Statement 8
    certificate: ChainCertificate | None
    if length is not None and length * float(profile.max()) <= epsilon * (1 - 1e-15):  # Statement 18
        bayesian = guarantee == "bayesian"
        certificate = ChainCertificate(
            belief.fingerprint, epsilon, profile, (), length, bayesian, secrets=request.secrets
        )
    else:
        proved = [candidate.look if candidate.scale == most.scale else None for candidate in needed]
        looks = [known or look_at(c, profile, length, epsilon) for c, known in zip(curves, proved, strict=True)]
        certificate = _certificate(request, profile, looks)
    if knows_parts(belief) and guarantee == "pufferfish" and most.scale > 0:
        enough = max(candidate.always for candidate in needed)  # of any length, to search in the same way for all
        start = round_up(enough) if math.isfinite(enough) else noise_scale
        known = _about_parts(curves[0], sensitivity, epsilon, start)
        if known is not None and known[0] < noise_scale:
            scale, loss = known
            return Calibration.of(request, noise_scale=scale, theorem=ABOUT_PARTS, reason=_part_reason(belief, loss))
    theorem = most.theorem if guarantee == "pufferfish" else f"{most.theorem}, by cross-ratios"
    return Calibration.of(
        request, noise_scale=noise_scale, theorem=theorem, reason=most.reason, certificate=certificate
    )


def _about_parts(
    influence: InfluenceCurve, sensitivity: Floats, epsilon: float, enough: float
) -> tuple[float, PartLoss] | None:
    """A smaller scale that is enough for each variable of a step, if that is known; with its loss."""
    if part_loss(influence, sensitivity / enough) is None:
        return None

    def look(scale: float) -> PartLoss:
        # enlarged and looked at as the accountant does, so that what is added up and rounded later stays below
        found = part_loss(influence, sensitivity / scale * (1 + 2e-8), thorough=True)
        return found or PartLoss(math.inf, 0, (0, 0))

    scale = smallest_within(lambda s: look(s).epsilon, epsilon, enough, precision=CLOSE)
    found = look(scale) if scale > 0 else None
    return None if found is None or not found.epsilon <= epsilon else (round_up(scale), found)


def _part_reason(belief: Belief, loss: PartLoss) -> Plain:
    name, states = list((belief.step_variables or {}).items())[loss.variable]
    more, less = (states[n] for n in loss.pair)
    return Plain(
        f"{more} and {less} of {name} are the hardest to keep apart at one step: that step, all before it and all "
        f"after it together show up to {loss.epsilon:.4g}.",
        (("epsilon", loss.epsilon),),
    )


def _certificate(request: Request, profile: Floats, looks: list[Look]) -> ChainCertificate | None:
    belief, epsilon, length = request.belief, request.epsilon, request.length
    if not belief.separating:
        return None  # mixtures of phases and times of a cycle are not part of it
    proofs = [None if look.epsilon > epsilon else look.prove() for look in looks]
    known = tuple(proof for proof in proofs if proof is not None)
    if len(known) < len(looks):
        return None
    endless = all(side.steady for sides in known for side in sides)
    covered, bayesian = None if endless else length, request.guarantee == "bayesian"
    return ChainCertificate(belief.fingerprint, epsilon, profile, known, covered, bayesian, request.secrets)


def _smallest(influence: InfluenceCurve, request: Request, sensitivity: Floats, member: int | None) -> _Needed:
    """What is needed for every length, or less of it if the length is known; each with its theorem and reason.

    What is enough for every length is found in the same way whether or not a length is known, so that knowing it never
    takes more noise.
    """
    length = request.length
    asked = _Asked(influence, request, sensitivity, member)
    whole = knows_parts(request.belief)  # it starts at what is enough for every length
    limit = math.inf if length is None or whole else request.lipschitz * length / request.epsilon  # Statement 18
    endless = asked.needed(None, None, stop=limit)
    known = None if length is None else asked.needed(length, endless)
    enough = [candidate for candidate in (endless, known) if candidate is not None]
    if not enough:
        raise NotCoveredError(
            f"no noise is enough at epsilon = {request.epsilon:g} for series of any length",
            why="under this belief some values may stay linked however far apart they are",
            fix="Give the length of the longest series, or a narrower belief",
        )
    always = math.inf if endless is None else endless.scale
    return replace(min(enough, key=lambda candidate: candidate.scale), always=always)


@dataclass(frozen=True)
class _Asked:
    """The noise that one chain needs for one question."""

    influence: InfluenceCurve
    request: Request
    sensitivity: Floats
    member: int | None

    def needed(self, length: int | None, endless: _Needed | None, stop: float = math.inf) -> _Needed | None:
        """The smaller of the curve's scale and the quilts', for one length or for all; None if neither is enough.

        ``endless`` is what is needed for all lengths, where one is known. A search for all lengths may end at ``stop``.
        """
        epsilon, lipschitz, secret = self.request.epsilon, self.request.lipschitz, self.influence.secret
        bayesian = self.influence.guarantee == "bayesian"
        between = None if bayesian else _quilts_between(self.influence, epsilon, length)
        quilt = None if between else self._quilt(_quick(self.influence.belief, length), length)
        limit = lipschitz * between[1] if between else math.inf if quilt is None else lipschitz * quilt.score
        if lipschitz > 0:
            found = self._found(length, limit, endless, stop)
            if between:
                known = found is not None and found[0] < lipschitz * between[0]
            else:
                known = bayesian or (
                    found is not None
                    and _below_quilts(self.influence.belief, found[0] / lipschitz, epsilon, length, secret)
                )
            if not known:
                quilt = self._quilt(self.influence.belief, length)
                limit = math.inf if quilt is None else lipschitz * quilt.score
            if found is not None and found[0] < limit:
                return _Needed(found[0], THEOREM, self._reason(found[1]), found[1])
        return None if quilt is None else _Needed(limit, "influence curve with a single skip (quilts)", quilt, None)

    def _found(
        self, length: int | None, limit: float, endless: _Needed | None, stop: float
    ) -> tuple[float, Look] | None:
        """What the curve proves."""
        epsilon, lipschitz, secret = self.request.epsilon, self.request.lipschitz, self.influence.secret
        if length is None:
            return smallest_proved(self.influence, self.sensitivity, epsilon, limit, None, stop)
        before = None if endless is None or endless.look is None else (endless.scale, endless.look)
        placed = secret is not None and secret.times is not None
        if self.influence.future.states > MOST_STATES:
            return before
        if not placed and not _may_gain(before, limit, lipschitz, epsilon, length):
            return before
        least = limit if before is None else min(limit, before[0])
        return smallest_proved(self.influence, self.sensitivity, epsilon, least, length) or before

    def _quilt(self, belief: Belief, length: int | None) -> Quilt | None:
        bayesian = self.influence.guarantee == "bayesian"
        return _quilt(belief, self.request.epsilon, length, self.member, bayesian, self.influence.secret)

    def _reason(self, look: Look) -> CurveReason:
        states = self.influence.belief.states
        pair = (states[look.pair[0]], states[look.pair[1]])
        own, future, past = look.parts
        sets = any(part.kind == "sets" for part in self.request.secrets.parts)
        return CurveReason(pair, own, future, past, look.node, self.member, look.settled, look.by_time, sets)


def _quilts_between(influence: InfluenceCurve, epsilon: float, length: int | None) -> tuple[float, float] | None:
    """Between what the score of exact quilts lies, from distances that are powers of two; None if that is no use.

    With many states all distances take long. Influence falls with distance, so that of 2^n bounds that of all up to
    there from below. In the middle of a series a quilt has two ends, or leaves at least half of it near.
    """
    future, past = influence.future, influence.past
    if influence.future.states < MANY_STATES or not isinstance(future, KernelSide) or not isinstance(past, KernelSide):
        return None
    least, most = math.inf, math.inf
    for a, b in itertools.product(range(FURTHEST_DOUBLING), repeat=2):
        if 2 ** (max(a, b) - 1) / epsilon >= least:
            continue
        influences = np.where(influence.compared, future.influence(b) + past.influence(a), 0.0)
        left = epsilon - float(influences.max())  # Statements 3 and 61
        if left > 0:  # Statement 4
            most = min(most, (2**a + 2**b - 1) / left)
            least = min(least, (2**a // 2 + 2**b // 2 + 1) / left)
    if length is not None:
        least, most = min(least, length / 2 / epsilon), min(most, length / epsilon)
    return (least, most) if math.isfinite(most) else None


def _quick(belief: Belief, length: int | None) -> Belief:
    """A given start takes long on long series: any start first, which needs at least as much."""
    long = length is None or length > MANY_NODES
    return belief.without_given_start() if long else belief


def _below_quilts(belief: Belief, score: float, epsilon: float, length: int | None, secret: SecretPairs | None) -> bool:
    """Whether quilts surely need more: late values of a long series are as if the start were stationary."""
    if _quick(belief, length) is belief or not belief.chains:
        return True  # the quilts were looked at, or there are none
    (chain,) = belief.chains  # only a chain has a given start
    try:
        stationary = exact_quilt(chain.with_start("stationary"), epsilon, length, secret=secret)
        return score <= stationary.score * (1 - 1e-6)
    except (BeliefError, NotCoveredError):
        return False


def _quilt(
    belief: Belief,
    epsilon: float,
    length: int | None,
    member: int | None,
    bayesian: bool,
    secret: SecretPairs | None,
) -> Quilt | None:
    """What quilts need; the noise of the curve is never above it. Against known values only the empty quilt holds."""
    for chain in () if bayesian else belief.chains:
        try:
            return exact_quilt(chain, epsilon, length, member, secret)
        except NotCoveredError:
            return None
    if belief.knows_influence and not bayesian:
        (known,) = belief.mixing_classes()
        return approx_quilt(known, epsilon, length)
    if length is None:
        return None
    return Quilt(length / epsilon, None, None, None, 0.0, length)  # Statement 18: the empty quilt


def _may_gain(found: tuple[float, Look] | None, limit: float, lipschitz: float, epsilon: float, length: int) -> bool:
    """Whether the ends of the series are near enough to matter."""
    least = limit if found is None else min(found[0], limit)
    return found is None or lipschitz / least * length <= LONG * epsilon
