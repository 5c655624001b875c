"""Workload files: the questions of one release, with their weights. JSON or TOML."""

import tomllib
from pathlib import Path
from typing import Any

from quiltwork.beliefs.text import parse_json, read_text
from quiltwork.errors import QueryError
from quiltwork.queries.base import Query
from quiltwork.queries.parse import parse_query
from quiltwork.queries.workload import Workload

EXAMPLE = 'For example [{"query": "histogram", "weight": 2}, {"query": "transitions"}]'


def load_workload(path: str | Path) -> Query:
    """The questions that a file lists: texts, or objects with a ``query`` and a ``weight`` (1 if left out).

    A TOML file has them under ``questions``; a JSON file may, or is the list itself.

    >>> import json, tempfile
    >>> file = Path(tempfile.mkdtemp(), "workload.json")
    >>> _ = file.write_text(json.dumps([{"query": "histogram", "weight": 2}, "transitions"]))
    >>> load_workload(file).weights
    (2.0, 1.0)
    """
    path = Path(path)
    text = read_text(path, "workload", error=QueryError)
    toml = path.suffix.lower() == ".toml"
    content = _parse_toml(text, path) if toml else parse_json(text, f"workload {path}", error=QueryError)
    if isinstance(content, dict):
        if set(content) != {"questions"}:
            raise QueryError(f"workload {path} must have the key questions only", got="others", fix=EXAMPLE)
        content = content["questions"]
    if not isinstance(content, list) or not content:
        raise QueryError(f"workload {path} must be a list of questions", got=type(content).__name__, fix=EXAMPLE)
    listed = [_question(entry, n, path) for n, entry in enumerate(content, 1)]
    if len(listed) == 1:
        return listed[0][0]
    return Workload([query for query, _ in listed], weights=[weight for _, weight in listed])


def _question(entry: Any, n: int, path: Path) -> tuple[Query, Any]:
    entry = {"query": entry} if isinstance(entry, str) else entry
    if not isinstance(entry, dict) or not isinstance(entry.get("query"), str) or set(entry) - {"query", "weight"}:
        raise QueryError(
            f"question {n} of workload {path} must have a query, and may have a weight", got="another form", fix=EXAMPLE
        )
    return parse_query(entry["query"]), entry.get("weight", 1)


def _parse_toml(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        why = str(problem) if isinstance(problem, tomllib.TOMLDecodeError) else "it is nested too deeply"
        raise QueryError(f"workload {path} must be TOML", why=why) from problem
