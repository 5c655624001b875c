"""Both sides of a belief in balls, computed anew: when a claimed step is proved (Statements 9 to 13)."""

import itertools
from abc import ABC, abstractmethod
from functools import singledispatch
from typing import Any

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from quiltwork.beliefs import Belief, IntervalChain, MarkovChain, MixingClass
from quiltwork.beliefs.structure import closed_classes
from quiltwork.certificate.balls import (
    Row,
    attainable,
    balls,
    cross_ratio,
    interval_cross_ratio,
    largest,
    most_within,
    normalised,
    positive,
    projective_proves,
    scalar_proves,
    smaller,
    stationary_balls,
    total,
)
from quiltwork.errors import CertificateError


class Kernels(ABC):
    """One side of a belief in balls: for m transitions, when a claimed step is proved."""

    def at(self, node: int, steady: bool) -> "Kernels":  # noqa: ARG002 - all nodes alike but for a given start
        """The kernels into a node (from 0), or into every node from there on."""
        return self

    def occurs(self, node: int, steady: bool, state: int) -> bool:  # noqa: ARG002 - all but for a given start
        """Whether a state may occur at a node."""
        return True

    @abstractmethod
    def proves(self, a: int, b: int, skip: int, claim: "arb", difference: "arb") -> bool:
        """Whether what is left of the difference is surely at most the claim."""

    def shipping_rows(self) -> list[Row] | None:
        """The rows of one transition, if they are known."""
        return None


class Fixed(Kernels):
    """A known matrix: the scalar step."""

    def __init__(self, rows: list[Row]):
        self._rows = rows
        self._powers: dict[int, list[Row]] = {1: rows}
        self._matrix = arb_mat(len(rows), len(rows), [entry for row in rows for entry in row])

    def shipping_rows(self) -> list[Row]:
        """The rows of one transition."""
        return self._rows

    def _power(self, skip: int) -> list[Row]:
        if skip not in self._powers:
            power = self._matrix**skip
            k = len(self._rows)
            self._powers[skip] = [[power[a, y] for y in range(k)] for a in range(k)]
        return self._powers[skip]

    def proves(self, a: int, b: int, skip: int, claim: "arb", difference: "arb") -> bool:
        """Whether what is left of the difference is surely at most the claim."""
        rows = self._power(skip)
        return scalar_proves(rows[a], rows[b], claim, difference)


class CrossRatios(Kernels):
    """The past of every start: the projective step with the cross-ratios of columns."""

    def __init__(self, transition: list[Row], *, single: bool = False):
        k = len(transition)
        self._single = single
        self._matrix = arb_mat(k, k, [entry for row in transition for entry in row])
        self._cross: dict[tuple[int, int, int], arb | None] = {}
        self._powers: dict[int, Any] = {}

    def _column(self, skip: int, state: int) -> Row:
        if skip not in self._powers:
            self._powers[skip] = self._matrix**skip
        return [self._powers[skip][z, state] for z in range(self._matrix.nrows())]

    def proves(self, a: int, b: int, skip: int, claim: "arb", difference: "arb") -> bool:
        """Whether what is left of the difference is surely at most the claim."""
        if self._single and skip > 1:
            return False  # what is known of part of a state between two others may enlarge the cross-ratio
        return projective_proves(cross_ratio(self._column(skip, a), self._column(skip, b)), claim, difference)


