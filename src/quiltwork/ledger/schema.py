"""The tables of a ledger, and how they came about: migrations, each with its record in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass

from quiltwork.errors import LedgerError
from quiltwork.ledger.rows import decoding
from quiltwork.ledger.store import Transaction


@dataclass(frozen=True)
class Migration:
    """One change of the tables; ``{bytes}`` stands for the database's own type of raw bytes."""

    version: int
    what: str
    statements: tuple[str, ...]
    carries_over: bool = False
    """Whether what is kept of the rows has to be computed anew."""
    counts_outcomes: bool = False
    """Whether outcomes have to be counted."""


MIGRATIONS = (
    Migration(
        1,
        "rows, the sum that is kept of them, and which releases were made",
        (
            "CREATE TABLE quiltwork_rows (number INTEGER PRIMARY KEY, kind VARCHAR(16) NOT NULL, "
            "time VARCHAR(40) NOT NULL, content TEXT NOT NULL, previous CHAR(64) NOT NULL, hash CHAR(64) NOT NULL)",
            "CREATE TABLE quiltwork_kept (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, hash CHAR(64) NOT NULL, "
            "sum {bytes} NOT NULL, ceiling {bytes} NOT NULL, epsilon DOUBLE PRECISION NOT NULL, "
            "rule VARCHAR(60) NOT NULL)",
            "CREATE TABLE quiltwork_outcomes (number INTEGER PRIMARY KEY, time VARCHAR(40) NOT NULL, "
            "hash CHAR(64) NOT NULL)",
        ),
    ),
    Migration(2, "one record a release, with its query and reading; what is kept of them for all rules", (), True),
    Migration(
        3,
        "how many outcomes there are, and which",
        ("ALTER TABLE quiltwork_kept ADD COLUMN outcomes VARCHAR(160) NOT NULL DEFAULT ''",),
        counts_outcomes=True,
    ),
)
_BYTES = {"sqlite": "BLOB", "postgresql": "BYTEA"}
_RECORDS = (
    "CREATE TABLE IF NOT EXISTS quiltwork_migrations (version INTEGER PRIMARY KEY, what VARCHAR(200) NOT NULL, "
    "time VARCHAR(40) NOT NULL)"
)


def version_of(work: Transaction) -> int:
    """The version of a ledger's tables; 0 if there are none."""
    tables = {
        "sqlite": "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'quiltwork_migrations'",
        "postgresql": "SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema() "
        "AND table_name = 'quiltwork_migrations'",
    }
    if not work.value(tables[work.dialect]):
        return 0
    with decoding("the version"):
        return int(work.value("SELECT max(version) FROM quiltwork_migrations") or 0)


def check_version(version: int, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Refuse tables that a newer version has made."""
    if version > migrations[-1].version:
        raise LedgerError(
            "the ledger was made by a newer version",
            got=f"tables of version {version}, known up to {migrations[-1].version}",
            why="its rows may mean more than this version knows",
            fix="Upgrade quiltwork",
        )


def migrate(work: Transaction, migration: Migration, time: str) -> None:
    """Apply one migration; the caller's transaction holds it together with its record."""
    work.run(_RECORDS)
    for statement in migration.statements:
        work.run(statement.format(bytes=_BYTES[work.dialect]))
    work.run(
        "INSERT INTO quiltwork_migrations (version, what, time) VALUES (:version, :what, :time)",
        version=migration.version,
        what=migration.what,
        time=time,
    )
