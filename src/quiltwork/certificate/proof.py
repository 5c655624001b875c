"""A calibration's proof, and its check: outward-rounded arithmetic, one pass, no code shared with the search.

A certificate holds the profile λ and for each side a bound R (or L), entry by entry with the number of transitions m
that proves it. The check is the theorem read forwards (Statements 9 to 14). With D = λ + R, for every pair (a, b):

    m ≥ 1   R[a,b] ≥ (m - 1) max λ + step with the m-th power of the kernel and the largest D
    m = 0   R[a,b] ≥ step with D by pair, proved by a shipment

and λ + R + L ≤ ε in every entry. Balls of Arb (python-flint) carry every rounding error along. A series that never
forgets needs no more than its length: T max λ ≤ ε.
"""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork.beliefs import Belief
from quiltwork.certificate.balls import largest, positive, smaller
from quiltwork.certificate.sides import Kernels, both_sides, possible
from quiltwork.errors import CertificateError
from quiltwork.types import Floats, Integers

if TYPE_CHECKING:
    from flint import arb

BITS = 160


@dataclass(frozen=True)
class SideProof:
    """Bounds of one side: a matrix for each node away from the end; if ``steady``, the last holds for all that follow.

    ``skips`` says how each entry is proved: by so many transitions at once, or (0) by a shipment.
    """

    values: Floats
    skips: Integers
    steady: bool = True

    def __post_init__(self) -> None:
        for name in ("values", "skips"):
            table = np.array(getattr(self, name))
            object.__setattr__(self, name, table if table.ndim == 3 else table[None])


@dataclass(frozen=True)
class Certificate:
    """What is needed to check a calibration by the influence curve.

    >>> from quiltwork import MarkovChain, calibrate
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    >>> certificate = calibrate("count:1", belief=chain, epsilon=1.0).certificate
    >>> certificate.verify(chain) <= 1.0
    True
    """

    belief: str
    epsilon: float
    profile: Floats
    members: tuple[tuple[SideProof, SideProof], ...]
    length: int | None = None
    """For series of up to this length (None: every length). Without members the proof is that all values may count."""
    bayesian: bool = False
    """Whether it is against adversaries who know any other values."""

    def verify(self, belief: Belief) -> float:
        """The ε that the certificate proves, rounded up; an error that names the entry if it proves nothing."""
        from flint import ctx

        if belief.fingerprint != self.belief:
            belief = belief.settled()  # a start that is the stationary law by another name
        if belief.fingerprint != self.belief:
            raise CertificateError(
                "the certificate is for another belief",
                got=f"fingerprint {belief.fingerprint[:16]}",
                why=f"it was made for {self.belief[:16]}",
            )
        if not (np.isfinite(self.profile).all() and (self.profile >= 0).all()):
            raise CertificateError("the certificate's profile must be finite and not negative")
        if self.length is not None and (isinstance(self.length, bool) or not self.length >= 1):
            raise CertificateError("the certificate's length must be at least 1", got=str(self.length))
        if not self.members and self.length is not None:
            return self._within(float(np.nextafter(self.length * float(self.profile.max()), np.inf)))
        chains = belief.members
        if len(chains) != len(self.members):
            raise CertificateError("the certificate must have a proof for each chain", got=f"{len(self.members)}")
        before, ctx.prec = ctx.prec, BITS
        try:
            return max(self._verify(chain, *proofs) for chain, proofs in zip(chains, self.members, strict=True))
        finally:
            ctx.prec = before

    def _verify(self, belief: Belief, future: SideProof, past: SideProof) -> float:
        alive = possible(belief)
        profile = self.profile[np.ix_(alive, alive)]
        if belief.alike:
            profile = float(self.profile.max()) * (1 - np.eye(len(alive)))
        for name, proof in (("future", future), ("past", past)):
            if len(proof.values) < 1 or (not proof.steady and len(proof.values) != self.length):
                raise CertificateError(
                    f"the {name} of the certificate must cover every node of its series",
                    got=f"{len(proof.values)} nodes",
                    why="all lengths" if self.length is None else f"series of {self.length} values",
                )
        sides = both_sides(belief, bayesian=self.bayesian)
        for name, proof, kernels in zip(("future", "past"), (future, past), sides, strict=True):
            _Check(profile, proof, kernels, name).run()
        return self._total(profile, future, past)

    def _total(self, profile: Floats, future: SideProof, past: SideProof) -> float:
        """λ + R + L at every node, rounded up."""
        if future.steady or past.steady:
            # in series of all lengths every R meets every L
            sums = [(future.values.max(axis=0), past.values.max(axis=0))]
        else:
            sums = list(zip(future.values[::-1], past.values, strict=True))
        off = ~np.eye(len(profile), dtype=bool)
        totals = [np.nextafter(np.nextafter(profile + R, np.inf) + L, np.inf)[off].max(initial=0.0) for R, L in sums]
        return self._within(float(max(totals)))

    def _within(self, worst: float) -> float:
        if not worst <= self.epsilon:
            raise CertificateError(
                f"the certificate must prove epsilon = {self.epsilon:g}",
                got=f"{worst:g}",
                why="the value, what follows it and what led to it add up to more",
            )
        return worst

    def to_dict(self) -> dict[str, Any]:
        """Plain values, to be written to a file."""
        return {
            "belief": self.belief,
            "epsilon": self.epsilon,
            "profile": self.profile.tolist(),
            "length": self.length,
            "bayesian": self.bayesian,
            "members": [
                [{"values": p.values.tolist(), "skips": p.skips.tolist(), "steady": p.steady} for p in sides]
                for sides in self.members
            ],
        }

    @classmethod
    def from_dict(cls, contents: dict[str, Any]) -> "Certificate":
        """The certificate that ``to_dict`` wrote."""
        try:
            return cls._read(contents)
        except (KeyError, TypeError, ValueError) as problem:
            raise CertificateError(
                "the certificate cannot be read", got="other contents than to_dict() writes"
            ) from problem

    @classmethod
    def _read(cls, contents: dict[str, Any]) -> "Certificate":
        proofs = [
            [SideProof(np.array(p["values"]), np.array(p["skips"]), p["steady"]) for p in sides]
            for sides in contents["members"]
        ]
        pairs = tuple((future, past) for future, past in proofs)
        profile = np.array(contents["profile"], dtype=np.float64)
        return cls(
            contents["belief"], contents["epsilon"], profile, pairs, contents["length"], contents.get("bayesian", False)
        )


