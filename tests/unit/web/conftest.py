"""The service in this process: one worker, folders with protected and public data, a ledger."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from web_service import BELIEF, BUDGET, READ, TOKEN, client_of

from quiltwork import Ledger
from quiltwork.beliefs.files import belief_from_dict
from quiltwork.fitting.made_up import made_up
from quiltwork.web.app import create_app
from quiltwork.web.service import Settings


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("web")
    (folder / "data").mkdir()
    rows = "\n".join(f"{n},{'sit' if n % 3 else 'walk'}" for n in range(400))
    (folder / "data" / "diary.csv").write_text(f"time,doing\n{rows}\n")
    (folder / "outside.csv").write_text("time,doing\n1,sit\n")
    (folder / "data" / "link.csv").symlink_to(folder / "outside.csv")
    (folder / "data" / "inside.csv").symlink_to(folder / "data" / "diary.csv")
    (folder / "public").mkdir()
    others = made_up(belief_from_dict(BELIEF), length=400, people=1, seed=2).stretches[0]
    public = "\n".join(f"{n},{BELIEF['states'][code]}" for n, code in enumerate(others))
    (folder / "public" / "others.csv").write_text(f"time,doing\n{public}\n")
    (folder / "public" / "belief.json").write_text(json.dumps(BELIEF))
    ledger = f"sqlite:///{folder / 'ledger.db'}"
    Ledger.create(ledger, belief=belief_from_dict(BELIEF), budget=BUDGET, read=READ).close()
    folders: dict[str, Any] = {"data_folder": folder / "data", "public_folder": folder / "public"}
    app = create_app(Settings(token=TOKEN, ledger=ledger, workers=1, max_upload=2**20, **folders))
    with client_of(app) as client:
        yield client


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[TestClient]:
    app = create_app(Settings(token=TOKEN, read_only=True, workers=0, data_folder=tmp_path))
    with client_of(app) as client:
        yield client
