"""Bridges (Statement 45): what the values between two known ends tell about one of the ends, compiled.

    G_n(z,a) = E[g | X_1 = z, X_{n+1} = a],   Γ_n[z](a,b) ≥ log G_n(z,a) / G_n(z,b)

for every g of the n - 1 values in between that is log-Lipschitz by the profile. Given one end, the values from there on
are a Markov chain, so Γ follows the curve's recursion with the kernels of that chain:

    P(X_n = y | X_1 = z, X_{n+1} = a) = P^{n-1}[z,y] P[y,a] / P^n[z,a] .

With the transposed matrix the same recursion bounds what the values in between tell about the *first* end.

With many states, ends z are taken together in groups, with the largest Γ of their members: then one plan of shipments
mostly serves them all, and following a plan is far cheaper than finding one.
"""

from dataclasses import dataclass

import numpy as np

from quiltwork.compiled import njit
from quiltwork.influence.curve.transport import (
    LARGEST_DIFFERENCE,
    MARGIN,
    Held,
    Plans,
    Routes,
    Space,
    _follow,
    _keep,
    _least,
    _nearest_first,
    _ship,
    _shorten,
    _space,
)
from quiltwork.numeric import in_threads
from quiltwork.types import Flags, Floats, Integers

APART = 2 * LARGEST_DIFFERENCE  # between values of which one cannot occur
THREADS_FROM = 10  # states: with fewer, starting a thread takes longer than the work
UNIT_ROUNDOFF = 2.0**-53
TINY = 1e-140  # less than this is too small to trust: products of two must not underflow
Laws = tuple[Floats, Floats, Floats]  # of the states before, of one more move, and after it
Ends = tuple[Laws, Integers, Integers, bool]  # with a group of ends, kinds of states, whether the ends lead to the same


@dataclass(frozen=True)
class Bridge:
    """Γ_n for every group of ends, and the power of P that its kernels are made of.

    ``values[g,a,b]`` means nothing where no end of the group can lead to both a and b.
    """

    groups: tuple[Integers, ...]
    kinds: Integers
    steps: int
    power: Floats
    support: Flags
    values: Floats
    before: Floats
    """The values one step earlier, for a guess at the next."""
    worst: Integers
    """Which end of the group was the worst for each pair."""
    routes: tuple[Routes, ...]
    """For each group the shipments that proved its values."""

    @classmethod
    def shortest(cls, P: Floats, groups: tuple[Integers, ...], kinds: Integers) -> "Bridge":
        """One step: there is nothing in between."""
        k, nothing = len(P), np.zeros((len(groups), *P.shape))
        worst = np.zeros((len(groups), *P.shape), dtype=np.int64)
        routes = tuple(Routes(k * k, int(kinds.max()) + 1) for _ in groups)
        return cls(groups, kinds, 1, np.ascontiguousarray(P), P > 0, nothing, nothing, worst, routes)

    @property
    def usable(self) -> bool:
        """Whether every entry that can occur is large enough to be trusted."""
        return not bool((self.support & (self.power < TINY)).any())

    def by_end(self) -> Floats:
        """Γ[z], for every end by itself."""
        values = np.empty((len(self.power), *self.power.shape))
        for members, table in zip(self.groups, self.values, strict=True):
            values[members] = table
        return values

    def longer(self, profile: Floats, by: Floats, *, steps: int, precision: float) -> "Bridge":
        """With further steps, of which ``by`` is the power: all but one of the values in between count in full."""
        k, total = len(self.power), self.steps + steps
        power, support = self.power @ by, (self.support.astype(np.float64) @ (by > 0)) > 0
        values, worst = np.empty_like(self.values), self.worst.copy()
        guess = np.maximum(2 * self.values - self.before, 0.0)

        def work(some: slice) -> None:
            for g in range(some.start, min(some.stop, len(self.groups))):
                members, held = self.groups[g], self.routes[g].held
                alike = bool((self.support[members] == self.support[members[0]]).all())
                ends = (self.power, by, power), members, self.kinds, alike
                _lengthen(ends, (profile, self.values[g], guess[g]), precision, held, worst[g], values[g])

        if k < THREADS_FROM:
            work(slice(0, len(self.groups)))
        else:
            in_threads(work, len(self.groups), pieces=len(self.groups))
        # Statement 12, and room for the rounding errors of the powers
        values += (steps - 1) * float(profile.max()) * (1 + 1e-12) + 8 * total * (k + 4) * UNIT_ROUNDOFF
        values[:, np.arange(k), np.arange(k)] = 0.0
        return Bridge(self.groups, self.kinds, total, power, support, values, self.values, worst, self.routes)


@njit(cache=True, nogil=True)
def _plans(lengths: Floats, kinds: Integers) -> Plans:
    """Shipments under a D between kinds of states, nearest first."""
    k = len(lengths)
    gains = np.empty((k, k))
    for y in range(k):
        for z in range(k):
            gains[y, z] = np.exp(min(lengths[y, z] * (1.0 + MARGIN), APART)) * (1.0 + MARGIN)
    return kinds, gains, _nearest_first(gains, 0)


@njit(cache=True, nogil=True)
def _differences(
    laws: Laws, members: Integers, kinds: Integers, profile: Floats, bound: Floats, lengths: Floats
) -> float:
    """D = λ + Γ between kinds of states that some member leads to, and its largest entry."""
    before, _, _ = laws
    most = 0.0
    lengths[:] = -1.0
    for y in range(len(profile)):
        for x in range(len(profile)):
            for z in members:
                if before[z, y] > 0.0 and before[z, x] > 0.0:
                    D = profile[y, x] + bound[y, x] if x != y else 0.0
                    lengths[kinds[y], kinds[x]] = max(lengths[kinds[y], kinds[x]], D)
                    most = max(most, D)
                    break
    for y in range(len(lengths)):
        for x in range(len(lengths)):
            if lengths[y, x] < 0.0:
                lengths[y, x] = APART
    return most


