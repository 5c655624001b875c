"""The influence curve along time: profiles that change, forward and backward over their stretches (Statement 9).

Each side is bounded by several *tracks*, and the smallest sum holds at each time:

- one number for all pairs, followed node by node near the ends of each stretch (``walk.py``);
- within a stretch of constant λ, a bound R* that one step does not increase, pair by pair, plus what the neighbouring
  stretch brings in beyond it: step(R* + c) ≤ R* + c, since a function within D + c of another is the product of one
  within D and one within c;
- for short series, every node, pair by pair.

The work grows with the number of stretches, not with the length of the series.
"""

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quiltwork.beliefs.base import Belief
from quiltwork.beliefs.secrets import SecretPairs
from quiltwork.errors import ParameterError
from quiltwork.influence.curve.any_start import AnyStart
from quiltwork.influence.curve.constant import InfluenceCurve, Peak, canonical, check_states, curve_members
from quiltwork.influence.curve.profile import Profile, Stretch
from quiltwork.influence.curve.sides import POWER_ERROR, Bound, Frontier, Side, on_both, skips
from quiltwork.influence.curve.steps import without_detours
from quiltwork.influence.curve.walk import EXPLICIT, LOOK_BACK, Arrays, walk, walk_steady
from quiltwork.types import Floats, Guarantee, Integers, Shown

NODE_BY_NODE = 400, 5e7  # the longest series that is followed pair by pair: nodes, and nodes times states to the 4th
PAIRWISE_SECONDS = 3.0, 4e-3, 2.5e-7  # in all, and roughly for one matrix: fixed, and times states to the 4th
FORGOTTEN = 3e-9  # what is left of a difference is too small to follow further


@dataclass(frozen=True, repr=False)
class Losses(Shown):
    """What releases with a profile tell about the value at each time, at most.

    ``epsilon_at[n]`` holds from time ``first[n]`` up to the next one; the largest is the guarantee. ``pair`` are the
    two states that are hardest to keep apart at the worst time, and ``parts`` what the value itself, what follows it
    and what led to it tell about them.
    """

    first: Integers
    epsilon_at: Floats
    length: int
    pair: tuple[int, int]
    parts: tuple[float, ...]

    def __repr__(self) -> str:
        first, last = self.worst
        return f"Losses(at most ε = {self.epsilon:.6g}, at times {first:,} to {last:,} of {self.length:,})"

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
        """The loss at one time, from 1; times after the last are told no more than the last."""
        if time < 1:
            raise ParameterError("times count from 1", got=str(time))
        return float(self.epsilon_at[np.searchsorted(self.first, time, side="right") - 1])


def loss_along_time(
    belief: Belief, profile: Profile, *, guarantee: Guarantee = "pufferfish", secret: SecretPairs | None = None
) -> Losses:
    """The loss at each time under every chain of the belief.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> count = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> asked = Profile.of([(count / 3.33641, (1, 500)), (count / 3.33641, (5_000_001, 5_000_500))], length=10_000_000)
    >>> losses = loss_along_time(chain, asked)
    >>> round(losses.epsilon, 4), losses.at(2_500_000) < 1e-6
    (1.0, True)
    """
    curves = curve_members(belief, guarantee=guarantee, secret=secret)
    return largest_losses([follow(curve, profile) for curve in curves])


def largest_losses(members: Sequence[Losses]) -> Losses:
    """The largest loss of several members at each time."""
    if len(members) == 1:
        return members[0]
    first = np.unique(np.concatenate([m.first for m in members]))
    epsilons = [m.epsilon_at[np.searchsorted(m.first, first, side="right") - 1] for m in members]
    worst = max(members, key=lambda member: member.epsilon)
    return Losses(first, np.max(epsilons, axis=0), worst.length, worst.pair, worst.parts)


@dataclass(frozen=True)
class _Track:
    """Bounds block by block, in the order of time: matrix number ``base`` plus ``extra`` in every entry."""

    first: Integers
    base: Integers
    extra: Floats


class Walked(NamedTuple):
    """A stretch along the walk: its first node, how many nodes it has, and the number of its matrix."""

    first: int
    nodes: int
    matrix: int

    @property
    def end(self) -> int:
        """The node after its last."""
        return self.first + self.nodes


