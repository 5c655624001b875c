"""Ledgers under load: many processes, processes that are killed, and the price of durability."""

import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from quiltwork import Accountant, Count, Ledger, MarkovChain, ReleaseRecord, Session
from quiltwork.calibration.request import Request

TESTS = Path(__file__).parents[1] / "tests"
COIN = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5])
CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["sit", "walk"])
Row = dict[str, Any]


def _contend(*arguments: object) -> str:
    command = [sys.executable, str(TESTS / "ledger" / "contend.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603


def many_processes() -> Row:
    """64 processes ask 50 times each, with room for exactly 100 releases."""
    sys.path.insert(0, str(TESTS))
    from system import postgresql_server

    row: Row = {}
    with tempfile.TemporaryDirectory() as folder, postgresql_server() as server:
        for name, url in (("sqlite", f"sqlite:///{folder}/ledger.db"), ("postgresql", server)):
            Ledger.create(url, belief=COIN, budget=1.0)
            begun = time.perf_counter()
            row[f"{name}_granted"] = int(_contend("many", url, 64, 50))
            row[f"{name}_seconds"] = time.perf_counter() - begun
            assert row[f"{name}_granted"] == 100
            assert Ledger(url).verify() == []
    return row | {"target": "exactly 100 granted"}


def killed_processes() -> Row:
    """500 processes killed at random moments while they release: shown values that the ledger does not know."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/ledger.db"
        Ledger.create(url, belief=COIN, budget=1e6)
        _contend("kill", url, 500, folder, 7)
        now = Ledger(url).statement()
        known = {one["row"] for one in now.releases()}
        shown = [line.split() for file in Path(folder).glob("*.txt") for line in file.read_text().splitlines()]
        lost = sum(int(row) not in known for row, _ in shown)
        record = ReleaseRecord(noise_scale=float(shown[0][1]), query="count:1")
        of_shown = Accountant(COIN, length=2, releases=[record] * len(shown)).composed().epsilon
        assert lost == 0
        assert now.spent >= of_shown
    return {
        "shown": len(shown),
        "recorded": len(known),
        "lost": lost,
        "target": "0 lost, ε never below that of the shown",
    }


def cut_connections() -> Row:
    """300 connections to PostgreSQL ended by the server at random moments while four processes release."""
    sys.path.insert(0, str(TESTS))
    from system import postgresql_server

    with tempfile.TemporaryDirectory() as folder, postgresql_server() as server:
        Ledger.create(server, belief=COIN, budget=1e6)
        cuts = int(_contend("cut", server, 4, 300, folder))
        ledger = Ledger(server)
        assert ledger.verify() == []
        known = {release["row"] for release in ledger.statement().releases()}
        shown = [line.split() for file in Path(folder).glob("*.txt") for line in file.read_text().splitlines()]
        lost = sum(int(row) not in known for row, _ in shown)
        assert lost == 0
    return {"cuts": cuts, "shown": len(shown), "recorded": len(known), "lost": lost, "target": "0 lost"}


def writers() -> Row:
    """Releases a second with one and with eight processes, against bare inserts of the same durability."""
    sys.path.insert(0, str(TESTS))
    import psycopg
    from system import postgresql_server

    row: Row = {}
    with tempfile.TemporaryDirectory() as folder, postgresql_server() as server:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("CREATE TABLE bare (number SERIAL PRIMARY KEY, content TEXT)")
        file = sqlite3.connect(f"{folder}/bare.db", isolation_level=None)
        file.execute("PRAGMA journal_mode=TRUNCATE")
        file.execute("CREATE TABLE bare (number INTEGER PRIMARY KEY, content TEXT)")
        file.close()
        databases = {
            "sqlite": (f"sqlite:///{folder}/ledger.db", f"sqlite:///{folder}/bare.db"),
            "postgresql": (server, server),
        }
        for name, (url, bare) in databases.items():
            session = Session(["0", "1"], belief=COIN, budget=1e6, ledger=url)
            for _ in range(500):  # from 64 releases on ε is computed ahead
                session.count("1", epsilon=0.01)
            session.ledger.close()
            for processes in (1, 8):
                ours, theirs = (float(_contend(what, at, processes, 3)) for what, at in (("rate", url), ("bare", bare)))
                key = f"{name}_{processes}"
                row |= {f"{key}_releases": ours, f"{key}_inserts": theirs, f"{key}_ratio": ours / theirs}
    return row | {"target": "no fall from one writer to eight; at least 0.3 of bare inserts"}


def journals() -> Row:
    """One durable reservation in SQLite that is in the one file then: a journal (ours) against logs."""
    ways = {
        "wal_alone": ("WAL", ""),
        "wal_copied": ("WAL", "PRAGMA wal_checkpoint(PASSIVE)"),
        "wal_truncated": ("WAL", "PRAGMA wal_checkpoint(TRUNCATE)"),
        "truncate": ("TRUNCATE", ""),
    }
    row: Row = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (mode, after) in ways.items():
            bare = sqlite3.connect(f"{folder}/{name}.db", isolation_level=None)
            bare.execute(f"PRAGMA journal_mode={mode}")
            bare.execute("PRAGMA synchronous=FULL")
            bare.execute("CREATE TABLE bare (number INTEGER PRIMARY KEY, content TEXT)")
            bare.execute("CREATE TABLE kept (sum BLOB)")
            bare.execute("INSERT INTO kept VALUES (x'00')")
            begun = time.perf_counter()
            for _ in range(300):
                bare.execute("BEGIN IMMEDIATE")
                bare.execute("INSERT INTO bare (content) VALUES (?)", ("x" * 900,))
                bare.execute("UPDATE kept SET sum = ?", (b"x" * 1500,))
                bare.execute("COMMIT")
                if after:
                    bare.execute(after).fetchall()
            row[f"{name}_milliseconds"] = 1000 * (time.perf_counter() - begun) / 300
            bare.close()
    return row | {"target": "truncate (ours): about as long as a log that is copied"}


def durable_releases() -> Row:
    """Releases a second through a session, against bare inserts into SQLite with the same durability, in turn."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session(["sit", "walk"] * 500, belief=CHAIN, budget=1e6, ledger=f"{folder}/ledger.db")
        bare = sqlite3.connect(f"{folder}/bare.db", isolation_level=None)
        bare.execute("PRAGMA journal_mode=TRUNCATE")
        bare.execute("PRAGMA synchronous=FULL")
        bare.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, content TEXT)")
        content = "x" * 900  # about as much as a release writes down
        for _ in range(200):
            session.count("walk", epsilon=0.001)
        rates: dict[str, list[float]] = {"session": [], "bare": []}
        for _ in range(5):
            begun = time.perf_counter()
            for _ in range(400):
                session.count("walk", epsilon=0.001)
            rates["session"].append(400 / (time.perf_counter() - begun))
            begun = time.perf_counter()
            for _ in range(400):
                bare.execute("BEGIN IMMEDIATE")
                bare.execute("INSERT INTO rows (content) VALUES (?)", (content,))
                bare.execute("COMMIT")
            rates["bare"].append(400 / (time.perf_counter() - begun))
        ours, theirs = (float(np.median(rates[name])) for name in ("session", "bare"))
    return {
        "releases_per_second": ours,
        "bare_inserts_per_second": theirs,
        "ratio": ours / theirs,
        "target": "at least 0.3",
    }


def check_after_many() -> Row:
    """One more reservation after 10,000 earlier releases, in an open ledger and in one just opened."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"{folder}/ledger.db"
        session = Session(["sit", "walk"] * 500, belief=CHAIN, budget=1e6, ledger=address)
        request = Request(query=Count("walk"), belief=CHAIN, epsilon=0.0001)
        ready = session._ready(request, None)
        for _ in range(10_000):
            session.ledger.reserve(ready.record, {"who": "bench"})
        times = []
        for _ in range(20):
            begun = time.perf_counter()
            session.ledger.reserve(ready.record, {"who": "bench"})
            times.append(time.perf_counter() - begun)
        fresh = []
        for _ in range(5):
            ledger = Ledger(address)
            begun = time.perf_counter()
            ledger.reserve(ready.record, {"who": "bench"})
            fresh.append(time.perf_counter() - begun)
    return {
        "milliseconds": 1000 * float(np.median(times)),
        "milliseconds_just_opened": 1000 * float(np.median(fresh)),
        "target": "below 50 ms",
    }
