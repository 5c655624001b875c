"""What notebooks show: small pages of tables and pictures that need no network, one for each kind of thing.

Names are escaped, and nothing in them is obeyed. Like reports, they show no data that has no noise, except checks and
fits, which are for public data.
"""

import html
import re
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

from quiltwork.accounting.accountant import Composed
from quiltwork.accounting.compare import Comparison
from quiltwork.auditor import Audit
from quiltwork.beliefs import Belief, GaussianBelief
from quiltwork.beliefs.checked import words_of
from quiltwork.beliefs.unknown_member import unknown_member
from quiltwork.calibration.plan import Plan
from quiltwork.calibration.record import Calibration
from quiltwork.errors import QuiltworkError, visible
from quiltwork.fitting import Fit, forgotten_after, in_time
from quiltwork.fitting.gaussian import GaussianFit, belief_lines
from quiltwork.fitting.outcome import BeliefCheck
from quiltwork.fitting.words import percent
from quiltwork.influence.curve.timeline import Losses
from quiltwork.ledger import Ledger, Statement
from quiltwork.releases.answer import plus_minus
from quiltwork.releases.result import Release
from quiltwork.session import Session
from quiltwork.show.checks import check_title, other_lines
from quiltwork.show.numbers import budget_words, remarks, share_of_budget, table_of
from quiltwork.show.output import cell
from quiltwork.show.plots import drawn
from quiltwork.show.reasons import capital
from quiltwork.show.style import ACCENT, FONT, INK, WARNING, to_svg
from quiltwork.show.terminal import plan_rows, plan_title, statement_rows, statement_title
from quiltwork.types import Shown

MOST_ROWS = 40
MOST_STATES = 40  # of a belief that is drawn without being asked
MOST_VARIABLES = 80
SAID = ("kind", "step")  # of a belief, in its title
NAMES = ("state", "next state", "part", "label", "rule")  # columns that may have numbers in them and are none
A_NUMBER = re.compile(r"[-+±]?[\d,.]*\d( %)?( ± [\d,.]+)?|-?")

# colours are given for both, so that it stays readable in a dark notebook
_STYLE = f"""<style>
.quiltwork {{ font: 14px/1.5 {FONT}; color: {INK}; background: white; padding: .6rem .8rem; max-width: 60rem }}
.quiltwork h4 {{ margin: 0; color: {INK}; font-size: 1.1em }} .quiltwork h5 {{ margin: .8rem 0 0; color: {INK} }}
.quiltwork p {{ margin: .2rem 0; color: {INK} }} .quiltwork p.lead {{ color: #5b6780 }}
.quiltwork table {{ border-collapse: collapse; margin: .5rem 0; font-size: 1em; border: 0 }}
.quiltwork td, .quiltwork th {{ padding: .15rem 1rem .15rem 0; border: 0; border-bottom: 1px solid #e6e9ef;
  text-align: left; vertical-align: top; color: {INK}; background: white; max-width: 34rem; white-space: normal }}
.quiltwork .n {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }}
.quiltwork svg {{ max-width: 100%; height: auto; display: block; margin: .4rem 0 }}
.quiltwork .bar {{ width: 20rem; height: .6rem; background: #e6e9ef; margin: .4rem 0 }}
.quiltwork .bar div {{ height: 100% }}
</style>"""


@singledispatch
def as_html(thing: object) -> str:
    """A belief, plan, calibration, release, session or ledger, or what was found about them, as a part of a page."""
    return block(repr(thing))


def block(title: str, *parts: str, lead: str = "") -> str:
    """A part of a page with a title; the parts are HTML, the title and what it leads to are text."""
    said = f'<p class="lead">{html.escape(lead)}</p>' if lead else ""
    content = "\n".join(part for part in parts if part)
    return visible(f'<div class="quiltwork">{_STYLE}<h4>{html.escape(title)}</h4>{said}\n{content}\n</div>')


def lines(*texts: str) -> str:
    """Sentences, a paragraph each."""
    return "".join(f"<p>{html.escape(text)}</p>" for text in texts)


