"""Run by tests and benchmarks: many processes on one ledger, or processes that are killed. Prints what they saw.

python contend.py many URL PROCESSES REQUESTS
python contend.py kill URL RUNS FOLDER SEED
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

from quiltwork import BudgetError, MarkovChain, Session

COIN = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5])
EPSILON = 0.01


def session(url: str) -> Session:
    return Session(["0", "1"], belief=COIN, ledger=url)


def many(url: str, processes: int, requests: int) -> None:
    """Each process asks so many times; exits with the number of requests that were granted."""
    children = []
    for _ in range(processes):
        pid = os.fork()
        if pid == 0:
            own, granted = session(url), 0
            for _ in range(requests):
                try:
                    own.count("1", epsilon=EPSILON)
                except BudgetError:
                    continue
                granted += 1
            os._exit(granted)
        children.append(pid)
    print(sum(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))


def kill(url: str, runs: int, folder: str, seed: int) -> None:
    """Processes that release and show, killed at random moments; what was shown is in the folder."""
    rng = random.Random(seed)
    for n in range(runs):
        pid = os.fork()
        if pid == 0:
            own = session(url)
            shown = os.open(Path(folder) / f"{n}.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            while True:
                made = own.count("1", epsilon=EPSILON)
                assert made.ledger is not None
                os.write(shown, f"{made.ledger['row']} {made.calibration.noise_scale!r}\n".encode())
        shown_so_far = Path(folder) / f"{n}.txt"
        until = time.monotonic() + 5
        while n % 2 and time.monotonic() < until and not (shown_so_far.exists() and shown_so_far.stat().st_size):
            time.sleep(0.001)  # every second one has begun to release
        time.sleep(rng.uniform(0.0, 0.08))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    warm = Session(["0", "1"], belief=COIN, budget=1000.0)
    warm.count("1", epsilon=EPSILON)  # everything is loaded before the processes part
    warm.count("1", epsilon=EPSILON)
    if sys.argv[1] == "many":
        many(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        kill(sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
