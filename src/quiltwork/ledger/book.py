"""The ledger: what was spent of a budget, durably, and never more than that."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from quiltwork.accounting.record import ReleaseRecord
from quiltwork.accounting.total import Total
from quiltwork.beliefs import Belief
from quiltwork.errors import InputError, LedgerError, NotCoveredError
from quiltwork.influence.curve.timeline import Losses
from quiltwork.ledger.checks import SLACK, added_up, carried_over, verify_export, verify_rows
from quiltwork.ledger.refusals import Refusals
from quiltwork.ledger.rows import Outcome, Row
from quiltwork.ledger.schema import MIGRATIONS, check_version, migrate, version_of
from quiltwork.ledger.store import Store, Transaction
from quiltwork.ledger.terms import Reservation, Statement, Terms
from quiltwork.numeric import check_epsilon
from quiltwork.types import Guarantee

Clock = Callable[[], datetime]
MANY = 64  # releases, from which on ε is computed somewhat further than the sum, so that small ones need it once
ROOM = 1.1, 1.01  # how much further: far from the end of the budget, and near it
_ROW = (
    "INSERT INTO quiltwork_rows (number, kind, time, content, previous, hash) "
    "VALUES (:number, :kind, :time, :content, :previous, :hash)"
)
_ROWS = "SELECT number, kind, time, content, previous, hash FROM quiltwork_rows ORDER BY number"
_FIRST = "SELECT number, kind, time, content, previous, hash FROM quiltwork_rows WHERE number = 1"
_HEAD = "SELECT number, hash FROM quiltwork_kept WHERE id = 1"
_KEPT = "SELECT sum, ceiling, epsilon, rule FROM quiltwork_kept WHERE id = 1"
_LAST = f"{_ROWS} DESC LIMIT 1"
_BEGIN = (
    "INSERT INTO quiltwork_kept (id, number, hash, sum, ceiling, epsilon, rule) "
    "VALUES (1, :number, :hash, :sum, :ceiling, :epsilon, :rule)"
)
_DONE = "INSERT INTO quiltwork_outcomes (number, time, hash) VALUES (:number, :time, :hash)"
_OUTCOMES = "SELECT number, time, hash FROM quiltwork_outcomes ORDER BY number"
_KEEP = (
    "UPDATE quiltwork_kept SET number = :number, hash = :hash, sum = :sum, ceiling = :ceiling, epsilon = :epsilon, "
    "rule = :rule WHERE id = 1"
)


@dataclass(frozen=True)
class State:
    """What is kept of all rows: their total, and ε of a ceiling that it is within."""

    total: Total
    ceiling: Total
    epsilon: float
    rule: str

    def content(self, opened: str) -> dict[str, Any]:
        """As the row says it that wrote it."""
        return {
            "kept": self.total.digest,
            "ceiling": self.ceiling.digest,
            "spent": self.epsilon,
            "rule": self.rule,
            "opened": opened,
        }

    def columns(self, row: Row) -> dict[str, Any]:
        """As it is written beside the last row."""
        return {
            "number": row.number,
            "hash": row.hash,
            "sum": self.total.to_bytes(),
            "ceiling": self.ceiling.to_bytes(),
            "epsilon": self.epsilon,
            "rule": self.rule,
        }


class _TooMuchError(Exception):
    """A request would exceed the budget: what there was before, and ε with it."""

    def __init__(self, total: Total, epsilon: float):
        super().__init__()
        self.total, self.epsilon = total, epsilon


class Ledger:
    """What was spent of a budget under a belief, in a SQLite file or in PostgreSQL.

    ``clock`` tells the time; it is passed in for tests.

    >>> from quiltwork import MarkovChain
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/ledger.db"
    >>> ledger = Ledger.create(file, belief=MarkovChain([[0.5, 0.5], [0.5, 0.5]]), budget=1.0)
    >>> ledger.statement().remaining
    1.0
    """

    def __init__(self, address: str, *, clock: Clock | None = None, store: Store | None = None):
        self._store = store or Store(address)
        self._clock = clock or (lambda: datetime.now(UTC))
        if not self._store.exists():
            raise LedgerError(
                f"ledger {self._store.name} does not exist",
                fix="Create it first: Ledger.create(...), or quiltwork ledger create",
            )
        if self._needs_work():
            self._store.transaction(self._prepare)
        first = self._store.read(lambda work: next(iter(_rows(work, _FIRST)), None))
        if first is None:
            raise LedgerError(
                f"ledger {self._store.name} is empty",
                fix="Create it first: Ledger.create(...), or quiltwork ledger create",
            )
        if first.broken(None):
            raise LedgerError(f"ledger {self._store.name} is broken: row 1 was changed", why="its terms are there")
        self.terms, self._opened = Terms.from_dict(first.content), first.hash
        self._accountant = self.terms.accountant()
        self._seen: tuple[tuple[int, str], State] | None = None
        self._refusals = Refusals(self.terms.budget, self._accountant)
        self._one_at_a_time = threading.Lock()

    @classmethod
    def create(
        cls,
        address: str,
        *,
        belief: Belief,
        budget: float,
        guarantee: Guarantee = "pufferfish",
        clock: Clock | None = None,
        exist_ok: bool = False,
        store: Store | None = None,
    ) -> "Ledger":
        """A new ledger; with ``exist_ok`` one for the same terms may be there already."""
        terms = Terms(belief, _checked(budget), guarantee)
        store, now = store or Store(address), clock or (lambda: datetime.now(UTC))
        store.create_file()

        def begin(work: Transaction) -> None:
            _upgrade(work, now().isoformat())
            if not work.run(_FIRST):
                row = Row.after(None, "opened", now().isoformat(), terms.to_dict())
                _write(work, row)
                nothing = Total.nothing(belief)
                work.run(_BEGIN, **State(nothing, nothing, 0.0, "nothing was released").columns(row))
            elif not exist_ok:
                raise LedgerError(
                    f"ledger {store.name} exists already", why="its budget is set", fix="Use it, or choose another name"
                )

        store.transaction(begin)
        ledger = cls(address, clock=clock, store=store)
        ledger.check(belief=belief, budget=terms.budget, guarantee=guarantee)
        return ledger

    @classmethod
    def in_memory(cls, *, belief: Belief, budget: float, guarantee: Guarantee = "pufferfish") -> "Ledger":
        """A ledger that is forgotten with the program, for trying things out.

        >>> from quiltwork import MarkovChain
        >>> Ledger.in_memory(belief=MarkovChain([[0.5, 0.5], [0.5, 0.5]]), budget=1.0).spent()
        0.0
        """
        store = Store("sqlite://", forgetful=True)
        return cls.create("sqlite://", belief=belief, budget=budget, guarantee=guarantee, store=store)

    @property
    def name(self) -> str:
        """The address, without a password."""
        return self._store.name

    def check(self, *, belief: Belief, budget: float | None = None, guarantee: Guarantee | None = None) -> None:
        """Refuse to be used for anything else than it is for."""
        if belief.fingerprint != self.terms.belief.fingerprint:
            raise LedgerError(
                f"ledger {self.name} is for another belief",
                got=f"fingerprint {belief.fingerprint[:16]}, not {self.terms.belief.fingerprint[:16]}",
                why="what was spent under one belief says nothing about another",
                fix="Use that belief, or create a separate ledger",
            )
        if budget is not None and budget != self.terms.budget:
            raise LedgerError(
                f"ledger {self.name} has another budget",
                got=f"{budget:g}, not {self.terms.budget:g}",
                fix="Leave the budget out, or create another ledger",
            )
        if guarantee is not None and guarantee != self.terms.guarantee:
            raise LedgerError(
                f"ledger {self.name} is for another guarantee",
                got=f"{guarantee}, not {self.terms.guarantee}",
                why="what holds against one kind of adversary need not hold against the other",
                fix=f"Use guarantee {self.terms.guarantee}, or another ledger",
            )

    def reserve(self, record: ReleaseRecord, facts: Mapping[str, Any]) -> Reservation:
        """Count a release before it is made; refused, and nothing is written, if the budget does not allow it.

        ``facts`` are written down beside the record: who made it, by which program.
        """
        if isinstance(record, ReleaseRecord) and record.delta > 0:
            raise NotCoveredError(
                "a ledger takes no releases with a delta", why="its budget is on ε alone", fix="Leave delta out"
            )

        def reserve(work: Transaction) -> tuple[Row, State]:
            head = self._head(work)
            before = self._state(work, head)
            total = self._accountant.plus(before.total, record)
            after = replace(before, total=total) if total.within(before.ceiling) else self._look_ahead(total)
            if not after.epsilon <= self.terms.budget * (1 + SLACK):
                raise _TooMuchError(before.total, after.epsilon)
            content = dict(facts) | {"record": record.to_dict()} | after.content(self._opened)
            row = Row.after(head, "reserved", self._clock().isoformat(), content)
            _write(work, row)
            work.run(_KEEP, **after.columns(row))
            return row, after

        try:
            with self._one_at_a_time:
                row, state = self._store.transaction(reserve)
                self._seen = row.head, state
        except _TooMuchError as refused:  # explained when nobody waits for the ledger any more
            raise self._refusals.explain(refused.total, record, refused.epsilon) from None
        mixed = state.total.mixed
        return Reservation(row.number, row.hash, state.epsilon, state.rule, self.terms.budget, mixed)

    def complete(self, reservation: Reservation) -> None:
        """Note that a reserved release was made. If this is lost, the reservation still counts."""

        outcome = Outcome.of(reservation.number, reservation.hash, self._clock().isoformat())
        self._store.single(_DONE, number=outcome.number, time=outcome.time, hash=outcome.hash)

    def statement(self) -> Statement:
        """Everything there is to see, at one moment."""

        def look(work: Transaction) -> tuple[list[Row], list[Outcome], Total]:
            return _rows(work), _outcomes(work), self._state(work, self._head(work)).total

        rows, outcomes, total = self._store.read(look)
        problems = verify_rows(rows)
        if problems:
            raise LedgerError(f"ledger {self.name} is broken: {problems[0]}", fix="Compare it with an earlier export")
        told = self._accountant.told_by(total)
        seen = tuple(rows), tuple(outcomes)
        return Statement(self.name, self.terms, *seen, told.epsilon, told.rule, total.mixed)

    def rows(self) -> tuple[list[Row], list[Outcome]]:
        """All rows and outcomes as they are, checked or not."""
        return self._store.read(lambda work: (_rows(work), _outcomes(work)))

    def spent(self) -> float:
        """ε of all releases so far together."""
        return self._accountant.told_by(self._total()).epsilon

    def losses(self) -> Losses:
        """What all releases so far tell about each time of a series, at most."""
        return self._accountant.losses_of(self._total())

    def _total(self) -> Total:
        return self._store.read(lambda work: self._state(work, self._head(work)).total)

    def verify(self) -> list[str]:
        """What is wrong with the ledger, the first broken row first; nothing if it is whole."""

        def look(work: Transaction) -> tuple[list[Row], list[Outcome], tuple[int, str], bytes]:
            return _rows(work), _outcomes(work), self._head(work), bytes(work.run(_KEPT)[0][0])

        rows, outcomes, head, kept = self._store.read(look)
        problems = verify_export(rows, outcomes)
        self._seen = None  # what is in the database, not what this ledger remembers
        if problems:
            return problems
        if head != rows[-1].head:
            return [f"rows are missing: the last release is not among the {len(rows)} that are there"]
        try:
            if added_up(rows, self._accountant)[0].digest != Total.from_bytes(kept).digest:
                return ["the kept sum is not that of the rows: it was changed"]
            self._store.read(lambda work: self._state(work, self._head(work)))
        except InputError:
            return [f"the kept sum is not what row {rows[-1].number} says: it was changed"]
        return []

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    def _needs_work(self) -> bool:
        version = self._store.read(version_of)
        check_version(version)
        return version < MIGRATIONS[-1].version

    def _prepare(self, work: Transaction) -> None:
        if version_of(work) == 0:
            raise LedgerError(
                f"ledger {self._store.name} is empty",
                got="no tables of a ledger",
                fix="Create it first: Ledger.create(...), or quiltwork ledger create",
            )
        _upgrade(work, self._clock().isoformat())

    def _head(self, work: Transaction) -> tuple[int, str]:
        """Number and hash of the last row; in a transaction that writes, nobody else can add one until it ends."""
        found = work.run(f"{_HEAD} FOR UPDATE" if work.writes and not self._store.sqlite else _HEAD)
        if not found:
            raise LedgerError(f"ledger {self.name} has lost its sum", why="it was changed")
        return int(found[0][0]), str(found[0][1])

    def _state(self, work: Transaction, head: tuple[int, str]) -> State:
        """The kept sum, checked against the row that wrote it; what this ledger wrote itself it knows."""
        seen = self._seen
        if seen is not None and seen[0] == head:
            return seen[1]
        ((total, ceiling, epsilon, rule),) = work.run(_KEPT)
        state = State(Total.from_bytes(bytes(total)), Total.from_bytes(bytes(ceiling)), float(epsilon), str(rule))
        last = next(iter(_rows(work, _LAST)), None)
        whole = last is not None and last.head == head and last.hash == last.true_hash()
        if whole and last is not None and last.kind != "opened":
            written = state.content(self._opened)
            whole = {key: last.content.get(key) for key in written} == written
        elif whole and last is not None:
            whole = last.hash == self._opened and state.total.count == 0 == state.epsilon
        if not whole:
            raise LedgerError(
                f"ledger {self.name} was changed",
                why="the kept sum is not that of the last release",
                fix="quiltwork ledger verify names what is broken",
            )
        return state

    def _look_ahead(self, total: Total) -> State:
        """ε of somewhat more than the total, if that is within the budget: it holds for all that comes in between."""
        budget = self.terms.budget
        for room in ROOM if total.count >= MANY else ():
            further = total.stretched(room)
            told = self._accountant.told_by(further, enough=budget)
            if told.epsilon <= budget * (1 - 3 * (room - 1)):
                return State(total, further, told.epsilon, told.rule)
        told = self._accountant.told_by(total, enough=budget)
        return State(total, total, told.epsilon, told.rule)


def _checked(budget: float) -> float:
    try:
        return check_epsilon(budget)
    except InputError:
        raise LedgerError(
            "a budget must be a positive, finite number, at least 1e-100",
            got=repr(budget),
            why="it is the ε of all releases together",
        ) from None


def _upgrade(work: Transaction, now: str) -> None:
    version = version_of(work)
    check_version(version)
    for migration in MIGRATIONS:
        if migration.version > version:
            migrate(work, migration, now)
            if migration.carries_over:
                _carry_over(work, now)


def _carry_over(work: Transaction, now: str) -> None:
    """Add up anew what an earlier version wrote, and write a row that says so."""
    rows = _rows(work)
    if not rows:
        return
    problems = verify_rows(rows)
    if not problems and [(rows[-1].number, rows[-1].hash)] != [(int(n), str(h)) for n, h in work.run(_HEAD)]:
        problems = ["the last release is not among its rows"]
    if problems:
        raise LedgerError(f"the ledger is broken: {problems[0]}", fix="Compare it with an earlier export")
    total, told = carried_over(rows)
    state = State(total, total, told.epsilon, told.rule)
    row = Row.after(rows[-1], "migrated", now, state.content(rows[0].hash))
    _write(work, row)
    work.run(_KEEP, **state.columns(row))


def _write(work: Transaction, row: Row) -> None:
    work.run(
        _ROW,
        number=row.number,
        kind=row.kind,
        time=row.time,
        content=row.text,
        previous=row.previous,
        hash=row.hash,
    )


def _rows(work: Transaction, statement: str = _ROWS) -> list[Row]:
    found = []
    for number, kind, time, content, previous, digest in work.run(statement):
        row = Row(int(number), kind, time, _loaded(content), previous, digest)
        found.append(row if row.text == content else replace(row, hash="not what was written"))
    return found


def _outcomes(work: Transaction) -> list[Outcome]:
    return [Outcome(int(n), time, digest) for n, time, digest in work.run(_OUTCOMES)]


def _loaded(content: str) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError as problem:
        raise LedgerError("a row of the ledger cannot be read", why="it was changed") from problem
    return found if isinstance(found, dict) else {}