class _Check:
    """One side's proof, entry by entry."""

    def __init__(self, profile: Floats, proof: SideProof, kernels: Kernels, name: str):
        self._profile, self._proof, self._kernels, self._name = profile, proof, kernels, name
        k = len(profile)
        if proof.values.shape[1:] != (k, k) or proof.skips.shape != proof.values.shape:
            raise CertificateError(f"the {name} of the certificate must have a matrix over the {k} possible states")
        if np.isnan(proof.values).any() or (proof.values < 0).any():
            raise CertificateError(f"the {name} of the certificate must have entries that are not negative")

    @cached_property
    def _most(self) -> "arb":
        from flint import arb

        return arb(float(self._profile.max()))

    def run(self) -> None:
        """Every entry of every node; the last node stands for all that follow if the proof is steady."""
        last = len(self._proof.values) - 1
        if self._proof.steady and last > 0 and np.any(self._proof.values[-1] < self._proof.values[-2]):
            raise CertificateError(f"the last of the certificate's {self._name} must not be below what leads to it")
        for node in range(len(self._proof.values)):
            steady = self._proof.steady and node == last
            if node == 0 and not steady:
                continue  # nothing lies beyond the last node
            self._kernels = self._kernels.at(max(node - 1, 0) if steady else node, steady)
            for a, b in itertools.permutations(range(len(self._profile)), 2):
                if not self._entry(node, a, b, steady):
                    raise CertificateError(
                        f"entry ({a + 1}, {b + 1}) of the certificate's {self._name} is not proved",
                        why="one more step can make it larger",
                    )

    def _entry(self, node: int, a: int, b: int, steady: bool) -> bool:
        from flint import arb

        skip = int(self._proof.skips[node, a, b])
        source = node if steady else node - max(skip, 1)
        claim = arb(float(self._proof.values[node, a, b]))
        if skip < 0:
            return False
        if source < 0:  # fewer values than that lie on this side
            return bool(claim >= node * self._most)
        if skip == 0:
            return self._shipped(source, a, b, claim)
        difference = self._largest(source)
        if steady and skip > 1:  # from there on, earlier nodes are looked back to as well
            difference = largest([self._largest(earlier) for earlier in range(node + 1)])
        return self._kernels.proves(a, b, skip, claim - (skip - 1) * self._most, difference)

    def _largest(self, node: int) -> "arb":
        """The largest D at a node."""
        if node not in self._held:
            self._held[node] = largest([0, *(x for row in self._difference(node).values() for x in row.values())])
        return self._held[node]

    @cached_property
    def _held(self) -> dict[int, "arb"]:
        return {}

    def _difference(self, node: int) -> dict[int, dict[int, "arb"]]:
        """D at a node, between the states that may occur there: nothing is known about values at others."""
        from flint import arb

        steady = self._proof.steady and node == len(self._proof.values) - 1
        here = [x for x in range(len(self._profile)) if self._kernels.occurs(node, steady, x)]
        values = self._proof.values[node]
        return {
            y: {z: arb(float(self._profile[y, z])) + arb(float(values[y, z])) if y != z else arb(0) for z in here}
            for y in here
        }

    @cached_property
    def _shortest(self) -> dict[int, dict[int, dict[int, "arb"]]]:
        return {}

    def _gains(self, node: int) -> dict[int, dict[int, "arb"]]:
        """exp of the shortest D between each two states."""
        if node not in self._shortest:
            D = self._difference(node)
            for middle in D:
                for y, row in D.items():
                    first = row[middle]
                    D[y] = {z: smaller(row[z], first + D[middle][z]) for z in row}
            self._shortest[node] = {y: {z: x.exp() for z, x in row.items()} for y, row in D.items()}
        return self._shortest[node]

    def _shipped(self, node: int, a: int, b: int, claim: "arb") -> bool:
        """Whether the excess (P[a] - r P[b])+ can be shipped to the deficits, nearest first."""
        rows = self._kernels.shipping_rows()
        if rows is None:
            return False
        gains = self._gains(node)
        r = claim.exp()
        balance = [p - r * q for p, q in zip(rows[a], rows[b], strict=True)]
        excess = {y: positive(x) for y, x in enumerate(balance) if not x <= 0}  # also where the sign is in doubt
        room = {z: -x for z, x in enumerate(balance) if x < 0}
        if not all(y in gains for y in excess):
            return False
        costs = {(y, z): float(gains[y][z].mid()) for y in excess for z in room if z in gains[y]}
        for y, z in sorted(costs, key=costs.__getitem__):
            if y not in excess or z not in room:
                continue
            needed = excess[y] * gains[y][z]
            if needed <= room[z]:
                room[z] -= needed
                del excess[y]
            else:
                excess[y] = positive(excess[y] - room.pop(z) / gains[y][z])
        return not excess
