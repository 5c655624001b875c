"""A calibration's proof, and its check: outward-rounded arithmetic, one pass, no code shared with the search.

A certificate holds the profile λ and for each side a bound R (or L), entry by entry with the number of transitions m
that proves it. The check is the theorem read forwards (theory section 5). With D = λ + R, for every pair (a, b):

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
from numpy.typing import NDArray

from quiltwork.beliefs import Belief, ChainSet, IntervalChain, MarkovChain, MixingClass
from quiltwork.beliefs.structure import closed_classes
from quiltwork.errors import CertificateError

if TYPE_CHECKING:
    from flint import arb

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Row = list["arb"]
BITS = 160


@dataclass(frozen=True)
class SideProof:
    """Bounds of one side: one matrix for every node, or one for each node away from the end of a series.

    ``skips`` says how each entry is proved: by so many transitions at once, or (0) by a shipment.
    """

    values: Floats
    skips: Integers

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
    whole: int | None = None
    """The length of series in which every value may count, if that is the proof."""

    def verify(self, belief: Belief) -> float:
        """The ε that the certificate proves, rounded up; an error that names the entry if it proves nothing."""
        from flint import ctx

        if belief.fingerprint != self.belief:
            raise CertificateError(
                "the certificate is for another belief",
                got=f"fingerprint {belief.fingerprint[:16]}",
                why=f"it was made for {self.belief[:16]}",
            )
        if not (np.isfinite(self.profile).all() and (self.profile >= 0).all()):
            raise CertificateError("the certificate's profile must be finite and not negative")
        if self.whole is not None:
            return self._within(float(np.nextafter(self.whole * float(self.profile.max()), np.inf)))
        chains = belief.members if isinstance(belief, ChainSet) else (belief,)
        if len(chains) != len(self.members):
            raise CertificateError("the certificate must have a proof for each chain", got=f"{len(self.members)}")
        before, ctx.prec = ctx.prec, BITS
        try:
            return max(self._verify(chain, *proofs) for chain, proofs in zip(chains, self.members, strict=True))
        finally:
            ctx.prec = before

    def _verify(self, belief: Belief, future: SideProof, past: SideProof) -> float:
        alive = _alive(belief)
        own = self.profile[np.ix_(alive, alive)]
        for name, proof, kernels in zip(("future", "past"), (future, past), _sides(belief, alive), strict=True):
            _Check(own, proof, kernels, name).run()
        return self._total(own, future.values, past.values)

    def _total(self, own: Floats, future: Floats, past: Floats) -> float:
        """λ + R + L at every node, rounded up."""
        nodes = max(len(future), len(past))
        off = ~np.eye(len(own), dtype=bool)
        worst = 0.0
        for node in range(nodes):
            R = future[0] if len(future) == 1 else future[nodes - 1 - node]
            L = past[0] if len(past) == 1 else past[node]
            total = np.nextafter(np.nextafter(own + R, np.inf) + L, np.inf)[off].max(initial=0.0)
            worst = max(worst, float(total))
        return self._within(worst)

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
            "whole": self.whole,
            "members": [
                [{"values": proof.values.tolist(), "skips": proof.skips.tolist()} for proof in sides]
                for sides in self.members
            ],
        }

    @classmethod
    def from_dict(cls, contents: dict[str, Any]) -> "Certificate":
        """The certificate that ``to_dict`` wrote."""
        proofs = [[SideProof(np.array(p["values"]), np.array(p["skips"])) for p in m] for m in contents["members"]]
        pairs = tuple((future, past) for future, past in proofs)
        profile = np.array(contents["profile"], dtype=np.float64)
        return cls(contents["belief"], contents["epsilon"], profile, pairs, contents["whole"])


class _Kernels:
    """One side of a belief in balls: for m transitions, when a claimed step is proved."""

    def proves(self, a: int, b: int, skip: int, claim: "arb", difference: "arb") -> bool:
        raise NotImplementedError

    def shipping_rows(self) -> list[Row] | None:
        """The rows of one transition, if they are known."""
        return None


class _Fixed(_Kernels):
    """A known matrix: the scalar step over all sets of next states at once.

    P[a]·v ≤ r P[b]·v for all v between 1 and e^D exactly if (e^D - 1) Σ (P[a] - r P[b])+ ≤ Σ (r P[b] - P[a]).
    """

    def __init__(self, rows: list[Row]):
        from flint import arb_mat

        self._rows = rows
        self._powers: dict[int, list[Row]] = {1: rows}
        self._matrix = arb_mat(len(rows), len(rows), [entry for row in rows for entry in row])

    def shipping_rows(self) -> list[Row]:
        return self._rows

    def _power(self, skip: int) -> list[Row]:
        if skip not in self._powers:
            power = self._matrix**skip
            k = len(self._rows)
            self._powers[skip] = [[power[a, y] for y in range(k)] for a in range(k)]
        return self._powers[skip]

    def proves(self, a: int, b: int, skip: int, claim: "arb", difference: "arb") -> bool:
        rows = self._power(skip)
        r = claim.exp()
        excess = [x - r * y for x, y in zip(rows[a], rows[b], strict=True)]
        return bool(difference.expm1() * sum(_positive(e) for e in excess) <= -sum(excess))


class _Columns(_Kernels):
    """The past of every start: the projective step with the cross-ratios of columns."""

    def __init__(self, transition: list[Row]):
        from flint import arb_mat

        k = len(transition)
        self._matrix = arb_mat(k, k, [entry for row in transition for entry in row])
        self._cross: dict[tuple[int, int, int], arb | None] = {}
        self._powers: dict[int, Any] = {}

    def _column(self, skip: int, state: int) -> Row:
        if skip not in self._powers:
            self._powers[skip] = self._matrix**skip
        return [self._powers[skip][z, state] for z in range(self._matrix.nrows())]

    def proves(self, a: int, b: int, skip: int, claim: "arb", difference: "arb") -> bool:
        return _projective(_cross_ratio(self._column(skip, a), self._column(skip, b)), claim, difference)


class _Within(_Kernels):
    """A matrix within bounds, which may differ from step to step; bounds on products by duality."""

    def __init__(self, lower: list[Row], upper: list[Row], *, past: bool):
        self._products = {1: (lower, upper)}
        self._past = past

    def _product(self, skip: int) -> tuple[list[Row], list[Row]]:
        if skip not in self._products:
            half = skip // 2 if skip % 2 == 0 else skip - 1
            (lower, upper), (low, high) = self._product(half), self._product(skip - half)
            k = range(len(lower))
            columns = [([low[y][z] for y in k], [high[y][z] for y in k]) for z in k]
            self._products[skip] = (
                [[-_most(lower[a], upper[a], [-v for v in least]) for least, _ in columns] for a in k],
                [[_most(lower[a], upper[a], most) for _, most in columns] for a in k],
            )
        return self._products[skip]

    def proves(self, a: int, b: int, skip: int, claim: "arb", difference: "arb") -> bool:
        lower, upper = self._product(skip)
        if self._past:
            lower, upper = [list(c) for c in zip(*lower, strict=True)], [list(c) for c in zip(*upper, strict=True)]
            return _projective(_interval_cross_ratio(lower, upper, a, b), claim, difference)
        if _projective(_interval_cross_ratio(lower, upper, a, b), claim, difference):
            return True
        r, gain = claim.exp(), difference.expm1()
        if all(u <= r * low for u, low in zip(upper[a], lower[b], strict=True)):
            return True
        for up, down in itertools.product((1.0, 0.5, 0.0), repeat=2):
            above = [up * u + (1 - up) * low for low, u in zip(lower[a], upper[a], strict=True)]
            below = [down * low + (1 - down) * u for low, u in zip(lower[b], upper[b], strict=True)]
            most, least = (1 - up) * (1 - sum(lower[a])), (1 - down) * (1 - sum(upper[b]))
            over = sum(_positive(x - r * y) for x, y in zip(above, below, strict=True))
            if gain * over <= r * (1 + gain * least) - (1 + gain * most):
                return True
        return False


class _Mixing(_Kernels):
    """Any chain that mixes fast enough (C Lemma 2.3): only ratios are known."""

    def __init__(self, known: MixingClass, *, past: bool):
        self._known = known
        self._past = past

    def proves(self, a: int, b: int, skip: int, claim: "arb", difference: "arb") -> bool:  # noqa: ARG002 - all alike
        from flint import arb

        rate = arb(self._known.gap) if self._known.reversible else arb(self._known.gap) / 2
        delta = (-rate * skip).exp() / arb(self._known.pi_min)
        if not delta < 1:
            return bool(difference <= claim)
        ratio = (1 + delta) / (1 - delta)
        if self._past:
            return _projective(ratio * ratio, claim, difference)
        e = difference.exp()
        return bool(((1 + ratio * e) / (ratio + e)).log() <= claim) or bool(ratio.log() <= claim)


class _Check:
    """One side's proof, entry by entry."""

    def __init__(self, own: Floats, proof: SideProof, kernels: _Kernels, name: str):
        self._own, self._proof, self._kernels, self._name = own, proof, kernels, name
        self._endless = len(proof.values) == 1
        k = len(own)
        if proof.values.shape[1:] != (k, k) or proof.skips.shape != proof.values.shape:
            raise CertificateError(f"the {name} of the certificate must have a matrix over the {k} possible states")
        if np.isnan(proof.values).any() or (proof.values < 0).any():
            raise CertificateError(f"the {name} of the certificate must have entries that are not negative")

    @cached_property
    def _most(self) -> "arb":
        from flint import arb

        return arb(float(self._own.max()))

    def run(self) -> None:
        for node in range(len(self._proof.values)):
            if node == 0 and not self._endless:
                continue  # nothing lies beyond the last node
            for a, b in itertools.permutations(range(len(self._own)), 2):
                if not self._entry(node, a, b):
                    raise CertificateError(
                        f"entry ({a + 1}, {b + 1}) of the certificate's {self._name} is not proved",
                        why="one more step can make it larger",
                    )

    def _entry(self, node: int, a: int, b: int) -> bool:
        from flint import arb

        skip = int(self._proof.skips[node, a, b])
        source = node if self._endless else node - max(skip, 1)
        if source < 0 or skip < 0:
            return False
        claim = arb(float(self._proof.values[node, a, b]))
        if skip == 0:
            return self._shipped(source, a, b, claim)
        return self._kernels.proves(a, b, skip, claim - (skip - 1) * self._most, self._largest(source))

    def _largest(self, node: int) -> "arb":
        """The largest D at a node."""
        if node not in self._held:
            self._held[node] = _max([x for row in self._difference(node) for x in row])
        return self._held[node]

    @cached_property
    def _held(self) -> dict[int, "arb"]:
        return {}

    def _difference(self, node: int) -> list[Row]:
        from flint import arb

        values = self._proof.values[node]
        k = range(len(self._own))
        return [[arb(0) if y == z else arb(float(self._own[y, z])) + arb(float(values[y, z])) for z in k] for y in k]

    @cached_property
    def _shortest(self) -> dict[int, tuple[list[Row], Integers]]:
        return {}

    def _gains(self, node: int) -> tuple[list[Row], Integers]:
        """exp of the shortest D between each two states, and each state's targets, nearest first."""
        if node not in self._shortest:
            D = self._difference(node)
            k = range(len(D))
            for middle in k:
                for y in k:
                    first = D[y][middle]
                    D[y] = [_min(D[y][z], first + D[middle][z]) for z in k]
            near = np.argsort([[float(x.mid()) for x in row] for row in D], axis=1, kind="stable")
            self._shortest[node] = [[x.exp() for x in row] for row in D], near
        return self._shortest[node]

    def _shipped(self, node: int, a: int, b: int, claim: "arb") -> bool:
        """Whether the excess (P[a] - r P[b])+ can be shipped to the deficits, nearest first."""
        rows = self._kernels.shipping_rows()
        if rows is None:
            return False
        gains, near = self._gains(node)
        r = claim.exp()
        balance = [p - r * q for p, q in zip(rows[a], rows[b], strict=True)]
        excess = {y: _positive(x) for y, x in enumerate(balance) if not x <= 0}  # also where the sign is in doubt
        room = {z: -x for z, x in enumerate(balance) if x < 0}
        order = sorted(
            ((float(gains[y][z].mid()), y, int(z)) for y in excess for z in near[y] if int(z) in room),
            key=lambda one: one[0],
        )
        for _, y, z in order:
            if y not in excess or z not in room:
                continue
            needed = excess[y] * gains[y][z]
            if needed <= room[z]:
                room[z] -= needed
                del excess[y]
            else:
                excess[y] = _positive(excess[y] - room.pop(z) / gains[y][z])
        return not excess