class Started(CrossRatios):
    """The past of a given start: each node has its own backward kernels; what holds for any start holds too."""

    def __init__(self, transition: list[Row], initial: Row):
        super().__init__(transition)
        self._transition = transition
        self._laws = [initial]
        self._node = 0
        self._steady = False
        self._settled: dict[int, arb] = {}

    def at(self, node: int, steady: bool) -> "Started":
        """The kernels into a node."""
        k = range(len(self._transition))
        while len(self._laws) <= node:
            p = self._laws[-1]
            self._laws.append([total([p[z] * self._transition[z][x] for z in k]) for x in k])
        self._node, self._steady = node, steady
        if steady:
            self._settle()
        return self

    def occurs(self, node: int, steady: bool, state: int) -> bool:
        """By the law of that node."""
        if steady:
            return not self._settled or state in self._settled
        return not self._laws[node][state] <= 0

    def _settle(self) -> None:
        """All later laws: within the factors of the limit that this law is within; nothing if it is still changing."""
        p = self._laws[self._node]
        here = [x for x in range(len(p)) if not p[x] <= 0]
        self._settled = {}
        if all(self._transition[x][y] == 0 for x in here for y in range(len(p)) if y not in here):
            law = stationary_balls([[self._transition[x][y] for y in here] for x in here])
            ratios = [p[x] / w for x, w in zip(here, law, strict=True)]
            factor = (-largest([-r for r in ratios])).union(largest(ratios))
            self._settled = {x: w * factor for x, w in zip(here, law, strict=True)}

    def _law(self, back: int) -> Row:
        if self._steady:
            return [self._settled.get(x, arb(0)) for x in range(len(self._transition))]
        return self._laws[self._node - back]

    def _row(self, skip: int, state: int) -> Row | None:
        """The backward row of a state over that many transitions; None if the state cannot occur."""
        now, before = self._law(0)[state], self._law(skip)
        if now == 0:
            return None
        return [p * z / now for p, z in zip(before, self._column(skip, state), strict=True)]

    def proves(self, a: int, b: int, skip: int, claim: "arb", difference: "arb") -> bool:
        """Whether what is left of the difference is surely at most the claim."""
        if self._known(skip):
            row, other = self._row(skip, a), self._row(skip, b)
            if row is None or other is None:
                return True  # what cannot occur is no secret
            if scalar_proves(row, other, claim, difference):
                return True
        return super().proves(a, b, skip, claim, difference)

    def _known(self, skip: int) -> bool:
        # from a settled law several steps would reach back to where it had not settled
        return bool(self._settled) and skip <= 1 if self._steady else skip <= self._node

    def shipping_rows(self) -> list[Row] | None:
        """The rows of one transition."""
        if not self._known(1):
            return None
        rows = [self._row(1, x) for x in range(len(self._transition))]
        return [self._law(1) if row is None else row for row in rows]  # for what cannot occur any row will do


class Within(Kernels):
    """A matrix within bounds, which may differ from step to step; bounds on products by duality."""

    def __init__(self, lower: list[Row], upper: list[Row], *, past: bool):
        self._products = {1: attainable(lower, upper)}
        self._past = past
        self._turned = False

    def turned(self) -> "Within":
        """By the cross-ratios of rows instead of columns."""
        other = Within(*self._products[1], past=True)
        other._turned = True
        return other

    def _product(self, skip: int) -> tuple[list[Row], list[Row]]:
        if skip not in self._products:
            half = skip // 2 if skip % 2 == 0 else skip - 1
            (lower, upper), (low, high) = self._product(half), self._product(skip - half)
            k = range(len(lower))
            columns = [([low[y][z] for y in k], [high[y][z] for y in k]) for z in k]
            self._products[skip] = attainable(
                [[-most_within(lower[a], upper[a], [-v for v in least]) for least, _ in columns] for a in k],
                [[most_within(lower[a], upper[a], most) for _, most in columns] for a in k],
            )
        return self._products[skip]

    def proves(self, a: int, b: int, skip: int, claim: "arb", difference: "arb") -> bool:
        """Whether what is left of the difference is surely at most the claim."""
        lower, upper = self._product(skip)
        if self._past:
            if not self._turned:
                lower, upper = ([list(c) for c in zip(*table, strict=True)] for table in (lower, upper))
            return projective_proves(interval_cross_ratio(lower, upper, a, b), claim, difference)
        if projective_proves(interval_cross_ratio(lower, upper, a, b), claim, difference):
            return True
        r, gain = claim.exp(), difference.expm1()
        if all(u <= r * low for u, low in zip(upper[a], lower[b], strict=True)):
            return True
        for up, down in itertools.product((1.0, 0.5, 0.0), repeat=2):
            above = [up * u + (1 - up) * low for low, u in zip(lower[a], upper[a], strict=True)]
            below = [down * low + (1 - down) * u for low, u in zip(lower[b], upper[b], strict=True)]
            most, least = (1 - up) * (1 - sum(lower[a])), (1 - down) * (1 - sum(upper[b]))
            over = sum(positive(x - r * y) for x, y in zip(above, below, strict=True))
            if gain * over <= r * (1 + gain * least) - (1 + gain * most):
                return True
        return False


