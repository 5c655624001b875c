"""Does a Gaussian belief fit public data? Correlations, the shape of what is left, and whether its spread is stable."""

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np

from quiltwork.beliefs.checked import Outcome
from quiltwork.beliefs.gaussian import GaussianBelief
from quiltwork.data.held import check_step, measured
from quiltwork.errors import BeliefError
from quiltwork.fitting.autocorrelation import (
    LEAST_VALUES,
    Autocorrelation,
    Left,
    Rhythm,
    autocorrelation,
    compared_lags,
    left_over,
)
from quiltwork.fitting.evidence import LEVEL
from quiltwork.fitting.gaussian import day_lags
from quiltwork.fitting.outcome import BeliefCheck, Remembered, looked_at
from quiltwork.fitting.reference import MARGIN
from quiltwork.fitting.verdict import LONGER, TOO_SHORT, VAGUE
from quiltwork.fitting.words import in_words
from quiltwork.types import Duration, Floats, Integers

PIECES = 8
"""Pieces of time whose spread is compared."""
LEAST_INDEPENDENT = 30.0
"""Independent values from which on a shape is looked at."""
SKEWED, HEAVY, OFTEN_FAR = 0.5, 1.0, 0.01
"""Skewness, excess kurtosis and share beyond three standard deviations from which on values are not called Gaussian."""
FAR, GAUSSIAN_FAR = 3.0, 0.0027
WIDER = 1.25
"""How many times as wide the spread must be at some times than at others, for it to matter."""
NOT_BETWEEN = "Correlation between subjects was not looked at, only that along time."
NARROWEST = 1e-3
"""Spreads below this part of the whole count as this."""
BINS = np.arange(-5.0, 5.01, 0.25)


@dataclass(frozen=True)
class Shape:
    """The shape of what is left after the means, in standard deviations; a verdict, not a gate."""

    skewness: float
    excess_kurtosis: float
    beyond_3: float
    """The share beyond three standard deviations; 0.0027 if values are Gaussian."""
    independent: float
    """How many independent values the data are worth."""
    gaussian: bool | None
    """None where there are too few values to tell."""
    histogram: tuple[float, ...] = ()
    """The share in each quarter of a standard deviation from -5 to 5."""

    @property
    def verdict(self) -> str:
        """In words, with what it means for the promise."""
        if self.gaussian is None:
            return "Shape: too few independent values to tell whether they are Gaussian, whatever the picture shows."
        figures = (
            f"skewness {self.skewness:.2g}, excess kurtosis {self.excess_kurtosis:.2g}, {100 * self.beyond_3:.2g} % "
            "beyond three standard deviations (Gaussian: 0, 0 and 0.27 %)"
        )
        if self.gaussian:
            return f"Shape: near Gaussian ({figures})."
        return (
            f"Shape: not Gaussian ({figures}). The promise is exact for Gaussian values. For values like these the "
            "noise covers how far others move on average, but not changes in their spread or shape. Means over longer "
            "steps (--every 1h --take mean) or logarithms of the values are often nearer to Gaussian."
        )


@dataclass(frozen=True)
class Spread:
    """How many times as wide the values are spread at some times than at others."""

    along: float | None
    """Between eighths of the series; None where there are too few values to tell."""
    by_hour: float | None
    """Between hours of day; None without dates, or where there are too few values to tell."""
    changes: bool
    """Whether that is more than chance, and enough to matter."""

    @property
    def widest(self) -> float:
        """The larger of the two."""
        return max(self.along or 1.0, self.by_hour or 1.0)

    @property
    def verdict(self) -> str:
        """In words, with what it means for the promise."""
        if self.along is None and self.by_hour is None:
            return "Spread: too few independent values to tell whether it is stable."
        if not self.changes:
            return "Spread: stable along time, as far as the data tell."
        parts = {
            "in one eighth of the data as in another": self.along,
            "at one hour of day as at another": self.by_hour,
        }
        ratios = ", ".join(f"{ratio:.2g} times as wide {where}" for where, ratio in parts.items() if ratio is not None)
        return (
            f"Spread: it changes along time ({ratios}). A value in a quiet time may then show up to {self.widest:.2g} "
            f"times as strongly in others as its correlation says. A distance that is {self.widest:.2g} times as large "
            "covers that."
        )


