"""Inputs that are far too large, or never end: refused at once with the size and the limit."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from shell import answer, run

from quiltwork import MarkovChain, NotCoveredError, bayesian_leakage, save_belief
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time
from quiltwork.question import bind


@pytest.fixture
def belief(tmp_path: Path) -> Path:
    save_belief(MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary"), tmp_path / "belief.json")
    return tmp_path / "belief.json"


def plan(file: object) -> str:
    return run("plan", file, "--query", "histogram", "--length", 10, "--epsilon", 1, code=2).stderr


def test_files_that_never_end(belief: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    os.mkfifo(tmp_path / "pipe.csv")
    for file in ("/dev/zero", tmp_path / "pipe.json"):
        assert "must be a regular file" in plan(file)
        assert "must be a regular file" in run("compose", belief, file, "--length", 9, code=2).stderr
    asked = ("--column", "v", "--belief", belief, "--query", "histogram", "--epsilon", 1)
    assert "must be a regular file" in run("release", tmp_path / "pipe.csv", *asked, code=2).stderr
    with (tmp_path / "large.json").open("wb") as large:
        large.truncate(65 * 2**20)
    assert "at most 64 MiB, got 65 MiB" in plan(tmp_path / "large.json")


def test_numbers_and_nests(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    file.write_text(json.dumps({"kind": "chain", "transition": [[10**400, 0], [0, 1]]}))
    assert "square table of numbers" in plan(file)
    file.write_text('{"kind": "chain", "transition": [[' + "9" * 5000 + ", 0], [0, 1]]}")
    assert "too many digits" in plan(file)
    nested: dict[str, object] = {"kind": "chain", "transition": [[0.5, 0.5], [0.5, 0.5]]}
    for _ in range(100):
        nested = {"kind": "set", "members": [nested]}
    file.write_text(json.dumps(nested))
    assert "got another set" in plan(file)
    file.write_text("[" * 100_000)
    assert "nested" in plan(file)


def test_a_belief_reads_no_file_beyond_its_folder(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "outside.bif").write_text(
        "variable v { type discrete [ 2 ] { a, b }; } probability ( v ) { table 0.5, 0.5; }"
    )
    (inner / "link.bif").symlink_to(tmp_path / "outside.bif")
    for name in ("../outside.bif", str(tmp_path / "outside.bif"), "link.bif", "../../../../etc/passwd"):
        (inner / "b.json").write_text(json.dumps({"kind": "network", "bif": name}))
        assert "must be in the folder of the belief file" in plan(inner / "b.json")
    (inner / "own.bif").write_bytes((tmp_path / "outside.bif").read_bytes())
    (inner / "b.json").write_text(json.dumps({"kind": "network", "bif": "own.bif"}))
    assert answer("belief", "show", inner / "b.json")["variables"] == 1


def test_a_table_with_27_parents(tmp_path: Path) -> None:
    names = [f"v{n}" for n in range(28)]
    text = "".join(f"variable {name} {{ type discrete [ 2 ] {{ a, b }}; }}\n" for name in names)
    text += f"probability ( v0 | {', '.join(names[1:])} ) {{ default 0.5, 0.5; }}\n"
    (tmp_path / "wide.bif").write_text(text)
    assert "at most 4,194,304 entries and 30 parents, got 2.68e+08 entries, 27 parents" in plan(tmp_path / "wide.bif")


def test_a_billion_releases(belief: Path) -> None:
    many = ("--query", "count:1", "--length", 5, "--noise-scale", 1, "--releases", 10**9)
    assert "up to 30 releases, got 1,000,000,000" in run("audit", belief, *many, code=4).stderr
    assert answer("leakage", belief, *many)["method"] == "projective"
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    with pytest.raises(NotCoveredError, match="up to 30 releases"):
        bayesian_leakage(chain, "count:1", noise_scale=1.0, length=5, releases=100, method="enumeration")


def test_more_states_than_are_followed_along_time() -> None:
    table = np.random.default_rng(1).dirichlet(np.ones(320), size=320)
    chain = MarkovChain(table, initial="stationary")
    with pytest.raises(NotCoveredError, match="up to 300 states here, got 320"):
        loss_along_time(chain, Profile.constant(bind("count:0", chain).table()[0], length=1000))


def test_what_nobody_foresaw_is_one_line(belief: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("with a data value")

    monkeypatch.setattr("quiltwork.load_belief", broken, raising=False)
    refused = run("belief", "show", belief, code=2)
    assert "should not have (ZeroDivisionError)" in refused.stderr
    assert "data value" not in refused.stderr.replace("with data values", "")
