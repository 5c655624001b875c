"""The most that one value can change an answer, by pair of states: in L1 norm for Laplace noise, in L2 for Gaussian."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from quiltwork.numeric import add_up, float_above
from quiltwork.types import Codes, Floats, Integers

Norm = Literal[1, 2]
EXACT = 2**31  # integers below this are subtracted, squared and added up without overflow


@dataclass(frozen=True, eq=False)
class Pairs:
    """What neighbours add: y directly after x adds ``step[x, y]`` to number ``row[x, y]`` (-1: to none)."""

    row: Codes
    step: Codes


def of_steps(steps: Codes, unit: Fraction, norm: Norm) -> Floats:
    """‖S_y - S_y'‖ for every two states, of an answer to which state y adds the column S_y.

    >>> of_steps(np.eye(2, dtype=np.int64), Fraction(1), 1).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    >>> float(of_steps(np.eye(2, dtype=np.int64), Fraction(1), 2)[0, 1].round(6))
    1.414214
    """
    return _rounded(_apart(steps, norm), unit, norm, single=len(steps) == 1)


def of_pairs(steps: Codes, pairs: Pairs, unit: Fraction, norm: Norm, *, windows: bool) -> Floats:
    """The same where neighbours count too: the worst of all neighbours that a value may have.

    If nothing but pairs counts, neighbours that change together share them: every entry is what one pair more or less
    and one other can change, and so is the diagonal, which is added once for each run of changes (Statement 49).
    With windows a pair belongs to the window of its second value, and two windows have numbers of their own.
    """
    k = steps.shape[1]
    if not steps.any():
        largest = np.sort(np.abs(pairs.step).ravel())[-2:].astype(object)
        return _rounded(np.full((k, k), sum(largest**norm)), unit, norm, single=False)  # Statement 49

    def power(change: int) -> int:
        return abs(change) if norm == 1 else change * change

    base = _apart(steps, norm)
    apart = np.zeros((k, k), dtype=object)
    into, after = _columns(pairs.row, pairs.step), _columns(pairs.row.T, pairs.step.T)
    listed = steps.T.tolist()

    def size(x: int, y: int, changes: tuple[tuple[int, int], ...], *, alone: bool = False) -> int:
        """The size of what goes from x to y, with what some pairs change besides."""
        added: dict[int, int] = {}
        for row, step in changes:
            if row >= 0:
                added[row] = added.get(row, 0) + step
        if alone:
            return sum(power(step) for step in added.values())
        own = {row: listed[x][row] - listed[y][row] for row in added}
        return int(base[x, y]) + sum(power(own[row] + added[row]) - power(own[row]) for row in added)

    for x in range(k):
        for y in range(x):
            before = _changes(into[x], into[y])
            behind = _changes(after[x], after[y])
            if windows:
                most = max(size(x, y, one) for one in before) + max(size(x, y, one, alone=True) for one in behind)
            else:
                most = max(size(x, y, (*one, *other)) for one in before for other in behind)
            apart[x, y] = apart[y, x] = most
    return _rounded(apart, unit, norm, single=len(steps) == 1 and not windows)  # Statement 67


def _columns(row: Codes, step: Codes) -> list[list[tuple[int, int]]]:
    """For each state, to which number each neighbour adds with it, and how much."""
    return [list(zip(r, s, strict=True)) for r, s in zip(row.T.tolist(), step.T.tolist(), strict=True)]


def _changes(
    of_one: list[tuple[int, int]], of_other: list[tuple[int, int]]
) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    """What a neighbour adds with one state and takes away with another, for each neighbour or none."""
    nothing = ((-1, 0), (-1, 0))
    return {nothing} | {((r, s), (q, -t)) for (r, s), (q, t) in zip(of_one, of_other, strict=True)}


def _apart(steps: Codes, norm: Norm) -> Integers:
    """Σ |S_y - S_y'|^norm for every two states, exactly."""
    if int(np.abs(steps).max(initial=0)) >= EXACT // max(1, len(steps)):
        steps = steps.astype(object)
    apart = [(np.abs(steps - steps[:, [y]]) ** norm).sum(axis=0) for y in range(steps.shape[1])]
    return np.array(apart).reshape(steps.shape[1], steps.shape[1])


def _rounded(apart: Integers, unit: Fraction, norm: Norm, *, single: bool) -> Floats:
    """Sums of sizes, or of squares, as norms in the answer's own unit; rounded up."""
    values, places = np.unique(apart, return_inverse=True)
    return np.array([_norm(int(n), unit, norm, single) for n in values])[places].reshape(apart.shape)


def _norm(size: int, unit: Fraction, norm: Norm, single: bool) -> float:
    if norm == 1:
        return float_above(size * unit)
    if single:
        return float_above(math.isqrt(size) * unit)
    return math.nextafter(math.sqrt(float_above(size * unit**2)), math.inf) if size else 0.0  # Statement 79


def unlinked(sensitivity: Floats) -> Floats:
    """What changes cost where neighbours need not be neighbours: each pays by itself what neighbours share.

    >>> unlinked(np.array([[2.0, 2.0], [2.0, 2.0]])).round(9).tolist()
    [[0.0, 4.0], [4.0, 0.0]]
    """
    once = float(np.diagonal(sensitivity).max(initial=0.0))
    if once == 0:
        return sensitivity
    alone = add_up(sensitivity, np.full_like(sensitivity, once))
    return np.asarray(np.where(np.eye(len(sensitivity), dtype=bool), 0.0, alone))


def largest_change(sensitivity: Floats) -> float:
    """The most that one value alone can change an answer.

    >>> largest_change(np.array([[2.0, 2.0], [2.0, 2.0]])), largest_change(np.array([[0.0, 1.0], [1.0, 0.0]]))
    (4.0, 1.0)
    """
    once = float(np.diagonal(sensitivity).max(initial=0.0))
    return float((sensitivity * ~np.eye(len(sensitivity), dtype=bool)).max(initial=0.0)) + once
