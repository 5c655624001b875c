"""Values at equal steps, with what is missing between them: stretches joined by their times."""

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quiltwork.types import Codes, Duration

if TYPE_CHECKING:
    import polars as pl


class Timeline(NamedTuple):
    """Values at equal steps, -1 where one is missing; ``begun`` is the step on the clock (from 1970) of the first.

    ``begun`` is None where the time of day is not known.
    """

    codes: Codes
    begun: int | None = None


class Run(NamedTuple):
    """A stretch, with the times of its first and last value and what the clock on the wall says at the first."""

    codes: Codes
    first: int
    last: int
    wall: int | None

    @classmethod
    def of(cls, rows: "pl.DataFrame") -> "Run":
        """The stretch that rows of a table are."""
        when, wall = rows["when"], int(rows["wall"][0]) if "wall" in rows.columns else None
        return cls(rows["code"].to_numpy().astype(np.int64), int(when[0]), int(when[-1]), wall)


def joined(runs: Sequence[Run], ticks: int, *, step: Duration) -> Iterator[Timeline]:
    """The stretches of a subject, with -1 between them unless a gap is longer than the stretches beside it.

    ``ticks`` is the step in the units of their times.
    """
    begin = 0
    for n, run in enumerate(runs, 1):
        if n == len(runs) or _missing(run, runs[n], ticks) > max(len(run.codes), len(runs[n].codes)):
            parts = [runs[begin].codes]
            for before, after in itertools.pairwise(runs[begin:n]):
                parts += [np.full(_missing(before, after, ticks), -1, dtype=np.int64), after.codes]
            wall = None if step.steps else runs[begin].wall
            yield Timeline(np.concatenate(parts), None if wall is None else wall // int(step.length))
            begin = n


def _missing(before: Run, after: Run, ticks: int) -> int:
    """How many values there would be between two stretches: at least one."""
    return max(1, round((after.first - before.last) / ticks) - 1)
