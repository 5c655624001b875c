"""Every sentence that people read of a result, once: a table of codes with templates, and numbers as people read them.

Losses are rounded up, what is left is rounded down, and the numbers of an answer to the noise on them.
"""

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

SENTENCES: Mapping[str, str] = {
    # verdicts
    "good": "good",
    "rough": "rough",
    "noise-only": "noise only",
    "unknown": "-",
    "epsilon-large": "ε = {epsilon:g} promises little.",
    "no-guarantee": "No guarantee. This noise protects values only if they are independent.",
    "nothing-promised": "no guarantee",
    "belief": "Belief: {found}",
    "belief-refuted": "Released despite its check. Belief: {found}",
    "noted": "{text}",
    "over-budget": "Budget {budget:g}: exceeded by {more:.6g}.",
    "within-budget": "Budget {budget:g}: {left:.6g} left.",
    "mixed": "Later read differently ({how}): every release counts as if it covered every moment.",
    "mixed-now": (
        "The data was not always read in the same way ({how}), so every release in this ledger counts as if it "
        "covered every moment."
    ),
    "accepted": "Row {row}: {who} accepted that {problems}.",
    "unsealed": "The rows are sealed with a key that is not here: they cannot be checked.",
    "skipped-slow": "skipped (slow); add --mechanism {mechanism}",
    "with-data": (
        "This page shows the data without noise. It is for public data, never for the data that is to be protected."
    ),
    # an answer
    "accuracy": "Each number is within ±{error} of the truth with probability 95 % (error of the noise).",
    "accuracy-all": (
        "Each number is within ±{error} of the truth with probability 95 % (error of the noise); all {count} at once "
        "within ±{everyone}."
    ),
    "as-much-noise": "That is as much as the answer can be: the numbers are noise.",
    "divided": (
        "The numbers are counts or sums with noise, divided by {by}; so is their noise, to a {size} of "
        "{most}{scale:.6g}."
    ),
    "follows": "{query}: {told}.",
    "noise-only-ranges": (
        "Where it says noise only, the noise leaves nothing to learn: the range has the true number with probability "
        "95 %, and neither order nor differences mean anything."
    ),
    "cut-off": "Shown: the released numbers, none below or above what is possible, rounded to the noise.",
    "consistent": (
        "Consistent: the closest numbers that satisfy the public constraints ({public}). No privacy is lost by it. "
        "The ± is that of the released numbers."
    ),
    "keep": (
        "To keep all digits and the numbers as drawn, add --out FILE.csv when you make the release: a second one "
        "costs ε again."
    ),
    "more-rows": "… and {count:,} more rows in the files.",
    "more": "… and {count:,} more.",
    "noise-limits": (
        "These limits cover the added noise only, not how well the data represents a larger population. A noisy "
        "count or share may be negative; setting it to 0 costs no privacy."
    ),
    # what a calibration promises
    "noise": "{mechanism}: {law} noise of {size} {noise}, for {span}.{kept}",
    "guarantee": (
        "Guarantee: seeing the result changes the odds {between} by a factor of at most e^{epsilon:g}{factor}, for "
        "every belief in the class.{more}"
    ),
    "guarantee-none": "NO GUARANTEE: this noise hides a single value only if values are independent of each other.",
    "known-values": " This also holds against an adversary who knows any other values.",
    "exception": (
        "This holds up to δ = {delta:g}: any set of results may be more likely by δ than the factor allows for. A "
        "result that gives a secret away for certain has a probability of at most {delta:g}."
    ),
    "secret": "Secret: {secret}.",
    "not-secret": "Not secret: {not_secret}.",
    "secret-apart": "which of two values at most {apart} apart it was, at any one time",
    "not-secret-apart": "larger differences, of which twice as large ones may lose ε = {epsilon:g}; {others}",
    "meaning-apart": (
        "Someone who knew that a value was one of two at most {apart} apart, and thought one of them 50 % likely, "
        "will think it at most {after} likely after seeing this{but_for}."
    ),
    "gaussian": (
        "The promise holds for Gaussian values, whatever their mean; quiltwork belief check says how far public data "
        "of the same kind are from that."
    ),
    "steps-unrolled": (
        "Steps: unrolled into one network. This covers up to {up_to:,} steps; in longer series each step is a state "
        "of a chain, which may need more noise."
    ),
    "steps-chain": "Steps: each is a state of a chain. Unrolling needs a start, and few enough states at each step.",
    "steps-chain-for-now": (
        "Steps: each is a state of a chain. Series of up to {up_to:,} steps are unrolled into one network, which may "
        "need less noise."
    ),
    # what would make an answer better
    "remedy": "For {wanted} it takes {ways}.{more}",
    "remedy-none": "No ε up to {most:g} brings it down to {wanted}.{more}",
    "remedy-alone": " (That is by {mechanism}, for a single release without a ledger.)",
    "would-be-noise": "{query} would be noise only{where}: ±{error} with probability 95 %, and {possible}. {better}",
    "possible-from-to": "numbers can only be from {low:g} to {high:,g}",
    "possible-reach": "it can only vary by {reach}",
    "coarser-transitions": "frequencies need less noise than transitions.",
    "coarser-shares": "A single share (share:STATE) needs less noise.",
    # plans
    "least": "Least noise with a guarantee{among}: {mechanism}.",
    "compare": "All mechanisms and the reasons for their noise: add --compare.",
    "not-computed": "Not computed: {why}",
    "why-of": "Why this much noise: {why}",
    "added-up": (
        "{count:,} releases by curve share ε = {epsilon:g}: their profiles are added before the curve is computed, "
        "so each needs noise of scale {best:.6g}. Adding quilt releases of ε = {each:.4g} each (Theorem 3.7) would "
        "need {quilts:.6g}, {times:.3g} times as much."
    ),
    "adding": "With curve, profiles are added before the influence curve is computed; other mechanisms add their ε.",
    "ledger-for": (
        "For these {count:,} releases, create a ledger with {budget} and give each release --epsilon {each:g}{noise}."
    ),
    # budgets and accounts
    "spent": "Spent {spent} of {budget:g}, {left} remain.",
    "used": "Used {percent:g} % of the budget (ε = {budget:g}, δ = {delta:g}); so far ε = {spent}, whenever you stop.",
    "would-spend": "{spent} of {budget:g} is spent. This release adds {cost}, and {left} remains.",
    "recorded": "Recorded as row {row} of {address}. Head: {row}:{hash}",
    "whole-budget": "Within the whole budget, what was 50 % likely becomes at most {allowed} likely{but_for}{about}.",
    "spent-on": "{row}. {query} by {mechanism}, ε = {epsilon:g} ({who}{note}); together {spent:.6g}.",
    "outcome-unknown": ", no outcome recorded: it counts",
    "nothing-yet": "Nothing has been released yet.",
    "rule": "Composition rule: {rule}.",
    "head": "Head: {row}:{hash}",
    "no-pure": "No ε holds without a δ.",
    "pure": "Without a δ it is ε = {pure:.6g}.",
    "latest": "The latest {most:,} of {count:,} releases.",
    "charged-delta": "{charged} of ε; with a δ it is the room for squares that adds up",
    "charged-less": (
        "{charged}: less than was asked. Added up moment by moment, it costs less than the bound that it was chosen by"
    ),
    "charged-more": "{charged}: more than was asked, because it tells more together with earlier releases",
    "charged": "{charged}",
    "together": "Together these releases are {promised}{about}, by {rule}.",
    "before-results": "This is for releases chosen before the first result was seen; {pure}.",
    "largest": "The privacy loss is largest at {when}: up to {epsilon:.6g}.",
    # beliefs
    "forgets": "{when} (what is still known of a value is then below 5 %)",
    "no-longer-stays": "Longer stays are computed for chains only. Name another belief that may be true instead.",
    "other-belief": "If the other belief is true: ε = {epsilon:.4g} (by {rule}).",
    "still-checked": "These pictures show the public data without noise.",
    "stays-longer": "Stays: {data} of those in {state} last longer than {length}, the belief says {belief}.",
    "stays-hold": "Stays: none last longer than the belief says, by more than chance.",
    "hours-differ": "Time of day: from {first}:00 to {last}:00 {data} are in {state}, at all hours {overall}.",
    "hours-hold": "Time of day: no hour differs from the others by more than chance.",
    "hours-unknown": "Time of day: not enough days with dates.",
    "order": (
        "Value before last: it takes away {gain:.2g} % of the uncertainty about the next value (G = {statistic:.4g} "
        "with {degrees} degrees of freedom, p = {p_value:.2g})."
    ),
    "order-unknown": "Value before last: too few values to tell.",
    "levels-hold": "Levels: nowhere does the share of a state differ from the belief's by more than chance.",
    "levels-differ": "Levels: {told}. They do not refute the belief, but its noise is for its own shares.",
    # pictures of pages
    "chart-mechanisms": "The noise on each number, by mechanism (log axis). Further left is better.",
    "chart-promise": "What a secret's probability may become at most, and at least.",
    "chart-rehearsed": (
        "Simulated data from the belief: true, and as it would be released. Thin lines and shades: the range that "
        "the noise leaves of each true value, with probability 95 %."
    ),
    "not-rehearsed": "no mechanism has a guarantee here.",
    "too-many-windows": "At most {most} windows are drawn. Choose longer ones.",
    "fit-public": (
        "do not fit a belief on the data that you want to protect: the belief would reveal that data without any "
        "noise. Fit it on public data, or on other people's data of the same kind."
    ),
    "check-public": (
        "do not check a belief on the data that you want to protect: the result shows that data without any noise. "
        "Use public data, or other people's data of the same kind."
    ),
    "no-times": "The time of day was not looked at: no column of times was named (--time).",
    # certificates
    "certificate-none": "None: {why}.",
    "certificate-waits": "There is one. It is being verified, and its result will stand here.",
    "certificate-stopped": "NOT VERIFIED: there is one, but its verification was interrupted.",
    "certificate-there": "There is one. It was not verified again for this report.",
    "certificate-fails": "NOT VERIFIED: {problem}",
    "certificate-holds": (
        "Verified by interval arithmetic when this report was written, in {seconds:.2g} s: this noise keeps the "
        "privacy loss at or below {proved}{up_to}.{less}"
    ),
    "certificate-less": (
        " That is less than was asked for, because the noise was chosen by a slightly coarser bound, and rounded up."
    ),
    # what a report is signed for
    "signed": (
        "Signed for the release described above: the belief and the assumptions are justified for these data, and "
        "the privacy loss is acceptable."
    ),
    "signed-despite": (
        "Signed for the release described above, made although public data refuted its belief: its privacy loss may "
        "be larger than ε, and is acceptable."
    ),
    "unchecked": "The belief was not checked against public data for this report. Whoever signs vouches for it.",
    "how-to-check": "quiltwork belief check compares it with public data of the same kind.",
    "assumed": "The guarantee holds if all of these are true.",
    "promised-series": (
        "The guarantee is about the value at any one time. It does not hide that somebody is in the data, how long "
        "their series is, or long-term habits."
    ),
    "promised-records": (
        "The guarantee is about the value of any one variable of a record. It does not hide that a record is in the "
        "data, or what holds for people in general."
    ),
    "not-promised": (
        "It holds for the stated belief: if values are more strongly correlated than that, the protection is weaker. "
        "Further releases from the same data add to the privacy loss."
    ),
    "how-far": (
        "How far the probability of a secret can be moved by {whose}: odds change by a factor of at most "
        "e^ε{but_for}. On the dashed line nothing is learned."
    ),
    "no-ledger": "No ledger: nobody counts what this release and others from the same data tell together.",
    "verify-with": "This fails if the release is missing from the ledger, or if anything before it was changed:",
    "as-job": "The same as a job file, for `quiltwork release job.toml`:",
    "again": "Repeating it draws fresh noise and adds to the privacy loss.",
}
"""What is said, by its code; ``say`` fills in the numbers."""


