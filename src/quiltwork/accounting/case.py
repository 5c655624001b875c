"""What was released from one data set, as the rules see it: a total under a belief and a guarantee."""

import math
import threading
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from quiltwork.accounting.record import ReleaseRecord
from quiltwork.accounting.shifts import added_shifts, along_time, at_every_time
from quiltwork.accounting.total import FEW, Total
from quiltwork.beliefs import BayesianNetwork, Belief, GaussianBelief, SecretPairs, Secrets
from quiltwork.errors import NotCoveredError
from quiltwork.influence.curve.constant import InfluenceCurve, curve_members
from quiltwork.influence.curve.networks import network_epsilon
from quiltwork.influence.curve.parts import knows_parts, part_loss
from quiltwork.influence.curve.profile import Profile, Stretch, links
from quiltwork.influence.curve.timeline import Losses, follow, largest_losses
from quiltwork.influence.quilts.cover import quilts_epsilon
from quiltwork.influence.shift import check_bayesian
from quiltwork.numeric import round_up, sum_of
from quiltwork.types import Guarantee

REMEMBERED = 8  # profiles
LATER = 2**40  # values that may still come: 30,000 years of seconds


@dataclass(frozen=True)
class Basis:
    """Under what releases are added up; what is slow to set up is set up once."""

    belief: Belief
    guarantee: Guarantee = "pufferfish"
    secrets: Secrets = field(default_factory=Secrets.all)
    """What is kept apart."""
    _curves: dict[tuple[int, bool], list[InfluenceCurve]] = field(default_factory=dict, compare=False, repr=False)
    _followed: dict[tuple[bool, bytes], Losses] = field(default_factory=dict, compare=False, repr=False)
    own_epsilons: dict[tuple[str, int | None], float | str] = field(default_factory=dict, compare=False, repr=False)
    """What was found about the ε of single releases, by record and length."""

    @cached_property
    def secret(self) -> SecretPairs:
        """What is kept apart under the belief."""
        return self.secrets.on(self.belief)

    @cached_property
    def about_all(self) -> "Basis":
        """The same about every pair: what holds for all pairs holds for some."""
        return self if self.secret.everything else self.anew(secrets=Secrets.all())

    def anew(self, **changes: Any) -> "Basis":
        """With other terms, of which nothing is known yet."""
        return replace(self, **changes, _curves={}, _followed={}, own_epsilons={})

    @property
    def chain_like(self) -> bool:
        """Whether the belief is about chains."""
        return self.belief.variables is None

    @property
    def network(self) -> BayesianNetwork | None:
        """The network that the belief is about (of a set, its first: they share one graph)."""
        return next(iter(self.belief.networks), None)

    def held(self, *, started: bool) -> Belief:
        """The belief where positions count from its own start, or do not."""
        return self.belief if started else self.belief.without_given_start()

    def curves(self, *, started: bool) -> list[InfluenceCurve]:
        """The influence curve of each chain; each thread has its own, for they change with what they are asked."""
        mine = threading.get_ident(), started
        if mine not in self._curves:
            held = self.held(started=started)
            self._curves[mine] = curve_members(held, guarantee=self.guarantee, secret=self.secret)
        return self._curves[mine]

    def losses(self, profile: Profile, *, started: bool) -> Losses:
        """What a profile tells along time; of the last ones it is known, for accounts ask more than once."""
        asked = started, profile.key
        losses = self._followed.get(asked)
        if losses is None:
            losses = largest_losses([follow(curve, profile) for curve in self.curves(started=started)])
            for old in list(self._followed)[: 1 - REMEMBERED]:
                self._followed.pop(old, None)
            self._followed[asked] = losses
        return losses


class Cluster(NamedTuple):
    """Releases whose segments overlap, from the first time that they are about to the last."""

    first: int
    last: int
    releases: tuple[ReleaseRecord, ...]


