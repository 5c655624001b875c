"""What may be wrong with rows: said with how many there are, never with what they hold."""

from typing import TYPE_CHECKING

from quiltwork.data.engines.base import Columns
from quiltwork.data.reading import Reading, check_segment
from quiltwork.data.series import missing_values, no_values
from quiltwork.errors import DataError

if TYPE_CHECKING:
    import polars as pl


def check_facts(facts: "pl.DataFrame", columns: Columns, reading: Reading, states: int) -> tuple[int, int]:
    """Refuse rows that cannot be placed; how many rows there are, and how many values that are no states."""
    totals = {name: int(facts[name].sum() or 0) for name in facts.columns if name not in ("least", "most")}
    rows = int((facts["values"] * facts["people"]).sum()) + totals["missing"]
    if rows == 0 and reading.segment is None:
        raise no_values()
    for name, holes in ((columns.subject, totals["nobody"]), (columns.time, totals.get("untimed", 0))):
        if holes:
            raise DataError(
                f"column {name!r} must have a value in every row",
                got=f"{holes} missing" + (" or not finite" if name == columns.time else ""),
                why="a row without it cannot be placed",
            )
    if totals.get("unsorted") and reading.unsorted == "refuse":
        raise DataError(
            f"rows must be sorted by column {columns.time!r}",
            got=f"{totals['unsorted']} earlier than the row before",
            why="unexpected order often means the wrong file",
            fix=_whose(columns, "If times start again with each person, name the column that tells people apart")
            + "Else sort them: unsorted='sort'",
        )
    if totals.get("repeated"):
        raise DataError(
            f"column {columns.time!r} must not repeat a time within a subject",
            got=f"{totals['repeated']} repeated",
            why="the order of such rows is not known",
            fix=_whose(columns, "Name the subject column") + "Else keep one row per time: duplicates='drop'",
        )
    if totals.get("clash"):
        raise DataError(
            f"column {columns.time!r} must not repeat a time with a different value",
            got=f"{totals['clash']} times with different values",
            why="only rows with the same value can be dropped",
        )
    unknown = rows - totals["missing"] - sum(totals[f"c{i}"] for i in range(states))
    return rows, unknown


def _whose(columns: Columns, advice: str) -> str:
    """Where no subject was named, that one may be needed; which column seems to be it, by its name alone."""
    if columns.subject is not None:
        return ""
    named = "" if columns.spare is None else f", it seems to be subject='{columns.spare}'"
    return f"{advice} with subject={named}. "


def forgotten_subject(columns: Columns) -> str | None:
    """A note about a column that seems to say whose the values are, where all were taken as one series."""
    if columns.spare is None or columns.spare.strip().lower() in ("id", "ids"):  # rows may have numbers
        return None
    return (
        f"column {columns.spare!r} is not used, and all rows were read as one series. If it says whose the values are, "
        f"name it: subject='{columns.spare}'"
    )


def check_values(facts: "pl.DataFrame", reading: Reading) -> None:
    """Refuse missing values, segments beyond the series, and no values at all."""
    totals = {name: int(facts[name].sum() or 0) for name in ("missing", "reached") if name in facts}
    if totals["missing"] and reading.missing == "refuse":
        raise missing_values(totals["missing"])
    if reading.segment is not None and not totals["reached"]:
        check_segment(reading.segment, 0)  # no series is as long
    if not (facts["values"] > 0).any():
        raise no_values("missing ones only")
