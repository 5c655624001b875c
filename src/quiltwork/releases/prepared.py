"""A release before it is made: everything is checked and calibrated; counting and drawing are left to do."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork.accounting.record import ReleaseRecord
from quiltwork.beliefs import Belief
from quiltwork.calibration.record import Calibration
from quiltwork.calibration.request import Request
from quiltwork.data import Reading, Series, Window
from quiltwork.data.layout import Layout
from quiltwork.errors import DataError, LedgerError, ParameterError, QuiltworkError, check_name
from quiltwork.numeric import round_up
from quiltwork.queries import Limits, Numbers, Query
from quiltwork.releases.answer import PartAnswer
from quiltwork.releases.noise import add_noise
from quiltwork.releases.result import Release

if TYPE_CHECKING:
    from quiltwork.ledger import Ledger

OTHER_SECRETS = "The release is about the secrets {}; the ledger counts what it tells about its own ({})."


@dataclass(frozen=True)
class Answer:
    """What is true, before noise: in units, and how many values it is about. ``part`` names a window or a subject."""

    numbers: Numbers
    values: int
    part: str = ""
    limits: Limits | None = None
    """What is public about it."""


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
    layout: Callable[[], Layout] | None = None
    """Where the values are, where that is known and small: estimates need it."""

    def draw(self, answers: list[Answer] | None = None) -> Release:
        """Count, unless that was done, and draw the noise."""
        query, calibration, (subjects, values) = self.request.query, self.calibration, self.sizes
        answers = self.answers() if answers is None else answers
        exact = np.concatenate([answer.numbers for answer in answers])
        noisy: Iterator[Fraction | float] = iter(add_noise(exact, scale=calibration.noise_scale, unit=self.unit))
        released: list[PartAnswer] = []
        for answer in answers:
            divisor = query.divisor(answer.values)
            drawn = [next(noisy) for _ in answer.numbers]
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
                    step=float(self.unit / divisor) if query.integer else 0.0,
                    limits=answer.limits,
                    draws=None if len(drawn) == len(own) else len(drawn),
                    name=answer.part,
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
            notes=self.notes,
        )

    def _estimated(self, released: list[PartAnswer]) -> tuple[PartAnswer, ...]:
        """With estimates where the belief gives some. The noise is drawn: nothing here may lose the answer."""
        if self.layout is None:
            return tuple(released)
        from quiltwork.releases.estimate import estimates  # it needs scipy, which loads slowly

        record = self.record
        fresh = record.segment is None and record.gaps is None
        try:
            found = estimates(released, self.layout(), self.belief, unit=self.unit, fresh=fresh)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError, QuiltworkError):
            found = None
        return tuple(released if found is None else found)

    def draw_within(self, ledger: "Ledger", who: Mapping[str, Any]) -> Release:
        """Within the budget of a ledger: count, reserve, draw, note that it was made, in this order.

        Counting can fail, and nothing is shown by it; so it comes before anything is spent.
        """
        ledger.check(belief=self.request.belief, guarantee=self.record.guarantee)
        counted = ledger.terms.secrets
        answers = self.answers()
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
        guarantee="bayesian" if calibration.guarantee == "bayesian" else "pufferfish",
        theorem=calibration.theorem,
        reading=reading.whole,
        secrets=calibration.secrets,
        **places,
    )


def _plain(number: Fraction) -> float:
    return int(number) if number.denominator == 1 else float(number)
