"""The one way from a job to what is published, for the command and the service alike.

read → prepare (whatever can be refused, is) → count → spend → draw → keep → show
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from quiltwork.calibration.request import Request
from quiltwork.data import Series
from quiltwork.data.records import Records
from quiltwork.job import Job
from quiltwork.ledger import Ledger
from quiltwork.releases.pipeline import prepare
from quiltwork.releases.prepared import Answer, Prepared
from quiltwork.releases.result import Release
from quiltwork.types import Segment

Around = Callable[[str], AbstractContextManager[object]]
"""What surrounds a step of this name: who waits is told of it, and errors may be turned into others."""
Keep = Callable[[Release], Callable[[], None]]
"""Writes a result down before anybody sees it; returns what forgets it again."""


@dataclass(frozen=True)
class Counted:
    """A release of which everything is known but its noise: it was checked, calibrated and counted."""

    prepared: Prepared
    answers: list[Answer]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before anything is spent."""
        return self.prepared.warnings(self.answers)

    def release(self, ledger: Ledger | None, who: Mapping[str, Any], *, keep: Keep) -> Release:
        """Spend, draw and keep, in this order."""
        if ledger is not None:
            return self.prepared.draw_within(ledger, who, self.answers, keep=keep)
        result = self.prepared.draw(self.answers)
        keep(result)
        return result


def counted(
    job: Job,
    requests: Sequence[Request],
    read: Callable[[Segment | None], Series | Records],
    *,
    ledger: Ledger | None,
    around: Around,
) -> list[Counted]:
    """What each question of a job is about to release. Nothing is spent, drawn or shown.

    ``requests`` are those that ``requests_of`` makes of it, before anything is read; ``read`` has the rows of a segment
    (None: of all times). All questions that a budget leaves no room for together are refused here.
    """
    with around("Reading"):
        rows = {one.segment: read(one.segment) for one in job.questions}
    with around("Calibrating"):
        prepared = [prepare(rows[one.segment], request) for one, request in zip(job.questions, requests, strict=True)]
    with around("Counting"):
        answers = [ready.answers() for ready in prepared]
    if ledger is not None and len(prepared) == 1:  # of several, each later one is fitted to what was spent by then
        prepared = [prepared[0].within(ledger)]
    for ready, own in zip(prepared, answers, strict=True):
        ready.check_worth(own)
    if ledger is not None and len(prepared) > 1:
        ledger.check_room([ready.record for ready in prepared])
    return [Counted(ready, own) for ready, own in zip(prepared, answers, strict=True)]
