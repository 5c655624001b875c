"""The rows of a ledger: each carries a hash over its content and the row before it, so that no change goes unseen."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from quiltwork.accounting.record import ReleaseRecord
from quiltwork.beliefs.text import read_text
from quiltwork.errors import InputError, LedgerError
from quiltwork.ledger.seal import Seal

Kind = Literal["opened", "reserved", "accepted"]
BEFORE_THE_FIRST = "0" * 64
WITHOUT_KEY = Seal()
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """What is not as it was written cannot be read: it was changed."""
    try:
        yield
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError, RecursionError) as problem:
        raise LedgerError(f"{what} of the ledger cannot be read", why="it was changed") from problem


def sealed(number: int, kind: str, time: str, previous: str, text: str, seal: Seal) -> str:
    """The hash of a row."""
    return seal.of("\n".join([str(number), kind, time, previous, text]))


@dataclass(frozen=True)
class Row:
    """One row: its number from 1 on, what happened when, and the hashes that tie it to the row before.

    >>> first = Row.after(None, "opened", "2024-03-04T00:00:00+00:00", {"budget": 1.0})
    >>> first.number, first.previous == BEFORE_THE_FIRST, first.broken(None)
    (1, True, None)
    """

    number: int
    kind: Kind
    time: str
    content: Mapping[str, Any]
    previous: str
    hash: str

    @classmethod
    def after(
        cls,
        last: "Row | tuple[int, str] | None",
        kind: Kind,
        time: str,
        content: Mapping[str, Any],
        *,
        seal: Seal = WITHOUT_KEY,
    ) -> "Row":
        """The row that follows another (or its number and hash)."""
        number, previous = (0, BEFORE_THE_FIRST) if last is None else last if isinstance(last, tuple) else last.head
        row = cls(number + 1, kind, time, content, previous, "")
        object.__setattr__(row, "hash", row.true_hash(seal))
        return row

    @cached_property
    def text(self) -> str:
        """The content in one form only, so that equal contents have equal hashes."""
        return _ENCODER.encode(self.content)

    def true_hash(self, seal: Seal = WITHOUT_KEY) -> str:
        """The hash over everything in the row, and so over all rows before it."""
        return sealed(self.number, self.kind, self.time, self.previous, self.text, seal)

    @property
    def head(self) -> tuple[int, str]:
        """What the next row is tied to."""
        return self.number, self.hash

    def broken(self, last: "Row | None", seal: Seal = WITHOUT_KEY) -> str | None:
        """What is wrong with the row as the one after ``last``; None if nothing is."""
        number, previous = (0, BEFORE_THE_FIRST) if last is None else last.head
        if self.number != number + 1:
            return f"row {number + 1} is missing, row {self.number} follows row {number}"
        if self.previous != previous:
            return f"row {self.number} does not follow row {number} as it is"
        try:
            same = self.hash == self.true_hash(seal)
        except (ValueError, RecursionError):  # a number that no row can have
            same = False
        if not same:
            return f"row {self.number} was changed"
        return None

    def columns(self) -> dict[str, Any]:
        """As a database keeps it."""
        return {
            "number": self.number,
            "kind": self.kind,
            "time": self.time,
            "content": self.text,
            "previous": self.previous,
            "hash": self.hash,
        }

    def to_dict(self) -> dict[str, Any]:
        """As ``ledger export`` writes it."""
        return {
            "number": self.number,
            "kind": self.kind,
            "time": self.time,
            "content": dict(self.content),
            "previous": self.previous,
            "hash": self.hash,
        }


@dataclass(frozen=True)
class Outcome:
    """That the release reserved by a row was made; its hash ties it to that row."""

    number: int
    time: str
    hash: str

    @classmethod
    def of(cls, number: int, row_hash: str, time: str, *, seal: Seal = WITHOUT_KEY) -> "Outcome":
        """The outcome of a reservation."""
        return cls(number, time, seal.of(f"{number}\n{time}\n{row_hash}"))

    def to_dict(self) -> dict[str, Any]:
        """As ``ledger export`` writes it."""
        return {"number": self.number, "kind": "released", "time": self.time, "hash": self.hash}


@dataclass(frozen=True)
class Tally:
    """How many outcomes there are, and all their hashes mixed into one: a deleted outcome is seen.

    >>> Tally().plus(Outcome(2, "now", "0" * 63 + "1")).count
    1
    """

    count: int = 0
    mix: int = 0

    def plus(self, outcome: Outcome) -> "Tally":
        """With one more outcome; the order does not matter."""
        return Tally(self.count + 1, self.mix ^ int(outcome.hash, 16))

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> "Tally":
        """Of all of them."""
        tally = cls()
        for outcome in outcomes:
            tally = tally.plus(outcome)
        return tally

    def text(self, seal: Seal) -> str:
        """As a ledger keeps it: tied by its seal."""
        plain = f"{self.count} {self.mix:064x}"
        return f"{plain} {seal.of(plain)}"

    @classmethod
    def from_text(cls, text: str, seal: Seal) -> "Tally | None":
        """As a ledger has it; None if it was changed."""
        count, _, rest = text.partition(" ")
        try:
            tally = cls(int(count), int(rest.partition(" ")[0], 16))
        except ValueError:
            return None
        return tally if tally.text(seal) == text else None


def from_lines(lines: Iterable[str]) -> Iterator[Row | Outcome]:
    """The rows and outcomes of an exported ledger."""
    for n, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
            known = {"number", "kind", "time", "hash"}
            if set(found) != (known if found["kind"] == "released" else known | {"content", "previous"}):
                raise ValueError
            if found["kind"] == "released":
                yield Outcome(int(found["number"]), str(found["time"]), str(found["hash"]))
                continue
            yield Row(
                int(found["number"]),
                str(found["kind"]),  # type: ignore[arg-type]  # rows are checked for their kind
                str(found["time"]),
                dict(found["content"]),
                str(found["previous"]),
                str(found["hash"]),
            )
        except (ValueError, KeyError, TypeError, RecursionError) as problem:
            raise LedgerError(
                f"line {n} of the exported ledger cannot be read", why="it is not a row as `ledger export` writes it"
            ) from problem


def read_export(path: str | Path) -> tuple[list[Row], list[Outcome]]:
    """The rows and outcomes of a file that ``ledger export`` wrote."""
    lines = read_text(path, "exported ledger", error=LedgerError).splitlines()
    found = list(from_lines(lines))
    return [one for one in found if isinstance(one, Row)], [one for one in found if isinstance(one, Outcome)]


def record_of(content: Mapping[str, Any]) -> ReleaseRecord:
    """The release that a row reserved."""
    try:
        return ReleaseRecord.from_dict(content["record"])
    except (KeyError, TypeError, ValueError, InputError) as problem:
        raise LedgerError("a row of the ledger cannot be read", why="its content is not that of a release") from problem
