"""Gaussian beliefs from public data: a class of correlations that covers what the data show, with a margin."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quiltwork.beliefs import Fitted
from quiltwork.beliefs.correlation import Correlation
from quiltwork.beliefs.gaussian import LARGEST, GaussianBelief
from quiltwork.data.held import measured
from quiltwork.data.measured import Measurements
from quiltwork.errors import DataError, ParameterError
from quiltwork.fitting.autocorrelation import Autocorrelation, Rhythm, autocorrelation, compared_lags, left_over
from quiltwork.fitting.words import in_words
from quiltwork.forks import working
from quiltwork.types import Duration, Floats

OUTER = (0.01, 0.99)  # quantiles between which values are spread
MOST_LISTED = 400
"""Lags that a fitted belief lists; what follows is an exponential."""
DIGITS = 1e4
"""Listed correlations are rounded up to four digits."""
STARTS = tuple(1 + n / 20 for n in range(41))
"""How much higher the tail may begin than it must, tried in turn for the smallest sum."""
LEVELS = (0.5, 0.1)
"""Correlations by which a memory is described."""
VAGUE = 0.25
"""Uncertainty of the correlation at the end of the list from which on the data are called too short."""


class Estimate(NamedTuple):
    """The correlation of values ``lag`` steps apart; its band holds for all lags at once."""

    lag: int
    data: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class GaussianFit(Fitted):
    """A class of Gaussian beliefs that covers public data, and what it rests on.

    ``told`` is the last lag at which the data show correlation that is not chance. What the belief says beyond it is an
    assumption: that correlation goes on fading as it did before. ``lines()`` says so in words.

    >>> import numpy as np
    >>> noise, values = np.random.default_rng(1).standard_normal(4000), [0.0]
    >>> for drawn in noise:
    ...     values.append(0.8 * values[-1] + 0.6 * drawn)
    >>> fit = fit_gaussian(values, distance=1.0)
    >>> fit.belief.correlation.at(np.array([1, 2, 5])).round(2).tolist()
    [0.84, 0.7, 0.42]
    >>> fit.below(0.5), fit.told
    (5, 9)
    """

    belief: GaussianBelief
    estimates: tuple[Estimate, ...]
    """At some lags, from the first to the longest that the data can tell something about."""
    told: int
    furthest: int
    """The longest lag that was looked at."""
    fell: tuple[int | None, int | None]
    """The first lags at which the estimate is below 0.5 and below 0.1; None if it never is."""
    total: float
    """Σ |ρ| over the lags that the data tell, as estimated."""
    confidence: float
    margin: float
    rhythm: Rhythm
    values: int
    subjects: int
    longest: int
    """Values of the longest series."""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"GaussianFit({self.belief!r}, from {self.values:,} values)"

    def below(self, level: float) -> int | None:
        """The first lag at which the belief's bound is below a level."""
        return first_below(self.belief.correlation, level)

    @property
    def mean_scale(self) -> float:
        """The scale of Laplace noise that the mean of the longest series needs at ε = 1, for series of any length."""
        return self.belief.distance * (1 + 2 * self.belief.correlation.total) / self.longest

    @property
    def assumed(self) -> str:
        """What the belief says beyond what the data tell, in words."""
        correlation, step = self.belief.correlation, self.belief.step
        fading = f"falls to 1/e every {fading_time(correlation, step)}"
        listed = in_words(len(correlation.listed) - 1, step)
        if self.told >= self.furthest:
            return (
                f"Correlation is still there after {in_words(self.furthest, step)}, the longest lag that the data can "
                f"tell. The file assumes that it {fading} after {listed}; that is an assumption, not a finding. Use "
                "longer data, or longer steps (--every)."
            )
        known = "" if self.told < len(correlation.listed) else ", which covers what the data show"
        return (
            f"Beyond {in_words(max(self.told, 1), step)} the data cannot tell correlation from none. After {listed} "
            f"the file says that it {fading}{known}. What follows then is an assumption, not a finding."
        )

    def lines(self) -> list[str]:
        """What was found, in words."""
        belief, step = self.belief, self.belief.step
        removed = "the mean of each subject" if self.rhythm == "none" else f"the mean of each time of {self.rhythm}"
        in_class = tuple(self.below(level) for level in LEVELS)
        first = self.estimates[0]
        lines = [
            f"{self.values:,} values of {self.subjects:,} subject{'s' * (self.subjects > 1)}; {removed} was taken out.",
            f"Correlation in the data: {first.data:.2f} from one value to the next; {_falling(self.fell, step)}.",
            f"The class lies above it at all listed lags at once ({100 * self.confidence:g} %): "
            f"{_falling(in_class, step)}.",
            self.assumed,
            f"Σ|ρ| is {self.total:.3g} in the data as far as they tell, and up to {belief.correlation.total:.3g} in "
            "the class.",
            f"The mean of {self.longest:,} values then needs noise of scale {self.mean_scale:.3g}"
            f"{'' if belief.unit is None else ' ' + belief.unit} at ε = 1, to hide differences of {belief.hidden} at "
            "any one moment.",
        ]
        if self.subjects > 1:
            lines.append(
                "One class was fitted to all subjects together: a subject with a longer memory than most is only "
                "covered as far as the margin goes."
            )
        return [*lines, *self.notes]

    def to_dict(self) -> dict[str, Any]:
        """The fit as plain values; ``belief`` is what the belief file holds."""
        return {
            "belief": self.belief.to_dict(),
            "told": self.told,
            "furthest": self.furthest,
            "below_half": {"data": self.fell[0], "belief": self.below(0.5)},
            "below_tenth": {"data": self.fell[1], "belief": self.below(0.1)},
            "sum_in_data": self.total,
            "sum_in_class": self.belief.correlation.total,
            "mean_scale": self.mean_scale,
            "confidence": self.confidence,
            "margin": self.margin,
            "rhythm": self.rhythm,
            "values": self.values,
            "subjects": self.subjects,
            "lags": [one._asdict() for one in self.estimates],
            "notes": list(self.notes),
        }


