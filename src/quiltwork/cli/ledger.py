"""Commands that create, show, check and copy ledgers."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quiltwork.cli.options import (
    HOW,
    MACHINE,
    AsJson,
    believed,
    job_of,
    job_options,
    needed,
    secrets_of,
)
from quiltwork.errors import LedgerError, ParameterError
from quiltwork.job import Data
from quiltwork.view.terminal import err, json_line, out, print_json, show as show_view

if TYPE_CHECKING:
    from quiltwork.ledger import Ledger, Row

LONGEST_REASON = 200
Address = Annotated[
    str, typer.Argument(metavar="URL", help="Ledger: sqlite:///path, postgresql://..., or the path of a SQLite file.")
]


@job_options("belief", "budget", "column", "variable", "gaps", "guarantee", "secrets", "secret_times", *HOW, *MACHINE)
def create(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="Ledger: sqlite:///path, postgresql://..., the path of a SQLite file, or a job file that names it.",
        ),
    ],
    said: dict[str, Any],
    delta: Annotated[
        float | None,
        typer.Option("--delta", metavar="D", help="Budget on (ε, δ): releases add up by squares. 1e-6 is usual."),
    ] = None,
    envelope: str | None = None,
    key: Annotated[
        Path | None,
        typer.Option(
            "--key",
            metavar="FILE",
            help="Seal the rows with the key in this file; it is made if it is not there.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a ledger with a privacy budget. It stores the belief and no data.

    With the options for reading data it also fixes how they are read: `serve --data-folder` needs that.
    """
    from quiltwork.influence.delta import large_delta
    from quiltwork.ledger import Ledger, new_key, read_key

    more = {"delta": delta, "envelope": envelope, "key": key}
    job = job_of(url, said | {name: value for name, value in more.items() if value is not None}, "ledger")
    terms = job.privacy
    if terms.envelope is not None and not terms.delta:
        raise ParameterError(
            "room for squares needs a delta", got="--envelope without --delta", fix="Add --delta 1e-6, or leave it out"
        )
    held, budget = believed(job), needed(terms, "budget", "it limits the total privacy loss of all releases")
    file = None if terms.key is None else Path(terms.key)
    is_new = file is not None and not file.exists()
    created = Ledger.create(
        needed(terms, "ledger"),
        belief=held,
        budget=budget,
        guarantee=terms.guarantee,
        secrets=secrets_of(terms.secrets, terms.secret_times),
        delta=terms.delta,
        envelope=terms.envelope or "histogram",
        read=_read_as(job.data),
        key=None if file is None else new_key(file) if is_new else read_key(file),
    )
    statement = created.statement()
    if as_json:
        print_json(statement.to_dict())
        return
    out.print(f"Created {statement.name} with a budget of {statement.terms.words}, for {held!r}.")
    if statement.room is not None:
        out.print(statement.room)
        out.print(
            "Releases draw Gaussian noise unless they ask for another. To learn which ε to give each of K releases:"
        )
        out.print(f"quiltwork plan B --query Q --length N --epsilon {budget:g} --delta {delta:g} --releases K")
    for warning in large_delta(statement.terms.delta):
        err.print(f"warning: {warning}")
    if not statement.terms.secrets.everything:
        out.print(f"Its budget is about these secrets only: {statement.terms.secrets.text}.")
    if statement.terms.read is not None:
        out.print(f"It fixes how a service reads the data: {statement.terms.read}.")
    if is_new:
        out.print(f"Wrote a new key to {file}. Keep it apart from the ledger; nothing can be released without it.")


def _read_as(data: Data) -> Data | None:
    """How data are read, if anything was said about it."""
    if data.engine != "polars":
        raise ParameterError("a service reads files itself", got="--engine or --master", fix="Leave it out")
    return data if data.reading else None


@job_options()
def show(url: Address, key: Path | None = None, as_json: AsJson = False) -> None:
    """Show what was spent, who spent it, and what remains."""
    now = _opened(url, key).statement()
    if as_json:
        print_json(now.to_dict())
    else:
        from quiltwork.view.of_account import of_statement

        show_view(of_statement(now))


