"""The command that hands out results that were paid for and not taken."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from quiltwork.cli.options import AsJson, job_options
from quiltwork.errors import DataError
from quiltwork.view.terminal import err, print_json, show


@job_options()
def kept(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Print this result as JSON, and forget it.")
    ] = None,
    key: Path | None = None,
    as_json: AsJson = False,
) -> None:
    """Show results that were paid for and not taken.

    Such as that of a release that was stopped before its value was printed.
    """
    from quiltwork.ledger import read_key
    from quiltwork.ledger.seal import key_of_environment
    from quiltwork.releases.keep import Kept

    plain, sealed = Kept(), Kept(key=key_of_environment() if key is None else read_key(key))
    if name is not None:
        content = sealed.get(name) or plain.get(name)
        if content is None:
            raise DataError(
                "there is no such result that can be shown",
                got=name,
                why="it was taken, is older than a day, was changed, or is sealed with a key",
                fix="quiltwork kept lists what is there; for a ledger with a key add --key",
            )
        print_json(content)
        plain.remove(name)
        return
    rows = [_row(found, plain.since(found), sealed.get(found) or plain.get(found)) for found in plain]
    if as_json:
        print_json({"kept": rows})
    elif rows:
        from quiltwork.view.view import Table, View

        show(View("", blocks=[Table(rows)]))
    else:
        err.print("Nothing is kept: every result was taken, or is older than a day.")


def _row(name: str, since: float, content: dict[str, Any] | None) -> dict[str, str]:
    """What a list says of a result: not its value, which is for whoever takes it."""
    content = {"query": "cannot be shown: sealed with a key, or changed"} if content is None else content
    at, row = f"{datetime.fromtimestamp(since):%Y-%m-%d %H:%M}", (content.get("ledger") or {}).get("row", "-")
    return {
        "name": name,
        "kept": at,
        "query": str(content["query"]),
        "epsilon": str(content.get("epsilon", "-")),
        "ledger row": str(row),
    }
