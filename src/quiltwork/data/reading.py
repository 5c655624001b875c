"""How rows become series, as a user says it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from quiltwork.data.series import Missing, Segment, check_missing_rule, check_segment
from quiltwork.data.times import Duration
from quiltwork.data.values import Bins
from quiltwork.errors import ParameterError

Take = Literal["first", "last", "mean"]
Unsorted = Literal["refuse", "sort"]
Duplicates = Literal["refuse", "drop"]


@dataclass(frozen=True)
class Reading:
    """How rows become series: where stretches end, what is done about missing, unsorted and repeated rows.

    ``gap`` is the longest pause within a stretch, ``every`` the step to which rows are thinned out, ``take`` which
    row of a step counts, ``bins`` the edges between levels of numbers.
    """

    missing: Missing = "refuse"
    segment: Segment | None = None
    gap: Duration | None = None
    every: Duration | None = None
    take: Take = "first"
    bins: Bins | None = None
    unsorted: Unsorted = "refuse"
    duplicates: Duplicates = "refuse"

    @classmethod
    def of(
        cls,
        *,
        missing: Missing,
        segment: Segment | None,
        gap: "str | float | timedelta | None",
        every: "str | float | timedelta | None",
        take: Take,
        bins: "str | Sequence[float] | None",
        unsorted: Unsorted,
        duplicates: Duplicates,
    ) -> "Reading":
        """As given by a user, checked."""
        check_missing_rule(missing)
        if segment is not None:
            check_segment(segment, segment[1])
        choices = {
            "take": (take, ("first", "last", "mean")),
            "unsorted": (unsorted, ("refuse", "sort")),
            "duplicates": (duplicates, ("refuse", "drop")),
        }
        for name, (chosen, known) in choices.items():
            if chosen not in known:
                raise ParameterError(f"{name} must be {', '.join(known[:-1])} or {known[-1]}", got=repr(chosen))
        levels = None
        if bins is not None:
            levels = Bins.parse(bins) if isinstance(bins, str) else Bins(tuple(float(edge) for edge in bins))
        if take == "mean" and (levels is None or every is None):
            raise ParameterError(
                "take='mean' needs every and bins", got="none", why="means of numbers become levels again"
            )
        return cls(
            missing=missing,
            segment=segment,
            gap=None if gap is None else Duration.parse(gap),
            every=None if every is None else Duration.parse(every, name="every"),
            take=take,
            bins=levels,
            unsorted=unsorted,
            duplicates=duplicates,
        )
