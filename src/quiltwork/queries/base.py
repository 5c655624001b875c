"""What is asked of the data. Each query knows its sensitivity by pair of states.

``sensitivity(states)[y, y']`` is the most the answer changes, in L1 norm, when one value goes from y to y'; its largest
entry is the Lipschitz constant L (Statement 2). Neighbours share their transitions: where those are counted, the
diagonal has what any change costs once besides (Statement 49). Answers are whole multiples of ``unit(states)``, so that
exact integer noise can be added to them; frequencies and means are divided by the (public) number of values afterwards.
Of a record with named variables a query may ask some and not others, and weigh them: ``by_variable`` says what it asks
of each of them.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs import Belief
from quiltwork.data import Countable, Series
from quiltwork.errors import QueryError
from quiltwork.numeric import add_up, float_above, round_up
from quiltwork.queries.limits import Limits
from quiltwork.types import Codes

States = Sequence[str]
Variables = Mapping[str, tuple[str, ...]]
Totals = tuple[tuple[int, ...], ...]
"""Groups of places of an answer's numbers, each of which adds up to something public."""
LARGEST_TOTAL = 256  # numbers: beyond that noise that keeps the total is hardly smaller, and takes long to draw
HALVED = math.nextafter(math.sqrt(0.5), 1.0)
Numbers = NDArray[np.int64] | NDArray[np.float64] | NDArray[np.object_]
"""Integers, as Python has them where they may be large, or floats."""


