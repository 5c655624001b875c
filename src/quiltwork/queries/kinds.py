"""Questions about series and records: counts, shares, sums, means, transitions, and any function of your own."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quiltwork.beliefs import Belief
from quiltwork.data import Countable
from quiltwork.data.values import level_numbers
from quiltwork.errors import QueryError, did_you_mean
from quiltwork.numeric import float_above
from quiltwork.queries.base import LARGEST_TOTAL, Asked, Numbers, Query, States, Totals, Variables
from quiltwork.queries.limits import Limits
from quiltwork.queries.measured import MeasuredMean, MeasuredSum
from quiltwork.types import Codes, Flags

LEAST = Fraction(1, 10**50)


@dataclass(frozen=True)
class Count(Query):
    """How often a state occurs, or any of several: ``walk|run``, unless a state has that very name.

    >>> Count("walk").sensitivity(["sit", "walk", "run"]).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    >>> Count("walk|run").sensitivity(["sit", "walk", "run"]).tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """

    state: str

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return f"count:{self.state}"

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        return {"kind": "count", "state": self.state}

    def counted(self, states: States) -> Flags:
        """Which states are counted."""
        return among(self.state, states)

    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """1 where exactly one of the two states is counted."""
        hit = self.counted(states)
        return np.asarray(np.not_equal.outer(hit, hit), dtype=np.float64)

    def steps(self, states: States) -> Codes:
        """1 for what is counted."""
        return self.counted(states)[None, :].astype(np.int64)

    def evaluate(self, series: Countable) -> Codes:
        """The count."""
        return np.asarray(self.steps(series.states) @ series.counts())


def among(name: str, states: States) -> Flags:
    """Which states a text names: one of them, or several with ``|`` between them.

    >>> among("b|c", ["a", "b", "c"]).tolist(), among("b|c", ["a", "b|c"]).tolist()
    ([False, True, True], [False, True])
    """
    named = [name] if name in states else [part.strip() for part in name.split("|")]
    for state in named:
        if state not in states:
            raise QueryError(
                "the counted state must be one of the belief's states",
                got=repr(state),
                fix=did_you_mean(state, states, f"Choose from {', '.join(states)}"),
            )
    return np.array([state in named for state in states])


@dataclass(frozen=True)
class Share(Count):
    """Which share of the values is one of these states: the count, divided by the public number of values.

    >>> Share("walk|run").text, Share("walk|run").divisor(1000), Share("walk|run").lipschitz(["sit", "walk", "run"])
    ('share:walk|run', 1000, 1.0)
    """

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return f"share:{self.state}"

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        return {"kind": "share", "state": self.state}

    def divisor(self, size: int) -> int:
        """The number of values."""
        return size

    def undivided(self) -> Query:
        """The count."""
        return Count(self.state)


@dataclass(frozen=True)
class Histogram(Query):
    """How often each state occurs, as one release of all counts.

    >>> Histogram().sensitivity(["sit", "walk"]).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """

    balanced = True

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return "histogram"

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        return {"kind": self.text}

    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """2 between different states: one count falls, another rises."""
        return 2.0 * ~np.eye(len(states), dtype=bool)

    def steps(self, states: States) -> Codes:
        """1 in each state's own count."""
        return np.eye(len(states), dtype=np.int64)

    def evaluate(self, series: Countable) -> Codes:
        """The counts, in the order of the states."""
        return series.counts()

    def labels(self, states: States) -> tuple[str, ...]:
        """The states."""
        return tuple(states)

    def present(self, numbers: Sequence[float], states: States) -> dict[str, float]:
        """Numbers by state."""
        return dict(zip(states, numbers, strict=True))


@dataclass(frozen=True)
class Frequencies(Histogram):
    """Which share of the values each state has: the histogram, divided by the public number of values.

    >>> Frequencies().divisor(1000)
    1000
    """

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return "frequencies"

    def divisor(self, size: int) -> int:
        """The number of values."""
        return size

    def undivided(self) -> Query:
        """The histogram."""
        return Histogram()


