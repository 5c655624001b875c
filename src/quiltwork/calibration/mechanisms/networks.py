"""Networks: the influence curve, and the Markov Quilt Mechanism in its general form (A section 4.2).

Promise: ε-Pufferfish privacy for every query that changes by at most L_j when variable j changes, and every network of
the belief.
Rule for quilts (A Theorem 4.4): a quilt Q for X_i leaves the near variables N, which weigh L(N) = Σ L_j; all others
are independent of X_i given Q. Its score is L(N) / (ε - e) with e = e(X_Q | X_i), infinite if e ≥ ε; each variable
takes its best quilt, the empty one included, and the noise is the largest of these scores.
Rule of the curve (Statements 15 and 50): noise of scale s gives variable j the profile λ_j = c_j / s, and the curve
along edges or cliques turns the profile into ε; the scale is the smallest for which that is enough.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from quiltwork.beliefs import BayesianNetwork, Belief, SecretPairs
from quiltwork.calibration.mechanisms.baselines import whole_records
from quiltwork.calibration.mechanisms.certified import ROOM, network_certificate
from quiltwork.calibration.record import Calibration, Reason
from quiltwork.calibration.request import Request
from quiltwork.errors import ParameterError
from quiltwork.influence.curve.cliques import CliqueCurve
from quiltwork.influence.curve.networks import network_curve
from quiltwork.influence.curve.tree import NetworkLoss, TreeCurve
from quiltwork.influence.quilts.cover import QUILT_SIZE, Cover, QuiltSearch
from quiltwork.numeric import round_up, smallest_within
from quiltwork.types import Floats

PRECISION, ROUGH = 1e-7, 1e-5  # of the scale, on trees and on cliques


@dataclass(frozen=True)
class NetworkQuilt(Reason):
    """The variable that is hardest to hide, with its quilt and the variables on this side of it."""

    node: str
    quilt: tuple[str, ...]
    near: tuple[str, ...]
    remote: tuple[str, ...]
    max_influence: float
    weight: float
    quilt_size: int
    complete: bool
    member: int | None = None

    @classmethod
    def of(cls, cover: Cover, network: BayesianNetwork, size: int, member: int | None) -> "NetworkQuilt":
        """A quilt with names for numbers."""
        names = list(network.variables)
        beyond = set(range(len(names))) - set(cover.near) - set(cover.quilt)
        quilt, near, remote = (tuple(names[n] for n in sorted(part)) for part in (cover.quilt, cover.near, beyond))
        return cls(
            names[cover.node],
            quilt,
            near,
            remote,
            cover.max_influence,
            cover.weight,
            size,
            cover.complete,
            member,
        )

    def detail(self) -> dict[str, Any]:
        """The reason as plain values."""
        detail = {
            "node": self.node,
            "quilt": list(self.quilt),
            "near": list(self.near),
            "remote": list(self.remote),
            "max_influence": self.max_influence,
            "nearby": len(self.near),
            "weight": self.weight,
            "quilt_size": self.quilt_size,
            "complete": self.complete,
        }
        return detail if self.member is None else detail | {"member": self.member}


@dataclass(frozen=True)
class NetworkReason(Reason):
    """The variable and the two states that are hardest to tell apart, and what tells them apart."""

    node: str
    pair: tuple[str, str]
    own: float
    others: float
    branches: tuple[tuple[str, float], ...]
    clique: tuple[str, ...]
    coarse: int
    reveals: tuple[tuple[str, float], ...] = ()
    member: int | None = None

    @classmethod
    def of(cls, loss: NetworkLoss, network: BayesianNetwork, member: int | None) -> "NetworkReason":
        """A loss with names for numbers."""
        names = list(network.variables)
        states = network.variables[names[loss.node]]
        return cls(
            names[loss.node],
            (states[loss.pair[0]], states[loss.pair[1]]),
            loss.own,
            max(loss.epsilon - loss.own, 0.0),
            tuple((names[j], part) for j, part in loss.branches),
            tuple(names[n] for n in loss.clique if n != loss.node),
            loss.coarse,
            tuple(zip(names, loss.reveals, strict=False)),
            member,
        )

    def detail(self) -> dict[str, Any]:
        """The reason as plain values."""
        detail: dict[str, Any] = {"node": self.node, "pair": list(self.pair), "own": self.own, "others": self.others}
        if self.clique:
            detail |= {"clique": [self.node, *self.clique], "coarse": self.coarse}
            detail |= {"reveals": dict(self.reveals)} if self.reveals else {}
        else:
            detail |= {"branches": dict(self.branches)}
        return detail if self.member is None else detail | {"member": self.member}


def network_quilts(request: Request) -> Calibration:
    """The Markov Quilt Mechanism for records tied by a network.

    >>> pair = BayesianNetwork({"x": "01", "y": "01"}, parents={"y": "x"},
    ...                        tables={"x": [0.5, 0.5], "y": [[0.6, 0.4], [0.4, 0.6]]})
    >>> request = Request.of("count:1", belief=pair, epsilon=1.0, mechanism="quilt-exact")
    >>> round(network_quilts(request).noise_scale, 6)
    1.681987
    """
    belief, epsilon = request.belief, request.epsilon
    size = QUILT_SIZE if request.quilt_size is None else request.quilt_size
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 8:
        raise ParameterError(
            "quilt_size must be a whole number from 1 to 8", got=str(size), why="quilts are searched up to that size"
        )
    asked = request.asked
    if asked.whole < math.inf:
        return whole_records(request)

    def score(weight: float, influence: float) -> float:
        return weight / (epsilon - influence) if influence < epsilon else math.inf  # Statement 16

    networks = _networks(belief)
    weights, secret = asked.lipschitz_by_part, request.secrets.on(belief)
    covers = [QuiltSearch(network, size=size).worst(weights, score, secret) for _, network in networks]
    cover = max(covers, key=lambda candidate: candidate.score)
    n, network = networks[covers.index(cover)]
    scale = cover.score or asked.lipschitz / epsilon  # see docs/decisions/0003
    return Calibration.of(
        request,
        noise_scale=round_up(scale, roundings=8 + len(belief.state_sets)),
        theorem="Markov Quilt Mechanism, Theorem 4.4 of Wang, Song and Chaudhuri 2016, on a network",
        reason=NetworkQuilt.of(cover, network, size, n),
    )


def record_curve(request: Request) -> Calibration:
    """Noise of the smallest scale for which the influence curve on a network is at most ε.

    >>> pair = BayesianNetwork({"x": "01", "y": "01"}, parents={"y": "x"},
    ...                        tables={"x": [0.5, 0.5], "y": [[0.6, 0.4], [0.4, 0.6]]})
    >>> round(record_curve(Request.of("count:1", belief=pair, epsilon=1.0, mechanism="curve")).noise_scale, 4)
    1.1894
    """
    belief, epsilon, guarantee = request.belief, request.epsilon, request.guarantee
    asked = request.asked
    if asked.whole < math.inf:  # a variable alone changes as much as all of them
        return whole_records(request)
    # all variables that may depend on each other at once: group privacy is enough
    enough = belief.heaviest_part(asked.lipschitz_by_part)[0] / epsilon  # Statement 18
    networks = _networks(belief)
    curves = [network_curve(member, guarantee=guarantee) for _, member in networks]
    secret = request.secrets.on(belief)
    needed = [_smallest(curve, asked.table(), epsilon * (1 - ROOM), enough, secret) for curve in curves]
    scale, loss = max(needed, key=lambda candidate: candidate[0])
    n, member = networks[needed.index((scale, loss))]
    if not secret.everything:  # see docs/decisions/0003: what is not secret still gets the noise of one value
        scale = max(scale, asked.lipschitz / epsilon)
    noise_scale = round_up(scale or asked.lipschitz / epsilon)
    profile = _profile(asked.table(), scale or noise_scale)
    along = "the cliques of a network" if loss.clique else "the edges of a tree"
    return Calibration.of(
        request,
        noise_scale=noise_scale,
        theorem=f"influence curve along {along}" + (", by cross-ratios" if guarantee == "bayesian" else ""),
        reason=NetworkReason.of(loss, member, n),
        certificate=network_certificate(request, profile, curves),
    )


def _smallest(
    curve: TreeCurve | CliqueCurve, sensitivity: Sequence[Floats], epsilon: float, enough: float, secret: SecretPairs
) -> tuple[float, NetworkLoss]:
    def look(scale: float) -> NetworkLoss:
        return curve.at(_profile(sensitivity, scale), secret)  # Statements 15, 50 and 61

    if enough == 0:
        return 0.0, curve.at([0.0 * matrix for matrix in sensitivity], secret)
    precision = PRECISION if isinstance(curve, TreeCurve) else ROUGH
    scale = smallest_within(lambda s: look(s).epsilon, epsilon, enough, precision=precision)
    loss = look(scale or enough)
    if isinstance(curve, CliqueCurve) and loss.epsilon > 0:
        profile = [matrix / (scale or enough) for matrix in sensitivity]
        loss = replace(loss, reveals=tuple(curve.reveals(profile, loss) or ()))
    return scale, loss


def _profile(sensitivity: Sequence[Floats], scale: float) -> list[Floats]:
    """λ of noise of a scale, rounded up."""
    return [matrix / scale * (1 + 2.0**-50) if scale else 0.0 * matrix for matrix in sensitivity]  # Statement 8


def _networks(belief: Belief) -> list[tuple[int | None, BayesianNetwork]]:
    return [(n, network) for (n, _), network in zip(belief.numbered_members, belief.networks, strict=True)]
