"""How the command writes: what a view says as text and tables, one JSON object, errors, progress."""

import json
import math
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from quiltwork.errors import visible
from quiltwork.view.view import Bar, Block, Chart, Code, Facts, Group, Sentences, Table, View, cell
from quiltwork.view.words import say

SHOW_AFTER = 2.0
"""Seconds after which work shows that it is going on."""
MOST_ROWS, MOST_COLUMNS = 100, 12
SHADES, NAME_WIDTH = " ░▒▓█", 10
BAR, SHORTEST_BAR, NARROW, BUDGET_BAR = 24, 6, 60, 40


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


def show(view: View, *, to: Terminal | None = None) -> None:
    """Print what a view says: verdicts first, then tables and sentences; a terminal draws no charts but heat maps."""
    console = to or out
    for line in (view.title, view.lead):
        if line:
            console.print(line)
    for verdict in view.verdicts:
        console.print(f"{verdict.level}: {verdict.sentence}" if verdict.level == "warning" else verdict.sentence)
    _show(view.blocks, console)


def warn(code: str, **numbers: Any) -> None:
    """Print a warning to standard error."""
    err.print(f"warning: {say(code, **numbers)}")


def say_where(report: Path | None) -> None:
    """Print where a report was written, if one was."""
    if report is not None:
        out.print(f"Report: {report}")


def _show(blocks: Sequence[Block], console: Terminal) -> None:
    for block in blocks:
        if isinstance(block, Group):
            if block.title and _says(block):
                console.print(f"\n{block.title}:")
            _show(block.blocks, console)
        elif isinstance(block, Table):
            _show_table(block, console)
        elif isinstance(block, Sentences):
            for text in block.texts:
                console.print(text)
        elif isinstance(block, Facts):
            width = max((len(what) for what, _ in block.known), default=0)
            for what, value in block.known:
                console.print(f"{what:>{width}}  {value.text if isinstance(value, Code) else value}")
        elif isinstance(block, Bar):
            full = round(BUDGET_BAR * min(1.0, sum(block.shares)))
            console.print(f"{'█' * full}{'░' * (BUDGET_BAR - full)} {block.text}")
        elif isinstance(block, Code):
            console.print(block.text)
        elif isinstance(block, Chart) and block.heat is not None:
            _show_heat(*block.heat, console=console)


def _says(group: Group) -> bool:
    """Whether there is anything in a group that a terminal shows."""
    return any(_says(block) if isinstance(block, Group) else not isinstance(block, Chart) for block in group.blocks)


def _show_table(shown: Table, console: Terminal) -> None:
    """In as many tables as the width needs if its cells are short, each with the first column."""
    if not shown.rows:
        return
    most, width = min(MOST_ROWS, shown.most), max(console.width, NARROW)
    rows = [{name: cell(value) for name, value in row.items()} for row in shown.rows[:most]]
    right = shown.right
    if shown.bars:
        rows = _with_bars(rows, shown.bars, width)
    numbers = all(name in right for name in shown.columns[1:] if name.strip())
    for n, part in enumerate(fitting(rows, width) if numbers else [rows]):
        drawn = RichTable(
            title=shown.title if shown.title and n == 0 else None,
            title_justify="left",
            header_style="bold",
            box=None,
            pad_edge=False,
        )
        for name in part[0]:
            numeric = name in right
            drawn.add_column(visible(name), justify="right" if numeric else "left", no_wrap=numeric, overflow="fold")
        for row in part:
            drawn.add_row(*(visible(text) for text in row.values()))
        console.print(drawn)
    if rest := shown.rest(most):
        console.print(rest)


def fitting(rows: Sequence[dict[str, str]], width: int) -> list[list[dict[str, str]]]:
    """The same rows in tables that are no wider than this, each with the first column.

    >>> [list(part[0]) for part in fitting([{"": "2024-03-04", "sit": "1", "walk": "2"}], 17)]
    [['', 'sit'], ['', 'walk']]
    """
    first, *others = rows[0]
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) + 2 for name in rows[0]}
    blocks: list[list[str]] = [[]]
    for name in others:
        used = widths[first] + sum(widths[one] for one in blocks[-1])
        if blocks[-1] and used + widths[name] > width:
            blocks.append([])
        blocks[-1].append(name)
    if len(blocks) > 1 and blocks[-1] == ["values"]:
        blocks.pop()  # not worth a table of its own
    return [[{name: row[name] for name in (first, *block)} for row in rows] for block in blocks]


def _with_bars(rows: list[dict[str, str]], numbers: Sequence[float], width: int) -> list[dict[str, str]]:
    """With a bar for each number, as long as the width allows."""
    used = sum(max(len(name), *(len(row[name]) for row in rows)) + 2 for name in rows[0])
    room, widest = min(BAR, width - used), max(abs(n) for n in numbers) or 1
    if room < SHORTEST_BAR:
        return rows
    return [row | {" ": "█" * round(room * max(n, 0) / widest)} for row, n in zip(rows, numbers, strict=False)]


def _show_heat(title: str, states: Sequence[str], shares: Sequence[Sequence[float]], *, console: Terminal) -> None:
    """How likely each state follows each: shades that survive a pipe, with colours on a terminal."""
    names = [name[:NAME_WIDTH] for name in states[:MOST_COLUMNS]]
    width, side = max(5, *map(len, names)) + 1, max(map(len, names))
    lines = [Text(" " * side + "".join(f"{visible(name):>{width}}" for name in names))]
    for name, row in zip(names, shares, strict=False):
        line = Text(f"{visible(name):>{side}}")
        for p in row[: len(names)]:
            shade = SHADES[min(len(SHADES) - 1, math.ceil(p * (len(SHADES) - 1)))]
            text = "·" if p == 0 else f"{shade}{p:.2f}"
            blue = f"rgb({round(255 - 208 * p)},{round(255 - 144 * p)},{round(255 - 76 * p)})"
            line.append(f"{text:>{width}}", style=f"{'white' if p > 0.5 else 'black'} on {blue}")
        lines.append(line)
    console.print(f"\n{title}:")
    for line in lines:
        console.print(line)
    if len(states) > len(names):
        console.print(say("more", count=len(states) - len(names)))


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
