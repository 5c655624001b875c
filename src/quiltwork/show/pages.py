"""Figures, and the report that a release leaves behind: one HTML file that needs no network.

A report shows noisy values, noise and reasons; never the data.
"""

import html
import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import altair as alt

from quiltwork import __version__
from quiltwork.accounting.accountant import Composed
from quiltwork.accounting.record import ReleaseRecord
from quiltwork.auditor import Audit
from quiltwork.beliefs import Belief
from quiltwork.calibration.plan import Offer, Plan
from quiltwork.calibration.record import Calibration
from quiltwork.errors import InputError, visible
from quiltwork.influence.curve.timeline import Losses
from quiltwork.releases.result import Release
from quiltwork.show.answers import caption, release_chart
from quiltwork.show.charts import cycle_chart, network_chart, posterior_chart
from quiltwork.show.cliques import clique_chart
from quiltwork.show.numbers import remarks, table_of
from quiltwork.show.style import ACCENT, FONT, INK, QUIET, WARNING, Chart, sized, styled, to_svg

MOST_BARS = 30
MOST_DRAWN = 80  # variables of a network


def _values(release: Release) -> str:
    """The table of the released numbers."""
    table = table_of(release)
    head = "".join(f"<th{' class=n' if n else ''}>{html.escape(name)}</th>" for n, name in enumerate(table[0]))
    rows = "".join(
        f"<tr>{''.join(_cell(text, number=n > 0) for n, text in enumerate(row.values()))}</tr>" for row in table
    )
    said = "".join(f"<p>{html.escape(line)}</p>" for line in remarks(release))
    return f"<div class=wide><table><tr>{head}</tr>{rows}</table></div>{said}"


def _cell(text: str, *, number: bool) -> str:
    return f"<td{' class=n' if number else ''}>{html.escape(text)}</td>"


def noise_chart(plan: Plan) -> Chart:
    """The noise of each mechanism, on a logarithmic axis."""
    offers = [(o.mechanism, o.noise_scale, o.calibration) for o in plan.offers if o.noise_scale]
    rows = [
        {
            "name": name,
            "noise": scale,
            "label": f"{scale:,.4g}" + (" (no guarantee)" if c is not None and c.guarantee == "none" else ""),
            "kind": "none" if c is not None and c.guarantee == "none" else "pufferfish",
        }
        for name, scale, c in offers
    ]
    base = alt.Chart(alt.InlineData(rows)).encode(
        y=alt.Y("name:N", sort=[name for name, _, _ in offers], title=None, axis=alt.Axis(labelLimit=260))
    )
    axis = alt.X(
        "noise:Q",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(tickCount=5),
        title="noise scale on each number (log axis)",
    )
    dots = base.mark_point(filled=True, size=110, opacity=1).encode(
        x=axis,
        color=alt.Color("kind:N", scale=alt.Scale(domain=["pufferfish", "none"], range=[ACCENT, WARNING]), legend=None),
    )
    text = base.mark_text(align="left", dx=10, color=INK).encode(x=axis, text="label:N")
    return sized(alt.layer(dots, text), len(rows))


def loss_chart(found: Audit, names: Sequence[str] | None = None) -> Chart:
    """The exact loss at each time step, with the worst one marked; or of each variable of a record, by name."""
    if names is not None:
        return _loss_bars(found, names)
    rows = [{"time": n, "loss": loss} for n, loss in enumerate(found.by_node, 1)]
    base = alt.Chart(alt.InlineData(rows)).encode(
        x=alt.X("time:Q", title="time (the value attacked)", scale=alt.Scale(zero=False, nice=False)),
        y=alt.Y("loss:Q", title="exact loss", scale=alt.Scale(zero=True)),
    )
    worst = max(range(len(rows)), key=lambda n: rows[n]["loss"])
    mark = base.transform_filter(f"datum.time == {worst + 1}").mark_point(
        color=WARNING, size=120, filled=True, opacity=1
    )
    return sized(alt.layer(base.mark_line(color=ACCENT, point=len(rows) < 40), mark), 6)


def _loss_bars(audit: Audit, names: Sequence[str]) -> Chart:
    rows = [
        {"variable": name, "loss": loss, "worst": name == audit.node}
        for name, loss in zip(names, audit.by_node, strict=True)
    ]
    bars = (
        alt.Chart(alt.InlineData(rows))
        .mark_bar()
        .encode(
            y=alt.Y("variable:N", title=None, sort=None),
            x=alt.X("loss:Q", title="exact loss", scale=alt.Scale(zero=True)),
            color=alt.condition("datum.worst", alt.value(WARNING), alt.value(ACCENT)),
        )
    )
    return sized(alt.layer(bars), len(rows))


