"""Beliefs about records of which a law is known up to a range: every mixture of some laws."""

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from quiltwork.beliefs.base import Belief
from quiltwork.beliefs.network import BayesianNetwork
from quiltwork.beliefs.record import RecordBelief, RecordLaw, all_states, listed
from quiltwork.errors import BeliefError
from quiltwork.types import Floats

MOST_LAWS = 256  # every two of them are compared


class AnyMixture(RecordBelief):
    """The belief that records have some mixture of these laws, without saying which: an infinite class.

    The laws are networks or joint tables over the same variables. A network whose rows are known up to a range is such
    a mixture of the networks at the ends of the ranges (``between``), whether the rows vary together or each by itself.

    >>> rare = BayesianNetwork({"ann": "01", "bob": "01"}, parents={"bob": ["ann"]},
    ...                        tables={"ann": [0.9, 0.1], "bob": [[0.9, 0.1], [0.9, 0.1]]})
    >>> often = BayesianNetwork({"ann": "01", "bob": "01"}, parents={"bob": ["ann"]},
    ...                         tables={"ann": [0.9, 0.1], "bob": [[0.9, 0.1], [0.45, 0.55]]})
    >>> AnyMixture.between(rare, often)
    AnyMixture(2 laws, 2 variables)
    """

    default_mechanism = "audited"

    def __init__(self, laws: Iterable[RecordLaw]):
        if isinstance(laws, Belief):
            raise BeliefError("mixtures need a list of laws", got="a single belief", fix="[law, other]")
        self.mixed = tuple(laws)
        if not self.mixed or not all(isinstance(law, RecordLaw) for law in self.mixed):
            raise BeliefError(
                "mixtures need networks or joint tables",
                got="another kind of belief" if self.mixed else "none",
                why="the exact law of an answer is mixed",
            )
        if len(self.mixed) > MOST_LAWS:
            raise BeliefError(f"mixtures may have up to {MOST_LAWS} laws", got=f"{len(self.mixed):,}")
        self.variables = self.mixed[0].variables
        self.states = all_states(self.variables)
        for n, law in enumerate(self.mixed, 1):
            if listed(law.variables) != listed(self.variables):
                raise BeliefError(
                    f"law {n} must have the variables and states of law 1, in the same order",
                    got="others",
                    why="they describe the same records",
                )

    @classmethod
    def between(cls, low: BayesianNetwork, high: BayesianNetwork) -> "AnyMixture":
        """Networks on one graph each of whose rows lies anywhere between those of two networks (Statement 66).

        The probability of a record is a product of one entry for each variable, and so a mixture of the products with
        each row at one end or the other.
        """
        if listed(low.variables) != listed(high.variables) or low.parents != high.parents:
            raise BeliefError("both networks must have the same variables, states and parents", got="others")
        places = [
            (name, row)
            for name, table in low.tables.items()
            for row in np.ndindex(*table.shape[:-1])
            if not np.array_equal(table[row], high.tables[name][row])
        ]
        if 2 ** len(places) > MOST_LAWS:
            raise BeliefError(
                f"up to {int(math.log2(MOST_LAWS))} rows may be known up to a range",
                got=f"{len(places)}",
                why="every row at one end or the other makes a law",
                fix="Give ranges to fewer rows",
            )
        corners = []
        for ends in itertools.product((low, high), repeat=len(places)):
            tables = {name: np.array(table) for name, table in low.tables.items()}
            for (name, row), end in zip(places, ends, strict=True):
                tables[name][row] = end.tables[name][row]
            corners.append(BayesianNetwork(low.variables, parents=low.parents, tables=tables))
        return cls(corners)

    def __repr__(self) -> str:
        return f"AnyMixture({len(self.mixed)} laws, {len(self.variables)} variables)"

    def _behaviour(self) -> dict[str, Any]:
        return {"variables": len(self.variables), "laws": len(self.mixed)}

    def to_dict(self) -> dict[str, Any]:
        """The contents of a belief file."""
        return {"kind": "mixtures", "members": [law.to_dict() for law in self.mixed]}


def range_corners(low: Sequence[float], high: Sequence[float]) -> list[Floats]:
    """The laws at the corners of a range: within bounds for each number, and summing to 1.

    >>> [law.tolist() for law in range_corners([0.2, 0.2], [0.7, 0.6])]
    [[0.4, 0.6], [0.7, 0.3]]
    """
    lows, highs = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    if lows.shape != highs.shape or np.any(lows < 0) or np.any(lows > highs) or not lows.sum() <= 1 <= highs.sum():
        raise BeliefError("a range of laws needs bounds from 0 on, with 1 between their sums", got="others")
    corners: dict[tuple[float, ...], Floats] = {}
    for free in range(len(lows)):
        for ends in itertools.product((False, True), repeat=len(lows) - 1):
            law = np.where(np.insert(np.array(ends, dtype=bool), free, False), highs, lows)
            law[free] = 1 - (law.sum() - law[free])
            if lows[free] - 1e-12 <= law[free] <= highs[free] + 1e-12:
                law[free] = min(max(law[free], 0.0), 1.0)
                corners.setdefault(tuple(law.round(12).tolist()), law.round(15))
    return [corners[key] for key in sorted(corners)]
