"""What a worker does: one function for each request, from plain values to the objects that ``--json`` prints."""

import base64
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from quiltwork.accounting.accountant import Accountant
from quiltwork.accounting.record import releases_in
from quiltwork.beliefs import Belief, Secrets
from quiltwork.beliefs.checked import Checked
from quiltwork.beliefs.files import belief_from_dict, load_belief
from quiltwork.calibration.plan import Plan
from quiltwork.calibration.request import Request
from quiltwork.calibration.wanted import distances_to_dict, plan_wanted, questions, values_of
from quiltwork.data import Series
from quiltwork.data.reading import fixed
from quiltwork.data.records import Records
from quiltwork.errors import BeliefError, DataError, LedgerError, ParameterError, QuiltworkError
from quiltwork.fitting import described
from quiltwork.fitting.edits import edited
from quiltwork.job import Data, Job
from quiltwork.ledger import Ledger, read_key
from quiltwork.numeric import check_length
from quiltwork.releases.keep import Kept
from quiltwork.releases.of_job import requests_of
from quiltwork.releases.prepared import Prepared
from quiltwork.releases.result import Release
from quiltwork.releases.run import Counted, counted
from quiltwork.session import written_down
from quiltwork.types import Segment
from quiltwork.view.of_account import of_statement
from quiltwork.view.of_belief import facts_of
from quiltwork.view.of_release import of_preview, of_release
from quiltwork.view.view import plain
from quiltwork.view.words import capital, say
from quiltwork.web import drawn
from quiltwork.web.job_files import job_of, read_of

Ask = Mapping[str, Any]
KEPT = 4  # prepared releases that wait for a confirmation in one worker
WAITS = 600.0  # seconds for which they do
NO_LEDGER = (
    "This service keeps no ledger: the release is not charged to a budget, and earlier releases of the same data are "
    "not counted."
)
UNREADABLE = (
    "the data cannot be read in this way: a column or a segment may not be there, or values may be unknown, missing, "
    "repeated or out of order"
)
NOT_SAID = "the service does not say which, because that would tell about the data"
LOOK = "Its log does: look there, or ask whoever started it"
FORMS = {"csv": "csv", "parquet": "parquet", "json": "json", "md": "markdown"}


class Reporter(Protocol):
    """Where work says how far it is, and asks before it does what cannot be undone."""

    def phase(self, name: str, done: float | None = None) -> None:
        """What is being done now, and which share of it is done if that is known."""

    def log(self, text: str) -> None:
        """Something for whoever started the service, and for nobody else."""

    def commit(self) -> None:
        """Returns once the work may no longer be stopped; if it was stopped before, it never returns."""


@dataclass(frozen=True)
class _Ready:
    counted: Counted
    warnings: tuple[str, ...]
    doubt: str | None
    file: tuple[int, int]
    until: float


_READY: dict[str, _Ready] = {}


def plan(ask: Ask, report: Reporter) -> dict[str, Any]:
    """As ``plan --json``."""
    held = _belief(ask["belief"])
    report.phase("Calibrating")
    made, by_distance = _planned(ask, held, ask.get("mechanisms"))
    drawn.refused(made)
    more = drawn.of_plan(made) if ask.get("charts") else {}
    return made.to_dict() | ({"distances": distances_to_dict(by_distance)} if by_distance else {}) | more


def _planned(ask: Ask, belief: Belief, mechanisms: list[str] | None) -> tuple[Plan, list[tuple[Belief, Plan]]]:
    length, window, people = _length(ask, belief), ask.get("window"), ask.get("people")
    in_answer = length if window is None or length is None else min(window, length)
    if window is not None and people is None:
        people = 1
    if belief.variables is not None and "values" not in ask:
        people = None  # of records, noise does not depend on their number
    asked = questions(_texts(ask), ask.get("state_values"), belief)
    _, made, by_distance = plan_wanted(
        asked,
        belief=belief,
        window=window,
        epsilon=ask.get("epsilon"),
        distances=ask.get("distance"),
        target_error=ask.get("target_error"),
        length=length,
        values=values_of(ask.get("values"), people, in_answer),
        delta=ask.get("delta", 0.0),
        noise=ask.get("noise") or "best",
        mechanisms=mechanisms,
        by=drawn.calibrated_once,
        releases=ask.get("releases", 1),
        guarantee=ask.get("guarantee", "pufferfish"),
        secrets=_secrets(ask),
        quilt_size=ask.get("quilt_size"),
        advice=ask.get("advice", True),
    )
    return made, by_distance