@njit(cache=True, nogil=True)
def _row(laws: Laws, z: int, a: int, row: Floats) -> bool:
    """The law of the value before, between z and a; whether a can be reached at all."""
    before, by, after = laws
    if after[z, a] <= 0.0:
        return False
    for y in range(len(row)):
        row[y] = before[z, y] * by[y, a] / after[z, a]
    return True


@njit(cache=True, nogil=True)
def _proved(a: Floats, b: Floats, claim: float, plans: Plans, held: Held, pair: int, space: Space) -> bool:
    """Whether the pair's route, or else shipping nearest first, proves the claim."""
    origin, goal, count = held
    ratio = np.exp(claim) * (1.0 - MARGIN)
    if count[pair] > 0 and _follow(a, b, ratio, plans, (origin[pair], goal[pair], count[pair]), space) >= 0.0:
        return True
    return _ship(a, b, ratio, plans, space)[0] >= 0.0


@njit(steps=lambda ends, known, *_: 60 * len(ends[1]) * known[0].size, cache=True, nogil=True)
def _lengthen(
    ends: Ends,
    known: tuple[Floats, Floats, Floats],  # λ, Γ, and a guess at the next Γ
    precision: float,
    held: Held,
    worst: Integers,
    values: Floats,
) -> None:
    """The pairwise step with the kernels of chains that started in one of the members: the largest of their claims."""
    laws, members, kinds, alike = ends
    profile, bound, guess = known
    k = len(profile)
    g = kinds.max() + 1
    lengths, hops = np.empty((g, g)), np.zeros((g, g), dtype=np.int32)
    most = _differences(laws, members, kinds, profile, bound, lengths)
    if alike:  # else a detour may lead through states that only some members lead to
        _shorten(lengths, hops)  # Statement 37
    plans, space = _plans(lengths, kinds), _space(g)
    nowhere = np.empty(0, dtype=np.int16), np.empty(0, dtype=np.int16), np.int64(0)
    rows = np.empty((k, len(members), k))
    reached = np.empty((k, len(members)), dtype=np.bool_)
    for a in range(k):
        for n in range(len(members)):
            reached[a, n] = _row(laws, members[n], a, rows[a, n])
    for a in range(k):
        for b in range(k):
            values[a, b] = 0.0
            if a == b:
                continue
            if most > LARGEST_DIFFERENCE:
                values[a, b] = most
                continue
            pair, near = a * k + b, min(max(guess[a, b], 0.02 * most), most)
            claim, first = 0.0, worst[a, b]
            for j in range(len(members)):
                n = (first + j) % len(members)  # the last node's worst one first
                if not (reached[a, n] and reached[b, n]):
                    continue
                above, below = rows[a, n], rows[b, n]
                if claim == 0.0 or not _proved(above, below, claim, plans, held, pair, space):
                    needed, made = _least(above, below, most, max(near, claim), precision, plans, nowhere, space)
                    claim, made = max(claim, needed), made if needed >= claim else 0
                    _keep(above, below, claim, made, plans, space, held, pair)
                    worst[a, b] = n
            values[a, b] = claim  # Statement 11


@njit(steps=lambda logs, *_: 6 * logs.size**2, cache=True, nogil=True)
def any_start(
    logs: Floats,  # [z, a]: log P^n, -inf where impossible
    told: Floats,  # [z, a, b]: Γ_n
    ends: Floats,  # [b, z, z']: λ(z,z') + what the values in between tell of z + what came before z
    most: float,  # the largest change of z and what came before it
    between: float,  # all values in between, in full
    bounds: Floats,
) -> None:
    """The largest over two-point starts z, z' of max(Γ[z], Γ[z']) + proj(c(z,z'), D(z,z')) (Statement 46)."""
    k = len(logs)
    common, shift = np.empty(k, dtype=np.int64), np.empty(k)
    for a in range(k):
        for b in range(k):
            bounds[a, b] = 0.0
            if a == b:
                continue
            count, apart, best = 0, False, 0.0
            for z in range(k):
                here, there = logs[z, a] > -np.inf, logs[z, b] > -np.inf
                apart = apart or here != there
                if here and there:
                    common[count], shift[count] = z, logs[z, a] - logs[z, b]
                    best = max(best, told[z, a, b])
                    count += 1
            for n in range(0 if apart else count):
                for j in range(count):
                    z, y, c = common[n], common[j], shift[n] - shift[j]
                    if c <= 0.0:
                        continue
                    D, own = ends[b, z, y], max(told[z, a, b], told[y, a, b])
                    if own + min(c, D) > best:
                        # 2 log (1 + √e^{c+D}) / (√e^c + √e^D), without overflow
                        step = _log_one_plus((c + D) / 2.0) - max(c, D) / 2.0 - _log_one_plus(-abs(c - D) / 2.0)
                        best = max(best, own + 2.0 * step * (1.0 + MARGIN) + MARGIN)  # Statement 13
            bounds[a, b] = between + most if apart else min(best, between + most)  # Statement 18


@njit(cache=True, nogil=True)
def _log_one_plus(x: float) -> float:
    return np.log1p(np.exp(x)) if x < 30.0 else x + np.exp(-x)