@dataclass(frozen=True)
class Correlated(Remembered):
    """The correlation of values ``lag`` steps apart, which is their memory: in the data, and what the belief says."""

    below: bool = False
    """Whether it is nearer to 0 than a belief that is exact says, by more than chance, and by enough to matter."""


@dataclass(frozen=True, kw_only=True, repr=False)
class GaussianCheck(BeliefCheck):
    """Whether a Gaussian belief fits public data, in words and in numbers.

    ``lags`` has the correlation in the data with a band that holds for all comparisons at once (97 %), and what the
    belief says: a bound on its size, or the correlation itself if the belief is exact. ``forgets_too_fast`` says that
    somewhere it is stronger than that by more than chance, ``contradicts`` that it is stronger, or weaker than an exact
    belief says. ``shape`` and ``spread`` say how far the data are Gaussian with one spread: they are verdicts, not
    gates.

    >>> from quiltwork import GaussianBelief, check_belief
    >>> slow = [((n // 40) * 7919) % 101 for n in range(4000)]
    >>> found = check_belief(GaussianBelief({"ar1": 0.5}, distance=1.0, step=1), slow)
    >>> found.forgets_too_fast
    True
    """

    contradicts: bool
    rhythm: Rhythm
    shape: Shape | None
    spread: Spread | None

    @property
    def would_show(self) -> tuple[tuple[int, float], ...]:
        """Lags, and how much stronger a correlation must be there to be beyond chance."""
        rows = {one.lag: _reach(one.data, one.band) for one in self.lags if one.band is not None}
        return tuple((lag, rows[lag]) for lag in looked_at(self.step) if lag in rows)

    def to_dict(self) -> dict[str, Any]:
        """The check as plain values, as ``quiltwork belief check --json`` prints it."""
        kept = super().to_dict()
        for only_of_states in ("stays", "hours", "order", "together", "pairs", "levels"):
            del kept[only_of_states]
        shape = None if self.shape is None else asdict(self.shape) | {"verdict": self.shape.verdict}
        if shape is not None:
            del shape["histogram"]
        return kept | {
            "contradicts": self.contradicts,
            "rhythm": self.rhythm,
            "shape": shape,
            "spread": None if self.spread is None else asdict(self.spread) | {"verdict": self.spread.verdict},
        }


def check_gaussian(belief: GaussianBelief, data: object, *, rhythm: Rhythm = "auto") -> GaussianCheck:
    """Compare a Gaussian belief with public data: never with the data that is to be protected.

    The means are taken out and the autocorrelation is estimated as by :func:`fit_gaussian`. It is compared at
    lags 1, 2, 4, .. with two between each, and at a day and a week, up to an eighth of the longest series.

    >>> from quiltwork import GaussianBelief
    >>> bound = GaussianBelief({"at_most": [1, 0.5], "decay": 2}, distance=1.0, step=1)
    >>> from random import Random
    >>> chance = Random(1)
    >>> check_gaussian(bound, [chance.gauss(20, 5) for _ in range(2000)]).forgets_too_fast
    False
    """
    if not isinstance(belief, GaussianBelief):
        raise BeliefError("belief must be a GaussianBelief", got=type(belief).__name__, fix="Use check_belief")
    series = measured(data)
    notes = check_step(series, belief)
    step = series.step if series.reading.time is not None else belief.step
    common: dict[str, Any] = {"step": step, "subjects": series.subjects}
    if series.size < LEAST_VALUES:
        few = f"{series.size:,} values are too few to tell whether the belief fits."
        return GaussianCheck(
            verdict=few, forgets_too_fast=False, contradicts=False, remedy=TOO_SHORT, lags=(), values=series.size,
            notes=notes, rhythm="none", shape=None, spread=None, **common,
        )  # fmt: skip
    left = left_over(series, rhythm)
    exact = not belief.correlation.at_most
    believed = belief.correlation.at(np.arange(left.furthest + 1)) if exact else None
    found = autocorrelation(left, believed=believed)
    lags = _compared(belief, found, left, step)
    shape = _shape(left.present, found)
    seen = _Seen(belief, lags, step, left)
    return GaussianCheck(
        verdict=seen.verdict(),
        forgets_too_fast=bool(seen.flagged),
        outcome=seen.outcome,
        contradicts=bool(seen.flagged or seen.weaker),
        remedy=seen.remedy(),
        lags=lags,
        values=left.values,
        notes=(
            *notes,
            *left.notes,
            *([NOT_BETWEEN] if left.subjects > 1 else []),
            left.in_distances(belief.distance, belief.hidden),
        ),
        rhythm=left.rhythm,
        shape=shape,
        spread=_spread(left, found, shape),
        **common,
    )


