"""What all releases so far tell together, kept as a sum: one more costs the same however many there were.

Profiles add (theory section 5), so their sum at every time, or for every variable, is all that has to be kept. Sums are
rounded up exactly: a positive spend is never lost, however small. The bound is the smallest of

- the influence curve of the sum (chains and trees), or one quilt at each variable (other networks);
- the sum of λ over all values that may depend on each other: they are all hidden together;
- Σ ε, where every release is by quilts about the same values (C Theorem 3.7);
- ε of the one release, where there is only one.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from quiltwork.beliefs import BayesianNetwork, Belief, ChainSet, MarkovChain, RecordBelief
from quiltwork.errors import InputError, ParameterError
from quiltwork.influence.curve import InfluenceCurve, Promise, curve_members
from quiltwork.influence.profile import Profile, Segment, Stretch
from quiltwork.influence.quilts import quilts_epsilon
from quiltwork.influence.timeline import Losses, follow, largest_losses
from quiltwork.influence.tree import tree_epsilon
from quiltwork.rounding import round_up
from quiltwork.spend import Floats, Spend

QUILTS = ("quilt-exact", "quilt-approx")
_ENCODER = json.JSONEncoder(sort_keys=True)


@dataclass(frozen=True)
class Kept:
    """The sum of all profiles: on blocks of time that begin at ``firsts`` (or for each variable of a record).

    ``length`` is that of the series so far; ``endless`` says that the sum holds at every time of series of any length.
    ``quilts`` is Σ ε while all releases are by quilts about the same values (``about``), else None.
    """

    count: int
    length: int
    firsts: tuple[int, ...]
    sums: tuple[Floats, ...]
    endless: bool = False
    started: bool = True
    quilts: float | None = 0.0
    about: Segment | None = None
    only: float | None = None

    @classmethod
    def nothing(cls, belief: Belief) -> "Kept":
        """Before the first release."""
        if isinstance(belief, RecordBelief):
            zeros = tuple(np.zeros((len(states),) * 2) for states in belief.variables.values())
            return cls(0, len(zeros), tuple(range(1, len(zeros) + 1)), zeros)
        return cls(0, 0, (1,), (np.zeros((len(belief.states),) * 2),))

    def plus(self, spend: Spend, belief: Belief) -> "Kept":
        """With one more release."""
        if not any(own.any() for own in spend.profile):
            return replace(self, count=self.count + 1)  # it tells nothing
        untold = not any(own.any() for own in self.sums)
        only = spend.epsilon if untold else None
        if isinstance(belief, RecordBelief):
            if len(spend.profile) != len(self.sums):
                raise ParameterError("a release must have a profile for each variable", got=str(len(spend.profile)))
            sums = tuple(add_up(a, b) for a, b in zip(self.sums, spend.profile, strict=True))
            return replace(self, count=self.count + 1, sums=sums, quilts=None, only=only)
        (matrix,) = spend.profile
        length = max(self.length, spend.length or 0)
        endless = self.endless or spend.length is None
        first, last = spend.segment or (1, spend.length or length)
        firsts, sums = (
            ((1,), (add_up(np.max(self.sums, axis=0), matrix),)) if endless else self._on(first, last, matrix)
        )
        about = (first, last)
        quilted = spend.mechanism in QUILTS and (untold or self.about == about) and not endless
        quilts = None
        if quilted and self.quilts is not None:
            quilts = float(add_up(np.array(self.quilts), np.array(spend.epsilon)))
        return Kept(
            count=self.count + 1,
            length=length,
            firsts=firsts,
            sums=sums,
            endless=endless,
            started=self.started and spend.started,
            quilts=quilts,
            about=about,
            only=only,
        )

    def _on(self, first: int, last: int, matrix: Floats) -> tuple[tuple[int, ...], tuple[Floats, ...]]:
        """The sum with a matrix added on a segment."""
        if first in self.firsts and last + 1 in self.firsts:
            same = zip(self.firsts, self.sums, strict=True)
            return self.firsts, tuple(add_up(own, matrix) if first <= begun <= last else own for begun, own in same)
        firsts = sorted({*self.firsts, first, last + 1})
        at = np.searchsorted(self.firsts, firsts, side="right") - 1
        sums = [
            add_up(self.sums[n], matrix) if first <= begun <= last else self.sums[n]
            for begun, n in zip(firsts, at.tolist(), strict=True)
        ]
        kept = [n for n in range(len(sums)) if n == 0 or not np.array_equal(sums[n], sums[n - 1])]
        return tuple(firsts[n] for n in kept), tuple(sums[n] for n in kept)

    def stretched(self, factor: float) -> "Kept":
        """Somewhat more of everything: what holds for it holds for all sums up to it."""
        quilts = None if self.quilts is None else self.quilts * factor
        return replace(self, sums=tuple(own * factor for own in self.sums), quilts=quilts)

    def within(self, other: "Kept") -> bool:
        """Whether this is no more than another sum, everywhere, so that its ε holds here too."""
        if (self.endless, self.started) != (other.endless, other.started) or self.length != other.length:
            return False
        if self.only != other.only and other.only is not None:
            return False
        if other.quilts is not None and (self.quilts is None or self.quilts > other.quilts):
            return False
        if self.firsts == other.firsts:
            return all(bool((a <= b).all()) for a, b in zip(self.sums, other.sums, strict=True))
        firsts = sorted({*self.firsts, *other.firsts})
        own, theirs = (
            [k.sums[n] for n in (np.searchsorted(k.firsts, firsts, side="right") - 1).tolist()] for k in (self, other)
        )
        return all(bool((a <= b).all()) for a, b in zip(own, theirs, strict=True))

    def to_bytes(self) -> bytes:
        """For a ledger; equal sums have equal bytes."""
        return self._bytes

    @cached_property
    def _bytes(self) -> bytes:
        head = {
            "count": self.count,
            "length": self.length,
            "firsts": list(self.firsts),
            "shapes": [len(own) for own in self.sums],
            "endless": self.endless,
            "started": self.started,
            "quilts": None if self.quilts is None else self.quilts.hex(),
            "about": self.about,
            "only": None if self.only is None else self.only.hex(),
        }
        numbers = b"".join(own.astype("<f8").tobytes() for own in self.sums)
        return _ENCODER.encode(head).encode() + b"\n" + numbers

    @classmethod
    def from_bytes(cls, content: bytes) -> "Kept":
        """As a ledger has it."""
        try:
            line, numbers = content.split(b"\n", 1)
            head: dict[str, Any] = json.loads(line)
            flat = np.frombuffer(numbers, dtype="<f8").astype(np.float64)
            ends = np.cumsum([k * k for k in head["shapes"]])
            if len(flat) != (int(ends[-1]) if len(ends) else 0):
                raise ValueError
            parts = np.split(flat, ends[:-1])
            return cls(
                count=int(head["count"]),
                length=int(head["length"]),
                firsts=tuple(head["firsts"]),
                sums=tuple(part.reshape(k, k) for part, k in zip(parts, head["shapes"], strict=True)),
                endless=bool(head["endless"]),
                started=bool(head["started"]),
                quilts=None if head["quilts"] is None else float.fromhex(head["quilts"]),
                about=None if head["about"] is None else (head["about"][0], head["about"][1]),
                only=None if head["only"] is None else float.fromhex(head["only"]),
            )
        except (ValueError, KeyError, TypeError) as problem:
            raise InputError("the kept sum of a ledger cannot be read", why="it was changed") from problem

    @cached_property
    def digest(self) -> str:
        """A hash of the sum."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