class Query(ABC):
    """A question about series of states.

    >>> from quiltwork import parse_query
    >>> isinstance(parse_query("histogram"), Query)
    True
    """

    integer = True
    """Whether answers are whole multiples of ``unit``; else noise on floats is needed."""
    ordered = False
    """Whether it needs the order of values."""
    followed = False
    """Whether it counts transitions."""
    orderless = False
    """Whether it means the same in whatever order a belief has the variables of a step."""
    by_part = True
    """Whether it can be asked of each window or subject."""
    names_variables = False
    """Whether it names variables of a record."""
    balanced = False
    """Whether the numbers of an answer add up to the same whatever the values are, as those of a histogram do."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The query as written on the command line."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The query as plain values that say all of it; ``query_from_dict`` reads them back."""

    @abstractmethod
    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """The most that the answer changes when one value goes from y to y'; shape (states, states).

        The diagonal is added once where neighbouring values change too; it is 0 unless transitions are counted.
        """

    def euclidean(self, states: States) -> NDArray[np.float64]:
        """The same in L2 norm, which is what Gaussian noise has to hide; no more than in L1 norm.

        Where numbers fall by as much as others rise, it is at most 1/√2 of that (Statement 79).

        >>> from quiltwork import Count, Histogram
        >>> [float(query.euclidean(["a", "b"])[0, 1].round(6)) for query in (Histogram(), Count("a"))]
        [1.414214, 1.0]
        """
        return self.sensitivity(states) * (HALVED if self.balanced else 1.0)

    def lipschitz(self, states: States) -> float:
        """The most that one value can change the answer.

        >>> from quiltwork import Count, Histogram
        >>> Histogram().lipschitz(["sit", "walk"]), Count("sit").lipschitz(["sit", "walk"])
        (2.0, 1.0)
        """
        return largest_change(self.sensitivity(states))

    def unit(self, states: States) -> Fraction:  # noqa: ARG002 - numeric queries need the states
        """The step of the lattice that the answer lives on."""
        return Fraction(1)

    def divisor(self, size: int) -> int:  # noqa: ARG002 - frequencies and means need the size
        """What the noisy answer is divided by, given the number of values."""
        return 1

    def values_in(self, size: int) -> int:
        """How many values it asks of a series of this size."""
        return size

    def undivided(self) -> "Query":
        """The counts or sums that it is made of, if it is a share or a mean; else the query itself.

        >>> from quiltwork import Frequencies
        >>> Frequencies().undivided()
        Histogram()
        """
        return self

    def within(self, belief: Belief) -> "Query":
        """The query as it is asked under a belief: of each variable where values consist of several, else itself.

        Asked again it stays the same, so that a question has one form from where it is asked to where noise is drawn.
        """
        if belief.step_variables is None:
            return self
        from quiltwork.queries.steps import InSteps  # it is a query itself

        return InSteps(self, tuple(belief.step_variables.items()))

    def in_windows(self) -> "Query":
        """The query as it is asked of each window of a series: the same, unless a value matters to two windows."""
        return self

    def sized(self, series: Series) -> "Query":  # noqa: ARG002 - few need to know more than the number of values
        """The query with what is public about the data, if it needs to know that before noise is chosen."""
        return self

    def derived(self, numbers: Sequence[float], states: States) -> Any:  # noqa: ARG002 - few have more to say
        """What was asked for, if that is not the numbers but follows from them: a median, a mean length."""
        return None

    def derived_between(self, numbers: Sequence[float], error: float) -> tuple[float, float] | None:  # noqa: ARG002
        """Where what is derived lies if each number is off by at most the error; None where that is not known."""
        return None

    def in_words(self, derived: Any) -> str:
        """What was derived, as people read it."""
        return "unknown" if derived is None else f"{derived:.4g}" if isinstance(derived, float) else str(derived)

    def unrolled(self, names: Mapping[str, Sequence[str]]) -> "Query | None":  # noqa: ARG002 - few are about steps
        """The same asked of a network with a variable for each step, if it is about steps of several variables."""
        return None

    def at_steps(self, names: Mapping[str, Sequence[str]]) -> "Query":
        """The same asked of variables under the names that they have at some steps."""
        from quiltwork.queries.variables import Over  # it is a query itself

        return Over(self, [name for named in names.values() for name in named])

    def reach(self, spread: float | None, values: int) -> float | None:  # noqa: ARG002 - it is about states
        """Of real values: by how much two answers can differ if values can by the spread; None where limits say it."""
        return None

    def limits(self, states: States, size: int, links: int | None = None) -> Limits | None:  # noqa: ARG002
        """What is public about the answer, given the number of values and how many of them directly follow another.

        None where nothing is known. Limits are those of the numbers that people read, divided where those are.

        >>> from quiltwork import Frequencies
        >>> Frequencies().limits(["sit", "walk", "run"], 500).total
        1.0
        """
        steps = self.steps(states)
        if steps is None:
            return None
        return Limits.of_steps([steps], [size], unit=self.unit(states), divisor=self.divisor(self.values_in(size)))

    def steps(self, states: States) -> Codes | None:  # noqa: ARG002 - additive queries need the states
        """What each value adds to each number of the answer, in units, as (numbers, states); None if not additive."""
        return None

    def totals(self, states: States) -> Totals:
        """Groups of numbers whose sum is public: what is added to them keeps it (Statement 75).

        >>> from quiltwork import Count, Histogram
        >>> Histogram().totals(["sit", "walk", "run"]), Count("sit").totals(["sit", "walk", "run"])
        (((0, 1, 2),), ())
        """
        return public_totals([self.steps(states)])

    @abstractmethod
    def evaluate(self, series: Countable) -> Numbers:
        """The answer before noise, in units; one-dimensional."""

    def labels(self, states: States) -> tuple[str, ...]:  # noqa: ARG002 - histograms need the states
        """A name for each number of the answer."""
        return (self.text,)

    def present(self, numbers: Sequence[float], states: States) -> Any:  # noqa: ARG002 - histograms need the states
        """The answer in the form that people read: a number, or numbers by state."""
        return numbers[0]

    def of_records(self, codes: Codes, variables: Variables) -> Codes:  # noqa: ARG002 - most add up over variables
        """What each record adds to each number, from the codes of its variables; only where variables do not add up."""
        raise QueryError(f"{self.text} adds up over variables", got="whole records")

    def on(self, belief: Belief) -> "Asked":
        """What it asks of data that a belief is about.

        >>> from quiltwork import Histogram, MarkovChain
        >>> Histogram().on(MarkovChain([[0.5, 0.5], [0.5, 0.5]])).lipschitz
        2.0
        """
        if belief.variables is not None:
            return self.by_variable(belief.variables)
        if belief.real:
            raise QueryError(
                f"{self.text} is about states",
                got="a belief about real values",
                why="under this belief values are numbers, of which hardly two are the same",
                fix="Ask for sum, mean, trend, above:THRESHOLD:WIDTH or difference:A-B|C-D",
            )
        query, states = self.within(belief), belief.states
        return Asked(
            query=query,
            unit=query.unit(states),
            steps=(query.steps(states),),
            sensitivity=(query.sensitivity(states),),
            asked=None,
            states=states,
            euclidean=(query.euclidean(states),),
        )

    def by_variable(self, variables: Variables) -> "Asked":
        """What is asked of each variable of a record: the same of all of them, unless the query says otherwise."""
        return Asked.of(self, variables, dict.fromkeys(variables, Fraction(1)))


