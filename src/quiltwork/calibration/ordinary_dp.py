"""What an ordinary differentially private release really guarantees on correlated data, and the other way round.

A release that is ε_0-differentially private at the level of single values (such as an OpenDP measurement) has the
profile λ = ε_0 for every pair of states at every time, whatever it computes. The influence curve does the rest.
"""

import math
from dataclasses import dataclass

import numpy as np

from quiltwork.beliefs import Belief
from quiltwork.calibration.mechanisms.curve import curve
from quiltwork.calibration.request import Request, as_belief
from quiltwork.errors import NotCoveredError
from quiltwork.influence.curve.constant import curve_members
from quiltwork.influence.curve.networks import network_epsilon
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time
from quiltwork.numeric import check_epsilon, check_length
from quiltwork.queries import Custom


@dataclass(frozen=True)
class EntryGuarantee:
    """An entry-level ε_0 (``epsilon_dp``) and the Pufferfish ε that it amounts to under a belief.

    >>> from quiltwork import MarkovChain, entry_guarantee
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> print(entry_guarantee(chain, epsilon_dp=0.3, length=1000).explain())
    ... # doctest: +NORMALIZE_WHITESPACE
    A release with 0.3-differential privacy for single values is 1.001-Pufferfish private under this belief, for series
    of up to 1,000 values: correlation makes the privacy loss 3.337 times as large.
    """

    epsilon_dp: float
    epsilon: float
    length: int | None

    def explain(self) -> str:
        """The two numbers in a sentence."""
        span = "any length" if self.length is None else f"up to {self.length:,} values"
        return (
            f"A release with {self.epsilon_dp:.4g}-differential privacy for single values is {self.epsilon:.4g}-"
            f"Pufferfish private under this belief, for series of {span}: correlation makes "
            f"the privacy loss {self.epsilon / self.epsilon_dp:.4g} times as large."
        )


def entry_guarantee(belief: Belief, epsilon_dp: float, *, length: int | str | None = None) -> EntryGuarantee:
    """What an entry-level ε_0-DP release of series of up to this length guarantees about the value at any one time.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> round(entry_guarantee(chain, epsilon_dp=1.0).epsilon, 3)
    3.298
    """
    belief, epsilon_dp, length = as_belief(belief), check_epsilon(epsilon_dp), check_length(length)
    _check_states(belief)
    if belief.variables is not None:
        return _of_records(belief, epsilon_dp)
    (changed,) = belief.values_changed()
    profile = epsilon_dp * changed
    epsilon = max(member.at(profile, thorough=True).epsilon for member in curve_members(belief))
    if length is not None:
        epsilon = min(epsilon, loss_along_time(belief, Profile.constant(profile, length=length)).epsilon)
    if not math.isfinite(epsilon):
        raise NotCoveredError(
            "no guarantee holds for series of any length",
            why="under this belief some values may stay linked however far apart they are",
            fix="Give the length of the longest series",
        )
    return EntryGuarantee(epsilon_dp, epsilon, length)


def _check_states(belief: Belief) -> None:
    """Refuse real values: one moves all others a little, and any change of a value may cost all of ε_0."""
    if belief.real:
        raise NotCoveredError(
            "an entry-level guarantee says little about real values",
            got=repr(belief),
            why="real values move together, each a little, and a mechanism may tell every small change by all of its ε",
            fix="Release a sum or a mean here, whose noise is exact",
        )


def _of_records(belief: Belief, epsilon_dp: float) -> EntryGuarantee:
    if not belief.networks:
        raise NotCoveredError("an entry-level guarantee needs a chain or a network", got=repr(belief))
    profile = [epsilon_dp * (1.0 - np.eye(len(states))) for states in belief.state_sets]
    return EntryGuarantee(epsilon_dp, network_epsilon(belief, profile), belief.size())


def entry_epsilon(belief: Belief, epsilon: float, *, length: int | str | None = None) -> EntryGuarantee:
    """The largest ε_0 with which an entry-level DP release stays within this Pufferfish ε.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> round(entry_epsilon(chain, epsilon=1.0).epsilon_dp, 5)
    0.29972
    """
    belief, epsilon, length = as_belief(belief), check_epsilon(epsilon), check_length(length)
    _check_states(belief)
    # noise of scale s on a query that one value changes by at most 1 has λ = 1/s
    changed = max(1.0, *(float(matrix.max()) for matrix in belief.values_changed()))  # values at once
    query = Custom(lambda _: 0.0, constant=changed)
    request = Request.of(query, belief=belief, epsilon=epsilon, length=length, mechanism="curve")
    scale = curve(request).noise_scale
    return EntryGuarantee(math.nextafter(1 / scale, 0.0) * (1 - 1e-15), epsilon, length)
