"""Public data that a user downloads: activities in a house (ARAS) and the power of a home (UCI), in two periods."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from quiltwork.data import Series, read_series
from quiltwork.data.text_files import UNREAD
from quiltwork.errors import DataError, InputError

GROUPS = {
    "sleep": [11, 16],
    "out": [2],
    "meals": [3, 4, 5, 6, 7, 8, 9, 10],
    "leisure": [12, 17, 18, 22, 23, 25, 26],
    "care": [14, 15, 20, 21, 27],
    "work": [1, 13, 19, 24],
}
"""The 27 activities of ARAS in six groups."""
QUARTER_HOUR = 900  # seconds
RESIDENTS = ("resident_1", "resident_2")
HOUSE_FILES = ("aras_house1.csv.gz", "aras_house1.csv")
DAY_FILES = "DAY_[0-9]*.txt"
SENSORS = 20  # columns of a DAY file before the two residents
POWER_FILES = ("household_power_consumption.txt", "household_power*.csv", "household_power*.csv.gz")
LEVELS = [1.0, 2.0, 3.0, 4.0]  # kW
EXPECTED = (
    "aras_house1.csv.gz (columns day, second, resident_1, resident_2) or DAY_1.txt to DAY_30.txt of an ARAS house; "
    "household_power_consumption.txt of UCI, or its first rows as household_power*.csv (columns Date, Time, "
    "Global_active_power)"
)
"""The files that a folder may hold, in words."""


@dataclass(frozen=True)
class Periods:
    """One series in two parts: a belief is fitted to the first, and the second is released."""

    name: str
    before: Series
    after: Series


def public_data(folder: str | Path, *, residents: int = 2) -> tuple[list[Periods], list[str]]:
    """All series that a folder has data for, and in words what was not found."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(
            "the data must be a folder",
            got=f"{folder}, which is {'a file' if folder.exists() else 'not there'}",
            why="real looks for files that you downloaded",
            fix=f"Put into one folder: {EXPECTED}",
        )
    found: list[Periods] = []
    missing = []
    house = _house_file(folder)
    if house is None:
        missing.append(f"Activities in a house were left out: no {HOUSE_FILES[0]} and no DAY_1.txt in {folder.name}.")
    else:
        found += [resident_periods(house, who) for who in RESIDENTS[:residents]]
    power = next((file for pattern in POWER_FILES for file in sorted(folder.glob(pattern))), None)
    if power is None:
        missing.append(f"Power of a home was left out: no {POWER_FILES[0]} and no {POWER_FILES[1]} in {folder.name}.")
    else:
        found.append(power_periods(power))
    if not found:
        raise DataError(
            f"{folder} has none of the files that real needs",
            got="no data of ARAS and none of UCI",
            why="they are public, and not part of quiltwork: you download them once",
            fix=f"Put into that folder: {EXPECTED}",
        )
    return found, missing


def _house_file(folder: Path) -> Path | None:
    for name in HOUSE_FILES:
        if (folder / name).is_file():
            return folder / name
    return folder if any(folder.glob(DAY_FILES)) else None


def resident_periods(source: Path, resident: str = RESIDENTS[0]) -> Periods:
    """A resident of an ARAS house by the quarter hour: the earlier half of the days, and the later.

    ``source`` is a table with the columns day, second, resident_1 and resident_2, or the folder of DAY files.
    """
    table = _from_days(source) if source.is_dir() else _from_table(source)
    days = sorted(set(table["day"].to_list()))
    if len(days) < 2:
        raise DataError("two periods need at least two days", got=f"{len(days)}", fix="Add more DAY files")
    group = {code: name for name, codes in GROUPS.items() for code in codes}
    moment = pl.datetime(2024, 3, 3) + pl.duration(days=pl.col("day"), seconds=pl.col("second"))
    named = pl.col(resident).replace_strict(group, default=None, return_dtype=pl.String)
    table = table.select("day", time=moment, activity=named).sort("time")
    last = days[(len(days) - 1) // 2]
    before, after = (
        read_series(part, column="activity", states=list(GROUPS), time="time", missing="split", gap="15min")
        for part in (table.filter(pl.col("day") <= last), table.filter(pl.col("day") > last))
    )
    return Periods(resident.replace("_", " "), before, after)


def _from_table(source: Path) -> pl.DataFrame:
    with _reading(source):
        rows = pl.read_csv(source, columns=["day", "second", *RESIDENTS])
    return rows.filter(pl.col("second") % QUARTER_HOUR == 0)


def _from_days(folder: Path) -> pl.DataFrame:
    """The files DAY_1.txt, DAY_2.txt, ...: a row each second, 20 sensors and the activities of two residents."""
    numbers = {file: file.stem.removeprefix("DAY_") for file in folder.glob(DAY_FILES)}
    return pl.concat([_from_day(file, int(number)) for file, number in numbers.items() if number.isdecimal()])


def _from_day(file: Path, number: int) -> pl.DataFrame:
    columns = [SENSORS, SENSORS + 1]
    with _reading(file):
        rows = pl.read_csv(file, separator=" ", has_header=False, columns=columns)
        rows.columns = list(RESIDENTS)
    rows = rows.with_row_index("second").with_columns(pl.col("second").cast(pl.Int64), day=pl.lit(number, pl.Int64))
    return rows.gather_every(QUARTER_HOUR).select("day", "second", *RESIDENTS)


def power_periods(source: Path) -> Periods:
    """The power of a home by the minute in five levels: the earlier half of the rows, and the later."""
    columns = ["Date", "Time", "Global_active_power"]
    with _reading(source):
        table = pl.read_csv(source, separator=";", columns=columns, null_values="?")
    half = table.height // 2
    before, after = (
        read_series(
            part,
            column="Global_active_power",
            states=None,
            time="Date,Time",
            date_format="dd/mm/yyyy",
            missing="split",
            gap="1min",
            bins=LEVELS,
        )
        for part in (table.slice(0, half), table.slice(half))
    )
    return Periods("power", before, after)


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    try:
        yield
    except (*UNREAD, ValueError):  # whose messages may quote the data
        raise DataError(
            f"data file {file.name} cannot be read",
            got="other columns, or another form",
            why="real knows the files as they were published",
            fix=f"It takes {EXPECTED}",
        ) from None
