"""Sides of beliefs that are known by ratios only: the past of every start, intervals, mixing classes."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quiltwork.influence.curve.sides import POWER_ERROR, Frontier, Side
from quiltwork.influence.curve.steps import (
    Kernel,
    attainable,
    cross_ratios,
    interval_cross_ratios,
    interval_kernels,
    interval_product,
    projective_step,
    ratio_step,
    scalar_step,
)
from quiltwork.influence.curve.transport import MARGIN
from quiltwork.influence.quilts.kernels import TINY
from quiltwork.types import Floats

CORNERS, STEEPEST = 96, 1e6  # of the polygon around what mean squares allow


class CrossRatioSide(Side):
    """Kernels known by the cross-ratios of their rows: the prior cancels, so the past of every start."""

    @abstractmethod
    def ratios(self, skip: int) -> Floats:
        """log of the largest cross-ratio of each pair after that many transitions."""

    def cross_ratio(self) -> float:
        """Of one transition."""
        return float(self.ratios(1).max())

    def prepare(self, skip: int) -> Callable[[float], Floats]:
        """The projective step."""
        ratios = self.ratios(skip)
        return lambda difference: projective_step(ratios, difference)  # Statement 13

    def frontiers(self, skip: int) -> list[Frontier]:
        """The projective step with the largest cross-ratio."""
        none = np.empty(0)
        return [Frontier(skip, none, none, float(self.ratios(skip).max()), (POWER_ERROR + self.error) * skip)]


class AnyPast(CrossRatioSide):
    """The past of a chain with any start: cross-ratios of the columns of its powers."""

    def __init__(self, P: Floats):
        super().__init__(len(P))
        self._powers = {1: np.array(P, order="C")}  # writable: read-only arrays are compiled for once more
        self._supports = {1: P > 0}

    def ratios(self, skip: int) -> Floats:
        """Of the columns; nothing is claimed for states with an entry too small to trust."""
        power, support = self._power(skip)
        ratios = cross_ratios(np.ascontiguousarray(power.T))  # Statement 13
        lost = (support & (power < TINY)).any(axis=0)
        ratios[lost, :] = ratios[:, lost] = np.inf
        np.fill_diagonal(ratios, 0.0)
        return ratios

    def _power(self, skip: int) -> tuple[Floats, NDArray[np.bool_]]:
        if skip not in self._powers:
            first, second = ((skip // 2,) * 2) if skip % 2 == 0 else (skip - 1, 1)
            (P, S), (Q, U) = self._power(first), self._power(second)
            self._powers[skip], self._supports[skip] = P @ Q, (S.astype(np.float64) @ U) > 0
        return self._powers[skip], self._supports[skip]

    def hopeless(self, skip: int) -> bool:
        """After (k-1)^2 + 1 transitions supports only cycle."""
        return skip > max(256, 2 * self.states**2)


class SingleSteps(AnyPast):
    """The same by single transitions only.

    Where an adversary may know part of a state (what a phase shows, one variable of a step), what is known between two
    states multiplies entries inside the product of kernels, which can make its cross-ratios larger (Statement 20).
    """

    def ratios(self, skip: int) -> Floats:
        """Of one transition; nothing is known about several."""
        if skip == 1:
            return super().ratios(1)
        return np.where(np.eye(self.states, dtype=bool), 0.0, np.inf)

    def hopeless(self, skip: int) -> bool:
        """More than one transition is no use."""
        return skip > 1


class _Intervals:
    """Bounds on the products of m transition matrices that each lie within bounds."""

    def __init__(self, lower: Floats, upper: Floats):
        # bounds that miss a sum of 1 by rounding are widened
        low = lower / np.maximum(lower.sum(axis=1, keepdims=True), 1.0)
        high = upper / np.minimum(upper.sum(axis=1, keepdims=True), 1.0)
        self._products = {1: attainable(low, high)}
        self._supports = {1: high > 0}

    def product(self, skip: int) -> tuple[Floats, Floats]:
        if skip not in self._products:
            first = skip // 2 if skip % 2 == 0 else skip - 1
            product = interval_product(self.product(first), self.product(skip - first))  # Statement 35
            lower, upper = attainable(*product)
            possible = (self._supports[first].astype(np.float64) @ self._supports[skip - first]) > 0
            # what is possible stays so, even if its bound is too small for a float
            self._products[skip] = lower, np.where(possible, np.maximum(upper, TINY), 0.0)
            self._supports[skip] = possible
        return self._products[skip]


class IntervalFuture(Side):
    """The future of a chain that moves within bounds."""

    def __init__(self, lower: Floats, upper: Floats):
        super().__init__(len(lower))
        self._intervals = _Intervals(lower, upper)
        self._prepared: dict[int, tuple[list[Kernel], Floats, Floats]] = {}

    def _kernels(self, skip: int) -> tuple[list[Kernel], Floats, Floats]:
        if skip not in self._prepared:
            lower, upper = self._intervals.product(skip)
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(upper[:, None, :]) - np.log(lower[None, :, :])
            telling = np.maximum(np.where(np.isnan(logs), -np.inf, logs).max(axis=2), 0.0)
            self._prepared[skip] = interval_kernels(lower, upper), interval_cross_ratios(lower, upper), telling
        return self._prepared[skip]

    def cross_ratio(self) -> float:
        """From the bounds."""
        _, ratios, _ = self._kernels(1)
        return float(ratios.max())

    def prepare(self, skip: int) -> Callable[[float], Floats]:
        """The smallest of the interval scalar steps, the projective step and the largest ratio."""
        kernels, ratios, telling = self._kernels(skip)

        def step(difference: float) -> Floats:
            bounds = [scalar_step(kernel, difference) for kernel in kernels]
            bounds += [projective_step(ratios, difference), telling + MARGIN]
            return np.asarray(np.min(bounds, axis=0))  # Statement 35

        return step

    def frontiers(self, skip: int) -> list[Frontier]:
        """One for each form of the step."""
        kernels, ratios, _ = self._kernels(skip)
        error = POWER_ERROR * skip
        none = np.empty(0)
        frontiers = [Frontier(skip, *k.best_sets(), np.nan, error) for k in kernels]
        return [*frontiers, Frontier(skip, none, none, float(ratios.max()), error)]

    def hopeless(self, skip: int) -> bool:
        """Bounds on long products tell nothing more."""
        return skip > 256


class IntervalRatios(CrossRatioSide):
    """A chain that moves within bounds, by cross-ratios: of columns for the past with any start, or of rows."""

    def __init__(self, lower: Floats, upper: Floats, *, rows: bool):
        super().__init__(len(lower))
        self._intervals = _Intervals(lower, upper)
        self._rows = rows

    def ratios(self, skip: int) -> Floats:
        """From the bounds."""
        lower, upper = self._intervals.product(skip)
        if not self._rows:
            lower, upper = np.ascontiguousarray(lower.T), np.ascontiguousarray(upper.T)
        return interval_cross_ratios(lower, upper)  # Statement 35

    def hopeless(self, skip: int) -> bool:
        """Bounds on long products tell nothing more."""
        return skip > 256


@dataclass(frozen=True)
class _Mixing:
    pi_min: float
    gap: float
    reversible: bool

    @property
    def rarest(self) -> float:
        """The largest 1/π - 1."""
        return (1 / self.pi_min - 1) * (1 + 4e-16)

    def shrunk(self, skip: int) -> float:
        """What is left of a mean-square deviation after that many transitions."""
        transitions = skip if self.reversible else skip / 2
        return float((1 - self.gap) ** transitions * (1 + 1e-15 * (8 + transitions)))

    def log_ratio(self, skip: int) -> float:
        """The largest log P^m[a,y] / P^m[b,y] of any chain of the class."""
        delta = self.shrunk(skip) * self.rarest  # Statement 44
        return 2 * math.atanh(delta) * (1 + 1e-14) if delta < 1 - 1e-12 else math.inf

    def mean_square_step(self, skip: int, difference: float) -> float:
        """The step by how far a function within D can deviate from its mean, in mean square."""
        if difference > 2 * math.asinh(1e8):
            return math.inf
        x = self.shrunk(skip) * math.sinh(difference / 2)
        left = 1 - x * x * self.rarest
        if left <= 1e-12:
            return math.inf
        # arccosh(c) = 2 arsinh(√((c - 1)/2)), and c - 1 = x² (1 + F) / (1 - x² F)
        return 2 * math.asinh(x * math.sqrt((1 + self.rarest) / left / 2)) * (1 + 1e-11)  # Statement 51

    def mean_square_sets(self, skip: int) -> tuple[Floats, Floats]:
        """The corners of a polygon around all (P^m[a,S], P^m[b,S]), as far as the same argument bounds them."""
        slopes = np.geomspace(1.0, STEEPEST, CORNERS)
        spread = self.shrunk(skip) * np.sqrt(self.rarest * (1 + slopes**2) + 2 * slopes)
        # no set has P[a,S] - r P[b,S] above this
        reach = ((1 - slopes) + np.hypot(1 - slopes, spread)) / 2 * (1 + 1e-12) + 1e-15
        below = (reach[:-1] - reach[1:]) / np.diff(slopes)  # where the line of one slope meets that of the next
        last = int(np.argmin(np.append(below, -1.0) > 0))  # the line that comes to P[b,S] = 0
        above = slopes[:last] * below[:last] + reach[:last]
        corners = np.array([[1.0, 1 - reach[0]], *zip(above, below[:last], strict=True), [reach[last], 0.0]])
        return corners[:, 0] * (1 + 1e-9), np.maximum(corners[:, 1], 0.0)  # Statement 51


class MixingFuture(Side):
    """The future of any chain that mixes fast enough, or the past of one that started in its stationary law."""

    def __init__(self, states: int, mixing: _Mixing):
        super().__init__(states)
        self._mixing = mixing

    def cross_ratio(self) -> float:
        """At most the square of the largest ratio."""
        return 2 * self._mixing.log_ratio(1)  # Statement 34

    def prepare(self, skip: int) -> Callable[[float], Floats]:
        """The step from the largest ratio, or from mean squares."""
        log_ratio = self._mixing.log_ratio(skip)

        def step(difference: float) -> Floats:
            least = min(ratio_step(log_ratio, difference), self._mixing.mean_square_step(skip, difference))
            return np.full((self.states, self.states), least)  # Statements 34 and 51

        return step

    def frontiers(self, skip: int) -> list[Frontier]:
        """The two-point law with that ratio, and all sets within reach of mean squares."""
        log_ratio, error = self._mixing.log_ratio(skip), POWER_ERROR * skip
        p, q = 1 / (1 + np.exp(-log_ratio)), 1 / (1 + np.exp(log_ratio)) if np.isfinite(log_ratio) else 0.0
        by_ratio = Frontier(skip, np.array([p]), np.array([q]), np.nan, error)
        return [by_ratio, Frontier(skip, *self._mixing.mean_square_sets(skip), np.nan, error)]


class MixingPast(CrossRatioSide):
    """The past of any chain that mixes fast enough, with any start."""

    def __init__(self, states: int, mixing: _Mixing):
        super().__init__(states)
        self._mixing = mixing

    def ratios(self, skip: int) -> Floats:
        """Each column lies within a factor of its stationary probability, so a cross-ratio has twice the logarithm."""
        ratios = np.full((self.states, self.states), 2 * self._mixing.log_ratio(skip))  # Statement 34
        np.fill_diagonal(ratios, 0.0)
        return ratios


def mixing_sides(states: int, *, pi_min: float, gap: float, reversible: bool) -> tuple[MixingFuture, MixingPast]:
    """The future of a mixing class, and its past with any start."""
    mixing = _Mixing(pi_min, gap, reversible)
    return MixingFuture(states, mixing), MixingPast(states, mixing)
