"""The frozen record of how much noise, and why."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from quiltwork.beliefs import Belief, Believed, Secrets, as_belief
from quiltwork.beliefs.secrets import believed_after
from quiltwork.beliefs.unknown_member import unknown_member
from quiltwork.calibration.request import Request
from quiltwork.certificate import Certificate
from quiltwork.errors import CertificateError, InputError, ParameterError
from quiltwork.forks import working
from quiltwork.influence.delta import kappa
from quiltwork.numeric import float_above
from quiltwork.question import Asked, Question, Said, bind
from quiltwork.types import Floats, Guarantee, Noise, Shown

GAUSSIAN = (
    "The promise holds for Gaussian values, whatever their mean; quiltwork belief check says how far public data of "
    "the same kind are from that."
)
NO_PROOF = {
    "cycle": "a certificate holds one table of transitions, and this belief has one for each time of its cycle",
    "hidden": "a certificate holds no mixtures of phases",
    "order": "a certificate holds no mixtures of earlier values",
    "gaussian": "the noise follows from a formula, without a search that would need a proof",
}
"""Why there are no certificates under some kinds of belief; the exact audit computes the loss in another way."""
ROUNDING = 2.0**-48  # of the quotient that a certificate's profile is
Strength = Guarantee | Literal["approximate pufferfish", "approximate bayesian", "none"]
"""A guarantee, or something weaker."""


@dataclass(frozen=True)
class Reason:
    """Why the noise is what it is; each mechanism has its own kind."""

    def sentence(self) -> str:
        """The reason in words."""
        return ""

    def detail(self) -> dict[str, Any]:
        """The reason as plain values."""
        return {}


@dataclass(frozen=True)
class Plain(Reason):
    """A reason that is one sentence, with the numbers in it."""

    text: str
    numbers: tuple[tuple[str, float], ...] = ()

    def sentence(self) -> str:
        """The reason in words."""
        return self.text

    def detail(self) -> dict[str, Any]:
        """The reason as plain values."""
        return dict(self.numbers)


@dataclass(frozen=True, repr=False)
class Calibration(Shown):
    """How much noise a query needs under a belief, and the theorem that says so. No data went into it.

    ``noise_scale`` is the scale of the Laplace noise added to each number of the answer, or the standard deviation of
    Gaussian noise.

    >>> from quiltwork import Count, MarkovChain, calibrate
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> calibration = calibrate(Count("1"), belief=chain, epsilon=1.0, length=1000)
    >>> round(calibration.noise_scale, 3), calibration.guarantee
    (3.336, 'pufferfish')
    """

    mechanism: str
    asked: Asked
    epsilon: float
    length: int | None
    lipschitz: float
    noise_scale: float
    guarantee: Strength
    theorem: str
    reason: Reason
    delta: float = 0.0
    """By how much probabilities may exceed what ε allows for."""
    noise: Noise = "laplace"
    records: bool = False
    """Whether it is about records of named variables, not about series."""
    one_length: bool = False
    """Whether it holds for series of exactly this length, not for shorter ones too."""
    steps: Literal["unrolled", "chain"] | None = None
    """Of records over time: whether all steps were taken as one network, or each as a state of a chain."""
    unrolled_up_to: int | None = None
    """Of records over time: the number of steps up to which they are taken as one network."""
    apart: str | None = None
    """Of real values: how far apart two values may be that are hidden from each other."""
    secrets: Secrets = field(default_factory=Secrets.all)
    """What is kept apart."""
    certificate: Certificate | None = field(default=None, repr=False, compare=False)
    """What is needed to check a calibration by the influence curve, with ``verify(belief)``."""

    @classmethod
    def of(cls, request: Request, *, noise_scale: float, theorem: str, reason: Reason, **more: Any) -> "Calibration":
        """Noise for a request; ``more`` is what differs from what was requested."""
        facts: dict[str, Any] = {
            "mechanism": request.mechanism or "",
            "asked": request.asked,
            "epsilon": request.epsilon,
            "length": request.length,
            "lipschitz": request.lipschitz,
            "guarantee": request.guarantee,
            "secrets": request.secrets,
            "noise": request.laplace,
        }
        return cls(**facts | {"noise_scale": noise_scale, "theorem": theorem, "reason": reason} | more)

    def __post_init__(self) -> None:
        if not isinstance(self.asked, Asked):
            raise ParameterError("a calibration must hold what was asked", got=type(self.asked).__name__)

    def __repr__(self) -> str:
        asked = f"{self.query.text} by {self.mechanism}, ε = {self.epsilon:g}"
        return f"Calibration({asked}, {self.noise_words} {self.noise_scale:.6g}, guarantee {self.guarantee})"

    @property
    def query(self) -> Said:
        """What was asked, as it was said."""
        return self.asked.said

    @property
    def scales(self) -> tuple[tuple[Question, float], ...]:
        """Each question with the scale of its noise; what follows from another question has the noise of that one.

        >>> from quiltwork import MarkovChain, calibrate
        >>> chain = MarkovChain([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]], initial="stationary")
        >>> asked = ["histogram", "transitions", "frequencies"]
        >>> both = calibrate(asked, belief=chain, epsilon=1.0, length=1000)
        >>> [(question.text, round(scale, 1)) for question, scale in both.scales]
        [('histogram', 19.4), ('transitions', 23.6), ('frequencies', 19.4)]
        """
        if not self.asked.several:
            return ((self.asked.only, self.noise_scale),)
        of_place = {one.place: float_above(one.ratio * Fraction(self.noise_scale)) for one in self.asked.drawn}
        sources = [self.asked.source(place) for place in range(len(self.asked.questions))]
        return tuple(
            (question, of_place[place if source is None else source])
            for place, (question, source) in enumerate(zip(self.asked.questions, sources, strict=True))
        )

    def explain(self, belief: Belief | None = None) -> str:
        """The noise and its reason in a few sentences; with a state of the belief as an example, if it is given."""
        drawn = [self.scales[one.place] for one in self.asked.drawn]
        noise = ", ".join(f"{scale:.6g} on each {_numbers(question)}" for question, scale in drawn)
        of_size = "standard deviation" if self.noise == "gaussian" else "scale"
        span = "series of any length"
        if self.records:
            span = f"records of {self.length:,} variables"
        elif self.length is not None:
            values = "values" if self.steps is None else "steps"
            span = f"series of {'exactly' if self.one_length else 'up to'} {self.length:,} {values}"
        factor = f" = {math.exp(self.epsilon):.3g}" if self.epsilon < 50 else ", which is no limit at all"
        if self.guarantee == "none":
            guarantee = "NO GUARANTEE: this noise hides a single value only if values are independent of each other."
        else:
            secret = "of any variable" if self.records else "at any one time"
            secret = secret if self.steps is None else "of any variable at any one step"
            secret = secret if self.apart is None else f"at most {self.apart} apart, {secret},"
            between = f"between any two values {secret}" if self.secrets.everything else "between the secrets"
            guarantee = (
                f"Guarantee: seeing the result changes the odds {between} by a factor of at most "
                f"e^{self.epsilon:g}{factor}, for every belief in the class."
            )
        if self.bayesian:
            guarantee += " This also holds against an adversary who knows any other values."
        if self.delta:
            guarantee += f" {self.exception}"
        return "\n".join(
            [
                f"{self.mechanism}: {self._noise_name} noise of {of_size} {noise}, for {span}.{self._kept}",
                guarantee,
                *self.of_set(belief),
                *([] if self.guarantee == "none" else [f"Secret: {self.secret}. Not secret: {self.not_secret}."]),
                *([] if self.guarantee == "none" else [self.meaning(belief)]),
                f"Why: {self.reason.sentence()}",
                f"Theorem: {self.theorem}.",
                *([] if self.apart is None or self.guarantee == "none" else [GAUSSIAN]),
                *([] if self.steps is None else [self.along_time()]),
            ]
        )

    def of_set(self, belief: Belief | None) -> list[str]:
        """Of a set: whom it protects against, and what others may learn; nothing for a single belief."""
        known = None if belief is None or self.guarantee == "none" else unknown_member(belief)
        return [] if known is None else [known.sentence(self.epsilon)]

    @property
    def _noise_name(self) -> str:
        return "Gaussian" if self.noise == "gaussian" else "Laplace"

    @property
    def _kept(self) -> str:
        return " It keeps the public totals." if self.noise == "laplace-total" else ""

    @property
    def bayesian(self) -> bool:
        """Whether it holds against adversaries who know other values."""
        return self.guarantee in ("bayesian", "approximate bayesian")

    @property
    def exception(self) -> str:
        """What δ means."""
        return (
            f"This holds up to δ = {self.delta:g}: any set of results may be more likely by δ than the factor allows "
            f"for. A result that gives a secret away for certain has a probability of at most {self.delta:g}."
        )

    @property
    def noise_words(self) -> str:
        """What the noise scale is, in words."""
        return "Gaussian noise of standard deviation" if self.noise == "gaussian" else "noise scale"

    @property
    def secret(self) -> str:
        """What is secret, in words."""
        if self.apart is None:
            return self.secrets.secret
        return f"which of two values at most {self.apart} apart it was, at any one time"

    @property
    def not_secret(self) -> str:
        """What is not secret, in words."""
        if self.apart is None:
            return self.secrets.not_secret
        return f"larger differences, of which twice as large ones may lose ε = {2 * self.epsilon:g}; " + (
            self.secrets.not_secret
        )

    def meaning(self, belief: Belief | None = None) -> str:
        """What ε means for somebody who thought one of the secrets as likely as not."""
        if self.apart is None:
            return self.secrets.meaning(self.epsilon, belief, delta=self.delta)
        after, but_for = believed_after(self.epsilon, self.delta)
        return (
            f"Someone who knew that a value was one of two at most {self.apart} apart, and thought one of them 50 % "
            f"likely, will think it at most {after} likely after seeing this{but_for}."
        )

    def along_time(self) -> str:
        """Of records over time: how their steps were taken, and how long a series the other way covers."""
        if self.steps == "unrolled":
            return (
                f"Steps: unrolled into one network. This covers up to {self.unrolled_up_to:,} steps; in longer series "
                "each step is a state of a chain, which may need more noise."
            )
        if not self.unrolled_up_to:
            return "Steps: each is a state of a chain. Unrolling needs a start, and few enough states at each step."
        return (
            f"Steps: each is a state of a chain. Series of up to {self.unrolled_up_to:,} steps are unrolled into one "
            "network, which may need less noise."
        )

    def why_uncertified(self, belief: Belief) -> str:
        """Why there is no certificate, where there is none."""
        kind = str(belief.to_dict()["kind"])
        if self.mechanism != "curve":
            return f"only noise by the influence curve has one, and this is by {self.mechanism}"
        return NO_PROOF.get(kind, "the proof would be too large, or rests on bounds that a certificate does not hold")

    @working()
    def verify(self, belief: Believed) -> float:
        """The ε that the certificate proves for this noise, these lengths and this belief, by interval arithmetic.

        An error says what is not proved, also if there is no certificate.
        """
        belief = as_belief(belief)
        if self.certificate is None:
            raise CertificateError(
                "the calibration has no certificate",
                got=f"mechanism {self.mechanism}" + (" on records" if self.records or self.steps else ""),
                why=self.why_uncertified(belief),
                fix="Use curve; without a certificate, audit computes the loss in another way",
            )
        proved = self.certificate.length
        if proved is not None and (self.length is None or proved < self.length):
            raise CertificateError("the certificate must cover the length", got=f"{proved} of {self.length or 'any'}")
        if self.bayesian and not self.certificate.bayesian:
            raise CertificateError(
                "the certificate must be for the Bayesian guarantee", got="one for Pufferfish privacy"
            )
        if not _covers(self.certificate.secrets, self.secrets, belief):
            raise CertificateError(
                f"the certificate must be for the secrets {self.secrets.text}", got=self.certificate.secrets.text
            )
        if not self.certificate.epsilon <= self.epsilon:
            raise CertificateError(
                f"the certificate must be for epsilon = {self.epsilon:g}", got=f"{self.certificate.epsilon:g}"
            )
        about = self.certificate.about(belief)
        asked = bind(self.asked.said, about, windows=self.asked.windows)
        self._check_noise(self.certificate, asked.table(2 if self.noise == "gaussian" else 1))
        return self.certificate.verify(about)

    def _check_noise(self, certificate: Certificate, sensitivity: Sequence[Floats]) -> None:
        """Whether the certificate's profile is not below that of this noise, for series or for each variable."""
        asked = any(matrix.any() for matrix in sensitivity)
        if not (math.isfinite(self.noise_scale) and self.noise_scale >= 0) or (self.noise_scale == 0 and asked):
            raise CertificateError("a certificate proves nothing without noise", got=f"scale {self.noise_scale:g}")
        times = kappa(self.epsilon, self.delta) if self.noise == "gaussian" else 1.0  # Statement 78
        scale = self.noise_scale / times or 1.0
        needed = [matrix / scale * (1 - ROUNDING) for matrix in sensitivity]
        if len(needed) != len(certificate.profiles) or not all(
            profile.shape == least.shape and np.all(profile >= least)
            for profile, least in zip(certificate.profiles, needed, strict=True)
        ):
            raise CertificateError(
                "the certificate is for another query, or for more noise than this", got=f"scale {self.noise_scale:g}"
            )

    def detail(self) -> dict[str, Any]:
        """What explains the noise, as plain values."""
        steps = {} if self.steps is None else {"steps": self.steps, "unrolled_up_to": self.unrolled_up_to}
        return self.reason.detail() | {"theorem": self.theorem} | steps


def _numbers(question: Question) -> str:
    """What noise is added to, in words."""
    named = {"frequencies": "count", "mean": "sum", "sum": "sum"}
    return named.get(question.query.kind, f"number of {question.text}")


def _covers(proved: Secrets, claimed: Secrets, belief: Belief) -> bool:
    """Whether what is proved about some secrets is about those that are claimed, too."""
    try:
        return proved == claimed or proved.on(belief).covers(claimed.on(belief))
    except InputError:
        return False
