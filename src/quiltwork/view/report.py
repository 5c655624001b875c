"""The report that a release leaves behind, fit to be signed.

It shows noisy values, noise and reasons; never the data. Only a check of the belief shows data without noise, and that
is public data.
"""

import shlex
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from quiltwork.beliefs import GaussianBelief
from quiltwork.beliefs.checked import sentence_of
from quiltwork.beliefs.dynamic import JOIN
from quiltwork.calibration.plan import Plan, plan as make_plan
from quiltwork.calibration.request import Request
from quiltwork.data.held import NO_STEP
from quiltwork.data.reading import About, source_name
from quiltwork.errors import CertificateError, ParameterError
from quiltwork.fitting import in_time
from quiltwork.fitting.outcome import BeliefCheck
from quiltwork.question import Query, Said
from quiltwork.releases.result import Release
from quiltwork.view.html import write_page
from quiltwork.view.of_account import budget_words, share_of_budget
from quiltwork.view.of_belief import about_belief, belief_figure, checked_blocks
from quiltwork.view.of_plan import (
    along_time,
    exception,
    figures,
    guarantee,
    meaning,
    noise_chart,
    noise_of,
    not_secret_of,
    of_set,
    reason_of,
    refusals,
    secret_of,
)
from quiltwork.view.of_release import answered, cards_of, lead_of, verdicts_of
from quiltwork.view.view import Bar, Block, Code, Facts, Group, Sentences, Signature, View, picture
from quiltwork.view.words import above, below, capital, say, titled

IN_MEMORY = "sqlite://"  # the address of a ledger that is forgotten with its session
LONGEST = 88
TRUSTED = "was taken on trust."  # how a note about the step ends
BUT_FOR = ", with a δ of e^(2ε) but for results with a probability of at most δ / (1 - e^-ε)"

GAPS = {
    None: "The series have no gaps: each value follows directly on the one before it.",
    "dependent": "The series have gaps, or times that are not evenly spaced. Values before and after a gap may depend "
    "on each other, and the noise covers that.",
    "independent": "The series have gaps. It was declared that nothing is remembered across a gap; if that is wrong, "
    "the protection is weaker than stated.",
    "late": "Some series begin later than others. The noise covers that it is not known which times their values have.",
}
STARTS = {
    "any": "Nothing is assumed about how a series begins: the noise covers every start.",
    "stationary": "The first value of each series has the long-run law of the belief: when recording began does not "
    "depend on the values.",
    "given": "The first value of each series has the law that the belief states for it.",
}


def write_with_others(
    path: Path, *, release: Release, request: Request, check: BeliefCheck | None = None, command: str | None = None
) -> None:
    """Write the report; the other mechanisms are planned for the same answer, without the data."""
    made = release.calibration
    beside = make_plan(
        request.query,
        belief=release.belief,
        epsilon=made.epsilon,
        length=made.length,
        values=_values_behind(release),
        window=request.window,
        guarantee="bayesian" if made.guarantee == "bayesian" else "pufferfish",
        secrets=made.secrets,
        quilt_size=request.quilt_size,
    )
    write_report(path, release=release, plan=beside, check=check, command=command)


def _values_behind(release: Release) -> int:
    """How many values the answer is about, of the smallest part if there are several."""
    if release.belief.real:
        return min((part.values for part in release.parts), default=release.values)
    return release.divisor if release.divisor > 1 and release.calibration.steps is None else release.values


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
    if check is not None and release.checked is None:
        release = replace(release, checked=check.checked(release.belief))

    def write(certificate: str) -> Path:
        shown = report_of(release, certificate, plan=plan, check=check, command=command)
        return write_page(path, f"private {release.calibration.query.text}", shown)

    if release.calibration.certificate is None or not verify:
        return write(certified(release) if release.calibration.certificate is None else say("certificate-there"))
    write(say("certificate-waits"))
    found = say("certificate-stopped")  # whatever stops it
    try:
        found = certified(release)
    finally:
        write(found)
    return Path(path)


