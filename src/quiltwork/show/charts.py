"""Pictures of privacy loss, and of a network: which variable is hardest to hide, and its quilt."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from quiltwork.beliefs import BayesianNetwork
from quiltwork.beliefs.secrets import likely, posterior
from quiltwork.calibration.record import Calibration
from quiltwork.show.pictures import alt
from quiltwork.show.style import ACCENT, INK, QUIET, WARNING, Chart, styled, with_rows
from quiltwork.types import Duration

PARTS = {
    "hardest to hide": WARNING,
    "near (covered with noise)": "#f0cfa8",
    "quilt": ACCENT,
    "remote (independent given the quilt)": "#e3e8f0",
}
REVEALING = {
    "hardest to hide": WARNING,
    "reveals much about it (over 5 % of ε)": ACCENT,
    "reveals little": "#f0cfa8",
    "reveals nothing": "#e3e8f0",
}
TOGETHER = {"hardest to hide": WARNING, "looked at together with it": ACCENT, "others": "#e3e8f0"}
MUCH = 0.05
HOUR = 3600e6  # microseconds
SWEEPS = 12
GAP, ROW = 74, 84  # pixels between variables of a layer, and between layers


def cycle_chart(losses: Sequence[float | None], step: Duration | None) -> Chart:
    """The loss of each time of a cycle: by the hour of the day if the step is known, else by number."""
    hours = None if step is None or step.steps else float(step.length) / HOUR
    title = "time of the cycle (step)" if hours is None else "hours since the cycle begins (midnight)"
    rows = [{"time": (n if hours is None else n * hours), "loss": loss} for n, loss in enumerate([*losses, losses[0]])]
    chart = alt.Chart(alt.InlineData(rows)).mark_line(color=ACCENT, interpolate="step-after", strokeWidth=2)
    axis = alt.Axis(tickMinStep=1, labelFlush=True)
    encoded = chart.encode(
        x=alt.X("time:Q", title=title, scale=alt.Scale(domain=[0, rows[-1]["time"]], nice=False), axis=axis),
        y=alt.Y("loss:Q", title="privacy loss of a value (ε)", scale=alt.Scale(domainMin=0)),
    )
    return styled(encoded.properties(width=640, height=220))


def posterior_chart(epsilons: Mapping[str, float]) -> Chart:
    """What a probability may become at most and at least, against what it was before, for each named ε.

    Odds change by a factor of at most e^ε either way, which is what Pufferfish privacy says (its equation 3).
    """
    return with_rows(posterior_shape(tuple(epsilons)), **posterior_rows(epsilons))


def posterior_rows(epsilons: Mapping[str, float]) -> dict[str, list[dict[str, Any]]]:
    """The rows of the picture by name: ranges, and what a half becomes."""
    return {
        "ranges": [
            {"what": name, "before": p, "low": 1 - posterior(1 - p, epsilon), "high": posterior(p, epsilon)}
            for name, epsilon in epsilons.items()
            for p in (n / 100 for n in range(101))
        ],
        "marks": [
            {"before": 0.5, "high": posterior(0.5, epsilon), "text": likely(posterior(0.5, epsilon)), "what": name}
            for name, epsilon in epsilons.items()
        ],
    }


def posterior_shape(names: Sequence[str], *, size: int = 300) -> Chart:
    """The picture without its rows, for these names."""
    colour = alt.Color(
        "what:N",
        title=None,
        sort=list(names),
        scale=alt.Scale(domain=list(names), range=[ACCENT, WARNING][: len(names)]),
        legend=alt.Legend(orient="bottom", columns=1, labelLimit=400, symbolOpacity=1),
    )
    axis = alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    whole = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("before:Q", title="probability of a secret before seeing the result", axis=axis, scale=whole)
    base = alt.Chart(alt.NamedData("ranges")).encode(x=x, color=colour)
    after = alt.Y("high:Q", title="and after", axis=axis, scale=whole)
    band = base.mark_area(opacity=0.13).encode(y=after, y2="low:Q")
    edges = [base.mark_line(strokeWidth=2).encode(y=alt.Y(f"{edge}:Q", scale=whole)) for edge in ("low", "high")]
    same = alt.Chart(alt.InlineData([{"before": p, "high": p} for p in (0, 1)])).mark_line(
        color=QUIET, strokeDash=[4, 4]
    )
    points = alt.Chart(alt.NamedData("marks")).encode(x=x, y=alt.Y("high:Q", scale=whole), color=colour)
    layers = [band, *edges, same.encode(x=x, y="high:Q"), points.mark_point(filled=True, size=70, opacity=1)]
    layers.append(points.mark_text(align="right", dx=-9, dy=-6, fontWeight="bold").encode(text="text:N"))
    return styled(alt.layer(*layers).properties(width=size, height=size))


def network_chart(network: BayesianNetwork, calibration: Calibration | None = None) -> Chart:
    """The network, parents above children; with the quilt that the noise was calibrated by, if there is one."""
    places = _places(network)
    roles = _roles(network, {} if calibration is None else calibration.reason.detail())

    def by_row(name: str) -> tuple[float, float]:
        x, y = places[name]
        return y, x

    nodes = [
        {"name": name, "x": x, "y": y, "part": roles[name], "label": name if len(name) <= 16 else name[:15] + "…"}
        for name, (x, y) in ((name, places[name]) for name in sorted(places, key=by_row))
    ]
    # names of neighbours that stand close together go above and below in turn
    for before, node in zip([{}, *nodes], nodes, strict=False):
        close = before.get("y") == node["y"] and float(str(node["x"])) - float(str(before["x"])) < 1.3 * GAP
        node["above"] = close and not before["above"]
    lines, heads = [], []
    for parent, child in network.edges:
        (x, y), (x2, y2) = places[parent], places[child]
        length = math.hypot(x2 - x, y2 - y)
        dx, dy = (x2 - x) / length, (y2 - y) / length
        lines.append({"x": x + 12 * dx, "y": y + 12 * dy, "x2": x2 - 14 * dx, "y2": y2 - 14 * dy})
        heads.append({"x": x2 - 15 * dx, "y": y2 - 15 * dy, "angle": math.degrees(math.atan2(dx, -dy))})
    width = max(x for x, _ in places.values()) + 60
    height = max(y for _, y in places.values()) + 40

    def axes(x2: bool = False) -> dict[str, Any]:
        encodings: dict[str, Any] = {
            "x": alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-60, width], nice=False)),
            "y": alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, -30], nice=False)),
        }
        return encodings | ({"x2": "x2:Q", "y2": "y2:Q"} if x2 else {})

    colours = PARTS | REVEALING | TOGETHER
    shown = [part for part in colours if part in roles.values()]
    colour = alt.Color(
        "part:N",
        title=None,
        scale=alt.Scale(domain=shown, range=[colours[part] for part in shown]),
        legend=alt.Legend(orient="bottom", labelLimit=400) if calibration is not None and len(shown) > 1 else None,
    )
    layers = [
        alt.Chart(alt.InlineData(lines)).mark_rule(color=QUIET, opacity=0.7).encode(**axes(x2=True)),
        alt.Chart(alt.InlineData(heads))
        .mark_point(shape="triangle", filled=True, size=36, color=QUIET, opacity=1)
        .encode(**axes(), angle=alt.Angle("angle:Q", scale=None)),
        alt.Chart(alt.InlineData(nodes))
        .mark_circle(size=420, opacity=1, stroke=INK, strokeWidth=1)
        .encode(**axes(), color=colour, tooltip=["name:N", "part:N"]),
    ]
    for above, halo in itertools.product((False, True), (True, False)):  # names stay readable on lines
        labelled = [node for node in nodes if node["above"] is above]
        look: dict[str, Any] = {"stroke": "white", "strokeWidth": 3} if halo else {}
        text = alt.Chart(alt.InlineData(labelled)).mark_text(dy=-18 if above else 20, fontSize=9, color=INK, **look)
        layers.append(text.encode(**axes(), text="label:N"))
    kept = [layer for layer, rows in zip(layers, (lines, heads, *[nodes] * 5), strict=True) if rows]
    return styled(alt.layer(*kept).properties(width=min(width + 60, 1100), height=height + 30))


def _roles(network: BayesianNetwork, detail: Mapping[str, Any]) -> dict[str, str]:
    """The part that each variable has in the calibration."""
    if "reveals" in detail:
        worst, much, little, nothing = REVEALING
        whole = detail["own"] + detail["others"]
        roles = {
            name: nothing if less <= 1e-6 * whole else little if less <= MUCH * whole else much
            for name, less in detail["reveals"].items()
        }
        return roles | {str(detail["node"]): worst}
    if "clique" in detail:
        worst, together, others = TOGETHER
        roles = dict.fromkeys(network.variables, others) | dict.fromkeys(detail["clique"], together)
        return roles | {str(detail["node"]): worst}
    hardest, near, quilt, remote = PARTS
    roles = dict.fromkeys(network.variables, near if "quilt" not in detail else remote)
    roles |= dict.fromkeys(detail.get("near", ()), near)
    roles |= dict.fromkeys(detail.get("quilt", ()), quilt)
    if detail.get("node") in network.variables:
        roles[str(detail["node"])] = hardest
    return roles


def _places(network: BayesianNetwork) -> dict[str, tuple[float, float]]:
    """Where each variable stands: parents above children, and every variable near the middle of its neighbours."""
    graph, names = network.graph, list(network.variables)
    depth = [0] * len(names)
    for node in graph.order:
        depth[node] = max((depth[parent] + 1 for parent in graph.parents[node]), default=0)
    for node in reversed(graph.order):  # roots come down to their first child
        if graph.children[node] and not graph.parents[node]:
            depth[node] = min(depth[child] for child in graph.children[node]) - 1
    layers = [[n for n in range(len(names)) if depth[n] == level] for level in range(max(depth) + 1)]
    across = {n: float(at) for layer in layers for at, n in enumerate(layer)}
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            if layer:
                _settle(layer, {n: _middle(graph.neighbours[n], across, across[n]) for n in layer}, across)
    low = min(across.values())
    return {names[n]: ((across[n] - low) * GAP, depth[n] * float(ROW)) for n in range(len(names))}


def _middle(neighbours: Sequence[int], across: Mapping[int, float], otherwise: float) -> float:
    return sum(across[n] for n in neighbours) / len(neighbours) if neighbours else otherwise


def _settle(layer: Sequence[int], wanted: Mapping[int, float], across: dict[int, float]) -> None:
    """Put a layer's variables in the order of where they want to be, at least one place apart, as near as they can."""
    order = sorted(layer, key=lambda n: (wanted[n], across[n]))
    forward, at = {}, -math.inf
    for n in order:
        at = forward[n] = max(wanted[n], at + 1)
    backward, at = {}, math.inf
    for n in reversed(order):
        at = backward[n] = min(wanted[n], at - 1)
    for n in order:
        across[n] = (forward[n] + backward[n]) / 2
