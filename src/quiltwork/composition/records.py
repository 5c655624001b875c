"""What is known about a release afterwards: facts, no data."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from quiltwork.audit import Noisy
from quiltwork.beliefs import Belief, RecordBelief
from quiltwork.errors import InputError, ParameterError
from quiltwork.influence.contraction import Floats
from quiltwork.influence.curve import Promise
from quiltwork.influence.profile import Segment
from quiltwork.mechanisms import MECHANISMS, as_query
from quiltwork.queries import Query, lipschitz_under


@dataclass(frozen=True)
class ReleaseRecord:
    """One release: which mechanism, its ε, its noise and what it was about.

    ``lipschitz`` is the most that one value can change the answer (in L1 norm); ``query`` says more, by pair of states.
    ``segment`` is the first and the last time, from 1 (None: the whole series).

    >>> ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=3.34, lipschitz=1.0, segment=(1, 96)).segment
    (1, 96)
    """

    mechanism: str | None = None
    epsilon: float | None = None
    noise_scale: float | None = None
    lipschitz: float | None = None
    segment: Segment | None = None
    query: Query | str | None = None
    guarantee: Promise = "pufferfish"

    def __post_init__(self) -> None:
        if self.mechanism is not None and self.mechanism not in MECHANISMS:
            raise ParameterError(
                "the mechanism of a release is not known",
                got=repr(self.mechanism),
                fix=f"Known: {', '.join(MECHANISMS)}; leave it out for any other Laplace noise",
            )
        for name in ("epsilon", "noise_scale"):
            _check(name, getattr(self, name), positive=True)
        _check("lipschitz", self.lipschitz, positive=False)
        if self.query is not None:
            object.__setattr__(self, "query", as_query(self.query))
        if self.segment is not None:
            object.__setattr__(self, "segment", _segment(self.segment))
        if self.guarantee not in ("pufferfish", "bayesian"):
            raise ParameterError("the guarantee of a release must be pufferfish or bayesian", got=repr(self.guarantee))

    @classmethod
    def from_dict(cls, contents: Mapping[str, Any]) -> "ReleaseRecord":
        """A release as a JSON object has it."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(contents) - known)
        if unknown:
            raise ParameterError(
                "a release has a key that is not known",
                got=repr(unknown[0]),
                fix=f"Known: {', '.join(sorted(known))} (`release --json` prints them as `record`)",
            )
        return cls(**contents)

    def profile(self, belief: Belief) -> Floats | None:
        """λ(y, y') of this release; None if its facts do not say it."""
        k = len(belief.states)
        sensitivity = self._sensitivity(belief)
        if self.noise_scale is not None and sensitivity is not None:
            with np.errstate(over="ignore"):
                return np.asarray(sensitivity / self.noise_scale * (1 + 1e-15))
        if self.mechanism == "entry" and self.epsilon is not None:
            return np.asarray(self.epsilon * ~np.eye(k, dtype=bool))  # an entry-level DP release
        return None

    def profile_by_variable(self, belief: RecordBelief) -> tuple[Floats, ...] | None:
        """λ_j(y, y') of this release for each variable of a record; None if its facts do not say it."""
        sizes = [len(states) for states in belief.variables.values()]
        if self.mechanism == "entry" and self.noise_scale is None and self.epsilon is not None:
            return tuple(self.epsilon * (1.0 - np.eye(k)) for k in sizes)
        if self.noise_scale is None or (self.query is None and self.lipschitz is None):
            return None
        if self.query is None:
            found = tuple((self.lipschitz or 0.0) * (1.0 - np.eye(k)) for k in sizes)
        else:
            asked = as_query(self.query)
            by_variable = asked.by_variable(belief.variables)
            largest, declared = by_variable.lipschitz, self.lipschitz
            if asked.divisor(2) != 1 and (declared is None or largest == 0):
                return None  # a share or a mean: its size is that of the declared constant
            shrunk = asked.divisor(2) != 1 or (declared is not None and declared > largest)
            factor = declared / largest if shrunk and declared is not None and largest > 0 else 1.0
            found = tuple(own * factor for own in by_variable.sensitivity)
        with np.errstate(over="ignore"):
            return tuple(own / self.noise_scale * (1 + 2.0**-50) for own in found)

    def _sensitivity(self, belief: Belief) -> Floats | None:
        """By pair of states if the query is known, else the same for all pairs."""
        if self.query is None:
            return None if self.lipschitz is None else self.lipschitz * ~np.eye(len(belief.states), dtype=bool)
        asked = as_query(self.query)
        sensitivity = asked.sensitivity(belief.states)
        if asked.divisor(2) == 1:
            # a larger constant than the query's own is taken at its word
            return np.asarray(np.maximum(sensitivity, (self.lipschitz or 0.0) * (sensitivity == sensitivity.max())))
        # a share or a mean: its size is that of the declared constant
        largest = float(sensitivity.max())
        return None if self.lipschitz is None or largest == 0 else sensitivity / largest * self.lipschitz

    def noisy(self, belief: Belief) -> Noisy | None:
        """The release as the exact audit takes it: shares and means as the counts and sums that they are made of."""
        if self.query is None or self.noise_scale is None:
            return None
        asked = as_query(self.query)
        if asked.divisor(2) == 1:
            return Noisy(asked, self.noise_scale, self.segment)
        if not self.lipschitz:
            return None
        whole = asked.undivided()
        return Noisy(whole, self.noise_scale * lipschitz_under(whole, belief) / self.lipschitz, self.segment)

    def touched(self, length: int | None) -> tuple[int, int | None]:
        """The first and the last time it is about."""
        return (1, length) if self.segment is None else self.segment


