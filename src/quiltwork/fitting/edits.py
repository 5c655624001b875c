"""A chain changed by hand: one probability at a time, and rows that still sum to 1."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from quiltwork.beliefs import Belief, MarkovChain
from quiltwork.errors import BeliefError, ParameterError
from quiltwork.types import Floats


def rescaled(row: Sequence[float], place: int, value: float) -> Floats:
    """The row with one probability changed: the others keep their proportions, and all sum to 1.

    >>> rescaled([0.9, 0.1, 0.0], 0, 0.5).tolist()
    [0.5, 0.5, 0.0]
    >>> rescaled([1.0, 0.0, 0.0], 0, 0.5).tolist()
    [0.5, 0.25, 0.25]
    """
    if not 0 <= value <= 1:
        raise ParameterError("a probability must be from 0 to 1", got=f"{value:g}")
    if not 0 <= place < len(row):
        raise ParameterError("there is no such state", got=f"number {place + 1} of {len(row)}")
    changed = np.array(row, dtype=np.float64)
    changed[place] = 0.0
    others = changed.sum()
    changed = changed / others if others > 0 else np.where(np.arange(len(row)) == place, 0.0, 1.0 / (len(row) - 1))
    changed *= 1 - value
    changed[place] = value
    return changed


def edited(belief: Belief, change: dict[str, Any]) -> MarkovChain:
    """The chain with one change: a ``cell`` or ``stay``, its ``initial``, or a state renamed, added or removed.

    >>> from quiltwork import MarkovChain
    >>> lazy = MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["sit", "walk"])
    >>> edited(lazy, {"cell": [0, 1], "value": 0.2}).transition.tolist()
    [[0.8, 0.2], [0.4, 0.6]]
    >>> edited(lazy, {"stay": 0, "value": 20}).transition[0].round(4).tolist()
    [0.95, 0.05]
    >>> edited(lazy, {"add": "run"}).states
    ('sit', 'walk', 'run')
    """
    if not isinstance(belief, MarkovChain):
        raise BeliefError(
            "only a single chain can be edited here",
            got=repr(belief),
            fix="Change its file, and choose it again",
        )
    contents = belief.to_dict()
    table, states = np.array(belief.transition), list(belief.states)
    if "cell" in change:
        row, column = change["cell"]
        _check_state(row, states)
        table[row] = rescaled(table[row].tolist(), column, change["value"])
    elif "stay" in change:
        _check_state(change["stay"], states)
        if not change["value"] >= 1:
            raise ParameterError("a stay must last at least one step", got=f"{change['value']:g}")
        table[change["stay"]] = rescaled(table[change["stay"]].tolist(), change["stay"], 1 - 1 / change["value"])
    elif "initial" in change:
        contents["initial"] = _initial(contents.get("initial", "any"), change, len(states))
    elif "rename" in change:
        _check_state(change["rename"], states)
        states[change["rename"]] = change["name"]
    elif "add" in change:
        table, states = _with_one_more(table), [*states, change["add"]]
        contents["initial"] = _resized(contents.get("initial", "any"), None)
    elif "remove" in change:
        _check_state(change["remove"], states)
        if len(states) <= 2:
            raise ParameterError("a belief needs at least two states", got="one that would remain")
        table, states = _without(table, change["remove"]), [s for n, s in enumerate(states) if n != change["remove"]]
        contents["initial"] = _resized(contents.get("initial", "any"), change["remove"])
    contents |= {"states": states, "transition": table.tolist()}
    del contents["kind"]
    return MarkovChain(**contents)


def _check_state(place: int, states: Sequence[str]) -> None:
    if not 0 <= place < len(states):
        raise ParameterError("there is no such state", got=f"number {place + 1} of {len(states)}")


def _initial(before: str | list[float], change: dict[str, Any], k: int) -> str | list[float]:
    """A start by name, or with one probability changed; ``given`` begins with all states alike."""
    given = [1 / k] * k if isinstance(before, str) else before
    if change["initial"] == "given":
        return given
    if isinstance(change["initial"], str):
        return str(change["initial"])
    return [float(p) for p in rescaled(given, change["initial"], change["value"])]


def _with_one_more(table: Floats) -> Floats:
    """One more state, which is entered rarely and lasts two steps on average."""
    k = len(table)
    larger = np.zeros((k + 1, k + 1))
    larger[:k, :k], larger[:k, k] = 0.95 * table, 0.05
    larger[k, :k], larger[k, k] = 0.5 / k, 0.5
    return larger


def _without(table: Floats, place: int) -> Floats:
    kept = np.delete(np.delete(table, place, axis=0), place, axis=1)
    sums = kept.sum(axis=1, keepdims=True)
    return np.where(sums > 0, kept / np.where(sums > 0, sums, 1.0), 1 / len(kept))


def _resized(initial: str | list[float], removed: int | None) -> str | list[float]:
    """A start for one state more or less."""
    if isinstance(initial, str):
        return initial
    if removed is None:
        return [*initial, 0.0]
    kept = np.delete(np.array(initial), removed)
    return [float(p) for p in (kept / kept.sum() if kept.sum() > 0 else np.full(len(kept), 1 / len(kept)))]