def rehearse(ask: Ask, report: Reporter) -> dict[str, Any]:
    """The noise of a question, and how its answer would look on simulated data. Reads no data and spends nothing."""
    held = _belief(ask["belief"])
    report.phase("Calibrating")
    made, _ = _planned({**ask, "advice": False}, held, ask.get("mechanisms") or drawn.quick(held))
    drawn.refused(made)
    report.phase("Simulating")
    return {
        "plan": made.to_dict() | {"reasons": drawn.reasons(made)},
        "best": None if made.best is None else made.best.mechanism,
        "others": drawn.others(held, made),
        "chart": drawn.of_noise(made),
        "spans": drawn.spans(held, made.length, ask.get("window")),
        "meaning": drawn.meaning(made.epsilon),
        "preview": drawn.of_rehearsal(held, made, ask),
    }


def compose(ask: Ask, report: Reporter) -> dict[str, Any]:
    """As ``compose --json``."""
    records = releases_in(ask["releases"])
    belief = _belief(ask["belief"])
    secrets, length, budget = _secrets(ask), _length(ask, belief), ask.get("budget")
    if secrets is not None and belief.variables is None:
        secrets.check_length(length)
    report.phase("Composing")
    guarantee = ask.get("guarantee", "pufferfish")
    promised: dict[str, Any] = {"guarantee": guarantee, "secrets": secrets, "delta": ask.get("delta", 0.0)}
    composed = Accountant(belief, length=length, releases=records, **promised).composed()
    said = {} if secrets is None or secrets.everything else {"secrets": secrets.text}
    left = {} if budget is None else {"budget": budget, "remaining": budget - composed.epsilon}
    return composed.to_dict() | said | left


def belief(ask: Ask, report: Reporter) -> dict[str, Any]:
    """As ``belief show --json``, with the belief in full."""
    report.phase("Reading")
    return _about(_belief(ask["belief"]), ask)


def edit(ask: Ask, report: Reporter) -> dict[str, Any]:
    """A chain with one change, as ``belief`` shows it: rows still sum to 1."""
    report.phase("Changing")
    change = {name: value for name, value in ask["change"].items() if value is not None}
    return _about(edited(_belief(ask["belief"]), change), ask)


def _about(held: Belief, ask: Ask) -> dict[str, Any]:
    return described(held) | {"belief": held.to_dict()} | (drawn.of_belief(held) if ask.get("charts") else {})


def check(ask: Ask, report: Reporter) -> dict[str, Any]:
    """As ``belief check --json``."""
    from quiltwork.data.read import public_rows
    from quiltwork.releases.checking import check_belief

    held, read = _belief(ask["belief"]), ask.get("read") or {}
    report.phase("Reading")
    series = public_rows(Data(path=ask["data"]["file"], column=ask["column"], **read), held)
    report.phase("Checking")
    found = check_belief(held, series, rhythm=ask.get("rhythm", "auto"))
    more = drawn.of_check(found) if ask.get("charts") else {}
    return found.to_dict() | {"warning": capital(say("check-public")), "checked": found.checked(held).to_dict()} | more


def columns(ask: Ask, report: Reporter) -> dict[str, Any]:
    """The names and types of the columns of a file, and no values."""
    from quiltwork.data.tables import types_of

    report.phase("Reading")
    found = types_of(ask["data"]["file"], separator=ask.get("separator"))
    return {"columns": [{"name": name, "type": kind} for name, kind in found.items()]}


