"""Text files: what separates their columns, what their first line names, and why one cannot be read."""

import codecs
import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

from quiltwork.beliefs.text import why_unread
from quiltwork.errors import DataError, ParameterError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
"""What usually separates the columns of files with this ending."""
OTHERS = (",", ";", "\t", "|")
NAMED = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}
ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
FIRST_LINE = 2**20  # bytes in which a first line must end
LOOKED_AT = 256 * 2**20  # bytes in which text that is not UTF-8 is looked for


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
    line = None if "://" in file else _first_line(file)
    if not line:
        return usual
    columns = {separator: _split(line, separator) for separator in (usual, *OTHERS)}
    for separator, names in columns.items():
        if wanted and set(wanted) <= set(names):
            return separator
    return max(columns, key=lambda separator: len(columns[separator]))


def check_encoding(file: str) -> None:
    """Refuse a file whose first line is not in UTF-8: its columns would have other names."""
    try:
        with gzip.open(file) if file.lower().endswith(".gz") else Path(file).open("rb") as opened:
            opened.readline(FIRST_LINE).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise unreadable(file, problem) from None
    except (OSError, EOFError):
        return  # said by whoever reads it


def header_of(file: str, separator: str) -> list[str]:
    """The columns that the first line names; none if it cannot be read."""
    line = None if "://" in file else _first_line(file)
    return _split(line, separator) if line else []


def _first_line(file: str) -> str | None:
    try:
        with gzip.open(file) if file.lower().endswith(".gz") else Path(file).open("rb") as opened:
            return opened.readline(FIRST_LINE).decode("utf-8-sig").rstrip("\r\n")
    except (OSError, EOFError, ValueError):
        return None  # said by whoever reads it


def _split(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []


def unreadable(source: str, problem: Exception) -> DataError:
    """Why a data file cannot be read. A parser's message may quote the data: only the kind of failure is shown."""
    ending = ending_of(source)
    if isinstance(problem, OSError) and getattr(problem, "strerror", None):
        why, fix = why_unread(source, problem)
        return DataError(f"data file {source} cannot be read", why=why, fix=fix)
    if ending not in ENDINGS:
        return DataError(f"data file {source} cannot be read", why="it is not well-formed")
    kind = ending[1:]
    if ending == ".parquet":
        fix = "Check that it was written to the end, and that it is not another kind of file with this ending"
        return DataError(f"data file {source} cannot be read", why="it is not a well-formed parquet file", fix=fix)
    encoding = _not_unicode(source)
    if encoding is not None:
        fix = f"Save it as UTF-8, or convert it: iconv -f {encoding} -t UTF-8 OLD > NEW.csv"
        return DataError(f"data file {source} cannot be read", why="its text is not in UTF-8", fix=fix)
    fix = "Look for a quotation mark that is never closed, and for lines with more columns than the first"
    return DataError(f"data file {source} cannot be read", why=f"it is not a well-formed {kind} file in UTF-8", fix=fix)


def _not_unicode(file: str) -> str | None:
    """A likely encoding of text that is not UTF-8; None if it is UTF-8."""
    decoder, looked_at = codecs.getincrementaldecoder("utf-8")(), 0
    try:
        with gzip.open(file) if file.lower().endswith(".gz") else Path(file).open("rb") as opened:
            while looked_at < LOOKED_AT and (block := opened.read(2**20)):
                if not looked_at and block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                    return "UTF-16"
                decoder.decode(block)
                looked_at += len(block)
    except UnicodeDecodeError:
        return "WINDOWS-1252"
    except (OSError, EOFError):
        return None
    return None
