"""One chain fitted to public data, with the counts behind it and what they do not show."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from quiltwork.beliefs import Belief, Fitted
from quiltwork.beliefs.chain import ChainSet, MarkovChain, square_table
from quiltwork.beliefs.interval import IntervalChain
from quiltwork.data.series import Countable
from quiltwork.errors import DataError, ParameterError
from quiltwork.fitting.slower import forgotten_after, lasting_longer, like, slowest_within
from quiltwork.forks import working
from quiltwork.types import Codes, Floats

FEW = 5
"""Fewer changes than this out of a state say little about how long it lasts."""
ASSUMED = 1e9  # visits that an assumption counts as
MOST_NUMBERS = 32
"""More different numbers than this are measurements, not names of states."""


@dataclass(frozen=True, repr=False)
class Fit(Fitted):
    """A belief fitted to public data, and the chain with the counts behind every row; taken wherever a belief is.

    >>> fit = fit_chain([[90, 10, 0], [9, 40, 1], [1, 0, 4]], states=["sit", "walk", "run"])
    >>> fit.rows()[2]
    {'state': 'run', 'visits': 5, 'changes': 1, 'stays': 5.0, 'filled': False}
    >>> print(fit.warnings()[0])
    1 change out of 'run' was seen: how long it lasts is a guess. Fit on more data, or use confidence.
    """

    belief: Belief
    """The chain, or what else was fitted to the same data: a class of chains around it, a cycle, phases."""
    chain: MarkovChain
    counts: Codes
    smoothing: float | None = None

    def __repr__(self) -> str:
        return f"Fit({self.belief!r}, from {int(self.counts.sum()):,} transitions)"

    @property
    def visits(self) -> Codes:
        """How often each state was followed by a value."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def changes(self) -> Codes:
        """How often each state was followed by another."""
        return np.asarray(self.visits - self.counts.diagonal())

    @property
    def filled(self) -> tuple[str, ...]:
        """States whose row is made up, because nothing was seen to follow them, or they were not seen at all."""
        seen = self.visits > 0 if self.smoothing is None else np.ones(len(self.counts), dtype=bool)
        return tuple(state for state, known in zip(self.chain.states, seen, strict=True) if not known)

    def rows(self) -> list[dict[str, Any]]:
        """For each state: transitions seen out of it, those to other states, and how many steps it lasts."""
        staying = self.chain.transition.diagonal()
        return [
            {
                "state": state,
                "visits": int(visits),
                "changes": int(changes),
                "stays": None if p >= 1 else round(1 / (1 - float(p)), 6),
                "filled": state in self.filled,
            }
            for state, visits, changes, p in zip(self.chain.states, self.visits, self.changes, staying, strict=True)
        ]

    def warnings(self) -> tuple[str, ...]:
        """What the counts do not support."""
        states = self.chain.states
        said = []
        if self.filled:
            said.append(
                f"nothing was seen to follow {_listed(self.filled)}: assumed to last as long as the state that lasts "
                "longest, and to lead to others as often as they are entered."
            )
        if self.smoothing:
            added = self.smoothing * len(states)
            swamped = [state for state, n in zip(states, self.visits, strict=True) if n < added]
            if swamped:
                said.append(
                    f"smoothing outweighs the data for {_listed(swamped)}: {added:g} transitions were added to fewer "
                    "that were seen. Use less smoothing, or none."
                )
        few = [(state, int(n)) for state, n in zip(states, self.changes, strict=True) if 0 < n < FEW]
        if few:
            state, n = few[0]
            others = f" (and of {len(few) - 1} more states)" if len(few) > 1 else ""
            said.append(
                f"{n} change{'s' * (n > 1)} out of {state!r}{others} {'were' if n > 1 else 'was'} seen: how long it "
                "lasts is a guess. Fit on more data, or use confidence."
            )
        unleft = [s for s, n, v in zip(states, self.changes, self.visits, strict=True) if n == 0 < v]
        if unleft and not self.smoothing:
            said.append(f"{_listed(unleft)} never changed: the fitted chain stays there for ever. Fit on longer data.")
        if forgotten_after(self.chain) is None:
            said.append(
                "the fitted chain never forgets: it goes round, or some states were never seen to lead to others. Its "
                "noise grows with the length of the series. Fit on longer data."
            )
        return tuple(said)

    def within(self, confidence: float) -> ChainSet:
        """The fitted chain and the slowest chains that the data do not rule out with this confidence.

        A class between one chain and free bounds on every transition: see :func:`slowest_within` for what it holds.
        Rows that were filled without data stay as they are.

        >>> fit = fit_chain([[900, 100], [100, 900]])
        >>> [chain.transition.diagonal().round(3).tolist() for chain in fit.within(0.95).members]
        [[0.9, 0.9], [0.918, 0.918]]
        """
        # rows without data are an assumption, which no data can widen
        visits = np.where(self.visits > 0, self.visits, ASSUMED)
        table = self.chain.transition * visits[:, None]
        slower = slowest_within(table, confidence=confidence)
        return ChainSet([self.chain, *(like(self.chain, P) for P in slower)])

    def intervals(self, confidence: float) -> IntervalChain:
        """All chains whose transitions lie within bounds of this confidence, and may move within them at any time."""
        return IntervalChain.from_counts(self.counts, confidence=confidence, states=self.chain.states)


