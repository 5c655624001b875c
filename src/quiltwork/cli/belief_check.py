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
from quiltwork.show.output import err, out, print_json, progress, table

if TYPE_CHECKING:
    from quiltwork import Belief, BeliefCheck, GaussianCheck
    from quiltwork.fitting.autocorrelation import Rhythm
    from quiltwork.fitting.outcome import Followed, Remembered


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
    from quiltwork.show.page import check_report

    job = job_of(belief, said, "belief")
    if report is not None:
        check_report(report, data, belief)
    held, file = believed(job), job.privacy.belief
    how = replace(job.data, path=data)
    if is_job(belief):
        check_public(data, job.data.path)
    check = checked(held, how, rhythm=rhythm)
    err.print(
        "warning: do not check a belief on the data that you want to protect: the result shows that data without any "
        "noise. Use public data, or other people's data of the same kind."
    )
    if report is not None:
        from quiltwork.show.fit import write_check

        write_check(report, check=check, belief=held)
    if save:
        from quiltwork.beliefs.files import save_checked

        if not isinstance(file, str):
            raise ParameterError("a verdict is saved in a belief file", got="a belief that the job spells out")
        save_checked(file, check.checked(held))
    if as_json:
        print_json(check.to_dict() | ({} if report is None else {"report": str(report)}))
        return
    _print_check(check)
    if save:
        out.print(f"Saved in {file}: {check.checked(held).words}.")
    if report is not None:
        out.print(f"Report: {report}")


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


def _print_check(check: "BeliefCheck") -> None:
    from quiltwork import GaussianCheck
    from quiltwork.fitting.outcome import Followed
    from quiltwork.fitting.words import in_words
    from quiltwork.show.checks import other_lines

    out.print(f"{check.verdict}\n{check.remedy}\n")
    if isinstance(check, GaussianCheck):
        if check.lags:
            out.print(table(_correlations(check), title="Correlation, in the data and under the belief"))
        for line in [*other_lines(check), *check.notes]:
            out.print(line)
        return
    rows = [
        {
            "state": one.state,
            "after": one.after if isinstance(one, Followed) else one.state,
            "later": in_words(one.lag, check.step),
            "more likely than otherwise": f"{one.memory_data:.2f}",
            "between": "" if one.band is None else f"{one.band[0]:.2f} and {one.band[1]:.2f}",
            "belief": f"{one.memory_belief:.2f}",
            "": "too fast" if one.exceeds else "",
        }
        for one in _most_above(check)
    ]
    if rows:
        out.print(table(rows, title="Memory: where data are most above the belief"))
    levels = [
        {
            "state": one.state,
            "share in data": _percent(one.data),
            "between": f"{_percent(one.band[0])} and {_percent(one.band[1])}",
            "belief": _percent(one.belief),
            "": "differs" if one.differs else "",
        }
        for one in check.levels
    ]
    if levels:
        out.print(table(levels, title="Levels: part of the time in each state"))
    for line in [*other_lines(check), *check.notes]:
        out.print(line)


def _most_above(check: "BeliefCheck") -> "list[Remembered | Followed]":
    """Of each state the lags at which the belief falls most short, and the pairs of states that refute it."""
    widest: dict[str, Remembered] = {}
    for one in check.lags:
        if one.band is not None and (one.state not in widest or _above(one) > _above(widest[one.state])):
            widest[one.state] = one
    return [*widest.values(), *(pair for pair in check.pairs if pair.exceeds)]


def _above(one: "Remembered") -> tuple[bool, float]:
    return one.exceeds, one.memory_data - one.memory_belief


def _correlations(check: "GaussianCheck") -> list[dict[str, str]]:
    """At the first lag, at each third that is compared, and where the data contradict the belief."""
    from quiltwork.fitting.words import in_words

    return [
        {
            "after": in_words(one.lag, check.step),
            "data": f"{one.data:.2f}",
            "between": "" if one.band is None else f"{one.band[0]:.2f} and {one.band[1]:.2f}",
            "belief": f"{one.belief:.2f}",
            "": "too fast" if one.exceeds else "less" if getattr(one, "below", False) else "",
        }
        for n, one in enumerate(check.lags)
        if n % 3 == 0 or one.lag == check.lags[-1].lag
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


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
