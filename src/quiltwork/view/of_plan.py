"""What is said of noise before anything is drawn: plans, calibrations, and what would make an answer precise enough."""

import math
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

from quiltwork.beliefs import Belief
from quiltwork.beliefs.secrets import believed_after
from quiltwork.beliefs.unknown_member import unknown_member
from quiltwork.calibration.mechanisms.curve import CurveReason
from quiltwork.calibration.mechanisms.networks import NetworkQuilt, NetworkReason
from quiltwork.calibration.mechanisms.quilt import Quilt
from quiltwork.calibration.mechanisms.shifted import Shifted
from quiltwork.calibration.mechanisms.wasserstein import Distance
from quiltwork.calibration.plan import Offer, Plan
from quiltwork.calibration.record import Calibration, Plain, Reason
from quiltwork.calibration.sharing import Way
from quiltwork.calibration.target import LARGE, MOST_EPSILON, Remedy, short
from quiltwork.question import Limits, Question
from quiltwork.releases.answer import plus_minus
from quiltwork.releases.of_job import QuestionPlan
from quiltwork.view.view import Block, Chart, Group, Sentences, Table, Verdict, View, cell, picture
from quiltwork.view.words import capital, say, several, share, titled

MOST_DRAWN = 80  # variables of a network


# what a calibration promises, and why


@singledispatch
def why(reason: Reason, epsilon: float | None = None) -> str:  # noqa: ARG001 - some reasons add up to it
    """Why the noise is what it is."""
    return reason.text if isinstance(reason, Plain) else ""


@why.register
def _(reason: CurveReason, epsilon: float | None = None) -> str:
    when = "" if reason.node is None else f" at time {reason.node:,}"
    whose = "" if reason.member is None else f" under chain {reason.member} of the set"
    told = [loss for loss in reason.by_time if loss > 0]
    others = "Other secret times" if len(told) < len(reason.by_time) else "Other times"
    hardest = "of the two sets, {} and {}" if reason.sets else "{} and {}"
    whole = epsilon or reason.own + reason.future + reason.past
    return (
        f"{hardest.format(*reason.pair)} are the hardest to keep apart{when}{whose}: of ε = {whole:.3g}, the value "
        f"itself uses {reason.own:.2g}, later values {reason.future:.2g}, earlier values {reason.past:.2g}."
        + (f" {others} of the cycle use as little as {min(told):.4g}." if told else "")
        + ("" if reason.settled else " The search for less noise stopped at its limit, so less may be enough.")
    )


@why.register
def _(reason: Quilt, epsilon: float | None = None) -> str:  # noqa: ARG001 - it covers values, and does not add up
    place = "a node far from both ends" if reason.node is None else f"time {reason.node:,}"
    nodes = [
        f"{several(distance, 'step')} {side}"
        for distance, side in ((reason.left, "before"), (reason.right, "after"))
        if distance is not None
    ]
    whose = "" if reason.member is None else f" under chain {reason.member} of the set"
    if not nodes:
        far = f"No value is far enough from it: the noise covers all {reason.nearby:,}."
        return f"{place} is the hardest to hide{whose}. {far}"
    return (
        f"{place} is the hardest to hide{whose}. Its quilt is {' and '.join(nodes)}. The noise covers "
        f"{several(reason.nearby or 0, 'nearby value')}; the rest can reveal up to {reason.max_influence:.4g} about it "
        "through the quilt (max-influence)."
    )


@why.register
def _(reason: Shifted, epsilon: float | None = None) -> str:  # noqa: ARG001 - it is about how far an answer moves
    unit = "" if reason.unit is None else f" {reason.unit}"
    others = "" if reason.shift <= reason.itself else ", because values before and after it are then expected to differ"
    return (
        f"if one value were {reason.distance:g}{unit} higher or lower, the {reason.asked} would move by up to "
        f"{reason.shift / reason.divisor:.6g} ({reason.itself / reason.divisor:.6g} through the value itself){others}."
    )


