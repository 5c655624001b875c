"""What was paid for can be had until it is taken: whatever ends the process, a value is there or was never drawn."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examples import COIN
from shell import killed_at, run, without_reader

from quiltwork import Ledger, Release, save_belief
from quiltwork.calibration.request import Request
from quiltwork.errors import LedgerError
from quiltwork.ledger import new_key
from quiltwork.releases.keep import DAY, FOLDER, Kept, usual_folder
from quiltwork.releases.pipeline import prepare

KEY = b"k" * 20
ASK = ("two.csv", "--column", "value", "--belief", "two.json", "--query", "histogram", "--epsilon", "0.5")


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "kept", key=KEY)


def test_a_result_is_kept_for_its_owner_alone(kept: Kept) -> None:
    name = kept.put({"value": [1, 2.5, None, "ü"]})
    assert name is not None
    assert kept.folder.stat().st_mode & 0o777 == 0o700
    (file,) = kept.folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(kept) == [name]
    assert kept.get(name) == {"value": [1, 2.5, None, "ü"]}
    assert Kept(kept.folder).get(name) is None  # without the key nothing is believed
    assert Kept(kept.folder, key=KEY + b"k").get(name) is None
    kept.remove(name)
    assert (kept.get(name), list(kept)) == (None, [])


def test_a_later_result_of_the_same_name_takes_its_place(kept: Kept) -> None:
    kept.put({"value": 1}, "job")
    kept.put({"value": 1, "files": {}}, "job")
    assert kept.get("job") == {"value": 1, "files": {}}
    assert len(list(kept.folder.iterdir())) == 1


def test_what_was_changed_is_not_handed_out(kept: Kept) -> None:
    name = kept.put({"value": 1}) or ""
    file = kept.folder / f"{name}.json"
    whole = file.read_bytes()
    for n in range(len(whole) - 1):
        file.write_bytes(whole[:n] + bytes([whole[n] ^ 1]) + whole[n + 1 :])
        assert kept.get(name) is None
    file.write_bytes(whole)
    file.rename(kept.folder / "another.json")
    assert kept.get("another") is None  # the code is about its name too


@pytest.mark.parametrize("name", ["", "..", "../two", "a/b", "a.json", "x" * 81, "a\0b"])
def test_names_stay_within_the_folder(name: str, kept: Kept) -> None:
    kept.put({"value": 1}, "two")
    assert Kept(kept.folder / "below", key=KEY).get(name) is None
    assert kept.get(name) is None


def test_results_are_forgotten_after_a_day(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.put({"value": 1}, "old")
    later = time.time() + DAY + 1
    monkeypatch.setattr("quiltwork.releases.keep.time.time", lambda: later)
    assert kept.get("old") is None
    assert list(kept) == []
    os.utime(kept.folder, (later, later))
    kept.put({"value": 2}, "new")
    assert not (kept.folder / "old.json").exists()


def test_a_folder_of_others_is_not_used(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    assert Kept(shared).put({"value": 1}) is None
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert Kept(tmp_path / "link").put({"value": 1}) is None
    (tmp_path / "file").write_text("")
    assert Kept(tmp_path / "file").put({"value": 1}) is None
    assert not [*shared.iterdir(), *(tmp_path / "real").iterdir()]


def test_the_usual_folder_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(FOLDER)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert usual_folder() == tmp_path / ".local/state/quiltwork"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert usual_folder() == tmp_path / "state/quiltwork"


# at which point the process is killed, and what is there then
STAGES = {
    "after the spending, before it is drawn": ("quiltwork.releases.prepared.add_noise", "before", "lost"),
    "after it was drawn, before it is kept": ("quiltwork.releases.keep.Kept.put", "before", "lost"),
    "while it is written": ("os.replace", "before", "lost"),
    "after it was kept": ("quiltwork.releases.keep.Kept.put", "after", "kept"),
    "before the ledger says that it was made": ("quiltwork.ledger.Ledger.complete", "before", "kept"),
    "after the ledger says that it was made": ("quiltwork.ledger.Ledger.complete", "after", "kept"),
    "before it is printed": ("quiltwork.cli.release._show", "before", "kept"),
    "after it was printed": ("quiltwork.cli.release._show", "after", "shown and kept"),
    "after it was taken": ("quiltwork.releases.keep.Kept.remove", "after", "shown"),
    "while files are written": ("quiltwork.cli.release._write", "before", "shown"),
}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data, a belief and a ledger, and one of its own for what is kept."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "kept"))
    save_belief(COIN, tmp_path / "two.json")
    (tmp_path / "two.csv").write_text("\n".join(["value", *"01" * 300]))
    new_key(tmp_path / "key")
    Ledger.create(f"sqlite:///{tmp_path}/two.db", belief=COIN, budget=9.0, key=(tmp_path / "key").read_bytes().strip())
    return tmp_path


@pytest.mark.parametrize("stage", STAGES)
def test_a_process_that_is_killed_loses_no_value(stage: str, desk: Path) -> None:
    place, when, then = STAGES[stage]
    asked = [*ASK, "--ledger", "sqlite:///two.db", "--key", "key", "--out", "q.csv", "--json"]
    command = killed_at(place, when, "quiltwork.cli", "release", *asked)
    done = subprocess.run(command, cwd=desk, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (row,) = Ledger(f"sqlite:///{desk}/two.db", key=(desk / "key").read_bytes().strip()).statement().releases()
    kept = list(Kept(desk / "kept"))
    if then == "lost":  # never drawn, or never shown: the ledger says that no outcome is known, and it counts
        assert row["outcome"] == "reserved"
        assert not kept
        assert not done.stdout
        return
    if "shown" in then:
        assert json.loads(done.stdout)["ledger"]["row"] == row["row"]
    assert ("kept" in then) == bool(kept)
    if kept:
        found = json.loads(run("kept", *kept, "--key", "key", cwd=desk, code=0).stdout)
        assert found["ledger"]["row"] == row["row"]
        assert not done.stdout or json.loads(done.stdout)["value"] == found["value"]
        assert "Nothing is kept" in run("kept", cwd=desk, code=0).stderr


def test_the_next_release_says_that_a_result_waits(desk: Path) -> None:
    name = Kept().put({"value": 1, "query": "histogram", "epsilon": 1.0}) or ""
    file = desk / "kept" / f"{name}.json"
    assert "not taken" not in run("release", *ASK, cwd=desk, code=0).stderr  # it may be about to be printed
    os.utime(file, (time.time() - 60,) * 2)
    assert "An earlier result was paid for and not taken" in run("release", *ASK, cwd=desk, code=0).stderr
    listed = json.loads(run("kept", "--json", cwd=desk, code=0).stdout)["kept"]
    assert [row["name"] for row in listed] == [name]
    assert "value" not in listed[0]
    assert name in run("kept", cwd=desk, code=0).stdout
    refused = run("kept", "another", cwd=desk, code=2)
    assert "there is no such result" in refused.stderr


@pytest.mark.parametrize("out", [(), ("--out", "full.csv")])
@pytest.mark.parametrize("form", ["table", "json", "csv", "parquet"])
def test_what_nobody_took_is_kept(form: str, out: tuple[str, ...], desk: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full here")
    (desk / "full.csv").symlink_to("/dev/full")
    done = without_reader("release", *ASK, "--format", form, *out, cwd=desk)
    assert done.returncode == 0, done.stderr
    (name,) = Kept()
    assert f"quiltwork kept {name}" in done.stderr
    value = json.loads(run("kept", name, cwd=desk, code=0).stdout)["value"]
    assert out or json.dumps(value) in done.stderr


@pytest.mark.parametrize("ending", ["csv", "html", "json", "md", "parquet"])
def test_a_file_is_taken_too(ending: str, desk: Path) -> None:
    form = "table" if ending in ("csv", "html") else "json"
    done = without_reader("release", *ASK, "--format", form, "--out", f"q.{ending}", cwd=desk)
    assert done.returncode == 0, done.stderr
    assert (desk / f"q.{ending}").stat().st_size > 0
    assert list(Kept()) == []


@pytest.mark.parametrize("closed", ["2>&-", ">/dev/full 2>&-", "| head -c 0 2>&-", ">/dev/full 2>/dev/full"])
@pytest.mark.parametrize("more", ["", "--json", "--out q.csv", "--json --out q.csv --out q.html"])
def test_streams_that_are_closed_or_full_cost_no_value(more: str, closed: str, desk: Path) -> None:
    line = f'"{sys.executable}" -c "from quiltwork.cli import main; main()" release {" ".join(ASK)} {more} {closed}'
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=desk, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if "--out" in more:
        assert (desk / "q.csv").read_text().startswith("query,")
        assert list(Kept()) == []
    elif closed == "2>&-":
        assert done.stdout
        assert list(Kept()) == []
    elif "full" in closed:
        (name,) = Kept()
        assert json.loads(run("kept", name, cwd=desk, code=0).stdout)["query"] == "histogram"


def test_a_home_that_cannot_be_written_to_stops_no_release(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk / "file").write_text("")
    monkeypatch.setenv(FOLDER, str(desk / "file" / "kept"))
    done = run("release", *ASK, "--json", cwd=desk, code=0)
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["query"] == "histogram"


@pytest.mark.parametrize("look", [1, 2])
def test_what_the_ledger_lost_is_not_kept(look: int, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it is kept and before it is shown the ledger is asked whether the spending is there."""
    looks: list[int] = []
    put: list[str | None] = []

    def gone(*_: object) -> None:
        looks.append(len(put))
        if len(looks) == look:
            raise LedgerError("the row is gone")

    def keep(made: Release) -> Callable[[], None]:
        put.append(kept.put(made.to_dict()))
        assert list(kept) == put
        return lambda: kept.remove(put[0])

    monkeypatch.setattr(Ledger, "confirm", gone)
    prepared = prepare(["0", "1"] * 300, Request.of("histogram", belief=COIN, epsilon=0.5))
    with pytest.raises(LedgerError, match="the row is gone"):
        prepared.draw_within(Ledger.in_memory(belief=COIN, budget=1.0), {}, keep=keep)
    assert looks == [0, 1][:look]
    assert list(kept) == []
