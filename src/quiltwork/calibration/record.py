"""The frozen record of how much noise, and why."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from quiltwork.beliefs import Belief, Believed, Secrets, as_belief
from quiltwork.calibration.request import Request
from quiltwork.certificate import Certificate
from quiltwork.errors import CertificateError, InputError, ParameterError
from quiltwork.forks import working
from quiltwork.influence.delta import kappa
from quiltwork.numeric import float_above
from quiltwork.question import Asked, Question, Said, bind
from quiltwork.types import Floats, Guarantee, Noise, Shown, show_module

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

    def sentence(self, epsilon: float | None = None) -> str:
        """The reason in words; with the ε that its parts add up to, if that is given."""
        said: str = show_module("of_plan").why(self, epsilon)
        return said

    def detail(self) -> dict[str, Any]:
        """The reason as plain values."""
        return {}


@dataclass(frozen=True)
class Plain(Reason):
    """A reason that is one sentence, with the numbers in it."""

    text: str
    numbers: tuple[tuple[str, float], ...] = ()

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
        return "\n".join(show_module("of_plan").explained(self, belief))

    @property
    def bayesian(self) -> bool:
        """Whether it holds against adversaries who know other values."""
        return self.guarantee in ("bayesian", "approximate bayesian")

    @property
    def noise_words(self) -> str:
        """What the noise scale is, in words."""
        return "Gaussian noise of standard deviation" if self.noise == "gaussian" else "noise scale"

    def meaning(self, belief: Belief | None = None) -> str:
        """What ε means for somebody who thought one of the secrets as likely as not."""
        said: str = show_module("of_plan").meaning(self, belief)
        return said

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


def _covers(proved: Secrets, claimed: Secrets, belief: Belief) -> bool:
    """Whether what is proved about some secrets is about those that are claimed, too."""
    try:
        return proved == claimed or proved.on(belief).covers(claimed.on(belief))
    except InputError:
        return False
