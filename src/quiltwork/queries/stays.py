"""Questions about stays: the times from one change of state to the next.

A stay of a state is a run of it that is as long as possible; a gap ends it, and so does the end of the series. It
begins with each value that is not directly preceded by the same state, so that the number of stays is the number of
values less the number of times that the state follows itself (Statement 67).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs import Belief
from quiltwork.data import Countable
from quiltwork.errors import QueryError
from quiltwork.queries.base import Asked, Query, States, Variables
from quiltwork.queries.kinds import among
from quiltwork.queries.limits import Limits
from quiltwork.types import Codes


class InOrder(Query):
    """A question about the order of values, which records do not have."""

    ordered = followed = True

    def within(self, belief: Belief) -> Query:  # noqa: ARG002 - the same for all
        """The query itself: it is about states of whole steps."""
        return self

    def by_variable(self, variables: Variables) -> Asked:
        """Not for records: their variables do not follow one another."""
        raise QueryError(
            f"{self.text} needs a series", got=f"a record of {len(variables)} variables", why="they have no order"
        )


@dataclass(frozen=True)
class Stays(InOrder):
    """How many stays each state has, or how many there are in one state (or set of states: ``walk|run``).

    With windows a stay counts where it begins. A value that changes may then begin a stay in its own window and end
    one that began in the next, which would make up for each other in a single answer.

    >>> from quiltwork import Series
    >>> days = Series.from_values("aabba", states=["a", "b"])
    >>> Stays().evaluate(days).tolist(), Stays("a").evaluate(days).tolist()
    ([2, 1], [2])
    >>> Stays("a").lipschitz(["a", "b"]), Stays("a").in_windows().lipschitz(["a", "b"])
    (1.0, 2.0)
    """

    state: str | None = None
    windows: bool = False

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return "stays" if self.state is None else f"stays:{self.state}"

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        state = {} if self.state is None else {"state": self.state}
        return {"kind": "stays"} | state | ({"windows": True} if self.windows else {})

    def in_windows(self) -> "Stays":
        """The same for each window, where a change may move two of them."""
        return replace(self, windows=True)

    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """Of one state, 1 where one of the two is that state; of all, 2. One more with windows (Statement 67)."""
        if self.state is None:
            return (3.0 if self.windows else 2.0) * ~np.eye(len(states), dtype=bool)
        return (2.0 if self.windows else 1.0) * changes(self.state, states)

    def evaluate(self, series: Countable) -> Codes:
        """Values less those that follow the same."""
        counts, followed = series.counts(), series.transitions()
        if self.state is None:
            return counts - np.diagonal(followed)
        inside = among(self.state, series.states)
        return np.array([counts[inside].sum() - followed[np.ix_(inside, inside)].sum()])

    def limits(self, states: States, size: int, links: int | None = None) -> Limits:
        """At most every second value of a stretch begins a stay in one state; of a window, any value may."""
        most = float(size if self.windows else _most(size, links))
        count = len(self.labels(states))
        return Limits((0.0,) * count, (most,) * count)

    def labels(self, states: States) -> tuple[str, ...]:
        """The states, or the query itself."""
        return tuple(states) if self.state is None else (self.text,)

    def present(self, numbers: Sequence[float], states: States) -> Any:
        """Numbers by state, or one number."""
        return numbers[0] if self.state is not None else dict(zip(states, numbers, strict=True))


@dataclass(frozen=True)
class StayLength(InOrder):
    """How long stays in a state are on average: how many values there are in it, and in how many stays.

    Both numbers get noise, and their ratio is what people read. With windows the stays that begin in a window are set
    against the values in it.

    >>> from quiltwork import Series
    >>> days = Series.from_values("aabba", states=["a", "b"])
    >>> query = StayLength("a")
    >>> query.evaluate(days).tolist(), query.derived([3, 2], days.states), query.lipschitz(["a", "b"])
    ([3, 2], 1.5, 2.0)
    """

    state: str
    windows: bool = False

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return f"stay-length:{self.state}"

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        return {"kind": "stay-length", "state": self.state} | ({"windows": True} if self.windows else {})

    def in_windows(self) -> "StayLength":
        """The same for each window."""
        return replace(self, windows=True)

    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """1 for the values, and that of the number of stays."""
        return changes(self.state, states) + Stays(self.state, self.windows).sensitivity(states)

    def evaluate(self, series: Countable) -> Codes:
        """The number of values and the number of stays."""
        inside = among(self.state, series.states)
        return np.array([series.counts()[inside].sum(), *Stays(self.state).evaluate(series)])

    def limits(self, states: States, size: int, links: int | None = None) -> Limits:  # noqa: ARG002 - the same for all
        """Of the values, and of their stays."""
        return Limits((0.0, 0.0), (float(size), float(size if self.windows else _most(size, links))))

    def labels(self, states: States) -> tuple[str, ...]:  # noqa: ARG002 - the same for all
        """Values and stays."""
        return "values in it", "stays"

    def present(self, numbers: Sequence[float], states: States) -> dict[str, float]:
        """Both numbers."""
        return dict(zip(self.labels(states), numbers, strict=True))

    def derived(self, numbers: Sequence[float], states: States) -> float | None:  # noqa: ARG002 - the same for all
        """The mean length, at least 1; None where no stay is left after the noise."""
        values, stays = numbers
        return None if stays < 1 else max(1.0, values / stays)

    def derived_between(self, numbers: Sequence[float], error: float) -> tuple[float, float]:
        """With the fewest values in the most stays, and the most in the fewest; no stay may be left."""
        values, stays = numbers
        high = (values + error) / (stays - error) if stays - error >= 1 else math.inf
        return max(1.0, (values - error) / (stays + error)), max(1.0, high)

    def in_words(self, derived: Any) -> str:
        """The mean length, in values."""
        return "unknown" if derived is None else f"about {derived:.2g} values each"


@dataclass(frozen=True)
class StayLengths(InOrder):
    """How many stays in a state have each class of lengths: below the first edge, from one to the next, from the last.

    >>> from quiltwork import Series
    >>> days = Series.from_values("aabbaaaab", states=["a", "b"])
    >>> query = StayLengths("a", (2, 4))
    >>> dict(zip(query.labels(days.states), query.evaluate(days).tolist(), strict=True))
    {'1': 0, '2..3': 1, '>=4': 1}
    """

    state: str
    edges: Sequence[int]
    followed = by_part = False

    def __post_init__(self) -> None:
        edges = tuple(self.edges) if not isinstance(self.edges, str) else ()
        whole = all(isinstance(edge, int) and not isinstance(edge, bool) for edge in edges)
        if not edges or not whole or edges[0] < 2 or any(b <= a for a, b in pairwise(edges)) or edges[-1] > 10**15:
            raise QueryError(
                "lengths must be whole numbers from 2 on, each larger than the one before",
                got=repr(self.edges)[:40],
                why="they part the lengths of stays into classes",
                fix="For example stay-lengths:walk:2,5,10",
            )
        object.__setattr__(self, "edges", edges)

    @classmethod
    def parse(cls, text: str) -> "StayLengths":
        """From ``STATE:E1,E2,..``."""
        state, _, edges = text.rpartition(":")
        try:
            listed = tuple(int(edge) for edge in edges.split(","))
        except ValueError:
            listed = ()
        return cls(state, listed)

    @property
    def text(self) -> str:
        """The query as written on the command line."""
        return f"stay-lengths:{self.state}:{','.join(map(str, self.edges))}"

    def to_dict(self) -> dict[str, Any]:
        """The query as plain values."""
        return {"kind": "stay-lengths", "state": self.state, "edges": list(self.edges)}

    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """3 where one of the two states is that state: two stays become one, or one becomes two (Statement 67)."""
        return 3.0 * changes(self.state, states)

    def evaluate(self, series: Countable) -> Codes:
        """From the values themselves, which come into memory."""
        inside = among(self.state, series.states)
        lengths = [np.zeros(0, dtype=np.int64)]
        for stretch in series.stretches:
            edges = np.diff(inside[stretch].astype(np.int8), prepend=0, append=0)
            lengths.append(np.flatnonzero(edges < 0) - np.flatnonzero(edges > 0))
        classes = np.searchsorted(np.array(self.edges), np.concatenate(lengths), side="right")
        return np.bincount(classes, minlength=len(self.edges) + 1)

    def limits(self, states: States, size: int, links: int | None = None) -> Limits:
        """A class has no more stays than values for stays of its least length."""
        most = _most(size, links)
        return Limits(
            (0.0,) * len(self.labels(states)), tuple(float(min(most, size // least)) for least in (1, *self.edges))
        )

    def labels(self, states: States) -> tuple[str, ...]:  # noqa: ARG002 - the same for all
        """The classes of lengths."""
        inner = [(low, high - 1) for low, high in pairwise((1, *self.edges))]
        return (*(str(low) if low == high else f"{low}..{high}" for low, high in inner), f">={self.edges[-1]}")

    def present(self, numbers: Sequence[float], states: States) -> dict[str, float]:
        """Numbers by class."""
        return dict(zip(self.labels(states), numbers, strict=True))


def changes(name: str, states: States) -> NDArray[np.float64]:
    """1 between a state that a text names and one that it does not."""
    inside = among(name, states)
    return np.not_equal.outer(inside, inside).astype(np.float64)


def _most(size: int, links: int | None) -> int:
    """The most stays in one state that this many values can have, of which so many directly follow another.

    >>> _most(5, 4), _most(5, 0), _most(5, None)
    (3, 5, 5)
    """
    return size if links is None else (2 * size - links) // 2
