"""What a belief says about the law p_i of X_i: the part of max-influence that depends on the node (Statement 3).

A series is cut into *phases*. Within a phase the possible pairs of states do not change and ``log p_i(x')/p_i(x)`` is
replaced by a bound that does not grow with i. Then, for nodes further right, quilts with a left node only get better
and quilts without one only get worse, which is what the search in ``calibration/mechanisms/quilt.py`` relies on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from quiltwork.beliefs.chain import MarkovChain
from quiltwork.beliefs.secrets import SecretPairs
from quiltwork.beliefs.structure import closed_classes, following, stationary_law
from quiltwork.influence.quilts.kernels import IMPOSSIBLE, INFINITE, TINY
from quiltwork.influence.quilts.tables import FURTHEST, UNIT_ROUNDOFF, ChainTables
from quiltwork.types import Flags, Floats

EXACT_NODES = 64, 2048  # a given start is followed node by node for at least and at most this many nodes
SETTLED = 1e-11
CHECKPOINT_GROWTH = 1.25


@dataclass(frozen=True)
class Phase:
    """Nodes ``first..last`` (last None: without end) that share possible pairs and a bound on the prior's part.

    ``prior`` is sup log p_i(x')/p_i(x), flattened over (x, x'); None stands for any start, where it is G_{i-1}[x', x].
    ``sources`` are the states that z = X_{i-a} may take from node ``settled`` on; ``early`` lists them for the nodes
    before that. Left nodes before ``furthest_left`` are not used.
    """

    first: int
    last: int | None
    possible: Flags
    prior: Floats | None
    sources: Flags | None = None
    early: tuple[Flags, ...] = ()
    furthest_left: int = 1
    uniform: bool = False
    pairs: Flags = field(init=False)

    def __post_init__(self) -> None:
        pairs = self.possible & ~np.eye(len(self.possible), dtype=bool)
        object.__setattr__(self, "pairs", pairs.ravel())

    def prior_at(self, tables: ChainTables, node: int) -> Floats:
        """sup log p_i(x')/p_i(x), flattened over (x, x'); ``IMPOSSIBLE`` for pairs that cannot occur."""
        if self.prior is not None:
            bound = self.prior
        elif node == 1:
            bound = np.zeros(self.possible.size)  # never used: node 1 has no left node
        else:
            tables.extend(min(node - 1, tables.dense))
            bound = tables.left_at(node - 1).reshape(self.possible.shape).T.ravel()  # Statement 3: any start
        return np.where(self.pairs, np.minimum(bound, INFINITE), IMPOSSIBLE)

    def left_at(self, tables: ChainTables, node: int, count: int) -> Floats:
        """G at the first ``count`` distances, with the states possible at each left node as sources."""
        table = tables.left(count, self.sources)
        special = [n for n in range(count) if node - tables.distances[n] <= len(self.early)]
        if special:
            table = table.copy()
            for n in special:
                sources = self.early[node - int(tables.distances[n]) - 1]
                table[n] = tables.left_at(int(tables.distances[n]), sources)
        return table


def secret_phases(chain: MarkovChain, length: int | None, secret: SecretPairs | None) -> Iterator[Phase]:
    """The phases as far as something in them is secret: with the pairs that are, at the times when they are."""
    every = phases(chain, length)
    if secret is None or secret.everything:
        yield from every
        return
    apart = secret.of_steps()
    for phase in every:
        kept = replace(phase, possible=phase.possible & apart)
        for first, last in secret.times or ((1, None),):
            begun = max(first, phase.first)
            ends = [end for end in (last, phase.last) if end is not None]
            ended = min(ends) if ends else None
            if ended is None or begun <= ended:
                whole = begun == phase.first and ended == phase.last
                yield replace(kept, first=begun, last=ended, uniform=phase.uniform and whole)  # Statement 61


def phases(chain: MarkovChain, length: int | None) -> Iterator[Phase]:
    """The phases of a chain's series, first to last."""
    if chain.start == "stationary":
        yield _stationary(chain, length)
    elif chain.start == "any":
        yield from _any(chain, length)
    else:
        yield from _given(chain, length)


def _stationary(chain: MarkovChain, length: int | None) -> Phase:
    pi = chain.stationary
    alive = pi > 0
    return Phase(1, length, _both(alive), _log_ratio(pi, alive, _stationary_error(pi)), alive, uniform=True)


def _any(chain: MarkovChain, length: int | None) -> Iterator[Phase]:
    """Every start: all states at node 1; those that can be reached later on only become fewer."""
    reached = [np.ones(len(chain.states), dtype=bool)]
    while not np.array_equal(later := following(reached[-1], chain.support), reached[-1]):
        reached.append(later)
    early = tuple(reached[:-1])
    for n, alive in enumerate(early, 1):
        if length is None or n <= length:
            yield Phase(n, n, _both(alive), None, reached[-1], early)
    if length is None or length >= len(reached):
        yield Phase(len(reached), length, _both(reached[-1]), None, reached[-1], early)


def _given(chain: MarkovChain, length: int | None) -> Iterator[Phase]:
    """A given start: node by node until p_i has settled, then in stretches under a bound for all that follow."""
    p = chain.initial
    assert p is not None  # noqa: S101 - the start is given
    supports, cycle_start = _support_cycle(p > 0, chain.support)
    limit = _limit(chain, supports[cycle_start:])
    at_least, at_most = EXACT_NODES
    node, fewest = 1, len(supports) + at_least
    while length is None or node <= length:
        alive = supports[_position(node, len(supports), cycle_start)]
        if node > fewest and (node > at_most or limit.spread(p, alive) < SETTLED):
            break
        early = tuple(supports[:cycle_start])
        if len(supports) > cycle_start + 1:
            early = tuple(supports[_position(n, len(supports), cycle_start)] for n in range(1, node))
        prior = _log_ratio(p, alive, _step_error(node, len(p)))
        yield Phase(node, node, _both(alive), prior, supports[-1], early)
        p, node = p @ chain.transition, node + 1
    together = np.any([_both(s) for s in supports[cycle_start:]], axis=0)
    sources = np.any(supports[cycle_start:], axis=0)
    while length is None or node <= length:
        alive = supports[_position(node, len(supports), cycle_start)]
        spread = limit.spread(p, alive)
        hopeless = not np.isfinite(spread)
        checkpoint = node + max(1, int(node * (CHECKPOINT_GROWTH - 1)))
        final = hopeless or spread < SETTLED or checkpoint > (FURTHEST if length is None else length)
        last = length if final else checkpoint - 1
        prior = limit.log_ratio + spread + _step_error(node, len(p)) + _stationary_error(p)  # Statement 36
        yield Phase(node, last, together, prior, sources, furthest_left=cycle_start + 1)
        if final:
            return
        p, node = p @ np.linalg.matrix_power(chain.transition, checkpoint - node), checkpoint


@dataclass(frozen=True)
class _Limit:
    """A law w, restricted to the states possible at a time, that the chain carries along: c w ≤ p_i ≤ C w persists."""

    law: Floats
    log_ratio: Floats

    def spread(self, p: Floats, alive: Flags) -> float:
        """log C/c at this node: by how much log p(x')/p(x) may differ from the limit from here on."""
        if not np.all(self.law[alive] > 0) or p[alive].min() < TINY:
            return float(np.inf)
        ratio = p[alive] / self.law[alive]
        return float(np.log(ratio.max() / ratio.min()))


def _limit(chain: MarkovChain, cycle: list[Flags]) -> _Limit:
    """The stationary law of the one closed class that the cycle of supports lies in; all zero if there is none."""
    k = len(chain.states)
    law = np.zeros(k)
    visited = np.flatnonzero(np.any(cycle, axis=0))
    for members in closed_classes(chain.support):
        if np.array_equal(visited, members):
            law[members] = stationary_law(chain.transition[np.ix_(members, members)])
    if not law.any():
        return _Limit(law, np.full(k * k, np.inf))
    return _Limit(law, _log_ratio(law, law > 0, _stationary_error(law)))


def _support_cycle(alive: Flags, support: Flags) -> tuple[list[Flags], int]:
    """The possible states at nodes 1, 2, ... up to where they repeat, and the index from which they cycle."""
    seen: dict[bytes, int] = {}
    supports: list[Flags] = []
    _, at_most = EXACT_NODES
    while alive.tobytes() not in seen and len(supports) < at_most:
        seen[alive.tobytes()] = len(supports)
        supports.append(alive)
        alive = following(alive, support)
    if alive.tobytes() in seen:
        return supports, seen[alive.tobytes()]
    # a very long cycle: from here on every state counts as possible, which is sound
    return [*supports, np.ones_like(alive)], len(supports)


def _position(node: int, count: int, cycle_start: int) -> int:
    index = node - 1
    return index if index < count else cycle_start + (index - cycle_start) % (count - cycle_start)


def _both(alive: Flags) -> Flags:
    return alive[:, None] & alive[None, :]


def _log_ratio(p: Floats, alive: Flags, error: float) -> Floats:
    """log p(x')/p(x) over (x, x'), rounded up; infinite where p(x) is too small to trust."""
    logs = np.log(np.where(alive, np.maximum(p, TINY), 1.0))
    ratio = logs[None, :] - logs[:, None] + error + 8 * UNIT_ROUNDOFF * (1 + np.abs(logs).max())
    ratio[alive & (p < TINY)] = np.inf
    return np.asarray(ratio.ravel())


def _step_error(node: int, states: int) -> float:
    """A bound on the error of log p_i(x')/p_i(x) after i - 1 steps."""
    return 2.02 * node * (states + 4) * UNIT_ROUNDOFF


def _stationary_error(law: Floats) -> float:
    """A bound on the error of a log-ratio of stationary probabilities by state reduction."""
    return 8.0 * (len(law) ** 3 + 1) * UNIT_ROUNDOFF
