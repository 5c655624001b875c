"""A release before it is made: everything is checked and calibrated; counting and drawing are left to do."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork.accounting.record import ReleaseRecord
from quiltwork.beliefs import Belief
from quiltwork.calibration.accuracy import noise_error
from quiltwork.calibration.record import Calibration
from quiltwork.calibration.request import Request
from quiltwork.calibration.target import PURE_NOISE, USEFUL, noise_only, remedy
from quiltwork.data import Reading, Series, Window
from quiltwork.data.about import About
from quiltwork.data.layout import Layout
from quiltwork.errors import DataError, LedgerError, ParameterError, QuiltworkError, check_name
from quiltwork.influence.delta import check_delta_for, large_delta
from quiltwork.numeric import round_up
from quiltwork.queries import Limits, Numbers, Query, Workload
from quiltwork.queries.workload import picked
from quiltwork.releases.answer import Estimate, PartAnswer
from quiltwork.releases.noise import add_noise
from quiltwork.releases.result import Release

if TYPE_CHECKING:
    from quiltwork.ledger import Ledger

Drawn = Fraction | float
OTHER_SECRETS = "The release is about the secrets {}; the ledger counts what it tells about its own ({})."


@dataclass(frozen=True)
class Answer:
    """What is true, before noise: in units, and how many values it is about. ``part`` names a window or a subject."""

    numbers: Numbers
    values: int
    part: str = ""
    limits: Limits | None = None
    """What is public about it."""
    question: int = 0
    """Which of several questions it is about."""


@dataclass(frozen=True)
class Prepared:
    """A release before it is made: everything is checked and calibrated, nothing is counted and no noise is drawn."""

    request: Request
    belief: Belief
    """As far as it holds for the data: where positions do not count from the start, a given one says nothing."""
    calibration: Calibration
    record: ReleaseRecord
    """What it will be about, and what it will add to what was told before."""
    answers: Callable[[], list[Answer]]
    unit: Fraction
    states: tuple[str, ...]
    sizes: tuple[int, int]
    """The numbers of subjects and of values."""
    notes: tuple[str, ...] = ()
    about: About | None = None
    """What is public about the table that the data were read from."""
    layout: Callable[[], Layout] | None = None
    """Where the values are, where that is known and small: estimates need it."""
    each: tuple["Prepared", ...] = ()
    """The same for each question, if there are several."""
    again: Callable[[float], "Prepared"] | None = None
    """The same with another ε."""

    def with_each(self, units: Sequence[tuple[Fraction, tuple[str, ...]]]) -> "Prepared":
        """With the questions of a workload one by one, given the unit and the states of each."""
        if not isinstance(self.request.query, Workload):
            return self
        each = [
            replace(
                self,
                request=replace(self.request, query=query),
                calibration=replace(
                    self.calibration,
                    query=query,
                    noise_scale=scale,
                    lipschitz=query.on(self.belief).lipschitz,
                    certificate=None,
                ),
                unit=unit,
                states=states,
            )
            for (query, scale), (unit, states) in zip(self.calibration.scales, units, strict=True)
        ]
        return replace(self, each=tuple(each))

    def warnings(self, answers: list[Answer]) -> tuple[str, ...]:
        """Which answers would be noise only, and what would change that; and a large δ. It looks at public sizes."""
        said = list(large_delta(self.calibration.delta))
        for place, question in enumerate(self.each or (self,)):
            own = [answer for answer in answers if answer.question == place]
            poor = {n: share for n, answer in enumerate(own) if (share := question._share(answer)) >= PURE_NOISE}
            if poor:
                worst = own[max(poor, key=lambda n: poor[n])]
                where = f" for {len(poor):,} of {len(own):,} parts" if worst.part else ""
                said.append(self._noise_only(place, question, worst, where))
        return tuple(said)

    def expected(self, answers: list[Answer]) -> list[dict[str, Any]]:
        """The noise and the ± of each question's least precise answer. It looks at sizes, which are public."""
        expected = []
        for place, question in enumerate(self.each or (self,)):
            own = [answer for answer in answers if answer.question == place]
            query, scale = question.request.query, question.calibration.noise_scale
            expected.append(
                {
                    "query": query.text,
                    "answers": len(own),
                    "noise_scale": max(round_up(scale / query.divisor(answer.values)) for answer in own),
                    "error_95": max(question._error(answer) for answer in own),
                }
            )
        return expected

    def _poor(self, answers: list[Answer]) -> tuple[str, ...]:
        """What a result says of itself where it is noise only."""
        poor = [answer for answer in answers if self._share(answer) >= PURE_NOISE]
        if not poor:
            return ()
        where = f" for {len(poor):,} of {len(answers):,} parts" if poor[0].part else ""
        return (f"{self.request.query.text} is noise only{where}: the noise may be larger than any difference.",)

    def _share(self, answer: Answer) -> float:
        """The ± of an answer as a share of what it can be."""
        width = 0.0 if answer.limits is None else answer.limits.width
        return self._error(answer) / width if width > 0 else 0.0

    def _error(self, answer: Answer) -> float:
        query, divisor = self.request.query, self.request.query.divisor(answer.values)
        scale = round_up(self.calibration.noise_scale / divisor)
        unit, noise = float(self.unit / divisor), self.calibration.noise
        return noise_error(scale, 0.95, unit=unit, integer=query.integer, noise=noise)

    def _noise_only(self, place: int, question: "Prepared", answer: Answer, where: str) -> str:
        def error_at(epsilon: float) -> float:
            other = self.again(epsilon) if self.again is not None else self
            return (other.each or (other,))[place]._error(answer)

        request, limits = question.request, answer.limits
        assert limits is not None  # noqa: S101 - an answer without limits is not poor
        people = 1 if request.by_subject else max(1, self.sizes[0])
        longer = request.window is not None and Window.parse(request.window).cycle is None
        better = remedy(
            request.query,
            error=question._error(answer),
            wanted=USEFUL * limits.width,
            relative=True,
            epsilon=request.epsilon,
            error_at=error_at,
            values=answer.values,
            people=people,
            length=None if request.by_subject else max(1, answer.values // people),
            step=self.belief.step if longer else None,
        )
        return noise_only(request.query, question._error(answer), limits, better, where=where)

    def draw(self, answers: list[Answer] | None = None) -> Release:
        """Count, unless that was done, and draw the noise."""
        answers = self.answers() if answers is None else answers
        query = self.request.query
        if not isinstance(query, Workload):
            return self._released(answers, self._noisy(answers))
        by_question = [[answer for answer in answers if answer.question == n] for n in range(len(self.each))]
        noisy = {n: self.each[n]._noisy(by_question[n]) for n, _, _ in query.asked}
        releases = []
        for n, (each, own) in enumerate(zip(self.each, by_question, strict=True)):
            source = query.source(n)
            drawn = noisy[n] if source is None else self._following(source, n, own, noisy[source])
            releases.append(each._released(own, drawn))
        return replace(
            releases[0],
            answers=tuple(answer for one in releases for answer in one.answers),
            calibration=self.calibration,
            divisor=1,
            questions=tuple(releases),
            notes=tuple(dict.fromkeys(note for one in releases for note in one.notes)),
        )

    def _noisy(self, answers: list[Answer]) -> list[list[Drawn]]:
        """The numbers of each answer with noise."""
        exact = np.concatenate([answer.numbers for answer in answers])
        scale, noise = self.calibration.noise_scale, self.calibration.noise
        noisy: Iterator[Drawn] = iter(add_noise(exact, scale=scale, unit=self.unit, noise=noise))
        return [[next(noisy) for _ in answer.numbers] for answer in answers]

    def _following(self, source: int, place: int, answers: list[Answer], noisy: list[list[Drawn]]) -> list[list[Drawn]]:
        """The noisy numbers of a question that follow from those of another one."""
        asked, question = self.each[source].request.query, self.each[place].request.query
        chosen = picked(asked, question, self.each[source].states)
        if chosen is None:
            return noisy
        whole = [
            asked.completed([Fraction(n) for n in own], Fraction(answer.values))
            for answer, own in zip(answers, noisy, strict=True)
        ]
        return [[numbers[n] for n in chosen] for numbers in whole]

    def _released(self, answers: list[Answer], noisy: list[list[Drawn]]) -> Release:
        """What may be published, from noisy numbers."""
        query, calibration, (subjects, values) = self.request.query, self.calibration, self.sizes
        released: list[PartAnswer] = []
        for answer, drawn in zip(answers, noisy, strict=True):
            divisor = query.divisor(answer.values)
            subject, window = self._place(answer.part)
            if query.integer:
                own = tuple(
                    map(
                        _plain,
                        query.completed([Fraction(n) / divisor for n in drawn], Fraction(answer.values, divisor)),
                    )
                )
            else:
                own = tuple(map(float, drawn))
            released.append(
                PartAnswer(
                    query,
                    self.states,
                    own,
                    values=answer.values,
                    noise_scale=round_up(calibration.noise_scale / divisor),
                    noise=calibration.noise,
                    step=float(self.unit / divisor) if query.integer else 0.0,
                    limits=answer.limits,
                    draws=None if len(drawn) == len(own) else len(drawn),
                    name=answer.part,
                    subject=subject,
                    window=window,
                )
            )
        return Release(
            answers=self._estimated(released),
            divisor=min(query.divisor(answer.values) for answer in answers),
            subjects=subjects,
            values=values,
            belief=self.belief,
            calibration=calibration,
            recorded=self.record,
            about=self.about,
            notes=(*self.notes, *self._poor(answers), *large_delta(self.calibration.delta)),
        )

    def _place(self, part: str) -> tuple[str, str]:
        """The subject and the window that an answer is about; empty where it is about all of them."""
        if self.request.window is None:
            return part, ""
        return Window.parse(self.request.window).split(part) if self.request.by_subject else ("", part)

    def _estimated(self, released: list[PartAnswer]) -> tuple[PartAnswer, ...]:
        """With estimates where the belief gives some, when they are asked for. Nothing there may lose the answer."""
        layout = self.layout
        if layout is None or self.request.query.steps(self.states) is None:
            return tuple(released)
        fresh = self.record.segment is None and self.record.gaps is None

        @cache
        def found() -> Mapping[str, Estimate]:
            from quiltwork.releases.estimate import estimates  # it needs scipy, which loads slowly

            try:
                return estimates(released, layout(), self.belief, unit=self.unit, fresh=fresh)
            except (ArithmeticError, ValueError, np.linalg.LinAlgError, QuiltworkError):
                return {}

        return tuple(replace(answer, estimates=found) for answer in released)

    def draw_within(self, ledger: "Ledger", who: Mapping[str, Any], answers: list[Answer] | None = None) -> Release:
        """Within the budget of a ledger: count, reserve, draw, note that it was made, in this order.

        Counting can fail, and nothing is shown by it; so it comes before anything is spent.
        """
        ledger.check(belief=self.request.belief, guarantee=self.record.guarantee)
        check_delta_for(ledger.terms.delta, self.sizes[0])
        counted = ledger.terms.secrets
        answers = self.answers() if answers is None else answers
        reservation = ledger.reserve(self.record, who)
        release = self.draw(answers)
        with suppress(LedgerError):  # the reservation is durable and counts; only the note that it was made is lost
            ledger.complete(reservation)
        written = reservation.to_dict() | {"address": ledger.name}
        if not counted.everything:
            written["secrets"] = counted.text
        notes = release.notes
        if counted != self.record.secrets:
            notes = (*notes, OTHER_SECRETS.format(self.record.secrets.text, counted.text))
        return replace(release, ledger=written, notes=notes)


def check_asked(series: Series, query: Query, window: Window | None, by_subject: bool) -> None:
    """What cannot be answered is refused before anything is spent."""
    if not query.by_part and (window is not None or by_subject):
        raise ParameterError("this query cannot be split by window or subject", got=query.text)
    series.check_asked(window=window, ordered=query.ordered)
    for name in series.subject_names() if by_subject else ():
        check_name(name, "a subject", error=DataError)


def shorter(series: Series, first: int) -> tuple[int, ...]:
    """The last positions of series that are shorter than the longest."""
    return tuple(sorted({first + values - 1 for values, _ in series.shape.chains} - {first + series.longest - 1}))


def recorded(query: Query, held: Belief, calibration: Calibration, reading: Reading, **places: Any) -> ReleaseRecord:
    """The record of a release, from what its noise was calibrated for."""
    return ReleaseRecord(
        mechanism=calibration.mechanism,
        epsilon=calibration.epsilon,
        delta=calibration.delta,
        noise_scale=calibration.noise_scale or None,  # an answer that tells nothing may have none
        lipschitz=calibration.lipschitz or None,
        query=query,
        start=held.start if held.variables is None else None,
        distance=held.distance,
        noise=calibration.noise,
        guarantee="bayesian" if calibration.bayesian else "pufferfish",
        theorem=calibration.theorem,
        reading=reading.whole,
        secrets=calibration.secrets,
        **places,
    )


def _plain(number: Fraction) -> float:
    return int(number) if number.denominator == 1 else float(number)
