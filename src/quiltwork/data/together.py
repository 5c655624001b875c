"""People who influence each other, with a row each: their rows at one time become one row with a column each."""

from collections.abc import Sequence

import narwhals as nw
import polars as pl

from quiltwork.data.read import _as_polars
from quiltwork.data.rewritten import moments, time_parts
from quiltwork.data.tables import as_frame, names_of
from quiltwork.data.text_files import reading
from quiltwork.data.values import natural
from quiltwork.errors import DataError

MOST_PEOPLE = 12


def by_person(
    source: object,
    *,
    who: str,
    column: str,
    time: str | None,
    subject: str | None = None,
    separator: str | None = None,
    expected: Sequence[str] | None = None,
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
    kind = table.implementation
    if not (kind.is_polars() or kind.is_pandas_like() or kind.is_pyarrow()):
        raise DataError(
            "rows of several people are joined in files and tables in memory only",
            got=f"a table of {kind.name.lower()}",
            fix="Give each person a column of their own",
        )
    rows = _as_polars(nw.from_native(table)).with_columns(pl.col(who).cast(pl.String).str.strip_chars())
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
    absent = [name for name in expected or () if name not in people]
    if absent:
        raise DataError(
            f"{absent[0]!r}, whom the belief is about, must have rows",
            got=f"rows of {len(people)} others" if len(absent) == len(expected or ()) else "none",
            fix=f"Column {who!r} must name people as the belief does",
        )
    if repeated:
        raise DataError("each person must have one row at each time", got="several")
    values = [pl.col(column).filter(pl.col(who) == name).first().alias(name) for name in people]
    return rows.group_by(*keys, maintain_order=True).agg(*values)
