"""What each reproduced figure claims, asserted on its quick data."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from quiltwork.papers.reproduce import NAMES, Reproduced, reproduce, reproduce_all

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Reproduced]:
    folder = tmp_path_factory.mktemp("reproduced")
    found: dict[str, Reproduced] = {}

    def once(name: str) -> Reproduced:
        if name not in found:
            found[name] = reproduce(name, folder, quick=True)
        return found[name]

    return once


def errors(rows: Rows, panel: str, line: str) -> list[float]:
    """By ε, smallest first."""
    own = [row for row in rows if (row["panel"], row["line"]) == (panel, line)]
    return [row["L1 error"] for row in sorted(own, key=lambda row: row["epsilon"])]


def test_figure_2(made: Callable[[str], Reproduced]) -> None:
    rows = made("figure-2").rows
    panels = {"pi_est": ("0.01", "0.02", "0.05"), "g_est": ("0.02", "0.05", "0.1"), "T": ("3000", "10000", "30000")}
    for panel, lines in panels.items():
        for line in (*lines, "quilt-exact", "curve"):
            falling = errors(rows, panel, line)
            assert falling == sorted(falling, reverse=True), "falls with ε"
        for worse, better in pairwise(lines):
            assert all(a > b for a, b in zip(errors(rows, panel, worse), errors(rows, panel, better), strict=True))

    def gain(panel: str) -> float:
        first, last = panels[panel][0], panels[panel][-1]
        return min(a / b for a, b in zip(errors(rows, panel, first), errors(rows, panel, last), strict=True))

    assert gain("g_est") > gain("pi_est")  # five times larger, both of them
    for curve, exact, approximate in zip(
        errors(rows, "T", "curve"), errors(rows, "T", "quilt-exact"), errors(rows, "T", "10000"), strict=True
    ):
        assert curve < exact < approximate


def test_theorem_3_4(made: Callable[[str], Reproduced]) -> None:
    found = made("theorem-3-4")
    assert "S = 1.9176648" in found.remarks[0]
    assert "D = 3.8476323" in found.remarks[0]
    assert any(row["excess"] > 0.01 for row in found.rows)
    assert any(row["excess"] < -0.01 for row in found.rows)
    equal = [row for row in found.rows if row["p"] == row["q"]]  # X_2 says nothing about X_1
    assert equal
    assert all(row["one"] == pytest.approx(1) and row["excess"] == pytest.approx(0, abs=1e-9) for row in equal)


def test_parallel(made: Callable[[str], Reproduced]) -> None:
    rows = made("parallel").rows
    assert rows[0]["printed 3.1"] == pytest.approx(11.709, abs=1e-3)
    assert rows[0]["corrected 3.1"] == pytest.approx(12.303, abs=1e-3)
    assert rows[0]["exact"] == pytest.approx(12.046, abs=1e-3)
    assert any(row["printed 3.1"] < row["exact"] for row in rows)
    assert [row["3.3"] for row in rows][-1] == 1.0  # far enough apart
    assert rows[1]["3.3"] is None
    assert any(row["influence curve"] is not None for row in rows)
    for row in rows:
        assert row["corrected 3.1"] >= row["exact"]
        assert row["3.3"] is None or row["3.3"] >= row["exact"]
        assert row["influence curve"] is None or row["exact"] - 1e-12 <= row["influence curve"] <= row["corrected 3.1"]


def test_sequential(made: Callable[[str], Reproduced]) -> None:
    rows = made("sequential").rows
    assert any(row["exact"] is not None for row in rows)
    for row in rows:
        assert row["influence curve"] <= row["C 3.7 (sum)"] + 1e-12
        assert row["exact"] is None or row["exact"] <= row["influence curve"] + 1e-9


def test_binary_grid(made: Callable[[str], Reproduced]) -> None:
    rows = made("binary-grid").rows
    assert len(rows) > 1
    for row in rows:
        assert row["audited"] <= row["curve"] * (1 + 1e-6)
        assert row["curve"] <= row["quilt-exact"] * (1 + 1e-9)
        assert row["quilt-exact"] <= row["quilt-approx"] * (1 + 1e-9)
        assert row["quilt-exact"] <= row["group"] + 1e-9
        assert row["audited"] <= row["wasserstein"] + 1e-9


def test_gap_counterexample(made: Callable[[str], Reproduced]) -> None:
    rows = {row["distance"]: row for row in made("gap-counterexample").rows}
    assert rows[40]["printed bound"] == pytest.approx(3.06e-6, rel=1e-2)
    assert rows[40]["true influence"] == pytest.approx(4.77e-6, rel=1e-2)


def test_activity(made: Callable[[str], Reproduced], tmp_path: Path) -> None:
    rows = made("activity").rows
    assert {row["epsilon"] for row in rows} == {0.2, 1.0, 5.0}
    noise = {(row["mechanism"], row["epsilon"]): row["noise scale"] for row in rows}
    for epsilon in (0.2, 1.0, 5.0):
        assert noise["curve", epsilon] < noise["quilt-exact", epsilon] < noise["group", epsilon]
    assert reproduce("activity", tmp_path, quick=True).rows == rows  # fixed seeds


def test_everything_at_once(tmp_path: Path) -> None:
    seen: list[float] = []
    found = reproduce_all(tmp_path, quick=True, progress=seen.append)
    assert [one.name for one in found] == list(NAMES)
    assert seen[-1] == 1.0
    text = (tmp_path / "index.html").read_text()
    for name in NAMES:
        assert f"quiltwork reproduce {name}" in text
        for kind in ("csv", "svg", "png"):
            assert (tmp_path / f"{name}.{kind}").stat().st_size > 150
    assert text.count("<svg") >= len(NAMES)
    assert "Left out: <code>quiltwork reproduce real --data FOLDER</code>" in text


def test_contagion_is_reproduced(tmp_path: Path) -> None:
    made = reproduce("contagion", tmp_path)
    scales = {row["mechanism"]: row["noise scale"] for row in made.rows if row["households"].startswith("one")}
    assert scales["wasserstein"] == pytest.approx(2.0)
    assert scales["group"] == pytest.approx(4.0)
    assert {file.suffix for file in made.files} == {".csv", ".svg", ".png"}
