"""The pairwise step as a transport (Statement 11): compiled, on all cores.

log r bounds step[a,b] if the excess (P[a,y] - r P[b,y])+ can be shipped to the deficits (r P[b,z] - P[a,z])+, a unit
sent from y to z taking up exp(D[y,z]) there. Shipping nearest first finds such a plan quickly, and any plan proves its
r. A plan that was found is a *route*, which can be followed again under another D at a fraction of the cost.

States may be taken together in *groups*: D is then a table over groups, within a group as between two, and excess and
deficit are those of whole groups. A plan between groups is one between their states (Statement 42).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from quiltwork.compiled import njit
from quiltwork.numeric import in_threads
from quiltwork.types import Floats, Integers

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

LARGEST_DIFFERENCE = 300.0  # beyond this a difference counts as unbounded
MARGIN = 1e-13  # more than the rounding error of one step
MOST_TRIES = 400  # far more than halving a bracket of floats takes
FURTHEST_LOOK = 1e6  # by which factor a claim that is too small is enlarged at most
FURTHEST_GAIN = float(np.exp(LARGEST_DIFFERENCE))
PARALLEL_FROM = 24  # states: with fewer, starting a thread takes longer than the work

Groups = NDArray[np.uint16]
Ranks = NDArray[np.uint32]
Bits = NDArray[np.uint64]
Order = tuple[Groups, Ranks, Groups, Floats, int]  # what ``_nearest_first`` makes
Plans = tuple[Integers, Floats, Order]  # groups of states, gains between groups, and which are near
Routed = NDArray[np.int16]
Route = tuple[Routed, Routed, int | np.int64]
Held = tuple[Routed, Routed, Integers]  # origins and goals by pair, and how many
Span = tuple[int, int]  # rows from the first up to, but not with, the last
Space = tuple[Floats, Floats, Bits, Integers, Integers, Integers, Floats, Floats, Floats]
# which power of 2 leaves this remainder, divided by 67: they are all different
WHICH_BIT = np.array([next((n for n in range(64) if 2**n % 67 == rest), 0) for rest in range(67)])


class Routes:
    """For each pair of rows the shipments of its plan, in their order: which group sends to which."""

    def __init__(self, pairs: int, groups: int):
        origin, goal = (np.zeros((pairs, groups + 1), dtype=np.int16) for _ in range(2))
        self.held: Held = (origin, goal, np.zeros(pairs, dtype=np.int64))


@dataclass(frozen=True)
class Shipments:
    """The cheapest plans under one D, between the states (or groups of states) that rows lead to."""

    rows: Floats
    groups: Integers  # of each state
    gains: Floats  # of each group, to each other
    order: Order

    @classmethod
    def of(cls, rows: Floats, difference: Floats, groups: Integers | None = None) -> "Shipments":
        """Plans for one D; every state by itself if no groups are given."""
        gains = np.exp(np.minimum(difference, 2 * LARGEST_DIFFERENCE)) * (1 + MARGIN)
        held, together = np.arange(rows.shape[1]), rows
        if groups is not None and len(difference) < len(groups):  # a group's states side by side are added up quickly
            order = np.argsort(groups, kind="stable")
            held, together = groups[order], rows[:, order]
        return cls(np.ascontiguousarray(together), held.astype(np.int64), gains, _nearest_first(gains, 0))

    def smallest(self, known: Floats, *, near: Floats, precision: float, routes: Routes | None = None) -> Floats:
        """The smallest claims that shipping nearest first proves, to a relative precision, none above what is known.

        They are looked for ``near`` a guess first, which need not be valid. ``routes`` are filled in.
        """
        least, kept = np.empty(known.shape), (routes or Routes(0, 0)).held
        self._each_row(lambda some: _smallest(self.rows, known, near, self._plans, precision, some, least, kept))
        return least

    def along(self, routes: Routes, known: Floats, *, near: Floats, precision: float) -> Floats:
        """The smallest claims that known routes prove; where they lead nowhere, nearest first, with new routes."""
        least = np.empty(known.shape)
        self._each_row(lambda some: _along(self.rows, known, near, self._plans, precision, some, least, routes.held))
        return least

    def hold(self, claim: Floats, routes: Routes | None = None, *, strictly: bool = False) -> bool:
        """Whether every step is at most the claim, by known routes or nearest first; ends where a pair is not proved.

        ``strictly`` by its route where a pair has one. Nothing is asked about pairs whose claim counts as unbounded.
        """
        failed, held = np.zeros(1, dtype=np.bool_), (routes or Routes(0, 0)).held
        self._each_row(lambda some: _hold(self.rows, claim, self._plans, some, failed, held, strictly))
        return not failed[0]  # Statement 11

    def shorter(self, routes: Routes, claims: Floats, precision: float) -> Floats:
        """Replace routes by shipping nearest first wherever that proves less by this part; what is proved then."""
        lower = claims.copy()
        self._each_row(lambda some: _shorter(self.rows, claims, self._plans, precision, some, routes.held, lower))
        return lower

    def weights(self, routes: Routes, claims: Floats) -> "csr_matrix":
        """How the claims depend on D: a row for each pair of states, a column for each entry of D."""
        from scipy.sparse import csr_matrix  # slow to import

        k, g = len(self.rows), len(self.gains)
        ends = np.concatenate([[0], np.cumsum(routes.held[2])])
        columns, shares = np.empty(ends[-1], dtype=np.int32), np.empty(ends[-1])
        kept = columns, shares, ends
        self._each_row(lambda some: _weights(self.rows, claims, self._plans, some, routes.held, kept))
        return csr_matrix((shares, columns, ends), shape=(k * k, g * g))

    @property
    def _plans(self) -> Plans:
        return self.groups, self.gains, self.order

    def _each_row(self, work: Callable[[Span], None]) -> None:
        count = len(self.rows)
        if count < PARALLEL_FROM:
            work((0, count))
        else:
            in_threads(lambda some: work((some.start, min(some.stop, count))), count, pieces=32)


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _over_and_under(a: Floats, b: Floats, ratio: float) -> tuple[float, float]:
    """The excess and the room of some states together, in whatever order adds them up quickest."""
    over, under = 0.0, 0.0
    for y in range(len(a)):
        wanted = ratio * b[y]
        slack = MARGIN * (a[y] + wanted)
        over += max(a[y] - wanted + slack, 0.0)  # Statement 11
        under += max(wanted - a[y] - slack, 0.0)
    rounding = 2.0**-52 * len(a)  # a sum of n terms that are not negative is off by n roundings at most
    return over * (1.0 + rounding), under * (1.0 - rounding)


@njit(cache=True, nogil=True)
def _fill(a: Floats, b: Floats, ratio: float, groups: Integers, excess: Floats, room: Floats) -> None:
    """What each group has to send, and how much it can take."""
    for n in range(len(excess)):
        excess[n] = 0.0
        room[n] = 0.0
    first, last = 0, 0
    while first < len(a):
        group = groups[first]
        while last < len(a) and groups[last] == group:
            last += 1
        if last == first + 1:
            wanted = ratio * b[first]
            slack = MARGIN * (a[first] + wanted)
            excess[group] += max(a[first] - wanted + slack, 0.0)  # Statement 11
            room[group] += max(wanted - a[first] - slack, 0.0)
        else:
            over, under = _over_and_under(a[first:last], b[first:last], ratio)
            excess[group] += over
            room[group] += under
        first = last


@njit(cache=True, nogil=True)
def _nearest_first(gains: Floats, shift: int) -> Order:
    """Pairs of an origin and a target, nearest first: each has a rank among all. Targets are numbered from the shift.

    Returns the targets of each origin, nearest first, and their ranks; by rank, the origin and the gain; and the first
    rank that is out of reach.
    """
    senders, g = gains.shape
    order = np.argsort(gains.ravel(), kind="mergesort")
    targets, ranks = np.empty((senders, g), dtype=np.uint16), np.empty((senders, g), dtype=np.uint32)
    origins, by_rank = np.empty(gains.size, dtype=np.uint16), np.empty(gains.size)
    filled, reached = np.zeros(senders, dtype=np.int64), 0
    for rank in range(gains.size):
        y, z = order[rank] // g, order[rank] % g
        targets[y, filled[y]], ranks[y, filled[y]] = shift + z, rank
        filled[y] += 1
        origins[rank], by_rank[rank] = y, gains[y, z]
        if by_rank[rank] < FURTHEST_GAIN:
            reached = rank + 1
    return targets, ranks, origins, by_rank, reached


@njit(cache=True, nogil=True)
def _wait(rank: int, waiting: Bits) -> None:
    """Mark a rank as one that waits."""
    waiting[rank >> 6] |= np.uint64(1) << np.uint64(rank & 63)


@njit(cache=True, nogil=True)
def _ship(a: Floats, b: Floats, ratio: float, plans: Plans, space: Space) -> tuple[float, int]:  # noqa: C901 - one loop
    """Ship all excess, nearest first; rounded so that a plan found is a plan.

    Those that wait are kept by the rank of their nearest target with room, a bit for each rank. It only grows, so one
    pass over the bits meets them in their order.

    Returns the room that is left, or what could not be shipped as a negative number; and how many shipments were made.
    """
    groups, _, (targets, ranks, origins, gains, reached) = plans
    excess, room, waiting, tried, origin, goal, rate, amount, _ = space
    senders, g = targets.shape
    _fill(a, b, ratio, groups, excess, room)
    count, stuck, made, word = 0, 0.0, 0, 0
    for y in range(senders):
        if excess[y] > 0.0:
            t = 0
            while t < g and not room[targets[y, t]] > 0.0:
                t += 1
            if t == g or ranks[y, t] >= reached:
                waiting[:] = 0
                return -1.0, 0  # there is no room at all within reach
            tried[y] = t
            _wait(ranks[y, t], waiting)
            count += 1
    while count > 0:
        while waiting[word] == 0:
            word += 1
        lowest = waiting[word] & (~waiting[word] + np.uint64(1))
        waiting[word] ^= lowest
        rank = 64 * word + WHICH_BIT[lowest % np.uint64(67)]
        y = origins[rank]
        t = tried[y]
        z = targets[y, t]
        if room[z] > 0.0:
            gain = gains[rank]
            needed = excess[y] * gain
            origin[made], goal[made], rate[made] = y, z, gain
            if needed <= room[z]:
                amount[made] = needed
                room[z] -= needed
                excess[y] = 0.0
            else:
                amount[made] = room[z]
                excess[y] -= room[z] / gain * (1.0 - MARGIN)
                room[z] = 0.0
            made += 1
        if excess[y] > 0.0:
            while t < g and not room[targets[y, t]] > 0.0:
                t += 1
            tried[y] = t
            if t < g and ranks[y, t] < reached:
                _wait(ranks[y, t], waiting)
                continue
            stuck += excess[y]
        count -= 1
    if stuck > 0.0:
        return -stuck, made
    left = 0.0
    for z in range(len(room)):
        left += room[z]
    return left, made


@njit(cache=True, nogil=True)
def _follow(a: Floats, b: Floats, ratio: float, plans: Plans, route: Route, space: Space) -> float:
    """Ship along a route: what room is left, or what could not be shipped as a negative number."""
    groups, gains = plans[:2]
    origins, goals, count = route
    excess, room, _, _, origin, goal, rate, amount, _ = space
    _fill(a, b, ratio, groups, excess, room)
    for j in range(count):
        y, z = origins[j], goals[j]
        gain = gains[y, z]
        needed = excess[y] * gain
        origin[j], goal[j], rate[j] = y, z, gain
        if needed <= room[z]:
            amount[j] = needed
            room[z] -= needed
            excess[y] = 0.0
        else:
            amount[j] = room[z]
            excess[y] -= room[z] / gain * (1.0 - MARGIN)
            room[z] = 0.0
    stuck, left = 0.0, 0.0
    for n in range(len(excess)):
        stuck += excess[n]
        left += room[n]
    return -stuck if stuck > 0.0 else left


@njit(cache=True, nogil=True)
def _space(g: int) -> Space:
    waiting, tried = np.zeros((g * g >> 6) + 1, dtype=np.uint64), np.empty(g, dtype=np.int64)
    origin, goal = np.empty(2 * g + 1, dtype=np.int64), np.empty(2 * g + 1, dtype=np.int64)
    rate, amount = np.empty(2 * g + 1), np.empty(2 * g + 1)
    return np.empty(g), np.empty(g), waiting, tried, origin, goal, rate, amount, np.empty(g)


@njit(cache=True, nogil=True)
def _priced(b: Floats, made: int, plans: Plans, space: Space) -> float:
    """P[b]·v for the function v that the shipments in hand leave no choice but one, 1 where there is room left.

    Each shipment empties its origin or fills its goal. Read backwards, one of the two is known, and v[y] = e^D v[z].
    """
    groups = plans[0]
    _, _, _, _, origin, goal, rate, _, value = space
    value[:] = -1.0
    for j in range(made - 1, -1, -1):
        y, z = origin[j], goal[j]
        if value[y] < 0.0 and value[z] < 0.0:
            value[z] = 1.0
        if value[y] < 0.0:
            value[y] = rate[j] * value[z]
        elif value[z] < 0.0:
            value[z] = value[y] / rate[j]
    total = 0.0
    for y in range(len(b)):
        total += b[y] * max(value[groups[y]], 0.0)
    return total


@njit(cache=True, nogil=True)
def _left(a: Floats, b: Floats, claim: float, plans: Plans, route: Route, space: Space) -> tuple[float, int]:
    """What room a claim leaves: along a route, or nearest first where there is none; how many shipments that made."""
    ratio = np.exp(claim) * (1.0 - MARGIN)
    if route[2] > 0:
        return _follow(a, b, ratio, plans, route, space), int(route[2])
    return _ship(a, b, ratio, plans, space)


@njit(cache=True, nogil=True)
def _nearer(b: Floats, claim: float, left: float, made: int, plans: Plans, space: Space) -> float:
    """Where the room that is left, or what was not shipped, would be 0 if prices stayed what they are."""
    total = np.exp(claim) * _priced(b, made, plans, space)
    if total <= 0.0:
        return -1.0
    if left >= 0.0:
        return float(claim - left / total)
    excess, value = space[0], space[8]
    stuck = 0.0
    for n in range(len(excess)):
        if excess[n] > 0.0:
            stuck += excess[n] * max(value[n], 1.0)
    return float(claim + stuck / total)


@njit(cache=True, nogil=True)
def _least(
    a: Floats, b: Floats, known: float, near: float, precision: float, plans: Plans, route: Route, space: Space
) -> tuple[float, int]:
    """The smallest claim that can be proved, by Newton's method from a guess, within a bracket.

    Also the number of shipments of its plan, if that is the one in hand. A claim smaller by x leaves less room by x at
    least, so what is left over says how near the smallest one is.
    """
    low, high, proved = 0.0, known, False
    middle, tries, made, factor = min(max(near, 1e-12), known), 0, 0, 1.0 + 4.0 * precision
    while high - low > precision * high and high > 1e-13 and tries < MOST_TRIES:
        tries += 1
        left, count = _left(a, b, middle, plans, route, space)
        if left >= 0.0:
            high, proved, made = middle, True, count
            if left <= precision * high:
                break
        else:
            low, made = middle, 0
        pad = 0.3 * precision * high
        aimed = _nearer(b, middle, left, count, plans, space) + pad if count > 0 and tries % 4 != 0 else -1.0
        if proved:
            middle = aimed if low + pad < aimed < high - pad else 0.5 * (low + high) if low > 0.0 else 0.7 * high
        else:
            middle, factor = max(aimed, low * factor, low + pad), min(factor**3, FURTHEST_LOOK)
            if middle >= known:
                middle = 0.5 * (low + known)
    return high, made


@njit(cache=True, nogil=True)
def _keep(a: Floats, b: Floats, claim: float, made: int, plans: Plans, space: Space, held: Held, pair: int) -> None:
    """Remember the route nearest first; ship anew if the plan in hand has no shipments."""
    origin, goal, count = held
    if made == 0:
        _, made = _ship(a, b, np.exp(claim) * (1.0 - MARGIN), plans, space)
    made = min(made, origin.shape[1])
    for j in range(made):
        origin[pair, j], goal[pair, j] = space[4][j], space[5][j]
    count[pair] = made


@njit(cache=True, nogil=True)
def _hold(
    rows: Floats, claim: Floats, plans: Plans, some: Span, failed: NDArray[np.bool_], held: Held, strictly: bool
) -> None:
    k, space = len(rows), _space(len(plans[1]))
    origin, goal, count = held
    for a in range(some[0], some[1]):
        for b in range(k):
            if failed[0]:
                return
            if a == b or claim[a, b] >= LARGEST_DIFFERENCE:
                continue
            pair, ratio = a * k + b, np.exp(claim[a, b]) * (1.0 - MARGIN)
            if len(count) > 0 and count[pair] > 0:
                route = origin[pair], goal[pair], count[pair]
                if _follow(rows[a], rows[b], ratio, plans, route, space) >= 0.0:
                    continue
                if strictly:
                    failed[0] = True
                    return
            if not _ship(rows[a], rows[b], ratio, plans, space)[0] >= 0.0:
                failed[0] = True


@njit(cache=True, nogil=True)
def _smallest(
    rows: Floats, known: Floats, near: Floats, plans: Plans, precision: float, some: Span, least: Floats, held: Held
) -> None:
    k, space = len(rows), _space(len(plans[1]))
    nowhere = np.empty(0, dtype=np.int16), np.empty(0, dtype=np.int16), np.int64(0)
    for a in range(some[0], some[1]):
        for b in range(k):
            if a == b or known[a, b] >= LARGEST_DIFFERENCE:
                least[a, b] = 0.0 if a == b else known[a, b]
                continue
            claim, made = _least(rows[a], rows[b], known[a, b], near[a, b], precision, plans, nowhere, space)
            if len(held[2]) > 0:
                _keep(rows[a], rows[b], claim, made, plans, space, held, a * k + b)
            least[a, b] = claim


@njit(cache=True, nogil=True)
def _along(
    rows: Floats, known: Floats, near: Floats, plans: Plans, precision: float, some: Span, least: Floats, held: Held
) -> None:
    k, space = len(rows), _space(len(plans[1]))
    origin, goal, count = held
    nowhere = np.empty(0, dtype=np.int16), np.empty(0, dtype=np.int16), np.int64(0)
    for a in range(some[0], some[1]):
        for b in range(k):
            pair, most, guess = a * k + b, known[a, b], near[a, b]
            if a == b or most >= LARGEST_DIFFERENCE:
                least[a, b] = 0.0 if a == b else most
                continue
            route = origin[pair], goal[pair], count[pair]
            claim, _ = _least(rows[a], rows[b], most, guess, precision, plans, route, space)
            if claim >= min(most, 1.5 * guess + 1e-9):  # the route leads nowhere: another one
                claim, made = _least(rows[a], rows[b], most, guess, precision, plans, nowhere, space)
                _keep(rows[a], rows[b], claim, made, plans, space, held, pair)
            least[a, b] = claim


@njit(cache=True, nogil=True)
def _shorter(
    rows: Floats, claims: Floats, plans: Plans, precision: float, some: Span, held: Held, lower: Floats
) -> None:
    k, space = len(rows), _space(len(plans[1]))
    nowhere = np.empty(0, dtype=np.int16), np.empty(0, dtype=np.int16), np.int64(0)
    for a in range(some[0], some[1]):
        for b in range(k):
            if a == b or claims[a, b] >= LARGEST_DIFFERENCE:
                continue
            less = claims[a, b] * (1.0 - precision)
            if _ship(rows[a], rows[b], np.exp(less) * (1.0 - MARGIN), plans, space)[0] > 0.0:
                claim, made = _least(rows[a], rows[b], less, less, precision, plans, nowhere, space)
                _keep(rows[a], rows[b], claim, made, plans, space, held, a * k + b)
                lower[a, b] = claim


@njit(cache=True, nogil=True)
def _weights(
    rows: Floats,
    claims: Floats,
    plans: Plans,
    some: Span,
    held: Held,
    kept: tuple[NDArray[np.int32], Floats, Integers],
) -> None:
    """∂ step / ∂ D for each pair: its shipments at their prices (Statement 42)."""
    origin, goal, count = held
    columns, shares, ends = kept
    k, g = len(rows), len(plans[1])
    space = _space(g)
    amount, value = space[7], space[8]
    for pair in range(some[0] * k, some[1] * k):
        a, b, first = pair // k, pair % k, ends[pair]
        route, total = (origin[pair], goal[pair], count[pair]), 0.0
        if a != b and claims[a, b] < LARGEST_DIFFERENCE:
            _follow(rows[a], rows[b], np.exp(claims[a, b]), plans, route, space)
            total = np.exp(claims[a, b]) * _priced(rows[b], count[pair], plans, space)
        for j in range(count[pair]):
            y, z = origin[pair, j], goal[pair, j]
            columns[first + j] = y * g + z
            shares[first + j] = amount[j] * value[z] / total if total > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _shorten(lengths: Floats, hops: NDArray[np.int32]) -> None:
    """Floyd's algorithm; ``hops`` is where the way from y to z goes first."""
    k = len(lengths)
    for middle in range(k):
        for y in range(k):
            first = lengths[y, middle]
            for z in range(k):
                there = first + lengths[middle, z]
                if there < lengths[y, z]:
                    lengths[y, z] = there
                    hops[y, z] = hops[y, middle]


