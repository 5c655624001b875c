"""What a reproduced result is made of."""

from dataclasses import dataclass
from typing import Any

from quiltwork.types import Progress
from quiltwork.view.charts.style import Chart


@dataclass(frozen=True)
class Found:
    """A result: its table, what it shows, and its picture; ``brief`` is the table as it fits on a screen."""

    title: str
    rows: list[dict[str, Any]]
    remarks: list[str]
    chart: Chart
    brief: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class Effort:
    """How thoroughly to compute: ``quick`` for a minute's version with fewer points; and whom to tell how far it is."""

    quick: bool = False
    progress: Progress | None = None

    def done(self, share: float) -> None:
        """Say how far the work is."""
        if self.progress is not None:
            self.progress(share)