@dataclass(frozen=True)
class Sum(Query):
    """The sum of numeric states: of the numbers that their names are, or of given ``values``.

    Levels from ``bins``, which are named by their edges, count as their midpoints (the outer two as wide as their
    neighbours).

    >>> Sum().sensitivity(["0", "10", "25"]).tolist()
    [[0.0, 10.0, 25.0], [10.0, 0.0, 15.0], [25.0, 15.0, 0.0]]
    >>> Sum({"off": 0, "on": 1.5}).unit(["off", "on"])
    Fraction(3, 2)
    """

    values: Mapping[str, float | str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping | None):
            raise QueryError("values must be a mapping of states to numbers", got=type(self.values).__name__)
        if self.values is not None:  # a copy: what was calibrated must not change afterwards
            object.__setattr__(self, "values", dict(self.values))

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return "sum"

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values; numbers as decimal text, which is taken at its word."""
        values = {} if self.values is None else {"values": {s: str(number) for s, number in self.values.items()}}
        return {"kind": self.text} | values

    def _numbers(self, states: States) -> list[Fraction]:
        numbers: list[Fraction] = []
        levels = level_numbers(states) if self.values is None else None
        for n, state in enumerate(states):
            value = levels[n] if levels else state if self.values is None else self.values.get(state)
            try:
                # decimal text is taken at its word: 0.1 is one tenth
                numbers.append(Fraction(str(value)))
            except (ValueError, ZeroDivisionError):
                raise QueryError(
                    f"{self.text} needs a number for every state",
                    got=f"state {state!r} without one",
                    why="only numbers can be added up",
                    fix="Name the states by their numbers, use bins with two edges or more, or say which number each "
                    f"stands for: {self.text.title()}({{state: number}}), state_values='off=0,on=1.5'; for records, "
                    "use `over A,B`",
                ) from None
            if numbers[-1] and not LEAST <= abs(numbers[-1]) <= 1 / LEAST:
                raise QueryError(
                    f"{self.text} needs numbers between 1e-50 and 1e50, or 0",
                    got=f"another for state {state!r}",
                    fix="Change the unit",
                )
        return numbers

    def within(self, belief: Belief) -> Query:
        """Of real values, their own sum."""
        if not belief.real:
            return super().within(belief)
        if self.values is not None:
            raise QueryError(f"{self.text} of real values takes no numbers for states", got="some", fix="Omit values")
        return self._measured()

    def _measured(self) -> Query:
        return MeasuredSum()

    def unit(self, states: States) -> Fraction:
        """The largest number of which every state's value is a whole multiple."""
        numbers = self._numbers(states)
        common = math.lcm(*(n.denominator for n in numbers))
        step = math.gcd(*(int(n * common) for n in numbers))
        return Fraction(step, common) if step else Fraction(1)

    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """The distance between the two numbers, rounded up."""
        numbers = self._numbers(states)
        return np.array([[float_above(abs(y - z)) for z in numbers] for y in numbers])

    def _multiples(self, states: States) -> list[int]:
        unit = self.unit(states)
        return [int(n / unit) for n in self._numbers(states)]

    def steps(self, states: States) -> Codes:
        """The states' numbers, in units."""
        return np.array([self._multiples(states)], dtype=np.int64)

    def evaluate(self, series: Countable) -> Codes:
        """The sum, in units."""
        unit = self.unit(series.states)
        multiples = self._multiples(series.states)
        total = sum(m * int(c) for m, c in zip(multiples, series.counts(), strict=True))
        largest = max(map(abs, multiples)) * series.size
        if largest >= 2**62:
            raise QueryError(
                f"{self.text} must stay below 2^62 steps of {float(unit):g}",
                got=f"up to {float(largest):.1e}",
                why="exact noise is drawn on 64-bit integers",
                fix="Round the values of the states to fewer digits",
            )
        return np.array([total], dtype=np.int64)