def report_of(
    release: Release,
    certificate: str,
    *,
    plan: Plan | None = None,
    check: BeliefCheck | None = None,
    command: str | None = None,
) -> View:
    """All that is signed for; ``certificate`` is what is said of the certificate of the noise."""
    questions = [answered(question, several=bool(release.questions)) for question in release.questions or (release,)]
    promised = "promised-series" if release.belief.variables is None else "promised-records"
    others: list[Block] = []
    if plan is not None:
        others = [
            Group("What other mechanisms would add", [noise_chart(plan, narrow=True), Sentences(refusals(plan.offers))])
        ]
    return View(
        f"{titled(release.calibration.query.text)}, private",
        lead_of(release),
        verdicts_of(release),
        [
            cards_of(release),
            Group("Result", [*questions, Sentences([say("noise-limits")], "note")]),
            Group("What was asked, and of what data", [_asked(release)]),
            *_meaning(release),
            Group("What an adversary may believe", _belief(release, check)),
            Group("Assumptions", [Sentences([say("assumed")]), Sentences(assumptions(release), "list")]),
            Group("Why this much noise", _noise(release, certificate)),
            *others,
            Group("Budget and ledger", _recorded(release)),
            Group("What is not promised", [Sentences([f"{say(promised)} {say('not-promised')}"])]),
            Group(
                "How to repeat it",
                [Code(command or python_code(release)), *_as_job(release), Sentences([say("again")], "note")],
                "together",
            ),
            _signatures(release),
        ],
        over="Privacy report",
    )


def _asked(release: Release) -> Facts:
    """What was asked, and of what data."""
    about, record = release.about, release.recorded
    asked = ", ".join(question.calibration.query.text for question in release.questions or (release,))
    by = [f"one answer per {record.window}" if isinstance(record.window, str) else ""]
    by += [f"one answer per {record.window:,} values" if isinstance(record.window, int) else ""]
    by += ["one answer per subject" if any(part.subject for part in release.parts) else ""]
    several = "; ".join(part for part in by if part)
    data: str | Code = "values in memory"
    if about is not None:
        data = Code(about.source) if about.source else "a table in memory"
    facts: list[tuple[str, str | Code]] = [
        ("Question", Code(asked)),
        ("Answers", several),
        ("Data", data),
        ("Size", _size(release)),
        ("Part", "" if record.segment is None else f"values {record.segment[0]:,} to {record.segment[1]:,} of each"),
    ]
    if about is not None:
        facts += [
            ("Period", "" if about.first is None else f"{about.first} to {about.last}"),
            ("Step", "" if about.step is None else str(about.step)),
            ("Read as", str(about.reading)),
        ]
    return Facts(facts)


def _size(release: Release) -> str:
    rows = "" if release.about is None else f"{release.about.rows:,} rows; "
    one, several = ("one series", "people or series")
    if release.belief.variables is not None:
        one, several = ("one record", "records")
    return f"{rows}{one if release.subjects == 1 else f'{release.subjects:,} {several}'}, {release.values:,} values"


def _meaning(release: Release) -> list[Block]:
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
    said = [
        say("secret", secret=secret_of(calibration)),
        say("not-secret", not_secret=not_secret_of(calibration)),
        guarantee(calibration),
        *of_set(calibration, release.belief),
        meaning(calibration, release.belief),
    ]
    shown = picture(
        "losses.posterior_chart", epsilons, caption=say("how-far", whose=whose, but_for=BUT_FOR if delta else "")
    )
    return [Group("What is secret, and what ε means", [Group("", [shown, Sentences(said)], "beside")])]


def _limits(whose: str, epsilon: float, delta: float) -> dict[str, float]:
    """How far log odds may move, by name; with a δ, but for unlikely results."""
    if delta:
        return {f"{whose} (ε = {epsilon:g}, δ = {delta:g})": 2 * epsilon}
    return {f"{whose} (ε = {epsilon:g})": epsilon}


def _belief(release: Release, check: BeliefCheck | None) -> list[Block]:
    """What an adversary may believe: in a line, as pictures, and whether public data agree."""
    belief = release.belief
    facts: list[tuple[str, str | Code]] = [
        ("Belief", repr(belief)),
        ("States", "" if belief.real else ", ".join(belief.states)),
        ("Step", "" if belief.step is None else str(belief.step)),
        ("Fingerprint", Code(belief.fingerprint)),
    ]
    about = [block for block in about_belief(belief) if not isinstance(block, Sentences) or block.texts]
    shown: list[Block] = [Facts(facts), *(about or [belief_figure(belief)])]
    if check is None and release.checked is not None:
        return [*shown, Sentences([release.checked.sentence])]
    if check is None:
        how = f" {say('how-to-check')}" if belief.variables is None else ""
        return [*shown, Sentences([f"{say('unchecked')}{how}"])]
    against = Sentences([f"{check.subjects:,} series, {check.values:,} values of public data"], "note")
    found = [against, *checked_blocks(check, belief), Sentences([say("still-checked")], "note")]
    return [*shown, Group("Checked against public data", found)]


