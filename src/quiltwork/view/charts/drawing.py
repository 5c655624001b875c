"""Pictures are drawn by a process of its own: what draws may abort for lack of memory, or hang, and nothing else does.

This module is both ends of it. Requests and answers are lines of JSON: a chart in Vega-Lite's form, and its SVG. One
process draws all pictures; it begins when a page is asked for, gets ready meanwhile, and ends when this one does.
"""

import atexit
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from quiltwork.forks import at_forks

LONGEST = 30.0
"""Seconds that a picture may take; half of that after one that failed, and so on, until one succeeds."""
READY = {"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x", "type": "quantitative"}}}


class PictureWarning(UserWarning):
    """Why there is no picture; all else is there."""


class Pen:
    """The process that draws, seen from here."""

    def __init__(self, command: Sequence[str] = (sys.executable, "-P", "-m", __name__)) -> None:
        self.command = list(command)
        self.process: subprocess.Popen[str] | None = None
        self.patience = LONGEST
        self.lock = threading.Lock()

    def begin(self) -> None:
        """Start it, unless it runs."""
        if self.process is None or self.process.poll() is not None:
            self.end()
            self.process = subprocess.Popen(  # noqa: S603 - our own code
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
            )

    def draw(self, spec: dict[str, Any]) -> str:
        """The SVG of one chart. Whatever goes wrong costs this picture, and the next one gets a new process."""
        with self.lock:
            try:
                self.begin()
                answer = self._answer(json.dumps(spec))
            except OSError as problem:
                answer = {"why": problem.strerror or "the system refused"}
            svg = answer.get("svg")
            if isinstance(svg, str) and svg.startswith("<svg"):
                self.patience = LONGEST
                return svg
            self.patience /= 2
            self.end()
            raise PictureWarning(f"a picture could not be drawn: {answer.get('why', 'what came back is no picture')}")

    def _answer(self, line: str) -> dict[str, Any]:
        process, late = self.process, threading.Event()
        assert process is not None  # noqa: S101 - it has begun
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101

        def stop() -> None:
            late.set()
            process.kill()

        limit = threading.Timer(self.patience, stop)
        limit.daemon = True
        limit.start()
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            said = process.stdout.readline()
        except BrokenPipeError:
            said = ""
        finally:
            limit.cancel()
        if not said:
            took = f"it took longer than {self.patience:g} s"
            return {"why": took if late.is_set() else "the process that draws ended, perhaps for lack of memory"}
        with suppress(ValueError):
            answer = json.loads(said)
            return answer if isinstance(answer, dict) else {}
        return {}

    def end(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            self.process = None


_pen = Pen()


def begin() -> None:
    """Start what draws, so that it is ready when it is needed."""
    with _pen.lock, suppress(OSError):
        _pen.begin()


def svg_of(spec: dict[str, Any]) -> str:
    """A chart in Vega-Lite's form as SVG, drawn without a network."""
    return _pen.draw(spec)


def _end() -> None:
    _pen.end()


def _not_ours() -> None:
    """After a fork the process belongs to the parent."""
    global _pen
    if _pen.process is not None:
        _pen.process.returncode = 0  # nobody here waits for it
    _pen = Pen()


atexit.register(_end)
at_forks(before=lambda: None, in_parent=lambda: None, in_child=_not_ours)


def main() -> None:
    """Draw what is asked for on standard input, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal is for the process that asks
    import vl_convert

    vl_convert.vegalite_to_svg(READY)
    for line in sys.stdin:
        try:
            answer = {"svg": str(vl_convert.vegalite_to_svg(json.loads(line)))}
        except Exception as problem:
            answer = {"why": f"{type(problem).__name__} while drawing"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
