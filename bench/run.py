"""All benchmarks, both sides in one run; prints the ratios and writes bench/results.json.

python bench/run.py             everything
python bench/run.py quilts      only those whose name contains the word
python bench/run.py networks FOLDER     the table of published networks, from a folder with BIF files
"""

import json
import math
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from chains import band_chain
from fleet import memory_of_many_rows, private_histogram, private_histogram_on_spark
from instead import instead_noise_and_true_loss, instead_step_by_step
from ledgers import (
    check_after_many,
    cut_connections,
    durable_releases,
    journals,
    killed_processes,
    many_processes,
    writers,
)
from many import many_releases
from measured import exact_sums, levels_against_gaussian, shifts_of_long_weights
from networks import network_of_width, random_network
from plain import plain_network_score, plain_quilt_score
from published import published_networks
from releasing import release_with_a_ledger
from scales import (
    any_start_at_every_scale,
    curve_against_memory_length,
    curve_against_states,
    curve_at_every_scale,
    curve_on_slow_chains,
    memory_of_a_thousand_states,
)
from scaling import (
    scaling_on_spark,
    scaling_with_length,
    scaling_with_people,
    scaling_with_releases,
    scaling_with_rows,
    scaling_with_states,
)
from starting import command_start

from quiltwork import Count, MarkovChain, Noisy, Sum, audit, calibrate, plan
from quiltwork.auditor import smallest_scale
from quiltwork.calibration.mechanisms.quilt import exact_quilt
from quiltwork.influence.curve import sides
from quiltwork.influence.curve.constant import InfluenceCurve
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import follow
from quiltwork.influence.quilts.cover import QuiltSearch
from quiltwork.question import bind

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
        row[f"{name}_seconds"] = seconds(lambda q=query: calibrate(q, belief=chain, epsilon=1.0, mechanism="curve"), 3)  # type: ignore[misc]
        curve, quilts = (calibrate(query, belief=chain, epsilon=1.0, mechanism=m) for m in ("curve", "quilt-exact"))
        row |= {f"{name}_curve": curve.noise_scale, f"{name}_quilts": quilts.noise_scale}
        row |= {f"{name}_ratio": curve.noise_scale / quilts.noise_scale}
        if curve.certificate is not None:
            row[f"{name}_verify_seconds"] = seconds(lambda c=curve.certificate: c.verify(chain))  # type: ignore[misc]
    with scalar_steps_only():
        row["scalar_seconds"] = seconds(lambda: calibrate("count:25", belief=chain, epsilon=1.0, mechanism="curve"), 3)
        row["scalar_curve"] = calibrate("count:25", belief=chain, epsilon=1.0, mechanism="curve").noise_scale
    return row | {"target": "count at most 0.1, histogram at most 0.27; below 5 s, scalar below 1 s"}


@contextmanager
def scalar_steps_only() -> Iterator[None]:
    """Without the pairwise step."""
    kept = sides.KernelSide.refined, sides.SCALAR_UP_TO
    sides.KernelSide.refined, sides.SCALAR_UP_TO = sides.Side.refined, 300  # type: ignore[method-assign]
    try:
        yield
    finally:
        sides.KernelSide.refined, sides.SCALAR_UP_TO = kept  # type: ignore[method-assign]


def curve_on_random_chains() -> Row:
    """200 random chains of 2 to 10 states, a third of them sticky, ε = 1; and two states against the audit."""
    rng = np.random.default_rng(11)
    row: Row = {}
    beliefs = []
    for n in range(200):
        k = int(rng.integers(2, 11))
        P, stay = rng.dirichlet(np.ones(k), size=k), rng.uniform(0.5, 0.99) if n % 3 == 0 else 0.0
        beliefs.append(MarkovChain(stay * np.eye(k) + (1 - stay) * P, initial="stationary"))
    for query in ("count:0", "histogram"):
        ratios = [
            calibrate(query, belief=b, epsilon=1.0, mechanism="curve").noise_scale
            / calibrate(query, belief=b, epsilon=1.0, mechanism="quilt-exact").noise_scale
            for b in beliefs
        ]
        name = query.partition(":")[0]
        row |= {f"{name}_median_ratio": statistics.median(ratios), f"{name}_largest_ratio": max(ratios)}
    against_audit = []
    for _ in range(20):
        p, q = sorted(rng.uniform(0.01, 0.99, size=2))  # P[0,1] = p and P[1,1] = q ≥ p
        chain = MarkovChain([[1 - p, p], [1 - q, q]], initial="stationary")
        curve, audited = (
            calibrate("count:1", belief=chain, epsilon=1.0, length=300, mechanism=m).noise_scale
            for m in ("curve", "audited")
        )
        against_audit.append(curve / audited)
    row["two_states_largest_ratio_to_audited"] = max(against_audit)
    return row | {"target": "median at most 0.40 of quilts; two states within 1 % of audited"}


