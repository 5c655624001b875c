"""What is asked of calibration, checked once: it goes through all layers as it is."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from quiltwork.beliefs import Belief, Believed, Secrets, as_belief
from quiltwork.beliefs.checked import Checked, graver
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.numeric import check_delta, check_epsilon, check_length
from quiltwork.question import Asked, Questions, Said, as_said, bind
from quiltwork.question.sensitivity import Norm
from quiltwork.types import Gaps, Guarantee, Noise, NoiseChoice

SMALLEST_SCALE, LARGEST_SCALE = 1e-200, 1e200


@dataclass(frozen=True, kw_only=True)
class Request:
    """A query under a belief, with the guarantee that is wanted for it.

    ``length`` None is any length, ``mechanism`` None leaves the choice to calibration.

    >>> from quiltwork import MarkovChain
    >>> request = Request.of("histogram", belief=MarkovChain([[0.9, 0.1], [0.4, 0.6]]), epsilon=1, length="any")
    >>> request.query, request.epsilon, request.length
    (Query('histogram'), 1.0, None)
    """

    query: Said
    belief: Belief
    epsilon: float
    length: int | None = None
    mechanism: str | None = None
    delta: float = 0.0
    noise: NoiseChoice = "laplace"
    """Which noise; "best" is the one that stays nearer to the truth. Gaussian noise needs a δ."""
    guarantee: Guarantee = "pufferfish"
    secrets: Secrets = field(default_factory=Secrets.all)
    """What is to be kept apart; every two states of every value if left out."""
    quilt_size: int | None = None
    gaps: Gaps = "dependent"
    """Whether values before and after a gap of a series may depend on each other."""
    window: str | int | None = None
    """An answer for each window of this kind."""
    by_subject: bool = False
    """An answer for each subject."""
    alone: bool = False
    """Whether no budget is kept: then the mechanism with the least noise will do, however its releases add up."""
    spread: float | None = None
    """Of real values: the width of the range that nearly all of them lie in, where the belief does not say it."""
    anyway: bool = False
    """Whether to release answers that are noise only."""
    checked: Checked | None = None
    """What a check of the belief on public data found; what its file says if left out."""
    despite_check: bool = False
    """Whether to release under a belief that its check refuted."""
    norm: Norm = 1
    """How changes are measured: in L1, or for Gaussian noise in L2 (Statement 78)."""

    def __post_init__(self) -> None:
        checked = {
            "query": as_said(self.query),
            "belief": as_belief(self.belief),
            "epsilon": check_epsilon(self.epsilon),
            "length": check_length(self.length),
            "secrets": Secrets.of(self.secrets),
        }
        if self.guarantee not in ("pufferfish", "bayesian"):
            raise ParameterError("guarantee must be pufferfish or bayesian", got=repr(self.guarantee))
        if self.gaps not in ("dependent", "independent"):
            raise ParameterError("gaps must be dependent or independent", got=repr(self.gaps))
        self._check_noise()
        if self.spread is not None and not (math.isfinite(self.spread) and self.spread > 0):
            raise ParameterError("spread must be a positive number", got=repr(self.spread)[:40])
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "length", self.belief.size(self.length))
        object.__setattr__(self, "checked", graver(self.checked, self.belief.checked))
        self.secrets.on(self.belief)  # refused where it names what the belief does not have
        if self.belief.variables is None:
            self.secrets.check_length(self.length)
        lipschitz = self.lipschitz
        if lipschitz and not SMALLEST_SCALE <= lipschitz / self.epsilon <= LARGEST_SCALE:
            raise ParameterError(
                "epsilon does not fit the size of the answer",
                got=f"{self.epsilon:g} for an answer that one value changes by {lipschitz:g}",
                why=f"noise must have a scale between {SMALLEST_SCALE:g} and {LARGEST_SCALE:g} to be drawn exactly",
                fix="Use another epsilon, or another unit",
            )

    @classmethod
    def of(
        cls, query: Questions, *, belief: Believed, epsilon: float, length: int | str | None = None, **more: Any
    ) -> "Request":
        """As a user says it: the query may be text, or several queries, and the length "any"."""
        return cls(query=as_said(query), belief=as_belief(belief), epsilon=epsilon, length=check_length(length), **more)

    def _check_noise(self) -> None:
        if self.noise not in ("laplace", "gaussian", "best"):
            raise ParameterError("noise must be laplace, gaussian or best", got=repr(self.noise)[:40])
        if self.delta and self.mechanism != "wasserstein":
            check_delta(self.delta)
        if self.noise == "gaussian" and not self.delta:
            raise ParameterError(
                "Gaussian noise needs a delta above 0",
                got="none",
                why="it has no bound on the loss that always holds",
                fix="Give a delta, such as 1e-6, or use Laplace noise",
            )

    def check_belief(self) -> None:
        """Refuse a belief that public data refuted."""
        if self.checked is not None and self.checked.outcome == "refuted" and not self.despite_check:
            raise NotCoveredError(
                "the belief was refuted by public data",
                got=self.checked.says.rstrip("."),
                why="the noise would be too small for data like these",
                fix="Use a belief that holds, or set despite_check= to release under this one all the same",
            )

    @property
    def reach(self) -> float | None:
        """How widely real values are spread, as the request or the belief says; None where neither does."""
        return self.spread if self.spread is not None else getattr(self.belief, "spread", None)

    @cached_property
    def asked(self) -> Asked:
        """What is asked of data that the belief is about."""
        asked = bind(self.query, self.belief, windows=self.window is not None)
        return asked if self.norm == 1 else asked.in_l2()

    @property
    def divided(self) -> bool:
        """Whether there is more than one answer."""
        return self.window is not None or self.by_subject

    @property
    def laplace(self) -> Noise:
        """Which Laplace noise is drawn: where a total is public, noise that keeps it (Statement 75)."""
        return "laplace-total" if self.asked.keeps_totals else "laplace"

    @property
    def lipschitz(self) -> float:
        """The most that one value can change the answer."""
        return self.asked.lipschitz
