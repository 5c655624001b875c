"""A service that stops, or whose worker is killed: a result that was paid for is there for whoever asked for it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from patience import PATIENCE, until
from shell import killed_at
from starlette.testclient import TestClient
from web_service import BELIEF, READ, TOKEN, client_of

from quiltwork import Ledger
from quiltwork.beliefs.files import belief_from_dict
from quiltwork.ledger import new_key
from quiltwork.releases.keep import Kept
from quiltwork.web import service as service_module
from quiltwork.web.app import create_app
from quiltwork.web.jobs import Pool
from quiltwork.web.service import Settings

ASK = {"data": {"path": "diary.csv"}, "query": "count:walk", "epsilon": 0.25}


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with protected data and a ledger."""
    (tmp_path / "data").mkdir()
    rows = "\n".join(f"{n},{'sit' if n % 3 else 'walk'}" for n in range(400))
    (tmp_path / "data" / "diary.csv").write_text(f"time,doing\n{rows}\n")
    Ledger.create(f"sqlite:///{tmp_path}/ledger.db", belief=belief_from_dict(BELIEF), budget=90.0, read=READ).close()
    return tmp_path


def settings(desk: Path, **more: Any) -> Settings:
    own: dict[str, Any] = {"token": TOKEN, "workers": 1, "data_folder": desk / "data", "kept": desk / "kept"}
    return Settings(ledger=f"sqlite:///{desk}/ledger.db", **own | more)


def confirmed(client: TestClient) -> dict[str, Any]:
    """A release that was confirmed, and whose answer nobody waited for."""
    preview = client.post("/api/release", json=ASK).json()
    answer = client.post("/api/release", json={"confirm": preview["confirm"]}, params={"wait": 0})
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    return found


def written(desk: Path, job: str, key: bytes = TOKEN.encode()) -> dict[str, Any]:
    """What is kept of a job, once all of it is."""
    kept = Kept(desk / "kept", key=key)
    until(lambda: (kept.get(job) or {}).get("files"))
    return kept.get(job) or {}


def test_a_result_outlives_the_service_until_it_is_fetched(desk: Path) -> None:
    with client_of(create_app(settings(desk))) as client:
        job = confirmed(client)["job"]
        value = written(desk, job)["result"]["value"]
    assert (desk / "kept").stat().st_mode & 0o777 == 0o700
    with client_of(create_app(settings(desk))) as client:
        (listed,) = client.get("/api/jobs").json()["jobs"]
        assert (listed["job"], listed["state"], listed["result"]["value"]) == (job, "done", value)
        assert list(Kept(desk / "kept")) == [job]  # a list is not yet the result
        assert client.get(f"/api/jobs/{job}").json()["result"]["value"] == value
        assert list(Kept(desk / "kept")) == []
        assert client.get(f"/api/jobs/{job}").json()["result"]["value"] == value  # for an hour, as others
        assert str(value) in client.get(f"/api/jobs/{job}/files/csv").text
        assert client.get(f"/api/jobs/{job}/shown").status_code == 200
        assert client.get("/api/ledger").json()["spent"] == pytest.approx(0.25, abs=0.01)
    with client_of(create_app(settings(desk))) as client:
        assert client.get(f"/api/jobs/{job}").status_code == 404


def test_a_result_that_was_sent_is_kept_no_longer(desk: Path) -> None:
    with client_of(create_app(settings(desk))) as client:
        preview = client.post("/api/release", json=ASK).json()
        assert "value" in client.post("/api/release", json={"confirm": preview["confirm"]}).json()
        assert list(Kept(desk / "kept")) == []
        job = confirmed(client)["job"]
        events = client.get(f"/api/jobs/{job}/events").text
        assert '"value"' in events
        until(lambda: not list(Kept(desk / "kept")))


def test_a_result_is_for_whoever_asked_for_it(desk: Path) -> None:
    named = {"user_header": "x-user"}
    with client_of(create_app(settings(desk, **named))) as client:
        client.headers["x-user"] = "ann"
        job = confirmed(client)["job"]
        written(desk, job)
    with client_of(create_app(settings(desk, token="u" * 43))) as client:  # another token: another service
        client.headers["authorization"] = f"Bearer {'u' * 43}"
        assert client.get(f"/api/jobs/{job}").status_code == 404
    with client_of(create_app(settings(desk, **named))) as client:
        client.headers["x-user"] = "bob"
        assert client.get(f"/api/jobs/{job}").status_code == 404
        assert client.get("/api/jobs").json() == {"jobs": []}
        client.headers["x-user"] = "ann"
        assert client.get(f"/api/jobs/{job}").json()["state"] == "done"


