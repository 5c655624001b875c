"""The influence curve along time: profiles that change, forward and backward over their stretches (theory section 5).

Each side is bounded by several *tracks*, and the smallest sum holds at each time:

- one number for all pairs, followed node by node near the ends of each stretch (``walk.py``);
- within a stretch of constant λ, the bound R* that holds for series of every length, pair by pair, plus what the
  neighbouring stretch brings in beyond it: step(R* + c) ≤ R* + c, since a function within D + c of another is the
  product of one within D and one within c;
- for short series, every node, pair by pair.

The work grows with the number of stretches, not with the length of the series.
"""

import itertools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from quiltwork.beliefs.base import Belief
from quiltwork.influence.contraction import Floats, Integers
from quiltwork.influence.curve import InfluenceCurve, curve_members
from quiltwork.influence.profile import Profile, Stretch
from quiltwork.influence.sides import POWER_ERROR, Frontier, Side, skips
from quiltwork.influence.walk import EXPLICIT, LOOK_BACK, Arrays, walk, walk_steady

NODE_BY_NODE = 400, 5e7  # the longest series that is followed pair by pair: nodes, and nodes times states to the 4th
PAIRWISE_SECONDS = 3.0, 4e-3, 2.5e-7  # in all, and roughly for one matrix: fixed, and times states to the 4th
FORGOTTEN = 3e-9  # what is left of a difference is too small to follow further


@dataclass(frozen=True)
class Losses:
    """What releases with a profile tell about the value at each time, at most.

    ``epsilon[n]`` holds from time ``first[n]`` up to the next one. The largest is the guarantee.
    """

    first: Integers
    epsilon_at: Floats
    length: int

    @property
    def epsilon(self) -> float:
        """The guarantee: the largest loss."""
        return float(self.epsilon_at.max())

    @property
    def worst(self) -> tuple[int, int]:
        """The first and last time of the (first) block with the largest loss."""
        n = int(np.argmax(self.epsilon_at))
        return int(self.first[n]), int(self.first[n + 1]) - 1 if n + 1 < len(self.first) else self.length

    def at(self, time: int) -> float:
        """The loss at one time."""
        return float(self.epsilon_at[np.searchsorted(self.first, time, side="right") - 1])


def loss_along_time(belief: Belief, profile: Profile) -> Losses:
    """The loss at each time under every chain of the belief.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> count = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> asked = Profile.of([(count / 3.33641, (1, 500)), (count / 3.33641, (5_000_001, 5_000_500))], length=10_000_000)
    >>> losses = loss_along_time(chain, asked)
    >>> round(losses.epsilon, 4), losses.at(2_500_000) < 1e-6
    (1.0, True)
    """
    return largest_losses([follow(curve, profile) for curve in curve_members(belief)])


def largest_losses(members: Sequence[Losses]) -> Losses:
    """The largest loss of several members at each time."""
    if len(members) == 1:
        return members[0]
    first = np.unique(np.concatenate([m.first for m in members]))
    found = [m.epsilon_at[np.searchsorted(m.first, first, side="right") - 1] for m in members]
    return Losses(first, np.max(found, axis=0), members[0].length)


@dataclass(frozen=True)
class _Track:
    """Bounds block by block, in the order of time: matrix number ``base`` plus ``extra`` in every entry."""

    first: Integers
    base: Integers
    extra: Floats


Walked = tuple[int, int, int]  # first node along the walk, number of nodes, number of the matrix


class _Matrices:
    """The distinct λ of a profile, and the matrices that bounds are made of; number 0 is all zero."""

    def __init__(self, curve: InfluenceCurve, stretches: Sequence[Stretch]):
        k = curve.future.states
        self.bases: list[Floats] = [np.zeros((k, k))]
        self.distinct: list[Floats] = []
        known: dict[bytes, int] = {}
        self.of: list[int] = []
        for stretch in stretches:
            own = curve.own(stretch.matrix)
            if own.tobytes() not in known:
                known[own.tobytes()] = len(self.distinct)
                self.distinct.append(own)
            self.of.append(known[own.tobytes()])
        self.most = [float(m.max()) for m in self.distinct]
        self._lock = threading.Lock()

    def keep(self, base: Floats) -> int:
        """The number of a matrix that bounds are made of."""
        with self._lock:
            self.bases.append(base)
            return len(self.bases) - 1