def _alive(belief: Belief) -> NDArray[np.intp]:
    """The states that can occur."""
    if isinstance(belief, MarkovChain) and belief.start == "stationary":
        return np.sort(closed_classes(np.asarray(belief.transition > 0))[0])
    return np.arange(len(belief.states))


def _sides(belief: Belief, alive: NDArray[np.intp]) -> tuple[_Kernels, _Kernels]:
    """Both sides of a belief, computed anew."""
    if isinstance(belief, MarkovChain):
        rows = _normalised(belief.transition[np.ix_(alive, alive)])
        if belief.start != "stationary":
            return _Fixed(rows), _Columns(rows)
        pi = _stationary(rows)
        k = range(len(rows))
        return _Fixed(rows), _Fixed([[pi[z] * rows[z][x] / pi[x] for z in k] for x in k])
    if isinstance(belief, IntervalChain):
        lower, upper = _balls(belief.lower), _balls(belief.upper)
        lower = [[x / _max([sum(row), 1]) for x in row] for row in lower]
        upper = [[x / _min(sum(row), 1) for x in row] for row in upper]
        return _Within(lower, upper, past=False), _Within(lower, upper, past=True)
    if isinstance(belief, MixingClass):
        return _Mixing(belief, past=False), _Mixing(belief, past=True)
    raise CertificateError("no certificate is known for this kind of belief", got=repr(belief))


