"""Noise and time of every mechanism on published networks: a table for the documentation.

Each cell is measured in a process of its own, with a time limit.
"""

import json
import multiprocessing
import sys
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

from networks import network_of_width

from quiltwork import BayesianNetwork, NotCoveredError, calibrate

MECHANISMS = ("curve", "quilt-exact", "wasserstein", "audited", "group")
EPSILONS = (0.5, 1.0, 2.0, 5.0)
LONGEST = 120.0  # seconds for one cell


def commonest_state(network: BayesianNetwork) -> str:
    """The state that most variables have; of several, the first."""
    return Counter(state for states in network.variables.values() for state in states).most_common(1)[0][0]


def _measure(path: Path, query: str, epsilon: float, mechanism: str, answer: Connection) -> None:
    """One cell, after a small network: what is compiled or imported at first use is not measured."""
    network = BayesianNetwork.from_bif(path)
    calibrate("count:s0", belief=network_of_width(2, count=4), epsilon=1.0, mechanism=mechanism)
    begun = time.perf_counter()
    try:
        scale = calibrate(query, belief=network, epsilon=epsilon, mechanism=mechanism).noise_scale
    except NotCoveredError as refusal:
        answer.send({"refused": str(refusal)})
    else:
        answer.send({"noise": scale, "seconds": time.perf_counter() - begun})


def cell(path: Path, query: str, epsilon: float, mechanism: str) -> dict[str, object]:
    """Noise and seconds; why it was refused; or that it took too long."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_measure, args=(path, query, epsilon, mechanism, there))
    process.start()
    found: dict[str, object] = here.recv() if here.poll(LONGEST + 5) else {"too_slow": LONGEST}
    process.kill()
    process.join()
    return found


def shown(found: dict[str, object]) -> str:
    """A cell of the table."""
    if "noise" in found:
        return f"{found['noise']:.4g} ({found['seconds']:.2g} s)"
    return "refuses" if "refused" in found else f"over {LONGEST:g} s"


def published_networks(folder: Path) -> None:
    """Print a table of all BIF files of a folder, row by row; numbers and refusals in full go to standard error."""
    for path in sorted(folder.glob("*.bif")):
        network = BayesianNetwork.from_bif(path)
        for query in (f"count:{commonest_state(network)}", "histogram"):
            for epsilon in EPSILONS:
                cells = {name: cell(path, query, epsilon, name) for name in MECHANISMS}
                row = " | ".join(shown(found) for found in cells.values())
                print(f"| {path.stem} ({len(network.variables)}) | `{query}` | {epsilon:g} | {row} |", flush=True)
                print(json.dumps([path.stem, query, epsilon, cells]), file=sys.stderr, flush=True)
