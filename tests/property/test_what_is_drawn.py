"""The noise that a release really draws keeps its promise: by enumeration that shares no code with the library."""

import math
from typing import Any

import pytest
from drawn import KINDS, SLACK, Case, accepted, in_words, told
from effort import examples

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
    for seed in range(examples(10)):
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