@dataclass(frozen=True)
class Mean(Sum):
    """The mean of numeric states: the sum, divided by the public number of values.

    >>> Mean().lipschitz(["0", "10"]), Mean().divisor(1000)
    (10.0, 1000)
    """

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return "mean"

    def divisor(self, size: int) -> int:
        """The number of values."""
        return size

    def undivided(self) -> Query:
        """The sum."""
        return Sum(self.values)

    def _measured(self) -> Query:
        return MeasuredMean()


@dataclass(frozen=True)
class Transitions(Query):
    """How often each state is directly followed by each.

    Changing one value moves the transition into it and the one out of it: two counts fall and two rise. Changing n
    neighbours moves n + 1 transitions, not 2n.

    >>> Transitions().lipschitz(["sit", "walk"])
    4.0
    """

    ordered = followed = balanced = True

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return "transitions"

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        return {"kind": self.text}

    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """2 for each value that changes, and 2 once besides: for n neighbours 2 (n + 1) in all."""
        return np.full((len(states),) * 2, 2.0)  # Statement 49

    def within(self, belief: Belief) -> Query:  # noqa: ARG002 - the same for all
        """The query itself: it counts how whole steps follow each other."""
        return self

    def by_variable(self, variables: Variables) -> Asked:
        """Not for records: their variables do not follow one another."""
        raise QueryError(
            "transitions need a series", got=f"a record of {len(variables)} variables", why="they have no order in time"
        )

    def totals(self, states: States) -> Totals:
        """All of them together: how many values directly follow another is public."""
        pairs = len(states) ** 2
        return (tuple(range(pairs)),) if 1 < pairs <= LARGEST_TOTAL else ()

    def limits(self, states: States, size: int, links: int | None = None) -> Limits | None:
        """As many as there are values that directly follow another; in one series all but the first do."""
        total = float(max(0, size - 1) if links is None else links)
        return Limits((0.0,) * len(states) ** 2, (total,) * len(states) ** 2, total)

    def evaluate(self, series: Countable) -> Codes:
        """The counts, row by row."""
        return series.transitions().ravel()

    def labels(self, states: States) -> tuple[str, ...]:
        """Pairs of states."""
        return tuple(f"{x} → {y}" for x in states for y in states)

    def present(self, numbers: Sequence[float], states: States) -> dict[str, dict[str, float]]:
        """Numbers by state and next state."""
        k = len(states)
        rows = (numbers[n * k : (n + 1) * k] for n in range(k))
        return {x: dict(zip(states, row, strict=True)) for x, row in zip(states, rows, strict=True)}


