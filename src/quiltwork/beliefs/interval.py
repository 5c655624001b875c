"""The belief that each transition probability lies between two bounds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs.base import Belief, as_step, name_states
from quiltwork.beliefs.chain import SUM_TOLERANCE, square_table
from quiltwork.beliefs.structure import Table
from quiltwork.errors import BeliefError, ParameterError
from quiltwork.types import Floats, Step

SETTLED = 1e-14


class IntervalChain(Belief):
    """All chains whose transition probabilities lie between ``lower`` and ``upper``, with any start.

    The chain may move within its bounds from step to step; ``step`` is the time from a value to the next.

    >>> IntervalChain([[0.8, 0.1], [0.3, 0.5]], [[0.9, 0.2], [0.5, 0.7]])
    IntervalChain(2 states)
    """

    def __init__(self, lower: Table, upper: Table, *, states: Sequence[object] | None = None, step: Step | None = None):
        self.lower: Floats = square_table(lower, "lower")
        self.upper: Floats = square_table(upper, "upper")
        if self.lower.shape != self.upper.shape:
            raise BeliefError(
                "lower and upper must have the same shape",
                got=f"{len(self.lower)} and {len(self.upper)} rows",
                why="each transition has a lower and an upper bound",
            )
        self.states = name_states(states, len(self.lower))
        for row, (low, high) in enumerate(zip(self.lower, self.upper, strict=True), 1):
            if np.any(low > high) or np.any(high > 1):
                raise BeliefError(f"row {row} must have lower ≤ upper ≤ 1", got="bounds the other way round or above 1")
            if low.sum() > 1 + SUM_TOLERANCE or high.sum() < 1 - SUM_TOLERANCE:
                raise BeliefError(
                    f"row {row}: some distribution must lie within the bounds",
                    got=f"lower bounds that sum to {low.sum():.6g} and upper ones to {high.sum():.6g}",
                    why="a row of probabilities sums to 1",
                )
        self.step = as_step(step)
        self.lower.setflags(write=False)
        self.upper.setflags(write=False)

    def __repr__(self) -> str:
        return f"IntervalChain({len(self.states)} states)"

    def _behaviour(self) -> dict[str, Any]:
        width = self.upper - self.lower
        return {"initial": "any", "widest": float(width.max()), "narrowest": float(width.min())}

    @classmethod
    def from_counts(
        cls, counts: Table, *, confidence: float, states: Sequence[object] | None = None, step: Step | None = None
    ) -> "IntervalChain":
        """Bounds that hold for all transitions at once with this confidence (Clopper and Pearson, Bonferroni).

        >>> IntervalChain.from_counts([[90, 10], [40, 60]], confidence=0.95).lower.round(2).tolist()
        [[0.8, 0.04], [0.28, 0.47]]
        """
        from scipy.special import betaincinv

        if not 0 < confidence < 1:
            raise ParameterError(
                "confidence must be above 0 and below 1", got=str(confidence), why="it is a probability"
            )
        table = square_table(counts, "counts")
        miss = (1 - confidence) / table.size / 2
        rest = table.sum(axis=1, keepdims=True) - table
        lower: NDArray[np.float64] = np.zeros_like(table)
        upper: NDArray[np.float64] = np.ones_like(table)
        seen, left_out = table > 0, rest > 0
        lower[seen] = betaincinv(table[seen], rest[seen] + 1, miss)
        upper[left_out] = betaincinv(table[left_out] + 1, rest[left_out], 1 - miss)
        return cls(lower, upper, states=states, step=step)

    def to_dict(self) -> dict[str, Any]:
        """The contents of a belief file."""
        contents = {
            "kind": "interval",
            "states": list(self.states),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "initial": "any",
        }
        return self._with_step(contents)

    def again(self, lags: Sequence[int]) -> Floats:
        """The largest over chains that move within the bounds, found step by step from the end backwards."""
        reach = np.eye(len(self.states))  # reach[x, s]: the largest probability to be in s, from x
        largest, done = {}, 0
        for lag in sorted(set(lags)):
            for _ in range(lag - done):
                further = self._furthest(reach)
                settled = bool(np.all(np.abs(further - reach) <= SETTLED))
                reach = further
                if settled:
                    break
            largest[lag], done = reach.diagonal().copy(), lag
        return np.array([largest[lag] for lag in lags]).reshape(-1, len(self.states))

    def apart(self, lags: Sequence[int]) -> Floats:
        """How far the laws of a state may be apart after that many steps, whatever the states before; (lags, states).

        It never rises with the lag: each step is an average over what may come next.
        """
        most, least = np.eye(len(self.states)), np.eye(len(self.states))
        found, done = {}, 0
        for lag in sorted(set(lags)):
            for _ in range(lag - done):
                further, nearer = self._furthest(most), -self._furthest(-least)
                settled = bool(np.all(np.abs(further - most) <= SETTLED) and np.all(np.abs(nearer - least) <= SETTLED))
                most, least = further, nearer
                if settled:
                    break
            found[lag], done = most.max(axis=0) - least.min(axis=0), lag
        return np.array([found[lag] for lag in lags]).reshape(-1, len(self.states))

    def _furthest(self, reach: Floats) -> Floats:
        """One step earlier: each row puts what it may on the states from which most is reached."""
        earlier = np.empty_like(reach)
        slack, spare = self.upper - self.lower, 1 - self.lower.sum(axis=1, keepdims=True)
        for target, value in enumerate(reach.T):
            best = np.argsort(-value)
            filled = np.minimum(np.cumsum(slack[:, best], axis=1), spare)
            given = np.diff(filled, axis=1, prepend=0.0)
            earlier[:, target] = self.lower @ value + given @ value[best]
        return np.minimum(earlier, 1.0)

    def stay_survival(self, lengths: Sequence[int]) -> Floats:
        """Powers of the upper bounds of the probabilities to stay, as far as the other bounds of a row allow them."""
        others = self.lower.sum(axis=1) - self.lower.diagonal()
        stay = np.minimum(self.upper.diagonal(), 1 - others)
        return np.asarray(stay[None, :] ** np.asarray(lengths, dtype=np.float64)[:, None])
