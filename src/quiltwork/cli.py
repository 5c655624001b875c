"""The command: a thin shell over the library. No mathematics here; heavy imports wait until they are needed."""

import io
import math
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer

from quiltwork._version import __version__
from quiltwork.display import cell, err, out, print_composed, print_json, print_plan, print_release, progress, table
from quiltwork.errors import NotCoveredError, ParameterError, QuiltworkError

app = typer.Typer(
    name="quiltwork",
    help="Private releases from correlated data.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
belief_app = typer.Typer(help="Make and look at belief files.", rich_markup_mode=None)
app.add_typer(belief_app, name="belief")


class MissingRule(StrEnum):
    """What to do with missing values."""

    REFUSE = "refuse"
    SPLIT = "split"


class GapsRule(StrEnum):
    """What a gap means."""

    DEPENDENT = "dependent"
    INDEPENDENT = "independent"


class MethodName(StrEnum):
    """How leakage is computed."""

    ENUMERATION = "enumeration"
    PROJECTIVE = "projective"


class GuaranteeName(StrEnum):
    """Which promise."""

    PUFFERFISH = "pufferfish"
    BAYESIAN = "bayesian"


BeliefFile = Annotated[Path, typer.Argument(metavar="BELIEF", help="A belief file, JSON or TOML.")]
DataFile = Annotated[Path, typer.Argument(metavar="DATA", help="A CSV, TSV or Parquet file.")]
ColumnName = Annotated[str, typer.Option("--column", metavar="C", help="The column with the states.")]
SubjectName = Annotated[
    str | None, typer.Option("--subject", metavar="S", help="The column that says whose row it is.")
]
TimeName = Annotated[
    str | None,
    typer.Option("--time", metavar="T", help="The column to sort by; else rows are in time order."),
]
QueryText = Annotated[
    str,
    typer.Option("--query", metavar="Q", help="count:STATE, histogram, frequencies, mean, sum or transitions."),
]
EpsilonValue = Annotated[
    float,
    typer.Option("--epsilon", metavar="E", help="How much may be told about one moment; smaller is safer."),
]
Missing = Annotated[MissingRule, typer.Option("--missing", help="Refuse missing values, or split the series at them.")]
Delta = Annotated[
    float, typer.Option("--delta", metavar="D", help="For wasserstein: the weaker promise (ε, δ) with this δ.")
]
Promised = Annotated[
    GuaranteeName,
    typer.Option("--guarantee", help="bayesian: also against adversaries who know any other values."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"quiltwork {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Private releases from correlated data."""


@app.command()
def plan(
    belief: BeliefFile,
    query: QueryText,
    length: Annotated[str, typer.Option("--length", metavar="N", help="Values of the longest series, or any.")],
    epsilon: EpsilonValue,
    values: Annotated[
        int | None,
        typer.Option("--values", metavar="N", help="Values of all series together, for frequencies and mean."),
    ] = None,
    mechanism: Annotated[
        list[str] | None, typer.Option("--mechanism", metavar="M", help="Only this one; may be repeated.")
    ] = None,
    delta: Delta = 0.0,
    releases: Annotated[
        int, typer.Option("--releases", metavar="K", help="Share ε over so many releases; shows the noise of each.")
    ] = 1,
    guarantee: Promised = GuaranteeName.PUFFERFISH,
    as_json: AsJson = False,
) -> None:
    """Show how much noise each mechanism would need. Sees no data, spends nothing."""
    from quiltwork import load_belief, parse_query
    from quiltwork import plan as make_plan

    made = make_plan(
        parse_query(query),
        belief=load_belief(belief),
        epsilon=epsilon,
        length=_length(length),
        values=values,
        delta=delta,
        mechanisms=mechanism,
        releases=releases,
        guarantee=_promise(guarantee),
    )
    if all(offer.refused for offer in made.offers):
        raise NotCoveredError(" ".join(offer.refused or "" for offer in made.offers).rstrip("."))
    if as_json:
        print_json(made.to_dict())
    else:
        print_plan(made)


@app.command()
def release(
    data: DataFile,
    column: ColumnName,
    belief: Annotated[Path, typer.Option("--belief", metavar="B", help="A belief file, JSON or TOML.")],
    query: QueryText,
    epsilon: EpsilonValue,
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", metavar="M", help="Another than the one with least noise.")
    ] = None,
    subject: SubjectName = None,
    time_column: TimeName = None,
    segment: Annotated[
        str | None,
        typer.Option("--segment", metavar="A:B", help="Only values A to B of each series, from 1."),
    ] = None,
    missing: Missing = MissingRule.REFUSE,
    gaps: Annotated[
        GapsRule,
        typer.Option("--gaps", help="Whether values before and after a gap may depend on each other."),
    ] = GapsRule.DEPENDENT,
    delta: Delta = 0.0,
    guarantee: Promised = GuaranteeName.PUFFERFISH,
    report: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Write a report to open in a browser.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Release a statistic with noise that hides every single value."""
    from quiltwork import load_belief, parse_query, read_series
    from quiltwork import plan as make_plan
    from quiltwork import release as make_release

    held, asked = load_belief(belief), parse_query(query)
    series = read_series(
        data,
        column=column,
        states=held.states,
        subject=subject,
        time=time_column,
        missing=_missing(missing),
        segment=None if segment is None else _segment(segment),
    )
    result = make_release(
        series,
        asked,
        belief=held,
        epsilon=epsilon,
        mechanism=mechanism,
        gaps="dependent" if gaps is GapsRule.DEPENDENT else "independent",
        delta=delta,
        guarantee=_promise(guarantee),
    )
    if report is not None:
        from quiltwork.report import write_report

        beside = make_plan(
            asked,
            belief=result.belief,
            epsilon=epsilon,
            length=result.calibration.length,
            values=result.values,
            guarantee=_promise(guarantee),
        )
        write_report(report, release=result, plan=beside)
    if as_json:
        print_json(result.to_dict() | ({} if report is None else {"report": str(report)}))
        return
    print_release(result)
    if report is not None:
        out.print(f"Report: {report}")


@app.command()
def audit(
    belief: BeliefFile,
    query: QueryText,
    noise_scale: Annotated[
        float, typer.Option("--noise-scale", metavar="S", help="The scale of the Laplace noise on each number.")
    ],
    length: Annotated[
        str | None, typer.Option("--length", metavar="N", help="Values of the series; not for a joint table.")
    ] = None,
    releases: Annotated[int, typer.Option("--releases", metavar="K", help="How many such releases are seen.")] = 1,
    know: Annotated[
        list[str] | None,
        typer.Option("--know", metavar="POS=STATE", help="A value the adversary knows; may be repeated."),
    ] = None,
    segment: Annotated[
        str | None, typer.Option("--segment", metavar="A:B", help="The query is about values A to B only.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Draw the loss along time and the two densities.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the exact loss of Laplace noise, and where it is attained."""
    from quiltwork import load_belief, parse_query
    from quiltwork.audit import Noisy
    from quiltwork.audit import audit as make_audit

    if releases < 1:
        raise ParameterError("releases must be at least 1", got=str(releases))
    held = load_belief(belief)
    noisy = [Noisy(parse_query(query), noise_scale, None if segment is None else _segment(segment))] * releases
    span = None if length is None else _length(length)
    with progress("exact laws") as bar:
        found = make_audit(held, noisy, length=span, know=_known(know or []), progress=bar)
    if report is not None:
        _draw_audit(report, held, noisy, span, found)
    if as_json:
        print_json(found.to_dict())
        return
    for line in found.lines():
        out.print(line)
    if report is not None:
        out.print(f"Report: {report}")


def _draw_audit(path: Path, belief: Any, noisy: list[Any], length: int | None, found: Any) -> None:
    from quiltwork.audit.auditor import worst_densities
    from quiltwork.report import density_chart, loss_chart, write_audit

    charts = [("The exact loss at each time: how much a result can tell about the value then.", loss_chart(found))]
    try:
        curves = worst_densities(belief, noisy, found, length=length)
    except NotCoveredError:
        curves = None  # several numbers: no line to draw along
    if curves is not None:
        charts.append(("The law of the output given each of the two values.", density_chart(*curves, found)))
    write_audit(path, found=found, lines=found.lines(), charts=charts)


@app.command()
def compose(
    belief: BeliefFile,
    releases: Annotated[Path, typer.Argument(metavar="RELEASES", help="A JSON list of releases.")],
    length: Annotated[str, typer.Option("--length", metavar="N", help="Values of the series, or any.")],
    budget: Annotated[
        float | None, typer.Option("--budget", metavar="E", help="Compare with this ε, and draw it.")
    ] = None,
    guarantee: Promised = GuaranteeName.PUFFERFISH,
    report: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Draw what is told along time.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what several releases tell together, and by which theorem."""
    from quiltwork import Accountant, load_belief
    from quiltwork.composition import load_releases

    if budget is not None and not 0 < budget < math.inf:
        raise ParameterError("budget must be a positive, finite number", got=f"{budget:g}", why="it is an ε")
    records = load_releases(releases)
    accountant = Accountant(load_belief(belief), length=_length(length), releases=records, promise=_promise(guarantee))
    composed = accountant.composed()
    if report is not None:
        from quiltwork.report import write_composed

        write_composed(report, composed=composed, records=records, budget=budget)
    if as_json:
        left = {} if budget is None else {"budget": budget, "remaining": budget - composed.epsilon}
        print_json(composed.to_dict() | left | ({} if report is None else {"report": str(report)}))
        return
    print_composed(composed, budget=budget)
    if report is not None:
        out.print(f"Report: {report}")


@app.command()
def leakage(
    belief: BeliefFile,
    query: QueryText,
    noise_scale: Annotated[
        float, typer.Option("--noise-scale", metavar="S", help="The scale of the Laplace noise on each number.")
    ],
    length: Annotated[
        str | None, typer.Option("--length", metavar="N", help="Values of the series, or any; not for a joint table.")
    ] = None,
    releases: Annotated[int, typer.Option("--releases", metavar="K", help="How many such releases are seen.")] = 1,
    method: Annotated[
        MethodName | None,
        typer.Option("--method", help="Exact, or a bound for chains; exact where possible if left out."),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", help="Stop an exact search after so long.")
    ] = 60.0,
    as_json: AsJson = False,
) -> None:
    """Compute how much releases tell an adversary who knows any other values (Bayesian differential privacy)."""
    from quiltwork import load_belief, parse_query
    from quiltwork.leakage import bayesian_leakage

    with progress("adversaries") as bar:
        found = bayesian_leakage(
            load_belief(belief),
            parse_query(query),
            noise_scale=noise_scale,
            length=None if length is None else _length(length),
            releases=releases,
            method=None if method is None else _method(method),
            seconds=seconds,
            progress=bar,
        )
    if as_json:
        print_json(found.to_dict())
        return
    for line in found.lines():
        out.print(line)


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help="bayesian-counterexamples.")],
    folder: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where tables and figures are written.")
    ] = Path("reproduced"),
    as_json: AsJson = False,
) -> None:
    """Recompute a result of the papers: a table, a CSV file and figures."""
    from quiltwork.reproduce import reproduce as recompute

    made = recompute(name, folder)
    if as_json:
        print_json(made.to_dict())
        return
    out.print(table(made.rows, title=made.title))
    for line in made.remarks:
        out.print(line)
    out.print("Wrote " + ", ".join(str(file) for file in made.files))


@belief_app.command("fit")
def belief_fit(
    data: DataFile,
    column: ColumnName,
    subject: SubjectName = None,
    time_column: TimeName = None,
    confidence: Annotated[
        float | None,
        typer.Option("--confidence", metavar="P", help="Bounds on each probability instead of one estimate."),
    ] = None,
    smoothing: Annotated[
        float, typer.Option("--smoothing", metavar="X", help="Added to each transition count of an estimate.")
    ] = 1.0,
    missing: Missing = MissingRule.REFUSE,
    out_file: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.json", help="Write the belief here instead of printing it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate a chain from data that is public, or that is not the data to protect."""
    from quiltwork import Belief, IntervalChain, MarkovChain, read_series, save_belief

    series = read_series(data, column=column, states=None, subject=subject, time=time_column, missing=_missing(missing))
    fitted: Belief
    if confidence is None:
        fitted = MarkovChain.from_counts(series.transitions(), smoothing=smoothing, states=series.states)
    else:
        fitted = IntervalChain.from_counts(series.transitions(), confidence=confidence, states=series.states)
    err.print(
        "warning: a belief must not come from the data it is to protect: it would tell about that data without any "
        "noise. Fit it on public data, or on other people's data of the same kind."
    )
    if out_file is not None:
        save_belief(fitted, out_file)
    if as_json or out_file is None:
        print_json(fitted.to_dict())
    else:
        out.print(f"Wrote {out_file}: {len(fitted.states)} states, from {series.size:,} values.")


@belief_app.command("show")
def belief_show(belief: BeliefFile, as_json: AsJson = False) -> None:
    """Show what a belief file says, and how fast values forget each other under it."""
    from quiltwork import load_belief
    from quiltwork.beliefs.summary import summarise

    summary = summarise(load_belief(belief))
    if as_json:
        print_json(summary)
        return
    for heading, content in summary.items():
        if isinstance(content, list) and content and isinstance(content[0], dict):
            out.print(table(content))
        elif not isinstance(content, list):
            out.print(f"{heading.replace('_', ' '):>14}  {cell(content)}")


@app.command()
def demo(
    report: Annotated[Path, typer.Option("--out", metavar="FILE.html", help="Where to write the report.")] = Path(
        "quiltwork-report.html"
    ),
    files: Annotated[
        Path | None,
        typer.Option("--files", metavar="FOLDER", help="Only copy the sample diary and its belief there."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Release a histogram of the sample diary, privately, and write a report."""
    from quiltwork import Histogram, read_series, save_belief
    from quiltwork import plan as make_plan
    from quiltwork import release as make_release
    from quiltwork.report import write_report
    from quiltwork.samples import diary_belief, diary_path

    if files is not None:
        files.mkdir(parents=True, exist_ok=True)
        names = {"diary": "diary.parquet", "belief": "belief.json", "stationary": "stationary.json"}
        copies = {name: files / file for name, file in names.items()}
        shutil.copyfile(diary_path(), copies["diary"])
        save_belief(diary_belief(), copies["belief"])
        save_belief(diary_belief().with_start("stationary"), copies["stationary"])
        if as_json:
            print_json({name: str(path) for name, path in copies.items()})
        else:
            out.print(f"Wrote {', '.join(map(str, copies.values()))}")
        return
    held = diary_belief()
    series = read_series(diary_path(), column="activity", states=held.states, subject="person", time="time")
    made = make_plan(Histogram(), belief=held, epsilon=1.0, length=series.longest)
    result = make_release(series, Histogram(), belief=held, epsilon=1.0)
    write_report(report, release=result, plan=made)
    if as_json:
        print_json(result.to_dict() | {"report": str(report)})
        return
    out.print(
        f"A simulated activity diary: {len(series.subjects)} people, {series.size:,} quarter hours, "
        f"{len(held.states)} activities.\n"
        "How much noise hides what anybody did in any one quarter hour, at ε = 1?\n"
    )
    print_plan(made)
    out.print("\nThe private histogram of quarter hours:\n")
    print_release(result)
    out.print(f"\nReport: {report} (open it in a browser)")


def _known(facts: list[str]) -> dict[str, str]:
    known = {}
    for fact in facts:
        place, equals, state = fact.partition("=")
        if not (place and equals and state):
            raise ParameterError("what is known must be POS=STATE", got=repr(fact), fix="--know 3=walk, say")
        if place in known:
            raise ParameterError("what is known must be said once", got=f"{place} twice")
        known[place] = state
    return known


def _promise(name: GuaranteeName) -> Literal["pufferfish", "bayesian"]:
    return "bayesian" if name is GuaranteeName.BAYESIAN else "pufferfish"


def _method(name: MethodName) -> Literal["enumeration", "projective"]:
    return "enumeration" if name is MethodName.ENUMERATION else "projective"


def _missing(rule: MissingRule) -> Literal["refuse", "split"]:
    return "split" if rule is MissingRule.SPLIT else "refuse"


def _length(text: str) -> int | None:
    if text.lower() == "any":
        return None
    try:
        return int(text)
    except ValueError:
        raise ParameterError(
            "length must be a whole number or any",
            got=repr(text),
            why="it counts the values of the longest series",
        ) from None


def _segment(text: str) -> tuple[int, int]:
    try:
        first, last = (int(part) for part in text.split(":"))
    except ValueError:
        raise ParameterError("segment must be A:B with whole numbers", got=repr(text), fix="1:96, say") from None
    return first, last


def main() -> NoReturn:
    """Run the command; every failure is one line on stderr and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ε gets a question mark, not a crash
    try:
        code = app(standalone_mode=False)
    except QuiltworkError as problem:
        err.print(f"error: {' '.join(str(problem).split())}")
        sys.exit(problem.exit_code)
    except typer.TyperException as problem:
        err.print(f"error: {problem.format_message().rstrip('.')}. See quiltwork --help.")
        sys.exit(2)
    except OSError as problem:
        err.print(f"error: {problem.filename or 'a file'} cannot be used: {problem.strerror}. Check the path.")
        sys.exit(2)
    except typer.Abort:
        sys.exit(130)
    sys.exit(code or 0)
