"""Beliefs about a time series: one Markov chain, or a finite set of them."""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quiltwork.beliefs.base import Belief, as_step, check_multiple, name_states
from quiltwork.beliefs.mixing import MixingClass
from quiltwork.beliefs.structure import Table, closed_classes, period, stationary_law
from quiltwork.errors import BeliefError, NotCoveredError
from quiltwork.types import Duration, Flags, Floats, Start, Step

SUM_TOLERANCE = 1e-9
REVERSIBLE_TOLERANCE = 1e-12
SMALLEST_PROBABILITY = 1e-280
GAP_ERROR = 1e-11  # more than the error of a computed spectral gap


class MarkovChain(Belief):
    """The belief that the series is a Markov chain with this transition matrix.

    ``transition[x][y]`` is the probability that the next state is y when the present one is x. ``initial`` is the law
    of the first state: a vector; ``"stationary"``; or ``"any"`` (the default), which protects against every start.
    ``step`` is the time from a value to the next (``"15min"``, or 1 for values without times).

    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["sit", "walk"])
    >>> chain.stationary.round(12).tolist(), round(chain.gap, 12), chain.reversible
    ([0.8, 0.2], 0.5, True)
    """

    knows_influence = True

    def __init__(
        self,
        transition: Table,
        *,
        initial: ArrayLike | Literal["stationary", "any"] = "any",
        states: Sequence[object] | None = None,
        step: Step | None = None,
    ):
        self.transition: Floats = _distributions(transition, "transition")
        self.states = name_states(states, len(self.transition))
        self.step = as_step(step)
        self.start: Start
        self._given: Floats | None = None
        if isinstance(initial, str):
            if initial == "stationary":
                self.start = "stationary"
            elif initial == "any":
                self.start = "any"
            else:
                raise BeliefError(
                    'initial must be a vector, "stationary" or "any"',
                    got=repr(initial),
                    why="it is the law of the first state",
                    fix='Use "any" if you know nothing about it',
                )
        else:
            self.start = "given"
            self._given = _distribution(initial, len(self.states))
        if self.start == "stationary":
            _ = self.stationary  # fails here, at construction, when it is not unique

    def __repr__(self) -> str:
        return f"MarkovChain({len(self.states)} states, initial={self.start})"

    @property
    def chains(self) -> "tuple[MarkovChain, ...]":
        """The chain itself."""
        return (self,)

    @property
    def independent_values(self) -> bool:  # type: ignore[override]
        """Whether every state is followed by each alike."""
        return bool(np.all(self.transition == self.transition[0]))

    def possible_states(self) -> NDArray[np.intp]:
        """All states, but for those that a stationary chain has left for good."""
        return np.flatnonzero(self.stationary > 0) if self.start == "stationary" else super().possible_states()

    def mixing_classes(self) -> tuple[MixingClass, ...]:
        """The class with the chain's own π_min and gap."""
        if not self.irreducible:
            why = "the chain is reducible: some state cannot be reached from some other"
        elif self.gap <= GAP_ERROR:
            why = "its spectral gap is 0 (counted with multiplicity), so nothing follows about how fast it forgets"
        else:
            pi_min, gap = self.pi_min * (1 - 1e-9), self.gap - GAP_ERROR
            return (MixingClass(self.states, pi_min=pi_min, gap=gap, reversible=self.reversible, step=self.step),)
        raise NotCoveredError("quilt-approx does not apply to this chain", why=why, fix="Use quilt-exact")

    @classmethod
    def from_counts(
        cls,
        counts: Table,
        *,
        smoothing: float = 0.0,
        initial: ArrayLike | Literal["stationary", "any"] = "any",
        states: Sequence[object] | None = None,
        step: Step | None = None,
    ) -> "MarkovChain":
        """The chain whose rows are proportional to ``counts + smoothing``.

        >>> MarkovChain.from_counts([[9, 1], [4, 6]]).transition.tolist()
        [[0.9, 0.1], [0.4, 0.6]]
        """
        table = square_table(counts, "counts")
        if not (math.isfinite(smoothing) and smoothing >= 0):
            raise BeliefError(
                "smoothing must be finite and not negative",
                got=str(smoothing),
                why="it is added to each count",
            )
        table = table + smoothing
        empty = np.flatnonzero(table.sum(axis=1) == 0)
        if empty.size:
            raise BeliefError(
                f"counts row {empty[0] + 1} must have a positive entry",
                got="a row of zeros",
                why="a state that was never left says nothing about what follows it",
                fix="Use fit_chain, which fills such rows, or leave the state out",
            )
        return cls(table / table.sum(axis=1, keepdims=True), initial=initial, states=states, step=step)

    def with_start(self, initial: ArrayLike | Literal["stationary", "any"]) -> "MarkovChain":
        """The same transition matrix with another initial distribution.

        >>> MarkovChain([[0.5, 0.5], [0.5, 0.5]]).with_start([1, 0]).initial.tolist()
        [1.0, 0.0]
        """
        return MarkovChain(self.transition, initial=initial, states=self.states, step=self.step)

    def _at(self, step: Duration | None) -> "MarkovChain":
        """The same chain, of this step."""
        if step == self.step:
            return self
        initial = self.start if self._given is None else self._given
        return MarkovChain(self.transition, initial=initial, states=self.states, step=step)

    def every(self, n: int) -> "MarkovChain":
        """The chain of every n-th value, the first included: the first value keeps its law, whatever the start is."""
        power = _power(self.transition, check_multiple(n))
        step = None if self.step is None else self.step.times(n)
        initial = self.start if self._given is None else self._given
        return MarkovChain(power, initial=initial, states=self.states, step=step)

    def again(self, lags: Sequence[int]) -> Floats:
        """The diagonals of powers of the transition matrix, by repeated squaring."""
        return np.array([_power(self.transition, lag).diagonal() for lag in lags]).reshape(-1, len(self.states))

    def stay_survival(self, lengths: Sequence[int]) -> Floats:
        """Powers of the probability to stay: a stay forgets how long it has lasted."""
        return np.asarray(self.transition.diagonal()[None, :] ** np.asarray(lengths, dtype=np.float64)[:, None])

    def without_given_start(self) -> "MarkovChain":
        """With any start in place of a given one."""
        return self.with_start("any") if self.start == "given" else self

    def settled(self) -> "MarkovChain":
        """The same chain, with a start that is the stationary law (but for rounding of each entry) called so.

        >>> MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[0.8, 0.2]).settled()
        MarkovChain(2 states, initial=stationary)
        """
        if self._given is None or len(self._closed) != 1:
            return self
        try:
            apart = np.abs(self.stationary - self._given)
        except BeliefError:
            return self  # the stationary law cannot be represented
        near = apart <= len(self.states) * 2.0**-52 * np.minimum(self.stationary, self._given)
        return self.with_start("stationary") if near.all() else self

    @property
    def initial(self) -> Floats | None:
        """The law of the first state; None when it may be any."""
        if self.start == "stationary":
            return self.stationary
        return self._given

    @cached_property
    def support(self) -> Flags:
        """Which transitions are possible."""
        return np.asarray(self.transition > 0)

    @cached_property
    def _closed(self) -> list[NDArray[np.intp]]:
        return closed_classes(self.support)

    @cached_property
    def stationary(self) -> Floats:
        """The stationary distribution; zero on states that are left for good."""
        if len(self._closed) != 1:
            raise BeliefError(
                "the stationary distribution must be unique",
                got=f"{len(self._closed)} closed classes of states",
                why="each of them has a stationary distribution of its own",
                fix='Give initial as a vector, or use "any"',
            )
        members = self._closed[0]
        law = np.zeros(len(self.states))
        law[members] = stationary_law(self.transition[np.ix_(members, members)])
        if not np.all(law[members] > SMALLEST_PROBABILITY):
            raise BeliefError(
                "the stationary distribution must be representable",
                got=f"probabilities below {SMALLEST_PROBABILITY:g}",
                why="a state that counts as impossible would go unprotected",
                fix='Use initial "any", or leave such states out',
            )
        law.setflags(write=False)
        return law

    @property
    def irreducible(self) -> bool:
        """Whether every state leads to every other."""
        return len(self._closed) == 1 and len(self._closed[0]) == len(self.states)

    @cached_property
    def period(self) -> int:
        """The period; defined for irreducible chains."""
        self._need_irreducible("the period")
        return period(self.support)

    @property
    def aperiodic(self) -> bool:
        """Whether every closed class has period 1."""
        return all(period(self.support[np.ix_(c, c)]) == 1 for c in self._closed)

    @cached_property
    def reversible(self) -> bool:
        """Whether the chain looks the same run backwards (detailed balance)."""
        if not self.irreducible:
            return False
        flow = self.stationary[:, None] * self.transition
        return bool(np.all(np.abs(flow - flow.T) <= REVERSIBLE_TOLERANCE * np.maximum(flow, flow.T)))

    def time_reversal(self) -> "MarkovChain":
        """The chain run backwards from its stationary distribution: P*[x,y] = π(y) P[y,x] / π(x).

        >>> cycle = MarkovChain([[0.1, 0.9, 0], [0, 0.1, 0.9], [0.9, 0, 0.1]])
        >>> cycle.time_reversal().transition.round(12).tolist()
        [[0.1, 0.0, 0.9], [0.9, 0.1, 0.0], [0.0, 0.9, 0.1]]
        """
        self._need_irreducible("the time reversal")
        pi = self.stationary
        backward = pi[None, :] * self.transition.T / pi[:, None]
        return MarkovChain(backward, initial="stationary", states=self.states, step=self.step)

    @cached_property
    def gap(self) -> float:
        """The spectral gap, multiplicity counted: 1 - |λ2(P)| if reversible, else 1 - λ2(P P*).

        It is 0 for a chain to which the approximate method does not apply (Statement 5).

        >>> MarkovChain([[0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]]).gap < 1e-12
        True
        """
        self._need_irreducible("the spectral gap")
        if len(self.states) == 1:
            return 1.0
        root = np.sqrt(self.stationary)
        # similar to P, and symmetric exactly if P is reversible
        A = root[:, None] * self.transition / root[None, :]
        if self.reversible:
            moduli = np.sort(np.abs(np.linalg.eigvalsh((A + A.T) / 2)))
            return max(0.0, 1.0 - float(moduli[-2]))
        # A A^T is similar to P P*; the second largest, with multiplicity
        return max(0.0, 1.0 - float(np.linalg.eigvalsh(A @ A.T)[-2]))

    @property
    def pi_min(self) -> float:
        """The smallest stationary probability."""
        return float(self.stationary.min())

    def _need_irreducible(self, what: str) -> None:
        if not self.irreducible:
            raise BeliefError(
                f"{what} needs an irreducible chain",
                got=f"{len(self._closed)} closed class(es) covering {sum(map(len, self._closed))} of "
                f"{len(self.states)} states",
                why="some state cannot be reached from some other",
                fix="The exact method (quilt-exact) does not need this",
            )

    def _behaviour(self) -> dict[str, Any]:
        unique = len(self._closed) == 1
        laws = [float(p) for p in self.stationary.round(12)] if unique else [None] * len(self.states)
        stays = [None if p >= 1 else round(1 / (1 - p), 6) for p in self.transition.diagonal().tolist()]
        return {
            "initial": self.start,
            "irreducible": self.irreducible,
            "aperiodic": self.aperiodic,
            "reversible": self.reversible,
            "gap": self.gap if self.irreducible else None,
            "pi_min": self.pi_min if unique else None,
            "expected_stay": [
                {"state": state, "stationary": p, "stays": stay}
                for state, p, stay in zip(self.states, laws, stays, strict=True)
            ],
        }

    def to_dict(self) -> dict[str, Any]:
        """The contents of a belief file."""
        initial = self.start if self._given is None else self._given.tolist()
        contents = {
            "kind": "chain",
            "states": list(self.states),
            "transition": self.transition.tolist(),
            "initial": initial,
        }
        return self._with_step(contents)


