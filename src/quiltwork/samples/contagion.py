"""Flu in households: everybody may infect everybody in the same household (the example of A section 2).

All that is known of a household is how many of its people are likely to have the flu at once; who they are, nobody
can tell. Its people form a clique: each depends on all before. Simulated, so that its true values may be shown.
"""

import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl

from quiltwork.beliefs import AnyMixture, BayesianNetwork
from quiltwork.beliefs.mixture import range_corners
from quiltwork.errors import BeliefError

FOUR_PEOPLE = (0.1, 0.15, 0.5, 0.15, 0.1)  # none to all of them infected
PEOPLE = ("ann", "bob", "cem", "dea")
HOUSEHOLDS = 250


def contagion_belief() -> BayesianNetwork:
    """One household of four, with the paper's law of how many of them are infected.

    >>> contagion_belief()
    BayesianNetwork(4 variables, 6 edges)
    """
    return household_network({PEOPLE: FOUR_PEOPLE})


def household_network(households: Mapping[tuple[str, ...], Sequence[float]]) -> BayesianNetwork:
    """Independent households: the names of their people, and the law of how many of these are infected.

    >>> household_network({("ann", "bob"): (0.5, 0.1, 0.4), ("cem",): (0.9, 0.1)}).graph.components
    ((0, 1), (2,))
    """
    variables, parents, tables = {}, {}, {}
    for people, law in households.items():
        if len(law) != len(people) + 1:
            raise BeliefError(
                f"a household of {len(people)} must have a law of {len(people) + 1} numbers",
                got=str(len(law)),
                why="none to all of them may be infected",
            )
        for n, name in enumerate(people):
            variables[name] = ("no", "yes")
            parents[name] = tuple(people[:n])
            tables[name] = _given_the_others(law, n)
    return BayesianNetwork(variables, parents=parents, tables=tables)


def household_range(people: Sequence[str], low: Sequence[float], high: Sequence[float]) -> AnyMixture:
    """One household of which the chances of none to all being infected are known up to bounds.

    Who is infected, nobody can tell. Its law is linear in those chances, so all laws within the bounds are mixtures of
    those at the corners (Statement 66).

    >>> household_range(["ann", "bob"], low=(0.4, 0.0, 0.2), high=(0.6, 0.2, 0.5))
    AnyMixture(5 laws, 2 variables)
    """
    return AnyMixture([household_network({tuple(people): law.tolist()}) for law in range_corners(low, high)])


def contact_network(contacts: Mapping[str, str | None], *, base: float, spread: float) -> BayesianNetwork:
    """People who catch the flu by themselves with one probability, and from an ill contact with another (A section 2).

    ``contacts`` maps each person to the one they may catch it from, or to None.

    >>> contact_network({"ann": None, "bob": "ann"}, base=0.1, spread=0.5).tables["bob"].round(3).tolist()
    [[0.9, 0.1], [0.45, 0.55]]
    """
    caught = 1 - (1 - base) * (1 - spread)
    rows = [[1 - base, base], [1 - caught, caught]]
    return BayesianNetwork(
        dict.fromkeys(contacts, ("no", "yes")),
        parents={name: [other] for name, other in contacts.items() if other is not None},
        tables={name: rows[0] if other is None else rows for name, other in contacts.items()},
    )


def _given_the_others(law: Sequence[float], known: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """P(next person's status | that of the first few), when only the number of infected people matters."""
    table = np.empty((2,) * (known + 1))
    for place in np.ndindex(*table.shape[:-1]):
        chances = [_prefix(law, known + 1, sum(place) + status) for status in (0, 1)]
        total = sum(chances)
        table[place] = [c / total for c in chances] if total > 0 else [1.0, 0.0]  # cannot happen: any row will do
    return table


def _prefix(law: Sequence[float], length: int, infected: int) -> float:
    """P(the first people have this very pattern), if this number of them are infected."""
    size = len(law) - 1
    return math.fsum(
        p * math.comb(size - length, count - infected) / math.comb(size, count)
        for count, p in enumerate(law)
        if 0 <= count - infected <= size - length
    )


def simulate_households(seed: int = 20240301) -> "pl.DataFrame":
    """Who has the flu in 250 households of four."""
    rng = np.random.default_rng(seed)
    infected = rng.choice(len(FOUR_PEOPLE), size=HOUSEHOLDS, p=FOUR_PEOPLE)
    order = rng.random((HOUSEHOLDS, len(PEOPLE))).argsort(axis=1).argsort(axis=1)
    sick = order < infected[:, None]
    return pl.DataFrame({name: np.where(sick[:, n], "yes", "no") for n, name in enumerate(PEOPLE)})


def households_path() -> Path:
    """Where the shipped households are."""
    return Path(str(files("quiltwork.samples"))) / "households.csv"
