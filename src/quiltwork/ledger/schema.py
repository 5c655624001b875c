"""The tables of a ledger, and what in a database could keep rows out of them (docs/reference/ledger-format.md)."""

from quiltwork.errors import LedgerError
from quiltwork.ledger.rows import decoding
from quiltwork.ledger.store import Transaction

VERSION = 1
TABLES = {
    "quiltwork_version": "version INTEGER PRIMARY KEY, time VARCHAR(40) NOT NULL",
    "quiltwork_rows": "number INTEGER PRIMARY KEY, kind VARCHAR(16) NOT NULL, time VARCHAR(40) NOT NULL, "
    "content TEXT NOT NULL, previous CHAR(64) NOT NULL, hash CHAR(64) NOT NULL",
    "quiltwork_kept": "id INTEGER PRIMARY KEY, number INTEGER NOT NULL, hash CHAR(64) NOT NULL, sum {bytes} NOT NULL, "
    "ceiling {bytes} NOT NULL, epsilon DOUBLE PRECISION NOT NULL, rule VARCHAR(60) NOT NULL, "
    "outcomes VARCHAR(160) NOT NULL",
    "quiltwork_outcomes": "number INTEGER PRIMARY KEY, time VARCHAR(40) NOT NULL, hash CHAR(64) NOT NULL",
}
"""The columns of each table; ``{bytes}`` stands for the database's own type of raw bytes."""
_BYTES = {"sqlite": "BLOB", "postgresql": "BYTEA"}
_IN_SQLITE = (
    "SELECT type, name, tbl_name, sql FROM sqlite_master "
    r"WHERE lower(tbl_name) LIKE 'quiltwork\_%' ESCAPE '\' OR lower(name) LIKE 'quiltwork\_%' ESCAPE '\'"
)
_IN_POSTGRESQL = (  # noqa: S608 - names of ours
    # the relations that our statements reach by these names, whatever the search path says
    "SELECT t.name, c.relkind::text, c.relpersistence::text, pg_catalog.row_security_active(c.oid), "
    "ARRAY(SELECT tgname::text FROM pg_catalog.pg_trigger WHERE tgrelid = c.oid ORDER BY 1), "
    "ARRAY(SELECT rulename::text FROM pg_catalog.pg_rewrite WHERE ev_class = c.oid ORDER BY 1), "
    "EXISTS (SELECT FROM pg_catalog.pg_inherits WHERE c.oid IN (inhparent, inhrelid)) "
    "FROM pg_catalog.unnest(ARRAY[{names}]) AS t(name) "
    "JOIN pg_catalog.pg_class c ON c.oid = pg_catalog.to_regclass(t.name)"
).format(names=", ".join(f"'{name}'" for name in TABLES))


def create_tables(work: Transaction, time: str) -> None:
    """The tables of a new ledger, in the caller's transaction."""
    for name in TABLES:
        work.run(_created(work, name))
    work.change("INSERT INTO quiltwork_version (version, time) VALUES (:version, :time)", version=VERSION, time=time)


def has_tables(work: Transaction) -> bool:
    """Whether the tables of a ledger are here; refused if they are others than this version makes, or hold no rows.

    Whoever can make triggers, rules or views can let rows disappear that were written: what a ledger says it has
    recorded would not be there.
    """
    found, problems = look_at_tables(work)
    if not found:
        return False
    if problems:
        raise LedgerError(
            f"the database of the ledger {problems[0]}",
            why="rows that are written may then not be kept, or not be seen",
            fix="Remove it, then check the ledger: `quiltwork ledger verify`",
        )
    with decoding("the version"):
        version = work.value("SELECT max(version) FROM quiltwork_version")
        version = None if version is None else int(version)
    if version is None:
        raise LedgerError("the ledger lacks its version", why="it was changed")
    if version != VERSION:
        raise LedgerError(
            "the ledger was made by a newer version",
            got=f"tables of version {version}, not {VERSION}",
            why="its rows may mean more than this version knows",
            fix="Upgrade quiltwork",
        )
    return True


def look_at_tables(work: Transaction) -> tuple[set[str], list[str]]:
    """Which tables of a ledger are here, and what is wrong with them."""
    found, problems = (_of_sqlite if work.dialect == "sqlite" else _of_postgresql)(work)
    return found, problems + [f"lacks the table {name}" for name in TABLES if name not in found]


def _created(work: Transaction, name: str) -> str:
    return f"CREATE TABLE {name} ({TABLES[name].format(bytes=_BYTES[work.dialect])})"


def _of_sqlite(work: Transaction) -> tuple[set[str], list[str]]:
    found, problems = set(), []
    for kind, name, table, definition in work.run(_IN_SQLITE):
        if kind == "table" and name in TABLES:
            found.add(str(name))
            if definition != _created(work, name):
                problems.append(f"has the table {name} with another definition")
        else:
            of = f" on {table}" if table != name else ""
            problems.append(f"has a {kind} of its own: {str(name)[:60]!r}{of}")
    return found, problems


def _of_postgresql(work: Transaction) -> tuple[set[str], list[str]]:
    found, problems = set(), []
    for name, kind, persistence, filtered, triggers, rules, inherits in work.run(_IN_POSTGRESQL):
        found.add(str(name))
        odd = {
            "a view, or another thing than a plain table, in place of": kind != "r",
            "an unlogged or temporary table in place of": persistence != "p",
            "policies (row level security) that may hide rows of": bool(filtered),
            f"a trigger of its own, {str(triggers[:1])[1:61]}, on": bool(triggers),
            f"a rule of its own, {str(rules[:1])[1:61]}, on": bool(rules),
            "tables that inherit from, or give to,": bool(inherits),
        }
        problems += [f"has {what} {name}" for what, here in odd.items() if here]
    return found, problems
