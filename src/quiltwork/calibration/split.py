"""How several questions share one ε: the noise of each in proportion to the others', for the least total error.

The error of a question is measured against the noise c_q that it would need alone, so that counts, shares and kilowatts
compare: the total is Σ_q w_q b_q / c_q for noise scales b_q and weights w_q. If the sensitivities of all questions were
multiples of one table, the least total would have b_q in proportion to c_q / √w_q (Statement 76). They are not, so a
few steps are tried from there, each of them calibrated; whatever is chosen, the noise is calibrated for it afterwards.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from quiltwork.calibration.calibrate import calibrated
from quiltwork.calibration.request import Request
from quiltwork.errors import NotCoveredError
from quiltwork.queries import Workload
from quiltwork.queries.workload import Question, rounded_ratio

STEPS = (2.0**0.5, 2.0**0.25)
WORTHWHILE = 0.999  # of the total error: for less of a gain the simpler split
MOST_STATES, MOST_SEARCHED = 8, 4  # more states or questions take long, and the closed form is near the best


def split(request: Request) -> Request:
    """The request with the ratios of its questions' noise chosen; any other request as it is.

    It looks at no data. A split is not a promise: how much noise it takes is calibrated afterwards.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]], initial="stationary")
    >>> request = Request.of(["histogram", "transitions"], belief=chain, epsilon=1.0, length=1000)
    >>> [str(question.ratio) for question in split(request).query.asked]
    ['1', '2']
    """
    query = request.query
    if not isinstance(query, Workload) or query.chosen:
        return request
    if len(query.asked) == 1:
        return replace(request, query=_with_ratios(query, query.asked, [1.0]))
    alone = _alone(request, query)
    weights = [_weight(query, question) for question in query.asked]
    error = _Error(request, query, tuple(alone), tuple(weights))
    best = [c / math.sqrt(w) for c, w in zip(alone, weights, strict=True)]  # Statement 76
    with suppress(NotCoveredError):  # whoever calibrates says why
        best = _searched(error, best, alone)
    return replace(request, query=_with_ratios(query, query.asked, best))


@dataclass(frozen=True)
class _Error:
    """The total error of a split, in terms of what each question would need alone."""

    request: Request
    query: Workload
    alone: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def alike(self) -> bool:
        """Whether no search is worthwhile: values change all answers in proportion, or it would take long."""
        belief = self.request.belief
        if len(belief.states) > MOST_STATES or len(self.alone) > MOST_SEARCHED:
            return True
        if belief.variables is not None:
            return False
        tables = [question.sensitivity(belief.states) for _, question, _ in self.query.asked]
        tables = [table * ~np.eye(len(table), dtype=bool) for table in tables]
        return all(np.allclose(table * tables[0].max(), tables[0] * table.max()) for table in tables)

    def of(self, ratios: Sequence[float]) -> float:
        chosen = _with_ratios(self.query, self.query.asked, ratios)
        scale = calibrated(replace(self.request, query=chosen)).noise_scale
        scales = [float(ratio) * scale for _, _, ratio in chosen.asked]
        return math.fsum(w * b / c for w, b, c in zip(self.weights, scales, self.alone, strict=True))


def _searched(error: _Error, closed: Sequence[float], even: Sequence[float]) -> list[float]:
    """The best of the closed form, an even split and steps from there; never worse than either."""
    best, alike = list(closed), error.alike
    if alike and best == list(even):
        return best
    least = error.of(best)
    if best != list(even):
        at = error.of(even)
        best, least = (list(even), at) if at < least else (best, least)
    for step in () if alike else STEPS:
        for place in range(1, len(best)):
            for factor in (step, 1 / step):
                tried = [*best]
                tried[place] *= factor
                at = error.of(tried)
                if at < WORTHWHILE * least:
                    best, least = tried, at
                    break
    return best


def _alone(request: Request, query: Workload) -> list[float]:
    """The noise that each question would need alone; its Lipschitz constant where no theorem gives it."""
    scales = []
    for _, question, _ in query.asked:
        try:
            scales.append(calibrated(replace(request, query=question)).noise_scale)
        except NotCoveredError:
            scales.append(0.0)
    if not all(scales):
        scales = [question.on(request.belief).lipschitz for _, question, _ in query.asked]
    largest = max(scales) or 1.0
    return [scale or largest for scale in scales]  # an answer that nothing changes needs no noise, and gets some


def _weight(query: Workload, question: Question) -> float:
    """The largest of a question and all that follow from it: what follows is free, and takes nothing from others."""
    weights = query.weights or (1.0,) * len(query.questions)
    places = [question.place, *(n for n in range(len(weights)) if query.source(n) == question.place)]
    return max(weights[n] for n in places)


def _with_ratios(query: Workload, asked: Sequence[Question], ratios: Sequence[float]) -> Workload:
    """Noise in these proportions; the first question's is the noise scale itself."""
    chosen: list[Fraction | None] = [None] * len(query.questions)
    for question, ratio in zip(asked, ratios, strict=True):
        chosen[question.place] = rounded_ratio(ratio / ratios[0])
    return replace(query, ratios=chosen)
