"""Certificates on networks: every calibration's claims are proved by interval arithmetic, and nothing less is."""

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest

from quiltwork import BayesianNetwork, Certificate, MarkovChain, NetworkSet, Over, calibrate, parse_query
from quiltwork.calibration.mechanisms import certified as making
from quiltwork.calibration.record import Calibration
from quiltwork.certificate import CliqueProof, NetworkCertificate
from quiltwork.errors import CertificateError, InputError
from quiltwork.influence.quilts import inference
from quiltwork.question import bind
from quiltwork.types import Floats

BITS = dict.fromkeys("abcde", "01")


def network(seed: int = 0, parents: dict[str, str] | None = None, lean: float = 1.0) -> BayesianNetwork:
    """Five bits: a and b lead to c, that to d, and e depends on a (or other edges)."""
    edges = {"c": "ab", "d": "c", "e": "a"} if parents is None else parents
    rng = np.random.default_rng(seed)
    tables = {name: rng.dirichlet([lean, lean], size=2 ** len(edges.get(name, ""))) for name in BITS}
    return BayesianNetwork(
        BITS,
        parents={name: list(before) for name, before in edges.items()},
        tables={name: table if edges.get(name) else table[0] for name, table in tables.items()},
    )


COLLIDER = network(lean=5.0)
TREE = network(1, {"b": "a", "c": "a", "d": "b", "e": "b"}, lean=5.0)
EXCLUSIVE = BayesianNetwork(
    {"x": "01", "y": "01", "agree": "01", "noisy": "012"},
    parents={"agree": ["x", "y"], "noisy": ["agree", "x"]},
    tables={
        "x": [0.3, 0.7],
        "y": [1e-200, 1 - 1e-200],
        "agree": [[[0, 1], [1, 0]], [[1, 0], [0, 1]]],
        "noisy": [[[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]], [[0.0, 0.0, 1.0], [0.3, 0.3, 0.4]]],
    },
)


def made(belief: BayesianNetwork | NetworkSet, query: str = "count:1", epsilon: float = 1.0) -> Calibration:
    return calibrate(query, belief=belief, epsilon=epsilon, mechanism="curve")


def certified(belief: BayesianNetwork | NetworkSet, query: str = "count:1") -> NetworkCertificate:
    certificate = made(belief, query).certificate
    assert isinstance(certificate, NetworkCertificate)
    return certificate


def with_proof(certificate: NetworkCertificate, **changes: object) -> NetworkCertificate:
    first, *rest = certificate.members
    return dataclasses.replace(certificate, members=(dataclasses.replace(first, **changes), *rest))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "belief",
    [COLLIDER, TREE, EXCLUSIVE, NetworkSet([network(n, lean=5.0) for n in range(3)])],
    ids=["collider", "tree", "zeros", "set"],
)
@pytest.mark.parametrize("query", ["count:1", "histogram"])
def test_calibrations_carry_a_certificate_that_verifies(belief: BayesianNetwork | NetworkSet, query: str) -> None:
    found = made(belief, query)
    assert found.certificate is not None
    assert 0.9999 < found.verify(belief) <= 1.0
    again = Certificate.from_dict(json.loads(json.dumps(found.certificate.to_dict())))
    assert isinstance(again, NetworkCertificate)
    assert again.verify(belief) == found.certificate.verify(belief)


def test_queries_of_single_variables_are_proved_too() -> None:
    found = calibrate(Over(parse_query("count:1"), {"d": "2", "e": "1"}), belief=COLLIDER, epsilon=1.0)
    assert 0.9999 < found.verify(COLLIDER) <= 1.0
    with pytest.raises(CertificateError, match="another query"):
        dataclasses.replace(found, asked=bind("count:1", COLLIDER)).verify(COLLIDER)


def test_group_privacy_is_its_own_proof() -> None:
    copies = BayesianNetwork(
        {"x": "01", "y": "01", "z": "01"},
        parents={"y": ["x"], "z": ["y", "x"]},
        tables={"x": [0.5, 0.5], "y": np.eye(2), "z": [[[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.0, 1.0]]]},
    )
    found = made(copies)
    certificate = found.certificate
    assert isinstance(certificate, NetworkCertificate)
    assert certificate.members == ()
    assert 0.9999 < found.verify(copies) <= 1.0
    with pytest.raises(CertificateError, match=r"must prove epsilon = 1\b"):
        dataclasses.replace(certificate, profile=tuple(1.01 * m for m in certificate.profile)).verify(copies)
    with pytest.raises(CertificateError, match=r"must prove epsilon = 1\b"):
        dataclasses.replace(certified(COLLIDER), members=()).verify(COLLIDER)  # five variables count for less than 1


