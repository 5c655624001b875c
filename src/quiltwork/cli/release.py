"""The command that makes releases."""

import sys
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quiltwork.cli.belief_check import check_public, checked
from quiltwork.cli.options import (
    HOW,
    MACHINE,
    AsJson,
    DataOrJob,
    believed,
    counted,
    job_of,
    job_options,
    needed,
    questions_of,
)
from quiltwork.cli.repeat import given_command
from quiltwork.data.reading import source_name
from quiltwork.errors import ParameterError, QuiltworkError, visible
from quiltwork.job import Data, Format, Job
from quiltwork.view.terminal import err, give_up_output, json_line, out, print_json, progress, show

PAGES = (".html", ".htm")
JUST_NOW = 5.0  # seconds: a result that is kept for less may be about to be printed

if TYPE_CHECKING:
    from quiltwork import Belief, BeliefCheck, Ledger, Release
    from quiltwork.releases.keep import Kept
    from quiltwork.releases.prepared import Prepared
    from quiltwork.releases.run import Counted


@dataclass
class _Made:
    """A release, what it was prepared as, and by which name it is kept until somebody has taken it."""

    result: "Release"
    ready: "Prepared"
    name: str | None
    taken: bool = False


@job_options(
    *("belief", "epsilon", "ask", "workload", "state_values", "column", "variable", "mechanism", "segment", "window"),
    *("by_subject", "gaps", "delta", "noise", "guarantee", "secrets", "secret_times", "quilt_size", "ledger", "key"),
    *("who", "spread", "anyway", "files", "check", "despite_check", "form", *HOW, *MACHINE),
)
def release(context: typer.Context, data: DataOrJob, said: dict[str, Any], as_json: AsJson = False) -> None:
    """Release a statistic with noise that protects every value. A job file may ask for several."""
    job = job_of(data, said, "path")
    files = _checked(job)  # before anything is spent
    protected = needed(job.data, "path")
    if job.out.check is not None:
        check_public(job.out.check, protected)
    form = _printed_as(job.out.form, as_json=as_json)
    if sys.stdout is None:
        raise ParameterError("the value needs somewhere to go", got="a standard output that is closed")
    found, book, fits = _counted(job)
    kept = _kept(job)
    made = _delivered(job, found, book, files, form, kept)
    for number, one in enumerate(made, 1):
        for file in files:
            path = file.with_stem(f"{file.stem}-{number}") if len(made) > 1 else file
            if _write(path, one, fits, context):
                _take(one, kept)
                if form == "table":
                    out.print(f"{'Report' if path.suffix.lower() in PAGES else 'Written'}: {path}")
        if not one.taken and one.name is not None:
            err.print(f"The value is kept for a day: quiltwork kept {one.name}")


def _kept(job: Job) -> "Kept":
    """Where results are until somebody has them, sealed with the ledger's key if it has one."""
    from quiltwork.ledger import read_key
    from quiltwork.ledger.seal import key_of_environment
    from quiltwork.releases.keep import Kept

    said = job.privacy
    if said.ledger is None:
        return Kept()
    return Kept(key=key_of_environment() if said.key is None else read_key(Path(said.key)))


def _take(one: _Made, kept: "Kept") -> None:
    """What somebody has is kept no longer."""
    kept.remove(one.name)
    one.taken = True


def _not_taken() -> list[str]:
    """What is said of earlier results that nobody has taken: who was stopped could not say where they are."""
    from quiltwork.releases.keep import Kept

    kept = Kept()
    waiting = sum(kept.since(name) < time.time() - JUST_NOW for name in kept)
    said = "An earlier result was" if waiting == 1 else f"{waiting} earlier results were"
    return [f"{said} paid for and not taken. See quiltwork kept."] if waiting else []


def _delivered(
    job: Job,
    found: "list[Counted]",
    book: "Ledger | None",
    files: list[Path],
    form: Format,
    kept: "Kept",
) -> list[_Made]:
    """Charge, draw, keep and show one after the other. What was spent is shown, whatever becomes of the rest."""
    from quiltwork.session import written_down

    who, together = written_down(job.privacy.who), len(job.questions) > 1 and form == "json"
    made: list[_Made] = []
    try:
        for asked, one in zip(job.questions, found, strict=True):
            text = job.with_questions([asked]).shown().to_toml()
            result, name = _draw(job, one, book, who, kept, text)
            made.append(_Made(result, one.prepared, name))
            if not together and _show(result, files, form):
                _take(made[-1], kept)
    finally:
        whole = len(made) == len(job.questions)
        if together and made and _print_all([one.result for one in made], whole=whole):
            for shown in made:
                _take(shown, kept)
    return made


def _draw(
    job: Job, one: "Counted", book: "Ledger | None", who: dict[str, str], kept: "Kept", text: str
) -> "tuple[Release, str | None]":
    """A release, which is kept before it is shown, and the name that it is kept by."""
    names: list[str | None] = []

    def as_shown(result: "Release") -> "Release":
        if result.about is not None and result.about.source is None:  # a table made from the file
            result = replace(result, about=replace(result.about, source=source_name(str(job.data.path))))
        if result.ledger is not None and job.privacy.ledger is None:
            result = replace(result, ledger=result.ledger | {"address": "an account in memory"})
        return replace(result, job=text)

    def keep(result: "Release") -> Callable[[], None]:
        names.append(kept.put(as_shown(result).to_dict()))
        return lambda: kept.remove(names[0])

    result = one.release(book, who, keep=keep)
    return as_shown(result), names[0]


