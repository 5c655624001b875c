"""The command: a thin shell over the library. No mathematics here; heavy imports wait until they are needed."""

import io
import os
import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from quiltwork import __version__
from quiltwork.cli.listed import LISTED, QUILTWORK
from quiltwork.errors import QuiltworkError, amounts_of, did_you_mean, kind_of, nearest, visible

QUOTED = r"'([^']*)'"


class Commands(Mapping[str, Any]):
    """The commands of a group, each loaded when it is asked for."""

    def __init__(self, group: str) -> None:
        self._paths = {path.rpartition(" ")[2]: path for path in LISTED if path.rpartition(" ")[0] == group}
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _command(self._paths[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def lines(self) -> list[tuple[str, str]]:
        """What ``--help`` of the group says of each."""
        return [(name, LISTED[path].says) for name, path in self._paths.items()]


class Group(TyperGroup):
    """A group that can list its commands without loading them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = Commands("" if self.name == "quiltwork" else str(self.name))  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer's form
        """Their names, in the order of the list."""
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - typer's form
        """A line for each."""
        with formatter.section("Commands"):
            formatter.write_dl(self.commands.lines())  # type: ignore[attr-defined]


def _command(path: str) -> Any:
    """A command or a group as typer runs it."""
    listed = LISTED[path]
    if not listed.where:
        return Group(name=path, help=listed.says, no_args_is_help=False, rich_markup_mode=None)
    module, _, function = listed.where.partition(":")
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    run = getattr(import_module(f"quiltwork.cli.{module}"), function)
    _tell_who_waits()
    alone.command(path.rpartition(" ")[2], epilog=listed.epilog)(run)
    return typer.main.get_command(alone)


def _tell_who_waits() -> None:
    """A command that compiles something says so, wherever its output goes."""
    from quiltwork import compiled
    from quiltwork.view.terminal import err

    compiled.say = err.print


app = typer.Typer(
    name="quiltwork",
    cls=Group,
    help=QUILTWORK.says,
    epilog=QUILTWORK.epilog,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


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


def main() -> NoReturn:
    """Run the command; every failure is one line on stderr and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ε gets a question mark, not a crash
    try:
        code = app(standalone_mode=False, prog_name="quiltwork")
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has gone: nothing is left to be said, also when Python ends
        from quiltwork.view.terminal import give_up_output

        give_up_output()
        sys.exit(0)
    except QuiltworkError as problem:
        from quiltwork.cli.options import in_options

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
    from quiltwork.view.terminal import err, give_up_output, print_json

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
