"""What is public about an answer before it is asked: how small and how large each number can be, and their sum.

An answer with noise may be outside of these limits. The nearest answer within them costs nothing, for it is computed
from what was released and from public facts, and it is never further from the truth (Statement 74).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from quiltwork.types import Codes, Floats

HALVINGS = 52  # of the interval that the shift is in: as precise as floats are


@dataclass(frozen=True)
class Limits:
    """Each number of an answer is from ``low`` to ``high``, and all add up to ``total`` if that is known.

    >>> Limits((0.0, 0.0, 0.0), (10.0, 10.0, 10.0), 10.0).nearest(np.array([8.0, 5.0, -4.0])).round(6).tolist()
    [6.5, 3.5, 0.0]
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    total: float | None = None

    @classmethod
    def of_steps(
        cls, steps: Sequence[Codes], counts: Sequence[int], *, unit: Fraction = Fraction(1), divisor: int = 1
    ) -> "Limits":
        """Of an answer that adds up: ``steps[j]`` is what each state adds to each number, ``counts[j]`` how often."""

        def scaled(numbers: Sequence[int]) -> tuple[float, ...]:
            return tuple(float(unit * n / divisor) for n in numbers)

        low = [sum(int(s[row].min()) * n for s, n in zip(steps, counts, strict=True)) for row in range(len(steps[0]))]
        high = [sum(int(s[row].max()) * n for s, n in zip(steps, counts, strict=True)) for row in range(len(steps[0]))]
        whole = [np.unique(s.sum(axis=0)) for s in steps]
        fixed = len(low) > 1 and all(len(sums) == 1 for sums in whole)
        total = scaled([sum(int(sums[0]) * n for sums, n in zip(whole, counts, strict=True))])[0] if fixed else None
        return cls(scaled(low), scaled(high), total)

    @property
    def width(self) -> float:
        """The most by which two answers can differ in one number."""
        return max(high - low for low, high in zip(self.low, self.high, strict=True))

    def nearest(self, numbers: Floats) -> Floats:
        """The nearest answer within the limits, in Euclidean distance; of several answers, that of each.

        It is the answer shifted by the same number everywhere and cut off at the limits. The limits are convex and the
        truth is within them, so no answer gets further away from it.
        """
        low, high = np.array(self.low), np.array(self.high)
        if self.total is None:
            return np.asarray(np.clip(numbers, low, high))
        least, most = (numbers - high).min(axis=-1), (numbers - low).max(axis=-1)
        for _ in range(HALVINGS):
            shift = (least + most) / 2
            too_much = np.clip(numbers - shift[..., None], low, high).sum(axis=-1) > self.total
            least, most = np.where(too_much, shift, least), np.where(too_much, most, shift)
        return np.asarray(np.clip(numbers - most[..., None], low, high))

    def whole(self, numbers: Floats) -> Floats:
        """Whole numbers near these that keep to the limits; those with the largest remainders are rounded up.

        >>> Limits((0.0, 0.0), (9.0, 9.0), 9.0).whole(np.array([5.5, 3.5])).tolist()
        [6.0, 3.0]
        """
        if self.total is None:
            return np.round(numbers)
        floors = np.floor(numbers + 1e-9)
        more = round(self.total - float(floors.sum()))
        order = np.argsort(-(numbers - floors), kind="stable")
        floors[order[: max(more, 0)]] += 1
        return floors


def fixed_limits(low: float, high: float, size: int, links: int | None) -> Limits:  # noqa: ARG001 - the same for all
    """Of one number that is always between the same two.

    >>> fixed_limits(0.0, 1.0, 100, None)
    Limits(low=(0.0,), high=(1.0,), total=None)
    """
    return Limits((low,), (high,))