@working()
def fit_chain(
    data: Countable | ArrayLike,
    *,
    smoothing: float | None = None,
    initial: ArrayLike | Literal["stationary", "any"] = "any",
    states: Sequence[str] | None = None,
) -> Fit:
    """Fit a chain to public data: series, or a table of how often each state was followed by each.

    Nothing is added to what was seen: added counts make data look more forgetful than it is. Rows without data are
    filled so that they forget no faster than the slowest state that was seen. A state that was never followed by
    anything lasts as long as the state that lasts longest, then leads to others as often as they are entered. A state
    that was never seen at all is entered once in as many changes as were seen, in place of others. ``smoothing`` adds
    a number to each count instead.

    >>> from quiltwork import Series
    >>> series = Series.from_values(["sit", "sit", "sit", "walk", "sit", "sit"], states=["sit", "walk"])
    >>> fit_chain(series).chain.transition.tolist()
    [[0.75, 0.25], [1.0, 0.0]]
    """
    if isinstance(data, Countable):
        _refuse_measurements(data.states)
        states = data.states
    counts = square_table(data.transitions() if isinstance(data, Countable) else data, "counts")  # type: ignore[arg-type]
    if smoothing is not None:
        chain = MarkovChain.from_counts(counts, smoothing=smoothing, initial=initial, states=states)
    else:
        chain = MarkovChain(_filled(counts), initial=initial, states=states)
    return Fit(chain, chain, np.asarray(counts, dtype=np.int64), smoothing)


def longer_stays(belief: MarkovChain | ChainSet, factor: float) -> ChainSet:
    """A class with a margin in words: stays last as long as in the belief, or ``factor`` times as long.

    It holds each chain and its slower version, and nothing in between: all stays are longer by the same factor.

    >>> len(longer_stays(MarkovChain([[0.9, 0.1], [0.4, 0.6]]), 2).members)
    2
    """
    if not factor > 1:
        raise ParameterError("stays must be above 1", got=f"{factor:g}", why="it is how many times as long they last")
    return ChainSet([*belief.chains, *(lasting_longer(chain, factor) for chain in belief.chains)])


def _filled(counts: Floats) -> Floats:
    """Rows in proportion to counts; rows and columns without any filled so that nothing is forgotten faster."""
    visits, stays = counts.sum(axis=1), counts.diagonal()
    empty, unseen = visits == 0, (visits == 0) & (counts.sum(axis=0) == 0)
    rows = np.divide(counts, visits[:, None], out=np.zeros_like(counts), where=visits[:, None] > 0)
    if not empty.any():
        return np.asarray(rows)
    changes = float((visits - stays).sum())
    if unseen.sum() > changes or not changes:
        raise DataError(
            "there must be at least as many changes of state in the data as states that do not occur",
            got=f"{changes:g} changes, {unseen.sum()} states without data",
            why="rows without data are filled from what was seen, which would outweigh it",
            fix="Fit on more data, leave those states out, or pass smoothing=1",
        )
    entered = counts.sum(axis=0) - stays
    leaving = 1 - rows.diagonal()
    into = np.where(unseen, 1.0, entered)
    others = leaving[:, None] * unseen[None, :] / (changes + unseen.sum())  # taken from changes, not from stays
    share = changes / (changes + unseen.sum())
    mixed = np.where(np.eye(len(rows), dtype=bool), rows, rows * share) + others
    longest = rows.diagonal()[~empty].max()
    for state in np.flatnonzero(empty):
        leads = np.where(np.arange(len(rows)) == state, 0.0, into)
        mixed[state] = (1 - longest) * leads / leads.sum()
        mixed[state, state] = longest
    return np.asarray(mixed / mixed.sum(axis=1, keepdims=True))


def _refuse_measurements(states: Sequence[str]) -> None:
    """Raw measurements have a state for every number that occurs: no chain can be fitted to that."""
    if len(states) > MOST_NUMBERS and all(_is_number(state) for state in states):
        raise DataError(
            f"a chain needs a few states, not {len(states):,} different numbers",
            got="a column of numbers",
            why="each number would be a state with hardly any data",
            fix="Fit a Gaussian belief (quiltwork belief fit --gaussian --distance D, or fit_gaussian), or group the "
            "numbers into levels: bins='LOW:HIGH:LEVELS'",
        )


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _listed(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
