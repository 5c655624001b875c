"""Whether data remember longer than a belief says, and whether levels differ, by data sets that the belief makes up.

The made-up data sets have the subjects, lengths and gaps of the data, and go through the same estimator. So what an
estimate from short series is off by on average, and how much it varies, need no formula.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quiltwork.fitting.memory import Band, Estimator, relative
from quiltwork.fitting.worlds import World
from quiltwork.types import Flags, Floats

LEVEL = {"states": 0.015, "together": 0.015, "pairs": 0.01}
"""How often a true belief may be refuted by chance: by a state, by all together, by what follows what."""
SHARES_LEVEL = 0.03
"""How often levels may seem to differ by chance."""
MARGIN, PART = 0.02, 0.05
"""What matters: this much more memory, or this part of the memory of all lags together."""
SHARES_MARGIN = 0.02
"""Levels that are nearer than this do not differ."""
SETS, FEWEST_SETS, MOST_VALUES = 200, 40, 10_000_000
"""Data sets that a world makes up, and values in all of them together."""
AT_ONCE = 4_000_000
"""Values that are made up at a time."""
LEAST_STAYS, LEAST_MET = 12.0, 5.0
"""States with fewer stays, and pairs that meet less often by chance, are not compared."""
OTHER_SHARES = 0.01
"""From this difference on, data sets are also made up with the shares of the data."""
LIKELY = 0.84
"""The normal quantile of 80 %: how likely a difference must have been to be seen."""
GROUPS = 48
"""Subjects with similar shares are tilted together, in no more groups than this."""


class Reference(NamedTuple):
    """What a belief leads one to expect of an estimate, by band and pair of states (with a row for all together)."""

    estimate: Floats
    said: Floats
    """The memory of the belief."""
    size: Floats
    """Its size: what memory must be above to refute the belief."""
    bias: Floats
    """What an estimate is off by, on average."""
    scale: Floats
    """How much it varies."""
    critical: Floats
    """How many scales above its size memory is beyond chance, by row and column."""
    compared: Flags
    bands: tuple[Band, ...]

    @property
    def corrected(self) -> Floats:
        """The memory of the data."""
        return np.asarray(self.estimate - self.bias)

    @property
    def excess(self) -> Floats:
        """How far it is above the belief's; -inf where it is not compared."""
        return np.where(self.compared, self.corrected - self.size, -np.inf)

    @property
    def refutes(self) -> Flags:
        """Where it is above the belief's by more than chance, and by enough to change the noise."""
        total = self._totals(self.size)[:, None]
        large = (self.excess >= MARGIN) | (self.excess * self._widths[:, None, None] >= PART * total)
        return np.asarray((self.excess > self.reach) & large)

    @property
    def _widths(self) -> Floats:
        return np.array([band.width for band in self.bands], dtype=np.float64)

    def _totals(self, memory: Floats) -> Floats:
        """Over all lags: of each state, and of all together."""
        widths = np.where([band.narrow for band in self.bands], 0.0, self._widths)
        total = 0.5 + np.nansum(memory * widths[:, None, None], axis=0)
        return np.append(total[:-1].diagonal(), total[-1, 0])

    @property
    def longer(self) -> Floats:
        """How many times as much each state remembers as the belief says, where that refutes it; else 1."""
        if not self.refutes.any():
            return np.ones(self.size.shape[-1])
        seen = np.where(self.compared, np.fmax(self.corrected, self.size), self.size)
        return np.asarray((self._totals(seen) / self._totals(self.size))[:-1])

    @property
    def reach(self) -> Floats:
        """How far an estimate may be off by chance, for all of its kind at once; inf where it is not compared."""
        return self._scales(0.0)

    @property
    def would_show(self) -> Floats:
        """How much more memory would have been found, four times of five; inf where it is not compared."""
        return np.maximum(self._scales(LIKELY), MARGIN)

    def _scales(self, more: float) -> Floats:
        """The critical number of scales and some more; inf where nothing is compared."""
        found = np.full(self.scale.shape, np.inf)
        np.multiply(self.critical + more, self.scale, out=found, where=self.compared)
        return found


class Shares(NamedTuple):
    """Levels of each subject, and of all together in the last row: of the data, expected, and how much they vary."""

    data: Floats
    belief: Floats
    scale: Floats
    critical: float
    compared: Flags

    @property
    def differ(self) -> Flags:
        """By more than chance, and by enough to matter."""
        away = np.abs(self.data - self.belief)
        return np.asarray(self.compared & (away > self.critical * self.scale) & (away >= SHARES_MARGIN))


