"""The belief that the series is some chain, known only by how well it mixes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs.base import Belief, as_step, check_multiple, name_states
from quiltwork.errors import BeliefError
from quiltwork.types import Floats, Step

MOST_STATES = 4096


class MixingClass(Belief):
    """All chains with every stationary probability at least ``pi_min`` and spectral gap at least ``gap``.

    The gap is 1 - |λ2(P)| when ``reversible`` (then only reversible chains are in the class), else 1 - λ2(P P*).
    Every initial distribution is in the class, or with ``initial="stationary"`` only the stationary one. ``step`` is
    the time from a value to the next.

    >>> MixingClass(5, pi_min=0.05, gap=0.1, reversible=True)
    MixingClass(5 states, pi_min=0.05, gap=0.1, reversible)
    """

    alike = True
    knows_influence = True

    def __init__(
        self,
        states: int | Sequence[object],
        *,
        pi_min: float,
        gap: float,
        reversible: bool = False,
        initial: str = "any",
        step: Step | None = None,
    ):
        if isinstance(states, int) and not isinstance(states, bool):
            if states < 1:
                raise BeliefError("states must be at least 1", got=str(states), why="it counts the states")
            if states > MOST_STATES:
                raise BeliefError(
                    f"states must be at most {MOST_STATES:,}",
                    got=f"{states:.3g}" if states > 10**15 else f"{states:,}",
                    why="queries have an entry for each pair of states",
                )
            self.states = name_states(None, states)
        elif isinstance(states, Sequence) and not isinstance(states, str):
            self.states = name_states(states, len(states))
        else:
            raise BeliefError("states must be a count or a list of names", got=type(states).__name__)
        k = len(self.states)
        if k < 1:
            raise BeliefError("a mixing class needs at least one state", got="none")
        if not (math.isfinite(pi_min) and 0 < pi_min <= 1 / k):
            raise BeliefError(
                f"pi_min must be above 0 and at most 1/{k}",
                got=f"{pi_min:g}",
                why=f"it bounds the smallest of {k} probabilities that sum to 1",
            )
        if not (math.isfinite(gap) and 0 < gap <= 1):
            raise BeliefError(
                "gap must be above 0 and at most 1",
                got=f"{gap:g}",
                why="without a gap a chain may never forget",
                fix="Describe the chain itself and use the exact method (quilt-exact)",
            )
        self.pi_min, self.gap, self.reversible = float(pi_min), float(gap), bool(reversible)
        if initial not in ("any", "stationary"):
            raise BeliefError(
                "the initial of a mixing class must be any or stationary",
                got="another start",
                why="its chains have no other law in common",
            )
        self.start = "stationary" if initial == "stationary" else "any"
        self.step = as_step(step)

    def __repr__(self) -> str:
        kind = "reversible" if self.reversible else "general"
        start = "" if self.start == "any" else ", initial=stationary"
        return f"MixingClass({len(self.states)} states, pi_min={self.pi_min:g}, gap={self.gap:g}, {kind}{start})"

    def possible_states(self) -> NDArray[np.intp]:
        """Two, which stand for all."""
        return np.arange(min(len(self.states), 2))

    def mixing_classes(self) -> "tuple[MixingClass, ...]":
        """The class itself."""
        return (self,)

    def _behaviour(self) -> dict[str, Any]:
        return {"pi_min": self.pi_min, "gap": self.gap, "reversible": self.reversible, "initial": self.start}

    def to_dict(self) -> dict[str, Any]:
        """The contents of a belief file."""
        unnamed = self.states == name_states(None, len(self.states))
        contents = {
            "kind": "mixing",
            "states": len(self.states) if unnamed else list(self.states),
            "pi_min": self.pi_min,
            "gap": self.gap,
            "reversible": self.reversible,
        }
        return self._with_step(contents if self.start == "any" else contents | {"initial": self.start})

    def every(self, n: int) -> "MixingClass":
        """The class of every n-th value: what is left after n steps is at most the n-th power of 1 - gap."""
        left = (1 - self.gap) ** check_multiple(n)
        return MixingClass(
            self.to_dict()["states"],
            pi_min=self.pi_min,
            gap=max(self.gap, (1 - left) * (1 - 1e-12)),  # rounded down: a smaller gap needs more noise
            reversible=self.reversible,
            initial=self.start,
            step=None if self.step is None else self.step.times(n),
        )

    @property
    def remembered(self) -> float:
        """What is left of a difference after one step, at most: λ, in L2 of the stationary law."""
        return (1 - self.gap) if self.reversible else math.sqrt(1 - self.gap)

    def again(self, lags: Sequence[int]) -> Floats:
        """A bound, the same for all states: π + (1 - π) λ^lag with the largest π that the class allows.

        λ is 1 - gap where chains are reversible, and its root where they are not: what P leaves of a function of mean
        0 has at most λ times its length in L2(π), and the state's own indicator has length (1 - π) after centring.
        """
        largest = 1 - (len(self.states) - 1) * self.pi_min
        bound = largest + (1 - largest) * self.remembered ** np.asarray(lags, dtype=np.float64)
        return np.repeat(bound[:, None], len(self.states), axis=1)

    def stay_survival(self, lengths: Sequence[int]) -> Floats:
        """Powers of the bound on the probability to stay."""
        return np.asarray(self.again([1]) ** np.asarray(lengths, dtype=np.float64)[:, None])
