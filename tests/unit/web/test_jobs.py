"""Jobs: cancelled, replaced, timed out, lost, and never stopped while they draw. The worker here only pretends."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE, until

from quiltwork.web import jobs
from quiltwork.web.jobs import Job, Pool

NEVER = "/nowhere/at all"
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
    while "until" in ask and not os.path.exists(ask["until"]): time.sleep(0.005)
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


def comes_to(job: Job, *states: str) -> None:
    until(lambda: job.state in states or job.phase in states)


def test_work_is_done_and_refused_and_seen_by_its_owner_only() -> None:
    with pool_of() as pool:
        done, refused = begun(pool), begun(pool, refuses=True)
        comes_to(done, "done")
        comes_to(refused, "failed")
        assert done.result is not None
        assert refused.refusal == {"error": "no.", "kind": "data", "exit_code": 2}
        assert pool.get(done.id, "ann") is done
        assert pool.get(done.id, "bob") is None
        assert pool.of("bob") == []


def test_a_cancelled_job_ends_at_once_and_work_goes_on() -> None:
    with pool_of() as pool:
        running, waiting = begun(pool, until=NEVER), begun(pool, until=NEVER)
        comes_to(running, "Working")
        assert pool.cancel(waiting)
        assert pool.cancel(running)
        assert running.state == waiting.state == "cancelled"
        after = begun(pool)
        comes_to(after, "done")
        assert pool.cancel(after)  # nothing is left to be stopped
        assert after.state == "done"


def test_what_draws_is_not_stopped(tmp_path: Path) -> None:
    with pool_of() as pool:
        drawing = begun(pool, asks=True, until=str(tmp_path / "drawn"))
        until(lambda: drawing.committed)
        assert not pool.cancel(drawing)
        pool.time_out(drawing)
        assert drawing.finished is None
        (tmp_path / "drawn").touch()
        comes_to(drawing, "done", "failed")
        assert drawing.state == "done"


def test_what_draws_is_waited_for_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "LAST_WORDS", PATIENCE)
    with pool_of() as pool:
        drawing, other = begun(pool, asks=True, until=str(tmp_path / "drawn")), begun(pool, until=NEVER)
        until(lambda: drawing.committed)

        def drawn() -> None:
            until(lambda: pool.closing)
            (tmp_path / "drawn").touch()

        threading.Thread(target=drawn).start()
    assert drawing.state == "done"
    assert other.state == "cancelled"
    assert not pool.submit(Job("plan", "ann", {}))


def test_work_takes_no_longer_than_it_may() -> None:
    with pool_of(time_limit=0.2) as pool:
        slow = begun(pool, until=NEVER)
        comes_to(slow, "failed")
        assert slow.refusal is not None
        assert slow.refusal["kind"] == "time"
        pool.time_limit = PATIENCE  # the next process may take its time to start
        comes_to(begun(pool), "done")


def test_a_process_that_dies_is_replaced() -> None:
    with pool_of() as pool:
        lost = begun(pool, dies=True)
        comes_to(lost, "failed")
        assert lost.refusal == jobs.LOST
        lost = begun(pool, dies=True, asks=True)
        comes_to(lost, "failed")
        assert lost.refusal == jobs.LOST_DRAWING
        comes_to(begun(pool), "done")


def test_the_latest_request_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "GRACE", 0.2)
    with pool_of() as pool:
        asked = [begun(pool, until=NEVER, replaces="ann")]
        comes_to(asked[0], "Working")
        asked += [begun(pool, replaces="ann") for _ in range(3)]
        assert [job.state for job in asked[:3]] == ["replaced"] * 3
        comes_to(asked[3], "done")


def test_an_answer_that_comes_late_is_still_made_use_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "GRACE", PATIENCE)
    kept: list[dict[str, Any]] = []

    def keep(_: Job, result: dict[str, Any]) -> dict[str, Any]:
        kept.append(result)
        return result

    with pool_of() as pool:
        first = Job("plan", "ann", {"until": str(tmp_path / "late")}, on_done=keep)
        pool.submit(first, replaces="ann")
        comes_to(first, "Working")
        second = begun(pool, replaces="ann")
        assert first.state == "replaced"
        (tmp_path / "late").touch()
        comes_to(second, "done")
        assert first.state == "replaced"
        assert len(kept) == 1


def test_a_confirmed_release_goes_to_the_worker_that_prepared_it() -> None:
    with pool_of(workers=2) as pool:
        for _ in range(3):
            first = begun(pool)
            comes_to(first, "done")
            until(lambda: all(worker.job is None for worker in pool._workers))  # else another one takes it over
            second = begun(pool, prefer=first.worker)
            comes_to(second, "done")
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
