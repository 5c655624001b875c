"""Values of a column as states, as expressions that every engine understands."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import narwhals as nw

from quiltwork.data.engines.base import Engine
from quiltwork.data.tables import Frame
from quiltwork.data.values import Bins, flags_by_name, missing_words, not_values
from quiltwork.errors import ParameterError

ABSENT, UNKNOWN = -2, -1


@dataclass(frozen=True)
class Matching:
    """How the values of a column are matched to states, as expressions."""

    kind: Any
    column: str
    states: Sequence[str] | None
    bins: Bins | None

    def __post_init__(self) -> None:
        known = self.kind.is_numeric() or self.kind in (nw.Boolean, nw.String, nw.Categorical) or self.kind == nw.Enum
        if not known:
            raise not_values(self.column, str(self.kind))

    @property
    def levels(self) -> bool:
        """Whether values are numbers, which become levels."""
        return self.bins is not None

    @property
    def _text(self) -> bool:
        return not self.kind.is_numeric() and self.kind != nw.Boolean

    def absent(self, value: "nw.Expr") -> "nw.Expr":
        """Whether it is missing."""
        return value.is_null() if self.levels else self._absent(value)

    def _absent(self, value: "nw.Expr") -> "nw.Expr":
        gone = value.is_null()
        if self._text:
            words = sorted({"", *missing_words(self.states)} - set(self.states or ()))
            return gone | value.str.strip_chars().is_in(words).fill_null(False)
        return gone | value.is_nan().fill_null(False) if self.kind.is_float() else gone

    def cleaned(self, rows: Frame) -> Frame:
        """With null in place of all that means a missing value."""
        if not self._text and not self.kind.is_float():
            return rows
        value = nw.col("what")
        return rows.with_columns(what=nw.when(~self._absent(value)).then(value))

    def code(self, value: "nw.Expr", absent: "nw.Expr") -> "nw.Expr":
        """The state's code; ABSENT for a missing value, UNKNOWN for one that is no state."""
        return nw.when(absent).then(nw.lit(ABSENT)).otherwise(self._known(value))

    def _known(self, value: "nw.Expr") -> "nw.Expr":
        if self.levels:
            return value
        read, codes = self._keys(value)
        if not codes:
            return nw.lit(UNKNOWN)
        return read.replace_strict(list(codes), list(codes.values()), default=UNKNOWN, return_dtype=nw.Int64)

    def hits(self, value: "nw.Expr") -> list["nw.Expr"]:
        """Whether it is each of the states."""
        if self.levels:
            return [value == level for level in range(len(self.states or ()))]
        read, codes = self._keys(value)
        by_code = {code: key for key, code in codes.items()}
        return [
            read == nw.lit(by_code[n]) if n in by_code else nw.lit(0) == 1  # a name that no number has
            for n in range(len(self.states or ()))
        ]

    def _keys(self, value: "nw.Expr") -> tuple["nw.Expr", dict[Any, int]]:
        """The value as it is compared, and the code of each such value that is a state."""
        states = tuple(self.states or ())
        if self._text or (self.kind == nw.Boolean and flags_by_name(states)):
            names = value.str.strip_chars() if self._text else value.cast(nw.String)
            return names, {state: n for n, state in enumerate(states)}
        whole = self.kind == nw.Boolean or self.kind.is_integer()
        return value.cast(nw.Int64 if whole else nw.Float64), _exact_numbers(states, whole=whole)

    def numbers(self, rows: Frame, engine: Engine) -> tuple[Frame, "nw.Expr"]:
        """With the column as ``number``, null where missing; and whether a value is neither number nor missing."""
        rows = engine.numbers(rows) if self._text else rows.with_columns(number=nw.col("what").cast(nw.Float64))
        absent = self._absent(nw.col("what"))
        wrong = ~absent & nw.col("number").is_null()
        number = nw.col("number")
        rows = rows.with_columns(number=nw.when(~absent & ~number.is_nan().fill_null(False)).then(number))
        return rows, wrong

    def level(self, number: "nw.Expr") -> "nw.Expr":
        """The level of a number, null for none."""
        if self.bins is None:
            raise ParameterError("levels need bins", got="none")
        return nw.when(~number.is_null()).then(self.bins.level(number))

    def levelled(self, rows: Frame, engine: Engine) -> Frame:
        """With levels in place of numbers; UNKNOWN where a value is neither number nor missing."""
        numbered, wrong = self.numbers(rows, engine)
        return numbered.with_columns(what=self.known_level(wrong, nw.col("number"))).drop("number")

    def known_level(self, wrong: "nw.Expr", number: "nw.Expr") -> "nw.Expr":
        """The level of a number; UNKNOWN where that is wrong."""
        return nw.when(wrong).then(nw.lit(UNKNOWN)).otherwise(self.level(number))

    def finished(self, rows: Frame) -> Frame:
        """The rows as they are counted."""
        return rows


class NumberMatching(Matching):
    """Numbers that stay what they are: ``what`` is the number until rows are counted, then 0 for all of them."""

    @property
    def levels(self) -> bool:
        """All finite numbers are one level."""
        return True

    def known_level(self, wrong: "nw.Expr", number: "nw.Expr") -> "nw.Expr":
        """The number; infinity where that is wrong."""
        return nw.when(wrong).then(nw.lit(float("inf"))).otherwise(number)

    def finished(self, rows: Frame) -> Frame:
        """With the number as ``number``, and 0 in place of it; UNKNOWN where it is not finite."""
        known = {name for name in ("what", "before") if name in rows.collect_schema()}
        rows = rows.with_columns(number=nw.col("what"))
        return rows.with_columns(**{name: _finite(nw.col(name)) for name in sorted(known)})


def _finite(number: "nw.Expr") -> "nw.Expr":
    """0 for a finite number, UNKNOWN for another, null for none."""
    code = nw.when(number.is_finite()).then(nw.lit(0)).otherwise(nw.lit(UNKNOWN))
    return nw.when(~number.is_null()).then(code)


def _exact_numbers(states: Sequence[str], *, whole: bool) -> dict[Any, int]:
    """The code of each number that is a state's name; the first state of a number counts."""
    codes: dict[Any, int] = {}
    for code, state in enumerate(states):
        try:
            exact = Fraction(state)
        except (ValueError, ZeroDivisionError):
            continue
        if not whole:
            codes.setdefault(float(exact), code)
        elif exact.denominator == 1 and abs(exact) < 2**63:
            codes.setdefault(int(exact), code)
    return codes
