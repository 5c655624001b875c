"""The loss of each time of a cycle, in words and as a picture."""

import pytest

from quiltwork import CycleChain, HiddenChain, plan
from quiltwork.view.charts.losses import cycle_chart
from quiltwork.view.html import page
from quiltwork.view.of_belief import belief_page
from quiltwork.view.of_plan import plan_page

DAY, NIGHT = [[0.9, 0.1], [0.5, 0.5]], [[0.2, 0.8], [0.01, 0.99]]


def test_a_plan_under_a_cycle_shows_the_loss_of_each_time() -> None:
    belief = CycleChain([DAY, DAY, NIGHT, NIGHT], states=["awake", "asleep"], initial="stationary", step="6h")
    planned = plan("count:awake", belief=belief, epsilon=1.0, length=400)
    best = planned.offers[0].calibration
    assert best is not None
    losses = best.reason.detail()["by_time"]
    assert len(losses) == 4
    assert 0.99 < max(losses) <= 1.0
    assert "as little as" in best.reason.sentence()
    assert "Privacy loss of a value by the time of the cycle" in page("plan", plan_page(planned, belief))


def test_a_page_about_a_cycle_or_phases_shows_their_average() -> None:
    clock = CycleChain([DAY, NIGHT], states=["awake", "asleep"], initial="stationary")
    slow = HiddenChain([[0.5, 0.0, 0.5], [0.0, 0.9, 0.1], [0.4, 0.1, 0.5]], shows=[*"aab"], initial="stationary")
    for belief in (clock, slow):
        average = belief.average()
        assert average.transition.diagonal() == pytest.approx(belief.again([1])[0])
        assert "on average over times and phases" in page("belief", belief_page(belief))


def test_hours_are_on_the_axis_where_the_step_is_known() -> None:
    belief = CycleChain([DAY, NIGHT], step="12h")
    x = cycle_chart([0.5, 1.0], belief.step).to_dict()["encoding"]["x"]
    assert "hours" in x["title"]
    assert x["scale"]["domain"] == [0, 24]
    assert "step" in cycle_chart([0.5, 1.0], None).to_dict()["encoding"]["x"]["title"]
