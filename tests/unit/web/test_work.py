"""What a worker does, in this process: it hears lines and says lines."""

import asyncio
import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from web_service import BELIEF, PLAN

from quiltwork import Ledger, samples
from quiltwork.beliefs.files import belief_from_dict
from quiltwork.web import work
from quiltwork.web.files import Uploads
from quiltwork.web.worker import Line, refusal, serve

NUMBERS = {"kind": "gaussian", "step": 1, "distance": 1.0, "correlation": {"ar1": 0.5}}


def said_to(*requests: dict[str, Any]) -> list[dict[str, Any]]:
    """What the worker answers to these lines, without how far it was."""
    out = io.StringIO()
    serve(Line(out, io.StringIO("".join(json.dumps(request) + "\n" for request in requests))))
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert lines[0] == {"ready": True}
    assert any("phase" in line for line in lines)
    return [line for line in lines[1:] if "phase" not in line]


def test_everything_that_can_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quiltwork.web.worker._warm_up", lambda _: None)
    data = tmp_path / "diary.csv"
    data.write_text("doing,n\n" + "sit,1.5\nsit,2\nwalk,0\n" * 100)
    held = belief_from_dict(BELIEF)
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    Ledger.create(ledger, belief=held, budget=1.0).close()
    file, book = {"file": str(data), "sent": True}, {"ledger": ledger, "key": None}
    ask = {"belief": BELIEF, "data": file, "column": "doing", "query": ["count:walk", "histogram"], "epsilon": 0.5}
    ask |= book | {"confirmation": "x", "who": "ann", "program": "test"}
    (first,) = said_to({"do": "preview", "ask": ask})
    preview = first["done"]["preview"]
    assert [one["query"] for one in preview["questions"]] == ["count:walk", "histogram"]
    confirmed = ask | {"record": first["done"]["record"], "was": first["done"]["file"]}
    work._READY.clear()  # another worker: it prepares it anew
    answers = said_to(
        {"do": "confirm", "ask": confirmed},
        {"go": True},
        {"do": "ledger", "ask": book},
        {"do": "verify", "ask": book},
        {"do": "export", "ask": book},
        {"do": "account", "ask": book},
        {"do": "ledger-belief", "ask": book},
        {"do": "plan", "ask": PLAN | {"people": 3}},
        {"do": "compose", "ask": {"belief": BELIEF, "length": "any", "releases": [first["done"]["record"]],
                                  "secrets": "state:walk"}},
        {"do": "belief", "ask": {"belief": BELIEF}},
        {"do": "check", "ask": {"belief": BELIEF, "data": file, "column": "doing"}},
        {"do": "check", "ask": {"belief": NUMBERS, "data": file, "column": "n", "rhythm": "none"}},
        {"do": "columns", "ask": {"data": file}},
    )  # fmt: skip
    assert answers.pop(0) == {"commit": True}
    assert all("done" in one for one in answers), answers
    released, statement, whole, rows = (one["done"] for one in answers[:4])
    assert released["result"]["ledger"]["row"] == 2
    assert base64.b64decode(released["files"]["csv"]).startswith(b"query,")
    assert statement["releases"][0]["who"] == "ann"
    assert whole["whole"] is True
    assert len(rows["rows"]) == 2
    assert answers[-1]["done"]["columns"] == [{"name": "doing", "type": "text"}, {"name": "n", "type": "number"}]
    refused = said_to(
        {"do": "confirm", "ask": confirmed | {"was": [1, 2]}},
        {"do": "preview", "ask": ask | {"epsilon": 5.0, "confirmation": "y"}},
        {"do": "check", "ask": {"belief": BELIEF, "data": file, "column": "doing", "rhythm": "day"}},
        {"do": "plan", "ask": {name: value for name, value in PLAN.items() if name != "length"}},
        {"do": "ledger", "ask": {}},
        {
            "do": "preview",
            "ask": {name: value for name, value in ask.items() if name not in ("belief", "ledger")}
            | {"confirmation": "z"},
        },
        {"do": "columns", "ask": {"data": {"file": str(tmp_path / "none.csv")}}, "shown": {str(tmp_path): "folder"}},
        {"do": "belief", "ask": {}},
    )
    kinds = [one["refused"]["kind"] for one in refused]
    assert kinds == ["data", "budget", "parameter", "parameter", "parameter", "parameter", "data", "internal"]
    assert str(tmp_path) not in refused[6]["refused"]["error"]
    assert refused[1]["refused"]["short"] > 0


def test_a_release_without_a_ledger_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quiltwork.web.worker._warm_up", lambda _: None)
    monkeypatch.setattr(work, "_files", lambda *_: {})
    ask = {
        "belief": BELIEF | {"states": ["home", "other"]},
        "data": {"file": str(samples.diary_path()), "sent": True},
        "column": "activity",
        "read": {"subject": "person", "time": "time", "recode": {"home": "home", "*": "other"}},
        "query": "count:home",
        "epsilon": 1.0,
        "segment": [1, 500],
        "confirmation": "z",
    }
    (first,) = said_to({"do": "preview", "ask": ask})
    assert work.NO_LEDGER in first["done"]["preview"]["notes"]
    confirmed = ask | {"record": first["done"]["record"], "was": first["done"]["file"]}
    answers = said_to({"do": "confirm", "ask": confirmed}, {"go": True})
    assert work.NO_LEDGER in answers[1]["done"]["result"]["notes"]


def test_whoever_is_gone_gets_nothing() -> None:
    with pytest.raises(SystemExit):
        Line(io.StringIO(), io.StringIO("")).commit()


def test_errors_of_the_system_have_a_line_of_their_own() -> None:
    assert refusal(OSError(13, "Permission denied", "/srv/x"), {})["error"].endswith("Permission denied.")
    assert refusal(MemoryError(), {})["kind"] == "memory"
    assert "4711" not in refusal(ValueError("4711"), {})["error"]


def test_old_uploads_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    async def chunks() -> Any:
        yield b"doing\n"

    uploads = Uploads(most_bytes=100)
    try:
        kept = asyncio.run(uploads.receive("ann", "x.csv", chunks(), declared=None))
        uploads.forget_old()
        assert uploads.of("ann") == [kept]
        monkeypatch.setattr("quiltwork.web.files.KEPT", -1.0)
        uploads.forget_old()
        assert uploads.of("ann") == []
        assert not kept.path.exists()
    finally:
        uploads.close()
    assert not kept.path.parent.exists()
