"""What a page on a screen shows of a release, before and after it is made, and of a ledger.

Text, tables and charts (Vega-Lite) as plain values: the page puts them in place and computes nothing. Privacy losses
are rounded up, and what is left of a budget is rounded down.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from quiltwork.beliefs import Belief
from quiltwork.beliefs.checked import NOT_CHECKED, Checked
from quiltwork.beliefs.secrets import believed_after
from quiltwork.beliefs.unknown_member import unknown_member
from quiltwork.calibration.record import Calibration
from quiltwork.influence.curve.timeline import Losses
from quiltwork.ledger.rows import record_of
from quiltwork.ledger.terms import Statement
from quiltwork.releases.answer import plus_minus
from quiltwork.releases.prepared import Prepared
from quiltwork.releases.result import Release
from quiltwork.show.answers import caption, release_chart
from quiltwork.show.losses import MOST_BARS, spending_chart, timeline_chart
from quiltwork.show.numbers import above, below, budget_words, remarks, share_of_budget, table_of
from quiltwork.show.reasons import capital, titled
from quiltwork.show.style import NARROW, Chart, narrow, to_spec

MOST_ROWS = 200  # of a table on a screen
MOST_RELEASES = 500  # of a ledger, the latest
Content = dict[str, Any]


def cards(
    calibration: Calibration,
    error: str,
    *,
    several: bool,
    checked: Checked | None,
    belief: Belief | None = None,
    poor: bool = False,
    left: tuple[str, str] | None = None,
) -> list[tuple[str, str]]:
    """The numbers that matter most, each with what it is, and whether the belief was checked.

    ``left`` is what remains of a budget, if there is one.
    """
    if calibration.guarantee == "none":
        shown = [("none", "guarantee: this is not private")]
    else:
        up_to = f", up to δ = {calibration.delta:g}" if calibration.delta else ""
        known = "" if belief is None or len(belief.members) == 1 else ", for those who know the member of the set"
        shown = [(f"ε = {calibration.epsilon:g}", f"privacy loss for any one secret, at most{up_to}{known}")]
        after, but_for = believed_after(calibration.epsilon, calibration.delta)
        shown.append((f"50 → {after}", f"what a 50 % likely secret may become{but_for}"))
        shown.append(
            (NOT_CHECKED, "belief") if checked is None else (checked.outcome, "belief, checked on public data")
        )
    least = "the least precise number" if several else "each number"
    only = "noise only: " if poor else ""
    shown.append((f"± {error}", f"{only}noise on {least}, with probability 95 %"))
    return shown if left is None else [*shown, left]


def left_of(ledger: Mapping[str, Any]) -> tuple[str, str]:
    """What remains of a budget: an amount of ε, or with a δ a share of the room.

    >>> left_of({"spent": 0.5, "budget": 2.0}), left_of({"spent": 0.5, "budget": 2.0, "used": 0.25, "delta": 1e-6})
    (('1.5', 'left of the budget of 2'), ('75 %', 'left of the budget of ε = 2, δ = 1e-06'))
    """
    budget = float(ledger["budget"])
    if not ledger.get("delta"):
        return below(max(0.0, budget - float(ledger["spent"])), 4), f"left of the budget of {budget:g}"
    left = math.floor(1000 * (1 - share_of_budget(ledger))) / 10
    return f"{left:g} %", f"left of the budget of ε = {budget:g}, δ = {ledger['delta']:g}"


def amount(number: float, digits: int = 3) -> str:
    """A number in a few digits, rounded up, with thousands set apart.

    >>> amount(1234.5), amount(0.01234), amount(7.0)
    ('1,240', '0.0124', '7')
    """
    return f"{Decimal(above(number, digits)):,f}"


def preview_on_screen(prepared: Prepared, expected: Sequence[Content], ledger: Content | None) -> Content:
    """What a release would cost and how precise it would be. ``expected`` is ``prepared.expected(..)``."""
    made, (subjects, values) = prepared.calibration, prepared.sizes
    least = max(expected, key=lambda question: float(question["error_95"]))
    left = None if ledger is None else left_of(_after(ledger))
    return {
        "title": _asked(question["query"] for question in expected),
        "lead": f"{subjects:,} {prepared.belief.noun}, {values:,} values. Mechanism {made.mechanism}.",
        "cards": cards(
            made,
            plus_minus(least["error_95"]),
            several=len(expected) > 1,
            checked=prepared.request.checked,
            belief=prepared.belief,
            left=left,
        ),
        "meaning": made.meaning(prepared.belief),
        "questions": _table(
            [
                {
                    "question": question["query"],
                    "± (95 %)": plus_minus(question["error_95"]),
                    "noise scale": amount(question["noise_scale"], 4),
                    "answers": f"{question['answers']:,}",
                }
                for question in expected
            ]
        ),
        "budget": None if ledger is None else _budget(ledger),
        "action": "Release without a budget" if ledger is None else f"Release, and spend ε = {_cost(ledger)}",
    }


def _cost(ledger: Content) -> str:
    """What a release adds to what all releases tell together."""
    return above(max(0.0, ledger["spent_after"] - ledger["spent"]), 4)


def _after(ledger: Content) -> Content:
    """A ledger as it would be after a release."""
    used = {"used": ledger["used_after"]} if "used_after" in ledger else {}
    return ledger | {"spent": ledger["spent_after"]} | used


def _budget(ledger: Content) -> Content:
    """What is spent, would be spent, and would be left: in words, and as shares of the budget."""
    budget, spent, (left, _) = float(ledger["budget"]), float(ledger["spent"]), left_of(_after(ledger))
    before, after = share_of_budget(ledger), share_of_budget(_after(ledger))
    return {
        "text": f"{above(spent, 4)} of {budget:g} is spent. This release adds {_cost(ledger)}, and {left} remains.",
        "shares": [before, max(0.0, after - before)],
        "facts": [
            ("Spent before", f"{above(spent, 4)} of {budget:g}"),
            ("This release", _cost(ledger)),
            ("Remains", left),
            ("Composition", ledger["rule"]),
            ("Ledger", ledger["address"]),
        ],
    }


def release_on_screen(release: Release) -> Content:
    """The answers of a release with their pictures and tables, and what they cost."""
    made, ledger = release.calibration, release.ledger
    questions = release.questions or (release,)
    least = max(questions, key=lambda question: question.error())
    left = None if ledger is None else left_of(ledger)
    source = "" if release.about is None or release.about.source is None else f" from {release.about.source}"
    content: Content = {
        "title": _asked(question.calibration.query.text for question in questions),
        "lead": f"{release.subjects:,} {release.belief.noun}, {release.values:,} values{source}. "
        f"Mechanism {made.mechanism}.",
        "cards": cards(
            made,
            plus_minus(least.error()),
            several=bool(release.questions),
            checked=release.checked,
            belief=release.belief,
            poor=any(answer.pure_noise for question in questions for answer in question.answers),
            left=left,
        ),
        "answers": [_answer(question, bool(release.questions)) for question in questions],
        "meaning": made.meaning(release.belief),
        "explained": made.explain(release.belief).splitlines(),
        "notes": list(release.notes),
        "recorded": None,
    }
    if ledger is not None:
        content["recorded"] = {
            "text": _spent_of(ledger),
            "shares": [share_of_budget(ledger)],
            "facts": [
                ("Ledger", ledger["address"]),
                ("Row", f"{ledger['row']:,}"),
                ("Head", f"{ledger['row']}:{ledger['hash']}"),
                ("Composition", ledger["rule"]),
            ],
        }
    return content


def _answer(question: Release, several: bool) -> Content:
    rows = table_of(question)
    return {
        "title": titled(question.calibration.query.text) if several else None,
        "chart": picture(narrow(release_chart(question)), caption(question)),
        "table": _table(rows[:MOST_ROWS]),
        "more": f"… and {len(rows) - MOST_ROWS:,} more rows in the files." if len(rows) > MOST_ROWS else "",
        "said": [*question.told(), *question.accuracy()],
        "remarks": remarks(question, told=False),
        "parts": bool(question.parts),
    }


def picture(chart: Chart, said: str) -> Content:
    """A chart with what it shows."""
    return {"spec": to_spec(chart), "caption": said}


def statement_on_screen(now: Statement, losses: Losses | None) -> Content:
    """A ledger at one moment: what is left, what was spent when and by whom, and the loss along time."""
    budget, releases = now.terms.budget, now.releases()
    count, delta = len(releases), 0.0 if now.pure == now.spent else now.terms.delta
    after, but_for = believed_after(now.spent, delta) if count else believed_after(0.0)
    content: Content = {
        "ledger": now.name,
        "cards": [
            left_of(now.to_dict()),
            (above(now.spent, 4), "spent: privacy loss of all releases together, at most"),
            (f"50 → {after}", f"what a 50 % likely secret may have become{but_for}"),
            (f"{count:,}", f"release{'s' * (count != 1)}"),
        ],
        "budget": {"text": _spent_of(now.to_dict()), "shares": [share_of_budget(now.to_dict())]},
        "facts": _facts(now),
        "warnings": _warnings(now),
        "head": f"{now.rows[-1].number}:{now.head}",
        "people": _people(releases),
        "releases": _table([_spent(release) for release in reversed(releases[-MOST_RELEASES:])]),
        "more": f"The latest {MOST_RELEASES} of {count:,} releases." if count > MOST_RELEASES else "",
        "charts": [],
    }
    if releases:
        content["charts"].append(picture(spending_chart(releases, budget=budget), _of_spending(count)))
    if releases and losses is not None:
        content["charts"].append(picture(_timeline(now, losses), _of_losses(count)))
    return content


def _timeline(now: Statement, losses: Losses) -> Chart:
    reserved = [row for row in now.rows if row.kind == "reserved"]
    spans = [record_of(row.content).touched(losses.length) for row in reserved]
    segments = [(first, losses.length if last is None else last) for first, last in spans]
    names = [f"row {row.number}" for row in reserved]
    return timeline_chart(losses, segments, budget=now.terms.budget, names=names, width=NARROW)


def _of_spending(count: int) -> str:
    shown = "Privacy loss of all releases together, after each of them."
    return shown if count <= MOST_BARS else f"{shown} The last {MOST_BARS} of {count:,} are drawn."


def _of_losses(count: int) -> str:
    shown = "Upper bound on the total privacy loss at each time of a series, and the times that each release covers."
    return shown if count <= MOST_BARS else f"{shown} The first {MOST_BARS} of {count:,} releases are drawn."


def _spent_of(ledger: Mapping[str, Any]) -> str:
    if ledger.get("delta"):
        return f"{capital(budget_words(ledger))}."
    spent, budget = float(ledger["spent"]), float(ledger["budget"])
    return f"{above(spent, 4)} of {budget:g} is spent, {below(max(0.0, budget - spent), 4)} remains."


def belief_on_screen(belief: Belief) -> list[tuple[str, str]]:
    """What a belief is about, in a few lines."""
    states = [] if belief.real else [("States", ", ".join(belief.states))]
    step = [] if belief.step is None else [("Step", str(belief.step))]
    known = unknown_member(belief)
    promise = [] if known is None else [("Promise", known.sentence())]
    return [("Belief", repr(belief)), *states, *step, *promise, ("Fingerprint", belief.fingerprint[:16])]


def _facts(now: Statement) -> list[tuple[str, str]]:
    facts = [
        ("Ledger", now.name),
        ("Belief", repr(now.terms.belief)),
        ("Guarantee", now.terms.guarantee),
        ("Secret", now.terms.secrets.text),
        ("Composition", now.rule),
        ("Sealed", "with a key" if now.terms.key is not None else "no"),
    ]
    read = [] if now.reading is None else [("Data read as", str(now.reading))]
    return [*facts, *read]


def _warnings(now: Statement) -> list[str]:
    said = []
    if now.mixed is not None:
        said.append(f"Later read differently ({now.mixed}): every release counts as if it covered every moment.")
    said += [
        f"Row {row.number}: {row.content.get('who')} accepted that {'; '.join(row.content['problems'])}."
        for row in now.rows
        if row.kind == "accepted"
    ]
    if not now.checked:
        said.append("The rows are sealed with a key that is not here: they cannot be checked.")
    return said


def _people(releases: Sequence[Content]) -> Content:
    """Who released how much: ε of own releases, added up, and when the last one was."""
    by_person: dict[str, list[Content]] = {}
    for release in releases:
        by_person.setdefault(str(release["who"]), []).append(release)
    rows = [
        {
            "who": who,
            "releases": f"{len(own):,}",
            "ε, added up": above(float(sum(Decimal(repr(float(release["epsilon"]))) for release in own))),
            "latest": _when(own[-1]),
        }
        for who, own in sorted(by_person.items(), key=lambda item: -len(item[1]))
    ]
    return _table(rows)


def _spent(release: Content) -> dict[str, str]:
    segment = release["segment"]
    return {
        "row": str(release["row"]),
        "when": _when(release),
        "who": str(release["who"]),
        "question": ("" if release["query"] is None else str(release["query"]))
        + ("" if segment is None else f", values {segment[0]:,} to {segment[1]:,}"),
        "mechanism": str(release["mechanism"]),
        "ε": above(release["epsilon"]),
        "together": "" if release["spent"] is None else above(float(release["spent"]), 4),
        "outcome": "released" if release["outcome"] == "released" else "unknown (counts)",
    }


def _when(release: Mapping[str, Any]) -> str:
    return str(release["time"])[:16].replace("T", " ")


def _table(rows: Sequence[Mapping[str, str]]) -> Content:
    columns = list(rows[0]) if rows else []
    return {"columns": columns, "rows": [[row[name] for name in columns] for row in rows]}


def _asked(texts: Iterable[str]) -> str:
    return ", ".join(titled(text) for text in texts)
