"""The least Laplace noise that any analysis could allow for one query under one belief: found by the exact audit."""

from quiltwork.auditor import smallest_scale
from quiltwork.beliefs import Belief
from quiltwork.calibration.record import Calibration, Plain
from quiltwork.errors import NotCoveredError
from quiltwork.numeric import round_up
from quiltwork.queries import Query


def audited(query: Query, *, belief: Belief, epsilon: float, length: int | None) -> Calibration:
    """Noise of the smallest scale whose exact loss is at most ε, rounded up.

    Promise: ε-Pufferfish privacy for this one release. Limits: chains with a start, sets of them, joint tables;
    counts, sums and small histograms; releases calibrated like this do not add up in any simple way.

    >>> from quiltwork import Count, MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> round(audited(Count("1"), belief=chain, epsilon=1.0, length=100).noise_scale, 4)
    3.3364
    """
    if length is None:
        raise NotCoveredError("audited needs a length", got="any", why="the exact loss goes through all values")
    # Statement 7
    scale = smallest_scale(query, belief=belief, epsilon=epsilon, length=length) * query.on(belief).divisor(length)
    if scale == 0 and query.on(belief).lipschitz > 0:
        scale = float(query.on(belief).unit) / epsilon  # see docs/decisions/0003
    return Calibration(
        mechanism="audited",
        query=query,
        epsilon=epsilon,
        length=length,
        lipschitz=query.on(belief).lipschitz,
        noise_scale=round_up(scale),
        guarantee="pufferfish",
        theorem="the definition itself, checked at every time, pair of states and output",
        reason=Plain("the exact loss of this noise is ε; any less would break the guarantee."),
        one_length=True,
    )
