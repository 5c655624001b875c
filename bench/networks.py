"""Random networks of the size of published ones."""

import numpy as np

from quiltwork import BayesianNetwork


def random_network(count: int, *, seed: int, most_parents: int = 3, reach: int = 6) -> BayesianNetwork:
    """A network of this many variables; parents are among the last few before a variable."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, size=count)
    parents: dict[str, list[str]] = {}
    tables = {}
    for n in range(count):
        near = np.arange(max(0, n - reach), n)
        chosen = rng.choice(near, size=min(len(near), int(rng.integers(0, most_parents))), replace=False)
        parents[f"v{n}"] = [f"v{p}" for p in chosen]
        tables[f"v{n}"] = rng.dirichlet(np.full(sizes[n], 5.0), size=tuple(sizes[chosen]) or None)
    variables = {f"v{n}": [f"s{x}" for x in range(sizes[n])] for n in range(count)}
    return BayesianNetwork(variables, parents=parents, tables=tables)


def network_of_width(width: int, *, count: int = 20, seed: int = 0) -> BayesianNetwork:
    """Binary variables, each with the last few before it as parents: cliques of one more than that."""
    rng = np.random.default_rng([seed, width])
    parents = {f"v{n}": [f"v{p}" for p in range(max(0, n - width), n)] for n in range(count)}
    tables = {name: rng.dirichlet(np.full(2, 3.0), size=(2,) * len(before)) for name, before in parents.items()}
    return BayesianNetwork(dict.fromkeys(parents, ("s0", "s1")), parents=parents, tables=tables)
