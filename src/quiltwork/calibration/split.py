"""How several questions share one ε: the noise of each in proportion to the others', for the least total error.

The error of a question is measured against the noise c_q that it would need alone, so that counts, shares and kilowatts
compare: the total is Σ_q w_q b_q / c_q for noise scales b_q and weights w_q. If the sensitivities of all questions were
multiples of one table, the least total would have b_q in proportion to c_q / √w_q (Statement 73). They are not, so a
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
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.question import Question, Workload
from quiltwork.question.workload import Drawn, gives, rounded_ratio, same

ANY_LENGTH = (None, "curve", "quilt-exact", "quilt-approx")
STEPS = (2.0**0.5, 2.0**0.25)
WORTHWHILE = 0.999  # of the total error: for less of a gain the simpler split
MOST_STATES, MOST_SEARCHED = 8, 4  # more states or questions take long, and the closed form is near the best


def split(request: Request) -> Request:
    """The request with the ratios of its questions' noise chosen; any other request as it is.

    It looks at no data. A split is not a promise: how much noise it takes is calibrated afterwards.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]], initial="stationary")
    >>> request = Request.of(["histogram", "transitions"], belief=chain, epsilon=1.0, length=1000)
    >>> [str(one.ratio) for one in split(request).asked.drawn]
    ['1', '39/32']
    """
    query, drawn = request.query, request.asked.drawn
    if not isinstance(query, Workload) or request.asked.chosen:
        return request
    if len(drawn) == 1:
        return replace(request, query=_with_ratios(query, drawn, [1.0]))
    for basis in _bases(request):
        with suppress(NotCoveredError, ParameterError):  # whoever calibrates says why
            return replace(request, query=_least(basis, query))
    constants = [one.question.lipschitz or 1.0 for one in drawn]
    return replace(request, query=_with_ratios(query, drawn, constants))


def _bases(request: Request) -> list[Request]:
    """What to split for: any length where that is enough, for it is the quickest, else the request as it is."""
    belief = request.belief
    quick = request.mechanism in ANY_LENGTH and belief.variables is None and belief.step_variables is None
    return [replace(request, length=None), request] if quick else [request]


def _least(request: Request, query: Workload) -> Workload:
    """The split with the least total error."""
    asked = request.asked
    alone = [calibrated(replace(request, query=one.question.query)).noise_scale for one in asked.drawn]
    largest = max(alone) or 1.0
    # an answer that nothing changes needs no noise, and gets some
    needs = [
        _Need(one, c or largest, _weight(query, asked.questions, one.question), _kept_share(one.question))
        for one, c in zip(asked.drawn, alone, strict=True)
    ]
    needs = _without_what_follows(needs)
    error = _Error(request, query, tuple(needs))
    return _with_ratios(query, error.drawn, _searched(error))


@dataclass(frozen=True)
class _Need:
    """A question, the noise that it would need alone, and the weight of its error and of what follows from it."""

    drawn: Drawn
    alone: float
    weight: float
    kept: float
    """How large noise of this scale is, as a share of independent noise."""

    def giving(self, other: "_Need") -> "_Need":
        """The same, where another question follows from it: its error counts in terms of what that one needs."""
        taken = self.alone * self.kept / (other.alone * other.kept)
        return replace(self, weight=self.weight + other.weight * taken)


def _kept_share(question: Question) -> float:
    """(k - 1) / k for noise on k numbers that keeps their total (Statement 75), else 1."""
    largest = max(map(len, question.totals), default=0)
    return (largest - 1) / largest if largest else 1.0


def _without_what_follows(needs: list[_Need]) -> list[_Need]:
    """Questions that follow from others are left out where that makes the total error smaller."""

    def total(needs: Sequence[_Need]) -> float:
        return math.fsum(math.sqrt(need.weight) for need in needs) ** 2  # Statement 73

    for need in list(needs):
        options = [
            [other.giving(need) if other is source else other for other in needs if other is not need]
            for source in needs
            if source is not need and gives(source.drawn.question, need.drawn.question)
        ]
        needs = min([needs, *options], key=total) if need in needs else needs
    return needs


@dataclass(frozen=True)
class _Error:
    """The total error of a split, in terms of what each question would need alone."""

    request: Request
    query: Workload
    needs: tuple[_Need, ...]

    @property
    def drawn(self) -> list[Drawn]:
        """The questions that noise is drawn for."""
        return [need.drawn for need in self.needs]

    @property
    def alike(self) -> bool:
        """Whether no search is worthwhile: values change all answers in proportion, or it would take long."""
        belief = self.request.belief
        if len(belief.states) > MOST_STATES or len(self.needs) > MOST_SEARCHED:
            return True
        if belief.variables is not None:
            return False
        tables = [one.question.table()[0] for one in self.drawn]
        tables = [table * ~np.eye(len(table), dtype=bool) for table in tables]
        return all(np.allclose(table * tables[0].max(), tables[0] * table.max()) for table in tables)

    def of(self, ratios: Sequence[float]) -> float:
        """The total error of noise in these proportions."""
        chosen = replace(self.request, query=_with_ratios(self.query, self.drawn, ratios))
        scale = calibrated(chosen).noise_scale
        scales = [float(one.ratio) * scale for one in chosen.asked.drawn]
        return math.fsum(need.weight * b / need.alone for need, b in zip(self.needs, scales, strict=True))


def _searched(error: _Error) -> list[float]:
    """The best of the closed form, an even split and steps from there; never worse than either."""
    even = [need.alone for need in error.needs]
    best = [need.alone / math.sqrt(need.weight) for need in error.needs]  # Statement 73
    alike, equal = error.alike, len({need.weight for need in error.needs}) == 1
    if len(best) == 1 or (alike and equal):
        return best
    least = error.of(best)
    if not equal:
        at = error.of(even)
        best, least = (even, at) if at < least else (best, least)
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


def _weight(query: Workload, questions: Sequence[Question], question: Question) -> float:
    """The largest weight of those about the same numbers: to see them in another form takes nothing from others."""
    weights = query.weights or (1.0,) * len(questions)
    return max(weight for weight, other in zip(weights, questions, strict=True) if same(question, other))


def _with_ratios(query: Workload, drawn: Sequence[Drawn], ratios: Sequence[float]) -> Workload:
    """Noise in these proportions; the first question's is the noise scale itself."""
    chosen: list[Fraction | None] = [None] * len(query.questions)
    for one, ratio in zip(drawn, ratios, strict=True):
        chosen[one.place] = rounded_ratio(ratio / ratios[0])
    return replace(query, ratios=chosen)
