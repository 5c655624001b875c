"""Pages of the site that are made when it is built: every command with its options, and every public name."""

import json
from pathlib import Path
from typing import Any

import typer

import quiltwork
from quiltwork.cli import app

COMMANDS, PYTHON, BENCHMARKS = "<!-- commands -->", "<!-- names -->", "<!-- benchmarks -->"
RESULTS = Path(__file__).parents[1] / "bench" / "results.json"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill the marks in a page; mkdocs calls this for each."""
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, "\n".join(_commands(typer.main.get_command(app), "quiltwork")))
    if PYTHON in markdown:
        markdown = markdown.replace(PYTHON, "\n\n".join(f"::: {name}" for name in _names()))
    if BENCHMARKS in markdown:
        markdown = markdown.replace(BENCHMARKS, "\n".join(_benchmarks(json.loads(RESULTS.read_text()))))
    return markdown


def _benchmarks(results: dict[str, Any]) -> list[str]:
    """A table of every figure of the last run."""
    lines = ["| benchmark | figure | value |", "| --- | --- | --- |"]
    for name, row in results.items():
        figures = row.items() if isinstance(row, dict) else [("", row)]
        for key, value in figures:
            shown = f"{value:.4g}" if isinstance(value, float) else str(value)
            lines.append(f"| {name.replace('_', ' ')} | {key.replace('_', ' ')} | {shown} |")
    return lines


def _names() -> list[str]:
    """Where each is defined: some modules have the name of a function."""
    public = [getattr(quiltwork, name) for name in quiltwork.__all__ if not name.startswith("_")]
    return [f"{one.__module__}.{one.__qualname__}" for one in public]


def _commands(command: Any, path: str) -> list[str]:
    """Commands one after the other, each with a table of what it takes."""
    if hasattr(command, "commands"):
        return [line for name, child in command.commands.items() for line in _commands(child, f"{path} {name}")]
    lines = [f"## `{path}`", "", (command.help or "").strip(), "", "| takes | |", "| --- | --- |"]
    for parameter in command.params:
        if "--help" in parameter.opts:
            continue
        said = str(getattr(parameter, "help", "") or "").replace("|", "\\|")
        lines.append(f"| {_written(parameter)} | {said}{_default(parameter)} |")
    return [*lines, ""]


def _written(parameter: Any) -> str:
    choices = [str(getattr(one, "value", one)) for one in getattr(getattr(parameter, "type", None), "choices", ())]
    name = parameter.metavar or "|".join(choices) or str(parameter.name).upper()
    if not parameter.opts[0].startswith("-"):
        return f"`{name}`".replace("|", "\\|")
    flag = bool(getattr(parameter, "is_flag", False))
    return f"`{parameter.opts[0]}`" if flag else f"`{parameter.opts[0]} {name}`".replace("|", "\\|")


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.required:
        return " *needed*"
    plain = value is not None and not callable(value) and not isinstance(value, bool) and str(value) not in ("", "[]")
    return f" (default `{getattr(value, 'value', value)}`)" if plain else ""
