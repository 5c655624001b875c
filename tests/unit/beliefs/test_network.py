"""Networks and sets of them."""

import pytest

from quiltwork import BayesianNetwork, InputError, MarkovChain, NetworkSet, QuiltworkError


def test_a_cycle_is_named() -> None:
    row = [[0.5, 0.5], [0.5, 0.5]]
    with pytest.raises(InputError, match=r"must not have a cycle, got . → . → . → .:"):
        BayesianNetwork(
            {"a": "01", "b": "01", "c": "01"},
            parents={"a": ["c"], "b": ["a"], "c": ["b"]},
            tables={"a": row, "b": row, "c": row},
        )


def test_sets_of_networks_share_one_graph() -> None:
    coin = BayesianNetwork({"x": "01"}, tables={"x": [0.5, 0.5]})
    with pytest.raises(InputError, match="variables, states and parents of member 1"):
        NetworkSet([coin, BayesianNetwork({"y": "01"}, tables={"y": [0.5, 0.5]})])
    with pytest.raises(InputError, match="networks as members"):
        NetworkSet([coin, MarkovChain([[1.0]])])  # type: ignore[list-item]
    with pytest.raises(InputError, match="none"):
        NetworkSet([])
    with pytest.raises(InputError, match="single belief"):
        NetworkSet(coin)  # type: ignore[arg-type]


def test_every_error_is_ours() -> None:
    with pytest.raises(QuiltworkError, match="first value"):
        BayesianNetwork.from_chain(MarkovChain([[1.0]]), 3)
