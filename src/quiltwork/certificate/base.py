"""What all certificates share: they are made for a belief and an ε, and are written to files."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from quiltwork.beliefs import Belief, Secrets
from quiltwork.errors import CertificateError
from quiltwork.types import Floats


class Certificate(ABC):
    """What is needed to check a calibration by the influence curve: of series, or of records tied by networks.

    >>> from quiltwork import MarkovChain, calibrate
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> certificate = calibrate("count:1", belief=chain, epsilon=1.0).certificate
    >>> certificate.verify(chain) <= 1.0
    True
    >>> Certificate.from_dict(certificate.to_dict()).verify(chain) <= 1.0
    True
    """

    kinds: ClassVar[dict[str, type["Certificate"]]] = {}
    kind: ClassVar[str]
    belief: str
    """The fingerprint of the belief."""
    epsilon: float
    length: int | None
    """For series of up to this length (None: every length)."""
    bayesian: bool
    """Whether it is against adversaries who know any other values."""
    secrets: Secrets
    """What is kept apart."""

    def __init_subclass__(cls, *, kind: str):
        cls.kind = kind
        Certificate.kinds[kind] = cls

    @property
    @abstractmethod
    def profiles(self) -> tuple[Floats, ...]:
        """λ by pair of states: one matrix for all values of a series, or one for each variable of a record."""

    def about(self, belief: Belief) -> Belief:
        """The belief in the form that the certificate is about."""
        return belief.settled()  # a start that is the stationary law by another name

    def verify(self, belief: Belief) -> float:
        """The ε that the certificate proves, rounded up; an error that names the entry if it proves nothing."""
        if belief.fingerprint != self.belief:
            belief = self.about(belief)
        if belief.fingerprint != self.belief:
            raise CertificateError(
                "the certificate is for another belief",
                got=f"fingerprint {belief.fingerprint[:16]}",
                why=f"it was made for {self.belief[:16]}",
            )
        if not all(np.isfinite(matrix).all() and (matrix >= 0).all() for matrix in self.profiles):
            raise CertificateError("the certificate's profile must be finite and not negative")
        worst = self._proved(belief)
        if not worst <= self.epsilon:
            raise CertificateError(
                f"the certificate must prove epsilon = {self.epsilon:g}",
                got=f"{worst:g}",
                why="the value and what depends on it add up to more",
            )
        return worst

    @abstractmethod
    def _proved(self, belief: Belief) -> float:
        """The ε that is proved, rounded up."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values, to be written to a file."""

    @staticmethod
    def from_dict(contents: dict[str, Any]) -> "Certificate":
        """The certificate that ``to_dict`` wrote."""
        try:
            return Certificate.kinds[contents.get("kind", "chain")]._read(contents)
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise CertificateError(
                "the certificate cannot be read", got="other contents than to_dict() writes"
            ) from problem

    @classmethod
    @abstractmethod
    def _read(cls, contents: dict[str, Any]) -> "Certificate":
        """The certificate in plain values."""
