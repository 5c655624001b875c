"""The command: a thin shell over the library. No mathematics here; heavy imports wait until they are needed."""

import io
import sys
from typing import Annotated, NoReturn

import typer

from quiltwork import __version__
from quiltwork.cli import belief, check, ledger, release
from quiltwork.cli.options import in_options
from quiltwork.errors import QuiltworkError
from quiltwork.show.terminal import err

app = typer.Typer(
    name="quiltwork",
    help="Private releases from correlated data.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
belief_app = typer.Typer(help="Create and inspect belief files.", rich_markup_mode=None)


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


for command in (
    release.plan,
    release.release,
    check.audit,
    check.compose,
    check.leakage,
    check.reproduce,
    release.demo,
):
    app.command()(command)
belief_app.command("fit")(belief.belief_fit)
belief_app.command("show")(belief.belief_show)
app.add_typer(belief_app, name="belief")
ledger_app = typer.Typer(help="Track a privacy budget.", rich_markup_mode=None)
for about_ledgers in (ledger.create, ledger.show, ledger.verify, ledger.export):
    ledger_app.command()(about_ledgers)
app.add_typer(ledger_app, name="ledger")


def main() -> NoReturn:
    """Run the command; every failure is one line on stderr and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ε gets a question mark, not a crash
    try:
        code = app(standalone_mode=False)
    except QuiltworkError as problem:
        err.print(f"error: {' '.join(in_options(str(problem)).split())}")
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
