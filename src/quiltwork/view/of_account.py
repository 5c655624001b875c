"""What is said of budgets and losses: ledgers, totals of several releases, and exact losses."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from quiltwork.accounting.accountant import Composed
from quiltwork.accounting.record import ReleaseRecord
from quiltwork.auditor import Audit
from quiltwork.beliefs import Belief, Secrets
from quiltwork.beliefs.checked import NOT_CHECKED
from quiltwork.beliefs.secrets import believed_after
from quiltwork.influence.curve.timeline import Losses
from quiltwork.ledger.rows import record_of
from quiltwork.ledger.terms import Statement
from quiltwork.view.view import (
    MOST_BARS,
    NARROW,
    Bar,
    Block,
    Cards,
    Chart,
    Facts,
    Group,
    Sentences,
    Table,
    Verdict,
    View,
    picture,
)
from quiltwork.view.words import above, below, say, several, times_of

MOST_RELEASES = 500  # of a ledger, the latest
ALONG_TIME = ("influence-curve", "squares", "mixture")
Content = Mapping[str, Any]


# budgets


def share_of_budget(ledger: Content) -> float:
    """The share of a budget that is used, from what a ledger says; with a δ it is the room that adds up, not ε.

    >>> share_of_budget({"spent": 0.5, "budget": 2.0}), share_of_budget({"spent": 0.5, "budget": 2.0, "used": 0.1})
    (0.25, 0.1)
    """
    spent = float(ledger["spent"]) / float(ledger["budget"])
    return min(1.0, spent, float(ledger.get("used", spent)))


def budget_words(ledger: Content) -> str:
    """What was spent of a budget and what remains, from what a ledger says.

    >>> budget_words({"spent": 0.5, "budget": 2.0})
    'Spent 0.5 of 2, 1.5 remain.'
    >>> budget_words({"spent": 0.5, "budget": 2.0, "used": 0.0123, "delta": 1e-6})
    'Used 1.3 % of the budget (ε = 2, δ = 1e-06); so far ε = 0.5, whenever you stop.'
    """
    spent, budget = float(ledger["spent"]), float(ledger["budget"])
    if not ledger.get("delta"):
        return say("spent", spent=above(spent, 4), budget=budget, left=below(max(0.0, budget - spent), 4))
    percent = math.ceil(1000 * share_of_budget(ledger) * (1 - 1e-12)) / 10
    return say("used", percent=percent, budget=budget, delta=ledger["delta"], spent=above(spent, 4))


def left_of(ledger: Content) -> tuple[str, str]:
    """What remains of a budget: an amount of ε, or with a δ a share of the room.

    >>> left_of({"spent": 0.5, "budget": 2.0}), left_of({"spent": 0.5, "budget": 2.0, "used": 0.25, "delta": 1e-6})
    (('1.5', 'left of the budget of 2'), ('75 %', 'left of the budget of ε = 2, δ = 1e-06'))
    """
    budget = float(ledger["budget"])
    if not ledger.get("delta"):
        return below(max(0.0, budget - float(ledger["spent"])), 4), f"left of the budget of {budget:g}"
    left = math.floor(1000 * (1 - share_of_budget(ledger))) / 10
    return f"{left:g} %", f"left of the budget of ε = {budget:g}, δ = {ledger['delta']:g}"


# ledgers


def of_statement(now: Statement, losses: Losses | None = None, *, lead: str = "") -> View:
    """A ledger at one moment: what is left, what was spent when and by whom, and the loss along time."""
    content, releases = now.to_dict(), now.releases()
    count = len(releases)
    about = "" if now.terms.secrets.everything else f", secret: {now.terms.secrets.text}"
    named = f"{now.name}: {now.terms.belief!r}, {now.terms.guarantee}{about}"
    bar = Bar([share_of_budget(content)], budget_words(content), name="budget")
    rows = _rows(now, releases[-MOST_RELEASES:])
    table = Table(rows, numbers=("ε", "together"), most=MOST_RELEASES, name="releases")
    more = say("latest", most=MOST_RELEASES, count=count) if count > MOST_RELEASES else ""
    charts = [_spending(releases, now.terms.budget)]
    if releases and losses is not None:
        charts.append(_timeline(now, losses))
    delta = 0.0 if now.pure == now.spent else now.terms.delta
    after, but_for = believed_after(now.spent, delta) if count else believed_after(0.0)
    cards = [
        left_of(content),
        (above(now.spent, 4), "spent: privacy loss of all releases together, at most"),
        (f"50 → {after}", f"what a 50 % likely secret may have become{but_for}"),
        (f"{count:,}", f"release{'s' * (count != 1)}"),
    ]
    blocks: list[Block] = [Cards(cards, name="cards"), bar, *([Sentences([now.room])] if now.room is not None else [])]
    blocks += [Facts(_facts(now), name="facts")]
    blocks += [table, *([] if rows else [Sentences([say("nothing-yet")])])]
    blocks += [Sentences([more] if more else [], "note", name="more")]
    blocks += [Group("", charts, name="charts"), Table(_people(releases), numbers=("releases",), name="people")]
    return View(named, lead, _verdicts(now), blocks)


def explain(now: Statement) -> list[str]:
    """What was spent, on what, and by which rule it adds up, a line each."""
    lines = [
        say("spent-on", note="" if release["outcome"] == "released" else say("outcome-unknown"), **release)
        for release in now.releases()
    ]
    room = [] if now.room is None else [now.room]
    return [budget_words(now.to_dict()), *room, *lines, say("rule", rule=now.rule)]


def _rows(now: Statement, releases: Sequence[Content]) -> list[dict[str, Any]]:
    """The releases in a ledger, the latest first; with what checks of the belief found, if there were any."""
    checked = any(release["check"] not in (None, NOT_CHECKED) for release in releases)
    return [
        {
            "row": release["row"],
            "when": _when(release),
            "who": str(release["who"]),
            "question": _question(release),
            "mechanism": str(release["mechanism"]),
            **({"noise": release.get("noise", "laplace")} if now.terms.delta else {}),
            "ε": above(release["epsilon"]),
            "together": "" if release["spent"] is None else above(float(release["spent"]), 4),
            **({"check": (release["check"] or NOT_CHECKED).removeprefix("checked, ")} if checked else {}),
            "outcome": "released" if release["outcome"] == "released" else "unknown (counts)",
        }
        for release in reversed(releases)
    ]


def _question(release: Content) -> str:
    segment = release["segment"]
    about = "" if segment is None else f", values {segment[0]:,} to {segment[1]:,}"
    return f"{release['query'] or ''}{about}"


def _when(release: Content) -> str:
    return str(release["time"])[:16].replace("T", " ")


def _people(releases: Sequence[Content]) -> list[dict[str, str]]:
    """Who released how much: ε of own releases, added up, and when the last one was."""
    by_person: dict[str, list[Content]] = {}
    for release in releases:
        by_person.setdefault(str(release["who"]), []).append(release)
    return [
        {
            "who": who,
            "releases": f"{len(own):,}",
            "ε, added up": above(float(sum(Decimal(repr(float(release["epsilon"]))) for release in own))),
            "latest": _when(own[-1]),
        }
        for who, own in sorted(by_person.items(), key=lambda item: -len(item[1]))
    ]


def _facts(now: Statement) -> list[tuple[str, str]]:
    return [
        ("Without a δ", "" if now.room is None else _pure(now)),
        ("Composition", now.rule),
        ("Sealed", "with a key" if now.terms.key is not None else "no"),
        ("Data read as", "" if now.reading is None else str(now.reading)),
        ("Head", f"{now.rows[-1].number}:{now.head}"),
    ]


def _pure(now: Statement) -> str:
    return say("no-pure") if now.pure is None else say("pure", pure=now.pure)


def _verdicts(now: Statement) -> list[Verdict]:
    found = [] if now.mixed is None else [Verdict("mixed", "warning", {"how": now.mixed})]
    found += [
        Verdict(
            "accepted",
            "warning",
            {"row": row.number, "who": row.content.get("who"), "problems": "; ".join(row.content["problems"])},
        )
        for row in now.rows
        if row.kind == "accepted"
    ]
    return found if now.checked else [*found, Verdict("unsealed", "warning")]


def _spending(releases: Sequence[Content], budget: float) -> Chart:
    shown = "Privacy loss of all releases together, after each of them."
    if len(releases) > MOST_BARS:
        shown += f" The last {MOST_BARS} of {len(releases):,} are drawn."
    return picture("losses.spending_chart", releases, budget=budget, caption=shown, name="spending")


def _timeline(now: Statement, losses: Losses) -> Chart:
    reserved = [row for row in now.rows if row.kind == "reserved"]
    records = [record_of(row.content) for row in reserved]
    names = [f"row {row.number}" for row in reserved]
    return _along_time(losses, records, now.terms.budget, names=names, narrow=True)


def _along_time(
    losses: Losses,
    records: Sequence[ReleaseRecord],
    budget: float | None,
    *,
    names: Sequence[str] | None = None,
    narrow: bool = False,
) -> Chart:
    """The loss at each time, and the times that each release covers."""

    spans = [record.touched(losses.length) for record in records]
    segments = [(first, losses.length if last is None else last) for first, last in spans]
    shown = "Upper bound on the total privacy loss at each time of a series, and the times that each release covers."
    if len(records) > MOST_BARS:
        shown += f" The first {MOST_BARS} of {len(records):,} releases are drawn."
    look: dict[str, Any] = {"budget": budget, "names": names} | ({"width": NARROW} if narrow else {})
    return picture("losses.timeline_chart", losses, segments, **look, caption=shown, name="timeline")


# totals


def of_composed(
    composed: Composed,
    records: Sequence[ReleaseRecord] = (),
    *,
    budget: float | None = None,
    guarantee: str = "pufferfish",
    secrets: Secrets | None = None,
) -> View:
    """What releases tell together, rule by rule."""
    kind = "Pufferfish private" if guarantee == "pufferfish" else "Bayesian differentially private"
    about = "" if secrets is None or secrets.everything else f" about {secrets.text}"
    promised = f"({composed.epsilon:.6g}, {composed.delta:g})" if composed.delta else f"{composed.epsilon:.6g}"
    said = [say("together", promised=f"{promised}-{kind}", about=about, rule=composed.rule)]
    if composed.delta:
        pure = "no ε holds without a δ" if composed.pure is None else f"without a δ, ε = {composed.pure:.6g}"
        said.append(say("before-results", pure=pure))
    losses = composed.losses
    if losses is not None and composed.rule in ALONG_TIME:
        said.append(say("largest", when=times_of(*losses.worst), epsilon=losses.epsilon))
    rows = [{"rule": f.rule, "ε together": f.epsilon, "why": f.why or f.theorem} for f in composed.rules]
    weaker = f", δ = {composed.delta:g}" if composed.delta else ""
    charts = [] if losses is None else [_along_time(losses, records, budget)]
    return View(
        f"Total privacy loss ε = {composed.epsilon:.6g}{weaker}",
        f"{several(len(records), 'release')}, by {composed.rule}" if records else f"By {composed.rule}",
        [] if budget is None else [_against(budget, composed.epsilon)],
        [Sentences(said), *charts, Group("Result of each rule", [Table(rows, numbers=("ε together",))])],
    )


def _against(budget: float, epsilon: float) -> Verdict:
    if epsilon > budget:
        return Verdict("over-budget", "warning", {"budget": budget, "more": epsilon - budget})
    return Verdict("within-budget", "good", {"budget": budget, "left": budget - epsilon})


def of_losses(losses: Losses) -> View:
    """The privacy loss at each time."""
    worst = times_of(*losses.worst)
    title = f"Privacy loss along time: at most {losses.epsilon:.6g}, at {worst}"
    return View(title, blocks=[_along_time(losses, (), None)])


# exact losses


def of_audit(
    found: Audit, more: Sequence[str] = (), *, belief: Belief | None = None, curves: tuple[Any, Any, Any] | None = None
) -> View:
    """An exact loss: where it is largest, and the two laws of the output there if their ``curves`` are given."""

    first, *others = found.lines()
    names = None if belief is None or belief.variables is None else list(belief.variables)
    caption = f"The exact privacy loss for {'the value at each time' if names is None else 'each variable'}."
    charts = []
    if names is not None or (isinstance(found.node, int) and len(found.by_node) > 1):
        charts.append(picture("losses.loss_chart", found, names, caption=caption))
    if curves is not None:
        density = "The density of the output given each of the two values."
        charts.append(picture("losses.density_chart", *curves, found, caption=density))
    return View(first, blocks=[Sentences([*others, *more]), *charts])
