"""Values of the data under other names: which value becomes which state, said beforehand."""

import csv
import io
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quiltwork.beliefs.text import parse_json, read_text
from quiltwork.data.values import name_of
from quiltwork.errors import DataError, ParameterError, check_name, did_you_mean

Recode = tuple[tuple[str, str | None], ...]
"""Pairs of value and state, sorted; None for a value that counts as missing."""
REST = "*"
FORM = 'For example {"1": "sleep", "2": "sit", "*": "other"} in a JSON file'


def recode_of(given: Mapping[Any, Any] | Recode) -> Recode:
    """As a user gives it: values and states by name.

    >>> recode_of({1: "sleep", "2": "sit", "?": None})
    (('1', 'sleep'), ('2', 'sit'), ('?', None))
    """
    pairs = list(given.items()) if isinstance(given, Mapping) else list(given)
    named = {name_of(value): None if state is None else name_of(state) for value, state in pairs}
    plain = str | int | float | None
    if not named or len(named) < len(pairs) or not all(isinstance(one, plain) for pair in pairs for one in pair):
        got = "no pairs" if not pairs else "a value twice" if len(named) < len(pairs) else "something else than names"
        raise ParameterError("recode must name a state for each of some values", got=got, fix=FORM)
    for state in named.values():
        if state is not None:
            check_name(state, "a state", error=ParameterError)
    if "" in named.values():
        raise ParameterError(
            "recode must name states that are not empty", got="an empty one", fix="null marks a missing value"
        )
    return tuple(sorted(named.items()))


def check_targets(recode: Recode, states: Sequence[str] | None, *, numbers: bool) -> None:
    """States that values become must be states of the belief; numbers, where the belief is about numbers."""
    for value, state in recode:
        if state is None:
            if states is not None and value in states:
                raise DataError(
                    "a state of the belief cannot be recoded to missing",
                    got=repr(value),
                    why="how many values are missing, and where, is public: it would tell exactly how often the state "
                    "occurs",
                    fix="Give it a state of its own, or join it with another one",
                )
            continue
        if numbers:
            try:
                float(state)
            except ValueError:
                raise DataError(
                    "recode must lead to numbers here", got=repr(state), why="the values are read as numbers"
                ) from None
        elif states is not None and state not in states:
            raise DataError(
                "recode must lead to states of the belief",
                got=repr(state),
                fix=did_you_mean(state, states, f"Its states: {', '.join(states[:20])}"),
            )


def recoded_names(names: Sequence[str], recode: Recode) -> list[str]:
    """The same for names in memory; "" for a missing value."""
    known = {value: state or "" for value, state in recode}
    rest = known.pop(REST, None)
    return [known.get(name, name if rest is None or not name else rest) for name in names]


def read_mapping(source: str | Path, what: str, columns: tuple[str, str] = ("value", "state")) -> dict[str, str | None]:
    """Names and what each stands for: from a JSON, TOML or CSV file, or written out as A=1,B=2.

    ``columns`` are those of a CSV file: names, and what they stand for.

    >>> read_mapping("off=0,on=1.5", "state values")
    {'off': '0', 'on': '1.5'}
    """
    path = Path(source)
    if "=" in str(source) and path.suffix.lower() not in (".json", ".toml", ".csv"):
        return _pairs(str(source), what)
    if path.suffix.lower() not in (".json", ".toml", ".csv"):
        raise ParameterError(
            f"the file of {what} must end in .json, .toml or .csv",
            got=repr(path.suffix) if path.suffix else repr(str(source)),
            fix="Or write it out: A=1,B=2",
        )
    text = read_text(path, f"file of {what}", error=ParameterError, encoding="utf-8-sig")
    if path.suffix.lower() == ".csv":
        return _from_csv(text, f"file of {what} {path}", columns)
    if path.suffix.lower() == ".toml":
        try:
            content: Any = tomllib.loads(text)
        except (ValueError, RecursionError):
            raise ParameterError(f"file of {what} {path} must be TOML", got="other text") from None
    else:
        content = parse_json(
            text, f"file of {what} {path}", error=ParameterError, object_pairs_hook=lambda pairs: _once(pairs, what)
        )
    if not isinstance(content, dict) or not all(isinstance(v, str | int | float | None) for v in content.values()):
        raise ParameterError(f"file of {what} {path} must be one object of names", got="something else", fix=FORM)
    return {name: None if value is None else name_of(value) for name, value in content.items()}


def _pairs(text: str, what: str) -> dict[str, str | None]:
    pairs = [part.rpartition("=") for part in text.split(",")]
    if not all(name.strip() and value.strip() for name, _, value in pairs):
        raise ParameterError(f"{what} must be a file or A=1,B=2", got=repr(text))
    return _once([(name.strip(), value.strip()) for name, _, value in pairs], what)


def _once(pairs: Sequence[tuple[str, Any]], what: str) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ParameterError(f"{what} must name each once", got="one of them twice")
    return dict(pairs)


def _from_csv(text: str, what: str, columns: tuple[str, str]) -> dict[str, str | None]:
    lines = [line for line in csv.reader(io.StringIO(text)) if line]
    if not lines or tuple(name.strip().lower() for name in lines[0]) != columns or len(lines) < 2:
        raise ParameterError(
            f"{what} must have the columns {columns[0]} and {columns[1]}",
            got="another first line" if len(lines) > 1 else "no lines",
            fix=f"First line: {columns[0]},{columns[1]}",
        )
    if any(len(line) != 2 for line in lines):
        raise ParameterError(f"{what} must have two columns in every line", got="another number")
    return _once([(name.strip(), meant.strip() or None) for name, meant in lines[1:]], what)
