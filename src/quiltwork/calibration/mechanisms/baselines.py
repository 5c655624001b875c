"""What to compare with (Statement 22): group privacy, GK16, entry privacy."""

import math

import numpy as np

from quiltwork.beliefs import MarkovChain
from quiltwork.calibration.record import Calibration, Plain
from quiltwork.calibration.request import Request
from quiltwork.errors import NotCoveredError
from quiltwork.numeric import round_up

SMALLEST = 1e-12  # below this, differences of probabilities lose all their digits
SOLVE_UP_TO = 200  # longer series take the limit, which is never smaller


def group(request: Request) -> Calibration:
    """Group privacy: hides all values that may depend on each other at once. Scale L T / ε.

    That is a whole series, for every belief whatever; of a network, the largest part that edges hold together.

    >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    >>> group(Request.of("count:1", belief=coin, epsilon=1.0, length=100, mechanism="group")).noise_scale > 100
    True
    """
    belief, length = request.belief, request.length
    if length is None:
        raise NotCoveredError(
            "group privacy needs a length", why="its noise grows with it without bound", fix="Give length="
        )
    asked = request.asked
    together, size = float(asked.table()[0].max()) * length, length  # Statement 49: what is linked counts once
    hidden = f"all {length:,} values of a series are hidden together."
    if belief.variables is not None:
        together, size = belief.heaviest_part(asked.lipschitz_by_part)
        hidden = f"{size:,} variables that may depend on each other are hidden together."
        if asked.whole < math.inf:
            return whole_records(request)
    return Calibration.of(
        request,
        noise_scale=round_up(together / request.epsilon),  # Statement 18
        theorem="group differential privacy",
        reason=Plain(hidden, (("nearby", size),)),
    )


def whole_records(request: Request) -> Calibration:
    """Differential privacy of whole records: for a query that a record changes by a known amount, whatever is in it.

    >>> from quiltwork import JointTable
    >>> twins = JointTable({"x": "01", "y": "01"}, [(("0", "0"), 0.5), (("1", "1"), 0.5)])
    >>> request = Request.of("records:x=1&y=1", belief=twins, epsilon=0.5, mechanism="group")
    >>> round(whole_records(request).noise_scale, 9)
    2.0
    """
    asked = request.asked
    return Calibration.of(
        request,
        noise_scale=round_up(asked.whole / request.epsilon),  # Statement 70
        theorem="differential privacy of whole records",
        reason=Plain(f"a record changes the answer by at most {asked.whole:g}, whatever changes in it."),
    )


def entry(request: Request) -> Calibration:
    """Entry-level differential privacy: what a library for independent records would add. NO guarantee here.

    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    >>> entry(Request.of("count:1", belief=chain, epsilon=1.0, length=100, mechanism="entry")).guarantee
    'none'
    """
    return Calibration.of(
        request,
        noise_scale=round_up(request.lipschitz / request.epsilon),
        guarantee="none",
        theorem="none: differential privacy of one entry does not hide a value that others reveal",
        reason=Plain("the noise covers one value as if it were independent of all others."),
    )


def gk16(request: Request) -> Calibration:
    """Ghosh and Kleinberg (2016) on chains with two states.

    With γ half the largest log-ratio by which a neighbour's value changes the law of a value given the rest, and Γ
    tridiagonal with γ: if its spectral norm is below 1, the scale is the largest row sum of 2 (I - Γ)^-1 times L / ε.

    >>> near_independent = MarkovChain([[0.5, 0.5], [0.45, 0.55]], initial="stationary")
    >>> request = Request.of("count:1", belief=near_independent, epsilon=1.0, length=100, mechanism="gk16")
    >>> round(gk16(request).noise_scale, 3)
    2.247
    """
    belief = request.belief
    if len(belief.states) != 2 or not belief.chains:
        raise NotCoveredError(
            "gk16 needs chains with two states",
            got=repr(belief),
            why="its influence matrix is known for those only",
        )
    gammas = [_neighbour_influence(chain) for chain in belief.chains]
    row_sum = max(_largest_row_sum(gamma, request.length) for gamma in gammas)
    return Calibration.of(
        request,
        noise_scale=round_up(2 * request.lipschitz * row_sum / request.epsilon, roundings=1000),  # Statement 22
        theorem="Ghosh and Kleinberg 2016, inferential privacy under weak dependence",
        reason=Plain(
            f"a neighbour's value changes the probability of a value by a factor of at most e^2γ, γ = "
            f"{max(gammas):.4g}; summed along the series that makes "
            f"a factor of {2 * row_sum:.4g}.",
            (("gamma", max(gammas)), ("row_sum", row_sum)),
        ),
    )


def _neighbour_influence(chain: MarkovChain) -> float:
    """γ: half the largest log-ratio of P(X_i = x | both neighbours) when one neighbour flips."""
    P = chain.transition
    if not chain.support.all():
        return math.inf
    p, q = P[1, 1], P[0, 1]
    if P.min() < SMALLEST:
        return math.inf  # neighbours as good as determine each other
    ratios = [
        (p * p + p * (1 - q)) / (p * p + q * (1 - p)),
        (p / q) * ((1 - q) ** 2 + q * (1 - p)) / ((1 - p) * (1 - q) + p * (1 - p)),
        ((1 - p) / (1 - q)) * ((1 - q) * q + q * p) / ((1 - p) * q + p * p),
        ((1 - q) ** 2 + p * (1 - q)) / ((1 - q) ** 2 + q * (1 - p)),
    ]
    # the first value has no left neighbour, only its prior; the four above cover priors between the two rows
    if chain.initial is None:
        odds = P[1, 1] * P[0, 0] / (P[0, 1] * P[1, 0])
        ratios += [odds]
    else:
        prior = chain.initial
        for x in (0, 1):
            given = [prior[x] * P[x, y] / (prior @ P[:, y]) for y in (0, 1)]
            ratios += [given[0] / given[1]] if min(given) > 0 else []
    return 0.5 * max(abs(math.log(r)) for r in ratios) * (1 + 1e-12)


def _largest_row_sum(gamma: float, length: int | None) -> float:
    """The largest row sum of (I - Γ)^-1, Γ tridiagonal with γ beside the diagonal."""
    if length == 1:
        return 1.0
    short = length is not None and length <= SOLVE_UP_TO
    norm = 2 * gamma * (math.cos(math.pi / (length + 1)) if short and length is not None else 1.0)
    if not norm < 1 - 1e-9:
        raise NotCoveredError(
            "gk16 does not apply to this chain",
            got=f"an influence matrix of spectral norm {norm:.4g}",
            why="it must be below 1: neighbours may depend on each other only weakly",
            fix="Use quilt-exact",
        )
    if not short or length is None:
        return 1 / (1 - 2 * gamma)  # Statement 22
    beside = np.diag(np.full(length - 1, gamma), 1)
    return float(np.linalg.solve(np.eye(length) - beside - beside.T, np.ones(length)).max())
