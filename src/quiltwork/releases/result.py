"""A noisy value with its accuracy and the reason for its noise."""

from dataclasses import dataclass
from typing import Any

from quiltwork.accounting.record import ReleaseRecord
from quiltwork.beliefs import Belief
from quiltwork.calibration.accuracy import noise_error
from quiltwork.calibration.record import Calibration


@dataclass(frozen=True)
class PartAnswer:
    """The answer about one window or one subject."""

    name: str
    value: Any
    values: int
    noise_scale: float
    step: float


@dataclass(frozen=True)
class Release:
    """What may be published: the noisy value, how far off the noise may be, and why.

    ``value`` is a number, or numbers by state; ``numbers`` the same numbers in a row, named by ``labels``. Of windows
    or subjects it is a value for each of them, by name. ``noise_scale`` is the scale of the noise on each number; where
    they are divided by different numbers of values, the largest.

    >>> from quiltwork import MarkovChain, release
    >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    >>> result = release(["0", "1"] * 50, "count:1", belief=coin, epsilon=1.0)
    >>> result.error(0.95), result.subjects, result.values
    (3.0, 1, 100)
    """

    value: Any
    numbers: tuple[float, ...]
    labels: tuple[str, ...]
    noise_scale: float
    step: float
    integer: bool
    divisor: int
    subjects: int
    values: int
    belief: Belief
    calibration: Calibration
    recorded: ReleaseRecord
    ledger: dict[str, Any] | None = None
    """Where its spending was recorded, and what is left."""
    parts: tuple[PartAnswer, ...] = ()
    """The answers about windows or subjects, if those were asked for."""
    draws: int | None = None
    """How many of its numbers have noise of their own; None for all of them. Others follow from those."""
    notes: tuple[str, ...] = ()
    """What else to know about the data."""

    def error(self, confidence: float = 0.95, *, simultaneous: bool = False) -> float:
        """How far the noise may have moved a number, up or down, with this probability.

        With ``simultaneous`` it holds for all numbers of the answer at once. It is about the noise only: it says
        nothing about how well the data stands for a larger population, so it is not a confidence interval.
        """
        return noise_error(
            self.noise_scale,
            confidence,
            unit=self.step,
            integer=self.integer,
            numbers=(self.draws or len(self.numbers)) if simultaneous else 1,
        )

    def explain(self) -> str:
        """Accuracy and the reason for the noise, in words."""
        lines = [f"Each number is within ±{self.error():.6g} of the truth with probability 95 % (noise only)."]
        if (self.draws or len(self.numbers)) > 1:
            everyone = self.error(simultaneous=True)
            lines = [f"{lines[0][:-1]}; all {len(self.numbers)} at once within ±{everyone:.6g}."]
        if self.divisor > 1:
            by = (
                f"the {self.divisor:,} values"
                if not self.parts
                else f"the values of each part ({self.divisor:,} or more)"
            )
            smallest = min((part.values for part in self.parts), default=self.values)
            if self.belief.real and self.divisor != smallest:
                by = f"{self.divisor:,}" + (" or more" if self.parts else "")
            lines.append(
                f"The numbers are counts or sums with noise, divided by {by}; so is their noise, to a scale of "
                f"{'at most ' if self.parts else ''}{self.noise_scale:.6g}."
            )
        return "\n".join([*lines, self.calibration.explain(self.belief), *self.notes])

    def table(self) -> list[dict[str, Any]]:
        """The answers about windows or subjects, a row each with a column for each number."""
        count = len(self.numbers) // max(1, len(self.parts))
        rows = []
        for n, part in enumerate(self.parts):
            own = self.numbers[n * count : (n + 1) * count]
            names = [label.removeprefix(f"{part.name} ") for label in self.labels[n * count : (n + 1) * count]]
            names = [self.calibration.query.text] if count == 1 else names
            rows.append({"": part.name} | dict(zip(names, own, strict=True)) | {"values": part.values})
        return rows

    def record(self) -> ReleaseRecord:
        """What to write down about it for ``quiltwork compose`` and :class:`Accountant`: no data in it.

        >>> from quiltwork import MarkovChain, release
        >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
        >>> release(["0", "1"] * 50, "count:1", belief=coin, epsilon=1.0).record().length
        100
        """
        return self.recorded

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values, as ``quiltwork release --json`` prints it."""
        return {
            "value": self.value,
            "noise_scale": self.noise_scale,
            "error_95": self.error(),
            "error_95_all": self.error(simultaneous=True),
            "lipschitz": self.calibration.lipschitz / self.divisor,
            "record": self.record().to_dict(),
            "epsilon": self.calibration.epsilon,
            "mechanism": self.calibration.mechanism,
            "guarantee": self.calibration.guarantee,
            "secrets": self.calibration.secrets.text,
            "meaning": self.calibration.meaning(self.belief),
            "query": self.calibration.query.text,
            "length": self.calibration.length,
            "subjects": self.subjects,
            "values": self.values,
            "belief": self.belief.fingerprint,
            "detail": self.calibration.detail(),
            "ledger": self.ledger,
            "notes": list(self.notes),
        } | ({"parts": [self._part(part) for part in self.parts]} if self.parts else {})

    def _part(self, part: PartAnswer) -> dict[str, Any]:
        return {
            "part": part.name,
            "value": part.value,
            "values": part.values,
            "noise_scale": part.noise_scale,
            "error_95": noise_error(part.noise_scale, 0.95, unit=part.step, integer=self.integer, numbers=1),
        }
