"""From the shell to the answer: whole commands against Python that imports numpy, in one run and in turns.

python bench/starting.py

Second and later calls: what is compiled once is compiled. The smallest of all rounds counts, since whatever else the
machine does only adds.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from quiltwork import MarkovChain, save_belief
from quiltwork.samples import diary_belief, diary_path

ROUNDS = 9
GOALS = {"version": 2.0, "help": 2.0, "import": 1.5, "plan": 7.0, "release": 12.0, "report": 25.0}
RUN = "from quiltwork.cli import main; main()"
DIARY = ("--column", "activity", "--subject", "person", "--time", "time", "--belief", "diary.json")


def command_start() -> dict[str, Any]:
    """Two states, and the sample diary, whose six states need compiled code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["a", "b"], initial="stationary", step=1)
        save_belief(chain, folder / "two.json")
        save_belief(diary_belief(), folder / "diary.json")
        drawn = np.random.default_rng(1).integers(0, 2, 3000)
        (folder / "two.csv").write_text("\n".join(["value", *("ab"[one] for one in drawn)]))

        def call(*words: str) -> None:
            subprocess.run([sys.executable, *words], cwd=folder, check=True, capture_output=True)  # noqa: S603 - ours

        for belief in ("two", "diary"):
            call(
                "-c", RUN, "ledger", "create", f"sqlite:///{belief}.db", "--belief", f"{belief}.json", "--budget", "999"
            )
        asked = ("--query", "histogram", "--epsilon", "1")
        small = (
            "release",
            "two.csv",
            "--column",
            "value",
            "--belief",
            "two.json",
            *asked,
            "--ledger",
            "sqlite:///two.db",
        )
        large = ("release", str(diary_path()), *DIARY, *asked, "--ledger", "sqlite:///diary.db")
        cases = {
            "numpy": ("-c", "import numpy"),
            "version": ("-c", RUN, "--version"),
            "help": ("-c", RUN, "--help"),
            "import": ("-c", "import quiltwork"),
            "plan": ("-c", RUN, "plan", "two.json", *asked, "--length", "1000"),
            "release": ("-c", RUN, *small),
            "report": ("-c", RUN, *small, "--out", "two.html"),
            "diary_plan": ("-c", RUN, "plan", "diary.json", *asked, "--length", "2688"),
            "diary_release": ("-c", RUN, *large),
            "diary_report": ("-c", RUN, *large, "--out", "diary.html"),
        }
        for words in cases.values():
            call(*words)
        took: dict[str, float] = {}
        for _ in range(ROUNDS):
            for case, words in cases.items():
                begun = time.perf_counter()
                call(*words)
                took[case] = min(took.get(case, np.inf), time.perf_counter() - begun)
    row: dict[str, Any] = {f"{case}_seconds": seconds for case, seconds in took.items()}
    row |= {f"{case}_ratio": took[case] / took["numpy"] for case in took if case != "numpy"}
    return row | {"target": ", ".join(f"{case} at most {goal:g} times numpy" for case, goal in GOALS.items())}


if __name__ == "__main__":
    print(json.dumps(command_start(), indent=1))
