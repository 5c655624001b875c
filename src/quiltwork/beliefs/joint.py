"""An explicit joint distribution of a few variables."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from quiltwork.beliefs.chain import SUM_TOLERANCE
from quiltwork.beliefs.record import Outcomes, RecordLaw, all_states, listed, name_variables
from quiltwork.errors import BeliefError
from quiltwork.types import Floats


class JointTable(RecordLaw):
    """The belief that the variables have this joint distribution; combinations left out have probability zero.

    >>> table = JointTable({"x": ["0", "1"], "y": ["0", "1"]}, [(("0", "0"), 0.5), (("1", "1"), 0.5)])
    >>> table.outcomes, table.states
    ((('0', '0'), ('1', '1')), ('0', '1'))
    """

    default_mechanism = "wasserstein"

    def __init__(self, variables: Mapping[str, Sequence[object]], table: Iterable[tuple[Sequence[object], float]]):
        self.variables = name_variables(variables, "a joint table")
        self.states = all_states(self.variables)
        masses: dict[tuple[str, ...], float] = {}
        for row, (values, p) in enumerate(table, 1):
            outcome = tuple(map(str, values))
            if len(outcome) != len(self.variables) or any(
                value not in states for value, states in zip(outcome, self.variables.values(), strict=True)
            ):
                raise BeliefError(f"table row {row} must give each variable one of its states", got="another value")
            if outcome in masses:
                raise BeliefError(f"table row {row} must not repeat a combination", got="one from an earlier row")
            if not (isinstance(p, int | float) and math.isfinite(p) and p >= 0):
                raise BeliefError(f"table row {row}: p must be finite and not negative", got=str(p))
            masses[outcome] = float(p)
        total = math.fsum(masses.values())
        if abs(total - 1) > SUM_TOLERANCE:
            raise BeliefError("the table must sum to 1", got=f"{total:.10g}", why="it is a joint distribution")
        possible = {outcome: p for outcome, p in masses.items() if p > 0}
        self.outcomes: tuple[tuple[str, ...], ...] = tuple(possible)
        self.probabilities: Floats = np.array(list(possible.values()))
        self.probabilities.setflags(write=False)

    def _enumerate(self) -> Outcomes:
        """Every possible record with its probability."""
        code = [{state: n for n, state in enumerate(states)} for states in self.variables.values()]
        codes = np.array(
            [[numbering[s] for numbering, s in zip(code, outcome, strict=True)] for outcome in self.outcomes]
        )
        return Outcomes(codes.reshape(-1, len(code)), np.log(self.probabilities))

    def __repr__(self) -> str:
        return f"JointTable({len(self.variables)} variables, {len(self.outcomes)} outcomes)"

    def _behaviour(self) -> dict[str, Any]:
        return {"variables": len(self.variables), "outcomes": len(self.outcomes)}

    def to_dict(self) -> dict[str, Any]:
        """The contents of a belief file."""
        rows = zip(self.outcomes, self.probabilities.tolist(), strict=True)
        return {
            "kind": "joint",
            "variables": listed(self.variables),
            "table": [dict(zip(self.variables, outcome, strict=True)) | {"p": p} for outcome, p in rows],
        }
