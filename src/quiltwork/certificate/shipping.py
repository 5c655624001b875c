"""The pairwise step in balls: a plan that surely delivers proves its claim (Statement 11)."""

from collections import Counter
from collections.abc import Iterable

import numpy as np
from flint import arb
from scipy.optimize import linprog

from quiltwork.certificate.balls import Row, positive, smaller

Pair = tuple[int, int]
Gains = dict[int, dict[int, arb]]


def gains_of(difference: Gains) -> Gains:
    """exp of D, made shorter by detours."""
    D = {y: dict(row) for y, row in difference.items()}
    for middle in D:
        for y, row in D.items():
            first = row[middle]
            D[y] = {z: smaller(row[z], first + D[middle][z]) for z in row}  # Statement 37
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


def _delivered(order: Iterable[Pair], excess: dict[int, arb], room: dict[int, arb], gains: Gains) -> bool:
    """Whether shipping in this order leaves no excess, whatever the rounding."""
    excess, room = dict(excess), dict(room)
    for y, z in order:
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
