"""Mean and covariance of what values add up to, run by run, under a chain: exact, without a table of all outcomes.

A *run* is some values in a row. What is known of it given its first state are four tables, and those of two runs in a
row follow from those of each: so a run of any length takes as many products as its length has binary digits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quiltwork.types import Floats


class Moments(NamedTuple):
    """The mean of some numbers, and their covariance."""

    mean: Floats
    covariance: Floats


@dataclass(frozen=True)
class Run:
    """What is known of some values in a row, given the state of the first: of C, what they add up to.

    ``after[x, y]`` is the probability that the value after the last is y, ``mean[x]`` is E[C], ``with_next[x, :, y]``
    is E[C 1(next = y)] and ``squares[x]`` is E[C Cᵀ].
    """

    after: Floats
    mean: Floats
    with_next: Floats
    squares: Floats

    @classmethod
    def single(cls, transition: Floats, steps: Floats) -> "Run":
        """One value: ``steps[:, x]`` is what state x adds, ``transition`` leads to the next value."""
        added = steps.T
        return cls(
            after=transition,
            mean=added,
            with_next=added[:, :, None] * transition[:, None, :],
            squares=added[:, :, None] * added[:, None, :],
        )

    @classmethod
    def nothing(cls, states: int, numbers: int) -> "Run":
        """No values."""
        return cls(
            np.eye(states),
            np.zeros((states, numbers)),
            np.zeros((states, numbers, states)),
            np.zeros((states, numbers, numbers)),
        )

    def __add__(self, later: "Run") -> "Run":
        """The run that goes on with another."""
        crossed = np.einsum("xiy,yj->xij", self.with_next, later.mean)
        return Run(
            after=self.after @ later.after,
            mean=self.mean + self.after @ later.mean,
            with_next=self.with_next @ later.after + np.einsum("xz,ziy->xiy", self.after, later.with_next),
            squares=self.squares + crossed + crossed.swapaxes(1, 2) + np.tensordot(self.after, later.squares, 1),
        )

    def times(self, n: int) -> "Run":
        """The same n times in a row.

        >>> coin = Run.single(np.full((2, 2), 0.5), np.array([[0.0, 1.0]]))
        >>> many = coin.times(100)
        >>> many.mean[0], round(float(many.squares[0, 0, 0] - many.mean[0, 0] ** 2), 6)      # the first value is known
        (array([49.5]), 24.75)
        """
        whole = Run.nothing(len(self.after), self.mean.shape[1])
        power = self
        while n:
            if n % 2:
                whole = whole + power
            n //= 2
            power = power + power if n else power
        return whole


def moments_of(runs: Sequence[Run], places: Sequence[int], parts: int, initial: Floats) -> Moments:
    """Mean and covariance of what the runs of a series add up to; ``places[n]`` is the part that run n belongs to.

    The numbers of all parts stand in a row, part by part.
    """
    numbers = runs[0].mean.shape[1]
    mean = np.zeros((parts, numbers))
    squares = np.zeros((parts, numbers, parts, numbers))
    law = initial
    earlier = np.zeros((parts, numbers, len(initial)))  # E[what was added so far 1(here = x)], by part
    for run, place in zip(runs, places, strict=True):
        crossed = earlier @ run.mean  # (parts, numbers, numbers)
        squares[:, :, place, :] += crossed
        squares[place] += crossed.transpose(2, 0, 1)
        mean[place] += law @ run.mean
        squares[place, :, place, :] += np.einsum("x,xij->ij", law, run.squares)
        earlier = earlier @ run.after
        earlier[place] += np.einsum("x,xiy->iy", law, run.with_next)
        law = law @ run.after
    flat = mean.reshape(-1)
    covariance = squares.reshape(len(flat), len(flat)) - np.outer(flat, flat)
    return Moments(flat, (covariance + covariance.T) / 2)
