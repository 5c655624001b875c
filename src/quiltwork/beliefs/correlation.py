"""Autocorrelation: how much of a value is still seen in the value a number of steps later."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np

from quiltwork.errors import BeliefError, NotCoveredError
from quiltwork.types import Duration, Floats, Integers

MOST_LAGS = 10**6
MOST_EXACT = 5000  # lags of a list that is checked for being an autocorrelation
LONGEST_DECAY = 1e12  # steps
NEGLIGIBLE = 1e-9  # an eigenvalue below zero by no more is rounding


@dataclass(frozen=True)
class Correlation:
    """ρ_h for h = 0, 1, 2, ..: listed lags first, then powers of ``ratio`` from the last one on.

    With ``at_most`` it bounds the size of correlations, else it is the autocorrelation itself.

    >>> ar1 = Correlation((1.0,), ratio=0.9)
    >>> ar1.at(np.array([0, 1, 2])).round(4).tolist(), round(ar1.total, 6)
    ([1.0, 0.9, 0.81], 9.0)
    """

    listed: tuple[float, ...]
    ratio: float = 0.0
    at_most: bool = False
    decay: Duration | None = None
    """What the ratio was said as: the time in which it falls to 1/e."""

    def __post_init__(self) -> None:
        listed = np.asarray(self.listed, dtype=np.float64)
        if not 1 <= len(listed) <= MOST_LAGS:
            raise _no_correlation(f"{len(listed):,} numbers", f"it has an entry for each lag, up to {MOST_LAGS:,}")
        if not np.isfinite(listed).all() or listed[0] != 1:
            raise _no_correlation("another first number" if np.isfinite(listed).all() else "NaN or infinity")
        if np.abs(listed).max() > 1 or (self.at_most and listed.min() < 0):
            size = "from 0 to 1" if self.at_most else "from -1 to 1"
            raise _no_correlation(f"a number that is not {size}", "no correlation is larger")
        if not abs(self.ratio) <= 1:
            raise _no_correlation(f"{self.ratio:g}", "powers of it are correlations: it must be from -1 to 1")
        if abs(self.ratio) == 1 and len(listed) > 1:
            raise _no_correlation("a bound that never fades", "a decay must be at most 10^12 steps")
        if not self.at_most and len(listed) > 1:
            self._check_positive(listed)

    @staticmethod
    def _check_positive(listed: Floats) -> None:
        """Whether some series has this autocorrelation, as far as it is listed."""
        from scipy.linalg import LinAlgError, cholesky, toeplitz

        if len(listed) > MOST_EXACT:
            raise BeliefError(
                f"an exact autocorrelation can have up to {MOST_EXACT:,} lags",
                got=f"{len(listed):,}",
                why="it is checked that some series has it",
                fix='Give a bound instead: {"at_most": [...]}',
            )
        try:
            cholesky(toeplitz(listed) + NEGLIGIBLE * len(listed) * np.eye(len(listed)))
        except LinAlgError:
            raise BeliefError(
                "the correlations must be those of some series",
                got="numbers that contradict each other",
                why="for example, values that agree with their neighbours cannot differ from their neighbours' "
                "neighbours",
                fix='Give a bound instead: {"at_most": [...]}',
            ) from None

    @classmethod
    def parse(cls, given: object, *, step: Duration | None) -> "Correlation":
        """As a belief file has it: a list, or an object with ``ar1``, ``at_most`` or ``decay``.

        >>> Correlation.parse({"decay": "30min"}, step=Duration.parse("1min")).at_most
        True
        """
        if isinstance(given, Correlation):
            return given
        if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
            return cls(_numbers(given))
        if isinstance(given, Mapping) and set(given) == {"ar1"}:
            ratio = _number(given["ar1"], "ar1")
            if abs(ratio) > 1:
                raise BeliefError("ar1 must be from -1 to 1", got=f"{ratio:g}", why="no correlation is larger")
            return cls((1.0,), ratio=ratio)
        if isinstance(given, Mapping) and given and set(given) <= {"at_most", "decay"}:
            decay = None if "decay" not in given else _decay(given["decay"])
            ratio = 0.0 if decay is None else _per_step(decay, step)
            return cls(_numbers(given.get("at_most", (1.0,))), ratio=ratio, at_most=True, decay=decay)
        raise BeliefError(
            "correlation must be a list, or an object with ar1, at_most or decay",
            got=f"keys {', '.join(map(str, given))}"[:60] if isinstance(given, Mapping) else type(given).__name__,
            fix='For example {"ar1": 0.9}, [1, 0.8, 0.5], {"at_most": [1, 0.9, 0.8]} or {"decay": "30min"}',
        )

    @property
    def plain(self) -> list[float] | dict[str, Any]:
        """As a belief file has it."""
        if not self.at_most:
            return {"ar1": self.ratio} if self.listed == (1.0,) and self.ratio else list(self.listed)
        listed = {} if self.listed == (1.0,) and self.decay is not None else {"at_most": list(self.listed)}
        return listed | ({} if self.decay is None else {"decay": self.decay.plain})

    @property
    def signed(self) -> bool:
        """Whether some correlation is below zero."""
        return min(self.listed) < 0 or self.ratio < 0

    def at(self, lags: Integers) -> Floats:
        """ρ at these lags."""
        lags = np.abs(lags)
        last = len(self.listed) - 1
        near = self._listed[np.minimum(lags, last)]
        with np.errstate(under="ignore"):
            return np.asarray(near * np.power(self.ratio, np.maximum(lags - last, 0).astype(np.float64)))

    @cached_property
    def _listed(self) -> Floats:
        return np.asarray(self.listed, dtype=np.float64)

    @cached_property
    def _sums(self) -> Floats:
        summed = np.cumsum(self._listed[1:], dtype=np.longdouble)  # of up to a million numbers
        return np.concatenate([[0.0], summed.astype(np.float64)])

    def summed(self, lags: Integers) -> Floats:
        """ρ_1 + .. + ρ_n for each of these numbers of lags n ≥ 0."""
        last = len(self.listed) - 1
        beyond = np.maximum(lags - last, 0).astype(np.float64)
        if abs(self.ratio) == 1:
            powers = beyond if self.ratio > 0 else -(beyond % 2)
        else:
            with np.errstate(under="ignore"):
                powers = self.ratio * (1 - np.power(self.ratio, beyond)) / (1 - self.ratio)
        return np.asarray(self._sums[np.minimum(lags, last)] + self._listed[-1] * powers)

    def between(self, first: Integers, last: Integers) -> Floats:
        """Σ ρ_|h| over all whole h from first to last; 0 where last is first - 1."""

        def up_to(h: Integers) -> Floats:  # from 0 to h; minus what lies between, where h is below 0
            sums = self.summed(np.where(h >= 0, h, -h - 1))
            return np.where(h >= 0, 1 + sums, -sums)

        return np.asarray(up_to(last) - up_to(first - 1))

    @cached_property
    def total(self) -> float:
        """Σ |ρ_h| over h = 1, 2, ..: what is seen of a value in all that follow. Infinite if it never fades."""
        return self.tail(0)

    def tail(self, lag: int) -> float:
        """Σ |ρ_h| over all h beyond a lag."""
        size, last = np.abs(self._listed), len(self.listed) - 1
        left = float(size[lag + 1 :].sum()) if lag < last else 0.0
        ratio = abs(self.ratio)
        if not size[-1] or not ratio:
            return left
        return math.inf if ratio == 1 else left + float(size[-1]) * ratio ** (max(lag - last, 0) + 1) / (1 - ratio)

    def reach(self, negligible: float) -> int:
        """A lag beyond which all correlations together are no more than this; the last listed one at least."""
        last, left = len(self.listed) - 1, self.tail(len(self.listed) - 1)
        if left <= negligible:
            return last
        if math.isinf(left):
            raise not_fading()
        return last + math.ceil(math.log(negligible / left) / math.log(abs(self.ratio))) + 1

    @property
    def sizes(self) -> "Correlation":
        """|ρ_h|, as a bound."""
        return Correlation(tuple(map(abs, self.listed)), ratio=abs(self.ratio), at_most=True, decay=self.decay)

    def every(self, n: int, *, step: Duration | None) -> "Correlation":
        """At every n-th lag; ``step`` is then the time from a value to the next."""
        count = -(-(len(self.listed) - 1) // n) + 1
        listed = tuple(self.at(n * np.arange(count)).tolist())
        if self.decay is None:
            return Correlation(listed, ratio=self.ratio**n, at_most=self.at_most)
        decay = self.decay if not self.decay.steps else Duration(self.decay.length / n, steps=True)
        return Correlation(listed, ratio=_per_step(decay, step), at_most=True, decay=decay)

    def check_length(self, length: int | None) -> None:
        """Refuse an exact list for series that it cannot be true of: beyond its last lag correlations are 0."""
        if self.at_most or self.ratio or (length is not None and length <= len(self.listed)):
            return
        size = 16 * len(self.listed)
        density = np.fft.rfft(np.concatenate([self._listed, np.zeros(size)])).real * 2 - 1
        if density.min() < -NEGLIGIBLE * size:
            raise NotCoveredError(
                "these correlations cannot belong to a longer series",
                got=f"{len(self.listed):,} lags, the last with {self.listed[-1]:g}, for "
                + ("series of any length" if length is None else f"{length:,} values"),
                why="beyond the listed lags correlations count as 0, and no series has such a drop",
                fix='List more lags, until they have faded, or give a bound: {"at_most": [...]} or {"decay": "30min"}',
            )


def not_fading() -> NotCoveredError:
    """Correlations that never fade."""
    return NotCoveredError(
        "no noise is enough for series of any length",
        why="under this belief correlations do not fade, so every further value shows more of each",
        fix="Give the length of the series, or a belief whose correlations fade",
    )


def _no_correlation(got: str, why: str = "it is 1 at lag 0, for a value agrees with itself") -> BeliefError:
    return BeliefError(
        "correlation must list correlations, from lag 0 on", got=got, why=why, fix="For example [1, 0.8, 0.5, 0.2]"
    )


def _numbers(given: object) -> tuple[float, ...]:
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str):
        raise _no_correlation(type(given).__name__, "at_most has an entry for each lag")
    return tuple(map(_number, given, repeat("correlation")))


def _number(given: object, name: str) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float | np.number) or not math.isfinite(given):
        raise BeliefError(f"{name} must hold numbers", got=type(given).__name__)
    return float(given)


def _decay(given: object) -> Duration:
    if isinstance(given, bool) or not isinstance(given, str | int | float | Duration):
        raise BeliefError("decay must be a duration or a number of steps", got=type(given).__name__, fix='"30min"')
    return Duration.parse(given, name="decay")


def _per_step(decay: Duration, step: Duration | None) -> float:
    """By which factor correlations fall from step to step, if they fall to 1/e in this time; rounded up."""
    if not decay.steps and (step is None or step.steps):
        raise BeliefError(
            "a decay in time needs a step in time",
            got=f"decay {decay} and " + ("no step" if step is None else f"a step of {step}"),
            why="correlations are needed from step to step",
            fix='"step": "1min", or give the decay as a number of steps',
        )
    steps = decay.length if decay.steps or step is None else decay.length / step.length
    if steps > LONGEST_DECAY:
        raise BeliefError(
            "a decay must be at most 10^12 steps", got=f"{steps:.3g}", why="such correlations hardly fade at all"
        )
    return math.nextafter(math.exp(-1 / steps), 1.0)
