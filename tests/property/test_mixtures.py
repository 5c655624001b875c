"""Any mixture of some laws, and networks known up to a range, against enumeration (Statement 66)."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from effort import examples
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from reference import records
from strategies import Array, epsilons, networks

from quiltwork import AnyMixture, BayesianNetwork, Count, Noisy, NotCoveredError, Secrets, audit, calibrate
from quiltwork.beliefs.mixture import range_corners
from quiltwork.samples import contact_network, household_network, household_range

CONTACTS = {"ann": None, "bob": "ann", "cem": "bob", "dea": "ann"}


def loss(law: Sequence[tuple[tuple[int, ...], float]], scale: float, sensitive: Sequence[int]) -> float:
    """The exact loss of a noisy count of state 1, about some variables."""
    seen, p = np.array([record for record, _ in law]), np.array([q for _, q in law])
    answers = (seen == 1).sum(axis=1)
    density = np.exp(-np.abs(answers[:, None] - np.arange(seen.shape[1] + 1)[None]) / scale)
    worst = 0.0
    for j in sensitive:
        given_state: list[Array] = []
        for x in np.unique(seen[:, j]):
            here = seen[:, j] == x
            given_state.append((p[here] / p[here].sum()) @ density[here])
        for one, other in itertools.permutations(given_state, 2):
            worst = max(worst, float(np.log(one / other).max()))
    return worst


def listed(network: BayesianNetwork) -> list[tuple[tuple[int, ...], float]]:
    return records(dict(network.variables), dict(network.parents), dict(network.tables))


@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_mixtures_of_networks(data: st.DataObject) -> None:
    first = data.draw(networks(min_variables=2, max_variables=3, max_states=2))
    assume(all(len(states) == 2 for states in first.variables.values()))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    others = [
        BayesianNetwork(
            first.variables,
            parents=first.parents,
            tables={n: rng.dirichlet(np.ones(2), size=t.shape[:-1]) for n, t in first.tables.items()},
        )
        for _ in range(2)
    ]
    every = AnyMixture([first, *others])
    epsilon = data.draw(epsilons)
    secrets = Secrets.variables("v0") if data.draw(st.booleans()) else Secrets.all()
    sensitive = [0] if not secrets.everything else range(len(first.variables))
    for mechanism in ("audited", "wasserstein", "group"):
        made = calibrate("count:s1", belief=every, epsilon=epsilon, mechanism=mechanism, secrets=secrets)
        found = audit(every, [Noisy(Count("s1"), made.noise_scale)], secrets=secrets).epsilon
        assert found <= epsilon * (1 + 1e-9)
        for _ in range(6):
            weights = rng.dirichlet(np.full(3, 0.5))
            mixed: dict[tuple[int, ...], float] = {}
            for weight, law in zip(weights, (first, *others), strict=True):
                for record, p in listed(law):
                    mixed[record] = mixed.get(record, 0.0) + weight * p
            assert loss(list(mixed.items()), made.noise_scale, sensitive) <= found * (1 + 1e-9)


@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_a_range_of_spread_probabilities(data: st.DataObject) -> None:
    """Paper A's example: flu spreads across contacts with a probability in [0, 0.5], the same for all or not."""
    low, high = (contact_network(CONTACTS, base=0.1, spread=spread) for spread in (0.0, 0.5))
    every = AnyMixture.between(low, high)
    assert len(every.mixed) == 8
    made = calibrate("count:yes", belief=every, epsilon=1.0)
    same = contact_network(CONTACTS, base=0.1, spread=data.draw(st.floats(0, 0.5)))
    spreads = {name: data.draw(st.floats(0, 0.5)) for name in CONTACTS}
    tables = {n: contact_network(CONTACTS, base=0.1, spread=p).tables[n] for n, p in spreads.items()}
    for network in (same, BayesianNetwork(low.variables, parents=low.parents, tables=tables)):
        assert loss(listed(network), made.noise_scale, range(4)) <= 1.0 + 1e-9


@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_a_range_of_laws_of_a_household(data: st.DataObject) -> None:
    low, high = [0.05, 0.1, 0.3, 0.1, 0.0], [0.3, 0.3, 0.6, 0.2, 0.2]
    every = household_range(["ann", "bob", "cem", "dea"], low, high)
    made = calibrate("count:yes", belief=every, epsilon=1.0)
    corners = range_corners(low, high)
    for law in corners:
        assert law.sum() == pytest.approx(1.0)
        assert np.all((law >= np.array(low) - 1e-12) & (law <= np.array(high) + 1e-12))
    weights = np.array(data.draw(st.lists(st.floats(0.01, 1.0), min_size=len(corners), max_size=len(corners))))
    law = weights / weights.sum() @ np.array(corners)
    network = household_network({("ann", "bob", "cem", "dea"): law.tolist()})
    assert loss(listed(network), made.noise_scale, range(4)) <= 1.0 + 1e-9


def test_a_mixture_may_need_more_than_each_law() -> None:
    """Two laws that tell nothing about each other's people may do so when nobody knows which holds."""
    people = {"ann": ("no", "yes"), "bob": ("no", "yes")}
    rare, often = (BayesianNetwork(people, tables={"ann": row, "bob": row}) for row in ([0.99, 0.01], [0.3, 0.7]))
    every = AnyMixture([rare, often])
    single = [calibrate("count:yes", belief=law, epsilon=1.0, mechanism="audited").noise_scale for law in (rare, often)]
    assert calibrate("count:yes", belief=every, epsilon=1.0).noise_scale > 1.5 * max(single)
    found = audit(every, [Noisy(Count("yes"), 1.0)])
    assert found.start is not None
    assert any("No mixture is worse than law" in line for line in found.lines())
    with pytest.raises(NotCoveredError):
        calibrate("count:yes", belief=every, epsilon=1.0, mechanism="curve")