def load_releases(path: str | Path) -> list[ReleaseRecord]:
    """The releases that a JSON file lists."""
    path = Path(path)
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise InputError(f"releases {path} cannot be read", why=problem.strerror or "the system refused") from problem
    except (ValueError, RecursionError) as problem:
        raise InputError(f"releases {path} must be JSON", why=f"line {getattr(problem, 'lineno', 1)} is not") from None
    if not isinstance(contents, list):
        raise InputError(f"releases {path} must be a list of objects", got=type(contents).__name__)
    if not contents:
        raise InputError(f"releases {path} must list a release", got="an empty list", why="nothing was released yet")
    found = []
    for n, one in enumerate(contents, 1):
        if not isinstance(one, dict):
            raise InputError(f"release {n} in {path} must be an object", got=type(one).__name__)
        with numbered(n):
            found.append(ReleaseRecord.from_dict(one))
    return found


@contextmanager
def numbered(n: int) -> Iterator[None]:
    """Says in an error which release it is about."""
    try:
        yield
    except InputError as problem:
        raise type(problem)(f"release {n}: {problem.what}", got=problem.got, why=problem.why, fix=problem.fix) from None


def _check(name: str, value: object, *, positive: bool) -> None:
    if value is None:
        return
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not (math.isfinite(number) and number >= 0) or (positive and number == 0):
        sign = "positive" if positive else "not negative"
        raise ParameterError(f"{name} of a release must be a finite number that is {sign}", got=repr(value)[:40])


def _segment(segment: Sequence[object]) -> Segment:
    whole = isinstance(segment, Sequence) and len(segment) == 2
    if not whole or not all(isinstance(n, int) and not isinstance(n, bool) for n in segment):
        raise ParameterError("segment of a release must be [first, last]", got=repr(segment)[:40], fix="[1, 96], say")
    first, last = (int(str(n)) for n in segment)
    if not 1 <= first <= last:
        raise ParameterError(
            "segment of a release must go forward from time 1 on",
            got=f"[{first}, {last}]",
            why="it is the first and the last time, both included",
        )
    return first, last
