"""Networks in the Bayesian Interchange Format (BIF), read in full precision."""

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from quiltwork.beliefs.text import read_text
from quiltwork.errors import BeliefError
from quiltwork.types import Flags, Floats

_WORD = r"(?:(?!//|/\*)[^\s{}()\[\],;|\"])+"  # a comment ends it
_TOKEN = re.compile(rf'//[^\n]*|/\*.*?\*/|"([^"]*)"|({_WORD})|([{{}}()\[\],;|])', re.S)


MOST_ENTRIES, MOST_PARENTS = 2**22, 30


@dataclass
class BifContents:
    """What a BIF file says: states and parents of each variable, and its table with the variable's own axis last."""

    variables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    tables: dict[str, Floats] = field(default_factory=dict)


def read_bif(path: str | Path) -> BifContents:
    """Read a BIF file."""
    path = Path(path)
    text = read_text(path, "network file", error=BeliefError, encoding="utf-8-sig")
    try:
        return parse_bif(text)
    except BeliefError as problem:
        raise BeliefError(f"{path}, {problem.what}", got=problem.got, why=problem.why, fix=problem.fix) from None


def parse_bif(text: str) -> BifContents:
    """The contents of a BIF file.

    >>> found = parse_bif('''
    ...     variable rain { type discrete [ 2 ] { no, yes }; }
    ...     variable wet { type discrete [ 2 ] { no, yes }; }
    ...     probability ( rain ) { table 0.8, 0.2; }
    ...     probability ( wet | rain ) { (no) 0.9, 0.1; (yes) 0.05, 0.95; }''')
    >>> found.parents["wet"], found.tables["wet"].tolist()
    (('rain',), [[0.9, 0.1], [0.05, 0.95]])
    """
    contents, tokens = BifContents(), _Tokens(text)
    blocks: list[_Block] = []
    while (word := tokens.next_word()) is not None:
        if word == "network":
            tokens.until("{")
            tokens.statements()
        elif word == "variable":
            _variable(contents, tokens)
        elif word == "probability":
            blocks.append(_probability(tokens))
        else:
            raise tokens.error("network, variable or probability", word)
    # tables may stand before the variables that they are about
    for block in blocks:
        _table(contents, block)
    return contents


class _Tokens:
    """Words and signs of the text, with the line that each is on."""

    def __init__(self, text: str):
        self._all: list[tuple[str, int]] = []
        line, end = 1, 0
        for match in _TOKEN.finditer(text):
            line += text.count("\n", end, match.start())
            end = match.start()
            token = match.group(1) if match.group(1) is not None else match.group(2) or match.group(3)
            if token is not None:
                self._all.append((token, line))
        self._at = 0

    @property
    def line(self) -> int:
        """The line of the last token taken."""
        return self._all[min(max(self._at - 1, 0), len(self._all) - 1)][1] if self._all else 1

    def next_word(self) -> str | None:
        """The next token, or None at the end."""
        if self._at >= len(self._all):
            return None
        self._at += 1
        token, _ = self._all[self._at - 1]
        return token

    def take(self) -> str:
        """The next token; there must be one."""
        token = self.next_word()
        if token is None:
            raise self.error("more", "the end of the file")
        return token

    def until(self, sign: str) -> list[str]:
        """All tokens before the sign, which is taken too."""
        passed = []
        while (token := self.take()) != sign:
            passed.append(token)
        return passed

    def statements(self) -> list[list[str]]:
        """The statements of a block up to its closing brace, each without its semicolon."""
        statements: list[list[str]] = []
        current: list[str] = []
        depth = 0
        while True:
            sign = self.take()
            if sign == "}" and depth == 0:
                if current:
                    raise self.error("';' at the end of a statement", "'}'")
                return statements
            depth += (sign == "{") - (sign == "}")
            if sign == ";" and depth == 0:
                statements.append(current)
                current = []
            else:
                current.append(sign)

    def error(self, wanted: str, got: str) -> BeliefError:
        """What is wrong at this line."""
        return _error(self.line, f"expected {wanted}", got if got.isprintable() else "bytes that are no text")


def _error(line: int, what: str, got: str | None = None, why: str | None = None) -> BeliefError:
    return BeliefError(f"BIF line {line}: {what}", got=got, why=why)


def _variable(contents: BifContents, tokens: _Tokens) -> None:
    name = tokens.take()
    line = tokens.line
    if name in contents.variables:
        raise _error(line, "a variable must be declared once", repr(name) + " again")
    tokens.until("{")
    for statement in tokens.statements():
        if statement[:2] == ["type", "discrete"] and "{" in statement:
            states = tuple(t for t in statement[statement.index("{") + 1 :] if t not in (",", "}"))
            said = "".join(statement[2 : statement.index("{")]).strip("[]")
            if said and said != str(len(states)):
                raise _error(
                    line, f"variable {name!r} must have as many states as it says", f"{len(states)}, not {said}"
                )
            contents.variables[name] = states
        elif statement and statement[0] != "property":
            raise _error(line, f"variable {name!r} must be of type discrete", statement[0])
    if name not in contents.variables:
        raise _error(line, f"variable {name!r} must have states", "none", "only discrete variables are known here")