def _falling(lags: Sequence[int | None], step: Duration | None) -> str:
    """When correlation falls below each of the levels."""
    return (
        " and ".join(
            f"below {level} after {in_words(lag, step)}"
            for level, lag in zip(LEVELS, lags, strict=True)
            if lag is not None
        )
        or f"not below {LEVELS[0]} within the lags that were looked at"
    )


def fading_time(correlation: Correlation, step: Duration | None) -> str:
    """The time in which correlations fall to 1/e after the list, in words."""
    decay = correlation.decay
    if decay is None:
        return "no time"
    if not decay.steps:
        return in_words(1, decay)
    steps = decay.length / (step.length if step is not None and step.steps else 1)
    return f"{steps:,.10g} steps"


def belief_lines(belief: GaussianBelief) -> list[str]:
    """What a Gaussian belief says, in words."""
    correlation, step = belief.correlation, belief.step
    falls = _falling([first_below(correlation, level) for level in LEVELS], step)
    size = "The size of correlation is bounded" if correlation.at_most else "Correlation is stated exactly"
    total, lasting = correlation.total, f"falls to 1/e every {fading_time(correlation, step)}"
    lines = [f"Differences of up to {belief.hidden} at any one moment are hidden. {size}: {falls}."]
    if math.isinf(total):
        lines.append("It never fades, so noise is only enough for series of a stated length.")
    else:
        scale = belief.distance * belief.factor * (1 + 2 * total)
        lines.append(
            f"Σ|ρ| over all later values is {total:.4g}: the sum of a series of any length needs noise of scale up to "
            f"{scale:.4g} at ε = 1."
        )
    if correlation.decay is not None:
        listed = len(correlation.listed) - 1
        lines.append(f"After {in_words(listed, step)} it {lasting}." if listed else f"It {lasting}.")
    return lines


