"""What is audited, and what an audit says."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from quiltwork.beliefs import Belief
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.question import Asked, Question, Said, as_said, bind
from quiltwork.types import Noise, Shown

DATA = (
    "Part of this δ may come from the randomness of the data itself, which holds only if the belief is exactly true. "
    "Calibration never relies on it."
)


@dataclass(frozen=True)
class Noisy:
    """A query released with noise of this scale on each of its numbers, on a segment (None: all values).

    Of a share or a mean it is the noise on what people read, after it was divided; of the questions of a workload that
    on the counts and sums before. Independent Laplace noise unless said otherwise; "laplace-total" is Laplace noise
    that keeps the totals that are public, as a release draws it. The scale of Gaussian noise is its standard deviation.

    >>> from quiltwork import Histogram
    >>> Noisy(Histogram(), 10.0, segment=(1, 96)).noise_scale
    10.0
    """

    query: Said | Asked | str
    """What was asked: a query or its text, or what is already bound to the belief."""
    noise_scale: float
    segment: tuple[int, int] | None = None
    noise: Noise = "laplace"

    @property
    def text(self) -> str:
        """What was asked, as written on the command line."""
        return self.query if isinstance(self.query, str) else self.query.text

    def __post_init__(self) -> None:
        if not isinstance(self.query, Asked):
            object.__setattr__(self, "query", as_said(self.query))
        if not (math.isfinite(self.noise_scale) and self.noise_scale > 0):
            raise ParameterError(
                "the noise scale must be positive and finite",
                got=str(self.noise_scale),
                why="without noise a release may reveal everything",
            )
        if self.noise not in ("laplace", "laplace-total", "gaussian"):
            raise ParameterError("noise must be laplace, laplace-total or gaussian", got=repr(self.noise)[:40])


class NoisyQuestion(NamedTuple):
    """One question as a belief's data are asked it, with the noise on each of its numbers."""

    question: Question
    noise_scale: float
    segment: tuple[int, int] | None = None
    noise: Noise = "laplace"

    @property
    def again(self) -> Noisy:
        """The same as a release of this question alone."""
        return Noisy(Asked.single(self.question), self.noise_scale, self.segment, self.noise)


def each_question(releases: Sequence[Noisy], belief: Belief) -> list[NoisyQuestion]:
    """What releases ask of a belief's data, question by question: the noise of several is independent.

    >>> from quiltwork import Count, Histogram, MarkovChain, Workload
    >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    >>> both = Noisy(Workload([Histogram(), Count("1")], ratios=[1, "1/2"]), 10.0)
    >>> [one.noise_scale for one in each_question([both], coin)]
    [10.0, 5.0]
    """
    found = []
    for release in releases:
        asked = bind(release.query, belief)
        if not asked.several:
            found.append(NoisyQuestion(asked.only, release.noise_scale, release.segment, release.noise))
            continue
        scales = [_float_below(one.ratio * Fraction(release.noise_scale)) for one in asked.drawn]
        found += [
            NoisyQuestion(one.question.undivided, scale, release.segment, release.noise)
            for one, scale in zip(asked.drawn, scales, strict=True)
        ]
    return found


class Recorded(Protocol):
    """A release, or its record."""

    def record(self) -> Any:
        """Its record."""


class Seen(NamedTuple):
    """Releases that are seen together, and what their records say of the series that they are about."""

    releases: tuple[Noisy, ...]
    lengths: tuple[int, ...] = ()
    """All lengths of the series; none where no record says them."""
    started: bool = True
    """Whether positions count from the start that the belief is about."""

    def to(self, length: int | None) -> list[Noisy]:
        """What they ask of a series of this length."""
        if not self.lengths or length is None:
            return list(self.releases)
        spans = [one.segment or (1, length) for one in self.releases]
        return [
            replace(one, segment=None if (first, min(last, length)) == (1, length) else (first, min(last, length)))
            for one, (first, last) in zip(self.releases, spans, strict=True)
            if first <= length
        ]


def noisy_of(belief: Belief, given: "Noisy | Recorded | Sequence[Noisy | Recorded]") -> Seen:
    """Releases as an audit takes them: noisy queries, records, or releases that have one."""
    noisy: list[Noisy] = []
    lengths, started = set[int](), True
    for one in given if isinstance(given, Sequence) else [given]:
        if isinstance(one, Noisy):
            noisy.append(one)
        elif hasattr(one, "record"):
            record = one.record()
            noisy.append(record.audited(belief))
            started = started and (record.started or belief.variables is not None)
            lengths |= set(record.lengths) | ({record.length} - {None} if belief.variables is None else set())
        else:
            raise ParameterError("an audit is about a Release, its record or a Noisy", got=type(one).__name__)
    return Seen(tuple(noisy), tuple(sorted(lengths)), started)


