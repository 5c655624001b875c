"""The JSON interface: the same objects as the command, refusals with their status, and no way around the folder."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE, until
from shell import answer
from starlette.testclient import TestClient
from web_service import BELIEF, BUDGET, PLAN, RELEASE

from quiltwork.errors import nearest
from quiltwork.web.service import Service
from quiltwork.web.work import UNREADABLE

EVIL = "<script>alert(1)</script>"


def asked(client: TestClient, path: str, content: dict[str, Any], status: int = 200) -> dict[str, Any]:
    got = client.post(path, json=content)
    assert got.status_code == status, got.text
    found = got.json()
    assert isinstance(found, dict)
    return found


def service_of(client: TestClient) -> Service:
    service = client.app.service  # type: ignore[attr-defined]
    assert isinstance(service, Service)
    return service


def test_plans_are_those_of_the_command(served: TestClient, tmp_path: Path) -> None:
    (tmp_path / "belief.json").write_text(json.dumps(BELIEF))
    options = ("--query", "histogram", "--length", 400, "--epsilon", 1, "--mechanism", "curve")
    command, web = answer("plan", tmp_path / "belief.json", *options), asked(served, "/api/plan", PLAN)
    assert command.keys() == web.keys()
    assert command["mechanisms"][0]["noise_scale"] == web["mechanisms"][0]["noise_scale"]
    poor = PLAN | {"length": 4, "advice": False}
    assert "noise only" in asked(served, "/api/plan", poor)["warnings"][0]
    before = service_of(served).pool.of("token")
    assert asked(served, "/api/plan", PLAN) == web
    assert service_of(served).pool.of("token") == before  # it was kept: nobody works on it again


@pytest.mark.parametrize(
    ("change", "status", "kind"),
    [
        ({"epsilon": -1}, 422, "request"),
        ({"epsilon": "4711"}, 422, "request"),
        ({"secret": "4711"}, 422, "request"),
        ({"query": "histogramm"}, 422, "query"),
        ({"belief": {"kind": "chain", "transition": [[0.5, 0.4711], [1, 0]]}}, 422, "belief"),
        ({"belief": {"kind": "network", "bif": "/etc/passwd"}}, 422, "belief"),
        ({"belief": {"kind": "set", "members": [{"kind": "network", "bif": "/etc/passwd"}]}}, 422, "belief"),
        ({"belief": {"file": "/etc/passwd"}}, 422, "belief"),
        ({"belief": {"path": "../outside.json"}}, 403, "path"),
        ({"belief": {"kind": "mixing", "states": 2, "pi_min": 0.1, "gap": 0.1}, "query": "transitions",
          "mechanisms": ["wasserstein"]}, 422, "not-covered"),
    ],
)  # fmt: skip
def test_refusals_are_those_of_the_command(served: TestClient, change: dict[str, Any], status: int, kind: str) -> None:
    refused = asked(served, "/api/plan", PLAN | change, status)
    assert refused["kind"] == kind
    assert set(refused) == {"error", "kind", "exit_code"}
    assert refused["exit_code"] == (4 if kind == "not-covered" else 2)
    assert "4711" not in refused["error"] or kind == "belief"


def test_what_is_long_is_not_repeated(served: TestClient) -> None:
    for change in ({"belief": {"kind": "a" * 2**22}}, {"length": 10**400}):
        assert len(asked(served, "/api/plan", PLAN | change, 422)["error"]) < 1000
    assert nearest("a" * 2**22, ["a" * 2**22]) is None  # nor compared with names, which would take long


def test_what_is_no_request(served: TestClient) -> None:
    assert served.post("/api/plan", content=b"{", headers={"Content-Type": "application/json"}).status_code == 400
    assert served.post("/api/plan", content=b"x").status_code == 400
    assert served.get("/nowhere").status_code == 404
    assert served.put("/api/plan").status_code == 405


def test_a_release_is_previewed_confirmed_and_charged(served: TestClient) -> None:
    before = served.get("/api/ledger").json()
    preview = asked(served, "/api/release", RELEASE)
    told = preview["ledger"]
    assert told["spent"] == before["spent"]
    assert told["spent"] < told["spent_after"] <= told["budget"]
    assert preview["questions"][0]["noise_scale"] > 0
    assert served.get("/api/ledger").json()["spent"] == before["spent"]  # a preview spends nothing
    got = served.post("/api/release", json={"confirm": preview["confirm"]})
    assert got.status_code == 200, got.text
    result = got.json()
    assert {"value", "noise_scale", "error_95", "epsilon", "mechanism", "guarantee", "ledger", "record"} <= set(result)
    assert result["data"]["source"] == "diary.csv"
    assert result["noise_scale"] == preview["questions"][0]["noise_scale"]
    assert result["ledger"]["spent"] == pytest.approx(told["spent_after"])
    assert asked(served, "/api/release", {"confirm": preview["confirm"]}, 409)["kind"] == "confirmation"
    job = served.get(f"/api/jobs/{got.headers['x-quiltwork-job']}").json()
    assert job["files"] == ["csv", "html", "json", "md", "parquet"]
    page = served.get(f"/api/jobs/{job['job']}/files/html")
    assert page.text.startswith("<!doctype html>")
    assert page.headers["content-disposition"].startswith("attachment")
    assert served.get(f"/api/jobs/{job['job']}/files/passwd").status_code == 404
    assert served.get("/api/ledger/verify").json()["whole"] is True
    rows = served.get("/api/ledger/export").json()["rows"]
    assert rows[-1]["content"]["program"].startswith("quiltwork serve")
    shown = served.get(f"/api/jobs/{job['job']}/shown").json()
    assert shown["answers"][0]["chart"]["spec"]["$schema"]
    other = served.post("/api/columns", json={"data": {"path": "others.csv"}}).headers["x-quiltwork-job"]
    assert served.get(f"/api/jobs/{other}/shown").status_code == 404
    account = served.get("/api/ledger/shown").json()
    assert account["releases"]["rows"][0][3] == "count:walk"


def test_a_ledger_is_exported_as_a_file_that_can_be_verified(served: TestClient, tmp_path: Path) -> None:
    got = served.get("/api/ledger/export.jsonl")
    assert got.headers["content-disposition"] == 'attachment; filename="ledger.jsonl"'
    (tmp_path / "ledger.jsonl").write_bytes(got.content)
    assert answer("ledger", "verify", tmp_path / "ledger.jsonl")["whole"] is True


def test_the_belief_of_the_ledger_can_be_left_out(served: TestClient, read_only: TestClient) -> None:
    held = served.get("/api/ledger/belief").json()
    assert held["states"] == BELIEF["states"]
    assert held["facts"][0][0] == "Belief"
    without = {name: value for name, value in RELEASE.items() if name != "belief"}
    assert asked(served, "/api/release", without)["epsilon"] == RELEASE["epsilon"]
    for path in ("shown", "belief", "export.jsonl"):
        assert read_only.get(f"/api/ledger/{path}").json()["kind"] == "ledger"


def test_the_budget_holds(served: TestClient) -> None:
    refused = asked(served, "/api/release", RELEASE | {"epsilon": 2 * BUDGET}, 409)
    assert refused["exit_code"] == 3
    assert refused["requested"] - refused["remaining"] == pytest.approx(refused["short"])


def test_data_that_change_after_the_preview_are_not_released(served: TestClient) -> None:
    data = b"time,doing\n" + b"".join(b"%d,sit\n%d,walk\n" % (2 * n, 2 * n + 1) for n in range(100))
    sent = served.post("/api/uploads", params={"name": "new.csv"}, content=data).json()
    ask = RELEASE | {"data": {"upload": sent["upload"]}}
    preview = asked(served, "/api/release", ask)
    kept = service_of(served).uploads.get("token", sent["upload"])
    kept.path.write_bytes(data + b"200,sit\n")
    assert asked(served, "/api/release", {"confirm": preview["confirm"]}, 422)["kind"] == "data"
    served.delete(f"/api/uploads/{sent['upload']}")


def test_a_confirmation_takes_nothing_else(served: TestClient) -> None:
    assert asked(served, "/api/release", {"confirm": "x", "epsilon": 2.0}, 422)["kind"] == "request"
    assert asked(served, "/api/release", {"query": "histogram"}, 422)["kind"] == "request"


@pytest.mark.parametrize(
    "path",
    ["../outside.csv", "/etc/passwd", "link.csv", "x/../../outside.csv", "", "\0", "http://evil.example/x.csv", ".",
     "*.csv", "nowhere.csv", "..\\outside.csv", "/proc/self/environ"],
)  # fmt: skip
def test_paths_stay_in_the_folder(served: TestClient, path: str) -> None:
    public, protected = service_of(served).public, service_of(served).protected
    assert public is not None
    assert protected is not None
    for request, content in (("columns", {}), ("release", RELEASE)):
        got = served.post(f"/api/{request}", json=content | {"data": {"path": path}})
        assert got.status_code in (403, 404, 422)
        assert str(public.path) not in got.text
        assert str(protected.path) not in got.text


def test_columns_have_names_and_types_and_no_values(served: TestClient) -> None:
    found = asked(served, "/api/columns", {"data": {"path": "others.csv"}})
    assert found == {"columns": [{"name": "time", "type": "whole number"}, {"name": "doing", "type": "text"}]}
    listed = served.get("/api/files").json()["files"]
    assert [one["path"] for one in listed] == ["diary.csv", "inside.csv", "belief.json", "others.csv"]
    assert listed[0] == {"path": "diary.csv", "folder": "data"}  # sizes of protected files tell about values


def test_uploads_are_bounded_private_and_deleted(served: TestClient) -> None:
    service = service_of(served)
    assert served.post("/api/uploads", params={"name": "x.csv"}, content=b"x" * (2**20 + 1)).status_code == 413
    pieces = (b"x" * 2**18 for _ in range(9))
    assert served.post("/api/uploads", params={"name": "x.csv"}, content=pieces).status_code == 413
    assert served.post("/api/uploads", params={"name": "x.exe"}, content=b"x").status_code == 422
    assert served.post("/api/uploads", params={"name": "x.csv"}, content=b"").status_code == 422
    sent = served.post("/api/uploads", params={"name": f"../../{EVIL}.csv"}, content=b"doing\nsit\n").json()
    kept = service.uploads.get("token", sent["upload"])
    assert kept.path.stat().st_mode & 0o077 == 0
    assert kept.path.parent.stat().st_mode & 0o077 == 0
    assert "/" not in sent["name"]
    assert [path for path in kept.path.parent.iterdir() if path != kept.path] == []
    with pytest.raises(Exception, match="no such upload"):
        service.uploads.get("browser x", sent["upload"])
    wrong = asked(served, "/api/columns", {"data": {"upload": sent["upload"]}, "separator": "4711"}, 422)
    assert str(kept.path) not in wrong["error"]
    assert served.delete(f"/api/uploads/{sent['upload']}").status_code == 204
    assert not kept.path.exists()
    assert served.get("/api/uploads").json() == {"uploads": []}


def test_scripts_in_names_stay_text(served: TestClient) -> None:
    belief = BELIEF | {"states": [EVIL, "walk"]}
    got = served.post("/api/belief", json={"belief": belief})
    assert got.json()["states"] == [EVIL, "walk"]
    assert got.headers["content-type"] == "application/json"
    assert got.headers["x-content-type-options"] == "nosniff"
    page = served.get("/docs")
    assert page.status_code == 200
    assert "<script" not in page.text
    hidden = served.post("/api/belief", json={"belief": BELIEF | {"states": ["a\u202eb", "walk"]}})
    assert hidden.status_code == 422
    assert "\u202e" not in hidden.text


def test_beliefs_are_checked_and_releases_composed(served: TestClient) -> None:
    ask = {"belief": {"path": "belief.json"}, "data": {"path": "others.csv"}, "column": "doing"}
    assert {"verdict", "lags", "warning"} <= set(asked(served, "/api/belief/check", ask))
    other = {"belief": BELIEF, "length": 400, "budget": 1.0, "releases": [{"mechanism": "other", "epsilon": 0.25}]}
    assert asked(served, "/api/compose", other)["remaining"] == 0.75
    assert asked(served, "/api/compose", other | {"releases": []}, 422)["kind"] == "input"


def test_a_check_reaches_the_releases_of_the_service(served: TestClient) -> None:
    asked(served, "/api/belief/check", {"belief": BELIEF, "data": {"path": "others.csv"}, "column": "doing"})
    preview = asked(served, "/api/release", RELEASE | {"epsilon": 0.02, "anyway": True})
    assert "belief, checked on public data" in [label for _, label in preview["shown"]["cards"]]
    made = asked(served, "/api/release", {"confirm": preview["confirm"]})
    assert made["check"]["outcome"] in ("holds", "levels differ", "not refuted")
    assert made["check"]["values"] == 400
    assert served.get("/api/ledger").json()["releases"][-1]["check"] == f"checked, {made['check']['outcome']}"
    service = service_of(served)
    known = dict(service._checks)
    try:  # a refutation stays, whatever is checked later
        (mark,) = known
        service._checks[mark] = known[mark] | {"outcome": "refuted"}
        asked(served, "/api/belief/check", {"belief": BELIEF, "data": {"path": "others.csv"}, "column": "doing"})
        assert asked(served, "/api/release", RELEASE, 422)["exit_code"] == 4
        allowed = RELEASE | {"epsilon": 0.02, "anyway": True, "despite_check": True}
        assert asked(served, "/api/release", allowed)["confirm"]
    finally:
        service._checks.update(known)


def test_jobs_tell_how_far_they_are(served: TestClient) -> None:
    slow = PLAN | {"mechanisms": ["wasserstein"], "length": 12, "epsilon": 0.01}
    begun = served.post("/api/plan", params={"wait": 0}, json=slow)
    assert begun.status_code == 202
    job = begun.json()["job"]
    assert begun.headers["location"] == f"/api/jobs/{job}"
    told = served.get(f"/api/jobs/{job}/events").text.split("\n\n")
    last = [block for block in told if block.startswith("event: end")]
    assert json.loads(last[0].split("data: ")[1])["state"] in ("done", "failed")
    assert served.get("/api/jobs/unknown").status_code == 404
    listed = served.get("/api/jobs").json()["jobs"]
    assert job in [one["job"] for one in listed]
    assert all(one["kind"] == "confirm" for one in listed if "result" in one)
    assert all(set(one.get("result", ())) <= {"query", "epsilon", "value"} for one in listed)
    assert service_of(served).pool.get(job, "browser x") is None


def test_the_page_says_what_is_offered(served: TestClient, read_only: TestClient) -> None:
    assert "charged to a ledger" in served.get("/").text
    page = read_only.get("/").text
    assert "read-only" in page
    assert "takes no data" in page
    schema = served.get("/openapi.json").json()
    docs = served.get("/docs").text
    for path in schema["paths"]:
        assert path in docs


def test_read_only_releases_and_reads_nothing(read_only: TestClient) -> None:
    for path, content in (
        ("/api/release", RELEASE),
        ("/api/release", {"confirm": "x"}),
        ("/api/columns", {"data": {"path": "README.md"}}),
        ("/api/belief", {"belief": {"path": "belief.json"}}),
        ("/api/belief/check", {"belief": BELIEF, "data": {"path": "x.csv"}, "column": "x"}),
    ):
        assert asked(read_only, path, content, 403)["kind"] == "read-only"
    assert read_only.post("/api/uploads", params={"name": "x.csv"}, content=b"x").status_code == 403
    assert read_only.get("/api/files").status_code == 403
    assert read_only.get("/api/ledger").json()["kind"] == "ledger"


def test_whoever_waits_is_told_when_the_service_stops(read_only: TestClient) -> None:
    service = service_of(read_only)  # it has no workers: nothing is ever done
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(read_only.post("/api/plan", json=PLAN)))
    waiting.start()
    until(lambda: service.pool.of("token"))
    read_only.app.stop()  # type: ignore[attr-defined]
    waiting.join(PATIENCE)
    assert answers[0].status_code == 409
    assert answers[0].json()["kind"] == "cancelled"
    assert read_only.post("/api/plan", json=PLAN).status_code == 429


def test_values_of_the_data_are_in_no_error(served: TestClient) -> None:
    rows = b"time,doing\n1,sit\n2,value4711\n"
    sent = served.post("/api/uploads", params={"name": "x.csv"}, content=rows).json()
    ask = RELEASE | {"data": {"upload": sent["upload"]}}
    refused = asked(served, "/api/release", ask, 422)
    assert "4711" not in refused["error"]
    assert UNREADABLE in refused["error"]
    served.delete(f"/api/uploads/{sent['upload']}")


def test_requests_at_the_same_time_are_charged_one_after_the_other(served: TestClient) -> None:
    left = served.get("/api/ledger").json()["remaining"]
    ask = RELEASE | {"epsilon": 0.6 * left}
    names = [asked(served, "/api/release", ask)["confirm"] for _ in range(2)]
    codes: list[int] = []

    def confirm(name: str) -> None:
        codes.append(served.post("/api/release", json={"confirm": name}).status_code)

    threads = [threading.Thread(target=confirm, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = served.get("/api/ledger").json()
    assert spent["spent"] <= spent["budget"] * (1 + 1e-9)
    assert 200 in codes
    assert set(codes) <= {200, 409}