def first_below(correlation: Correlation, level: float) -> int | None:
    """The first lag at which the size of correlation is below a level and stays so; None if it never is.

    >>> first_below(Correlation((1.0,), ratio=0.9), 0.5)
    7
    """
    size = np.abs(np.asarray(correlation.listed))
    last, ratio = len(size) - 1, abs(correlation.ratio)
    if size[last] >= level:
        if ratio >= 1:
            return None
        return last + 1 if ratio == 0 else last + math.floor(math.log(level / size[last]) / math.log(ratio)) + 1
    return int(np.flatnonzero(size >= level)[-1]) + 1


@working()
def fit_gaussian(
    data: object,
    *,
    distance: float,
    unit: str | None = None,
    confidence: float = 0.95,
    margin: float = 1.0,
    rhythm: Rhythm = "auto",
) -> GaussianFit:
    """Fit a class of Gaussian beliefs to public data: never to the data that is to be protected.

    ``data`` is what :func:`read_measurements` reads, or numbers in time order. ``distance`` is how far
    apart two values at one moment may be and still be hidden from each other: it is your decision, not a property of
    the data.

    The mean of each subject is taken out first, or with ``rhythm="day"`` or ``"week"`` the mean of each time of it.
    ``"auto"`` does that by day if times have dates, a day has several steps and there are at least eight days. The
    autocorrelation is estimated from all pairs of values that are present. The belief lists upper limits of its size,
    which hold at all lags at once with this ``confidence``, up to the lag at which it cannot be told from chance; then
    it falls exponentially, no faster than before. With a ``margin`` of 2 correlations may last twice as long.

    >>> fit = fit_gaussian([n % 7 - n % 5 for n in range(3000)], distance=0.5, unit="kW")
    >>> fit.belief.correlation.at_most, fit.belief.hidden
    (True, '0.5 kW')
    """
    GaussianBelief({"ar1": 0.0}, distance=distance, unit=unit)  # refused before data is looked at
    if not 0.5 <= confidence < 1:
        raise ParameterError(
            "confidence must be at least 0.5 and below 1", got=f"{confidence:g}", fix="For example 0.95"
        )
    if not 1 <= margin <= 100:
        raise ParameterError(
            "margin must be from 1 to 100", got=f"{margin:g}", why="correlations last this many times as long as fitted"
        )
    series = measured(data)
    if series.step is None:
        raise DataError(
            "times must be evenly spaced for an autocorrelation",
            got="times without a usual spacing",
            fix="Use steps: every='1h', take='mean'",
        )
    left = left_over(series, rhythm)
    found = autocorrelation(left)
    reach = found.reach(np.arange(1, left.furthest + 1), 1 - confidence)
    upper, told, vague = _upper_limits(found, reach)
    correlation = covering(_stretched(upper, margin), left.furthest * margin, series.step)
    notes = left.notes
    if vague:
        notes = (*notes, "This data is too short to support any belief well. Use longer data, or more subjects.")
    return GaussianFit(
        belief=GaussianBelief(correlation, distance=distance, step=series.step, unit=unit, spread=_spread(series)),
        estimates=_estimates(found, reach, series.step),
        told=told,
        furthest=left.furthest,
        fell=_first_crossings(found.values),
        total=float(np.abs(found.values[1 : told + 1]).sum()),
        confidence=confidence,
        margin=margin,
        rhythm=left.rhythm,
        values=left.values,
        subjects=left.subjects,
        longest=series.longest,
        notes=(*notes, left.in_distances(distance, _hidden(distance, unit))),
    )


def _spread(series: Measurements) -> float | None:
    """The width of the range that 98 % of the values lie in, in two digits; None if they are all alike."""
    values = np.concatenate([run for runs in series.numbers.values() for run in runs])
    low, high = np.quantile(values, OUTER)
    width = float(f"{high - low:.2g}")
    return width if 1 / LARGEST < width < LARGEST else None


def _hidden(distance: float, unit: str | None) -> str:
    return f"{distance:g}" + ("" if unit is None else f" {unit}")


def day_lags(step: Duration | None) -> tuple[int, ...]:
    """The lags of a day and of a week, if there are such."""
    day = None if step is None else Duration.parse("1d").multiple(of=step)
    return () if day is None or day == 1 else (day, 7 * day)


