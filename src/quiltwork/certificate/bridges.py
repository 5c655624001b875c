"""Bridges between a start and a value, in balls: the check of a bound for any start (Statements 45 to 47)."""

import itertools

import numpy as np
from flint import arb, arb_mat

from quiltwork.beliefs import Belief
from quiltwork.certificate.balls import Row, normalised, positive
from quiltwork.certificate.proof import BRIDGED, SideProof
from quiltwork.certificate.shipping import gains_of, shipped
from quiltwork.types import Floats


def proves_bridges(belief: Belief, profile: Floats, proof: SideProof, *, bayesian: bool) -> bool:
    """Whether every entry that rests on bridges is proved, at the first nodes and at all later ones."""
    bridges = proof.bridges
    if bridges is None or bayesian or belief.start != "any" or not proof.steady or len(proof.values) != 1:
        return False
    k, steps = len(profile), bridges.steps
    shape = (len(steps), k, k, k)
    if bridges.told.shape != shape or bridges.ends.shape != shape or steps[0] != 1 or (np.diff(steps) < 1).any():
        return False
    if not all(np.isfinite(table).all() and (table >= 0).all() for table in (bridges.told, bridges.ends)):
        return False
    if bridges.told[0].any() or bridges.ends[0].any():
        return False  # nothing lies between neighbours: there is no need for more
    (chain,) = belief.chains
    rows = normalised(chain.transition)
    matrix = arb_mat(k, k, [entry for row in rows for entry in row])
    powers = {int(n): matrix ** int(n) for n in {*steps.tolist(), *np.diff(steps).tolist()}}
    check = _Bridged(profile, proof, powers)
    return all(check.longer(j) for j in range(1, len(steps))) and all(check.node(j) for j in range(len(steps)))


class _Bridged:
    """A proof by bridges, piece by piece."""

    def __init__(self, profile: Floats, proof: SideProof, powers: dict[int, arb_mat]):
        assert proof.bridges is not None  # noqa: S101 - checked before
        self._profile, self._bridges, self._powers = profile, proof.bridges, powers
        self._values, self._skips = proof.values[0], proof.skips[0]
        self._most = arb(float(profile.max()))
        self._k = range(len(profile))

    def longer(self, j: int) -> bool:
        """Whether both tables follow from those of the step before."""
        before, after = (int(n) for n in self._bridges.steps[j - 1 : j + 1])
        law, by, both = (self._table(n) for n in (before, after - before, after))
        turned = [[list(column) for column in zip(*rows, strict=True)] for rows in (law, by, both)]
        return self._follows(j, self._bridges.told, law, by, both) and self._follows(j, self._bridges.ends, *turned)

    def _table(self, steps: int) -> list[Row]:
        return [[self._powers[steps][x, y] for y in self._k] for x in self._k]

    def _follows(self, j: int, tables: Floats, law: list[Row], by: list[Row], both: list[Row]) -> bool:
        skipped = (int(self._bridges.steps[j] - self._bridges.steps[j - 1]) - 1) * self._most
        for z in self._k:
            here = [y for y in self._k if law[z][y] != 0]
            there = [a for a in self._k if both[z][a] != 0]
            if not all(law[z][y] > 0 for y in here) or not all(both[z][a] > 0 for a in there):
                return False
            D = np.nextafter(self._profile + tables[j - 1, z], np.inf)  # not below their sum
            gains = gains_of({y: {x: arb(float(D[y, x])) if x != y else arb(0) for x in here} for y in here})
            rows = {a: [law[z][y] * by[y][a] / both[z][a] for y in self._k] for a in there}
            for a, b in itertools.permutations(there, 2):
                claim = arb(float(tables[j, z, a, b])) - skipped
                if not claim >= 0 or not shipped(rows[a], rows[b], claim, gains):
                    return False
        return True

    def node(self, j: int) -> bool:
        """Whether the bound holds this number of steps after the start, and (after the last) at all later nodes."""
        steps, last = self._bridges.steps, j + 1 == len(self._bridges.steps)
        reach = 0 if last else int(steps[j + 1] - steps[j]) - 1
        nothing = np.zeros_like(self._values)
        linked = np.diagonal(self._profile).max(initial=0.0) * (1 - np.eye(len(nothing)))  # Statement 49
        before = np.nextafter(self._values + linked, np.inf) if linked.any() else self._values
        ways = [(nothing, reach * self._most), *([(before, arb(0))] if last else [])]
        return all(self._bounded(j, earlier, extra) for earlier, extra in ways)

    def _bounded(self, j: int, earlier: Floats, extra: arb) -> bool:
        """Whether the step from a start, about which this much was told before, stays within the bound."""
        power, steps = self._table(int(self._bridges.steps[j])), int(self._bridges.steps[j])
        changed = arb(float(np.nextafter((self._profile + earlier).max(), np.inf)))
        for a, b in itertools.permutations(self._k, 2):
            if self._skips[a, b] != BRIDGED:
                continue
            room = arb(float(self._values[a, b])) - extra
            if changed + (steps - 1) * self._most <= room:  # Statement 18
                continue
            starts = [z for z in self._k if power[z][a] != 0 or power[z][b] != 0]
            if not all(power[z][a] > 0 and power[z][b] > 0 for z in starts):
                return False
            shift = {z: (power[z][a] / power[z][b]).log() for z in starts}
            told = {z: arb(float(self._bridges.told[j, z, a, b])) for z in starts}
            if not all(own <= room for own in told.values()):
                return False
            for z, y in itertools.permutations(starts, 2):
                shown = (self._profile[z, y], self._bridges.ends[j, b, z, y], earlier[z, y])
                D = sum((arb(float(part)) for part in shown), arb(0))
                if not _two_starts(shift[z] - shift[y], D, told[z].max(told[y]), room):
                    return False
        return True


def _two_starts(c: arb, D: arb, own: arb, room: arb) -> bool:
    """Whether a start on two states tells no more than there is room for (Statement 46)."""
    if c <= 0:
        return True
    c = positive(c)
    if own + c <= room or own + D <= room:
        return True
    e, d = (c / 2).exp(), (D / 2).exp()
    return bool(own + 2 * ((1 + e * d) / (e + d)).log() <= room)