class Mixing(Kernels):
    """Any chain that mixes fast enough: only ratios are known."""

    def __init__(self, known: MixingClass, *, past: bool):
        self._known = known
        self._past = past

    def proves(self, a: int, b: int, skip: int, claim: "arb", difference: "arb") -> bool:  # noqa: ARG002 - all alike
        """Whether what is left of the difference is surely at most the claim."""
        transitions = arb(skip) if self._known.reversible else arb(skip) / 2
        delta = (1 - arb(self._known.gap)) ** transitions * (1 / arb(self._known.pi_min) - 1)  # Statement 44
        if not self._past and self._by_mean_squares(transitions, claim, difference):
            return True
        if not delta < 1:
            return bool(difference <= claim)
        ratio = (1 + delta) / (1 - delta)
        if self._past:
            return projective_proves(ratio * ratio, claim, difference)
        e = difference.exp()
        return bool(((1 + ratio * e) / (ratio + e)).log() <= claim) or bool(ratio.log() <= claim)

    def _by_mean_squares(self, transitions: "arb", claim: "arb", difference: "arb") -> bool:
        """cosh of the step is (1 + x²) / (1 - x² F)."""
        square = ((1 - arb(self._known.gap)) ** transitions * (difference / 2).sinh()) ** 2
        left = 1 - square * (1 / arb(self._known.pi_min) - 1)
        return bool(left > 0) and bool((1 + square) / left <= claim.cosh())  # Statement 51


def possible(belief: Belief) -> NDArray[np.intp]:
    """The states that can occur, found from what is possible instead of from computed probabilities."""
    for chain in belief.chains if belief.start == "stationary" else ():
        return np.sort(closed_classes(np.asarray(chain.transition > 0))[0])
    return belief.possible_states()


@singledispatch
def both_sides(belief: Belief, *, bayesian: bool = False) -> tuple[Kernels, Kernels]:  # noqa: ARG001
    """Both sides of a belief, computed anew; against adversaries who know values, by cross-ratios alone."""
    raise CertificateError("no certificate is known for this kind of belief", got=repr(belief))


@both_sides.register
def _of_chain(belief: MarkovChain, *, bayesian: bool = False) -> tuple[Kernels, Kernels]:
    alive = possible(belief)
    rows = normalised(belief.transition[np.ix_(alive, alive)])
    if bayesian:
        columns, single = [list(column) for column in zip(*rows, strict=True)], belief.step_variables is not None
        return CrossRatios(columns, single=single), CrossRatios(rows, single=single)
    if belief.start == "any":
        return Fixed(rows), CrossRatios(rows)
    if belief.start == "given":
        assert belief.initial is not None  # noqa: S101 - the start is given
        return Fixed(rows), Started(rows, normalised(belief.initial[None, :])[0])
    pi = stationary_balls(rows)
    k = range(len(rows))
    return Fixed(rows), Fixed([[pi[z] * rows[z][x] / pi[x] for z in k] for x in k])


@both_sides.register
def _of_interval(belief: IntervalChain, *, bayesian: bool = False) -> tuple[Kernels, Kernels]:
    lower, upper = balls(belief.lower), balls(belief.upper)
    lower = [[x / largest([sum(row), 1]) for x in row] for row in lower]
    upper = [[x / smaller(sum(row), 1) for x in row] for row in upper]
    past = Within(lower, upper, past=True)
    return past.turned() if bayesian else Within(lower, upper, past=False), past


@both_sides.register
def _of_mixing(belief: MixingClass, *, bayesian: bool = False) -> tuple[Kernels, Kernels]:
    return Mixing(belief, past=bayesian), Mixing(belief, past=bayesian or belief.start != "stationary")