def _estimates(found: Autocorrelation, reach: Floats, step: Duration | None) -> tuple[Estimate, ...]:
    """At the lags of a picture."""
    lags = compared_lags(len(reach), day_lags(step))
    values, off = found.values[lags], reach[lags - 1]
    ends = np.clip(values - off, -1, 1), np.clip(values + off, -1, 1)
    return tuple(map(Estimate, lags.tolist(), values.tolist(), ends[0].tolist(), ends[1].tolist()))


def _upper_limits(found: Autocorrelation, reach: Floats) -> tuple[Floats, int, bool]:
    """Limits above |ρ| from lag 0 on, the last lag at which it is no chance, and whether they say little."""
    size = np.abs(found.values[1:])
    beyond = np.flatnonzero(size > reach)
    told = int(beyond[-1]) + 1 if beyond.size else 0
    end = min(told + 1, len(reach))
    limits = np.minimum(size[:end] + reach[:end], 1.0)
    falling = np.maximum.accumulate(limits[::-1])[::-1]
    return np.concatenate([[1.0], falling]), told, bool(reach[end - 1] > VAGUE)


def _first_crossings(values: Floats) -> tuple[int | None, int | None]:
    """The first lags at which the size of correlation is below each of the levels."""
    half, tenth = (np.flatnonzero(np.abs(values) < level) for level in LEVELS)
    return int(half[0]) if half.size else None, int(tenth[0]) if tenth.size else None


def _stretched(upper: Floats, margin: float) -> Floats:
    """The limits if correlations last this many times as long."""
    end = math.ceil((len(upper) - 1) * margin)
    return np.asarray(np.interp(np.arange(end + 1) / margin, np.arange(len(upper)), upper))


def covering(upper: Floats, furthest: float, step: Duration) -> Correlation:
    """A list, and an exponential from its end on that lies above the rest and falls no faster than the list's end."""
    end = len(upper) - 1
    slowest = _decay(upper, furthest)
    if end <= MOST_LISTED:
        return _as_class(upper, slowest, step)
    last = max(MOST_LISTED, int(np.flatnonzero(upper >= 1)[-1]))  # an exponential falls at once, limits of 1 do not
    beyond = np.arange(last + 1, end + 1)
    sums = []
    for more in STARTS:
        start = min(1.0, more * float(upper[last]))
        drops = np.log(start / upper[beyond])
        if drops.size and drops.min() > 0:
            decay = max(slowest, float(((beyond - last) / drops).max()))
            sums.append((start * decay, start, decay))
    _, start, decay = min(sums, default=(0.0, 1.0, slowest))
    return _as_class(np.maximum(upper[: last + 1], start), decay, step)


def _decay(upper: Floats, furthest: float) -> float:
    """Steps in which correlation falls to 1/e from the end of the limits on.

    It falls no faster than from the start to the end, and than over the second half; but not more slowly than twice the
    longest lag that was looked at, about which the data say nothing.
    """
    end = len(upper) - 1
    half = max(end // 2, 1)
    from_start = end / -math.log(upper[end]) if upper[end] < 1 else math.inf
    later = (end - half) / math.log(upper[half] / upper[end]) if upper[half] > upper[end] else math.inf
    return min(from_start if end == half else max(from_start, later), 2 * furthest)


def _as_class(listed: Floats, steps: float, step: Duration) -> Correlation:
    """Rounded up, as a belief file has it."""
    rounded = np.minimum(np.ceil(listed * DIGITS) / DIGITS, 1.0)
    steps = float(math.ceil(steps)) if steps >= 20 else math.ceil(10 * steps) / 10
    number = max(step.length * steps, 1e-3)
    decay = Duration(round(number, 9), steps=True) if step.steps else Duration(math.ceil(number), steps=False)
    plain: dict[str, Any] = {"at_most": rounded.tolist(), "decay": decay.plain if decay.steps else str(decay)}
    return Correlation.parse(plain, step=step)
