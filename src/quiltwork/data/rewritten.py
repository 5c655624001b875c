"""Columns as they are read: values under other names, decimal commas, several columns or people as one."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from quiltwork.data.reading import Reading, Sign
from quiltwork.data.tables import Frame, as_frame, as_polars, files_of, in_process, names_of, one_column, scan
from quiltwork.data.text_files import ENDINGS, ending_of, reading, separator_of
from quiltwork.data.values import MISSING_WORDS, REST, Recode, flags_by_name, name_of, natural
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
MOST_PEOPLE = 12


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
    _check_in_process(table, "date and time are joined", fix="Make them one timestamp in your query")
    return one_column(table, parts, name, " ")


def _check_in_process(table: Frame, what: str, *, fix: str) -> None:
    if not in_process(table):
        kind = table.implementation.name.lower()
        raise DataError(f"{what} in files and tables in memory only", got=f"a table of {kind}", fix=fix)


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


def recoded(table: Frame, columns: Sequence[str], recode: Recode) -> Frame:
    """With states in place of values, as text, in these columns."""
    schema = table.collect_schema()
    return table.with_columns(*(_state(nw.col(name), schema[name], recode).alias(name) for name in columns))


def _with_points(text: "nw.Expr", *, strict: bool) -> "nw.Expr":
    """Numbers with a decimal point; what has one already is no number, for it may stand between thousands."""
    pointed = nw.when(text.str.contains(COMMA)).then(text.str.replace_all(",", ".", literal=True)).otherwise(text)
    return nw.when(text.str.contains(DOT)).then(nw.lit("not a number")).otherwise(pointed) if strict else pointed


def decimal_of(source: object, column: str, *, given: Decimal | None, separator: str | None) -> Sign:
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
    asked = {"commas": COMMA, "points": DOT, "grouped": GROUPED}
    counts = {name: pl.col(column).str.contains(pattern).sum() for name, pattern in asked.items()}
    with reading(source):
        rows = scan(source, [column], ";").select(**counts)
        facts = rows.collect(engine="streaming").row(0, named=True)
    if facts["commas"] and (facts["points"] or facts["grouped"] == facts["commas"]):
        raise DataError(
            f"column {column!r} has numbers that can be read in two ways",
            got="commas and points" if facts["points"] else "commas that may stand before thousands",
            why="1,234 may be a little more than one, or more than a thousand",
            fix="Say what stands before a fraction: decimal=',' or decimal='.'",
        )
    return "auto"


def _state(value: "nw.Expr", kind: Any, recode: Recode) -> "nw.Expr":
    """The state in place of a value, as text."""
    known = {name: state or "" for name, state in recode}
    rest = known.pop(REST, None)
    if kind == nw.Boolean and not flags_by_name(list(known)):
        value, kind = value.cast(nw.Int64), nw.Int64()
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
    as_whole = nw.when(whole).then(number).cast(nw.Int64).cast(nw.String)
    return nw.when(whole).then(as_whole).otherwise(number.cast(nw.String))


def _plain_number(name: str) -> str:
    try:
        return name_of(float(name))
    except ValueError:
        return name


def by_person(
    source: object,
    *,
    who: str,
    column: str,
    time: str | None,
    subject: str | None = None,
    separator: str | None = None,
    expected: Sequence[str] = (),
) -> "pl.LazyFrame":
    """The same table with a column for each person (named in the column ``who``), and a row for each time.

    ``subject`` identifies a household, if there are several. Who has no row at some time is missing there. ``expected``
    are the people that a belief is about.

    >>> import polars as pl
    >>> flu = pl.DataFrame({"day": [1, 1, 2, 2], "who": ["ann", "bob"] * 2, "flu": ["well", "ill", "ill", "ill"]})
    >>> by_person(flu, who="who", column="flu", time="day").collect().rows()
    [(1, 'well', 'ill'), (2, 'ill', 'ill')]
    """
    if time is None:
        raise DataError("rows of several people need times", got="none", why="they say which rows belong together")
    keys = [time] if subject is None else [subject, time]
    at = time_parts(time, names_of(source, separator=separator, wanted=[who, column]))
    wanted = [*([] if subject is None else [subject]), *at, who, column]
    if len(set(wanted)) < len(wanted):
        raise DataError("the columns of person, value, time and subject must be different", got="one of them twice")
    table = moments(as_frame(source, wanted, separator=separator), at, time)
    _check_in_process(table, "rows of several people are joined", fix="Give each person a column of their own")
    rows = as_polars(table).with_columns(pl.col(who).cast(pl.String).str.strip_chars())
    with reading(source):
        counted = rows.group_by(who).agg(pl.len()).collect()
        repeated = rows.group_by(*keys, who).agg(pl.len()).filter(pl.col("len") > 1).limit(1).collect().height
    people = sorted((name for name in counted[who].to_list() if name), key=natural)
    if not 1 < len(people) <= MOST_PEOPLE:
        raise DataError(
            f"from 2 to {MOST_PEOPLE} people belong together",
            got=str(len(people)),
            why="the belief is about all combinations of their states",
            fix="Name the household with --subject if there are several",
        )
    absent = [name for name in expected if name not in people]
    if absent:
        raise DataError(
            f"{absent[0]!r}, whom the belief is about, must have rows",
            got=f"rows of {len(people)} others" if len(absent) == len(expected) else "none",
            fix=f"Column {who!r} must name people as the belief does",
        )
    if repeated:
        raise DataError("each person must have one row at each time", got="several")
    values = [pl.col(column).filter(pl.col(who) == name).first().alias(name) for name in people]
    return rows.group_by(*keys, maintain_order=True).agg(*values)