def test_a_ledger_with_a_key_seals_results_whatever_the_token(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "diary.csv").write_text("time,doing\n" + "\n".join(f"{n},sit" for n in range(400)))
    key = new_key(tmp_path / "key")
    ledger = f"sqlite:///{tmp_path}/ledger.db"
    Ledger.create(ledger, belief=belief_from_dict(BELIEF), budget=9.0, read=READ, key=key).close()
    with client_of(create_app(settings(tmp_path, key=tmp_path / "key"))) as client:
        job = confirmed(client)["job"]
        written(tmp_path, job, key)
    with client_of(create_app(settings(tmp_path, key=tmp_path / "key", token="u" * 43))) as client:
        client.headers["authorization"] = f"Bearer {'u' * 43}"
        assert client.get(f"/api/jobs/{job}").json()["state"] == "done"


STAGES = {
    "before it is drawn": ("quiltwork.releases.prepared.add_noise", "before", False),
    "before it is kept": ("quiltwork.releases.keep.Kept.put", "before", False),
    "after it was kept": ("quiltwork.releases.keep.Kept.put", "after", True),
    "before the ledger says that it was made": ("quiltwork.ledger.Ledger.complete", "before", True),
    "after the ledger says that it was made": ("quiltwork.ledger.Ledger.complete", "after", True),
    "while files are made": ("quiltwork.web.work._files", "before", True),
    "before the service is told": ("quiltwork.web.work._on_screen", "after", True),
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_worker_that_is_killed_loses_no_value(stage: str, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, when, there = STAGES[stage]
    command = killed_at(place, when, "quiltwork.web.worker")
    monkeypatch.setattr(service_module, "Pool", partial(Pool, command=command))
    with client_of(create_app(settings(desk))) as client:
        preview = client.post("/api/release", json=ASK).json()
        answer = client.post("/api/release", json={"confirm": preview["confirm"]})
    ledger = Ledger(f"sqlite:///{desk}/ledger.db")
    (row,) = ledger.statement().releases()
    if not there:
        assert answer.json()["kind"] == "lost"
        assert row["outcome"] == "reserved"
        return
    assert answer.status_code == 200, answer.text
    assert answer.json()["ledger"]["row"] == row["row"]
    assert isinstance(answer.json()["value"], int)


@contextmanager
def serving(desk: Path) -> Iterator[tuple[subprocess.Popen[str], httpx2.Client]]:
    """The real service, which is killed at the end; once its worker has ended too, nobody writes any more."""
    command = [sys.executable, "-c", "from quiltwork.cli import main; main()", "serve", "--data-folder", "data"]
    command += ["--ledger", "sqlite:///ledger.db", "--token-file", "token", "--port", "0", "--workers", "1"]
    command += ["--keep-folder", "kept"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=desk, start_new_session=True
    )
    assert process.stdout is not None
    try:
        address, bearer = process.stdout.readline().split()[-1], {"Authorization": f"Bearer {TOKEN}"}
        with httpx2.Client(base_url=address, headers=bearer, timeout=PATIENCE) as client:
            yield process, client
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        until(lambda: not _runs(process.pid))


def _runs(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_service_that_is_killed_loses_no_value(desk: Path) -> None:
    """At moments that nobody chooses: what the ledger calls released is there after the restart."""
    (desk / "token").write_text(TOKEN + "\n")
    (desk / "token").chmod(0o600)
    found: dict[int, int] = {}
    for later in (0.0, 0.02, 0.2, None):
        with serving(desk) as (process, client):
            for job in client.get("/api/jobs").json()["jobs"]:
                result = client.get(f"/api/jobs/{job['job']}").json()["result"]
                found[result["ledger"]["row"]] = result["value"]
            until(lambda: not list(Kept(desk / "kept")))  # what was sent is kept no longer
            if later is not None:
                preview = client.post("/api/release", json=ASK, params={"wait": 60}).json()
                client.post("/api/release", json={"confirm": preview["confirm"]}, params={"wait": 0})
                time.sleep(later)
                process.send_signal(signal.SIGKILL)
    rows = Ledger(f"sqlite:///{desk}/ledger.db").statement().releases()
    assert {row["row"] for row in rows if row["outcome"] == "released"} <= set(found) <= {row["row"] for row in rows}
