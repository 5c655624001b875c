"""Pages that commands write: what releases tell together, an audit, a plan.

They show noise and reasons; never the data.
"""

import html
from collections.abc import Sequence
from pathlib import Path

from quiltwork.accounting.accountant import Composed
from quiltwork.accounting.record import ReleaseRecord
from quiltwork.auditor import Audit
from quiltwork.beliefs import Belief
from quiltwork.calibration.plan import Plan
from quiltwork.show.losses import MOST_BARS, noise_chart, timeline_chart
from quiltwork.show.page import figure, footer, write_page
from quiltwork.show.reasons import capital, cycle_figures, network_figures, refusals, titled
from quiltwork.show.style import Chart, to_svg


def write_composed(
    path: str | Path, *, composed: Composed, records: Sequence[ReleaseRecord], budget: float | None
) -> Path:
    """Write one self-contained HTML file about what releases tell together."""
    rows = "".join(
        f"<tr><td>{html.escape(f.rule)}</td><td class=n>{'-' if f.epsilon is None else f'{f.epsilon:.6g}'}</td>"
        f"<td>{html.escape(f.why or f.theorem)}</td></tr>"
        for f in composed.rules
    )
    sections = [
        f"<h1>Total privacy loss ε = {composed.epsilon:.6g}</h1>",
        f"<p class=lead>{len(records):,} release{'s' * (len(records) != 1)}, by {html.escape(composed.rule)}</p>",
    ]
    if budget is not None:
        left = budget - composed.epsilon
        said = f"{left:.6g} left" if left >= 0 else f"exceeded by {-left:.6g}"
        sections.append(f"<p>Budget {budget:g}: {said}.</p>")
    if composed.losses is not None:
        length = composed.losses.length
        spans = [record.touched(length) for record in records]
        segments = [(first, length if last is None else last) for first, last in spans]
        more = "" if len(segments) <= MOST_BARS else f" The first {MOST_BARS} of {len(segments):,} releases are drawn."
        sections.append(
            figure(
                to_svg(timeline_chart(composed.losses, segments, budget=budget)),
                "Upper bound on the total privacy loss at each time (influence curve), and the times that each release "
                f"covers.{more}",
            )
        )
    sections += [
        "<h2>Rules</h2>",
        f"<table><tr><th>rule</th><th class=n>ε together</th><th>why</th></tr>{rows}</table>",
        footer(),
    ]
    return write_page(path, "composition", sections)


def write_audit(path: str | Path, *, found: Audit, lines: Sequence[str], charts: Sequence[tuple[str, Chart]]) -> Path:
    """Write one self-contained HTML file about an audit."""
    sections = [
        f"<h1>Exact loss {found.epsilon:.6g}</h1>",
        *(f"<p>{html.escape(line)}</p>" for line in lines),
        *(figure(to_svg(chart), caption) for caption, chart in charts),
        footer(),
    ]
    return write_page(path, "audit", sections)


def write_plan(path: str | Path, *, plan: Plan, belief: Belief) -> Path:
    """Write one self-contained HTML file about a plan: how much noise each mechanism needs, and why."""
    sections = [
        f"<h1>{html.escape(titled(plan.query))}: how much noise?</h1>",
        f"<p class=lead>ε = {plan.epsilon:g} · secret: {html.escape(plan.secrets.text)} · "
        f"{html.escape(repr(belief))} · fingerprint "
        f"<code>{belief.fingerprint[:16]}</code></p>",
        figure(to_svg(noise_chart(plan)), "Noise scale on each number, by mechanism."),
    ]
    for offer in plan.offers:
        if offer.calibration is not None and offer.calibration.guarantee != "none":
            sections += [
                f"<h2>{html.escape(offer.mechanism)}</h2>",
                f"<p>{html.escape(capital(offer.calibration.reason.sentence()))}</p>",
                *cycle_figures(belief, offer.calibration),
                *network_figures(belief, offer.calibration),
            ]
    return write_page(path, f"plan for {plan.query}", [*sections, refusals(plan.offers), footer()])
