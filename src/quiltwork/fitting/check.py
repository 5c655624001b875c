"""Does a belief fit public data? How soon it forgets, how long stays last, time of day, the value before last.

A belief that forgets faster than the data promises more protection than it gives. So what counts most is agreement:
how often a value is the same again some steps later, in the data and under the belief.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from quiltwork.beliefs import Belief, GaussianBelief, MarkovChain
from quiltwork.data.series import Series
from quiltwork.data.steps import check_step
from quiltwork.errors import BeliefError, DataError
from quiltwork.fitting.evidence import Agreement, Hour, Order, Stay, agreement, hours_of_day, order_two, stays
from quiltwork.types import Codes, Duration, Floats, Shown

MARGIN = 0.02
"""How much more often values must agree than the belief says, for it to matter."""
LONGER = 0.1
"""How much less often they must agree than the belief says, for the belief to be called too careful."""
VAGUE = 0.25
"""Bands of this half-width or more say nothing."""
ORDER_MATTERS = 0.02
"""The part of the uncertainty about the next value that the value before last must take away."""
MOST_STATES = 24
"""Pairs of more states than this are not fitted."""
FIRST_ORDER = ("chain", "set", "mixing", "interval")
DAY = Duration.parse("1d")


@dataclass(frozen=True, repr=False)
class BeliefCheck(Shown):
    """Whether a belief fits public data, in words and in numbers.

    ``forgets_too_fast`` says that somewhere values agree with earlier ones more often than the belief allows: by more
    than the uncertainty of all comparisons together (97 %), and by at least 2 percentage points. The noise would then
    be too small. ``lags`` has the agreement of data and belief by lag and state, ``stays`` how many stays last longer
    than some steps, ``hours`` the law of states at each hour, ``order`` whether the value before last still matters.

    >>> from quiltwork import MarkovChain, check_belief
    >>> restless = MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=["sit", "walk"], step=1)
    >>> found = check_belief(restless, (["sit"] * 9 + ["walk"] * 6) * 40)
    >>> found.forgets_too_fast, found.verdict
    (True, 'The belief forgets too fast: after 1 step 89 % are again in sit, the belief says 50 %.')
    """

    verdict: str
    forgets_too_fast: bool
    remedy: str
    lags: tuple[Agreement, ...]
    stays: tuple[Stay, ...]
    hours: tuple[Hour, ...]
    order: Order | None
    values: int
    subjects: int
    step: Duration | None = None
    notes: tuple[str, ...] = ()
    """What could not be checked."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.verdict})"

    @property
    def worst(self) -> Agreement | None:
        """Where the belief falls most short of the data, if it does."""
        return _worst(self.lags)

    def to_dict(self) -> dict[str, Any]:
        """The check as plain values, as ``quiltwork belief check --json`` prints it."""
        return {
            "verdict": self.verdict,
            "forgets_too_fast": self.forgets_too_fast,
            "remedy": self.remedy,
            "lags": [asdict(one) for one in self.lags],
            "stays": [asdict(one) for one in self.stays],
            "hours": [asdict(one) for one in self.hours],
            "order": None if self.order is None else asdict(self.order) | {"significant": self.order.significant},
            "values": self.values,
            "subjects": self.subjects,
            "step": None if self.step is None else self.step.plain,
            "notes": list(self.notes),
        }


def check_belief(belief: Belief, data: Series | Iterable[object]) -> BeliefCheck:
    """Compare a belief with public data: never with the data that is to be protected, which the result would reveal.

    Agreement is compared at lags 1, 2, 4, ... and a day, up to an eighth of the longest stretch (half of it, where
    there are eight subjects or more). Nothing is compared across gaps. The uncertainty of the data is that of batch
    means, and never less than that of independent stays:

    - If the belief is about single values (chain, set, mixing, interval), blocks are overlapping windows of two lags.
      Under such a belief agreement is independent for values that are a lag apart, so the bands show how far the data
      may be off if the belief is true.
    - Beliefs with more memory (cycle, hidden, order) make up data sets as long as this one: how much those differ from
      each other is the uncertainty. For kinds that cannot, blocks are subjects, or some 24 pieces.

    Bands are those of Student's law; each end holds for all comparisons at once with probability 97 % (Bonferroni). A
    set fits if one of its members does; the one that comes nearest is compared.

    >>> from quiltwork import read_series
    >>> from quiltwork.samples import diary_belief, diary_path
    >>> truth = diary_belief()
    >>> diary = read_series(diary_path(), column="activity", states=truth.states, subject="person", time="time")
    >>> check_belief(truth, diary).verdict
    'The belief fits: values agree with earlier ones as often as it says, at every lag from 15 min to 10 days 16 h.'

    A Gaussian belief is compared with numbers by their correlation: the result is then a :class:`GaussianCheck`.
    """
    if isinstance(belief, GaussianBelief):
        from quiltwork.fitting.gaussian_check import check_gaussian  # its result is one of this module

        return check_gaussian(belief, data)  # type: ignore[arg-type]
    series = _series(belief, data)
    notes = check_step(series, belief)
    step = series.step if series.reading.time is not None else belief.step
    belief, lags = _nearest(belief, series, step)
    lasting = stays(series.by_subject, belief)
    hours = hours_of_day(series, belief, step)
    order = order_two(series.stretches, len(series.states))
    flagged = [one for one in lags if one.exceeds]
    short = not flagged and not any(one.band is not None and one.band[1] - one.band[0] < 2 * VAGUE for one in lags)
    seen = _Seen(belief, series, lags, lasting, hours, order, step)
    return BeliefCheck(
        verdict=seen.too_short() if short else seen.verdict(),
        forgets_too_fast=bool(flagged),
        remedy=TOO_SHORT if short else seen.remedy(),
        lags=lags,
        stays=lasting,
        hours=hours,
        order=order,
        values=series.size,
        subjects=series.subjects,
        step=step,
        notes=notes,
    )