def timeline_chart(losses: Losses, segments: Sequence[tuple[int, int]], *, budget: float | None = None) -> Chart:
    """What releases tell about the value at each time, with the budget line and the segments they were about."""
    ends = [*(int(n) - 1 for n in losses.first[1:]), losses.length]
    rows = [
        {"time": time, "loss": float(loss)}
        for first, last, loss in zip(losses.first.tolist(), ends, losses.epsilon_at.tolist(), strict=True)
        for time in ((first, last) if last > first else (first,))
    ]
    # the axis of time is as long as the series; many blocks are thinned, the largest loss of each kept
    rows = _thinned(rows, 4_000)
    x = alt.X("time:Q", title="time", scale=alt.Scale(domain=[1, max(losses.length, 2)], nice=False))
    y = alt.Y("loss:Q", title="privacy loss at each time, at most (ε)", scale=alt.Scale(zero=True))
    base = alt.Chart(alt.InlineData(rows)).encode(x=x, y=y)
    layers = [base.mark_area(color=ACCENT, opacity=0.15), base.mark_line(color=ACCENT)]
    if budget is not None:
        line = alt.Chart(alt.InlineData([{"loss": budget, "text": f"budget {budget:g}"}]))
        layers += [
            line.mark_rule(color=WARNING, strokeDash=[6, 4], size=2).encode(y="loss:Q"),
            line.mark_text(color=WARNING, align="left", dx=6, dy=-7, font=FONT).encode(
                y="loss:Q", x=alt.value(0), text="text:N"
            ),
        ]
    upper = alt.layer(*layers).properties(width=520, height=220)
    if not segments:
        return styled(upper)
    bars = [
        {"first": first, "last": last + (0 if last > first else 0.5), "release": f"release {n}"}
        for n, (first, last) in enumerate(segments[:MOST_BARS], 1)
    ]
    lower = (
        alt.Chart(alt.InlineData(bars))
        .mark_bar(color=QUIET, height=8)
        .encode(
            x=alt.X("first:Q", title=None, scale=alt.Scale(domain=[1, max(losses.length, 2)], nice=False)),
            x2="last:Q",
            y=alt.Y("release:N", title=None, sort=None),
        )
        .properties(width=520, height=18 * max(len(bars), 1))
    )
    return styled(alt.vconcat(upper, lower))


