"""Beliefs: validation, properties, files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from strategies import chains, transitions

from quiltwork import ChainSet, InputError, IntervalChain, MarkovChain, MixingClass, load_belief, save_belief
from quiltwork.beliefs import belief_from_dict

CHAIN = {"kind": "chain", "transition": [[0.9, 0.1], [0.4, 0.6]]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({**CHAIN, "transition": [[0.9, 0.1], [0.4, 0.57]]}, r"transition row 2 must sum to 1, got 0.97"),
        ({**CHAIN, "transition": [[1.1, -0.1], [0.4, 0.6]]}, r"row 1 must have finite.*got -0.1 in column 2"),
        ({**CHAIN, "transition": [[float("nan"), 1], [0, 1]]}, r"row 1 .*got nan"),
        ({**CHAIN, "transition": [[0.5, 0.5]]}, r"square, got shape 1x2"),
        ({**CHAIN, "transition": [[0.5, 0.5], [1]]}, r"square table of numbers"),
        ({**CHAIN, "transition": []}, r"square"),
        ({**CHAIN, "transition": 3}, r"square"),
        ({**CHAIN, "states": ["a"]}, r"name each of the 2 states, got 1"),
        ({**CHAIN, "states": ["a", "a"]}, r"must differ, got 'a' more than once"),
        ({**CHAIN, "states": "ab"}, r"list of names"),
        ({**CHAIN, "initial": [0.5, 0.4]}, r"initial must sum to 1, got 0.9"),
        ({**CHAIN, "initial": [1]}, r"one entry for each of the 2"),
        ({**CHAIN, "initial": [-1, 2]}, r"not negative"),
        ({**CHAIN, "initial": "sometimes"}, r"'sometimes'"),
        ({**CHAIN, "initial": {"a": 1}}, r"list of numbers"),
        ({**CHAIN, "transition": [[1, 0], [0, 1]], "initial": "stationary"}, r"unique, got 2 closed classes"),
        ({**CHAIN, "transitions": 1, "note": 2}, r"no key 'note', 'transitions'"),
        ({"kind": "chain"}, r"must have 'transition'"),
        ({"kind": "weather"}, r"kind 'weather'.*Known kinds: chain, set, mixing"),
        ({}, r"no kind"),
        ([], r"object with a kind"),
        ({"kind": "set", "members": []}, r"must have a member"),
        ({"kind": "set", "members": 3}, r"list of beliefs"),
        ({"kind": "set", "members": [{"kind": "mixing", "states": 2, "pi_min": 0.1, "gap": 0.1}]}, r"must be chains"),
        ({"kind": "set", "members": [CHAIN, {**CHAIN, "states": ["a", "b"]}]}, r"member 2 .*same order"),
        ({"kind": "mixing", "states": 2, "pi_min": 0.6, "gap": 0.1}, r"at most 1/2, got 0.6"),
        ({"kind": "mixing", "states": 2, "pi_min": 0.1, "gap": 0}, r"gap must be above 0.*quilt-exact"),
        ({"kind": "mixing", "states": 0, "pi_min": 0.1, "gap": 0.1}, r"at least 1"),
        ({"kind": "mixing", "states": 2.5, "pi_min": 0.1, "gap": 0.1}, r"count or a list"),
        ({"kind": "mixing", "states": 2, "pi_min": "x", "gap": 0.1}, r"pi_min must be a number"),
        ({"kind": "mixing", "states": 2, "pi_min": 0.1, "gap": 0.1, "reversible": 1}, r"true or false"),
        ({"kind": "interval", "lower": [[0.6, 0.6], [0, 0]], "upper": [[1, 1], [1, 1]]}, r"row 1: some distribution"),
        ({"kind": "interval", "lower": [[0.6, 0], [0, 0]], "upper": [[0.5, 1], [1, 1]]}, r"row 1 must have lower"),
        ({"kind": "interval", "lower": [[0]], "upper": [[1, 1], [1, 1]]}, r"same shape"),
        ({"kind": "interval", "lower": [[0]], "upper": [[1]], "initial": [1]}, r'"any"'),
    ],
)
def test_wrong_contents_are_named(content: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        belief_from_dict(content)


@given(chains())
def test_files_round_trip(chain: MarkovChain) -> None:
    again = belief_from_dict(json.loads(json.dumps(chain.to_dict())))
    assert again == chain
    assert again.fingerprint == chain.fingerprint
    assert hash(again) == hash(chain)


@pytest.mark.parametrize(
    "belief",
    [
        ChainSet([MarkovChain([[0.5, 0.5], [0.1, 0.9]], initial=[1, 0])]),
        MixingClass(["a", "b"], pi_min=0.1, gap=0.2, reversible=True),
        MixingClass(7, pi_min=0.1, gap=0.2),
        IntervalChain([[0.5, 0.1], [0.2, 0.2]], [[0.9, 0.5], [0.8, 0.8]], states=["x", "y"]),
    ],
)
def test_other_kinds_round_trip(belief: Any, tmp_path: Path) -> None:
    save_belief(belief, tmp_path / "belief.json")
    assert load_belief(tmp_path / "belief.json") == belief
    assert belief.summary()["fingerprint"] == belief.fingerprint


def test_toml_is_read(tmp_path: Path) -> None:
    file = tmp_path / "belief.toml"
    file.write_text('kind = "chain"\ntransition = [[0.9, 0.1], [0.4, 0.6]]\ninitial = "stationary"\n')
    assert load_belief(file) == MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.json", None, "cannot be read: No such file"),
        ("binary.json", b"\xff\xfe\x00", "it is not text"),
        ("bad.json", b"{", "must be JSON"),
        ("bad.toml", b"=", "must be TOML"),
    ],
)
def test_unreadable_files(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        load_belief(tmp_path / name)


@given(transitions())
def test_stationary_law_is_stationary(P: np.ndarray) -> None:
    chain = MarkovChain(P)
    if len(chain._closed) == 1:
        assert np.allclose(chain.stationary @ chain.transition, chain.stationary, atol=1e-14)
        assert chain.stationary.sum() == pytest.approx(1)


def test_stationary_law_keeps_tiny_entries_accurate() -> None:
    """A birth and death chain over forty orders of magnitude: detailed balance gives the law exactly."""
    k = 21
    P = np.diag(np.full(k - 1, 0.001), 1) + np.diag(np.full(k - 1, 0.1), -1)
    P += np.diag(1 - P.sum(axis=1))
    expected = 0.01 ** np.arange(k)
    assert MarkovChain(P).stationary == pytest.approx(expected / expected.sum(), rel=1e-11, abs=0)


def test_structure() -> None:
    cycle = MarkovChain(np.roll(np.eye(3), 1, axis=1))
    assert (cycle.irreducible, cycle.period, cycle.aperiodic, cycle.reversible) == (True, 3, False, False)
    assert cycle.gap == pytest.approx(0, abs=1e-12)
    absorbing = MarkovChain([[0.5, 0.5], [0, 1]])
    assert (absorbing.irreducible, absorbing.aperiodic) == (False, True)
    assert absorbing.stationary.tolist() == [0, 1]
    with pytest.raises(InputError, match="irreducible"):
        _ = absorbing.gap
    single = MarkovChain([[1]])
    assert (single.gap, single.pi_min, single.irreducible) == (1.0, 1.0, True)


@given(transitions(zeros=False))
def test_time_reversal_twice_is_the_chain(P: np.ndarray) -> None:
    chain = MarkovChain(P)
    assert chain.time_reversal().time_reversal().transition == pytest.approx(chain.transition, rel=1e-9)
    assert 0 <= chain.gap <= 1


def test_from_counts() -> None:
    with pytest.raises(InputError, match="counts row 2 must have a positive entry"):
        MarkovChain.from_counts([[1, 1], [0, 0]])
    assert MarkovChain.from_counts([[1, 1], [0, 0]], smoothing=1).transition[1].tolist() == [0.5, 0.5]
    with pytest.raises(InputError, match="smoothing"):
        MarkovChain.from_counts([[1]], smoothing=-1)


def test_interval_from_counts_covers_the_truth_and_the_unseen() -> None:
    bounds = IntervalChain.from_counts([[50, 0], [0, 0]], confidence=0.9)
    assert bounds.lower.tolist()[1] == [0, 0]
    assert bounds.upper.tolist()[1] == [1, 1]
    assert 0.85 < bounds.lower[0, 0] < 1
    assert bounds.upper[0, 0] == 1
    with pytest.raises(InputError, match="confidence"):
        IntervalChain.from_counts([[1]], confidence=1.0)
