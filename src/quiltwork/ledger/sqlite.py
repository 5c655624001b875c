"""A ledger in a SQLite file, which alone is the whole ledger after each transaction.

A rollback journal, not a write-ahead log: with a log the newest rows are in a second file, and whoever opens and closes
the file in the same process (a copy of it is enough) makes SQLite forget that the log is in use. Locks of the system on
open files (``flock``) keep writers apart in addition to SQLite's own, which such a copy takes away too.
"""

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from quiltwork.beliefs.text import why_unwritten
from quiltwork.errors import LedgerError
from quiltwork.ledger.store import WAIT_SECONDS, Dialect, Store, Transaction

try:
    import fcntl
except ImportError:  # not on this system: SQLite's own locks must do
    fcntl = None  # type: ignore[assignment]


class SqliteTransaction(Transaction):
    """Statements of SQLite; one process writes at a time."""

    dialect: Dialect = "sqlite"


class SqliteStore(Store):
    """A file that only its owner may read and write, or a database in memory that ends with the session."""

    dialect: Dialect = "sqlite"
    # with FULL the journal is flushed as it is emptied: what was committed cannot be taken back by a power cut
    _begin_durable = ("PRAGMA synchronous=FULL", "BEGIN IMMEDIATE")
    _begin_quick = ("PRAGMA synchronous=NORMAL", "BEGIN IMMEDIATE")
    _begin_reading = ("BEGIN",)
    _statements = SqliteTransaction

    def __init__(self, name: str, database: str, mode: str = "rw"):
        super().__init__()
        self.name = name
        self.path = Path(database.removeprefix("file:")).absolute() if database != ":memory:" else None
        # a file that is not there must not be made by opening it
        self._address = "file::memory:" if self.path is None else f"file:{quote(os.fsencode(self.path))}?mode={mode}"
        self._file: tuple[int, int] | None = None
        self._guard: int | None = None

    def exists(self) -> bool:
        """Whether there is a file."""
        return self.path is None or self.path.exists()

    def create_file(self) -> None:
        """A new file that only its owner may read and write, also where a link points that leads nowhere yet."""
        if self.path is None or self.path.exists():
            return
        try:
            os.close(os.open(self.path.resolve(), os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
        except FileExistsError:
            return  # another process was quicker
        except (OSError, RuntimeError) as problem:
            why, fix = why_unwritten(self.path, problem)
            raise LedgerError(f"ledger {self.name} cannot be created", why=why, fix=fix) from problem

    def close(self) -> None:
        """Let go of the database, then of the file."""
        super().close()
        if self._guard is not None and self.mine:
            guard, self._guard = self._guard, None
            with suppress(OSError):
                os.close(guard)

    def _connect(self) -> sqlite3.Connection:
        if self._file is not None:
            self._check_place()
        before = self._identity()
        connection = sqlite3.connect(
            self._address, uri=True, timeout=WAIT_SECONDS, check_same_thread=False, isolation_level=None
        )
        with suppress(sqlite3.OperationalError):  # a file that may only be read stays as it is
            ((mode,),) = connection.execute("PRAGMA journal_mode=TRUNCATE").fetchall()
            if mode == "wal":
                connection.close()
                raise LedgerError(
                    f"ledger {self.name} has a write-ahead log that is in use", fix="End the programs that have it open"
                )
        if before != self._identity() or (self.path is not None and before is None):
            connection.close()
            raise self._replaced()
        self._file = self._file or before
        return connection

    def _errors(self) -> tuple[type[Exception], ...]:
        return sqlite3.Error, UnicodeDecodeError, OverflowError  # text that is none, numbers that no column has

    def _identity(self) -> tuple[int, int] | None:
        """Which file stands under the ledger's name now."""
        if self.path is None:
            return None
        with suppress(OSError):
            now = self.path.stat()
            return now.st_dev, now.st_ino
        return None

    def _check_place(self) -> None:
        if self.path is not None and (self._file is None or self._identity() != self._file):
            self.close()
            raise self._replaced()

    def _replaced(self) -> LedgerError:
        return LedgerError(
            f"ledger {self.name} is not the file that was opened any more",
            why="it was deleted or replaced, and what was spent may be missing from what is there now",
            fix="Nothing was released. Bring the file back, compare its head (ledger verify) and open it again",
        )

    def _settle(self) -> None:
        self._check_place()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One writer at a time, by a lock that no other use of the file takes away."""
        if self.path is None or fcntl is None:
            yield
            return
        if self._guard is None:
            try:
                self._guard = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                raise self._replaced() from None
        until = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                fcntl.flock(self._guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as problem:
                if not isinstance(problem, BlockingIOError) or time.monotonic() > until:
                    why = "another program keeps it locked"
                    raise LedgerError(
                        f"ledger {self.name} cannot be used", why=why, fix="Nothing was released"
                    ) from None
            time.sleep(random.uniform(0.0002, 0.003))
        guard = self._guard
        try:
            yield
        finally:
            with suppress(OSError):
                fcntl.flock(guard, fcntl.LOCK_UN)
