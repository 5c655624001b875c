"""The report that a release leaves behind, fit to be signed: one HTML file that needs no network and no script.

A report shows noisy values, noise and reasons; never the data. Only a check of the belief shows data without noise,
and that is public data.
"""

import html
import shlex
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quiltwork import __version__
from quiltwork.beliefs.checked import Checked, sentence_of
from quiltwork.calibration.plan import Plan
from quiltwork.errors import CertificateError, ParameterError
from quiltwork.fitting.outcome import BeliefCheck
from quiltwork.releases.answer import plus_minus
from quiltwork.releases.result import Release
from quiltwork.show.answers import caption, release_chart
from quiltwork.show.assumptions import assumptions
from quiltwork.show.beliefs import about_belief
from quiltwork.show.charts import posterior_chart
from quiltwork.show.checks import other_lines
from quiltwork.show.fit import check_figures
from quiltwork.show.losses import noise_chart
from quiltwork.show.numbers import above, below, budget_words, remarks, share_of_budget, table_of
from quiltwork.show.page import code, facts, figure, items, paragraphs, table, write_page
from quiltwork.show.plots import drawn
from quiltwork.show.reasons import capital, cycle_figures, network_figures, refusals, titled
from quiltwork.show.repeat import address_name, python_code
from quiltwork.show.screen import cards, left_of
from quiltwork.show.style import narrow, to_svg

MOST_ROWS = 200  # of a table in a report
BESIDE = 36  # letters of a row of a table that has room beside a picture
NOT_CHECKED = "The belief was not checked against public data for this report. Whoever signs vouches for it."
HOW_TO_CHECK = " quiltwork belief check compares it with public data of the same kind."
OF_SERIES = (
    "The guarantee is about the value at any one time. It does not hide that somebody is in the data, how long their "
    "series is, or long-term habits. "
)
OF_RECORDS = (
    "The guarantee is about the value of any one variable of a record. It does not hide that a record is in the data, "
    "or what holds for people in general. "
)
NOT_PROMISED = (
    "It holds for the stated belief: if values are more strongly correlated than that, the protection is weaker. "
    "Further releases from the same data add to the privacy loss."
)
NOISE_ONLY = (
    "These limits cover the added noise only, not how well the data represents a larger population. A noisy count or "
    "share may be negative; setting it to 0 costs no privacy."
)
LESS = " That is less than was asked for, because the noise was chosen by a slightly coarser bound, and rounded up."
BUT_FOR = ", with a δ of e^(2ε) but for results with a probability of at most δ / (1 - e^-ε)"
SIGNED = (
    "Signed for the release described above: the belief and the assumptions are justified for these data, and the "
    "privacy loss is acceptable."
)

SIGNED_DESPITE = (
    "Signed for the release described above, made although public data refuted its belief: its privacy loss may be "
    "larger than ε, and is acceptable."
)

BEING_VERIFIED = "There is one. It is being verified, and its result will stand here."
INTERRUPTED = "NOT VERIFIED: there is one, but its verification was interrupted."
NOT_AGAIN = "There is one. It was not verified again for this report."


def write_report(
    path: str | Path,
    *,
    release: Release,
    plan: Plan | None = None,
    check: BeliefCheck | None = None,
    command: str | None = None,
    verify: bool = True,
) -> Path:
    """Write one self-contained HTML file about a release, fit to be signed.

    ``plan`` adds what other mechanisms would have needed, ``check`` how the belief fits public data, ``command`` the
    exact command that made the release; without it the report shows Python code. The certificate of the noise is
    verified once more, unless ``verify`` is False. That may take some seconds: the report is written before, and again
    with the result.
    """
    if check is not None and not isinstance(check, BeliefCheck):
        raise ParameterError("check must be a BeliefCheck", got=type(check).__name__, fix="check_belief(belief, data)")
    calibration = release.calibration
    if check is not None and release.checked is None:
        release = replace(release, checked=check.checked(release.belief))
    before = [
        *_heading(release),
        "<h2>Result</h2>",
        *(part for question in release.questions or (release,) for part in _answered(question, release)),
        f"<p class=note>{NOISE_ONLY}</p>",
        *_asked(release),
        *_meaning(release),
        *_belief(release, check),
        "<h2>Assumptions</h2>",
        "<p>The guarantee holds if all of these are true.</p>",
        items(assumptions(release)),
    ]
    after = [
        *_compared(plan),
        *_recorded(release),
        "<h2>What is not promised</h2>",
        f"<p>{OF_SERIES if release.belief.variables is None else OF_RECORDS}{NOT_PROMISED}</p>",
        *_repeat(release, command),
        _signatures(release),
    ]

    def write(certificate: str) -> Path:
        noise = _noise(release, certificate)
        return write_page(path, f"private {calibration.query.text}", [*before, *noise, *after])

    if calibration.certificate is None or not verify:
        return write(certified(release) if calibration.certificate is None else NOT_AGAIN)
    write(BEING_VERIFIED)
    found = INTERRUPTED  # whatever stops it
    try:
        found = certified(release)
    finally:
        write(found)
    return Path(path)


