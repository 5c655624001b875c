"""Counts and histograms by diffprivlib, for bench/instead.py: run by an interpreter that has it.

Reads a JSON object from standard input (``kind``, ``values``, ``states``, ``epsilon``, ``draws``) and prints one with
the shortest processor time of a call and the size of the noise of each draw.
"""

import json
import sys
import time
from typing import Any

import numpy as np
from diffprivlib import tools


def main() -> None:
    asked = json.load(sys.stdin)
    values, states, epsilon = np.array(asked["values"]), asked["states"], asked["epsilon"]
    true = np.bincount(values, minlength=states)

    def answer() -> Any:
        if asked["kind"] == "count":
            return tools.count_nonzero(values, epsilon=epsilon)
        return tools.histogram(values, epsilon=epsilon, bins=states, range=(-0.5, states - 0.5))[0]

    errors, shortest = [], float("inf")
    for _ in range(asked["draws"]):
        begun = time.process_time()
        noisy = answer()
        shortest = min(shortest, time.process_time() - begun)
        exact = true if asked["kind"] == "histogram" else true[1:].sum()
        errors += np.abs(np.ravel(noisy) - exact).tolist()
    json.dump({"seconds": shortest, "errors": errors}, sys.stdout)


if __name__ == "__main__":
    main()
