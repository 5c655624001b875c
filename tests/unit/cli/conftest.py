"""A belief and a diary in files."""

import json
from pathlib import Path

import polars as pl
import pytest
from examples import BELIEF


@pytest.fixture
def belief(tmp_path: Path) -> Path:
    path = tmp_path / "belief.json"
    path.write_text(json.dumps(BELIEF))
    return path


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    path = tmp_path / "diary.csv"
    who = ["ann"] * 60 + ["bob"] * 60
    pl.DataFrame({"who": who, "doing": ["sit", "sit", "walk"] * 40, "t": list(range(60)) * 2}).write_csv(path)
    return path
