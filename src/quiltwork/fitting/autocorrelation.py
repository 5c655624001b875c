"""Autocorrelation of real values, with its uncertainty: what is left after the rhythm, pairs that are present, by FFT.

Means, also those of each time of day, are not known but estimated, which takes away some of the correlation; that is
added back. The uncertainty is that of batch means, and never less than Bartlett's formula says.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from quiltwork.data.measured import Measurements, Timed
from quiltwork.data.times import MONDAY
from quiltwork.errors import DataError, ParameterError
from quiltwork.types import MICROSECONDS, Duration, Floats, Integers

Rhythm = Literal["auto", "day", "week", "none"]
RHYTHMS = ("auto", "day", "week", "none")
LEAST_VALUES = 20
"""With fewer values nothing is estimated."""
LEAST_TIMES = 4
"""Steps that a day must have for a rhythm to be looked for."""
LEAST_DAYS = 8
"""Days from which on the mean of each time of day is taken out without being asked for."""
FURTHEST = 16_384
"""The longest lag that is looked at."""
UNLIKELY = 50.0
"""A distance that is this many times the spread of values, or this small a part of it, may be in another unit."""
LONG_PAUSE = 1024
"""Pairs across a pause of more steps are not compared."""
CHUNKS, LEAST_BLOCKS = 64, 16
"""Pieces into which the values are cut, and how many blocks of them there must be at least."""
MANY_SUBJECTS = 8
"""From this number on each subject is a block."""
INDEPENDENT = 4.0
"""Blocks must be this many times as long as values stay correlated, as far as there are enough of them."""
DRAWS, MOST_DRAWN = 1000, 300
"""Draws that say how large the largest of many errors is, and lags in them."""
ROUNDING = 1e-12


@dataclass(frozen=True)
class Left:
    """What is left of the values of all subjects after their means, or the means of each time of day.

    The values of each subject are divided by their standard deviation. ``pieces`` has them on a grid of steps, NaN
    where one is missing, by subject.
    """

    pieces: tuple[tuple[Floats, ...], ...]
    hours: Integers | None
    """The hour of day of each value that is present, in the order of pieces; None without dates."""
    rhythm: Rhythm
    period: int
    """Steps after which means repeat: 1 if there is only one."""
    times: float
    """How many values each mean was taken of, on average."""
    values: int
    spreads: tuple[float, ...] = ()
    """The standard deviation of each subject around its means, in the unit of the data."""
    notes: tuple[str, ...] = ()

    def in_distances(self, distance: float, hidden: str) -> str:
        """How widely values are spread, beside the distance that is hidden."""
        spread = float(np.median(self.spreads))
        said = (
            f"Values are spread by {spread:.3g} around their means (standard deviation, in the unit of the data); the "
            f"distance of {hidden} is {distance / spread:.2g} times that."
        )
        odd = not 1 / UNLIKELY <= distance / spread <= UNLIKELY
        return said + (" Is the distance in the unit of the data?" if odd else "")

    @property
    def subjects(self) -> int:
        """How many there are."""
        return len(self.pieces)

    @cached_property
    def present(self) -> Floats:
        """All values that are present."""
        whole = np.concatenate([piece for subject in self.pieces for piece in subject])
        return np.asarray(whole[np.isfinite(whole)])

    @property
    def furthest(self) -> int:
        """The longest lag that the data can tell something about."""
        longest = max(len(piece) for subject in self.pieces for piece in subject)
        return max(1, min(longest // (2 if self.subjects >= MANY_SUBJECTS else 8), FURTHEST))


def left_over(series: Measurements, rhythm: Rhythm = "auto") -> Left:
    """Take the mean of each subject, or of each of its times of day or of the week, out of the values."""
    if rhythm not in RHYTHMS:
        raise ParameterError(f"rhythm must be one of {', '.join(RHYTHMS)}", got=repr(rhythm)[:40])
    if series.size < LEAST_VALUES:
        raise DataError(
            f"an autocorrelation needs at least {LEAST_VALUES} values",
            got=f"{series.size}",
            why="from fewer nothing can be estimated",
            fix="Use longer data, or more subjects",
        )
    found, period, notes = _period(series, rhythm)
    pieces, hours, spreads, used, means, constant = [], [], [], 0, 0, 0
    for timed in series.timed.values():
        largest = float(np.abs(timed.numbers).max())
        scaled = replace(timed, numbers=timed.numbers / (largest or 1.0))  # squares of any values fit into floats
        rest, count = _without_means(scaled, series.step, period, found)
        spread = float(np.sqrt(np.mean(rest**2)))
        if spread <= ROUNDING:
            constant += 1
            continue
        pieces.append(tuple(_on_grid(rest / spread, timed.places)))
        spreads.append(spread * (largest or 1.0))
        used, means = used + len(rest), means + count
        if timed.wall is not None:
            hours.append(timed.wall // MICROSECONDS["hour"] % 24)
    if not pieces:
        raise DataError(
            "the values must differ from each other",
            got="a constant series" if found == "none" else f"values that are the same every {found}",
            why="without differences there is no correlation",
            fix="Use other data" if found == "none" else "Use longer data, or rhythm='none'",
        )
    if constant:
        notes = (*notes, f"{constant:,} subjects whose values never differ were left out.")
    return Left(
        pieces=tuple(pieces),
        hours=np.concatenate(hours) if hours else None,
        rhythm=found,
        period=period,
        times=used / means,
        values=used,
        spreads=tuple(spreads),
        notes=tuple(notes),
    )


def _period(series: Measurements, rhythm: Rhythm) -> tuple[Rhythm, int, tuple[str, ...]]:
    """Which rhythm is taken out, its steps, and what is to be said about it."""
    if rhythm == "none":
        return "none", 1, ()
    step, cycle = series.step, "day" if rhythm == "auto" else rhythm
    dated = any(timed.wall is not None for timed in series.timed.values())
    fits = dated and step is not None and not step.steps and MICROSECONDS[cycle] % int(step.length) == 0
    period = MICROSECONDS[cycle] // int(step.length) if fits and step is not None else 1
    if rhythm != "auto" and period < 2:
        raise DataError(
            f"the rhythm of a {cycle} needs times with dates, in steps that divide it",
            got="no dates" if not dated else f"a step of {step}",
            fix="Name a column of times, or use rhythm='none'",
        )
    rounds = series.size / series.subjects / period
    if rhythm != "auto" and rounds < 2:
        raise DataError(
            f"the rhythm of a {cycle} needs data of at least two {cycle}s",
            got=f"{rounds:.1f} for each subject",
            why="else nothing repeats",
            fix="Use longer data, or rhythm='none'",
        )
    if rhythm != "auto":
        return rhythm, period, ()
    if period < LEAST_TIMES:
        return "none", 1, ()
    if rounds < LEAST_DAYS:
        note = (
            f"The data has fewer than {LEAST_DAYS} days for each subject, so the daily rhythm was not taken out: it "
            "counts as correlation."
        )
        return "none", 1, (note,)
    return "day", period, ()


def _without_means(timed: Timed, step: Duration | None, period: int, rhythm: Rhythm) -> tuple[Floats, int]:
    """The values of a subject without their means, and how many means there were."""
    if rhythm == "none" or timed.wall is None or step is None:
        return timed.numbers - timed.numbers.mean(), 1
    shifted = timed.wall + MONDAY if rhythm == "week" else timed.wall
    slots = shifted // int(step.length) % period
    counts = np.bincount(slots, minlength=period)
    sums = np.bincount(slots, weights=timed.numbers - timed.numbers.mean(), minlength=period)
    means = sums / np.maximum(counts, 1)
    return timed.numbers - timed.numbers.mean() - means[slots], int((counts > 0).sum())


def _on_grid(rest: Floats, places: Integers) -> Iterator[Floats]:
    """Values at their places, NaN between; a piece ends before a long pause."""
    begins = np.flatnonzero(np.append(True, np.diff(places) > LONG_PAUSE))
    for first, last in zip(begins, np.append(begins[1:], len(places)), strict=True):
        span = places[first:last] - places[first]
        if span[-1] + 1 == len(span):
            yield rest[first:last]
            continue
        piece = np.full(int(span[-1]) + 1, np.nan)
        piece[span] = rest[first:last]
        yield piece


@dataclass(frozen=True)
class Autocorrelation:
    """ρ at lags 0, 1, .. with standard errors; ``blocks`` has what each block of values adds to the error."""

    values: Floats
    errors: Floats
    blocks: Floats
    count: int
    memory: float
    """How many values count as one: 1 + 2 Σ ρ²."""

    def reach(self, lags: Integers, level: float) -> Floats:
        """How far off the estimates at these lags may be: at all of them at once, except with this probability.

        The largest of the errors is drawn from blocks with random weights (a multiplier bootstrap), then widened as
        Student's law is wider than the normal one.
        """
        from scipy.special import ndtr, stdtrit

        chosen = (
            lags if len(lags) <= MOST_DRAWN else lags[np.unique(np.geomspace(1, len(lags), MOST_DRAWN).astype(int)) - 1]
        )
        shares = self.blocks[:, chosen]
        shares = shares / np.maximum(np.sqrt((shares**2).sum(axis=0)), ROUNDING)
        drawn = np.random.default_rng(0).standard_normal((DRAWS, len(shares))) @ shares
        largest = float(np.quantile(np.abs(drawn).max(axis=1), 1 - level))
        tail = max(float(ndtr(-largest)), ROUNDING)
        return np.asarray(-float(stdtrit(len(shares) - 1, tail)) * self.errors[lags])


def autocorrelation(left: Left, *, believed: Floats | None = None) -> Autocorrelation:
    """The autocorrelation of what is left, all subjects together, with its uncertainty.

    The uncertainty is also that of a series with the autocorrelation that is ``believed``, if that is larger.
    """
    longest = left.furthest
    products, squares, pairs = _by_chunk(left, longest)
    pooled = pairs.sum(axis=0)
    raw = products.sum(axis=0) / np.maximum(squares.sum(axis=0), ROUNDING)
    raw[pooled < LEAST_VALUES] = 0.0
    faded = _faded(raw, left.values)
    rho = _with_means(raw, left, faded)
    kept = np.where(np.arange(longest + 1) < faded, rho, 0.0)
    memory = 1 + 2 * float((kept[1:] ** 2).sum())
    errors = products - raw * squares
    merged = _merged(errors, left, memory)
    number = len(merged)
    variance = number / (number - 1) * (merged**2).sum(axis=0) / np.maximum(squares.sum(axis=0), ROUNDING) ** 2
    least = _bartlett(kept, pooled)
    if believed is not None:
        least = np.maximum(least, _bartlett(believed[: longest + 1], pooled))
    spread = np.sqrt(np.maximum(variance, least))
    spread[pooled < LEAST_VALUES] = 1.0
    return Autocorrelation(rho, spread, merged, left.values, memory)


def _by_chunk(left: Left, longest: int) -> tuple[Floats, Floats, Floats]:
    """For each chunk of time and lag: Σ x_t x_t+h, Σ (x_t² + x_t+h²) / 2, and how many pairs there are.

    Where there are many subjects, chunks are groups of them.
    """
    size = sum(len(piece) for subject in left.pieces for piece in subject)
    many = left.subjects >= MANY_SUBJECTS
    width = -(-size // CHUNKS)
    rows = min(CHUNKS, left.subjects) if many else -(-size // width)
    sums = np.zeros((3, rows, longest + 1))
    begun = 0
    for n, subject in enumerate(left.pieces):
        for piece in subject:
            edge = 0
            while edge < len(piece):
                row = n % rows if many else (begun + edge) // width
                end = len(piece) if many else min(len(piece), (row + 1) * width - begun)
                part = piece[edge : end + longest]
                reached = min(longest, len(part) - 1)
                sums[:, row, : reached + 1] += _lagged(part, end - edge, reached)
                edge = end
            begun += len(piece)
    products, squares, pairs = sums
    return products, squares, pairs


def _lagged(part: Floats, width: int, longest: int) -> Floats:
    """Sums over pairs of which the first is one of the first ``width`` values; shape (3, lags)."""
    present = np.isfinite(part)
    if present.all():
        square = np.concatenate([[0.0], np.cumsum(part**2)])
        lags = np.arange(longest + 1)
        first = np.minimum(width, len(part) - lags)
        squares = (square[first] + square[lags + first] - square[lags]) / 2
        return np.stack([_correlated(part[:width], part, longest), squares, first.astype(np.float64)])
    x, there = np.where(present, part, 0.0), present.astype(np.float64)
    squares = _correlated(x[:width] ** 2, there, longest) + _correlated(there[:width], x**2, longest)
    pairs = np.rint(_correlated(there[:width], there, longest))
    return np.stack([_correlated(x[:width], x, longest), squares / 2, pairs])


def _correlated(first: Floats, then: Floats, longest: int) -> Floats:
    """Σ_t first_t then_t+h for h = 0 .. longest."""
    from scipy.fft import irfft, next_fast_len, rfft

    if len(first) * (longest + 1) <= 4096:
        padded = np.concatenate([then, np.zeros(max(0, len(first) + longest - len(then)))])
        return np.asarray(np.correlate(padded[: len(first) + longest], first, mode="valid"))
    size = next_fast_len(len(first) + longest, real=True)
    spectrum = np.conj(rfft(first, size)) * rfft(then[: len(first) + longest], size)
    return np.asarray(irfft(spectrum, size)[: longest + 1])


def _faded(rho: Floats, count: int) -> int:
    """The first lag at which nothing is left but chance, about; all lags if there is none."""
    chance = np.sqrt((1 + 2 * np.cumsum(np.append(0.0, rho[1:-1] ** 2))) / count)
    below = np.flatnonzero(np.abs(rho[1:]) < chance)
    return int(below[0]) + 1 if below.size else len(rho)


def _with_means(raw: Floats, left: Left, faded: int) -> Floats:
    """Correlations as they are around the true means: the estimated ones took a part with them."""
    count, period, lags = left.times, left.period, np.arange(len(raw))
    rho = raw
    if count < 2:
        return raw
    rounds = np.arange(-int((faded - 1) // period) - 1 - len(raw) // period, (faded - 1) // period + 2)
    rounds = rounds[np.abs(rounds) < count]
    for _ in range(3):
        kept = np.where(lags < faded, rho, 0.0)
        if period == 1:  # one mean: the same share at every lag
            taken = np.full(len(raw), (1 + 2 * float((kept[1:] * np.maximum(1 - lags[1:] / count, 0)).sum())) / count)
        else:
            taken = np.zeros(len(raw))
            for k in rounds.tolist():
                at = np.abs(lags + k * period)
                taken += (1 - abs(k) / count) * np.where(at < len(raw), kept[np.minimum(at, len(raw) - 1)], 0.0)
            taken /= count
        taken = np.clip(taken, -0.5, 0.5)
        rho = raw * (1 - taken[0]) + taken
        rho = np.clip(rho / rho[0], -1.0, 1.0)
    return rho


def _merged(errors: Floats, left: Left, memory: float) -> Floats:
    """Errors of blocks that are long enough to be about independent, as far as enough of them are left."""
    blocks = errors
    width = left.values / len(errors)
    while left.subjects < MANY_SUBJECTS and width < INDEPENDENT * memory and len(blocks) >= 2 * LEAST_BLOCKS:
        odd = len(blocks) % 2
        paired = blocks[: len(blocks) - odd].reshape(-1, 2, blocks.shape[1]).sum(axis=1)
        if odd:
            paired[-1] += blocks[-1]
        blocks, width = paired, 2 * width
    return blocks


def _bartlett(rho: Floats, pairs: Floats) -> Floats:
    """Bartlett's formula for the variance of an estimated autocorrelation of a linear series."""
    from scipy.fft import irfft, next_fast_len, rfft

    count = len(rho)
    both = np.concatenate([rho[:0:-1], rho])
    size = next_fast_len(2 * len(both), real=True)
    with_itself = np.asarray(irfft(np.abs(rfft(both, size)) ** 2, size))  # Σ_k ρ_k ρ_k+h
    total, at, twice = with_itself[0], with_itself[:count], with_itself[np.minimum(2 * np.arange(count), len(both))]
    variance = total + twice + 2 * rho**2 * total - 4 * rho * at
    return np.asarray(np.maximum(variance, 0.0) / np.maximum(pairs[:count], 1.0))


def compared_lags(longest: int, more: Sequence[int] = ()) -> Integers:
    """Lags 1, 2, 4, .. with two between each from 8 on, and others of interest, as far as the data can tell."""
    lags = {round(2 ** (n / 3)) for n in range(3 * math.ceil(math.log2(max(longest, 2))) + 1)}
    return np.array(sorted(lag for lag in lags | set(more) if 1 <= lag <= longest), dtype=np.int64)
