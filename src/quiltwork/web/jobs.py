"""Jobs: work in processes of their own, with progress; it can be cancelled, and takes no longer than it may.

A process can be ended at any moment, which a thread cannot: numerical code does not look whether it is still wanted.
What cannot be undone asks first (``commit``): from then on a job is neither cancelled nor timed out.
"""

import json
import logging
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from quiltwork.errors import visible

log = logging.getLogger("quiltwork.web")
WORKER = (sys.executable, "-P", "-m", "quiltwork.web.worker")
State = Literal["waiting", "running", "done", "failed", "cancelled", "replaced"]
KEPT = 3600.0  # seconds for which a finished job can be asked for
MOST_KEPT = 200  # of those that can be asked again and cost nothing
PAID = "confirm"  # the kind of job that spends: its result cannot be had again, so others do not push it out
MOST_PAID = 200  # of one owner
BRIEF = ("query", "epsilon", "value")  # of a release, in a list of jobs
MOST_WAITING = 100
GRACE = 2.0  # seconds that a job may go on after a later one took its place: ending it costs a new process
LAST_WORDS = 30.0  # seconds that a release may take that is being drawn when the service stops

CANCELLED = {"error": "the job was cancelled.", "kind": "cancelled", "exit_code": 2}
REPLACED = {"error": "a later request took the place of this one.", "kind": "replaced", "exit_code": 2}
TOOK_TOO_LONG = "the job took longer than {:g} s and was ended. Ask for less, or start the service with --time-limit."
LOST_DRAWING = {
    "error": "the process ended while the release was drawn, so its value is lost and its budget may be spent. "
    "Look at the ledger.",
    "kind": "lost",
    "exit_code": 2,
}
LOST = {"error": "the process that did the work has ended, perhaps for lack of memory.", "kind": "lost", "exit_code": 2}


@dataclass(eq=False)
class Job:
    """One piece of work: what it is, how far it is, and what came of it."""

    kind: str
    owner: str
    ask: Mapping[str, Any]
    shown: Mapping[str, str] = field(default_factory=dict)
    """Paths in messages, and the names by which the user knows them."""
    prefer: int | None = None
    """The worker that has prepared it, if one has."""
    on_done: Callable[["Job", dict[str, Any]], dict[str, Any]] | None = None
    """What the service makes of the worker's answer."""
    kept: Callable[[], dict[str, Any] | None] | None = None
    """The worker's answer as far as it was written down, if it was: a process that ended can say nothing more."""
    on_taken: Callable[[], None] | None = None
    """What is done once somebody has its result."""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    state: State = "waiting"
    phase: str = "Waiting"
    progress: float | None = None
    result: dict[str, Any] | None = None
    refusal: dict[str, Any] | None = None
    files: dict[str, str] = field(default_factory=dict)
    shown_as: dict[str, Any] | None = None
    """What a page shows of its result: text, tables and charts."""
    worker: int | None = None
    committed: bool = False
    stopped: bool = False
    finished: float | None = None
    version: int = 0
    listeners: list[Callable[[], None]] = field(default_factory=list)

    def to_dict(self, *, brief: bool = False) -> dict[str, Any]:
        """What its owner may see; in brief without its result, but for what a release asked and answered."""
        content: dict[str, Any] = {"job": self.id, "kind": self.kind, "state": self.state}
        content |= {"phase": self.phase, "progress": self.progress}
        if self.result is not None and not brief:
            content["result"] = self.result
        elif self.result is not None and self.kind == PAID:
            content["result"] = {key: self.result[key] for key in BRIEF if key in self.result}
        if self.files:
            content["files"] = sorted(self.files)
        return content | ({} if self.refusal is None else {"refusal": self.refusal})

    def changed(self) -> None:
        """Tell whoever listens."""
        self.version += 1
        for listener in list(self.listeners):
            listener()