class _Matrices:
    """The distinct λ of a profile, and the matrices that bounds are made of; number 0 is all zero."""

    def __init__(self, curve: InfluenceCurve, stretches: Sequence[Stretch]):
        k = curve.future.states
        self.curve = curve
        self.bases: list[Floats] = [np.zeros((k, k))]
        self.distinct: list[Floats] = []
        self.links: list[float] = []
        known: dict[bytes, int] = {}
        self.of: list[int] = []
        for stretch in stretches:
            matrix, linked = curve.own(stretch.matrix), curve.links(stretch.matrix)
            name = matrix.tobytes() + linked.hex().encode()
            if name not in known:
                known[name] = len(self.distinct)
                self.distinct.append(matrix)
                self.links.append(linked)
            self.of.append(known[name])
        self.most = [float(m.max()) for m in self.distinct]
        self._lock = threading.Lock()

    def keep(self, base: Floats) -> int:
        """The number of a matrix that bounds are made of."""
        with self._lock:
            self.bases.append(base)
            return len(self.bases) - 1


Maker = Callable[[Side, list[Walked], _Matrices], _Track]


def follow(curve: InfluenceCurve, profile: Profile) -> Losses:
    """The loss at each time under one chain or class; the profile must have an end."""
    check_states(curve.future.states)
    length = profile.length
    assert length is not None  # noqa: S101 - profiles without end are for InfluenceCurve.at
    matrices = _Matrices(curve, profile.stretches)
    lasts = [s.last or s.first for s in profile.stretches]
    onward = [
        Walked(s.first, last - s.first + 1, n) for s, last, n in zip(profile.stretches, lasts, matrices.of, strict=True)
    ]
    back = [Walked(length - w.end + 2, w.nodes, w.matrix) for w in reversed(onward)]
    sides = ((curve.future, back), (curve.past.linked(max(matrices.links)), onward))
    asked = [w for w in onward if matrices.most[w.matrix] > 0]
    if not asked:
        return Losses(np.ones(1, dtype=np.int64), np.zeros(1), length, (0, 0), (0.0, 0.0, 0.0))
    makers = _tracks(curve, asked[-1].end - asked[0].first, sum(most > 0 for most in matrices.most))

    def tracks(walked_side: tuple[Side, list[Walked]]) -> list[_Track]:
        side, walked = walked_side
        return [make(side, walked, matrices) for make in makers]

    future, past = on_both(tracks, sides, states=curve.future.states)
    losses = _together(onward, matrices, [_mirrored(track, length) for track in future], past, length)
    return _if_everywhere(curve, profile, losses) if curve.cyclic else losses


def _if_everywhere(curve: InfluenceCurve, profile: Profile, losses: Losses) -> Losses:
    """No more than if the largest λ were asked everywhere: there each time of a cycle is looked at by itself."""
    point = curve.at(np.max([stretch.matrix for stretch in profile.stretches], axis=0), thorough=True)  # Statement 38
    if losses.epsilon <= point.epsilon:
        return losses
    parts = (point.own_at_pair, point.future_at_pair, point.past_at_pair)
    return Losses(losses.first, np.minimum(losses.epsilon_at, point.epsilon), losses.length, point.pair, parts)


def _tracks(curve: InfluenceCurve, span: int, distinct: int) -> list[Maker]:
    """The tracks that are worth their time; ``span`` is how long it is from the first asked about to the last."""
    total, fixed, growing = PAIRWISE_SECONDS
    states, short = curve.future.states, is_short(span, curve.future.states)
    by_pair = states > 2 or curve.started  # else there is one pair, and nothing to tell apart
    seconds = fixed + growing * states**4 if states > 2 else 0.0
    tracks: list[Maker] = [_one_number]
    if short and by_pair:
        tracks.append(_node_by_node)
    elif states > 2 and distinct * seconds <= total and not curve.cyclic:
        tracks.append(_by_stretch)
    if isinstance(curve.past, AnyStart) or (by_pair and not short and distinct == 1 and seconds <= total):
        tracks.append(_endless)
    return tracks