def _thinned(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    if len(rows) <= most:
        return rows
    step = -(-len(rows) // most)
    return [max(rows[n : n + step], key=lambda row: row["loss"]) for n in range(0, len(rows), step)]


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


def density_chart(outputs: Sequence[float], more: Sequence[float], less: Sequence[float], found: Audit) -> Chart:
    """The law of the output given each of the two values at the worst time, on a logarithmic axis."""
    pair = found.pair or ("", "")
    names = [f"given {state}" for state in pair]
    rows = [
        {"output": w, "density": p, "given": name}
        for name, curve in zip(names, (more, less), strict=True)
        for w, p in zip(outputs, curve, strict=True)
        if p > 0
    ]
    lines = (
        alt.Chart(alt.InlineData(rows))
        .mark_line()
        .encode(
            x=alt.X("output:Q", title="output"),
            y=alt.Y("density:Q", scale=alt.Scale(type="log"), title="density (log axis)", axis=alt.Axis(format="~e")),
            color=alt.Color("given:N", scale=alt.Scale(domain=names, range=[ACCENT, WARNING]), title=None),
        )
    )
    return sized(alt.layer(lines), 6)


def write_audit(path: str | Path, *, found: Audit, lines: Sequence[str], charts: Sequence[tuple[str, Chart]]) -> Path:
    """Write one self-contained HTML file about an audit."""
    sections = [
        f"<h1>Exact loss {found.epsilon:.6g}</h1>",
        *(f"<p>{html.escape(line)}</p>" for line in lines),
        *(figure(to_svg(chart), caption) for caption, chart in charts),
        footer(),
    ]
    return write_page(path, "audit", sections)


def promises_chart(rows: Sequence[dict[str, Any]]) -> Chart:
    """For each example: what is promised, what truly leaks, and what our bound says."""
    kinds = ["printed promise", "true leakage", "quiltwork"]
    data = [{"example": row["example"], "what": kind, "value": row[kind]} for row in rows for kind in kinds]
    base = alt.Chart(alt.InlineData(data)).encode(
        y=alt.Y("example:N", title=None, sort=None, axis=alt.Axis(labelLimit=300)),
        yOffset=alt.YOffset("what:N", sort=kinds),
        x=alt.X("value:Q", title="leakage (ε)", scale=alt.Scale(zero=True)),
    )
    bars = base.mark_bar(height=16).encode(
        color=alt.Color(
            "what:N",
            title=None,
            sort=kinds,
            scale=alt.Scale(domain=kinds, range=[QUIET, WARNING, ACCENT]),
            legend=alt.Legend(orient="bottom"),
        )
    )
    text = base.mark_text(align="left", dx=4, color=INK).encode(text=alt.Text("value:Q", format=".4f"))
    return sized(alt.layer(bars, text), 2 * len(rows))


def write_report(path: str | Path, *, release: Release, plan: Plan | None = None) -> Path:
    """Write one self-contained HTML file about a release, and beside it what other mechanisms would have needed."""
    calibration = release.calibration
    noise = ", ".join(f"{scale:,.6g}" for _, scale in calibration.scales) if release.questions else ""
    sections = [
        f"<h1>{html.escape(_title(calibration.query.text))}, private</h1>",
        f"<p class=lead>ε = {calibration.epsilon:g} · {html.escape(calibration.mechanism)} · noise scale "
        f"{noise or f'{release.noise_scale:,.6g}'} on each number · {release.subjects:,} {release.belief.noun}, "
        f"{release.values:,} values</p>",
        *(section for question in release.questions or (release,) for section in _answered(question, release)),
        "<p>These limits cover the added noise only, not how well the data represents a larger population. A noisy "
        "count or share may be negative; setting it to 0 costs no privacy.</p>",
        "<h2>Why this much noise</h2>",
        "".join(
            f"<p>{html.escape(line)}</p>"
            for line in [*calibration.explain(release.belief).splitlines(), *release.notes]
        ),
        *_cycle(release.belief, calibration),
        *_network(release.belief, calibration),
    ]
    sections += _meaning(release) + _recorded(release)
    sections += [
        "<h2>What an adversary may believe</h2>",
        f"<p>{html.escape(_believed(release.belief))}; fingerprint <code>{release.belief.fingerprint[:16]}</code>. "
        "The guarantee holds for this belief.</p>",
    ]
    if plan is not None:
        sections += [
            "<h2>What other mechanisms would add</h2>",
            figure(to_svg(noise_chart(plan)), ""),
            _refusals(plan.offers),
        ]
    sections += [
        "<h2>What is not promised</h2>",
        "<p>The guarantee is about the value at any one time. It does not hide that somebody is in the data, how long "
        "their series is, or long-term habits. It holds for the stated belief. If values are more strongly correlated "
        "than that, the protection is weaker. Further releases from the same data add to the privacy loss.</p>",
        footer(),
    ]
    return write_page(path, f"private {calibration.query.text}", sections)


def _answered(question: Release, release: Release) -> list[str]:
    """The numbers of one question, under a title of their own if there are several."""
    several = len(question.numbers) > 1
    everyone = question.error(simultaneous=True)
    together = f"<p>All {len(question.numbers)} numbers at once: ± {everyone:,.6g}.</p>" if several else ""
    title = [f"<h2>{html.escape(_title(question.calibration.query.text))}</h2>"] if release.questions else []
    return [*title, figure(to_svg(release_chart(question)), caption(question)), _values(question), together]


def _believed(belief: Belief) -> str:
    """The belief in a line."""
    return repr(belief) if belief.real else f"{belief!r}, states {', '.join(belief.states)}"


def _meaning(release: Release) -> list[str]:
    """What ε means: how far a probability may move, by this release and by all that the budget allows."""
    calibration, ledger = release.calibration, release.ledger
    epsilons = {f"this release (ε = {calibration.epsilon:g})": calibration.epsilon}
    whose = "this release"
    if ledger is not None:
        epsilons[f"the whole budget (ε = {ledger['budget']:g})"] = ledger["budget"]
        whose = "this release, or by all releases within the budget"
        if ledger.get("secrets", "all") != calibration.secrets.text:
            whose += f" (which is about {ledger.get('secrets', 'all')})"
    words = calibration.meaning(release.belief)
    caption = (
        f"How far the probability of a secret can be moved by {whose}: odds change by a factor of at most e^ε. On the "
        "dashed line nothing is learned."
    )
    return [
        "<h2>What is secret, and what ε means</h2>",
        f"<p>Secret: {html.escape(calibration.secret)}.<br>Not secret: {html.escape(calibration.not_secret)}.</p>",
        f"<p>{html.escape(words)}</p>",
        figure(to_svg(posterior_chart(epsilons)), caption),
    ]


def _recorded(release: Release) -> list[str]:
    """Where its spending is written down, and the head by which a reader can check that."""
    ledger = release.ledger
    if ledger is None:
        return []
    address, head = html.escape(str(ledger["address"])), f"{ledger['row']}:{ledger['hash']}"
    return [
        "<h2>Where it is recorded</h2>",
        f"<p>Row {ledger['row']} of <code>{address}</code>. All releases so far have spent {ledger['spent']:.6g} of "
        f"{ledger['budget']:g}.</p><p>Head of the ledger: <code>{head}</code>. "
        f"<code>quiltwork ledger verify {address} --head {head}</code> fails if this release is missing there, or if "
        "anything before it was changed.</p>",
    ]


def write_plan(path: str | Path, *, plan: Plan, belief: Belief) -> Path:
    """Write one self-contained HTML file about a plan: how much noise each mechanism needs, and why."""
    sections = [
        f"<h1>{html.escape(_title(plan.query))}: how much noise?</h1>",
        f"<p class=lead>ε = {plan.epsilon:g} · secret: {html.escape(plan.secrets.text)} · "
        f"{html.escape(repr(belief))} · fingerprint "
        f"<code>{belief.fingerprint[:16]}</code></p>",
        figure(to_svg(noise_chart(plan)), "Noise scale on each number, by mechanism."),
    ]
    for offer in plan.offers:
        if offer.calibration is not None and offer.calibration.guarantee != "none":
            sections += [
                f"<h2>{html.escape(offer.mechanism)}</h2>",
                f"<p>{html.escape(_sentence(offer.calibration))}</p>",
                *_cycle(belief, offer.calibration),
                *_network(belief, offer.calibration),
            ]
    return write_page(path, f"plan for {plan.query}", [*sections, _refusals(plan.offers), footer()])


def _cycle(belief: Belief, calibration: Calibration) -> list[str]:
    """The loss of each time of a cycle."""
    losses = calibration.reason.detail().get("by_time")
    if not losses:
        return []
    caption = "Privacy loss of a value by the time of the cycle."
    if None in losses:
        caption += " Where there is no line, values are not secret and nothing is promised."
    return [figure(to_svg(cycle_chart(losses, belief.step)), caption)]


def _network(belief: Belief, calibration: Calibration) -> list[str]:
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


def _sentence(calibration: Calibration) -> str:
    said = calibration.reason.sentence()
    return said[:1].upper() + said[1:]


def _title(query: str) -> str:
    kind, _, state = query.partition(":")
    return f"Count of {state}" if state else kind.capitalize()


def footer() -> str:
    """Version and time, at the end of every page."""
    return f"<footer>quiltwork {__version__} · {datetime.now(UTC):%Y-%m-%d %H:%M} UTC</footer>"


def check_report(path: str | Path, *others: str | Path) -> Path:
    """A path that a report can be written to, before anything is done that the report is about; none of the others."""
    path = Path(path)
    for other in others:
        with suppress(OSError, ValueError):
            if path.samefile(other):
                raise InputError(f"report {path} must be a file of its own", got="one with another use")
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"report {path} must end in .html", got=repr(path.suffix), why="it is a page for a browser")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(
            f"report {path} cannot be written",
            why="its folder does not exist or is not writable",
            fix=f"Create it first: mkdir -p {path.parent}; or choose a place that you may write to",
        )
    if path.is_file() and path.stat().st_size and not _begins_like_a_page(path):
        raise InputError(f"report {path} must not replace another kind of file", got="one that is no page")
    return path


def _begins_like_a_page(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(9).lower() == b"<!doctype"


def write_page(path: str | Path, title: str, sections: Sequence[str]) -> Path:
    """Write one self-contained HTML file."""
    path = check_report(path)
    try:
        path.write_text(page(title, sections), encoding="utf-8")
    except OSError as problem:
        raise InputError(f"report {path} cannot be written", why=problem.strerror or "the system refused") from problem
    return path


def page(title: str, sections: Sequence[str]) -> str:
    """A page that needs nothing but itself."""
    return visible(_PAGE.format(title=html.escape(title), body="\n".join(sections)))


def figure(svg: str, caption: str) -> str:
    """A picture with what it shows."""
    return f"<figure>{svg}<figcaption>{html.escape(caption)}</figcaption></figure>"


def _refusals(offers: Sequence[Offer]) -> str:
    refused = [o for o in offers if o.refused]
    items = "".join(f"<li><b>{html.escape(o.mechanism)}</b>: {html.escape(o.refused or '')}</li>" for o in refused)
    return f"<p>Not computed:</p><ul>{items}</ul>" if refused else ""


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} - quiltwork</title>
<style>
body {{ font: 16px/1.55 system-ui, sans-serif; color: #22304a; max-width: 46rem; margin: 2.5rem auto; padding: 0 1rem }}
h1 {{ margin-bottom: .2rem }} h2 {{ margin-top: 2.2rem }} .lead {{ color: #5b6780; margin-top: 0 }}
table {{ border-collapse: collapse }} td, th {{ padding: .25rem 1rem .25rem 0; border-bottom: 1px solid #e6e9ef }}
.n {{ text-align: right; font-variant-numeric: tabular-nums }}
.wide {{ overflow-x: auto }}
figure {{ margin: 1rem 0 }} figure svg {{ max-width: 100%; height: auto }}
figcaption, footer {{ color: #5b6780; font-size: .9rem }}
footer {{ margin-top: 3rem }}
</style></head><body>
{body}
</body></html>
"""
