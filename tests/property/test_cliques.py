"""The influence curve along the cliques of a network, against enumeration, linear programmes and the exact audit."""

import itertools

import numpy as np
import pytest
import reference
from effort import examples
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from strategies import chains, epsilons, networks, trees, with_some_start

from quiltwork import (
    BayesianNetwork,
    Count,
    Histogram,
    InputError,
    MarkovChain,
    NetworkSet,
    Noisy,
    Over,
    audit,
    calibrate as calibrate_noise,
)
from quiltwork.calibration.record import Calibration
from quiltwork.influence.curve import cliques
from quiltwork.influence.curve.cliques import CliqueCurve, _transports
from quiltwork.influence.curve.tree import TreeCurve
from quiltwork.laws import exact

Array = NDArray[np.float64]


def calibrate(network: BayesianNetwork | NetworkSet, query: str, epsilon: float) -> Calibration:
    return calibrate_noise(query, belief=network, epsilon=epsilon, mechanism="curve")


def distances(rng: np.random.Generator, sizes: list[int]) -> list[Array]:
    """λ between the states of each variable: as of a sum, of a histogram, or nothing."""
    found = []
    for k in sizes:
        place = rng.uniform(0, 1.5, size=k)
        kinds = (np.abs(place[:, None] - place), rng.uniform(0, 1) * (1 - np.eye(k)), np.zeros((k, k)))
        found.append(kinds[rng.choice(3, p=[0.45, 0.45, 0.1])])
    return found


def largest_seen(network: BayesianNetwork, profile: list[Array], rng: np.random.Generator) -> float:
    """The largest log-ratio of averages over some functions of the record that are within the profile."""
    law = reference.records(dict(network.variables), network.parents, network.tables)
    codes = np.array([record for record, _ in law])
    apart = np.sum([m[np.ix_(x, x)] for m, x in zip(profile, codes.T, strict=True)], axis=0)
    outputs = []
    for _ in range(25):
        nodes = rng.choice(len(law), size=rng.integers(1, min(len(law), 6) + 1), replace=False)
        heights = rng.uniform(0, apart.max() + 1e-9, size=len(nodes))
        outputs.append((heights + apart[:, nodes]).min(axis=1))  # the largest function below these heights
        goal = [rng.integers(len(m)) for m in profile]
        outputs.append(-sum(m[x, y] for m, x, y in zip(profile, codes.T, goal, strict=True)))
    return reference.output_loss(law, np.exp(np.array(outputs)).T)


