"""Certificates prove what they claim about their own secrets, and nothing about others."""

from dataclasses import replace

import pytest

from quiltwork import BayesianNetwork, Belief, Certificate, MarkovChain, Secrets, calibrate
from quiltwork.errors import CertificateError

CHAIN = MarkovChain(
    [[0.95, 0.03, 0.02], [0.03, 0.95, 0.02], [0.3, 0.3, 0.4]], initial="stationary", states=["sleep", "work", "shop"]
)
TREE = BayesianNetwork(
    {"x": "abc", "y": "abc", "z": "ab"},
    parents={"y": ["x"], "z": ["y"]},
    tables={
        "x": [0.5, 0.3, 0.2],
        "y": [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5]],
        "z": [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]],
    },
)
CASES = [
    (CHAIN, "count:work", "state:shop", 400),
    (CHAIN, "count:work", "pairs:sleep|shop", None),
    (CHAIN, "histogram", "sets:sleep,shop|*", None),
    (CHAIN.with_start("any"), "count:work", "sets:sleep,shop|*", None),
    (CHAIN, "count:work", "state:shop at 2:3", 6),
    (TREE, "count:a", "variables:z", None),
    (TREE, "count:a", "pairs:b|c over y", None),
    (TREE, "count:a", "sets:a,b|* over x and variables:z", None),
]


@pytest.mark.parametrize(("belief", "query", "secrets", "length"), CASES)
def test_a_certificate_is_about_its_own_secrets(belief: Belief, query: str, secrets: str, length: int | None) -> None:
    made = calibrate(query, belief=belief, epsilon=1.0, length=length, secrets=secrets)
    assert made.certificate is not None
    assert made.verify(belief) <= 1.0
    again = Certificate.from_dict(made.certificate.to_dict())
    assert again.secrets == Secrets.parse(secrets)
    assert again.verify(belief) <= 1.0
    with pytest.raises(CertificateError, match="for the secrets all"):
        replace(made, secrets=Secrets.all()).verify(belief)
    needed = calibrate(query, belief=belief, epsilon=1.0, length=length).noise_scale
    if made.noise_scale < 0.9 * needed:  # what is enough for some secrets is not for all
        with pytest.raises(CertificateError):
            replace(made.certificate, secrets=Secrets.all()).verify(belief)  # type: ignore[type-var]


def test_a_shipment_between_sets_must_deliver() -> None:
    made = calibrate("histogram", belief=CHAIN, epsilon=1.0, secrets="sets:sleep,shop|*")
    assert made.certificate is not None
    assert made.verify(CHAIN) == 1.0  # more than the pairs of states allow, proved by the mixtures
    with pytest.raises(CertificateError, match="must prove epsilon"):
        replace(made.certificate, epsilon=0.9).verify(CHAIN)  # type: ignore[type-var]


def test_a_certificate_for_everything_proves_less_too() -> None:
    made = calibrate("count:work", belief=CHAIN, epsilon=1.0)
    assert "secrets" not in (made.certificate.to_dict() if made.certificate else {})
    assert replace(made, secrets=Secrets.state("shop")).verify(CHAIN) <= 1.0