@dataclass(frozen=True)
class Custom(Query):
    """Any function of the stretches, with a declared Lipschitz constant.

    ``function`` gets the stretches as a list of arrays of state codes and returns a number or a vector. You vouch for
    ``constant``: changing one value must change the result by at most that much in L1 norm. With ``integer=True`` the
    result is made of integers and gets exact integer noise; else it gets OpenDP's noise on floats.

    >>> changes = Custom(lambda runs: sum(int((r[1:] != r[:-1]).sum()) for r in runs), constant=2, integer=True)
    >>> from quiltwork import Series
    >>> changes.evaluate(Series.from_values("aab", states=["a", "b"])).tolist()
    [1]
    """

    function: Callable[[list[Codes]], ArrayLike]
    constant: float = field(kw_only=True)
    integer: bool = field(default=False, kw_only=True)
    name: str = field(default="custom", kw_only=True)
    ordered = True
    by_part = False

    def __post_init__(self) -> None:
        number = isinstance(self.constant, int | float)
        if not callable(self.function):
            raise QueryError("a custom query needs a function", got=type(self.function).__name__)
        if not (number and math.isfinite(self.constant) and self.constant >= 0):
            raise QueryError(
                "the Lipschitz constant must be finite and not negative",
                got=str(self.constant),
                why="it says how much one value can change the answer",
            )

    @property
    def text(self) -> str:
        """The name given to it."""
        return self.name

    def to_dict(self) -> dict[str, Any]:
        """What is known of it without its function: its name and constant."""
        return Declared(self.name, self.constant).to_dict()

    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """The declared constant between different states."""
        return self.constant * ~np.eye(len(states), dtype=bool)

    def within(self, belief: Belief) -> Query:  # noqa: ARG002 - the same for all
        """The query itself: its constant is about a whole step."""
        return self

    def evaluate(self, series: Countable) -> Numbers:
        """The function's result as a vector."""
        result = np.atleast_1d(np.asarray(self.function([s.copy() for s in series.stretches])))
        if result.ndim != 1 or result.dtype.kind not in "iuf":
            raise QueryError(f"{self.name} must return a number or a vector of numbers", got=f"shape {result.shape}")
        if self.integer:
            if result.dtype.kind == "f":
                raise QueryError(f"{self.name} must return integers", got="floats", why="integer=True was declared")
            if result.size and max(abs(int(n)) for n in (result.min(), result.max())) >= 2**62:
                raise QueryError(f"{self.name} must stay below 2^62", why="exact noise is drawn on 64-bit integers")
            return result.astype(np.int64)
        floats = result.astype(np.float64)
        if not np.all(np.isfinite(floats)):
            raise QueryError(f"{self.name} must return finite numbers", got="infinity or NaN")
        return floats

    def present(self, numbers: Sequence[float], states: States) -> Any:  # noqa: ARG002 - same for all states
        """A number, or a list of numbers."""
        return numbers[0] if len(numbers) == 1 else list(numbers)


@dataclass(frozen=True)
class Declared(Query):
    """A question of which only the sensitivity is known, as in the record of a release: it cannot be asked again.

    ``changes`` is how much one value can change the answer in L1 norm: a number, or one for each pair of states.

    >>> Declared("changes", 2.0).sensitivity(["sit", "walk"]).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """

    name: str
    changes: float | tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        try:
            table = np.array(self.changes, dtype=np.float64)
        except (TypeError, ValueError):
            table = np.array(np.nan)
        if not isinstance(self.name, str) or isinstance(self.changes, bool | str):
            raise QueryError("a declared query needs a name and its sensitivity", got="something else")
        if table.ndim not in (0, 2) or len(set(table.shape)) > 1 or not (np.isfinite(table) & (table >= 0)).all():
            raise QueryError(
                f"the sensitivity of {self.name} must be a number or a square table, finite and not negative",
                got="something else",
                why="it says how much one value can change the answer",
            )
        if table.ndim and (np.any(table != table.T) or np.any(np.diag(table))):
            raise QueryError(
                f"the sensitivity of {self.name} must be symmetric with zeros on its diagonal",
                got="another table",
                why="a change and its reverse move the answer equally far",
            )
        changes = float(table) if table.ndim == 0 else tuple(map(tuple, table.tolist()))
        object.__setattr__(self, "changes", changes)

    @property
    def text(self) -> str:
        """The name given to it."""
        return self.name

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        table = self.changes if isinstance(self.changes, float) else [list(row) for row in self.changes]
        return {"kind": "declared", "name": self.name, "sensitivity": table}

    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """As declared."""
        if isinstance(self.changes, float):
            return self.changes * ~np.eye(len(states), dtype=bool)
        if len(self.changes) != len(states):
            raise QueryError(
                f"the sensitivity of {self.name} must have a row for each of the {len(states)} states",
                got=f"{len(self.changes)} rows",
            )
        return np.array(self.changes)

    def within(self, belief: Belief) -> Query:  # noqa: ARG002 - the same for all
        """The query itself: its sensitivity is that of a whole step."""
        return self

    def evaluate(self, series: Countable) -> Numbers:  # noqa: ARG002 - there is nothing to compute
        """Not possible."""
        raise QueryError(f"{self.name} cannot be asked again", got="a query known by its sensitivity only")
