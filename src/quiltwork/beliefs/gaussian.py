"""The belief that a series of numbers is Gaussian, with correlations that fade along time."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quiltwork.beliefs.base import Belief, as_step, check_multiple
from quiltwork.beliefs.correlation import NEGLIGIBLE, Correlation
from quiltwork.errors import BeliefError, check_name
from quiltwork.types import Floats, Step

LARGEST = 1e100
MOST_SUBJECTS = 1000


class GaussianBelief(Belief):
    """A series of real numbers that is Gaussian: any mean, also one that changes along time, and any variance.

    ``distance`` is how far apart two values at one moment may be and still be hidden from each other, in the unit of
    the data. ``correlation`` is what is known about the correlation of values h steps apart, for h = 0, 1, 2, ..:

    - ``{"ar1": 0.9}``: it is 0.9^h;
    - a list: it is as listed, and 0 beyond;
    - ``{"at_most": [1, 0.9, ..]}``: its size is at most as listed, and 0 beyond;
    - ``{"decay": "30min"}``: its size is at most e^(-time / 30 minutes); after a list of ``at_most`` it goes on so.

    The last two are classes: every belief with |cov(X_t, X_i)| ≤ r_|t-i| var(X_i) is in them.

    Series of different subjects are independent, unless ``between`` says how they are correlated: a number for all
    pairs, or a table with a row for each of the ``subjects`` (their names, or how many there are). Subjects a and b are
    then correlated by ``between[a][b]`` times the correlation along time. ``deviation`` says how widely the values of
    each are spread, if they differ in that. ``spread`` is the width of the range that nearly all values lie in: noise
    does not depend on it, but an answer whose ± is more than half of what it can range over is noise only.

    >>> belief = GaussianBelief({"ar1": 0.9}, distance=1.0, step="1min", unit="kW")
    >>> belief
    GaussianBelief(distance=1 kW, ar1=0.9, step=1min)
    >>> belief.correlation.total
    9.000000000000002
    """

    states = ("lower", "higher")  # two values that are the distance apart stand for all that are hidden
    start = "stationary"
    real = True
    separating = False
    mechanisms = ("curve", "group", "entry")

    def __init__(
        self,
        correlation: object,
        *,
        distance: float,
        step: Step | None = None,
        unit: str | None = None,
        subjects: Sequence[str] | int | None = None,
        between: float | ArrayLike | None = None,
        deviation: Sequence[float] | None = None,
        spread: float | None = None,
    ):
        self.step = as_step(step)
        self.correlation = Correlation.parse(correlation, step=self.step)
        self.distance: float = _positive(distance, "distance", "it is the difference at one moment that is hidden")
        self.unit = None if unit is None else check_name(unit, "a unit", error=BeliefError)
        self.subjects = _subjects(subjects, between)
        self.between = _between(between, len(self.subjects)) if self.subjects else None
        self.deviation = _deviation(deviation, len(self.subjects))
        self._count_only = isinstance(subjects, int)
        self.spread = None if spread is None else _positive(spread, "spread", "it is the width of a range of values")

    def __repr__(self) -> str:
        c = self.correlation
        if not c.at_most:
            what = f"ar1={c.ratio:g}" if c.listed == (1.0,) else f"{len(c.listed)} lags"
        else:
            what = "at_most" if c.decay is None else f"decay={c.decay}"
        whose = f", {len(self.subjects)} subjects" if self.subjects else ""
        step = "" if self.step is None else f", step={self.step}"
        return f"GaussianBelief(distance={self.hidden}, {what}{whose}{step})"

    @property
    def hidden(self) -> str:
        """The distance with its unit."""
        return f"{self.distance:g}" + ("" if self.unit is None else f" {self.unit}")

    def check_size(self, length: int | None) -> None:
        """Refuse lengths that the correlations cannot be true of."""
        self.correlation.check_length(length)

    @property
    def named_subjects(self) -> tuple[str, ...] | None:
        """The names of subjects that are correlated with each other; None if any names will do."""
        return None if self._count_only or not self.subjects else self.subjects

    @cached_property
    def factor(self) -> float:
        """How much of a subject's value is seen in all subjects, as a multiple of what is seen in its own series.

        >>> GaussianBelief({"ar1": 0.5}, distance=1, subjects=3, between=0.2).factor
        1.4
        """
        if self.between is None:
            return 1.0
        spread = np.ones(len(self.subjects)) if self.deviation is None else np.asarray(self.deviation)
        seen = self.between * spread[None, :] / spread[:, None]  # row a, column b: cov(b, a) / var(a)
        return float(np.abs(seen).sum(axis=1).max())

    def with_distance(self, distance: float) -> "GaussianBelief":
        """The same belief with another distance."""
        return GaussianBelief(**self._parts() | {"distance": distance})

    def _parts(self) -> dict[str, Any]:
        return {
            "correlation": self.correlation,
            "distance": self.distance,
            "step": self.step,
            "unit": self.unit,
            "subjects": len(self.subjects) if self._count_only else self.subjects or None,
            "between": self.between,
            "deviation": self.deviation,
            "spread": self.spread,
        }

    def every(self, n: int) -> "GaussianBelief":
        """The belief about every n-th value."""
        times = check_multiple(n)
        step = None if self.step is None else self.step.times(times)
        return GaussianBelief(**self._parts() | {"correlation": self.correlation.every(times, step=step), "step": step})

    def law(self, length: int) -> Floats:
        """The correlation of all values of a short series with each other; of a class, the bound on it."""
        positions = np.arange(length)
        return self.correlation.at(positions[:, None] - positions[None, :])

    def numbers(self, length: int, count: int, rng: np.random.Generator) -> Floats:
        """Series that the belief makes up, with mean 0 and variance 1; shape (count, length). Not for classes."""
        if self.correlation.at_most:
            raise BeliefError("a class of beliefs has no law to draw from", got=repr(self), fix="Give correlations")
        if self.correlation.listed == (1.0,):
            drawn = rng.standard_normal((count, length))
            ratio = self.correlation.ratio
            for t in range(1, length):
                drawn[:, t] = ratio * drawn[:, t - 1] + math.sqrt(1 - ratio**2) * drawn[:, t]
            return np.asarray(drawn)
        return np.asarray(rng.multivariate_normal(np.zeros(length), self.law(length), size=count, method="cholesky"))

    def _behaviour(self) -> dict[str, Any]:
        c = self.correlation
        lags = np.array([1, 10, 100])
        return {
            "distance": self.distance,
            "unit": self.unit,
            "spread": self.spread,
            "class": c.at_most,
            "correlation": {str(lag): float(r) for lag, r in zip(lags, c.at(lags), strict=True)},
            "sum_of_correlations": 1 + 2 * c.total if math.isfinite(c.total) else None,
            "subjects": list(self.subjects) or None,
        }

    def to_dict(self) -> dict[str, Any]:
        """The contents of a belief file."""
        contents: dict[str, Any] = {
            "kind": "gaussian",
            "distance": self.distance,
            "correlation": self.correlation.plain,
        }
        if self.unit is not None:
            contents["unit"] = self.unit
        if self.between is not None:
            contents["subjects"] = len(self.subjects) if self._count_only else list(self.subjects)
            contents["between"] = self.between.tolist()
        if self.deviation is not None:
            contents["deviation"] = list(self.deviation)
        if self.spread is not None:
            contents["spread"] = self.spread
        return self._with_step(contents)


def _positive(given: object, name: str, why: str) -> float:
    number = isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given)
    if not number or not 1 / LARGEST <= float(given) <= LARGEST:  # type: ignore[arg-type]
        raise BeliefError(f"{name} must be a positive number", got=repr(given)[:40], why=why)
    return float(given)  # type: ignore[arg-type]


def _subjects(given: object, between: object) -> tuple[str, ...]:
    if (given is None) != (between is None):
        raise BeliefError(
            "subjects and between belong together",
            got="only one of them",
            why="without correlations between them, subjects are independent",
            fix='For example "subjects": ["ann", "bob"], "between": 0.3',
        )
    if given is None:
        return ()
    if isinstance(given, int) and not isinstance(given, bool):
        names = tuple(str(n) for n in range(1, given + 1)) if 1 <= given <= MOST_SUBJECTS else ()
    elif isinstance(given, Sequence) and not isinstance(given, str):
        names = tuple(check_name(str(name), "a subject", error=BeliefError) for name in given)
    else:
        names = ()
    if not 1 <= len(set(names)) == len(names) <= MOST_SUBJECTS:
        raise BeliefError(
            f"subjects must be 1 to {MOST_SUBJECTS:,} different names, or how many there are",
            got=repr(given)[:40],
        )
    return names


def _between(given: Any, count: int) -> Floats:
    try:
        table = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.full(1, np.nan)
    if table.ndim == 0:
        table = np.where(np.eye(count, dtype=bool), 1.0, table)
    if table.shape != (count, count) or not np.isfinite(table).all():
        raise BeliefError(
            f"between must be a number, or a table of {count} rows and columns",
            got=f"shape {'x'.join(map(str, table.shape))}",
            why="it has the correlation of each pair of subjects",
        )
    fits = np.array_equal(table, table.T) and bool((np.diag(table) == 1).all()) and np.abs(table).max() <= 1
    if not fits or np.linalg.eigvalsh(table).min() < -NEGLIGIBLE * count:
        raise BeliefError(
            "between must be a table of correlations",
            got="one that is not symmetric with 1 on its diagonal, or that contradicts itself",
            why="no people have such correlations",
        )
    return table


def _deviation(given: Sequence[float] | None, count: int) -> tuple[float, ...] | None:
    if given is None:
        return None
    spread = tuple(_positive(one, "deviation", "it is how widely values are spread") for one in given)
    if len(spread) != count:
        raise BeliefError("deviation must have a number for each subject", got=f"{len(spread)} for {count} subjects")
    return spread
