"""Certificates on random networks: all verify, and no claim below the exact linear programme does."""

import dataclasses

import numpy as np
import pytest
import reference
from effort import examples
from hypothesis import assume, given, settings, strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from strategies import epsilons, networks, trees

from quiltwork import BayesianNetwork, NetworkSet, calibrate
from quiltwork.certificate import CliqueProof, NetworkCertificate
from quiltwork.errors import CertificateError

Array = NDArray[np.float64]
QUERIES = st.sampled_from(["count:s0", "histogram"])


@settings(max_examples=examples(28), deadline=None)
@given(networks(max_variables=6, max_states=3), epsilons, QUERIES)
def test_every_certificate_proves_its_epsilon(network: BayesianNetwork, epsilon: float, query: str) -> None:
    found = calibrate(query, belief=network, epsilon=epsilon, mechanism="curve")
    if not network.graph.forest:  # along a tree, skips may need less than cliques can prove
        assert found.certificate is not None
    if found.certificate is not None:
        assert found.verify(network) <= epsilon


@settings(max_examples=examples(24), deadline=None)
@given(trees(max_variables=6, max_states=4, zeros=False), epsilons, QUERIES)
def test_certificates_of_trees(network: BayesianNetwork, epsilon: float, query: str) -> None:
    found = calibrate(query, belief=network, epsilon=epsilon, mechanism="curve")
    if found.certificate is not None:
        assert found.verify(network) <= epsilon


@settings(max_examples=examples(8), deadline=None)
@given(st.integers(0, 2**32 - 1), epsilons)
def test_certificates_of_sets(seed: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    variables = {name: "012" if name == "c" else "01" for name in "abcd"}

    def member() -> BayesianNetwork:
        tables = {"a": (2,), "b": (2,), "c": (2, 2, 3), "d": (3, 2, 2)}
        drawn = {name: rng.dirichlet(np.ones(s[-1]), size=s[:-1] or None) for name, s in tables.items()}
        return BayesianNetwork(variables, parents={"c": "ab", "d": "cb"}, tables=drawn)

    belief = NetworkSet([member() for _ in range(3)])
    found = calibrate("histogram", belief=belief, epsilon=epsilon, mechanism="curve")
    if found.certificate is not None:
        assert found.verify(belief) <= epsilon


def transport(p: Array, q: Array, difference: Array) -> float:
    """transport(p, q; D) by a linear programme over the share of each state that goes to each other."""
    n, m = difference.shape
    loads = np.exp(difference) * p[:, None] / q
    fills = np.hstack([np.kron(np.ones((1, n)), np.eye(m)) * loads.ravel(), -np.ones((m, 1))])
    sends = np.hstack([np.kron(np.eye(n), np.ones((1, m))), np.zeros((n, 1))])
    solved = linprog(np.append(np.zeros(n * m), 1.0), A_ub=fills, b_ub=np.zeros(m), A_eq=sends, b_eq=np.ones(n))
    assume(solved.fun is not None)  # the solver gives up on a few with very small probabilities
    return float(np.log(float(solved.fun or 0)))


class Records:
    """All records of a network, one by one: what a clique tells by linear programmes."""

    def __init__(self, network: BayesianNetwork, profile: tuple[Array, ...]):
        law = reference.records(dict(network.variables), network.parents, network.tables)
        self.codes, self.chances = np.array([list(r) for r, _ in law]), np.array([chance for _, chance in law])
        self.profile = profile

    def told(self, proof: CliqueProof, clique: int, about: list[int], towards: int | None) -> Array:
        """transport between the laws of a clique given each two states of some of its variables."""
        nodes = list(proof.cliques[clique])
        states, which = np.unique(self.codes[:, nodes], axis=0, return_inverse=True)
        law = np.bincount(which.ravel(), weights=self.chances)

        def labels(some: list[int]) -> NDArray[np.intp]:
            return np.unique(states[:, [nodes.index(n) for n in some]], axis=0, return_inverse=True)[1].ravel()

        D = np.zeros((len(law), len(law)))
        for n in nodes:
            if towards is None or n not in about:
                own = states[:, nodes.index(n)]
                D += self.profile[n][np.ix_(own, own)]
        for (c, d), claims in proof.messages.items():
            if d == clique and c != towards:
                shared = labels([n for n in nodes if n in proof.cliques[c]])
                D += claims[np.ix_(shared, shared)]
        kinds = labels(about)
        count = int(kinds.max()) + 1
        exact = np.zeros((count, count))
        for a in range(count):
            for b in set(range(count)) - {a}:
                p, q = law[kinds == a], law[kinds == b]
                exact[a, b] = transport(p / p.sum(), q / q.sum(), D[np.ix_(kinds == a, kinds == b)])
        return exact


@settings(max_examples=examples(12), deadline=None)
@given(networks(min_variables=2, max_variables=5, max_states=3), epsilons, st.data())
def test_no_claim_below_the_linear_programme_is_proved(
    network: BayesianNetwork, epsilon: float, data: st.DataObject
) -> None:
    certificate = calibrate("histogram", belief=network, epsilon=epsilon, mechanism="curve").certificate
    if not isinstance(certificate, NetworkCertificate) or not certificate.members:
        return
    (proof,) = certificate.members
    records = Records(network, certificate.profile)
    if proof.messages:
        c, d = edge = data.draw(st.sampled_from(sorted(proof.messages)))
        shared = [n for n in proof.cliques[c] if n in proof.cliques[d]]
        exact = records.told(proof, c, shared, d)
        claims = proof.messages[edge]
        assert (claims >= exact - 1e-7).all()
        if exact.max() > 1e-4:
            entry = data.draw(st.sampled_from(list(zip(*np.nonzero(exact > 1e-4), strict=True))))
            lower = claims.copy()
            lower[entry] = exact[entry] * (1 - 1e-3)
            refused(network, certificate, messages=dict(proof.messages) | {edge: lower})
    # one clique of all variables: what a single variable can tell at most, exactly
    single = CliqueProof((tuple(range(len(network.variables))),), {}, proof.told)
    least = [float(records.told(single, 0, [n], None).max(initial=0.0)) for n in range(len(network.variables))]
    assert all(bound >= exact - 1e-7 for bound, exact in zip(proof.told, least, strict=True))
    tight = tuple(exact * (1 + 1e-5) + 1e-7 for exact in least)  # as precise as the solver is
    proof = dataclasses.replace(single, told=tight)
    proved = dataclasses.replace(certificate, epsilon=2 * epsilon, members=(proof,))
    assert proved.verify(network) == max(tight)
    node = int(np.argmax(least))
    if least[node] > 1e-4:  # else no value can be told from another
        less = tuple(bound * (0.999 if n == node else 1) for n, bound in enumerate(tight))
        refused(network, dataclasses.replace(certificate, members=(single,)), told=less)


def refused(network: BayesianNetwork, certificate: NetworkCertificate, **changes: object) -> None:
    (proof,) = certificate.members
    tampered = dataclasses.replace(certificate, members=(dataclasses.replace(proof, **changes),))  # type: ignore[arg-type]
    with pytest.raises(CertificateError, match="not proved"):
        tampered.verify(network)
