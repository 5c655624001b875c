"""The ∞-Wasserstein distance in L1 between laws of several numbers, as a transport (Statement 65)."""

from typing import Any

import numpy as np

from quiltwork.errors import NotCoveredError
from quiltwork.laws.exact import SecretLaws
from quiltwork.types import Flags, Floats, Integers

MOST_POINTS = 400  # of one law: every two of them are compared
MOST_WORK = 3e7  # ways between points, for all nodes and pairs
MISSED = 1e-9  # of the mass, which a linear programme may leave behind; the exact loss is looked at afterwards


def furthest_pair(laws: SecretLaws) -> tuple[int, int, int, int]:
    """The largest distance in units between the laws of two secrets: (distance, node, one, other)."""
    check_vectors(laws)
    apart = np.abs(laws.points[:, None, :] - laws.points[None, :, :]).sum(axis=2)
    best = (0, 0, 0, 0)
    for node, (law, pairs) in enumerate(zip(laws.logs, laws.pairs, strict=True)):
        present = [x for x in range(len(law)) if np.isfinite(law[x]).any()]
        for x, y in ((x, y) for n, x in enumerate(present) for y in present[:n] if pairs[x, y]):
            distance = transport_distance(apart, np.exp(law[x]), np.exp(law[y]), at_least=best[0])
            if distance > best[0]:
                best = (distance, node, x, y)
    return best


def check_vectors(laws: SecretLaws) -> None:
    """Refuse what would take long, or has no single law."""
    if laws.leads is not None:
        raise NotCoveredError(
            "wasserstein for several numbers needs a start",
            got='initial "any"',
            why="the worst of all starts is known for one number only",
            fix='Give initial as a vector or "stationary", or use curve',
        )
    nodes, secrets, points = laws.logs.shape
    work = float(nodes) * secrets**2 * points**2
    if points > MOST_POINTS or work > MOST_WORK:
        raise NotCoveredError(
            "wasserstein for several numbers covers small cases",
            got=f"{points:,} possible answers and {work:.1e} ways between them",
            why=f"the limits are {MOST_POINTS} and {MOST_WORK:.0e}",
            fix="Use curve or audited, or a single number",
        )


def transport_distance(apart: Integers, mu: Floats, nu: Floats, *, at_least: int = 0) -> int:
    """The least distance within which all mass of one law can be moved to the other; no smaller than ``at_least``.

    >>> apart = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    >>> transport_distance(apart, np.array([0.2, 0.225, 0.5, 0.075, 0]), np.array([0, 0.075, 0.5, 0.225, 0.2]))
    2
    """
    block = apart[np.ix_(mu > 0, nu > 0)]
    p, q = mu[mu > 0], nu[nu > 0]
    steps = [at_least, *(int(d) for d in np.unique(block) if d > at_least)]
    low, high = 0, len(steps) - 1
    if _moves(block <= steps[0], p, q):
        return steps[0]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _moves(block <= steps[middle], p, q) else (middle, high)
    return steps[high]


def _moves(near: Flags, p: Floats, q: Floats) -> bool:
    """Whether all mass can be moved along these ways."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    rows, columns = np.nonzero(near)
    if len(np.unique(rows)) < len(p) or len(np.unique(columns)) < len(q):
        return False  # some mass has nowhere to go, or comes from nowhere
    ways = np.arange(len(rows))
    places = np.concatenate([rows, len(p) + columns])
    limits = csr_array((np.ones(2 * len(ways)), (places, np.tile(ways, 2))), shape=(len(p) + len(q), len(ways)))
    solve: Any = linprog  # its types know no sparse tables
    found = solve(-np.ones(len(ways)), A_ub=limits, b_ub=np.concatenate([p, q]), method="highs")
    return bool(found.status == 0 and -found.fun >= min(p.sum(), q.sum()) - MISSED)
