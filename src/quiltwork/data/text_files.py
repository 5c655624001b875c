"""Text files: what separates their columns, what their first line names, and why one cannot be read."""

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import narwhals as nw
import polars as pl

from quiltwork.beliefs.text import why_unread
from quiltwork.data.values import MISSING_WORDS
from quiltwork.errors import DataError, ParameterError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
"""What usually separates the columns of files with this ending."""
OTHERS = (",", ";", "\t", "|")
NAMED = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}
ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
LONGEST_LINE = 2**20  # bytes of a line that are looked at
LOOKED_AT = 256 * 2**20  # bytes in which text that is not UTF-8 is looked for
UNREAD = (OSError, EOFError, zlib.error, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What is raised where a file is damaged, or is not what its name says. The messages may quote the data."""
GZIP = b"\x1f\x8b"
NAME = re.compile(r"[^\W\d][\w .()/%°-]{0,39}")
DATE = re.compile(r"\d{1,4}[-/.: ]\d{1,2}")


def ending_of(file: str | Path) -> str:
    """How a file's name ends; of a compressed file with the ending before.

    >>> ending_of("logs/May.CSV.gz"), ending_of("diary.parquet")
    ('.csv.gz', '.parquet')
    """
    path = Path(str(file).lower())
    return "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix


def check_separator(separator: str) -> str:
    r"""One character, or the name of one.

    >>> check_separator("tab"), check_separator(";")
    ('\t', ';')
    """
    found = NAMED.get(separator.lower(), separator)
    if len(found) != 1 or not found.isascii() or found.isalnum() or found in '"\n\r':
        raise ParameterError(
            "separator must be one character", got=repr(separator), fix="For example ';', '|', tab or comma"
        )
    return found


def separator_of(file: str, wanted: Sequence[str] = (), given: str | None = None) -> str:
    """What separates the columns of a text file: as given, as usual, or what splits its first line best.

    Where the usual separator finds the wanted columns, it is the one. Else the one that finds them, and else the one
    that makes the most columns.
    """
    usual = SEPARATORS[ending_of(file).removesuffix(".gz")]
    if given is not None:
        return check_separator(given)
    columns = {separator: header_of(file, separator) for separator in (usual, *OTHERS)}
    for separator, names in columns.items():
        if wanted and set(wanted) <= set(names):
            return separator
    return max(columns, key=lambda separator: len(columns[separator]))


def check_text(file: str) -> None:
    """Refuse a file whose first line is not in UTF-8, or holds all lines: its columns would have other names."""
    with suppress(*UNREAD):  # said by whoever reads it
        try:
            first = next(_lines(file), "")
        except UnicodeDecodeError as problem:
            raise unreadable(file, problem) from None
        if "\r" in first.rstrip("\r\n"):
            raise DataError(
                f"the lines of data file {file} must end in a newline",
                got="carriage returns alone",
                why="all of it would be one line",
                fix="Convert it: tr '\\r' '\\n' < OLD > NEW.csv",
            )


def header_of(file: str, separator: str) -> list[str]:
    """The columns that the first line names; none if it cannot be read, or is not on this machine."""
    if "://" in file:
        return []
    try:
        return next(filter(None, csv.reader(_lines(file), delimiter=separator)), [])
    except (*UNREAD, UnicodeDecodeError, csv.Error):
        return []


def are_names(columns: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether columns may be shown by name: a first line may be no header, and then it holds values.

    The user has named one of them (in any case), all are different, and each could be a name: it begins with a letter,
    is short, and is no date and no word for a missing value.

    >>> are_names(["person", "time", "what"], ["What", "when"]), are_names(["ann", "2024-01-01", "what"], ["what"])
    (True, False)
    >>> are_names(["ann", "ill"], ["what"])
    False
    """
    names = [name.strip() for name in columns]
    plain = all(NAME.fullmatch(name) and not DATE.search(name) and name not in MISSING_WORDS for name in names)
    known = {name.casefold() for name in names}
    return plain and len(known) == len(names) and not known.isdisjoint(name.strip().casefold() for name in wanted)


def too_many_fields(file: str, separator: str) -> DataError | None:
    """A row that has more fields than the first line; None if there is none."""
    try:
        rows = csv.reader(_lines(file), delimiter=separator)
        named = len(next(filter(None, rows), []))
        for row in rows:
            if len(row) > named:
                return DataError(
                    f"no row of data file {file} may have more fields than the first",
                    got=f"{len(row)} fields in line {rows.line_num:,}, {named} in the first",
                    why="it is not clear which column each of them belongs to",
                    fix="Put values with a separator in them in quotation marks",
                )
    except (*UNREAD, UnicodeDecodeError, csv.Error):
        return None
    return None


def _lines(file: str) -> Iterator[str]:
    """The lines of a text file, compressed or not."""
    with _opened(file) as opened:
        for line in iter(lambda: opened.readline(LONGEST_LINE), b""):
            yield line.decode("utf-8-sig")


def _opened(file: str) -> BinaryIO | gzip.GzipFile:
    """The bytes of a file as they were before it was compressed."""
    with Path(file).open("rb") as raw:
        compressed = raw.read(len(GZIP)) == GZIP
    return gzip.open(file) if compressed else Path(file).open("rb")


@contextmanager
def reading(source: object) -> Iterator[None]:
    """What a reader raises about a file or a table, in one line without values."""
    try:
        yield
    except (*UNREAD, nw.exceptions.NarwhalsError) as problem:
        raise unreadable(str(source) if isinstance(source, str | Path) else "the data", problem) from None


def unreadable(source: str, problem: Exception) -> DataError:
    """Why a data file cannot be read. A parser's message may quote the data: only the kind of failure is shown."""
    ending, fix = ending_of(source), None
    if isinstance(problem, OSError) and getattr(problem, "strerror", None):
        why, fix = why_unread(source, problem)
    elif ending not in ENDINGS:
        why = "it is not well-formed"
    elif ending == ".parquet":
        why = "it is not a well-formed parquet file"
        fix = "Check that it was written to the end, and that it is not another kind of file with this ending"
    else:
        why, fix = _what_is_wrong(source)
    return DataError(f"data file {source} cannot be read", why=why, fix=fix)


def _what_is_wrong(file: str) -> tuple[str, str]:
    """What can be seen of a text file without looking at its columns, and what to do about it."""
    decoder, looked_at = codecs.getincrementaldecoder("utf-8")(), 0
    try:
        with _opened(file) as opened:
            while looked_at < LOOKED_AT and (block := opened.read(2**20)):
                if not looked_at and block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                    return _other_encoding("UTF-16")
                decoder.decode(block)
                looked_at += len(block)
    except UnicodeDecodeError:
        return _other_encoding("WINDOWS-1252")
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return "it is damaged, or was not written to the end", "Copy or download it again"
    except OSError:
        pass
    why = f"it is not a well-formed {ending_of(file)[1:]} file"
    return why, "Look for a quotation mark that is never closed, and for lines with more columns than the first"


def _other_encoding(name: str) -> tuple[str, str]:
    return "its text is not in UTF-8", f"Save it as UTF-8, or convert it: iconv -f {name} -t UTF-8 OLD > NEW.csv"