def _compared(
    belief: GaussianBelief, found: Autocorrelation, left: Left, step: Duration | None
) -> tuple[Correlated, ...]:
    """At each lag: the estimate with its band, against what the belief says."""
    lags = compared_lags(left.furthest, day_lags(step))
    reach, said, exact = found.reach(lags, LEVEL), belief.correlation.at(lags), not belief.correlation.at_most
    rows = []
    for lag, value, off, bound in zip(lags.tolist(), found.values[lags], reach, said, strict=True):
        band = (max(-1.0, float(value - off)), min(1.0, float(value + off)))
        at = float(value), float(bound)
        row = Correlated(lag, "value", *at, *at, band, first=lag, last=lag)
        if exact:
            outside = abs(value - bound) > max(off, MARGIN)
            stronger = abs(value) > abs(bound) or bound < 0  # correlations below 0 save noise
            row = replace(row, exceeds=bool(outside and stronger), below=bool(outside and not stronger))
        else:
            row = replace(row, exceeds=bool(abs(value) - bound > max(off, MARGIN)))
        rows.append(row)
    return tuple(rows)


@dataclass(frozen=True)
class _Seen:
    """What was found, from which the words follow."""

    belief: GaussianBelief
    lags: tuple[Correlated, ...]
    step: Duration | None
    left: Left

    @property
    def flagged(self) -> list[Correlated]:
        return [one for one in self.lags if one.exceeds]

    @property
    def weaker(self) -> list[Correlated]:
        return [one for one in self.lags if one.below]

    @property
    def outcome(self) -> Outcome:
        if self.flagged:
            return "refuted"
        return "holds" if self._clear and not self.weaker and not self._unsure else "not refuted"

    @property
    def _bound(self) -> str:
        return "at most " if self.belief.correlation.at_most else ""

    def _at(self, one: Correlated) -> str:
        return (
            f"after {in_words(one.lag, self.step)} the correlation is {one.data:.2f} in the data, the belief says "
            f"{self._bound}{one.belief:.2f}."
        )

    @property
    def _careful(self) -> list[Correlated]:
        return [one for one in self._clear if one.band is not None and one.belief > _size(one.band) + LONGER]

    @cached_property
    def _clear(self) -> list[Correlated]:
        """The lags, from the first on, at which the data say something."""
        return list(takewhile(lambda one: one.band is not None and _reach(one.data, one.band) < VAGUE, self.lags))

    @property
    def _unsure(self) -> str:
        """What is to be said about lags at which the data say little."""
        vague = self.lags[len(self._clear) :]
        if not vague:
            return ""
        above = [one for one in vague if abs(one.data) > abs(one.belief) + LONGER]
        if not above:
            return " Beyond that the data is too short to tell."
        return (
            f" Beyond that the data is too short to tell, but it raises doubts: {self._at(max(above, key=_stronger))}"
        )

    def verdict(self) -> str:
        if self.flagged:
            worst = max(self.flagged, key=lambda one: abs(one.data - one.belief))
            if worst.belief < 0 and abs(worst.data) < abs(worst.belief):
                return f"The belief counts on correlation below 0 that is not there: {self._at(worst)}"
            return f"The belief forgets too fast: {self._at(worst)}"
        if not self._clear:
            return f"{self.left.values:,} values are too few to tell whether the belief fits."
        if self.weaker:
            return f"The belief is not what the data show: {self._at(min(self.weaker, key=_stronger))}"
        if self._careful:
            most = max(self._careful, key=lambda one: one.belief - abs(one.data))
            return f"The belief remembers longer than the data, which is safe but costs noise: {self._at(most)}"
        span = f"at every lag from {in_words(1, self.step)} to {in_words(self._clear[-1].lag, self.step)}"
        same = "no stronger than" if self.belief.correlation.at_most else "as strong as"
        found = "The belief is not contradicted" if self._unsure else "The belief fits"
        return f"{found}: correlation is {same} it says, {span}.{self._unsure}"

    def remedy(self) -> str:
        if self.flagged:
            fitted = (
                "Fit a class to both data together: quiltwork belief fit --gaussian, with --margin 1.5 to be safer."
            )
            if self.left.rhythm != "none":
                return fitted
            if self.left.notes:
                return f"{fitted} With more days the daily rhythm would be taken out, and would no longer count."
            daily = {one.lag for one in self.flagged} & set(day_lags(self.step))
            return "The time of day matters, but its mean costs nothing: --rhythm day." if daily else fitted
        if not self._clear or "doubts" in self._unsure:
            return TOO_SHORT
        if self.weaker:
            return 'Give a bound instead of exact correlations: {"at_most": [...]}, or quiltwork belief fit --gaussian.'
        return "Nothing needs to change." if not self._unsure else "Longer data would tell more."