@job_options()
def verify(
    url: Annotated[str, typer.Argument(metavar="URL", help="Ledger, or a .jsonl file written by `ledger export`.")],
    head: Annotated[
        str | None,
        typer.Option("--head", metavar="N:HASH", help="Fail unless row N has this hash (detects truncation)."),
    ] = None,
    accept: Annotated[
        str | None,
        typer.Option("--accept", metavar="WHY", help="Go on although rows are broken; writes why, and who said so."),
    ] = None,
    key: Path | None = None,
    who: str | None = None,
    as_json: AsJson = False,
) -> None:
    """Check a ledger for changed, removed or added rows. Also checks its sums."""
    number, digest = _head_of(head)
    ledger: Ledger | None = None
    if url.endswith(".jsonl"):
        name, rows, problems = _export_of(url, key)
    else:
        ledger = _opened(url, key)
        name, (rows, _) = ledger.name, ledger.rows()
        problems = ledger.verify()
    known = {row.hash for row in rows if number in (None, row.number)}
    if digest is not None and not problems and digest not in known:
        problems = ["no row has the hash asked for: rows were cut off or written anew"]
    if problems and accept is not None:
        _accept(ledger, problems, accept, who, as_json=as_json)
        return
    if problems:
        raise LedgerError(
            f"ledger {name} is broken: {problems[0]}",
            fix="Compare it with an earlier export; --accept goes on all the same",
        )
    if as_json:
        last = {"head": rows[-1].hash, "head_number": rows[-1].number}
        print_json({"ledger": name, "whole": True, "rows": len(rows)} | last)
        return
    out.print(f"{len(rows):,} rows, whole. Head: {rows[-1].number}:{rows[-1].hash}")


def _accept(ledger: "Ledger | None", problems: list[str], why: str, who: str | None, *, as_json: bool) -> None:
    from quiltwork.session import written_down

    if ledger is None or not why.strip() or len(why) > LONGEST_REASON or not why.isprintable():
        raise ParameterError(
            f"a reason for going on must be a line of up to {LONGEST_REASON} characters, about a ledger",
            got="an export" if ledger is None else "another text",
        )
    accepted = ledger.accept(why, written_down(who))
    if not accepted:  # a head that is not there cannot be accepted away
        raise LedgerError(f"ledger {ledger.name} is broken: {problems[0]}", fix="Bring back the later copy")
    if as_json:
        print_json({"ledger": ledger.name, "whole": False, "accepted": accepted})
    else:
        out.print(f"Accepted and written down: {accepted[0]}. Releases go on with the sum that was kept.")


def _head_of(text: str | None) -> tuple[int | None, str | None]:
    """A head as `ledger show` prints it: the number of a row, if it is there, and its hash."""
    if text is None:
        return None, None
    number, _, digest = text.rpartition(":")
    if not re.fullmatch("[0-9a-fA-F]{64}", digest) or not re.fullmatch("[0-9]{0,15}", number):
        raise ParameterError("a head must be the whole hash that `ledger show` prints", got=f"{len(text)} characters")
    return int(number) if number else None, digest.lower()


def _opened(url: str, key: Path | None) -> "Ledger":
    from quiltwork.ledger import Ledger, read_key

    return Ledger(url, key=None if key is None else read_key(key))


def _export_of(file: str, key: Path | None) -> "tuple[str, list[Row], list[str]]":
    from quiltwork.ledger import read_export, read_key, seal_of, verify_export

    rows, outcomes = read_export(file)
    return file, rows, verify_export(rows, outcomes, seal_of(rows, None if key is None else read_key(key)))


def export(
    url: Address,
    file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.jsonl", help="Write to this file instead of printing.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Export a ledger as JSON lines. `ledger verify` can check them."""
    from quiltwork.ledger import Ledger

    rows, outcomes = Ledger(url).rows()
    content = [row.to_dict() for row in rows], [outcome.to_dict() for outcome in outcomes]
    lines = [json_line(line) for lines in content for line in lines]
    if file is None:
        if as_json:
            print_json(dict(zip(("rows", "outcomes"), content, strict=True)))
        else:
            print("\n".join(lines))
        return
    if file.suffix != ".jsonl":
        raise LedgerError(f"export {file} must end in .jsonl", got=repr(file.suffix), why="it has one row per line")
    try:
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as problem:
        from quiltwork.beliefs.text import why_unwritten

        why, fix = why_unwritten(file, problem)
        raise LedgerError(f"export {file} cannot be written", why=why, fix=fix) from problem
    if as_json:
        print_json({"rows": len(rows), "outcomes": len(outcomes), "file": str(file)})
    else:
        out.print(f"Wrote {len(rows):,} rows and {len(outcomes):,} outcomes to {file}")
