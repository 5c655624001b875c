"""What all releases so far told, as a state that rules read: one more release costs the same however many there were.

Profiles add, so their sum at every time, or for every variable, is all that has to be kept of them. Sums are rounded up
exactly: a positive spend is never lost, however small. The first few records are kept as they are, for the theorems
that need them; of more, the sums must do.
"""

import hashlib
import json
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from quiltwork.accounting.record import ReleaseRecord
from quiltwork.beliefs import Belief
from quiltwork.data import Reading
from quiltwork.errors import InputError, NotCoveredError
from quiltwork.influence.curve.profile import Profile, Stretch
from quiltwork.influence.shift import GRID
from quiltwork.numeric import add_floats, add_up, round_up
from quiltwork.question.sensitivity import unlinked
from quiltwork.types import Floats

FEW = 8  # releases whose records are kept
UNCHECKED = "was not checked for the noise that quilts need"
_ENCODER = json.JSONEncoder(sort_keys=True)


@dataclass(frozen=True, kw_only=True)
class Total:
    """All releases so far: the sums of their profiles on blocks of time that begin at ``firsts``, or by variable.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> total = Total.nothing(chain, length=100)
    >>> total = total.plus(ReleaseRecord(noise_scale=2.0, query="count:1", segment=(1, 50)), chain)
    >>> total.firsts, [round(float(matrix.max()), 3) for matrix in total.sums]
    ((1, 51), [0.5, 0.0])
    """

    firsts: tuple[int, ...]
    sums: tuple[Floats, ...]
    length: int = 0
    """The last position of the longest series, as far as it is known."""
    grows: bool = True
    """Whether series are as long as releases say; else their length is known."""
    endless: bool = False
    """Whether the sum is taken to hold at every time of series of any length."""
    started: bool = True
    """Whether positions count from the start that the belief is about."""
    count: int = 0
    records: tuple[ReleaseRecord, ...] | None = ()
    """The releases themselves, while they are few."""
    reading: Reading | None = None
    """How the data were read for the first release."""
    mixed: str | None = None
    """How a later reading differs: positions can then not be compared."""
    unknown: str | None = None
    """Which release does not say its profile."""
    grid: float = 0.0
    """Of real values: what rounding them to a grid may have cost, at every time."""
    mass: float | None = 0.0
    """λ summed up over all values of all releases; None if their number is not known."""
    quilts: float = 0.0
    """Σ ε, for releases by quilts."""
    about: tuple[int, int | None] | None = None
    """The values that releases by quilts are about."""
    apart: str | None = None
    """Why ε of the releases do not add up as those of quilts do (C Theorem 3.7); None if they do."""
    squares: tuple[Floats, ...] | None = None
    """Where a δ is allowed for: μ² of releases with Laplace noise and of those with Gaussian noise, added up, each
    (2, states, states), in the blocks of the sums (Statement 78)."""
    unsquared: str | None = None
    """Which release does not say its squares."""

    @classmethod
    def nothing(cls, belief: Belief, *, length: int | None = 0, squares: bool = False) -> "Total":
        """Before the first release, from series of this length (None: any; 0: as long as releases say they are)."""
        zeros = tuple(np.zeros((len(states),) * 2) for states in belief.state_sets)
        none = tuple(np.stack([zero, zero]) for zero in zeros) if squares else None
        if belief.variables is not None:
            return cls(firsts=tuple(range(1, len(zeros) + 1)), sums=zeros, length=len(zeros), squares=none)
        return cls(firsts=(1,), sums=zeros, length=length or 0, grows=length == 0, endless=length is None, squares=none)

    def plus(self, record: ReleaseRecord, belief: Belief, *, quilts: float | str = UNCHECKED) -> "Total":
        """With one more release; ``quilts`` is the ε that it adds as one by quilts, or why it does not add up so."""
        number = self.count + 1
        profile = record.profile(belief)
        changes: dict[str, Any] = {
            "count": number,
            "records": None if self.records is None or number > FEW else (*self.records, record),
            "reading": self.reading or record.reading,
            "mixed": self._difference(record, belief) or self.mixed,
            "grid": add_floats(self.grid, GRID) if belief.real else self.grid,
        }
        if profile is None:
            changes["unknown"] = self.unknown or f"release {number} {record.why_no_profile(belief)}"
        elif not any(matrix.any() for matrix in profile):
            return replace(self, **changes)  # it tells nothing
        squares = None if self.squares is None else record.squares(belief)
        if self.squares is not None and squares is None:
            changes["unsquared"] = self.unsquared or f"release {number} {record.why_no_profile(belief)}"
        placed = record.placed and changes["mixed"] is None
        changes |= self._adding_quilts(record, quilts, placed)
        told = self._told(record, profile, squares)
        if told is not None and belief.variables is not None:
            changes |= self._apart(list(map(add_up, self._together, told)))
        elif told is not None:
            changes |= self._along_time(record, told[0], placed, mixed=changes["mixed"] is not None)
        return replace(self, **changes)

    def _told(
        self, record: ReleaseRecord, profile: tuple[Floats, ...] | None, squares: tuple[Floats, ...] | None
    ) -> list[Floats] | None:
        """What a release adds to each block: its profile, and where they are kept its squares, by kind of noise."""
        known = profile if squares is None else squares
        if known is None:
            return None
        zeros = [np.zeros_like(matrix) for matrix in known]
        own = zeros if profile is None else profile
        if self.squares is None:
            return [matrix[None] for matrix in own]
        added = zeros if squares is None else squares
        laplace, gaussian = (zeros, added) if record.noise == "gaussian" else (added, zeros)
        return [np.stack(layers) for layers in zip(own, laplace, gaussian, strict=True)]

    @property
    def _together(self) -> list[Floats]:
        """Sums, and squares where they are kept, of each block in one array."""
        if self.squares is None:
            return [matrix[None] for matrix in self.sums]
        return [np.concatenate([matrix[None], both]) for matrix, both in zip(self.sums, self.squares, strict=True)]

    def _apart(self, blocks: list[Floats]) -> dict[str, Any]:
        """Blocks as they are kept."""
        squares = None if self.squares is None else tuple(block[1:] for block in blocks)
        return {"sums": tuple(block[0] for block in blocks), "squares": squares}

    def _difference(self, record: ReleaseRecord, belief: Belief) -> str | None:
        """How a release was read in another way than the first: positions can then not be compared."""
        before, now = self.reading, record.reading
        if not self.count:
            return None
        if before == now:
            return None if now is None or now.steady else "files by a pattern, without times"
        if before is not None and now is not None:
            other = before.other_values(now)
            if other is not None:
                raise NotCoveredError(
                    "the data must be read as for the first release",
                    got=other,
                    why="the belief does not say how these values depend on those released before",
                    fix=f"Read them as before ({before}); use a separate ledger only for data about other people",
                )
            return before.difference(now)
        if belief.variables is not None:
            return None  # variables have names, however they were read
        return "not every release says how its data were read"

    def _adding_quilts(self, record: ReleaseRecord, quilts: float | str, placed: bool) -> dict[str, Any]:
        """Σ ε as C Theorem 3.7 has it, while all releases are by quilts and about the same values."""
        if self.apart is not None:
            return {}
        if isinstance(quilts, float) and not placed:
            quilts = "is not at known positions"
        if isinstance(quilts, str):
            return {"apart": f"release {self.count + 1} {quilts}"}
        about = self.touched(record)
        if self.about not in (None, about):
            return {"apart": "the releases are about different segments"}
        return {"quilts": add_floats(self.quilts, quilts), "about": about}  # Statement 25

    def _along_time(self, record: ReleaseRecord, told: Floats, placed: bool, *, mixed: bool) -> dict[str, Any]:
        first, last = self.touched(record)
        endless = self.endless or not placed or last is None
        before = self._together
        if mixed:  # neighbours in one order are none in another: they share nothing (Statement 19)
            told, before = _unlinked(told), [_unlinked(block) for block in before]
        if endless or last is None:
            firsts: tuple[int, ...] = (1,)  # Statement 19
            blocks = [add_up(np.max(before, axis=0), told)]
        else:
            firsts, blocks = self._on(first, last, told)
        values = record.length if not record.placed else None if last is None else last - first + 1
        mass = None
        if self.mass is not None and values is not None and not mixed:
            mass = add_floats(self.mass, round_up(values * float(told[0].max())))
        return self._apart(blocks) | {
            "firsts": firsts,
            "endless": endless,
            "length": max(self.length, last) if placed and last is not None else self.length,
            "started": self.started and record.started and not mixed,
            "mass": mass,
        }

    def _on(self, first: int, last: int, told: Floats) -> tuple[tuple[int, ...], list[Floats]]:
        """The sums with something added on a segment; only the blocks that it touches are looked at."""
        firsts, blocks = list(self.firsts), self._together
        for begun in (first, last + 1):
            at = bisect_left(firsts, begun)
            if at == len(firsts) or firsts[at] != begun:
                firsts.insert(at, begun)
                blocks.insert(at, blocks[at - 1])
        low, high = bisect_left(firsts, first), bisect_left(firsts, last + 1)
        blocks[low:high] = [add_up(block, told) for block in blocks[low:high]]
        for at in (high, low):  # blocks that have become alike are joined
            if 0 < at < len(blocks) and np.array_equal(blocks[at], blocks[at - 1]):
                del firsts[at], blocks[at]
        return tuple(firsts), blocks

    def touched(self, record: ReleaseRecord) -> tuple[int, int | None]:
        """The first and the last position that a release is about; None if that is not known."""
        return record.touched(None if self.grows or not self.length else self.length)

    @property
    def telling(self) -> bool:
        """Whether anything was told of which the profile is known."""
        return any(matrix.any() for matrix in self._together)

    @cached_property
    def profile(self) -> Profile:
        """The sum along time."""
        if self.endless:
            return Profile((Stretch(1, None, self.sums[0]),))
        lasts = [*(begun - 1 for begun in self.firsts[1:]), self.length]
        blocks = zip(self.firsts, lasts, self.sums, strict=True)
        return Profile(tuple(Stretch(begun, last, matrix) for begun, last, matrix in blocks if begun <= last))

    def stretched(self, factor: float) -> "Total":
        """Somewhat more of everything: what holds for it holds for all sums up to it."""
        sums = tuple(matrix * factor for matrix in self.sums)
        squares = None if self.squares is None else tuple(both * factor for both in self.squares)
        mass = None if self.mass is None else self.mass * factor
        return replace(
            self, sums=sums, squares=squares, mass=mass, quilts=self.quilts * factor, grid=self.grid * factor
        )

    def as_profile(self, sums: tuple[Floats, ...]) -> "Total":
        """The same with other sums: a profile that stands for all releases, whatever they were."""
        return replace(
            self,
            sums=sums,
            squares=None,
            unknown=None,
            unsquared=None,
            records=None,
            mass=None,
            apart="they are taken together",
        )

    def within(self, other: "Total") -> bool:
        """Whether this is no more than another total, everywhere, so that its ε holds here too."""
        names = ("endless", "started", "length", "grows", "mixed", "unknown", "unsquared")
        if any(getattr(self, name) != getattr(other, name) for name in names):
            return False
        if self.grid > other.grid:
            return False
        if other.records is not None and self.records != other.records:
            return False  # its ε may rest on a theorem about those
        if other.apart is None and (self.apart is not None or self.quilts > other.quilts or self.about != other.about):
            return False
        if other.mass is not None and (self.mass is None or self.mass > other.mass):
            return False
        if (self.squares is None) != (other.squares is None):
            return False
        if self.firsts == other.firsts:
            return all(bool((a <= b).all()) for a, b in zip(self._together, other._together, strict=True))
        firsts = sorted({*self.firsts, *other.firsts})
        ours, theirs = (
            [k._together[n] for n in (np.searchsorted(k.firsts, firsts, side="right") - 1).tolist()]
            for k in (self, other)
        )
        return all(bool((a <= b).all()) for a, b in zip(ours, theirs, strict=True))

    def to_bytes(self) -> bytes:
        """For a ledger."""
        return self._bytes

    @cached_property
    def _bytes(self) -> bytes:
        return _ENCODER.encode(self._head | self._reasons).encode() + b"\n" + self._numbers

    @property
    def _numbers(self) -> bytes:
        return b"".join(matrix.astype("<f8").tobytes() for matrix in (*self.sums, *(self.squares or ())))

    @property
    def _reasons(self) -> dict[str, str | None]:
        reasons = {"mixed": self.mixed, "unknown": self.unknown, "apart": self.apart}
        return reasons if self.squares is None else reasons | {"unsquared": self.unsquared}

    @property
    def _head(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "length": self.length,
            "firsts": list(self.firsts),
            "shapes": [len(matrix) for matrix in self.sums],
            "grows": self.grows,
            "endless": self.endless,
            "started": self.started,
            "records": None if self.records is None else [record.text for record in self.records],
            "reading": None if self.reading is None else self.reading.to_dict(),
            "mass": None if self.mass is None else self.mass.hex(),
            "quilts": self.quilts.hex(),
            "about": self.about,
        } | (({"grid": self.grid.hex()} if self.grid else {}) | ({} if self.squares is None else {"squares": True}))

    @classmethod
    def from_bytes(cls, content: bytes) -> "Total":
        """As a ledger has it."""
        try:
            line, numbers = content.split(b"\n", 1)
            head: dict[str, Any] = json.loads(line)
            flat = np.frombuffer(numbers, dtype="<f8").astype(np.float64)
            shapes, squared = head.pop("shapes"), bool(head.pop("squares", False))
            sizes = [k * k for k in shapes] + [2 * k * k for k in shapes if squared]
            if len(flat) != sum(sizes):
                raise ValueError
            parts = np.split(flat, np.cumsum(sizes)[:-1])
            records = head["records"]
            read = {
                "firsts": tuple(head["firsts"]),
                "sums": tuple(part.reshape(k, k) for part, k in zip(parts[: len(shapes)], shapes, strict=True)),
                "squares": tuple(part.reshape(2, k, k) for part, k in zip(parts[len(shapes) :], shapes, strict=True))
                if squared
                else None,
                "records": None if records is None else tuple(ReleaseRecord.from_dict(json.loads(r)) for r in records),
                "reading": None if head["reading"] is None else Reading.from_dict(head["reading"]),
                "mass": None if head["mass"] is None else float.fromhex(head["mass"]),
                "quilts": float.fromhex(head["quilts"]),
                "grid": float.fromhex(head.get("grid", "0x0p+0")),
                "about": None if head["about"] is None else (head["about"][0], head["about"][1]),
            }
            return cls(**(head | read))
        except (ValueError, KeyError, TypeError, InputError) as problem:
            raise InputError("the kept sum of a ledger cannot be read", why="it was changed") from problem

    @cached_property
    def digest(self) -> str:
        """A hash of the total: over what it says, not over the words in which it gives reasons."""
        reasons = {name: reason is not None for name, reason in self._reasons.items()}
        return hashlib.sha256(_ENCODER.encode(self._head | reasons).encode() + b"\n" + self._numbers).hexdigest()


def _unlinked(told: Floats) -> Floats:
    """What a release tells where neighbours share nothing."""
    return np.stack([unlinked(told[0]), *map(apart_from_neighbours, told[1:])])


def apart_from_neighbours(squares: Floats) -> Floats:
    """Squares where neighbours share nothing: by their roots."""
    return np.asarray(unlinked(np.sqrt(squares)) ** 2 * (1 + 2.0**-50))
