"""Series that a belief makes up: nobody's data, to see how answers would look."""

import numpy as np

from quiltwork.beliefs import Belief, MarkovChain
from quiltwork.data.series import Series
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.types import Codes, Floats

MOST_VALUES = 5_000_000


def made_up(belief: Belief, *, length: int, people: int = 1, seed: int = 0) -> Series:
    """Independent series of this length, as the belief has them; the same seed makes the same series.

    Of a set of chains it is the first one. Where any start is possible, series begin as they are in the long run.

    >>> from quiltwork import MarkovChain
    >>> lazy = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["sit", "walk"])
    >>> series = made_up(lazy, length=1000, people=3)
    >>> series.subjects, series.longest, series.counts().tolist()
    (3, 1000, [2423, 577])
    """
    if length < 1 or people < 1 or length * people > MOST_VALUES:
        raise ParameterError(
            f"simulated series must have at most {MOST_VALUES:,} values together",
            got=f"{people:,} series of {length:,}",
            fix="Choose fewer people or shorter series",
        )
    paths = _paths(belief, length, people, np.random.default_rng(seed))
    if paths is None:
        raise NotCoveredError(
            "this belief cannot be simulated",
            got=repr(belief),
            why="it bounds how values depend on each other, and does not say which values there are",
            fix="Choose a chain, a set of chains, a cycle or a chain with phases",
        )
    return Series.from_codes(list(paths), states=belief.states)


def _paths(belief: Belief, length: int, people: int, rng: np.random.Generator) -> Codes | None:
    if belief.variables is not None or belief.real:
        return None
    if not belief.chains:
        return belief.simulated(length, people, rng)
    from quiltwork.fitting.paths import walked  # compiled

    chain = belief.chains[0]
    ends, begins = np.cumsum(chain.transition, axis=1), np.cumsum(_start(chain))
    return walked(begins, ends, rng.random((people, length)))


def _start(chain: MarkovChain) -> Floats:
    if chain.initial is not None:
        return chain.initial
    return chain.stationary if chain.irreducible else np.full(len(chain.states), 1 / len(chain.states))
