"""Commands that check: exact losses, several releases together, adversaries who know values, the papers' results."""

import math
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quiltwork.cli.options import (
    AsJson,
    BeliefFile,
    DividedBy,
    Method,
    NoiseScale,
    QueryText,
    Seen,
    about,
    as_said,
    can_ask,
    counted,
    job_options,
    known_values,
    length_of,
    needed_length,
    query_of,
    secrets_of,
    whole_of,
)
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.job import Data, segment_of
from quiltwork.types import Guarantee, Noise
from quiltwork.view.terminal import err, out, print_json, progress, say_where, show

MOST_ROWS = 100

if TYPE_CHECKING:
    from quiltwork.auditor import Audit, Noisy
    from quiltwork.beliefs import Belief, Secrets
    from quiltwork.papers.reproduce import Reproduced
    from quiltwork.view.view import View

DrawnNoise = Annotated[
    Noise,
    typer.Option(
        "--noise",
        help="Laplace noise that keeps public totals, as release draws it; independent Laplace noise; or, with "
        "--delta, Gaussian noise.",
    ),
]


@job_options()
def audit(
    belief: BeliefFile,
    query: QueryText,
    noise_scale: Annotated[
        float,
        typer.Option(
            "--noise-scale",
            metavar="S",
            help="Scale of the Laplace noise on each number, or standard deviation of Gaussian noise.",
        ),
    ],
    length: Annotated[
        str | None, typer.Option("--length", metavar="N", help="Length of the series. Not for records.")
    ] = None,
    releases: Seen = 1,
    values: DividedBy = None,
    state_values: str | None = None,
    know: Annotated[
        list[str] | None,
        typer.Option("--know", metavar="POS=STATE", help="Value that the adversary knows; may be repeated."),
    ] = None,
    segment: Annotated[
        str | None, typer.Option("--segment", metavar="A:B", help="Query only values A to B, counted from 1.")
    ] = None,
    delta: Annotated[
        float, typer.Option("--delta", metavar="D", help="Find the smallest ε at this δ instead of the exact loss.")
    ] = 0.0,
    noise: DrawnNoise = "laplace-total",
    secrets: str | None = None,
    secret_times: str | None = None,
    report: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Plot the loss over time and the two densities.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the exact privacy loss of noise. Also shows where it is largest.

    With a δ it is the smallest ε that holds at it.
    """
    from quiltwork import load_belief
    from quiltwork.auditor import Noisy, audit as make_audit
    from quiltwork.auditor.exact import check_releases

    if releases < 1:
        raise ParameterError("releases must be at least 1", got=str(releases))
    check_releases(releases)
    held = load_belief(belief)
    asked, scale = whole_of(query_of(query, state_values, held), noise_scale, values)
    noisy = [Noisy(asked, scale, None if segment is None else segment_of(segment), noise)] * releases
    span = None if length is None else length_of(length)
    with progress("exact laws") as bar:
        apart = secrets_of(secrets, secret_times)
        known = known_values(know or [])
        found = make_audit(
            held, noisy, length=span, know=known, progress=bar, secrets=apart, delta=delta if delta else None
        )
    shown = _audited(held, noisy, span, found, apart, draw=report is not None)
    if report is not None:
        from quiltwork.view.html import write_page

        write_page(report, "audit", shown)
    if as_json:
        print_json(found.to_dict() | as_said(apart))
        return
    show(shown)
    say_where(report)


def _audited(
    belief: "Belief",
    noisy: "list[Noisy]",
    length: int | None,
    found: "Audit",
    secrets: "Secrets | None",
    *,
    draw: bool,
) -> "View":
    """What is said of an exact loss; with the two laws of the output where they are drawn and there is one number."""
    from quiltwork.auditor.exact import worst_densities
    from quiltwork.view.of_account import of_audit

    curves = None
    if draw and found.delta is None and not belief.real:
        with suppress(NotCoveredError):  # several numbers: no line to draw along
            curves = worst_densities(belief, noisy, found, length=length, secrets=secrets)
    held = belief.as_network(length) or belief
    return of_audit(found, about(secrets), belief=held, curves=curves)


@job_options()
def compose(
    belief: BeliefFile,
    releases: Annotated[Path, typer.Argument(metavar="RELEASES", help="JSON file with a list of releases.")],
    length: Annotated[
        str | None, typer.Option("--length", metavar="N", help="Length of the series, or any. Not for records.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option("--budget", metavar="E", help="Compare the total with this ε.")
    ] = None,
    delta: float = 0.0,
    guarantee: Guarantee = "pufferfish",
    secrets: str | None = None,
    secret_times: str | None = None,
    report: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Plot the privacy loss over time.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the total privacy loss of several releases. Names the theorem it uses."""
    from quiltwork import Accountant, load_belief
    from quiltwork.accounting.record import load_releases

    if budget is not None and not 0 < budget < math.inf:
        raise ParameterError("budget must be a positive, finite number", got=f"{budget:g}", why="it is an ε")
    records = load_releases(releases)
    held = load_belief(belief)
    apart, span = secrets_of(secrets, secret_times), needed_length(length, held)
    if apart is not None and held.variables is None:
        apart.check_length(span)
    accountant = Accountant(held, length=span, releases=records, guarantee=guarantee, secrets=apart, delta=delta)
    composed = accountant.composed()
    from quiltwork.view.of_account import of_composed

    shown = of_composed(composed, records, budget=budget, guarantee=guarantee, secrets=apart)
    if report is not None:
        from quiltwork.view.html import write_page

        write_page(report, "composition", shown)
    if as_json:
        left = {} if budget is None else {"budget": budget, "remaining": budget - composed.epsilon}
        print_json(composed.to_dict() | as_said(apart) | left | ({} if report is None else {"report": str(report)}))
        return
    show(shown)
    say_where(report)


@job_options()
def leakage(
    belief: BeliefFile,
    query: QueryText,
    noise_scale: NoiseScale,
    length: Annotated[
        str | None, typer.Option("--length", metavar="N", help="Length of the series, or any. Not for records.")
    ] = None,
    releases: Seen = 1,
    values: DividedBy = None,
    state_values: str | None = None,
    method: Annotated[
        Method | None,
        typer.Option("--method", help="Exact search, or a bound for chains and trees (default: exact where possible)."),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", help="Time limit for the exact search, in seconds.")
    ] = 60.0,
    secrets: str | None = None,
    secret_times: str | None = None,
    delta: float = 0.0,
    noise: DrawnNoise = "laplace-total",
    as_json: AsJson = False,
) -> None:
    """Compute the privacy loss to adversaries who know other values.

    This is the leakage of Bayesian differential privacy: the adversary may know any of the other values exactly.
    """
    from quiltwork import load_belief
    from quiltwork.accounting.leakage import bayesian_leakage

    held = load_belief(belief)
    asked, scale = whole_of(query_of(query, state_values, held), noise_scale, values)
    apart = secrets_of(secrets, secret_times)
    with progress("adversaries") as bar:
        found = bayesian_leakage(
            held,
            asked,
            noise_scale=scale,
            length=None if length is None else length_of(length),
            releases=releases,
            method=method,
            seconds=seconds,
            progress=bar,
            secrets=apart,
            noise=noise,
            delta=delta,
        )
    if as_json:
        print_json(found.to_dict() | as_said(apart) | ({"delta": delta, "noise": noise} if delta else {}))
        return
    for line in [*found.lines(), *about(apart)]:
        out.print(line)


def _ask_to_show(folder: Path) -> None:
    """Whether true shares of one's own data may be shown; refused where nobody can be asked."""
    shown = f"true shares of your own data, without noise, on the screen and in files in {folder}"
    if not can_ask():
        raise ParameterError(
            "your own data need your consent",
            got="no terminal to ask in, and no --yes",
            why=f"activity shows {shown}",
            fix="Add --yes if you may see and keep them; for numbers to publish, use quiltwork release",
        )
    if not typer.confirm(f"This shows {shown}. Go on?", err=True):
        err.print("Stopped. Nothing was read or shown.")
        raise typer.Abort


@job_options()
def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Result to recompute, or all. An unknown name lists them.")
    ],
    how: Data,
    folder: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Folder for tables and figures.")] = Path(
        "reproduced"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Compute fewer points, in less than a minute.")] = False,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="DATA",
            help="For activity: your own file instead of the sample diary. For real: the folder with the public data "
            "that you downloaded, aras_house1.csv.gz or DAY_1.txt to DAY_30.txt (ARAS), and "
            "household_power_consumption.txt (UCI).",
        ),
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", metavar="C", help="Column with the states in your data.")
    ] = None,
    belief: Annotated[Path | None, typer.Option("--belief", metavar="B", help="Belief file for your data.")] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --data: show true shares of your data without asking first.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Recompute results from the papers. Writes a CSV file and figures."""
    from quiltwork import load_belief
    from quiltwork.papers.reproduce import ON_PUBLIC_DATA, reproduce as recompute, reproduce_all

    downloaded = data if name in ON_PUBLIC_DATA else None
    if downloaded is None:
        _check_own_data(data, column, belief, yes=yes)
    elif column is not None or belief is not None or yes or how.said():
        raise ParameterError(f"{name} takes --data alone", got="other options for data", why="its files are known")
    held = None if belief is None else load_belief(belief)
    series = None
    if data is not None and name == "activity" and not yes:
        _ask_to_show(folder)
    if data is not None and column is not None and held is not None:
        from quiltwork.data.read import series_of

        series = counted(series_of, replace(how, path=data, column=column), held)
    elif how.said():
        raise ParameterError(
            "options for reading data need --data", got=f"--{next(iter(how.said())).replace(chr(95), chr(45))}"
        )
    with progress(f"Computing {name}") as report:
        if name == "all":
            made = reproduce_all(folder, quick=quick, progress=report)
        else:
            made = [recompute(name, folder, quick=quick, progress=report, series=series, belief=held, data=downloaded)]
    if as_json:
        results = [result.to_dict() for result in made]
        every = {"index": str(folder / "index.html"), "results": results, "left_out": list(ON_PUBLIC_DATA)}
        print_json(every if name == "all" else results[0])
        return
    for result in made:
        show(_reproduced(result))
    if name == "all":
        out.print(f"All of them: {folder / 'index.html'} (open it in a browser)")
        out.print(f"Left out: {', '.join(ON_PUBLIC_DATA)}, on public data that you download (--data FOLDER).")


def _check_own_data(data: str | None, column: str | None, belief: Path | None, *, yes: bool) -> None:
    if (data is None) != (column is None) or (data is None) != (belief is None):
        raise ParameterError("your own data needs --data, --column and --belief", got="only some of them")
    if yes and data is None:
        raise ParameterError("there is nothing to agree to", got="--yes without --data", fix="Leave it out")


def _reproduced(result: "Reproduced") -> "View":
    from quiltwork.view.view import Sentences, Table, View

    rows = Table(result.brief or result.rows, title=result.title, most=len(result.brief or ()) or MOST_ROWS)
    wrote = "Wrote " + ", ".join(str(file) for file in result.files) + "\n"
    return View("", blocks=[rows, Sentences([*result.remarks, wrote])])
