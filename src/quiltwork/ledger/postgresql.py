"""A ledger in PostgreSQL: writers wait for one row, so that none has to do its work twice."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import psycopg

from quiltwork.ledger.store import WAIT_SECONDS, Dialect, Store, Transaction, not_written

_WAIT = int(WAIT_SECONDS * 1000)
# a policy that would hide rows makes statements fail instead
_LIMITS = f"SET LOCAL lock_timeout = {_WAIT}; SET LOCAL statement_timeout = {_WAIT}; SET LOCAL row_security = off"
_TABLES = 0x7175696C74  # the lock of those who create tables
REPEATABLE = ("40001", "40P01", "23505")  # serialisation, deadlock, or two that wrote the same row number


class PostgresTransaction(Transaction):
    """Statements in PostgreSQL's own form."""

    dialect: Dialect = "postgresql"

    def begin(self, statements: Sequence[str], locking: str | None) -> None:
        """Begin and lock in one go: each answer of the server takes as long as some work."""
        together = [*statements] if locking is None else [*statements, f"{locking} FOR UPDATE"]
        cursor = self._connection.execute("; ".join(together))
        while locking is not None and cursor.nextset():
            pass
        self.locked = [] if locking is None else cursor.fetchall()

    def change_both(self, insert: str, update: str, **values: Any) -> None:
        """Write one row and change another, exactly, in one go."""
        both = f"WITH written AS ({insert} RETURNING 1) {update} AND (SELECT count(*) FROM written) = 1"  # noqa: S608 - statements of ours
        changed = self._execute(both, values).rowcount
        if changed != 1:
            raise not_written(changed)

    def alone(self) -> None:
        """Nobody else creates or changes tables until this transaction ends."""
        self.run(f"SELECT pg_advisory_xact_lock({_TABLES})")

    def _execute(self, statement: str, values: Mapping[str, Any]) -> Any:
        return self._connection.execute(_in_form(statement), values or None)


@lru_cache(maxsize=64)
def _in_form(statement: str) -> str:
    return re.sub(r"(?<!:):([a-z_]+)", r"%(\1)s", statement)


class PostgresStore(Store):
    """A database on a server."""

    dialect: Dialect = "postgresql"
    # whoever holds the row of the sum writes; READ COMMITTED shows what the one before has written
    _begin_durable = (f"BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; {_LIMITS}",)
    _begin_quick = (f"BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off; {_LIMITS}",)
    _begin_reading = (f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_LIMITS}",)
    _statements = PostgresTransaction

    def __init__(self, name: str, address: str):
        super().__init__()
        self.name, self._address = name, address

    def _connect(self) -> "psycopg.Connection[Any]":
        return psycopg.connect(self._address, autocommit=True, connect_timeout=30, tcp_user_timeout=_WAIT)

    def _errors(self) -> tuple[type[Exception], ...]:
        return (psycopg.Error,)

    def _gone(self) -> bool:
        return self._open is None or bool(self._open.closed)

    def _may_repeat(self, problem: Exception) -> bool:
        return getattr(problem, "sqlstate", None) in REPEATABLE and not self._gone()
