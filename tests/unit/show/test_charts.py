"""Charts of networks."""

from quiltwork import BayesianNetwork, Count, MarkovChain, calibrate
from quiltwork.show.charts import network_chart
from quiltwork.show.style import to_svg


def test_the_picture_shows_every_part() -> None:
    chain = MarkovChain([[0.7, 0.3], [0.4, 0.6]], initial="stationary")
    path = BayesianNetwork.from_chain(chain, 9)
    made = calibrate(Count("1"), belief=path, epsilon=1.0, mechanism="quilt-exact")
    svg = to_svg(network_chart(path, made))
    for text in ("X1", "X9", "hardest to hide", "near (covered", "remote (independent", "quilt"):
        assert text in svg
    assert "hardest" not in to_svg(network_chart(path))
