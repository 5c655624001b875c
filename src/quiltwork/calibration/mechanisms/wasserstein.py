"""The Wasserstein Mechanism (A section 3).

Promise: ε-Pufferfish privacy for one query under chains or an explicit joint distribution.
Rule (A Theorem 3.2): W is the largest ∞-Wasserstein distance between the laws of the answer given two secrets of a
pair, over all pairs and beliefs; the noise scale is W / ε.
On the line, W_∞(μ, ν) ≤ w exactly if cdf_μ(s) ≤ cdf_ν(s + w) and cdf_ν(s) ≤ cdf_μ(s + w) for all s. Masses of any size
count, so lower tails are compared by cdf and upper tails by survival function, each summed from its own end.
W is not monotone in the length, so it is computed for each length that occurs, and gaps are not bridged.
Tails that are equal up to rounding (a relative ``SLACK``) count as equal, or independent values would need twice the
noise. That this costs nothing is not taken on trust: the exact loss of the noise is computed, and where it exceeds ε
the distance is taken again without any slack. For several numbers the distance is that in L1, found by linear
programmes in small cases (``vectors.py``), and raised until the exact loss is within ε.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork.auditor import exact_loss
from quiltwork.beliefs import Belief
from quiltwork.calibration.record import Calibration, Reason
from quiltwork.calibration.request import Request
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.laws.exact import SecretLaws, Statistic, chain_laws, hidden_laws, laws_by_part, mixture_laws, record_laws
from quiltwork.numeric import round_up
from quiltwork.question import Question
from quiltwork.types import Floats, Integers

SLACK = 1e-10
SMALLEST_DELTA = 1e-9


@dataclass(frozen=True)
class Distance(Reason):
    """The two laws that are furthest apart: given which values of which node, and how far."""

    distance: float
    node: str
    pair: tuple[str, str]
    delta: float = 0.0
    member: int | None = None

    def detail(self) -> dict[str, Any]:
        """The reason as plain values."""
        detail: dict[str, Any] = {"distance": self.distance, "node": self.node, "pair": list(self.pair)}
        if self.delta:
            detail["delta"] = self.delta
        return detail if self.member is None else detail | {"member": self.member}


def wasserstein(request: Request) -> Calibration:
    """Noise of scale W / ε.

    With a ``delta`` above 0 mass of that size may be moved further than W; the promise is then (ε, δ), not ε.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> request = Request.of("count:1", belief=chain, epsilon=1.0, length=60, mechanism="wasserstein")
    >>> round(wasserstein(request).noise_scale, 6)
    4.0
    """
    epsilon, delta = request.epsilon, request.delta
    if not (delta == 0 or SMALLEST_DELTA <= delta < 1):
        raise ParameterError(
            f"delta must be 0, or at least {SMALLEST_DELTA:g} and below 1",
            got=str(delta),
            why="it is a probability, and smaller ones are lost in rounding",
        )
    if epsilon <= 4 * SLACK:
        raise NotCoveredError(
            "wasserstein needs epsilon above 4e-10", got=f"{epsilon:g}", why="rounding errors are that large"
        )
    distances = [_furthest(request, member, n) for n, member in request.belief.numbered_members]
    furthest = max(distances, key=lambda d: d.distance)
    asked = request.asked
    distance = furthest.distance
    if distance == 0 and asked.lipschitz > 0:
        distance = float(asked.unit)  # see docs/decisions/0003
    return Calibration.of(
        request,
        noise_scale=_scale(distance, epsilon),
        guarantee="approximate pufferfish" if delta else "pufferfish",
        theorem="Wasserstein Mechanism, Theorem 3.2 of Wang, Song and Chaudhuri 2016"
        + (f", (ε, δ) with δ = {delta:g}" if delta else ""),
        reason=furthest,
        delta=delta,
        one_length=True,
    )


def _scale(distance: float, epsilon: float) -> float:
    return round_up(distance / (epsilon - 2 * SLACK))  # Statement 6 (A Theorem 3.2)


def _furthest(request: Request, belief: Belief, member: int | None) -> Distance:
    """The largest distance over all secret pairs of one belief, in terms of the query's numbers before division."""
    question, epsilon, delta = request.asked.only, request.epsilon, request.delta
    numbers = len(question.labels)
    mirrored = numbers == 2 and question.totals == ((0, 1),)
    secret = request.secrets.on(request.belief)
    laws = [part.about(secret) for part in _laws(question, belief, request.length)]
    if numbers > 1 and not mirrored:
        return _of_vectors(request, laws, member)
    # of two numbers with a public total the second mirrors the first: the distance in L1 is that of one, twice
    unit = float(question.unit)
    furthest = max(
        (_largest_distance(part, unit * numbers, delta, member, SLACK) for part in laws),
        key=lambda candidate: candidate.distance,
    )
    if delta == 0 and furthest.distance > 0:
        scales, totals = np.full(numbers, _scale(furthest.distance, epsilon) / unit), question.totals
        if max(exact_loss(part, scales, totals) for part in laws) > epsilon:
            exact = (_largest_distance(part, unit * numbers, delta, member, 0.0) for part in laws)
            furthest = max(exact, key=lambda candidate: candidate.distance)
    return furthest


