"""A process that works for the service: it takes one request at a time, and can be stopped at any moment.

Requests and answers are lines of JSON on its standard input and output. What the libraries print goes nowhere: it may
hold values of the data.
"""

import json
import os
import re
import select
import signal
import sys
from collections.abc import Mapping
from typing import IO, Any

from quiltwork.errors import QuiltworkError, amounts_of, kind_of, visible


class Line:
    """The way back to the service."""

    def __init__(self, answers: IO[str], requests: IO[str]):
        self._answers, self._requests = answers, requests

    def say(self, **content: Any) -> None:
        """One line."""
        self._answers.write(json.dumps(content) + "\n")
        self._answers.flush()

    def hear(self) -> dict[str, Any] | None:
        """The next line; None when the service has gone."""
        line = self._requests.readline()
        return json.loads(line) if line else None

    def waiting(self) -> bool:
        """Whether there is a next line already; False where that cannot be told."""
        try:
            return bool(select.select([self._requests], [], [], 0)[0])
        except (OSError, ValueError):
            return False

    def phase(self, name: str, done: float | None = None) -> None:
        """What is being done now."""
        self.say(phase=name, progress=done)

    def log(self, text: str) -> None:
        """A line for the log of the service."""
        self.say(log=text)

    def commit(self) -> None:
        """Ask whether to go on; a service that has stopped the work does not answer, but ends this process."""
        self.say(commit=True)
        if self.hear() is None:
            sys.exit(0)


def refusal(problem: BaseException, shown: Mapping[str, str]) -> dict[str, Any]:
    """An error as ``--json`` prints it; files have the names by which the user knows them.

    >>> from quiltwork.errors import DataError
    >>> refusal(DataError("data file /srv/x1 cannot be read"), {"/srv/x1": "diary.csv"})
    {'error': 'data file diary.csv cannot be read.', 'kind': 'data', 'exit_code': 2}
    """
    amounts: dict[str, float | None] = {}
    code = 2
    if isinstance(problem, QuiltworkError):
        message, kind, code, amounts = str(problem), kind_of(problem), problem.exit_code, amounts_of(problem)
    elif isinstance(problem, OSError):
        message, kind = f"a file cannot be used: {problem.strerror or 'the system refused'}.", "file"
    elif isinstance(problem, MemoryError):
        message, kind = "there is not enough memory for this. Use a smaller belief, length or file.", "memory"
    else:
        message = f"something went wrong that should not have ({type(problem).__name__}). Please report it."
        kind = "internal"
    message = re.sub(r"\b(anyway|despite_check)=", r'"\1": true', message)  # as a request says it
    for path, name in shown.items():
        message = message.replace(path, name)
    return {"error": visible(" ".join(message.split())), "kind": kind, "exit_code": code, **amounts}


def serve(line: Line) -> None:
    """Work until the service goes."""
    from quiltwork.web.work import OPERATIONS

    _warm_up(line)
    line.say(ready=True)
    while (request := line.hear()) is not None:
        try:
            line.say(done=OPERATIONS[request["do"]](request["ask"], line))
        except Exception as problem:
            if os.environ.get("QUILTWORK_TRACEBACK"):
                import traceback

                traceback.print_exc()
            line.say(refused=refusal(problem, request.get("shown", {})))


def _warm_up(line: Line) -> None:
    """Load what plans and pages need, so that the first ones are quick; whoever waits already comes first."""
    from quiltwork.web.work import OPERATIONS

    table = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]]
    asks: list[tuple[str, dict[str, Any]]] = []
    for start in ("any", "stationary"):
        belief = {"kind": "chain", "transition": table, "initial": start}
        asks.append(("plan", {"belief": belief, "query": "histogram", "epsilon": 1.0, "length": 100}))
    asks += [("belief", {"belief": belief, "charts": True}), ("rehearse", asks[0][1])]
    for kind, ask in asks:
        if line.waiting():
            return
        OPERATIONS[kind](ask, _Quiet())


class _Quiet:
    """Nobody waits for what is done to warm up."""

    def phase(self, name: str, done: float | None = None) -> None:
        """Nothing."""

    def log(self, text: str) -> None:
        """Nothing."""

    def commit(self) -> None:
        """Nothing."""


def main() -> None:
    """Take over standard input and output, and work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal is for the service, which ends its workers
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    try:
        serve(Line(answers, requests))
    except BrokenPipeError:
        os._exit(0)  # the service has gone


if __name__ == "__main__":
    main()
