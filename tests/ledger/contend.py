"""Run by tests and benchmarks: many processes on one ledger, or processes that are killed. Prints what they saw.

python contend.py many URL PROCESSES REQUESTS
python contend.py kill URL RUNS FOLDER SEED
python contend.py cut URL PROCESSES CUTS FOLDER
python contend.py rate URL PROCESSES SECONDS
python contend.py bare URL PROCESSES SECONDS
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from quiltwork import BudgetError, MarkovChain, Session
from quiltwork.errors import LedgerError

COIN = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5])
EPSILON = 0.01
SECONDS = 3.0
PATIENCE = 180.0  # seconds: it only matters where something hangs


def session(url: str) -> Session:
    return Session(["0", "1"], belief=COIN, ledger=url)


def many(url: str, processes: int, requests: int) -> None:
    """Each process asks so many times; exits with the number of requests that were granted."""
    children = []
    for _ in range(processes):
        pid = os.fork()
        if pid == 0:
            own, granted = session(url), 0
            for _ in range(requests):
                try:
                    own.count("1", epsilon=EPSILON, anyway=True)
                except BudgetError:
                    continue
                granted += 1
            os._exit(granted)
        children.append(pid)
    print(sum(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))


def kill(url: str, runs: int, folder: str, seed: int) -> None:
    """Processes that release and show, killed at random moments; what was shown is in the folder."""
    rng = random.Random(seed)
    for n in range(runs):
        pid = os.fork()
        if pid == 0:
            own = session(url)
            shown = os.open(Path(folder) / f"{n}.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            while True:
                made = own.count("1", epsilon=EPSILON, anyway=True)
                assert made.ledger is not None
                os.write(shown, f"{made.ledger['row']} {made.calibration.noise_scale!r}\n".encode())
        shown_so_far = Path(folder) / f"{n}.txt"
        until = time.monotonic() + PATIENCE
        while n % 2 and time.monotonic() < until and not (shown_so_far.exists() and shown_so_far.stat().st_size):
            time.sleep(0.001)  # every second one has begun to release
        time.sleep(rng.uniform(0.0, 0.08))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def cut(url: str, processes: int, cuts: int, folder: str) -> None:
    """Processes that release and show while the server ends their connections at random moments."""
    import psycopg

    stop, rng = Path(folder) / "stop", random.Random(3)
    for n in range(processes):
        if os.fork() == 0:
            own = session(url)
            with (Path(folder) / f"{n}.txt").open("a") as shown:
                while not stop.exists():
                    with suppress(LedgerError):
                        made = own.count("1", epsilon=EPSILON, anyway=True)
                        assert made.ledger is not None
                        print(made.ledger["row"], made.calibration.noise_scale, file=shown, flush=True)
            os._exit(0)
    with psycopg.connect(url, autocommit=True) as connection:
        others = "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        done, until = 0, time.monotonic() + PATIENCE
        while done < cuts and time.monotonic() < until:
            time.sleep(rng.uniform(0.0, 0.02))
            pids = [pid for (pid,) in connection.execute(others).fetchall()]
            if pids:
                connection.execute("SELECT pg_terminate_backend(%s)", (rng.choice(pids),))
                done += 1
    stop.touch()
    for _ in range(processes):
        os.wait()
    print(done)


def rate(url: str, processes: int, seconds: float, work: Callable[[str, float], int]) -> None:
    """How much several processes do at once, in all."""
    ends, begins = os.pipe()
    start = time.monotonic() + 1.0  # all of them have begun
    for _ in range(processes):
        if os.fork() == 0:
            os.write(begins, b"%8d" % work(url, start + seconds))
            os._exit(0)
    print(sum(int(os.read(ends, 8)) for _ in range(processes)) / seconds)


def releases(url: str, until: float) -> int:
    """Releases until a moment."""
    own, count = session(url), 0
    own.count("1", epsilon=EPSILON, anyway=True)
    while time.monotonic() < until - SECONDS:
        time.sleep(0.001)
    while time.monotonic() < until:
        own.count("1", epsilon=EPSILON, anyway=True)
        count += 1
    return count


def inserts(url: str, until: float) -> int:
    """Bare inserts of about as much as a release writes down, each as durable, until a moment."""
    content, count = "x" * 900, 0
    if url.startswith("postgresql"):
        import psycopg

        bare: Any = psycopg.connect(url, autocommit=True)
        statement = "INSERT INTO bare (content) VALUES (%s)"
    else:
        import sqlite3

        bare = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=PATIENCE)
        bare.execute("PRAGMA journal_mode=TRUNCATE")
        bare.execute("PRAGMA synchronous=FULL")
        statement = "INSERT INTO bare (content) VALUES (?)"
    while time.monotonic() < until - SECONDS:
        time.sleep(0.001)
    while time.monotonic() < until:
        bare.execute(statement, (content,))
        count += 1
    return count


if __name__ == "__main__":
    warm = Session(["0", "1"], belief=COIN, budget=1000.0)
    warm.count("1", epsilon=EPSILON, anyway=True)  # everything is loaded before the processes part
    warm.count("1", epsilon=EPSILON, anyway=True)
    if sys.argv[1] in ("rate", "bare"):
        SECONDS = float(sys.argv[4])
        rate(sys.argv[2], int(sys.argv[3]), SECONDS, releases if sys.argv[1] == "rate" else inserts)
    elif sys.argv[1] == "cut":
        cut(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    elif sys.argv[1] == "many":
        many(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        kill(sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