def _of_vectors(request: Request, laws: list[SecretLaws], member: int | None) -> Distance:
    """The largest distance in L1 between laws of several numbers (Statement 65)."""
    from quiltwork.calibration.mechanisms.vectors import furthest_pair

    if request.delta > 0:
        raise NotCoveredError("wasserstein with a delta needs a single number", got=request.asked.text)
    unit, worst = float(request.asked.unit), Distance(0.0, laws[0].nodes[0], (laws[0].states[0][0],) * 2, 0.0, member)
    for part in laws:
        steps, node, x, y = furthest_pair(part)
        furthest = int(np.ptp(part.points, axis=0).sum())  # as far as any mass can be moved
        steps = min(max(steps, 1), furthest)  # laws that hardly differ are told apart where outputs are large
        while steps < furthest and exact_loss(part, _vector_scales(part, steps, request.epsilon)) > request.epsilon:
            steps += 1
        if steps * unit > worst.distance:
            pair = part.states[node][x], part.states[node][y]
            worst = Distance(steps * unit, part.nodes[node], pair, 0.0, member)
    return worst


def _vector_scales(laws: SecretLaws, steps: int, epsilon: float) -> Floats:
    return np.full(laws.points.shape[1], _scale(float(steps), epsilon))


def _no_line(question: Question) -> NotCoveredError:
    return NotCoveredError(
        f"wasserstein does not cover {question.text} here",
        why="distances are computed between laws of one number that adds up over values",
        fix="Use a count, sum or mean, or quilt-exact",
    )


def _laws(question: Question, belief: Belief, length: int | None) -> list[SecretLaws]:
    """The laws of the answer given each secret; of each independent part of a network by itself.

    What an independent part adds to the answer is the same under both values of a secret, so it moves no mass.
    """
    if belief.mixed:
        return [mixture_laws(belief.mixed, [Statistic(question)])]
    if belief.chains or belief.hidden_chains:
        if not question.additive:
            raise _no_line(question)
        if length is None:
            raise NotCoveredError("wasserstein needs a length", got="any", why="its tables go through all values")
        laws = [hidden_laws(hidden, [Statistic(question)], length) for hidden in belief.hidden_chains]
        return laws or [chain_laws(chain, [Statistic(question)], length) for chain in belief.chains[:1]]
    for network in belief.networks:
        if len(network.graph.components) > 1 and math.isinf(question.whole):  # else parts do not add up
            return laws_by_part(network, [Statistic(question)])
    for law in belief.laws:
        return [record_laws(law, [Statistic(question)])]
    raise NotCoveredError(
        "wasserstein needs chains, a network or a joint table",
        got=repr(belief),
        why="the class has infinitely many beliefs",
    )


def _largest_distance(laws: SecretLaws, factor: float, delta: float, member: int | None, slack: float) -> Distance:
    order = np.argsort(laws.points[:, 0])
    values = laws.points[order, 0]
    best = Distance(0.0, laws.nodes[0], (laws.states[0][0], laws.states[0][0]), delta, member)
    if laws.leads is not None:
        return _any_start(laws, order, factor, best, slack)
    for name, states, law, apart in zip(laws.nodes, laws.states, laws.logs[:, :, order], laws.pairs, strict=True):
        present = [x for x in range(len(states)) if np.isfinite(law[x]).any()]
        for n, x in enumerate(present):
            for y in (y for y in present[:n] if apart[x, y]):
                moved = factor * line_distance(values, law[x], law[y], delta, slack=slack)
                if moved > best.distance:
                    best = Distance(moved, name, (states[x], states[y]), delta, member)
    return best