@njit(cache=True, nogil=True)
def _ways(hops: NDArray[np.int32], columns: NDArray[np.int32], ends: Integers) -> None:
    """The steps of every way, one after the other: first how many (if there is no space for them), then which."""
    k, n = len(hops), 0
    for y in range(k):
        for z in range(k):
            here = y
            while here != z or n == ends[y * k + z]:
                there = hops[here, z]
                if len(columns):
                    columns[n] = here * k + there
                n += 1
                here = there
                if here == z:
                    break
            ends[y * k + z + 1] = n


@dataclass(frozen=True)
class Ways:
    """The tightest D that says the same, and how it is put together: v[y]/v[y''] ≤ v[y]/v[y'] times v[y']/v[y'']."""

    difference: Floats
    hops: NDArray[np.int32]

    @classmethod
    def of(cls, difference: Floats) -> "Ways":
        """The shortest ways between all states."""
        lengths = np.array(difference, dtype=np.float64)
        hops = np.tile(np.arange(len(lengths), dtype=np.int32), (len(lengths), 1))
        _shorten(lengths, hops)  # Statement 37
        return cls(lengths * (1 + MARGIN), hops)

    @property
    def direct(self) -> bool:
        """Whether no detour is shorter."""
        return bool((self.hops == np.arange(len(self.hops))).all())

    def steps(self) -> "csr_matrix":
        """Which entries of the given D each entry is the sum of: a row for each pair."""
        from scipy.sparse import csr_matrix  # slow to import

        size, ends = self.hops.size, np.zeros(self.hops.size + 1, dtype=np.int64)
        _ways(self.hops, np.empty(0, dtype=np.int32), ends)
        columns = np.empty(ends[-1], dtype=np.int32)
        _ways(self.hops, columns, ends)
        return csr_matrix((np.ones(len(columns)), columns, ends), shape=(size, size))


def shortest(difference: Floats) -> Floats:
    """The tightest D that says the same."""
    return Ways.of(difference).difference
