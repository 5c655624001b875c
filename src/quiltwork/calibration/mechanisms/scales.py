"""The smallest scale of noise that the influence curve proves, found from the safe side."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from quiltwork.certificate import Bridges, SideProof
from quiltwork.influence.curve.any_start import AnyStart
from quiltwork.influence.curve.constant import MOST_STATES, InfluenceCurve, within_cell
from quiltwork.influence.curve.given_start import GivenPast
from quiltwork.influence.curve.profile import Profile, links
from quiltwork.influence.curve.sides import MOST_PAIRWISE, UNCERTIFIED, USUAL_GAIN, USUAL_SLOPE, Bound
from quiltwork.influence.curve.solve import MANY
from quiltwork.influence.curve.timeline import follow, is_short, node_by_node
from quiltwork.types import Floats

EXACT, CLOSE, USUAL = 1e-6, 1e-4, 2e-3  # precision of the scale, where single steps are exact and where not
QUICK, ROUGH = 4e-3, 1e-2  # with many states, and with more than are told apart
MOST_LOOKS = 40
NEAR_AIM = 0.02  # a distance from log ε from which a usual slope is enough
NEAR_ON_A_LINE = 0.08  # the same with a slope that was seen
WORTHWHILE = 0.98
NEAR_ENOUGH = 2.5  # how near ε has to come, in units of the scale's precision
Proofs = tuple[SideProof, SideProof]


@dataclass(frozen=True)
class Look:
    """What the curve says about one scale: its ε, the worst pair there, and how to prove it."""

    epsilon: float
    pair: tuple[int, int]
    parts: tuple[float, ...]
    node: int | None
    prove: Callable[[], Proofs | None]
    settled: bool = True
    by_time: tuple[float, ...] = ()


def look_at(influence: InfluenceCurve, profile: Floats, length: int | None, epsilon: float) -> Look:
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
    look = Look(point.epsilon, point.pair, parts, None, endless, settled, point.by_time)
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

    return Look(losses.epsilon, losses.pair, losses.parts, losses.worst[0], short)


def _proof(bounds: Sequence[Bound], *, steady: bool) -> SideProof:
    tables = bounds[-1].bridges
    bridges = None if tables is None else Bridges(*tables)
    return SideProof(np.array([b.values for b in bounds]), np.array([b.skips for b in bounds]), steady, bridges)


def smallest_proved(
    influence: InfluenceCurve,
    sensitivity: Floats,
    epsilon: float,
    enough: float,
    length: int | None,
    stop: float = math.inf,
) -> tuple[float, Look] | None:
    """The smallest scale below ``enough`` that the curve proves, with its proof; None if it proves none.

    Straight lines on logarithmic axes between a scale that is proved and one that is not. Scales above ``stop`` are of
    no use: the search ends where one of them is not proved.
    """
    plain = not (isinstance(influence.past, AnyStart) or influence.in_phases or influence.cyclic)
    exact = len(sensitivity) == 2 and plain
    states = influence.future.states
    precision = EXACT if exact else USUAL if states <= MANY else QUICK if states <= MOST_PAIRWISE else ROUGH
    best: tuple[float, Look] | None = None
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
        look = look_at(influence, sensitivity / scale, length, epsilon)
        if look.epsilon <= epsilon:
            best, safe, safe_epsilon = (scale, look), scale, look.epsilon
        else:
            unsafe, unsafe_epsilon = scale, look.epsilon
        if unsafe >= stop:
            break
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
