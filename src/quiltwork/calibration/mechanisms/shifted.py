"""Noise for real values under a Gaussian belief: differential privacy with shifted neighbours, exactly.

Certificates are not needed here: the loss is a sum over correlations, and the exact audit adds it up in another way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quiltwork.beliefs.gaussian import GaussianBelief
from quiltwork.calibration.record import Calibration, Plain, Reason
from quiltwork.calibration.request import Request
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.influence.shift import check_bayesian, on_the_grid, query_shift, seen_in_all
from quiltwork.numeric import float_above, round_up
from quiltwork.question import Question
from quiltwork.question.over_time import OverTime


@dataclass(frozen=True)
class Shifted(Reason):
    """How far the answer moves with one value, at most."""

    asked: str
    distance: float
    unit: str | None
    shift: float
    """Of the answer before it is divided."""
    itself: float
    """How much of it is the value itself."""
    divisor: int = 1
    """What the answer is divided by, where that is said in words."""

    def detail(self) -> dict[str, Any]:
        """The reason as plain values."""
        return {"shift": self.shift, "own": self.itself, "distance": self.distance}


def shifted(request: Request) -> Calibration:
    """Laplace noise for a belief that is Gaussian, exactly as much as the shift of the answer needs.

    An answer Σ w_t x_t moves by at most Δ max_i |Σ_t w_t v_i,t| between two values at time i that are Δ apart
    (Statement 57), and Laplace noise of scale s then costs that much divided by s. Of a class, correlations count by
    the size that they can have (Statement 58).

    >>> belief = GaussianBelief({"ar1": 0.9}, distance=1.0)
    >>> round(shifted(Request.of("sum", belief=belief, epsilon=1.0, length="any")).noise_scale, 3)
    19.0
    """
    return shifted_for(request, [request.length], by_size=request.window is not None)


def shifted_for(request: Request, lengths: Sequence[int | None], *, by_size: bool) -> Calibration:
    """The same for series of these lengths; ``by_size`` for several answers about one series, or gaps in it."""
    belief, question, over_time = _asked(request)
    for length in lengths:
        belief.check_size(length)
    factor = max(
        query_shift(belief, over_time, length, by_size=by_size, guarantee=request.guarantee) for length in lengths
    ) * seen_in_all(belief)
    shift = round_up(belief.distance * factor)
    exact = over_time.linear and not by_size and belief.correlation.signed
    return Calibration.of(
        request,
        mechanism="curve",
        noise_scale=round_up(shift / on_the_grid(request.epsilon)),  # Statement 59
        theorem="Gaussian beliefs: the law given one value is the law given another, shifted (Statement 57)",
        reason=Shifted(
            over_time.adds,
            belief.distance,
            belief.unit,
            shift,
            round_up(belief.distance * float_above(over_time.largest)),
            question.divisor(request.length) if over_time.placed and request.length is not None else 1,
        ),
        one_length=exact and request.length is not None,
        apart=belief.hidden,
    )


def together(request: Request) -> Calibration:
    """Group privacy: all values of a series hidden together; no value moves another by more than its own change."""
    belief, _, over_time = _asked(request)
    if request.guarantee == "bayesian":
        check_bayesian(belief)
    if request.length is None or belief.between is not None:
        raise NotCoveredError(
            "group privacy needs a length" if request.length is None else "group privacy covers independent subjects",
            why="its noise grows with it without bound" if request.length is None else "here they are correlated",
            fix="Give length=" if request.length is None else "Use curve",
        )
    shift = round_up(belief.distance * request.length * float_above(over_time.largest))
    return Calibration.of(
        request,
        noise_scale=round_up(shift / on_the_grid(request.epsilon)),
        theorem="group differential privacy",
        reason=Plain(f"all {request.length:,} values of a series are hidden together.", (("nearby", request.length),)),
        apart=belief.hidden,
    )


def _asked(request: Request) -> tuple[GaussianBelief, Question, OverTime]:
    belief, question = request.belief, request.asked.only
    if not isinstance(belief, GaussianBelief) or question.over_time is None:
        raise ParameterError("real values need a Gaussian belief", got=repr(belief))
    if request.delta:
        raise NotCoveredError(
            "delta is not for real values yet", got=f"{request.delta:g}", why="Laplace noise needs none", fix="Omit it"
        )
    return belief, question, question.over_time
