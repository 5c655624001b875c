"""The command that shows the main job on sample data."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiltwork.cli.options import AsJson
from quiltwork.errors import NotInstalledError
from quiltwork.view.terminal import err, out, print_json, show

if TYPE_CHECKING:
    from quiltwork import Plan, Release


def demo(
    report: Annotated[Path, typer.Option("--out", metavar="FILE.html", help="File for the report.")] = Path(
        "quiltwork-report.html"
    ),
    files: Annotated[
        Path | None,
        typer.Option("--files", metavar="FOLDER", help="Only copy the sample data and beliefs to this folder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Release a private histogram of the sample diary. Also writes a report."""
    if files is not None:
        _copy(files, as_json=as_json)
        return
    from quiltwork import Histogram, plan as make_plan, read_series, release as make_release
    from quiltwork.samples import diary_belief, diary_path

    err.print("Reading the sample diary ...")
    held = diary_belief()
    series = read_series(diary_path(), column="activity", states=held.states, subject="person", time="time")
    err.print("Comparing mechanisms ...")
    made = make_plan(Histogram(), belief=held, epsilon=1.0, length=series.longest)
    err.print("Releasing ...")
    result = make_release(series, Histogram(), belief=held, epsilon=1.0)
    from quiltwork.view.of_plan import compare_view
    from quiltwork.view.of_release import of_release

    missing = _report(report, result, made)
    if as_json:
        print_json(result.to_dict() | {"report": None if missing else str(report)})
        return
    out.print(
        f"A simulated activity diary: {series.subjects} people, {series.size:,} quarter hours, "
        f"{len(held.states)} activities.\n"
        "How much noise hides what anybody did in any one quarter hour, at ε = 1?\n"
    )
    show(compare_view(made))
    out.print("\nThe private histogram of quarter hours:\n")
    show(of_release(result))
    out.print(f"\nNo report: {missing}" if missing else f"\nReport: {report} (open it in a browser)")


def _report(path: Path, result: "Release", made: "Plan") -> str | None:
    """Write the report; if nothing is installed that draws, what to install."""
    try:
        import quiltwork.view.charts.style  # noqa: F401 - is there what draws?
    except NotInstalledError as problem:
        return str(problem)
    from quiltwork.view.report import write_report

    err.print("Drawing the report ...\n")
    write_report(path, release=result, plan=made, verify=False)
    return None


def _copy(folder: Path, *, as_json: bool) -> None:
    """The sample data and beliefs as files of one's own."""
    from quiltwork import save_belief
    from quiltwork.samples import contagion_belief, diary_belief, diary_path, households_path, power_belief, power_path

    folder.mkdir(parents=True, exist_ok=True)
    names = {
        "diary": "diary.parquet",
        "belief": "belief.json",
        "stationary": "stationary.json",
        "households": "households.csv",
        "household": "household.json",
        "power": "power.parquet",
        "measured": "power.json",
    }
    copies = {name: folder / file for name, file in names.items()}
    shutil.copyfile(diary_path(), copies["diary"])
    save_belief(diary_belief(), copies["belief"])
    save_belief(diary_belief().with_start("stationary"), copies["stationary"])
    shutil.copyfile(households_path(), copies["households"])
    save_belief(contagion_belief(), copies["household"])
    shutil.copyfile(power_path(), copies["power"])
    save_belief(power_belief(), copies["measured"])
    if as_json:
        print_json({name: str(path) for name, path in copies.items()})
    else:
        out.print(f"Wrote {', '.join(map(str, copies.values()))}")