@settings(max_examples=examples(116), deadline=None)
@given(networks(max_variables=6, max_states=4), st.integers(0, 2**32 - 1), st.booleans())
def test_no_function_within_the_profile_tells_more(network: BayesianNetwork, seed: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    profile = distances(rng, [len(states) for states in network.variables.values()])
    with pytest.MonkeyPatch.context() as patch:
        if coarse:
            patch.setattr(cliques, "MOST_STATES", int(rng.integers(0, 6)))
        found = CliqueCurve(network).at(profile)
    assert largest_seen(network, profile, rng) <= found.epsilon + 1e-9
    heaviest, _ = network.heaviest_part([float(m.max()) for m in profile])
    assert found.epsilon <= heaviest * (1 + 1e-9) + 1e-9


@settings(max_examples=examples(10), deadline=None)
@given(networks(min_variables=7, max_variables=8, max_states=2), st.integers(0, 2**32 - 1))
def test_networks_of_eight_variables(network: BayesianNetwork, seed: int) -> None:
    rng = np.random.default_rng(seed)
    profile = distances(rng, [len(states) for states in network.variables.values()])
    assert largest_seen(network, profile, rng) <= CliqueCurve(network).at(profile).epsilon + 1e-9


@settings(max_examples=examples(14), deadline=None)
@given(networks(max_variables=5, max_states=3), epsilons)
def test_calibrated_noise_is_enough_by_the_audit(network: BayesianNetwork, epsilon: float) -> None:
    scale = calibrate(network, "count:s0", epsilon).noise_scale
    if scale:  # else no value can change the answer
        assert audit(network, [Noisy(Count("s0"), scale)]).epsilon <= epsilon * (1 + 1e-9)


@settings(max_examples=examples(10), deadline=None)
@given(trees(max_variables=6), st.integers(0, 2**32 - 1))
def test_the_cliques_of_a_tree_are_its_edges(network: BayesianNetwork, seed: int) -> None:
    """Both are bounds; skips of several edges can make the tree's smaller, routes of a few plans either."""
    profile = distances(np.random.default_rng(seed), [len(states) for states in network.variables.values()])
    along_edges, along_cliques = (curve(network).at(profile).epsilon for curve in (TreeCurve, CliqueCurve))
    assert along_cliques == pytest.approx(along_edges, rel=2e-2, abs=1e-9)


@settings(max_examples=examples(12), deadline=None)
@given(chains(max_states=3), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_a_path_is_a_chain(chain: MarkovChain, length: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    path = BayesianNetwork.from_chain(with_some_start(chain), length)
    profile = distances(rng, [len(chain.states)] * length)
    found = CliqueCurve(path).at(profile).epsilon
    assert largest_seen(path, profile, rng) <= found + 1e-9
    assert found == pytest.approx(TreeCurve(path).at(profile).epsilon, rel=5e-2, abs=1e-9)


def least_cost(p: Array, q: Array, difference: Array) -> float:
    """transport(p, q; D) by a linear programme."""
    n, m = difference.shape
    goal = np.append(np.zeros(n * m), 1.0)
    sent = np.hstack([np.kron(np.eye(n), np.ones((1, m))), np.zeros((n, 1))])
    taken = np.hstack([np.kron(np.ones((1, n)), np.eye(m)) * np.exp(difference).ravel(), -q[:, None]])
    found = linprog(goal, A_ub=taken, b_ub=np.zeros(m), A_eq=sent, b_eq=p)
    assert found.fun is not None
    return float(np.log(found.fun))


@settings(max_examples=examples(24), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_nearest_first_is_never_below_the_linear_programme(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 6, size=2)
    law = rng.dirichlet(np.full(n + m, 0.5)) + 1e-6
    labels = np.repeat([0, 1], [n, m])
    place = rng.uniform(0, 2, size=(n + m, 2))
    difference = np.abs(place[:, None] - place).sum(axis=2)
    bounds = _transports(law, labels, difference)
    p, q = law[:n] / law[:n].sum(), law[n:] / law[n:].sum()
    least = least_cost(p, q, difference[:n, n:])
    assert least - 1e-9 <= bounds[0, 1] <= difference[:n, n:].max() * (1 + 1e-9) + 1e-9
    assert bounds[0, 1] <= 1.35 * least + 1e-6


@settings(max_examples=examples(48), deadline=None)
@given(networks(max_variables=8, max_states=2))
def test_a_clique_tree_is_one(network: BayesianNetwork) -> None:
    """Every family is within a clique, and the cliques that a variable is in are joined to each other."""
    graph = network.graph
    tree = graph.cliques
    for node, parents in enumerate(graph.parents):
        assert any({node, *parents} <= set(clique) for clique in tree.cliques)
        homes = {n for n, clique in enumerate(tree.cliques) if node in clique}
        within = [edge for edge in tree.edges if set(edge) <= homes]
        assert len(within) == len(homes) - 1
    for a, b in itertools.combinations(tree.cliques, 2):
        assert not set(a) <= set(b)
    directed = tree.directed()
    assert len(directed) == 2 * len(tree.edges)
    for n, (child, parent) in enumerate(directed):
        before = {edge for edge in directed[:n] if edge[1] == child}
        assert before >= {(other, child) for other in tree.neighbours(child) if other != parent}


@settings(max_examples=examples(36), deadline=None)
@given(networks(max_variables=6, max_states=3), st.sampled_from([1.0, 4.0]), st.data())
def test_exact_laws_along_cliques_are_those_of_all_records(
    network: BayesianNetwork, scale: float, data: st.DataObject
) -> None:
    names, states = list(network.variables), network.states
    weights = {name: data.draw(st.sampled_from(["1", "2", "-1"])) for name in names}
    queries = [Count("s0"), Histogram(), Over(Count(data.draw(st.sampled_from(states))), weights)]
    releases = [Noisy(query, scale) for query in queries[: data.draw(st.integers(1, 3))]][-2:]
    name = data.draw(st.sampled_from(names))
    know = {name: data.draw(st.sampled_from(network.variables[name]))} if data.draw(st.booleans()) else {}
    told: list[float | str] = []
    for few in (2**14, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exact, "FEW_RECORDS", few)
            try:
                told.append(audit(network, releases, know=know).epsilon)
            except InputError as refusal:  # what is known cannot happen, or nothing is secret
                told.append(str(refusal))
    assert told[0] == (pytest.approx(told[1], rel=1e-9, abs=1e-10) if isinstance(told[1], float) else told[1])
