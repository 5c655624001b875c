"""Values as states: by name, by number, by the level that a number falls into, or by another name said beforehand."""

import csv
import io
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork.beliefs.text import parse_json, read_text
from quiltwork.errors import DataError, ParameterError, check_name, did_you_mean
from quiltwork.types import Codes

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

MISSING_WORDS = frozenset({"NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"})
"""Text that means a missing value, unless it is the name of a state; so does an empty cell."""
MOST_LEVELS = 1000
Recode = tuple[tuple[str, str | None], ...]
"""Pairs of value and state, sorted; None for a value that counts as missing."""
REST = "*"
FORM = 'For example {"1": "sleep", "2": "sit", "*": "other"} in a JSON file'


@dataclass(frozen=True)
class Bins:
    """Edges that cut numbers into levels: below the first, from each to below the next, and from the last on.

    The edges are public: they must not be taken from the data that is to be protected.

    >>> Bins((100.0, 500.0)).names
    ('<100', '100..500', '>=500')
    >>> Bins.parse("0:300:3").edges
    (100.0, 200.0)
    """

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.edges, self.edges[1:], strict=False))
        if not self.edges or not rising or not all(map(math.isfinite, self.edges)) or len(self.edges) >= MOST_LEVELS:
            raise ParameterError(
                "bins must be increasing numbers",
                got=f"{len(self.edges)} edges" + ("" if rising else " that do not increase"),
                why="they are the edges between levels",
                fix="100,500 makes three levels; 0:1000:10 makes ten of equal width",
            )

    @classmethod
    def parse(cls, text: str | Sequence[float]) -> "Bins":
        """Edges A,B,...; or LOW:HIGH:N for N levels of equal width, of which the outer two take what is beyond."""
        if not isinstance(text, str):
            return cls(tuple(float(edge) for edge in text))
        try:
            if ":" not in text:
                return cls(tuple(float(edge) for edge in text.split(",")))
            low, high, levels = text.split(":")
            count = int(levels)
            if not 2 <= count <= MOST_LEVELS:
                raise ParameterError("bins must be 2 to 1000 levels", got=levels.strip())
            width = (float(high) - float(low)) / count
            return cls(tuple(float(low) + n * width for n in range(1, count)))
        except ValueError:
            raise ParameterError(
                "bins must be edges A,B,... or LOW:HIGH:LEVELS", got=repr(text), fix="For example 100,500 or 0:1000:10"
            ) from None

    @property
    def names(self) -> tuple[str, ...]:
        """What the levels are called where no belief names them."""
        return tuple(_level_names([f"{edge:g}" for edge in self.edges]))

    def check(self, states: Sequence[str]) -> None:
        """There must be as many levels as states."""
        if tuple(states) != self.names and edges_in(states) is not None:
            raise ParameterError(
                "the edges between levels must be those that the belief's states are named by",
                got=f"levels {self.names[0]} to {self.names[-1]}, states {states[0]} to {states[-1]}",
                fix=_levels_of(states),
            )
        if len(states) != len(self.edges) + 1:
            raise ParameterError(
                "there must be as many levels as the belief has states",
                got=f"{len(self.edges) + 1} levels, {len(states)} states",
                why="the first level is the first state, and so on",
            )

    def level(self, number: "nw.Expr") -> "nw.Expr":
        """The level of a number, from 0, as an expression: how many edges are not above it."""
        import narwhals as nw

        return nw.sum_horizontal(*((number >= edge).cast(nw.Int64) for edge in self.edges))


def level_numbers(states: Sequence[str]) -> list[Fraction] | None:
    """The number that each level stands for, where states are levels named by their edges: its midpoint.

    The outer two levels are open; they count as wide as their neighbours. With a single edge there is none, and no
    number is known.

    >>> [str(number) for number in level_numbers(["<100", "100..200", ">=200"])]
    ['50', '150', '250']
    """
    edges = edges_in(states) or []
    if len(edges) < 2 or list(states) != _level_names(edges):
        return None
    try:
        at = [Fraction(edge) for edge in edges]
    except (ValueError, ZeroDivisionError):
        return None
    between = [(low + high) / 2 for low, high in pairwise(at)]
    return [at[0] - (at[1] - at[0]) / 2, *between, at[-1] + (at[-1] - at[-2]) / 2]


