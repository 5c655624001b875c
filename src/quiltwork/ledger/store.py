"""Where a ledger is kept: SQLite in a file, or PostgreSQL by its address. One transaction at a time."""

import os
import random
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

from sqlalchemy import Engine, PoolProxiedConnection, create_engine, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.pool import StaticPool

from quiltwork.errors import LedgerError

WAIT_SECONDS = 120.0
SERIALISATION_FAILURES = ("40001", "40P01", "23505")  # or two that wrote the same row number
Result = TypeVar("Result")


class Transaction:
    """Statements with named values (``:name``), in the database's own form, by its own driver."""

    def __init__(self, connection: Any, dialect: str, *, writes: bool):
        self._connection, self.dialect, self.writes = connection, dialect, writes

    def run(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """Run one statement; its rows, if it has any."""
        cursor = self._connection.execute(_in_form(statement, self.dialect), values)
        return [] if cursor.description is None else cursor.fetchall()

    def value(self, statement: str, **values: Any) -> Any:
        """The first value of the first row; None if there is none."""
        rows = self.run(statement, **values)
        return rows[0][0] if rows else None


@lru_cache(maxsize=64)
def _in_form(statement: str, dialect: str) -> str:
    return statement if dialect == "sqlite" else re.sub(r"(?<!:):([a-z_]+)", r"%(\1)s", statement)


_STORES: "WeakSet[Store]" = WeakSet()


def _before_fork() -> None:
    """No connection may be shared by two processes: each opens its own when it needs one."""
    for store in list(_STORES):
        store._lock.acquire()
        if store.path is not None or not store.sqlite:
            store.close()


def _after_fork() -> None:
    for store in list(_STORES):
        with suppress(RuntimeError):
            store._lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


class Store:
    """A database with serialisable transactions that are durable when they end."""

    def __init__(self, address: str, *, forgetful: bool = False):
        self.url = _url(address)
        self.name = _without_passwords(self.url)
        if not forgetful and self.url.get_backend_name() == "sqlite" and _in_memory(self.url):
            raise LedgerError(
                "a ledger must be kept in a file or on a server",
                got="one in memory",
                why="it would be lost, along with the record of what was spent",
                fix="sqlite:///path",
            )
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self._lock = threading.RLock()
        self._engine = _sqlite(self.url) if self.sqlite else _postgresql(self.url)
        self._error: type[Exception] = self._engine.dialect.loaded_dbapi.Error
        self._open: PoolProxiedConnection | None = None
        _STORES.add(self)

    def exists(self) -> bool:
        """Whether there is anything yet; a server is assumed to be there."""
        return not self.sqlite or not self.path or self.path.exists()

    @property
    def path(self) -> Path | None:
        """The file, if it is one."""
        name = self.url.database
        return Path(name.removeprefix("file:")) if self.sqlite and name and name != ":memory:" else None

    def create_file(self) -> None:
        """A new file that only its owner may read and write."""
        if self.path is None or self.path.exists():
            return
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return  # another process was quicker
        except OSError as problem:
            raise LedgerError(
                f"ledger {self.name} cannot be created", why=problem.strerror or "the system refused"
            ) from problem

    def transaction(self, work: Callable[[Transaction], Result]) -> Result:
        """Do the work in one serialisable transaction that is durable when it ends."""
        # in WAL mode FULL flushes every commit; NORMAL leaves the last ones to the next flush
        begin = ["PRAGMA synchronous=FULL", "BEGIN IMMEDIATE"]
        if not self.sqlite:
            begin = ["BEGIN ISOLATION LEVEL SERIALIZABLE", "SET LOCAL synchronous_commit = on"]
        until = time.monotonic() + WAIT_SECONDS
        with self._lock, self._errors():
            while True:
                try:
                    return self._once(work, begin, "COMMIT")
                except self._error as problem:
                    again = getattr(problem, "sqlstate", None) in SERIALISATION_FAILURES
                    if not again or time.monotonic() > until:
                        raise
                    time.sleep(random.uniform(0.001, 0.03))  # somebody else was quicker: look again

    def single(self, statement: str, **values: Any) -> None:
        """One statement by itself. A power cut may undo it; what was durable before stays so."""
        with self._lock, self._errors():
            transaction = Transaction(self._driver(), self._engine.dialect.name, writes=True)
            if self.sqlite:
                transaction.run("PRAGMA synchronous=NORMAL")
            transaction.run(statement, **values)

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        """Look without changing anything, at one moment."""
        begin = ["BEGIN" if self.sqlite else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"]
        with self._lock, self._errors():
            return self._once(work, begin, "ROLLBACK")

    def _once(self, work: Callable[[Transaction], Result], begin: list[str], end: str) -> Result:
        transaction = Transaction(self._driver(), self._engine.dialect.name, writes=end == "COMMIT")
        try:
            for statement in begin:
                transaction.run(statement)
            result = work(transaction)
            transaction.run(end)
        except BaseException:
            try:
                transaction.run("ROLLBACK")
            except self._error:
                self.close()  # there is no transaction any more, or the connection is gone
            raise
        return result

    def _driver(self) -> Any:
        """The driver's own connection: transactions are begun and ended by hand."""
        if self._open is None:
            self._open = self._engine.raw_connection()
            if not self.sqlite:
                self._open.driver_connection.autocommit = True  # type: ignore[union-attr]
        return self._open.driver_connection

    def close(self) -> None:
        """Let go of the database."""
        if self._open is not None:
            self._open.close()
            self._open = None
        if self.path is not None or not self.sqlite:
            self._engine.dispose()

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """The database's own complaints, without addresses or values."""
        try:
            yield
        except (self._error, DBAPIError) as problem:
            self.close()
            raise LedgerError(
                f"ledger {self.name} cannot be used", why=_reason(problem), fix="Nothing was written or released"
            ) from None


def _reason(problem: Exception) -> str:
    said = str(getattr(problem, "orig", None) or problem).strip().splitlines()
    first = said[0] if said else "the database refused"
    known = {
        "readonly": "it may not be written to",
        "not a database": "the file is not a ledger, or is damaged",
        "malformed": "the file is damaged",
        "unable to open": "the file cannot be opened",
        "locked": "another program keeps it locked",
        "disk": "the disk is full or failing",
        "password": "the server does not accept the name or password",
        "does not exist": "the server does not know the database or the role",
        "connection": "the server does not answer",
        "resolve": "the server's name is not known",
        "permission denied": "the role may not do this",
    }
    return next(
        (meaning for word, meaning in known.items() if word in first.lower()), f"the database says: {first[:120]}"
    )


def _url(address: str) -> URL:
    if not isinstance(address, str):
        raise LedgerError("a ledger's address must be text", got=type(address).__name__, fix="sqlite:///path")
    if "://" not in address and "@" in address and ":" in address:
        raise LedgerError("a ledger's address cannot be read", fix="sqlite:///path or postgresql://...")
    if address.endswith(".jsonl"):
        raise LedgerError("a ledger is a database", got="an exported one", fix="quiltwork ledger verify reads it")
    try:
        url = make_url(address if "://" in address else f"sqlite:///{address}")
    except (ArgumentError, ValueError):
        raise LedgerError("a ledger's address cannot be read", fix="sqlite:///path or postgresql://...") from None
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() != "sqlite":
        raise LedgerError(
            "a ledger is kept in SQLite or PostgreSQL",
            got=url.get_backend_name(),
            fix="sqlite:///path or postgresql://...",
        )
    if url.host or url.username:
        raise LedgerError("the address of a SQLite ledger has three slashes", got="two", fix="sqlite:///path")
    return url


def _in_memory(url: URL) -> bool:
    return not url.database or ":memory:" in url.database or url.query.get("mode") == "memory"


def _without_passwords(url: URL) -> str:
    hidden = {
        key: "***" if re.search("pass|key|secret|token", key, re.I) else value for key, value in url.query.items()
    }
    shown = url.set(query=hidden, drivername=url.get_backend_name())
    return shown.render_as_string(hide_password=True).replace("%2A%2A%2A", "***")


def _sqlite(url: URL) -> Engine:
    memory = _in_memory(url)
    options = {"poolclass": StaticPool} if memory else {}
    engine = create_engine(
        url, connect_args={"timeout": WAIT_SECONDS, "check_same_thread": False, "isolation_level": None}, **options
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        connection.execute(f"PRAGMA busy_timeout={int(WAIT_SECONDS * 1000)}")
        with suppress(sqlite3.OperationalError):  # a file that may only be read stays as it is
            connection.execute("PRAGMA journal_mode=WAL")

    return engine


def _postgresql(url: URL) -> Engine:
    try:
        return create_engine(url, pool_pre_ping=False)
    except (ModuleNotFoundError, NoSuchModuleError):
        raise LedgerError(
            "a ledger in PostgreSQL needs psycopg",
            got="an installation without it",
            why="it is the database driver",
            fix='pip install "quiltwork[postgresql]"',
        ) from None