class _Worker(threading.Thread):
    """A thread that looks after one process: starts it, hands it work, and starts another if it was ended."""

    def __init__(self, pool: "Pool", number: int):
        super().__init__(daemon=True, name=f"quiltwork-worker-{number}")
        self.pool, self.number = pool, number
        self.job: Job | None = None
        self.process = self._new_process()

    def _new_process(self) -> "subprocess.Popen[str]":
        nowhere = None if os.environ.get("QUILTWORK_TRACEBACK") else subprocess.DEVNULL
        return subprocess.Popen(  # noqa: S603 - our own code
            self.pool.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=nowhere,
            text=True,
            encoding="utf-8",
        )

    def run(self) -> None:
        while (job := self.pool.next_for(self)) is not None:
            limit = threading.Timer(self.pool.time_limit, self.pool.time_out, [job])
            limit.daemon = True
            limit.start()
            alive = False
            try:
                if self.process.poll() is not None:  # it ended while it had nothing to do
                    self._renew()
                alive = self._work(job)
            except (OSError, ValueError):
                self.pool.lost(job)
            finally:
                limit.cancel()
                with self.pool.lock:
                    self.job = None
                if (not alive or job.stopped) and not self.pool.closing:
                    self._renew()
        self.end()

    def _renew(self) -> None:
        self.end()
        self.process = self._new_process()

    def _work(self, job: Job) -> bool:
        """Whether the process can go on with other work."""
        assert self.process.stdin is not None  # noqa: S101 - both are pipes
        assert self.process.stdout is not None  # noqa: S101
        self._tell({"do": job.kind, "ask": job.ask, "shown": job.shown})
        for line in self.process.stdout:
            said = json.loads(line)
            if "commit" in said:
                if not self.pool.may_commit(job):
                    break
                self._tell({"go": True})
            elif "done" in said:
                self.pool.finish(job, "done", result=said["done"])
                return True
            elif "refused" in said:
                self.pool.finish(job, "failed", refusal=said["refused"])
                return True
            elif "log" in said:
                log.warning("%s: %s", ", ".join(map(visible, job.shown.values())), visible(said["log"]))
            elif "phase" in said:
                job.phase, job.progress = said["phase"], said["progress"]
                job.changed()
        if job.stopped:
            self.pool.finish(job, "cancelled", refusal=CANCELLED)
        else:
            self.pool.lost(job)
        return False

    def _tell(self, content: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None  # noqa: S101 - it is a pipe
        self.process.stdin.write(json.dumps(content) + "\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """End the process and let go of its pipes."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


class Pool:
    """Workers, and the jobs that wait for them, run, or are done."""

    def __init__(self, *, workers: int = 2, time_limit: float = 600.0, command: Sequence[str] = WORKER):
        self.lock = threading.RLock()
        self.command = list(command)
        self.time_limit, self.closing = time_limit, False
        self._work = threading.Condition(self.lock)
        self._waiting: list[Job] = []
        self._jobs: dict[str, Job] = {}
        self._latest: dict[str, Job] = {}
        self._workers = [_Worker(self, n) for n in range(workers)]
        for worker in self._workers:
            worker.start()

    def submit(self, job: Job, *, replaces: str | None = None, first: bool = False) -> bool:
        """Begin a job when a worker is free; False if too many wait. ``replaces`` names what it takes the place of."""
        with self.lock:
            if self.closing or len(self._waiting) >= MOST_WAITING:
                return False
            self._forget_old()
            if replaces is not None:
                before = self._latest.get(replaces)
                self._latest[replaces] = job
                if before is not None:
                    self._replace(before)
            self._jobs[job.id] = job
            self._waiting.insert(0 if first else len(self._waiting), job)
            self._work.notify_all()
            return True

    def get(self, name: str, owner: str) -> Job | None:
        """A job, if it is its owner who asks."""
        job = self._jobs.get(name)
        return job if job is not None and secrets.compare_digest(job.owner.encode(), owner.encode()) else None

    def __contains__(self, name: str) -> bool:
        return name in self._jobs

    def of(self, owner: str) -> list[Job]:
        """The jobs of an owner, the latest last."""
        with self.lock:
            return [job for job in self._jobs.values() if job.owner == owner]

    def cancel(self, job: Job) -> bool:
        """Stop a job; False if it is too late, because what it does cannot be undone."""
        with self.lock:
            if job.committed and job.finished is None:
                return False
            self._stop(job, "cancelled", CANCELLED)
            return True

    def time_out(self, job: Job) -> None:
        """Stop a job that took too long, unless it is drawing."""
        with self.lock:
            if not job.committed:
                refusal = {"error": TOOK_TOO_LONG.format(self.time_limit), "kind": "time", "exit_code": 2}
                self._stop(job, "failed", refusal)

    def may_commit(self, job: Job) -> bool:
        """Whether a job may go on to what cannot be undone: from then on nobody stops it."""
        with self.lock:
            job.committed = not job.stopped and not self.closing
            return job.committed

    def finish(
        self, job: Job, state: State, *, result: dict[str, Any] | None = None, refusal: dict[str, Any] | None = None
    ) -> None:
        """Note how a job ended; only the first word counts, but an answer that comes late is still made use of."""
        if result is not None and job.on_done is not None:
            result = job.on_done(job, result)
        with self.lock:
            if job.finished is not None:
                return
            job.state, job.result, job.refusal = state, result, refusal
            job.phase, job.finished = state.capitalize(), time.monotonic()
            job.ask = {}
        job.changed()

    def lost(self, job: Job) -> None:
        """Note that the process which did the work has ended; what it had written down before is its answer."""
        kept = job.kept() if job.committed and job.kept is not None else None
        if kept is not None:
            self.finish(job, "done", result=kept)
        else:
            self.finish(job, "failed", refusal=LOST_DRAWING if job.committed else LOST)

    def adopt(self, job: Job, result: dict[str, Any]) -> None:
        """Take in a job that was done before."""
        job.state, job.committed = "running", True
        self.finish(job, "done", result=result)
        with self.lock:
            self._jobs[job.id] = job

    def next_for(self, worker: _Worker) -> Job | None:
        """The next job for a worker, as soon as there is one; None when the service stops."""
        with self._work:
            while not self.closing:
                idle = {other.number for other in self._workers if other.job is None and other.is_alive()}
                for job in sorted(self._waiting, key=lambda job: job.prefer != worker.number):
                    if job.prefer in (None, worker.number) or job.prefer not in idle:
                        self._waiting.remove(job)
                        job.state, job.worker, worker.job = "running", worker.number, job
                        return job
                self._work.wait()
            return None

    def close(self) -> None:
        """Cancel what runs, but for releases that are being drawn: those end first, for a while."""
        with self.lock:
            self.closing = True
            for job in list(self._waiting):
                self._stop(job, "cancelled", CANCELLED)
            for worker in self._workers:
                if worker.job is not None and not worker.job.committed:
                    self._stop(worker.job, "cancelled", CANCELLED)
            self._work.notify_all()
        until = time.monotonic() + LAST_WORDS
        for worker in self._workers:
            worker.join(max(0.1, until - time.monotonic()))
            worker.process.kill()

    def _replace(self, before: Job) -> None:
        if before.finished is not None:
            return
        if before.state == "waiting":
            self._stop(before, "replaced", REPLACED)
            return
        self.finish(before, "replaced", refusal=REPLACED)
        later = threading.Timer(GRACE, self._end_replaced, [before])
        later.daemon = True
        later.start()

    def _end_replaced(self, job: Job) -> None:
        with self.lock:
            self._kill(job)

    def _stop(self, job: Job, state: State, refusal: dict[str, Any]) -> None:
        if job in self._waiting:
            self._waiting.remove(job)
        self.finish(job, state, refusal=refusal)
        self._kill(job)

    def _kill(self, job: Job) -> None:
        """End the process that still works on a job, if one does."""
        for worker in self._workers:
            if worker.job is job:
                job.stopped = True
                worker.process.kill()

    def _forget_old(self) -> None:
        now = time.monotonic()
        groups: dict[str | None, list[Job]] = {}
        for job in self._jobs.values():
            if job.finished is not None:
                groups.setdefault(job.owner if job.kind == PAID else None, []).append(job)
        for owner, done in groups.items():
            most = MOST_KEPT if owner is None else MOST_PAID
            for n, job in enumerate(done):
                if now - (job.finished or now) > KEPT or len(done) - n > most:
                    del self._jobs[job.id]
        for name in [name for name, job in self._latest.items() if job.finished is not None]:
            del self._latest[name]
