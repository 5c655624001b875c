"""Networks: independence, influence, quilts and trees against plain enumeration."""

import itertools
import math

import numpy as np
import oracle
import pytest
import reference
from effort import examples
from hypothesis import given, settings, strategies as st
from strategies import chains, epsilons, networks, trees, with_some_start

from quiltwork import (
    Accountant,
    BayesianNetwork,
    Count,
    MarkovChain,
    NetworkSet,
    Noisy,
    NotCoveredError,
    Over,
    ReleaseRecord,
    audit,
    calibrate,
)
from quiltwork.influence.curve.profile import Profile
from quiltwork.influence.curve.timeline import loss_along_time
from quiltwork.influence.curve.tree import TreeCurve
from quiltwork.influence.quilts.cover import QuiltSearch, quilts_epsilon
from quiltwork.influence.quilts.inference import Inference
from quiltwork.influence.quilts.separation import Separation
from quiltwork.question import Query


def law_of(network: BayesianNetwork) -> reference.Law:
    return reference.records(dict(network.variables), network.parents, network.tables)


def points_of(query: Query, network: BayesianNetwork) -> list[list[int]]:
    return [steps[0].tolist() for steps in oracle.by_variable(query, network.variables).only.steps]


def loss(network: BayesianNetwork, query: Query, scale: float) -> float:
    """The exact loss; an answer that cannot change needs no noise."""
    return reference.record_loss(law_of(network), points_of(query, network), scale) if scale else 0.0


@st.composite
def quilts(draw: st.DrawFn, network: BayesianNetwork) -> tuple[int, tuple[int, ...]]:
    n = len(network.variables)
    node = draw(st.integers(0, n - 1))
    rest = [j for j in range(n) if j != node]
    chosen = draw(st.lists(st.sampled_from(rest), unique=True, max_size=3)) if rest else []
    return node, tuple(sorted(chosen))


@st.composite
def asked(draw: st.DrawFn, network: BayesianNetwork) -> Query:
    """A count over some of the variables, with weights."""
    names = draw(st.lists(st.sampled_from(list(network.variables)), unique=True, min_size=1))
    weights = draw(st.lists(st.sampled_from([1, 2, 3, -1]), min_size=len(names), max_size=len(names)))
    return Over(Count("s0"), dict(zip(names, weights, strict=True)))


@settings(max_examples=examples(36), deadline=None)
@given(data=st.data())
def test_what_is_beyond_a_quilt_is_independent(data: st.DataObject) -> None:
    network = data.draw(networks(max_variables=6))
    node, quilt = data.draw(quilts(network))
    near = Separation.of(network.graph).near(node, np.array([quilt or (-1,)]))[0]
    assert set(np.flatnonzero(near).tolist()) == reference.dependent(list(network.graph.parents), node, set(quilt))
    beyond = [j for j in range(len(near)) if not near[j] and j not in quilt]
    joint: dict[tuple[tuple[int, ...], tuple[int, ...], int], float] = {}
    for record, p in law_of(network):
        key = (tuple(record[q] for q in quilt), tuple(record[j] for j in beyond), record[node])
        joint[key] = joint.get(key, 0.0) + p
    for held in {q for q, _, _ in joint}:
        total = math.fsum(p for (q, _, _), p in joint.items() if q == held)
        for r, x in itertools.product({k[1] for k in joint}, {k[2] for k in joint}):
            p_r = math.fsum(p for (q, own, _), p in joint.items() if q == held and own == r)
            p_x = math.fsum(p for (q, _, own), p in joint.items() if q == held and own == x)
            assert joint.get((held, r, x), 0.0) * total == pytest.approx(p_r * p_x, abs=1e-12)


@settings(max_examples=examples(24), deadline=None)
@given(data=st.data())
def test_max_influence_is_exact(data: st.DataObject) -> None:
    network = data.draw(networks(max_variables=6))
    node, quilt = data.draw(quilts(network))
    true = reference.record_influence(law_of(network), node, quilt)
    found = Inference(network).max_influence(node, quilt)
    assert found == pytest.approx(true, rel=1e-9, abs=1e-9)
    assert found >= true - 1e-13


@settings(max_examples=examples(14), deadline=None)
@given(network=networks(max_variables=6), epsilon=epsilons)
def test_the_search_finds_the_best_of_all_quilts(network: BayesianNetwork, epsilon: float) -> None:
    law, n = law_of(network), len(network.variables)
    weights = [1.0 + j % 2 for j in range(n)]
    search = QuiltSearch(network, size=n)
    for node in range(n):
        best = math.inf
        for size in range(n):
            for quilt in itertools.combinations([j for j in range(n) if j != node], size):
                e = reference.record_influence(law, node, quilt)
                near = reference.dependent(list(network.graph.parents), node, set(quilt))
                if e < epsilon:
                    best = min(best, sum(weights[j] for j in near) / (epsilon - e))
        found = search.best(node, np.array(weights), lambda w, e: w / (epsilon - e) if e < epsilon else math.inf)
        assert found.complete
        assert found.score == pytest.approx(best, rel=1e-8)


