"""A release before it is made: everything is checked and calibrated; counting and drawing are left to do."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork.accounting.record import ReleaseRecord
from quiltwork.beliefs import Belief
from quiltwork.beliefs.checked import words_of
from quiltwork.calibration.accuracy import answer_error
from quiltwork.calibration.record import Calibration
from quiltwork.calibration.request import Request
from quiltwork.calibration.target import PURE_NOISE, USEFUL, noise_only, remedy
from quiltwork.data import Reading, Series, Window
from quiltwork.data.reading import About
from quiltwork.errors import DataError, InternalError, LedgerError, NoiseOnlyError, ParameterError, check_name
from quiltwork.forks import working
from quiltwork.influence.delta import check_delta_for, large_delta
from quiltwork.numeric import round_up
from quiltwork.question import Asked, Limits, Numbers, Question, Said
from quiltwork.question.question import Totals
from quiltwork.releases.answer import PartAnswer
from quiltwork.releases.noise import add_noise
from quiltwork.releases.result import Release

if TYPE_CHECKING:
    from quiltwork.ledger import Ledger
    from quiltwork.ledger.terms import Reservation

Drawn = Fraction | float
MORE_NOISE = (
    "This noise is {:.2g} % more than a single release would need: releases of the same data tell more together than "
    "the sum of their ε, and this one is to cost no more than ε = {:g}."
)
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
    spread: float | None = None
    """Of real values: by how much two answers can differ, where that is known."""

    @property
    def reach(self) -> float:
        """The most by which two answers can differ in one number; 0 where that is not known."""
        return self.spread or (0.0 if self.limits is None else self.limits.width)


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
    asked: Asked
    """What is asked of the data: one question, or several that share ε."""
    unit: Fraction
    sizes: tuple[int, int]
    """The numbers of subjects and of values."""
    notes: tuple[str, ...] = ()
    about: About | None = None
    """What is public about the table that the data were read from."""
    each: tuple["Prepared", ...] = ()
    """The same for each question, if there are several."""
    drawn_for: Question | None = None
    """Of one question of a workload, whose record is that of all: the one that its noise is drawn for, often itself."""
    again: Callable[[float], "Prepared"] | None = None
    """The same with another ε."""

    def __post_init__(self) -> None:
        """What is asked, calibrated, recorded and drawn is one question, or nothing is spent."""
        asked, made, kept = self.asked, self.calibration, self.record
        alike = asked == made.asked and made.lipschitz == asked.lipschitz
        if self.drawn_for is None:
            alike = alike and asked.said == kept.query and (made.noise_scale or None) == kept.noise_scale
            alike = alike and kept.asked(self.belief) == asked  # what the account will read in the record
        if not alike or made.noise != kept.noise:
            raise InternalError(
                "a release must draw the noise that was calibrated and recorded for its question",
                got=f"{asked.text} asked, {made.asked.text} calibrated",
                why="else its promise could be false",
            )

    @property
    def question(self) -> Question:
        """The question, if there is one."""
        return self.asked.only

    def with_each(self) -> "Prepared":
        """With the questions of a workload one by one."""
        if not self.asked.several:
            return self
        each = []
        for (question, scale), source in zip(self.calibration.scales, self.asked.sources, strict=True):
            asked = Asked.single(question)
            made = replace(
                self.calibration, asked=asked, noise_scale=scale, lipschitz=asked.lipschitz, certificate=None
            )
            each.append(replace(self, asked=asked, calibration=made, unit=question.unit, drawn_for=source))
        return replace(self, each=tuple(each))

    def check_worth(self, answers: list[Answer]) -> None:
        """Refuse answers that would be noise only, unless they were asked for anyway. It looks at public sizes."""
        for place, poor, where in () if self.request.anyway else self._poor(answers):
            question = (self.each or (self,))[place]
            worst = max(poor, key=question._share)
            parts = sum(answer.question == place for answer in answers)
            said = self._noise_only(place, question, worst, where, parts)
            raise NoiseOnlyError(said.rstrip("."), fix="Set anyway= to release it all the same")

    def warnings(self, answers: list[Answer]) -> tuple[str, ...]:
        """A large δ, and which answers will be noise only."""
        texts = [one.asked.text for one in self.each or (self,)]
        poor = (f"{texts[place]} will be noise only{where}." for place, _, where in self._poor(answers))
        return (*large_delta(self.calibration.delta), *poor)

    def _poor(self, answers: list[Answer]) -> Iterator[tuple[int, list[Answer], str]]:
        """Which questions have answers that are noise only: their places, these answers, and how many in words."""
        for place, question in enumerate(self.each or (self,)):
            own = [answer for answer in answers if answer.question == place]
            poor = [answer for answer in own if question._share(answer) >= PURE_NOISE]
            if poor:
                yield place, poor, f" for {len(poor):,} of {len(own):,} parts" if poor[0].part else ""

    def shares(self, answers: list[Answer]) -> list[float]:
        """The ± of each question's least precise answer, as a share of what it can be. It looks at public sizes."""
        return [
            max(question._share(answer) for answer in answers if answer.question == place)
            for place, question in enumerate(self.each or (self,))
        ]

    def expected(self, answers: list[Answer]) -> list[dict[str, Any]]:
        """The noise and the ± of each question's least precise answer. It looks at sizes, which are public."""
        expected = []
        for place, question in enumerate(self.each or (self,)):
            own = [answer for answer in answers if answer.question == place]
            asked, scale = question.question, question.calibration.noise_scale
            expected.append(
                {
                    "query": asked.text,
                    "answers": len(own),
                    "noise_scale": max(round_up(scale / asked.divisor(answer.values)) for answer in own),
                    "error_95": max(question._error(answer) for answer in own),
                }
            )
        return expected

    def _share(self, answer: Answer) -> float:
        """The ± of an answer as a share of what it can be."""
        return self._error(answer) / answer.reach if answer.reach > 0 else 0.0

    def _error(self, answer: Answer) -> float:
        divisor = self.question.divisor(answer.values)
        scale = round_up(self.calibration.noise_scale / divisor)
        return answer_error(
            scale,
            0.95,
            numbers=len(answer.numbers),
            totals=tuple(map(len, self.totals)),
            unit=float(self.unit / divisor),
            integer=self.question.integer,
            noise=self.calibration.noise,
        )

    def _noise_only(self, place: int, question: "Prepared", answer: Answer, where: str, parts: int) -> str:
        def error_at(epsilon: float) -> float:
            other = self.again(epsilon) if self.again is not None else self
            return (other.each or (other,))[place]._error(answer)

        request = question.request
        people = 1 if request.by_subject else max(1, self.sizes[0])
        longer = request.window is not None and Window.parse(request.window).cycle is None
        better = remedy(
            question.question,
            error=question._error(answer),
            wanted=USEFUL * answer.reach,
            relative=True,
            epsilon=request.epsilon,
            error_at=error_at,
            values=answer.values,
            people=people,
            length=None if request.by_subject else max(1, answer.values // people),
            step=self.belief.step if longer else None,
            parts=1 if request.window is None else parts,
            numbers=len(answer.numbers),
            share=USEFUL,
        )
        error = question._error(answer)
        return noise_only(question.question, error, answer.limits, answer.reach, better, where=where)

    @working()
    def draw(self, answers: list[Answer] | None = None) -> Release:
        """Count, unless that was done, and draw the noise."""
        answers = self.answers() if answers is None else answers
        self.check_worth(answers)
        if not self.asked.several:
            return self._released(answers, self._noisy(answers))
        by_question = [[answer for answer in answers if answer.question == n] for n in range(len(self.each))]
        noisy = {one.place: self.each[one.place]._noisy(by_question[one.place]) for one in self.asked.drawn}
        releases = []
        for n, (each, own) in enumerate(zip(self.each, by_question, strict=True)):
            source = self.asked.source(n)
            drawn = noisy[n] if source is None else self._following(source, n, noisy[source])
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
        begun = np.cumsum([0, *(len(answer.numbers) for answer in answers)]).tolist()
        totals = [[first + place for place in group] for first in begun[:-1] for group in self.totals]
        made = self.calibration
        noisy: Iterator[Drawn] = iter(
            add_noise(exact, scale=made.noise_scale, unit=self.unit, noise=made.noise, totals=totals)
        )
        return [[next(noisy) for _ in answer.numbers] for answer in answers]

    def _following(self, source: int, place: int, noisy: list[list[Drawn]]) -> list[list[Drawn]]:
        """The noisy numbers of a question that follow from those of another one."""
        places = self.each[place].question.places_in(self.each[source].question) or []
        return [[numbers[n] for n in places] for numbers in noisy]

    @property
    def totals(self) -> Totals:
        """Groups of numbers whose noise adds up to 0, of the question that it is drawn for."""
        return (self.drawn_for or self.question).totals

    def _released(self, answers: list[Answer], noisy: list[list[Drawn]]) -> Release:
        """What may be published, from noisy numbers."""
        question, calibration, totals = self.question, self.calibration, self.totals
        subjects, values = self.sizes
        released: list[PartAnswer] = []
        for answer, drawn in zip(answers, noisy, strict=True):
            divisor = question.divisor(answer.values)
            subject, window = self._place(answer.part)
            own = tuple(_plain(Fraction(n) / divisor) if question.integer else float(n) for n in drawn)
            taken = len(own) == 1 and bool(totals)  # a count that follows from a histogram
            parts = math.lcm(*map(len, totals)) if calibration.noise == "gaussian" else 1  # projected noise has a mean
            released.append(
                PartAnswer(
                    question,
                    own,
                    values=answer.values,
                    noise_scale=round_up(calibration.noise_scale / divisor),
                    noise=calibration.noise,
                    step=float(self.unit / divisor / parts) if question.integer else 0.0,
                    limits=answer.limits,
                    reach=answer.reach,
                    totals=() if taken else totals,
                    taken_from=max(map(len, totals)) if taken else 0,
                    name=answer.part,
                    subject=subject,
                    window=window,
                )
            )
        return Release(
            answers=tuple(released),
            divisor=min(question.divisor(answer.values) for answer in answers),
            subjects=subjects,
            values=values,
            belief=self.belief,
            checked=self.request.checked,
            calibration=calibration,
            recorded=self.record,
            about=self.about,
            notes=(*self.notes, *_poor(released), *large_delta(self.calibration.delta)),
        )

    def _place(self, part: str) -> tuple[str, str]:
        """The subject and the window that an answer is about; empty where it is about all of them."""
        if self.request.window is None:
            return part, ""
        return Window.parse(self.request.window).split(part) if self.request.by_subject else ("", part)

    def within(self, ledger: "Ledger") -> "Prepared":
        """The same release with as much noise as it takes to cost no more than its own ε (Statement 85)."""
        share = ledger.room_for(self.record)
        if share == 1:
            return self

        calibration = replace(self.calibration, noise_scale=round_up(self.calibration.noise_scale / share))
        scales = [scale for _, scale in calibration.scales]
        return replace(
            self,
            calibration=calibration,
            record=replace(self.record, noise_scale=calibration.noise_scale),
            each=tuple(
                replace(one, calibration=replace(one.calibration, noise_scale=scale))
                for one, scale in zip(self.each, scales[: len(self.each)], strict=True)
            ),
            notes=(*self.notes, MORE_NOISE.format(100 * (1 / share - 1), self.calibration.epsilon)),
        )

    @working()
    def draw_within(
        self,
        ledger: "Ledger",
        who: Mapping[str, Any],
        answers: list[Answer] | None = None,
        *,
        keep: Callable[[Release], Callable[[], None]] | None = None,
    ) -> Release:
        """Within the budget of a ledger: count, reserve, draw, keep, note that it was made, in this order.

        Counting can fail, and nothing is shown by it; so it comes before anything is spent. ``keep`` writes the result
        down before the ledger says that it was made, and returns what forgets it again: whatever ends the process, the
        result can be had or was never drawn.
        """
        ledger.check(belief=self.request.belief, guarantee=self.record.guarantee)
        check_delta_for(ledger.terms.delta, self.sizes[0])
        counted = ledger.terms.secrets
        answers = self.answers() if answers is None else answers
        fitted = self.within(ledger)
        fitted.check_worth(answers)
        reservation = ledger.reserve(fitted.record, {**who, "check": words_of(self.request.checked)})
        release = fitted.draw(answers)
        written = reservation.to_dict() | {"address": ledger.name}
        if not counted.everything:
            written["secrets"] = counted.text
        notes = release.notes
        if counted != self.record.secrets:
            notes = (*notes, OTHER_SECRETS.format(self.record.secrets.text, counted.text))
        release = replace(release, ledger=written, notes=notes)
        if keep is None:
            self._made(ledger, reservation)
            return release
        ledger.confirm(reservation)
        forget = keep(release)
        try:
            self._made(ledger, reservation)
        except LedgerError:  # it must not be shown
            forget()
            raise
        return release

    def _made(self, ledger: "Ledger", reservation: "Reservation") -> None:
        """Note that a release was made, and look once more before it is shown."""
        with suppress(LedgerError):  # the reservation is durable and counts; only the note that it was made is lost
            ledger.complete(reservation)
        ledger.confirm(reservation)


def check_asked(series: Series, asked: Asked, window: Window | None, by_subject: bool) -> None:
    """What cannot be answered is refused before anything is spent."""
    if not asked.by_part and (window is not None or by_subject):
        raise ParameterError("this query cannot be split by window or subject", got=asked.text)
    series.check_asked(window=window, ordered=asked.ordered)
    for name in series.subject_names() if by_subject else ():
        check_name(name, "a subject", error=DataError)


def shorter(series: Series, first: int) -> tuple[int, ...]:
    """The last positions of series that are shorter than the longest."""
    return tuple(sorted({first + values - 1 for values, _ in series.shape.chains} - {first + series.longest - 1}))


def recorded(query: Said, held: Belief, calibration: Calibration, reading: Reading, **places: Any) -> ReleaseRecord:
    """The record of a release, from what its noise was calibrated for."""
    return ReleaseRecord(
        mechanism=calibration.mechanism,
        epsilon=calibration.epsilon,
        delta=calibration.delta,
        noise_scale=calibration.noise_scale or None,  # an answer that tells nothing may have none
        lipschitz=calibration.lipschitz or None,
        query=query,
        start=held.start if held.variables is None else None,
        labels=held.labels if held.variables is None else None,
        distance=held.distance,
        noise=calibration.noise,
        guarantee="bayesian" if calibration.bayesian else "pufferfish",
        theorem=calibration.theorem,
        reading=reading.whole,
        secrets=calibration.secrets,
        **places,
    )


def _poor(answers: Sequence[PartAnswer]) -> tuple[str, ...]:
    """What a result says of itself where it is noise only."""
    poor = [answer for answer in answers if answer.pure_noise]
    if not poor:
        return ()
    where = f" for {len(poor):,} of {len(answers):,} parts" if poor[0].name else ""
    return (f"{poor[0].question.text} is noise only{where}: the noise may be larger than any difference.",)


def _plain(number: Fraction) -> float:
    return int(number) if number.denominator == 1 else float(number)
