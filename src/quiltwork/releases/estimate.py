"""What is likely, given the noisy answer and the belief: posterior means and ranges.

A belief says how answers vary before anything is released: their mean and covariance, also between windows, which are
exact (``laws.moments``). Taken as Gaussian, and with noise on top, the law of the answer given the noisy one
has no closed form; expectation propagation approximates its means and variances. All of it follows from what was
released and from public facts, so it costs no privacy. It leans on the belief: where that is wrong, so are estimates.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import log_ndtr

from quiltwork.beliefs import Belief, CycleChain, MarkovChain
from quiltwork.data.layout import Layout, Piece
from quiltwork.errors import BeliefError, NotCoveredError
from quiltwork.laws.moments import Moments, Run, moments_of
from quiltwork.queries import Query
from quiltwork.releases.answer import Estimate, PartAnswer
from quiltwork.types import MICROSECONDS, Floats

MOST_NUMBERS = 400  # that are estimated together
FEWER_NUMBERS = 120  # where there are more: windows are smoothed along time among neighbours only
MOST_RUNS = 6000
MOST_TABLES = 2_000_000  # entries of a run's tables
SWEEPS, ENOUGH, DAMPING = 40, 1e-4, 0.8
NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Walk:
    """A chain that moves on from value to value, perhaps with the time of day, and what each of its states adds."""

    transitions: Floats
    """(times of the cycle, states, states); one time if all are alike."""
    laws: Floats
    """The law of a value at each time of the cycle, in the long run."""
    initial: Floats | None
    """The law of the first value, if it is given."""
    steps: Floats
    span: int | None = None
    """The time from a value to the next in microseconds, where it matters."""

    def run(self, time: int, values: int) -> Run:
        """Values in a row, from a time of the cycle on."""
        period = len(self.transitions)
        if period == 1:
            return Run.single(self.transitions[0], self.steps).times(values)
        cycles, rest = divmod(values, period)
        whole = Run.nothing(len(self.laws[0]), len(self.steps))
        for n in range(period if cycles else rest):
            whole = whole + Run.single(self.transitions[(time + n) % period], self.steps)
        if cycles and rest:
            return whole.times(cycles) + self.run(time, rest)
        return whole.times(cycles) if cycles else whole


def estimates(
    answers: Sequence[PartAnswer], layout: Layout, belief: Belief, *, unit: Fraction, fresh: bool
) -> dict[str, Estimate]:
    """Estimates of the answers by name; none where the belief is no single law of the values, or it would take long.

    ``fresh`` says that series begin where the belief's do, so that a given start is theirs.
    """
    query = answers[0].query
    if min(answer.noise_scale for answer in answers) <= 0:
        return {}  # what has no noise needs no estimate
    walks = _walks(belief, query, unit)
    if not walks or sum(map(len, layout)) > MOST_RUNS:
        return {}
    if any(_entries(walk) > MOST_TABLES for walk in walks):
        return {}
    noisy = {answer.name: answer for answer in answers}
    found: dict[str, Estimate] = {}
    for group in _groups(layout):
        named = [name for name in noisy if name in {piece.part for pieces in group for piece in pieces}]
        if not named:
            return {}
        series = [legs for walk in walks if (legs := _legs(walk, group, fresh)) is not None]
        if len(series) < len(walks):
            return {}
        numbers = len(walks[0].steps)
        at_once = len(named) if numbers * len(named) <= MOST_NUMBERS else max(1, FEWER_NUMBERS // numbers)
        for names in (named[n : n + at_once] for n in range(0, len(named), at_once)):
            found |= _of_group([noisy[name] for name in names], [_prior(legs, names) for legs in series])
    if set(found) != set(noisy):
        return {}
    return found


def _entries(walk: Walk) -> int:
    k, m = len(walk.laws[0]), len(walk.steps)
    return k * m * max(k, m)


def _walks(belief: Belief, query: Query, unit: Fraction) -> list[Walk]:
    """The chains that the belief consists of; none where it is a class without a law, or about something else."""
    added = query.steps(belief.states) if belief.variables is None and not belief.real else None
    if added is None:
        return []
    steps: Floats = added.astype(np.float64) * float(unit)
    try:
        if isinstance(belief, CycleChain):
            span = None if belief.step is None or belief.step.steps else int(belief.step.length)
            return [Walk(belief.transitions, belief.law, None, steps, span)]
        if belief.chains:
            return [_plain_walk(chain, steps) for chain in belief.chains]
        return [_plain_walk(hidden.phases, steps[:, hidden.shown]) for hidden in belief.hidden_chains]
    except (BeliefError, NotCoveredError):
        return []  # no law in the long run


def _plain_walk(chain: MarkovChain, steps: Floats) -> Walk:
    initial = chain.initial if chain.start == "given" else None
    return Walk(chain.transition[None], chain.stationary[None], initial, steps)


def _groups(layout: Layout) -> Iterable[Layout]:
    """Subjects that have no part in common are estimated on their own."""
    groups: list[tuple[set[str], Layout]] = []
    for pieces, times in layout.items():
        parts = {piece.part for piece in pieces}
        joined = [group for group in groups if group[0] & parts]
        merged = Layout({pieces: times})
        for names, members in joined:
            parts |= names
            merged.update(members)
        groups = [group for group in groups if group not in joined] + [(parts, merged)]
    return [members for _, members in groups]


class Leg(NamedTuple):
    """Values of a series in a row: the part they are in, what they add up to, and the law of the first of them."""

    part: str
    run: Run
    law: Floats


def _legs(walk: Walk, layout: Layout, fresh: bool) -> list[tuple[list[Leg], int]] | None:
    """The legs of each series, and how many series are alike; None if times matter that are not known."""
    runs: dict[tuple[int, int], Run] = {}
    series = []
    for pieces, alike in layout.items():
        times = _times_of_cycle(walk, pieces)
        if times is None:
            return None
        legs: list[Leg] = []
        for piece, time in zip(pieces, times, strict=True):
            key = time, piece.values
            runs[key] = runs[key] if key in runs else walk.run(*key)
            given = fresh and not legs and walk.initial is not None
            legs.append(Leg(piece.part, runs[key], walk.initial if given else walk.laws[time]))  # type: ignore[arg-type]
        series.append((legs, alike))
    return series


def _prior(series: Sequence[tuple[list[Leg], int]], named: Sequence[str]) -> Moments:
    """Mean and covariance of the numbers of these parts, over all series."""
    place = {name: n for n, name in enumerate(named)}
    means, covariances = [], []
    for legs, alike in series:
        own = [leg for leg in legs if leg.part in place]
        if own:
            found = moments_of([leg.run for leg in own], [place[leg.part] for leg in own], len(named), own[0].law)
            means.append(alike * found.mean)
            covariances.append(alike * found.covariance)
    return Moments(np.sum(means, axis=0), np.sum(covariances, axis=0))


def _times_of_cycle(walk: Walk, pieces: Sequence[Piece]) -> list[int] | None:
    """The time of the cycle at which each piece begins; None if a cycle goes by times that are not known."""
    period = len(walk.transitions)
    if period == 1:
        return [0] * len(pieces)
    times = []
    for n, piece in enumerate(pieces):
        if piece.at is None or piece.span is None or walk.span is None:
            return None
        begun = -(-piece.at // walk.span)
        if n == 0:  # the first may begin late in its window, and then goes on to its end
            begun = -(-(piece.at + piece.span) // walk.span) - piece.values
        monday = 4 * MICROSECONDS["day"] // walk.span if period * walk.span == MICROSECONDS["week"] else 0
        times.append((begun - monday) % period)
    return times


def _of_group(answers: Sequence[PartAnswer], priors: Sequence[Moments]) -> Mapping[str, Estimate]:
    """Estimates of answers that hang on the same series: those of each law, weighed by how likely it makes them."""
    drawn = [answer.draws or len(answer.numbers) for answer in answers]
    divisors = [answer.query.divisor(answer.values) for answer in answers]
    seen = np.concatenate(
        [np.array(a.numbers[:n], dtype=np.float64) * d for a, n, d in zip(answers, drawn, divisors, strict=True)]
    )
    scale = np.concatenate([np.full(n, a.noise_scale * d) for a, n, d in zip(answers, drawn, divisors, strict=True)])
    gaussian = answers[0].noise == "gaussian"
    posterior = gaussian_posterior if gaussian else laplace_posterior
    with np.errstate(all="ignore"):  # noise that hardly is any overflows: then there is no estimate
        found = [posterior(prior, seen, scale) for prior in priors]
    if not all(np.isfinite(law.mean).all() and np.isfinite(law.variance).all() for law in found):
        return {}
    weights = _how_likely(priors, seen, scale**2 if gaussian else 2 * scale**2)
    mean = weights @ np.array([law.mean for law in found])
    spread = np.sqrt(weights @ np.array([law.variance + (law.mean - mean) ** 2 for law in found]))
    estimates, begun = {}, 0
    for answer, n, divisor in zip(answers, drawn, divisors, strict=True):
        own = slice(begun, begun + n)
        estimates[answer.name] = _presented(answer, mean[own] / divisor, NORMAL_95 * spread[own] / divisor, divisor)
        begun += n
    return estimates


def _presented(answer: PartAnswer, mean: Floats, reach: Floats, divisor: int) -> Estimate:
    """An estimate within what is public, with the numbers that follow from others."""
    whole = Fraction(answer.values, divisor)

    def completed(numbers: Floats) -> Floats:
        return np.array([float(n) for n in answer.query.completed([Fraction(n) for n in numbers.tolist()], whole)])

    middle, ends = completed(mean), [completed(mean - reach), completed(mean + reach)]
    low, high = np.minimum(*ends), np.maximum(*ends)
    if answer.limits is not None:
        least, most = np.array(answer.limits.low), np.array(answer.limits.high)
        middle, low, high = answer.limits.nearest(middle), np.clip(low, least, most), np.clip(high, least, most)
    low, high = np.minimum(low, middle), np.maximum(high, middle)
    return Estimate(tuple(middle.tolist()), tuple(low.tolist()), tuple(high.tolist()))


def _how_likely(priors: Sequence[Moments], seen: Floats, variance: Floats) -> Floats:
    """How much each law counts: all alike before, then by what was seen, with noise of the same variance."""
    if len(priors) == 1:
        return np.ones(1)
    logs = []
    for mean, covariance in priors:
        lower = np.linalg.cholesky(covariance + np.diag(variance))
        off = solve_triangular(lower, seen - mean, lower=True)
        logs.append(-float(off @ off) / 2 - float(np.log(np.diagonal(lower)).sum()))
    weights = np.exp(np.array(logs) - max(logs))
    return np.asarray(weights / weights.sum())


class Posterior(NamedTuple):
    """Means and variances given what was seen."""

    mean: Floats
    variance: Floats


def gaussian_posterior(prior: Moments, seen: Floats, scale: Floats) -> Posterior:
    """The law of Gaussian numbers given that they were seen with Gaussian noise.

    >>> found = gaussian_posterior(Moments(np.array([0.0]), np.array([[1.0]])), np.array([4.0]), np.array([1.0]))
    >>> round(float(found.mean[0]), 3), round(float(found.variance[0]), 3)
    (2.0, 0.5)
    """
    return _given(*prior, 1 / scale**2, seen / scale**2)


def laplace_posterior(prior: Moments, seen: Floats, scale: Floats) -> Posterior:
    """The law of Gaussian numbers given that they were seen with Laplace noise, by expectation propagation.

    Each observation is stood in for by a Gaussian factor whose width is chosen so that means and variances are right
    where the true one takes its place; the covariance may be singular.

    >>> known = Moments(np.array([0.0]), np.array([[1.0]]))
    >>> found = laplace_posterior(known, np.array([100.0]), np.array([1.0]))      # far away: the noise pulls by 1/b
    >>> round(float(found.mean[0]), 3), round(float(found.variance[0]), 3)
    (1.0, 1.0)
    """
    mean, covariance = prior
    own = np.diagonal(covariance).copy()
    loose = own > 1e-12 * max(1.0, float(own.max(initial=0.0)))  # what is certain is not estimated
    spread = np.sqrt(np.maximum(own, 1e-300))
    precision, shift = np.zeros_like(mean), np.zeros_like(mean)
    fitted = _given(mean, covariance, precision, shift)
    for _ in range(SWEEPS):
        left = 1 / fitted.variance - precision
        usable = loose & (left > 0)
        width = np.where(usable, 1 / np.where(usable, left, 1.0), 1.0)
        centre = np.where(usable, (fitted.mean / fitted.variance - shift) * width, 0.0)
        tilted = _tilted(centre, width, seen, scale)
        new_precision = np.where(usable, np.maximum(1 / tilted.variance - 1 / width, 0.0), 0.0)
        new_shift = np.where(usable, tilted.mean * (new_precision + 1 / width) - centre / width, 0.0)
        precision = precision + DAMPING * (new_precision - precision)
        shift = shift + DAMPING * (new_shift - shift)
        before, fitted = fitted, _given(mean, covariance, precision, shift)
        if np.all(np.abs(fitted.mean - before.mean) <= ENOUGH * spread):
            break
    return fitted


def _given(mean: Floats, covariance: Floats, precision: Floats, shift: Floats) -> Posterior:
    """Of Gaussian numbers, given Gaussian factors of this precision and shift."""
    root = np.sqrt(precision)
    lower = np.linalg.cholesky(np.eye(len(mean)) + root[:, None] * covariance * root[None, :])
    half = solve_triangular(lower, root[:, None] * covariance, lower=True)
    after = covariance - half.T @ half
    variance = np.maximum(np.diagonal(after), 1e-300)
    return Posterior(mean + after @ (shift - precision * mean), variance)


def _tilted(centre: Floats, width: Floats, seen: Floats, scale: Floats) -> Posterior:
    """Mean and variance of Gaussian numbers, each times the Laplace density of what was seen.

    From the derivatives of the logarithm of the product's integral by the Gaussian's centre.
    """
    deviation, apart = np.sqrt(width), centre - seen
    sides = []
    for sign in (1.0, -1.0):  # above and below what was seen
        at = (sign * apart - width / scale) / deviation
        weight = log_ndtr(at) - sign * apart / scale
        slope = np.exp(-at * at / 2 - log_ndtr(at)) / math.sqrt(2 * math.pi)
        first = sign * (slope / deviation - 1 / scale)
        second = -slope * (slope + at) / width
        sides.append((weight, first, second))
    (above, up, bend), (below, down, bow) = sides
    total = np.logaddexp(above, below)
    p, q = np.exp(above - total), np.exp(below - total)
    first = p * up + q * down
    second = p * (bend + up * up) + q * (bow + down * down) - first * first
    variance = np.clip(width + width * width * second, 1e-12 * width, width)
    return Posterior(centre + width * first, variance)