def preview(ask: Ask, report: Reporter) -> dict[str, Any]:
    """What a release would be and cost; nothing is drawn, and nothing is spent."""
    ready = _prepared(ask, report)
    prepared, answers = ready.counted.prepared, ready.counted.answers
    made, request = prepared.calibration, prepared.request
    content: dict[str, Any] = {
        "query": prepared.asked.text,
        "epsilon": made.epsilon,
        "mechanism": made.mechanism,
        "guarantee": made.guarantee,
        "theorem": made.theorem,
        "secrets": made.secrets.text,
        "subjects": prepared.sizes[0],
        "values": prepared.sizes[1],
        "questions": prepared.expected(answers),
        "warnings": [*ready.warnings, *([] if ready.doubt is None else [f"{ready.doubt}."])],
        "notes": list(prepared.notes),
        "ledger": None,
    }
    with _ledger(ask) as book:
        if book is None:
            content["notes"].append(NO_LEDGER)
        else:
            book.check(belief=request.belief, guarantee=prepared.record.guarantee)
            now, budget = book.statement(), book.terms.budget
            spent, (after, rule, used) = now.spent, book.preview(prepared.record)
            content["ledger"] = {
                "budget": budget,
                "spent": spent,
                "remaining": max(0.0, budget - spent),
                "spent_after": after,
                "remaining_after": max(0.0, budget - after),
                "rule": rule,
                "address": book.name,
            } | ({"delta": book.terms.delta, "used": now.used, "used_after": used} if book.terms.delta else {})
    content["shown"] = of_preview(prepared, content["questions"], content["ledger"]).to_dict()
    return {"preview": content, "record": prepared.record.to_dict(), "file": list(ready.file)}


def confirm(ask: Ask, report: Reporter) -> dict[str, Any]:
    """Draw what was previewed: as ``release --json``, with the same as files."""
    ready = _prepared(ask, report)
    prepared, name = ready.counted.prepared, str(ask["confirmation"])
    if prepared.record.to_dict() != ask["record"] or list(ready.file) != ask["was"]:
        raise DataError(
            "the release is not the one that was confirmed",
            got="data that changed since",
            why="its cost or its noise would be another",
            fix="Ask for a new preview",
        )
    who, ask = written_down(ask.get("who"), ask.get("program")), {**ask, "job": _as_job(ask)}
    with _ledger(ask) as book:
        if book is not None and prepared.within(book) is not prepared:
            raise LedgerError(
                "the release is not the one that was confirmed",
                got="another release in between",
                why="it needs more noise now",
                fix="Ask for a new preview",
            )
        report.commit()
        report.phase("Drawing")
        _READY.pop(name, None)  # whatever happens: an answer is not drawn twice
        result = ready.counted.release(book, who, keep=lambda made: _keep(ask, _valued(made, ask)))
    report.phase("Writing")
    answer, shown = _valued(result, ask), _named(result, ask)
    answer |= {"files": _files(shown, prepared), "shown": _on_screen(shown)}
    _keep(ask, answer)
    return answer


def _named(result: Release, ask: Ask) -> Release:
    """A release with its job, the name by which the user knows the file, and with what is missing."""
    if result.about is not None:
        result = replace(result, about=replace(result.about, source=ask["data"].get("name")))
    return replace(result, job=ask["job"], notes=(*result.notes, *((NO_LEDGER,) if ask.get("ledger") is None else ())))


def _valued(result: Release, ask: Ask) -> dict[str, Any]:
    """The answer to whoever asked, without its files."""
    return {"result": _named(result, ask).to_dict(), "files": {}, "shown": None}


def _keep(ask: Ask, answer: dict[str, Any]) -> Callable[[], None]:
    """Write an answer down until the service has given it to whoever asked; returns what forgets it."""
    place = ask.get("keep")
    if place is None:
        return lambda: None
    kept = Kept(place["folder"], key=place["key"].encode("latin-1"))
    kept.put(answer | {"owner": place["owner"]}, place["name"])
    return partial(kept.remove, place["name"])


def _as_job(ask: Ask) -> str:
    """What was asked for as a job file, with files by the names that the user knows."""
    belief = ask.get("belief")
    if isinstance(belief, Mapping) and set(belief) == {"file"}:
        belief = str(belief["file"])
    own = {name: value for name, value in ask.items() if name != "belief"}
    return job_of(own, path=ask["data"].get("name"), belief=belief).shown().to_toml()


def _on_screen(result: Release) -> dict[str, Any] | None:
    """What a page shows; None if that fails, for the value must not be lost by it."""
    with suppress(Exception):
        return of_release(result).to_dict()
    return None