@why.register
def _(reason: Distance, epsilon: float | None = None) -> str:  # noqa: ARG001 - it is about how far apart laws are
    rest = f", leaving out mass {reason.delta:g}" if reason.delta else ""
    return (
        f"learning whether the value at {reason.node} is {reason.pair[0]} or {reason.pair[1]} moves the law of the "
        f"answer by up to {reason.distance:g} (∞-Wasserstein distance{rest}), and the noise covers that much."
    )


@why.register
def _(reason: NetworkQuilt, epsilon: float | None = None) -> str:  # noqa: ARG001 - it covers variables
    whose = "" if reason.member is None else f" under network {reason.member} of the set"
    text = f"{reason.node} is the hardest to hide{whose}. "
    if reason.quilt:
        beyond = f"It is separated from {several(len(reason.remote), 'other')} by" if reason.remote else "Its quilt is"
        text += (
            f"{beyond} {', '.join(reason.quilt)}. The noise covers {several(len(reason.near), 'nearby variable')}; the "
            f"quilt itself can reveal up to {reason.max_influence:.4g} about it (max-influence)."
        )
    elif reason.remote:
        free = several(len(reason.remote), "variable")
        text += f"It is independent of {free}; the noise covers the other {len(reason.near)}."
    else:
        text += f"No quilt is worth its influence: the noise covers all {len(reason.near)} variables."
    if not reason.complete:
        text += f" There were too many quilts of up to {reason.quilt_size} variables to try them all."
    return text


@why.register
def _(reason: NetworkReason, epsilon: float | None = None) -> str:
    whose = "" if reason.member is None else f" under network {reason.member} of the set"
    whole = epsilon or reason.own + reason.others
    text = (
        f"{reason.pair[0]} and {reason.pair[1]} of {reason.node} are the hardest to keep apart{whose}: of ε = "
        f"{whole:.3g}, the value itself uses {reason.own:.2g}"
    )
    if reason.branches:
        text += ", and others " + ", ".join(f"{part:.2g} through {name}" for name, part in reason.branches)
    elif reason.clique:
        rest = "them" if len(reason.clique) > 1 else "it"
        shown = ", ".join(reason.clique)
        text += f", and all others {reason.others:.2g}, through {shown} and what depends on {rest}"
    if reason.coarse:
        groups = several(reason.coarse, "group")
        text += f". {groups} of variables had too many states for a close look, so less noise may be enough"
    return f"{text}."


def reason_of(calibration: Calibration) -> str:
    """Why the noise is what it is, with the ε that the parts of the reason add up to."""
    return why(calibration.reason, calibration.epsilon)


def explained(calibration: Calibration, belief: Belief | None = None) -> list[str]:
    """The noise and its reason in a few sentences; with a state of the belief as an example, if it is given."""
    promise = [guarantee(calibration), *of_set(calibration, belief)]
    if calibration.guarantee != "none":
        secret = say("secret", secret=secret_of(calibration))
        promise += [f"{secret} {say('not-secret', not_secret=not_secret_of(calibration))}"]
        promise += [meaning(calibration, belief)]
    return [
        noise_of(calibration),
        *promise,
        f"Why: {reason_of(calibration)}",
        f"Theorem: {calibration.theorem}.",
        *([say("gaussian")] if calibration.apart is not None and calibration.guarantee != "none" else []),
        *along_time(calibration),
    ]


def noise_of(calibration: Calibration) -> str:
    """How much noise, of which law, on what, and for which series."""
    length, scales = calibration.length, calibration.scales
    drawn = [scales[one.place] for one in calibration.asked.drawn]
    span = "series of any length"
    if calibration.records:
        span = f"records of {length:,} variables"
    elif length is not None:
        values = "values" if calibration.steps is None else "steps"
        span = f"series of {'exactly' if calibration.one_length else 'up to'} {length:,} {values}"
    return say(
        "noise",
        mechanism=calibration.mechanism,
        law="Gaussian" if calibration.noise == "gaussian" else "Laplace",
        size="standard deviation" if calibration.noise == "gaussian" else "scale",
        noise=", ".join(f"{scale:.6g} on each {_numbers(question)}" for question, scale in drawn),
        span=span,
        kept=" It keeps the public totals." if calibration.noise == "laplace-total" else "",
    )


