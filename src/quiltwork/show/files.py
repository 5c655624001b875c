"""A release as a file, or as text for another program: the ending of the name says which."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from quiltwork.errors import InputError, ParameterError, visible
from quiltwork.releases.frame import FIRST_COLUMN, KEYS, frame_of, rows_of
from quiltwork.releases.result import Release
from quiltwork.show.terminal import json_line

if TYPE_CHECKING:
    from quiltwork.fitting.check import BeliefCheck

ENDINGS = {".csv": "csv", ".parquet": "parquet", ".json": "json", ".md": "markdown", ".html": "html", ".htm": "html"}
BEGINNINGS = {"csv": f"{FIRST_COLUMN},", "markdown": f"| {FIRST_COLUMN} ", "html": "<!doctype"}
HEADINGS = {
    "next_state": "next state",
    "value": "released",
    "error_95": "±95 %",
    "consistent_error_95": "its ±95 %",
    "estimate_low": "from",
    "estimate_high": "to",
}
"""What people call the columns."""
NAMES = (FIRST_COLUMN, "part", *KEYS, "label")


def content(release: Release, form: str) -> bytes:
    """A release as CSV, Parquet or Markdown, or as the object that ``--json`` prints."""
    if form == "json":
        return f"{json_line(release.to_dict())}\n".encode()
    if form == "markdown":
        return as_markdown(release).encode()
    written, frame = BytesIO(), frame_of(release)
    if form == "csv":
        frame.write_csv(written)
    else:
        frame.write_parquet(written)
    return written.getvalue()


def as_markdown(release: Release) -> str:
    """A table for people: numbers are rounded to the noise."""
    lines: list[str] = []
    for answer, row in rows_of(release):
        if not lines:
            lines = [
                _line(HEADINGS.get(name, name) for name in row),
                _line("---" if name in NAMES else "---:" for name in row),
            ]
        cells = (
            f"{value:,}" if name == "values" else answer.rounded(value) if isinstance(value, int | float) else value
            for name, value in row.items()
        )
        lines.append(_line("" if value is None else str(value) for value in cells))
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(visible(cell).replace("\\", "\\\\").replace("|", "\\|") for cell in cells) + " |"


def check_file(path: str | Path, *others: str | Path) -> Path:
    """A path that a release can be written to, before anything is spent; none of the others."""
    path = Path(path)
    form = ENDINGS.get(path.suffix.lower())
    for other in others:
        with suppress(OSError, ValueError):
            if path.samefile(other):
                raise InputError(f"{path} must be a file of its own", got="one with another use")
    if form is None:
        raise InputError(
            f"{path} must end in {', '.join(list(ENDINGS)[:-2])} or .html",
            got=repr(path.suffix),
            why="the ending says what to write",
        )
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(f"{path} cannot be written", why="its folder does not exist or is not writable")
    if path.is_file() and path.stat().st_size and not _written_before(path, form):
        raise InputError(
            f"{path} must not replace another kind of file",
            got="one that quiltwork did not write",
            fix="Choose another name",
        )
    return path


def _written_before(path: Path, form: str) -> bool:
    """Whether a file begins as those that are written here."""
    if form == "parquet":
        import polars as pl  # it loads slowly

        try:
            return next(iter(pl.read_parquet_schema(path)), None) == FIRST_COLUMN
        except (OSError, pl.exceptions.PolarsError):
            return False
    if form == "json":
        with suppress(ValueError, OSError):
            return {"epsilon", "mechanism", "record"} <= set(json.loads(path.read_bytes()))
        return False
    begins = BEGINNINGS[form].encode()
    with path.open("rb") as file:
        return file.read(len(begins)).lower() == begins


def save(release: Release, path: str | Path, *, check: "BeliefCheck | None" = None) -> Path:
    """Write a release to a file: a table, a JSON object, or a report, which may show a check of the belief."""
    path = check_file(path)
    form = ENDINGS[path.suffix.lower()]
    if check is not None and form != "html":
        raise ParameterError("a check goes into a report", got=f"a file {path.suffix}", fix="FILE.html")
    if form == "html":
        from quiltwork.show.report import write_report  # pictures load slowly

        return write_report(path, release=release, check=check)
    try:
        path.write_bytes(content(release, form))
    except OSError as problem:
        raise InputError(f"{path} cannot be written", why=problem.strerror or "the system refused") from problem
    return path
