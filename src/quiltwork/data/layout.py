"""Where values are: which window each run of a subject's values belongs to. It is public, as times and lengths are."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from quiltwork.data.times import ON_THE_CLOCK, Window


class Piece(NamedTuple):
    """Some values of a subject in a row that are in one part of the answer."""

    part: str
    values: int
    at: int | None = None
    """When the window begins, in microseconds of the wall clock since 1970; None if that is not known."""
    span: int | None = None
    """How long the window is, in microseconds."""


Layout = Counter[tuple[Piece, ...]]
"""How often each sequence of pieces occurs among subjects."""

DAY, HOUR = (next(known for known in ON_THE_CLOCK if known.kind == kind) for kind in ("day", "hour"))


def finest(window: Window | None) -> Window:
    """Windows on the clock of which each is within one of these: days, or hours where those are told apart."""
    return HOUR if window is not None and window.kind in ("hour", "hour-of-day") else DAY


def clock_piece(number: int, values: int, *, within: Window, window: Window | None, who: str = "") -> Piece:
    """The values of one day or hour, by the number that it has among all since 1970."""
    at = number * within.span
    label = [] if window is None else [window.label(int(window.number(at)))]  # type: ignore[arg-type, call-overload]
    return Piece(" ".join(([who] if who else []) + label), values, at, within.span)


def laid_out(subjects: Iterable[list[Piece]]) -> Layout:
    """The sequences of pieces that occur; neighbours of one part that have no time are one piece."""
    return Counter(tuple(piece for piece in pieces if piece.values) for pieces in subjects)
