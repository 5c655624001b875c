"""Parts of the site that are generated when it is built: every command with its options, and every public name."""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import typer

import quiltwork
from quiltwork.cli import app

COMMANDS, PYTHON, BENCHMARKS = "<!-- commands -->", "<!-- names -->", "<!-- benchmarks -->"
QUESTIONS = "<!-- questions -->"
RELIABILITY = "<!-- reliability -->"
TOOLS = Path(__file__).parent
NOTEBOOK = re.compile(r"<!-- notebook (\S+) -->")
RESULTS = Path(__file__).parents[1] / "bench" / "results.json"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill the marks in a page; mkdocs calls this for each."""
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, "\n".join(_commands(typer.main.get_command(app), "quiltwork")))
    if PYTHON in markdown:
        markdown = markdown.replace(PYTHON, "\n\n".join(_names()))
    if QUESTIONS in markdown:
        markdown = markdown.replace(QUESTIONS, "\n".join(_questions()))
    if RELIABILITY in markdown:
        markdown = markdown.replace(RELIABILITY, "\n".join(_reliability(json.loads(RESULTS.read_text()))))
    if BENCHMARKS in markdown:
        markdown = markdown.replace(BENCHMARKS, "\n".join(_benchmarks(json.loads(RESULTS.read_text()))))
    return NOTEBOOK.sub(lambda mark: _notebook(mark[1]), markdown)


def _notebook(name: str) -> str:
    """A notebook of the documents, run for this page."""
    command = [sys.executable, str(TOOLS / "notebooks.py"), str(TOOLS.parent / "docs" / name)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _reliability(results: dict[str, Any]) -> list[str]:
    """What was done to ledgers in the last run, and what was lost."""
    killed, cut, many = (results[name] for name in ("killed_processes", "cut_connections", "many_processes"))
    text = (Path(__file__).parents[1] / "tests" / "property" / "test_fuzz.py").read_text()
    cases = sum(map(int, re.findall(r"max_examples=(\d+)", text)))
    return [
        "| what | how often | values shown | lost |",
        "| --- | --- | --- | --- |",
        f"| processes killed while releasing (SQLite) | 500 | {killed['shown']:,} | {killed['lost']} |",
        f"| connections cut while releasing (PostgreSQL) | {cut['cuts']} | {cut['shown']:,} | {cut['lost']} |",
        f"| races of 64 processes for 100 releases (SQLite) | 3,200 requests | {many['sqlite_granted']} | 0 |",
        f"| races of 64 processes for 100 releases (PostgreSQL) | 3,200 requests | {many['postgresql_granted']} | 0 |",
        f"| fuzz cases in continuous integration | {cases:,} | | 0 |",
    ]


def _benchmarks(results: dict[str, Any]) -> list[str]:
    """A table of every figure of the last run."""
    lines = ["| benchmark | figure | value |", "| --- | --- | --- |"]
    for name, row in results.items():
        figures = row.items() if isinstance(row, dict) else [("", row)]
        for key, value in figures:
            shown = f"{value:.4g}" if isinstance(value, float) else str(value)
            lines.append(f"| {name.replace('_', ' ')} | {key.replace('_', ' ')} | {shown} |")
    return lines


def names_by_question() -> dict[str, list[str]]:
    """The public names under the questions of the package's docstring."""
    found: dict[str, list[str]] = {}
    question = ""
    for line in (quiltwork.__doc__ or "").splitlines()[1:]:
        asked, _, names = line.partition("?  ")
        question = f"{asked}?" if names else question
        known = [word for word in re.findall(r"\w+", names or line) if word in quiltwork.__all__]
        if question:
            found.setdefault(question, []).extend(known)
    return found


def _names() -> list[str]:
    """Each name under its question."""
    lines = []
    for question, names in names_by_question().items():
        lines.append(f"## {question}")
        lines.extend(f"::: quiltwork.{name}" for name in names)
    return lines


def _questions() -> list[str]:
    """A table of questions, with the names that answer each."""
    lines = ["| question | names |", "| --- | --- |"]
    for question, names in names_by_question().items():
        lines.append(f"| {question} | {', '.join(f'[`{name}`][quiltwork.{name}]' for name in names)} |")
    return lines


def _commands(command: Any, path: str) -> list[str]:
    """Commands one after the other, each with a table of what it takes."""
    if hasattr(command, "commands"):
        return [line for name, child in command.commands.items() for line in _commands(child, f"{path} {name}")]
    lines = [f"## `{path}`", "", (command.help or "").strip(), "", "| option | meaning |", "| --- | --- |"]
    for parameter in command.params:
        if "--help" in parameter.opts:
            continue
        said = str(getattr(parameter, "help", "") or "").replace("|", "\\|")
        lines.append(f"| {_written(parameter)} | {said}{_default(parameter)} |")
    examples = (command.epilog or "").partition("Examples:\n")[2]
    return [*lines, "", *(["```console", textwrap.dedent(examples), "```", ""] if examples else [])]


def _written(parameter: Any) -> str:
    choices = map(str, parameter.type_descriptor.choices or ())
    name = parameter.metavar or "|".join(choices) or str(parameter.name).upper()
    if not parameter.opts[0].startswith("-"):
        return f"`{name}`"
    flag = bool(getattr(parameter, "is_flag", False))
    return f"`{parameter.opts[0]}`" if flag else f"`{parameter.opts[0]} {name}`"  # a bar in code ends no column


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.required:
        return " *Required.*"
    plain = value is not None and not callable(value) and not isinstance(value, bool) and str(value) not in ("", "[]")
    return f" (default: `{getattr(value, 'value', value)}`)" if plain else ""