def guarantee(calibration: Calibration) -> str:
    """What is promised: how much odds may change, between what."""
    epsilon, apart = calibration.epsilon, calibration.apart
    if calibration.guarantee == "none":
        return say("guarantee-none")
    secret = "of any variable" if calibration.records else "at any one time"
    secret = secret if calibration.steps is None else "of any variable at any one step"
    secret = secret if apart is None else f"at most {apart} apart, {secret},"
    return say(
        "guarantee",
        between=f"between any two values {secret}" if calibration.secrets.everything else "between the secrets",
        epsilon=epsilon,
        factor=f" = {math.exp(epsilon):.3g}" if epsilon < 50 else ", which is no limit at all",
        more=(say("known-values") if calibration.bayesian else "")
        + (f" {exception(calibration)}" if calibration.delta else ""),
    )


def exception(calibration: Calibration) -> str:
    """What δ means."""
    return say("exception", delta=calibration.delta)


def of_set(calibration: Calibration, belief: Belief | None = None) -> list[str]:
    """Of a set: whom it protects against, and what others may learn; nothing for a single belief."""
    known = None if belief is None or calibration.guarantee == "none" else unknown_member(belief)
    return [] if known is None else [known.sentence(calibration.epsilon)]


def secret_of(calibration: Calibration) -> str:
    """What is secret."""
    apart = calibration.apart
    return calibration.secrets.secret if apart is None else say("secret-apart", apart=apart)


def not_secret_of(calibration: Calibration) -> str:
    """What is not secret."""
    others = calibration.secrets.not_secret
    if calibration.apart is None:
        return others
    return say("not-secret-apart", epsilon=2 * calibration.epsilon, others=others)


def meaning(calibration: Calibration, belief: Belief | None = None) -> str:
    """What ε means for somebody who thought one of the secrets as likely as not."""
    if calibration.apart is None:
        return calibration.secrets.meaning(calibration.epsilon, belief, delta=calibration.delta)
    after, but_for = believed_after(calibration.epsilon, calibration.delta)
    return say("meaning-apart", apart=calibration.apart, after=after, but_for=but_for)


def along_time(calibration: Calibration) -> list[str]:
    """Of records over time: how their steps were taken, and how long a series the other way covers."""
    if calibration.steps is None:
        return []
    up_to = calibration.unrolled_up_to
    if calibration.steps == "unrolled":
        return [say("steps-unrolled", up_to=up_to)]
    return [say("steps-chain-for-now", up_to=up_to) if up_to else say("steps-chain")]


def _numbers(question: Question) -> str:
    """What noise is added to."""
    named = {"frequencies": "count", "mean": "sum", "sum": "sum"}
    return named.get(question.query.kind, f"number of {question.text}")


def of_calibration(calibration: Calibration) -> View:
    """A calibration: its noise, what ε means, and why."""
    noise = f"{calibration.noise_words} {calibration.noise_scale:.6g}"
    title = f"{calibration.query.text} by {calibration.mechanism}: {noise}"
    losses = calibration.reason.detail().get("by_time")
    named = {f"ε = {calibration.epsilon:g}": calibration.epsilon}
    chart = picture("losses.cycle_chart", losses, None) if losses else picture("losses.posterior_chart", named)
    return View(title, blocks=[chart, Sentences(explained(calibration))])


def figures(belief: Belief, calibration: Calibration) -> list[Block]:
    """Pictures of why the noise is what it is: the loss of each time of a cycle, a network and its quilt or cliques."""
    return [*_cycle_figures(belief, calibration), *_network_figures(belief, calibration)]


def _cycle_figures(belief: Belief, calibration: Calibration) -> list[Block]:
    losses = calibration.reason.detail().get("by_time")
    if not losses:
        return []
    caption = "Privacy loss of a value by the time of the cycle."
    if None in losses:
        caption += " Where there is no line, values are not secret and nothing is promised."
    return [picture("losses.cycle_chart", losses, belief.step, caption=caption)]