@settings(max_examples=examples(48), deadline=None)
@given(data=st.data(), epsilon=epsilons)
def test_quilts_keep_their_promise(data: st.DataObject, epsilon: float) -> None:
    network = data.draw(networks(max_variables=10, max_states=2, most_parents=2))
    query = data.draw(asked(network))
    made = calibrate(query, belief=network, epsilon=epsilon, mechanism="quilt-exact")
    scale = made.noise_scale / float(oracle.by_variable(query, network.variables).unit)
    assert loss(network, query, scale) <= epsilon * (1 + 1e-9)


def test_a_collider_in_a_quilt_opens_a_path() -> None:
    """Two coins and whether they agree: given that, each tells the other. The drawn graph without it would not say."""
    agree = [[[0.99, 0.01], [0.01, 0.99]], [[0.01, 0.99], [0.99, 0.01]]]
    network = BayesianNetwork(
        {"x": "01", "y": "01", "same": ["yes", "no"]},
        parents={"same": ["x", "y"]},
        tables={"x": [0.5, 0.5], "y": [0.5, 0.5], "same": agree},
    )
    assert Separation.of(network.graph).near(0, np.array([[-1], [2]])).tolist() == [
        [True, False, True],
        [True, True, False],
    ]
    query = Over(Count("1"), ["x", "y"])
    made = calibrate(query, belief=network, epsilon=1.0)
    # "same" tells nothing about x by itself: a copy that takes it for a quilt would cover x alone, with scale 1
    assert made.noise_scale >= audit(network, [Noisy(query, 1.0)]).epsilon
    assert loss(network, query, made.noise_scale) <= 1.0


@settings(max_examples=examples(48), deadline=None)
@given(data=st.data(), epsilon=epsilons)
def test_trees_keep_their_promise(data: st.DataObject, epsilon: float) -> None:
    network = data.draw(trees(max_variables=7))
    query = data.draw(asked(network))
    made = calibrate(query, belief=network, epsilon=epsilon, mechanism="curve")
    scale = made.noise_scale / float(oracle.by_variable(query, network.variables).unit)
    assert loss(network, query, scale) <= epsilon * (1 + 1e-9)


@st.composite
def profiles(draw: st.DrawFn, network: BayesianNetwork) -> list[np.ndarray]:
    found = []
    for states in network.variables.values():
        places = np.array(draw(st.lists(st.floats(0.0, 1.0), min_size=len(states), max_size=len(states))))
        found.append(np.abs(places[:, None] - places[None, :]) * draw(st.sampled_from([0.0, 0.3, 1.0, 3.0])))
    return found


