"""The exact audit of sets of networks."""

import pytest

from quiltwork import BayesianNetwork, Count, InputError, NetworkSet, Noisy, audit


def test_what_one_member_of_a_set_rules_out_others_may_know() -> None:
    sure, unsure = (
        BayesianNetwork(
            {"x": "01", "y": "01"}, parents={"y": "x"}, tables={"x": [0.5, 0.5], "y": [[p, 1 - p], [0.4, 0.6]]}
        )
        for p in (1.0, 0.8)
    )
    never = BayesianNetwork({"x": "01", "y": "01"}, parents={"y": "x"}, tables={"x": [0.5, 0.5], "y": [[1, 0], [1, 0]]})
    noisy, known = [Noisy(Count("1"), 1.0)], {"y": "1"}
    both = audit(NetworkSet([unsure, never]), noisy, know=known)
    assert both.epsilon == audit(unsure, noisy, know=known).epsilon
    with pytest.raises(InputError, match="possible under the belief"):
        audit(NetworkSet([never, never]), noisy, know=known)
    assert audit(NetworkSet([sure, unsure]), noisy, know=known).epsilon > 0
