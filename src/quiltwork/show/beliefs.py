"""Pictures of beliefs: what follows what, and what a release is worth if stays last longer."""

import html
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from quiltwork.accounting.compare import Comparison
from quiltwork.beliefs import Belief, GaussianBelief, IntervalChain, MarkovChain
from quiltwork.beliefs.unknown_member import unknown_member
from quiltwork.fitting import forgotten_after, in_time
from quiltwork.show.charts import network_chart
from quiltwork.show.gaussian import about_gaussian
from quiltwork.show.page import figure, footer, paragraphs, table, write_page
from quiltwork.show.pictures import alt
from quiltwork.show.style import ACCENT, INK, QUIET, WARNING, Chart, styled, to_svg
from quiltwork.types import Floats

MOST_NUMBERED = 16  # states up to which each cell has its number
MOST_DRAWN = 6
WIDTH = 520


def heat_chart(chain: MarkovChain) -> Chart:
    """How likely each state (column) follows each (row)."""
    return range_chart(chain.states, chain.transition, chain.transition)


def range_chart(states: Sequence[str], lower: Floats, upper: Floats) -> Chart:
    """How likely each state (column) follows each (row), at least and at most; the colour shows the middle."""
    rows = [
        {"from": a, "to": b, "p": (low + high) / 2, "label": _range(low, high), "strong": low + high > 1.1}
        for a, lows, highs in zip(states, lower.tolist(), upper.tolist(), strict=True)
        for b, low, high in zip(states, lows, highs, strict=True)
    ]
    order = list(states)
    base = alt.Chart(alt.InlineData(rows)).encode(
        x=alt.X("to:N", sort=order, title="next state", axis=alt.Axis(orient="top", labelAngle=-35, labelLimit=120)),
        y=alt.Y("from:N", sort=order, title="state", axis=alt.Axis(labelLimit=160)),
    )
    cells = base.mark_rect(stroke="white").encode(
        color=alt.Color(
            "p:Q", scale=alt.Scale(domain=[0, 1], range=["#f4f7fb", ACCENT]), title="probability", legend=None
        )
    )
    size = max(22, min(56 if np.array_equal(lower, upper) else 72, 560 // len(order)))
    layers = [cells]
    if len(order) <= MOST_NUMBERED:
        colour = alt.condition("datum.strong", alt.value("white"), alt.value(INK))
        layers.append(base.mark_text(fontSize=11).encode(text="label:N", color=colour))
    return styled(alt.layer(*layers).properties(width=size * len(order), height=size * len(order) * 0.7))


def _range(low: float, high: float) -> str:
    least, most = ("0" if p == 0 else f"{p:.2g}" for p in (low, high))
    return least if least == most else f"{least}–{most}"


def longer_chart(found: Comparison) -> Chart:
    """ε against how many times as long stays last, with the ε that was asked for."""
    points = [(1.0, found.epsilon), *found.stays]
    rows = [{"times": times, "loss": loss, "label": f"{loss:#.3g}"} for times, loss in points if loss is not None]
    base = alt.Chart(alt.InlineData(rows)).encode(
        x=alt.X(
            "times:Q",
            title="how many times as long stays last",
            scale=alt.Scale(type="log", zero=False, nice=False),
            axis=alt.Axis(values=[times for times, _ in points], format="~g", grid=False, labelOverlap=True),
        ),
        y=alt.Y("loss:Q", title="privacy loss (ε)", scale=alt.Scale(zero=True)),
    )
    line = base.mark_line(color=ACCENT)
    dots = base.mark_point(color=ACCENT, filled=True, size=70, opacity=1)
    text = base.mark_text(color=INK, align="left", dx=6, dy=14).encode(text="label:N")
    kept = alt.Chart(alt.InlineData([{"loss": found.epsilon}])).mark_rule(color=QUIET, strokeDash=[5, 4])
    layers = [kept.encode(y="loss:Q"), line, dots, text]
    if found.epsilon_other is not None:
        named = f"the other belief: {found.epsilon_other:.3g}"
        other = alt.Chart(alt.InlineData([{"loss": found.epsilon_other, "text": named}]))
        layers += [
            other.mark_rule(color=WARNING, size=2).encode(y="loss:Q"),
            other.mark_text(color=WARNING, align="right", dx=-6, dy=-9).encode(
                y="loss:Q", x=alt.value(WIDTH), text="text:N"
            ),
        ]
    return styled(alt.layer(*layers).properties(width=WIDTH, height=260))


def write_belief(path: str | Path, *, belief: Belief) -> Path:
    """Write one self-contained HTML file about a belief."""
    title = "What an adversary may believe"
    sections = [
        f"<h1>{title}</h1>",
        f"<p class=lead>{html.escape(repr(belief))} · fingerprint <code>{belief.fingerprint[:16]}</code></p>",
    ]
    return write_page(path, "belief", [*sections, *about_belief(belief), footer()])


def about_belief(belief: Belief) -> list[str]:
    """Parts of a page that show what a belief says: heat maps, stays, a network, variables."""
    known = unknown_member(belief)
    sections = [] if known is None else [paragraphs(known.sentence())]
    for number, member in belief.numbered_members[:MOST_DRAWN] if belief.chains else ():
        heading = [] if number is None else [f"<h3>Chain {number} of {len(belief.members)}</h3>"]
        sections += [*heading, *_about_chain(member.chains[0], belief)]
    if isinstance(belief, GaussianBelief):
        sections += about_gaussian(belief)
    if isinstance(belief, IntervalChain):
        caption = "How likely each state (column) follows each (row), at least and at most."
        sections.append(figure(to_svg(range_chart(belief.states, belief.lower, belief.upper)), caption))
    average = belief.average()
    if average is not None:
        caption = "How likely each state (column) follows each (row), on average over times and phases."
        sections.append(figure(to_svg(heat_chart(average)), caption))
    if belief.networks:
        sections.append(figure(to_svg(network_chart(belief.networks[0])), "Parents above children."))
    if belief.variables is not None:
        rows = [{"variable": name, "states": ", ".join(states)} for name, states in belief.variables.items()]
        sections.append(table(rows, texts=2))
    return sections


def _about_chain(chain: MarkovChain, belief: Belief) -> list[str]:
    step, after = belief.step, forgotten_after(chain)
    said = "never" if after is None else f"after {in_time(after, step)}"
    rows = [
        {"state": state, "lasts on average": "for ever" if p >= 1 else in_time(1 / (1 - p), step)}
        for state, p in zip(chain.states, chain.transition.diagonal().tolist(), strict=True)
    ]
    drawn = figure(to_svg(heat_chart(chain)), "How likely each state (column) follows each (row).")
    return [
        f"<div class=beside>{drawn}{table(rows)}</div>",
        f"<p>It forgets a value {said}: what is still known of it is then below 5 %.</p>",
    ]


def write_comparison(path: str | Path, *, found: Comparison) -> Path:
    """Write one self-contained HTML file about what a release is worth if the belief is wrong."""
    rows = [
        {"if stays last": f"{times:g} times as long", "ε": "-" if loss is None else f"{loss:.4g}"}
        for times, loss in found.stays
    ]
    sections = [
        "<h1>What if the belief is wrong?</h1>",
        f"<p class=lead>{html.escape(found.query)} · noise scale {found.noise_scale:g} · ε = {found.epsilon:.4g} "
        "under the belief</p>",
    ]
    if found.epsilon_other is not None:
        sections.append(f"<p>If the other belief is true, the same noise gives ε = {found.epsilon_other:.4g}.</p>")
    if found.stays:
        caption = "The privacy loss of the same noise if all stays last longer than the belief says."
        sections += [figure(to_svg(longer_chart(found)), caption), table(rows)]
    return write_page(path, "other beliefs", [*sections, footer()])
