"""Several people who influence each other, fitted to public data as a dynamic network."""

from collections.abc import Mapping, Sequence

import numpy as np

from quiltwork.beliefs.dynamic import BEFORE, JOIN, MOST_TUPLES, DynamicNetwork
from quiltwork.data.series import Series
from quiltwork.errors import DataError
from quiltwork.types import Floats

PRIOR = 1.0  # transitions that a person's own chain counts as, for a combination that was hardly seen


def people_states(series: Series, people: Sequence[str]) -> dict[str, list[str]]:
    """The states of each person, from combinations that occur."""
    seen: dict[str, list[str]] = {name: [] for name in people}
    for state in series.states:
        parts = state.split(JOIN)
        if len(parts) != len(people):
            raise DataError(f"states of people must not contain {JOIN!r}", got="one that does", fix="Rename it")
        for name, part in zip(people, parts, strict=True):
            if part not in seen[name]:
                seen[name].append(part)
    return {name: sorted(states) for name, states in seen.items()}


def fit_together(series: Series, *, people: Sequence[str]) -> DynamicNetwork:
    """The network in which each person's next state depends on the states of all, one step before.

    ``series`` has a value for each time, the states of all people joined (``"ill+well"``). A combination that was seen
    n times weighs n against 1 for what the person does whatever the others do.

    >>> from quiltwork import Series
    >>> days = ["well+well", "well+ill", "ill+ill", "ill+well", "well+well", "well+well", "well+ill", "ill+ill"] * 9
    >>> fit_together(Series.from_values(days, states=sorted(set(days))), people=["ann", "bob"])
    DynamicNetwork(2 variables, initial=stationary)
    """
    states = people_states(series, people)
    if np.prod([float(len(own)) for own in states.values()]) > MOST_TUPLES:
        raise DataError(f"people must have up to {MOST_TUPLES:,} combinations of states", got="more")
    shape = [len(own) for own in states.values()]
    codes = np.array(
        [[states[name].index(part) for name, part in zip(people, s.split(JOIN), strict=True)] for s in series.states]
    )
    counts = np.zeros((*shape, *shape))
    seen = np.asarray(series.transitions(), dtype=np.float64)
    for (a, b), number in np.ndenumerate(seen):
        counts[(*codes[a], *codes[b])] += number
    tables, parents = _tables(counts, states)
    return DynamicNetwork(states, parents=parents, tables=tables, initial="stationary")


def _tables(counts: Floats, states: Mapping[str, Sequence[str]]) -> tuple[dict[str, Floats], dict[str, list[str]]]:
    """For each person P(next | all before), axes in the order of people; rows without data lean on the person alone."""
    names, n = list(states), len(states)
    tables, parents = {}, {}
    for place, name in enumerate(names):
        others = tuple(n + m for m in range(n) if m != place)
        joint = counts.sum(axis=others)  # before (all people) x next of this one
        k = len(states[name])
        alone = joint.sum(axis=tuple(m for m in range(n) if m != place)) + PRIOR / k * (np.eye(k) + 1 / k)
        alone = alone / alone.sum(axis=1, keepdims=True)
        own = alone.reshape([k if m == place else 1 for m in range(n)] + [k])
        table = (joint + PRIOR * own) / (joint.sum(axis=-1, keepdims=True) + PRIOR)
        tables[name] = table / table.sum(axis=-1, keepdims=True)
        parents[name] = [other + BEFORE for other in names]
    return tables, parents
