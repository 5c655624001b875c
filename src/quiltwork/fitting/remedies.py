"""What to do about a belief that forgets too fast: other kinds, fitted to the data and checked on it, one by one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from quiltwork.beliefs import Belief
from quiltwork.data.series import Series
from quiltwork.errors import QuiltworkError
from quiltwork.fitting.chain import fit_chain, longer_stays
from quiltwork.fitting.check import check_memory
from quiltwork.fitting.cycle import fit_cycle
from quiltwork.fitting.order import fit_order
from quiltwork.fitting.outcome import BeliefCheck
from quiltwork.fitting.phases import fit_hidden
from quiltwork.fitting.words import with_step

MOST_FOR_PHASES = 3_000
"""Values that phases are fitted to: EM goes through all of them hundreds of times."""
MOST_STATES = 12
"""Orders and phases of more states are not tried."""


@dataclass(frozen=True)
class Remedy:
    """A belief that was fitted to the data and is not refuted by it, with the command that fits it."""

    name: str
    option: str
    belief: Belief
    check: BeliefCheck


def tried(refuted: Belief, series: Series) -> tuple[Remedy | None, list[str]]:
    """The first kind of belief that passes, and those that were tried and do not."""
    failed: list[str] = []
    for name, option, fit in _kinds(refuted, series):
        try:
            belief = with_step(fit(series), refuted.step)
            check = check_memory(belief, series)
        except QuiltworkError:
            continue  # not for this data
        if not check.forgets_too_fast:
            return Remedy(name, option, belief, check), failed
        failed.append(name)
    return None, failed


def _kinds(refuted: Belief, series: Series) -> Iterator[tuple[str, str, Callable[[Series], Belief]]]:
    """From the simplest on. People who live together have no other kind."""
    if refuted.step_variables is not None:
        return
    few = len(series.states) <= MOST_STATES
    yield "a chain", "", lambda data: fit_chain(data, initial="stationary").chain
    yield "the time of day", " --cycle day", lambda data: fit_cycle(data, step=data.step, cycle="day")
    if few:
        yield "the last two values", " --order 2", lambda data: fit_order(data, order=2)
        yield (
            "two phases for each state",
            " --phases 2",
            lambda data: fit_hidden(latest(data), phases=2),
        )
    yield "a chain with stays twice as long", " --stays 2", lambda data: longer_stays(fit_chain(data).chain, 2.0)


def latest(series: Series, most: int = MOST_FOR_PHASES) -> Series:
    """The last values of a long series, for fits that take long."""
    if series.size <= most:
        return series
    kept, left = [], most
    for stretch in reversed(list(series.stretches)):
        if left > 0:
            kept.append(np.asarray(stretch)[-left:])
            left -= len(kept[-1])
    return Series.from_codes(kept[::-1], states=series.states)
