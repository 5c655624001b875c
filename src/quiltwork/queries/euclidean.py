"""A question as Gaussian noise sees it: what one value changes, measured in L2 norm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork.beliefs import Belief
from quiltwork.data import Countable
from quiltwork.queries.base import Asked, Numbers, Query, States, Variables
from quiltwork.types import Codes


@dataclass(frozen=True)
class Euclidean(Query):
    """The same question with its sensitivity in L2 norm, for theorems that turn a profile into noise (Statement 78).

    >>> from quiltwork import Histogram
    >>> round(Euclidean(Histogram()).lipschitz(["sit", "walk", "run"]), 6)
    1.414214
    """

    query: Query

    @property
    def integer(self) -> bool:  # type: ignore[override]
        """As for the query itself."""
        return self.query.integer

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        """As for the query itself."""
        return self.query.ordered

    @property
    def followed(self) -> bool:  # type: ignore[override]
        """As for the query itself."""
        return self.query.followed

    @property
    def by_part(self) -> bool:  # type: ignore[override]
        """As for the query itself."""
        return self.query.by_part

    @property
    def names_variables(self) -> bool:  # type: ignore[override]
        """As for the query itself."""
        return self.query.names_variables

    @property
    def text(self) -> str:
        """As for the query itself."""
        return self.query.text

    def to_dict(self) -> dict[str, Any]:
        """As for the query itself: what is recorded is what was asked."""
        return self.query.to_dict()

    def sensitivity(self, states: States) -> NDArray[np.float64]:
        """The most that the answer changes in L2 norm."""
        return self.query.euclidean(states)

    def unit(self, states: States) -> Fraction:
        """As for the query itself."""
        return self.query.unit(states)

    def divisor(self, size: int) -> int:
        """As for the query itself."""
        return self.query.divisor(size)

    def values_in(self, size: int) -> int:
        """As for the query itself."""
        return self.query.values_in(size)

    def within(self, belief: Belief) -> Query:
        """The same of values that consist of several variables."""
        return Euclidean(self.query.within(belief))

    def in_windows(self) -> Query:
        """The same of windows."""
        return Euclidean(self.query.in_windows())

    def unrolled(self, names: Mapping[str, Sequence[str]]) -> Query | None:
        """The same of the network of all steps."""
        found = self.query.unrolled(names)
        return None if found is None else Euclidean(found)

    def steps(self, states: States) -> Codes | None:
        """As for the query itself."""
        return self.query.steps(states)

    def on(self, belief: Belief) -> Asked:
        """What it asks, with changes in L2 norm."""
        return self._measured(self.query.on(belief))

    def by_variable(self, variables: Variables) -> Asked:
        """What it asks of each variable of a record, with changes in L2 norm."""
        return self._measured(self.query.by_variable(variables))

    def _measured(self, asked: Asked) -> Asked:
        return replace(asked, query=self, sensitivity=asked.euclidean)

    def evaluate(self, series: Countable) -> Numbers:
        """As for the query itself."""
        return self.query.evaluate(series)

    def labels(self, states: States) -> tuple[str, ...]:
        """As for the query itself."""
        return self.query.labels(states)
