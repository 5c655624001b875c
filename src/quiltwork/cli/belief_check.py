"""Commands that compare beliefs with data: whether one fits, and one for every n-th value."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiltwork.cli.options import AsJson, BeliefFile, ColumnName, DataFile, HowToRead, RhythmName, reads_data
from quiltwork.errors import ParameterError
from quiltwork.view.terminal import out, print_json, progress, say_where, show, warn

if TYPE_CHECKING:
    from quiltwork import Belief, BeliefCheck, Series
    from quiltwork.fitting.autocorrelation import Rhythm


@reads_data
def belief_check(
    belief: BeliefFile,
    data: DataFile,
    column: ColumnName,
    how: HowToRead,
    report: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Also write an HTML report with charts.")
    ] = None,
    rhythm: RhythmName = "auto",
    save: Annotated[
        bool, typer.Option("--save", help="Write the verdict into the belief file, with the date and the data's size.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check on public data whether a belief fits. Do not use the data you want to protect."""
    from quiltwork import load_belief
    from quiltwork.view.files import check_file

    if report is not None:
        check_file(report, data, belief, report=True)
    held = load_belief(belief)
    if rhythm != "auto" and not held.real:
        raise ParameterError("--rhythm is for numbers", got="a belief about states", fix="Leave it out")
    check = checked(held, data, column, how, rhythm=rhythm)
    warn("check-public")
    if report is not None:
        from quiltwork.view.html import write_page
        from quiltwork.view.of_belief import check_page

        write_page(report, "belief check", check_page(check, held))
    if save:
        from quiltwork.beliefs.files import save_checked

        save_checked(belief, check.checked(held))
    if as_json:
        print_json(check.to_dict() | ({} if report is None else {"report": str(report)}))
        return
    from quiltwork.view.of_belief import of_check

    show(of_check(check))
    if save:
        out.print(f"Saved in {belief}: {check.checked(held).words}.")
    say_where(report)


def checked(held: "Belief", data: str, column: str, how: HowToRead, *, rhythm: "Rhythm" = "auto") -> "BeliefCheck":
    """How a belief fits the public data of a file."""
    from quiltwork import check_belief

    series = how.public(held, data, column=column)
    with progress("Checking"):
        return _check_numbers(held, series, rhythm) if held.real else check_belief(held, series)


def _check_numbers(held: "Belief", series: "Series", rhythm: "Rhythm") -> "BeliefCheck":
    from quiltwork import GaussianBelief, Measurements
    from quiltwork.fitting.gaussian_check import check_gaussian

    if not isinstance(held, GaussianBelief) or not isinstance(series, Measurements):
        raise ParameterError("real values need a Gaussian belief", got=repr(held))
    return check_gaussian(held, series, rhythm=rhythm)


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