def lipschitz_outputs(law: reference.Law, profile: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Random functions of the record whose logarithm changes by at most λ when one variable changes; (records, 20)."""
    codes = np.array([record for record, _ in law])
    found = []
    for _ in range(20):
        if rng.random() < 0.5:  # the farthest that a product may go
            sides = [rng.integers(0, 2) for _ in profile]
            logs = sum(m[x, :].max() * 0 + m[x, s % len(m)] for m, x, s in zip(profile, codes.T, sides, strict=True))
        else:  # the distance to some record
            other = codes[rng.integers(len(codes))]
            logs = sum(m[x, y] for m, x, y in zip(profile, codes.T, other, strict=True))
        found.append(np.exp(-np.asarray(logs)))
    return np.array(found).T


@settings(max_examples=examples(48), deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_profiles_cover_every_lipschitz_output(data: st.DataObject, seed: int) -> None:
    network = data.draw(networks(max_variables=5, most_parents=data.draw(st.integers(1, 2))))
    profile = data.draw(profiles(network))
    law = law_of(network)
    true = reference.output_loss(law, lipschitz_outputs(law, profile, np.random.default_rng(seed)))
    assert quilts_epsilon(network, profile) >= true - 1e-9
    if network.graph.forest:
        assert TreeCurve(network).at(profile).epsilon >= true - 1e-9


@settings(max_examples=examples(14), deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_trees_hold_against_those_who_know_other_values(data: st.DataObject, seed: int) -> None:
    network = data.draw(trees(max_variables=4))
    profile = data.draw(profiles(network))
    law = law_of(network)
    weight = lipschitz_outputs(law, profile, np.random.default_rng(seed))
    bound = TreeCurve(network, guarantee="bayesian").at(profile).epsilon
    n = len(network.variables)
    for size in range(n):
        for known in itertools.combinations(range(n), size):
            for values in {tuple(record[j] for j in known) for record, _ in law}:
                kept = [m for m, (r, _) in enumerate(law) if tuple(r[j] for j in known) == values]
                true = reference.output_loss([law[m] for m in kept], weight[kept])
                assert bound >= true - 1e-9


@settings(max_examples=examples(10), deadline=None)
@given(chain=chains(max_states=3, zeros=True), length=st.integers(1, 9), epsilon=epsilons)
def test_a_path_is_a_chain(chain: MarkovChain, length: int, epsilon: float) -> None:
    chain = with_some_start(chain)
    path = BayesianNetwork.from_chain(chain, length)
    for name in ("quilt-exact", "curve", "group", "entry", "wasserstein"):
        one, other = (
            calibrate(Count("0"), belief=b, epsilon=epsilon, length=length, mechanism=name) for b in (chain, path)
        )
        assert other.noise_scale == pytest.approx(one.noise_scale, rel=1e-9), name
    noisy = [Noisy(Count("0"), 2.0)]
    assert audit(path, noisy).epsilon == pytest.approx(audit(chain, noisy, length=length).epsilon, rel=1e-9, abs=1e-12)


@settings(max_examples=examples(10), deadline=None)
@given(chain=chains(max_states=3, zeros=False), length=st.integers(1, 9), height=st.sampled_from([0.1, 0.5, 2.0]))
def test_the_curve_along_a_path_is_no_larger_than_along_time(chain: MarkovChain, length: int, height: float) -> None:
    chain = with_some_start(chain)
    own = height * (1 - np.eye(len(chain.states)))
    along = loss_along_time(chain, Profile.constant(own, length=length)).epsilon
    assert TreeCurve(BayesianNetwork.from_chain(chain, length)).at([own] * length).epsilon <= along * (1 + 1e-7) + 1e-12


@settings(max_examples=examples(14), deadline=None)
@given(data=st.data(), scales=st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=2, max_size=3))
def test_several_releases_together(data: st.DataObject, scales: list[float]) -> None:
    network = data.draw(networks(max_variables=4, max_states=2, most_parents=2))
    names = list(network.variables)
    queries = [Over(Count("s0"), [names[data.draw(st.integers(0, len(names) - 1))]]) for _ in scales]
    queries[0] = Over(Count("s0"), names)
    releases = [ReleaseRecord(noise_scale=scale, query=query) for scale, query in zip(scales, queries, strict=True)]
    composed = Accountant(network, releases=releases).composed()
    exact = audit(network, [Noisy(query, scale) for scale, query in zip(scales, queries, strict=True)])
    assert composed.epsilon >= exact.epsilon * (1 - 1e-9) - 1e-9
    by_rule = {finding.rule: finding for finding in composed.rules}
    assert by_rule["same-quilts"].applies
    assert by_rule["influence-curve"].applies


@settings(max_examples=examples(12), deadline=None)
@given(data=st.data(), epsilon=epsilons)
def test_a_set_is_as_hard_as_its_hardest_member(data: st.DataObject, epsilon: float) -> None:
    first = data.draw(networks(max_variables=4, max_states=2, most_parents=2))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    tables = {n: rng.dirichlet(np.ones(t.shape[-1]), size=t.shape[:-1]) for n, t in first.tables.items()}
    second = BayesianNetwork(first.variables, parents=first.parents, tables=tables)
    for name in ("quilt-exact", "curve", "wasserstein", "audited", "group"):
        both = calibrate(Count("s0"), belief=NetworkSet([first, second]), epsilon=epsilon, mechanism=name).noise_scale
        for member in (first, second):
            alone = calibrate(Count("s0"), belief=member, epsilon=epsilon, mechanism=name).noise_scale
            tells = loss(member, Count("s0"), 1.0) > 0  # what tells nothing still gets the noise of one value
            if name != "curve" and tells:  # a path by itself is treated as a chain
                assert both >= alone * (1 - 1e-9)
            assert loss(member, Count("s0"), both) <= epsilon * (1 + 1e-6)


def test_what_is_possible_stays_possible() -> None:
    """Products of these tables vanish in floats; the values they belong to can occur all the same."""
    rare = [[1 - 1e-200, 1e-200], [1e-200, 1 - 1e-200]]
    network = BayesianNetwork(
        {"x": "01", "y": "01", "z": "01"},
        parents={"y": "x", "z": "y"},
        tables={"x": [1 - 1e-200, 1e-200], "y": rare, "z": rare},
    )
    inference = Inference(network)
    assert inference.joint([0, 1, 2])[1].all()
    assert inference.max_influence(0, [2]) == math.inf
    assert calibrate(Count("1"), belief=network, epsilon=1.0, mechanism="quilt-exact").noise_scale >= 3.0
    assert len(network.all_outcomes.logs) == 8
    tables = {"x": np.array([1 - 1e-200, 1e-200]), "y": np.array([[1.0, 0.0], [1 - 1e-200, 1e-200]])}
    twice_rare = BayesianNetwork({"x": "01", "y": "01"}, parents={"y": "x"}, tables=tables)
    with pytest.raises(NotCoveredError, match="represented"):
        TreeCurve(twice_rare)
