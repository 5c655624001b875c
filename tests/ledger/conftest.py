"""Databases for ledgers: a SQLite file, or a database of its own on a PostgreSQL server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from system import postgresql_server


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgresql_server() as address:
        yield address


@pytest.fixture
def postgresql_url(server: str, tmp_path: Path) -> Iterator[str]:
    """A database on a server with nothing in it."""
    import psycopg

    name = f"test_{abs(hash(tmp_path)) % 10**9}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with nothing in it."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    return str(request.getfixturevalue("postgresql_url"))
