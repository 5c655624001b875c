"""How several releases share one ε, or ε and δ: the noise of each, and which ε to ask for."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from quiltwork.calibration.accuracy import answer_error
from quiltwork.calibration.calibrate import BY_PROFILE
from quiltwork.calibration.record import Calibration
from quiltwork.calibration.request import Request
from quiltwork.errors import NotCoveredError
from quiltwork.influence.delta import noise_kappa
from quiltwork.numeric import round_up
from quiltwork.question import Question
from quiltwork.types import Noise

# how K releases within one ε are planned: profiles add, quilt releases add by Theorem 3.7, group privacy is DP
SHARED = {"curve": "influence-curve", "group": "group privacy adds", "entry": "differential privacy adds"}
SPLIT = {"quilt-exact": "sequential-quilt", "quilt-approx": "sequential-quilt"}
TRIES, CLOSE_NOISE = 8, 1.02  # to find the ε that each of several releases may ask for
Calibrating = Callable[[Request], Calibration]


@dataclass(frozen=True)
class QuestionNoise:
    """The noise of one question, where there are several: on each number as people read it."""

    query: str
    noise_scale: float
    error_95: float
    error_95_all: float
    follows: str | None = None
    """The question that it is computed from, if it is not asked itself."""

    def to_dict(self) -> dict[str, Any]:
        """The noise as plain values."""
        numbers = {key: getattr(self, key) for key in ("query", "noise_scale", "error_95", "error_95_all")}
        return numbers | ({} if self.follows is None else {"follows_from": self.follows})


@dataclass(frozen=True)
class Way:
    """One way to share ε and δ among releases, and from how many of them on it needs the least noise."""

    name: str
    noise: Noise
    noise_scale: float
    error_95: float
    least_from: int | None
    """The number of releases; None if another way is always better."""
    least_up_to: int | None = None
    """The number of releases from which on another way is better, less one; None if none is."""

    def to_dict(self) -> dict[str, Any]:
        """The way as plain values."""
        keys = ("name", "noise", "noise_scale", "error_95", "least_from", "least_up_to")
        return {key: getattr(self, key) for key in keys}


class Each(NamedTuple):
    """Noise for each of some releases: a multiple of a calibration, by the rule that adds the releases up."""

    calibration: Calibration
    rule: str | None
    times: float

    def errors(self, divisors: Sequence[int]) -> list[QuestionNoise]:
        """The noise of each question on the numbers that people read."""
        calibration = self.calibration
        each = zip(calibration.scales, calibration.asked.sources, divisors, strict=True)
        return [
            _noise(question, source, scale * self.times, divisor, calibration.noise)
            for (question, scale), source, divisor in each
        ]


def _noise(question: Question, source: Question, scale: float, divisor: int, noise: Noise) -> QuestionNoise:
    """The noise on a question's numbers, which are drawn for it or taken from those of another."""
    divided = round_up(scale / divisor)
    single, everyone = (
        answer_error(
            divided,
            0.95,
            numbers=len(question.labels),
            totals=tuple(map(len, source.totals)),
            simultaneous=simultaneous,
            unit=float(question.unit / divisor),
            integer=question.integer,
            noise=noise,
        )
        for simultaneous in (False, True)
    )
    return QuestionNoise(question.text, divided, single, everyone)


def for_each(name: str, request: Request, releases: int, divisors: Sequence[int], by: Calibrating) -> Each:
    """Noise for each release of one mechanism: Laplace noise by sums, or Gaussian noise by squares."""
    if not request.delta or request.noise == "laplace" or name not in BY_PROFILE:
        return _by_sums(name, request, releases, by)
    gaussian = _by_squares(request, releases, "gaussian", by)
    if request.noise == "gaussian":
        return gaussian
    sums = _by_sums(name, request, releases, by)
    return min(sums, gaussian, key=lambda each: each.errors(divisors)[0].error_95)