@dataclass(frozen=True)
class Compared:
    """Subjects, each with the world that it is compared with."""

    estimator: Estimator
    worlds: tuple[World, ...]
    bound: Floats | None = None
    """Of a class: what memory is at most, if no single world says it."""
    seed: int = 0

    @property
    def _k(self) -> int:
        return self.estimator.states

    @property
    def _weights(self) -> Floats:
        sizes = np.array([subject.size for subject in self.estimator.subjects], dtype=np.float64)
        return np.asarray(sizes / sizes.sum())

    def findings(self) -> tuple[Reference, Shares]:
        """Memory and levels, each against what was made up."""
        observed = sum(self.estimator.sums(subject, subject.codes[None]) for subject in self.estimator.subjects)
        estimate = self.estimator.memory(np.asarray(observed))[0]
        own = self._tilted()
        compared = self._enough(own) & np.isfinite(estimate)
        rng = np.random.default_rng(self.seed)
        said, size = _exact(self.worlds, self._weights, self.estimator)
        made = [self._made_up(self.worlds, rng)]
        tried = [_tried(made[0][0], said)]
        if own is not self.worlds:
            made.append(self._made_up(own, rng))
            tried.append(_tried(made[1][0], _exact(own, self._weights, self.estimator)[0]))
        bias = np.fmax.reduce([one.bias for one in tried])
        least = self.estimator.least_scale(np.asarray(observed)[0]) * np.sqrt(np.clip(1 - size**2, 0.0, 1.0))
        scale = np.fmax.reduce([*(one.scale for one in tried), least])
        compared &= np.isfinite(bias) & np.isfinite(scale) & (scale > 0)
        critical = np.max([one.critical(compared) for one in tried], axis=0)
        if self.bound is not None:
            said = size = self.bound
        reference = Reference(estimate, said, size, bias, scale, critical, compared, self.estimator.bands)
        return reference, self._levels([shares for _, shares in made], own, reference)

    def _tilted(self) -> tuple[World, ...]:
        """The worlds with the shares of the subjects, few stays counting less; the same ones if shares are near."""
        k, subjects = self._k, self.estimator.subjects
        wanted = []
        for subject, world in zip(subjects, self.worlds, strict=True):
            leaving, counts = np.maximum(world.leaving, 1e-3), subject.shares(k) * subject.size
            share = (counts * leaving + 2 * world.levels) / (counts.sum() * leaving + 2)
            wanted.append(share / share.sum())
        away = [np.abs(share - world.levels).max() for share, world in zip(wanted, self.worlds, strict=True)]
        if max(away) <= OTHER_SHARES:
            return self.worlds
        found: dict[tuple[int, ...], World] = {}
        groups = _grouped(np.array(wanted), [id(world) for world in self.worlds])
        for group in set(groups):
            members = [n for n, one in enumerate(groups) if one == group]
            found[group] = self.worlds[members[0]].tilted(np.mean([wanted[n] for n in members], axis=0))
        return tuple(found[group] for group in groups)

    def _enough(self, own: Sequence[World]) -> Flags:
        """Which entries of (states + 1) x states have enough cases, by what the belief expects and by what is there."""
        k, subjects = self._k, self.estimator.subjects
        pairs = list(zip(subjects, own, strict=True))
        expected = sum((one.size * world.levels * world.leaving for one, world in pairs), np.zeros(k))
        seen = sum((subject.stays(k) for subject in subjects), np.zeros(k))
        often = (expected >= LEAST_STAYS) & (seen >= LEAST_STAYS / 2)
        shares = self.estimator.shares
        enough = np.zeros((k + 1, k), dtype=bool)
        enough[:-1] = often[:, None] & often[None, :] & (np.minimum(expected, seen)[:, None] * shares >= LEAST_MET)
        enough[:-1][np.diag_indices(k)] = often
        enough[-1, 0] = expected.sum() >= LEAST_STAYS and seen.sum() >= LEAST_STAYS / 2
        return enough

    def _made_up(self, worlds: Sequence[World], rng: np.random.Generator) -> tuple[Floats, Floats]:
        """The memory of data sets that worlds make up, and the shares of subjects in them."""
        size = sum(len(subject.codes) for subject in self.estimator.subjects)
        sets = int(min(SETS, max(FEWEST_SETS, MOST_VALUES // max(size, 1))))
        found = [self._some(worlds, count, rng) for count in _pieces(sets, max(1, AT_ONCE // max(size, 1)))]
        return np.concatenate([one for one, _ in found]), np.concatenate([shares for _, shares in found])

    def _some(self, worlds: Sequence[World], count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        k, total, shares = self._k, np.zeros(0), []
        for subject, world in zip(self.estimator.subjects, worlds, strict=True):
            paths = world.paths(subject.clock, subject.ends, count, rng)
            paths[:, ~subject.present] = -1
            found = self.estimator.sums(subject, paths)
            total = found if not len(total) else total + found
            shares.append([(paths == state).sum(axis=1) / max(subject.size, 1) for state in range(k)])
        return self.estimator.memory(total), np.array(shares).transpose(2, 0, 1)

    def _levels(self, made: Sequence[Floats], own: Sequence[World], reference: Reference) -> Shares:
        """The levels of subjects against those of their worlds, with the spread of what was made up.

        Where data remember longer than the belief, their shares vary more than it says: by the root of how many times.
        """
        k, subjects, weights = self._k, self.estimator.subjects, self._weights
        data = _with_all([subject.shares(k) for subject in subjects], weights)
        belief = _with_all([world.levels for world in self.worlds], weights)
        drawn = [_with_pooled(shares, weights) for shares in made]
        scale = np.max([shares.std(axis=0, ddof=1) for shares in drawn], axis=0) * np.sqrt(reference.longer)
        stays = [subject.size * world.levels * world.leaving for subject, world in zip(subjects, own, strict=True)]
        enough = np.array([*stays, np.sum(stays, axis=0)]) >= LEAST_STAYS
        compared = enough & (scale > 0)
        critical = 0.0
        for shares in drawn:
            spread = shares.std(axis=0, ddof=1)
            away = np.abs(shares - shares.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
            if compared.any():
                critical = max(critical, _gumbel(away[:, compared].max(axis=1), SHARES_LEVEL))
        return Shares(data, belief, scale, critical, compared)


class _Tried(NamedTuple):
    """What one world's data sets say about an estimate."""

    made: Floats
    mean: Floats
    scale: Floats
    bias: Floats

    def critical(self, compared: Flags) -> Floats:
        """By row and column: how many scales are beyond chance, for all entries of its kind at once."""
        with np.errstate(invalid="ignore", divide="ignore"):
            away = (self.made - self.mean) / self.scale
        away = np.where(compared & np.isfinite(away), away, -np.inf)
        k = away.shape[-1]
        diagonal = np.append(np.eye(k, dtype=bool), np.zeros((1, k), dtype=bool), axis=0)
        together = np.append(np.zeros((k, k), dtype=bool), np.arange(k)[None] == 0, axis=0)
        critical = np.full((k + 1, k), np.inf)
        for kind, mask in {"states": diagonal, "together": together, "pairs": ~(diagonal | together)}.items():
            if np.any(compared & mask):
                critical[mask] = _gumbel(away[:, :, mask].max(axis=(1, 2)), LEVEL[kind])
        return critical


def _tried(made: Floats, exact: Floats) -> _Tried:
    """The mean, and the spread to the side of more memory; sets in which a state does not vary are skipped."""
    known = np.isfinite(made)
    many = known.sum(axis=0) >= FEWEST_SETS // 2
    plain = np.where(many, made, 0.0)  # an entry that is nearly always unknown is not compared
    mean = np.where(many, np.nanmean(plain, axis=0), np.nan)
    quantile = np.nanquantile if np.isnan(plain).any() else np.quantile  # the first takes entries one by one
    low, high = quantile(plain, (0.5, 0.95), axis=0) if plain.size else (mean, mean)
    scale = np.maximum(np.nanstd(plain, axis=0, ddof=1), (high - low) / 1.645)
    return _Tried(made, mean, np.where(many, scale, np.nan), mean - exact)


def _exact(worlds: Sequence[World], weights: Floats, estimator: Estimator) -> tuple[Floats, Floats]:
    """The memory that worlds have together, and its size."""
    known = {id(world): world.covariances(estimator.bands) for world in worlds}
    signed, sizes = (
        sum(weight * known[id(world)][n] for world, weight in zip(worlds, weights, strict=True)) for n in (0, 1)
    )
    return relative(np.asarray(signed)), relative(np.asarray(sizes))


def _with_all(rows: Sequence[Floats], weights: Floats) -> Floats:
    return np.array([*rows, weights @ np.array(rows)])


def _with_pooled(shares: Floats, weights: Floats) -> Floats:
    """Sets x subjects x states, and a last row for all subjects together."""
    return np.concatenate([shares, np.einsum("g,ngs->ns", weights, shares)[:, None]], axis=1)


def _grouped(shares: Floats, worlds: Sequence[int]) -> list[tuple[int, ...]]:
    """Subjects with the same world and similar shares have the same name."""
    width = 0.02
    while True:
        names = [(world, *np.rint(share / width).astype(int)) for world, share in zip(worlds, shares, strict=True)]
        if len(set(names)) <= GROUPS or width > 1:
            return names
        width *= 1.5


def _pieces(total: int, at_once: int) -> Iterator[int]:
    for begun in range(0, total, at_once):
        yield min(at_once, total - begun)


def _gumbel(largest: Floats, level: float) -> float:
    """What the largest of many is above with this probability: Gumbel's law, by its moments."""
    largest = largest[np.isfinite(largest)]
    if len(largest) < 2:
        return np.inf
    quantile = (-np.log(-np.log(1 - level)) - np.euler_gamma) * np.sqrt(6) / np.pi
    return float(largest.mean() + largest.std(ddof=1) * quantile)
