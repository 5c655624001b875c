"""What all beliefs share: named states, a dictionary form, a fingerprint."""

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs.checked import Checked
from quiltwork.errors import BeliefError, NotCoveredError, ParameterError, check_name
from quiltwork.numeric import round_up
from quiltwork.types import Duration, Floats, Shown, Start

if TYPE_CHECKING:
    from quiltwork.beliefs.chain import MarkovChain
    from quiltwork.beliefs.hidden import HiddenChain
    from quiltwork.beliefs.mixing import MixingClass
    from quiltwork.beliefs.network import BayesianNetwork
    from quiltwork.beliefs.record import RecordLaw

MOST_STEPS = 10**9


class Belief(Shown, ABC):
    """Θ: what an adversary may believe about how the values depend on each other.

    A belief is immutable, knows its states, and can be written to a belief file and read back. What else is asked of
    it is said here with an answer for beliefs about series; kinds of belief that know better say so themselves.

    >>> from quiltwork import MixingClass
    >>> MixingClass(3, pi_min=0.1, gap=0.5).states
    ('0', '1', '2')
    """

    states: tuple[str, ...]
    start: Start = "any"
    """Which law the first value of a series has."""
    step: Duration | None = None
    """The time from a value to the next; None if the belief does not say."""
    variables: Mapping[str, tuple[str, ...]] | None = None
    """The named variables of a record, in order, with the states of each; None for beliefs about series."""
    step_variables: Mapping[str, tuple[str, ...]] | None = None
    """The named variables that a value of a series consists of, with the states of each; None if it is one value."""
    unrolled_up_to: int = 0
    """The number of steps up to which ``as_network`` knows series as a network."""
    noun: str = "series"
    """What its data are called."""
    default_mechanism: str = "curve"
    """The mechanism with the least noise that covers it."""
    alike: bool = False
    """Whether nothing tells its states apart, so that two stand for all."""
    knows_influence: bool = False
    """Whether the max-influence of values on others is known, or bounded."""
    independent_values: bool = False
    """Whether values at different times are known to be independent of each other."""
    real: bool = False
    """Whether values are real numbers, not states."""
    distance: float | None = None
    """Of real values: how far apart two values at one time may be and still be hidden from each other."""
    mechanisms: tuple[str, ...] | None = None
    """The mechanisms that can cover it; None for all of them."""
    checked: Checked | None = None
    """What a check on public data found, if its file says so; it is no part of the belief itself."""
    separating: bool = True
    """Whether a value makes what came before it independent of what follows, in the same way at every time."""

    @property
    def members(self) -> "tuple[Belief, ...]":
        """The beliefs that a set consists of; a single belief is a set of one."""
        return (self,)

    @property
    def numbered_members(self) -> "list[tuple[int | None, Belief]]":
        """The members of a set with their numbers from 1 on; a single belief has no number."""
        single = len(self.members) == 1 and self.members[0] is self
        return [(None if single else n, member) for n, member in enumerate(self.members, 1)]

    def members_to_audit(self) -> "list[tuple[int | None, Belief]]":
        """Beliefs with exact laws that together say what it says, with their numbers."""
        return self.numbered_members

    @property
    def chains(self) -> "tuple[MarkovChain, ...]":
        """The chains that it consists of, if it does."""
        return ()

    @property
    def hidden_chains(self) -> "tuple[HiddenChain, ...]":
        """The chains with phases behind their values that it consists of, if it does."""
        return ()

    @property
    def networks(self) -> "tuple[BayesianNetwork, ...]":
        """The networks that it consists of, if it does."""
        return ()

    @property
    def laws(self) -> "tuple[RecordLaw, ...]":
        """The laws of records that it consists of, if it does."""
        return ()

    mixed: "tuple[RecordLaw, ...]" = ()
    """The laws of records of which any mixture may hold, if it is such a class."""

    @property
    def state_sets(self) -> tuple[tuple[str, ...], ...]:
        """The states of each variable of a record; of a series, those of its values."""
        return (self.states,)

    def possible_states(self) -> NDArray[np.intp]:
        """The states that can occur at some time, by number."""
        return np.arange(len(self.states))

    def shown_states(self) -> NDArray[np.intp]:
        """The state that each possible state of its chain shows, by number: itself, unless there are phases."""
        return self.possible_states()

    def phase_law(self) -> Floats | None:
        """The law of the possible phases at every time, if there are phases and it is known."""
        return None

    def size(self, length: int | None = None) -> int | None:
        """The number of values of a series, if it is known."""
        return length

    def check_size(self, length: int | None) -> None:
        """Refuse lengths of series that it cannot be true of."""

    def heaviest_part(self, weights: Sequence[float]) -> tuple[float, int]:
        """The largest sum of weights over values that may depend on each other, rounded up, and their number."""
        return round_up(math.fsum(weights)), len(weights)

    def mixing_classes(self) -> "tuple[MixingClass, ...]":
        """For each member how well it mixes, rounded to the safe side."""
        raise NotCoveredError("quilt-approx needs chains or a mixing class", got=repr(self), fix="Use group")

    def as_chain(self) -> "MarkovChain | None":
        """The chain that records are, if they are one."""
        return None

    def as_network(self, length: int | None) -> "BayesianNetwork | None":  # noqa: ARG002 - few beliefs are one
        """The network that series of this length are, if they are one that is small enough to follow."""
        return None

    def without_network(self) -> "Belief":
        """The same belief, of which ``as_network`` knows no network."""
        return self

    def names_at(self, first: int, last: int) -> Mapping[str, Sequence[str]]:  # noqa: ARG002 - few beliefs are one
        """What each variable of a step is called in that network, from one step to another."""
        return {}

    def values_changed(self) -> "tuple[NDArray[np.float64], ...]":
        """How many values differ between two states, for each set of states: one, unless a state consists of several.

        >>> from quiltwork import MarkovChain
        >>> MarkovChain([[0.9, 0.1], [0.4, 0.6]]).values_changed()[0].tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        return tuple(1.0 - np.eye(len(states)) for states in self.state_sets)

    def by_variable(self, matrix: "NDArray[np.float64]") -> "list[NDArray[np.float64]]":
        """λ of each variable that a value consists of, from λ between values."""
        return [matrix]

    def values_of(self, rows: Iterable[object]) -> Iterable[object]:
        """The values of a series, from rows as people write them."""
        return rows

    def settled(self) -> "Belief":
        """The same belief, with a start that is the stationary law called so."""
        return self

    def every(self, n: int) -> "Belief":
        """The belief about every n-th value of the series, the first included.

        >>> from quiltwork import MarkovChain
        >>> hourly = MarkovChain([[0.9, 0.1], [0.4, 0.6]], step="15min").every(4)
        >>> str(hourly.step), hourly.transition.round(4).tolist()
        ('1h', [[0.8125, 0.1875], [0.75, 0.25]])
        """
        raise NotCoveredError(
            "every n-th value has no belief of the same kind",
            got=repr(self),
            why=f"for n = {n} it is not known for this kind",
            fix="Write or fit a belief with the step of the data",
        )

    def again(self, lags: Sequence[int]) -> Floats:
        """How likely a value is to be the same this many steps later, in the long run; shape (lags, states).

        Entry (lag, s) is P(X at t + lag = s | X at t = s). Where the belief is a class, it is the largest probability
        within the class, or a bound above it.

        >>> from quiltwork import MarkovChain
        >>> MarkovChain([[0.9, 0.1], [0.4, 0.6]]).again([1, 2]).round(2).tolist()
        [[0.9, 0.6], [0.85, 0.4]]
        """
        raise self._says_nothing_about("how soon values are forgotten", lags)

    def stay_survival(self, lengths: Sequence[int]) -> Floats:
        """How likely a stay in a state is to last longer than this many steps; shape (lengths, states).

        A stay begins when a state is entered, and its length counts the values. Where the belief is a class, it is the
        largest probability within the class, or a bound above it.

        >>> from quiltwork import MarkovChain
        >>> MarkovChain([[0.9, 0.1], [0.4, 0.6]]).stay_survival([1, 2]).round(2).tolist()
        [[0.9, 0.6], [0.81, 0.36]]
        """
        raise self._says_nothing_about("how long stays last", lengths)

    def average(self) -> "MarkovChain | None":
        """How often each state follows each, in the long run, where times or phases differ; None where they do not."""
        return None

    def _says_nothing_about(self, what: str, asked: Sequence[int]) -> NotCoveredError:
        return NotCoveredError(
            f"this belief does not say {what}",
            got=f"{self!r}, asked for {len(asked)} numbers of steps",
            why="only beliefs about series are checked against data" if self.variables is not None else None,
            fix="Check a chain, a set of chains, an interval or a mixing class",
        )

    def summary(self) -> dict[str, Any]:
        """What people ask of a belief, as plain values: kind, states, and how it behaves.

        >>> from quiltwork import MarkovChain
        >>> MarkovChain([[0.9, 0.1], [0.4, 0.6]]).summary()["expected_stay"]
        [{'state': '0', 'stationary': 0.8, 'stays': 10.0}, {'state': '1', 'stationary': 0.2, 'stays': 2.5}]
        """
        kind = {"kind": self.to_dict()["kind"], "states": list(self.states)}
        if self.step is not None:
            kind |= {"step": self.step.plain}
        return kind | self._behaviour() | {"fingerprint": self.fingerprint}

    def _behaviour(self) -> dict[str, Any]:
        return {"initial": self.start}

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The contents of a belief file (see ``docs/belief-files.md``)."""

    def _with_step(self, contents: dict[str, Any]) -> dict[str, Any]:
        """The contents of a belief file, with the step if there is one: files without it keep their fingerprint."""
        return contents if self.step is None else contents | {"step": self.step.plain}

    def without_given_start(self) -> "Belief":
        """The belief about values that need not begin where the series does: a given start becomes any start.

        >>> from quiltwork import MarkovChain
        >>> MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[1.0, 0.0]).without_given_start().start
        'any'
        """
        return self

    @property
    def labels(self) -> str:
        """A short hash of what states are called, in their order, and of the variables that a step joins.

        >>> from quiltwork import MarkovChain
        >>> rows = [[0.5, 0.5], [0.5, 0.5]]
        >>> MarkovChain(rows, states=["a", "b"]).labels == MarkovChain(rows, states=["b", "a"]).labels
        False
        """
        named = json.dumps([list(self.states), list(self.step_variables or ())], ensure_ascii=False)
        return hashlib.sha256(named.encode()).hexdigest()[:16]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the belief's contents; equal beliefs have equal fingerprints.

        >>> from quiltwork import MarkovChain
        >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
        >>> chain.fingerprint == MarkovChain([[0.9, 0.1], [0.4, 0.6]]).fingerprint
        True
        """
        canonical = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """Without the questions that were bound to it: they hold functions, which cannot be pickled."""
        return {name: value for name, value in self.__dict__.items() if name != "_asked"}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Belief) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.fingerprint)


class Fitted(Shown):
    """What a fit found: taken wherever a belief is."""

    belief: Belief


Believed = Belief | Fitted


def as_belief(given: object) -> Belief:
    """The belief, or that of a fit; an error says what was passed instead.

    >>> from quiltwork import fit_chain
    >>> as_belief(fit_chain([[90, 10], [10, 90]]))
    MarkovChain(2 states, initial=any)
    """
    if isinstance(given, Belief | Fitted):
        return given if isinstance(given, Belief) else given.belief
    raise BeliefError("belief must be a Belief", got=type(given).__name__, fix="load_belief(path) reads one")


def as_step(given: object) -> Duration | None:
    """The time from a value to the next, as a user says it: ``"15min"``, or 1 for plain positions."""
    if given is None or isinstance(given, Duration):
        return given
    if isinstance(given, bool) or not isinstance(given, str | int | float | timedelta):
        raise BeliefError(
            "step must be a duration or a number",
            got=type(given).__name__,
            why="it is the time from a value to the next",
            fix='For example "15min", or 1 for values without times',
        )
    return Duration.parse(given, name="step")


def check_multiple(n: object) -> int:
    """How many steps become one."""
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MOST_STEPS:
        raise ParameterError(
            f"every needs a whole number of steps from 1 to {MOST_STEPS:,}",
            got=repr(n)[:40],
            why="that many steps become one",
        )
    return n


def name_states(states: Sequence[object] | None, count: int) -> tuple[str, ...]:
    """Validated state names: the given ones, or "0", "1", ... if there are none."""
    if states is None:
        return tuple(str(n) for n in range(count))
    names = tuple(check_name(str(state), "a state", error=BeliefError) for state in states)
    if len(names) != count:
        raise BeliefError(
            f"states must name each of the {count} states",
            got=f"{len(names)} names",
            why="every row of the transition matrix is one state",
            fix="Give one name per row, or leave states out",
        )
    repeated = sorted({n for n in names if names.count(n) > 1})
    if repeated:
        raise BeliefError(
            "state names must differ",
            got=f"{repeated[0]!r} more than once",
            why="data values are matched to states by name",
            fix="Rename one of them",
        )
    return names
