"""A calibration's proof for series, and its check: outward-rounded arithmetic, one pass, no code of the search.

A certificate holds the profile λ and for each side a bound R (or L), entry by entry with the number of transitions m
that proves it. The check is the theorem read forwards (Statements 9 to 14). With D = λ + R, for every pair (a, b):

    m ≥ 1   R[a,b] ≥ (m - 1) max λ + step with the m-th power of the kernel and the largest D
    m = 0   R[a,b] ≥ step with D by pair, proved by a shipment
    m = -1  for any start: by what lies between a start and a value (Statements 46 and 47)

and λ + R + L ≤ ε in every entry that is a secret pair, plus the diagonal of λ, which any change tells besides. Two sets
of states are proved by their pairs, or by a shipment between the laws given each of them. Balls of Arb (python-flint)
carry every rounding error along. A series that never forgets needs no more than its length: T max λ ≤ ε.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quiltwork.beliefs import Belief, SecretPairs, Secrets
from quiltwork.certificate.base import Certificate
from quiltwork.errors import CertificateError
from quiltwork.types import Floats, Integers

BRIDGED = -1  # in place of a number of transitions


@dataclass(frozen=True)
class Bridges:
    """For some numbers of steps n, 1 first, what the values between two ends tell: Γ_n and Γ'_n of Statement 45.

    ``told[j,z,a,b]`` is about the later end if the earlier is z, ``ends[j,b,z,y]`` about the earlier if the later is b.
    """

    steps: Integers
    told: Floats
    ends: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", _whole(self.steps))


@dataclass(frozen=True)
class SideProof:
    """Bounds of one side: a matrix for each node away from the end; if ``steady``, the last holds for all that follow.

    ``skips`` says how each entry is proved: by several transitions at once, (0) by a shipment, or (-1) by ``bridges``.
    """

    values: Floats
    skips: Integers
    steady: bool = True
    bridges: Bridges | None = None

    def __post_init__(self) -> None:
        for name, table in (("values", np.array(self.values)), ("skips", _whole(self.skips))):
            object.__setattr__(self, name, table if table.ndim == 3 else table[None])


@dataclass(frozen=True)
class ChainCertificate(Certificate, kind="chain"):
    """The proof of a calibration for series: both sides of every chain of the belief.

    >>> from quiltwork import MarkovChain, calibrate
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> certificate = calibrate("count:1", belief=chain, epsilon=1.0).certificate
    >>> certificate.kind, len(certificate.members)
    ('chain', 1)
    """

    belief: str
    epsilon: float
    profile: Floats
    members: tuple[tuple[SideProof, SideProof], ...]
    length: int | None = None
    """For series of up to this length (None: every length). Without members the proof is that all values may count."""
    bayesian: bool = False
    """Whether it is against adversaries who know any other values."""
    secrets: Secrets = field(default_factory=Secrets.all)
    """What is kept apart."""

    @property
    def profiles(self) -> tuple[Floats, ...]:
        """λ by pair of states, the same for all values."""
        return (self.profile,)

    def about(self, belief: Belief) -> Belief:
        """The chain that a record is, where its variables are a path of equal tables."""
        chain = belief.as_chain()
        if chain is not None and belief.variables is not None and not self.covers(len(belief.variables)):
            raise CertificateError(
                "the certificate must cover the length", got=f"{self.length} of {len(belief.variables)} variables"
            )
        return (chain or belief).settled()

    def covers(self, length: int | None) -> bool:
        """Whether it is for series of this length (None: every length)."""
        return self.length is None or (length is not None and self.length >= length)

    def _proved(self, belief: Belief) -> float:
        from quiltwork.certificate.check import checked

        if self.length is not None and (isinstance(self.length, bool) or not self.length >= 1):
            raise CertificateError("the certificate's length must be at least 1", got=str(self.length))
        if not self.members and self.length is not None:
            return float(np.nextafter(self.length * float(self.profile.max()), np.inf))
        chains = belief.members
        if len(chains) != len(self.members):
            raise CertificateError("the certificate must have a proof for each chain", got=f"{len(self.members)}")
        for future, past in self.members:
            self._check_nodes(future, past)
        profiles = [
            checked(chain, self.profile, future, past, bayesian=self.bayesian)
            for chain, (future, past) in zip(chains, self.members, strict=True)
        ]
        secret = self.secrets.on(belief)
        return max(
            self._total(chain, secret, profile, *sides)
            for chain, profile, sides in zip(chains, profiles, self.members, strict=True)
        )

    def _check_nodes(self, future: SideProof, past: SideProof) -> None:
        for name, proof in (("future", future), ("past", past)):
            if len(proof.values) < 1 or (not proof.steady and len(proof.values) != self.length):
                raise CertificateError(
                    f"the {name} of the certificate must cover every node of its series",
                    got=f"{len(proof.values)} nodes",
                    why="all lengths" if self.length is None else f"series of {self.length} values",
                )

    def _total(self, chain: Belief, secret: SecretPairs, profile: Floats, future: SideProof, past: SideProof) -> float:
        """λ + R + L at every node between what is secret, rounded up."""
        if future.steady or past.steady:
            # in series of all lengths every R meets every L
            sums = [(future.values.max(axis=0), past.values.max(axis=0))]
        else:
            nodes = zip(future.values[::-1], past.values, secret.at_nodes(len(past.values)), strict=True)
            sums = [(R, L) for R, L, here in nodes if here]
        itself = np.nextafter(profile + np.diagonal(self.profile).max(initial=0.0), np.inf)  # Statement 49
        totals = [np.nextafter(np.nextafter(itself + R, np.inf) + L, np.inf) for R, L in sums]
        if secret.everything or chain.alike:
            off = ~np.eye(len(profile), dtype=bool)
            return float(max(total[off].max(initial=0.0) for total in totals))
        from quiltwork.certificate.check import between_secrets

        return between_secrets(chain, secret, totals, self.epsilon, bayesian=self.bayesian)  # Statement 61

    def to_dict(self) -> dict[str, Any]:
        """Plain values, to be written to a file."""
        return {
            "kind": self.kind,
            "belief": self.belief,
            "epsilon": self.epsilon,
            "profile": self.profile.tolist(),
            "length": self.length,
            "bayesian": self.bayesian,
            "members": [[_plain(proof) for proof in sides] for sides in self.members],
        } | ({} if self.secrets.everything else {"secrets": self.secrets.plain})

    @classmethod
    def _read(cls, contents: dict[str, Any]) -> "ChainCertificate":
        proofs = [
            [SideProof(np.array(p["values"]), np.array(p["skips"]), p["steady"], _bridges(p)) for p in sides]
            for sides in contents["members"]
        ]
        pairs = tuple((future, past) for future, past in proofs)
        profile = np.array(contents["profile"], dtype=np.float64)
        bayesian, secrets = contents.get("bayesian", False), Secrets.of(contents.get("secrets"))
        return cls(contents["belief"], contents["epsilon"], profile, pairs, contents["length"], bayesian, secrets)


def _whole(numbers: Integers) -> Integers:
    """Numbers of transitions, which must be whole."""
    table = np.array(numbers)
    if table.dtype.kind not in "iu":
        raise CertificateError("the certificate's numbers of transitions must be whole", got="others")
    return table.astype(np.int64)


def _plain(proof: SideProof) -> dict[str, Any]:
    contents = {"values": proof.values.tolist(), "skips": proof.skips.tolist(), "steady": proof.steady}
    if proof.bridges is not None:
        contents["bridges"] = {name: table.tolist() for name, table in vars(proof.bridges).items()}
    return contents


def _bridges(contents: dict[str, Any]) -> Bridges | None:
    tables = contents.get("bridges")
    if tables is None:
        return None
    return Bridges(*(np.array(tables[name]) for name in ("steps", "told", "ends")))
