"""What a ledger is for, what was reserved in it, and what it says at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quiltwork.accounting.accountant import Accountant
from quiltwork.accounting.envelope import Envelope
from quiltwork.beliefs import Belief, Secrets, belief_from_dict
from quiltwork.data import Reading
from quiltwork.data.reading import fixed
from quiltwork.errors import InputError, LedgerError, NotCoveredError
from quiltwork.job import Data
from quiltwork.ledger.rows import Outcome, Row, record_of
from quiltwork.types import Guarantee, Shown


@dataclass(frozen=True)
class Terms:
    """What a ledger is for: a belief, a promise and a budget. Nothing in it is about the data."""

    belief: Belief
    budget: float
    guarantee: Guarantee = "pufferfish"
    key: str | None = None
    """The name of the key that its rows are sealed with, if they are."""
    secrets: Secrets = field(default_factory=Secrets.all)
    """What is kept apart: every release counts for what it tells about them."""
    envelope: Envelope | None = None
    """With a δ: how large squares may grow."""
    read: Data | None = None
    """How the data are read, if that is fixed: a service reads protected files in this way only."""

    @property
    def delta(self) -> float:
        """The δ of the budget."""
        return 0.0 if self.envelope is None else self.envelope.delta

    def to_dict(self) -> dict[str, Any]:
        """The content of a ledger's first row."""
        return {
            "belief": self.belief.to_dict(),
            "fingerprint": self.belief.fingerprint,
            "budget": self.budget,
            "promise": self.guarantee,
        } | (
            ({} if self.key is None else {"key": self.key})
            | ({} if self.secrets.everything else {"secrets": self.secrets.plain})
            | ({} if self.envelope is None else {"delta": self.delta, "envelope": self.envelope.to_dict()})
            | ({} if self.read is None else {"read": self.read.reading})
        )

    def accountant(self) -> Accountant:
        """Who adds up under these terms."""
        belief = self.belief.without_network()  # series may go on
        return Accountant(belief, guarantee=self.guarantee, secrets=self.secrets, envelope=self.envelope)

    @property
    def words(self) -> str:
        """The budget."""
        return f"ε = {self.budget:g}" + (f", δ = {self.delta:g}" if self.delta else "")

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Terms":
        """As a ledger's first row has them."""
        try:
            belief, budget = belief_from_dict(content["belief"]), float(content["budget"])
            secrets = Secrets.of(content.get("secrets"))
            secrets.on(belief)
            kept = content.get("envelope")
            envelope = None
            if kept is not None:
                envelope = Envelope.from_dict(kept, epsilon=budget, delta=float(content["delta"]))
            read = fixed(content["read"]) if "read" in content else None
            return cls(belief, budget, content["promise"], content.get("key"), secrets, envelope, read)
        except (KeyError, TypeError, ValueError, OverflowError, InputError, NotCoveredError) as problem:
            raise LedgerError("the first row of the ledger cannot be read", why="it was changed") from problem


@dataclass(frozen=True)
class Reservation:
    """What was reserved: the row, and what all releases tell together with it."""

    number: int
    hash: str
    epsilon: float
    rule: str
    budget: float
    mixed: str | None = None
    """How the data were read in another way than for the first release, if they ever were."""
    delta: float = 0.0
    used: float = 0.0
    """With a δ: the share of the room for squares that is used."""
    charged: float | None = None
    """By how much this release brought ε up, where that was computed for it alone."""

    def to_dict(self) -> dict[str, Any]:
        """As ``release --json`` prints it under ``ledger``."""
        return {
            "row": self.number,
            "hash": self.hash,
            "spent": self.epsilon,
            "remaining": max(0.0, self.budget - self.epsilon),
            "budget": self.budget,
            "rule": self.rule,
        } | (
            ({} if self.charged is None else {"charged": self.charged})
            | ({} if self.mixed is None else {"mixed": self.mixed})
            | ({"delta": self.delta, "used": self.used} if self.delta else {})
        )


@dataclass(frozen=True, repr=False)
class Statement(Shown):
    """A ledger at one moment: its terms, its rows, and what was spent."""

    name: str
    terms: Terms
    rows: tuple[Row, ...]
    outcomes: tuple[Outcome, ...]
    spent: float
    rule: str
    mixed: str | None = None
    """How the data were read in another way than for the first release, if they ever were."""
    checked: bool = True
    """Whether its rows could be checked: not where they are sealed with a key that is not here."""
    pure: float | None = None
    """With a δ: the ε that holds without it; None if there is none."""
    used: float = 0.0
    """With a δ: the share of the room for squares that is used."""

    def __repr__(self) -> str:
        count = sum(row.kind == "reserved" for row in self.rows)
        spent = f"spent {self.spent:.6g} of {self.terms.budget:g}"
        return f"Statement({self.name}: {spent}, {count:,} release{'s' * (count != 1)})"

    @property
    def remaining(self) -> float:
        """What is left of the budget."""
        return max(0.0, self.terms.budget - self.spent)

    @property
    def reading(self) -> Reading | None:
        """How the data were read for the first release; None if that is not known."""
        return next((record_of(row.content).reading for row in self.rows if row.kind == "reserved"), None)

    @property
    def head(self) -> str:
        """The hash of the last row: whoever keeps it can tell later whether rows were cut off."""
        return self.rows[-1].hash

    def releases(self) -> list[dict[str, Any]]:
        """One entry a release, with ``outcome`` "released", or "reserved" where no outcome is known (it counts)."""
        done = {outcome.number for outcome in self.outcomes}
        return [
            self._release(row) | {"outcome": "released" if row.number in done else "reserved"}
            for row in self.rows
            if row.kind == "reserved"
        ]

    @staticmethod
    def _release(row: Row) -> dict[str, Any]:
        record = record_of(row.content)
        return {
            "row": row.number,
            "time": row.time,
            "query": None if record.said is None else record.said.text,
            "mechanism": record.mechanism,
            "epsilon": record.epsilon,
            "noise_scale": record.noise_scale,
            **({"noise": record.noise, "delta": record.delta} if record.noise == "gaussian" else {}),
            "segment": None if record.segment is None else list(record.segment),
            "theorem": record.theorem,
            "secrets": record.secrets.text,
            "reading": None if record.reading is None else record.reading.to_dict(),
        } | {key: row.content.get(key) for key in ("who", "program", "spent", "rule", "check")}

    def to_dict(self) -> dict[str, Any]:
        """As ``quiltwork ledger show --json`` prints it."""
        releases = self.releases()
        return {
            "ledger": self.name,
            "belief": self.terms.belief.fingerprint,
            "guarantee": self.terms.guarantee,
            "secrets": self.terms.secrets.text,
            "budget": self.terms.budget,
            "spent": self.spent,
            "remaining": self.remaining,
            "rule": self.rule,
            "reading": None if self.reading is None else self.reading.to_dict(),
            "mixed": self.mixed,
            "read": None if self.terms.read is None else self.terms.read.reading,
            "releases": releases,
            "without_outcome": sum(one["outcome"] == "reserved" for one in releases),
            "head": self.head,
            "head_number": self.rows[-1].number,
            "sealed": self.terms.key is not None,
            "checked": self.checked,
        } | (
            {}
            if self.terms.envelope is None
            else {
                "delta": self.terms.delta,
                "pure_epsilon": self.pure,
                "envelope": self.terms.envelope.to_dict(),
                "used": self.used,
                "room": self.room,
            }
        )

    @property
    def room(self) -> str | None:
        """What there is room for by squares."""
        envelope = self.terms.envelope
        return None if envelope is None else envelope.words(max(0.0, 1 - self.used))