class ChainSet(Belief):
    """The belief that one of several chains holds, without saying which: each of them is protected against.

    ``step`` is that of all members; those that do not say theirs take it over.

    >>> lazy = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    >>> len(ChainSet([lazy, MarkovChain([[0.8, 0.2], [0.3, 0.7]])]).members)
    2
    """

    knows_influence = True

    def __init__(self, members: Iterable[MarkovChain], *, step: Step | None = None):
        if isinstance(members, Belief):
            raise BeliefError("the members of a set must be a list of chains", got="a single belief", fix="[chain]")
        self._members = tuple(members)
        if not self._members:
            raise BeliefError("a set of beliefs must have a member", got="none", why="an empty set protects nothing")
        if not all(isinstance(m, MarkovChain) and m.step_variables is None for m in self.members):
            raise BeliefError(
                "the members of a set must be chains",
                got="another kind of belief",
                why="the mechanisms go through the members one by one",
                fix="Plan for the other belief by itself",
            )
        self.states = self.members[0].states
        for n, member in enumerate(self.members, 1):
            if member.states != self.states:
                raise BeliefError(
                    f"member {n} must have the states of member 1, in the same order",
                    got="other states",
                    why="the members describe the same data",
                    fix="Order the rows alike",
                )
        self._members, self.step = _of_one_step(self._members, as_step(step))

    @property
    def start(self) -> Start:  # type: ignore[override]
        """The start that needs most care among its chains."""
        starts = {member.start for member in self.members}
        return "given" if "given" in starts else "any" if "any" in starts else "stationary"

    @property
    def members(self) -> tuple[MarkovChain, ...]:
        """The chains."""
        return self._members

    @property
    def chains(self) -> tuple[MarkovChain, ...]:
        """The chains."""
        return self._members

    @property
    def independent_values(self) -> bool:  # type: ignore[override]
        """Whether values are independent under each of them."""
        return all(member.independent_values for member in self.members)

    def mixing_classes(self) -> tuple[MixingClass, ...]:
        """That of each chain."""
        return tuple(known for member in self.members for known in member.mixing_classes())

    def without_given_start(self) -> "ChainSet":
        """With any start in place of given ones."""
        return ChainSet(member.without_given_start() for member in self.members)

    def every(self, n: int) -> "ChainSet":
        """The set of the chains of every n-th value."""
        return ChainSet(member.every(n) for member in self.members)

    def again(self, lags: Sequence[int]) -> Floats:
        """The largest of its chains: a set covers data that one of its members covers."""
        return np.asarray(np.max([member.again(lags) for member in self.members], axis=0))

    def stay_survival(self, lengths: Sequence[int]) -> Floats:
        """The largest of its chains."""
        return np.asarray(np.max([member.stay_survival(lengths) for member in self.members], axis=0))

    def __repr__(self) -> str:
        return f"ChainSet({len(self.members)} chains, {len(self.states)} states)"

    def _behaviour(self) -> dict[str, Any]:
        behaviours = (member._behaviour() for member in self.members)
        numbers = (
            {key: value for key, value in behaviour.items() if not isinstance(value, list)} for behaviour in behaviours
        )
        return {"members": [{"member": n} | behaviour for n, behaviour in enumerate(numbers, 1)]}

    def to_dict(self) -> dict[str, Any]:
        """The contents of a belief file."""
        members = [{key: value for key, value in m.to_dict().items() if key != "step"} for m in self.members]
        return self._with_step({"kind": "set", "members": members})


