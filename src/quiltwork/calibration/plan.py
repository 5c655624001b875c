"""How much noise each mechanism would need: looks at no data, spends nothing."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from quiltwork.beliefs import Belief, Believed, Secrets, as_belief
from quiltwork.calibration.calibrate import (
    BY_PROFILE,
    MECHANISMS,
    calibrated,
    find_mechanism,
    remembering,
    takes_long,
)
from quiltwork.calibration.record import Calibration
from quiltwork.calibration.request import Request
from quiltwork.calibration.sharing import (
    Calibrating,
    QuestionNoise,
    Way,
    epsilon_of_each,
    for_each,
    ways,
)
from quiltwork.calibration.split import split
from quiltwork.calibration.target import CLOSE, PURE_NOISE, ROUGH, USEFUL, Remedy, Target, noise_only, remedy
from quiltwork.calibration.typical import Precision, about, expected_answer, verdict_of
from quiltwork.errors import InternalError, NotCoveredError, ParameterError, did_you_mean
from quiltwork.forks import working
from quiltwork.influence.delta import large_delta
from quiltwork.numeric import check_length, round_up
from quiltwork.question import Question, Questions
from quiltwork.types import Duration, Guarantee, NoiseChoice, Shown

if TYPE_CHECKING:
    import polars as pl

MOST_RELEASES = 10**9
ROUNDED = 1e-6  # by which the least noise may have been rounded up


@dataclass(frozen=True)
class Offer:
    """One mechanism's noise, or why it cannot be used."""

    mechanism: str
    seconds: float
    calibration: Calibration | None = None
    noise_scale: float | None = None
    error_95: float | None = None
    error_95_all: float | None = None
    rule: str | None = None
    refused: str | None = None
    skipped: bool = False
    """Whether it was not tried because it takes long."""
    questions: tuple[QuestionNoise, ...] = ()
    """The noise of each question, if there are several; ``noise_scale`` is that of the first one that is asked."""

    @property
    def guarantee(self) -> str | None:
        """What kind of adversaries its promise is about; None if it cannot be used."""
        return None if self.calibration is None else self.calibration.guarantee

    def to_dict(self) -> dict[str, Any]:
        """The offer as plain values, as ``quiltwork plan --json`` prints it."""
        if self.calibration is None:
            return {"mechanism": self.mechanism, "refused": self.refused}
        return {
            "mechanism": self.mechanism,
            "noise_scale": self.noise_scale,
            "guarantee": self.calibration.guarantee,
            "error_95": self.error_95,
            "error_95_all": self.error_95_all,
            "detail": self.calibration.detail(),
            "seconds": self.seconds,
        } | (
            ({"noise": "gaussian", "delta": self.calibration.delta} if self.calibration.noise == "gaussian" else {})
            | ({} if self.rule is None else {"rule": self.rule})
            | ({"questions": [question.to_dict() for question in self.questions]} if self.questions else {})
        )


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """What a query would cost under a belief, mechanism by mechanism.

    >>> from quiltwork import MarkovChain, plan
    >>> made = plan("histogram", belief=MarkovChain([[0.9, 0.1], [0.4, 0.6]]), epsilon=1.0, length="any")
    >>> made.best.mechanism
    'curve'
    """

    query: str
    epsilon: float
    length: int | None
    lipschitz: float
    offers: tuple[Offer, ...]
    releases: int = 1
    records: bool = False
    """Whether it is about records of named variables, not about series."""
    step: Duration | None = None
    """The time from a value to the next, if the belief says it."""
    secrets: Secrets = field(default_factory=Secrets.all)
    """What is kept apart."""
    remedy: Remedy | None = None
    """What makes answers as precise as was asked for."""
    warnings: tuple[str, ...] = ()
    """Which answers would be noise only, and what would change that; and a δ that is large."""
    delta: float = 0.0
    ways: tuple[Way, ...] = ()
    """Where a δ is allowed for: the ways in which releases by the influence curve may share it."""
    epsilon_each: float | None = None
    """For several releases of one question by the curve: the ε to ask for in each of them, so that all fit."""
    values: int | None = None
    """How many values all series have together."""
    precision: tuple[Precision, ...] = ()
    """How precise the answer to each question would be, by the mechanism that needs the least noise."""

    def __repr__(self) -> str:
        span = "any length" if self.length is None else f"length {self.length:,}"
        scales = [f"{o.mechanism} {o.noise_scale:.4g}" for o in self.offers if o.noise_scale is not None]
        return f"Plan({self.query}, ε = {self.epsilon:g}, {span}; noise scale: {', '.join(scales) or 'none'})"

    def __iter__(self) -> Iterator[Offer]:
        return iter(self.offers)

    def __len__(self) -> int:
        return len(self.offers)

    def __getitem__(self, mechanism: str | int) -> Offer:
        """The offer of a mechanism, by its name or its place.

        >>> from quiltwork import MarkovChain, plan
        >>> made = plan("count:1", belief=MarkovChain([[0.9, 0.1], [0.4, 0.6]]), epsilon=1.0, length="any")
        >>> round(made["curve"].noise_scale, 2), made[0].mechanism
        (3.4, 'curve')
        """
        if isinstance(mechanism, int):
            return self.offers[mechanism]
        for offer in self.offers:
            if offer.mechanism == mechanism:
                return offer
        known = [offer.mechanism for offer in self.offers]
        raise ParameterError(
            "the plan has no such mechanism",
            got=repr(mechanism)[:40],
            fix=did_you_mean(str(mechanism), known, f"It has {', '.join(known)}"),
        )

    def to_polars(self) -> "pl.DataFrame":
        """A table with a row for each mechanism: its noise and error, or why it cannot be used.

        >>> from quiltwork import MarkovChain, plan
        >>> made = plan("count:1", belief=MarkovChain([[0.9, 0.1], [0.4, 0.6]]), epsilon=1.0, length="any")
        >>> made.to_polars().columns
        ['mechanism', 'noise_scale', 'error_95', 'error_95_all', 'guarantee', 'rule', 'refused', 'seconds']
        """
        import polars as pl  # it loads slowly

        named = ("mechanism", "noise_scale", "error_95", "error_95_all", "guarantee", "rule", "refused", "seconds")
        return pl.DataFrame(
            [{name: getattr(offer, name) for name in named} for offer in self], infer_schema_length=None
        )

    @property
    def best(self) -> Offer | None:
        """The offer with the least noise among those with a guarantee."""
        full = ("pufferfish", "bayesian")
        real = [
            offer
            for offer in self.offers
            if offer.calibration is not None
            and (offer.calibration.guarantee in full or offer.calibration.noise == "gaussian")
        ]
        return min(real, key=lambda offer: (offer.error_95 or 0.0, offer.noise_scale or 0.0), default=None)

    @property
    def complete(self) -> bool:
        """Whether every mechanism was tried that may need less noise."""
        return not any(offer.skipped for offer in self.offers)

    def multiple(self, offer: Offer) -> float | None:
        """An offer's noise as a multiple of the least that any analysis could allow, where that is known."""
        return offer.noise_scale / self.least if self.least and offer.noise_scale is not None else None

    @property
    def least(self) -> float | None:
        """The least noise that any analysis could allow, if the exact audit was run."""
        return next((offer.noise_scale for offer in self.offers if offer.mechanism == "audited"), None)

    def __post_init__(self) -> None:
        """No promise can be kept with less noise than the exact audit asks for."""
        for offer in self.offers:
            made = offer.calibration
            if made is None or made.guarantee not in ("pufferfish", "bayesian") or self.delta or self.least is None:
                continue
            if offer.noise_scale is not None and offer.noise_scale < self.least * (1 - ROUNDED):
                raise InternalError(
                    f"{offer.mechanism} must not need less noise than the exact audit allows",
                    got=f"{offer.noise_scale:.6g} where the least is {self.least:.6g}",
                    why="its promise would be false",
                )

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, as ``quiltwork plan --json`` prints it."""
        offers = [
            offer.to_dict() | ({} if (times := self.multiple(offer)) is None else {"times_audited": times})
            for offer in self.offers
        ]
        return {
            "query": self.query,
            "epsilon": self.epsilon,
            "length": "any" if self.length is None else self.length,
            "lipschitz": self.lipschitz,
            "releases": self.releases,
            "mechanisms": offers,
        } | (
            ({} if self.step is None else {"step": self.step.plain})
            | ({} if self.remedy is None else {"target": self.remedy.to_dict()})
            | ({"warnings": list(self.warnings)} if self.warnings else {})
            | ({"delta": self.delta} if self.delta else {})
            | ({"ways": [way.to_dict() for way in self.ways]} if self.ways else {})
            | ({} if self.epsilon_each is None else {"epsilon_each": self.epsilon_each})
            | ({} if self.secrets.everything else {"secrets": self.secrets.text})
        )


@working()
def plan(  # noqa: PLR0913 - the public signature is meant to be read
    query: Questions,
    *,
    belief: Believed,
    epsilon: float,
    length: int | str | None = None,
    values: int | None = None,
    delta: float = 0.0,
    noise: NoiseChoice = "best",
    mechanisms: Sequence[str] | None = None,
    releases: int = 1,
    window: str | int | None = None,
    guarantee: Guarantee = "pufferfish",
    secrets: Secrets | str | None = None,
    quilt_size: int | None = None,
    target_error: str | float | None = None,
    advice: bool = True,
    by: Calibrating = calibrated,
) -> Plan:
    """Compare mechanisms for series of up to this length (None or "any": any).

    Several queries are planned as one release, in which they share ε.

    ``values`` is the number of values of all series together, which frequencies and means are divided by; it is the
    length if there is one series. A ``delta`` above 0 allows for promises that are (ε, δ): of Gaussian noise, where
    that is nearer to the truth (or ``noise`` asks for it), and of the Wasserstein mechanism.
    With ``releases`` above 1, ε is for all of them together, and the noise is that of each of them. With a ``window``
    there is an answer for each window; ``length`` is still that of the series, ``values`` those of one answer.
    With ``guarantee="bayesian"`` it is Bayesian differential privacy, against adversaries who know any other values.
    ``secrets`` says what is to be kept apart (see :class:`Secrets`), ``quilt_size`` how many variables a quilt in a
    network may have. ``target_error`` asks what it takes for the noise to stay within it with probability 95 %: a
    number in the unit of the answer, or ``"5%"`` of what the answer can be. Where an answer would be noise only, the ε
    that would do is searched for, which takes several calibrations; ``advice=False`` leaves that out. ``by``
    is what calibrates: one that remembers what it has calibrated before makes many plans quick.

    >>> from quiltwork import Count, MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> found = plan(Count("1"), belief=chain, epsilon=1.0, length=100)
    >>> [(o.mechanism, o.noise_scale and round(o.noise_scale, 2)) for o in found.offers]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('curve', 3.34), ('quilt-exact', 12.84), ('quilt-approx', 23.51), ('wasserstein', 4.0), ('group', 100.0),
     ('gk16', None), ('audited', 3.34), ('entry', 1.0)]
    """
    belief = as_belief(belief)
    request = Request.of(
        query,
        belief=belief,
        epsilon=epsilon,
        length=length,
        delta=delta,
        noise=noise,
        guarantee=guarantee,
        secrets=Secrets.of(secrets),
        quilt_size=quilt_size,
        window=window,
    )
    as_asked, request, by = request, split(request), remembering(by, most=64)
    asked, values = request.asked, check_length(values)
    for name in mechanisms or ():
        find_mechanism(name)
    if isinstance(releases, bool) or not isinstance(releases, int) or not 1 <= releases <= MOST_RELEASES:
        raise ParameterError("releases must be a whole number, at least 1", got=str(releases))
    if request.length is None and values is None and any(question.divide != "nothing" for question in asked.questions):
        raise ParameterError(
            f"{asked.text} needs a length",
            got="any",
            why="its noise is that of the counts or sums, divided by the number of values",
            fix="Give the length or the number of values, or plan for histogram or sum",
        )
    divisors = [
        question.divisor(question.values_in(values)) if values else question.divisor_of(request.length or 1)
        for question in asked.questions
    ]
    names = tuple(dict.fromkeys(mechanisms)) if mechanisms else belief.mechanisms or MECHANISMS
    made = Plan(
        query=asked.text,
        epsilon=request.epsilon,
        length=request.length,
        lipschitz=request.lipschitz / (divisors[0] if len(divisors) == 1 else 1),
        offers=tuple(
            _too_slow(name)
            if not mechanisms and releases == 1 and takes_long(name, request)
            else _offer(replace(request, mechanism=name), divisors, releases, by)
            for name in names
        ),
        releases=releases,
        records=belief.variables is not None,
        step=belief.step,
        values=values,
        secrets=request.secrets,
        delta=request.delta,
        warnings=large_delta(request.delta),
        ways=ways(request, divisors, releases, by) if request.delta and "curve" in names else (),
    )
    best = made.best
    one = None if best is None or best.mechanism != "curve" else best.calibration
    if releases > 1 and advice and one is not None and best is not None and not asked.several:
        growth = math.sqrt(releases) if best.rule == "squares" else float(releases)
        made = replace(made, epsilon_each=epsilon_of_each(one, growth, request, by))
    target = None if target_error is None else Target.parse(target_error)
    return _with_remedies(made, request, as_asked, divisors, values, target, advice=advice, by=by)


def _with_remedies(
    made: Plan,
    request: Request,
    as_asked: Request,
    divisors: Sequence[int],
    values: int | None,
    target: Target | None,
    *,
    advice: bool,
    by: Calibrating,
) -> Plan:
    """With what makes answers precise enough, where they would be noise only or where it was asked."""
    best = made.best
    if best is None or best.error_95 is None:
        return made
    questions = request.asked.questions
    size = values or request.length
    people = 1 if values is None or not request.length else max(1, values // request.length)

    def error_at(place: int, noise: NoiseChoice) -> Callable[[float], float]:
        def at(epsilon: float) -> float:
            asked_again = split(replace(as_asked, epsilon=epsilon))
            offer = _offer(replace(asked_again, mechanism=best.mechanism, noise=noise), divisors, made.releases, by)
            return _errors(offer)[place]

        return at

    found, warnings, precision = None, [], []
    for place, (question, error) in enumerate(zip(questions, _errors(best), strict=True)):
        limits = None if size is None or made.records else question.limits(size, max(0, size - people))
        spread = None if size is None else question.reach(request.reach, size)
        reach = spread or (0.0 if limits is None else limits.width)

        def improved(
            wanted: float,
            *,
            relative: bool,
            close: float,
            share: float | None = None,
            place: int = place,
            error: float = error,
        ) -> Remedy:
            def searched(noise: NoiseChoice) -> Remedy:
                return remedy(
                    questions[place],
                    error=error,
                    wanted=wanted,
                    relative=relative,
                    epsilon=request.epsilon,
                    error_at=error_at(place, noise) if advice or target is not None else None,
                    values=None if made.records else size,
                    people=people,
                    length=request.length,
                    step=made.step,
                    mechanism=best.mechanism,
                    close=close,
                    numbers=len(questions[place].labels),
                    share=share,
                )

            drawn = best.calibration
            noise: NoiseChoice = "gaussian" if drawn is not None and drawn.noise == "gaussian" else "laplace"
            if not request.delta or request.noise != "best" or best.mechanism not in BY_PROFILE:
                return searched(request.noise)
            option = searched(noise)  # mostly it is the better one at other ε too, and to search with one is quicker
            with_either, with_one = error_at(place, "best"), error_at(place, noise)
            if option.epsilon is None or with_either(option.epsilon) < with_one(option.epsilon):
                return searched("best")
            return option

        if target is not None and (place == 0 or (target.relative and limits is not None)):
            option = improved(target.within(limits), relative=target.relative, close=CLOSE)
            found = option if found is None else max(found, option, key=_hardness)  # a percentage is meant for all
        if reach > 0 and error >= PURE_NOISE * reach:
            better = improved(USEFUL * reach, relative=True, close=ROUGH, share=USEFUL)
            warnings.append(noise_only(question, error, limits, reach, better, where=""))
        precision.append(_precision(made, place, error, question, request.belief, size, people, request, reach))
    return replace(made, remedy=found, warnings=(*made.warnings, *warnings), precision=tuple(precision))


def _precision(
    made: Plan,
    place: int,
    error: float,
    question: Question,
    belief: Belief,
    size: int | None,
    people: int,
    request: Request,
    reach: float,
) -> Precision:
    """How precise one answer would be, and about what would make it good."""
    best = made.best
    noise = best.questions[place] if best is not None and best.questions else best
    scale = 0.0 if noise is None or noise.noise_scale is None else noise.noise_scale
    expected = None if size is None or made.records else expected_answer(question, belief, size)
    verdict = verdict_of(error, expected, pure_noise=reach > 0 and error >= PURE_NOISE * reach)
    typical = None if expected is None else float(expected.mean()) or None
    better = None
    if typical is not None and verdict != "good":
        wanted = USEFUL * typical
        better = remedy(
            question,
            error=error,
            wanted=wanted,
            relative=True,
            epsilon=request.epsilon,
            error_at=None,
            values=size,
            people=people,
            length=request.length,
            step=made.step,
            mechanism=None if best is None else best.mechanism,
            numbers=len(question.labels),
        )
        better = replace(better, epsilon=about(request.epsilon, error, wanted), typical=USEFUL)
    return Precision(question.text, scale, error, typical, verdict, better)


def _hardness(option: Remedy) -> float:
    """The ε that it takes."""
    return math.inf if option.epsilon is None else option.epsilon


def _errors(offer: Offer) -> list[float]:
    """The ± of each question."""
    if offer.questions:
        return [question.error_95 for question in offer.questions]
    return [math.inf if offer.error_95 is None else offer.error_95]


def _too_slow(name: str) -> Offer:
    why = f"{name} would take more than a second here. Ask for it: mechanism='{name}'."
    return Offer(name, 0.0, refused=why, skipped=True)


def _offer(request: Request, divisors: Sequence[int], releases: int, by: Calibrating) -> Offer:
    begun, name = time.perf_counter(), request.mechanism or ""
    try:
        each = for_each(name, request, releases, divisors, by)
    except NotCoveredError as refusal:
        return Offer(name, time.perf_counter() - begun, refused=str(refusal))
    seconds = time.perf_counter() - begun
    calibration, noise = each.calibration, each.errors(divisors)
    if not request.asked.several:
        (only,) = noise
        return Offer(name, seconds, calibration, only.noise_scale, only.error_95, only.error_95_all, each.rule)
    first, *_ = request.asked.drawn
    sources = [request.asked.source(place) for place in range(len(noise))]
    questions = tuple(
        one if source is None else replace(one, follows=request.asked.questions[source].text)
        for one, source in zip(noise, sources, strict=True)
    )
    shown, scale = questions[first.place], round_up(calibration.noise_scale * each.times)
    return Offer(name, seconds, calibration, scale, shown.error_95, shown.error_95_all, each.rule, questions=questions)
