"""How the command writes: texts, tables, one JSON object, progress."""

import json
import os
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table

from quiltwork.errors import visible

SHOW_AFTER = 2.0
"""Seconds after which work shows that it is going on."""


class Terminal(Console):
    """A console that shows text as it is, and never obeys what names in it may say."""

    def __init__(self, *, stderr: bool = False):
        super().__init__(stderr=stderr, soft_wrap=True, highlight=False, markup=False, emoji=False)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print texts and tables. Remarks that cannot be written are given up, and cost no value."""
        try:
            super().print(*(visible(one) if isinstance(one, str) else one for one in objects), **options)
        except OSError:
            if not self.stderr:
                raise
            self.quiet = True
            give_up_output(sys.stderr)

    def on_broken_pipe(self) -> None:
        """Whoever read has gone. Remarks are given up; what that means for a result is for the caller to say."""
        self.quiet = self.stderr
        if not self.stderr:
            raise


out, err = Terminal(), Terminal(stderr=True)


def give_up_output(stream: TextIO | None = None) -> None:
    """Nothing more can be written to standard output, or to another stream: what is left in its buffer is dropped.

    Else it would end the program later.
    """
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object and nothing else; what terminals would obey is escaped."""
    print(json_line(content), flush=True)


def json_line(content: object) -> str:
    r"""JSON on one line, with characters that are not visible escaped as JSON has it.

    >>> print(json_line({"name": "sit \x9b \u202e ü"}))
    {"name": "sit \u009b \u202e ü"}
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    return "".join(
        part if visible(part) == part else json.dumps(part)[1:-1] for part in re.split(r"([^\x20-\x7e])", text)
    )


def table(rows: Sequence[Mapping[str, Any]], *, title: str | None = None, right: Collection[str] = ()) -> Table:
    """Rows of the same keys as a table without lines; columns of numbers, and those named, stand to the right."""
    drawn = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for name, value in rows[0].items():
        numeric = isinstance(value, int | float) or name in (
            *right,
            "noise scale",
            "±95 %",
            "× least",
            "ε together",
            "ε if other",
        )
        drawn.add_column(visible(name), justify="right" if numeric else "left", no_wrap=numeric, overflow="fold")
    for row in rows:
        drawn.add_row(*(cell(value) for value in row.values()))
    return drawn


def cell(value: object) -> str:
    """A value as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else visible(str(value))


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None] | None]:
    """A bar for work that takes long, on a terminal only; it moves where the work says how far it is."""
    if not (out.is_terminal and err.is_terminal):
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    bar = Progress(*columns, console=err, transient=True)
    task = bar.add_task(what, total=None)
    shown = threading.Timer(SHOW_AFTER, bar.start)
    shown.daemon = True
    shown.start()
    try:
        yield lambda done: bar.update(task, total=1.0, completed=done)
    finally:
        shown.cancel()
        shown.join()
        bar.stop()
