"""What would make an answer precise enough: which ε, how many values, which windows. Looks at no data."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.question import Limits, Question
from quiltwork.types import Duration, show_module

USEFUL = 0.1
"""The share of what an answer can be that its ± must not exceed to be of use."""
PURE_NOISE = 0.5
"""The share of what an answer can range over from which on its ± leaves nothing to learn."""
MOST_EPSILON = 30.0
TRIES = 16
CLOSE, ROUGH, FURTHER = (
    1.01,
    1.15,
    1.5,
)  # times the smallest ε: as asked, a hint, and a step where none will do yet
LARGE, LARGEST_STEP = 5.0, 8.0


@dataclass(frozen=True)
class Target:
    """How far off a number may be with probability 95 %: in its own unit, or as a share of what it can be.

    >>> Target.parse("5%").within(Limits((0.0,), (400.0,)))
    20.0
    """

    size: float
    relative: bool

    @classmethod
    def parse(cls, text: str | float) -> "Target":
        """``5%`` of what the answer can be, or a number in its own unit."""
        written = str(text).strip()
        try:
            size = float(written.removesuffix("%"))
        except ValueError:
            size = math.nan
        relative = written.endswith("%")
        size = size / 100 if relative else size
        if not (math.isfinite(size) and size > 0):
            raise ParameterError(
                "the target error must be a positive number, or a percentage",
                got=repr(text)[:40],
                why="it is how far off a number may be with probability 95 %",
                fix="For example 5% of what the answer can be, or 0.02 in its own unit",
            )
        return cls(size, relative)

    def within(self, limits: Limits | None) -> float:
        """In the unit of the answer."""
        if not self.relative:
            return self.size
        if limits is None:
            raise ParameterError(
                "a percentage needs an answer with known limits",
                got="one that may be any number",
                fix="Give the error in the unit of the answer: 0.02",
            )
        return self.size * limits.width


@dataclass(frozen=True)
class Remedy:
    """What brings the ± of a number down to ``error``; None where it is not known, or nothing would."""

    error: float
    epsilon: float | None
    """With as many values as there are."""
    values: int | None
    """That each answer must be about, with the ε that there is."""
    people: int | None = None
    """How many series of the same length that is."""
    window: str | None = None
    """How long windows must be, with as many people as there are."""
    question: str | None = None
    """A coarser question that needs less noise: the code of what is said of it."""
    mechanism: str | None = None
    """The mechanism that it was computed for."""
    whole: bool = False
    """Whether one answer about all windows together is precise enough."""
    share: float | None = None
    """Which share of what the answer can range over that is, where it is meant as one."""
    typical: float | None = None
    """Which share of what is typical that is, where it is meant as one; then ``epsilon`` is not exact."""

    def words(self) -> str:
        """In one sentence."""
        said: str = show_module("of_plan").remedied(self)
        return said

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "error_95": self.error,
            "epsilon": self.epsilon,
            "values": self.values,
            "people": self.people,
            "window": self.window,
        } | ({} if self.mechanism is None else {"mechanism": self.mechanism})


def remedy(  # noqa: PLR0913 - it takes all that an answer's precision depends on
    question: Question,
    *,
    error: float,
    wanted: float,
    relative: bool,
    epsilon: float,
    error_at: Callable[[float], float] | None,
    values: int | None,
    people: int = 1,
    length: int | None = None,
    step: Duration | None = None,
    mechanism: str | None = None,
    close: float = ROUGH,
    parts: int = 1,
    numbers: int = 3,
    share: float | None = None,
) -> Remedy:
    """What would bring the ± of a number from ``error`` down to ``wanted``.

    ``relative`` says that the wanted error grows with what the answer can be, as that of a share of a count does;
    ``close`` how many times the smallest ε will do: a hint is not worth many calibrations; ``parts`` how many answers
    of this size there are, which could be one. ``share`` is the wanted error as a share of what the answer can be.
    """
    spread = relative or question.divide != "nothing"  # then more values make it smaller
    enough = math.ceil(values * error / wanted * (1 - 1e-12)) if values is not None and spread else None
    window = None
    if enough is not None and step is not None:
        each = -(-enough // max(1, people))
        window = f"{each:,} values" if step.steps else _about(step, each)
    return Remedy(
        error=wanted,
        epsilon=None
        if error_at is None
        else epsilon_for(error_at, wanted, first=epsilon * error / wanted, close=close),
        values=enough,
        people=-(-enough // length) if enough is not None and length else None,
        window=window,
        question=coarser(question) if numbers > 2 else None,  # of two numbers that keep their total, one is as noisy
        mechanism=mechanism,
        share=share,
        whole=parts > 1 and spread and error <= wanted * parts,
    )


def noise_only(
    question: Question, error: float, limits: Limits | None, reach: float, better: Remedy, *, where: str
) -> str:
    """That an answer would be noise only, and what would change that."""
    said: str = show_module("of_plan").would_be_noise(question.text, error, limits, reach, better, where=where)
    return said


def epsilon_for(
    error_at: Callable[[float], float], wanted: float, *, first: float, close: float = CLOSE
) -> float | None:
    """About the smallest ε whose error is not above the wanted one, rounded up to three digits; None if there is none.

    >>> epsilon_for(lambda epsilon: 3 / epsilon, 0.1, first=20.0)
    30.0
    """
    low, high = 0.0, math.inf
    trial = _up(min(max(first, 1e-6), MOST_EPSILON))
    for _ in range(TRIES):
        try:
            error = error_at(trial)
        except (NotCoveredError, ParameterError):
            break
        if error > wanted:
            low = trial
            if trial >= MOST_EPSILON:
                break
        else:
            high = trial
            if error * close >= wanted:
                break
        if high <= close * low:
            break
        guess = trial * error / wanted  # noise falls about as ε rises
        if not math.isfinite(high):
            guess = max(guess, FURTHER * low)
        else:
            guess = math.sqrt(low * high) if low > 0 else max(guess, high / LARGEST_STEP)
        trial = _up(min(guess, MOST_EPSILON))
    return high if math.isfinite(high) else None


def short(number: float) -> str:
    """Three digits, and no powers of ten.

    >>> short(0.01234), short(3226.4)
    ('0.0123', '3,226')
    """
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _up(epsilon: float) -> float:
    """Rounded up to three digits."""
    digits = 2 - math.floor(math.log10(epsilon))
    return float(f"{math.ceil(round(epsilon * 10.0**digits, 6)) / 10.0**digits:.6g}")


def _about(step: Duration, steps: int) -> str:
    """So many steps in the largest unit that they fill."""
    seconds = float(step.length) / 1e6 * steps
    for name, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"about {math.ceil(seconds / size):,} {name}"
    return f"about {math.ceil(seconds):,} seconds"


def coarser(question: Question) -> str | None:
    """A question that needs less noise: the code of what is said of it."""
    if question.query.kind == "transitions":
        return "coarser-transitions"
    if question.query.kind in ("histogram", "frequencies"):
        return "coarser-shares"
    return None