def _files(result: Release, prepared: Prepared) -> dict[str, str]:
    """The release as files; one that fails is left out, for the value must not be lost by it."""
    from quiltwork.view.files import content
    from quiltwork.view.report import write_with_others

    files: dict[str, bytes] = {}
    for ending, form in FORMS.items():
        with suppress(Exception):
            files[ending] = content(result, form)
    with suppress(Exception), tempfile.TemporaryDirectory(prefix="quiltwork-") as folder:
        page = Path(folder, "report.html")
        write_with_others(page, release=result, request=prepared.request)
        files["html"] = page.read_bytes()
    return {ending: base64.b64encode(data).decode() for ending, data in files.items()}


def statement(ask: Ask, report: Reporter) -> dict[str, Any]:
    """As ``ledger show --json``."""
    report.phase("Reading")
    with _ledger(ask) as book:
        return _given(book).statement().to_dict()


def account(ask: Ask, report: Reporter) -> dict[str, Any]:
    """The ledger as a page shows it: text, tables and charts."""
    report.phase("Reading")
    with _ledger(ask) as book:
        held = _given(book)
        now = held.statement()
        report.phase("Adding up")
        return of_statement(now, None if held.terms.belief.variables is not None else held.losses()).to_dict()


def ledger_belief(ask: Ask, report: Reporter) -> dict[str, Any]:
    """As ``belief show --json``, about the belief that the ledger is for."""
    report.phase("Reading")
    with _ledger(ask) as book:
        terms = _given(book).terms
    read = None if terms.read is None else terms.read.reading | {"text": str(terms.read)}
    return described(terms.belief) | {"facts": plain(facts_of(terms.belief)), "read": read}


def verify(ask: Ask, report: Reporter) -> dict[str, Any]:
    """As ``ledger verify --json``; a broken ledger is an answer here, with what is wrong."""
    report.phase("Verifying")
    with _ledger(ask) as book:
        problems, (rows, _) = _given(book).verify(), _given(book).rows()
        last = {"head": rows[-1].hash, "head_number": rows[-1].number}
        whole = {"ledger": _given(book).name, "whole": not problems, "rows": len(rows)} | last
        return whole | ({"problems": problems} if problems else {})


def export(ask: Ask, report: Reporter) -> dict[str, Any]:
    """As ``ledger export --json``."""
    report.phase("Reading")
    with _ledger(ask) as book:
        rows, outcomes = _given(book).rows()
        return {"rows": [row.to_dict() for row in rows], "outcomes": [outcome.to_dict() for outcome in outcomes]}


def _prepared(ask: Ask, report: Reporter) -> _Ready:
    """Agree, read, calibrate and count; a preview that this worker made a moment ago needs it no more."""
    for old in [key for key, kept in _READY.items() if kept.until < time.monotonic()]:
        del _READY[old]
    name, file = str(ask["confirmation"]), ask["data"]["file"]
    now = os.stat(file)
    stamp = now.st_size, now.st_mtime_ns
    kept = _READY.get(name)
    if kept is not None and kept.file == stamp:
        return kept
    from quiltwork.data.read import rows_of

    job, request, read = _agreed(ask)  # nothing is read before
    doubts: list[str | None] = []

    def rows(segment: Segment | None) -> Series | Records:
        found = rows_of(replace(read, path=file), request.belief)  # all of it: what is wrong must not tell where
        doubts.append(getattr(found, "doubt", None))
        return found if segment is None else rows_of(replace(read, path=file), request.belief, segment=segment)

    @contextmanager
    def around(step: str) -> Iterator[None]:
        report.phase(step)
        with _silent(report, only=DataError if step == "Calibrating" else Exception):  # its others are of public sizes
            yield

    with _ledger(ask) as book:
        (found,) = counted(job, [request], rows, ledger=book, around=around)
    with _silent(report, only=DataError):
        warnings = found.warnings
    doubt = doubts[0] if ask.get("ledger") is None else None  # a ledger's columns are its owner's
    ready = _Ready(found, warnings, doubt, stamp, time.monotonic() + WAITS)
    while len(_READY) >= KEPT:
        del _READY[next(iter(_READY))]
    _READY[name] = ready
    return ready