def profile_of_segments() -> Row:
    """1,000 segments with their own noise over 10^7 values: two states, and the 51 of the band chain; after warm-up."""
    rng = np.random.default_rng(5)
    cuts = np.sort(rng.choice(10**7, size=2000, replace=False)) + 1
    row: Row = {}
    for name, P in (("two_states", np.array([[0.9, 0.1], [0.4, 0.6]])), ("band_chain", band_chain())):
        apart = ~np.eye(len(P), dtype=bool)
        parts = [
            (apart * rng.uniform(0.01, 0.1), (int(first), int(last)))
            for first, last in zip(cuts[::2], cuts[1::2], strict=True)
        ]
        profile = Profile.of(parts, length=10**7)
        curve = InfluenceCurve(MarkovChain(P, initial="stationary"))
        row[f"{name}_first_seconds"] = seconds(lambda c=curve, p=profile: follow(c, p))  # type: ignore[misc]
        row[f"{name}_seconds"] = seconds(lambda c=curve, p=profile: follow(c, p), 5)  # type: ignore[misc]
        row[f"{name}_epsilon"] = follow(curve, profile).epsilon
    return row | {"target": "below 1 s"}


def ten_releases() -> Row:
    """Ten counts within ε = 1 on [[.9,.1],[.4,.6]]: the noise of each, by the curve and by adding quilts (C 3.7)."""
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    offers = {o.mechanism: o for o in plan("count:1", belief=chain, epsilon=1.0, length=1000, releases=10).offers}
    curve, quilts = (offers[name].noise_scale or 0.0 for name in ("curve", "quilt-exact"))
    return {
        "curve": curve,
        "quilts_by_theorem_3_7": quilts,
        "ratio": quilts / curve,
        "target": "curve within 1 % of 33.36",
    }


def quilts_on_networks() -> Row:
    """Quilts on random networks of 37 and 56 variables, ε = 1; against looking at every quilt of up to 2 variables."""
    row: Row = {}
    for count in (37, 56):
        work = partial(plan, "count:s0", belief=random_network(count, seed=count), epsilon=1.0)
        row[f"{count}_variables_seconds"] = seconds(work)
    network = random_network(37, seed=37)
    weights = bind("count:s0", network).lipschitz_by_part

    def score(weight: float, influence: float) -> float:
        return weight / (1.0 - influence) if influence < 1.0 else math.inf

    begun = time.perf_counter()
    ours = QuiltSearch(network, size=2).worst(weights, score).score
    row["searched_seconds"] = time.perf_counter() - begun
    begun = time.perf_counter()
    plain = plain_network_score(network, np.array(weights), score)
    row["every_quilt_seconds"] = time.perf_counter() - begun
    assert abs(ours - plain) <= 1e-9 * plain
    row["ratio"] = row["every_quilt_seconds"] / row["searched_seconds"]
    row["target"] = "each network below 30 s"
    return row


def curve_on_networks() -> Row:
    """Count, ε = 1: curve, quilts and the least possible on random networks of 20 variables and widths 1 to 6."""
    calibrate("count:s0", belief=network_of_width(2, count=4), epsilon=1.0)
    row: Row = {}
    for width in range(1, 7):
        network = network_of_width(width)
        for name in ("curve", "quilt-exact", "audited", "group"):
            begun = time.perf_counter()
            row[f"width_{width}_{name}"] = calibrate(
                "count:s0", belief=network, epsilon=1.0, mechanism=name
            ).noise_scale
            row[f"width_{width}_{name}_seconds"] = time.perf_counter() - begun
        row[f"width_{width}_ratio"] = row[f"width_{width}_curve"] / row[f"width_{width}_quilt-exact"]
    return row | {"target": "curve never above group; near the least possible"}


BENCHMARKS = (
    quilts_against_plain,
    length_does_not_matter,
    command_start,
    release_with_a_ledger,
    exact_audit,
    curve_against_quilts,
    curve_on_random_chains,
    any_start_at_every_scale,
    curve_at_every_scale,
    curve_on_slow_chains,
    curve_against_states,
    curve_against_memory_length,
    memory_of_a_thousand_states,
    profile_of_segments,
    ten_releases,
    many_releases,
    quilts_on_networks,
    curve_on_networks,
    many_processes,
    killed_processes,
    cut_connections,
    durable_releases,
    journals,
    writers,
    check_after_many,
    private_histogram,
    private_histogram_on_spark,
    memory_of_many_rows,
    shifts_of_long_weights,
    exact_sums,
    levels_against_gaussian,
    instead_noise_and_true_loss,
    instead_step_by_step,
    scaling_with_rows,
    scaling_with_people,
    scaling_with_states,
    scaling_with_length,
    scaling_with_releases,
    scaling_on_spark,
)


def main() -> None:
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    if word == "networks" and len(sys.argv) > 2:
        published_networks(Path(sys.argv[2]))
        return
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["machine"] = f"{platform.machine()}, Python {platform.python_version()}"
    for benchmark in BENCHMARKS:
        if word in benchmark.__name__:
            row = benchmark()
            results[benchmark.__name__] = row
            print(benchmark.__name__, f"({(benchmark.__doc__ or '').strip()})")
            for key, value in row.items():
                print(f"  {key:36} {value if isinstance(value, str) else f'{value:.4g}'}", flush=True)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
