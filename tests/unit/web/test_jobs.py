"""Jobs: cancelled, replaced, timed out, lost, and never stopped while they draw. The worker here only pretends."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from quiltwork.web import jobs
from quiltwork.web.jobs import Job, Pool

PRETENDS = """
import json, os, sys, time
def say(**content): print(json.dumps(content), flush=True)
for line in sys.stdin:
    ask = json.loads(line)["ask"]
    say(phase="Working", progress=0.5)
    if ask.get("asks"):
        say(commit=True)
        if not sys.stdin.readline(): sys.exit()
    if ask.get("dies"): os._exit(1)
    time.sleep(ask.get("takes", 0))
    if ask.get("refuses"): say(refused={"error": "no.", "kind": "data", "exit_code": 2})
    else: say(done={"pid": os.getpid()})
"""


@contextmanager
def pool_of(workers: int = 1, **settings: Any) -> Iterator[Pool]:
    pool = Pool(workers=workers, command=[sys.executable, "-S", "-c", PRETENDS], **settings)
    try:
        yield pool
    finally:
        pool.close()


def begun(pool: Pool, **ask: Any) -> Job:
    replaces = ask.pop("replaces", None)
    job = Job("plan", ask.pop("owner", "ann"), ask, prefer=ask.pop("prefer", None))
    assert pool.submit(job, replaces=replaces)
    return job


def until(job: Job, *states: str, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while job.state not in states and job.phase not in states:
        assert time.monotonic() < end, job.state
        time.sleep(0.005)


def test_work_is_done_and_refused_and_seen_by_its_owner_only() -> None:
    with pool_of() as pool:
        done, refused = begun(pool), begun(pool, refuses=True)
        until(done, "done")
        until(refused, "failed")
        assert done.result is not None
        assert refused.refusal == {"error": "no.", "kind": "data", "exit_code": 2}
        assert pool.get(done.id, "ann") is done
        assert pool.get(done.id, "bob") is None
        assert pool.of("bob") == []


def test_a_cancelled_job_ends_at_once_and_work_goes_on() -> None:
    with pool_of() as pool:
        running, waiting = begun(pool, takes=60), begun(pool, takes=60)
        until(running, "Working")
        assert pool.cancel(waiting)
        assert pool.cancel(running)
        assert running.state == waiting.state == "cancelled"
        after = begun(pool)
        until(after, "done")
        assert pool.cancel(after)  # nothing is left to be stopped
        assert after.state == "done"


def test_what_draws_is_not_stopped() -> None:
    with pool_of(time_limit=0.4) as pool:
        drawing = begun(pool, asks=True, takes=1)
        until(drawing, "Working")
        while not drawing.committed:
            time.sleep(0.005)
        assert not pool.cancel(drawing)
        until(drawing, "done", "failed")
        assert drawing.state == "done"


def test_what_draws_is_waited_for_at_the_end() -> None:
    with pool_of() as pool:
        drawing, other = begun(pool, asks=True, takes=0.5), begun(pool, takes=60)
        while not drawing.committed:
            time.sleep(0.005)
    assert drawing.state == "done"
    assert other.state == "cancelled"
    assert not pool.submit(Job("plan", "ann", {}))


def test_work_takes_no_longer_than_it_may() -> None:
    with pool_of(time_limit=0.2) as pool:
        slow = begun(pool, takes=60)
        until(slow, "failed")
        assert slow.refusal is not None
        assert slow.refusal["kind"] == "time"
        pool.time_limit = 60.0  # the next process may take its time to start
        until(begun(pool), "done")


def test_a_process_that_dies_is_replaced() -> None:
    with pool_of() as pool:
        lost = begun(pool, dies=True)
        until(lost, "failed")
        assert lost.refusal == jobs.LOST
        lost = begun(pool, dies=True, asks=True)
        until(lost, "failed")
        assert lost.refusal == jobs.LOST_DRAWING
        until(begun(pool), "done")


def test_the_latest_request_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "GRACE", 0.2)
    with pool_of() as pool:
        asked = [begun(pool, takes=60 if n == 0 else 0, replaces="ann") for n in range(1)]
        until(asked[0], "Working")
        asked += [begun(pool, replaces="ann") for _ in range(3)]
        assert [job.state for job in asked[:3]] == ["replaced"] * 3
        until(asked[3], "done")


def test_an_answer_that_comes_late_is_still_made_use_of() -> None:
    kept: list[dict[str, Any]] = []

    def keep(_: Job, result: dict[str, Any]) -> dict[str, Any]:
        kept.append(result)
        return result

    with pool_of() as pool:
        first = Job("plan", "ann", {"takes": 0.3}, on_done=keep)
        pool.submit(first, replaces="ann")
        until(first, "Working")
        until(begun(pool, replaces="ann"), "done")
        assert first.state == "replaced"
        assert len(kept) == 1


def test_a_confirmed_release_goes_to_the_worker_that_prepared_it() -> None:
    with pool_of(workers=2) as pool:
        for _ in range(3):
            first = begun(pool)
            until(first, "done")
            second = begun(pool, prefer=first.worker)
            until(second, "done")
            assert second.result == first.result


def test_not_too_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_WAITING", 2)
    with pool_of(workers=0) as pool:
        begun(pool)
        begun(pool)
        assert not pool.submit(Job("plan", "ann", {}))


def test_what_was_paid_for_outlives_what_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_KEPT", 3)
    monkeypatch.setattr(jobs, "MOST_PAID", 2)
    with pool_of(workers=0) as pool:
        paid = [Job("confirm", owner, {}) for owner in ("ann", "ann", "bob", "ann")]
        for job in (*paid, *(Job("belief", "eve", {}) for _ in range(9))):
            assert pool.submit(job)
            pool.cancel(job)
        pool.submit(Job("plan", "eve", {}))
        assert [pool.get(job.id, job.owner) is job for job in paid] == [False, True, True, True]
        assert len(pool.of("eve")) == 4
        monkeypatch.setattr(jobs, "KEPT", -1.0)
        pool.submit(Job("plan", "eve", {}))
        assert pool.of("bob") == []
