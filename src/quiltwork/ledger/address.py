"""Addresses of ledgers: a path, ``sqlite:///path`` or ``postgresql://...``; shown without passwords.

An address that is not well-formed may have a password anywhere, so no part of it is shown. Of one that is, each part is
shown only if it looks like what it should be.
"""

import re
from urllib.parse import parse_qsl

from quiltwork.errors import LedgerError, NotInstalledError
from quiltwork.ledger.sqlite import SqliteStore
from quiltwork.ledger.store import Store

FORMS = "sqlite:///path or postgresql://..."
SERVER = re.compile(
    r"(?:(?P<user>[^\s:/?#\[\]@]*)(?P<password>:[^\s/?#\[\]@]*)?@)?"
    r"(?P<host>\[[\da-fA-F:.]+\]|[\w.-]*)(?P<port>:\d{0,5})?"
    r"(?P<database>/[^\s:/?#@]*)?(?:\?(?P<options>[^\s?#@]*))?"
)
PLAIN = re.compile(r"/?[\w.+-]*")
SHOWN_OPTIONS = ("host", "hostaddr", "port", "dbname", "sslmode", "connect_timeout", "application_name")
NOT_A_PATH = re.compile(
    r".*:.*@|(postgres|sqlite)\w*:|(host|hostaddr|port|dbname|user|service)\s*=|.*\bpass\w*\s*=",
    re.IGNORECASE | re.DOTALL,
)


def open_store(address: str) -> Store:
    """The database of an address; nothing is connected yet.

    >>> open_store("postgresql://ann:secret@host/budget").name
    'postgresql://ann:***@host/budget'
    """
    if not isinstance(address, str):
        raise LedgerError("a ledger's address must be text", got=type(address).__name__, fix="sqlite:///path")
    if "\0" in address:
        raise _malformed()
    if address.endswith(".jsonl"):
        raise LedgerError("a ledger is a database", got="an exported one", fix="quiltwork ledger verify reads it")
    kind, found, rest = address.partition("://")
    if not found and "@" in address:
        raise _malformed()
    if not found:
        return _sqlite(f"/{address}")
    if kind == "sqlite":
        return _sqlite(rest)
    if kind in ("postgresql", "postgresql+psycopg", "postgres"):
        return _postgresql(rest)
    raise LedgerError("a ledger is kept in SQLite or PostgreSQL", got="another kind of address", fix=FORMS)


def in_memory() -> Store:
    """A database that is forgotten with the session."""
    return SqliteStore("sqlite://", ":memory:")


def _sqlite(rest: str) -> Store:
    if rest and not rest.startswith("/"):
        raise LedgerError("the address of a SQLite ledger has three slashes", got="two", fix="sqlite:///path")
    if NOT_A_PATH.match(rest[1:]):
        raise _malformed()
    database, _, query = rest[1:].partition("?") if rest.startswith("/file:") else (rest[1:], "", "")
    options = dict(parse_qsl(query)) | {"uri": "true"}
    if not database or ":memory:" in database or options.get("mode") == "memory":
        raise LedgerError(
            "a ledger must be kept in a file or on a server",
            got="one in memory",
            why="it would be lost, along with the record of what was spent",
            fix="sqlite:///path",
        )
    if set(options) - {"uri", "mode"} or options.get("mode", "rw") not in ("ro", "rw"):
        raise LedgerError(
            "the address of a SQLite ledger takes mode=ro or mode=rw",
            got="other options",
            why="they could switch off what keeps programs apart",
        )
    return SqliteStore(f"sqlite:///{rest[1:]}", database, options.get("mode", "rw"))


def _postgresql(rest: str) -> Store:
    parts = SERVER.fullmatch(rest)
    if parts is None:
        raise _malformed()
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict

        from quiltwork.ledger.postgresql import PostgresStore
    except ModuleNotFoundError:
        raise NotInstalledError("a ledger in PostgreSQL", "postgresql", got="no psycopg") from None
    try:
        conninfo_to_dict(f"postgresql://{rest}")
        parts["host"].encode("idna")  # as it is looked up
    except (ProgrammingError, UnicodeError):
        raise _malformed() from None
    return PostgresStore(_shown(parts), f"postgresql://{rest}")


def _shown(parts: "re.Match[str]") -> str:
    """An address without its password, and without whatever does not look like a name."""
    user, password, database = (parts[name] for name in ("user", "password", "database"))
    login = "" if user is None else f"{_plain(user)}{':***' if password else ''}@"
    options = [
        f"{key}={value if key in SHOWN_OPTIONS else '***'}"
        for key, value in parse_qsl(parts["options"] or "", keep_blank_values=True)
    ]
    place = f"{parts['host']}{parts['port'] or ''}{_plain(database or '')}"
    return f"postgresql://{login}{place}{'?' * bool(options)}{'&'.join(options)}"


def _plain(text: str) -> str:
    return text if PLAIN.fullmatch(text) else f"{'/' * text.startswith('/')}***"


def _malformed() -> LedgerError:
    return LedgerError(
        "a ledger's address cannot be read",
        why="it is not shown, because it may contain a password",
        fix=f"{FORMS}; write @, :, / and ? within a password as %40, %3A, %2F and %3F",
    )
