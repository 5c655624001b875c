"""Parts of pages that show why the noise is what it is."""

import html
from collections.abc import Sequence

from quiltwork.beliefs import Belief
from quiltwork.calibration.plan import Offer
from quiltwork.calibration.record import Calibration
from quiltwork.show.charts import cycle_chart, network_chart
from quiltwork.show.cliques import clique_chart
from quiltwork.show.page import figure
from quiltwork.show.style import to_svg

MOST_DRAWN = 80  # variables of a network


def cycle_figures(belief: Belief, calibration: Calibration) -> list[str]:
    """The loss of each time of a cycle."""
    losses = calibration.reason.detail().get("by_time")
    if not losses:
        return []
    caption = "Privacy loss of a value by the time of the cycle."
    if None in losses:
        caption += " Where there is no line, values are not secret and nothing is promised."
    return [figure(to_svg(cycle_chart(losses, belief.step)), caption)]


def network_figures(belief: Belief, calibration: Calibration) -> list[str]:
    """The picture of a network, where quilts or a tree explain the noise."""
    detail = calibration.reason.detail()
    member = next(iter(belief.networks[(detail.get("member") or 1) - 1 :]), None)
    if calibration.steps == "unrolled":
        member = belief.as_network(calibration.length)
    if (
        member is None
        or len(member.variables) > MOST_DRAWN
        or detail.get("node") not in member.variables
        or "distance" in detail
    ):
        return []
    caption = "Parents above children. Marked: the variable that is hardest to hide, its quilt, and both sides of it."
    if "quilt" not in detail:
        caption = "Parents above children. Marked: the variable that is hardest to hide."
    if "reveals" in detail:
        caption = (
            "Parents above children. Marked: the variable that is hardest to hide, and how much others reveal about it."
        )
    figures = [figure(to_svg(network_chart(member, calibration)), caption)]
    if "clique" in detail:
        figures.append(
            figure(
                to_svg(clique_chart(member, calibration)),
                "The tree of cliques that the influence curve runs along. On each line: what two neighbours share.",
            )
        )
    return figures


def refusals(offers: Sequence[Offer]) -> str:
    """Which mechanisms were not computed, and why."""
    refused = [o for o in offers if o.refused]
    items = "".join(f"<li><b>{html.escape(o.mechanism)}</b>: {html.escape(o.refused or '')}</li>" for o in refused)
    return f"<p>Not computed:</p><ul>{items}</ul>" if refused else ""


def capital(text: str) -> str:
    """A sentence that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def titled(query: str) -> str:
    """A question as a heading."""
    kind, _, state = query.partition(":")
    return f"Count of {state}" if kind == "count" and state else capital(query)
