"""What is computed from results alone tells no more (Statement 32, B Theorem 3)."""

import itertools
from typing import Any

import numpy as np
from effort import examples
from hypothesis import given, settings, strategies as st
from strategies import distributions

from quiltwork import JointTable
from quiltwork.auditor import audit_mechanism


@settings(max_examples=examples(14))
@given(st.data())
def test_processing_a_result_tells_no_more(data: st.DataObject) -> None:
    """Any mechanism with finitely many outputs, and any random function of its output."""
    states = "abc"[: data.draw(st.integers(2, 3))]
    outcomes = list(itertools.product(states, repeat=2))
    law = data.draw(distributions(len(outcomes)))
    table = JointTable({"x": states, "y": states}, [(o, p) for o, p in zip(outcomes, law, strict=True) if p > 0])
    count, after = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 4))
    mechanism: dict[Any, Any] = {outcome: data.draw(distributions(count)) for outcome in outcomes}
    process = np.array([data.draw(distributions(after)) for _ in range(count)])
    before = audit_mechanism(table, mechanism)
    processed = audit_mechanism(table, {outcome: row @ process for outcome, row in mechanism.items()})
    assert processed.epsilon <= before.epsilon * (1 + 1e-9) + 1e-9
    for one, other in zip(processed.by_node, before.by_node, strict=True):
        assert one <= other * (1 + 1e-9) + 1e-9


@settings(max_examples=examples(10))
@given(st.data())
def test_processing_tells_no_more_to_those_who_know_values(data: st.DataObject) -> None:
    """B Theorem 3 as it is stated: for every adversary, who knows y."""
    outcomes = list(itertools.product("ab", repeat=2))
    law = data.draw(distributions(4, zeros=False))
    mechanism: dict[Any, Any] = {outcome: data.draw(distributions(3)) for outcome in outcomes}
    process = np.array([data.draw(distributions(2)) for _ in range(3)])
    for known in "ab":
        some = [(x,) for x, y in outcomes if y == known]
        chances = np.array([p for (_, y), p in zip(outcomes, law, strict=True) if y == known])
        table = JointTable({"x": "ab"}, list(zip(some, chances / chances.sum(), strict=True)))
        plain: dict[Any, Any] = {(x,): mechanism[x, known] for (x,) in some}
        before = audit_mechanism(table, plain).epsilon
        after = audit_mechanism(table, {key: row @ process for key, row in plain.items()}).epsilon
        assert after <= before * (1 + 1e-9) + 1e-9