def _heading(release: Release) -> list[str]:
    """What this is, and the four numbers that matter most."""
    calibration, ledger = release.calibration, release.ledger
    data = "" if release.about is None or release.about.source is None else f" from {release.about.source}"
    lead = f"{release.subjects:,} {release.belief.noun}, {release.values:,} values{data}. {_made_by(release)}"
    least = max((release.questions or (release,)), key=lambda question: question.error())
    left = None if ledger is None else left_of(ledger)
    shown = cards(
        calibration,
        plus_minus(least.error()),
        several=bool(release.questions),
        checked=release.checked,
        belief=release.belief,
        poor=any(answer.pure_noise for question in release.questions or (release,) for answer in question.answers),
        left=left,
    )
    boxes = "".join(f"<div class=card><b>{html.escape(b)}</b><span>{html.escape(s)}</span></div>" for b, s in shown)
    return [
        "<p class=over>Privacy report</p>",
        f"<h1>{html.escape(titled(calibration.query.text))}, private</h1>",
        f"<p class=lead>{html.escape(lead)}</p>",
        f"<div class=cards>{boxes}</div>",
        *_believed(release.checked),
        *(
            ["<p class=warning><b>No guarantee.</b> This noise protects values only if they are independent.</p>"]
            if calibration.guarantee == "none"
            else []
        ),
    ]


def _believed(checked: Checked | None) -> list[str]:
    """Whether the belief was checked; a warning where public data refuted it."""
    if checked is None or checked.outcome != "refuted":
        return [f"<p><b>Belief:</b> {html.escape(sentence_of(checked))}</p>"]
    return [f"<p class=warning><b>Released despite its check.</b> {html.escape(checked.sentence)}</p>"]


def _made_by(release: Release) -> str:
    calibration = release.calibration
    scales = (
        ", ".join(f"{scale:,.6g}" for _, scale in calibration.scales)
        if release.questions
        else (f"{release.noise_scale:,.6g}")
    )
    return f"Mechanism {calibration.mechanism}, {calibration.noise_words} {scales} on each number."


