"""What an ordinary differentially private release really guarantees on correlated data, and the other way round.

A release that is ε_0-differentially private at the level of single values (such as an OpenDP measurement) has the
profile λ = ε_0 for every pair of states at every time, whatever it computes. The influence curve does the rest. One
that is ρ-zero-concentrated has μ = √(2ρ) instead, which counts κ(ε, δ) times (Statement 82).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from quiltwork.beliefs import Belief, Believed, as_belief
from quiltwork.calibration.mechanisms.curve import curve
from quiltwork.calibration.request import Request
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.influence.curve.constant import curve_members
from quiltwork.influence.curve.networks import network_epsilon
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time
from quiltwork.influence.delta import kappa, smallest_epsilon
from quiltwork.numeric import check_delta, check_epsilon, check_length, round_up
from quiltwork.question.numbers import declared

SMALLEST_RHO, LARGEST_RHO = 1e-100, 1e6
LARGEST_LEVEL = 1e200
SHORT = 100  # values: what holds for series of any length is then hardly less
PURE, CONCENTRATED = "MaxDivergence", "ZeroConcentratedDivergence"
ONE_VALUE = {"SymmetricDistance": 2, "InsertDeleteDistance": 2, "ChangeOneDistance": 1, "HammingDistance": 1}
"""How far apart two series are that differ in one value, in the metrics of OpenDP."""


@dataclass(frozen=True)
class EntryGuarantee:
    """What a release promises for single values (ε_0 or ρ), and what that amounts to under a belief.

    >>> from quiltwork import MarkovChain, entry_guarantee
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> print(entry_guarantee(chain, epsilon_dp=0.3, length=1000).explain())
    ... # doctest: +NORMALIZE_WHITESPACE
    A release with 0.3-differential privacy for single values is 1.001-Pufferfish private under this belief, for series
    of up to 1,000 values: correlation makes the privacy loss 3.337 times as large.
    """

    epsilon_dp: float | None
    """ε_0, if the promise for single values is pure."""
    epsilon: float
    length: int | None
    rho: float | None = None
    """ρ, if it is zero-concentrated."""
    delta: float = 0.0

    def explain(self) -> str:
        """The numbers in a sentence."""
        span = "any length" if self.length is None else f"up to {self.length:,} values"
        if self.epsilon_dp is None:
            return (
                f"A release with {self.rho:.4g}-zero-concentrated differential privacy for single values is "
                f"({self.epsilon:.4g}, {self.delta:g})-Pufferfish private under this belief, for series of {span}."
            )
        return (
            f"A release with {self.epsilon_dp:.4g}-differential privacy for single values is {self.epsilon:.4g}-"
            f"Pufferfish private under this belief, for series of {span}: correlation makes "
            f"the privacy loss {self.epsilon / self.epsilon_dp:.4g} times as large."
        )


def entry_guarantee(
    belief: Believed,
    epsilon_dp: float | None = None,
    *,
    rho: float | None = None,
    measurement: Any = None,
    distance: float | None = None,
    delta: float = 0.0,
    length: int | str | None = None,
) -> EntryGuarantee:
    """What an entry-level release of series of up to this length guarantees about the value at any one time.

    What it promises for a change of one value is a pure ``epsilon_dp``, or ``rho`` of zero-concentrated differential
    privacy; then this is the smallest ε at the ``delta``. An OpenDP ``measurement`` says it itself; ``distance`` is how
    far apart series are that differ in one value, where its metric does not say that.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> round(entry_guarantee(chain, epsilon_dp=1.0).epsilon, 3)
    3.298
    >>> round(entry_guarantee(chain, rho=0.002, delta=1e-6).epsilon, 3)
    0.959
    """
    belief, longest = as_belief(belief), check_length(length)
    _check_states(belief)
    if sum(given is not None for given in (epsilon_dp, rho, measurement)) != 1:
        raise ParameterError("give one of epsilon_dp, rho and measurement", got="none or several of them")
    if measurement is not None:
        epsilon_dp, rho = _said_by(measurement, distance)
    elif epsilon_dp is not None and delta:
        raise _unknown_for_groups("epsilon_dp with a delta")

    def loss(level: float) -> float:
        return _loss(belief, level, longest)

    covered = longest if belief.variables is None else belief.size()
    if epsilon_dp is not None:
        epsilon_dp = check_epsilon(epsilon_dp)
        if epsilon_dp > LARGEST_LEVEL:
            raise ParameterError(
                f"epsilon_dp must be at most {LARGEST_LEVEL:g}",
                got=f"{epsilon_dp:g}",
                why="beyond that it guarantees nothing",
            )
        return EntryGuarantee(epsilon_dp, _finite(loss(epsilon_dp), belief), covered)
    rho, delta = _check_rho(rho), _check_given(delta)
    shift = round_up(math.sqrt(2 * rho))
    _finite(loss(shift), belief)
    return EntryGuarantee(None, _smallest(loss, shift, delta), covered, rho=rho, delta=delta)


def _loss(belief: Belief, level: float, length: int | None) -> float:
    """What the curve says of a profile that has this level for every change of one value."""
    if belief.variables is not None:
        if not belief.networks:
            raise NotCoveredError("an entry-level guarantee needs a chain or a network", got=repr(belief))
        return network_epsilon(belief, [level * (1.0 - np.eye(len(states))) for states in belief.state_sets])
    (changed,) = belief.values_changed()
    profile = level * changed
    along = math.inf
    if length is not None:
        along = loss_along_time(belief, Profile.constant(profile, length=length)).epsilon
        if length <= SHORT:
            return along
    return min(along, max(member.at(profile, thorough=True).epsilon for member in curve_members(belief)))


def _finite(epsilon: float, belief: Belief) -> float:
    if math.isfinite(epsilon):
        return epsilon
    if belief.variables is not None:
        raise NotCoveredError("no guarantee holds under this belief", why="some values decide others for certain")
    raise NotCoveredError(
        "no guarantee holds for series of any length",
        why="under this belief some values may stay linked however far apart they are",
        fix="Give the length of the longest series",
    )


def _smallest(loss: Callable[[float], float], shift: float, delta: float) -> float:
    """The smallest ε at this δ (Statement 82)."""
    found = smallest_epsilon(lambda epsilon: loss(round_up(kappa(epsilon, delta) * shift)))
    if found is None:
        raise NotCoveredError(
            "no useful guarantee follows from this rho",
            got="an epsilon above 1,000",
            why="many values change together under this belief, and a group of m values has m² times the rho",
            fix="Ask for a smaller rho: entry_epsilon says which",
        )
    return found


def _said_by(measurement: Any, distance: float | None) -> tuple[float | None, float | None]:
    """ε_0 or ρ of a measurement for a change of one value."""
    try:
        measure, metric = str(measurement.output_measure.type), str(measurement.input_metric.type)
        privacy_map = measurement.map
    except AttributeError as problem:
        raise ParameterError(
            "measurement must be a measurement of OpenDP", got=type(measurement).__name__, fix="Or give epsilon_dp"
        ) from problem
    if measure not in (PURE, CONCENTRATED):
        raise _unknown_for_groups(measure[:60])
    away = ONE_VALUE.get(metric) if distance is None else distance
    if away is None:
        raise ParameterError(
            "the measurement needs a distance",
            got=f"the metric {metric[:40]}",
            why="it does not say how far apart two series are that differ in one value",
            fix="Give distance=",
        )
    said = float(privacy_map(away))
    return (said, None) if measure == PURE else (None, said)


def _unknown_for_groups(got: str) -> NotCoveredError:
    return NotCoveredError(
        "an (ε, δ) promise for single values says too little",
        got=got,
        why="correlated values change in groups, and it does not say how the release behaves for groups",
        fix="Give the rho of zero-concentrated differential privacy with the delta you want here, or a pure epsilon_dp",
    )


def _check_rho(rho: float | None) -> float:
    number = isinstance(rho, int | float) and not isinstance(rho, bool)
    if rho is None or not number or not SMALLEST_RHO <= rho <= LARGEST_RHO:
        raise ParameterError(
            f"rho must be a number from {SMALLEST_RHO:g} to {LARGEST_RHO:g}",
            got=repr(rho)[:40],
            why="it is the privacy loss of zero-concentrated differential privacy",
        )
    return float(rho)


def _check_given(delta: float) -> float:
    if not delta:
        raise ParameterError(
            "a rho needs a delta above 0",
            got="none",
            why="zero-concentrated noise has no bound on the loss that always holds",
            fix="Give a delta, such as 1e-6",
        )
    return check_delta(delta)


def _check_states(belief: Belief) -> None:
    """Refuse real values: one moves all others a little, and any change of a value may cost all of ε_0."""
    if belief.real:
        raise NotCoveredError(
            "an entry-level guarantee says little about real values",
            got=repr(belief),
            why="real values move together, each a little, and a mechanism may tell every small change by all of its ε",
            fix="Release a sum or a mean here, whose noise is exact",
        )


def entry_epsilon(
    belief: Believed, epsilon: float, *, delta: float = 0.0, length: int | str | None = None
) -> EntryGuarantee:
    """The largest ε_0 with which an entry-level DP release stays within this Pufferfish ε.

    With a ``delta`` it is the largest ρ with which a zero-concentrated release stays within (ε, δ).

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> round(entry_epsilon(chain, epsilon=1.0).epsilon_dp, 5)
    0.29972
    >>> round(entry_epsilon(chain, epsilon=1.0, delta=1e-6).rho, 6)
    0.002154
    """
    belief, epsilon, length = as_belief(belief), check_epsilon(epsilon), check_length(length)
    _check_states(belief)
    # noise of scale s on a query that one value changes by at most 1 has λ = 1/s
    changed = max(1.0, *(float(matrix.max()) for matrix in belief.values_changed()))  # values at once
    query = declared("a unit", float(changed))
    request = Request.of(query, belief=belief, epsilon=epsilon, length=length, mechanism="curve")
    scale = curve(request).noise_scale
    if scale == 0:
        raise NotCoveredError(
            "no largest epsilon_dp exists under this belief",
            got="nothing that is secret",
            why="every value is certain beforehand, so that a release with any epsilon_dp tells nothing",
            fix="Check the belief: it needs two states that may both occur",
        )
    level = math.nextafter(1 / scale, 0.0) * (1 - 1e-15)
    if not delta:
        return EntryGuarantee(level, epsilon, length)
    shift = level / kappa(epsilon, check_delta(delta))
    return EntryGuarantee(None, epsilon, length, rho=shift**2 / 2 * (1 - 1e-14), delta=delta)
