"""Columns as they are read: values under other names, numbers with a decimal comma, a date and a time as one moment."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import polars as pl

from quiltwork.data.reading import Reading
from quiltwork.data.recode import REST, Recode
from quiltwork.data.tables import Frame, files_of, names_of, scan
from quiltwork.data.text_files import ENDINGS, ending_of, reading, separator_of
from quiltwork.data.values import MISSING_WORDS, name_of
from quiltwork.errors import DataError
from quiltwork.job import Decimal

COMMA = r"^\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*$"
DOT = r"^\s*[-+]?[\d.,]*\.[\d.,]*([eE][-+]?\d+)?\s*$"
GROUPED = r"^\s*[-+]?[1-9]\d{0,2},\d{3}\s*$"  # 1,234 may also be one thousand two hundred and thirty-four
SUBJECT = re.compile(
    r"(person|subject|user|household|patient|participant|resident|customer|client|device|meter|house|account"
    r"|member|worker|employee|driver|student|respondent)s?([ _-]?(id|no|nr|num|number|name|key))?|id|ids",
    re.IGNORECASE,
)


def time_parts(time: str | None, columns: Sequence[str]) -> list[str]:
    """The columns of which a time consists: one, or those of date and time of day, named as DATE,TIME.

    >>> time_parts("Date,Time", ["Date", "Time"]), time_parts("a,b", ["a,b"])
    (['Date', 'Time'], ['a,b'])
    """
    if time is None or time in columns or time.count(",") != 1:
        return [] if time is None else [time]
    return [part.strip() for part in time.split(",")]


def spare_subject(columns: Sequence[str], used: Sequence[str]) -> str | None:
    """A column that is not used, but whose name says that it tells subjects apart; its values are not looked at.

    >>> spare_subject(["t", "user_id", "what"], used=["t", "what"])
    'user_id'
    """
    return next((name for name in columns if name not in used and SUBJECT.fullmatch(name.strip())), None)


def moments(table: Frame, parts: Sequence[str], name: str | None) -> Frame:
    """With a date and a time of day as one moment of this name, missing where one of them is."""
    if len(parts) < 2 or name is None:
        return table
    kind = table.implementation
    if not (kind.is_polars() or kind.is_pandas_like() or kind.is_pyarrow()):
        raise DataError(
            "date and time are joined in files and tables in memory only",
            got=f"a table of {kind.name.lower()}",
            fix="Make them one timestamp in your query",
        )
    texts = []
    for part in parts:
        text = nw.col(part).cast(nw.String).str.strip_chars()
        texts.append(nw.when(text != "").then(text))
    rest = [column for column in table.collect_schema().names() if column not in parts]
    return table.with_columns(nw.concat_str(texts, separator=" ").alias(name)).select(*rest, name)


def rewritten(table: Frame, values: Sequence[str], time: str | None, reading: Reading) -> Frame:
    """With values under the names that they are recoded to, and with decimal points."""
    if reading.recode is not None:
        table = recoded(table, values, reading.recode)
    if reading.decimal != ".":
        schema = table.collect_schema()
        texts = [name for name in (*values, *([time] if time is not None else [])) if schema[name] == nw.String]
        strict = {name: name != time and reading.decimal == "," for name in texts}
        table = table.with_columns(*(_with_points(nw.col(name), strict=strict[name]).alias(name) for name in texts))
    return table


def _with_points(text: "nw.Expr", *, strict: bool) -> "nw.Expr":
    """Numbers with a decimal point; what has one already is no number, for it may stand between thousands."""
    pointed = nw.when(text.str.contains(COMMA)).then(text.str.replace_all(",", ".", literal=True)).otherwise(text)
    return nw.when(text.str.contains(DOT)).then(nw.lit("not a number")).otherwise(pointed) if strict else pointed


def decimal_of(
    source: object, column: str, *, given: Decimal | None, separator: str | None
) -> Decimal | Literal["auto"]:
    """What stands before the fraction of numbers: as given; else a comma only where nothing else can be meant.

    That is where semicolons separate columns, and commas stand in numbers that could not be thousands. Other numbers
    with commas are refused, so that a number means the same whatever the others are.
    """
    if given is not None or not isinstance(source, str | Path):
        return given or "."
    file = files_of(source)[0]
    if ending_of(file) == ".parquet" or ending_of(file) not in ENDINGS:
        return "."
    if separator_of(file, [column], separator) != ";" or column not in names_of(source, separator=";"):
        return "."
    text = pl.col(column)
    asked = {
        "commas": text.str.contains(COMMA),
        "points": text.str.contains(DOT),
        "grouped": text.str.contains(GROUPED),
    }
    with reading(source):
        rows = scan(source, [column], ";").select(**{name: found.sum() for name, found in asked.items()})
        facts = rows.collect(engine="streaming").row(0, named=True)
    if facts["commas"] and (facts["points"] or facts["grouped"] == facts["commas"]):
        raise DataError(
            f"column {column!r} has numbers that can be read in two ways",
            got="commas and points" if facts["points"] else "commas that may stand before thousands",
            why="1,234 may be a little more than one, or more than a thousand",
            fix="Say what stands before a fraction: decimal=',' or decimal='.'",
        )
    return "auto"


def recoded(table: Frame, columns: Sequence[str], recode: Recode) -> Frame:
    """With states in place of values, as text, in these columns."""
    schema = table.collect_schema()
    return table.with_columns(*(_state(nw.col(name), schema[name], recode).alias(name) for name in columns))


def _state(value: "nw.Expr", kind: Any, recode: Recode) -> "nw.Expr":
    known = {name: state or "" for name, state in recode}
    rest = known.pop(REST, None)
    if kind.is_numeric():
        text = _number_name(value, kind)
        known = {_plain_number(name): state for name, state in known.items()}
    elif kind in (nw.String, nw.Categorical, nw.Boolean) or kind == nw.Enum:
        text = value.cast(nw.String).str.strip_chars()
    else:
        return value  # refused where values are matched to states
    other = text
    if rest is not None:
        absent = text.is_null() | text.is_in(["", *sorted(MISSING_WORDS)])
        other = nw.when(absent).then(text).otherwise(nw.lit(rest))
    if not known:
        return other
    mapped = text.replace_strict(list(known), list(known.values()), default="", return_dtype=nw.String)
    return nw.when(text.is_in(list(known))).then(mapped).otherwise(other)


def _number_name(value: "nw.Expr", kind: Any) -> "nw.Expr":
    """A number as the name of a state: 1.0 is 1."""
    if kind.is_integer():
        return value.cast(nw.String)
    number = value.cast(nw.Float64)
    number = nw.when(~number.is_nan()).then(number)
    whole = (number == number.floor()) & (number.abs() < 2.0**53)
    return (
        nw.when(whole)
        .then(nw.when(whole).then(number).cast(nw.Int64).cast(nw.String))
        .otherwise(number.cast(nw.String))
    )


def _plain_number(name: str) -> str:
    try:
        return name_of(float(name))
    except ValueError:
        return name