def _network_figures(belief: Belief, calibration: Calibration) -> list[Block]:
    """The picture of a network, where quilts or a tree explain the noise."""
    detail = calibration.reason.detail()
    found = next(iter(belief.networks[(detail.get("member") or 1) - 1 :]), None)
    if calibration.steps == "unrolled":
        found = belief.as_network(calibration.length)
    if found is None or len(found.variables) > MOST_DRAWN or detail.get("node") not in found.variables:
        return []
    if "distance" in detail:
        return []
    marked = ", its quilt, and both sides of it" if "quilt" in detail else ""
    marked = ", and how much others reveal about it" if "reveals" in detail else marked
    caption = f"Parents above children. Marked: the variable that is hardest to hide{marked}."
    shown: list[Block] = [picture("networks.network_chart", found, calibration, caption=caption)]
    if "clique" in detail:
        caption = "The tree of cliques that the influence curve runs along. On each line: what two neighbours share."
        shown.append(picture("networks.clique_chart", found, calibration, caption=caption))
    return shown


# what would make an answer precise enough


def remedied(remedy: Remedy) -> str:
    """What brings the ± of a number down, in one sentence."""
    ways = []
    if remedy.epsilon is not None:
        large = " (which promises little)" if remedy.epsilon > LARGE else ""
        ways.append(f"{'about ' if remedy.typical is not None else ''}ε = {remedy.epsilon:g}{large}")
    if remedy.people is not None:
        ways.append(several(remedy.people, "person", "people"))
    if remedy.window is not None:
        ways.append(f"windows of {remedy.window}")
    elif remedy.values is not None and remedy.people is None:
        ways.append(f"{remedy.values:,} values")
    if remedy.whole:
        ways.append("one answer about the whole period (no windows)")
    more = "" if remedy.question is None else f" {say(remedy.question)}"
    if remedy.mechanism in ("audited", "wasserstein"):
        more = f"{say('remedy-alone', mechanism=remedy.mechanism)}{more}"
    wanted = f"±{short(remedy.error)}"
    if remedy.share is not None:
        wanted = f"± {100 * remedy.share:g} % of what it can be"
    elif remedy.typical is not None:
        wanted = f"±{short(remedy.error)} ({100 * remedy.typical:g} % of what is typical)"
    if not ways:
        return say("remedy-none", most=MOST_EPSILON, wanted=wanted, more=more)
    return say("remedy", wanted=wanted, ways=", or ".join(ways), more=more)


def would_be_noise(query: str, error: float, limits: Limits | None, reach: float, better: Remedy, *, where: str) -> str:
    """That an answer would be noise only, and what would change that."""
    possible = say("possible-reach", reach=short(reach))
    if limits is not None:
        possible = say("possible-from-to", low=min(limits.low), high=max(limits.high))
    return say(
        "would-be-noise", query=query, where=where, error=short(error), possible=possible, better=remedied(better)
    )


# plans


def plan_title(made: Plan) -> str:
    """What a plan is for."""
    span = "any length" if made.length is None else f"length {made.length:,}"
    if made.step is not None:
        span += f" in steps of {made.step}"
    if made.records:
        span = f"records of {made.length:,} variables"
    if not made.secrets.everything:
        span += f", secret: {made.secrets.text}"
    apart = next((o.calibration.apart for o in made.offers if o.calibration is not None and o.calibration.apart), None)
    if apart is not None:
        span += f", differences of up to {apart}"
    shared = "" if made.releases == 1 else f" shared by {made.releases:,} releases (noise of each)"
    span += "" if made.values in (None, made.length) else f", {made.values:,} values"
    return f"{made.query}, ε = {made.epsilon:g}{_delta(made)}{shared}, {span}"


def _delta(made: Plan) -> str:
    return f", δ = {made.delta:g}" if made.delta else ""


def questions_view(plans: Sequence[Plan], *, other: Mapping[str, float | None] | None = None) -> View:
    """What people ask first: how precise each answer would be, whether that is good, and what would make it so.

    ``other`` has the ε of each mechanism's noise under another belief, if there is one.
    """
    rows = [row for made in plans for row in _question_rows(made, several=len(plans) > 1, other=other)]
    better = dict.fromkeys(
        f"{titled(found.query)}: {remedied(found.better)}"
        for made in plans
        for found in made.precision
        if found.better is not None
    )
    blocks: list[Block] = [
        Table(rows, numbers=("± of typical", "ε if other")),
        Sentences([*better]),
        Sentences([line for made in plans for line in _said(made)]),
        *(block for made in plans for block in _ways(made)),
    ]
    title = plan_title(plans[0]) if len(plans) == 1 else ""
    return View(title, verdicts=_warnings(plans), blocks=[*blocks, Sentences([say("compare")], "note")])


