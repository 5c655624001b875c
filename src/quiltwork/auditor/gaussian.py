"""The exact loss of releases about real values: all correlations in one matrix, conditioned on what is known.

Given X_i = a and given X_i = b, and given values that an adversary knows, the other values have the same Gaussian law,
shifted by (a - b) Σ_·i / Σ_ii with the covariance Σ given what is known. Laplace noise on several answers that move by
d_1, d_2, .. has its largest loss Σ |d_k| / s_k where all outputs are large.
"""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from quiltwork.auditor.noisy import Audit, Noisy, NoisyQuestion, each_question
from quiltwork.beliefs.gaussian import GaussianBelief
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.forks import working
from quiltwork.question.over_time import Weights
from quiltwork.types import Floats

LONGEST = 2000
MOST_ADVERSARIES = 2**14
ROUNDED = 1e-9
LOST = 1e-13  # of a variance, by rounding, for each value


def audit_gaussian(
    belief: GaussianBelief, releases: Sequence[Noisy], *, length: int | None, know: Iterable[int] = ()
) -> Audit:
    """The exact loss, by somebody who knows the values at some times; of a class, the largest that it allows.

    >>> belief = GaussianBelief({"ar1": 0.5}, distance=1.0)
    >>> found = audit_gaussian(belief, [Noisy("sum", 2.0)], length=3)
    >>> found.node, [round(loss, 6) for loss in found.by_node]
    (2, [0.875, 1.0, 0.875])
    """
    known = sorted(set(know))
    if length is None or length > LONGEST:
        raise NotCoveredError(
            f"an exact loss of real values covers series of up to {LONGEST:,} values",
            got="any length" if length is None else f"{length:,}",
            why="all correlations are written into one matrix",
            fix="Use compose, whose bounds cover any length",
        )
    if known and belief.correlation.at_most:
        raise NotCoveredError(
            "what is known needs exact correlations",
            got="a class of beliefs",
            why="correlations given known values are not bounded by those without",
        )
    if not all(1 <= time <= length for time in known):
        raise ParameterError("a known value must be at a time of the series", got=f"times 1 to {length:,} exist")
    pad = len(belief.correlation.listed)  # values that were never recorded are hidden too; further ones show less
    if known and not _true_of(belief, length + 2 * pad):
        pad = 0  # there is no law of a longer series to condition
    moved = seen(belief.law(length + 2 * pad), [time + pad for time in known])  # row i: Σ_·i / Σ_ii
    total = np.zeros(length + 2 * pad)
    for release in each_question(releases, belief):
        moves = _moves(belief, release, length, moved[:, pad : pad + length])
        total += moves * belief.distance / release.noise_scale
    losses = total * belief.factor
    worst = int(np.argmax(losses))
    return Audit(
        epsilon=float(losses[worst]) * (1 + ROUNDED),
        node=worst + 1 - pad,
        pair=("a value", f"one that is {belief.hidden} away"),
        output=None,
        by_node=tuple(losses[pad : pad + length].tolist()),
        skipped=len(known),
    )


def seen(law: Floats, known: Sequence[int]) -> Floats:
    """How much of each value is seen in every other, given values at some times; 0 for those that are known."""
    if known:
        at = np.asarray(known) - 1
        across = law[:, at]
        law = law - across @ np.linalg.lstsq(law[np.ix_(at, at)], across.T, rcond=None)[0]
        law[at, :] = law[:, at] = 0.0
    spread = np.diag(law).copy()
    fixed = spread < LOST * len(law)  # what is known, or follows from it, is no secret
    if known and np.any(~fixed & (spread < ROUNDED)):
        raise NotCoveredError(
            "the loss cannot be computed where known values nearly determine others",
            got="correlations that are nearly contradictory",
            why="rounding would decide the result",
        )
    moved = law / np.where(fixed, 1.0, spread)[:, None]
    moved[fixed, :] = 0.0
    return np.asarray(moved)


def _true_of(belief: GaussianBelief, length: int) -> bool:
    try:
        belief.check_size(length)
    except NotCoveredError:
        return False
    return True


def _moves(belief: GaussianBelief, release: NoisyQuestion, length: int, moved: Floats) -> Floats:
    """|Σ_t w_t v_i,t| for every i; of what is not linear, or of a class, with sizes."""
    question, (first, last) = release.question, release.segment or (1, length)
    over_time = question.over_time
    if over_time is None:
        raise ParameterError("real values need a query about numbers", got=question.text)
    if not 1 <= first <= last <= length:
        raise ParameterError("a segment must lie within the series", got=f"{first}:{last} of {length}")
    over_time.check_values(last - first + 1)
    weights = _written_out(over_time.weights(first, last), length) / question.divisor(last - first + 1)
    if belief.correlation.at_most or not over_time.linear:
        return np.asarray(np.abs(moved) @ np.abs(weights))
    return np.abs(moved @ weights)


def _written_out(weights: Weights, length: int) -> Floats:
    row = np.zeros(length)
    if weights.listed is not None:
        row[weights.first - 1 : weights.first - 1 + len(weights.listed)] = weights.listed[:length]
    for first, last, weight in weights.runs:
        row[first - 1 : last] += weight
    return row


@working()
def worst_adversary(belief: GaussianBelief, releases: Sequence[Noisy], *, length: int) -> tuple[Audit, tuple[int, ...]]:
    """The largest loss over all sets of times that an adversary may know, and the worst set.

    >>> belief = GaussianBelief({"ar1": 0.5}, distance=1.0)
    >>> found, known = worst_adversary(belief, [Noisy("sum", 1.0)], length=3)
    >>> round(found.epsilon, 6), known
    (2.0, ())
    """
    if 2**length > MOST_ADVERSARIES:
        raise NotCoveredError(
            "exact leakage of real values needs a short series",
            got=f"{length:,} values",
            why="every set of known values is looked at",
            fix="Use at most 14 values, or the bound for ar1 beliefs",
        )
    best: tuple[Audit, tuple[int, ...]] | None = None
    for count in range(length):
        for known in itertools.combinations(range(1, length + 1), count):
            found = audit_gaussian(belief, releases, length=length, know=known)
            if best is None or found.epsilon > best[0].epsilon:
                best = found, known
    if best is None:
        raise ParameterError("leakage needs a series", got="no values")
    return best