def _noise(release: Release, certificate: str) -> list[Block]:
    """The mechanism, its theorem and reason, and what is said of its certificate."""
    calibration = release.calibration
    facts = [
        ("Mechanism", noise_of(calibration)),
        ("Why", capital(reason_of(calibration))),
        ("Theorem", capital(calibration.theorem)),
        ("Certificate", certificate),
    ]
    assumed = assumptions(release)
    notes = [note for note in release.notes if note not in assumed]
    return [Facts(facts), Sentences([*along_time(calibration), *notes]), *figures(release.belief, calibration)]


def certified(release: Release) -> str:
    """What the certificate of a release's noise proves, as checked now; or that there is none, and why.

    >>> from quiltwork import MarkovChain, release
    >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    >>> certified(release(["0", "1"] * 50, "count:1", belief=coin, epsilon=1.0, mechanism="group", anyway=True))
    'None: only noise by the influence curve has one, and this is by group.'
    """
    calibration = release.calibration
    if calibration.certificate is None:
        return say("certificate-none", why=calibration.why_uncertified(release.belief))
    begun = time.perf_counter()
    try:
        proved = calibration.verify(release.belief)
    except CertificateError as problem:
        return say("certificate-fails", problem=problem)
    return say(
        "certificate-holds",
        seconds=max(time.perf_counter() - begun, 0.01),
        proved=above(proved),
        up_to=f", up to δ = {calibration.delta:g} (by Statement 78)" if calibration.delta else "",
        less=say("certificate-less") if proved < 0.999 * calibration.epsilon else "",
    )


def _recorded(release: Release) -> list[Block]:
    """Where its spending is written down, and the head by which a reader can check that."""
    ledger = release.ledger
    if ledger is None:
        return [Sentences([say("no-ledger")])]
    address, head = address_name(str(ledger["address"])), f"{ledger['row']}:{ledger['hash']}"
    if address == IN_MEMORY:
        address = "the session's own, in memory"
    asked = release.calibration.epsilon
    left = below(ledger["remaining"])
    facts: list[tuple[str, str | Code]] = [
        ("Ledger", Code(address)),
        ("Row", f"{ledger['row']:,}"),
        ("Head", Code(head)),
        ("Asked", f"ε = {asked:g}"),
        ("Charged", charged_words(ledger, asked) if "charged" in ledger else ""),
        ("Spent so far", f"{above(ledger['spent'])} of {ledger['budget']:g}, by {ledger['rule']}"),
        ("Budget", budget_words(ledger)) if ledger.get("delta") else ("Left", left),
    ]
    shown: list[Block] = [Bar([share_of_budget(ledger)], budget_words(ledger)), Facts(facts)]
    if "://" in address:
        verify = Code(f"quiltwork ledger verify {shlex.quote(address)} --head {head}")
        shown.append(Group("", [Sentences([say("verify-with")]), verify], "together"))
    return shown


def charged_words(ledger: Mapping[str, Any], asked: float) -> str:
    """What a release was charged, and why that is not what was asked for, if it is not.

    >>> charged_words({"charged": 0.5}, 0.5), charged_words({"charged": 0.493}, 0.5)
    ('0.5', '0.493: less than was asked. Added up moment by moment, it costs less than the bound that it was chosen by')
    """
    charged = float(ledger["charged"])
    code = "charged-less" if charged < 0.999 * asked else "charged-more" if charged > 1.001 * asked else "charged"
    return say("charged-delta" if ledger.get("delta") else code, charged=above(charged))


def _signatures(release: Release) -> Group:
    """Room to sign, with what is signed for."""
    ledger = release.ledger
    refuted = release.checked is not None and release.checked.outcome == "refuted"
    head = "" if ledger is None else f" · ledger row {ledger['row']}, {str(ledger['hash'])[:16]}"
    roles = ("Responsible for the data", "Responsible for privacy")
    weaker = f", δ = {release.calibration.delta:g}" if release.calibration.delta else ""
    mark = (
        f"{titled(release.calibration.query.text)}, ε = {release.calibration.epsilon:g}{weaker} · belief "
        f"{release.belief.fingerprint[:16]}{head}"
    )
    lines = [line for role in roles for line in (f"{role}: name", "Place, date, signature")]
    signed = [say("signed-despite" if refuted else "signed"), say("belief", found=sentence_of(release.checked))]
    return Group("Signatures", [Sentences(signed), Signature(lines, mark)], "together")


