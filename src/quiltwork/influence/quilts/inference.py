"""Max-influence on networks: how much the values of a quilt tell about a variable, exactly.

Joint laws come from pyAgrum's junction trees, in double precision: the tables are passed in as they are (its own BIF
reader keeps single precision only), with the axes turned round, which pyAgrum counts from the other end.
"""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from quiltwork.beliefs import BayesianNetwork
from quiltwork.errors import NotCoveredError, NotInstalledError
from quiltwork.types import Flags, Floats

WIDEST = 24.0  # log2 of the entries of the largest table of an inference
SMALLEST = 1e-280  # less than this counts as possible, but not as known
MARGIN = 1e-12  # more than the relative rounding error of a joint law, for each variable
BITS = 40  # of a probability that are kept


class Inference:
    """Joint laws of a few variables of a network, and what they tell about one of them.

    >>> flu = BayesianNetwork(
    ...     {"flu": ["no", "yes"], "fever": ["no", "yes"]},
    ...     parents={"fever": ["flu"]},
    ...     tables={"flu": [0.9, 0.1], "fever": [[0.9, 0.1], [0.2, 0.8]]},
    ... )
    >>> round(Inference(flu).max_influence(0, [1]), 6)        # log of 0.8 / 0.1
    2.079442
    """

    def __init__(self, network: BayesianNetwork):
        variables, bits = network.width
        if bits > WIDEST:
            raise NotCoveredError(
                "the network is too dense for exact inference",
                got=f"width {variables - 1}: a table of {variables} variables with 2^{bits:.0f} entries",
                why=f"the limit is 2^{WIDEST:.0f} entries",
                fix="Use group, or a network with fewer edges or states",
            )
        self._sizes = [len(states) for states in network.variables.values()]
        tables = list(network.tables.values())
        self._laws = _model(network, tables)
        # below this, products may vanish: then a second model with the same zeros says what is possible
        least = sum(math.log(table[table > 0].min()) for table in tables)
        self._shapes = None if least > math.log(SMALLEST) else _model(network, [_even(table) for table in tables])
        self._known: dict[tuple[int, ...], tuple[Floats, Flags]] = {}
        self.margin = MARGIN * len(tables) + 2.0 ** (1 - BITS)
        """By how much, relatively, a joint law may be off."""

    def joint(self, nodes: Sequence[int]) -> tuple[Floats, Flags]:
        """P(values of the nodes) with an axis for each of them in increasing order, and which are possible."""
        chosen = tuple(sorted(nodes))
        if chosen not in self._known:
            law = self._posterior(self._laws, chosen)
            possible = law > 0 if self._shapes is None else self._posterior(self._shapes, chosen) > 0
            self._known[chosen] = law, possible
        return self._known[chosen]

    def max_influence(self, node: int, quilt: Sequence[int], apart: Flags | None = None) -> float:
        """The most that the values of the quilt tell about the node: e(X_Q | X_i), rounded up.

        ``apart`` says which two states are to be kept apart; every two if it is left out.
        """
        if not quilt:
            return 0.0
        if math.prod(self._sizes[n] for n in (node, *quilt)) > 2**20:
            return math.inf  # too many values to look at
        law, possible = self.joint([node, *quilt])
        axis, rows = sorted([node, *quilt]).index(node), (self._sizes[node], -1)
        table, occurs = np.moveaxis(law, axis, 0).reshape(rows), np.moveaxis(possible, axis, 0).reshape(rows)
        if apart is None:
            return self._most(table, occurs)
        pairs = ((int(a), int(b)) for a, b in np.argwhere(np.triu(apart)))  # Statement 61
        return max((self._most(table[[a, b]], occurs[[a, b]]) for a, b in pairs), default=0.0)

    def _most(self, law: Floats, possible: Flags) -> float:
        secrets = possible.any(axis=1)
        if secrets.sum() < 2:
            return 0.0
        law, possible = law[secrets], possible[secrets]
        occurring = possible.any(axis=0)
        if not possible[:, occurring].all():
            return math.inf  # some value of the quilt rules a secret out
        law = law[:, occurring]
        if law.min() < SMALLEST:
            return math.inf
        logs = np.log(law) - np.log(law.sum(axis=1, keepdims=True))
        return float(np.ptp(logs, axis=0).max()) + self.margin

    def _posterior(self, model: Any, nodes: tuple[int, ...]) -> Floats:
        shape = tuple(self._sizes[n] for n in nodes)
        varying = [n for n in nodes if self._sizes[n] > 1]
        if not varying:
            return np.ones(shape)
        engine = _pyagrum().LazyPropagation(model)
        names = {f"v{n}" for n in varying}
        engine.addJointTarget(names)
        engine.makeInference()
        posterior = engine.jointPosterior(names)
        axes = list(reversed(posterior.names))
        law = np.transpose(posterior.toarray(), [axes.index(f"v{n}") for n in varying]).reshape(shape)
        return _repeatable(law)


def _model(network: BayesianNetwork, tables: Sequence[Floats]) -> Any:
    """The network without variables that have a single state: those say nothing, and pyAgrum mixes them up."""
    gum = _pyagrum()
    model = gum.BayesNet()
    varying = [n for n, states in enumerate(network.variables.values()) if len(states) > 1]
    for n in varying:
        model.add(gum.LabelizedVariable(f"v{n}", "", tables[n].shape[-1]))
    for n in varying:
        for parent in network.graph.parents[n]:
            if parent in varying:
                model.addArc(f"v{parent}", f"v{n}")
    for n in varying:
        names = [f"v{p}" for p in (*network.graph.parents[n], n) if p in varying]
        axes = [names.index(name) for name in reversed(model.cpt(f"v{n}").names)]
        model.cpt(f"v{n}")[:] = np.ascontiguousarray(np.transpose(tables[n].squeeze(), axes))
    return model


def _repeatable(law: Floats) -> Floats:
    """Rounded to fewer bits: pyAgrum adds up in an order that differs from run to run."""
    fractions, exponents = np.frexp(law)
    return np.asarray(np.ldexp(np.round(fractions * 2.0**BITS) / 2.0**BITS, exponents))


def _even(table: Floats) -> Floats:
    """The same zeros, and all else equally likely."""
    possible = table > 0
    return np.asarray(possible / possible.sum(axis=-1, keepdims=True))


def _pyagrum() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where warnings are errors, those of its compiled part crash Python
            import pyagrum
    except ImportError:
        why = "it computes joint laws of variables exactly"
        raise NotInstalledError("a network that is not a tree", "networks", got="no pyagrum", why=why) from None
    return pyagrum
