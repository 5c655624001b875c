"""What comes back of a protected file is noise: everything else is the same for files that differ in one value."""

import base64
import itertools
import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from web_service import BELIEF, READ, TOKEN, client_of

from quiltwork import Ledger
from quiltwork.beliefs.files import belief_from_dict
from quiltwork.data import read
from quiltwork.errors import QuiltworkError
from quiltwork.job import Data
from quiltwork.web import work
from quiltwork.web.app import create_app
from quiltwork.web.service import Settings
from quiltwork.web.worker import refusal

VALUES = ["sit" if n % 3 else "walk" for n in range(400)]
NUMBERS = {"kind": "gaussian", "step": 1, "distance": 10.0, "correlation": {"ar1": 0.5}}
RANDOM = (  # hashes, names of jobs, times of day, seconds
    r"\b(?:[0-9a-f]{64}|[0-9a-f]{32})\b|row \d+, [0-9a-f]{16}\b|\b[-\w]{16,22}\b(?=\")"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^\"<]*|\b\d+(?:\.\d+)?(?:e[-+]\d+)? s\b"
)


def file_of(values: list[str]) -> str:
    return "time,doing\n" + "".join(f"{n},{value}\n" for n, value in enumerate(values))


def differing(place: int, value: str = "walk") -> list[str]:
    return [*VALUES[:place], value, *VALUES[place + 1 :]]


class Silent:
    """A reporter that remembers what went into the log."""

    def __init__(self) -> None:
        self.logged: list[str] = []

    def phase(self, name: str, done: float | None = None) -> None:
        pass

    def commit(self) -> None:
        pass

    def log(self, text: str) -> None:
        self.logged.append(text)


