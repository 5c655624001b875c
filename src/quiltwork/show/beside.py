"""The report of a release, with what other mechanisms would have needed beside it."""

from pathlib import Path

from quiltwork.calibration.plan import plan
from quiltwork.calibration.request import Request
from quiltwork.fitting.outcome import BeliefCheck
from quiltwork.releases.result import Release
from quiltwork.show.report import write_report


def write_with_others(
    path: Path, *, release: Release, request: Request, check: BeliefCheck | None = None, command: str | None = None
) -> None:
    """Write the report; the other mechanisms are planned for the same answer, without the data."""
    made = release.calibration
    beside = plan(
        request.query,
        belief=release.belief,
        epsilon=made.epsilon,
        length=made.length,
        values=_values_behind(release),
        guarantee="bayesian" if made.guarantee == "bayesian" else "pufferfish",
        secrets=made.secrets,
        quilt_size=request.quilt_size,
    )
    write_report(path, release=release, plan=beside, check=check, command=command)


def _values_behind(release: Release) -> int:
    """How many values the answer is about, of the smallest part if there are several."""
    if release.belief.real:
        return min((part.values for part in release.parts), default=release.values)
    return release.divisor if release.divisor > 1 and release.calibration.steps is None else release.values
