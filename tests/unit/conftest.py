"""A network in a file."""

import json
from pathlib import Path

import pytest
from examples import SPRINKLER


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    (tmp_path / "garden.bif").write_text(SPRINKLER)
    path = tmp_path / "garden.json"
    path.write_text(json.dumps({"kind": "network", "bif": "garden.bif"}))
    return path