def is_short(length: int, states: int) -> bool:
    """Whether a series is followed node by node, pair by pair."""
    longest, most_work = NODE_BY_NODE
    return length <= longest and length * states**4 <= most_work


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
        frontiers = side.frontiers_of(m)
        chosen += frontiers
        largest = min(frontier.largest for frontier in frontiers)
        worst = min(worst, (m - 1) * least + largest) if within else worst
        if largest < FORGOTTEN + 2 * frontiers[0].error:
            break
    width = max(1, *(len(frontier.above) for frontier in chosen))
    above, below = np.zeros((len(chosen), width)), np.zeros((len(chosen), width))
    for n, frontier in enumerate(chosen):
        above[n, : len(frontier.above)], below[n, : len(frontier.below)] = frontier.above, frontier.below
    return (
        np.array([frontier.skip for frontier in chosen], dtype=np.int64),
        above,
        below,
        np.array([len(frontier.above) for frontier in chosen], dtype=np.int64),
        np.array([frontier.log_cross for frontier in chosen]),
        np.array([frontier.error for frontier in chosen]),
    )


def _endless(side: Side, walked: list[Walked], matrices: _Matrices) -> _Track:
    """The largest λ of any stretch as if it were asked everywhere: what holds at every node of every length."""
    matrix = canonical(np.max(matrices.distinct, axis=0))
    if isinstance(side, AnyStart):  # the first value asked about may have any law
        begun = next(w.first for w in walked if matrices.most[w.matrix] > 0)
        nodes = side.by_node(matrix, last=walked[-1].end - 1 - begun)  # Statements 46 and 47
        firsts = np.array([1, *(begun + node.steps for node in nodes[1:])])
        return _Track(firsts, np.array([matrices.keep(node.values) for node in nodes]), np.zeros(len(nodes)))
    base = matrices.keep(side.bound(matrix, thorough=True).values)  # Statement 38
    return _Track(np.ones(1, dtype=np.int64), np.array([base]), np.zeros(1))


def _by_stretch(side: Side, walked: list[Walked], matrices: _Matrices) -> _Track:
    """R* of each stretch's λ plus what the stretch before brings in beyond it."""
    lambdas, lengths = _walk_of(walked, matrices)
    # Statement 37
    numbers = [matrices.keep(without_detours(m, side.steady(m).values)) if m.any() else 0 for m in matrices.distinct]
    used = [0, *(n for n in numbers if n)]  # R* in the order of their numbers
    rank = {n: place for place, n in enumerate(used)}
    steady = np.array([matrices.bases[n][~np.eye(side.states, dtype=bool)] for n in used])
    with np.errstate(invalid="ignore"):
        gaps = steady[:, None, :] - steady[None, :, :]
    beyond = np.where(np.isnan(gaps), -np.inf, gaps).max(axis=2, initial=-np.inf)
    room = (LOOK_BACK + 64) * len(lengths)
    firsts, bases, extras = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room)
    chosen = np.array([rank[numbers[n]] for _, _, n in walked], dtype=np.int64)
    error = POWER_ERROR + side.error
    arrays, blocks = _arrays(side, lambdas, lengths), (firsts, bases, extras)
    count = walk_steady(chosen, lengths, beyond, arrays, side.cross_ratio(), error, blocks)
    return _Track(firsts[:count], np.array(used)[bases[:count]], extras[:count])


def _node_by_node(side: Side, walked: list[Walked], matrices: _Matrices) -> _Track:
    """Every node from the first to the last that anything was asked about, pair by pair; one number beyond."""
    asked = [w for w in walked if matrices.most[w.matrix] > 0]
    begun, ended = asked[0].first, asked[-1].end
    lambdas = [matrices.distinct[n] for first, count, n in walked if begun <= first < ended for _ in range(count)]
    bounds = node_by_node(side, lambdas, first=begun)
    bases = [matrices.keep(bound.values) for bound in bounds]
    first, base, extra = list(range(begun, ended)), bases, [0.0] * len(bases)
    if begun > 1:
        first, base, extra = [1, *first], [0, *base], [0.0, *extra]
    if ended < walked[-1].end:  # R falls from there on
        first, base = [*first, ended], [*base, 0]
        extra = [*extra, float((lambdas[-1] + bounds[-1].values).max())]
    return _Track(np.array(first), np.array(base), np.array(extra))