def follow(curve: InfluenceCurve, profile: Profile) -> Losses:
    """The loss at each time under one chain or class; the profile must have an end."""
    length = profile.length
    assert length is not None  # noqa: S101 - profiles without end are for InfluenceCurve.at
    matrices = _Matrices(curve, profile.stretches)
    lasts = [s.last or s.first for s in profile.stretches]
    onward = [(s.first, last - s.first + 1, n) for s, last, n in zip(profile.stretches, lasts, matrices.of, strict=True)]
    back = [(length - first - count + 2, count, n) for first, count, n in reversed(onward)]
    sides = ((curve.future, back), (curve.past, onward))
    makers = _tracks(length, curve.future.states, sum(most > 0 for most in matrices.most))
    with ThreadPoolExecutor(2) as pool:
        future, past = pool.map(lambda one: [make(*one, matrices) for make in makers], sides)
    return _together(onward, matrices, [_mirrored(track, length) for track in future], past, length)


def _tracks(length: int, states: int, distinct: int) -> list[Callable[[Side, list[Walked], _Matrices], _Track]]:
    """The tracks that are worth their time."""
    total, fixed, growing = PAIRWISE_SECONDS
    if length <= NODE_BY_NODE[0] and length * states**4 <= NODE_BY_NODE[1]:
        return [_one_number, _node_by_node]
    if distinct * (fixed + growing * states**4) <= total:
        return [_one_number, _by_stretch]
    return [_one_number]


def _one_number(side: Side, walked: list[Walked], matrices: _Matrices) -> _Track:
    lambdas, lengths = _walk_of(walked, matrices)
    room = int(np.minimum(lengths, EXPLICIT + LOOK_BACK + 64).sum()) + 2 * len(lengths)
    first, bounds = np.empty(room, dtype=np.int64), np.empty(room)
    count = walk(lambdas, lengths, _arrays(side, lambdas, lengths), first, bounds)
    return _Track(first[:count], np.zeros(count, dtype=np.int64), bounds[:count])


def _walk_of(walked: list[Walked], matrices: _Matrices) -> tuple[Floats, Integers]:
    lambdas = np.array([matrices.most[n] for _, _, n in walked])
    return lambdas, np.array([count for _, count, _ in walked], dtype=np.int64)


def _arrays(side: Side, lambdas: Floats, lengths: Integers) -> Arrays:
    """The frontiers worth having: a skip costs (m - 1) λ, but nothing where nothing was asked."""
    asked = lambdas > 0
    least, gap = float(lambdas[asked].min(initial=np.inf)), int(lengths[~asked].max(initial=0))
    worst, within = float(lambdas @ lengths), True
    chosen: list[Frontier] = []
    for m in skips():
        within = within and m <= LOOK_BACK and (m - 1) * least < worst
        if m > 1 and not within and m > gap:
            break
        found = side.frontiers_of(m)
        chosen += found
        largest = min(one.largest for one in found)
        worst = min(worst, (m - 1) * least + largest) if within else worst
        if largest < FORGOTTEN + 2 * found[0].error:
            break
    width = max(1, *(len(one.above) for one in chosen))
    above, below = np.zeros((len(chosen), width)), np.zeros((len(chosen), width))
    for n, one in enumerate(chosen):
        above[n, : len(one.above)], below[n, : len(one.below)] = one.above, one.below
    return (
        np.array([one.skip for one in chosen], dtype=np.int64),
        above,
        below,
        np.array([len(one.above) for one in chosen], dtype=np.int64),
        np.array([one.log_cross for one in chosen]),
        np.array([one.error for one in chosen]),
    )


