"""Releases about real values: noise for the series as they are, sums on a grid, noise on whole numbers."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from quiltwork.beliefs.gaussian import GaussianBelief
from quiltwork.calibration.calibrate import calibrated
from quiltwork.calibration.mechanisms.shifted import shifted_for
from quiltwork.calibration.record import Calibration
from quiltwork.calibration.request import Request
from quiltwork.calibration.series import with_a_promise
from quiltwork.data import Measurements, Series, Window
from quiltwork.data.held import check_step
from quiltwork.data.measured import DISTANCES, FINEST
from quiltwork.errors import DataError, NotCoveredError, ParameterError
from quiltwork.influence.shift import grid_unit
from quiltwork.question import Question
from quiltwork.question.over_time import OverTime
from quiltwork.releases.prepared import Answer, Prepared, check_asked, recorded, shorter
from quiltwork.types import SAME_SPAN

SMALLEST_SHARE = 2.0**-80  # the finest grid for shares of a value
ROUNDED_SHARE = 2.0**-50  # how far off a share is where it is computed
OF_MEANS = (
    "A value is the mean of the rows of a step. The belief must be about such means, which are correlated more "
    "strongly than single rows: fit it on means."
)
NOT_RECORDED = "Values that were not recorded are protected as well: they count as if they had weight 0."


def of_measurements(series: Series, request: Request, window: Window | None) -> Prepared:
    """Check and calibrate a release about real values."""
    belief, question = request.belief, request.asked.only
    over_time = question.over_time
    if not isinstance(belief, GaussianBelief) or over_time is None or not isinstance(series, Measurements):
        raise ParameterError("real values need a Gaussian belief", got=repr(belief))
    if not request.alone:
        series.reading.check_positions()
    check_asked(series, request.asked, window, request.by_subject)
    _check_subjects(series, belief)
    if over_time.placed:
        _check_places(series, question, over_time, request, window)
    about_steps = check_step(series, belief)
    _check_nearest(series, belief)
    series.check_sizes(belief.distance * DISTANCES)
    calibration = with_a_promise(_calibrated(series, request))
    unit = _unit(series, belief, question, over_time, calibration)

    def answers() -> list[Answer]:
        made = _answers(series, request, question, over_time, unit, window)
        if sum(answer.values for answer in made) != series.size:
            raise DataError(
                "the data must not change while they are read",
                got="a different number of values than before",
                why="the noise is calibrated for the lengths that were read first",
            )
        return made

    certain = series.placed
    first = 1 if series.segment is None else series.segment[0]
    record = recorded(
        question.query,
        belief,
        calibration,
        series.reading,
        segment=series.segment,
        length=first + series.longest - 1 if certain else series.longest,
        lengths=shorter(series, first) if certain else (),
        window=None if window is None else window.span if window.kind == "values" else window.kind,
        gaps=None if certain else "late" if series.shape.late and not series.gaps else request.gaps,
    )
    return Prepared(
        request,
        belief,
        calibration,
        record,
        answers=answers,
        asked=request.asked,
        unit=unit,
        sizes=(series.subjects, series.size),
        about=series.about,
        notes=(*about_steps, *(() if certain else (NOT_RECORDED,)), *_notes(series, belief, over_time)),
    )


def _notes(series: Measurements, belief: GaussianBelief, over_time: OverTime) -> list[str]:
    """What people are likely to overlook."""
    notes = []
    if series.reading.take == "mean":
        notes.append(OF_MEANS)
    if over_time.ramp is not None and over_time.ramp[1] < belief.distance:
        notes.append(f"The ramp is narrower than the distance of {belief.hidden}: a wider one needs less noise.")
    return notes


def _calibrated(series: Measurements, request: Request) -> Calibration:
    """Noise for every one of these series: exactly as long as they are, or with gaps wherever they may be."""
    lengths: list[int | None] = [*sorted({values for values, _ in series.shape.chains})]
    if request.mechanism not in (None, "curve"):
        return calibrated(replace(request, length=lengths[-1]))
    by_size = request.window is not None
    if not series.placed:  # values at any times: what is not recorded has weight 0
        forgotten = request.gaps == "independent" and not series.shape.uneven and series.reading.gap is None
        lengths = [*sorted(series.stretch_lengths)] if forgotten else [None]
        by_size = True
    return shifted_for(replace(request, length=lengths[-1]), lengths, by_size=by_size)


def _check_subjects(series: Measurements, belief: GaussianBelief) -> None:
    """Subjects that are correlated with each other must be those that the belief is about."""
    if belief.between is None:
        return
    names = belief.named_subjects
    if names is not None and not set(series.subject_names()) <= set(names):
        raise DataError(
            "the subjects of the data must be those of the belief",
            got="others",
            why="the belief says how they are correlated",
            fix=f"Its subjects: {', '.join(names[:20])}",
        )
    if series.subjects > len(belief.subjects):
        raise DataError(
            f"the data must have at most {len(belief.subjects)} subjects",
            got=f"{series.subjects:,}",
            why="the belief says how that many are correlated",
        )


def _check_places(
    series: Measurements, question: Question, over_time: OverTime, request: Request, window: Window | None
) -> None:
    if window is not None:
        raise ParameterError(
            f"{question.text} cannot be split by window", got="a window", why="its weights are its own"
        )
    if not series.placed:
        raise NotCoveredError(
            f"{question.text} needs series without gaps",
            got="gaps, pauses that count as one step, or times that are not evenly spaced",
            why="each value counts by its position",
            fix="Ask for a mean by window, or fill the gaps",
        )
    if series.subjects > 1 and not request.by_subject:
        raise ParameterError(
            f"{question.text} is about one series",
            got=f"{series.subjects:,} subjects",
            fix="One answer each: by_subject",
        )
    for values, _ in series.shape.chains:
        over_time.check_values(values)


def _check_nearest(series: Measurements, belief: GaussianBelief) -> None:
    """Values must not be nearer to each other than the belief's step: it does not say how those are correlated."""
    nearest, step = series.nearest, belief.step
    if nearest is None or step is None or nearest.steps != step.steps:
        return
    if nearest.length < step.length * (1 - SAME_SPAN):
        raise DataError(
            f"values must be at least a step of {step} apart",
            got=f"some that are {nearest} apart",
            why="the belief does not say how values are correlated that are nearer than that",
            fix=f"Keep one row per step: every='{step}'",
        )