def check_pure(releases: Sequence[Noisy]) -> None:
    """Refuse Gaussian noise, whose loss is infinite."""
    if any(release.noise == "gaussian" for release in releases):
        raise NotCoveredError(
            "an exact loss needs Laplace noise",
            got="Gaussian noise",
            why="its loss is infinite, since far outputs tell two values apart by any factor",
            fix="Give audit a delta, such as 1e-6",
        )


@dataclass(frozen=True)
class DeltaAt:
    """The exact δ at an ε: no less than it, and no more."""

    epsilon: float
    at_most: float
    at_least: float


def _float_below(number: Fraction) -> float:
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, 0.0)


@dataclass(frozen=True)
class Audit(Shown):
    """The exact loss of releases under a belief, and where it is attained.

    ``epsilon`` is rounded up by a bound on the arithmetic's error. ``node`` is a time (or a variable's name), ``pair``
    the more and the less likely state at ``output``; ``by_node`` has the loss at every node. ``skipped`` counts secrets
    of probability zero, which need no protection.

    >>> from quiltwork import Count, MarkovChain, audit
    >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial="stationary")
    >>> [round(loss, 6) for loss in audit(coin, [Noisy(Count("1"), 2.0)], length=3).by_node]
    [0.5, 0.5, 0.5]
    """

    epsilon: float
    node: int | str | None
    pair: tuple[str, str] | None
    output: tuple[float, ...] | None
    by_node: tuple[float, ...]
    skipped: int
    member: int | None = None
    start: tuple[tuple[str, float], ...] | None = None
    """Under any start: the worst law of the first value, states and their probabilities; or the worst mixture."""
    delta: float | None = None
    """The δ at which ``epsilon`` is the smallest; None for the exact loss, which is at δ = 0."""
    noise: str | None = field(default=None, repr=False)
    """With a δ: the kinds of noise."""
    epsilon_at_least: float | None = field(default=None, repr=False)
    """With a δ: the smallest ε is no less than this, and no more than ``epsilon``."""
    curve: tuple[DeltaAt, ...] = field(default=(), repr=False)
    """With a δ: the largest δ over all secrets, at some ε."""

    def lines(self) -> list[str]:
        """The audit in words."""
        lines = [f"Exact loss: ε = {self.epsilon:.7g}"] if self.delta is None else self._at_delta()
        if self.pair is not None and self.delta is not None:
            lines.append(f"Attained at {self._where} between {self.pair[0]} and {self.pair[1]}{self._whose}.")
        elif self.pair is not None and self.output is None:
            lines.append(f"Attained at time {self.node} between {self.pair[0]} and {self.pair[1]}, at large outputs.")
        elif self.pair is None or self.output is None:
            lines.append("No time has two possible values: there is no secret to protect.")
        else:
            shown = ", ".join(f"{w:g}" for w in self.output)
            lines.append(
                f"Attained at {self._where} between {self.pair[0]} (more likely) and {self.pair[1]} (less likely), "
                f"at output {shown}{self._whose}."
            )
        if self.start is not None:
            worst = " and ".join(f"{state} with probability {p:.4g}" for state, p in self.start)
            kind = "mixture" if all(state.startswith("law ") for state, _ in self.start) else "start"
            lines.append(f"No {kind} is worse than {worst}.")
        if self.skipped:
            lines.append(f"{self.skipped} secrets have probability zero under the belief and were skipped.")
        return lines

    @property
    def _where(self) -> str:
        return f"time {self.node}" if isinstance(self.node, int) else f"variable {self.node}"

    @property
    def _whose(self) -> str:
        return "" if self.member is None else f", under member {self.member} of the set"

    def _at_delta(self) -> list[str]:
        """What an audit with a δ says before it says where."""
        curve = ", ".join(f"{at.at_most:.3g} at ε = {at.epsilon:g}" for at in self.curve)
        return [
            f"Smallest ε at δ = {self.delta:g}, {self.noise} noise: ε = {self.epsilon:.7g}",
            f"It is no less than {self.epsilon_at_least:.7g}. δ is at most {curve}.",
            DATA,
        ]

    def to_dict(self) -> dict[str, Any]:
        """The audit as plain values, as ``quiltwork audit --json`` prints it."""
        output: Any = None if self.output is None else list(self.output)
        if output is not None and len(output) == 1:
            output = output[0]
        contents = {
            "epsilon": self.epsilon,
            "node": self.node,
            "pair": None if self.pair is None else list(self.pair),
            "output": output,
            "skipped": self.skipped,
        }
        if self.delta is not None:
            contents |= {
                "delta": self.delta,
                "noise": self.noise,
                "epsilon_at_least": self.epsilon_at_least,
                "curve": [{"epsilon": a.epsilon, "delta": a.at_most, "delta_at_least": a.at_least} for a in self.curve],
                "about_delta": DATA,
            }
        contents |= {} if self.start is None else {"start": dict(self.start)}
        return contents if self.member is None else contents | {"member": self.member}
