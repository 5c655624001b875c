"""Interval arithmetic for certificates: numbers are balls of Arb, comparisons true only when they surely hold."""

from typing import Any

from flint import arb, arb_mat

from quiltwork.errors import CertificateError
from quiltwork.types import Floats

Row = list["arb"]
NONE = arb(0)


def balls(table: Floats) -> list[Row]:
    """The entries of a table, exactly."""
    return [[arb(float(x)) for x in row] for row in table]


def normalised(table: Floats) -> list[Row]:
    """The same, each row divided by its sum."""
    rows = balls(table)
    return [[x / total for x in row] for row, total in ((row, sum(row)) for row in rows)]


def stationary_balls(rows: list[Row]) -> Row:
    """π with π P = π and Σ π = 1, by solving the equations in balls."""
    k = len(rows)
    equations = [[rows[y][x] - (1 if x == y else 0) for y in range(k)] for x in range(k)]
    equations[-1] = [arb(1)] * k
    right = [arb(0)] * (k - 1) + [arb(1)]
    try:
        solved = arb_mat(equations).solve(arb_mat(k, 1, right))
    except ZeroDivisionError as problem:
        raise CertificateError("the stationary law cannot be enclosed", why="the equations are too close") from problem
    return [solved[x, 0] for x in range(k)]


def attainable(lower: list[Row], upper: list[Row]) -> tuple[list[Row], list[Row]]:
    """The bounds as far as a row that sums to 1 can reach them; an entry that is 0 for certain stays so."""
    low, high = [], []
    for least, most in zip(lower, upper, strict=True):
        all_least, all_most = total(least), total(most)
        low.append([largest([x, 1 - (all_most - y)]) for x, y in zip(least, most, strict=True)])
        high.append([y if y <= 0 else smaller(y, 1 - (all_least - x)) for x, y in zip(least, most, strict=True)])
    return low, high  # Statement 35


def most_within(lower: Row, upper: Row, values: Row) -> "arb":
    """At least max p·values over laws p within the bounds; by duality any threshold gives such a bound."""
    order = sorted(range(len(values)), key=lambda y: -float(values[y].mid()))
    left, threshold = 1 - sum(lower), values[order[-1]]
    for y in order:
        left -= upper[y] - lower[y]
        if left <= 0:
            threshold = values[y]
            break
    best = threshold * (1 - sum(lower))
    for low, high, v in zip(lower, upper, values, strict=True):
        best += low * v + (high - low) * positive(v - threshold)
    return best


def cross_ratio(one: Row, other: Row) -> "arb | None":
    """The largest cross-ratio of two rows; None if infinite, 1 if both are empty."""
    pairs = [(x, y) for x, y in zip(one, other, strict=True) if not (x == 0 and y == 0)]
    if all(x == 0 for x, _ in pairs) or all(y == 0 for _, y in pairs):
        return arb(1)  # a state that cannot occur is no secret
    if not all(x > 0 and y > 0 for x, y in pairs):
        return None
    return largest([x / y for x, y in pairs]) * largest([y / x for x, y in pairs])


def interval_cross_ratio(lower: list[Row], upper: list[Row], a: int, b: int) -> "arb | None":
    """The largest cross-ratio of two rows known up to bounds; None if infinite."""
    if all(u == 0 for u in upper[a]) or all(u == 0 for u in upper[b]):
        return arb(1)
    ratio = arb(1)
    for above, below in ((a, b), (b, a)):
        pairs = [(u, low) for u, low in zip(upper[above], lower[below], strict=True) if not u <= 0]
        if not all(low > 0 for _, low in pairs):
            return None
        ratio *= largest([u / low for u, low in pairs])
    return ratio


def scalar_proves(one: Row, other: Row, claim: "arb", difference: "arb") -> bool:
    """The scalar step over all sets of next states at once.

    P[a]·v ≤ r P[b]·v for all v between 1 and e^D exactly if (e^D - 1) Σ (P[a] - r P[b])+ ≤ Σ (r P[b] - P[a]).
    """
    r = claim.exp()
    excess = [x - r * y for x, y in zip(one, other, strict=True)]
    return bool(difference.expm1() * sum(positive(e) for e in excess) <= -sum(excess))


def projective_proves(ratio: "arb | None", claim: "arb", difference: "arb") -> bool:
    """Whether the projective step is surely at most the claim."""
    if ratio is None:
        return bool(difference <= claim)
    r, e = largest([ratio, 1]).sqrt(), difference.exp().sqrt()
    return bool(2 * ((1 + r * e) / (r + e)).log() <= claim) or bool(ratio.log() <= claim)


def positive(x: "arb") -> "arb":
    """At least max(x, 0), without a sign that is in doubt."""
    return NONE if x <= 0 else x.max(NONE)


def total(numbers: Row) -> "arb":
    """The sum."""
    return sum(numbers, arb(0))


def largest(numbers: list[Any]) -> "arb":
    """The largest of several numbers."""
    maximum = arb(numbers[0])
    for number in numbers[1:]:
        maximum = maximum.max(arb(number))
    return maximum


def smaller(one: Any, other: Any) -> "arb":
    """The smaller of two numbers."""
    return arb(one).min(arb(other))