TOO_SHORT = "This data is too short to support any belief well. Use longer data, or more subjects."


def _series(belief: Belief, data: Series | Iterable[object]) -> Series:
    if not isinstance(belief, Belief):
        raise BeliefError("belief must be a Belief", got=type(belief).__name__)
    belief.again([1])  # refused at once by beliefs that cannot say
    series = data if isinstance(data, Series) else Series.from_values(data, states=belief.states)
    if series.states != belief.states:
        raise DataError(
            "the series must have the belief's states, in the same order",
            got=f"{len(series.states)} others",
            fix="Make the series with states=belief.states",
        )
    return series


def _nearest(belief: Belief, series: Series, step: Duration | None) -> tuple[Belief, tuple[Agreement, ...]]:
    """The belief, or the member of a set that falls least short: a set covers data that one of its members covers."""
    compared = [(member, _with_band(member, series, step)) for member in belief.members]
    return min(compared, key=lambda pair: sum(one.data - one.belief for one in pair[1] if one.exceeds))


def _with_band(belief: Belief, series: Series, step: Duration | None) -> tuple[Agreement, ...]:
    day = None if step is None else DAY.multiple(of=step)
    more = () if day is None or day == 1 else (day, 7 * day)
    cells = agreement(series.by_subject, series.states, belief=belief, more=more, first_order=_first_order(belief))
    lags = sorted({one.lag for one in cells})
    said = dict(zip(lags, belief.again(lags), strict=True)) if lags else {}
    return tuple(one.against(float(said[one.lag][series.states.index(one.state)]), MARGIN) for one in cells)


def _first_order(belief: Belief) -> bool:
    """Whether under the belief only the last value says something about the next."""
    return belief.to_dict()["kind"] in FIRST_ORDER


