"""Where a ledger is kept: one transaction at a time, durable when it ends, and used by the process that opened it."""

import ctypes
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Literal, TypeVar
from weakref import WeakSet

from quiltwork.errors import LedgerError
from quiltwork.forks import at_forks, working

WAIT_SECONDS = 120.0
"""How long a ledger waits for others that write, and for a server."""
MOST_ATTEMPTS = 10
"""How often work is done again where somebody else was quicker."""
Result = TypeVar("Result")
Dialect = Literal["sqlite", "postgresql"]


class Transaction(ABC):
    """Statements with named values (``:name``), by the database's own driver."""

    dialect: Dialect
    locked: list[tuple[Any, ...]]
    """The rows that were locked when it began: nobody else can change them until it ends."""

    def __init__(self, connection: Any):
        self._connection = connection
        self.locked = []

    def begin(self, statements: Sequence[str], locking: str | None) -> None:
        """Begin, and lock the rows that a statement selects; where one writes at a time, they are."""
        for statement in statements:
            self.run(statement)
        if locking is not None:
            self.locked = self.run(locking)

    def run(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """Run one statement; its rows, if it has any."""
        cursor = self._execute(statement, values)
        return [] if cursor.description is None else cursor.fetchall()

    def value(self, statement: str, **values: Any) -> Any:
        """The first value of the first row; None if there is none."""
        rows = self.run(statement, **values)
        return rows[0][0] if rows else None

    def change(self, statement: str, **values: Any) -> None:
        """Write or change exactly one row: rules and triggers of a database may leave it out without a word."""
        changed = self._execute(statement, values).rowcount
        if changed != 1:
            raise not_written(changed)

    def change_both(self, insert: str, update: str, **values: Any) -> None:
        """Write one row and change another, exactly."""
        self.change(insert, **values)
        self.change(update, **values)

    def alone(self) -> None:  # noqa: B027 - where one writes at a time, nothing is left to do
        """Nobody else creates or changes tables until this transaction ends."""

    def _execute(self, statement: str, values: Mapping[str, Any]) -> Any:
        return self._connection.execute(statement, values)


def not_written(rows: int) -> LedgerError:
    """A database took another number of rows than one."""
    return LedgerError(
        "the ledger must take each row that is written",
        got=f"{rows} rows written instead of one",
        why="a rule or trigger of the database is in the way",
        fix="Nothing was released. Remove the rule",
    )


class LostAnswerError(Exception):
    """The connection was lost while a transaction ended: whether it did is not known."""


class Store(ABC):
    """A database with transactions that follow one another and are durable when they end."""

    dialect: Dialect
    name: str
    """The address, without passwords."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process, self._forked = os.getpid(), False
        self._open: Any = None
        _STORES.add(self)

    def exists(self) -> bool:
        """Whether there is anything yet; a server is assumed to be there."""
        return True

    def create_file(self) -> None:  # noqa: B027 - a server has room
        """Make room for a new ledger, if it is kept in a file."""

    def transaction(self, work: Callable[[Transaction], Result], *, locking: str | None = None) -> Result:
        """Do the work in one transaction that is durable when it ends; it begins with locking what is selected."""
        return self._repeated(work, self._begin_durable, locking, self._settle)

    def note(self, work: Callable[[Transaction], Result], *, locking: str | None = None) -> Result:
        """Do the work in one transaction. A power cut may undo it; what was durable before stays so."""
        return self._repeated(work, self._begin_quick, locking, lambda: None)

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        """Look without changing anything, at one moment."""
        with self._used():
            return self._once(work, self._begin_reading, None, ends="ROLLBACK")

    @working()
    def close(self) -> None:
        """Let go of the database."""
        if self._open is not None and self.mine:
            connection, self._open = self._open, None
            with suppress(*self._errors()):
                connection.close()

    @property
    def mine(self) -> bool:
        """Whether this process opened it."""
        return not self._forked and self._process == os.getpid()

    def _repeated(
        self,
        work: Callable[[Transaction], Result],
        begin: Sequence[str],
        locking: str | None,
        settle: Callable[[], None],
    ) -> Result:
        with self._used(), self._alone():
            for attempt in range(MOST_ATTEMPTS):
                try:
                    result = self._once(work, begin, locking, ends="COMMIT")
                    break
                except self._errors() as problem:
                    if not self._may_repeat(problem) or attempt == MOST_ATTEMPTS - 1:
                        raise
            settle()
        return result

    def _once(
        self, work: Callable[[Transaction], Result], begin: Sequence[str], locking: str | None, *, ends: str
    ) -> Result:
        transaction = self._begun(begin, locking)
        try:
            self._check_place()
            result = work(transaction)
            try:
                transaction.run(ends)
            except self._errors() as problem:
                if ends == "COMMIT" and self._gone():
                    raise LostAnswerError from problem
                raise
        except BaseException:
            try:
                transaction.run("ROLLBACK")
            except self._errors():
                self.close()  # there is no transaction any more, or the connection is gone
            raise
        return result

    def _begun(self, begin: Sequence[str], locking: str | None) -> Transaction:
        """A transaction; where a connection that was idle turns out to be gone, on a new one."""
        idle = self._open is not None
        try:
            return self._begin(begin, locking)
        except self._errors():
            if not idle or not self._gone():
                self.close()  # whatever it was in the middle of
                raise
            self.close()
            return self._begin(begin, locking)

    def _begin(self, begin: Sequence[str], locking: str | None) -> Transaction:
        if self._open is None:
            self._open = self._connect()
        transaction = self._statements(self._open)
        transaction.begin(begin, locking)
        return transaction

    @contextmanager
    def _used(self) -> Iterator[None]:
        """By one thread at a time, of the process that opened it; complaints come without addresses or values."""
        if not self.mine:
            raise LedgerError(
                f"ledger {self.name} belongs to the process that opened it",
                got="a process that was forked from it",
                why="two processes with one connection could lose what was spent",
                fix="Open the ledger, or the session, in the process that uses it",
            )
        with self._lock:
            try:
                yield
            except LostAnswerError:
                self.close()
                raise LedgerError(
                    f"whether ledger {self.name} recorded this is not known",
                    why="the connection was lost while it was being recorded",
                    fix="Nothing was released. `quiltwork ledger show` tells whether it is there: then it counts",
                ) from None
            except self._errors() as problem:
                self.close()
                raise LedgerError(
                    f"ledger {self.name} cannot be used", why=_reason(problem), fix="Nothing was written or released"
                ) from None

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    _begin_durable: Sequence[str]
    _begin_quick: Sequence[str]
    _begin_reading: Sequence[str]
    _statements: type[Transaction]

    @abstractmethod
    def _connect(self) -> Any:
        """A new connection of the driver, whose transactions are begun and ended by hand."""

    @abstractmethod
    def _errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises."""

    def _gone(self) -> bool:
        """Whether the connection was lost."""
        return False

    def _may_repeat(self, problem: Exception) -> bool:  # noqa: ARG002
        """Whether somebody else was quicker, so that the same work may be done again."""
        return False

    def _check_place(self) -> None:  # noqa: B027 - for files only
        """Refuse where the ledger is not what was opened any more."""

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Where a database does not keep writers apart by itself."""
        yield

    def _settle(self) -> None:  # noqa: B027 - a server has settled it
        """What is left to do after a durable transaction, before anything is shown."""


_STORES: "WeakSet[Store]" = WeakSet()


def _before_fork() -> None:
    """No thread may be in the middle of a transaction, and no file may be open: a child would inherit its locks."""
    for store in list(_STORES):
        store._lock.acquire()
        if store.dialect == "sqlite" and getattr(store, "path", None) is not None:
            store.close()


def _after_fork_in_parent() -> None:
    for store in list(_STORES):
        with suppress(RuntimeError):
            store._lock.release()


def _after_fork_in_child() -> None:
    """What the parent opened is never used nor closed here.

    Closing a connection in a second process disturbs the first, and Python closes what nobody refers to any more; so
    one reference is kept for ever.
    """
    for store in list(_STORES):
        store._forked = True
        if store._open is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(store._open))
        with suppress(RuntimeError):
            store._lock.release()


at_forks(before=_before_fork, in_parent=_after_fork_in_parent, in_child=_after_fork_in_child)


def _reason(problem: Exception) -> str:
    said = str(problem).strip().splitlines()
    first = said[0] if said else "the database refused"
    known = {
        "readonly": "it may not be written to",
        "not a database": "the file is not a ledger, or is damaged",
        "malformed": "the file is damaged",
        "unable to open": "the file cannot be opened",
        "locked": "another program keeps it locked",
        "lock timeout": "another program keeps it locked",
        "statement timeout": "another program keeps it locked, or the server is too slow",
        "disk": "the disk is full or failing",
        "no space": "the disk is full or failing",
        "password": "the server does not accept the name or password",
        "does not exist": "the server does not know the database or the role",
        "connection": "the server does not answer",
        "terminating": "the server ended the connection",
        "resolve": "the server's name is not known",
        "permission denied": "the role may not do this",
        "row-level security": "a policy (row level security) may hide rows from this role",
    }
    return next(
        (meaning for word, meaning in known.items() if word in first.lower()), f"the database says: {first[:120]}"
    )
