"""Results of the papers, computed again: a table, a CSV file, and a figure as SVG and PNG."""

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quiltwork.charts import Chart, to_png, to_svg
from quiltwork.errors import InputError, ParameterError
from quiltwork.reproduce.bayesian import bayesian_counterexamples
from quiltwork.reproduce.contagion import contagion

NAMES: dict[str, Callable[[], tuple[str, list[dict[str, Any]], list[str], Chart]]] = {
    "bayesian-counterexamples": bayesian_counterexamples,
    "contagion": contagion,
}


@dataclass(frozen=True)
class Reproduced:
    """One result: its table, what it shows, and the files written."""

    name: str
    title: str
    rows: list[dict[str, Any]]
    remarks: list[str]
    files: list[Path] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As ``quiltwork reproduce --json`` prints it."""
        return {
            "name": self.name,
            "title": self.title,
            "rows": self.rows,
            "remarks": self.remarks,
            "files": [str(file) for file in self.files],
        }


def reproduce(name: str, folder: str | Path) -> Reproduced:
    """Compute a result again and write its table and figure into a folder.

    >>> import tempfile
    >>> made = reproduce("bayesian-counterexamples", tempfile.mkdtemp())
    >>> sorted(file.suffix for file in made.files)
    ['.csv', '.png', '.svg']
    """
    if name not in NAMES:
        raise ParameterError("the result is not known", got=repr(name), fix=f"Known: {', '.join(NAMES)}")
    title, rows, remarks, chart = NAMES[name]()
    folder = Path(folder)
    files = [folder / f"{name}.{kind}" for kind in ("csv", "svg", "png")]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with files[0].open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        files[1].write_text(to_svg(chart), encoding="utf-8")
        files[2].write_bytes(to_png(chart))
    except OSError as problem:
        raise InputError(f"{folder} cannot be written", why=problem.strerror or "the system refused") from problem
    return Reproduced(name, title, rows, remarks, files)
