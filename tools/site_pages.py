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
INSTEAD, STEPS = "<!-- instead -->", "<!-- step by step -->"
SCALING, SPARK = "<!-- scaling -->", "<!-- spark -->"
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
    for mark, table in ((INSTEAD, _instead), (STEPS, _steps), (SCALING, _scaling), (SPARK, _spark)):
        if mark in markdown:
            markdown = markdown.replace(mark, "\n".join(table(json.loads(RESULTS.read_text()))))
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


SETTINGS = {
    "mixing": "[[.9, .1], [.4, .6]], count of 1,000 values",
    "sticky": "[[.99, .01], [.02, .98]], count of 1,000 values",
    "ten_states": "band chain of 10 states, count of 300 values",
    "diary": "sample diary, histogram, 24 people with 2,688 values each",
}
WAYS = {
    "opendp": "OpenDP, entry level",
    "diffprivlib": "diffprivlib, entry level",
    "group": "group privacy",
    "gk16": "GK16",
    "quilt-approx": "Markov quilts, approximate",
    "quilt-exact": "Markov quilts, exact",
    "wasserstein": "Wasserstein",
    "curve": "**influence curve**",
    "audited": "least possible (`audited`)",
}


def _instead(results: dict[str, Any]) -> list[str]:
    """A table for each setting: noise, the loss that is really there, and time."""
    figures, lines = results["instead_noise_and_true_loss"], []
    for setting, title in SETTINGS.items():
        lines += [
            f"### {title}",
            "",
            "| way | noise scale | ± 95 % | true ε | time |",
            "| --- | --- | --- | --- | --- |",
        ]
        for way, name in WAYS.items():
            start = f"{setting}_{way}_"
            found = {key.removeprefix(start): value for key, value in figures.items() if key.startswith(start)}
            if "refused" in found:
                lines.append(f"| {name} | refuses: {found['refused'].partition(', got')[0]} | | | |")
            elif found:
                noise, error = _short(found["noise"]), _short(found["error_95"])
                lines.append(f"| {name} | {noise} | {error} | {_loss(found)} | {_time(found['seconds'])} |")
        lines.append("")
    return lines


def _loss(found: dict[str, float]) -> str:
    """The true ε, or between what; bold where it is more than the 1 that was asked for."""
    if "true_epsilon" in found:
        text, most = f"{found['true_epsilon']:.3g}", found["true_epsilon"]
    else:
        low, most = found["true_epsilon_at_least"], found["true_epsilon_at_most"]
        text = f"{low:.3g} to {most:.3g}"
    return f"**{text}**" if most > 1.001 else text


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


def _steps(results: dict[str, Any]) -> list[str]:
    """A table of what a value released at every step reveals."""
    figures = results["instead_step_by_step"]
    lines = [
        "| belief | leakage if each step has ε = 1: TPL | curve | ε of each step for a leakage of 1: TPL | curve "
        "| ± 95 % of the count, added up from these values | time: TPL | curve |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    keys = ("leakage", "curve_leakage", "step_epsilon", "curve_step_epsilon", "summed_error_95")
    for setting, title in SETTINGS.items():
        cells = [_short(figures[f"{setting}_{key}"]) for key in keys]
        cells += [_time(figures[f"{setting}_{key}"]) for key in ("seconds", "curve_seconds")]
        lines.append(f"| {title.partition(', 24')[0]} | {' | '.join(cells)} |")
    return lines


GROWTH = {
    "rows": "rows: histogram of Parquet files",
    "people": "people: the same 20 million rows",
    "states_curve_rows": "states: curve, random rows",
    "states_curve_band": "states: curve, slow band",
    "states_quilts": "states: exact quilts",
    "length_curve": "length: curve",
    "length_quilts": "length: exact quilts",
    "length_audit": "length: exact audit, two states",
    "releases_composed": "releases about segments of their own: adding up",
    "releases_whole": "releases about all times: adding up",
    "releases_ledger": "releases in an open ledger: one more",
    "releases_opened": "releases in a ledger just opened: one more",
}


def _scaling(results: dict[str, Any]) -> list[str]:
    """A table of how time grows, with the cost on paper."""
    figures = {key: value for name, row in results.items() if name.startswith("scaling_") for key, value in row.items()}
    lines = ["| what grows | from | to | exponent | on paper |", "| --- | --- | --- | --- | --- |"]
    for key, title in GROWTH.items():
        sizes = sorted(int(found[1]) for name in figures if (found := re.fullmatch(rf"{key}_(\d+)_seconds", name)))
        ends = []
        for size in (sizes[0], sizes[-1]):
            memory = figures.get(f"{key}_{size}_mib")
            ends.append(
                f"{size:,}: {_time(figures[f'{key}_{size}_seconds'])}" + (f", {memory:,} MiB" if memory else "")
            )
        lines.append(
            f"| {title} | {ends[0]} | {ends[1]} | {figures[f'{key}_exponent']:z.2f} | {figures[f'{key}_paper']} |"
        )
    return lines


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.2g} ms" if seconds < 0.1 else f"{seconds:.2g} s"


def _spark(results: dict[str, Any]) -> list[str]:
    """A table of one worker and two."""
    figures = results["scaling_on_spark"]
    lines = ["| rows | order | one worker | two workers | times as fast |", "| --- | --- | --- | --- | --- |"]
    for rows, order in ((5, "by_person"), (10, "by_person"), (20, "by_person"), (20, "by_time")):
        one, two = (figures[f"workers_{n}_{order}_{rows}000000"] for n in (1, 2))
        said = "by person, then time" if order == "by_person" else "by time, then person"
        lines.append(f"| {rows} million | {said} | {one:.2f} s | {two:.2f} s | {one / two:.2f} |")
    return lines


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
