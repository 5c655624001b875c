"""Pictures of networks: which variable is hardest to hide, its quilt, and the tree of cliques of the curve."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quiltwork.beliefs import BayesianNetwork
from quiltwork.calibration.record import Calibration
from quiltwork.view.charts import alt
from quiltwork.view.charts.style import ACCENT, INK, QUIET, WARNING, Chart, chart_of, styled

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
SWEEPS = 12
GAP, ROW = 74, 84  # pixels between variables of a layer, and between layers
LINE, LETTER, CAPITAL, PADDING = 14, 6.2, 8.0, 9  # pixels: height of a name, widths of letters, room within a box
BETWEEN, CORNER = 16, 22  # between boxes one above the other, and for the lines between columns
LONGEST = 18  # letters of a name
FILLS = {"where the variable that is hardest to hide is looked at": "#f3d9bf", "other cliques": "#e9eef6"}
Row = dict[str, Any]


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
        chart_of(lines).mark_rule(color=QUIET, opacity=0.7).encode(**axes(x2=True)),
        chart_of(heads)
        .mark_point(shape="triangle", filled=True, size=36, color=QUIET, opacity=1)
        .encode(**axes(), angle=alt.Angle("angle:Q", scale=None)),
        chart_of(nodes)
        .mark_circle(size=420, opacity=1, stroke=INK, strokeWidth=1)
        .encode(**axes(), color=colour, tooltip=["name:N", "part:N"]),
    ]
    for above, halo in itertools.product((False, True), (True, False)):  # names stay readable on lines
        labelled = [node for node in nodes if node["above"] is above]
        look: dict[str, Any] = {"stroke": "white", "strokeWidth": 3} if halo else {}
        text = chart_of(labelled).mark_text(dy=-18 if above else 20, fontSize=9, color=INK, **look)
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


@dataclass(frozen=True)
class _Box:
    """A clique in its place: the middle of its left side, and its size."""

    clique: int
    x: float
    y: float
    width: float
    height: float


def clique_chart(network: BayesianNetwork, calibration: Calibration) -> Chart:
    """Cliques as boxes, the one of the hardest variable leftmost; what two neighbours share stands on their line."""
    detail = calibration.reason.detail()
    names = [name if len(name) <= LONGEST else name[: LONGEST - 1] + "…" for name in network.variables]
    tree, order = network.graph.cliques, list(network.variables)
    looked_at = {order.index(name) for name in detail.get("clique", ())}
    root = next((n for n, clique in enumerate(tree.cliques) if set(clique) == looked_at), 0)
    towards = _directed(tree.cliques, tree.neighbours, root)
    shared = {
        child: [names[n] for n in tree.cliques[child] if n in tree.cliques[parent]]
        for child, parent in towards.items()
        if parent is not None
    }
    inside = [[names[n] for n in clique] for clique in tree.cliques]
    boxes = _placed(inside, towards, shared)
    hardest = names[order.index(str(detail["node"]))] if detail.get("node") in order else None
    return _tree(*_shapes(boxes, towards, shared, inside, hardest, root))


def _directed(cliques: Sequence[object], neighbours: Any, root: int) -> dict[int, int | None]:
    """The neighbour of each clique on the way to the root of its tree, from the root on; None for roots."""
    towards: dict[int, int | None] = {}
    for begun in (root, *range(len(cliques))):
        waiting: list[tuple[int, int | None]] = [] if begun in towards else [(begun, None)]
        while waiting:
            clique, parent = waiting.pop()
            towards[clique] = parent
            waiting += [(n, clique) for n in reversed(neighbours(clique)) if n not in towards]
    return towards


def _placed(
    names: Sequence[Sequence[str]], towards: Mapping[int, int | None], shared: Mapping[int, Sequence[str]]
) -> dict[int, _Box]:
    """A column for each distance from the root, cliques without others beyond them one below the other."""
    depth: dict[int, int] = {}
    for clique, parent in towards.items():
        depth[clique] = 0 if parent is None else depth[parent] + 1
    columns = [[c for c in depth if depth[c] == level] for level in range(max(depth.values()) + 1)]
    widths = [max(_width(names[c]) for c in column) for column in columns]
    lefts, at = [], 0.0
    for column, width in zip(columns, widths, strict=True):
        at += max((_width(shared[c]) + CORNER for c in column if c in shared), default=0.0)
        lefts.append(at)
        at += width
    middles = _middles(names, towards, shared)
    return {c: _Box(c, lefts[depth[c]], middles[c], _width(names[c]), _height(names[c])) for c in towards}


def _middles(
    names: Sequence[Sequence[str]], towards: Mapping[int, int | None], shared: Mapping[int, Sequence[str]]
) -> dict[int, float]:
    """How far down each clique stands: every one has a band to itself and to what follows it."""
    following: dict[int, list[int]] = {c: [] for c in towards}
    bands: dict[int, float] = {}
    for clique, parent in reversed(list(towards.items())):
        if parent is not None:
            following[parent].insert(0, clique)
        above_the_line = 2 * _height(shared.get(clique, ()))
        beyond = sum(bands[c] for c in following[clique])
        bands[clique] = max(_height(names[clique]) + BETWEEN, above_the_line, beyond)
    middles: dict[int, float] = {}
    tops, low = {}, 0.0
    for clique, parent in towards.items():
        if parent is None:
            tops[clique] = low
            low += bands[clique]
        middles[clique] = tops[clique] + bands[clique] / 2
        top = middles[clique] - sum(bands[c] for c in following[clique]) / 2
        for c in following[clique]:
            tops[c] = top
            top += bands[c]
    return middles


def _height(names: Sequence[str]) -> float:
    return LINE * len(names) + PADDING


def _width(names: Sequence[str]) -> float:
    return max((sum(CAPITAL if c.isupper() else LETTER for c in name) for name in names), default=0.0) + 2 * PADDING


def _shapes(
    boxes: Mapping[int, _Box],
    towards: Mapping[int, int | None],
    shared: Mapping[int, Sequence[str]],
    names: Sequence[Sequence[str]],
    hardest: str | None,
    root: int,
) -> tuple[list[Row], list[Row], list[Row], list[Row]]:
    """Boxes, the names in them, lines between them, and what stands on the lines."""
    marked, others = FILLS
    rows: list[Row] = [
        {"x": b.x, "x2": b.x + b.width, "y": b.y - b.height / 2, "y2": b.y + b.height / 2}
        | {"part": marked if b.clique == root else others}
        for b in boxes.values()
    ]
    words: list[Row] = [
        {"x": b.x + b.width / 2, "y": b.y + LINE * (n - (len(names[b.clique]) - 1) / 2), "text": name}
        | {"hardest": name == hardest}
        for b in boxes.values()
        for n, name in enumerate(names[b.clique])
    ]
    lines: list[Row] = []
    labels: list[Row] = []
    for child, parent in towards.items():
        if parent is None:
            continue
        start, end = boxes[parent], boxes[child]
        bend = end.x - _width(shared[child])
        lines.append({"x": start.x + start.width, "y": start.y, "x2": bend, "y2": end.y})
        lines.append({"x": bend, "y": end.y, "x2": end.x, "y2": end.y})
        labels += [
            {"x": (bend + end.x) / 2, "y": end.y - 4 - LINE * (len(shared[child]) - n) + LINE / 2, "text": name}
            for n, name in enumerate(shared[child])
        ]
    return rows, words, lines, labels


def _tree(rows: list[Row], words: list[Row], lines: list[Row], labels: list[Row]) -> Chart:
    right, high = max(row["x2"] for row in rows) + 4, max(row["y2"] for row in rows) + 8
    low = min(row["y"] for row in (*rows, *labels)) - 8

    def axes(*, ends: bool = False) -> dict[str, Any]:
        encodings: dict[str, Any] = {
            "x": alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-4, right], nice=False)),
            "y": alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[high, low], nice=False)),
        }
        return encodings | ({"x2": "x2:Q", "y2": "y2:Q"} if ends else {})

    fill = alt.Color(
        "part:N",
        title=None,
        scale=alt.Scale(domain=list(FILLS), range=list(FILLS.values())),
        legend=alt.Legend(orient="bottom", labelLimit=400, symbolType="square"),
    )
    layers = [
        chart_of(lines).mark_rule(color=QUIET).encode(**axes(ends=True)) if lines else None,
        chart_of(rows)
        .mark_rect(stroke=QUIET, strokeWidth=1, cornerRadius=5, opacity=1)
        .encode(**axes(ends=True), color=fill),
        _text([w for w in words if not w["hardest"]], axes(), color=INK),
        _text([w for w in words if w["hardest"]], axes(), color=WARNING, fontWeight="bold"),
        _text(labels, axes(), color=QUIET, fontStyle="italic"),
    ]
    drawn = alt.layer(*(layer for layer in layers if layer is not None))
    return styled(drawn.properties(width=right + 4, height=high - low))


def _text(rows: Sequence[Mapping[str, Any]], axes: dict[str, Any], **look: Any) -> Any:
    if not rows:
        return None
    return chart_of(rows).mark_text(fontSize=11, **look).encode(**axes, text="text:N")