def test_the_bayesian_guarantee_has_none_but_group_privacy() -> None:
    found = calibrate("count:1", belief=TREE, epsilon=1.0, guarantee="bayesian")
    assert found.certificate is None
    with pytest.raises(CertificateError, match="Bayesian"):
        dataclasses.replace(made(TREE), guarantee="bayesian").verify(TREE)
    with pytest.raises(CertificateError, match="group privacy"):
        dataclasses.replace(certified(TREE), bayesian=True).verify(TREE)


def test_large_proofs_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "MOST_WORK", 10)
    found = made(COLLIDER)
    assert found.certificate is None
    with pytest.raises(CertificateError, match="no certificate, got mechanism curve on records"):
        found.verify(COLLIDER)


@pytest.mark.parametrize("belief", [COLLIDER, TREE], ids=["collider", "tree"])
def test_every_claim_counts(belief: BayesianNetwork) -> None:
    """A claim a little smaller, and it is not proved: the linear programme of a single entry leaves no room."""
    certificate = certified(belief)
    (proof,) = certificate.members
    assert proof.messages
    for edge, values in proof.messages.items():
        for entry in zip(*np.nonzero(values), strict=True):
            smaller = values.copy()
            smaller[entry] *= 0.999
            with pytest.raises(CertificateError, match=r"clique \d tells clique \d is not proved"):
                with_proof(certificate, messages=dict(proof.messages) | {edge: smaller}).verify(belief)
    for node, bound in enumerate(proof.told):
        told = (*proof.told[:node], 0.999 * bound, *proof.told[node + 1 :])
        with pytest.raises(CertificateError, match=f"about variable {node + 1} is not proved"):
            with_proof(certificate, told=told).verify(belief)


def test_claims_must_be_numbers_for_every_pair() -> None:
    certificate = certified(COLLIDER)
    (proof,) = certificate.members
    edge, values = next(iter(proof.messages.items()))

    def refused(claims: Floats, why: str) -> None:
        with pytest.raises(CertificateError, match=why):
            with_proof(certificate, messages=dict(proof.messages) | {edge: claims}).verify(COLLIDER)

    for wrong in (-values, values * math.nan, np.where(values > 0, math.inf, 0.0), np.zeros((3, 3)), values[:1]):
        refused(wrong, "none negative")
    refused(values + 0.1, "0 on the diagonal")
    for bound in (math.nan, -1.0):
        with pytest.raises(CertificateError, match="variable 1 is not proved"):
            with_proof(certificate, told=(bound, *proof.told[1:])).verify(COLLIDER)
    for told in ((), proof.told[1:], (*proof.told, 0.0)):
        with pytest.raises(CertificateError, match="bound for each variable"):
            with_proof(certificate, told=told).verify(COLLIDER)
    with pytest.raises(CertificateError, match="must prove epsilon"):
        with_proof(certificate, told=tuple(b + 1 for b in proof.told)).verify(COLLIDER)


def test_the_cliques_must_be_those_of_a_tree() -> None:
    certificate = certified(COLLIDER)
    (proof,) = certificate.members

    def refused(why: str, cliques: tuple[tuple[int, ...], ...], messages: dict[tuple[int, int], Floats]) -> None:
        with pytest.raises(CertificateError, match=why):
            with_proof(certificate, cliques=cliques, messages=messages).verify(COLLIDER)

    claims = dict(proof.messages)
    assert proof.cliques == ((0, 1, 2), (0, 4), (2, 3))
    first, *rest = claims
    refused("both directions", proof.cliques, {edge: claims[edge] for edge in rest})
    refused("both directions", proof.cliques, claims | {(0, 7): claims[first], (7, 0): claims[first]})
    refused("must be joined through", proof.cliques, {})
    refused("each variable with its parents", ((0, 1), (0, 4), (2, 3)), claims)
    refused("each variable with its parents", proof.cliques[:2], claims)
    refused("increasing order", ((2, 1, 0), (0, 4), (2, 3)), claims)
    refused("increasing order", ((0, 1, 2, 9), (0, 4), (2, 3)), claims)
    refused("increasing order", ((0, 1, 2), (0, 4), (2, 2, 3)), claims)
    refused("a circle", proof.cliques, claims | {(1, 1): np.zeros((2, 2))})
    one = np.zeros((1, 1))
    refused("a circle", proof.cliques, claims | {(1, 2): one, (2, 1): one})
    # a tree, but not one along which both sides are independent: {a, e} hangs on {c, d}, which has not a
    moved = {edge: values for edge, values in claims.items() if set(edge) == {0, 2}}
    refused("must be joined through", proof.cliques, moved | {(1, 2): one, (2, 1): one})


