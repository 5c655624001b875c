"""What people ask of a belief, as plain values."""

from typing import Any

from quiltwork.beliefs.base import Belief
from quiltwork.beliefs.chain import ChainSet, MarkovChain
from quiltwork.beliefs.interval import IntervalChain
from quiltwork.beliefs.joint import JointTable
from quiltwork.beliefs.mixing import MixingClass
from quiltwork.beliefs.network import BayesianNetwork, NetworkSet


def summarise(belief: Belief) -> dict[str, Any]:
    """Kind, states, and how the chain behaves.

    >>> summarise(MarkovChain([[0.9, 0.1], [0.4, 0.6]]))["expected_stay"]
    [{'state': '0', 'stationary': 0.8, 'stays': 10.0}, {'state': '1', 'stationary': 0.2, 'stays': 2.5}]
    """
    summary: dict[str, Any] = {"kind": belief.to_dict()["kind"], "states": list(belief.states)}
    if isinstance(belief, MarkovChain):
        summary |= _chain(belief)
    elif isinstance(belief, ChainSet):
        summary["members"] = [{"member": n, **_numbers(_chain(m))} for n, m in enumerate(belief.members, 1)]
    elif isinstance(belief, MixingClass):
        summary |= {
            "pi_min": belief.pi_min,
            "gap": belief.gap,
            "reversible": belief.reversible,
            "initial": "any",
        }
    elif isinstance(belief, IntervalChain):
        width = belief.upper - belief.lower
        summary |= {"initial": "any", "widest": float(width.max()), "narrowest": float(width.min())}
    elif isinstance(belief, JointTable):
        summary |= {"variables": len(belief.variables), "outcomes": len(belief.outcomes)}
    elif isinstance(belief, BayesianNetwork | NetworkSet):
        summary |= _network(belief if isinstance(belief, BayesianNetwork) else belief.members[0])
        summary |= {"members": len(belief.members)}
    return summary | {"fingerprint": belief.fingerprint}


def _chain(chain: MarkovChain) -> dict[str, Any]:
    unique = len(chain._closed) == 1
    laws = [float(p) for p in chain.stationary.round(12)] if unique else [None] * len(chain.states)
    stays = [None if p >= 1 else round(1 / (1 - p), 6) for p in chain.transition.diagonal().tolist()]
    return {
        "initial": chain.start,
        "irreducible": chain.irreducible,
        "aperiodic": chain.aperiodic,
        "reversible": chain.reversible,
        "gap": chain.gap if chain.irreducible else None,
        "pi_min": chain.pi_min if unique else None,
        "expected_stay": [
            {"state": s, "stationary": p, "stays": stay} for s, p, stay in zip(chain.states, laws, stays, strict=True)
        ],
    }


def _network(network: BayesianNetwork) -> dict[str, Any]:
    together, bits = network.width
    return {
        "variables": len(network.variables),
        "edges": len(network.edges),
        "tree": network.graph.forest,
        "independent_parts": len(network.graph.components),
        "most_parents": max(map(len, network.graph.parents)),
        "width": together - 1,
        "largest_table_bits": round(bits, 3),
    }


def _numbers(summary: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in summary.items() if not isinstance(value, list)}