def _balls(table: Floats) -> list[Row]:
    from flint import arb

    return [[arb(float(x)) for x in row] for row in table]


def _normalised(table: Floats) -> list[Row]:
    rows = _balls(table)
    return [[x / total for x in row] for row, total in ((row, sum(row)) for row in rows)]


def _stationary(rows: list[Row]) -> Row:
    """π with π P = π and Σ π = 1, by solving the equations in balls."""
    from flint import arb, arb_mat

    k = len(rows)
    equations = [[rows[y][x] - (1 if x == y else 0) for y in range(k)] for x in range(k)]
    equations[-1] = [arb(1)] * k
    right = [arb(0)] * (k - 1) + [arb(1)]
    try:
        solved = arb_mat(equations).solve(arb_mat(k, 1, right))
    except ZeroDivisionError as problem:
        raise CertificateError("the stationary law cannot be enclosed", why="the equations are too close") from problem
    return [solved[x, 0] for x in range(k)]


def _most(lower: Row, upper: Row, values: Row) -> "arb":
    """At least max p·values over laws p within the bounds; by duality any threshold gives such a bound."""
    order = sorted(range(len(values)), key=lambda y: -float(values[y].mid()))
    left, threshold = 1 - sum(lower), values[order[-1]]
    for y in order:
        left -= upper[y] - lower[y]
        if left <= 0:
            threshold = values[y]
            break
    best = threshold * (1 - sum(lower))
    for low, high, v in zip(lower, upper, values, strict=True):
        best += low * v + (high - low) * _positive(v - threshold)
    return best