def table(rows: Sequence[Mapping[str, Any]], *, most: int = MOST_ROWS) -> str:
    """Rows of the same keys; the first of them if there are many. Columns with nothing in them are left out."""
    if not rows:
        return ""
    empty = {key for key in rows[0] if all(row[key] in (None, "", "-") for row in rows)}
    rows = [{key: value for key, value in row.items() if key not in empty} for row in rows]
    numeric = [key not in NAMES and all(_is_number(row[key]) for row in rows) for key in rows[0]]
    marks = [' class="n"' if is_number else "" for is_number in numeric]
    head = "".join(f"<th{mark}>{html.escape(str(key))}</th>" for key, mark in zip(rows[0], marks, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f"<td{mark}>{html.escape(cell(value))}</td>" for value, mark in zip(row.values(), marks, strict=True))
        + "</tr>"
        for row in rows[:most]
    )
    more = f"<p>… and {len(rows) - most:,} more.</p>" if len(rows) > most else ""
    return f"<table><tr>{head}</tr>{body}</table>{more}"


def _is_number(value: object) -> bool:
    return value is None or isinstance(value, int | float) or A_NUMBER.fullmatch(str(value)) is not None


def picture(thing: Shown) -> str:
    """Its chart as SVG, which needs no network; nothing where there is none."""
    try:
        return to_svg(drawn(thing))
    except QuiltworkError:
        return ""


@as_html.register
def _(belief: Belief) -> str:
    facts = belief.summary()
    fingerprint = facts.pop("fingerprint")[:16]
    stays = facts.pop("expected_stay", None)
    step = "" if belief.step is None else f"step {belief.step} · "
    small = len(belief.states) <= MOST_STATES and len(belief.variables or belief.step_variables or ()) <= MOST_VARIABLES
    parts = [picture(belief) if small or belief.real else ""]
    if isinstance(belief, GaussianBelief):
        parts.append(lines(*belief_lines(belief)))
    elif stays is not None:
        rows = [
            {
                "state": row["state"],
                "share of time": percent(row["stationary"]),
                "lasts on average": "for ever" if row["stays"] is None else in_time(row["stays"], belief.step),
            }
            for row in stays
        ]
        parts.append(table(rows))
    else:
        plain = {key: value for key, value in facts.items() if isinstance(value, int | float | str)}
        shown = [f"{key.replace('_', ' ')} {cell(value)}" for key, value in plain.items() if key not in SAID]
        parts.append(lines(" · ".join(shown)) if shown else "")
    known = unknown_member(belief)
    parts.append(lines(*_forgetting(belief), *([] if known is None else [known.sentence()])))
    return block(repr(belief), *parts, lead=f"{step}fingerprint {fingerprint}")


def _forgetting(belief: Belief) -> list[str]:
    """How soon the slowest chain has forgotten a value."""
    if not belief.chains or len(belief.states) > MOST_STATES:
        return []
    after = [forgotten_after(chain) for chain in belief.chains]
    known = [n for n in after if n is not None]
    when = f"after {in_time(max(known), belief.step)}" if len(known) == len(after) else "never"
    return [f"It forgets a value {when}: what is still known of it is then below 5 %."]


@as_html.register
def _(fit: Fit) -> str:
    rows = [row | {"stays": in_time(row["stays"], fit.chain.step)} for row in fit.rows() if row["stays"] is not None]
    parts = picture(fit), table(rows), lines(*fit.warnings())
    return block(f"Fitted: {fit.belief!r}", *parts, lead=f"{int(fit.counts.sum()):,} transitions in public data")


@as_html.register
def _(fit: GaussianFit) -> str:
    return block(f"Fitted: {fit.belief!r}", picture(fit.belief), lines(*fit.lines()))


@as_html.register
def _(check: BeliefCheck) -> str:
    said = lines(check.verdict, check.remedy, *other_lines(check), *check.notes)
    return block(
        check_title(check),
        said,
        picture(check),
        lead=f"{check.subjects:,} series, {check.values:,} values of public data",
    )


