"""What is said of a release: what it would be before it is made, and its numbers with how far off they may be."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quiltwork.beliefs import Belief
from quiltwork.beliefs.checked import NOT_CHECKED, Checked, sentence_of, words_of
from quiltwork.beliefs.secrets import believed_after
from quiltwork.calibration.record import Calibration
from quiltwork.calibration.target import LARGE
from quiltwork.releases.answer import PartAnswer, plus_minus
from quiltwork.releases.prepared import Prepared
from quiltwork.releases.result import Release
from quiltwork.view.of_account import budget_words, left_of, share_of_budget
from quiltwork.view.of_plan import explained, meaning
from quiltwork.view.view import Bar, Block, Cards, Facts, Group, Sentences, Table, Verdict, View, picture
from quiltwork.view.words import above, amount, say, titled

Content = Mapping[str, Any]
NOISE_ONLY = "noise only: true number from .. to"
MOST_ROWS = 200  # of a table


def of_release(release: Release) -> View:
    """A release in short: its numbers, how far off they may be, what ε means, why, and what is left of the budget."""
    made, questions = release.calibration, release.questions or (release,)
    promised = f"ε = {made.epsilon:g}" + (f", δ = {made.delta:g}" if made.delta else "")
    promised = say("nothing-promised") if made.guarantee == "none" else promised
    means = [] if made.guarantee == "none" else [meaning(made, release.belief)]
    why = [line for line in explained(made, release.belief) if line not in means]
    answers = [answered(question, several=bool(release.questions), keep=True) for question in questions]
    return View(
        f"{_asked(question.calibration.query.text for question in questions)}, private",
        f"{promised} · belief {words_of(release.checked)} · {lead_of(release)}",
        [*verdicts_of(release), *map(_note, release.notes)],
        [
            cards_of(release),
            Group("", answers, name="answers"),
            Sentences(means, name="meaning"),
            Sentences(why, name="explained"),
            *_recorded(release),
        ],
    )


def _note(text: str) -> Verdict:
    return Verdict("noted", "warning" if say("noise-only") in text else "note", {"text": text})


def verdicts_of(release: Release) -> list[Verdict]:
    """What was found about the promise: whether there is one, and whether the belief was checked."""
    found = release.checked
    refuted = found is not None and found.outcome == "refuted"
    said = {"found": sentence_of(found)}
    belief = Verdict("belief-refuted", "warning", said) if refuted else Verdict("belief", "note", said)
    made = release.calibration
    weak = [Verdict("no-guarantee", "warning")] if made.guarantee == "none" else []
    if made.guarantee != "none" and made.epsilon > LARGE:
        weak = [Verdict("epsilon-large", "warning", {"epsilon": made.epsilon})]
    return [*weak, belief]


def lead_of(release: Release) -> str:
    """What it is about, and by which mechanism."""
    made = release.calibration
    source = "" if release.about is None or release.about.source is None else f" from {release.about.source}"
    scales = [scale for _, scale in made.scales] if release.questions else [release.noise_scale]
    noise = ", ".join(f"{scale:,.6g}" for scale in scales)
    return (
        f"{release.subjects:,} {release.belief.noun}, {release.values:,} values{source}. Mechanism {made.mechanism}, "
        f"{made.noise_words} {noise} on each number."
    )


def cards_of(release: Release) -> Cards:
    """The numbers that matter most of a release."""
    questions = release.questions or (release,)
    return Cards(
        cards(
            release.calibration,
            plus_minus(max(question.error() for question in questions)),
            several=bool(release.questions),
            checked=release.checked,
            belief=release.belief,
            poor=any(answer.pure_noise for question in questions for answer in question.answers),
            left=None if release.ledger is None else left_of(release.ledger),
        ),
        name="cards",
    )


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


def answered(question: Release, *, several: bool, keep: bool = False) -> Group:
    """The numbers of one question with their picture and their accuracy, under a title if there are several."""
    rows, single = table_of(question), not question.parts and not question.answers[0].pure_noise
    numbers = Table(
        rows,
        numbers=[name for name in list(rows[0])[1:] if name.strip()],
        most=MOST_ROWS,
        bars=question.answers[0].best if single else (),
        name="table",
    )
    chart = picture("releases.release_chart", question, caption=caption(question), narrow=True, name="chart")
    said = Sentences([*told(question), *accuracy(question)], name="said")
    notes = Sentences(remarks(question, keep=keep), "note", name="remarks")
    blocks: list[Block] = [chart, said, numbers, notes] if question.parts else [chart, numbers, said, notes]
    title = titled(question.calibration.query.text) if several else ""
    return Group(title, blocks, "below" if question.parts else "beside")


def caption(release: Release) -> str:
    """What the picture of a release shows."""
    if all(answer.pure_noise for answer in release.answers):
        return "Noise only. Grey: the range of each true value with probability 95 %. Nothing else can be read off."
    shown = "Released values"
    poor = " Grey: noise only." if any(answer.pure_noise for answer in release.answers) else ""
    if release.answers[0].consistent is not None:
        shown = "Released values, made consistent with what is public"
    if len(release.answers[0].question.labels[0]) == 2:
        return f"{shown}: how often the state on the left is directly followed by the one below."
    if not release.parts:
        return f"{shown}. Lines: the range of the true values, all at once with probability 95 % (error of the noise)."
    return (
        f"{shown}. Shaded or with lines: the range of each true value with probability 95 % (error of the noise).{poor}"
    )


def told(release: Release) -> list[str]:
    """What was asked for, if it follows from the numbers of a single answer."""
    answer = release.answers[0]
    return [] if release.parts or answer.told is None else [say("follows", query=answer.query.text, told=answer.told)]


def accuracy(release: Release) -> list[str]:
    """How far off the noise may be."""
    error, everyone = release.error(), release.error(simultaneous=True)
    lines = [say("accuracy", error=plus_minus(error))]
    if everyone > error:
        count = len(release.numbers)
        lines = [say("accuracy-all", error=plus_minus(error), count=count, everyone=plus_minus(everyone))]
    if any(answer.pure_noise for answer in release.answers):
        lines.append(say("as-much-noise"))
    if release.divisor > 1:
        by = f"the {release.divisor:,} values"
        if release.parts:
            by = f"the values of each part ({release.divisor:,} or more)"
        if release.belief.real and release.divisor != min(answer.values for answer in release.answers):
            by = f"{release.divisor:,}" + (" or more" if release.parts else "")
        size = "standard deviation" if release.calibration.noise == "gaussian" else "scale"
        most = "at most " if release.parts else ""
        lines.append(say("divided", by=by, size=size, most=most, scale=release.noise_scale))
    return lines


def explain(release: Release) -> list[str]:
    """Accuracy and the reason for the noise, a line each."""
    if release.questions:
        lines = release.by_question(lambda question: [*told(question), *accuracy(question)])
        said = [
            " ".join(line if len(line) > 1 and line[0].startswith(f"{text}: ") else [f"{text}:", *line])
            for text, line in lines.items()
        ]
    else:
        said = [*told(release), *accuracy(release)]
    believed = say("belief", found=sentence_of(release.checked))
    return [*said, *explained(release.calibration, release.belief), believed, *release.notes]


def table_of(release: Release) -> list[dict[str, str]]:
    """A row for each number, or for each window or subject if there are some."""
    return _by_part(release.parts) if release.parts else _by_number(release)


def _by_number(release: Release) -> list[dict[str, str]]:
    answer = release.answers[0]
    error = answer.error()
    rows = [
        {answer.query.text: label, NOISE_ONLY if answer.pure_noise else "released": answer.with_error(number, error)}
        for label, number in zip(answer.labels, answer.numbers, strict=True)
    ]
    if answer.consistent is not None and not answer.pure_noise:
        for row, number in zip(rows, answer.consistent, strict=True):
            row["consistent"] = answer.rounded(number)
    return rows


def _by_part(parts: Sequence[PartAnswer]) -> list[dict[str, str]]:
    rows, any_poor = [], any(part.pure_noise for part in parts)
    derives = any(part.told is not None for part in parts)
    for part in parts:
        names = (part.query.text,) if len(part.numbers) == 1 else part.labels
        follows = say("noise-only") if derives and part.told is None else part.told
        row = {"": part.name} | ({} if follows is None else {part.query.text: follows})
        shown = map(part.range_of, part.numbers) if part.pure_noise else map(part.rounded, part.possible)
        row |= dict(zip(names, shown, strict=True))
        row |= {"±95 %": plus_minus(part.error()), "values": f"{part.values:,}"}
        rows.append(row | ({" ": say("noise-only") if part.pure_noise else ""} if any_poor else {}))
    return rows


def remarks(release: Release, *, keep: bool = False) -> list[str]:
    """What the columns are, and how to keep all digits."""
    answer, said = release.answers[0], []
    if any(one.pure_noise for one in release.answers):
        said.append(say("noise-only-ranges"))
    if answer.consistent is not None and release.parts:
        said.append(say("cut-off"))
    elif answer.consistent is not None and not answer.pure_noise:
        public = "none below or above what is possible"
        if answer.limits is not None and answer.limits.total is not None:
            public = f"none below 0, all together {answer.limits.total:,g}"
        said.append(say("consistent", public=public))
    return [*said, say("keep")] if release.parts and keep else said


def _recorded(release: Release) -> list[Block]:
    """Where its spending is written down, and what is left."""
    ledger = release.ledger
    if ledger is None:
        return []
    allowed, but_for = believed_after(ledger["budget"], ledger.get("delta", 0.0))
    about = "" if "secrets" not in ledger else f" (secrets {ledger['secrets']})"
    row = {name: ledger[name] for name in ("row", "address", "hash")}
    said = [say("recorded", **row), say("whole-budget", allowed=allowed, but_for=but_for, about=about)]
    said += [say("mixed-now", how=ledger["mixed"])] if "mixed" in ledger else []
    facts = [("Composition", str(ledger["rule"]))]
    bar = Bar([share_of_budget(ledger)], budget_words(ledger), name="bar")
    return [Group("Budget", [bar, Facts(facts, name="facts"), Sentences(said, name="said")], name="recorded")]


def of_preview(prepared: Prepared, expected: Sequence[Content], ledger: Content | None) -> View:
    """What a release would cost and how precise it would be. ``expected`` is ``prepared.expected(..)``."""
    made, (subjects, values) = prepared.calibration, prepared.sizes
    least = max(expected, key=lambda question: float(question["error_95"]))
    shown = cards(
        made,
        plus_minus(least["error_95"]),
        several=len(expected) > 1,
        checked=prepared.request.checked,
        belief=prepared.belief,
        left=None if ledger is None else left_of(_after(ledger)),
    )
    rows = [
        {
            "question": question["query"],
            "± (95 %)": plus_minus(question["error_95"]),
            "noise scale": amount(question["noise_scale"], 4),
            "answers": f"{question['answers']:,}",
        }
        for question in expected
    ]
    action = "Release without a budget" if ledger is None else f"Release, and spend ε = {_cost(ledger)}"
    return View(
        _asked(question["query"] for question in expected),
        f"{subjects:,} {prepared.belief.noun}, {values:,} values. Mechanism {made.mechanism}.",
        blocks=[
            Cards(shown, name="cards"),
            *([] if ledger is None else [_budget(ledger)]),
            Table(rows, numbers=("± (95 %)", "noise scale", "answers"), name="questions"),
            Sentences([meaning(made, prepared.belief)], name="meaning"),
            Sentences([action], name="action"),
        ],
    )


def _cost(ledger: Content) -> str:
    """What a release adds to what all releases tell together."""
    return above(max(0.0, ledger["spent_after"] - ledger["spent"]), 4)


def _after(ledger: Content) -> Content:
    """A ledger as it would be after a release."""
    used = {"used": ledger["used_after"]} if "used_after" in ledger else {}
    return {**ledger, "spent": ledger["spent_after"], **used}


def _budget(ledger: Content) -> Group:
    """What is spent, would be spent, and would be left: in words, and as shares of the budget."""
    budget, spent, (left, _) = float(ledger["budget"]), float(ledger["spent"]), left_of(_after(ledger))
    before, after = share_of_budget(ledger), share_of_budget(_after(ledger))
    text = say("would-spend", spent=above(spent, 4), budget=budget, cost=_cost(ledger), left=left)
    facts = [
        ("Spent before", f"{above(spent, 4)} of {budget:g}"),
        ("This release", _cost(ledger)),
        ("Remains", left),
        ("Composition", str(ledger["rule"])),
        ("Ledger", str(ledger["address"])),
    ]
    bar = Bar([before, max(0.0, after - before)], text, name="bar")
    return Group("Budget", [bar, Facts(facts, name="facts")], name="budget")


def _asked(texts: Iterable[str]) -> str:
    return ", ".join(titled(text) for text in texts)
