"""The command that was given, as a report may show it: quoted for a shell, without folders and passwords."""

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

from quiltwork.data.reading import source_name

FILES = ("data", "belief", "workload", "key", "files", "recode", "state_values", "check", "report")
NOT_SHOWN = ("yes", "as_json", "form")  # they change what is printed, not what is released
LONGEST = 88


def given_command(context: typer.Context) -> str:
    """The command with all options that were given; files outside the working folder by their name only."""
    words = [["quiltwork", str(context.info_name)]]
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if name in NOT_SHOWN or source is None or source.name in ("DEFAULT", "DEFAULT_MAP"):
            continue
        words += _written(parameter, name, context.params.get(name))
    return _wrapped([" ".join(map(shlex.quote, part)) for part in words])


def _written(parameter: Any, name: str, value: Any) -> Iterator[list[str]]:
    option = next((text for text in parameter.opts if text.startswith("--")), None)
    for one in value if isinstance(value, list | tuple) else [value]:
        if one is None or one is False:
            continue
        shown = [] if one is True else [_shown(name, one)]
        yield shown if option is None else [option, *shown]


def _shown(name: str, value: object) -> str:
    if name == "ledger":
        from quiltwork.ledger.address import open_store
        from quiltwork.view.report import address_name

        return address_name(open_store(str(value)).name)
    if name in FILES and isinstance(value, str | Path):
        return source_name(value) or str(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _wrapped(parts: Iterable[str]) -> str:
    """In lines of a readable length, an option with its value on the same one."""
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > LONGEST:
            lines.append(f"  {part}")
        else:
            lines[-1] = f"{lines[-1]} {part}".strip() if len(lines) == 1 else f"{lines[-1]} {part}"
    return " \\\n".join(lines)