class Held:
    """A protected file with its ledger, asked as a worker is."""

    def __init__(self, folder: Path, content: str, belief: dict[str, Any], read: Data):
        folder.mkdir()
        self.file, self.ledger = folder / "diary.csv", f"sqlite:///{folder / 'ledger.db'}"
        self.file.write_text(content)
        Ledger.create(self.ledger, belief=belief_from_dict(belief), budget=100.0, read=read).close()
        self.report = Silent()

    def ask(self, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        ask = {"data": {"file": str(self.file), "name": "diary.csv", "sent": False}, "confirmation": "x"}
        ask |= {"ledger": self.ledger, "key": None, "who": "ann", "program": "test"} | content
        try:
            return work.OPERATIONS[kind](ask, self.report)
        except QuiltworkError as problem:
            return refusal(problem, {})
        finally:
            if kind == "preview":
                self.last = ask

    def both(self, content: dict[str, Any]) -> list[dict[str, Any]]:
        """The preview, and what is released if it is confirmed."""
        work._READY.clear()
        told = self.ask("preview", content)
        if "preview" not in told:
            return [told]
        confirmed = self.ask("confirm", self.last | {"record": told["record"], "was": told["file"]})
        confirmed["files"] = {name: base64.b64decode(data) for name, data in confirmed["files"].items()}
        assert set(confirmed["files"]) >= {"csv", "json", "md", "html"}
        del told["file"], confirmed["files"]["parquet"]
        return [told, confirmed]

    def masked(self, answers: list[dict[str, Any]]) -> str:
        """Without what is different each time anyway."""
        text = repr(answers).replace(str(self.file.parent), "FOLDER")
        return re.sub(RANDOM, "RANDOM", text)


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noisy numbers are always the same: what still differs comes from the data."""
    monkeypatch.setattr("quiltwork.releases.prepared.add_noise", lambda exact, **_: [Fraction(7)] * len(exact))


@pytest.fixture
def held(tmp_path: Path) -> Callable[..., Held]:
    folders = (tmp_path / f"h{n}" for n in itertools.count())
    return lambda content, belief=BELIEF, read=READ: Held(next(folders), content, belief, read)


ASKED: list[dict[str, Any]] = [
    {"query": "count:walk"},
    {"query": "histogram", "window": 50},
    {"query": ["frequencies", "transitions"]},
    {"query": "stays:walk"},
    {"query": "top:1", "segment": [5, 200]},
    {"query": "histogram", "segment": [399, 1000]},
    {"query": "mean", "state_values": {"sit": 0.0, "walk": 2.5}},
    {"query": "histogram", "mechanism": "wasserstein"},
    {"query": "count:walk", "mechanism": "quilt-exact"},
    {"query": "histogram", "window": "day"},
    {"query": "histogram", "by_subject": True},
]


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: "-".join(map(str, asked.values())))
def test_releases_differ_by_noise_alone(held: Callable[..., Held], asked: dict[str, Any]) -> None:
    answers = set()
    for place in (None, 7):
        one = held(file_of(VALUES if place is None else differing(place)))
        answers.add(one.masked(one.both({"epsilon": 1.0, **asked})))
    assert len(answers) == 1


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("query", ["mean", "sum", "trend", "above:3:1"])
def test_numbers_differ_by_noise_alone(held: Callable[..., Held], query: str) -> None:
    read, answers = Data(column="doing", time="time"), set()
    for value in ("2", "3", "2.75", "-7.125"):  # the type of the column changes with it
        numbers = ["2" if n % 3 else "4" for n in range(60)]
        one = held(file_of([*numbers[:30], value, *numbers[31:]]), NUMBERS, read)
        answers.add(one.masked(one.both({"epsilon": 1.0, "query": query})))
    assert len(answers) == 1


WRONG: list[dict[str, Any]] = [
    {"belief": {"kind": "chain", "states": ["sit"], "transition": [[1.0]]}},
    {"belief": {"kind": "chain", "states": ["sit", "x"], "transition": [[0.7, 0.3], [0.6, 0.4]]}},
    {"column": "doing"},  # the whole reading, or nothing of it
    {"column": "doing", "read": {"time": "time", "recode": {"walk": None}}},
    {"column": "doing", "read": {"time": "time", "recode": {"walk": "sit"}}},
    {"column": "doing", "read": {"time": "time", "missing": "split"}},
    {"column": "doing", "read": {"time": "time", "separator": "a"}},
    {"column": "time", "read": {"bins": "3"}},
    {"column": "doing", "read": {"time": "time"}, "gaps": "independent"},
    {"secrets": "state:walk"},
    {"guarantee": "bayesian"},
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: str(wrong)[:60])
def test_nothing_is_read_before_all_agree(
    held: Callable[..., Held], wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows(*_: Any, **__: Any) -> None:
        raise AssertionError("the data were read")

    monkeypatch.setattr(read, "rows_of", rows)
    one = held(file_of(VALUES))
    for place in range(0, 400, 100):
        asked = {"query": "count:sit", "epsilon": 1.0, "segment": [place + 1, place + 1]}
        assert one.both(asked | wrong)[0]["kind"] == "ledger"
        assert one.report.logged == []


BROKEN = {
    "unknown": file_of(differing(9, "SECRET")),
    "missing": file_of(differing(9, "")),
    "unsorted": file_of(VALUES) + "3,sit\n",
    "repeated": file_of(VALUES) + "399,sit\n",
    "untimed": file_of(VALUES) + ",sit\n",
    "empty": "time,doing\n",
    "no column": "time,other\n1,sit\n",
    "no header": "SECRET\rann\n",
    "fields": file_of(VALUES) + "400,sit,SECRET\n",
    "bytes": "time,doing\n\x00\x01",
}


def test_what_is_wrong_with_the_data_is_one_sentence(held: Callable[..., Held]) -> None:
    answers = set()
    for name, content in BROKEN.items():
        one = held(content)
        (answer,) = one.both({"query": "histogram", "epsilon": 1.0})
        answers.add(json.dumps(answer))
        assert len(one.report.logged) == 1, name  # the owner sees more, and no values
        assert "SECRET" not in one.report.logged[0]
    (answer,) = map(json.loads, answers)
    assert answer["kind"] == "data"
    assert work.UNREADABLE in answer["error"]


@pytest.mark.parametrize("value", ["SECRET", ""], ids=["unknown", "missing"])
def test_no_segment_finds_what_is_wrong(held: Callable[..., Held], value: str) -> None:
    one = held(file_of(differing(200, value)))
    asked = {"query": "count:walk", "epsilon": 1.0, "anyway": True}
    answers = [one.both(asked | {"segment": place}) for place in ([1, 100], [201, 201], [202, 400], [1, 400])]
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0]["kind"] == "data"


@pytest.fixture
def services(tmp_path: Path) -> Iterator[tuple[TestClient, TestClient]]:
    """Two services that differ in one value of a protected file."""
    clients = []
    for name, values in (("one", VALUES), ("two", differing(7, "walk"))):
        folder = tmp_path / name
        (folder / "data").mkdir(parents=True)
        (folder / "public").mkdir()
        (folder / "data" / "diary.csv").write_text(file_of(values))
        (folder / "data" / "belief.json").write_text(json.dumps(BELIEF))
        (folder / "public" / "others.csv").write_text(file_of(VALUES))
        ledger = f"sqlite:///{folder / 'ledger.db'}"
        Ledger.create(ledger, belief=belief_from_dict(BELIEF), budget=10.0, read=READ).close()
        folders: dict[str, Any] = {"data_folder": folder / "data", "public_folder": folder / "public"}
        app = create_app(Settings(token=TOKEN, ledger=ledger, workers=1, **folders))
        clients.append(client_of(app))
    with clients[0], clients[1]:
        yield clients[0], clients[1]


def requests_of(path: str, method: str) -> list[dict[str, Any]]:
    """What is sent to an endpoint: with the protected file wherever a file can be named."""
    data, query = {"path": "diary.csv"}, {"query": "histogram", "epsilon": 1.0}
    known: dict[str, list[dict[str, Any]]] = {
        "/api/belief": [{"belief": BELIEF}, {"belief": {"path": "belief.json"}}, {"belief": {"path": "diary.csv"}}],
        "/api/belief/edit": [{"belief": {"path": "belief.json"}, "change": {"remove": 0}}],
        "/api/belief/check": [{"belief": BELIEF, "data": data, "column": "doing"}],
        "/api/columns": [{"data": data}, {"data": data, "separator": "a"}],
        "/api/compose": [{"belief": BELIEF, "length": 9, "releases": [{"mechanism": "other", "epsilon": 1.0}]}],
        "/api/plan": [{"belief": BELIEF, "length": 400, **query, "mechanisms": ["curve"]}],
        "/api/preview": [{"belief": BELIEF, "length": 400, **query}],
        "/api/release": [{"data": data, **query}, *({"data": data, **query, **wrong} for wrong in WRONG),
                         {"data": {"path": "../data/diary.csv"}, **query}, {"confirm": "x"}],
    }  # fmt: skip
    return [{"json": content} for content in known.get(path, [{}])] if method == "POST" else [{}]


def test_every_endpoint_says_the_same_of_two_files(services: tuple[TestClient, TestClient]) -> None:
    endpoints = [(path, method.upper()) for path, ways in services[0].get("/openapi.json").json()["paths"].items()
                 for method in ways]  # fmt: skip
    assert len(endpoints) > 20
    for path, method in endpoints:
        for content in requests_of(path, method):
            place = path.replace("{name}", "unknown").replace("{ending}", "csv")
            got = [client.request(method, place, **content) for client in services]
            assert got[0].status_code == got[1].status_code, (method, place)
            texts = [re.sub(RANDOM + r"|\"seconds\": [^,}]*|[^\"]*/(one|two)/", "RANDOM", one.text) for one in got]
            if path not in ("/api/preview", "/api/jobs"):  # simulated data with noise; jobs that may still run
                assert texts[0] == texts[1], (method, place, content)
    for client in services:
        listed = client.get("/api/files").json()["files"]
        assert [one for one in listed if one["folder"] == "data"] == [{"path": "diary.csv", "folder": "data"}]
        check = {"belief": BELIEF, "data": {"path": "diary.csv"}, "column": "doing"}
        assert client.post("/api/belief/check", json=check).status_code == 404
        sent = client.post("/api/uploads", params={"name": "x.csv"}, content=b"doing\nsit\n").json()
        again = check | {"data": {"upload": sent["upload"]}}
        assert "public data only" in client.post("/api/belief/check", json=again).json()["error"]
