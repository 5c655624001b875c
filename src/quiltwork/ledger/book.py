"""The ledger: what was spent of a budget, durably, and never more than that."""

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any

from quiltwork.accounting.envelope import Envelope, check_chosen_as_you_go
from quiltwork.accounting.record import ReleaseRecord
from quiltwork.accounting.total import Total
from quiltwork.beliefs import Believed, Secrets, as_belief
from quiltwork.beliefs.text import similar_file
from quiltwork.data.reading import fixed
from quiltwork.errors import BudgetError, InputError, LedgerError, NotCoveredError
from quiltwork.forks import working
from quiltwork.influence.curve.timeline import Losses
from quiltwork.job import Data
from quiltwork.ledger.address import in_memory, open_store
from quiltwork.ledger.checks import SLACK, added_up, as_they_are, costs_what_it_asks, verify_export, verify_rows
from quiltwork.ledger.entries import (
    ACCEPTED,
    FIRST_ROW,
    HEAD,
    HEAD_AND_TALLY,
    KEPT,
    TALLY,
    UPDATE_TALLY,
    State,
    append_outcome,
    append_row,
    begin_rows,
    check_still_there,
    first_broken,
    outcomes_in,
    row_of,
    rows_in,
    stored,
)
from quiltwork.ledger.refusals import Refusals
from quiltwork.ledger.rows import WITHOUT_KEY, Outcome, Row, Tally, decoding
from quiltwork.ledger.schema import create_tables, has_tables, look_at_tables
from quiltwork.ledger.seal import Seal, key_of_environment
from quiltwork.ledger.store import Store, Transaction
from quiltwork.ledger.terms import Reservation, Statement, Terms
from quiltwork.numeric import check_delta, check_epsilon, round_up
from quiltwork.question import Said
from quiltwork.types import Guarantee, NoiseChoice, Shown

Clock = Callable[[], datetime]
LOOK = "`quiltwork ledger verify` names what is broken; compare it with an earlier export"
LOOKS, CLOSE = 12, 2e-4  # for that share: how many, and how much of ε may be left unused
MANY = 64  # releases, from which on ε is computed somewhat further than the sum, so that small ones need it once
ROOM = 1.1, 1.01  # how much further: far from the end of the budget, and near it
TRIES, LARGER = 3, 1.01  # to prove the room of a budget: where the quick look that noise is chosen by saw too little

_SEEN_BY_THIS_PROCESS: dict[str, tuple[int, str]] = {}
"""Of each ledger, by the hash of its first row, the last row that this process has seen: it must never go back."""


class _TooMuchError(Exception):
    """A request would exceed the budget: what there was before, and ε with it."""

    def __init__(self, total: Total, epsilon: float):
        super().__init__()
        self.total, self.epsilon = total, epsilon


