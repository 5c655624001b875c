"""Threads at work while the process forks: a child must not inherit locks that nobody in it will ever release.

Imports, compiled code that is loaded, properties that are computed once and SQLite itself are locked while a thread is
at them. A fork in that moment leaves them locked in the child, which then waits for ever. So a fork waits for such work
to end, and work that is to begin waits for the fork.
"""

import concurrent.futures.thread  # noqa: F401 - see below
import logging  # noqa: F401 - see below
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST_WAIT = 60.0
"""Seconds that a fork waits for the work of other threads: they may in turn wait for what the forking thread holds."""


class _Gate:
    """Which threads are at work, how deep, and which are about to fork."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.depths: dict[int, int] = {}
        self.forking: set[int] = set()

    def enter(self) -> None:
        me = threading.get_ident()
        with self.changed:
            # who is at work already must go on, for the fork waits for it; and who forks may have to clear up
            self.changed.wait_for(lambda: not self.forking or me in self.depths or me in self.forking)
            self.depths[me] = self.depths.get(me, 0) + 1

    def leave(self) -> None:
        me = threading.get_ident()
        with self.changed:
            self.depths[me] -= 1
            if not self.depths[me]:
                del self.depths[me]
                self.changed.notify_all()

    def close(self) -> None:
        me = threading.get_ident()
        with self.changed:
            self.forking.add(me)
            self.changed.wait_for(lambda: self.depths.keys() <= self.forking, LONGEST_WAIT)

    def open(self) -> None:
        with self.changed:
            self.forking.discard(threading.get_ident())
            self.changed.notify_all()


_gate = _Gate()
_handlers: list[tuple[Callable[[], None], Callable[[], None], Callable[[], None]]] = []


@contextmanager
def working() -> Iterator[None]:
    """Work that a fork waits for; it may stand around other work, and as a decorator.

    >>> with working(), working():
    ...     pass
    """
    _gate.enter()
    try:
        yield
    finally:
        _gate.leave()


def at_forks(*, before: Callable[[], None], in_parent: Callable[[], None], in_child: Callable[[], None]) -> None:
    """What else is to be done at a fork, once no thread is at work any more."""
    _handlers.append((before, in_parent, in_child))


def _before_fork() -> None:
    _gate.close()
    for before, _, _ in _handlers:
        before()


def _after_fork_in_parent() -> None:
    for _, in_parent, _ in _handlers:
        in_parent()
    _gate.open()


def _after_fork_in_child() -> None:
    """Only the thread that forked goes on here."""
    global _gate
    me, old = threading.get_ident(), _gate
    _gate = _Gate()
    if me in old.depths:
        _gate.depths[me] = old.depths[me]
    for _, _, in_child in _handlers:
        in_child()


# What is registered last is done first. Executors and logging take their locks at a fork, and work may need them: they
# are imported above, so that a fork first waits for the work and takes those locks then.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