def test_the_profile_and_the_belief_are_held_to() -> None:
    certificate = certified(COLLIDER)
    with pytest.raises(CertificateError, match="another belief"):
        certificate.verify(network(7))
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    with pytest.raises(CertificateError, match="another belief"):
        certificate.verify(chain)
    with pytest.raises(CertificateError, match="tied by networks"):
        dataclasses.replace(certificate, belief=chain.fingerprint).verify(chain)
    first, *rest = certificate.profile

    def refused(profile: tuple[Floats, ...], why: str) -> None:
        with pytest.raises(CertificateError, match=why):
            dataclasses.replace(certificate, profile=profile).verify(COLLIDER)

    for wrong in (-first, first * math.nan, np.where(first > 0, math.inf, 0.0)):
        refused((wrong, *rest), "finite and not negative")
    refused(tuple(rest), "matrix for each variable")
    refused((np.zeros((3, 3)), *rest), "matrix for each variable")
    refused((first + 0.1, *rest), "diagonal")
    for node in range(5):
        refused(tuple(m * (1.01 if n == node else 1) for n, m in enumerate(certificate.profile)), "not proved")


def test_other_tables_with_the_same_graph_are_not_proved() -> None:
    """The fingerprint alone could be forged; the laws of cliques are computed anew."""
    stronger = network(3, lean=0.3)
    forged = dataclasses.replace(certified(COLLIDER), belief=stronger.fingerprint)
    with pytest.raises(CertificateError, match="not proved"):
        forged.verify(stronger)
    both = NetworkSet([COLLIDER, stronger])
    with pytest.raises(CertificateError, match="proof for each network"):
        dataclasses.replace(certified(COLLIDER), belief=both.fingerprint).verify(both)


def test_a_calibration_is_tied_to_its_certificate() -> None:
    found = made(COLLIDER)
    with pytest.raises(CertificateError, match="more noise than this"):
        dataclasses.replace(found, noise_scale=0.99 * found.noise_scale).verify(COLLIDER)
    with pytest.raises(CertificateError, match="another query"):
        dataclasses.replace(found, asked=bind("histogram", COLLIDER)).verify(COLLIDER)
    with pytest.raises(CertificateError, match=r"epsilon = 0\.9"):
        dataclasses.replace(found, epsilon=0.9).verify(COLLIDER)
    for scale in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(CertificateError, match="without noise"):
            dataclasses.replace(found, noise_scale=scale).verify(COLLIDER)


@pytest.mark.parametrize("missing", ["belief", "epsilon", "profile", "members", "bayesian"])
def test_what_was_not_written_cannot_be_read(missing: str) -> None:
    contents = certified(COLLIDER).to_dict()
    with pytest.raises(CertificateError, match="cannot be read"):
        Certificate.from_dict({name: value for name, value in contents.items() if name != missing})
    for values in ("text", [{"cliques": 1}], [{"cliques": [[0]], "messages": [{"from": 0}], "told": []}]):
        with pytest.raises(CertificateError, match="cannot be read"):
            Certificate.from_dict(contents | {"members": values})


def test_any_tree_of_cliques_will_do() -> None:
    """One clique of all variables needs no messages; it proves at least as much."""
    certificate = certified(COLLIDER)
    (proof,) = certificate.members
    everything = CliqueProof((tuple(range(5)),), {}, proof.told)
    assert dataclasses.replace(certificate, members=(everything,)).verify(COLLIDER) <= 1.0
    reversed_order = tuple(reversed(proof.cliques))
    last = len(reversed_order) - 1
    messages = {(last - c, last - d): values for (c, d), values in proof.messages.items()}
    assert with_proof(certificate, cliques=reversed_order, messages=messages).verify(COLLIDER) <= 1.0


def test_noise_along_a_tree_needs_no_inference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pyAgrum there is no certificate, and the same noise."""
    known = made(TREE)

    def missing() -> None:
        raise InputError("quilts on networks need pyAgrum")

    monkeypatch.setattr(inference, "_pyagrum", missing)
    found = made(TREE)
    assert (found.noise_scale, found.certificate) == (known.noise_scale, None)
    monkeypatch.undo()
    monkeypatch.setattr(making, "MOST_VARIABLES", 4)
    assert made(TREE).certificate is None


def test_long_paths_are_checked_without_recursion() -> None:
    rng = np.random.default_rng(0)
    names = [f"v{n}" for n in range(250)]
    path = BayesianNetwork(
        dict.fromkeys(names, "01"),
        parents={after: [before] for before, after in itertools.pairwise(names)},
        tables={name: rng.dirichlet([5, 5], size=2 if n else None) for n, name in enumerate(names)},
    )
    assert 0.9999 < made(path).verify(path) <= 1.0