def planned_view(planned: Sequence[QuestionPlan]) -> View:
    """What each question of a job would be worth."""
    rows = [
        {
            "question": one.ask,
            "answers": one.answers,
            "ε": one.epsilon,
            "noise scale": one.noise_scale,
            "±95 %": plus_minus(one.error_95),
            "± of typical": "" if one.relative_error is None else share(one.relative_error),
            "verdict": say(_code(one.verdict)),
        }
        for one in planned
    ]
    return View("", blocks=[Table(rows, numbers=("± of typical",))])


def _question_rows(
    made: Plan, *, several: bool, other: Mapping[str, float | None] | None = None
) -> list[dict[str, Any]]:
    best = made.best
    if best is None or best.calibration is None:
        return []
    law = best.calibration.noise
    return [
        {
            "question": found.query,
            **({"ε": f"{made.epsilon:g}"} if several else {}),
            "noise scale": found.noise_scale,
            **({"noise": law} if made.delta else {}),
            "±95 %": plus_minus(found.error_95),
            "± of typical": "" if found.relative is None else share(found.relative),
            "verdict": say(_code(found.verdict)),
            **({} if other is None else {"ε if other": cell(other.get(best.mechanism))}),
        }
        for found in made.precision
    ]


def _code(verdict: str | None) -> str:
    return "unknown" if verdict is None else verdict.replace(" ", "-")


def _said(made: Plan) -> list[str]:
    """Why, by which mechanism, and what else to know."""
    best = made.best
    if best is None or best.calibration is None:
        return []
    among = "" if made.complete else " among those tried"
    return [
        say("least", among=among, mechanism=best.mechanism),
        say("why-of", why=reason_of(best.calibration)),
        *along_time(best.calibration),
    ]


def _ways(made: Plan) -> list[Block]:
    """How several releases share ε, and what was asked for beside that."""
    blocks: list[Block] = []
    if made.ways:
        rows = [
            {"way": way.name, "noise scale": way.noise_scale, "±95 %": way.error_95, "least noise": _span(way)}
            for way in made.ways
        ]
        shared = "one release" if made.releases == 1 else f"each of {made.releases:,} releases"
        blocks.append(Table(rows, title=f"By the influence curve, noise of {shared}"))
    elif made.releases > 1:
        blocks.append(Sentences([_against_adding(made)]))
    best = made.best
    if made.epsilon_each is not None and best is not None and best.calibration is not None:
        noise = " --noise gaussian" if best.calibration.noise == "gaussian" else ""
        budget = f"--budget {made.epsilon:g}" + (f" --delta {made.delta:g}" if noise else "")
        told = say("ledger-for", count=made.releases, budget=budget, each=made.epsilon_each, noise=noise)
        blocks.append(Sentences([told]))
    return blocks if made.remedy is None else [*blocks, Sentences([made.remedy.words()])]


def _warnings(plans: Sequence[Plan]) -> list[Verdict]:
    large = {made.epsilon for made in plans if made.epsilon / made.releases > LARGE}
    said = [Verdict("epsilon-large", "warning", {"epsilon": epsilon}) for epsilon in sorted(large)]
    return [*said, *(Verdict("noted", "warning", {"text": text}) for made in plans for text in made.warnings)]


def compare_view(made: Plan, *, other: Mapping[str, float | None] | None = None) -> View:
    """All mechanisms side by side, with the reason for the noise of each."""
    least, _, *steps = _said(made) or ("", "")
    blocks: list[Block] = [
        noise_chart(made),
        Table(_mechanism_rows(made, other=other), numbers=("noise scale", "±95 %", "× least", "ε if other")),
        Sentences([line for line in (least, *steps, *refusals(made.offers)) if line]),
        *_ways(made),
    ]
    return View(plan_title(made), verdicts=_warnings([made]), blocks=blocks)


