"""What tests of the service share."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from patience import PATIENCE
from starlette.testclient import TestClient

from quiltwork.job import Data
from quiltwork.web.app import LONGEST_WAIT, Application

TOKEN = "t" * 43
ADDRESS = "http://127.0.0.1:8765"
BELIEF: dict[str, Any] = {
    "kind": "chain",
    "states": ["sit", "walk"],
    "transition": [[0.7, 0.3], [0.6, 0.4]],
    "initial": "stationary",
}
BUDGET = 100.0
"""So much that no test finds it spent by others, in whichever order they run."""
READ = Data(column="doing", time="time")
PLAN: dict[str, Any] = {"belief": BELIEF, "query": "histogram", "length": 400, "epsilon": 1.0, "mechanisms": ["curve"]}
RELEASE: dict[str, Any] = {
    "belief": BELIEF,
    "data": {"path": "diary.csv"},
    "column": "doing",
    "read": {"time": "time"},
    "query": "count:walk",
    "epsilon": 0.25,
}


def client_of(app: Application) -> TestClient:
    """Whoever has the token, and waits for results as long as the service allows."""
    client = TestClient(app, base_url=ADDRESS, headers={"Authorization": f"Bearer {TOKEN}"})
    client.params = {"wait": LONGEST_WAIT}
    return client


@contextmanager
def serving(*options: str, log: IO[str] | None = None, within: Path | None = None) -> Iterator[str]:
    """The real command in a process of its own; its address with the token."""
    command = [sys.executable, "-c", "from quiltwork.cli import main; main()", "serve", "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log or subprocess.DEVNULL, text=True, cwd=within)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"quiltwork serves (\S+)\n", line)
        assert found is not None, line
        yield found[1]
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
