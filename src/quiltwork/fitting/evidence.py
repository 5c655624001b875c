"""What else public data says about a belief: stays, hours of day, the value before last. See :func:`check_belief`."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quiltwork.beliefs import Belief
from quiltwork.data.series import Series
from quiltwork.data.times import Window
from quiltwork.errors import DataError
from quiltwork.types import Codes, Duration, Floats

LEVEL = 0.03
"""How often some comparison may fail by chance where the belief is true."""
LEAST_BLOCKS, LEAST_CASES = 4.0, 10.0
"""Fewer blocks or independent cases are not tested."""
LONGER, HOUR_MATTERS = 0.05, 0.1
"""Differences in stays and in hours of day that matter."""
LEAST_ROW = 20
"""Predecessors seen less often than this are left out of the test of order."""
HOUR = Duration.parse("1h")

Subjects = Sequence[Sequence[Codes]]


@dataclass(frozen=True)
class Stay:
    """How many stays in a state last longer than ``length`` steps."""

    length: int
    state: str
    data: float
    belief: float
    band: tuple[float, float]
    longer: bool
    """Whether more of them last than the belief says, by more than chance."""


@dataclass(frozen=True)
class Hour:
    """The share of a state at an hour of day, and its share at all hours."""

    hour: int
    state: str
    data: float
    overall: float
    belief: float | None
    """In the long run, if the belief is a single chain that has one."""
    band: tuple[float, float]
    differs: bool
    """Whether the hour differs from all hours together, by more than chance."""


@dataclass(frozen=True)
class Order:
    """Whether the value before last still says something about the next one: the G statistic (likelihood ratio)."""

    statistic: float
    degrees: int
    p_value: float
    gain: float
    """Which part of the uncertainty (entropy) about the next value the value before last takes away."""

    @property
    def significant(self) -> bool:
        """Whether it is more than chance, by the chi-square law."""
        return self.p_value < LEVEL / 3


class _Cell(NamedTuple):
    state: int
    share: float
    error: float | None
    degrees: float


def _cell(state: int, counts: Floats) -> _Cell:
    """The share of a state over blocks, with its standard error from the spread of blocks."""
    mine, every = counts[:, state], counts.sum(axis=1)
    total = every.sum()
    share = float(mine.sum() / total)
    blocks = float(total**2 / (every**2).sum())
    if total < LEAST_CASES or blocks < LEAST_BLOCKS:
        return _Cell(state, share, None, 0.0)
    used = int((every > 0).sum())
    spread = used / (used - 1) * float(((mine - share * every) ** 2).sum()) / total**2
    return _Cell(state, share, math.sqrt(max(spread, _least_variance(share, float(total)))), blocks - 1)


def _least_variance(share: float, cases: float) -> float:
    """That of independent cases, never 0: two more of each kind are counted in (Agresti and Coull)."""
    near = (cases * share + 2) / (cases + 4)
    return near * (1 - near) / cases


def _band(cell: _Cell, level: float) -> tuple[float, float] | None:
    if cell.error is None:
        return None
    from scipy.special import stdtrit

    reach = float(stdtrit(cell.degrees, 1 - level)) * cell.error
    return max(0.0, cell.share - reach), min(1.0, cell.share + reach)


def stays(subjects: Subjects, belief: Belief) -> tuple[Stay, ...]:
    """How many stays last longer than 1, 2, 4, ... steps, by the estimate of Kaplan and Meier.

    Stays count from where they begin; those that the data cut off count as far as they go. Greenwood's variance.
    """
    from scipy.special import ndtri

    k = len(belief.states)
    ended, cut = _stay_lengths((run for subject in subjects for run in subject), k)
    found = []
    for state in range(k):
        if ended[state].size + cut[state].size >= LEAST_CASES:
            found += [(state, *row) for row in _survival(ended[state], cut[state])]
    if not found:
        return ()
    lengths = sorted({length for _, length, _, _ in found})
    said = dict(zip(lengths, belief.stay_survival(lengths), strict=True))
    reach = float(ndtri(1 - LEVEL / len(found)))
    rows = []
    for state, length, share, error in found:
        band = (max(0.0, share - reach * error), min(1.0, share + reach * error))
        believed = float(said[length][state])
        longer = band[0] > believed and share - believed >= LONGER
        rows.append(Stay(length, belief.states[state], share, believed, band, longer))
    return tuple(rows)


def _stay_lengths(stretches: Iterable[Codes], k: int) -> tuple[list[Codes], list[Codes]]:
    """By state: the lengths of stays that were seen to end, and of those that the data cut off."""
    ended: list[list[Codes]] = [[] for _ in range(k)]
    cut: list[list[int]] = [[] for _ in range(k)]
    for codes in stretches:
        begun = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
        lengths, state = np.diff(np.append(begun, len(codes))), codes[begun]
        # the first stay of a stretch may have begun before it
        for s in range(k):
            ended[s].append(lengths[1:-1][state[1:-1] == s])
        if len(begun) > 1:
            cut[int(state[-1])].append(int(lengths[-1]))
    none = np.zeros(0, dtype=np.int64)
    return [np.concatenate([none, *own]) for own in ended], [np.array(own, dtype=np.int64) for own in cut]


def _survival(ended: Codes, cut: Codes) -> Iterator[tuple[int, float, float]]:
    """Length, share that lasts longer, standard error; as long as enough stays are left."""
    longest = int(max(ended.max(initial=0), cut.max(initial=0)))
    over = np.bincount(ended, minlength=longest + 1)
    left = ended.size + cut.size - np.append(0, np.cumsum(over + np.bincount(cut, minlength=longest + 1))[:-1])
    hazard = np.where(left > 0, over / np.maximum(left, 1), 0.0)
    share = np.cumprod(1 - hazard)
    with np.errstate(divide="ignore", invalid="ignore"):
        greenwood = np.cumsum(np.where(left > over, over / (left * (left - over)), 0.0))
    for n in range(longest.bit_length()):
        length = 2**n
        if length <= longest and left[length] >= LEAST_CASES:
            least = _least_variance(float(share[length]), float(left[length]))
            yield length, float(share[length]), math.sqrt(max(float(share[length] ** 2 * greenwood[length]), least))


def hours_of_day(series: Series, belief: Belief, step: Duration | None) -> tuple[Hour, ...]:
    """The law of states at each hour of day, days being the blocks; nothing where dates are not known."""
    if step is None or step.steps or step.length > HOUR.length:
        return ()
    window = Window.parse("hour")
    try:
        series.check_asked(window=window, ordered=False)
    except DataError:
        return ()
    days: dict[tuple[str, int], Floats] = {}
    for label, part in series.parts(window=window, by_subject=False, transitions=False).items():
        day, _, clock = label.partition(" ")
        days[day, int(clock[:2])] = part.counts().astype(np.float64)
    overall = sum(days.values(), np.zeros(len(series.states)))
    overall = overall / overall.sum()
    by_hour = {hour: np.array([counts for (_, when), counts in days.items() if when == hour]) for hour in range(24)}
    cells = [
        (hour, _cell(int(state), counts))
        for hour, counts in by_hour.items()
        if len(counts)
        for state in np.flatnonzero(overall)
    ]
    tested = sum(cell.error is not None for _, cell in cells)
    long_run = _long_run(belief)
    found = []
    for hour, cell in cells:
        band = _band(cell, LEVEL / max(tested, 1))
        if band is not None:
            usual = float(overall[cell.state])
            differs = not band[0] <= usual <= band[1] and abs(cell.share - usual) >= HOUR_MATTERS
            said = None if long_run is None else float(long_run[cell.state])
            found.append(Hour(hour, series.states[cell.state], cell.share, usual, said, band, differs))
    return tuple(found)


def _long_run(belief: Belief) -> Floats | None:
    chain = belief.chains[0] if len(belief.chains) == 1 else None
    return chain.stationary if chain is not None and chain.irreducible else None


def order_two(stretches: Iterable[Codes], k: int) -> Order | None:
    """The likelihood ratio of order 2 against order 1; None where too few values are followed by two more."""
    from scipy.special import chdtrc, xlogy

    counts = np.zeros((k * k, k))
    for codes in stretches:
        np.add.at(counts, (codes[:-2] * k + codes[1:-1], codes[2:]), 1.0)
    triples = counts.reshape(k, k, k)  # value before last, last value, next value
    triples = np.where(triples.sum(axis=2, keepdims=True) >= LEAST_ROW, triples, 0.0)
    rows, columns = triples.sum(axis=2, keepdims=True), triples.sum(axis=0, keepdims=True)
    middle = rows.sum(axis=0, keepdims=True)
    expected = rows * columns / np.maximum(middle, 1.0)
    statistic = float(2 * (xlogy(triples, triples) - xlogy(triples, np.where(expected > 0, expected, 1.0))).sum())
    before, after = (rows > 0).sum(axis=(0, 2)), (columns > 0).sum(axis=(0, 2))
    degrees = int(np.sum(np.maximum(before - 1, 0) * np.maximum(after - 1, 0)))
    if not degrees:
        return None
    chance = columns / np.maximum(middle, 1.0)
    entropy = -float((columns * np.where(chance > 0, np.log(np.where(chance > 0, chance, 1.0)), 0.0)).sum())
    gain = statistic / 2 / entropy if entropy > 0 else 0.0
    return Order(statistic, degrees, float(chdtrc(degrees, max(statistic, 0.0))), gain)
