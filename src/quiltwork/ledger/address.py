"""Addresses of ledgers: a path, ``sqlite:///path`` or ``postgresql://...``; shown without passwords."""

import re
from urllib.parse import parse_qsl, urlencode, urlsplit

from quiltwork.errors import LedgerError
from quiltwork.ledger.sqlite import SqliteStore
from quiltwork.ledger.store import Store

FORMS = "sqlite:///path or postgresql://..."


def open_store(address: str) -> Store:
    """The database of an address; nothing is connected yet.

    >>> open_store("postgresql://ann:secret@host/budget").name
    'postgresql://ann:***@host/budget'
    """
    if not isinstance(address, str):
        raise LedgerError("a ledger's address must be text", got=type(address).__name__, fix="sqlite:///path")
    if "\0" in address or ("://" not in address and "@" in address and ":" in address):
        raise LedgerError("a ledger's address cannot be read", fix=FORMS)
    if address.endswith(".jsonl"):
        raise LedgerError("a ledger is a database", got="an exported one", fix="quiltwork ledger verify reads it")
    kind, found, rest = address.partition("://")
    if not found:
        return _sqlite(f"/{address}")
    if kind == "sqlite":
        return _sqlite(rest)
    if kind in ("postgresql", "postgresql+psycopg", "postgres"):
        return _postgresql(rest)
    raise LedgerError("a ledger is kept in SQLite or PostgreSQL", got=kind[:40], fix=FORMS)


def in_memory() -> Store:
    """A database that is forgotten with the session."""
    return SqliteStore("sqlite://", ":memory:")


def _sqlite(rest: str) -> Store:
    if rest and not rest.startswith("/"):
        raise LedgerError("the address of a SQLite ledger has three slashes", got="two", fix="sqlite:///path")
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
    try:
        parts = urlsplit(f"postgresql://{rest}")
        _ = parts.port  # a port that is no number
    except ValueError:
        raise LedgerError("a ledger's address cannot be read", fix=FORMS) from None
    try:
        from quiltwork.ledger.postgresql import PostgresStore
    except ModuleNotFoundError:
        raise LedgerError(
            "a ledger in PostgreSQL needs psycopg",
            got="an installation without it",
            why="it is the database driver",
            fix='pip install "quiltwork[postgresql]"',
        ) from None
    hidden = [(key, "***" if re.search("pass|key|secret|token", key, re.I) else v) for key, v in parse_qsl(parts.query)]
    user, at, host = parts.netloc.rpartition("@")
    login = user.partition(":")[0] + (":***" if ":" in user else "")
    shown = parts._replace(netloc=f"{login}{at}{host}", query=urlencode(hidden, safe="*/"))
    return PostgresStore(shown.geturl(), f"postgresql://{rest}")
