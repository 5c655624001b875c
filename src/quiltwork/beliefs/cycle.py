"""The belief that values follow one another by the time of day: one transition matrix for each step of a cycle."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs.base import Belief, as_step, name_states
from quiltwork.beliefs.chain import MarkovChain
from quiltwork.beliefs.hidden import HiddenChain
from quiltwork.beliefs.structure import Table, closed_classes, stationary_law
from quiltwork.errors import BeliefError
from quiltwork.types import Flags, Floats, Start, Step

MOST_ENTRIES = 5_000_000
SMALLEST_PROBABILITY = 1e-280


class CycleChain(Belief):
    """The belief that the series is a Markov chain whose transition matrix depends on the time of day (or week).

    ``transitions[t]`` leads from time t of the cycle to the next one; after the last comes the first. ``initial`` is
    ``"stationary"`` (the law that repeats with the cycle) or ``"any"``. When in the cycle a series begins may be any
    time: the promise holds for all of them.

    >>> day, night = [[0.9, 0.1], [0.5, 0.5]], [[0.2, 0.8], [0.01, 0.99]]
    >>> clock = CycleChain([day, day, night, night], states=["awake", "asleep"], initial="stationary")
    >>> clock, clock.law.round(2).tolist()
    (CycleChain(2 states, period=4, initial=stationary), [[0.04, 0.96], [0.51, 0.49], [0.71, 0.29], [0.14, 0.86]])
    """

    separating = False

    def __init__(
        self,
        transitions: Sequence[Table],
        *,
        initial: Literal["stationary", "any"] = "any",
        states: Sequence[object] | None = None,
        step: Step | None = None,
    ):
        if isinstance(transitions, str) or not isinstance(transitions, Sequence | np.ndarray) or not len(transitions):
            raise BeliefError(
                "transitions must be a list of transition matrices, one for each step of the cycle",
                got=type(transitions).__name__ if isinstance(transitions, str) else "none",
            )
        chains = [MarkovChain(table, states=states) for table in transitions]
        self.states = name_states(states, len(chains[0].states))
        sizes = {len(chain.states) for chain in chains}
        if len(sizes) > 1:
            raise BeliefError("the transition matrices of a cycle must have one size", got=f"{len(sizes)} sizes")
        if len(chains) * len(self.states) ** 2 > MOST_ENTRIES:
            raise BeliefError(
                f"a cycle may have up to {MOST_ENTRIES:,} entries", got=f"{len(chains) * len(self.states) ** 2:,}"
            )
        self.step = as_step(step)
        self.transitions: Floats = np.array([chain.transition for chain in chains])
        self.transitions.setflags(write=False)
        if initial not in ("stationary", "any"):
            raise BeliefError(
                'the initial of a cycle must be "stationary" or "any"',
                got="another start",
                why="a series may begin at any time of the cycle",
            )
        self.start: Start = "stationary" if initial == "stationary" else "any"
        if self.start == "stationary":
            _ = self.law  # fails here, at construction, when it is not unique

    def __repr__(self) -> str:
        return f"CycleChain({len(self.states)} states, period={self.period}, initial={self.start})"

    @property
    def period(self) -> int:
        """The number of steps after which the cycle repeats."""
        return len(self.transitions)

    @cached_property
    def support(self) -> Flags:
        """Which states are possible at each time of the cycle, once a series has gone on for long."""
        whole = np.eye(len(self.states), dtype=bool)
        for table in self.transitions:
            whole = (whole.astype(np.float64) @ table) > 0
        classes = closed_classes(whole)
        if len(classes) != 1:
            raise BeliefError(
                "the law that repeats with the cycle is not unique",
                got=f"{len(classes)} sets of states that are never left",
                why="it depends on where a series begins",
                fix='Use initial "any"',
            )
        here = np.zeros(len(self.states), dtype=bool)
        here[classes[0]] = True
        possible = []
        for table in self.transitions:
            possible.append(here)
            here = (here.astype(np.float64) @ table) > 0
        return np.array(possible)

    @cached_property
    def law(self) -> Floats:
        """The law of the state at each time of the cycle, in the long run: period x states."""
        alive = np.flatnonzero(self.support[0])
        whole = np.eye(len(self.states))
        for table in self.transitions:
            whole = whole @ table
        block = whole[np.ix_(alive, alive)]
        law = np.zeros(len(self.states))
        law[alive] = stationary_law(block / block.sum(axis=1, keepdims=True))
        laws = []
        for possible, table in zip(self.support, self.transitions, strict=True):
            if law[possible].min() < SMALLEST_PROBABILITY:
                raise BeliefError("a probability of the cycle's law is too small for a float", fix='Use initial "any"')
            laws.append(np.where(possible, law, 0.0))
            law = law @ table
        return np.array(laws)

    def possible_states(self) -> NDArray[np.intp]:
        """Those that are possible at some time of the cycle."""
        if self.start == "any":
            return super().possible_states()
        return np.flatnonzero(self.support.any(axis=0))

    def beginning_at(self, time: int) -> HiddenChain:
        """The series that begins at this time of the cycle, as a chain whose phases are a state and a time each.

        Exact laws are computed from it; with a long cycle it is large.
        """
        n, k = self.period, len(self.states)
        following, initial = np.zeros((n * k, n * k)), np.zeros(n * k)
        for t, table in enumerate(self.transitions):
            there = (t + 1) % n
            following[t * k : (t + 1) * k, there * k : (there + 1) * k] = table
        initial[time * k : (time + 1) * k] = self.law[time]
        shows = [self.states[x] for _ in range(n) for x in range(k)]
        return HiddenChain(following, shows=shows, initial=initial / initial.sum(), states=self.states, step=self.step)

    def members_to_audit(self) -> "list[tuple[int | None, Belief]]":
        """The same belief for each time of the cycle at which a series may begin, numbered from 1."""
        if self.start == "any":
            return super().members_to_audit()
        return [(time + 1, self.beginning_at(time)) for time in range(self.period)]

    def average(self) -> MarkovChain:
        """One chain for all times: how often each state follows each, whatever the time."""
        seen = np.einsum("tx,txy->xy", self.law, self.transitions)
        empty = seen.sum(axis=1) == 0
        seen[empty] = self.transitions.mean(axis=0)[empty]
        return MarkovChain(seen / seen.sum(axis=1, keepdims=True), initial="any", states=self.states, step=self.step)

    def again(self, lags: Sequence[int]) -> Floats:
        """How likely a value is to be the same this many steps later, at any time; shape (lags, states)."""
        shares = self.law.sum(axis=0)
        with np.errstate(invalid="ignore"):
            same = [np.einsum("tx,txx->x", self.law, self._after(lag)) / shares for lag in lags]
        return np.where(shares > 0, np.array(same).reshape(-1, len(self.states)), 0.0)

    def _after(self, steps: int) -> Floats:
        """From each time of the cycle, that many steps on."""
        if steps == 1:
            return self.transitions
        if steps == 0:
            return np.repeat(np.eye(len(self.states))[None], self.period, axis=0)
        half = self._after(steps // 2)
        whole = half @ half[(np.arange(self.period) + steps // 2) % self.period]
        return whole if steps % 2 == 0 else whole @ self.transitions[(np.arange(self.period) + steps - 1) % self.period]

    def stay_survival(self, lengths: Sequence[int]) -> Floats:
        """How likely a stay in a state is to last longer than this many steps; shape (lengths, states)."""
        here = np.eye(len(self.states), dtype=bool)
        before = np.roll(self.law, 1, axis=0)[:, :, None] * np.roll(self.transitions, 1, axis=0)
        entered = np.where(here, 0.0, before).sum(axis=1)  # times x states
        staying = self.transitions.diagonal(0, 1, 2)
        survived, left = np.ones_like(entered), {0: np.ones(len(self.states))}
        begun = entered.sum(axis=0)
        for n in range(1, max(lengths, default=0) + 1):
            survived = survived * staying[(np.arange(self.period) + n - 1) % self.period]
            with np.errstate(invalid="ignore"):
                left[n] = np.where(begun > 0, (entered * survived).sum(axis=0) / begun, 1.0)
        return np.array([left[n] for n in lengths]).reshape(-1, len(self.states))

    def _behaviour(self) -> dict[str, Any]:
        try:
            law, average = self.law.mean(axis=0), self.average()
        except BeliefError:
            return {"initial": self.start, "period": self.period}
        stays = [None if p >= 1 else round(1 / (1 - p), 6) for p in average.transition.diagonal().tolist()]
        return {
            "initial": self.start,
            "period": self.period,
            "expected_stay": [
                {"state": state, "stationary": round(float(p), 12), "stays": stay}
                for state, p, stay in zip(self.states, law, stays, strict=True)
            ],
        }

    def to_dict(self) -> dict[str, Any]:
        """The contents of a belief file."""
        contents = {
            "kind": "cycle",
            "states": list(self.states),
            "period": self.period,
            "transitions": self.transitions.tolist(),
            "initial": self.start,
        }
        return self._with_step(contents)