def names_in(values: "pl.Series", states: Sequence[str] | None) -> list[str]:
    """State names of the values, "" for a missing one; numbers are matched to states by value."""
    import polars as pl

    if values.dtype.is_numeric() or values.dtype == pl.Boolean:
        if values.dtype == pl.Boolean and not flags_by_name(states):
            values = values.cast(pl.Int8)
        codes = exact_numbers(states or (), whole=not values.dtype.is_float())
        by_value = {number: (states or ())[code] for number, code in codes.items()}
        return ["" if is_missing(v) else by_value.get(v) or name_of(v) for v in values.to_list()]
    try:
        names = [name.strip() for name in values.cast(pl.String).fill_null("").to_list()]
    except pl.exceptions.PolarsError:
        raise not_values(values.name, str(values.dtype.base_type())) from None
    absent = missing_words(states)
    return ["" if name in absent else name for name in names]


def not_values(column: str, kind: str) -> DataError:
    """For example a column of lists."""
    return DataError(f"column {column!r} must hold text or numbers", got=f"type {kind}")


def flags_by_name(states: Sequence[str] | None) -> bool:
    """Whether true and false are states by these names; else they are 1 and 0."""
    return bool({"true", "false"} & set(states or ("true",)))


def missing_words(states: Sequence[str] | None) -> frozenset[str]:
    """Words that mean a missing value, where no state has this name."""
    return MISSING_WORDS - set(states or ())


def exact_numbers(states: Sequence[str], *, whole: bool) -> dict[Any, int]:
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


def codes_of(names: Sequence[str], states: Sequence[str], *, of: str | None = None, in_rows: bool = True) -> Codes:
    """Codes of state names (of a variable), -1 for ""; refuses names that are not states without showing them."""
    code = {name: n for n, name in enumerate(states)} | {"": -1}
    codes = np.fromiter((code.get(name, -2) for name in names), dtype=np.int64, count=len(names))
    unknown = np.flatnonzero(codes == -2)
    if unknown.size:
        raise unknown_states(
            unknown.size, len(codes), states, of=of, first_row=int(unknown[0]) + 1 if in_rows else None
        )
    return codes


def unknown_states(
    unknown: int, values: int, states: Sequence[str], *, of: str | None = None, first_row: int | None = None
) -> DataError:
    """Values that are not states: how many, and where the first is."""
    return DataError(
        "every value must be one of the belief's states" + ("" if of is None else f" for {of!r}"),
        got=f"{unknown} unknown of {values}"
        + ("" if first_row is None else f", the first in row {first_row} (not counting a header)"),
        why="the guarantee only covers the states in the belief",
        fix=_levels_of(states)
        or f"Clean the column, or add the state to the belief. Its states: {', '.join(states[:20])}"
        + (", ..." if len(states) > 20 else ""),
    )


def _levels_of(states: Sequence[str]) -> str:
    """How numbers become the belief's states, if those are levels named by their edges."""
    edges = edges_in(states)
    return f"Group the numbers into the belief's levels: bins='{','.join(edges)}'" if edges else ""


def edges_in(states: Sequence[str]) -> list[str] | None:
    """The edges that levels are named by; None if states are no levels."""
    named = [re.fullmatch(r"<(\S+)|\S+\.\.(\S+)|>=\S+", state) for state in states]
    return None if None in named else [one[1] or one[2] or "" for one in named[:-1] if one is not None]


def _level_names(edges: Sequence[str]) -> list[str]:
    return [f"<{edges[0]}", *(f"{low}..{high}" for low, high in pairwise(edges)), f">={edges[-1]}"]


def is_missing(value: object) -> bool:
    """None, "" and NaN."""
    return value is None or value == "" or value != value  # NaN alone differs from itself