def _reach(value: float, band: tuple[float, float]) -> float:
    """How far a band goes, to the side that does not end at 1 or -1."""
    return max(value - band[0], band[1] - value)


def _size(band: tuple[float, float]) -> float:
    return max(abs(band[0]), abs(band[1]))


def _stronger(one: Correlated) -> float:
    return abs(one.data) - abs(one.belief)


def _shape(present: Floats, found: Autocorrelation) -> Shape:
    """Skewness, excess kurtosis and far values, over all values together."""
    square = present**2
    skewness, kurtosis = float((square * present).mean()), float((square**2).mean()) - 3
    beyond = float((np.abs(present) > FAR).mean())
    independent = len(present) / found.memory
    gaussian = abs(skewness) < SKEWED and abs(kurtosis) < HEAVY and beyond < OFTEN_FAR
    counts, _ = np.histogram(np.clip(present, BINS[0], BINS[-1]), bins=BINS)
    shares = tuple((counts / len(present)).tolist())
    return Shape(
        skewness, kurtosis, beyond, independent, gaussian if independent >= LEAST_INDEPENDENT else None, shares
    )


def _spread(left: Left, found: Autocorrelation, shape: Shape) -> Spread:
    """The spread in eighths of each series, and at each hour of day, as far as they have enough values."""
    pieces = np.concatenate([_eighths(subject) for subject in left.pieces])
    along, moved = _ratio(left.present, pieces, found.memory, shape)
    if left.hours is None:
        return Spread(along, None, moved)
    by_hour, differs = _ratio(left.present, left.hours, min(found.memory, _in_an_hour(left.hours)), shape)
    return Spread(along, by_hour, moved or differs)


def _eighths(subject: tuple[Floats, ...]) -> Integers:
    """Which eighth of the subject's values each one is in."""
    count = sum(int(np.isfinite(piece).sum()) for piece in subject)
    return np.arange(count, dtype=np.int64) * PIECES // count


def _in_an_hour(hours: Integers) -> float:
    """How many values follow each other before the hour changes, on average."""
    return len(hours) / (1 + float((np.diff(hours) != 0).sum()))


def _ratio(values: Floats, groups: Integers, together: float, shape: Shape) -> tuple[float | None, bool]:
    """The widest spread against the narrowest, and whether some group differs from all by more than chance.

    ``together`` is how many values of a group count as one.
    """
    from scipy.special import ndtri

    counts = np.bincount(groups)
    sums = np.bincount(groups, weights=values**2)
    known = counts / max(together, 1.0) >= LEAST_INDEPENDENT / 3
    if known.sum() < 2:
        return None, False
    counts, spreads = counts[known], np.sqrt(sums[known] / counts[known])
    error = np.sqrt((max(shape.excess_kurtosis, 0.0) + 2) / (4 * counts / max(together, 1.0)))
    spreads = np.maximum(spreads, NARROWEST)
    away = np.abs(np.log(spreads))
    beyond = bool((away > -float(ndtri(LEVEL / (2 * len(away)))) * error).any())
    ratio = float(spreads.max() / spreads.min())
    return ratio, beyond and ratio >= WIDER