def noise_chart(made: Plan, *, narrow: bool = False) -> Chart:
    """The noise of the mechanisms side by side."""
    return picture("losses.noise_chart", made, caption="Noise scale on each number, by mechanism.", narrow=narrow)


def _mechanism_rows(made: Plan, *, other: Mapping[str, float | None] | None) -> list[dict[str, Any]]:
    """A row for each mechanism that has an answer; or for each question that shares ε with others by it."""
    rows: list[dict[str, Any]] = []
    for offer in made.offers:
        calibration = offer.calibration
        if calibration is None:
            continue
        times = made.multiple(offer)
        free = calibration.guarantee == "none"
        reason = f"NO GUARANTEE. {capital(reason_of(calibration))}" if free else reason_of(calibration)
        common = {
            **({"noise": calibration.noise} if made.delta else {}),
            **({} if made.least is None else {"× least": "" if times is None else f"{times:,.3g}"}),
            **({} if other is None else {"ε if other": cell(other.get(offer.mechanism))}),
        }
        for n, question in enumerate(offer.questions or (None,)):
            noise = {} if question is None else {"query": question.query}
            source = question or offer
            follows = "" if question is None or question.follows is None else f"(from {question.follows})"
            rows.append(
                {"mechanism": "" if n else offer.mechanism}
                | noise
                | {"noise scale": source.noise_scale, "±95 %": source.error_95}
                | (dict.fromkeys(common, "") if n else common)
                | {"why": reason if n == 0 else follows}
            )
    return rows


def distances_view(rows: Sequence[Mapping[str, Any]]) -> View:
    """The noise for each of several distances."""
    names = {"distance": "distance", "noise_scale": "noise scale", "error_95": "±95 %"}
    return View("", blocks=[Table([{name: row[key] for key, name in names.items()} for row in rows])])


def refusals(offers: Sequence[Offer]) -> list[str]:
    """Which mechanisms were not computed, and why, in one line."""
    refused = [offer for offer in offers if offer.refused]
    why_not = " · ".join(
        f"{offer.mechanism}: {say('skipped-slow', mechanism=offer.mechanism) if offer.skipped else offer.refused}"
        for offer in refused
    )
    return [say("not-computed", why=why_not)] if refused else []


def _span(way: Way) -> str:
    """For how many releases a way needs the least noise."""
    first, last = way.least_from, way.least_up_to
    if first is None:
        return "never"
    if last is None:
        return "always" if first == 1 else f"from {first:,} releases on"
    return f"up to {several(last, 'release')}" if first == 1 else f"from {first:,} to {last:,} releases"


def _against_adding(made: Plan) -> str:
    """What the influence curve saves over adding up quilt releases."""
    scales = {offer.mechanism: offer.noise_scale for offer in made.offers if offer.noise_scale}
    best, quilts = scales.get("curve"), scales.get("quilt-exact")
    if best is None or quilts is None:
        return say("adding")
    return say(
        "added-up",
        count=made.releases,
        epsilon=made.epsilon,
        best=best,
        each=made.epsilon / made.releases,
        quilts=quilts,
        times=quilts / best,
    )


def plan_view(made: Plan) -> View:
    """A plan as notebooks show it: how precise answers would be, then all mechanisms side by side."""
    first, second = questions_view([made]), compare_view(made)
    return View(first.title, verdicts=first.verdicts, blocks=[*first.blocks[:2], *second.blocks])


def plan_page(made: Plan, belief: Belief) -> View:
    """A page about a plan: the same, with pictures of why a cycle or a network needs this much noise."""
    shown = plan_view(made)
    why_so: list[Block] = [
        Group(offer.mechanism, found)
        for offer in made.offers
        if offer.calibration is not None and (found := figures(belief, offer.calibration))
    ]
    lead = f"{shown.title} · {belief!r} · fingerprint {belief.fingerprint[:16]}"
    return View(f"{titled(made.query)}: how much noise?", lead, shown.verdicts, [*shown.blocks, *why_so])