@dataclass(frozen=True)
class _Seen:
    """What was found, from which the words follow."""

    belief: Belief
    series: Series
    lags: tuple[Agreement, ...]
    stays: tuple[Stay, ...]
    hours: tuple[Hour, ...]
    order: Order | None
    step: Duration | None

    def verdict(self) -> str:
        worst = _worst(self.lags)
        if worst is not None:
            return (
                f"The belief forgets too fast: after {in_words(worst.lag, self.step)} {percent(worst.data)} are again "
                f"in {worst.state}, the belief says {percent(worst.belief)}."
            )
        last = max(one.lag for one in self.lags if one.band is not None)
        span = f"from {in_words(1, self.step)} to {in_words(last, self.step)}"
        if self._careful:
            most = max(self._careful, key=lambda one: one.belief - one.data)
            return (
                f"The belief remembers longer than the data, which is safe but costs noise: after "
                f"{in_words(most.lag, self.step)} {percent(most.data)} are again in {most.state}, the belief says "
                f"{percent(most.belief)}."
            )
        fits = f"The belief fits: values agree with earlier ones as often as it says, at every lag {span}."
        if self._order_matters:
            return f"{fits} But the value before last still matters, which it does not know."
        return fits

    @property
    def _careful(self) -> list[Agreement]:
        """Where the belief remembers longer than the data."""
        return [one for one in self.lags if one.band is not None and one.belief > one.band[1] + LONGER]

    def too_short(self) -> str:
        return f"{self.series.size:,} values are too few to tell whether the belief fits."

    @property
    def _order_matters(self) -> bool:
        order = self.order
        matters = order is not None and order.significant and order.gain >= ORDER_MATTERS
        return matters and _first_order(self.belief)

    def remedy(self) -> str:
        if _worst(self.lags) is None:
            if self._order_matters and not self._careful:
                return "Believe in the last two values: quiltwork belief fit --order 2."
            return "Nothing needs to change."
        kind = self.belief.to_dict()["kind"]
        if kind == "dynamic":
            return "People together by the time of day are not known here: use longer steps (--every), or more data."
        stretches, k = self.series.stretches, len(self.series.states)
        lags = sorted({one.lag for one in self.lags})
        if self._covered(lags, _chain(self.series).again(lags)):
            return (
                "A chain fitted to this data would fit it: these data differ from what the belief was made from. Fit "
                "it to both together (quiltwork belief fit), with --confidence 0.95 or --stays 2 for a margin."
            )
        if kind != "cycle" and self._day_matters:
            return "Time of day matters: quiltwork belief fit --cycle day."
        by_pairs = k <= MOST_STATES and kind not in ("order", "cycle")
        if by_pairs and self._covered(lags, _again_by_pairs(stretches, k, lags)):
            return "The value before last matters: quiltwork belief fit --order 2."
        if kind in ("cycle", "hidden"):
            return "No kind of belief here says so much: fit it to more data, or use longer steps (--every)."
        slower = np.array(self.belief.again([max(1, lag // 2) for lag in lags]))
        slower[0] = (1 + slower[0]) / 2  # of those that leave after a step, half stay
        if self._covered(lags, slower):
            return "A margin covers this data, stays twice as long: quiltwork belief fit --stays 2."
        return "Stays or slow regimes last longer than a chain can say: quiltwork belief fit --phases 2."

    def _covered(self, lags: Sequence[int], said: Floats) -> bool:
        """Whether a belief that says this would fall short nowhere."""
        at, states = dict(zip(lags, said, strict=True)), self.series.states
        return not any(one.against(float(at[one.lag][states.index(one.state)]), MARGIN).exceeds for one in self.lags)

    @property
    def _day_matters(self) -> bool:
        """Whether the hours have laws of their own, or values come back after a day rather than after half a day."""
        if any(one.differs for one in self.hours):
            return True
        day = None if self.step is None else DAY.multiple(of=self.step)
        if day is None or day < 4:
            return False
        after = {(one.lag, one.state): one for one in self.lags}
        nearest = max((one.lag for one in self.lags if one.lag <= 0.75 * day), default=None)
        return nearest is not None and any(
            one.exceeds and one.lag == day and one.band is not None and one.band[0] > after[nearest, one.state].data
            for one in self.lags
            if (nearest, one.state) in after
        )


def _worst(lags: Sequence[Agreement]) -> Agreement | None:
    return max((one for one in lags if one.exceeds), key=lambda one: one.data - one.belief, default=None)


def _chain(series: Series) -> MarkovChain:
    """The chain with the data's own transitions; a state that was never left stays."""
    counts = series.transitions().astype(np.float64)
    unknown = np.flatnonzero(counts.sum(axis=1) == 0)
    counts[unknown, unknown] = 1.0
    return MarkovChain.from_counts(counts, states=series.states)


def _again_by_pairs(stretches: Iterable[Codes], k: int, lags: Sequence[int]) -> Floats:
    """The agreement of a chain of order 2 with the data's own transitions; shape (lags, states)."""
    counts = np.zeros((k * k, k))
    for codes in stretches:
        np.add.at(counts, (codes[:-2] * k + codes[1:-1], codes[2:]), 1.0)
    pairs = counts.sum(axis=1)
    step = np.zeros((k * k, k * k))  # from (a, b) to (b, c)
    for pair in range(k * k):
        b = pair % k
        law = counts[pair] / pairs[pair] if pairs[pair] else np.eye(k)[b]
        step[pair, b * k : (b + 1) * k] = law
    chain, last = MarkovChain(step), np.arange(k * k) % k
    weight = np.where(last[:, None] == np.arange(k), pairs[:, None], 0.0)
    weight /= np.maximum(weight.sum(axis=0), 1.0)
    shown = (last[:, None] == np.arange(k)).astype(np.float64)
    return np.array([np.einsum("ps,pq,qs->s", weight, chain.every(lag).transition, shown) for lag in lags])


def percent(share: float) -> str:
    """A share as people read it.

    >>> percent(0.815)
    '82 %'
    """
    return f"{100 * share:.0f} %"


def in_words(lag: int, step: Duration | None) -> str:
    """So many steps, as people say it.

    >>> in_words(10, Duration.parse("15min")), in_words(96, Duration.parse("15min")), in_words(2, None)
    ('2 h 30 min', '1 day', '2 steps')
    """
    if step is None or step.steps:
        return "1 step" if lag == 1 else f"{lag:,} steps"
    left, words = int(step.length) * lag, []
    for name, size in (("day", 86_400 * 10**6), ("h", 3600 * 10**6), ("min", 60 * 10**6), ("s", 10**6)):
        count, left = divmod(left, size)
        if count:
            words.append(f"{count:,} {name}" + "s" * (name == "day" and count > 1))
    if left and not words:
        return str(Duration(left, steps=False))
    return " ".join(words[:2])
