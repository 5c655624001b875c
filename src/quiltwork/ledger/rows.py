"""The rows of a ledger: each carries a hash over its content and the row before it, so that no change goes unseen."""

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from quiltwork.accounting.record import ReleaseRecord
from quiltwork.errors import InputError, LedgerError

Kind = Literal["opened", "reserved", "migrated"]
BEFORE_THE_FIRST = "0" * 64
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


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
    def after(cls, last: "Row | tuple[int, str] | None", kind: Kind, time: str, content: Mapping[str, Any]) -> "Row":
        """The row that follows another (or its number and hash)."""
        number, previous = (0, BEFORE_THE_FIRST) if last is None else last if isinstance(last, tuple) else last.head
        row = cls(number + 1, kind, time, content, previous, "")
        object.__setattr__(row, "hash", row.true_hash())
        return row

    @cached_property
    def text(self) -> str:
        """The content in one form only, so that equal contents have equal hashes."""
        return _ENCODER.encode(self.content)

    def true_hash(self) -> str:
        """The hash over everything in the row, and so over all rows before it."""
        whole = "\n".join([str(self.number), self.kind, self.time, self.previous, self.text])
        return hashlib.sha256(whole.encode()).hexdigest()

    @property
    def head(self) -> tuple[int, str]:
        """What the next row is tied to."""
        return self.number, self.hash

    def broken(self, last: "Row | None") -> str | None:
        """What is wrong with the row as the one after ``last``; None if nothing is."""
        number, previous = (0, BEFORE_THE_FIRST) if last is None else last.head
        if self.number != number + 1:
            return f"row {number + 1} is missing, row {self.number} follows row {number}"
        if self.previous != previous:
            return f"row {self.number} does not follow row {number} as it is"
        try:
            same = self.hash == self.true_hash()
        except ValueError:  # a number that no row can have
            same = False
        if not same:
            return f"row {self.number} was changed"
        return None

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
    def of(cls, number: int, row_hash: str, time: str) -> "Outcome":
        """The outcome of a reservation."""
        return cls(number, time, hashlib.sha256(f"{number}\n{time}\n{row_hash}".encode()).hexdigest())

    def to_dict(self) -> dict[str, Any]:
        """As ``ledger export`` writes it."""
        return {"number": self.number, "kind": "released", "time": self.time, "hash": self.hash}


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
                found["kind"],
                str(found["time"]),
                dict(found["content"]),
                str(found["previous"]),
                str(found["hash"]),
            )
        except (ValueError, KeyError, TypeError) as problem:
            raise LedgerError(
                f"line {n} of the exported ledger cannot be read", why="it is not a row as `ledger export` writes it"
            ) from problem


def read_export(path: str | Path) -> tuple[list[Row], list[Outcome]]:
    """The rows and outcomes of a file that ``ledger export`` wrote."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not text"
        raise LedgerError(f"exported ledger {path} cannot be read", why=reason) from problem
    found = list(from_lines(lines))
    return [one for one in found if isinstance(one, Row)], [one for one in found if isinstance(one, Outcome)]


def record_of(content: Mapping[str, Any]) -> ReleaseRecord:
    """The release that a row reserved."""
    try:
        return ReleaseRecord.from_dict(content["record"] if "record" in content else _of_version_1(content))
    except (KeyError, TypeError, ValueError, zlib.error, InputError) as problem:
        raise LedgerError("a row of the ledger cannot be read", why="its content is not that of a release") from problem


def _of_version_1(content: Mapping[str, Any]) -> dict[str, Any]:
    """A release as the first version wrote it down: its profile for a series, without its query and reading."""
    (packed,) = content["profile"]
    k, scale = int(packed["states"]), float(content["noise_scale"]) or 1.0
    profile = np.frombuffer(zlib.decompress(base64.b64decode(packed["entries"])), dtype="<f8").reshape(k, k)
    changes = profile * scale * (1 + 2.0**-50)
    return {
        "mechanism": content["mechanism"],
        "epsilon": content["epsilon"],
        "noise_scale": scale,
        "query": {"kind": "declared", "name": str(content["query"]), "sensitivity": changes.tolist()},
        "segment": content["segment"],
        "length": content["length"],
        "gaps": None if content["started"] and content["length"] is not None else "dependent",
        "guarantee": content["guarantee"],
        "theorem": content["theorem"],
    }
