"""The command as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def run(*arguments: object, cwd: Path | None = None, code: int | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from quiltwork.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert code is None or done.returncode == code, done.stderr
    return done


def answer(*arguments: object) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert isinstance(content, dict)
    return content
