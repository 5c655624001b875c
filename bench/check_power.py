"""How often `belief check` refutes true beliefs, and how often it finds those that forget too fast; in one run.

python bench/check_power.py                     1,000 true series and 200 others for each line (an hour or two)
python bench/check_power.py --series 100        fewer
python bench/check_power.py --only cycle        only lines whose name has this word
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quiltwork import Belief, CycleChain, HiddenChain, MarkovChain, Series
from quiltwork.fitting.check import check_memory
from quiltwork.fitting.worlds import World, world_of

Floats = NDArray[np.float64]
FORGETS, SLOTS = 0.8, 24
"""What is left after a step; steps of a day."""
SIX = np.array([0.35, 0.25, 0.15, 0.1, 0.1, 0.05])


@dataclass(frozen=True)
class Case:
    """A belief, and for each subject the worlds that its series come from."""

    name: str
    belief: Belief
    truths: tuple[Belief, ...]
    length: int
    lag: int = 1
    """Where a false belief is off most."""
    off: float = 0.0
    """By how much."""


def forgetting(left: float, shares: Floats) -> MarkovChain:
    """All that is kept after h steps is left ** h, whatever the shares: ρ is the same for each of them."""
    return MarkovChain(left * np.eye(len(shares)) + (1 - left) * shares, initial="stationary", step=1)


def clock(left: float, shares: Floats, seed: int) -> CycleChain:
    """The same, with shares that change in the course of a day; ρ relative to those of each time is left ** h."""
    rng = np.random.default_rng(seed)
    times = np.arange(SLOTS) / SLOTS * 2 * np.pi
    waves = np.array([1 + 0.9 * np.cos(times + phase) for phase in rng.uniform(0, 2 * np.pi, len(shares))])
    laws = (shares[:, None] * waves).T
    laws /= laws.sum(axis=1, keepdims=True)
    kernels = [left * np.eye(len(shares)) + (1 - left) * law for law in laws]
    return CycleChain(kernels, initial="stationary", step=1)


def naps(slow: float = 0.97) -> HiddenChain:
    """Two phases behind each of two states."""
    return HiddenChain(
        [[0.6, 0.0, 0.3, 0.1], [0.0, slow, 0.02, 0.98 - slow], [0.3, 0.1, 0.6, 0.0], [0.01, 0.02, 0.0, 0.97]],
        shows=["a", "a", "b", "b"],
        initial="stationary",
        step=1,
    )


def regimes(stay: float) -> HiddenChain:
    """Independent values whose shares change with a slow regime: .5 ± .15."""
    laws, slow = np.array([[0.65, 0.35], [0.35, 0.65]]), np.array([[stay, 1 - stay], [1 - stay, stay]])
    rows = np.einsum("gh,hx->ghx", slow, laws).reshape(2, 4)
    return HiddenChain(np.repeat(rows, 2, axis=0), shows=["a", "b"] * 2, initial="stationary", step=1)


def linked(strength: float) -> MarkovChain:
    """Whoever is in the first state now is in the third next, rather than in the fourth: nothing on the diagonal."""
    table = 0.25 + strength * np.outer([1, -1, 0, 0], [0, 0, 1, -1])
    return MarkovChain(table, initial="stationary", step=1)


def true_cases() -> Iterator[Case]:
    """Beliefs whose memory is that of the data; in some, levels are not."""
    half, rng = np.array([0.5, 0.5]), np.random.default_rng(2)
    plain, six = forgetting(FORGETS, half), forgetting(FORGETS, SIX)
    for length in (500, 2_000, 10_000):
        yield Case(f"chain, 2 states, {length:,}", plain, (plain,), length)
    for share in (0.75, 0.9):
        for length in (2_000, 6_000):
            other = forgetting(FORGETS, np.array([share, 1 - share]))
            yield Case(f"same memory, shares {share:g} for .5, {length:,}", plain, (other,), length)
    yield Case("chain, 6 states, 2,000", six, (six,), 2_000)
    yield Case("same memory, 6 states, other shares, 2,000", six, (forgetting(FORGETS, SIX[::-1]),), 2_000)
    yield Case("phases 2 x 2, 2,000", naps(), (naps(),), 2_000)
    people = tuple(forgetting(FORGETS, np.array([share, 1 - share])) for share in rng.uniform(0.2, 0.8, 10))
    yield Case("10 people, own shares, 500 each", plain, people, 500)
    four = tuple(forgetting(FORGETS, rng.dirichlet(np.full(4, 4.0))) for _ in range(5))
    yield Case("5 people, 4 states, own shares, 2,000 each", forgetting(FORGETS, np.full(4, 0.25)), four, 2_000)
    day = clock(0.7, SIX[:3] / SIX[:3].sum(), 1)
    yield Case("cycle of 24, 3 states, 30 days", day, (day,), 30 * SLOTS)
    yield Case("cycle of 24, 3 states, 90 days", day, (day,), 90 * SLOTS)
    homes = tuple(clock(0.7, rng.dirichlet(np.full(3, 6.0)), seed) for seed in range(6))
    yield Case("cycle, 6 people, own shares and hours, 30 days each", day, homes, 30 * SLOTS)


def false_cases() -> Iterator[Case]:
    """Beliefs that forget too fast."""
    half, rng = np.array([0.5, 0.5]), np.random.default_rng(3)
    plain, off = forgetting(FORGETS, half), 0.85**4 - 0.8**4
    for length in (1_000, 2_000, 5_000):
        yield Case(f"chain .85, believed .8, {length:,}", plain, (forgetting(0.85, half),), length, 4, off)
    other = forgetting(0.85, np.array([0.75, 0.25]))
    yield Case("the same, shares .75 for .5, 5,000", plain, (other,), 5_000, 4, off)
    people = tuple(forgetting(0.85, np.array([share, 1 - share])) for share in rng.uniform(0.2, 0.8, 10))
    yield Case("10 people .85, believed .8, own shares, 500 each", plain, people, 500, 4, off)
    independent, slow, off = forgetting(0.0, half), regimes(0.995), 0.09 * 0.99**8
    for length in (2_000, 5_000):
        yield Case(f"slow regimes, believed none, {length:,}", independent, (slow,), length, 8, off)
    flat = forgetting(0.0, np.full(4, 0.25))
    for strength, length in ((0.24, 500), (0.075, 2_000), (0.075, 5_000)):
        name = f"off the diagonal, {strength * 4 / 3:.2g}, believed none, {length:,}"
        yield Case(name, flat, (linked(strength),), length, 1, strength * 4 / 3)
    three = SIX[:3] / SIX[:3].sum()
    for days in (30, 90):
        truth = clock(0.78, three, 1)
        yield Case(
            f"cycle .78, believed .7, {days} days", clock(0.7, three, 1), (truth,), days * SLOTS, 2, 0.78**2 - 0.7**2
        )


def world(belief: Belief) -> World:
    """What makes up its series."""
    return world_of(belief, np.ones(len(belief.states)))


def measured(case: Case, series: int) -> tuple[float, float, float, float]:
    """The part of series that refute the belief, in which levels differ, what would have shown, and seconds each."""
    rng = np.random.default_rng(7)
    times, ends = np.arange(case.length), np.full(case.length, case.length)
    drawn = [world(truth).paths(times, ends, series, rng) for truth in case.truths]
    refuted, differ, shown, begun = 0, 0, [], time.process_time()
    for n in range(series):
        check = check_memory(case.belief, Series.from_codes([paths[n] for paths in drawn], states=case.belief.states))
        refuted, differ = refuted + check.forgets_too_fast, differ + check.levels_differ
        shown += [one.would_show for one in check.together if one.first <= case.lag <= one.last][:1]
    return refuted / series, differ / series, float(np.median(shown)), (time.process_time() - begun) / series


def main() -> None:
    """Both tables."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--series", type=int, default=1_000)
    asked.add_argument("--only", default="")
    given = asked.parse_args()
    print(f"| true memory ({given.series:,} series each) | refuted | levels differ | s each |")
    print("| --- | ---: | ---: | ---: |")
    for case in true_cases():
        if given.only in case.name:
            refuted, differ, _, seconds = measured(case, given.series)
            print(f"| {case.name} | {100 * refuted:.1f} % | {100 * differ:.1f} % | {seconds:.2f} |", flush=True)
    few = max(20, given.series // 5)
    print(f"\n| forgets too fast ({few:,} series each) | off by | found | the data would show | s each |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for case in false_cases():
        if given.only in case.name:
            found, _, shown, seconds = measured(case, few)
            at = f"{case.off:.2f} after {case.lag}"
            print(f"| {case.name} | {at} | {100 * found:.0f} % | {shown:.2f} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
