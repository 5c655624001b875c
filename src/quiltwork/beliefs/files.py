"""Belief files: JSON or TOML in, JSON out. See ``docs/belief-files.md``."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quiltwork.beliefs.base import Belief, Believed, as_belief
from quiltwork.beliefs.chain import ChainSet, MarkovChain
from quiltwork.beliefs.checked import Checked
from quiltwork.beliefs.cycle import CycleChain
from quiltwork.beliefs.dynamic import DynamicNetwork
from quiltwork.beliefs.gaussian import GaussianBelief
from quiltwork.beliefs.hidden import HiddenChain, OrderChain
from quiltwork.beliefs.interval import IntervalChain
from quiltwork.beliefs.joint import JointTable
from quiltwork.beliefs.mixing import MixingClass
from quiltwork.beliefs.mixture import AnyMixture
from quiltwork.beliefs.network import BayesianNetwork, NetworkSet
from quiltwork.beliefs.record import variables_in
from quiltwork.beliefs.text import parse_json, read_text, why_unwritten
from quiltwork.errors import BeliefError, did_you_mean

_TABLES = (".csv", ".tsv", ".gz", ".parquet")


def load_belief(path: str | Path) -> Belief:
    """Read a belief file (JSON, or TOML by its ending).

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "belief.json")
    >>> save_belief(MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary"), file)
    >>> load_belief(file)
    MarkovChain(2 states, initial=stationary)
    """
    path = Path(path)
    if path.suffix.lower() in _TABLES and path.is_file():
        raise BeliefError(
            f"belief file {path} must be JSON, TOML or BIF",
            got=repr(path.suffix),
            why="it seems to hold data",
            fix="Make a belief from other data of the same kind: quiltwork belief fit; or write one: belief new",
        )
    text = read_text(path, "belief file", error=BeliefError)
    if path.suffix.lower() == ".bif":
        return BayesianNetwork.from_bif(path)
    if path.suffix.lower() == ".toml":
        content = _parse_toml(text, path)
    else:
        content = parse_json(text, f"belief file {path}", error=BeliefError, object_pairs_hook=_without_repeats)
    checked = content.pop("checked", None) if isinstance(content, dict) else None
    belief = belief_from_dict(_found_from(content, path.parent))
    if checked is not None:
        found = Checked.from_dict(checked)
        belief.checked = found if found.belief == belief.fingerprint else None  # it was changed after the check
    return belief


def _parse_toml(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        why = (
            str(problem)
            if isinstance(problem, tomllib.TOMLDecodeError)
            else "it is nested too deeply, or a number is too long"
        )
        raise BeliefError(f"belief file {path} must be TOML", why=why) from problem


def save_belief(belief: Believed, path: str | Path) -> None:
    """Write a belief file as JSON, readable by :func:`load_belief`; with what a check of it found, if there was one.

    >>> import tempfile, pathlib
    >>> save_belief(MixingClass(2, pi_min=0.1, gap=0.2), pathlib.Path(tempfile.mkdtemp(), "belief.json"))
    """
    belief = as_belief(belief)
    checked = {} if belief.checked is None else {"checked": belief.checked.to_dict()}
    _write(_json_file(path), belief.to_dict() | checked)


def save_checked(path: str | Path, checked: Checked) -> None:
    """Write what a check found into a belief file, which stays as it is otherwise."""
    path = _json_file(path)
    text = read_text(path, "belief file", error=BeliefError)
    content = parse_json(text, f"belief file {path}", error=BeliefError, object_pairs_hook=_without_repeats)
    _write(path, content | {"checked": checked.to_dict()})


def _json_file(given: str | Path) -> Path:
    path = Path(given)
    if path.suffix.lower() != ".json":
        raise BeliefError(f"belief file {path} must end in .json", got=repr(path.suffix), why="it is written as JSON")
    return path


def _write(path: Path, content: dict[str, Any]) -> None:
    try:
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    except OSError as problem:
        why, fix = why_unwritten(path, problem)
        raise BeliefError(f"belief file {path} cannot be written", why=why, fix=fix) from problem


def belief_from_dict(content: object) -> Belief:
    """The belief that a belief file's contents describe.

    >>> belief_from_dict({"kind": "mixing", "states": 5, "pi_min": 0.05, "gap": 0.1, "reversible": True})
    MixingClass(5 states, pi_min=0.05, gap=0.1, reversible)
    """
    if not isinstance(content, dict):
        raise BeliefError("a belief must be an object with a kind", got=type(content).__name__, fix=_KINDS_HINT)
    kind = content.get("kind")
    if not isinstance(kind, str) or kind not in _READERS:
        got = "no kind" if kind is None else f"kind {kind!r}"
        fix = did_you_mean(kind, _READERS, _KINDS_HINT) if isinstance(kind, str) else _KINDS_HINT
        raise BeliefError("the kind of belief is not known", got=got, fix=fix)
    try:
        return _READERS[kind]({key: value for key, value in content.items() if key != "kind"})
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError, RecursionError) as problem:
        raise BeliefError(
            f"a belief of kind {kind} cannot be read",
            why="a value in it is of another type than it should be, or far too large",
            fix="docs/belief-files.md shows the form",
        ) from problem


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys stand once: of two tables for one variable, which one is meant?"""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        raise BeliefError(
            "each key must appear once in an object", got=f"{next(n for n in names if names.count(n) > 1)!r} twice"
        )
    return entries


def _found_from(content: Any, folder: Path) -> Any:
    """The contents with files that they name looked for beside the belief file."""
    if not isinstance(content, dict):
        return content
    if isinstance(content.get("bif"), str):
        return content | {"bif": str(_within(folder, content["bif"]))}
    if isinstance(content.get("members"), list):
        return content | {"members": [_found_from(member, folder) for member in content["members"]]}
    return content


def _within(folder: Path, name: str) -> Path:
    """A file below the folder of the belief file: a belief from elsewhere must not read other files."""
    try:
        path = (folder / name).resolve()
        inside = path.is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        inside = False
    if not inside:
        raise BeliefError(
            "the BIF file of a belief must be in the folder of the belief file, or below it",
            got="another folder",
            fix="Move it there, or pass the BIF file itself as the belief",
        )
    return path


def _chain(content: dict[str, Any]) -> MarkovChain:
    _check_keys(content, "chain", required={"transition"}, optional={"states", "initial", "step"})
    initial = content.get("initial", "any")
    return MarkovChain(
        content["transition"], initial=initial, states=_names(content.get("states")), step=content.get("step")
    )


def _set(content: dict[str, Any]) -> ChainSet | NetworkSet:
    _check_keys(content, "set", required={"members"}, optional={"step"})
    if not isinstance(content["members"], list):
        raise BeliefError("members must be a list of beliefs", got=type(content["members"]).__name__)
    nested = any(isinstance(m, dict) and m.get("kind") == "set" for m in content["members"])
    if nested:
        raise BeliefError("the members of a set must be chains or networks", got="another set", fix="List all members")
    members = [belief_from_dict(m) for m in content["members"]]
    if any(isinstance(m, BayesianNetwork) for m in members):
        _check_keys(content, "set of networks", required={"members"})  # records have no steps
        return NetworkSet(members)  # type: ignore[arg-type]  # it says what is wrong with the others
    return ChainSet(members, step=content.get("step"))  # type: ignore[arg-type]


def _mixtures(content: dict[str, Any]) -> AnyMixture:
    _check_keys(content, "mixtures", required={"members"})
    if not isinstance(content["members"], list):
        raise BeliefError("members must be a list of beliefs", got=type(content["members"]).__name__)
    kinds = {m.get("kind") for m in content["members"] if isinstance(m, dict)}
    if not kinds <= {"network", "joint"}:
        raise BeliefError("the members of mixtures must be networks or joint tables", got="another kind of belief")
    return AnyMixture([belief_from_dict(m) for m in content["members"]])  # type: ignore[misc]  # it says what is wrong


def _network(content: dict[str, Any]) -> BayesianNetwork:
    if "bif" in content:
        _check_keys(content, "network", required={"bif"})
        if not isinstance(content["bif"], str):
            raise BeliefError("bif must be the path of a file", got=type(content["bif"]).__name__)
        return BayesianNetwork.from_bif(content["bif"])
    if not content:
        raise BeliefError("a network must have tables or a BIF file", got="neither", fix='"bif": "path/to/file.bif"')
    _check_keys(content, "network", required={"variables", "tables"}, optional={"parents"})
    parents = _parents(content, "a network")
    variables = variables_in(content["variables"], "a network")
    return BayesianNetwork(variables, parents=parents, tables=content["tables"])


def _dynamic(content: dict[str, Any]) -> DynamicNetwork:
    _check_keys(content, "dynamic", required={"variables", "tables"}, optional={"parents", "initial", "step"})
    variables = variables_in(content["variables"], "a dynamic network")
    initial = content.get("initial", "any")
    if isinstance(initial, dict):
        initial = _network({"variables": content["variables"]} | initial)
    return DynamicNetwork(
        variables,
        parents=_parents(content, "a dynamic network"),
        tables=content["tables"],
        initial=initial,
        step=content.get("step"),
    )


def _parents(content: dict[str, Any], what: str) -> dict[str, list[str]]:
    """The parents by variable; tables must be an object too."""
    for key in ("tables", "parents"):
        if not isinstance(content.get(key, {}), dict):
            raise BeliefError(f"{key} of {what} must be an object", got=type(content[key]).__name__)
    parents: dict[str, list[str]] = content.get("parents", {})
    if not all(isinstance(names, list) for names in parents.values()):
        raise BeliefError(f"parents of {what} must be lists by variable", got="something else")
    return parents


def _mixing(content: dict[str, Any]) -> MixingClass:
    _check_keys(content, "mixing", required={"states", "pi_min", "gap"}, optional={"reversible", "initial", "step"})
    for key in ("pi_min", "gap"):
        if not isinstance(content[key], int | float) or isinstance(content[key], bool):
            raise BeliefError(f"{key} must be a number", got=type(content[key]).__name__)
    if not isinstance(content.get("reversible", False), bool):
        raise BeliefError("reversible must be true or false", got=type(content["reversible"]).__name__)
    return MixingClass(**content)


def _interval(content: dict[str, Any]) -> IntervalChain:
    _check_keys(content, "interval", required={"lower", "upper"}, optional={"states", "initial", "step"})
    if content.get("initial", "any") != "any":
        raise BeliefError(
            'the initial of an interval must be "any"',
            got="another start",
            why="a chain that moves within bounds has no law of its own to start from",
        )
    return IntervalChain(
        content["lower"], content["upper"], states=_names(content.get("states")), step=content.get("step")
    )


def _cycle(content: dict[str, Any]) -> CycleChain:
    _check_keys(content, "cycle", required={"transitions"}, optional={"states", "initial", "period", "step"})
    if not isinstance(content["transitions"], list):
        raise BeliefError("transitions must be a list of matrices", got=type(content["transitions"]).__name__)
    period = content.get("period", len(content["transitions"]))
    if period != len(content["transitions"]):
        raise BeliefError(
            "period must be the number of transition matrices",
            got=f"{len(content['transitions'])} matrices",
            why="each step of the cycle has one",
        )
    return CycleChain(
        content["transitions"],
        initial=content.get("initial", "any"),
        states=_names(content.get("states")),
        step=content.get("step"),
    )


def _hidden(content: dict[str, Any]) -> HiddenChain:
    _check_keys(content, "hidden", required={"transition", "shows"}, optional={"states", "initial", "step"})
    if not isinstance(content["shows"], list):
        raise BeliefError("shows must be a list with the state of each phase", got=type(content["shows"]).__name__)
    return HiddenChain(
        content["transition"],
        shows=content["shows"],
        initial=content.get("initial", "any"),
        states=_names(content.get("states")),
        step=content.get("step"),
    )


def _order(content: dict[str, Any]) -> OrderChain:
    _check_keys(content, "order", required={"transition", "order"}, optional={"states", "initial", "step"})
    return OrderChain(
        content["transition"],
        order=content["order"],
        initial=content.get("initial", "any"),
        states=_names(content.get("states")),
        step=content.get("step"),
    )


def _gaussian(content: dict[str, Any]) -> GaussianBelief:
    optional = {"step", "unit", "subjects", "between", "deviation", "spread"}
    _check_keys(content, "gaussian", required={"distance", "correlation"}, optional=optional)
    return GaussianBelief(**content)


def _joint(content: dict[str, Any]) -> JointTable:
    _check_keys(content, "joint", required={"variables", "table"})
    variables, table = variables_in(content["variables"], "a joint table"), content["table"]
    if not isinstance(table, list) or not all(isinstance(row, dict) for row in table):
        raise BeliefError("table must be a list of objects with a value for each variable and p", got="something else")
    for n, row in enumerate(table, 1):
        if set(row) != {*variables, "p"}:
            raise BeliefError(f"table row {n} must have a value for each variable, and p", got="other keys")
    return JointTable(variables, [(tuple(row[v] for v in variables), row["p"]) for row in table])


_READERS: dict[str, Callable[[dict[str, Any]], Belief]] = {
    "chain": _chain,
    "set": _set,
    "mixing": _mixing,
    "interval": _interval,
    "cycle": _cycle,
    "hidden": _hidden,
    "order": _order,
    "joint": _joint,
    "network": _network,
    "dynamic": _dynamic,
    "gaussian": _gaussian,
    "mixtures": _mixtures,
}
_KINDS_HINT = f"Known kinds: {', '.join(_READERS)}"


def _names(states: object) -> list[object] | None:
    if states is None or isinstance(states, list):
        return states
    raise BeliefError("states must be a list of names", got=type(states).__name__)


def _check_keys(
    content: dict[str, Any],
    kind: str,
    *,
    required: set[str],
    optional: frozenset[str] | set[str] = frozenset(),
) -> None:
    unknown = sorted(set(content) - required - optional)
    if unknown:
        raise BeliefError(
            f"a {kind} has no key {', '.join(map(repr, unknown))}",
            why="an unknown key may be a misspelt one",
            fix=did_you_mean(
                unknown[0],
                (required | optional) - set(content),
                f"Known keys: {', '.join(sorted(required | optional | {'kind'}))}",
            ),
        )
    missing = sorted(required - set(content))
    if missing:
        raise BeliefError(f"a {kind} must have {', '.join(map(repr, missing))}", got="a file without them")
