"""Does a belief fit public data? How long values are remembered, how much is done of what, how long stays last.

A belief that forgets faster than the data promises more protection than it gives. So what counts is memory: how much
more likely a state is some time after another than otherwise, in the data and under the belief. How much somebody does
of something (levels) is not memory, and is reported apart.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from quiltwork.beliefs import Believed, GaussianBelief, as_belief
from quiltwork.data.held import check_step, held_series
from quiltwork.fitting.arranged import Arranged
from quiltwork.fitting.autocorrelation import Rhythm
from quiltwork.fitting.evidence import hours_of_day, order_two, stays
from quiltwork.fitting.outcome import BeliefCheck, Followed, Level, Remembered, Together
from quiltwork.fitting.reference import Reference, Shares
from quiltwork.fitting.verdict import NOTHING, worded
from quiltwork.fitting.words import in_words
from quiltwork.types import Duration

FIRST_ORDER = ("chain", "set", "mixing", "interval")
"""Kinds under which only the last value says something about the next."""


def check_memory(belief: Believed, data: object, *, rhythm: Rhythm = "auto") -> BeliefCheck:
    """What :func:`check_belief` finds, without trying remedies."""
    belief = as_belief(belief)
    if isinstance(belief, GaussianBelief):
        from quiltwork.fitting.gaussian_check import check_gaussian  # its result is one of this module

        return check_gaussian(belief, data, rhythm=rhythm)
    belief.again([1])  # refused at once by beliefs that cannot say
    series = held_series(data, belief)
    notes = check_step(series, belief)
    step = series.step if series.reading.time is not None else belief.step
    arranged = Arranged.of(belief, series, step)
    rows = _Rows(arranged, *arranged.compared())
    check = BeliefCheck(
        verdict="",
        forgets_too_fast=bool(rows.reference.refutes.any()),
        remedy=NOTHING,
        lags=rows.lags(),
        values=series.size,
        subjects=series.subjects,
        step=step,
        notes=(*notes, *_unseen(arranged, step)),
        levels_differ=bool(rows.shares.differ.any()),
        levels=rows.levels(),
        together=rows.together(),
        pairs=rows.pairs(),
        stays=stays(series.by_subject, belief),
        hours=hours_of_day(series, belief, step),
        order=order_two(series.stretches, len(series.states)),
    )
    return worded(check, first_order=belief.to_dict()["kind"] in FIRST_ORDER)


def _unseen(arranged: Arranged, step: Duration | None) -> tuple[str, ...]:
    """What a check cannot see, whatever the data."""
    bands = arranged.estimator.bands
    lumped = (
        [] if arranged.told_apart else [f"Only the {len(arranged.states) - 1} most frequent states were told apart."]
    )
    if not bands:
        return tuple(lumped)
    longest = in_words(max(band.last for band in bands), step)
    return (
        *lumped,
        f"Not seen: memory beyond {longest}, because levels are taken from each series itself; and what only three "
        "values together show.",
    )


@dataclass(frozen=True)
class _Rows:
    """What was found, by state and lag."""

    arranged: Arranged
    reference: Reference
    shares: Shares
    chosen: tuple[int, ...]

    def _band(self, at: tuple[int, int, int]) -> tuple[float, float] | None:
        if not self.reference.compared[at]:
            return None
        value, reach = float(self.reference.corrected[at]), float(self.reference.reach[at])
        return max(-1.0, value - reach), min(1.0, value + reach)

    def _memory(self, at: tuple[int, int, int]) -> dict[str, Any]:
        band = self.arranged.estimator.bands[at[0]]
        bias = float(np.nan_to_num(self.reference.bias[at]))
        return {
            "lag": band.lag,
            "memory_data": float(np.clip(self.reference.estimate[at] - bias, -1.0, 1.0)),
            "memory_belief": float(np.nan_to_num(self.reference.said[at])),
            "band": self._band(at),
            "exceeds": bool(self.reference.refutes[at]),
            "first": band.first,
            "last": band.last,
        }

    def lags(self) -> tuple[Remembered, ...]:
        """Of each state that varies: whether it is the same again."""
        arranged, bands = self.arranged, self.arranged.estimator.bands
        lags = [band.lag for band in bands]
        again = arranged.estimator.again(lags)
        said = np.mean([arranged.members[n].again(lags) for n in self.chosen], axis=0)
        return tuple(
            Remembered(
                state=state,
                data=float(again[n, s]),
                belief=float(said[n, arranged.numbers[s]]),
                **self._memory((n, s, s)),
            )
            for n in range(len(bands))
            for s, state in enumerate(arranged.states[: len(arranged.numbers)])
            if np.isfinite(self.reference.estimate[n, s, s]) and np.isfinite(again[n, s])
        )

    def together(self) -> tuple[Together, ...]:
        """Of all states, where there are enough cases."""
        rows = [(n, -1, 0) for n in range(len(self.arranged.estimator.bands)) if self.reference.compared[n, -1, 0]]
        return tuple(Together(would_show=float(self.reference.would_show[at]), **self._memory(at)) for at in rows)

    def pairs(self) -> tuple[Followed, ...]:
        """Of each state after each other, the lags at which memory is most above the belief's."""
        states, excess = self.arranged.states, self.reference.excess
        over = np.where(self.reference.refutes, excess + 2.0, excess)  # what refutes comes first
        found = []
        for s, z in np.ndindex(len(states), len(states)):
            n = int(np.argmax(over[:, s, z])) if len(over) else 0
            if s != z and len(over) and self.reference.compared[n, s, z]:
                found.append(Followed(state=states[z], after=states[s], **self._memory((n, s, z))))
        return tuple(found)

    def levels(self) -> tuple[Level, ...]:
        """Of each state, over all series; with how many series differ."""
        shares, differ = self.shares, self.shares.differ
        rows = []
        for s, state in enumerate(self.arranged.states):
            value, reach = float(shares.data[-1, s]), float(shares.critical * shares.scale[-1, s])
            band = (max(0.0, value - reach), min(1.0, value + reach))
            series = int(differ[:-1, s].sum())
            ends = float(shares.data[:-1, s].min()), float(shares.data[:-1, s].max())
            rows.append(Level(state, value, float(shares.belief[-1, s]), band, bool(differ[:, s].any()), series, *ends))
        return tuple(rows)