@dataclass(frozen=True)
class Bound:
    """ε of everything kept, and the rule that gives it."""

    epsilon: float
    rule: str


class Bounds:
    """Turns kept sums into ε, under one belief and promise."""

    def __init__(self, belief: Belief, promise: Promise = "pufferfish"):
        self._belief, self._promise = belief, promise
        self._curves: dict[bool, list[InfluenceCurve]] = {}

    def of(self, kept: Kept) -> Bound:
        """The smallest bound that holds; infinite if none does."""
        if not kept.count:
            return Bound(0.0, "nothing was released")
        found = [Bound(self._together(kept), "all values hidden together")]
        if isinstance(self._belief, RecordBelief):
            found += self._of_records(kept)
        else:
            found.append(Bound(self._along_time(kept), "influence-curve"))
            if kept.quilts is not None and self._promise == "pufferfish":
                found.append(Bound(kept.quilts, "sequential-quilt"))
        if kept.only is not None:
            found.append(Bound(kept.only, "single-release"))
        return min(found, key=lambda one: one.epsilon)

    def losses(self, kept: Kept) -> Losses:
        """What is told about each time, at most; no more than about all times together."""
        if isinstance(self._belief, RecordBelief):
            raise ParameterError("records have no times", got="a belief about named variables")
        most = self.of(kept).epsilon
        if kept.endless or not any(own.any() for own in kept.sums):
            return Losses(np.array([1]), np.array([most]), max(1, kept.length), (0, 0), ())
        along = largest_losses([follow(curve, Profile(_stretches(kept))) for curve in self._of_start(kept.started)])
        return replace(along, epsilon_at=np.minimum(along.epsilon_at, most))

    def _together(self, kept: Kept) -> float:
        """Σ λ over all values that may depend on each other."""
        heights = [float(own.max()) for own in kept.sums]
        if isinstance(self._belief, RecordBelief):
            return self._belief.heaviest_part(heights)[0]
        if kept.endless:
            return math.inf if heights[0] else 0.0
        lasts = [*(begun - 1 for begun in kept.firsts[1:]), kept.length]
        spans = [max(0, last - begun + 1) for begun, last in zip(kept.firsts, lasts, strict=True)]
        return round_up(math.fsum(h * n for h, n in zip(heights, spans, strict=True)), roundings=4)

    def _of_records(self, kept: Kept) -> list[Bound]:
        first = self._belief.members[0]
        if not isinstance(first, BayesianNetwork):
            return []
        if first.graph.forest:
            return [Bound(tree_epsilon(self._belief, kept.sums, promise=self._promise), "influence-curve")]
        return [Bound(quilts_epsilon(self._belief, kept.sums), "same-quilts")] if self._promise == "pufferfish" else []

    def _along_time(self, kept: Kept) -> float:
        curves = self._of_start(kept.started and not kept.endless)
        if kept.endless:
            return max(curve.at(kept.sums[0], thorough=True).epsilon for curve in curves)
        if not any(own.any() for own in kept.sums):
            return 0.0
        profile = Profile(_stretches(kept))
        return max(follow(curve, profile).epsilon for curve in curves)

    def _of_start(self, started: bool) -> list[InfluenceCurve]:
        if started not in self._curves:
            belief = self._belief if started else _any_start(self._belief)
            self._curves[started] = curve_members(belief, promise=self._promise)
        return self._curves[started]


