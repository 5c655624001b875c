"""The record of a release: all that composition needs to know about it afterwards, and no data.

``Release.record()``, ``release --json``, ``compose``, ``Accountant``, ``Session`` and the ledger all use this one.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import numpy as np

from quiltwork.auditor import Noisy, Recorded
from quiltwork.beliefs import Belief, Secrets
from quiltwork.beliefs.text import parse_json, read_text
from quiltwork.calibration.calibrate import BY_PROFILE, MECHANISMS
from quiltwork.data import Reading, Window
from quiltwork.errors import InputError, NotCoveredError, ParameterError
from quiltwork.numeric import round_up
from quiltwork.question import Asked, Query, Said, as_said, bind, said_in
from quiltwork.types import Floats, Guarantee, Noise, Segment, Start

OTHER = "other"  # a mechanism that is not ours: its owner vouches for its ε
Places = Literal["dependent", "independent", "late"]
CHOICES: Mapping[str, tuple[object, ...]] = {
    "guarantee": ("pufferfish", "bayesian"),
    "noise": ("laplace", "laplace-total", "gaussian"),
    "start": ("given", "stationary", "any", None),
    "gaps": ("dependent", "independent", "late", None),
}
FEW_LENGTHS = 16
FURTHEST = 10**15
LARGEST = 1e200  # of a profile: it guarantees nothing
SMALLEST = 1e-100  # of a profile: less is taken as that much, so that neither sums nor squares lose it
ROUNDED = 1e-12  # by which a Lipschitz constant may have been rounded down when it was written
ERROR = 2.0**-50  # more than the rounding of a profile's entries


@dataclass(frozen=True, kw_only=True)
class ReleaseRecord:
    """One release: what was asked, with how much noise, by which mechanism, and which values it is about.

    - ``query`` says how much one value can change the answer, by pair of states (and by variable of a record). Without
      it ``lipschitz`` does, for all pairs alike. With it ``lipschitz`` may be left out, but for shares and means, whose
      size depends on what they were divided by: there the ratio of ``lipschitz`` and ``noise_scale`` counts.
    - ``mechanism`` and ``epsilon``, with ``delta`` and ``guarantee``, are its own promise, by ``theorem``. "other" is a
      mechanism that is not ours; without a mechanism it is noise that promises nothing by itself.
    - ``noise`` is "laplace", independent on each number, "laplace-total", given that it keeps the totals that are
      public, or "gaussian", of which ``noise_scale`` is the standard deviation.
    - ``segment`` is the first and the last position, from 1 (None: the whole series), ``length`` the last position of
      the longest series, as far as it was released from. ``gaps`` says that values are not at the positions that they
      seem to be: there are gaps between them, or ("late") they begin later than the series; ``length`` is then the
      number of values that the noise covers.
    - ``lengths`` are the last positions of shorter series, if there are any ("many" if there are more than a few), and
      ``window`` says that there was an answer for each window: both matter to theorems about exact laws.
    - ``secrets`` are what its own promise is about; every two states of every value if left out.
    - ``start`` is the start of the series that the noise was calibrated for: "any" where a given one was forgotten.
    - ``distance`` is, of real values, the distance that was hidden: ``lipschitz`` is for a change of that size.
    - ``reading`` is how the data became positions. Positions of different readings cannot be compared.
    - ``labels`` is a hash of the states, in their order, and of the variables that were joined in them: a question such
      as ``stays:1+0`` means another thing where they are in another order.

    >>> record = ReleaseRecord(mechanism="curve", epsilon=1.0, noise_scale=3.34, query="count:walk", segment=(1, 96))
    >>> ReleaseRecord.from_dict(record.to_dict()) == record
    True
    """

    mechanism: str | None = None
    epsilon: float | None = None
    delta: float = 0.0
    noise_scale: float | None = None
    noise: Noise = "laplace"
    lipschitz: float | None = None
    query: Said | str | None = None
    segment: Segment | None = None
    length: int | None = None
    lengths: tuple[int, ...] | Literal["many"] = ()
    window: str | int | None = None
    gaps: Places | None = None
    start: Start | None = None
    guarantee: Guarantee = "pufferfish"
    theorem: str | None = None
    reading: Reading | None = None
    distance: float | None = None
    secrets: Secrets = field(default_factory=Secrets.all)
    labels: str | None = None

    def __post_init__(self) -> None:
        if self.mechanism not in (None, OTHER, *MECHANISMS):
            raise ParameterError(
                "the mechanism of a release is not known",
                got=repr(self.mechanism)[:40],
                fix=f"Known: {', '.join(MECHANISMS)}; {OTHER} if its owner vouches for its epsilon; leave it out for "
                "any other Laplace noise",
            )
        for name in ("epsilon", "noise_scale", "lipschitz", "distance"):
            object.__setattr__(self, name, _positive(name, getattr(self, name)))
        if isinstance(self.delta, bool) or not isinstance(self.delta, int | float) or not 0 <= self.delta < 1:
            raise ParameterError("delta of a release must be from 0 to below 1", got=repr(self.delta)[:40])
        if self.query is not None:
            object.__setattr__(self, "query", as_said(self.query))
        object.__setattr__(self, "secrets", Secrets.of(self.secrets))
        if self.segment is not None:
            object.__setattr__(self, "segment", _segment(self.segment))
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                named = " or ".join(str(choice) for choice in known if choice is not None)
                raise ParameterError(f"the {name} of a release must be {named}", got=repr(getattr(self, name))[:40])
        for name, kind in (("theorem", str), ("reading", Reading), ("labels", str)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise ParameterError(f"{name} of a release must be a {kind.__name__}", got=type(value).__name__)
        self._check_places()

    def _check_places(self) -> None:
        """Length, lengths, window and segment, as far as they can be checked without the data."""
        if self.length is not None and (type(self.length) is not int or not 1 <= self.length <= FURTHEST):
            raise ParameterError(
                "length of a release must be a whole number from 1 to 10^15", got=repr(self.length)[:40]
            )
        object.__setattr__(self, "lengths", _lengths(self.lengths))
        if self.window is not None:
            Window.parse(self.window)
        if self.placed and self.segment is not None and self.length is not None and self.length < self.segment[0]:
            raise ParameterError(
                "the segment of a release must lie within its length", got=f"{self.segment[0]} in {self.length}"
            )

    @classmethod
    def from_dict(cls, contents: Mapping[str, Any]) -> "ReleaseRecord":
        """A release as a JSON object has it; ``query`` may be text or an object, None stands for what is not said."""
        known = {one.name for one in fields(cls)}
        unknown = sorted(set(contents) - known)
        if unknown:
            raise ParameterError(
                "a release has a key that is not known",
                got=repr(unknown[0])[:40],
                fix=f"Known: {', '.join(sorted(known))} (`release --json` prints them as `record`)",
            )
        given = {key: value for key, value in contents.items() if value is not None}
        if isinstance(given.get("query"), Mapping):
            given["query"] = said_in(given["query"])
        if "reading" in given and not isinstance(given["reading"], Reading):
            given["reading"] = Reading.from_dict(given["reading"])
        return cls(**given)

    def to_dict(self) -> dict[str, Any]:
        """Plain values that say all of it, as ``release --json`` prints them under ``record``."""
        return dict(self._plain)

    @cached_property
    def _plain(self) -> dict[str, Any]:
        return json.loads(self.text)  # type: ignore[no-any-return]

    @cached_property
    def text(self) -> str:
        """The record as JSON, in one form only."""
        contents = {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if getattr(self, one.name) not in (None, ()) and one.name not in ("query", "reading", "secrets")
        }
        if not self.secrets.everything:  # what is usual is left out
            contents["secrets"] = self.secrets.plain
        if self.noise == "laplace":
            del contents["noise"]
        if self.said is not None:
            contents["query"] = self.said.to_dict()
        if self.reading is not None:
            contents["reading"] = self.reading.to_dict()
        return json.dumps(contents, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @property
    def said(self) -> Said | None:
        """What was asked, as it was said, if that is known."""
        return None if isinstance(self.query, str) else self.query

    def asked(self, belief: Belief) -> Asked | None:
        """What was asked of data that a belief is about, if that is known."""
        return None if self.query is None else bind(self.query, belief, windows=self.window is not None)

    @property
    def by_name(self) -> bool:
        """Whether it asks variables by their names, so that the order of those in a step does not matter."""
        queries = (self.said,) if isinstance(self.said, Query) else () if self.said is None else self.said.queries
        return bool(queries) and all(isinstance(query.about, tuple) for query in queries)

    @property
    def about_numbers(self) -> bool:
        """Whether its question is one about real values."""
        return isinstance(self.said, Query) and self.said.entry.of_numbers is not None

    @property
    def placed(self) -> bool:
        """Whether its values are at the positions that it names."""
        return self.gaps is None

    @property
    def started(self) -> bool:
        """Whether its positions count from the start that the belief is about."""
        return self.placed and not (self.start == "any" and self.touched(None)[0] == 1)

    def touched(self, length: int | None) -> tuple[int, int | None]:
        """The first and the last position it is about, in series of this length."""
        first, last = self.segment or (1, None)
        ends = [end for end in (last, self.length) if end is not None]
        return first, min(ends) if ends else length

    def profile(self, belief: Belief) -> tuple[Floats, ...] | None:
        """λ(y, y'): of a record for each variable, else one matrix for all times; None if its facts do not say it.

        An answer that changes by c(y, y') under Laplace noise of scale s has λ = c / s.
        """
        known: dict[object, tuple[Floats, ...] | None] = self.__dict__.setdefault("_profiles", {})
        if belief.fingerprint not in known:
            known[belief.fingerprint] = self._profile(belief)
        return known[belief.fingerprint]

    def squares(self, belief: Belief) -> tuple[Floats, ...] | None:
        """μ²(y, y'), which adds up over releases: that of the profile, and of Gaussian noise (c / σ)² in L2 norm."""
        if self.noise != "gaussian":
            profile = self.profile(belief)
        elif self.mechanism not in (None, *BY_PROFILE):
            return None  # nobody but its owner vouches for its noise
        else:
            changes, factor = self._changes(belief), self._factor(belief)
            if belief.real or changes is None or factor is None or self.noise_scale is None:
                return None
            profile = _levels(changes, factor, self.noise_scale)
        if profile is None or belief.real or not all((matrix < LARGEST**0.5).all() for matrix in profile):
            return None
        return tuple(matrix**2 * (1 + ERROR) for matrix in profile)  # Statement 78

    def _profile(self, belief: Belief) -> tuple[Floats, ...] | None:
        if self.noise == "gaussian":
            return None  # no ε is enough for all of its outputs
        if self.mechanism == OTHER or (self.mechanism == "entry" and self.delta > 0):
            return None  # what its noise is like is not known, or it may tell anything with probability δ
        if belief.real and (self.mechanism == "entry" or not self.about_numbers):
            return None  # one value moves many others a little, and how much that tells is not known
        changes, factor = self._changes(belief), self._factor(belief)
        profile = None
        if changes is not None and factor == 0:
            profile = changes  # it tells nothing, whatever its noise
        elif changes is not None and factor is not None and self.noise_scale is not None:
            profile = _levels(changes, factor, self.noise_scale)
        if self.mechanism == "entry" and self.epsilon is not None:
            # an entry-level release has λ = ε; of two claims the larger counts
            alike = tuple(max(self.epsilon, SMALLEST) * changed for changed in belief.values_changed())
            profile = alike if profile is None else tuple(map(np.maximum, profile, alike))
        if profile is None or not all((matrix < LARGEST).all() for matrix in profile):
            return None
        return profile

    def _changes(self, belief: Belief) -> tuple[Floats, ...] | None:
        """How much a value can change the answer before it is divided, by pair; 1 for all where that is not known."""
        asked = self.asked(belief)
        if asked is None or (asked.lipschitz == 0 and self.lipschitz is not None):
            return None if self.lipschitz is None else belief.values_changed()
        return asked.table(2 if self.noise == "gaussian" else 1)

    def by_whole_records(self, belief: Belief) -> float:
        """ε against all changes of a record at once, where its query says how much a record can change it."""
        asked = self.asked(belief)
        factor = None if asked is None else self._factor(belief)
        if asked is None or factor is None or self.noise_scale is None or self.noise == "gaussian":
            return math.inf
        whole = asked.whole
        return max(whole * factor / self.noise_scale * (1 + ERROR), SMALLEST) if whole > 0 else 0.0

    def _constant(self, belief: Belief) -> float | None:
        """The Lipschitz constant; of real values, for a change of the belief's distance."""
        if self.lipschitz is None or belief.distance is None:
            return self.lipschitz
        return None if self.distance is None else round_up(self.lipschitz * belief.distance / self.distance)

    def _factor(self, belief: Belief) -> float | None:
        """By how much the changes are to be multiplied, so that the largest is the Lipschitz constant."""
        asked = self.asked(belief)
        largest, constant = 0.0 if asked is None else asked.lipschitz, self._constant(belief)
        if constant is None and self.lipschitz is not None:
            return None
        if constant is None:
            return None if asked is None or (asked.divided and largest) else float(largest > 0)
        if asked is None or not largest:
            return constant  # what is said to change more than it can is taken at its word
        if asked.divided:
            return constant / largest
        if constant < largest * (1 - ROUNDED):
            raise ParameterError(
                f"lipschitz of a release must be at least what its query says ({largest:g})",
                got=f"{constant:g}",
                why=f"one value can change {asked.text} by that much",
                fix="Leave lipschitz out, or correct it",
            )
        return max(1.0, constant / largest)  # a larger constant is taken at its word

    def why_no_profile(self, belief: Belief) -> str:
        """What it does not say, where its profile is not known."""
        if self.noise == "gaussian":
            return "has Gaussian noise, which promises an ε only together with a δ"
        if self.mechanism == OTHER:
            return "is by a mechanism that is not ours, so how much each value can change its result is not known"
        if self.mechanism == "entry" and self.delta > 0:
            return f"promises its epsilon only up to delta = {self.delta:g}"
        if belief.real and (self.mechanism == "entry" or not self.about_numbers):
            return (
                "does not say how it changes when many values change a little, as real values do together (a query "
                "about real values says it)"
            )
        if belief.real and self.lipschitz is not None and self.distance is None:
            return "does not say the distance that its lipschitz constant is about"
        asked = self.asked(belief)
        divided = asked is not None and asked.divided
        if self.noise_scale is not None and (self.lipschitz is not None or (asked is not None and not divided)):
            return "has too little noise to guarantee anything"
        return "does not say its noise_scale with its query or lipschitz constant" + (
            " (a share or a mean needs both)" if divided else ""
        )

    def noisy(self, belief: Belief) -> Noisy | None:
        """The release as the exact audit takes it: shares and means as the counts and sums that they are made of.

        None where its facts do not say it, and for answers by window, which are more than their sum.
        """
        return None if self.noise == "gaussian" else self._noisy(belief)  # which has no finite loss

    def _noisy(self, belief: Belief) -> Noisy | None:
        asked = self.asked(belief)
        factor = None if asked is None else self._factor(belief)
        if asked is None or self.noise_scale is None or not factor or self.window is not None:
            return None
        scale = self.noise_scale / factor * (1 - ERROR) if factor != 1 else self.noise_scale
        first, last = self.touched(None)
        times = None if last is None or belief.variables is not None else (first, last)
        return Noisy(asked.undivided, scale, times, self.noise)

    def audited(self, belief: Belief) -> Noisy:
        """The same with Gaussian noise too; refused where its facts do not say what an exact audit needs."""
        noisy = self._noisy(belief)
        vouched = self.mechanism in (OTHER, "entry")
        if noisy is None or vouched or not self.placed or self.lengths == "many":
            raise NotCoveredError(
                "an exact audit needs a release whose question, noise and positions are known",
                got="noise of a mechanism that is not ours"
                if vouched
                else "answers by window"
                if self.window is not None
                else "gaps, or times that are not evenly spaced"
                if not self.placed
                else "series of many lengths"
                if self.lengths == "many"
                else "a record that does not say them",
                fix="Use an Accountant, or audit a Noisy with a length of your choice",
            )
        return noisy

    def record(self) -> "ReleaseRecord":
        """Itself: where a release is expected, its record will do."""
        return self


def _levels(changes: tuple[Floats, ...], factor: float, noise_scale: float) -> tuple[Floats, ...]:
    """λ of changes under noise of a scale, rounded up."""
    with np.errstate(over="ignore", invalid="ignore"):
        levels = [np.maximum(matrix * (factor / noise_scale) * (1 + ERROR), SMALLEST) for matrix in changes]
    return tuple(np.where(matrix > 0, level, 0.0) for matrix, level in zip(changes, levels, strict=True))


def record_of(release: Recorded) -> ReleaseRecord:
    """The record of a release; a record is its own."""
    record = release.record() if hasattr(release, "record") else release
    if isinstance(record, ReleaseRecord):
        return record
    raise ParameterError(
        "a release must be a Release or a ReleaseRecord",
        got=type(release).__name__,
        fix="ReleaseRecord.from_dict(...) takes plain values",
    )


def load_releases(path: str | Path) -> list[ReleaseRecord]:
    """The releases that a JSON file lists."""
    path = Path(path)
    return releases_in(parse_json(read_text(path, "releases"), f"releases {path}"), f" {path}")


def releases_in(contents: object, where: str = "") -> list[ReleaseRecord]:
    """The releases of a list of objects, as ``release --json`` prints them under ``record``.

    >>> [record.epsilon for record in releases_in([{"mechanism": "other", "epsilon": 0.5}])]
    [0.5]
    """
    if not isinstance(contents, list):
        raise InputError(
            f"releases{where} must be a list of objects",
            got="one object" if isinstance(contents, dict) else "something else",
            fix="Put the `record` that `release --json` prints into a list: [...]",
        )
    if not contents:
        raise InputError(f"releases{where} must list a release", got="an empty list", why="nothing was released yet")
    records = []
    for n, entry in enumerate(contents, 1):
        if not isinstance(entry, dict):
            raise InputError(f"release {n}{f' in{where}' if where else ''} must be an object", got=type(entry).__name__)
        with numbered(n):
            records.append(ReleaseRecord.from_dict(entry))
    return records


@contextmanager
def numbered(n: int) -> Iterator[None]:
    """Says in an error which release it is about."""
    try:
        yield
    except InputError as problem:
        raise type(problem)(f"release {n}: {problem.what}", got=problem.got, why=problem.why, fix=problem.fix) from None


def _positive(name: str, value: object) -> float | None:
    if value is None:
        return None
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not (math.isfinite(number) and number > 0):
        raise ParameterError(
            f"{name} of a release must be a finite, positive number",
            got=repr(value)[:40],
            fix="Leave out what you do not know",
        )
    return number


def _lengths(given: object) -> tuple[int, ...] | Literal["many"]:
    if given == "many":
        return "many"
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ParameterError("lengths of a release must be a list of whole numbers, or many", got=repr(given)[:40])
    if not all(type(n) is int and 1 <= n <= FURTHEST for n in given):
        raise ParameterError("lengths of a release must be whole numbers, at least 1", got=repr(given)[:40])
    return tuple(sorted(set(given))) if len(set(given)) <= FEW_LENGTHS else "many"


def _segment(segment: Sequence[object]) -> Segment:
    pair = isinstance(segment, Sequence) and len(segment) == 2
    if not pair or not all(isinstance(n, int) and not isinstance(n, bool) for n in segment):
        raise ParameterError(
            "segment of a release must be [first, last]", got=repr(segment)[:40], fix="For example [1, 96]"
        )
    first, last = (int(n) for n in segment if isinstance(n, int))
    if not 1 <= first <= last <= FURTHEST:
        raise ParameterError(
            "segment of a release must start at 1 or later and not end before it starts",
            got=repr([first, last])[:40],
            why="it gives the first and the last time, both included",
        )
    return first, last
