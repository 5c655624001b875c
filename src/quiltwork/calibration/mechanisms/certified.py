"""Certificates for noise that the influence curve chose on networks (Statement 50)."""

from collections.abc import Sequence

import numpy as np

from quiltwork.beliefs import BayesianNetwork, SecretPairs
from quiltwork.calibration.request import Request
from quiltwork.certificate import CliqueProof, NetworkCertificate
from quiltwork.errors import InputError, NotCoveredError
from quiltwork.influence.curve.cliques import CliqueCurve
from quiltwork.influence.curve.tree import TreeCurve
from quiltwork.types import Floats

ROOM = 1e-7  # of ε, that the search leaves for a proof by interval arithmetic
MOST_WORK = 5e5  # pairs of states that a proof is about: its check takes about ten seconds
MOST_VARIABLES = 300  # of a tree: its noise needs no inference, and its proof should not take longer


def network_certificate(
    request: Request, profile: Sequence[Floats], curves: Sequence[TreeCurve | CliqueCurve]
) -> NetworkCertificate | None:
    """A proof for every network of a belief; None if one is too large, or rests on skips or on cross-ratios.

    >>> pair = BayesianNetwork({"x": "01", "y": "01"}, parents={"y": "x"},
    ...                        tables={"x": [0.5, 0.5], "y": [[0.6, 0.4], [0.4, 0.6]]})
    >>> request = Request.of("count:1", belief=pair, epsilon=1.0, mechanism="curve")
    >>> certificate = network_certificate(request, [0.8 * (1 - np.eye(2))] * 2, [CliqueCurve(pair)])
    >>> round(certificate.verify(pair), 4)
    0.9523
    """
    belief, epsilon, bayesian = request.belief, request.epsilon, request.guarantee == "bayesian"
    proofs: list[CliqueProof] = []
    heaviest, _ = belief.heaviest_part([float(matrix.max(initial=0.0)) for matrix in profile])
    if not heaviest <= epsilon * (1 - 1e-15):  # Statement 18
        for network, curve in () if bayesian else zip(belief.networks, curves, strict=True):
            proof = _proof(network, profile, epsilon, curve, request.secrets.on(belief))
            proofs += [] if proof is None else [proof]
        if len(proofs) < len(curves):
            return None
    by_group = bayesian and not proofs
    return NetworkCertificate(
        belief.fingerprint, epsilon, tuple(profile), tuple(proofs), by_group, secrets=request.secrets
    )


def _proof(
    network: BayesianNetwork,
    profile: Sequence[Floats],
    epsilon: float,
    curve: TreeCurve | CliqueCurve,
    secret: SecretPairs,
) -> CliqueProof | None:
    """The claims of the curve along cliques, each with a little room: as much as there are cliques on its side."""
    along = curve if isinstance(curve, CliqueCurve) else _cliques(network)
    if along is None or along.work > MOST_WORK:
        return None
    messages, told = along.claims(profile, secret)
    tree = network.graph.cliques
    room = ROOM / 2 * epsilon / len(tree.cliques)
    behind: dict[tuple[int, int], int] = {}
    for c, d in tree.directed():
        behind[c, d] = 1 + sum(behind[n, c] for n in tree.neighbours(c) if n != d)
    claims = {edge: np.where(R > 0, R + room * behind[edge], 0.0) for edge, R in messages.items()}
    bounds = tuple(epsilon_of + ROOM / 2 * epsilon if epsilon_of > 0 else 0.0 for epsilon_of in told)
    return CliqueProof(tree.cliques, claims, bounds) if max(bounds) <= epsilon else None


def _cliques(tree: BayesianNetwork) -> CliqueCurve | None:
    """A tree as the cliques that it is; None if they cannot be looked at, which noise along edges does not need."""
    if len(tree.variables) > MOST_VARIABLES:
        return None
    try:
        return CliqueCurve(tree, closely=True)
    except (InputError, NotCoveredError):
        return None
