"""The command that makes releases."""

import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from quiltwork.cli.options import (
    AsJson,
    DataFile,
    Delta,
    EpsilonValue,
    GapsName,
    GuaranteeName,
    HowToRead,
    KeyFile,
    NoiseName,
    QueryTexts,
    QuiltSize,
    SecretsText,
    SecretTimes,
    SpreadValue,
    StateValues,
    ValueColumn,
    VariableColumn,
    WhoName,
    WorkloadFile,
    asked_in,
    reads_data,
    secrets_of,
    segment_of,
)
from quiltwork.cli.repeat import given_command
from quiltwork.data.about import source_name
from quiltwork.errors import ParameterError, QuiltworkError, visible
from quiltwork.view.terminal import err, give_up_output, json_line, out, print_json, progress, show

PAGES = (".html", ".htm")
Form = Literal["table", "csv", "parquet", "json", "markdown"]

if TYPE_CHECKING:
    from quiltwork import Belief, BeliefCheck, Release
    from quiltwork.releases.prepared import Prepared


@reads_data
def release(
    context: typer.Context,
    data: DataFile,
    belief: Annotated[Path, typer.Option("--belief", metavar="B", help="Belief file (JSON or TOML).")],
    epsilon: EpsilonValue,
    how: HowToRead,
    query: QueryTexts = None,
    workload: WorkloadFile = None,
    state_values: StateValues = None,
    column: ValueColumn = None,
    variable: VariableColumn = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            metavar="M",
            help="Mechanism to use. Default: curve for series and networks, wasserstein for joint tables.",
        ),
    ] = None,
    segment: Annotated[
        str | None,
        typer.Option("--segment", metavar="A:B", help="Use only values A to B of each series, counted from 1."),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            metavar="W",
            help="One answer per window: day, hour, week, month, hour-of-day, weekday, or a number of values.",
        ),
    ] = None,
    by_subject: Annotated[
        bool, typer.Option("--by-subject", help="One answer per subject, published by name.")
    ] = False,
    gaps: GapsName = "dependent",
    delta: Delta = 0.0,
    noise: NoiseName = None,
    guarantee: GuaranteeName = "pufferfish",
    secrets: SecretsText = None,
    secret_times: SecretTimes = None,
    quilt_size: QuiltSize = None,
    ledger: Annotated[
        str | None,
        typer.Option("--ledger", metavar="URL", help="Charge the release to this ledger and its budget."),
    ] = None,
    key: KeyFile = None,
    who: WhoName = None,
    spread: SpreadValue = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Release answers that are noise only.")] = False,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Also write a file: .html for a report, .csv, .parquet or .md for a table, .json for everything. "
            "May be repeated.",
        ),
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(
            "--check",
            metavar="PUBLIC_DATA",
            help="Public data, in the same columns, to check the belief against. A report shows them without noise.",
        ),
    ] = None,
    despite_check: Annotated[
        bool, typer.Option("--despite-check", help="Release under a belief that its check refuted.")
    ] = False,
    form: Annotated[Form, typer.Option("--format", help="What to print. json is the same as --json.")] = "table",
    as_json: AsJson = False,
) -> None:
    """Release a statistic with noise that protects every value."""
    from quiltwork import Secrets, load_belief
    from quiltwork.calibration.request import Request
    from quiltwork.influence.delta import USUAL_DELTA
    from quiltwork.ledger import Ledger, read_key
    from quiltwork.releases.pipeline import prepare
    from quiltwork.session import written_down

    used: list[str | Path] = [data, belief, *([] if key is None else [key])]
    used += [] if ledger is None else [ledger.removeprefix("sqlite:///")]
    files = _checked(files or [], used)  # before anything is spent
    _check_public(check, data)
    form = _printed_as(form, as_json=as_json)
    if sys.stdout is None:
        raise ParameterError("the value needs somewhere to go", got="a standard output that is closed")
    if key is not None and ledger is None:
        raise ParameterError("a key is that of a ledger", got="--key without --ledger", fix="Name the ledger too")
    if who is not None and ledger is None:
        raise ParameterError(
            "a name can only be recorded in a ledger", got="--who without --ledger", fix="Add --ledger URL"
        )
    held = load_belief(belief)
    asked = asked_in(query, workload, state_values, held)
    times = None if segment is None else segment_of(segment)
    rows = how.rows(held, data, column=column, variable=variable, segment=times, gaps=gaps)
    fits = None if check is None else _compared(check, held, column, how)
    book = None if ledger is None else Ledger(ledger, key=None if key is None else read_key(key))
    apart = secrets_of(secrets, secret_times)
    if apart is None:
        apart = Secrets.all() if book is None else book.terms.secrets
    if book is not None:
        noise, delta = book.noise_and_delta(noise, delta)
    elif not delta and noise == "gaussian":
        delta = USUAL_DELTA
    with progress("Calibrating"):
        request = Request(
            query=asked,
            belief=held,
            epsilon=epsilon,
            mechanism=mechanism,
            delta=delta,
            noise=noise or ("best" if delta else "laplace"),
            guarantee=guarantee,
            secrets=apart,
            quilt_size=quilt_size,
            gaps=gaps,
            window=window,
            by_subject=by_subject,
            spread=spread,
            anyway=anyway,
            checked=None if fits is None else fits.checked(held),
            despite_check=despite_check,
            alone=ledger is None,
        )
        ready = prepare(rows, request)
    with progress("Counting"):
        answers = ready.answers()
        ready.check_worth(answers)
        warnings = ready.warnings(answers)
    for warning in warnings:
        err.print(f"warning: {warning}")
    result = ready.draw(answers) if book is None else ready.draw_within(book, written_down(who), answers)
    if result.about is not None and result.about.source is None:  # a table made from the file
        result = replace(result, about=replace(result.about, source=source_name(data)))
    _show(result, files, form)  # what was spent is shown, whatever becomes of the files
    for file in files:
        if _write(file, result, ready, fits, context) and form == "table":
            out.print(f"{'Report' if file.suffix.lower() in PAGES else 'Written'}: {file}")


