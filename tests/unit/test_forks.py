"""A fork waits for the work of other threads, and new work waits for the fork."""

import threading
from pathlib import Path

from patience import PATIENCE, until

from quiltwork import Ledger, MarkovChain, forks

COIN = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5])


def in_a_thread(work: object) -> threading.Thread:
    thread = threading.Thread(target=work)  # type: ignore[arg-type]
    thread.start()
    return thread


def test_a_fork_waits_for_work_and_work_for_the_fork() -> None:
    gate, happened = forks._Gate(), []
    inside, finish, closed = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        gate.enter()
        inside.set()
        finish.wait(PATIENCE)
        gate.enter()  # deeper: it must not wait for the fork that waits for it
        gate.leave()
        happened.append("worked")
        gate.leave()

    def fork() -> None:
        gate.close()
        happened.append("forks")
        closed.set()

    first = in_a_thread(work)
    assert inside.wait(PATIENCE)
    forking = in_a_thread(fork)
    until(lambda: gate.forking)
    finish.set()
    assert closed.wait(PATIENCE)
    first.join(PATIENCE)
    assert happened == ["worked", "forks"]
    forking.join(PATIENCE)
    gate.forking = {-1}  # still in the middle of the fork

    def later() -> None:
        gate.enter()
        happened.append("later")
        gate.leave()

    late = in_a_thread(later)
    assert happened == ["worked", "forks"]
    with gate.changed:
        gate.forking.clear()
        gate.changed.notify_all()
    late.join(PATIENCE)
    assert happened == ["worked", "forks", "later"]


def test_who_forks_may_clear_up() -> None:
    gate = forks._Gate()
    gate.close()
    gate.enter()
    gate.leave()
    gate.open()
    assert not gate.forking


def test_closing_a_database_is_work(tmp_path: Path) -> None:
    """SQLite has locks of its own: a child that is forked while a thread closes a file could never open one."""
    ledger = Ledger.create(str(tmp_path / "ledger.db"), belief=COIN, budget=1.0)
    ledger.spent()
    seen = []

    class Watched:
        def __init__(self, connection: object) -> None:
            self._connection = connection

        def close(self) -> None:
            seen.append(threading.get_ident() in forks._gate.depths)
            self._connection.close()  # type: ignore[attr-defined]

    ledger._store._open = Watched(ledger._store._open)
    ledger.close()
    assert seen == [True]
