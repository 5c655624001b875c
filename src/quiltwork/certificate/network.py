"""A calibration's proof for records tied by networks: what cliques tell each other, as claims to check.

A certificate holds the profile λ, a matrix for each variable, and for each network a tree of cliques with the claims
R of Statement 50: for neighbours C and C', by pair of possible states of what they share, how much C's side tells. The
check is the theorem read forwards, in balls of Arb (python-flint) and without code of the search:

    the tree    every variable stands with its parents in one clique, there is no circle, and the cliques that a
                variable is in are joined to each other
    the laws    of every clique, computed anew from the network's tables; zeros of the tables are exact
    R           with D from λ and the claims of the other neighbours, P(r|σ) can be shipped to e^R P(r'|σ')
    ε           likewise for each variable, between the laws of a clique given two of its values (or sets of them)
                that are to be kept apart

Without cliques the proof is group privacy: all variables that may depend on each other may count (Statement 18).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quiltwork.beliefs import Belief, Secrets
from quiltwork.certificate.base import Certificate
from quiltwork.errors import CertificateError
from quiltwork.types import Floats

Edge = tuple[int, int]


@dataclass(frozen=True)
class CliqueProof:
    """Claims about one network along a tree of cliques.

    ``messages[c, d]`` is what the side of clique c tells clique d about what both share, by pair of possible states in
    increasing order; every two neighbours have a message in both directions. ``told[v]`` bounds what everything
    released tells about variable v, as far as it is secret.
    """

    cliques: tuple[tuple[int, ...], ...]
    messages: Mapping[Edge, Floats]
    told: tuple[float, ...]


@dataclass(frozen=True)
class NetworkCertificate(Certificate, kind="network"):
    """The proof of a calibration for records: what cliques tell each other, in every network of the belief.

    >>> from quiltwork import BayesianNetwork, calibrate
    >>> pair = BayesianNetwork({"x": "01", "y": "01"}, parents={"y": "x"},
    ...                        tables={"x": [0.5, 0.5], "y": [[0.6, 0.4], [0.4, 0.6]]})
    >>> certificate = calibrate("count:1 over x,y", belief=pair, epsilon=1.0).certificate
    >>> certificate.kind, certificate.members[0].cliques
    ('network', ((0, 1),))
    >>> certificate.verify(pair) <= 1.0
    True
    """

    belief: str
    epsilon: float
    profile: tuple[Floats, ...]
    members: tuple[CliqueProof, ...] = ()
    """A proof for each network. Without members the proof is that all dependent variables may count."""
    bayesian: bool = False
    """Whether it is against adversaries who know any other values: group privacy is, cliques are not."""
    secrets: Secrets = field(default_factory=Secrets.all)
    """What is kept apart."""
    length = None

    @property
    def profiles(self) -> tuple[Floats, ...]:
        """λ by pair of states, for each variable."""
        return self.profile

    def _proved(self, belief: Belief) -> float:
        self._check_profile(belief)
        if not self.members:
            weights = [float(matrix.max(initial=0.0)) for matrix in self.profile]
            return belief.heaviest_part(weights)[0]  # Statement 18
        if self.bayesian:
            raise CertificateError(
                "a certificate for the Bayesian guarantee on a network must be group privacy",
                got="cliques",
                why="what an adversary knows of other variables changes the laws of cliques",
            )
        if len(self.members) != len(belief.networks):
            raise CertificateError("the certificate must have a proof for each network", got=f"{len(self.members)}")
        from quiltwork.certificate.cliques import checked

        for network, proof in zip(belief.networks, self.members, strict=True):
            checked(network, self.profile, proof, self.secrets.on(belief))
        return max(max(proof.told) for proof in self.members)

    def _check_profile(self, belief: Belief) -> None:
        if not belief.networks:
            raise CertificateError("the certificate is for records tied by networks", got=repr(belief))
        sizes = [len(states) for states in (belief.variables or {}).values()]
        if [matrix.shape for matrix in self.profile] != [(k, k) for k in sizes]:
            raise CertificateError("the certificate's profile must have a matrix for each variable over its states")
        if any(np.diagonal(matrix).any() for matrix in self.profile):
            raise CertificateError(
                "the certificate's profile must be 0 on the diagonal",
                why="a variable that keeps its value costs nothing",
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, to be written to a file."""
        return {
            "kind": self.kind,
            "belief": self.belief,
            "epsilon": self.epsilon,
            "profile": [matrix.tolist() for matrix in self.profile],
            "bayesian": self.bayesian,
            "members": [
                {
                    "cliques": [list(clique) for clique in proof.cliques],
                    "messages": [
                        {"from": c, "to": d, "values": values.tolist()} for (c, d), values in proof.messages.items()
                    ],
                    "told": list(proof.told),
                }
                for proof in self.members
            ],
        } | ({} if self.secrets.everything else {"secrets": self.secrets.plain})

    @classmethod
    def _read(cls, contents: dict[str, Any]) -> "NetworkCertificate":
        profile = tuple(np.array(matrix, dtype=np.float64) for matrix in contents["profile"])
        members = tuple(
            CliqueProof(
                tuple(tuple(clique) for clique in proof["cliques"]),
                {(m["from"], m["to"]): np.array(m["values"], dtype=np.float64) for m in proof["messages"]},
                tuple(float(number) for number in proof["told"]),
            )
            for proof in contents["members"]
        )
        secrets = Secrets.of(contents.get("secrets"))
        return cls(contents["belief"], float(contents["epsilon"]), profile, members, contents["bayesian"], secrets)
