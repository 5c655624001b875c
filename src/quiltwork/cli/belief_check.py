"""Commands that compare beliefs with data: whether one fits, and one for every n-th value."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quiltwork.cli.options import (
    HOW,
    MACHINE,
    AsJson,
    BeliefFile,
    BeliefOrJob,
    DataFile,
    RhythmName,
    believed,
    counted,
    job_of,
    job_options,
)
from quiltwork.errors import ParameterError
from quiltwork.job import Data, is_job
from quiltwork.view.terminal import out, print_json, progress, say_where, show, warn

if TYPE_CHECKING:
    from quiltwork import Belief, BeliefCheck
    from quiltwork.fitting.autocorrelation import Rhythm


@job_options("column", *HOW, *MACHINE)
def belief_check(
    belief: BeliefOrJob,
    data: DataFile,
    said: dict[str, Any],
    report: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Also write an HTML report with charts.")
    ] = None,
    rhythm: RhythmName = "auto",
    save: Annotated[
        bool, typer.Option("--save", help="Write the verdict into the belief file, with the date and the data's size.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check on public data whether a belief fits. Do not use the data you want to protect.

    A job file has the belief, and says how data are read.
    """
    from quiltwork.view.files import check_file

    job = job_of(belief, said, "belief")
    if report is not None:
        check_file(report, data, belief, report=True)
    held, file = believed(job), job.privacy.belief
    how = replace(job.data, path=data)
    if is_job(belief):
        check_public(data, job.data.path)
    check = checked(held, how, rhythm=rhythm)
    warn("check-public")
    if report is not None:
        from quiltwork.view.html import write_page
        from quiltwork.view.of_belief import check_page

        write_page(report, "belief check", check_page(check, held))
    if save:
        from quiltwork.beliefs.files import save_checked

        if not isinstance(file, str):
            raise ParameterError("a verdict is saved in a belief file", got="a belief that the job spells out")
        save_checked(file, check.checked(held))
    if as_json:
        print_json(check.to_dict() | ({} if report is None else {"report": str(report)}))
        return
    from quiltwork.view.of_belief import of_check

    show(of_check(check))
    if save:
        out.print(f"Saved in {file}: {check.checked(held).words}.")
    say_where(report)


def checked(held: "Belief", how: Data, *, rhythm: "Rhythm" = "auto") -> "BeliefCheck":
    """How a belief fits the public data of a file."""
    from quiltwork import check_belief
    from quiltwork.data.read import public_rows

    series = counted(public_rows, how, held)
    with progress("Checking"):
        return check_belief(held, series, rhythm=rhythm)


def check_public(public: str, protected: str | None) -> None:
    """Data to check a belief against are shown without noise: never the data that are to be protected."""
    same = protected is not None and Path(public) == Path(protected)
    with suppress(OSError, ValueError, TypeError):
        same = same or Path(public).samefile(str(protected))
    if same:
        raise ParameterError(
            "a belief must not be checked on the data that is to be protected",
            got="the same file twice",
            why="the report would show it without noise",
            fix="Use public data, or other people's data of the same kind",
        )


def belief_every(
    belief: BeliefFile,
    steps: Annotated[int, typer.Argument(metavar="N", help="Number of steps that become one.")],
    out_file: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.json", help="Write to this file instead of printing."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a belief for every N-th value from one for every value. For data with a longer step."""
    from quiltwork import load_belief, save_belief

    longer = load_belief(belief).every(steps)
    if out_file is not None:
        save_belief(longer, out_file)
    if as_json or out_file is None:
        print_json(longer.to_dict())
    else:
        step = "" if longer.step is None else f" in steps of {longer.step}"
        about = "a belief about numbers" if longer.real else f"{len(longer.states)} states"
        out.print(f"Wrote {out_file}: {about}{step}.")
