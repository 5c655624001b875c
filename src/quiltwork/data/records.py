"""Data as records: one value for each variable of a network or a joint table, and independent records side by side."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quiltwork.beliefs import Believed, as_belief
from quiltwork.data.reading import About, Reading, source_name
from quiltwork.data.values import codes_of, names_in, recode_of
from quiltwork.errors import DataError
from quiltwork.types import Codes

Variables = Mapping[str, tuple[str, ...]]
BY_NAME = Reading(layout="columns")  # a value for each variable, under its name


@dataclass(frozen=True)
class Records:
    """State codes of each variable of each record. Records are independent of each other, and each is protected.

    >>> flu = {"ann": ("no", "yes"), "bob": ("no", "yes")}
    >>> Records.from_rows([{"ann": "no", "bob": "yes"}, {"ann": "yes", "bob": "yes"}], variables=flu).codes.tolist()
    [[0, 1], [1, 1]]
    """

    variables: Variables
    codes: Codes
    reading: Reading = BY_NAME
    about: About | None = None
    """What is public about the table that they were read from; None for rows in memory."""

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, object]], *, variables: Variables) -> "Records":
        """One mapping of variables to states a record."""
        listed = list(rows)
        columns = {}
        for name in variables:
            if any(not isinstance(row, Mapping) for row in listed):
                raise DataError(
                    "every record must be a mapping of variables to states",
                    got="another kind of row",
                    fix="For example frame.to_dicts() of a polars frame",
                )
            if any(name not in row for row in listed):
                raise DataError("every record must have a value for each variable", got=f"one without {name!r}")
            columns[name] = ["" if row[name] is None else str(row[name]) for row in listed]
        return cls._coded(columns, variables)

    @classmethod
    def _coded(cls, columns: Mapping[str, list[str]], variables: Variables, *, in_rows: bool = True) -> "Records":
        coded = []
        for name, states in variables.items():
            codes = codes_of(columns[name], states, of=name, in_rows=in_rows)
            missing = int((codes < 0).sum())
            if missing:
                raise DataError(
                    f"variable {name!r} must have a value in every record",
                    got=f"{missing} missing",
                    why="a query asks it of every record",
                    fix="Fill them in, or leave these records out",
                )
            coded.append(codes)
        if not len(coded[0]):
            raise _no_record("none")
        return cls(dict(variables), np.stack(coded, axis=1))

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"Records({len(self)} records of {len(self.variables)} variables)"

    def counts(self) -> list[Codes]:
        """How often each variable has each of its states."""
        return [
            np.bincount(codes, minlength=len(s)) for codes, s in zip(self.codes.T, self.variables.values(), strict=True)
        ]


def read_records(
    source: object,
    *,
    belief: Believed,
    column: str | None = None,
    variable: str | None = None,
    subject: str | None = None,
    separator: str | None = None,
    recode: Mapping[Any, Any] | None = None,
) -> Records:
    """Read the records of a table: of a CSV, TSV or Parquet file, or of a polars, pandas, PyArrow or DuckDB table.

    Without ``column``, each row is a record and each variable a column of its name. With it, each row is one value:
    ``variable`` names the column that says of which variable (else they come in the belief's order), and ``subject``
    the column that says of which record (else there is one). ``separator`` and ``recode`` are those of
    :func:`quiltwork.read_series`; recode is about the values of every variable.

    >>> from quiltwork.samples import contagion_belief, households_path
    >>> read_records(households_path(), belief=contagion_belief())
    Records(250 records of 4 variables)
    """
    belief = as_belief(belief)
    variables = belief.variables
    if variables is None:
        raise DataError(
            "records need a belief about named variables", got=repr(belief), fix="read_series(...) reads series"
        )
    wanted = list(variables) if column is None else [name for name in (column, variable, subject) if name]
    if len(set(wanted)) < len(wanted):
        raise DataError("column, variable and subject must be different columns", got="one of them twice")
    import narwhals as nw  # it loads slowly, as polars does

    from quiltwork.data.rewritten import recoded
    from quiltwork.data.tables import as_table

    frame = as_table(source, wanted, ordered=column is not None and variable is None, separator=separator)
    if frame.height == 0:
        raise _no_record("no rows")
    names = None if recode is None else recode_of(recode)
    if names is not None:
        frame = recoded(nw.from_native(frame), list(variables) if column is None else [column], names).to_native()
    if column is None:
        values_of = {name: names_in(frame[name], states) for name, states in variables.items()}
        return _read(Records._coded(values_of, variables), source, frame.height, replace(BY_NAME, recode=names))
    owners = ["" for _ in range(frame.height)] if subject is None else names_in(frame[subject], None)
    values = names_in(frame[column], belief.states)
    named = _in_order(owners, list(variables)) if variable is None else names_in(frame[variable], tuple(variables))
    reading = Reading(layout="rows", column=column, variable=variable, subject=subject, recode=names)
    return _read(_from_long(owners, named, values, variables), source, frame.height, reading)


def _read(records: Records, source: object, rows: int, reading: Reading) -> Records:
    about = About(source=source_name(source), rows=rows, reading=reading)
    return replace(records, reading=reading, about=about)


def _in_order(owners: list[str], names: list[str]) -> list[str]:
    """The variable of each row, if the rows of each record come in the order of the variables."""
    wrong = sum(count != len(names) for count in Counter(owners).values())
    if wrong:
        raise DataError(
            f"every record must have {len(names)} rows, one per variable",
            got=f"{wrong} with another number",
            why="without a column of variables the rows are matched by their order",
            fix="Name the column with the variable: variable='V'",
        )
    rest = {owner: iter(names) for owner in owners}
    return [next(rest[owner]) for owner in owners]


def _from_long(owners: list[str], named: list[str], values: list[str], variables: Variables) -> Records:
    unknown = sum(name not in variables for name in named)
    if unknown:
        raise DataError(
            "every row must be about a variable of the belief",
            got=f"{unknown} about others",
            fix=f"Its variables: {', '.join(list(variables)[:20])}",
        )
    columns: dict[str, dict[str, str]] = {name: {} for name in variables}
    for owner, name, value in zip(owners, named, values, strict=True):
        if owner in columns[name]:
            raise DataError(
                "every record must have one value for each variable",
                got="two for one of them",
                fix="Name the column that identifies the record: subject='S'",
            )
        columns[name][owner] = value
    in_order = {name: [own.get(owner, "") for owner in dict.fromkeys(owners)] for name, own in columns.items()}
    return Records._coded(in_order, variables, in_rows=False)


def _no_record(got: str) -> DataError:
    return DataError("the data must have at least one record", got=got, why="there is nothing to count")