def say(code: str, **numbers: Any) -> str:
    """The sentence of a code with its numbers.

    >>> say("rule", rule="influence-curve")
    'Composition rule: influence-curve.'
    """
    return SENTENCES[code].format(**numbers)


def above(number: float, digits: int = 6) -> str:
    """A number in a few digits, rounded up: a privacy loss must not look smaller than it is.

    >>> above(0.99778124), above(1.0), above(0.05), below(2.0022199), below(0)
    ('0.997782', '1', '0.05', '2.00221', '0')
    """
    return _rounded(number, digits, ROUND_CEILING)


def below(number: float, digits: int = 6) -> str:
    """A number in a few digits, rounded down: what is left of a budget."""
    return _rounded(number, digits, ROUND_FLOOR)


def amount(number: float, digits: int = 3) -> str:
    """A number in a few digits, rounded up, with thousands set apart.

    >>> amount(1234.5), amount(0.01234), amount(7.0)
    ('1,240', '0.0124', '7')
    """
    return f"{Decimal(above(number, digits)):,f}"


def share(part: float) -> str:
    """A share in per cent, in two digits and rounded up.

    >>> share(0.0934), share(1.27), share(0.00123)
    ('9.4 %', '130 %', '0.13 %')
    """
    return f"{amount(100 * part, 2)} %"


def _rounded(number: float, digits: int, how: str) -> str:
    if not number or not math.isfinite(number):
        return f"{number:g}"
    exact = Decimal(repr(float(number)))  # as it is written, without the dust of its binary digits
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() + 1 - digits), rounding=how).normalize()
    return f"{rounded:f}" if abs(exact.adjusted()) < digits else f"{rounded:e}"


def capital(text: str) -> str:
    """A sentence that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def titled(query: str) -> str:
    """A question as a heading."""
    kind, _, state = query.partition(":")
    return f"Count of {state}" if kind == "count" and state else capital(query)


def times_of(first: int, last: int) -> str:
    """A time, or from when to when.

    >>> times_of(7, 7), times_of(7, 1900)
    ('time 7', 'times 7 to 1,900')
    """
    return f"time {first:,}" if first == last else f"times {first:,} to {last:,}"


def several(count: int, noun: str, plural: str | None = None) -> str:
    """A count with what is counted.

    >>> several(1, "release"), several(1200, "release"), several(2, "person", "people")
    ('1 release', '1,200 releases', '2 people')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
