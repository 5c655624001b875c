"""Graphs: order, width, components."""

from quiltwork.beliefs.graph import Graph


def test_a_graph_knows_its_order_and_width() -> None:
    grid = Graph(((), (0,), (0,), (1, 2)))
    assert grid.order.index(3) == 3
    together, bits = grid.widest([2, 3, 5, 7])
    assert (together, round(2**bits)) == (3, 3 * 5 * 7)
    assert Graph(((), ())).components == ((0,), (1,))
