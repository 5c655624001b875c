"""The check of a certificate by balls of Arb: every entry of both sides, one pass."""

import itertools
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from flint import arb, ctx

from quiltwork.beliefs import Belief, SecretPairs
from quiltwork.certificate.balls import Row, largest, normalised, stationary_balls
from quiltwork.certificate.bridges import proves_bridges
from quiltwork.certificate.proof import BRIDGED, SideProof
from quiltwork.certificate.shipping import Gains, gains_of, shipped
from quiltwork.certificate.sides import Kernels, both_sides, possible
from quiltwork.errors import CertificateError
from quiltwork.types import Flags, Floats

BITS = 160


def checked(belief: Belief, profile: Floats, future: SideProof, past: SideProof, *, bayesian: bool) -> Floats:
    """The profile over the states that can occur, once every entry of both sides is proved; else an error."""
    alive = possible(belief)
    held = float(profile.max()) * (1 - np.eye(len(alive))) if belief.alike else profile[np.ix_(alive, alive)]
    before, ctx.prec = ctx.prec, BITS
    try:
        sides = both_sides(belief, bayesian=bayesian)
        for name, proof, kernels in zip(("future", "past"), (future, past), sides, strict=True):
            _Check(held, proof, kernels, name).run()
            bridged = bool((proof.skips == BRIDGED).any())
            if bridged and (name == "future" or not proves_bridges(belief, held, proof, bayesian=bayesian)):
                raise CertificateError(
                    f"the {name} of the certificate is not proved",
                    why="what lies between a start and a value may tell more, or the start is not any start",
                )
    finally:
        ctx.prec = before
    return held


def between_secrets(
    belief: Belief, secret: SecretPairs, totals: Sequence[Floats], epsilon: float, *, bayesian: bool
) -> float:
    """The largest of what is told about secrets, from what is told between states at some nodes.

    Where the states of two sets tell more than ε, the law given the one set may still be shipped to that given the
    other: then it is ε, which is all that is claimed.
    """
    alive = possible(belief)
    apart = secret.of_steps()[np.ix_(alive, alive)]
    worst = max(float(total[apart].max(initial=0.0)) for total in totals)
    stationary = bool(belief.chains) and belief.start == "stationary" and belief.step_variables is None
    if worst <= epsilon or bayesian or not stationary or not any(secret.sets):
        return worst
    single = secret.pairs[0][np.ix_(alive, alive)]
    worst = max(float(total[single].max(initial=0.0)) for total in totals)
    before, ctx.prec = ctx.prec, BITS
    try:
        law = stationary_balls(normalised(belief.chains[0].transition[np.ix_(alive, alive)]))
        for total in totals:
            gains = gains_of(
                {y: {z: arb(float(x)) if y != z else arb(0) for z, x in enumerate(row)} for y, row in enumerate(total)}
            )
            for one, other in ((one[alive], other[alive]) for one, other in secret.sets[0]):
                if not one.any() or not other.any():
                    continue
                rows = [_given(law, side) for side in (one, other)]
                if not all(shipped(p, q, arb(epsilon), gains) for p, q in itertools.permutations(rows)):  # Statement 62
                    largest_pair = max(float(total[np.ix_(one, other)].max()), float(total[np.ix_(other, one)].max()))
                    worst = max(worst, largest_pair)
                else:
                    worst = max(worst, epsilon)
    finally:
        ctx.prec = before
    return worst


def _given(law: Row, inside: Flags) -> Row:
    """The law given a set of states."""
    whole = sum((p for p, here in zip(law, inside, strict=True) if here), arb(0))
    return [p / whole if here else arb(0) for p, here in zip(law, inside, strict=True)]


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
    def _most(self) -> arb:
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
        skip = int(self._proof.skips[node, a, b])
        source = node if steady else node - max(skip, 1)
        claim = arb(float(self._proof.values[node, a, b]))
        if skip == BRIDGED and self._proof.bridges is not None:
            return True  # checked by itself
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

    def _largest(self, node: int) -> arb:
        """The largest D at a node."""
        if node not in self._held:
            self._held[node] = largest([0, *(x for row in self._difference(node).values() for x in row.values())])
        return self._held[node]

    @cached_property
    def _held(self) -> dict[int, arb]:
        return {}

    def _difference(self, node: int) -> dict[int, dict[int, arb]]:
        """D at a node, between the states that may occur there: nothing is known about values at others."""
        steady = self._proof.steady and node == len(self._proof.values) - 1
        here = [x for x in range(len(self._profile)) if self._kernels.occurs(node, steady, x)]
        values = self._proof.values[node]
        return {
            y: {z: arb(float(self._profile[y, z])) + arb(float(values[y, z])) if y != z else arb(0) for z in here}
            for y in here
        }

    @cached_property
    def _shortest(self) -> dict[int, Gains]:
        return {}

    def _gains(self, node: int) -> Gains:
        """exp of the shortest D between each two states."""
        if node not in self._shortest:
            self._shortest[node] = gains_of(self._difference(node))
        return self._shortest[node]

    def _shipped(self, node: int, a: int, b: int, claim: arb) -> bool:
        """Whether the excess (P[a] - r P[b])+ can be shipped to the deficits, nearest first."""
        rows = self._kernels.shipping_rows()
        if rows is None:
            return False
        return shipped(rows[a], rows[b], claim, self._gains(node))  # Statement 11