class _Block(NamedTuple):
    """What the file says about one variable's probabilities, not read yet, and in which line."""

    name: str
    parents: tuple[str, ...]
    statements: list[list[str]]
    line: int


def _probability(tokens: _Tokens) -> _Block:
    tokens.until("(")
    inside = tokens.until(")")
    line = tokens.line
    names = [t for t in inside if t not in (",", "|")]
    if not names or ("|" in inside and inside.index("|") != 1):
        raise _error(line, "a probability must be about one variable", " ".join(inside) or "none")
    tokens.until("{")
    name, *parents = names
    return _Block(name, tuple(parents), tokens.statements(), line)


def _table(contents: BifContents, block: _Block) -> None:
    name, parents, statements, line = block
    for other in (name, *parents):
        if other not in contents.variables:
            raise _error(line, "a probability must be about variables that are declared", repr(other))
    if name in contents.tables:
        raise _error(line, f"variable {name!r} must have one table", "a second one")
    states = contents.variables[name]
    axes = [contents.variables[p] for p in parents]
    table = _empty_table(name, axes, states, line)
    default: list[float] | None = None
    for statement in statements:
        if not statement or statement[0] == "property":
            continue
        if statement[0] == "table":
            flat = _numbers(statement[1:], table.size, name, line)
            # the numbers count through the variables as they are declared, the last one fastest
            table[...] = np.moveaxis(np.reshape(flat, (len(states), *map(len, axes))), 0, -1)
        elif statement[0] == "default":
            default = _numbers(statement[1:], len(states), name, line)
        elif statement[0] == "(" and ")" in statement:
            end = statement.index(")")
            given = [t for t in statement[1:end] if t != ","]
            row = _row(given, axes, parents, name, line)
            if not np.isnan(table[row]).all():
                raise _error(line, f"a row of {name!r} must appear once", f"({', '.join(given)}) again")
            table[row] = _numbers(statement[end + 1 :], len(states), name, line)
        else:
            raise _error(line, f"the table of {name!r} has a statement that is not known", repr(statement[0]))
    missing = np.isnan(table[..., 0])
    if default is not None:
        table[missing] = default
    elif missing.any():
        first = next(_combinations(axes, missing))
        raise _error(
            line,
            f"the table of {name!r} must have a row for every combination of its parents",
            f"{int(missing.sum())} missing, the first ({', '.join(first)})",
        )
    contents.parents[name], contents.tables[name] = parents, table


def _empty_table(name: str, axes: Sequence[Sequence[str]], states: Sequence[str], line: int) -> Floats:
    entries = math.prod(map(len, axes)) * len(states)
    if len(axes) > MOST_PARENTS or entries > MOST_ENTRIES:
        raise _error(
            line,
            f"the table of {name!r} must have at most {MOST_ENTRIES:,} entries and {MOST_PARENTS} parents",
            f"{entries:.3g} entries, {len(axes)} parents",
        )
    return np.full((*map(len, axes), len(states)), np.nan)


def _row(
    given: Sequence[str], axes: Sequence[Sequence[str]], parents: Sequence[str], name: str, line: int
) -> tuple[int, ...]:
    if len(given) != len(axes):
        raise _error(line, f"a row of {name!r} must give each of its {len(axes)} parents a state", f"{len(given)}")
    for state, states, parent in zip(given, axes, parents, strict=True):
        if state not in states:
            raise _error(line, f"a row of {name!r} must give {parent!r} one of its states", repr(state))
    return tuple(states.index(state) for state, states in zip(given, axes, strict=True))


def _combinations(axes: Sequence[Sequence[str]], chosen: Flags) -> Iterator[tuple[str, ...]]:
    for combination, taken in zip(itertools.product(*axes), chosen.ravel(), strict=True):
        if taken:
            yield combination


def _numbers(tokens: Sequence[str], count: int, name: str, line: int) -> list[float]:
    words = [t for t in tokens if t != ","]
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise _error(line, f"the table of {name!r} must consist of numbers", "another word") from None
    if not all(map(math.isfinite, numbers)):
        raise _error(line, f"the table of {name!r} must have finite numbers", "another")
    if len(numbers) != count:
        raise _error(line, f"the table of {name!r} must have {count} numbers here", f"{len(numbers)}")
    return numbers
