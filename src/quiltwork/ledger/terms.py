"""What a ledger is for, what was reserved in it, and what it says at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quiltwork.beliefs import Belief, belief_from_dict
from quiltwork.errors import LedgerError
from quiltwork.influence.curve import Promise
from quiltwork.ledger.rows import Outcome, Row


@dataclass(frozen=True)
class Terms:
    """What a ledger is for: a belief, a promise and a budget. Nothing in it is about the data."""

    belief: Belief
    budget: float
    promise: Promise = "pufferfish"

    def to_dict(self) -> dict[str, Any]:
        """The content of a ledger's first row."""
        return {
            "belief": self.belief.to_dict(),
            "fingerprint": self.belief.fingerprint,
            "budget": self.budget,
            "promise": self.promise,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Terms":
        """As a ledger's first row has them."""
        try:
            return cls(belief_from_dict(content["belief"]), float(content["budget"]), content["promise"])
        except (KeyError, TypeError, ValueError) as problem:
            raise LedgerError("the first row of the ledger cannot be read", why="it was changed") from problem


@dataclass(frozen=True)
class Reservation:
    """What was reserved: the row, and what all releases tell together with it."""

    number: int
    hash: str
    epsilon: float
    rule: str
    budget: float

    def to_dict(self) -> dict[str, Any]:
        """As ``release --json`` prints it under ``ledger``."""
        return {
            "row": self.number,
            "hash": self.hash,
            "spent": self.epsilon,
            "remaining": max(0.0, self.budget - self.epsilon),
            "budget": self.budget,
            "rule": self.rule,
        }


@dataclass(frozen=True)
class Statement:
    """A ledger at one moment: its terms, its rows, and what was spent."""

    name: str
    terms: Terms
    rows: tuple[Row, ...]
    outcomes: tuple[Outcome, ...]
    spent: float
    rule: str

    @property
    def remaining(self) -> float:
        """What is left of the budget."""
        return max(0.0, self.terms.budget - self.spent)

    @property
    def head(self) -> str:
        """The hash of the last row: whoever keeps it can tell later whether rows were cut off."""
        return self.rows[-1].hash

    def releases(self) -> list[dict[str, Any]]:
        """One entry a release, with ``outcome`` "released", or "reserved" where no outcome is known (it counts)."""
        done = {one.number for one in self.outcomes}
        shown = (
            "query",
            "mechanism",
            "epsilon",
            "noise_scale",
            "segment",
            "who",
            "program",
            "theorem",
            "spent",
            "rule",
        )
        return [
            {"row": row.number, "time": row.time}
            | {key: row.content.get(key) for key in shown}
            | {"outcome": "released" if row.number in done else "reserved"}
            for row in self.rows
            if row.kind == "reserved"
        ]

    def to_dict(self) -> dict[str, Any]:
        """As ``quiltwork ledger show --json`` prints it."""
        releases = self.releases()
        return {
            "ledger": self.name,
            "belief": self.terms.belief.fingerprint,
            "guarantee": self.terms.promise,
            "budget": self.terms.budget,
            "spent": self.spent,
            "remaining": self.remaining,
            "rule": self.rule,
            "releases": releases,
            "without_outcome": sum(one["outcome"] == "reserved" for one in releases),
            "head": self.head,
        }
