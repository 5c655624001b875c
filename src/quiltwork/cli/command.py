"""The command: a thin shell over the library. No mathematics here; heavy imports wait until they are needed."""

import io
import os
import sys
from typing import Annotated, NoReturn

import typer

from quiltwork import __version__
from quiltwork.cli import belief, belief_check, check, compare, ledger, release
from quiltwork.cli.compile import compile_all
from quiltwork.cli.options import in_options
from quiltwork.errors import QuiltworkError
from quiltwork.show.terminal import err, give_up_output

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
app.command("compile")(compile_all)
belief_app.command("fit")(belief.belief_fit)
belief_app.command("show")(belief.belief_show)
belief_app.command("new")(belief.belief_new)
belief_app.command("compare")(compare.belief_compare)
belief_app.command("check")(belief_check.belief_check)
belief_app.command("every")(belief_check.belief_every)
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
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has gone: nothing is left to be said, also when Python ends
        give_up_output()
        sys.exit(0)
    except QuiltworkError as problem:
        err.print(f"error: {' '.join(in_options(str(problem)).split())}")
        sys.exit(problem.exit_code)
    except typer.TyperException as problem:
        err.print(f"error: {problem.format_message().rstrip('.')}. See quiltwork --help.")
        sys.exit(2)
    except OSError as problem:
        err.print(f"error: {problem.filename or 'a file'} cannot be used: {problem.strerror}. Check the path.")
        sys.exit(2)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except MemoryError:
        err.print("error: there is not enough memory for this. Use a smaller belief, length or number of releases.")
        sys.exit(2)
    except Exception as problem:
        if os.environ.get("QUILTWORK_TRACEBACK"):
            raise
        err.print(
            f"error: something went wrong that should not have ({type(problem).__name__}). Please report it; "
            "QUILTWORK_TRACEBACK=1 shows where, possibly with data values."
        )
        sys.exit(2)
    sys.exit(code or 0)