def name_of(value: object) -> str:
    """A value as the name of a state: 1.0 is 1."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def natural(name: str) -> tuple[int, float, str]:
    """Sorts numbers by value, before text."""
    try:
        return (0, float(name), name)
    except ValueError:
        return (1, 0.0, name)


def recode_of(given: Mapping[Any, Any] | Recode) -> Recode:
    """As a user gives it: values and states by name.

    >>> recode_of({1: "sleep", "2": "sit", "?": None})
    (('1', 'sleep'), ('2', 'sit'), ('?', None))
    """
    pairs = list(given.items()) if isinstance(given, Mapping) else list(given)
    named = {name_of(value): None if state is None else name_of(state) for value, state in pairs}
    plain = str | int | float | None
    if not named or len(named) < len(pairs) or not all(isinstance(one, plain) for pair in pairs for one in pair):
        got = "no pairs" if not pairs else "a value twice" if len(named) < len(pairs) else "something else than names"
        raise ParameterError("recode must name a state for each of some values", got=got, fix=FORM)
    for state in named.values():
        if state is not None:
            check_name(state, "a state", error=ParameterError)
    if "" in named.values():
        raise ParameterError(
            "recode must name states that are not empty", got="an empty one", fix="null marks a missing value"
        )
    return tuple(sorted(named.items()))


def check_targets(recode: Recode, states: Sequence[str] | None, *, numbers: bool) -> None:
    """States that values become must be states of the belief; numbers, where the belief is about numbers."""
    for value, state in recode:
        if state is None:
            if states is not None and value in states:
                raise DataError(
                    "a state of the belief cannot be recoded to missing",
                    got=repr(value),
                    why="how many values are missing, and where, is public: it would tell exactly how often the state "
                    "occurs",
                    fix="Give it a state of its own, or join it with another one",
                )
            continue
        if numbers:
            try:
                float(state)
            except ValueError:
                raise DataError(
                    "recode must lead to numbers here", got=repr(state), why="the values are read as numbers"
                ) from None
        elif states is not None and state not in states:
            raise DataError(
                "recode must lead to states of the belief",
                got=repr(state),
                fix=did_you_mean(state, states, f"Its states: {', '.join(states[:20])}"),
            )


def read_mapping(source: str | Path, what: str, columns: tuple[str, str] = ("value", "state")) -> dict[str, str | None]:
    """Names and what each stands for: from a JSON, TOML or CSV file, or written out as A=1,B=2.

    ``columns`` are those of a CSV file: names, and what they stand for.

    >>> read_mapping("off=0,on=1.5", "state values")
    {'off': '0', 'on': '1.5'}
    """
    path, file = Path(source), f"file of {what} {source}"
    ending = path.suffix.lower()
    if ending not in (".json", ".toml", ".csv"):
        if "=" in str(source):
            return _pairs(str(source), what)
        raise ParameterError(
            f"the file of {what} must end in .json, .toml or .csv",
            got=repr(path.suffix or str(source)),
            fix="Or write it out: A=1,B=2",
        )
    text = read_text(path, f"file of {what}", error=ParameterError, encoding="utf-8-sig")
    if ending == ".csv":
        return _from_csv(text, file, columns)
    if ending == ".toml":
        try:
            content: Any = tomllib.loads(text)
        except (ValueError, RecursionError):
            raise ParameterError(f"{file} must be TOML", got="other text") from None
    else:
        content = parse_json(text, file, error=ParameterError, object_pairs_hook=lambda pairs: _once(pairs, what))
    if not isinstance(content, dict) or not all(isinstance(v, str | int | float | None) for v in content.values()):
        raise ParameterError(f"{file} must be one object of names", got="something else", fix=FORM)
    return {name: None if value is None else name_of(value) for name, value in content.items()}


def _pairs(text: str, what: str) -> dict[str, str | None]:
    pairs = [part.rpartition("=") for part in text.split(",")]
    if not all(name.strip() and value.strip() for name, _, value in pairs):
        raise ParameterError(f"{what} must be a file or A=1,B=2", got=repr(text))
    return _once([(name.strip(), value.strip()) for name, _, value in pairs], what)


def _once(pairs: Sequence[tuple[str, Any]], what: str) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ParameterError(f"{what} must name each once", got="one of them twice")
    return dict(pairs)


def _from_csv(text: str, what: str, columns: tuple[str, str]) -> dict[str, str | None]:
    lines = [line for line in csv.reader(io.StringIO(text)) if line]
    if not lines or tuple(name.strip().lower() for name in lines[0]) != columns or len(lines) < 2:
        raise ParameterError(
            f"{what} must have the columns {columns[0]} and {columns[1]}",
            got="another first line" if len(lines) > 1 else "no lines",
            fix=f"First line: {columns[0]},{columns[1]}",
        )
    if any(len(line) != 2 for line in lines):
        raise ParameterError(f"{what} must have two columns in every line", got="another number")
    return _once([(name.strip(), meant.strip() or None) for name, meant in lines[1:]], what)
