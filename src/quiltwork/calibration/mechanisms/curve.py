"""The influence curve as a mechanism (Statement 9): several times less noise than quilts.

Promise: ε-Pufferfish privacy for every query, under chains, an interval, a mixing class, or networks.
Rule: noise of scale s on a query of sensitivity c gives every time the profile λ(y,y') = c(y,y') / s; the curve turns
it into ε. The scale is the smallest for which the curve is at most ε, found from the safe side, and never above that
of quilts, which are the special case of a single skip. Series too short to forget are followed node by node.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quiltwork.beliefs import Belief, SecretPairs
from quiltwork.calibration.mechanisms.quilt import Quilt, approx_quilt, exact_quilt
from quiltwork.calibration.record import Calibration, Plain, Reason
from quiltwork.calibration.request import Request
from quiltwork.certificate import Bridges, ChainCertificate, SideProof
from quiltwork.errors import BeliefError, NotCoveredError
from quiltwork.influence.curve.any_start import AnyStart
from quiltwork.influence.curve.constant import MOST_STATES, InfluenceCurve, curve_members, within_cell
from quiltwork.influence.curve.given_start import GivenPast
from quiltwork.influence.curve.parts import PartLoss, knows_parts, part_loss
from quiltwork.influence.curve.profile import Profile, links
from quiltwork.influence.curve.sides import MOST_PAIRWISE, UNCERTIFIED, USUAL_GAIN, USUAL_SLOPE, Bound, KernelSide
from quiltwork.influence.curve.solve import MANY
from quiltwork.influence.curve.timeline import follow, is_short, node_by_node
from quiltwork.numeric import round_up, smallest_within
from quiltwork.types import Floats

EXACT, CLOSE, USUAL = 1e-6, 1e-4, 2e-3  # precision of the scale, where single steps are exact and where not
QUICK, ROUGH = 4e-3, 1e-2  # with many states, and with more than are told apart
MOST_LOOKS = 40
NEAR_AIM = 0.02  # a distance from log ε from which a usual slope is enough
NEAR_ON_A_LINE = 0.08  # the same with a slope that was seen
LONG = 50.0  # a series with λ T beyond this many ε gains nothing from its ends
WORTHWHILE = 0.98
MANY_NODES = 2048
MANY_STATES, FURTHEST_DOUBLING = 32, 24
NEAR_ENOUGH = 2.5  # how near ε has to come, in units of the scale's precision
THEOREM = "influence curve: what a value shows, what follows from it, and what led to it, added up"
ABOUT_PARTS = "influence curve between the laws of a step given one of its variables"
Proofs = tuple[SideProof, SideProof]


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

    def sentence(self) -> str:
        """The reason in words."""
        when = "" if self.node is None else f" at time {self.node:,}"
        whose = "" if self.member is None else f" under chain {self.member} of the set"
        told = [loss for loss in self.by_time if loss > 0]
        others = "Other secret times" if len(told) < len(self.by_time) else "Other times"
        hardest = "of the two sets, {} and {}" if self.sets else "{} and {}"
        return (
            f"{hardest.format(*self.pair)} are the hardest to keep apart{when}{whose}: the value itself shows up "
            f"to {self.own:.4g}, what follows it up to {self.future:.4g}, and what led to it up to {self.past:.4g}."
            + (f" {others} of the cycle show as little as {min(told):.4g}." if told else "")
            + ("" if self.settled else " The search for less noise stopped at its limit, so less may be enough.")
        )

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
class _Look:
    """What the curve says about one scale: its ε, the worst pair there, and how to prove it."""

    epsilon: float
    pair: tuple[int, int]
    parts: tuple[float, ...]
    node: int | None
    prove: Callable[[], Proofs | None]
    settled: bool = True
    by_time: tuple[float, ...] = ()


@dataclass(frozen=True)
class _Needed:
    """The noise that one chain needs, by which theorem and why; with the look at it that proves it."""

    scale: float
    theorem: str
    reason: Reason
    look: _Look | None


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
    sensitivity = request.query.sensitivity(belief.states)
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
        looks = [known or _look(c, profile, length, epsilon) for c, known in zip(curves, proved, strict=True)]
        certificate = _certificate(request, profile, looks)
    if knows_parts(belief) and guarantee == "pufferfish" and most.scale > 0:
        known = _about_parts(curves[0], sensitivity, epsilon, noise_scale)
        if known is not None:
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


def _certificate(request: Request, profile: Floats, looks: list[_Look]) -> ChainCertificate | None:
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
    """The smaller of the curve's scale and the quilts', with its theorem and reason."""
    epsilon, length, lipschitz = request.epsilon, request.length, request.lipschitz
    bayesian = influence.guarantee == "bayesian"
    between = None if bayesian else _quilts_between(influence, epsilon, length)
    secret = influence.secret
    quilt = None if between else _quilt(_quick(influence.belief, length), epsilon, length, member, bayesian, secret)
    limit = lipschitz * between[1] if between else math.inf if quilt is None else lipschitz * quilt.score
    if lipschitz > 0:
        found = _search(influence, sensitivity, epsilon, limit, None)
        few = influence.future.states <= MOST_STATES
        placed = secret is not None and secret.times is not None
        if few and length is not None and (placed or _may_gain(found, limit, lipschitz, epsilon, length)):
            least = limit if found is None else min(limit, found[0])
            found = _search(influence, sensitivity, epsilon, least, length) or found
        if between:
            known = found is not None and found[0] < lipschitz * between[0]
        else:
            known = bayesian or (
                found is not None and _below_quilts(influence.belief, found[0] / lipschitz, epsilon, length, secret)
            )
        if not known:
            quilt = _quilt(influence.belief, epsilon, length, member, bayesian, secret)
            limit = math.inf if quilt is None else lipschitz * quilt.score
        if found is not None and found[0] < limit:
            scale, look = found
            states = influence.belief.states
            pair = (states[look.pair[0]], states[look.pair[1]])
            own, future, past = look.parts
            sets = any(part.kind == "sets" for part in request.secrets.parts)
            reason = CurveReason(pair, own, future, past, look.node, member, look.settled, look.by_time, sets)
            return _Needed(scale, THEOREM, reason, look)
    if quilt is None:
        raise NotCoveredError(
            f"no noise is enough at epsilon = {epsilon:g} for series of any length",
            why="under this belief some values may stay linked however far apart they are",
            fix="Give the length of the longest series, or a narrower belief",
        )
    return _Needed(limit, "influence curve with a single skip (quilts)", quilt, None)


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


def _may_gain(found: tuple[float, _Look] | None, limit: float, lipschitz: float, epsilon: float, length: int) -> bool:
    """Whether the ends of the series are near enough to matter."""
    least = limit if found is None else min(found[0], limit)
    return found is None or lipschitz / least * length <= LONG * epsilon


def _look(influence: InfluenceCurve, profile: Floats, length: int | None, epsilon: float) -> _Look:
    """The curve at one profile: for every length, and for this length where that is not enough."""
    point = influence.at(profile)  # Statement 9

    def endless() -> Proofs | None:
        nodes = [point.past]
        if isinstance(influence.past, GivenPast):
            nodes = influence.past.linked(links(profile)).by_node(influence.own(profile))
        if (nodes[-1].skips == UNCERTIFIED).any():
            return None
        return _proof([point.future], steady=True), _proof(nodes, steady=True)

    parts = (point.own_at_pair, point.future_at_pair, point.past_at_pair)
    settled = point.future.settled and point.past.settled
    look = _Look(point.epsilon, point.pair, parts, None, endless, settled, point.by_time)
    if length is None or point.epsilon <= epsilon or influence.future.states > MOST_STATES:
        return look
    losses = follow(influence, Profile.constant(profile, length=length))
    if losses.epsilon >= point.epsilon:
        return look

    def short() -> Proofs | None:
        if not is_short(length, influence.future.states):
            return None
        nodes = [influence.own(profile)] * length
        future, past = (node_by_node(side, nodes) for side in (influence.future, influence.past))
        together = zip(reversed(future), past, strict=True)
        secret_at = np.ones(length, dtype=bool) if influence.secret is None else influence.secret.at_nodes(length)
        sums = [nodes[0] + R.values + L.values for (R, L), s in zip(together, secret_at, strict=True) if s]
        if max(float(np.where(influence.compared, total, 0.0).max()) for total in sums) + links(profile) > epsilon:
            return None  # bridges at single nodes were needed, which a certificate does not hold
        return _proof(future, steady=False), _proof(past, steady=False)

    return _Look(losses.epsilon, losses.pair, losses.parts, losses.worst[0], short)


def _proof(bounds: Sequence[Bound], *, steady: bool) -> SideProof:
    tables = bounds[-1].bridges
    bridges = None if tables is None else Bridges(*tables)
    return SideProof(np.array([b.values for b in bounds]), np.array([b.skips for b in bounds]), steady, bridges)


def _search(
    influence: InfluenceCurve, sensitivity: Floats, epsilon: float, enough: float, length: int | None
) -> tuple[float, _Look] | None:
    """The smallest scale below ``enough`` that the curve proves, with its proof; None if it proves none.

    Straight lines on logarithmic axes between a scale that is proved and one that is not.
    """
    plain = not (isinstance(influence.past, AnyStart) or influence.in_phases or influence.cyclic)
    exact = len(sensitivity) == 2 and plain
    states = influence.future.states
    precision = EXACT if exact else USUAL if states <= MANY else QUICK if states <= MOST_PAIRWISE else ROUGH
    best: tuple[float, _Look] | None = None
    largest = float(sensitivity.max())
    unsafe, unsafe_epsilon = largest / epsilon * (1 - 1e-9), math.inf
    safe, safe_epsilon = enough, math.nan
    scale = max(unsafe * 1.02, enough / USUAL_GAIN) if math.isfinite(enough) else unsafe * 100
    if length is not None:
        scale = min(max(WORTHWHILE * enough, unsafe * 1.0005), enough)
    elif states > 2 or isinstance(influence.past, AnyStart):
        scale = _aimed(influence, sensitivity, epsilon, scale) * (1 + precision / 2)
    if influence.secret is not None:
        scale = max(scale, unsafe * 1.0005)  # what is not secret still gets the noise of one value (decision 3)
    for n in range(MOST_LOOKS):
        # a λ that stays what it is when it is added up again from several releases
        scale = largest / within_cell(largest / scale)
        look = _look(influence, sensitivity / scale, length, epsilon)
        if look.epsilon <= epsilon:
            best, safe, safe_epsilon = (scale, look), scale, look.epsilon
        else:
            unsafe, unsafe_epsilon = scale, look.epsilon
        if length is not None and n == 0 and best is None:
            break  # the ends do not matter
        if safe / unsafe <= 1 + precision or safe_epsilon >= epsilon * (1 - NEAR_ENOUGH * precision):
            break
        if math.isinf(safe):
            scale *= 4
            continue
        aimed, slope = math.sqrt(safe) * math.sqrt(unsafe), USUAL_SLOPE
        if look.epsilon < 50 * epsilon:
            if best is not None and unsafe_epsilon < 50 * epsilon:
                slope = max(math.log(unsafe_epsilon / safe_epsilon) / math.log(safe / unsafe), 0.1)
            aimed = scale * (look.epsilon / epsilon) ** (1 / slope) * (1 + precision)
        scale = min(max(aimed, unsafe * (1 + precision / 2)), safe / (1 + precision / 2))
    return best


def _aimed(influence: InfluenceCurve, sensitivity: Floats, epsilon: float, scale: float) -> float:
    """About the scale where the curve is ε: proofs take time, and are only worth it near there."""
    slope, before = USUAL_SLOPE, None
    outline = influence.outline(sensitivity / scale)
    if outline is not None:  # a fast chain, whose loss is nearly in proportion
        before = scale, math.log(outline / epsilon)
        scale *= outline / epsilon
    for _ in range(MOST_LOOKS):
        estimate = influence.estimate(sensitivity / scale)
        if not 0 < estimate < math.inf:
            return scale
        distance = math.log(estimate / epsilon)
        if before is not None and abs(distance - before[1]) > 1e-6:
            slope = min(max((before[1] - distance) / math.log(scale / before[0]), 0.2), 3.0)
        if abs(distance) < (NEAR_AIM if before is None else NEAR_ON_A_LINE):
            return scale * math.exp(distance / slope)
        before = scale, distance
        scale *= math.exp(min(max(distance / slope, -3.0), 3.0))
    return scale
