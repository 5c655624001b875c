"""A chain for each time of day (or week), fitted to public data with times."""

from collections.abc import Mapping

import numpy as np

from quiltwork.beliefs.cycle import CycleChain
from quiltwork.data.series import Series
from quiltwork.errors import DataError, ParameterError
from quiltwork.types import MICROSECONDS, Codes, Duration, Floats

HOURS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)  # how far neighbouring times of day may be looked at, tried in turn
PRIOR = 1.0  # transitions that the chain of all times counts as, for a time and state that was hardly seen
FOLDS = 5
MOST_STEPS = 10_080  # of a cycle: a week of minutes


def fit_cycle(series: Series, *, step: Duration | None, cycle: str = "day") -> CycleChain:
    """The chain whose transitions depend on the time of day, or of the week.

    What was seen at a time is joined with what was seen near it, as far off as makes days that were left out most
    likely; a time at which a state was hardly seen leans on all times together. The first transition matrix is that of
    midnight (in a week, of Monday's).
    """
    if cycle not in ("day", "week"):
        raise ParameterError("cycle must be day or week", got=repr(cycle))
    span = MICROSECONDS[cycle]
    if step is None or step.steps or span % int(step.length) or span // int(step.length) > MOST_STEPS:
        raise DataError(
            f"a cycle of a {cycle} needs steps that divide it",
            got="data without times" if step is None or step.steps else f"a step of {step}",
            why="each time of the cycle has a transition matrix",
            fix="Name a column of times, and use every='15min', for example",
        )
    period, counts = span // int(step.length), series.transitions_by_step(step)
    if len({number // period for number in counts}) < 2:
        raise DataError(f"a cycle needs data of at least two {cycle}s", got="less", why="else nothing repeats")
    folded = _folded(counts, period, 4 * 86_400 * 10**6 // int(step.length) if cycle == "week" else 0)
    k = len(series.states)
    whole = folded.sum(axis=(0, 1)) + 1e-9 * np.eye(k)
    chain = whole / whole.sum(axis=1, keepdims=True)
    widths = [hours * 3600e6 / float(step.length) for hours in HOURS]
    best = max(widths, key=lambda width: _likelihood(folded, chain, width))
    tables = _smoothed(folded.sum(axis=0), chain, best)
    return CycleChain(tables / tables.sum(axis=2, keepdims=True), initial="stationary", states=series.states)


def _folded(counts: Mapping[int, Codes], period: int, shift: int) -> Floats:
    """Counts by fold of days, time of the cycle and pair of states; a transition belongs to the time it leaves."""
    k = len(next(iter(counts.values())))
    folded = np.zeros((FOLDS, period, k, k))
    for number, table in counts.items():
        left = number - 1 - shift
        folded[left // period % FOLDS, left % period] += table
    return folded


def _smoothed(counts: Floats, chain: Floats, width: float) -> Floats:
    """Rows at each time from counts near it, weighed by a bell of this width that goes round."""
    near = counts
    if width > 0:
        n = len(counts)
        away = np.minimum(np.arange(n), n - np.arange(n))
        bell = np.exp(-0.5 * (away / width) ** 2)
        near = np.fft.irfft(np.fft.rfft(counts, axis=0) * np.fft.rfft(bell)[:, None, None], n=n, axis=0)
        near = np.maximum(near, 0.0)
        near[near < 1e-9] = 0.0
    return np.asarray((near + PRIOR * chain) / (near.sum(axis=2, keepdims=True) + PRIOR))


def _likelihood(folded: Floats, chain: Floats, width: float) -> float:
    """The log-likelihood of each fold's days under what the others say."""
    total = 0.0
    for fold in folded:
        rows = _smoothed(folded.sum(axis=0) - fold, chain, width)
        with np.errstate(divide="ignore", invalid="ignore"):
            total += float(np.where(fold > 0, fold * np.log(np.maximum(rows, 1e-12)), 0.0).sum())
    return total
