"""Series and records that a belief makes up: nobody's data, to see how answers would look."""

from dataclasses import replace

import numpy as np

from quiltwork.beliefs import Belief, CycleChain, HiddenChain, MarkovChain
from quiltwork.data.records import Records
from quiltwork.data.series import Series
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.types import Codes

MOST_VALUES = 5_000_000


def made_up(belief: Belief, *, length: int, people: int = 1, seed: int = 0) -> Series:
    """Independent series of this length, as the belief has them; the same seed makes the same series.

    Of a set of chains it is the first one. Where any start is possible, series begin as they are in the long run.

    >>> from quiltwork import MarkovChain
    >>> lazy = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["sit", "walk"])
    >>> series = made_up(lazy, length=1000, people=3)
    >>> series.subjects, series.longest, series.counts().tolist()
    (3, 1000, [2422, 578])
    """
    _check_size(length, people)
    paths = _paths(belief, length, people, np.random.default_rng(seed))
    if paths is None:
        raise _no_law(belief)
    return Series.from_codes(list(paths), states=belief.states)


def made_up_records(belief: Belief, *, people: int = 1, seed: int = 0) -> Records:
    """Independent records, as a network has them; of a set of networks it is the first one.

    >>> from quiltwork import BayesianNetwork
    >>> flu = BayesianNetwork(
    ...     {"ann": ("no", "yes"), "bob": ("no", "yes")},
    ...     parents={"bob": ["ann"]},
    ...     tables={"ann": [0.9, 0.1], "bob": [[0.95, 0.05], [0.5, 0.5]]},
    ... )
    >>> made_up_records(flu, people=1000).codes.sum(axis=0).tolist()
    [96, 91]
    """
    if not belief.networks:
        raise _no_law(belief)
    network, rng = belief.networks[0], np.random.default_rng(seed)
    names = list(network.variables)
    _check_size(len(names), people)
    codes = np.zeros((people, len(names)), dtype=np.int64)
    for node in network.graph.order:
        table = network.tables[names[node]]
        rows = table[tuple(codes[:, parent] for parent in network.graph.parents[node])]
        ends = np.broadcast_to(np.cumsum(rows, axis=-1), (people, table.shape[-1]))
        codes[:, node] = (rng.random(people)[:, None] >= ends[:, :-1]).sum(axis=1)
    return Records(network.variables, codes)


def _check_size(length: int, people: int) -> None:
    if length < 1 or people < 1 or length * people > MOST_VALUES:
        raise ParameterError(
            f"simulated data must have at most {MOST_VALUES:,} values together",
            got=f"{people:,} times {length:,}",
            fix="Choose fewer people or shorter series",
        )


def _no_law(belief: Belief) -> NotCoveredError:
    return NotCoveredError(
        "this belief cannot be simulated",
        got=repr(belief),
        why="it bounds how values depend on each other, and does not say which values there are",
        fix="Choose a chain, a set of chains, a cycle, a chain with phases or a network",
    )


def _paths(belief: Belief, length: int, people: int, rng: np.random.Generator) -> Codes | None:
    """As the first member has them: chains from their start, cycles from any time of theirs."""
    from quiltwork.fitting.worlds import world_of  # compiled

    member = belief.members[0]
    if not isinstance(member, MarkovChain | HiddenChain | CycleChain):
        return None
    world = world_of(member, np.ones(len(member.states)))
    if isinstance(member, MarkovChain) and member.initial is not None:
        world = replace(world, known_law=member.initial[None])
    times, ends = np.arange(length), np.full(length, length)
    if world.period == 1:
        return world.paths(times, ends, people, rng)
    begun = rng.integers(0, world.period, size=people)
    return np.concatenate([world.paths(times + start, ends, 1, rng) for start in begun])
