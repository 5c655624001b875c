"""The pages: their frame, what their scripts are, and the interface behind them."""

import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from web_service import BELIEF

from quiltwork.samples import diary_belief
from quiltwork.web import pages
from quiltwork.web.samples import samples
from quiltwork.web.service import Service

ROOT = Path(__file__).parents[3]
STATIC = Path(str(files("quiltwork.web") / "static"))
EVIL = "<script>alert(1)</script>"


def asked(client: TestClient, path: str, content: dict[str, Any], status: int = 200) -> dict[str, Any]:
    got = client.post(path, json=content)
    assert got.status_code == status, got.text
    answer: dict[str, Any] = got.json()
    return answer


@pytest.mark.parametrize("folder", [STATIC / "vendor", ROOT / "docs" / "assets" / "vendor"])
def test_vendored_scripts_are_those_of_their_packages(folder: Path) -> None:
    listed = {one["file"]: one for one in json.loads((folder / "vendor.json").read_text())}
    assert set(listed) == {path.name for path in folder.iterdir()} - {"vendor.json"}
    for name, one in listed.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == one["sha256"], name
        assert f"LICENSE-{one['package']}.txt" in listed


def test_own_scripts_and_styles_load_nothing_from_elsewhere_and_evaluate_nothing() -> None:
    own = [*STATIC.glob("*.js"), *STATIC.glob("pages/*.js"), *STATIC.glob("*.css")]
    assert len(own) >= 8
    for file in own:
        text = file.read_text()
        assert not re.search(r"\b(https?|wss?):", text), file.name
        for danger in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "new Function", "document.write"):
            assert danger not in text, f"{file.name} has {danger}"
    colours = re.findall(r"#[0-9a-f]{3,8}\b", (STATIC / "quiltwork.css").read_text())
    assert not [colour for colour in colours if not colour.startswith("#vg")]  # they stand in view/page.css


@pytest.mark.parametrize("name", [page["name"] for page in pages.NAVIGATION])
def test_every_page_has_its_script_and_no_other(served: TestClient, name: str) -> None:
    text = served.get(f"/{name}").text
    assert re.findall(r"<script[^>]*>", text) == [f'<script type="module" src="/static/pages/{name}.js">']
    assert f'<a href="/{name}" aria-current="page">' in text
    assert not re.search(r"\son\w+=|<style|\sstyle=", text)
    assert served.get(f"/static/pages/{name}.js").headers["content-type"].startswith("text/javascript")
    assert "--accent" in served.get("/static/page.css").text
    start = served.get("/").text
    assert f'<a href="/{name}">' in start


def test_what_a_page_is_told_is_escaped() -> None:
    text = pages.work("plan", {"user": f'"{EVIL}'})
    assert EVIL not in text
    assert "&#34;user&#34;" in text


def test_beliefs_to_choose_from(served: TestClient, read_only: TestClient) -> None:
    offered = served.get("/api/beliefs").json()["beliefs"]
    assert [one["label"] for one in offered[:3]] == [one["label"] for one in samples()]
    assert offered[0]["belief"] == diary_belief().to_dict()
    assert len(read_only.get("/api/beliefs").json()["beliefs"]) == len(samples())


def test_a_belief_with_its_pictures(served: TestClient) -> None:
    plain = asked(served, "/api/belief", {"belief": BELIEF})
    shown = asked(served, "/api/belief", {"belief": BELIEF, "charts": True})
    assert plain.items() <= shown.items()
    assert [chart["name"] for chart in shown["charts"]] == ["heat", "stays", "forgets"]
    assert all(chart["spec"]["$schema"].endswith(".json") for chart in shown["charts"])
    assert shown["editable"]
    assert "questions" in shown
    assert len(shown["words"]["stays"]) == len(BELIEF["states"])


def test_a_belief_with_hostile_names_is_shown_as_text(served: TestClient) -> None:
    hostile = {"kind": "chain", "states": [EVIL, "b"], "transition": [[0.9, 0.1], [0.4, 0.6]]}
    shown = asked(served, "/api/belief", {"belief": hostile, "charts": True})
    assert shown["states"][0] == EVIL
    for chart in shown["charts"]:  # names are data: none stands in an expression that Vega evaluates
        expressions = re.findall(r'"(?:labelExpr|filter|test|calculate|expr)": "([^"]*)', json.dumps(chart["spec"]))
        assert EVIL not in "".join(expressions)