def _stretches(kept: Kept) -> tuple[Stretch, ...]:
    lasts = [*(begun - 1 for begun in kept.firsts[1:]), kept.length]
    return tuple(
        Stretch(begun, last, own)
        for begun, last, own in zip(kept.firsts, lasts, kept.sums, strict=True)
        if begun <= last
    )


def _any_start(belief: Belief) -> Belief:
    """Where times do not count from the belief's own start, a given start says nothing."""
    if isinstance(belief, ChainSet):
        return ChainSet(m.with_start("any") if m.start == "given" else m for m in belief.members)
    return belief.with_start("any") if isinstance(belief, MarkovChain) and belief.start == "given" else belief


def add_up(a: Floats, b: Floats) -> Floats:
    """a + b, rounded up: the smallest float that is not below the exact sum.

    >>> float(add_up(np.array(1.0), np.array(5e-324))) > 1.0
    True
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = a + b
        part = total - a
        short = (a - (total - part)) + (b - part) > 0  # exact, by Knuth
    if not np.isfinite(total).all():
        raise ParameterError("the sum of profiles must be finite", got="infinity")
    return np.asarray(np.where(short, np.nextafter(total, np.inf), total) if short.any() else total)


def sum_of(spends: Sequence[Spend], belief: Belief) -> Kept:
    """All releases added up, one after the other."""
    kept = Kept.nothing(belief)
    for spend in spends:
        kept = kept.plus(spend, belief)
    return kept
