"""What is public about the data of a release: where they came from, how many rows, from when to when, how read."""

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import PurePath, PureWindowsPath
from typing import Any

from quiltwork.data.reading import Reading
from quiltwork.types import Duration


@dataclass(frozen=True, kw_only=True)
class About:
    """Public facts about a table that was read: never a value of it.

    ``source`` is the file or the pattern of files, None for a table in memory. ``first`` and ``last`` are the earliest
    and the latest time in it, as text, ``step`` the usual time from a value to the next; None where there are no times.

    >>> from quiltwork import read_series
    >>> from quiltwork.samples import diary_path
    >>> about = read_series(diary_path(), column="activity", states=None, subject="person", time="time").about
    >>> about.source, about.rows, about.first, about.last, str(about.step)
    ('diary.parquet', 64512, '2024-03-04 00:00', '2024-03-31 23:45', '15min')
    """

    source: str | None
    rows: int
    first: str | None = None
    last: str | None = None
    step: Duration | None = None
    reading: Reading

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as ``release --json`` prints them."""
        return {
            "source": self.source,
            "rows": self.rows,
            "first": self.first,
            "last": self.last,
            "step": None if self.step is None else self.step.plain,
            "reading": self.reading.to_dict(),
        }


def source_name(*sources: object) -> str | None:
    """Files as they may be named in a report: relative paths as they are, of others the name without the folder.

    >>> source_name("/home/ann/diary.csv"), source_name("logs/*.parquet"), source_name([1, 2])
    ('diary.csv', 'logs/*.parquet', None)
    """
    names = [_name(source) for source in sources]
    return ", ".join(name for name in names if name is not None) if None not in names else None


def _name(source: object) -> str | None:
    if not isinstance(source, str | PathLike):
        return None
    text = str(fspath(source))
    for path in (PurePath(text), PureWindowsPath(text)):
        if path.is_absolute() or path.drive:
            return path.name or "data"
    return text
