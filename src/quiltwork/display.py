"""What the command prints: tables, bars, one JSON object, progress."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table

from quiltwork.plan import Plan
from quiltwork.release import Release

out = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
err = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object and nothing else."""
    print(json.dumps(content, ensure_ascii=False, allow_nan=False))


def print_plan(made: Plan) -> None:
    """Print a plan as a table."""
    rows: list[dict[str, Any]] = []
    for offer in made.offers:
        if offer.calibration is None:
            blank = {"noise scale": "-", "±95 %": "-", "× least": "-"}
            rows.append({"mechanism": offer.mechanism, **blank, "why": offer.refused})
            continue
        promise = "" if offer.calibration.guarantee != "none" else "NO GUARANTEE. "
        rows.append(
            {
                "mechanism": offer.mechanism,
                "noise scale": offer.noise_scale,
                "±95 %": offer.error_95,
                "× least": "" if (times := made.multiple(offer)) is None else f"{times:,.3g}",
                "why": promise + offer.calibration.reason.sentence(),
            }
        )
    span = "any length" if made.length is None else f"length {made.length:,}"
    out.print(table(rows, title=f"{made.query}, ε = {made.epsilon:g}, {span}"))
    if made.best is not None:
        out.print(f"Least noise with a guarantee: {made.best.mechanism}.")


def print_release(result: Release) -> None:
    """Print a release with bars, its accuracy and the reason for its noise."""
    error = result.error()
    widest = max(abs(n) for n in result.numbers) or 1
    rows = [
        {
            result.calibration.query: name,
            "released": number,
            "±95 %": error,
            "": "█" * round(24 * max(number, 0) / widest),
        }
        for name, number in zip(result.labels, result.numbers, strict=True)
    ]
    out.print(f"{result.subjects:,} series, {result.values:,} values in all.")
    out.print(table(rows))
    out.print(result.explain())


def table(rows: list[dict[str, Any]], *, title: str | None = None) -> Table:
    """Rows of the same keys as a table without lines."""
    drawn = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for name, value in rows[0].items():
        numeric = isinstance(value, int | float) or name in ("noise scale", "±95 %", "× least")
        drawn.add_column(name, justify="right" if numeric else "left", no_wrap=numeric, overflow="fold")
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
    return f"{value:,}" if isinstance(value, int) else str(value)


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None] | None]:
    """A bar for work of more than two seconds, on a terminal only."""
    if not err.is_terminal:
        yield None
        return
    from rich.progress import Progress

    begun = time.monotonic()
    with Progress(console=err, transient=True, disable=False) as bar:
        task = bar.add_task(what, total=1.0, visible=False)
        yield lambda done: bar.update(task, completed=done, visible=time.monotonic() - begun > 2)