def _checked(files: list[Path], used: "list[str | Path]") -> list[Path]:
    """Files that can be written, none of them twice."""
    if not files:
        return []
    from quiltwork.view.files import check_file

    return [check_file(file, *used) for file in dict.fromkeys(files)]


def _printed_as(form: Form, *, as_json: bool) -> Form:
    if as_json and form not in ("table", "json"):
        raise ParameterError("one form can be printed", got=f"--json and --format {form}", fix="Leave one of them out")
    if form == "parquet" and sys.stdout is not None and sys.stdout.isatty():
        raise ParameterError(
            "Parquet is not text", got="a terminal to print it to", fix="--out FILE.parquet, or redirect the output"
        )
    return "json" if as_json else form


def _show(result: "Release", files: list[Path], form: Form) -> None:
    """Print the value. It is spent: where standard output does not take it, standard error does."""
    from quiltwork.data.steps import NO_STEP
    from quiltwork.influence.delta import large_delta

    try:
        if NO_STEP in result.notes:
            err.print(f"warning: {NO_STEP}")
        if form == "json":
            report = next((file for file in files if file.suffix.lower() in PAGES), None)
            written = {} if report is None else {"report": str(report)}
            print_json(result.to_dict() | written | ({"files": list(map(str, files))} if files else {}))
        elif form != "table":
            from quiltwork.view.files import content

            if form == "parquet":
                sys.stdout.buffer.write(content(result, form))
            else:
                sys.stdout.write(content(result, form).decode())
            sys.stdout.flush()
        else:  # what was a warning is not said twice
            said = (NO_STEP, *large_delta(result.calibration.delta))
            from quiltwork.view.of_release import of_release

            show(of_release(replace(result, notes=tuple(note for note in result.notes if note not in said))))
    except (OSError, ValueError, AttributeError) as problem:
        give_up_output()
        if files and isinstance(problem, BrokenPipeError):
            return  # whoever read has gone with what was read; all of it is in the files
        why = getattr(problem, "strerror", None) or "it is closed"
        err.print(f"warning: the value cannot be written to standard output ({why}); here it is:")
        err.print(json_line(result.to_dict()))


def _write(
    path: Path, result: "Release", ready: "Prepared", fits: "BeliefCheck | None", context: typer.Context
) -> bool:
    """A file; the value is out already, so that one which fails is no more than a warning."""
    page = path.suffix.lower() in PAGES
    try:
        if page:
            from quiltwork.view.report import write_with_others

            with progress("Writing the report"):
                write_with_others(
                    path, release=result, request=ready.request, check=fits, command=given_command(context)
                )
        else:
            result.save(path)
    except Exception as problem:
        why = str(problem) if isinstance(problem, QuiltworkError) else type(problem).__name__
        what = "the report" if page else visible(str(path))
        err.print(f"warning: {what} could not be written ({why.rstrip('.')}). The value above was released.")
        return False
    return True


def _check_public(check: str | None, data: str) -> None:
    """Data to check a belief against is shown without noise: never the data that is to be protected."""
    if check is None:
        return
    same = Path(check) == Path(data)
    with suppress(OSError, ValueError):
        same = same or Path(check).samefile(data)
    if same:
        raise ParameterError(
            "a belief must not be checked on the data that is to be protected",
            got="the same file twice",
            why="the report would show it without noise",
            fix="--check with public data, or other people's data of the same kind",
        )


def _compared(check: str, held: "Belief", column: str | None, how: HowToRead) -> "BeliefCheck":
    """How the belief fits public data that is read in the same way."""
    from quiltwork.cli.belief_check import checked

    if held.variables is not None or column is None:
        raise ParameterError(
            "a belief is checked on series with a column of values",
            got="records" if held.variables is not None else "no --column",
            fix="Leave --check out",
        )
    return checked(held, check, column, how)
