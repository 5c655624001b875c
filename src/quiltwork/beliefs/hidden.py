"""Beliefs with a memory behind the values: phases or regimes of which only what each shows is seen."""

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quiltwork.beliefs.base import Belief, name_states
from quiltwork.beliefs.chain import MarkovChain
from quiltwork.beliefs.structure import Table
from quiltwork.errors import BeliefError
from quiltwork.types import Floats, Start, Step

MOST_PHASES = 1000


class HiddenChain(Belief):
    """The belief that phases follow one another as a Markov chain, and that each phase shows one state.

    ``shows`` names the state of each phase, ``transition`` has a row and a column for each phase. Only states are seen,
    asked about and secret. Several phases of one state give stays of any length; regimes give a slow memory.

    >>> naps = HiddenChain([[0.8, 0.1, 0.1], [0.01, 0.98, 0.01], [0.2, 0.1, 0.7]], shows=["sleep", "sleep", "awake"],
    ...                    initial="stationary")
    >>> naps, naps.states
    (HiddenChain(2 states in 3 phases, initial=stationary), ('sleep', 'awake'))
    """

    kind = "hidden"
    separating = False

    def __init__(
        self,
        transition: Table,
        *,
        shows: Sequence[object],
        initial: ArrayLike | Literal["stationary", "any"] = "any",
        states: Sequence[object] | None = None,
        step: Step | None = None,
    ):
        if isinstance(shows, str) or not isinstance(shows, Sequence):
            raise BeliefError("shows must be a list with the state of each phase", got=type(shows).__name__)
        self.phases = MarkovChain(transition, initial=initial, step=step)
        self.step = self.phases.step
        if len(shows) != len(self.phases.states):
            raise BeliefError(
                f"shows must name the state of each of the {len(self.phases.states)} phases",
                got=f"{len(shows)} names",
                why="every row of the transition matrix is one phase",
            )
        if len(shows) > MOST_PHASES:
            raise BeliefError(
                f"a hidden chain may have up to {MOST_PHASES:,} phases",
                got=f"{len(shows):,}",
                why="every two of them are compared",
            )
        shown = [str(state) for state in shows]
        listed = list(dict.fromkeys(shown)) if states is None else [str(state) for state in states]
        self.states = name_states(listed, len(listed))
        unseen = sorted({*self.states} ^ {*shown})
        if unseen:
            raise BeliefError(
                "states must be those that phases show",
                got=f"{unseen[0]!r} on one side only",
                why="a state is what its phases look like",
                fix="Give each state a phase, or leave states out",
            )
        self.shown: NDArray[np.intp] = np.array([self.states.index(state) for state in shown])

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self.states)} states in {len(self.shown)} phases, initial={self.phases.start})"
        )

    @property
    def start(self) -> Start:  # type: ignore[override]
        """Which law the first phase has."""
        return self.phases.start

    @property
    def hidden_chains(self) -> "tuple[HiddenChain, ...]":
        """The chain itself."""
        return (self,)

    def possible_states(self) -> NDArray[np.intp]:
        """What possible phases show."""
        return np.unique(self.shown_states())

    def shown_states(self) -> NDArray[np.intp]:
        """The state that each possible phase shows."""
        return self.shown[self.phases.possible_states()]

    def phase_law(self) -> Floats | None:
        """The law of the possible phases at every time, if it is the same at all of them."""
        if self.phases.start != "stationary":
            return None
        return np.asarray(self.phases.stationary[self.phases.possible_states()])

    def without_given_start(self) -> "HiddenChain":
        """With any start in place of a given one."""
        return self.with_phases(self.phases.without_given_start())

    def settled(self) -> "HiddenChain":
        """With a start that is the stationary law called so."""
        settled = self.phases.settled()
        return self.with_phases(settled) if isinstance(settled, MarkovChain) else self

    def with_phases(self, phases: MarkovChain) -> "HiddenChain":
        """The same with other probabilities or another start of its phases."""
        if phases == self.phases:
            return self
        return HiddenChain(
            phases.transition, shows=self.shows, initial=_initial(phases), states=self.states, step=phases.step
        )

    @property
    def shows(self) -> tuple[str, ...]:
        """The state of each phase."""
        return tuple(self.states[n] for n in self.shown)

    @cached_property
    def _inside(self) -> Floats:
        """Which phase belongs to which state: states x phases."""
        return np.asarray(self.shown[None, :] == np.arange(len(self.states))[:, None], dtype=np.float64)

    @property
    def stationary(self) -> Floats:
        """The share of time in each state, in the long run."""
        return np.asarray(self._inside @ self.phases.stationary)

    def expected_stays(self) -> Floats:
        """The average length of a stay in each state, in the long run."""
        law, P = self.phases.stationary, self.phases.transition
        together = self.shown[:, None] == self.shown[None, :]
        leaving = self._inside @ (law * np.where(together, 0.0, P).sum(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(leaving > 0, self.stationary / leaving, np.inf))

    def again(self, lags: Sequence[int]) -> Floats:
        """How likely a value is to be the same this many steps later, in the long run; shape (lags, states)."""
        joint = [self.phases.stationary[:, None] * np.linalg.matrix_power(self.phases.transition, n) for n in lags]
        same = np.array([np.einsum("xh,hg,xg->x", self._inside, table, self._inside) for table in joint])
        return np.asarray(same.reshape(-1, len(self.states)) / self.stationary)

    def stay_survival(self, lengths: Sequence[int]) -> Floats:
        """How likely a stay in a state is to last longer than this many steps; shape (lengths, states)."""
        together = self.shown[:, None] == self.shown[None, :]
        entered = self.phases.stationary @ np.where(together, 0.0, self.phases.transition)
        staying = np.where(together, self.phases.transition, 0.0)
        begun = self._inside @ entered
        with np.errstate(invalid="ignore"):
            left = [self._inside @ (entered * np.linalg.matrix_power(staying, n).sum(axis=1)) / begun for n in lengths]
        return np.where(begun > 0, np.array(left).reshape(-1, len(self.states)), 1.0)

    def average(self) -> MarkovChain:
        """How often each state follows each, whatever the phase."""
        seen = self._inside @ (self.phases.stationary[:, None] * self.phases.transition) @ self._inside.T
        empty = seen.sum(axis=1) == 0
        seen[empty] = np.eye(len(seen))[empty]
        return MarkovChain(seen / seen.sum(axis=1, keepdims=True), states=self.states, step=self.step)

    def every(self, n: int) -> "HiddenChain":
        """The belief about every n-th value."""
        phases = self.phases.every(n)
        return HiddenChain(
            phases.transition, shows=self.shows, initial=_initial(phases), states=self.states, step=phases.step
        )

    def _behaviour(self) -> dict[str, Any]:
        behaviour = {"initial": self.phases.start, "phases": len(self.shown)}
        if not self.phases.irreducible:
            return behaviour
        rows = zip(self.states, self.stationary.tolist(), self.expected_stays().tolist(), strict=True)
        return behaviour | {
            "expected_stay": [
                {"state": state, "stationary": round(share, 12), "stays": round(stay, 6) if stay < np.inf else None}
                for state, share, stay in rows
            ]
        }

    def to_dict(self) -> dict[str, Any]:
        """The contents of a belief file."""
        contents = {
            "kind": "hidden",
            "states": list(self.states),
            "shows": list(self.shows),
            "transition": self.phases.transition.tolist(),
            "initial": _plain(_initial(self.phases)),
        }
        return self._with_step(contents)


class OrderChain(HiddenChain):
    """The belief that a value depends on the last ``order`` values.

    ``transition`` has a row for each sequence of that many states, in the order of counting (the last one changes
    fastest), and a column for each next state. ``initial`` is the law of such a sequence.

    >>> rows = [[0.9, 0.1], [0.5, 0.5], [0.6, 0.4], [0.1, 0.9]]      # after 00, 01, 10 and 11
    >>> OrderChain(rows, order=2, initial="stationary")
    OrderChain(2 states in 4 phases, initial=stationary)
    """

    kind = "order"

    def __init__(
        self,
        transition: Table,
        *,
        order: int,
        initial: ArrayLike | Literal["stationary", "any"] = "any",
        states: Sequence[object] | None = None,
        step: Step | None = None,
    ):
        if isinstance(order, bool) or not isinstance(order, int) or order < 1:
            raise BeliefError("order must be a whole number, at least 1", got=repr(order), why="it counts values")
        try:
            rows = np.array(transition, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as problem:
            raise BeliefError("transition must be a table of numbers", got="something else") from problem
        k = rows.shape[1] if rows.ndim == 2 else 0
        if k < 1 or k**order > MOST_PHASES or len(rows) != k**order:
            raise BeliefError(
                f"transition must have a row for each sequence of {order} states, and up to {MOST_PHASES:,} rows",
                got=f"shape {'x'.join(map(str, rows.shape))}",
                why="a value depends on that many values before it",
            )
        names = name_states(states, k)
        following = np.zeros((len(rows), len(rows)))
        for n, row in enumerate(rows):
            following[n, [n * k % len(rows) + y for y in range(k)]] = row
        super().__init__(
            following, shows=[names[n % k] for n in range(len(rows))], initial=initial, states=names, step=step
        )
        self.order = order

    @property
    def sequences(self) -> list[tuple[str, ...]]:
        """The last values, row by row."""
        return list(itertools.product(self.states, repeat=self.order))

    @property
    def rows(self) -> Floats:
        """P(next state | last values), row by row."""
        k, n = len(self.states), len(self.shown)
        first = np.arange(n) * k % n
        return np.asarray(self.phases.transition[np.arange(n)[:, None], first[:, None] + np.arange(k)[None, :]])

    def with_phases(self, phases: MarkovChain) -> "OrderChain":
        """The same with another start."""
        return OrderChain(self.rows, order=self.order, initial=_initial(phases), states=self.states, step=phases.step)

    def to_dict(self) -> dict[str, Any]:
        """The contents of a belief file."""
        contents = {
            "kind": "order",
            "states": list(self.states),
            "order": self.order,
            "transition": self.rows.tolist(),
            "initial": _plain(_initial(self.phases)),
        }
        return self._with_step(contents)


def _initial(phases: MarkovChain) -> Any:
    return phases.initial if phases.start == "given" else phases.start


def _plain(initial: Any) -> Any:
    return initial if isinstance(initial, str) else initial.tolist()
