"""The pairwise step in balls: a plan that surely delivers proves its claim (Statement 11)."""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from flint import arb

from quiltwork.certificate.balls import Row, positive
from quiltwork.types import Floats

Pair = tuple[int, int]
Gains = Mapping[int, dict[int, arb]]


def gains_of(difference: Gains) -> Gains:
    """exp of D, made shorter by detours."""
    D = {y: dict(row) for y, row in difference.items()}
    for middle in D:
        for y, row in D.items():
            first = row[middle]
            D[y] = {z: row[z].min(first + D[middle][z]) for z in row}  # Statement 37
    return {y: {z: x.exp() for z, x in row.items()} for y, row in D.items()}


def shipped(one: Row, other: Row, claim: arb, gains: Gains) -> bool:
    """Whether the excess (P[a] - r P[b])+ can be shipped to the deficits, nearest first or by the best plan."""
    r = claim.exp()
    balance = [p - r * q for p, q in zip(one, other, strict=True)]
    excess = {y: positive(x) for y, x in enumerate(balance) if not x <= 0}  # also where the sign is in doubt
    room = {z: -x for z, x in enumerate(balance) if x < 0}
    if not all(y in gains for y in excess):
        return False
    costs = {(y, z): float(gains[y][z].mid()) for y in excess for z in room if z in gains[y]}
    return _delivered(sorted(costs, key=costs.__getitem__), excess, room, gains) or _delivered(
        _best_plan(costs, excess, room), excess, room, gains
    )


def delivers(one: Row, other: Row, difference: Floats, claim: arb) -> bool:
    """Whether all of one law can be shipped to e^claim times another on states of its own, by D between the two."""
    if arb(float(difference.max())) <= claim:
        return True  # wherever it goes
    r = claim.exp()
    gains = {y: _Later(row) for y, row in enumerate(difference)}
    order = [divmod(int(n), len(other)) for n in np.argsort(difference, axis=None, kind="stable")]
    excess, room = dict(enumerate(one)), {z: r * q for z, q in enumerate(other)}
    if _delivered(order, excess, room, gains):
        return True
    shares = _best_shares(one, other, difference)
    return shares is not None and _takes(one, shares, gains, room)


def _best_shares(one: Row, other: Row, difference: Floats) -> Floats | None:
    """Which share of each state goes where if the most crowded goal is to be as empty as possible, about."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    n, m = difference.shape
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        p, q = (np.array([float(x.mid()) for x in law]) for law in (one, other))
        loads = np.exp(difference - difference.min()) * p[:, None] / q
    if not np.isfinite(loads).all():
        return None
    y, z, ways = np.repeat(np.arange(n), m), np.tile(np.arange(m), n), np.arange(n * m)
    sends = csr_array((np.ones(n * m), (y, ways)), shape=(n, n * m + 1))
    # what each goal takes, less the largest of all
    entries = np.append(loads.ravel(), -np.ones(m))
    places = np.append(z, np.arange(m)), np.append(ways, np.full(m, n * m))
    fills = csr_array((entries, places), shape=(m, n * m + 1))
    goal = np.append(np.zeros(n * m), 1.0)
    # its types do not know of sparse matrices
    solved = linprog(goal, A_ub=fills, b_ub=np.zeros(m), A_eq=sends, b_eq=np.ones(n))  # type: ignore[call-overload]
    return None if solved.x is None else np.maximum(solved.x[:-1].reshape(n, m), 0.0)


def _takes(one: Row, shares: Floats, gains: Gains, room: dict[int, arb]) -> bool:
    """Whether there is room for all of a law that goes out in these shares, whatever they add up to."""
    taken = dict.fromkeys(room, arb(0))
    for y, row in enumerate(shares):
        goals = np.flatnonzero(row > 0)
        sent = sum((arb(float(row[z])) for z in goals), arb(0))
        if not sent > 0:
            return False
        for z in goals.tolist():
            taken[z] += one[y] * (arb(float(row[z])) / sent) * gains[y][z]
    return all(taken[z] <= room[z] for z in room)


class _Later(dict[int, arb]):
    """exp of a row of D, computed where something is shipped."""

    def __init__(self, row: Floats):
        super().__init__()
        self._row = row

    def __missing__(self, z: int) -> arb:
        self[z] = arb(float(self._row[z])).exp()
        return self[z]


def _delivered(order: Iterable[Pair], excess: dict[int, arb], room: dict[int, arb], gains: Gains) -> bool:
    """Whether shipping in this order leaves no excess, whatever the rounding."""
    excess, room = dict(excess), dict(room)
    for y, z in order:
        if not excess:
            break
        if y not in excess or z not in room:
            continue
        needed = excess[y] * gains[y][z]
        if needed <= room[z]:
            room[z] -= needed
            del excess[y]
        else:
            excess[y] = positive(excess[y] - room.pop(z) / gains[y][z])
    return not excess


def _best_plan(costs: dict[Pair, float], excess: dict[int, arb], room: dict[int, arb]) -> list[Pair]:
    """The shipments of the plan that takes up the least room, found by a linear programme, leaves of its tree first.

    A plan without circles has a state with a single shipment. Shipping that first, in full, delivers the plan.
    """
    from scipy.optimize import linprog

    pairs, need = list(costs), {y: float(x.mid()) for y, x in excess.items()}
    takes = np.array([costs[pair] for pair in pairs])
    sends = np.array([[float(y == s) for y, _ in pairs] for s in need])
    fills = np.array([[costs[pair] * (pair[1] == t) for pair in pairs] for t in room])
    if not pairs or not room:
        return []
    solved = linprog(
        takes, A_eq=sends, b_eq=list(need.values()), A_ub=fills, b_ub=[float(x.mid()) for x in room.values()]
    )
    used = [] if solved.x is None else [pair for pair, x in zip(pairs, solved.x, strict=True) if x > 0]
    order: list[Pair] = []
    while used:
        ends = Counter(end for y, z in used for end in (("from", y), ("to", z)))
        leaf = next((pair for pair in used if 1 in (ends["from", pair[0]], ends["to", pair[1]])), used[0])
        order.append(leaf)
        used.remove(leaf)
    return order
