"""All benchmarks, both sides in one run; prints the ratios and writes bench/results.json.

python bench/run.py             everything
python bench/run.py quilts      only those whose name contains the word
"""

import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chains import band_chain
from plain import plain_quilt_score

from quiltwork import Count, MarkovChain, Noisy, Sum, audit, calibrate, save_belief
from quiltwork.audit import smallest_scale
from quiltwork.mechanisms.quilt import exact_quilt

RESULTS = Path(__file__).parent / "results.json"
Row = dict[str, Any]


def seconds(work: Callable[[], object], repeat: int = 1) -> float:
    """The median time of one call."""
    times = []
    for _ in range(repeat):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def quilts_against_plain() -> Row:
    """k = 51, band-structured and sticky, any start, ε = 1: our search against all pairs, quilts and nodes."""
    P = band_chain()
    chain = MarkovChain(P)
    found = exact_quilt(chain, 1.0, 10**9)  # also compiles
    window = int(found.score) + 1  # no quilt with a larger distance can be better
    length = 4 * window  # the plain method's time grows with it, ours does not
    ours = seconds(lambda: exact_quilt(chain, 1.0, length), 21)
    begun = time.perf_counter()
    plain = plain_quilt_score(P, 1.0, length, window)
    theirs = time.perf_counter() - begun
    assert abs(plain - exact_quilt(chain, 1.0, length).score) < 1e-9 * plain
    return {
        "noise": found.score,
        "length": length,
        "plain_seconds": theirs,
        "our_milliseconds": ours * 1e3,
        "times_faster": theirs / ours,
        "target": "at least 200 times, below 50 ms",
    }


def length_does_not_matter() -> Row:
    """The same chain at length 10^4 and 10^9, calls interleaved."""
    chain = MarkovChain(band_chain())
    exact_quilt(chain, 1.0, 10**4)
    short, long = [], []
    for _ in range(41):
        short.append(seconds(lambda: exact_quilt(chain, 1.0, 10**4)))
        long.append(seconds(lambda: exact_quilt(chain, 1.0, 10**9)))
    ratio = statistics.median(long) / statistics.median(short)
    return {
        "milliseconds_at_1e4": statistics.median(short) * 1e3,
        "milliseconds_at_1e9": statistics.median(long) * 1e3,
        "ratio": ratio,
        "target": "within 10 %",
    }


def command_start() -> Row:
    """From the shell, second and later calls."""
    command = [str(Path(sys.executable).parent / "quiltwork")]
    with tempfile.TemporaryDirectory() as folder:
        belief = Path(folder) / "belief.json"
        save_belief(MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary"), belief)
        plan = [*command, "plan", str(belief), "--query", "count:1", "--length", "1000", "--epsilon", "1"]

        def call(arguments: list[str]) -> None:
            subprocess.run(arguments, check=True, capture_output=True)  # noqa: S603 - our own command

        call(plan)
        return {
            "version_seconds": seconds(lambda: call([*command, "--version"]), 9),
            "plan_seconds": seconds(lambda: call(plan), 9),
            "bare_python_seconds": seconds(lambda: call([sys.executable, "-c", "import numpy"]), 9),
            "target": "version below 0.5 s, plan below 1.5 s",
        }


def exact_audit() -> Row:
    """All nodes, after warm-up: 1,000 values of two states, and 200 values of five states (sum of 0..4)."""
    two = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    five = MarkovChain(band_chain(5), initial="stationary")
    audit(two, [Noisy(Count("1"), 3.0)], length=5)
    return {
        "two_states_1000_seconds": seconds(lambda: audit(two, [Noisy(Count("1"), 3.0)], length=1000)),
        "five_states_200_seconds": seconds(lambda: audit(five, [Noisy(Sum(), 9.0)], length=200)),
        "smallest_scale_1000_seconds": seconds(
            lambda: smallest_scale(Count("1"), belief=two, epsilon=1.0, length=1000)
        ),
        "target": "each audit below 10 s",
    }


def curve_against_quilts() -> Row:
    """k = 51, band-structured and sticky, stationary, ε = 1: noise of the influence curve and of exact quilts."""
    chain = MarkovChain(band_chain(), initial="stationary")
    calibrate("count:1", belief=MarkovChain(band_chain(5), initial="stationary"), epsilon=1.0, mechanism="curve")
    row: Row = {}
    for query in ("count:25", "histogram"):
        name = query.partition(":")[0]
        row[f"{name}_seconds"] = seconds(lambda q=query: calibrate(q, belief=chain, epsilon=1.0, mechanism="curve"))  # type: ignore[misc]
        curve, quilts = (
            calibrate(query, belief=chain, epsilon=1.0, mechanism=m).noise_scale for m in ("curve", "quilt-exact")
        )
        row |= {f"{name}_curve": curve, f"{name}_quilts": quilts, f"{name}_ratio": curve / quilts}
    return row | {"target": "count at most 0.1, histogram at most 0.27 of the quilts' noise"}


BENCHMARKS = (quilts_against_plain, length_does_not_matter, command_start, exact_audit, curve_against_quilts)


def main() -> None:
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["machine"] = f"{platform.machine()}, Python {platform.python_version()}"
    for benchmark in BENCHMARKS:
        if word in benchmark.__name__:
            row = benchmark()
            results[benchmark.__name__] = row
            print(benchmark.__name__, f"({(benchmark.__doc__ or '').strip()})")
            for key, value in row.items():
                print(f"  {key:22} {value if isinstance(value, str) else f'{value:.4g}'}")
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
