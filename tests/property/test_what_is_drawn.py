"""The noise that a release really draws keeps its promise: by enumeration that shares no code with the library."""

import itertools
import math
from fractions import Fraction
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pytest
from drawn import KINDS, SLACK, Case, accepted, in_words, told
from effort import examples
from enumerated import Drawn, Place, Released, World, distribution, excess, loss, secret_pairs

ONE = Fraction(1)

FLU: dict[str, Any] = {
    "kind": "network",
    "variables": [{"name": "flu", "states": ["no", "yes"]}, {"name": "fever", "states": ["no", "yes"]}],
    "parents": {"fever": ["flu"]},
    "tables": {"flu": [0.9, 0.1], "fever": [[0.9, 0.1], [0.2, 0.8]]},
}
CHAIN: dict[str, Any] = {
    "kind": "chain",
    "states": ["0", "1"],
    "transition": [[0.9, 0.1], [0.4, 0.6]],
    "initial": "stationary",
}
EXAMPLES = [
    Case(FLU, ("histogram",), 1),
    Case(FLU, ("frequencies",), 1),
    Case(FLU, ("top:1",), 1, mechanism="curve"),
    Case(FLU, ("histogram", "count:yes"), 1),
    Case(CHAIN, ("histogram",), 4),
    Case(CHAIN, ("transitions",), 4, segment=(2, 4)),
    Case(CHAIN, ("stays",), 4, guarantee="bayesian"),
    Case(CHAIN, ("count:1",), 4, mechanism="curve", noise="gaussian", delta=0.05),
]


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: f"{case.kind}-{'+'.join(case.questions)}")
def test_examples_keep_their_promise(case: Case) -> None:
    claimed, exact = told(case)
    assert exact <= claimed * (1 + SLACK), in_words(case, claimed, exact)


@pytest.mark.parametrize("kind", dict.fromkeys(KINDS))
def test_what_is_drawn_keeps_the_promise(kind: str) -> None:
    broken, tried = [], 0
    for seed in range(examples(30 if kind == "network" else 9)):
        for case, (claimed, exact) in accepted(seed, kind):
            tried += 1
            assert math.isfinite(claimed)
            if exact > claimed * (1 + SLACK):
                broken.append(in_words(case, claimed, exact))
    assert tried
    assert not broken, "\n".join([f"{len(broken)} of {tried}", *broken])


def test_a_single_count_of_one_value_tells_all_that_is_promised() -> None:
    """The enumeration is not blind: what is known to be exact comes out as it is."""
    claimed, exact = told(Case(CHAIN, ("count:1",), 1, mechanism="group"))
    assert exact == pytest.approx(claimed, rel=1e-9)


TWO = World(
    (Place("x", 1, ("0", "1")), Place("y", 1, ("0", "1"))),
    np.array([[0, 0], [0, 1], [1, 0], [1, 1]]),
    np.array([[0.5 * 0.99, 0.5 * 0.01, 0.5 * 0.1, 0.5 * 0.9]]),
)


def test_the_enumeration_knows_theorem_3_4() -> None:
    """Of Wang, Song and Chaudhuri, by the example that refutes that releases add up."""
    count = Released(TWO.outcomes.sum(axis=1, keepdims=True).astype(float), (Drawn((ONE,), 1.0, ONE, "laplace"),))
    assert loss(TWO, count, secret_pairs("variables:x"), Random(0)) == pytest.approx(1.9176648, abs=1e-7)


@pytest.mark.parametrize("scale", [0.5, 1.3, 4.0])
def test_two_counts_with_a_kept_total_are_one_count(scale: float) -> None:
    """Noise z, -z of weight exp(-2 |z| / b) is that of one count with half the scale."""
    ones = TWO.outcomes.sum(axis=1)
    both = Released(np.column_stack([2.0 - ones, ones]), (Drawn((ONE, ONE), scale, ONE, "laplace-total", ((0, 1),)),))
    count = Released(ones[:, None].astype(float), (Drawn((ONE,), scale / 2, ONE, "laplace"),))
    losses = [loss(TWO, one, secret_pairs(None), Random(0)) for one in (both, count)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)
    excesses = [excess(TWO, one, secret_pairs(None), losses[0] / 2) for one in (both, count)]
    assert excesses[0] == pytest.approx(excesses[1], rel=5e-3)


def test_a_total_is_kept_at_outputs_beyond_all_answers_too() -> None:
    """All outputs with several units to spare on every side: none tells more than those that are looked at."""
    rng = Random(3)
    for _ in range(examples(20)):
        states = ("0", "1", "2")
        outcomes = np.array(list(itertools.product(range(3), repeat=2)))
        law = np.array([distribution(9, rng, zeros=True)])
        within = World((Place("", 1, states), Place("", 2, states)), outcomes, law)
        counts = np.array([[list(row).count(state) for state in range(3)] for row in outcomes], dtype=float)
        drawn = Drawn((ONE,) * 3, rng.choice([0.4, 1.0, 3.0]), ONE, "laplace-total", ((0, 1, 2),))
        wide = np.array([(a, b, 2 - a - b) for a in range(-5, 8) for b in range(-5, 8)], dtype=float)
        looked_at, pairs = Released(counts, (drawn,)), secret_pairs(None)
        found = loss(within, looked_at, pairs, rng)
        with mock.patch.object(Released, "outputs", return_value=wide):
            assert found == pytest.approx(loss(within, looked_at, pairs, rng), rel=1e-12)
