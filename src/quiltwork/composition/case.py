"""Releases from one data set, as the rules see them."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quiltwork.beliefs import (
    BayesianNetwork,
    Belief,
    ChainSet,
    IntervalChain,
    MarkovChain,
    MixingClass,
    RecordBelief,
)
from quiltwork.composition.records import ReleaseRecord
from quiltwork.influence.contraction import Floats
from quiltwork.influence.curve import Promise, curve_members
from quiltwork.influence.profile import Profile
from quiltwork.influence.quilts import quilts_epsilon
from quiltwork.influence.timeline import Losses, loss_along_time
from quiltwork.influence.tree import tree_epsilon
from quiltwork.rounding import round_up

NO_PROMISE = (None, "entry")  # a release by these has no Pufferfish ε of its own


@dataclass(frozen=True)
class Case:
    """Releases from series of one length (None: any) under one belief."""

    belief: Belief
    releases: tuple[ReleaseRecord, ...]
    length: int | None
    promise: Promise = "pufferfish"

    @property
    def chain_like(self) -> bool:
        """Whether the belief is about chains."""
        return isinstance(self.belief, MarkovChain | ChainSet | IntervalChain | MixingClass)

    @property
    def network(self) -> BayesianNetwork | None:
        """The network that the belief is about (of a set, its first: they share one graph)."""
        first = self.belief.members[0]
        return first if isinstance(first, BayesianNetwork) else None

    @cached_property
    def by_variable(self) -> tuple[Floats, ...] | None:
        """The sum of the releases' profiles for each variable of a record; None if one of them is not known."""
        if not isinstance(self.belief, RecordBelief):
            return None
        parts = [release.profile_by_variable(self.belief) for release in self.releases]
        known = [part for part in parts if part is not None and all(np.isfinite(own).all() for own in part)]
        if len(known) < len(parts):
            return None
        error = 1 + len(known) * 2.0**-52
        return tuple(np.sum(own, axis=0) * error for own in zip(*known, strict=True))

    def unknown_profile(self) -> str | None:
        """Which release does not say enough for a profile."""
        for n, release in enumerate(self.releases, 1):
            known: object = release.profile(self.belief) if self.chain_like else None
            if isinstance(self.belief, RecordBelief):
                known = release.profile_by_variable(self.belief)
            if known is None:
                return f"release {n} does not say its noise_scale with its lipschitz constant or query"
        if isinstance(self.belief, RecordBelief) and self.by_variable is None:
            return "a release has too little noise to guarantee anything"
        return None

    @cached_property
    def by_quilts(self) -> float:
        """ε of all releases together with one quilt at each variable of a network."""
        assert self.by_variable is not None  # noqa: S101 - the rule has seen it
        return quilts_epsilon(self.belief, self.by_variable)

    @cached_property
    def profile(self) -> Profile | None:
        """The sum of the releases' profiles; None if one of them is not known."""
        parts = []
        for release in self.releases:
            matrix = release.profile(self.belief)
            if matrix is None:
                return None
            parts.append((matrix, release.segment))
        return Profile.of(parts, length=self.length)

    @cached_property
    def clusters(self) -> list[tuple[int, int, tuple[ReleaseRecord, ...]]]:
        """Releases whose segments overlap, together, in the order of time: first time, last time, releases."""
        found: list[tuple[int, int, tuple[ReleaseRecord, ...]]] = []
        end = self.length or 10**18
        for release in sorted(self.releases, key=lambda r: r.touched(end)[0]):
            first, last = release.segment or (1, end)
            if found and first <= found[-1][1]:
                before = found.pop()
                found.append((before[0], max(before[1], last), (*before[2], release)))
            else:
                found.append((first, last, (release,)))
        return found

    @cached_property
    def losses(self) -> Losses | None:
        """By the influence curve, along time; None for series of any length."""
        if self.length is None or not self.chain_like or self.profile is None:
            return None
        return loss_along_time(self.belief, self.profile, promise=self.promise)

    @cached_property
    def endless(self) -> float:
        """By the influence curve, for series of any length."""
        assert self.profile is not None  # noqa: S101 - the rule has seen it
        matrix = self.profile.stretches[0].matrix
        return max(
            curve.at(matrix, thorough=True).epsilon for curve in curve_members(self.belief, promise=self.promise)
        )

    def sum_of_epsilons(self) -> float:
        """Σ ε, rounded up."""
        return round_up(math.fsum(release.epsilon or 0.0 for release in self.releases), roundings=1)

    def without_epsilon(self) -> str | None:
        """Why the releases' own ε cannot be used."""
        for n, release in enumerate(self.releases, 1):
            if release.mechanism in NO_PROMISE:
                return f"release {n} has no Pufferfish guarantee of its own ({release.mechanism or 'no mechanism'})"
            if release.epsilon is None:
                return f"release {n} does not say its epsilon"
        return None

    @property
    def by_curve(self) -> float:
        """ε of all releases together by the influence curve; all of them must have a profile."""
        if self.by_variable is not None:
            return tree_epsilon(self.belief, self.by_variable, promise=self.promise)
        return self.endless if self.losses is None else self.losses.epsilon