def _by_squares(request: Request, releases: int, noise: Noise, by: Calibrating) -> Each:
    """Noise of which releases add up by squares: √K times that of one."""
    if noise == "gaussian":
        one = by(replace(request, noise="gaussian"))
    else:
        pure = by(replace(request, noise="laplace", delta=0.0))
        one = replace(pure, noise_scale=round_up(noise_kappa(request.epsilon, request.delta) * pure.noise_scale))
    return Each(one, "squares", round_up(math.sqrt(releases)))  # Statement 78


def ways(request: Request, divisors: Sequence[int], releases: int, by: Calibrating) -> tuple[Way, ...]:
    """The ways to share ε and δ by the influence curve, and from how many releases on which is the best."""
    asked = replace(request, mechanism="curve")
    try:
        of_one = {
            "Laplace by sums": _by_sums("curve", asked, 1, by),
            "Laplace by squares": _by_squares(asked, 1, "laplace", by),
            "Gaussian by squares": _by_squares(asked, 1, "gaussian", by),
        }
    except NotCoveredError:
        return ()

    def error(name: str, count: int) -> QuestionNoise:
        growth = count if name == "Laplace by sums" else math.sqrt(count)
        each = of_one[name]
        return each._replace(times=growth).errors(divisors)[0]

    def least(count: int) -> str:
        return min(of_one, key=lambda name: error(name, count).error_95)

    counts = sorted({round(10 ** (n / 200)) for n in range(1801)})
    best = [least(count) for count in counts]
    spans = {name: [count for count, other in zip(counts, best, strict=True) if other == name] for name in of_one}

    def way(name: str) -> Way:
        found, span = error(name, releases), spans[name]
        later = next((count for count in counts if span and count > span[-1]), None)
        first, last = (span[0] if span else None), (None if later is None else later - 1)
        return Way(name, of_one[name].calibration.noise, found.noise_scale, found.error_95, first, last)

    return tuple(map(way, of_one))


def _by_sums(name: str, request: Request, releases: int, by: Calibrating) -> Each:
    """The calibration, the rule by which several releases add up, and how many times its noise each of them needs."""
    if releases > 1 and name not in SHARED | SPLIT:
        raise NotCoveredError(
            f"no theorem bounds the total loss of {releases} releases by {name}",
            why="Pufferfish guarantees do not add up in general",
            fix="Use curve (or quilt-exact on a network that is not a tree)",
        )
    together = dict(SHARED)
    if request.belief.variables is not None:
        together["quilt-exact"] = "same-quilts"  # one quilt at each variable for all releases
    scaled = name in together and not request.belief.real  # of real values each release pays for its own grid
    calibration = by(
        replace(
            request,
            epsilon=request.epsilon if scaled else request.epsilon / releases,
            delta=request.delta if name == "wasserstein" else 0.0,
            noise="laplace",
            guarantee="pufferfish" if name == "entry" else request.guarantee,
            quilt_size=request.quilt_size if name == "quilt-exact" else None,
        )
    )
    if releases == 1:
        return Each(calibration, None, 1)
    return Each(calibration, together.get(name) or SPLIT[name], releases if scaled else 1)


def epsilon_of_each(one: Calibration, growth: float, request: Request, by: Calibrating) -> float | None:
    """About the largest ε at which a single release has the noise of one, times a growth, or a little more."""
    delta = request.delta if one.noise == "gaussian" else 0.0
    asked = replace(request, mechanism=one.mechanism, noise="gaussian" if delta else "laplace", delta=delta)
    wanted, epsilon = one.noise_scale * growth, request.epsilon / growth
    for _ in range(TRIES):
        epsilon = _three_digits(epsilon)
        scale = by(replace(asked, epsilon=epsilon)).noise_scale
        if wanted <= scale <= wanted * CLOSE_NOISE:
            return epsilon
        epsilon *= scale / wanted  # noise is nearly proportional to 1 / ε
    return None


def _three_digits(epsilon: float) -> float:
    """Rounded down to three digits.

    >>> _three_digits(0.19859)
    0.198
    """
    digits = 2 - math.floor(math.log10(epsilon))
    return float(f"{math.floor(epsilon * 10.0**digits * (1 + 1e-12)) / 10.0**digits:.6g}")
