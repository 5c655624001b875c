"""Charts of networks."""

import itertools

import numpy as np

from quiltwork import BayesianNetwork, Count, MarkovChain, calibrate
from quiltwork.view.charts.networks import _placed, clique_chart, network_chart
from quiltwork.view.charts.style import to_svg


def test_the_picture_shows_every_part() -> None:
    chain = MarkovChain([[0.7, 0.3], [0.4, 0.6]], initial="stationary")
    path = BayesianNetwork.from_chain(chain, 9)
    made = calibrate(Count("1"), belief=path, epsilon=1.0, mechanism="quilt-exact")
    svg = to_svg(network_chart(path, made))
    for text in ("X1", "X9", "hardest to hide", "near (covered", "remote (independent", "quilt"):
        assert text in svg
    assert "hardest" not in to_svg(network_chart(path))


def _network(count: int, seed: int) -> BayesianNetwork:
    rng = np.random.default_rng(seed)
    parents = {
        f"v{n}": [f"v{p}" for p in rng.choice(n, size=min(n, int(rng.integers(0, 3))), replace=False)]
        for n in range(count)
    }
    tables = {name: rng.dirichlet(np.ones(2), size=(2,) * len(before)) for name, before in parents.items()}
    return BayesianNetwork(dict.fromkeys(parents, ("no", "yes")), parents=parents, tables=tables)


def test_the_tree_of_cliques_names_what_neighbours_share() -> None:
    network = _network(9, 3)
    found = calibrate(Count("yes"), belief=network, epsilon=1.0, mechanism="curve")
    svg = to_svg(clique_chart(network, found))
    assert "where the variable that is hardest to hide is looked at" in svg
    tree = network.graph.cliques
    names = list(network.variables)
    shown = sum(len(clique) for clique in tree.cliques) + sum(
        len({*tree.cliques[n]} & {*tree.cliques[m]}) for n, m in tree.edges
    )
    assert sum(svg.count(f">{name}</text>") for name in names) == shown


def test_boxes_of_cliques_do_not_overlap() -> None:
    for seed in range(20):
        tree = _network(14, seed).graph.cliques
        names = [[f"variable {n}" for n in clique] for clique in tree.cliques]
        towards: dict[int, int | None] = {}
        for child, parent in tree.directed()[len(tree.edges) :]:
            towards.setdefault(child, None)
            towards[parent] = child
        for n in range(len(names)):
            towards.setdefault(n, None)
        shared = {c: [w for w in names[c] if w in names[p]] for c, p in towards.items() if p is not None}
        for a, b in itertools.combinations(_placed(names, towards, shared).values(), 2):
            beside = a.x + a.width <= b.x or b.x + b.width <= a.x
            assert beside or abs(a.y - b.y) >= (a.height + b.height) / 2
