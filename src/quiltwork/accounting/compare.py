"""What if the belief is wrong? The privacy loss of the same noise under other beliefs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quiltwork.accounting.accountant import Accountant
from quiltwork.accounting.record import ReleaseRecord
from quiltwork.auditor import Noisy, audit
from quiltwork.beliefs import Belief, Believed, as_belief
from quiltwork.beliefs.chain import ChainSet, MarkovChain
from quiltwork.calibration.plan import Plan
from quiltwork.calibration.record import Calibration
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.fitting import lasting_longer
from quiltwork.forks import working
from quiltwork.numeric import check_length
from quiltwork.question import Said, bind
from quiltwork.types import Floats, Shown

LONGER = (1.1, 1.2, 1.5, 2.0, 3.0)
"""How many times as long stays may last in a table of what that costs."""
LONGEST = 10_000
"""Series for which the distance of two chains is computed; it grows with the length, so it soon says nothing."""


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """The ε of one release under the belief it was made for, under another, and as stays last longer.

    ``distance`` is how far apart the two beliefs are (Statement 56), None where that is not known or infinite.
    ``stays`` pairs a factor with the ε if all stays last that many times as long; None if no theorem covers it.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> [(times, round(epsilon, 2)) for times, epsilon in compare("count:1", belief=chain, noise_scale=3.33641).stays]
    [(1.1, 1.15), (1.2, 1.3), (1.5, 1.75), (2.0, 2.45), (3.0, 3.56)]
    """

    query: str
    noise_scale: float
    length: int | None
    epsilon: float
    epsilon_other: float | None
    rule: str
    rule_other: str | None
    distance: float | None
    stays: tuple[tuple[float, float | None], ...]

    def __repr__(self) -> str:
        other = "" if self.epsilon_other is None else f", {self.epsilon_other:.4g} under the other belief"
        return f"Comparison({self.query}, noise scale {self.noise_scale:g}: ε = {self.epsilon:.4g}{other})"

    def to_dict(self) -> dict[str, Any]:
        """As ``quiltwork belief compare --json`` prints it."""
        return {
            "query": self.query,
            "noise_scale": self.noise_scale,
            "length": "any" if self.length is None else self.length,
            "epsilon": self.epsilon,
            "rule": self.rule,
            "epsilon_other": self.epsilon_other,
            "rule_other": self.rule_other,
            "distance": self.distance,
            "stays": [{"times": times, "epsilon": epsilon} for times, epsilon in self.stays],
        }


@working()
def compare(
    query: Said | str,
    *,
    belief: Believed,
    other: Believed | None = None,
    noise_scale: float,
    length: int | str | None = None,
    longer: Sequence[float] = LONGER,
    exact: bool = False,
) -> Comparison:
    """The ε that the same Laplace noise gives under another belief, and if stays last longer than the belief says.

    The smallest bound of the composition rules is used, as in ``compose``; ``exact`` audits both instead, where the
    start is known and the tables fit. Chains that are near each other are also bounded by their distance.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> found = compare("count:1", belief=chain, other=lasting_longer(chain, 2), noise_scale=3.33641, length="any")
    >>> round(found.epsilon, 3), round(found.epsilon_other, 3)
    (1.0, 2.451)
    """
    held, span, other = as_belief(belief), check_length(length), None if other is None else as_belief(other)
    asked = bind(query, held).said
    if not 0 < noise_scale < math.inf:
        raise ParameterError("noise_scale must be a positive, finite number", got=f"{noise_scale:g}")
    epsilon, rule = _loss(asked, held, noise_scale, span, exact=exact)
    epsilon_other, rule_other, distance = None, None, None
    if other is not None:
        _check_same_states(held, other)
        epsilon_other, rule_other = _loss(asked, other, noise_scale, span, exact=exact)
        distance = distance_between(held, other, length=span)
        near = math.inf if distance is None else epsilon + 2 * distance  # Statement 56
        if near < epsilon_other:
            epsilon_other, rule_other = near, "near"
    return Comparison(
        query=asked.text,
        noise_scale=noise_scale,
        length=held.size(span),
        epsilon=epsilon,
        epsilon_other=epsilon_other,
        rule=rule,
        rule_other=rule_other,
        distance=distance,
        stays=tuple((times, _if_longer(asked, held, noise_scale, span, times)) for times in longer if held.chains),
    )


def loss_under(query: Said, belief: Belief, *, noise_scale: float, length: int | None) -> float:
    """The smallest ε that a rule gives one release with this noise; refused if none covers it."""
    return _loss(query, belief, noise_scale, length, exact=False)[0]


def plan_under(plan: Plan, *, belief: Belief, other: Belief) -> dict[str, float | None]:
    """For each mechanism of a plan, the ε of its noise under another belief; None where no theorem covers it."""
    _check_same_states(belief, other)
    losses: dict[str, float | None] = {}
    for offer in plan.offers:
        if offer.calibration is not None and offer.noise_scale is not None:
            try:
                losses[offer.mechanism] = _composed(offer.calibration, offer.noise_scale, belief, other, plan)
            except NotCoveredError:
                losses[offer.mechanism] = None
    return losses


def _composed(made: Calibration, noise_scale: float, belief: Belief, other: Belief, plan: Plan) -> float:
    """ε of all planned releases together: their profiles add up, or of Gaussian noise their squares."""
    asked, gaussian = made.asked, made.noise == "gaussian"
    record = ReleaseRecord(
        query=asked.said,
        noise="gaussian" if gaussian else "laplace",
        noise_scale=noise_scale / (math.sqrt(plan.releases) if gaussian else plan.releases),
        lipschitz=plan.lipschitz if asked.divided else None,  # of shares and means, as they are divided here
        distance=belief.distance if asked.divided else None,
        length=plan.length,
        window=1 if asked.windows else None,  # of any size: a value may matter to two of them
    )
    accountant = Accountant(
        other,
        length=plan.length,
        guarantee="bayesian" if made.bayesian else "pufferfish",
        delta=made.delta if gaussian else 0.0,
    )
    return accountant.dry_run(record).epsilon


def _loss(query: Said, belief: Belief, noise_scale: float, length: int | None, *, exact: bool) -> tuple[float, str]:
    if exact:
        return audit(belief, [Noisy(query, noise_scale, None)], length=length).epsilon, "audit"
    record = ReleaseRecord(query=query, noise_scale=noise_scale, length=length)
    composed = Accountant(belief, length=length).dry_run(record)
    return composed.epsilon, composed.rule


def _if_longer(query: Said, belief: Belief, noise_scale: float, length: int | None, times: float) -> float | None:
    slower = [lasting_longer(chain, times) for chain in belief.chains]
    try:
        return loss_under(
            query, slower[0] if len(slower) == 1 else ChainSet(slower), noise_scale=noise_scale, length=length
        )
    except NotCoveredError:
        return None


def distance_between(belief: Belief, other: Belief, *, length: int | None) -> float | None:
    """How far chains are apart: the range of log-ratios of the probabilities they give to the whole series.

    For sets, the largest distance of a member of ``other`` from its nearest member of ``belief``. None if it is
    infinite (a series is possible under one chain only), or the length is not known or very long.

    >>> a, b = MarkovChain([[0.9, 0.1], [0.4, 0.6]]), MarkovChain([[0.8, 0.2], [0.4, 0.6]])
    >>> round(distance_between(a, b, length=2), 4)
    0.8109
    """
    if length is None or length > LONGEST or not belief.chains or not other.chains:
        return None
    if sorted(belief.states) != sorted(other.states):
        return None
    others = [_ordered(chain, belief.states) for chain in other.chains]
    nearest = [min(_apart(chain, second, length) for chain in belief.chains) for second in others]
    return None if max(nearest) == math.inf else max(nearest) * (1 + 1e-9)


def _apart(first: MarkovChain, second: MarkovChain, length: int) -> float:
    """Largest less smallest log-ratio over all series that are possible."""
    start = _start_ratio(first, second)
    possible = first.transition > 0
    if start is None or np.any(possible != (second.transition > 0)):
        return math.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(possible, np.log(second.transition / first.transition), np.nan)
    highest, lowest = start, start
    for _ in range(length - 1):
        highest = np.where(possible, highest[:, None] + ratio, -np.inf).max(axis=0)
        lowest = np.where(possible, lowest[:, None] + ratio, np.inf).min(axis=0)
    return max(0.0, float(highest.max())) - min(0.0, float(lowest.min()))


def _start_ratio(first: MarkovChain, second: MarkovChain) -> Floats | None:
    """Log-ratio of the laws of the first value; a chain with any start also has the other's start."""
    if first.start == "any":
        return np.zeros(len(first.states))
    if second.initial is None or first.initial is None or np.any((first.initial > 0) != (second.initial > 0)):
        return None
    if np.any(first.initial == 0):
        return None
    return np.asarray(np.log(second.initial / first.initial))


def _check_same_states(belief: Belief, other: Belief) -> None:
    if list(map(sorted, belief.state_sets)) != list(map(sorted, other.state_sets)) or _names(belief) != _names(other):
        raise ParameterError(
            "the other belief must be about the same states",
            got="other states",
            why="both must describe the same data",
            fix="Rename the states of one of them",
        )


def _names(belief: Belief) -> list[str] | None:
    return None if belief.variables is None else list(belief.variables)


def _ordered(chain: MarkovChain, states: Sequence[str]) -> MarkovChain:
    """The same chain with its states in this order."""
    if chain.states == tuple(states):
        return chain
    at = [chain.states.index(state) for state in states]
    law = chain.initial if chain.start == "given" else None
    initial = chain.start if law is None else law[at]
    return MarkovChain(chain.transition[np.ix_(at, at)], initial=initial, states=states)
