"""Small text files from outside: regular, of bounded size, UTF-8."""

import json
import stat
from pathlib import Path
from typing import Any

from quiltwork.errors import InputError, nearest

MOST_BYTES = 64 * 2**20


def read_text(path: str | Path, what: str, *, error: type[InputError] = InputError, encoding: str = "utf-8") -> str:
    """The text of a file; pipes and devices, which may never end, are refused at once.

    >>> read_text("/dev/zero", "belief file")
    Traceback (most recent call last):
    quiltwork.errors.InputError: belief file /dev/zero must be a regular file, got a pipe or a device: it may never ...
    """
    path = Path(path)
    try:
        now = path.stat()
        if not stat.S_ISREG(now.st_mode) and not stat.S_ISDIR(now.st_mode):
            raise error(
                f"{what} {path} must be a regular file",
                got="a pipe or a device",
                why="it may never end",
                fix="Write it to a file first",
            )
        if now.st_size > MOST_BYTES:
            raise error(
                f"{what} {path} must have at most {MOST_BYTES // 2**20} MiB", got=f"{now.st_size / 2**20:,.0f} MiB"
            )
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode(encoding)
    except (OSError, UnicodeDecodeError, ValueError) as problem:
        why, fix = why_unread(path, problem)
        raise error(f"{what} {path} cannot be read", why=why, fix=fix) from problem


def why_unread(path: str | Path, problem: Exception) -> tuple[str, str]:
    """Why a file cannot be read, and what to do about it; names of files only, never what they hold.

    >>> why_unread("nowhere.csv", FileNotFoundError(2, "No such file or directory"))
    ('No such file or directory', 'Check the path')
    """
    path = Path(path)
    why = getattr(problem, "strerror", None) or "it is not text in UTF-8"
    if isinstance(problem, FileNotFoundError):
        return why, similar_file(path)
    if isinstance(problem, PermissionError):
        return why, "Ask its owner for permission to read it, or copy it to a place of your own"
    if isinstance(problem, IsADirectoryError):
        return "it is a folder", "Name a file in it"
    if isinstance(problem, UnicodeDecodeError):
        return why, f"Save it as UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8 {path.name} > new{path.suffix}"
    return why, "Check the path"


def why_unwritten(path: str | Path, problem: Exception) -> tuple[str, str]:
    """Why a file cannot be written, and what to do about it.

    >>> why_unwritten("new/belief.json", FileNotFoundError(2, "No such file or directory"))
    ('No such file or directory', 'Create its folder first: mkdir -p new')
    """
    path = Path(path)
    why = getattr(problem, "strerror", None) or "the system refused"
    if isinstance(problem, FileNotFoundError) and not path.parent.is_dir():
        return why, f"Create its folder first: mkdir -p {path.parent}"
    if isinstance(problem, FileExistsError | NotADirectoryError | IsADirectoryError):
        return why, "Choose a name that is not taken"
    return why, "Choose a place that you may write to"


def similar_file(path: str | Path) -> str:
    """Files of a similar name in the same folder, or the part of the path that is not there."""
    path = Path(path)
    try:
        if not path.parent.is_dir():
            return f"Check the path: there is no folder {path.parent}"
        near = nearest(path.name, sorted(file.name for file in path.parent.iterdir()))
    except OSError:
        near = None
    return "Check the path" if near is None else f"Did you mean {path.with_name(near)}?"


def parse_json(text: str, what: str, *, error: type[InputError] = InputError, **options: Any) -> Any:
    """The contents of a JSON text; a line of its own says what is wrong with it."""
    if not text.strip():
        raise error(f"{what} must be JSON", got="an empty file", fix="Check that it was written to the end")
    try:
        return json.loads(text, **options)
    except RecursionError as problem:
        raise error(f"{what} must not be nested so deeply") from problem
    except ValueError as problem:
        line = getattr(problem, "lineno", None)
        why = str(problem) if line is not None else "a number has too many digits"
        fix = "Look there for a comma, a quotation mark or a bracket that is missing or too many"
        raise error(f"{what} must be JSON", why=why, fix=fix if line is not None else None) from problem