def _of_one_step(
    members: tuple[MarkovChain, ...], step: Duration | None
) -> tuple[tuple[MarkovChain, ...], Duration | None]:
    """The members with the one step that they have."""
    steps = {member.step for member in members if member.step is not None} | ({step} - {None})
    if len(steps) > 1:
        raise BeliefError(
            "the members of a set must have one step",
            got=", ".join(sorted(map(str, steps))),
            why="they describe the same data",
            fix="Bring them to one step: chain.every(n)",
        )
    common = next(iter(steps), None)
    return tuple(member._at(common) for member in members), common


def _power(transition: Floats, n: int) -> Floats:
    """The n-th power of a transition matrix; what is possible stays possible, however unlikely."""
    power, possible = np.eye(len(transition)), np.eye(len(transition), dtype=np.bool_)
    square, reached = transition, transition > 0
    while n:
        if n & 1:
            power, possible = _normalised(power @ square, possible @ reached), possible @ reached
        n >>= 1
        if n:
            square, reached = _normalised(square @ square, reached @ reached), reached @ reached
    return power


def _normalised(power: Floats, possible: Flags) -> Floats:
    kept = np.where(possible & (power < SMALLEST_PROBABILITY), SMALLEST_PROBABILITY, power)
    sums = kept.sum(axis=1, keepdims=True)
    return np.asarray(kept / np.where(np.abs(sums - 1) > len(kept) * 2.0**-52, sums, 1.0))