def _cross_ratio(one: Row, other: Row) -> "arb | None":
    """The largest cross-ratio of two rows; None if infinite, 1 if both are empty."""
    from flint import arb

    pairs = [(x, y) for x, y in zip(one, other, strict=True) if not (x == 0 and y == 0)]
    if all(x == 0 for x, _ in pairs) or all(y == 0 for _, y in pairs):
        return arb(1)  # a state that cannot occur is no secret
    if not all(x > 0 and y > 0 for x, y in pairs):
        return None
    return _max([x / y for x, y in pairs]) * _max([y / x for x, y in pairs])


def _interval_cross_ratio(lower: list[Row], upper: list[Row], a: int, b: int) -> "arb | None":
    from flint import arb

    if all(u == 0 for u in upper[a]) or all(u == 0 for u in upper[b]):
        return arb(1)
    found = arb(1)
    for one, other in ((a, b), (b, a)):
        pairs = [(u, low) for u, low in zip(upper[one], lower[other], strict=True) if not u <= 0]
        if not all(low > 0 for _, low in pairs):
            return None
        found *= _max([u / low for u, low in pairs])
    return found


def _projective(ratio: "arb | None", claim: "arb", difference: "arb") -> bool:
    if ratio is None:
        return bool(difference <= claim)
    r, e = _max([ratio, 1]).sqrt(), difference.exp().sqrt()
    return bool(2 * ((1 + r * e) / (r + e)).log() <= claim) or bool(ratio.log() <= claim)


def _positive(x: "arb") -> "arb":
    """At least max(x, 0), without a sign that is in doubt."""
    from flint import arb

    return arb(0) if x <= 0 else _max([x, 0])


def _max(numbers: list[Any]) -> "arb":
    from flint import arb

    found = arb(numbers[0])
    for number in numbers[1:]:
        found = found.max(arb(number))
    return found


def _min(one: Any, other: Any) -> "arb":
    from flint import arb

    return arb(one).min(arb(other))
