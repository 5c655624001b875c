"""What public data says about how soon values are forgotten, with its uncertainty. See :func:`check_belief`."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from quiltwork.beliefs import Belief
from quiltwork.data.series import Series
from quiltwork.data.times import Window
from quiltwork.errors import DataError
from quiltwork.types import Codes, Duration, Floats

LEVEL = 0.03
"""How often some comparison may fail by chance where the belief is true."""
BLOCKS = 24
"""Pieces into which the values of few subjects are cut."""
MANY_SUBJECTS = 8
"""From this number on each subject is a block."""
LEAST_BLOCKS, LEAST_CASES, LEAST_STAYS = 4.0, 10.0, 5.0
"""Fewer blocks, independent cases, or stays that the belief expects, are not tested."""
OVERLAP = 1.5
"""Degrees of freedom of overlapping windows, by the number of those that do not overlap."""
LONGER, HOUR_MATTERS = 0.05, 0.1
"""Differences in stays and in hours of day that matter."""
LEAST_ROW = 20
"""Predecessors seen less often than this are left out of the test of order."""
MADE_UP, LEAST_MADE_UP, MOST_MADE_UP = 120, 24, 8_000_000
"""Data sets that a belief makes up, and values in all of them together."""
HOUR = Duration.parse("1h")

Subjects = Sequence[Sequence[Codes]]


@dataclass(frozen=True)
class Agreement:
    """How often a value is the same again after ``lag`` steps: in the data, and under the belief.

    Each end of ``band`` holds for all comparisons at once with probability 97 %; None where the data is too short.
    """

    lag: int
    state: str
    data: float
    belief: float
    band: tuple[float, float] | None
    exceeds: bool = False
    """Whether the data agrees more often than the belief says, by more than chance, and by enough to matter."""

    def against(self, said: float, margin: float) -> "Agreement":
        """Compared with what a belief says."""
        beyond = self.band is not None and self.band[0] > said and self.data - said >= margin
        return replace(self, belief=said, exceeds=beyond)


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
    lag: int
    state: int
    share: float
    error: float | None
    degrees: float


def agreement(
    subjects: Subjects,
    states: Sequence[str],
    *,
    belief: Belief,
    more: Sequence[int] = (),
    first_order: bool = False,
) -> tuple[Agreement, ...]:
    """By lag and state, with bands that hold for all at once; ``more`` are lags of interest, taken if they fit.

    Under a belief of ``first_order`` what happens after a value does not depend on what was before it. Whether values
    agree after a lag is then independent for values that are a lag apart, and blocks of a few lags are long enough.
    For other beliefs the uncertainty is that of series which the belief makes up, as long as the data. States of which
    the belief expects too few stays in this data are not tested.
    """
    held = [subject for subject in subjects if subject]
    longest = max((len(run) for subject in held for run in subject), default=0)
    by_subject = len(held) >= MANY_SUBJECTS
    most = longest // 2 if by_subject else longest // 8
    lags = sorted({2**n for n in range(max(most, 1).bit_length())} | {lag for lag in more if lag <= most})
    runs = _runs(held, len(states))
    lags = [lag for lag in lags if lag < longest]
    spread = None if first_order else _made_up(belief, held, lags)
    if spread is not None:
        cells = [cell for lag in lags for cell in _cells_within(held, lag, spread[lag], runs)]
    elif first_order:
        cells = [cell for lag in lags for cell in _windowed_cells(held, lag, len(states), runs)]
    else:
        cells = [cell for lag in lags for cell in _cells(held, lag, len(states), runs, by_subject)]
    counts = sum(
        (np.bincount(run, minlength=len(states)) for subject in held for run in subject), np.zeros(len(states))
    )
    few = counts * (1 - belief.again([1])[0]) < LEAST_STAYS
    cells = [cell._replace(error=None) if few[cell.state] else cell for cell in cells]
    tested = sum(cell.error is not None for cell in cells)
    return tuple(
        Agreement(cell.lag, states[cell.state], cell.share, math.nan, _band(cell, LEVEL / max(tested, 1)))
        for cell in cells
    )


def _runs(subjects: Subjects, k: int) -> Floats:
    """How many stays in each state there are, whole or cut off."""
    found = np.zeros(k)
    for codes in (run for subject in subjects for run in subject):
        found += np.bincount(codes[np.append(True, codes[1:] != codes[:-1])], minlength=k)
    return found


def _cells(subjects: Subjects, lag: int, k: int, runs: Floats, by_subject: bool) -> Iterator[_Cell]:
    same, pairs = _blocks(subjects, lag, k, by_subject)
    for state in np.flatnonzero(pairs.sum(axis=0)):
        yield _cell(lag, int(state), same[:, state], pairs[:, state], float(runs[state]))


def _made_up(belief: Belief, subjects: Subjects, lags: Sequence[int]) -> dict[int, Floats] | None:
    """How much agreement varies between data sets that the belief makes up: by lag, for each state."""
    k, rng = len(belief.states), np.random.default_rng(0)
    lengths = [len(run) for subject in subjects for run in subject]
    sets = int(min(MADE_UP, max(LEAST_MADE_UP, MOST_MADE_UP // max(sum(lengths), 1))))
    same, pairs = np.zeros((len(lags), sets, k)), np.zeros((len(lags), sets, k))
    for length in lengths:
        paths = belief.simulated(length, sets, rng)
        if paths is None:
            return None
        for (n, lag), state in itertools.product(enumerate(lags), range(k)):
            first = paths[:, : max(length - lag, 0)] == state
            pairs[n, :, state] += first.sum(axis=1)
            same[n, :, state] += (first & (paths[:, lag:] == state)).sum(axis=1)
    with np.errstate(invalid="ignore"):
        shares = np.where(pairs > 0, same / pairs, np.nan)
    return {lag: _deviation(shares[n]) for n, lag in enumerate(lags)}


def _deviation(shares: Floats) -> Floats:
    """Of each state, over the sets in which it occurs; not a number if there are few."""
    seen = np.isfinite(shares)
    counts = seen.sum(axis=0)
    mean = np.where(seen, shares, 0.0).sum(axis=0) / np.maximum(counts, 1)
    squares = np.where(seen, (shares - mean) ** 2, 0.0).sum(axis=0)
    return np.where(counts >= LEAST_MADE_UP // 2, np.sqrt(squares / np.maximum(counts - 1, 1)), np.nan)


def _cells_within(subjects: Subjects, lag: int, spread: Floats, runs: Floats) -> Iterator[_Cell]:
    """With the standard errors of data that the belief makes up."""
    stretches = [run for subject in subjects for run in subject if len(run) > lag]
    for state, error in enumerate(spread.tolist()):
        total = sum(int((run[:-lag] == state).sum()) for run in stretches)
        if not total:
            continue
        share = sum(int(((run[:-lag] == state) & (run[lag:] == state)).sum()) for run in stretches) / total
        cases = max(total / lag, min(float(runs[state]), total))
        if cases < LEAST_CASES or not math.isfinite(error):
            yield _Cell(lag, state, share, None, 0.0)
            continue
        yield _Cell(lag, state, share, max(error, math.sqrt(_least_variance(share, cases))), MADE_UP - 1)


def _windowed_cells(subjects: Subjects, lag: int, k: int, runs: Floats) -> Iterator[_Cell]:
    """With the standard error of overlapping batch means, over windows of one and of two lags.

    Twice the one less the other counts covariances in full up to a lag, and beyond it less and less (Politis and
    Romano's flat-top kernel): no less than is there under a belief of first order.
    """
    stretches = [run for subject in subjects for run in subject if len(run) > lag]
    for state in range(k):
        pairs = [(run[:-lag] == state, run[lag:] == state) for run in stretches]
        total = sum(int(first.sum()) for first, _ in pairs)
        if not total:
            continue
        share = sum(int((first & then).sum()) for first, then in pairs) / total
        cases = max(total / lag, min(float(runs[state]), total))
        if cases < LEAST_CASES:
            yield _Cell(lag, state, share, None, 0.0)
            continue
        rests = [np.where(first, then - share, 0.0) for first, then in pairs]
        short, long = (sum(_window_squares(rest, n * lag) for rest in rests) / total**2 for n in (1, 2))
        spread = max(2 * long - short, long, _least_variance(share, cases))
        degrees = min(cases - 1, OVERLAP * sum(map(len, rests)) / (2 * lag))
        yield _Cell(lag, state, share, math.sqrt(spread), degrees)


def _window_squares(rest: Floats, width: int) -> float:
    """The mean square of sums over all windows of this width, times how many of them a value is in."""
    sums = np.concatenate([[0.0], np.cumsum(rest)])
    ends = np.concatenate([sums, np.full(width - 1, sums[-1])])
    begins = np.concatenate([np.zeros(width - 1), sums])
    return float(((ends[1:] - begins[:-1]) ** 2).sum()) / width


def _blocks(subjects: Subjects, lag: int, k: int, by_subject: bool) -> tuple[Floats, Floats]:
    """For each block and state: how many values are the same after the lag, and how many there are to compare."""
    width = max(2 * lag, -(-sum(len(run) for subject in subjects for run in subject) // BLOCKS))
    same, pairs = [], []
    for subject in subjects:
        own = []
        for codes in subject:
            count = max(1, len(codes) // width)
            first, then = codes[:-lag], codes[lag:]
            block = np.arange(len(first)) * count // len(codes)
            every = np.bincount(block * k + first, minlength=count * k).reshape(count, k)
            met = np.bincount((block * k + first)[first == then], minlength=count * k).reshape(count, k)
            own.append((met, every))
        if by_subject:
            own = [(sum(met.sum(axis=0) for met, _ in own)[None], sum(all_.sum(axis=0) for _, all_ in own)[None])]
        same += [met for met, _ in own]
        pairs += [every for _, every in own]
    return np.concatenate(same).astype(np.float64), np.concatenate(pairs).astype(np.float64)


def _cell(lag: int, state: int, same: Floats, pairs: Floats, runs: float) -> _Cell:
    """The ratio of sums over blocks, with its standard error from the spread of blocks."""
    total = pairs.sum()
    share = float(same.sum() / total)
    # values of one stay are no independent cases, nor are those that are less than a lag apart
    cases = max(total / lag, min(runs, total))
    blocks = float(total**2 / (pairs**2).sum())
    if cases < LEAST_CASES or blocks < LEAST_BLOCKS:
        return _Cell(lag, state, share, None, 0.0)
    used = int((pairs > 0).sum())
    spread = used / (used - 1) * float(((same - share * pairs) ** 2).sum()) / total**2
    return _Cell(lag, state, share, math.sqrt(max(spread, _least_variance(share, cases))), blocks - 1)


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
        (hour, _cell(1, int(state), counts[:, state], counts.sum(axis=1), float(len(counts))))
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
