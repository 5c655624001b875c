"""Beliefs as files: what is read, what is refused, what survives."""

import json
from pathlib import Path
from typing import Any

import pytest
from examples import TABLE, WARD
from hypothesis import given
from shell import run
from strategies import chains

from quiltwork import (
    BayesianNetwork,
    ChainSet,
    InputError,
    IntervalChain,
    JointTable,
    MarkovChain,
    MixingClass,
    NetworkSet,
    load_belief,
    save_belief,
)
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


@pytest.mark.parametrize("belief", [WARD, TABLE], ids=["network", "table"])
def test_the_order_of_variables_is_part_of_a_belief(belief: BayesianNetwork | JointTable, tmp_path: Path) -> None:
    file = tmp_path / "belief.json"
    save_belief(belief, file)
    again = load_belief(file)
    assert list(again.variables or ()) == list(belief.variables)
    assert again.fingerprint == belief.fingerprint
    sorted_file = tmp_path / "sorted.json"
    sorted_file.write_text(json.dumps(belief.to_dict(), sort_keys=True))
    assert load_belief(sorted_file) == belief
    if isinstance(belief, JointTable):
        other = JointTable({"a": "01", "m": "01", "z": "01"}, [(o, 1 / 8) for o in belief.outcomes])
        assert other.fingerprint != belief.fingerprint
        assert other != belief


def test_variables_may_be_an_object_still() -> None:
    from quiltwork.beliefs import belief_from_dict

    old = {"kind": "joint", "variables": {"b": ["0", "1"], "a": ["0", "1"]}, "table": [{"a": "0", "b": "1", "p": 1.0}]}
    assert list(belief_from_dict(old).variables or ()) == ["b", "a"]
    for wrong in ([{"name": "a"}], [{"name": "a", "states": ["0"]}] * 2, [{"name": "a", "states": "01"}], "a"):
        with pytest.raises(InputError, match="variable"):
            belief_from_dict(old | {"variables": wrong})


def test_a_network_survives_its_file(garden: Path, tmp_path: Path) -> None:
    network = load_belief(garden)
    save_belief(network, tmp_path / "copy.json")
    assert load_belief(tmp_path / "copy.json") == network
    assert load_belief(tmp_path / "copy.json").fingerprint == network.fingerprint
    both = {"kind": "set", "members": [network.to_dict(), {"kind": "network", "bif": "garden.bif"}]}
    (tmp_path / "both.json").write_text(json.dumps(both))
    members = load_belief(tmp_path / "both.json")
    assert isinstance(members, NetworkSet)
    assert members.members == (network, network)
    assert network.summary()["width"] == 2
    assert members.summary()["members"] == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"variables": {}, "tables": {}}, "needs variables"),
        ({"variables": {"a": ["0", "0"]}, "tables": {}}, "a repeated one"),
        ({"variables": {"a": ["0", "1"]}, "tables": {"b": [1]}}, "got 'b'"),
        ({"variables": {"a": ["0", "1"]}, "tables": {"a": [1]}}, "shape 2"),
        ({"variables": {"a": ["0", "1"]}, "tables": {"a": ["x", 1]}}, "numbers in rows"),
        ({"variables": {"a": ["0", "1"]}, "tables": {}, "parents": {"a": ["a", "a"]}}, "must differ"),
        ({"variables": {"a": ["0", "1"]}, "parents": {"a": "b"}, "tables": {}}, "lists by variable"),
        ({"variables": [], "tables": {}}, "needs variables"),
        ({"bif": 3}, "path of a file"),
        ({"bif": "absent.bif"}, "absent.bif cannot be read"),
        ({"bif": "a.bif", "tables": {}}, "no key 'tables'"),
    ],
)
def test_wrong_network_files_are_named(content: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = tmp_path / "belief.json"
    path.write_text(json.dumps({"kind": "network"} | content))
    with pytest.raises(InputError) as problem:
        load_belief(path)
    assert said in str(problem.value)
    done = run("plan", path, "--query", "count:0", "--epsilon", 1, code=2)
    assert len(done.stderr.splitlines()) == 1
