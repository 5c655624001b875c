"""The command as a user runs it: in this process, which is quicker, or in one of its own."""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

from quiltwork.cli import main
from quiltwork.types import Shown


def run(
    *arguments: object, cwd: Path | None = None, code: int | None = None, alone: bool = False
) -> subprocess.CompletedProcess[str]:
    words = [*map(str, arguments)]
    done = _alone(words, cwd) if alone or cwd is not None else _here(words)
    assert code is None or done.returncode == code, done.stderr
    return done


def _alone(words: list[str], cwd: Path | None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from quiltwork.cli import main; main()", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def _here(words: list[str]) -> subprocess.CompletedProcess[str]:
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["quiltwork", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def answer(*arguments: object) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert isinstance(content, dict)
    return content


def as_page(shown: Shown) -> str:
    """What a notebook shows of something."""
    page = shown._repr_html_()
    assert page is not None
    return page


def without_reader(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command with its output in a pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from quiltwork.cli import main; main()", *map(str, words)]
    try:
        return subprocess.run(command, cwd=cwd, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writer)


KILLED = """
import os, pkgutil, signal, sys
place, when, module = sys.argv[1:4]
owner, _, name = place.rpartition(".")
owner = pkgutil.resolve_name(owner)
plain = getattr(owner, name)
def killed(*arguments, **named):
    result = plain(*arguments, **named) if when == "after" else None
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)
setattr(owner, name, killed)
sys.argv = ["quiltwork", *sys.argv[4:]]
pkgutil.resolve_name(module + ".main")()
"""


def killed_at(place: str, when: str, module: str, *arguments: str) -> list[str]:
    """The command of a program that is killed before or after it calls this function, named by its place."""
    return [sys.executable, "-P", "-c", KILLED, place, when, module, *arguments]
