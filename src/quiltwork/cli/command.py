"""The command: a thin shell over the library. No mathematics here; heavy imports wait until they are needed."""

import io
import os
import re
import sys
from typing import Annotated, NoReturn

import typer

from quiltwork import __version__
from quiltwork.cli import belief, belief_check, check, compare, demo, ledger, plan, release, serve
from quiltwork.cli.compile import compile_all
from quiltwork.cli.examples import examples_of
from quiltwork.cli.options import in_options
from quiltwork.errors import QuiltworkError, amounts_of, did_you_mean, kind_of, nearest, visible
from quiltwork.show.terminal import err, give_up_output, print_json

QUOTED = r"'([^']*)'"
app = typer.Typer(
    name="quiltwork",
    help="Private releases from correlated data.",
    epilog=examples_of(""),
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


ledger_app = typer.Typer(help="Track a privacy budget.", rich_markup_mode=None)
for group, name, command in (
    (app, "plan", plan.plan),
    (app, "release", release.release),
    (app, "audit", check.audit),
    (app, "compose", check.compose),
    (app, "leakage", check.leakage),
    (app, "reproduce", check.reproduce),
    (app, "demo", demo.demo),
    (app, "serve", serve.serve),
    (app, "compile", compile_all),
    (belief_app, "belief fit", belief.belief_fit),
    (belief_app, "belief show", belief.belief_show),
    (belief_app, "belief new", belief.belief_new),
    (belief_app, "belief compare", compare.belief_compare),
    (belief_app, "belief check", belief_check.belief_check),
    (belief_app, "belief every", belief_check.belief_every),
    (ledger_app, "ledger create", ledger.create),
    (ledger_app, "ledger show", ledger.show),
    (ledger_app, "ledger verify", ledger.verify),
    (ledger_app, "ledger export", ledger.export),
):
    group.command(name.split()[-1], epilog=examples_of(name))(command)
app.add_typer(belief_app, name="belief")
app.add_typer(ledger_app, name="ledger")


def main() -> NoReturn:
    """Run the command; every failure is one line on stderr and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ε gets a question mark, not a crash
    try:
        code = app(standalone_mode=False, prog_name="quiltwork")
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has gone: nothing is left to be said, also when Python ends
        give_up_output()
        sys.exit(0)
    except QuiltworkError as problem:
        _refuse(in_options(str(problem)), kind_of(problem), problem.exit_code, **amounts_of(problem))
    except typer.TyperException as problem:
        _refuse(_usage(problem), "usage", 2)
    except OSError as problem:
        from quiltwork.beliefs.text import why_unread

        why, fix = why_unread(problem.filename or "", problem)
        _refuse(
            f"{problem.filename or 'a file'} cannot be used: {why}. {fix.rstrip('.')}.".replace("?.", "?"), "file", 2
        )
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except MemoryError:
        _refuse("there is not enough memory for this. Use a smaller belief, length or number of releases.", "memory", 2)
    except Exception as problem:
        if os.environ.get("QUILTWORK_TRACEBACK"):
            raise
        _refuse(
            f"something went wrong that should not have ({type(problem).__name__}). Please report it; "
            "QUILTWORK_TRACEBACK=1 shows where, possibly with data values.",
            "internal",
            2,
        )
    sys.exit(code or 0)


def _refuse(message: str, kind: str, code: int, **amounts: float | None) -> NoReturn:
    """One line on stderr and an exit code; with ``--json`` also one object on stdout."""
    message = " ".join(message.split())
    err.print(f"error: {message}")
    if "--json" in sys.argv[1:] and sys.stdout is not None:
        try:
            print_json({"error": visible(message), "kind": kind, "exit_code": code, **amounts})
        except (OSError, ValueError):
            give_up_output()  # whoever read has gone
    sys.exit(code)


def _usage(problem: typer.TyperException) -> str:
    """What is wrong with the options, with the nearest that there is."""
    text = problem.format_message().rstrip(".").replace("Value error, ", "")
    possible = re.search(r"^(.*?(--?[\w-]+)) \(Possible options?: (.*)\)$", text)
    if possible is not None:
        said, option, known = possible.groups()
        listed = known.split(", ")
        text = f"{said}. Did you mean {nearest(option, listed) or listed[0]}?"
    chosen = re.search(r"'([^']*)' is not one of (.*)$", text)
    if chosen is not None:
        text = f"{text}. {did_you_mean(chosen[1], re.findall(QUOTED, chosen[2]))}".rstrip(" .")
    context = getattr(problem, "ctx", None)
    where = "quiltwork" if context is None else context.command_path
    return f"{text}{'' if text.endswith('?') else '.'} See {where} --help."