class Ledger(Shown):
    """What was spent of a budget under a belief, in a SQLite file or in PostgreSQL.

    ``clock`` tells the time; it is passed in for tests. ``key`` seals the rows; where it is left out, the environment
    variable QUILTWORK_LEDGER_KEY is looked at.

    >>> from quiltwork import MarkovChain
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/ledger.db"
    >>> ledger = Ledger.create(file, belief=MarkovChain([[0.5, 0.5], [0.5, 0.5]]), budget=1.0)
    >>> ledger.statement().remaining
    1.0
    """

    @working()
    def __init__(
        self, address: str, *, key: bytes | None = None, clock: Clock | None = None, store: Store | None = None
    ):
        self._store = store or open_store(address)
        self._clock = clock or (lambda: datetime.now(UTC))
        if not self._store.exists():
            path = getattr(self._store, "path", None)
            near = "" if path is None else similar_file(path)
            raise LedgerError(
                f"ledger {self._store.name} does not exist",
                fix=(f"{near} " if near.endswith("?") else "")
                + "Create it first: Ledger.create(...), or quiltwork ledger create",
            )
        first = self._store.read(self._first_row)
        self.terms, self._opened = Terms.from_dict(first.content), first.hash
        self._seal = self._sealed_with(key)
        if self._seal is not None and first.broken(None, self._seal):
            raise LedgerError(f"ledger {self._store.name} is broken: row 1 was changed", why="its terms are there")
        self._accountant = self.terms.accountant()
        self._seen: tuple[tuple[int, str], State] | None = None
        self._looked_through = False
        self._refusals = Refusals(self.terms.budget, self._accountant)

    def _first_row(self, work: Transaction) -> Row:
        """Where its terms are."""
        if not has_tables(work):
            raise LedgerError(
                f"ledger {self.name} is empty",
                got="no tables of a ledger",
                fix="Create it first: Ledger.create(...), or quiltwork ledger create",
            )
        for row in rows_in(work, FIRST_ROW):
            return row
        raise LedgerError(f"ledger {self.name} is broken: row 1 is missing", why="its terms were there", fix=LOOK)

    def _sealed_with(self, key: bytes | None) -> Seal | None:
        """What its rows are tied by; None if they are sealed with a key that is not here."""
        wanted = self.terms.key
        if wanted is None:
            if key is not None or key_of_environment() is not None:
                raise LedgerError(
                    f"ledger {self.name} was created without a key",
                    got="a key",
                    fix="Leave it out, or use the other ledger",
                )
            return WITHOUT_KEY
        seal = Seal(key or key_of_environment())
        if seal.key is not None and seal.name != wanted:
            raise LedgerError(f"ledger {self.name} is sealed with another key", got=f"key {seal.name}, not {wanted}")
        return None if seal.key is None else seal

    @property
    def _key(self) -> Seal:
        if self._seal is None:
            raise LedgerError(
                f"ledger {self.name} is sealed with a key",
                got="none",
                why="without it rows can neither be checked nor written",
                fix="Pass the key file, or set QUILTWORK_LEDGER_KEY",
            )
        return self._seal

    @classmethod
    @working()
    def create(  # noqa: PLR0913 - the public signature is meant to be read
        cls,
        address: str,
        *,
        belief: Believed,
        budget: float,
        guarantee: Guarantee = "pufferfish",
        secrets: Secrets | str | None = None,
        delta: float = 0.0,
        envelope: Said | str = "histogram",
        read: Data | Mapping[str, Any] | None = None,
        key: bytes | None = None,
        clock: Clock | None = None,
        exist_ok: bool = False,
        store: Store | None = None,
    ) -> "Ledger":
        """A new ledger; with ``exist_ok`` one for the same terms may be there already.

        ``secrets`` say what is kept apart: every release counts for what it tells about them. With a ``delta`` the
        budget is (ε, δ), and releases add up by their squares. How large those may grow is fixed now, in the shape of
        a query: the ``envelope``. ``read`` fixes how the data are read, as a service with protected files
        needs it: the arguments of :func:`read_series` by name (``{"column": "activity", "time": "time"}``).
        """
        belief = as_belief(belief)
        read = None if read is None else fixed(read)
        seal = Seal(key or key_of_environment())
        terms = Terms(belief, _checked(budget), guarantee, seal.name, Secrets.of(secrets), read=read)
        terms.secrets.on(belief)
        if delta:
            terms = _with_delta(terms, delta, envelope)
        store, now = store or open_store(address), clock or (lambda: datetime.now(UTC))
        store.create_file()

        def begin(work: Transaction) -> None:
            work.alone()
            if not has_tables(work):
                create_tables(work, now().isoformat())
                content = terms.to_dict() | {"id": token_hex(16)}  # two ledgers are never taken for one
                row = Row.after(None, "opened", now().isoformat(), content, seal=seal)
                nothing = Total.nothing(belief, squares=terms.delta > 0)
                begin_rows(work, row, State(nothing, nothing, 0.0, "nothing was released"), Tally(), seal)
            elif not exist_ok:
                raise LedgerError(
                    f"ledger {store.name} exists already", why="its budget is set", fix="Use it, or choose another name"
                )

        store.transaction(begin)
        ledger = cls(address, key=key, clock=clock, store=store)
        ledger.check(belief=belief, budget=terms.budget, guarantee=guarantee, secrets=terms.secrets, delta=terms.delta)
        if read is not None:
            ledger.check_read(read)
        return ledger

    @classmethod
    def in_memory(
        cls,
        *,
        belief: Believed,
        budget: float,
        guarantee: Guarantee = "pufferfish",
        secrets: Secrets | str | None = None,
        delta: float = 0.0,
        envelope: Said | str = "histogram",
    ) -> "Ledger":
        """A ledger that is forgotten with the program, for trying things out.

        >>> from quiltwork import MarkovChain
        >>> Ledger.in_memory(belief=MarkovChain([[0.5, 0.5], [0.5, 0.5]]), budget=1.0).spent()
        0.0
        """
        memory, kept_apart = in_memory(), Secrets.of(secrets)
        return cls.create(
            "sqlite://",
            belief=belief,
            budget=budget,
            guarantee=guarantee,
            secrets=kept_apart,
            delta=delta,
            envelope=envelope,
            store=memory,
        )

    def __repr__(self) -> str:
        return f"Ledger({self.name!r}, budget {self.terms.budget:g}, {self.terms.belief!r})"

    @property
    def name(self) -> str:
        """The address, without a password."""
        return self._store.name

    def noise_and_delta(self, noise: NoiseChoice | None = None, delta: float = 0.0) -> tuple[NoiseChoice, float]:
        """Noise and δ of a release that asks for these, or for none: Gaussian noise where its squares add up.

        >>> from quiltwork import MarkovChain
        >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
        >>> Ledger.in_memory(belief=coin, budget=1.0, delta=1e-6).noise_and_delta()
        ('gaussian', 1e-06)
        >>> Ledger.in_memory(belief=coin, budget=1.0).noise_and_delta()
        ('laplace', 0.0)
        """
        held = self.terms.delta
        if delta and held and delta != held:
            raise NotCoveredError(
                "a release must have the delta of its ledger",
                got=f"{delta:g}",
                why=f"ledger {self.name} has {held:g} for all releases together",
                fix="Leave delta out",
            )
        noise = noise or ("gaussian" if held else "laplace")
        if not held and (delta or noise != "laplace"):
            raise self._takes_no_delta(f"{noise} noise" if noise != "laplace" else f"delta = {delta:g}")
        return noise, 0.0 if noise == "laplace" else held

    def _takes_no_delta(self, got: str) -> NotCoveredError:
        return NotCoveredError(
            f"ledger {self.name} takes no releases with a delta",
            got=got,
            why="its budget is on ε alone",
            fix="Use Laplace noise without a delta, or create a ledger with --delta",
        )

    def check(
        self,
        *,
        belief: Believed,
        budget: float | None = None,
        guarantee: Guarantee | None = None,
        secrets: Secrets | None = None,
        delta: float | None = None,
    ) -> None:
        """Refuse to be used for anything else than it is for."""
        if delta is not None and delta != self.terms.delta:
            raise LedgerError(
                f"ledger {self.name} has another delta",
                got=f"{delta:g}, not {self.terms.delta:g}",
                fix="Leave delta out, or create another ledger",
            )
        belief = as_belief(belief)
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
        if secrets is not None and secrets != self.terms.secrets:
            raise LedgerError(
                f"ledger {self.name} is for other secrets",
                got=f"{secrets.text}, not {self.terms.secrets.text}",
                why="what is told about some pairs of states says nothing about others",
                fix=f"Use secrets {self.terms.secrets.text}, or another ledger",
            )

    def declared(self) -> Data:
        """How the data are read; refused where the ledger does not say."""
        if self.terms.read is None:
            raise LedgerError(
                f"ledger {self.name} does not say how its data are read",
                why="whoever chose that could learn values from what is refused",
                fix="Create a ledger with --column, --subject, --time and the other options for reading",
            )
        return self.terms.read

    def check_read(self, read: Data) -> None:
        """Refuse data that are to be read in another way than the ledger says."""
        held = self.declared()
        if read != held:
            mine, theirs = held.reading, read.reading
            differ = next(name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name))
            raise LedgerError(
                f"ledger {self.name} is for data that are read in another way",
                got=f"another {differ}" if differ in theirs else f"no {differ}",
                why="each way of reading is another question about the data",
                fix=f"Leave it out, or read the data as the ledger says: {held}",
            )

    @working()
    def reserve(self, record: ReleaseRecord, facts: Mapping[str, Any]) -> Reservation:
        """Count a release before it is made; refused, and nothing is written, if the budget does not allow it.

        ``facts`` are written down beside the record: who made it, by which program.
        """
        self._check_delta(record)
        seal = self._key
        self._look_through()

        def reserve(work: Transaction) -> tuple[Row, State, float]:
            head, tally = self._found_head(work.locked), str(work.locked[0][-1])
            before = self._state(work, head, writes=True)
            total = self._accountant.plus(before.total, record)
            after = replace(before, total=total) if total.within(before.ceiling) else self._look_ahead(total)
            if not after.epsilon <= self.terms.budget * (1 + SLACK):
                raise _TooMuchError(before.total, after.epsilon)
            content = dict(facts) | {"record": record.to_dict(), "outcomes": tally} | after.content(self._opened)
            row = Row.after(head, "reserved", self._clock().isoformat(), content, seal=seal)
            append_row(work, row, after)
            return row, after, before.epsilon

        try:
            row, state, spent = self._store.transaction(reserve, locking=HEAD_AND_TALLY)
        except _TooMuchError as refused:  # explained when nobody waits for the ledger any more
            raise self._refusals.explain(refused.total, record, refused.epsilon) from None
        self._confirm(row.head)
        self._know(row.head, state)
        used = self._accountant.used(state.total)
        facts_of = state.epsilon, state.rule, self.terms.budget, state.total.mixed, self.terms.delta, used
        charged = max(0.0, state.epsilon - spent) if state.total.count < MANY else None  # later ones share a bound
        return Reservation(row.number, row.hash, *facts_of, charged)

    @working()
    def preview(self, record: ReleaseRecord) -> tuple[float, str, float]:
        """ε of all releases together with one more, the rule it is by, and with a δ the room used. Nothing is written.

        What :meth:`reserve` would refuse now is refused here too; others may spend before it is called.

        >>> from quiltwork import MarkovChain, ReleaseRecord
        >>> ledger = Ledger.in_memory(belief=MarkovChain([[0.5, 0.5], [0.5, 0.5]]), budget=1.0)
        >>> ledger.preview(ReleaseRecord(mechanism="other", epsilon=0.25))[0], ledger.spent()
        (0.25, 0.0)
        """
        self._check_delta(record)
        before = self._total()
        total = self._accountant.plus(before, record)
        told = self._accountant.told_by(total)
        if not told.epsilon <= self.terms.budget * (1 + SLACK):
            raise self._refusals.explain(before, record, told.epsilon)
        return told.epsilon, told.rule, self._accountant.used(total)

    @working()
    def check_room(self, records: Sequence[ReleaseRecord]) -> None:
        """Refuse several releases if all of them together would exceed the budget. Nothing is written.

        Each is counted with the noise that it will have after those before it (see :meth:`room_for`).

        >>> from quiltwork import MarkovChain, ReleaseRecord
        >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
        >>> ledger = Ledger.in_memory(belief=chain, budget=1.0)
        >>> half = ReleaseRecord(mechanism="curve", epsilon=0.5, noise_scale=6.38, query="count:1", length=1000)
        >>> ledger.check_room([half] * 2), ledger.spent()
        (None, 0.0)
        >>> ledger.check_room([half] * 3)
        Traceback (most recent call last):
        quiltwork.errors.BudgetError: these 3 releases would exceed the budget (requested 1.57277, ...
        """
        total = self._total()
        for record in records:
            self._check_delta(record)
            share, scale = self.room_for(record, before=total), record.noise_scale
            fitted = record if share == 1 or scale is None else replace(record, noise_scale=round_up(scale / share))
            total = self._accountant.plus(total, fitted)
        spent, after, budget = self.spent(), self._accountant.told_by(total).epsilon, self.terms.budget
        if not after <= budget * (1 + SLACK):
            earlier = "together with earlier releases " if spent else ""
            raise BudgetError(
                f"these {len(records)} releases would exceed the budget",
                requested=after - spent,
                remaining=max(0.0, budget - spent),
                short_by=after - budget,
                why=f"{earlier}they would bring the total to {after:.6g} of {budget:g}",
                fix="Ask for fewer, or with a smaller epsilon",
            )

    def room_for(self, record: ReleaseRecord, *, before: Total | None = None) -> float:
        """The largest share of a release's profile that costs no more than its own ε; 1 if all of it does.

        What releases tell together grows faster than their sum (Statement 85). With the noise that a single release
        needs, four of ε = 0.5 would exceed a budget of 2; with a little more noise on the later ones they fit.

        >>> from quiltwork import MarkovChain, ReleaseRecord
        >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
        >>> ledger = Ledger.in_memory(belief=chain, budget=2.0)
        >>> half = ReleaseRecord(mechanism="curve", epsilon=0.5, noise_scale=6.38, query="count:1", length=1000)
        >>> first = ledger.room_for(half)
        >>> _ = ledger.reserve(half, {})
        >>> first, round(ledger.room_for(half), 1)
        (1.0, 0.9)
        """
        asked, scale = record.epsilon, record.noise_scale
        if not costs_what_it_asks(record, self.terms.secrets) or asked is None or scale is None or self.terms.delta:
            return 1.0
        before = self._total() if before is None else before
        spent = self._accountant.told_by(before).epsilon if before.count else 0.0

        def over(share: float) -> float:
            """By how much a share of the profile costs more than was asked."""
            weaker = record if share == 1 else replace(record, noise_scale=scale / share)
            try:
                return self._accountant.told_by(self._accountant.plus(before, weaker)).epsilon - spent - asked
            except NotCoveredError:
                return math.inf

        low, below, high, above = 0.0, -asked, 1.0, over(1.0)
        if not SLACK * asked < above < math.inf or spent + asked > self.terms.budget * (1 + SLACK):
            return 1.0  # it costs what it asks for, or it will be refused
        for look in range(LOOKS):
            aim = -CLOSE / 2 * asked - below  # a little below what was asked, so that the chord ends on the safe side
            share = low + (high - low) * (aim / (above - below) if look % 4 != 3 else 0.5)
            found = over(share)
            if found > 0:
                high, above = share, found
            else:
                low, below = share, found
                if -found <= CLOSE * asked:
                    break
        return low or 1.0

    def complete(self, reservation: Reservation) -> None:
        """Note that a reserved release was made. If this is lost, the reservation still counts."""
        seal = self._key
        outcome = Outcome.of(reservation.number, reservation.hash, self._clock().isoformat(), seal=seal)

        def note(work: Transaction) -> None:
            append_outcome(work, outcome, self._tally(work.locked, seal).plus(outcome), seal)

        self._store.note(note, locking=TALLY)

    def confirm(self, reservation: Reservation) -> None:
        """Refuse to go on unless a reservation is still there and counts: the last look before a value is shown."""
        self._confirm((reservation.number, reservation.hash))

    def _confirm(self, head: tuple[int, str]) -> None:
        self._store.read(lambda work: check_still_there(work, *head))

    @working()
    def accept(self, why: str, facts: Mapping[str, Any]) -> list[str]:
        """Go on although rows are broken, with the kept sum as it is: what was wrong, written into a row of its own.

        It is for whoever has looked at what `verify` says. A sum that is not that of the last row cannot be accepted.
        """
        seal = self._key
        problems = self.verify()

        def write(work: Transaction) -> Row:
            head, rows = self._found_head(work.locked), rows_in(work)
            state = self._state(work, head)
            if not rows or rows[-1].head != head:
                raise LedgerError(
                    f"ledger {self.name} has rows beyond those that its sum is about",
                    why="an older sum was put in place of the later one",
                    fix="It cannot be accepted: create a new ledger with what is left of the budget",
                )
            kept = base64.b64encode(state.total.to_bytes()).decode()
            looked_at = {"problems": problems, "why": why, "total": kept, "before": as_they_are(rows, seal)}
            content = dict(facts) | looked_at | state.content(self._opened)
            row = Row.after(head, "accepted", self._clock().isoformat(), content, seal=seal)
            work.change(UPDATE_TALLY, outcomes=Tally.of(outcomes_in(work)).text(seal))
            append_row(work, row, state)
            return row

        if problems:
            self._confirm(self._store.transaction(write, locking=HEAD).head)
            self._looked_through = False
        return problems

    @working()
    def statement(self) -> Statement:
        """Everything there is to see, at one moment."""

        def look(work: Transaction) -> tuple[list[Row], list[Outcome], Total]:
            return rows_in(work), outcomes_in(work), self._state(work, self._head(work)).total

        rows, outcomes, total = self._store.read(look)
        problems = [] if self._seal is None else verify_rows(rows, self._seal)
        if problems:
            raise LedgerError(f"ledger {self.name} is broken: {problems[0]}", fix=LOOK)
        told = self._accountant.told_by(total)
        seen = tuple(rows), tuple(outcomes)
        checked = self._seal is not None
        used = self._accountant.used(total)
        return Statement(self.name, self.terms, *seen, told.epsilon, told.rule, total.mixed, checked, told.pure, used)

    def rows(self) -> tuple[list[Row], list[Outcome]]:
        """All rows and outcomes as they are, checked or not."""
        return self._store.read(lambda work: (rows_in(work), outcomes_in(work)))

    @working()
    def spent(self) -> float:
        """ε of all releases so far together."""
        return self._accountant.told_by(self._total()).epsilon

    @working()
    def losses(self) -> Losses:
        """What all releases so far tell about each time of a series, at most."""
        return self._accountant.losses_of(self._total())

    def _total(self) -> Total:
        return self._store.read(lambda work: self._state(work, self._head(work)).total)

    @working()
    def verify(self) -> list[str]:
        """What is wrong with the ledger, the first broken row first; nothing if it is whole."""
        seal = self._key

        def look(work: Transaction) -> tuple[list[str], list[Row], list[Outcome], list[tuple[Any, ...]]]:
            found = work.run("SELECT number, hash, sum, outcomes FROM quiltwork_kept WHERE id = 1")
            return look_at_tables(work)[1], rows_in(work), outcomes_in(work), found

        odd, rows, outcomes, found = self._store.read(look)
        if odd:
            return [f"its database {problem}" for problem in odd]
        problems = verify_export(rows, outcomes, seal)
        self._seen = None  # what is in the database, not what this ledger remembers
        if problems:
            return problems
        if not found:
            return ["the kept sum is missing: it was deleted"]
        head, (*_, kept, tally) = self._found_head(found), found[0]
        if head != rows[-1].head:
            return [f"rows are missing: the last release is not among the {len(rows)} that are there"]
        noted = str(next((row.content["outcomes"] for row in rows[::-1] if "outcomes" in row.content), "0"))
        if Tally.from_text(str(tally), seal) != Tally.of(outcomes) or len(outcomes) < int(noted.split()[0] or 0):
            return ["an outcome was removed or added: their number is not what was noted"]
        try:
            with decoding("the kept sum"):
                total = Total.from_bytes(stored(kept))
            if added_up(rows, self._accountant)[0].digest != total.digest:
                return ["the kept sum is not that of the rows: it was changed"]
            self._store.read(lambda work: self._state(work, self._head(work)))
        except InputError:
            return [f"the kept sum is not what row {rows[-1].number} says: it was changed"]
        return []

    def close(self) -> None:
        """Let go of the database."""
        self._store.close()

    def _head(self, work: Transaction) -> tuple[int, str]:
        """Number and hash of the last row."""
        return self._found_head(work.run(HEAD))

    def _found_head(self, found: list[tuple[Any, ...]]) -> tuple[int, str]:
        if not found:
            raise LedgerError(f"ledger {self.name} has lost its sum", why="it was changed")
        with decoding("the kept sum"):
            ((number, digest, *_),) = found
            return int(number), str(digest)

    def _state(self, work: Transaction, head: tuple[int, str], *, writes: bool = False) -> State:
        """The kept sum, checked against the row that wrote it; what this ledger wrote itself it knows."""
        known = _SEEN_BY_THIS_PROCESS.get(self._opened, (0, ""))
        if self._seen is not None and self._seen[0] == head and head[0] >= known[0]:
            return self._seen[1]
        ((total, ceiling, epsilon, rule, *row, seen),) = work.run(KEPT, seen=known[0])
        if writes and (head[0] < known[0] or (known[0] and seen != known[1])):
            raise LedgerError(
                f"ledger {self.name} went back",
                got=f"row {head[0]} as the last",
                why=f"this process has seen row {known[0]}, which is not there or is another one now",
                fix="Nothing was released. An older copy was put in its place: bring back the later one",
            )
        _SEEN_BY_THIS_PROCESS[self._opened] = max(known, head)
        with decoding("the kept sum"):
            sums = Total.from_bytes(stored(total)), Total.from_bytes(stored(ceiling))
            state = State(*sums, float(epsilon), str(rule))
            last = None if row[0] is None else row_of(*row)
        if self._seal is None:
            return state
        whole = last is not None and last.head == head and last.hash == last.true_hash(self._seal)
        if whole and last is not None and last.kind != "opened":
            written = state.content(self._opened)
            whole = {key: last.content.get(key) for key in written} == written
        elif whole and last is not None:
            whole = last.hash == self._opened and state.total.count == 0 == state.epsilon
        if not whole:
            raise LedgerError(
                f"ledger {self.name} was changed", why="the kept sum is not that of the last release", fix=LOOK
            )
        return state

    def _know(self, head: tuple[int, str], state: State) -> None:
        """Remember what is durable: this process must never see less."""
        self._seen = head, state
        known = _SEEN_BY_THIS_PROCESS.get(self._opened, (0, ""))
        _SEEN_BY_THIS_PROCESS[self._opened] = max(known, head)

    def _tally(self, found: list[tuple[Any, ...]], seal: Seal) -> Tally:
        tally = Tally.from_text(str(found[0][0]), seal) if found else None
        if tally is None:
            raise LedgerError(
                f"ledger {self.name} was changed", why="the number of outcomes is not what was noted", fix=LOOK
            )
        return tally

    def _look_through(self) -> None:
        """Before the first release from this ledger: a broken row stops further ones until somebody has looked."""
        if self._looked_through:
            return
        problem = self._store.read(lambda work: first_broken(work, self._key))
        if problem == ACCEPTED:
            problem = next(iter(verify_rows(self._store.read(rows_in), self._key)), None)
        if problem is not None:
            raise LedgerError(f"ledger {self.name} is broken: {problem}", fix=LOOK)
        self._looked_through = True

    def _check_delta(self, record: ReleaseRecord) -> None:
        """Refuse what promises less than the budget."""
        if not isinstance(record, ReleaseRecord) or not (record.delta > 0 or record.noise == "gaussian"):
            return
        if not self.terms.delta:
            raise self._takes_no_delta("Gaussian noise" if record.noise == "gaussian" else f"delta = {record.delta:g}")
        if record.noise != "gaussian":
            raise NotCoveredError(
                "a ledger with a delta takes Laplace noise without one, and Gaussian noise",
                got=f"{record.mechanism} with delta = {record.delta:g}",
                why="the promises of other mechanisms do not add up",
                fix="Use curve, and --noise gaussian or no --delta",
            )

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


def _with_delta(terms: Terms, delta: float, shape: Said | str) -> Terms:
    """Terms with a δ: room for squares is fixed now, as large as ε and δ allow for, and checked once more."""
    check_chosen_as_you_go(terms.belief)
    belief = terms.belief.without_network().without_given_start()  # data may begin later than the belief
    promised: dict[str, Any] = {"guarantee": terms.guarantee, "secrets": terms.secrets}
    envelope = Envelope.of(shape, belief=belief, epsilon=terms.budget, delta=check_delta(delta), **promised)
    for _ in range(TRIES):
        made = replace(terms, envelope=envelope)
        odometer = made.accountant().odometer
        full = None if odometer is None else odometer.at(envelope.whole).epsilon
        if full is not None and full <= terms.budget * (1 + SLACK):
            return made
        envelope = replace(envelope, noise_scale=envelope.noise_scale * LARGER)
    raise NotCoveredError("no room for squares could be proved", why="the curve comes to more than the budget")


def _checked(budget: float) -> float:
    try:
        return check_epsilon(budget)
    except InputError:
        raise LedgerError(
            "a budget must be a positive, finite number, at least 1e-100",
            got=repr(budget),
            why="it is the ε of all releases together",
        ) from None