def node_by_node(side: Side, lambdas: Sequence[Floats], *, first: int = 1) -> list[Bound]:
    """R at every node from ``first`` on, walking away from the end; skips of several steps where they are better.

    Nothing was asked about the nodes before the first.
    """
    bounds = [Bound(np.zeros_like(lambdas[0]), np.ones(lambdas[0].shape, dtype=np.int64))]
    differences: list[float] = []
    costs = [0.0]
    for node in range(2, len(lambdas) + 1):
        before = lambdas[node - 2]
        D = before + bounds[-1].values
        differences.append(float(D.max()))
        costs.append(costs[-1] + float(before.max()))
        R = side.one(D, first + node - 1)  # Statement 9
        for m in skips():
            between = (costs[node - 1] - costs[node - m]) * (1 + 1e-12) if m < node else np.inf
            if between >= R.values.max():
                break
            if m > 1:
                R = R.improved(_off_diagonal(between + side.step(m, differences[node - 1 - m])), m)  # Statement 12
        bounds.append(R)
    return bounds


def _off_diagonal(table: Floats) -> Floats:
    np.fill_diagonal(table, 0.0)
    return table


def _mirrored(track: _Track, length: int) -> _Track:
    """A track along the walk from the end, in the order of time."""
    lasts = np.append(track.first[1:] - 1, length)
    return _Track(length + 1 - lasts[::-1], track.base[::-1], track.extra[::-1])


def _together(
    onward: list[Walked], matrices: _Matrices, future: list[_Track], past: list[_Track], length: int
) -> Losses:
    """λ + R + L at each time, from the best pair of tracks."""
    starts = np.array([first for first, _, _ in onward])
    times = () if matrices.curve.secret is None else matrices.curve.secret.times or ()
    cuts = [n for begun, ended in times for n in (begun, ended + 1) if n <= length]
    first = np.unique(np.concatenate([starts, np.array(cuts, dtype=np.int64), *(t.first for t in (*future, *past))]))
    numbers = np.array(matrices.of)[np.searchsorted(starts, first, side="right") - 1]
    best, choice = np.full(len(first), np.inf), np.zeros(len(first), dtype=np.int64)
    beyond = np.zeros((2, len(first)))
    count = len(matrices.bases)
    for f, g in itertools.product(future, past):
        at_f, at_g = (np.searchsorted(track.first, first, side="right") - 1 for track in (f, g))
        combined = (numbers * count + f.base[at_f]) * count + g.base[at_g]
        distinct, which = np.unique(combined, return_inverse=True)
        peaks = np.array([_peak(matrices, *_digits(n, count)).loss for n in distinct.tolist()])
        extra = np.stack([f.extra[at_f], g.extra[at_g]])
        total = peaks[which] + extra.sum(axis=0)  # Statement 9
        choice, beyond = np.where(total < best, combined, choice), np.where(total < best, extra, beyond)
        best = np.minimum(best, total)
    # and never more than all that was asked: each value of the series counts once
    whole = sum(matrices.most[n] * number for _, number, n in onward)  # Statement 18
    if times:  # only some times are secret (Statement 61)
        secret = np.any([(begun <= first) & (first <= ended) for begun, ended in times], axis=0)
        best = np.where(secret, best, 0.0)
    worst = int(np.argmax(best))
    _, pair, (own_part, R, L) = _peak(matrices, *_digits(int(choice[worst]), count))
    parts = (own_part, R + float(beyond[0, worst]), L + float(beyond[1, worst]))
    return Losses(first, np.minimum(best, whole) * (1 + 1e-12), length, pair, parts)


def _digits(number: int, base: int) -> tuple[int, int, int]:
    rest, last = divmod(number, base)
    return *divmod(rest, base), last


def _peak(matrices: _Matrices, number: int, future: int, past: int) -> Peak:
    """The largest λ + R + L, for which pair, and its three parts."""
    itself = matrices.distinct[number] + matrices.links[number]
    return matrices.curve.peak((itself, matrices.bases[future], matrices.bases[past]))  # Statements 9 and 49
