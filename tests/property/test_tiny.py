"""Numbers at the ends of what a float holds: composition gives a number that is large enough, or says why not."""

import subprocess
import sys

import pytest
from effort import examples
from examples import LAZY
from hypothesis import given, settings, strategies as st
from patience import PATIENCE

from quiltwork import (
    Accountant,
    ChainSet,
    Count,
    MarkovChain,
    QuiltworkError,
    ReleaseRecord,
    entry_epsilon,
    entry_guarantee,
)

SIZES = [5e-324, 1e-320, 1e-300, 1e-200, 1e-100, 1e-17, 0.5, 1.0, 1e17, 1e100, 1e200, 1e300, 1.7e308]
BELIEFS = {
    "one state": MarkovChain([[1.0]]),
    "coin": MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[0.5, 0.5]),
    "stuck": MarkovChain([[1.0, 0.0], [0.0, 1.0]]),
    "swaps": MarkovChain([[0.0, 1.0], [1.0, 0.0]], initial="stationary"),
    "absorbing": MarkovChain([[1.0, 0.0], [0.5, 0.5]], initial=[0.0, 1.0]),
    "denormal": MarkovChain([[1.0, 5e-324], [0.5, 0.5]], initial=[0.5, 0.5]),
    "lazy": LAZY,
    "set": ChainSet([LAZY, MarkovChain([[0.5, 0.5], [0.5, 0.5]])]),
}
size = st.sampled_from(SIZES)
records = st.builds(
    ReleaseRecord,
    noise_scale=size,
    lipschitz=st.none() | size,
    query=st.sampled_from([None, "histogram", "frequencies", "count:0"]),
    noise=st.sampled_from(["laplace", "laplace", "gaussian"]),
    gaps=st.sampled_from([None, None, "dependent", "late"]),
)


@settings(max_examples=examples(25))
@given(
    belief=st.sampled_from(sorted(BELIEFS)),
    made=st.lists(records, min_size=1, max_size=3),
    length=st.sampled_from([None, 1, 2, 1000, 10**6]),
    delta=st.sampled_from([0.0, 0.0, 1e-200, 1e-6]),
)
def test_composition_at_the_ends(belief: str, made: list[ReleaseRecord], length: int | None, delta: float) -> None:
    try:
        found = Accountant(BELIEFS[belief], length=length, releases=made, delta=delta).composed().epsilon
    except QuiltworkError:
        return
    secret = belief not in ("one state", "absorbing")
    alone = [one for one in made if one.noise == "laplace" and one.query == Count("0")]
    scaled = [(one.lipschitz or 1.0) / one.noise_scale for one in alone if one.noise_scale is not None]
    least = max((min(1e100, loss) for loss in scaled), default=0.0)
    assert found >= least * secret * (delta == 0)


@settings(max_examples=examples(25))
@given(belief=st.sampled_from(sorted(BELIEFS)), level=size, length=st.sampled_from([None, 1, 2, 1000]))
def test_entry_levels_at_the_ends(belief: str, level: float, length: int | None) -> None:
    for compute in (entry_guarantee, entry_epsilon):
        try:
            found = compute(BELIEFS[belief], level, length=length)
        except QuiltworkError:
            continue
        assert found.epsilon_dp is not None
        assert found.epsilon_dp > 0
        assert found.explain()


@pytest.mark.parametrize("scale", [1e300, 1.7e308])
@pytest.mark.parametrize("constant", [5e-324, 1e-300, None])
def test_no_spend_is_too_small_to_count(scale: float, constant: float | None) -> None:
    """Its quotient may be less than the smallest float, and its square less still."""
    for noise in ("laplace", "gaussian"):
        made = ReleaseRecord(noise_scale=scale, lipschitz=constant, query=None if constant else "count:0", noise=noise)
        told = made.squares(LAZY)
        assert told is not None
        assert told[0][0, 1] > 0


def test_a_tiny_profile_is_followed_to_an_end() -> None:
    """Compiled code cannot be interrupted: in a process of its own."""
    script = """
from quiltwork import MarkovChain
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time
import numpy as np
chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
for level in (1e-155, 1e-200, 1e-300):
    assert loss_along_time(chain, Profile.constant(level * (1 - np.eye(2)), length=1000)).epsilon >= level
print("done")
"""
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout == "done\n"