def public_totals(steps: Sequence[Codes | None]) -> Totals:
    """Groups of numbers that no value can change the sum of, given what each state of each variable adds to them.

    Numbers belong together if one variable changes both. A single number has no noise to share, and in a very large
    group a total saves next to nothing: those have noise of their own.

    >>> public_totals([np.array([[1, 0], [0, 1], [0, 0], [0, 0]]), np.array([[0, 0], [0, 0], [1, 0], [0, 1]])])
    ((0, 1), (2, 3))
    >>> public_totals([np.array([[1, 0, 0], [0, 1, 0]])])
    ()
    """
    known = [step for step in steps if step is not None]
    if not known or len(known) < len(steps):
        return ()
    groups: list[set[int]] = []
    for step in known:
        moved = set(np.flatnonzero(np.ptp(step, axis=1)).tolist())
        joined = [group for group in groups if group & moved]
        groups = [group for group in groups if not group & moved] + ([moved.union(*joined)] if moved else [])
    return tuple(
        tuple(group)
        for group in sorted(map(sorted, groups))
        if 1 < len(group) <= LARGEST_TOTAL and all(not np.ptp(step[group].sum(axis=0)) for step in known)
    )


def unlinked(sensitivity: NDArray[np.float64]) -> NDArray[np.float64]:
    """What changes cost where neighbours need not be neighbours: each pays by itself what neighbours share.

    >>> unlinked(np.array([[2.0, 2.0], [2.0, 2.0]])).round(9).tolist()
    [[0.0, 4.0], [4.0, 0.0]]
    """
    once = float(np.diagonal(sensitivity).max(initial=0.0))
    if once == 0:
        return sensitivity
    alone = add_up(sensitivity, np.full_like(sensitivity, once))
    return np.asarray(np.where(np.eye(len(sensitivity), dtype=bool), 0.0, alone))


def largest_change(sensitivity: NDArray[np.float64]) -> float:
    """The most that one value alone can change an answer.

    >>> largest_change(np.array([[2.0, 2.0], [2.0, 2.0]])), largest_change(np.array([[0.0, 1.0], [1.0, 0.0]]))
    (4.0, 1.0)
    """
    once = float(np.diagonal(sensitivity).max(initial=0.0))
    return float((sensitivity * ~np.eye(len(sensitivity), dtype=bool)).max(initial=0.0)) + once


