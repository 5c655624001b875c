"""Small text files from outside: regular, of bounded size, UTF-8."""

import json
import stat
from pathlib import Path
from typing import Any

from quiltwork.errors import InputError

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
        why = getattr(problem, "strerror", None) or "it is not text"
        raise error(f"{what} {path} cannot be read", why=why, fix="Check the path") from problem


def parse_json(text: str, what: str, *, error: type[InputError] = InputError, **options: Any) -> Any:
    """The contents of a JSON text; a line of its own says what is wrong with it."""
    try:
        return json.loads(text, **options)
    except RecursionError as problem:
        raise error(f"{what} must not be nested so deeply") from problem
    except ValueError as problem:
        line = getattr(problem, "lineno", None)
        why = str(problem) if line is not None else "a number has too many digits"
        raise error(f"{what} must be JSON", why=why) from problem
