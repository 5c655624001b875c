"""A release as a file, or as text for another program: the ending of the name says which."""

import csv
import html
import io
import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiltwork.errors import InputError, ParameterError, visible
from quiltwork.releases.answer import PartAnswer, plus_minus
from quiltwork.releases.frame import FIRST_COLUMN, KEYS, frame_of, rows_of
from quiltwork.releases.result import Release
from quiltwork.view.terminal import json_line
from quiltwork.view.words import say

if TYPE_CHECKING:
    from quiltwork.fitting.outcome import BeliefCheck

ENDINGS = {".csv": "csv", ".parquet": "parquet", ".json": "json", ".md": "markdown", ".html": "html", ".htm": "html"}
BEGINNINGS = {"csv": f"{FIRST_COLUMN},", "markdown": f"| {FIRST_COLUMN} ", "html": "<!doctype"}
HEADINGS = {"next_state": "next state", "value": "released", "error_95": "±95 %", "noise_only": ""}
"""What people call the columns."""
_COMPUTED = re.compile(r"[=+\-@\t\r\n]")  # by a spreadsheet
NAMES = (FIRST_COLUMN, "part", *KEYS, "label")


def content(release: Release, form: str) -> bytes:
    """A release as CSV, Parquet or Markdown, or as the object that ``--json`` prints."""
    if form == "json":
        return f"{json_line(release.to_dict())}\n".encode()
    if form == "markdown":
        return as_markdown(release).encode()
    if form == "csv":
        return csv_of(row for _, row in rows_of(release)).encode()
    written = io.BytesIO()
    frame_of(release).write_parquet(written)
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
        lines.append(_line(_cell(answer, name, value) for name, value in row.items()))
    return "\n".join(lines) + "\n"


def _cell(answer: PartAnswer, name: str, value: Any) -> str:
    """A value of a row: names as they are, numbers rounded to how far off they may be."""
    if not isinstance(value, int | float):
        return "" if value is None else str(value)
    if name == "noise_only":
        return say("noise-only") if value else ""
    if name == "values":
        return f"{value:,}"
    if answer.pure_noise and name in ("value", "consistent"):
        return answer.range_of(value)
    return plus_minus(value) if name == "error_95" else answer.rounded(value)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(map(_escaped, cells)) + " |"


def _escaped(text: str) -> str:
    """Text that neither ends a cell nor becomes an element, a link or an image of a page."""
    kept = html.escape(visible(text).replace("\\", "\\\\"), quote=False)
    return re.sub(r"([|\[\]`*~]|(?<![^\W_])_|_(?![^\W_]))", r"\\\1", kept)


def check_file(path: str | Path, *others: str | Path, report: bool = False) -> Path:
    """A path that a release, or a report, can be written to, before anything is done; none of the others."""
    path = Path(path)
    what, endings = (f"report {path}", [".html", ".htm"]) if report else (f"{path}", list(ENDINGS))
    form = ENDINGS.get(path.suffix.lower())
    for other in others:
        with suppress(OSError, ValueError):
            if path.samefile(other):
                raise InputError(f"{what} must be a file of its own", got="one with another use")
    if path.suffix.lower() not in endings or form is None:
        raise InputError(
            f"{what} must end in {' or '.join([', '.join(endings[:-2])] * (not report) + ['.html'])}",
            got=repr(path.suffix),
            why="it is a page for a browser" if report else "the ending says what to write",
        )
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(
            f"{what} cannot be written",
            why="its folder does not exist or is not writable",
            fix=f"Create it first: mkdir -p {path.parent}; or choose a place that you may write to",
        )
    if path.is_file() and path.stat().st_size and not _written_before(path, form):
        raise InputError(
            f"{what} must not replace another kind of file",
            got="one that is no page" if report else "one that quiltwork did not write",
            fix="Choose another name",
        )
    if form == "html":
        import quiltwork.view.charts  # noqa: F401 - before anything is spent
        from quiltwork.view.charts.drawing import begin

        begin()  # it gets ready while the release is made
    return path


def _written_before(path: Path, form: str) -> bool:
    """Whether a file begins as those that are written here."""
    if form == "parquet":
        import polars as pl  # it loads slowly

        from quiltwork.data.text_files import UNREAD

        try:
            return next(iter(pl.read_parquet_schema(path)), None) == FIRST_COLUMN
        except UNREAD:
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
        from quiltwork.view.report import write_report  # pictures load slowly

        return write_report(path, release=release, check=check)
    try:
        path.write_bytes(content(release, form))
    except OSError as problem:
        raise InputError(f"{path} cannot be written", why=problem.strerror or "the system refused") from problem
    return path


def csv_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows with the same columns as CSV.

    >>> csv_of([{"state": "=1+1", "value": -3}, {"state": "-2", "value": None}])
    "state,value\\n'=1+1,-3\\n-2,\\n"
    """
    written, listed = io.StringIO(), list(rows)
    writer = csv.DictWriter(written, fieldnames=list(listed[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: plain_cell(value) for name, value in row.items()} for row in listed)
    return written.getvalue()


def plain_cell(value: Any) -> Any:
    """A value of a table for spreadsheets: an apostrophe before text that would be a formula; numbers as they are.

    >>> plain_cell("=HYPERLINK(0)"), plain_cell("@SUM"), plain_cell("-2.5"), plain_cell(-2.5), plain_cell("a=b")
    ("'=HYPERLINK(0)", "'@SUM", '-2.5', -2.5, 'a=b')
    """
    return f"'{value}" if isinstance(value, str) and _COMPUTED.match(value) and not _is_number(value) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "\t" not in text and "\r" not in text and "\n" not in text