def _any_start(laws: SecretLaws, order: Integers, factor: float, best: Distance, slack: float) -> Distance:
    """The largest distance over all starts on two states, which no other start exceeds (Statement 48)."""
    from quiltwork.laws.tables import start_distance

    leads, apart = laws.leads, laws.pairs
    assert leads is not None  # noqa: S101 - any start
    if best.delta > 0:
        raise NotCoveredError(
            "wasserstein with a delta needs a start",
            got='initial "any"',
            why="what a coupling leaves out is known for one start at a time",
            fix='Give initial as a vector or "stationary", or leave delta out',
        )
    furthest = np.empty(3)
    for n, name in enumerate(laws.nodes):
        by_start = laws.logs[n][:, order].reshape(*leads[n].shape, -1)
        start_distance(laws.points[order, 0], np.ascontiguousarray(by_start), leads[n], apart[n], slack, furthest)
        distance, x, y = furthest.tolist()
        if factor * distance > best.distance:
            states = laws.states[n]
            best = Distance(factor * distance, name, (states[int(x)], states[int(y)]), best.delta, best.member)
    return best


def line_distance(
    values: NDArray[np.int64], mu: Floats, nu: Floats, delta: float = 0.0, *, slack: float = SLACK
) -> int:
    """W_∞ of two laws on increasing whole numbers, given by the logarithms of their masses.

    With ``delta``, the least distance within which the monotone coupling moves all but that much mass.

    >>> with np.errstate(divide="ignore"):
    ...     laws = np.log([[0.2, 0.225, 0.5, 0.075, 0], [0, 0.075, 0.5, 0.225, 0.2]])
    >>> line_distance(np.arange(5), laws[0], laws[1])
    2
    """
    if delta > 0:
        return _coupling_distance(values, np.exp(mu), np.exp(nu), delta)  # Statement 41
    return max(_one_way(values, mu, nu, slack), _one_way(values, nu, mu, slack))  # Statement 6


def _one_way(values: NDArray[np.int64], mu: Floats, nu: Floats, slack: float) -> int:
    """The least w with cdf_mu(s) ≤ cdf_nu(s + w) for all s, tails within a relative ``slack`` counting as equal."""
    below_mu, below_nu = np.logaddexp.accumulate(mu), np.logaddexp.accumulate(nu)
    above_mu, above_nu = _strictly_above(mu), _strictly_above(nu)
    reach, w = 0, 0
    for n in range(len(values)):
        if below_mu[n] == -np.inf:
            continue
        # the first place where nu has caught up, judged by whichever tail is the smaller
        while not (
            below_mu[n] <= below_nu[reach] + slack if below_mu[n] < -0.7 else above_nu[reach] <= above_mu[n] + slack
        ):
            reach += 1
        w = max(w, int(values[reach] - values[n]))
    return w


def _strictly_above(mass: Floats) -> Floats:
    tail = np.full(len(mass), -np.inf)
    tail[:-1] = np.logaddexp.accumulate(mass[::-1])[::-1][1:]
    return tail


def _coupling_distance(values: NDArray[np.int64], mu: Floats, nu: Floats, delta: float) -> int:
    """Quantiles against quantiles: the least distance that leaves out at most ``delta`` of the mass."""
    levels = np.unique(np.concatenate([[0.0], np.cumsum(mu), np.cumsum(nu)]))
    middles, widths = (levels[1:] + levels[:-1]) / 2, np.diff(levels)
    last = len(values) - 1
    moved = np.abs(
        values[np.minimum(np.searchsorted(np.cumsum(mu), middles), last)]
        - values[np.minimum(np.searchsorted(np.cumsum(nu), middles), last)]
    )
    order = np.argsort(-moved)
    left_out = np.cumsum(widths[order]) + 1e-12
    within = np.flatnonzero(left_out > delta)
    return int(moved[order[within[0]]]) if within.size else 0
