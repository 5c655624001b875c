"""Releases about real values: at every time, the shifts of all of them add up (Statement 59)."""

import math
from collections.abc import Sequence
from dataclasses import replace

from quiltwork.accounting.record import ReleaseRecord
from quiltwork.beliefs.correlation import not_fading
from quiltwork.beliefs.gaussian import GaussianBelief
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import Losses
from quiltwork.influence.shift import any_length, check_bayesian, largest_shift, losses_along, seen_in_all
from quiltwork.numeric import round_up
from quiltwork.question.over_time import OverTime
from quiltwork.types import Guarantee


def along_time(belief: GaussianBelief, profile: Profile, grid: float, *, guarantee: Guarantee) -> Losses:
    """What releases with a profile tell about each time, at most; ``grid`` is what rounding cost."""
    if guarantee == "bayesian":
        check_bayesian(belief)
    losses = losses_along(belief.correlation, profile)
    return replace(losses, epsilon_at=losses.epsilon_at * seen_in_all(belief) + grid)


def at_every_time(belief: GaussianBelief, largest: float, grid: float, *, guarantee: Guarantee) -> float:
    """The same for series of any length, told about alike at every time."""
    if guarantee == "bayesian":
        check_bayesian(belief)
    epsilon = largest * any_length(belief.correlation.sizes) * seen_in_all(belief)
    if math.isinf(epsilon):
        raise not_fading()
    return round_up(epsilon + grid)


def added_shifts(belief: GaussianBelief, records: Sequence[ReleaseRecord], grid: float) -> float:
    """Of a few releases, with the weights that each has: correlations below zero help, and weights of both signs.

    Infinite where that is not known: for several answers about one series, functions that are not linear, and several
    releases from series of several lengths.
    """
    asked: list[tuple[OverTime, ReleaseRecord, float]] = []
    for record in records:
        profile, bound = record.profile(belief), record.asked(belief)
        over_time = None if bound is None else bound.only.over_time
        if profile is None or over_time is None or record.length is None or record.lengths == "many":
            return math.inf
        counted_by_size = record.window is not None or not over_time.linear
        if (counted_by_size and belief.correlation.signed) or (record.lengths and len(records) > 1):
            return math.inf
        asked.append((over_time, record, float(profile[0].max()) / float(over_time.largest)))
    ends: list[tuple[int, ...]] = [(record.length or 1, *record.lengths) for record in records]
    cases = [tuple(end[0] for end in ends)] if len(records) > 1 else [(end,) for end in ends[0]]
    worst = 0.0
    for case in cases:
        releases = []
        for end, (over_time, record, factor) in zip(case, asked, strict=True):
            first, last = record.touched(None)
            last = end if last is None else min(last, end)
            if first <= last:
                releases.append((over_time.weights(first, last), factor))
        worst = max(worst, largest_shift(belief.correlation, releases))
    return round_up(worst * seen_in_all(belief) + grid)
