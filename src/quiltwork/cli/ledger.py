"""Commands that create, show, check and copy ledgers."""

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.options import AsJson, GuaranteeName
from quiltwork.errors import LedgerError, ParameterError
from quiltwork.show.terminal import out, print_json, print_statement

Address = Annotated[
    str, typer.Argument(metavar="URL", help="Ledger: sqlite:///path, postgresql://..., or the path of a SQLite file.")
]


def create(
    url: Address,
    belief: Annotated[Path, typer.Option("--belief", metavar="B", help="Belief file (JSON or TOML).")],
    budget: Annotated[float, typer.Option("--budget", metavar="E", help="Total ε for all releases together.")],
    guarantee: GuaranteeName = "pufferfish",
    as_json: AsJson = False,
) -> None:
    """Create a ledger with a privacy budget. It stores the belief and no data."""
    from quiltwork import load_belief
    from quiltwork.ledger import Ledger

    made = Ledger.create(url, belief=load_belief(belief), budget=budget, guarantee=guarantee).statement()
    if as_json:
        print_json(made.to_dict())
        return
    out.print(f"Created {made.name} with a budget of ε = {made.terms.budget:g}, for {made.terms.belief!r}.")


def show(url: Address, as_json: AsJson = False) -> None:
    """Show what was spent, who spent it, and what remains."""
    from quiltwork.ledger import Ledger

    now = Ledger(url).statement()
    if as_json:
        print_json(now.to_dict())
    else:
        print_statement(now)


def verify(
    url: Annotated[str, typer.Argument(metavar="URL", help="Ledger, or a .jsonl file written by `ledger export`.")],
    head: Annotated[
        str | None,
        typer.Option("--head", metavar="HASH", help="Fail unless some row has this hash (detects truncation)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a ledger for changed, removed or added rows. Also checks its sums."""
    from quiltwork.ledger import Ledger, read_export, verify_export

    if url.endswith(".jsonl"):
        name, (rows, outcomes) = url, read_export(url)
        problems = verify_export(rows, outcomes)
    else:
        ledger = Ledger(url)
        name, (rows, _) = ledger.name, ledger.rows()
        problems = ledger.verify()
    if head is not None and not re.fullmatch("[0-9a-fA-F]{64}", head):
        raise ParameterError("a head must be the whole hash that `ledger show` prints", got=f"{len(head)} characters")
    if head is not None and not problems and head.lower() not in {row.hash for row in rows}:
        problems = ["no row has the hash asked for: rows were cut off or written anew"]
    if problems:
        raise LedgerError(f"ledger {name} is broken: {problems[0]}", fix="Compare it with an earlier export")
    if as_json:
        print_json({"ledger": name, "whole": True, "rows": len(rows), "head": rows[-1].hash})
        return
    out.print(f"{len(rows):,} rows, whole. Head: {rows[-1].hash}")


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
    content = [row.to_dict() for row in rows] + [one.to_dict() for one in outcomes]
    lines = [json.dumps(one, ensure_ascii=False) for one in content]
    if file is None:
        if as_json:
            print_json({"rows": [row.to_dict() for row in rows], "outcomes": [one.to_dict() for one in outcomes]})
        else:
            print("\n".join(lines))
        return
    if file.suffix != ".jsonl":
        raise LedgerError(f"export {file} must end in .jsonl", got=repr(file.suffix), why="it has one row per line")
    try:
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as problem:
        raise LedgerError(f"export {file} cannot be written", why=problem.strerror or "the system refused") from problem
    if as_json:
        print_json({"rows": len(rows), "outcomes": len(outcomes), "file": str(file)})
    else:
        out.print(f"Wrote {len(rows):,} rows and {len(outcomes):,} outcomes to {file}")