def _agreed(ask: Ask) -> tuple[Job, Request, Data]:
    """What is asked, and how the data are read: with a ledger as it says, whatever else was sent is refused.

    Whoever could choose the states or the reading would learn values from what is refused.
    """
    job, own = job_of(ask), read_of(ask)
    said = fixed(own)
    with _ledger(ask) as book:
        if book is None:
            if not ask["data"].get("sent"):
                raise ParameterError("protected files need a ledger", got="none", fix="Start the service with --ledger")
            if ask.get("belief") is None:
                raise ParameterError(
                    "a release needs a belief",
                    got="none",
                    why="this service keeps no ledger that has one",
                    fix="Send one",
                )
            belief, read = _belief(ask["belief"]), said
        else:
            belief = book.terms.belief if ask.get("belief") is None else _belief(ask["belief"])
            book.check(belief=belief, guarantee=ask.get("guarantee"), secrets=_secrets(ask))
            job = job.with_(guarantee=book.terms.guarantee)
            undeclared = book.terms.read is None and ask["data"].get("sent")  # whoever sends a file knows it
            if own.reading and not undeclared:
                book.check_read(said)
            read = said if undeclared else book.declared()
        job = replace(job, data=replace(read, spread=job.data.spread))
        (request,) = requests_of(job, belief, ledger=book, checked=_checked(ask, belief))
    return job, request, read


def _checked(ask: Ask, belief: Belief) -> Checked | None:
    """What this service found when it checked the belief, the last time."""
    found = ask.get("checks", {}).get(belief.fingerprint)
    return None if found is None else Checked.from_dict(found)


@contextmanager
def _silent(report: Reporter, only: type[Exception] = Exception) -> Iterator[None]:
    """What is wrong with data goes to the log of whoever started the service; whoever asks is told one sentence."""
    try:
        yield
    except only as problem:
        said = str(problem) if isinstance(problem, QuiltworkError) else type(problem).__name__
        report.log(said)
        raise DataError(UNREADABLE, why=NOT_SAID, fix=LOOK) from None


def _belief(given: Any) -> Belief:
    """A belief as it was sent, or from a file below the folder of data."""
    if isinstance(given, Mapping) and set(given) == {"file"}:
        return load_belief(given["file"])
    _refuse_files(given)
    return belief_from_dict(given)


def _refuse_files(given: Any) -> None:
    """A belief from outside must not name files of this machine."""
    pending = [given]
    while pending:
        one = pending.pop()
        if isinstance(one, Mapping):
            if "bif" in one:
                raise BeliefError(
                    "a belief that is sent must not name a file",
                    got="bif",
                    why="it would be a file of the machine that serves",
                    fix="Put both files into the folder of data and name the belief file there",
                )
            pending.extend(one.values())
        elif isinstance(one, list):
            pending.extend(part for part in one if isinstance(part, Mapping | list))


def _texts(ask: Ask) -> list[str]:
    query = ask["query"]
    return [query] if isinstance(query, str) else list(query)


def _length(ask: Ask, belief: Belief) -> int | None:
    length = ask.get("length")
    if length is None and belief.variables is None:
        raise ParameterError(
            "a length is needed",
            got="none",
            why="it counts the values of the longest series",
            fix="Give a whole number, or any",
        )
    return None if length is None else check_length(length)


def _secrets(ask: Ask) -> Secrets | None:
    text, times = ask.get("secrets"), ask.get("secret_times")
    return None if text is None and times is None else Secrets.of(text).at(times)


@contextmanager
def _ledger(ask: Ask) -> Iterator[Ledger | None]:
    """The ledger of the service, opened for a moment; None if it keeps none."""
    address, key = ask.get("ledger"), ask.get("key")
    if address is None:
        yield None
        return
    book = Ledger(address, key=None if key is None else read_key(Path(key)))
    try:
        yield book
    finally:
        book.close()


def _given(book: Ledger | None) -> Ledger:
    if book is None:
        raise ParameterError("this service keeps no ledger", got="none", fix="Start it with --ledger URL")
    return book


OPERATIONS: dict[str, Callable[[Ask, Reporter], dict[str, Any]]] = {
    "plan": plan,
    "compose": compose,
    "rehearse": rehearse,
    "belief": belief,
    "edit": edit,
    "check": check,
    "columns": columns,
    "preview": preview,
    "confirm": confirm,
    "ledger": statement,
    "account": account,
    "ledger-belief": ledger_belief,
    "verify": verify,
    "export": export,
}