# what a release relies on: whoever signs for it signs for these


def assumptions(release: Release) -> list[str]:
    """The assumptions of a release, in full sentences."""
    belief, calibration = release.belief, release.calibration
    said = [*_people(release)]
    if belief.variables is None:
        said += [_step(release), *([] if belief.real else [STARTS[release.recorded.start or belief.start]])]
        said.append(GAPS[release.recorded.gaps])
    said += [_adversary(release), *_weaker(release)]
    if isinstance(belief, GaussianBelief) and calibration.guarantee != "none":
        said.append(say("gaussian"))
    return [*said, _public(release), _others(release)]


def _people(release: Release) -> list[str]:
    """Who is independent of whom, and what ties values together."""
    belief, reading = release.belief, release.recorded.reading
    if belief.variables is not None:
        within = "Values within a record depend on each other only as the belief says."
        if release.subjects == 1:
            return [f"There is a single record. {within}"]
        return [
            f"The {release.subjects:,} records are independent of one another. If they influence each other, this "
            "report does not cover what one record tells about another.",
            within,
        ]
    within = "Values of one series depend on each other at most as strongly as the belief says."
    if isinstance(belief, GaussianBelief) and belief.between is not None:
        return [f"The {release.subjects:,} series are correlated with each other as the belief says.", within]
    if release.subjects == 1:
        alone = "All values are one series of one person or thing."
        if reading is not None and reading.column is not None and reading.subject is None:
            alone += " No column tells people apart."
        return [alone, within]
    return [
        f"The {release.subjects:,} series belong to different people (or things), who are independent of one another. "
        "If they influence each other, as people of one household may, this report does not cover what one series "
        "tells about another.",
        within,
    ]


def _step(release: Release) -> str:
    step, about = release.belief.step, release.about
    trusted = [note for note in release.notes if note.endswith(TRUSTED)]
    if trusted:
        return trusted[0]
    if step is None:
        return NO_STEP
    if step.steps and (about is None or about.step is None):
        return "Each value is one step of the belief after the one before it."
    passes = f"From one value to the next, {in_time(1, step)} passes in the belief"
    return f"{passes}, as in the data. This was checked."


def _adversary(release: Release) -> str:
    calibration = release.calibration
    if calibration.guarantee == "none":
        return (
            "THERE IS NO GUARANTEE: this noise hides a single value only if values are independent of each other, "
            "which the belief does not say."
        )
    if calibration.bayesian:
        return "An adversary may know the belief, how the noise is made, and any other values of the data."
    same = "series" if release.belief.variables is None else "record"
    return (
        "What an adversary knows beforehand is what the belief says, and how the noise is made. One who already knows "
        f"other values of the same {same} for certain may learn more than ε about a value."
    )


def _weaker(release: Release) -> list[str]:
    return [exception(release.calibration)] if release.calibration.delta else []


def _public(release: Release) -> str:
    if release.belief.variables is not None:
        return "It is public how many records there are, and which variables they have."
    named = " The names of subjects are published." if any(part.subject for part in release.parts) else ""
    return (
        f"It is public how many series there are, how long they are, at which times, and where they have gaps.{named}"
    )


def _others(release: Release) -> str:
    if release.ledger is None:
        return (
            "Nothing else has been released from these data. Other releases, before or after, add to the privacy loss; "
            "no ledger counts them here."
        )
    return "All releases from these data are recorded in the ledger named below, and nothing is released past it."


# how to make it again


def address_name(address: str) -> str:
    """The address of a ledger without the folder of its file.

    >>> address_name("sqlite:////home/ann/ledger.db"), address_name("sqlite:///ledger.db")
    ('sqlite:///ledger.db', 'sqlite:///ledger.db')
    """
    kind, found, path = address.partition(":///")
    if kind != "sqlite" or not found:
        return address
    return f"sqlite:///{source_name(path.removeprefix('file:'))}"


def _as_job(release: Release) -> list[Block]:
    return [] if release.job is None else [Sentences([say("as-job")]), Code(release.job)]


