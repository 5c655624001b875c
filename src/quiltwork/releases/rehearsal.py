"""How an answer would look: the whole way of a release, on data that a belief makes up."""

from dataclasses import dataclass, replace

from quiltwork.beliefs import Belief
from quiltwork.calibration.record import Calibration
from quiltwork.calibration.request import Request
from quiltwork.calibration.series import ForSeries
from quiltwork.data import Series, Window
from quiltwork.data.records import Records
from quiltwork.errors import ParameterError
from quiltwork.fitting.made_up import made_up, made_up_records
from quiltwork.question.groups import all_sized
from quiltwork.releases.pipeline import of_records, of_series
from quiltwork.releases.prepared import Answer, Prepared, check_asked
from quiltwork.releases.result import Release

LONGEST, MOST_PEOPLE = 2_000, 20  # values and people that are simulated to see how large answers are


@dataclass(frozen=True)
class Rehearsal:
    """A release of simulated data, and what is true of these data: nobody's, so it may be shown."""

    release: Release
    truth: tuple[tuple[float, ...], ...]
    """The exact numbers of each answer of the release, in the same order."""


def rehearse(
    belief: Belief,
    calibration: Calibration,
    *,
    length: int | None = None,
    people: int = 1,
    window: int | None = None,
    seed: int = 0,
    data: Series | Records | None = None,
) -> Rehearsal:
    """Simulate data, answer the query of a calibration, and draw its noise.

    ``length`` is that of a series; under a network there are as many records as ``people``. ``data`` are those that
    were simulated before, with the same numbers.

    >>> from quiltwork import MarkovChain, calibrate
    >>> lazy = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["sit", "walk"])
    >>> noise = calibrate("histogram", belief=lazy, epsilon=1.0, length=200)
    >>> rehearsal = rehearse(lazy, noise, length=200, people=5)
    >>> rehearsal.truth, list(rehearsal.release.value)
    (((793, 207),), ['sit', 'walk'])
    """
    data = simulated(belief, length, people, seed) if data is None else data
    request = Request(
        query=calibration.query,
        belief=belief,
        epsilon=calibration.epsilon,
        mechanism=calibration.mechanism,
        window=window,
        length=length,
        alone=True,
        anyway=True,  # it shows what noise does, beside the truth
    )
    if isinstance(data, Records):
        prepared = of_records(data, request, calibration, ())
    else:
        windows = None if window is None else Window.parse(window)
        request = replace(request, query=all_sized(request.query, data))
        check_asked(data, request.asked, windows, by_subject=False)
        prepared = of_series(data, request, ForSeries(belief, calibration, data.longest), windows, ())
    answers = prepared.answers()
    release = replace(prepared.draw(answers), notes=())
    questions = prepared.each or (prepared,)
    by_question = sorted(answers, key=lambda answer: answer.question)
    return Rehearsal(release, tuple(_true(questions[answer.question], answer) for answer in by_question))


def simulated(belief: Belief, length: int | None, people: int, seed: int) -> Series | Records:
    """Data that the belief makes up: series of this length, or records."""
    if belief.variables is not None:
        return made_up_records(belief, people=people, seed=seed)
    if length is None:
        raise ParameterError("simulated series need a length", got="any")
    return made_up(belief, length=length, people=people, seed=seed)


def _true(prepared: Prepared, answer: Answer) -> tuple[float, ...]:
    """The exact numbers of an answer, as people read them."""
    question = prepared.question
    if not question.integer:
        return tuple(float(number) for number in answer.numbers)
    divisor = question.divisor(answer.values)
    exact = [int(number) * prepared.unit / divisor for number in answer.numbers]
    return tuple(int(number) if number.denominator == 1 else float(number) for number in exact)