def _counted(job: Job) -> "tuple[list[Counted], Ledger | None, BeliefCheck | None]":
    """Everything that can be refused is refused here: nothing is drawn or spent."""
    from quiltwork.data.read import rows_of
    from quiltwork.releases.of_job import requests_of
    from quiltwork.releases.run import counted as counted_by

    held = believed(job)
    questions_of(job)
    fits = None if job.out.check is None else _compared(job.out.check, held, job.data)
    book = _ledger(job, held)
    found = counted_by(
        job,
        requests_of(job, held, ledger=book, checked=None if fits is None else fits.checked(held)),
        lambda segment: counted(rows_of, job.data, held, segment=segment),
        ledger=book,
        around=lambda step: nullcontext() if step == "Reading" else progress(step),
    )
    for warning in (*dict.fromkeys(text for one in found for text in one.warnings), *_not_taken()):
        err.print(f"warning: {warning}")
    return found, book, fits


def _ledger(job: Job, belief: "Belief") -> "Ledger | None":
    """The ledger of a job. Without one, several questions are counted in an account in memory."""
    from quiltwork.ledger import Ledger, read_key
    from quiltwork.releases.of_job import secrets_of

    said = job.privacy
    if said.ledger is not None:
        return Ledger(said.ledger, key=None if said.key is None else read_key(Path(said.key)))
    if len(job.questions) == 1 and said.budget is None:
        return None
    budget = sum(one.epsilon or 0.0 for one in job.questions) if said.budget is None else said.budget
    promised: dict[str, Any] = {"guarantee": said.guarantee, "secrets": secrets_of(job), "delta": said.delta}
    return Ledger.in_memory(belief=belief, budget=budget, **promised)


def _print_all(released: "list[Release]", *, whole: bool) -> bool:
    """All releases of a job as one object. Where a later one failed, its refusal is that object: these go beside it.

    Whether standard output took them.
    """
    content = {"releases": [result.to_dict() for result in released]}
    if whole:
        try:
            print_json(content)
            return True
        except (OSError, ValueError, AttributeError):
            give_up_output()
    err.print("warning: these were released before:" if not whole else "warning: the values:")
    err.print(json_line(content))
    return False


def _checked(job: Job) -> list[Path]:
    """Files that can be written, none of them twice, and none that the job reads."""
    if not job.out.written:
        return []
    from quiltwork.view.files import check_file

    said = job.privacy
    used = [job.data.path, said.belief, said.key, said.ledger and said.ledger.removeprefix("sqlite:///")]
    named = [one for one in used if isinstance(one, str)]
    return [check_file(Path(file), *named) for file in job.out.written]


def _printed_as(form: Format, *, as_json: bool) -> Format:
    if as_json and form not in ("table", "json"):
        raise ParameterError("one form can be printed", got=f"--json and --format {form}", fix="Leave one of them out")
    if form == "parquet" and sys.stdout is not None and sys.stdout.isatty():
        raise ParameterError(
            "Parquet is not text", got="a terminal to print it to", fix="--out FILE.parquet, or redirect the output"
        )
    return "json" if as_json else form


def _show(result: "Release", files: list[Path], form: Format) -> bool:
    """Print the value. It is spent: where standard output does not take it (False), standard error does."""
    from quiltwork.data.held import NO_STEP
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
            return False  # whoever read has gone with what was read; all of it is in the files
        why = getattr(problem, "strerror", None) or "it is closed"
        err.print(f"warning: the value cannot be written to standard output ({why}); here it is:")
        err.print(json_line(result.to_dict()))
        return False
    return True


def _write(path: Path, one: _Made, fits: "BeliefCheck | None", context: typer.Context) -> bool:
    """A file; the value is out already, so that one which fails is no more than a warning."""
    page = path.suffix.lower() in PAGES
    try:
        if page:
            from quiltwork.view.charts.drawing import PictureWarning
            from quiltwork.view.report import write_with_others

            with progress("Writing the report"), warnings.catch_warnings(record=True) as missing:
                warnings.simplefilter("always", PictureWarning)
                write_with_others(
                    path, release=one.result, request=one.ready.request, check=fits, command=given_command(context)
                )
            for text in dict.fromkeys(str(warning.message) for warning in missing):
                err.print(f"warning: {text}. The report says so in its place.")
        else:
            one.result.save(path)
    except Exception as problem:
        why = str(problem) if isinstance(problem, QuiltworkError) else type(problem).__name__
        what = "the report" if page else visible(str(path))
        err.print(f"warning: {what} could not be written ({why.rstrip('.')}). The value above was released.")
        return False
    return True


def _compared(check: str, held: "Belief", data: Data) -> "BeliefCheck":
    """How the belief fits public data that is read in the same way."""
    if held.variables is not None or data.column is None:
        raise ParameterError(
            "a belief is checked on series with a column of values",
            got="records" if held.variables is not None else "no --column",
            fix="Leave --check out",
        )
    return checked(held, replace(data, path=check))