@pytest.mark.parametrize(
    ("change", "row"),
    [
        ({"cell": [0, 1], "value": 0.3}, [0.7, 0.3]),
        ({"cell": [0, 1], "value": 1.0}, [0.0, 1.0]),
        ({"stay": 0, "value": 4.0}, [0.75, 0.25]),
        ({"initial": "given"}, None),
        ({"rename": 0, "name": "rest"}, None),
        ({"initial": 1, "value": 0.25}, None),
    ],
)
def test_a_change_keeps_rows_at_a_sum_of_1(served: TestClient, change: dict[str, Any], row: list[float] | None) -> None:
    changed = asked(served, "/api/belief/edit", {"belief": BELIEF, "change": change})["belief"]
    assert all(sum(one) == pytest.approx(1) for one in changed["transition"])
    assert row is None or changed["transition"][0] == pytest.approx(row)
    if change.get("initial") == 1:
        assert changed["initial"] == pytest.approx([0.75, 0.25])
    if "rename" in change:
        assert changed["states"][0] == "rest"


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"cell": [0, 1], "value": 1.5}, "parameter"),
        ({"cell": [0, 9], "value": 0.5}, "parameter"),
        ({"stay": 7, "value": 2.0}, "parameter"),
        ({"remove": 0}, "parameter"),
        ({"add": BELIEF["states"][0]}, "belief"),
        ({"cell": [0, 1]}, "request"),
        ({"cell": [0, 1], "stay": 1, "value": 0.5}, "request"),
        ({"cell": None, "value": 0.5}, "request"),
        ({"initial": None}, "request"),
    ],
)
def test_changes_that_are_refused(served: TestClient, change: dict[str, Any], kind: str) -> None:
    assert asked(served, "/api/belief/edit", {"belief": BELIEF, "change": change}, 422)["kind"] == kind


def test_states_come_and_go(served: TestClient) -> None:
    more = asked(served, "/api/belief/edit", {"belief": BELIEF, "change": {"add": "run"}})["belief"]
    assert more["states"] == [*BELIEF["states"], "run"]
    less = asked(served, "/api/belief/edit", {"belief": more, "change": {"remove": 2}})["belief"]
    assert less["transition"] == [pytest.approx(row) for row in BELIEF["transition"]]
    network = samples()[2]["belief"]
    assert (
        "single chain" in asked(served, "/api/belief/edit", {"belief": network, "change": {"remove": 0}}, 422)["error"]
    )


def test_a_preview_shows_true_and_noisy_numbers_of_simulated_data(served: TestClient) -> None:
    ask = {"belief": BELIEF, "query": "histogram", "epsilon": 1.0, "length": 400, "people": 5, "window": 100}
    shown = asked(served, "/api/preview", ask)
    plain = asked(served, "/api/plan", {key: ask[key] for key in ("belief", "query", "epsilon", "length")})
    by_name = {one["mechanism"]: one["noise_scale"] for one in shown["plan"]["mechanisms"]}
    assert by_name["curve"] == next(o["noise_scale"] for o in plain["mechanisms"] if o["mechanism"] == "curve")
    rows = shown["preview"]["rows"]
    assert len(rows) == 8
    assert sum(row["true"] for row in rows) == 2000
    assert all(row["low"] <= row["noisy"] <= row["high"] for row in rows)
    assert shown["meaning"]["text"] == "73.2 %"
    datasets = shown["preview"]["chart"]["spec"]["datasets"]["both"]
    assert len(datasets) == 16
    again = asked(served, "/api/preview", ask)
    assert again == shown  # it was kept
    redrawn = asked(served, "/api/preview", ask | {"draw": 1})["preview"]["rows"]
    assert [row["true"] for row in redrawn] == [row["true"] for row in rows]
    other = asked(served, "/api/preview", ask | {"seed": 1})["preview"]["rows"]
    assert [row["true"] for row in other] != [row["true"] for row in rows]


def test_a_preview_says_why_there_is_none(served: TestClient) -> None:
    power = {"belief": samples()[1]["belief"], "query": "mean", "epsilon": 1.0, "length": 100, "people": 3}
    shown = asked(served, "/api/preview", power)
    assert "cannot be simulated" in shown["preview"]["why_not"]
    assert shown["plan"]["mechanisms"][0]["noise_scale"] > 0
    many = {"belief": BELIEF, "query": "histogram", "epsilon": 1.0, "length": 400, "people": 10**6}
    assert "at most" in asked(served, "/api/preview", many)["preview"]["why_not"]


def test_previews_go_to_the_worker_that_remembers(served: TestClient) -> None:
    service: Service = served.app.service  # type: ignore[attr-defined]
    ask = {"belief": BELIEF, "query": "count:sit", "epsilon": 0.7, "length": 400, "people": 5}
    asked(served, "/api/preview", ask)
    assert len(service._calibrated) > 0
    asked(served, "/api/preview", ask | {"people": 6})
    assert [job.prefer for job in service.pool._jobs.values() if job.kind == "rehearse"][-1] == 0


def test_a_plan_and_a_check_with_pictures(served: TestClient) -> None:
    plan = {"belief": BELIEF, "query": "histogram", "epsilon": 1.0, "length": 400, "mechanisms": ["curve", "group"]}
    shown = asked(served, "/api/plan", plan | {"charts": True})
    assert shown["best"] == "curve"
    assert [row["name"] for row in shown["charts"][0]["spec"]["datasets"]["noise"]] == ["curve", "group"]
    data = {"data": {"path": "others.csv"}, "column": "doing", "read": {"time": "time"}}
    check = asked(served, "/api/belief/check", {"belief": BELIEF, **data, "charts": True})
    assert [chart["name"] for chart in check["charts"]] == ["memory", "stays"]
    assert check["more"]