@dataclass(frozen=True)
class Case:
    """A total under its terms."""

    terms: Basis
    total: Total

    @property
    def belief(self) -> Belief:
        """The belief as far as it holds: where positions do not count from the start, a given one says nothing."""
        return self.terms.held(started=self.total.started)

    @property
    def length(self) -> int | None:
        """The last position of the longest series; None if it may be any.

        Where only some pairs are secret, what is told about values after the last one counts too: a bound on pairs at
        the end of a series is none on the mixtures that later values lead to.
        """
        may_go_on = self.total.grows and not self.terms.secret.everything
        return None if self.total.endless or may_go_on else self.total.length

    @cached_property
    def about_all(self) -> "Case":
        """The same total, about every pair."""
        return self if self.terms.secret.everything else Case(self.terms.about_all, self.total)

    @cached_property
    def telling(self) -> tuple[tuple[int, ReleaseRecord], ...] | None:
        """The releases that tell something, with their numbers; None if there were too many to keep them."""
        if self.total.records is None:
            return None
        numbered = []
        for n, record in enumerate(self.total.records, 1):
            profile = record.profile(self.terms.belief)
            if profile is None or any(matrix.any() for matrix in profile):
                numbered.append((n, record))
        return tuple(numbered)

    @cached_property
    def clusters(self) -> list[Cluster]:
        """Releases whose segments overlap, together, in the order of time."""
        single = []
        for _, record in self.telling or ():
            first, last = self.total.touched(record)
            single.append(Cluster(first, last or max(self.total.length, first), (record,)))
        clusters: list[Cluster] = []
        for cluster in sorted(single, key=lambda cluster: cluster.first):
            if clusters and cluster.first <= clusters[-1].last:
                before = clusters.pop()
                cluster = Cluster(before.first, max(before.last, cluster.last), before.releases + cluster.releases)
            clusters.append(cluster)
        return clusters

    def not_few(self) -> str | None:
        """Why a theorem about single releases cannot be used."""
        if self.telling is None:
            return f"there are more than {FEW} releases"
        return None if self.telling else "nothing was told"

    def not_placed(self) -> str | None:
        """Why a theorem about segments cannot be used."""
        if self.total.mixed is not None:
            return f"the positions of releases cannot be compared ({self.total.mixed})"
        for n, record in self.telling or ():
            if not record.placed:
                return f"the values of release {n} are not at known positions"
        return None

    @cached_property
    def losses(self) -> Losses | None:
        """By the influence curve, along time; None for series of any length."""
        followed = self._followed
        if followed is None or followed.length == self.total.length:
            return followed
        kept = followed.first <= self.total.length
        return replace(
            followed, first=followed.first[kept], epsilon_at=followed.epsilon_at[kept], length=self.total.length
        )

    @cached_property
    def _followed(self) -> Losses | None:
        """The same with later values, of which nothing was asked, where series may go on."""
        if self.total.endless or not self.terms.chain_like or not self.total.telling:
            return None
        if isinstance(self.belief, GaussianBelief):
            return along_time(self.belief, self.total.profile, self.total.grid, guarantee=self.terms.guarantee)
        profile = self.total.profile
        if self.length is None:
            end = self.total.length
            nothing = Stretch(end + 1, end + LATER, np.zeros_like(profile.stretches[0].matrix))
            profile = Profile((*profile.stretches, nothing))  # Statement 63
        return self.terms.losses(profile, started=self.total.started)

    @cached_property
    def by_curve(self) -> float:
        """ε of all releases together by the influence curve; all of them must have a profile."""
        if not self.total.telling:
            return 0.0
        if isinstance(self.belief, GaussianBelief):
            return self.by_shift
        if self.terms.network is not None:
            promised, secret = self.terms.guarantee, self.terms.secret
            return network_epsilon(
                self.terms.belief, self.total.sums, guarantee=promised, secret=secret
            )  # Statements 15 and 50
        if self._followed is not None:
            known = self._followed.epsilon
            if self.length is None:  # as if the largest sums were asked everywhere, which covers later values too
                known = min(known, self._everywhere)
            return min(known, self.by_network, self.by_parts)  # Statement 38
        return min(self._everywhere, self.by_parts)

    @cached_property
    def _everywhere(self) -> float:
        """With the largest sums at every time of series of any length."""
        curves = self.terms.curves(started=self.total.started)
        matrix = np.max(self.total.sums, axis=0)
        return max(curve.at(matrix, thorough=True).epsilon for curve in curves)  # Statements 9 and 19

    @cached_property
    def by_shift(self) -> float:
        """Of real values: what each release moves by, added up at every time; exactly while there are few of them."""
        belief, grid = self.belief, self.total.grid
        if not isinstance(belief, GaussianBelief):
            return math.inf
        belief.check_size(self.length)
        if self.losses is not None:
            bound = self.losses.epsilon
        else:
            bound = at_every_time(belief, float(self.total.sums[0].max()), grid, guarantee=self.terms.guarantee)
        if self.terms.guarantee == "bayesian" or self.telling is None or self.not_placed() is not None:
            return bound
        return min(bound, added_shifts(belief, [record for _, record in self.telling], grid))  # Statement 59

    @cached_property
    def by_network(self) -> float:
        """Records over time as the network of all their steps; infinite where they are no such network."""
        belief = self.belief
        unknown = self.terms.guarantee == "bayesian" or self.total.grows  # later steps may depend on several variables
        network = None if unknown else belief.as_network(self.length)
        if network is None or any(links(block.matrix) for block in self.total.profile.stretches):
            return math.inf
        matrices = [
            matrix
            for block in self.total.profile.stretches
            for matrix in [belief.by_variable(block.matrix)]
            for _ in range(block.first, (block.last or block.first) + 1)
        ]
        secrets = self.terms.secrets.unrolled(belief.names_at(1, self.length or 1))
        return network_epsilon(
            network, [m for at_step in matrices for m in at_step], secret=secrets.on(network)
        )  # Statement 52

    @cached_property
    def by_parts(self) -> float:
        """Of one variable of a step, with the largest sums at every time; infinite where that is not known."""
        if self.terms.guarantee == "bayesian" or not knows_parts(self.belief):
            return math.inf
        (curve,) = self.terms.curves(started=self.total.started)
        loss = part_loss(curve, np.max(self.total.sums, axis=0), thorough=True)  # Statements 19 and 53
        return math.inf if loss is None else loss.epsilon

    @cached_property
    def by_quilts(self) -> float:
        """ε of all releases together with one quilt at each variable of a network."""
        return quilts_epsilon(self.terms.belief, self.total.sums, self.terms.secret)  # Statement 17

    def _alone(self, belief: GaussianBelief) -> bool:
        """Whether no value shows more of another than that one's own size, also to those who know others."""
        try:
            check_bayesian(belief)
        except NotCoveredError:
            return self.terms.guarantee != "bayesian" and belief.between is None
        return True

    @cached_property
    def together(self) -> float:
        """Σ λ over all values that may depend on each other; infinite if their number is not known."""
        if isinstance(self.belief, GaussianBelief) and not self._alone(self.belief):
            return math.inf
        if self.terms.belief.variables is not None:
            heaviest, _ = self.terms.belief.heaviest_part([float(matrix.max()) for matrix in self.total.sums])
            if not self.telling:
                return heaviest
            whole = sum_of(record.by_whole_records(self.terms.belief) for _, record in self.telling)
            return min(heaviest, round_up(whole))  # Statement 70
        if self.total.endless:
            if not self.total.telling:
                return 0.0
            return math.inf if self.total.mass is None else round_up(self.total.mass + self.total.grid)
        blocks = self.total.profile.stretches
        summed = sum_of(float(b.matrix.max()) * ((b.last or b.first) - b.first + 1) for b in blocks)
        return round_up(summed + self.total.grid)