@dataclass(frozen=True)
class Asked:
    """What a query asks of each value of a series alike, or of each variable of a record, in the variables' order.

    ``steps[j]`` is what each state of variable j adds to each number of the answer, in units (None: not additive);
    ``sensitivity[j]`` the most that the answer changes between two of its states. ``asked`` counts the variables that
    the answer is about (None for a series), and ``states`` are theirs together.

    >>> from quiltwork import Count
    >>> asked = Count("yes").by_variable({"flu": ("no", "yes"), "age": ("young", "old")})
    >>> asked.lipschitz_by_variable, asked.steps[0].tolist()
    ((1.0, 0.0), [[0, 1]])
    """

    query: Query
    unit: Fraction
    steps: tuple[Codes | None, ...]
    sensitivity: tuple[NDArray[np.float64], ...]
    asked: int | None
    states: tuple[str, ...]
    whole: float = math.inf
    """The most that all variables of a record together can change the answer, where that is known."""
    euclidean: tuple[NDArray[np.float64], ...] = ()
    """The sensitivity in L2 norm."""

    def __post_init__(self) -> None:
        if not self.euclidean:
            factor = HALVED if self.query.balanced else 1.0
            object.__setattr__(self, "euclidean", tuple(changes * factor for changes in self.sensitivity))

    @classmethod
    def of(cls, query: Query, variables: Variables, weights: Mapping[str, Fraction]) -> "Asked":
        """The query asked of the variables that have a weight, each counting that many times."""
        states = tuple(dict.fromkeys(state for name in weights for state in variables[name]))
        steps, sensitivity = query.steps(states), query.sensitivity(states)
        common = math.lcm(*(w.denominator for w in weights.values()))
        step = math.gcd(*(int(w * common) for w in weights.values())) or 1
        added: list[Codes | None] = []
        changes: list[NDArray[np.float64]] = []
        for name, names in variables.items():
            weight = weights.get(name, Fraction(0))
            places = [states.index(state) for state in names] if name in weights else [0] * len(names)
            times = int(weight * common) // step
            if steps is not None and abs(times) * max(abs(int(n)) for n in (steps.min(), steps.max())) >= 2**62:
                raise QueryError(
                    "weights and numbers must make less than 2^62 steps",
                    got=f"{float(abs(times)):.1e} times the states' numbers",
                    why="exact noise is drawn on 64-bit integers",
                    fix="Round the weights and the states' numbers to fewer digits",
                )
            factor = 1.0 if weight == 1 else round_up(float_above(abs(weight)), roundings=2)
            added.append(None if steps is None else times * steps[:, places])
            changes.append(factor * sensitivity[np.ix_(places, places)])
        return cls(
            query=query,
            unit=query.unit(states) * Fraction(step, common),
            steps=tuple(added),
            sensitivity=tuple(changes),
            asked=len(weights),
            states=states,
        )

    @property
    def lipschitz_by_variable(self) -> tuple[float, ...]:
        """The most that one variable can change the answer, for each of them."""
        return tuple(map(largest_change, self.sensitivity))

    @property
    def lipschitz(self) -> float:
        """The most that any one variable can change the answer."""
        return max(self.lipschitz_by_variable)

    @property
    def numbers(self) -> int:
        """How many numbers the answer has, if it adds up over variables."""
        return 1 if self.steps[0] is None else len(self.steps[0])

    @property
    def totals(self) -> Totals:
        """Groups of numbers whose sum is public."""
        return self.query.totals(self.states) if self.asked is None else public_totals(self.steps)

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each number of the answer."""
        return self.query.labels(self.states)

    def divisor(self, length: int) -> int:
        """What the answer is divided by: the number of values of a series, or of the variables asked for."""
        return self.query.divisor(self.query.values_in(length) if self.asked is None else self.asked)

    def limits(self, size: int, links: int | None = None) -> Limits | None:
        """What is public about the answer, given the number of values of all series together, or of records."""
        if self.asked is None:
            return self.query.limits(self.states, size, links)
        known = [steps for steps in self.steps if steps is not None]
        if len(known) < len(self.steps):
            return None if math.isinf(self.whole) else Limits((0.0,), (size * self.whole,))
        divisor = self.query.divisor(size * self.asked)
        return Limits.of_steps(known, [size] * len(known), unit=self.unit, divisor=divisor)

    def total(self, counts: Sequence[Codes]) -> Codes:
        """The answer in units, from how often each variable has each of its states."""
        largest, answer = 0, np.zeros(self.numbers, dtype=np.int64)
        for steps, count in zip(self.steps, counts, strict=True):
            if steps is None:
                raise QueryError("the query must add up over variables", got="one that does not")
            largest += int(np.abs(steps).max()) * int(count.sum())
            answer += steps @ count
        if largest >= 2**62:
            raise QueryError(
                f"the answer must stay below 2^62 steps of {float(self.unit):g}",
                got=f"up to {largest:.1e}",
                why="exact noise is drawn on 64-bit integers",
                fix="Round the weights and the states' numbers to fewer digits",
            )
        return answer