def square_table(table: Table, name: str) -> Floats:
    """A square table of finite numbers that are not negative, or an error that names the row."""
    try:
        A = np.array(table, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise BeliefError(
            f"{name} must be a square table of numbers",
            got="rows of unequal length or entries that are not numbers",
            why="it has one row and one column per state",
        ) from problem
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.size == 0:
        raise BeliefError(
            f"{name} must be square",
            got=f"shape {'x'.join(map(str, A.shape)) or 'of a single number'}",
            why="it has one row and one column per state",
        )
    bad = np.argwhere(~np.isfinite(A) | (A < 0))
    if bad.size:
        row, column = bad[0]
        raise BeliefError(
            f"{name} row {row + 1} must have finite entries that are not negative",
            got=f"{A[row, column]:g} in column {column + 1}",
            why="they are probabilities or counts",
        )
    return A


def _distributions(table: Table, name: str) -> Floats:
    A = square_table(table, name)
    with np.errstate(over="ignore"):
        sums = A.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE)
    if wrong.size:
        row = wrong[0]
        raise BeliefError(
            f"{name} row {row + 1} must sum to 1",
            got=f"{sums[row]:.10g}",
            why="each row is a distribution over next states",
            fix="Fix the row, or use MarkovChain.from_counts(...)",
        )
    A /= np.where(np.abs(sums - 1) > len(A) * 2.0**-52, sums, 1.0)[:, None]  # what is normalised stays as it is
    A.setflags(write=False)
    return A


def _distribution(vector: ArrayLike, count: int) -> Floats:
    try:
        v = np.array(vector, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise BeliefError("initial must be a list of numbers", got="something else", why="it is a law") from problem
    if v.shape != (count,):
        raise BeliefError(
            f"initial must have one entry for each of the {count} states",
            got=f"shape {v.shape}",
            why="it is the law of the first state",
        )
    if not np.all(np.isfinite(v)) or np.any(v < 0):
        raise BeliefError("initial must have finite entries that are not negative", why="they are probabilities")
    with np.errstate(over="ignore"):
        total = v.sum()
    if abs(total - 1) > SUM_TOLERANCE:
        raise BeliefError("initial must sum to 1", got=f"{total:.10g}", why="it is the law of the first state")
    if abs(v.sum() - 1) > count * 2.0**-52:
        v /= v.sum()
    v.setflags(write=False)
    return v
