"""Results of the papers, computed again: a table, a CSV file, and a figure as SVG and PNG."""

import html
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quiltwork.beliefs import Belief
from quiltwork.beliefs.text import why_unwritten
from quiltwork.data import Series
from quiltwork.errors import InputError, ParameterError, did_you_mean
from quiltwork.papers.attack import attack
from quiltwork.papers.base import Effort, Found
from quiltwork.papers.noise import activity, binary_grid, contagion, figure_2, gap_counterexample
from quiltwork.papers.public_data import EXPECTED
from quiltwork.papers.real import real
from quiltwork.papers.sums import bayesian_counterexamples, parallel, sequential, theorem_3_4
from quiltwork.types import Progress
from quiltwork.view.charts.style import to_png, to_svg
from quiltwork.view.files import csv_of
from quiltwork.view.html import document

NAMES: dict[str, Callable[[Effort], Found]] = {
    "figure-2": figure_2,
    "theorem-3-4": theorem_3_4,
    "parallel": parallel,
    "sequential": sequential,
    "binary-grid": binary_grid,
    "bayesian-counterexamples": bayesian_counterexamples,
    "gap-counterexample": gap_counterexample,
    "activity": activity,
    "contagion": contagion,
    "attack": attack,
}
ON_PUBLIC_DATA: dict[str, Callable[[Effort, str | Path], Found]] = {"real": real}
"""Results on data that a user downloads; not part of all."""
LATER = ", on public data that you download.</p>"


@dataclass(frozen=True)
class Reproduced:
    """One result: its table, what it shows, and the files written."""

    name: str
    title: str
    rows: list[dict[str, Any]]
    remarks: list[str]
    files: list[Path] = field(default_factory=list)
    brief: list[dict[str, Any]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As ``quiltwork reproduce --json`` prints it."""
        return {
            "name": self.name,
            "title": self.title,
            "rows": self.rows,
            "remarks": self.remarks,
            "files": [str(file) for file in self.files],
        }


def reproduce(
    name: str,
    folder: str | Path,
    *,
    quick: bool = False,
    progress: Progress | None = None,
    series: Series | None = None,
    belief: Belief | None = None,
    data: str | Path | None = None,
) -> Reproduced:
    """Compute a result again and write its table and figure into a folder; ``quick`` with fewer points.

    ``series`` and ``belief`` are for ``activity``: your own in place of the sample diary. ``data`` is for ``real``: the
    folder with the public data that you downloaded.

    >>> import tempfile
    >>> made = reproduce("bayesian-counterexamples", tempfile.mkdtemp())
    >>> sorted(file.suffix for file in made.files)
    ['.csv', '.png', '.svg']
    """
    known = [*NAMES, *ON_PUBLIC_DATA]
    if name not in known:
        listed = f"Known: {', '.join(known)}, all"
        raise ParameterError("the result is not known", got=repr(name), fix=did_you_mean(name, known, listed))
    effort = Effort(quick, progress)
    if series is not None and name != "activity":
        raise ParameterError("your own data is only for activity", got=name)
    if name in ON_PUBLIC_DATA:
        result = ON_PUBLIC_DATA[name](effort, _downloaded(name, data))
    elif data is not None:
        raise ParameterError(f"a folder of public data is only for {', '.join(ON_PUBLIC_DATA)}", got=name)
    else:
        result = NAMES[name](effort) if series is None else activity(effort, series, belief)
    folder = Path(folder)
    table, svg, png = files = [folder / f"{name}.{kind}" for kind in ("csv", "svg", "png")]
    rows = result.rows
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        table.write_text(csv_of(rows), encoding="utf-8")
        svg.write_text(to_svg(result.chart), encoding="utf-8")
        png.write_bytes(to_png(result.chart))
    effort.done(1.0)
    return Reproduced(name, result.title, rows, result.remarks, files, result.brief)


def _downloaded(name: str, data: str | Path | None) -> str | Path:
    if data is not None:
        return data
    raise ParameterError(
        f"{name} needs a folder with public data",
        got="none",
        why="the data are not part of quiltwork: you download them once",
        fix=f"Give --data FOLDER with {EXPECTED}",
    )


def reproduce_all(folder: str | Path, *, quick: bool = False, progress: Progress | None = None) -> list[Reproduced]:
    """Every result that needs no data from elsewhere, and a page that shows them all."""
    results = []
    for n, name in enumerate(NAMES):
        results.append(reproduce(name, folder, quick=quick))
        if progress is not None:
            progress((n + 1) / len(NAMES))
    with _writing(Path(folder)):
        Path(folder, "index.html").write_text(_page(results), encoding="utf-8")
    return results


def _page(results: Sequence[Reproduced]) -> str:
    parts = []
    for result in results:
        _, svg_file, _ = result.files
        svg = svg_file.read_text(encoding="utf-8")
        said = "".join(f"<p>{html.escape(line)}</p>" for line in result.remarks)
        parts.append(
            f"<h2 id={result.name}>{html.escape(result.title)}</h2><figure>{svg}</figure>{said}"
            f"<p><code>quiltwork reproduce {result.name}</code>: <a href={result.name}.csv>table</a>, "
            f"<a href={result.name}.png>PNG</a></p>"
        )
    listed = "".join(f"<li><a href=#{result.name}>{html.escape(result.title)}</a></li>" for result in results)
    left = "".join(
        f"<p>Left out: <code>quiltwork reproduce {name} --data FOLDER</code>{LATER}" for name in ON_PUBLIC_DATA
    )
    heading = "<h1>Results, computed again</h1>"
    body = "\n".join([heading, f"<ul>{listed}</ul>", left, *parts])
    return document("Results of the papers, computed again", body)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        why, fix = why_unwritten(folder, problem)
        raise InputError(f"{folder} cannot be written", why=why, fix=fix) from problem