def _by_stretch(side: Side, walked: list[Walked], matrices: _Matrices) -> _Track:
    """R* of each stretch's λ plus what the stretch before brings in beyond it."""
    lambdas, lengths = _walk_of(walked, matrices)
    numbers = [matrices.keep(side.bound(m).values) if m.any() else 0 for m in matrices.distinct]
    used = [0, *(n for n in numbers if n)]  # R* in the order of their numbers
    rank = {n: place for place, n in enumerate(used)}
    steady = np.array([matrices.bases[n][~np.eye(side.states, dtype=bool)] for n in used])
    with np.errstate(invalid="ignore"):
        gaps = steady[:, None, :] - steady[None, :, :]
    beyond = np.where(np.isnan(gaps), -np.inf, gaps).max(axis=2, initial=-np.inf)
    room = (LOOK_BACK + 64) * len(lengths)
    blocks = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room)
    chosen = np.array([rank[numbers[n]] for _, _, n in walked], dtype=np.int64)
    error = POWER_ERROR + side.error
    count = walk_steady(chosen, lengths, beyond, _arrays(side, lambdas, lengths), side.cross_ratio(), error, blocks)
    return _Track(blocks[0][:count], np.array(used)[blocks[1][:count]], blocks[2][:count])


def _node_by_node(side: Side, walked: list[Walked], matrices: _Matrices) -> _Track:
    """Every node, pair by pair; skips of several steps where they are better."""
    bases: list[int] = []
    lambdas = [matrices.distinct[n] for _, count, n in walked for _ in range(count)]
    R = np.zeros_like(matrices.bases[0])
    differences: list[float] = []
    costs = [0.0]
    for node in range(1, len(lambdas) + 1):
        if node > 1:
            D = lambdas[node - 2] + R
            differences.append(float(D.max()))
            costs.append(costs[-1] + float(lambdas[node - 2].max()))
            R = side.one(D)
            for m in skips():
                if m >= node:
                    break
                between = (costs[node - 1] - costs[node - m]) * (1 + 1e-12)
                if m > 1 and between < R.max():
                    R = np.minimum(R, between + side.step(m, differences[node - 1 - m]))
        bases.append(matrices.keep(R))
    return _Track(np.arange(1, len(bases) + 1), np.array(bases), np.zeros(len(bases)))


def _mirrored(track: _Track, length: int) -> _Track:
    """A track along the walk from the end, in the order of time."""
    lasts = np.append(track.first[1:] - 1, length)
    return _Track(length + 1 - lasts[::-1], track.base[::-1], track.extra[::-1])


def _together(
    onward: list[Walked], matrices: _Matrices, future: list[_Track], past: list[_Track], length: int
) -> Losses:
    """λ + R + L at each time, from the best pair of tracks."""
    starts = np.array([first for first, _, _ in onward])
    first = np.unique(np.concatenate([starts, *(track.first for track in (*future, *past))]))
    own = np.array(matrices.of)[np.searchsorted(starts, first, side="right") - 1]
    best = np.full(len(first), np.inf)
    for f, g in itertools.product(future, past):
        at_f, at_g = (np.searchsorted(track.first, first, side="right") - 1 for track in (f, g))
        count = len(matrices.bases)
        distinct, which = np.unique((own * count + f.base[at_f]) * count + g.base[at_g], return_inverse=True)
        peaks = np.array([_peak(matrices, *_digits(n, count)) for n in distinct.tolist()])
        best = np.minimum(best, peaks[which] + f.extra[at_f] + g.extra[at_g])
    # and never more than all that was asked: each value of the series counts once
    whole = sum(matrices.most[n] * count for _, count, n in onward)
    return Losses(first, np.minimum(best, whole) * (1 + 1e-12), length)


def _digits(number: int, base: int) -> tuple[int, int, int]:
    rest, last = divmod(number, base)
    return *divmod(rest, base), last


def _peak(matrices: _Matrices, own: int, future: int, past: int) -> float:
    total = matrices.distinct[own] + matrices.bases[future] + matrices.bases[past]
    return float(total[~np.eye(len(total), dtype=bool)].max(initial=0.0))
