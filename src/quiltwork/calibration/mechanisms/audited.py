"""The least Laplace noise that any analysis could allow for one query under one belief: found by the exact audit."""

from quiltwork.auditor import smallest_scale
from quiltwork.calibration.record import Calibration, Plain
from quiltwork.calibration.request import Request
from quiltwork.errors import NotCoveredError
from quiltwork.numeric import round_up


def audited(request: Request) -> Calibration:
    """Noise of the smallest scale whose exact loss is at most ε, rounded up.

    Promise: ε-Pufferfish privacy for this one release. Limits: chains, sets of them, joint tables;
    counts, sums and small histograms; releases calibrated like this do not add up in any simple way.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> request = Request.of("count:1", belief=chain, epsilon=1.0, length=100, mechanism="audited")
    >>> round(audited(request).noise_scale, 4)
    3.3364
    """
    asked, belief, epsilon, length = request.asked, request.belief, request.epsilon, request.length
    if length is None:
        raise NotCoveredError("audited needs a length", got="any", why="the exact loss goes through all values")
    # Statement 7
    scale = smallest_scale(asked, belief=belief, epsilon=epsilon, length=length, secrets=request.secrets)
    scale *= 1 if asked.several else asked.only.divisor_of(length)
    if scale == 0 and asked.lipschitz > 0:
        scale = float(asked.unit) / epsilon  # see docs/decisions/0003
    return Calibration.of(
        request,
        noise_scale=round_up(scale),
        theorem="the definition itself, checked at every time, secret pair and output",
        reason=Plain("the exact loss of this noise is ε; any less would break the promise."),
        one_length=True,
    )