def _answered(question: Release, release: Release) -> list[str]:
    """The numbers of one question, under a title of their own if there are several."""
    rows = table_of(question)
    title = [f"<h3>{html.escape(titled(question.calibration.query.text))}</h3>"] if release.questions else []
    picture = figure(to_svg(narrow(release_chart(question))), caption(question))
    numbers = table(rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        numbers += paragraphs(f"… and {len(rows) - MOST_ROWS:,} more, which --out FILE.csv writes down.")
    notes = "".join(f"<p class=note>{html.escape(line)}</p>" for line in remarks(question, told=False))
    said = paragraphs(*question.told(), *question.accuracy())
    if question.parts:
        return [*title, picture, said, numbers, notes]
    if _width(rows) <= BESIDE:
        return [*title, f"<div class=beside>{picture}{numbers}</div>", said, notes]
    return [*title, f"<div class=beside>{picture}<div>{said}{notes}</div></div>", numbers]


def _width(rows: list[dict[str, str]]) -> int:
    """The letters of the widest row of a table, with some room between columns."""
    return sum(max(len(name), *(len(row[name]) for row in rows)) + 2 for name in rows[0])


def _asked(release: Release) -> list[str]:
    """What was asked, and of what data."""
    about, record = release.about, release.recorded
    asked = [question.calibration.query.text for question in release.questions or (release,)]
    by = [f"one answer per {record.window}" if isinstance(record.window, str) else ""]
    by += [f"one answer per {record.window:,} values" if isinstance(record.window, int) else ""]
    by += ["one answer per subject" if any(part.subject for part in release.parts) else ""]
    values = {
        "Question": ", ".join(map(code, asked)) + "".join(f"; {part}" for part in by if part),
        "Data": "values in memory" if about is None else code(about.source) if about.source else "a table in memory",
        "Size": html.escape(_size(release)),
        "Part": "" if record.segment is None else f"values {record.segment[0]:,} to {record.segment[1]:,} of each",
    }
    if about is not None:
        values |= {
            "Period": "" if about.first is None else html.escape(f"{about.first} to {about.last}"),
            "Step": "" if about.step is None else html.escape(str(about.step)),
            "Read as": html.escape(str(about.reading)),
        }
    return ["<h2>What was asked, and of what data</h2>", facts(values)]


def _size(release: Release) -> str:
    rows = "" if release.about is None else f"{release.about.rows:,} rows; "
    one, several = ("one series", "people or series")
    if release.belief.variables is not None:
        one, several = ("one record", "records")
    return f"{rows}{one if release.subjects == 1 else f'{release.subjects:,} {several}'}, {release.values:,} values"


def _meaning(release: Release) -> list[str]:
    """What is secret, and what ε means: how far a probability may move, by this release and by the whole budget."""
    calibration, ledger = release.calibration, release.ledger
    if calibration.guarantee == "none":
        return []
    epsilons = _limits("this release", calibration.epsilon, calibration.delta)
    whose, delta = "this release", calibration.delta
    if ledger is not None:
        delta = max(delta, ledger.get("delta", 0.0))
        epsilons |= _limits("the whole budget", ledger["budget"], ledger.get("delta", 0.0))
        whose = "this release, or by all releases within the budget"
        if ledger.get("secrets", "all") != calibration.secrets.text:
            whose += f" (which is about {ledger.get('secrets', 'all')})"
    shown = (
        f"How far the probability of a secret can be moved by {whose}: odds change by a factor of at most e^ε"
        f"{BUT_FOR if delta else ''}. On the dashed line nothing is learned."
    )
    promise = next(line for line in calibration.explain(release.belief).splitlines() if line.startswith("Guarantee"))
    words = paragraphs(
        f"Secret: {calibration.secret}.",
        f"Not secret: {calibration.not_secret}.",
        promise,
        *calibration.of_set(release.belief),
        calibration.meaning(release.belief),
    )
    picture = figure(to_svg(posterior_chart(epsilons)), shown)
    return ["<h2>What is secret, and what ε means</h2>", f"<div class=beside>{picture}<div>{words}</div></div>"]


def _limits(whose: str, epsilon: float, delta: float) -> dict[str, float]:
    """How far log odds may move, by name; with a δ, but for unlikely results."""
    return (
        {f"{whose} (ε = {epsilon:g}, δ = {delta:g})": 2 * epsilon} if delta else {f"{whose} (ε = {epsilon:g})": epsilon}
    )


def _belief(release: Release, check: BeliefCheck | None) -> list[str]:
    """What an adversary may believe: in a line, as pictures, and whether public data agree."""
    belief = release.belief
    states = "" if belief.real else html.escape(", ".join(belief.states))
    said = {
        "Belief": html.escape(repr(belief)),
        "States": states,
        "Step": "" if belief.step is None else html.escape(str(belief.step)),
        "Fingerprint": code(belief.fingerprint),
    }
    sections = ["<h2>What an adversary may believe</h2>", facts(said), *(about_belief(belief) or _picture(release))]
    if check is None and release.checked is not None:
        return [*sections, f"<p>{html.escape(release.checked.sentence)}</p>"]
    if check is None:
        return [*sections, f"<p>{NOT_CHECKED}{HOW_TO_CHECK * (belief.variables is None)}</p>"]
    against = f"{check.subjects:,} series, {check.values:,} values of public data"
    return [
        *sections,
        "<h3>Checked against public data</h3>",
        f"<p class=lead>{against}</p>",
        paragraphs(check.verdict, check.remedy, *other_lines(check), *check.notes),
        *check_figures(check, belief),
        "<p class=note>These pictures show the public data without noise.</p>",
    ]


def _picture(release: Release) -> list[str]:
    try:
        return [figure(to_svg(drawn(release.belief)), "What the belief says.")]
    except ParameterError:
        return []


def _noise(release: Release, certificate: str) -> list[str]:
    """The mechanism, its theorem and reason, and what is said of its certificate."""
    calibration = release.calibration
    first = calibration.explain(release.belief).splitlines()[0]
    said = {
        "Mechanism": html.escape(first),
        "Why": html.escape(capital(calibration.reason.sentence())),
        "Theorem": html.escape(capital(calibration.theorem)),
        "Certificate": html.escape(certificate),
    }
    along = [] if calibration.steps is None else [calibration.along_time()]
    return [
        "<h2>Why this much noise</h2>",
        facts(said),
        paragraphs(*along, *(note for note in release.notes if note not in assumptions(release))),
        *cycle_figures(release.belief, calibration),
        *network_figures(release.belief, calibration),
    ]


def certified(release: Release) -> str:
    """What the certificate of a release's noise proves, as checked now; or that there is none, and why.

    >>> from quiltwork import MarkovChain, release
    >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    >>> certified(release(["0", "1"] * 50, "count:1", belief=coin, epsilon=1.0, mechanism="group", anyway=True))
    'None: only noise by the influence curve has one, and this is by group.'
    """
    calibration = release.calibration
    if calibration.certificate is None:
        return f"None: {calibration.why_uncertified(release.belief)}."
    begun = time.perf_counter()
    try:
        proved = calibration.verify(release.belief)
    except CertificateError as problem:
        return f"NOT VERIFIED: {problem}"
    seconds = time.perf_counter() - begun
    up_to = f", up to δ = {calibration.delta:g} (by Statement 78)" if calibration.delta else ""
    return (
        f"Verified by interval arithmetic when this report was written, in {max(seconds, 0.01):.2g} s: this noise "
        f"keeps the privacy loss at or below {above(proved)}{up_to}."
        f"{LESS if proved < 0.999 * calibration.epsilon else ''}"
    )


def _compared(plan: Plan | None) -> list[str]:
    if plan is None:
        return []
    return [
        "<h2>What other mechanisms would add</h2>",
        figure(to_svg(narrow(noise_chart(plan))), "Noise scale on each number, by mechanism."),
        refusals(plan.offers),
    ]


def _recorded(release: Release) -> list[str]:
    """Where its spending is written down, and the head by which a reader can check that."""
    ledger, title = release.ledger, "<h2>Budget and ledger</h2>"
    if ledger is None:
        return [title, "<p>No ledger: nobody counts what this release and others from the same data tell together.</p>"]
    address, head = address_name(str(ledger["address"])), f"{ledger['row']}:{ledger['hash']}"
    if address == "sqlite://":
        address = "the session's own, in memory"
    spent, budget = ledger["spent"], ledger["budget"]
    share = 100 * share_of_budget(ledger)
    said = {
        "Ledger": code(address),
        "Row": f"{ledger['row']:,}",
        "Head": code(head),
        "Asked": f"ε = {release.calibration.epsilon:g}",
        "Charged": html.escape(charged_words(ledger, release.calibration.epsilon) if "charged" in ledger else ""),
        "Spent so far": f"{above(spent)} of {budget:g}, by {html.escape(str(ledger['rule']))}",
        **({"Budget": capital(budget_words(ledger))} if ledger.get("delta") else {"Left": below(ledger["remaining"])}),
    }
    verify = f"quiltwork ledger verify {shlex.quote(address)} --head {head}"
    checked = (
        "<div class=together><p>This fails if the release is missing from the ledger, or if anything before it was "
        f"changed:</p><pre>{html.escape(verify)}</pre></div>"
    )
    bar = f'<div class=bar><i style="width: {share:.1f}%"></i></div>'
    return [title, bar, facts(said), *([checked] if "://" in address else [])]


def charged_words(ledger: Mapping[str, Any], asked: float) -> str:
    """What a release was charged, and why that is not what was asked for, if it is not.

    >>> charged_words({"charged": 0.5}, 0.5), charged_words({"charged": 0.493}, 0.5)
    ('0.5', '0.493: less than was asked. Added up moment by moment, it costs less than the bound that it was chosen by')
    """
    charged = float(ledger["charged"])
    if ledger.get("delta"):
        return f"{above(charged)} of ε; with a δ it is the room for squares that adds up"
    if charged < 0.999 * asked:
        return (
            f"{above(charged)}: less than was asked. Added up moment by moment, it costs less than the bound that it "
            "was chosen by"
        )
    if charged > 1.001 * asked:
        return f"{above(charged)}: more than was asked, because it tells more together with earlier releases"
    return above(charged)


def _repeat(release: Release, command: str | None) -> list[str]:
    """How to make the same release again."""
    return [
        "<div class=together><h2>How to repeat it</h2>",
        f"<pre>{html.escape(command or python_code(release))}</pre>",
        "<p class=note>Repeating it draws fresh noise and adds to the privacy loss.</p></div>",
    ]


def _signatures(release: Release) -> str:
    """Room to sign, with what is signed for."""
    ledger = release.ledger
    refuted = release.checked is not None and release.checked.outcome == "refuted"
    head = "" if ledger is None else f" · ledger row {ledger['row']}, {str(ledger['hash'])[:16]}"
    roles = ("Responsible for the data", "Responsible for privacy")
    weaker = f", δ = {release.calibration.delta:g}" if release.calibration.delta else ""
    lines = [line for role in roles for line in (f"{role}: name", "Place, date, signature")]
    room = "".join(f"<span>{line}</span>" for line in lines)
    return (
        f"<div class=together><h2>Signatures</h2><p>{SIGNED_DESPITE if refuted else SIGNED}</p>"
        f"<p><b>Belief:</b> {html.escape(sentence_of(release.checked))}</p><div class=sign>{room}</div>"
        f"<p class=note>{html.escape(titled(release.calibration.query.text))}, "
        f"ε = {release.calibration.epsilon:g}{weaker} · belief {release.belief.fingerprint[:16]}{head} · "
        f"quiltwork {__version__} · "
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC</p></div>"
    )
