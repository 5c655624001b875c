"""The report of a release, with what other mechanisms would have needed beside it."""

from pathlib import Path

from quiltwork.calibration.plan import plan
from quiltwork.queries import Query
from quiltwork.releases.result import Release
from quiltwork.show.pages import write_report


def write_with_others(path: Path, *, release: Release, query: Query, quilt_size: int | None = None) -> None:
    """Write the report; the other mechanisms are planned for the same answer, without the data."""
    made = release.calibration
    beside = plan(
        query,
        belief=release.belief,
        epsilon=made.epsilon,
        length=made.length,
        values=_values_behind(release),
        guarantee="bayesian" if made.guarantee == "bayesian" else "pufferfish",
        secrets=made.secrets,
        quilt_size=quilt_size,
    )
    write_report(path, release=release, plan=beside)


def _values_behind(release: Release) -> int:
    """How many values the answer is about, of the smallest part if there are several."""
    if release.belief.real:
        return min((part.values for part in release.parts), default=release.values)
    return release.divisor if release.divisor > 1 and release.calibration.steps is None else release.values