def python_code(release: Release) -> str:
    """A few lines of Python that make the same release: of the belief, only its fingerprint is known.

    >>> from quiltwork import MarkovChain, release
    >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    >>> print(python_code(release(["0", "1"] * 50, "count:1", belief=coin, epsilon=1.0, mechanism="curve")))
    from quiltwork import load_belief, release
    <BLANKLINE>
    belief = load_belief("belief.json")  # the belief with fingerprint e2b9feb74c0eb370
    data = ...  # 1 series, 100 values
    result = release(data, 'count:1', belief=belief, epsilon=1.0, mechanism='curve')
    """
    about, ledger = release.about, release.ledger
    reader, columns = _reading(release)
    imported = {"load_belief", "release" if ledger is None else "Session"} | ({reader} if about is not None else set())
    mark = release.belief.fingerprint[:16]
    lines = [
        f"from quiltwork import {', '.join(sorted(imported, key=lambda name: (name.islower(), name)))}",
        "",
        f'belief = load_belief("belief.json")  # the belief with fingerprint {mark}',
        f"data = ...  # {release.subjects:,} {release.belief.noun}, {release.values:,} values",
    ]
    if about is not None:
        source = "table" if about.source is None else repr(about.source)
        lines[-1] = _call(f"data = {reader}", [source], columns)
    asked, options = _code_of(release), _options(release)
    if ledger is None:
        lines.append(_call("result = release", ["data", asked, "belief=belief"], options))
    else:
        kept: dict[str, Any] = {"budget": ledger["budget"]}
        kept |= {} if ledger["address"] == IN_MEMORY else {"ledger": address_name(str(ledger["address"]))}
        kept |= {key: options.pop(key) for key in ("guarantee", "gaps") if key in options}
        lines.append(_call("session = Session", ["data", "belief=belief"], kept))
        lines.append(_call("result = session.release", [asked], options))
    return "\n".join(lines)


def _call(name: str, arguments: list[str], options: dict[str, Any]) -> str:
    written = [*arguments, *(f"{key}={_plain(value)}" for key, value in options.items())]
    line = f"{name}({', '.join(written)})"
    if len(line) <= LONGEST:
        return line
    return f"{name}(\n    " + ",\n    ".join(written) + ",\n)"


def _plain(value: Any) -> str:
    return str(value) if isinstance(value, _Code) else repr(value)


class _Code(str):
    """Text that is code, not a string."""

    __slots__ = ()


def _reading(release: Release) -> tuple[str, dict[str, Any]]:
    """The function that read the data, and how."""
    about: About | None = release.about
    if about is None:
        return "", {}
    left_out = ("layout", "files")  # the function and the name of the data say them
    read = about.reading.to_dict().items()
    settings = {key: value for key, value in read if key not in left_out and value != "auto"}
    if release.belief.variables is not None:
        return "read_records", {"belief": _Code("belief")} | settings
    if release.recorded.segment is not None:
        settings["segment"] = release.recorded.segment
    if release.belief.real:
        return "read_measurements", settings
    column = settings.pop("column", "")
    several = release.belief.step_variables is not None
    columns = {"column": column.split(JOIN) if several else column, "states": _Code("belief.states")}
    return "read_series", columns | settings


def _code_of(release: Release) -> str:
    questions = [question.calibration.query for question in release.questions]
    if questions:
        return f"[{', '.join(map(_question, questions))}]"
    return _question(release.calibration.query)


def _question(query: Said) -> str:
    """As text, unless it is a function of somebody's own."""
    own = isinstance(query, Query) and not query.entry.reads and query.kind != "share-difference"
    return "query" if own else repr(query.text)


def _options(release: Release) -> dict[str, Any]:
    calibration, record = release.calibration, release.recorded
    options: dict[str, Any] = {"epsilon": calibration.epsilon, "mechanism": calibration.mechanism}
    if calibration.delta:
        options["delta"] = calibration.delta
    if calibration.guarantee == "bayesian":
        options["guarantee"] = "bayesian"
    if not calibration.secrets.everything:
        options["secrets"] = calibration.secrets.text
    if record.gaps == "independent":
        options["gaps"] = "independent"
    if any(answer.pure_noise for answer in release.answers):
        options["anyway"] = True
    if release.checked is not None and release.checked.outcome == "refuted":
        options["despite_check"] = True
    if record.window is not None:
        options["window"] = record.window
    if any(part.subject for part in release.parts):
        options["by_subject"] = True
    return options