@as_html.register
def _(found: Comparison) -> str:
    rows = [{"if stays last": f"{times:g} times as long", "ε": loss} for times, loss in found.stays]
    other = "" if found.epsilon_other is None else f"If the other belief is true: ε = {found.epsilon_other:.4g}."
    title = f"{found.query}, noise scale {found.noise_scale:g}: ε = {found.epsilon:.4g} under the belief"
    return block(title, lines(other) if other else "", picture(found) if found.stays else "", table(rows))


@as_html.register
def _(plan: Plan) -> str:
    among = "" if plan.complete else " among those shown"
    best = "" if plan.best is None else f"Least noise with a guarantee{among}: {plan.best.mechanism}."
    return block(plan_title(plan), picture(plan), table(plan_rows(plan)), lines(best) if best else "")


@as_html.register
def _(calibration: Calibration) -> str:
    noise = f"{calibration.noise_words} {calibration.noise_scale:.6g}"
    title = f"{calibration.query.text} by {calibration.mechanism}: {noise}"
    return block(title, picture(calibration), lines(*calibration.explain().splitlines()))


@as_html.register
def _(audit: Audit) -> str:
    first, *others = audit.lines()
    return block(first, lines(*others), picture(audit))


@as_html.register
def _(losses: Losses) -> str:
    first, last = losses.worst
    when = f"time {first:,}" if first == last else f"times {first:,} to {last:,}"
    return block(f"Privacy loss along time: at most {losses.epsilon:.6g}, at {when}", picture(losses))


@as_html.register
def _(composed: Composed) -> str:
    rows = [{"rule": f.rule, "ε together": f.epsilon, "why": f.why or f.theorem} for f in composed.rules]
    weaker = f", δ = {composed.delta:g}" if composed.delta else ""
    title = f"Total privacy loss ε = {composed.epsilon:.6g}{weaker}, by {composed.rule}"
    return block(title, picture(composed), table(rows))


@as_html.register
def _(statement: Statement) -> str:
    return _spending(statement, statement_title(statement))


@as_html.register
def _(ledger: Ledger) -> str:
    return as_html(ledger.statement())


@as_html.register
def _(session: Session) -> str:
    return _spending(session.statement(), repr(session.data))


def _spending(now: Statement, lead: str) -> str:
    """What was spent of a budget: a bar, a picture and a table of releases."""
    content = now.to_dict()
    title, full = capital(budget_words(content)), 100 * share_of_budget(content)
    colour = WARNING if full >= 90 else ACCENT
    bar = f'<div class="bar"><div style="width: {full:.1f}%; background: {colour}"></div></div>'
    rows = statement_rows(now)
    found = table(rows[-MOST_ROWS:]) if rows else lines("Nothing has been released yet.")
    rule = lines(f"Composition rule: {now.rule}.") if rows else ""
    room = "" if now.room is None else lines(now.room)
    return block(title, bar, found, rule, room, lead=lead)


@as_html.register
def _(release: Release) -> str:
    made = release.calibration
    noise = "" if release.questions else f"{made.noise_words} {release.noise_scale:,.6g} on each number · "
    weaker = f", δ = {made.delta:g}" if made.delta else ""
    lead = (
        f"ε = {made.epsilon:g}{weaker} · belief {words_of(release.checked)} · {made.mechanism} · {noise}"
        f"{release.subjects:,} {release.belief.noun}, {release.values:,} values"
    )
    parts = []
    for text, question in release.by_question(lambda question: question).items():
        parts += [f"<h5>{html.escape(text)}</h5>", *_answered(question)]
    return block(f"{made.query.text}, private", *(parts or _answered(release)), lines(*release.notes), lead=lead)


def _answered(question: Release) -> list[str]:
    """The numbers of one question: a picture, a table and their accuracy."""
    answers = question.answers
    error = f"The noise on each number is at most ±{plus_minus(question.error())} with probability 95 %."
    if any(answer.pure_noise for answer in answers):
        error += " That is as much as the answer can be: the numbers are noise."
    said = remarks(question, keep="All digits and the numbers as drawn: to_polars().")
    return [picture(question), table(table_of(question)), lines(error, *said)]