def _unit(
    series: Measurements, belief: GaussianBelief, question: Question, over_time: OverTime, calibration: Calibration
) -> Fraction:
    """The grid on which values are added up; it depends on nothing that is not public."""
    if not question.integer:
        return Fraction(1)
    weight = max(1.0, float(over_time.largest) if over_time.placed else 1.0)
    weight *= series.longest if belief.between is None else series.size
    finest, error = belief.distance * FINEST, 0.0
    if over_time.ramp is not None:
        finest, error = SMALLEST_SHARE, ROUNDED_SHARE
    return grid_unit(calibration.noise_scale, calibration.epsilon, weight, error=error, finest=finest)


def _answers(
    series: Measurements,
    request: Request,
    question: Question,
    over_time: OverTime,
    unit: Fraction,
    window: Window | None,
) -> list[Answer]:
    by_subject = request.by_subject
    if over_time.function is not None:
        runs = [run for subject in series.numbers.values() for run in subject]
        return [Answer(over_time.function(runs), sum(map(len, runs)))]
    if not over_time.placed:
        how = over_time.transformed if over_time.ramp is not None else None
        found = series.added(unit=unit, transform=how, window=window, by_subject=by_subject)
        limits = None if question.limited is None else question.limited(series.size, None)
        return [
            Answer(_whole(added.total), added.values, name, limits, spread=question.reach(request.reach, added.values))
            for name, added in found.items()
        ]
    spans = None if over_time.periods is None else [*over_time.periods]
    sums = series.at_places(spans, unit=unit)
    sizes = series.added(unit=unit, by_subject=True)
    return [
        Answer(
            _whole(round(over_time.exactly(at))) if over_time.exactly is not None else _whole(0),
            sizes[name].values,
            name if by_subject else "",
            spread=question.reach(request.reach, sizes[name].values),
        )
        for name, at in sums.items()
    ]


def _whole(number: int) -> np.ndarray:
    """A whole number of any size, as an answer of one number."""
    answer = np.empty(1, dtype=object)
    answer[0] = number
    return answer
