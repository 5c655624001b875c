"""Beliefs as worlds that make up data: kernels that repeat, and what each inner state shows.

Chains, orders, phases and cycles are all of this form. Classes of chains (mixing, interval) are represented by a chain
that remembers as long as the class allows, beside a bound on the memory of all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from quiltwork.beliefs import Belief, CycleChain, HiddenChain, IntervalChain, MarkovChain, MixingClass
from quiltwork.compiled import njit
from quiltwork.errors import BeliefError, NotCoveredError
from quiltwork.fitting.memory import Band
from quiltwork.types import Codes, Floats, Integers

FORGOTTEN = 1e-7
"""Covariances below this are 0 at all later lags."""
SQUARINGS = 40
NEAR, ROUNDS = 2e-4, 60
"""When shares are near enough to those wanted, and how long that is tried."""
MOST_TILTED = 128
"""Worlds with more inner states than this are not tilted."""


@dataclass(frozen=True)
class World:
    """A chain of inner states whose kernels repeat with a period, each of which shows a state."""

    kernels: Floats
    """period x inner states x inner states."""
    shown: Integers
    states: int
    known_law: Floats | None = None

    @property
    def period(self) -> int:
        """After how many steps the kernels repeat."""
        return len(self.kernels)

    @cached_property
    def law(self) -> Floats:
        """The law of inner states at each time of the period, in the long run; if there are several, between them."""
        if self.known_law is not None:
            return self.known_law
        law = np.full(len(self.shown), 1 / len(self.shown)) @ _lasting(_round(self.kernels))
        laws = []
        for kernel in self.kernels:
            laws.append(law / law.sum())
            law = law @ kernel
        return np.array(laws)

    @cached_property
    def shows(self) -> Floats:
        """Inner states x states: which shows which."""
        return np.asarray(self.shown[:, None] == np.arange(self.states), dtype=np.float64)

    @property
    def levels(self) -> Floats:
        """The share of each state, over all times."""
        return np.asarray(self.law.mean(axis=0) @ self.shows)

    @property
    def leaving(self) -> Floats:
        """How likely a state is left at the next step."""
        changes = np.where(self.shown[:, None] == self.shown, 0.0, self.kernels)
        left = np.einsum("tu,tuv->u", self.law, changes) / self.period @ self.shows
        return np.asarray(left / np.maximum(self.levels, 1e-300))

    @cached_property
    def steps(self) -> Floats:
        """How likely each state is followed by each, over all times and inner states."""
        met = np.einsum("us,tu,tuv,vz->sz", self.shows, self.law, self.kernels, self.shows, optimize=True)
        return np.asarray(met / np.maximum(met.sum(axis=1, keepdims=True), 1e-300))

    def paths(self, clock: Integers, ends: Integers, count: int, rng: np.random.Generator) -> Codes:
        """Data sets with the times of a subject; each of its timelines begins with the law of its time."""
        return np.asarray(
            walked(
                np.cumsum(self.kernels, axis=2),
                np.cumsum(self.law, axis=1),
                self.shown,
                clock % self.period,
                ends,
                rng.random((count, len(clock))),
            )
        )

    def covariances(self, bands: Sequence[Band]) -> tuple[Floats, Floats]:
        """Cov("in s", "in z later") relative to the levels of each time, and its size: at lag 0, and for each band.

        The size is a mean over lags too, so that memory which changes sign within a band counts in full.
        """
        levels = self.law @ self.shows  # period x states
        weights = self.law[:, :, None] * (self.shows - levels[:, None, :])
        weights = weights.reshape(-1, self.states).T / self.period
        later = np.repeat(self.shows[None], self.period, axis=0)
        signed, sizes = np.zeros((2, 1 + len(bands), self.states, self.states))
        signed[0] = sizes[0] = weights @ later.reshape(-1, self.states)
        for lag in range(1, max((band.last for band in bands), default=0) + 1):
            later = self.kernels @ np.roll(later, -1, axis=0)
            found = weights @ later.reshape(-1, self.states)
            if np.abs(found).max() < FORGOTTEN:
                break
            for n, band in enumerate(bands, 1):
                if band.first <= lag <= band.last:
                    signed[n] += found / band.width
                    sizes[n] += np.abs(found) / band.width
        return signed, sizes

    def tilted(self, shares: Floats) -> "World":
        """The same cross-ratios with other overall shares: P'[u, v] ∝ P[u, v] w(v) h(v) / h(u), h from Perron.

        The logarithm of the growth of P[u, v] w(v) is convex in log w, and its gradient is the shares: so w is where
        growth less the wanted shares times log w is least.
        """
        from scipy.optimize import minimize

        if len(self.shown) > MOST_TILTED:
            return self
        target = np.where(self.levels > 0, shares, 0.0)
        target = target / target.sum()
        kernels = np.array(self.kernels)
        unit = np.sqrt(np.maximum(self.leaving, 1e-4) / np.maximum(self.levels, 1e-4))  # sticky states need little

        def lacking(steps: Floats) -> tuple[float, Floats]:
            logs = np.clip(steps * unit, -30.0, 30.0)
            growth, _, laws = _perron(kernels, np.exp(logs)[self.shown])
            return growth - float(target @ logs), (laws.mean(axis=0) @ self.shows - target) * unit

        found = minimize(
            lacking, np.zeros(self.states), jac=True, method="BFGS", options={"gtol": NEAR, "maxiter": ROUNDS}
        )
        _, tilted, laws = _perron(kernels, np.exp(np.clip(found.x * unit, -30.0, 30.0))[self.shown])
        known = np.isfinite(tilted).all() and np.isfinite(laws).all()
        return replace(self, kernels=tilted, known_law=laws) if known else self

    def lumped(self, names: Integers, count: int) -> "World":
        """With states under these new numbers."""
        return replace(self, shown=np.asarray(names)[self.shown], states=count)


def world_of(belief: Belief, shares: Floats) -> World:
    """The world of one belief; of a class, one that remembers as long as the class allows, with about these shares."""
    if isinstance(belief, MixingClass):
        return _chain_world(_of_mixing(belief, shares))
    if isinstance(belief, IntervalChain):
        return _chain_world(_of_interval(belief))
    if isinstance(belief, CycleChain):
        try:
            law: Floats | None = belief.law
        except BeliefError:
            law = None
        return World(belief.transitions, np.arange(len(belief.states)), len(belief.states), law)
    if isinstance(belief, HiddenChain):
        return replace(_chain_world(belief.phases), shown=belief.shown, states=len(belief.states))
    if isinstance(belief, MarkovChain):
        return _chain_world(belief)
    raise NotCoveredError(
        "this belief does not say how soon values are forgotten",
        got=repr(belief),
        fix="Check a chain, a set of chains, a cycle, a chain with phases, an interval or a mixing class",
    )


def _chain_world(chain: MarkovChain) -> World:
    try:
        law: Floats | None = chain.stationary[None]
    except BeliefError:
        law = None
    return World(chain.transition[None], np.arange(len(chain.states)), len(chain.states), law)


def _of_mixing(belief: MixingClass, shares: Floats) -> MarkovChain:
    """A reversible chain with these shares that forgets with the factor that bounds the class."""
    left = belief.remembered
    law = np.maximum(shares, belief.pi_min)
    law /= law.sum()
    return MarkovChain(left * np.eye(len(law)) + (1 - left) * law)


def _of_interval(belief: IntervalChain) -> MarkovChain:
    """The chain with the longest stays within the bounds; if some are never left, the one in the middle."""
    spare = 1 - belief.lower.sum(axis=1, keepdims=True)
    slack = belief.upper - belief.lower
    own = np.minimum(slack.diagonal(), spare[:, 0])
    others = np.where(np.eye(len(slack), dtype=bool), 0.0, slack)
    rest = (spare[:, 0] - own)[:, None] * others / np.maximum(others.sum(axis=1, keepdims=True), 1e-300)
    longest = MarkovChain(belief.lower + np.diag(own) + rest)
    if longest.irreducible:
        return longest
    return MarkovChain(belief.lower + spare * slack / np.maximum(slack.sum(axis=1, keepdims=True), 1e-300))


def bound_of(belief: Belief, bands: Sequence[Band], shares: Floats) -> Floats | None:
    """What the memory of every chain of a class is at most, by band and pair of states; None where a world says it."""
    if not isinstance(belief, MixingClass | IntervalChain):
        return None
    k = len(belief.states)
    bound = np.zeros((len(bands), k + 1, k))
    if isinstance(belief, MixingClass):
        deviation = np.sqrt(np.maximum(shares * (1 - shares), 1e-12))
        ratios = deviation[None, :] / deviation[:, None]
        for n, band in enumerate(bands):
            left = float(np.mean(belief.remembered ** np.arange(band.first, band.last + 1)))
            bound[n, :-1], bound[n, -1, 0] = np.minimum(left * ratios, 1.0), left
        return bound
    for n, most in enumerate(belief.apart([band.first for band in bands])):  # it only falls with the lag
        bound[n, :-1], bound[n, -1, 0] = most, most.max()
    return bound


def _round(kernels: Floats) -> Floats:
    whole = np.eye(kernels.shape[1])
    for kernel in kernels:
        whole = whole @ kernel
    return whole


def _lasting(kernel: Floats) -> Floats:
    """What a chain comes to, periodic or not: powers of the lazy chain."""
    lazy = (kernel + np.eye(len(kernel))) / 2
    for _ in range(SQUARINGS):
        lazy = lazy @ lazy
        lazy /= lazy.sum(axis=1, keepdims=True)
    return lazy


@njit(cache=True)
def walked(kernels: Floats, laws: Floats, shown: Integers, clock: Integers, ends: Integers, chances: Floats) -> Codes:
    """For each row of numbers between 0 and 1 the states that they choose; sums of laws and rows are cumulative."""
    count, length = chances.shape
    last = kernels.shape[1] - 1
    paths = np.empty((count, length), dtype=np.int64)
    for n in range(count):
        inner = 0
        for t in range(length):
            begins = t == 0 or ends[t] != ends[t - 1]
            row = laws[clock[t]] if begins else kernels[clock[t - 1], inner]
            inner = min(int(np.searchsorted(row, chances[n, t], side="right")), last)
            paths[n, t] = shown[inner]
    return paths


@njit(cache=True)
def _perron(kernels: Floats, weights: Floats) -> tuple[float, Floats, Floats]:
    """With columns weighed: the log of the growth of a step, and the kernels and laws that Perron's vectors give."""
    period, m = kernels.shape[0], kernels.shape[1]
    whole, growth = np.eye(m), 0.0
    for t in range(period):
        whole = whole @ (kernels[t] * weights)
        growth += np.log(whole.max())
        whole /= whole.max()
    power = whole + np.eye(m)  # the same vectors, also where states take turns
    for _ in range(SQUARINGS):
        power = power @ power
        power /= power.max()
    after = np.empty((period + 1, m))  # right vectors: what is still to come
    after[period] = power.sum(axis=1)
    growth += np.log((whole @ after[period]).sum() / after[period].sum())
    for t in range(period - 1, -1, -1):
        after[t] = (kernels[t] * weights) @ after[t + 1]
        after[t] /= after[t].max()
    before, laws, tilted = power.sum(axis=0), np.empty((period, m)), np.empty_like(kernels)
    for t in range(period):
        laws[t] = before * after[t] / (before * after[t]).sum()
        for u in range(m):
            row = kernels[t, u] * weights * after[t + 1]
            tilted[t, u] = row / row.sum() if row.sum() > 0 else kernels[t, u]
        before = before @ (kernels[t] * weights)
        before /= before.max()
    return growth / period, tilted, laws
