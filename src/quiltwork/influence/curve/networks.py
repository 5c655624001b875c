"""The influence curve on networks: along the edges of a tree, or along the cliques of any other network."""

from collections.abc import Sequence

from quiltwork.beliefs import BayesianNetwork, Belief, SecretPairs
from quiltwork.influence.curve.cliques import CliqueCurve
from quiltwork.influence.curve.tree import TreeCurve
from quiltwork.types import Floats, Guarantee


def network_curve(network: BayesianNetwork, *, guarantee: Guarantee = "pufferfish") -> TreeCurve | CliqueCurve:
    """A network prepared for many profiles. Against adversaries who know other values only a tree can be.

    >>> collider = BayesianNetwork(
    ...     {"x": "01", "y": "01", "z": "01"}, parents={"z": ["x", "y"]},
    ...     tables={"x": [0.5, 0.5], "y": [0.5, 0.5], "z": [[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.1, 0.9]]]},
    ... )
    >>> type(network_curve(collider)).__name__
    'CliqueCurve'
    """
    if network.graph.forest or guarantee == "bayesian":
        return TreeCurve(network, guarantee=guarantee)  # Statement 15: the cliques of a tree are its edges
    return CliqueCurve(network)


def network_epsilon(
    belief: Belief,
    profile: Sequence[Floats],
    *,
    guarantee: Guarantee = "pufferfish",
    secret: SecretPairs | None = None,
) -> float:
    """ε of everything released under a profile, for every network of the belief; about what is secret."""
    return max(network_curve(network, guarantee=guarantee).at(profile, secret).epsilon for network in belief.networks)
