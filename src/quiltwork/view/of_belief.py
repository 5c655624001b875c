"""What is said of beliefs: what they say themselves, what they rest on, whether public data agree, and what if not."""

from collections.abc import Sequence
from typing import Any

from quiltwork.accounting.compare import Comparison
from quiltwork.beliefs import Belief, GaussianBelief, IntervalChain, MarkovChain
from quiltwork.beliefs.unknown_member import unknown_member
from quiltwork.fitting import Fit, described, forgotten_after, in_time
from quiltwork.fitting.gaussian import belief_lines
from quiltwork.fitting.gaussian_check import GaussianCheck
from quiltwork.fitting.outcome import BeliefCheck, Followed, Remembered
from quiltwork.fitting.words import in_words, percent
from quiltwork.view.view import Block, Chart, Code, Facts, Group, Sentences, Table, View, cell, picture
from quiltwork.view.words import say

MOST_STATES, MOST_VARIABLES = 40, 80  # of a belief that is drawn without being asked
MOST_DRAWN = 6  # members of a set
MOST_PANELS = 12  # states of a check
MOST_LEVELS = 3
AVERAGE = "How likely each state (column) follows each (row), on average over times and phases."
HEAT = "How likely each state (column) follows each (row)."
RANGES = "How likely each state (column) follows each (row), at least and at most."
NETWORK = "Parents above children."
STAYS = "How many stays in a state last longer than some time."
FORGETS = "How often a value is the same again some time later. Lines end where the past no longer matters."
CORRELATION = "How strongly values are correlated, at most, by the time between them."


# what a belief says


def of_belief(belief: Belief) -> View:
    """A belief in short: its facts, one picture, how long its stays last, and how soon it forgets a value."""
    summary = described(belief)
    lists = {key: value for key, value in summary.items() if isinstance(value, list)}
    facts = [
        ("step" if key == "step" else key.replace("_", " "), cell(value))
        for key, value in summary.items()
        if key not in ("forgets_after", "unknown_member_adds", "promise", "fingerprint", *lists)
        and isinstance(value, str | int | float)
    ]
    facts += _forgetting(belief.chains, belief)
    rows = [table for key, value in lists.items() if (table := _rows(key, value, belief))]
    small = len(belief.states) <= MOST_STATES and len(belief.variables or belief.step_variables or ()) <= MOST_VARIABLES
    return View(
        repr(belief),
        blocks=[
            Facts([*facts, ("fingerprint", Code(belief.fingerprint))]),
            *([belief_figure(belief)] if small or belief.real else []),
            *(Table(table) for table in rows),
            *([Table(_variables(belief))] if belief.variables is not None else []),
            *([Table(_stays_of_set(belief))] if len(belief.chains) > 1 else []),
            Sentences([*_gaussian(belief), *_known(belief)]),
        ],
    )


def _rows(key: str, rows: Sequence[Any], belief: Belief) -> list[dict[str, Any]]:
    """A table that a summary has of stays, members or the like."""
    if not rows or not isinstance(rows[0], dict):
        return []
    if key != "expected_stay":
        return [{name.replace("_", " "): value for name, value in row.items()} for row in rows]
    return [
        {
            "state": row["state"],
            "share of time": "-" if row["stationary"] is None else f"{100 * row['stationary']:.3g} %",
            "lasts on average": _lasting(row["stays"], belief),
        }
        for row in rows
    ]


def _lasting(steps: float | None, belief: Belief) -> str:
    return "for ever" if steps is None else in_time(steps, belief.step)


def _stay(probability: float) -> float | None:
    """How many steps a stay lasts on average, where this is the probability to stay."""
    return None if probability >= 1 else 1 / (1 - probability)


def _variables(belief: Belief) -> list[dict[str, str]]:
    return [{"variable": name, "states": ", ".join(states)} for name, states in (belief.variables or {}).items()]


def _stays_of_set(belief: Belief) -> list[dict[str, Any]]:
    """How long each state lasts, from the chain with the shortest stays to the one with the longest."""
    rows = []
    for n, state in enumerate(belief.states):
        staying = sorted(float(chain.transition[n, n]) for chain in belief.chains)
        least, most = (_lasting(_stay(p), belief) for p in (staying[0], staying[-1]))
        rows.append({"state": state, "lasts on average": least if least == most else f"{least} to {most}"})
    return rows


def _gaussian(belief: Belief) -> list[str]:
    return belief_lines(belief) if isinstance(belief, GaussianBelief) else []


def _known(belief: Belief) -> list[str]:
    known = unknown_member(belief)
    return [] if known is None else [known.sentence()]


def _forgetting(chains: Sequence[MarkovChain], belief: Belief, *, name: str = "forgets") -> list[tuple[str, str]]:
    """How soon the slowest chain has forgotten a value."""
    if not chains:
        return []
    after = [forgotten_after(chain) for chain in chains]
    known = [n for n in after if n is not None]
    when = f"after {in_time(max(known), belief.step)}" if len(known) == len(after) else "never"
    return [(name, say("forgets", when=when))]


def belief_figure(belief: Belief) -> Chart:
    """The one picture that says most of a belief."""

    caption = NETWORK if belief.networks else CORRELATION if belief.real else HEAT
    heat = None
    if belief.chains:  # one of them is enough in a terminal
        count = len(belief.chains)
        title = HEAT.rstrip(".") + (f", chain 1 of {count}" if count > 1 else "")
        heat = (title, belief.chains[0].states, belief.chains[0].transition.tolist())
        caption = RANGES if count > 1 else HEAT
    return picture("beliefs.belief_chart", belief, caption=caption, heat=heat)


def belief_page(belief: Belief) -> View:
    """A page about a belief."""
    lead = f"{belief!r} · fingerprint {belief.fingerprint[:16]}"
    return View("What an adversary may believe", lead, blocks=about_belief(belief))


def about_belief(belief: Belief) -> list[Block]:
    """What a belief says, with its pictures: heat maps, stays, a network, variables."""
    shown: list[Block] = [Sentences(_known(belief))]
    for number, member in belief.numbered_members[:MOST_DRAWN] if belief.chains else ():
        title = "" if number is None else f"Chain {number} of {len(belief.members)}"
        shown.append(Group(title, _about_chain(member.chains[0], belief)))
    if isinstance(belief, GaussianBelief):
        most = " is at most this" if belief.correlation.at_most else ""
        caption = f"The correlation of two values{most}, by how much time is between them."
        shown += [picture("fits.correlations_chart", belief, caption=caption), Sentences(belief_lines(belief))]
    if isinstance(belief, IntervalChain):
        shown.append(picture("beliefs.range_chart", belief.states, belief.lower, belief.upper, caption=RANGES))
    average = belief.average()
    if average is not None:
        shown.append(picture("beliefs.heat_chart", average, caption=AVERAGE))
    if belief.networks:
        shown.append(picture("networks.network_chart", belief.networks[0], caption=NETWORK))
    return shown if belief.variables is None else [*shown, Table(_variables(belief))]


def _about_chain(chain: MarkovChain, belief: Belief) -> list[Block]:
    stays = chain.transition.diagonal().tolist()
    rows = [
        {"state": state, "lasts on average": _lasting(_stay(p), belief)}
        for state, p in zip(chain.states, stays, strict=True)
    ]
    beside = Group(
        "", [picture("beliefs.heat_chart", chain, caption=HEAT), Table(rows, numbers=("lasts on average",))], "beside"
    )
    return [beside, Facts(_forgetting([chain], belief, name="Forgets a value"))]


def facts_of(belief: Belief) -> Facts:
    """What a belief is about, in a few lines."""
    return Facts(
        [
            ("Belief", repr(belief)),
            ("States", "" if belief.real else ", ".join(belief.states)),
            ("Step", "" if belief.step is None else str(belief.step)),
            ("Promise", " ".join(_known(belief))),
            ("Fingerprint", belief.fingerprint[:16]),
        ],
        name="facts",
    )


def belief_charts(belief: Belief) -> list[Chart]:
    """The pictures of a page about a belief: what follows what, how long stays last, how soon values are forgotten."""
    shown = []
    if belief.step_variables is None or belief.variables is not None:
        caption = NETWORK if belief.networks else CORRELATION if belief.real else HEAT
        shown.append(picture("beliefs.belief_chart", belief, caption=caption, name="heat"))
    if not belief.real and belief.variables is None:
        shown.append(picture("beliefs.stays_chart", belief, caption=STAYS, name="stays"))
        shown.append(picture("beliefs.forgetting_chart", belief, caption=FORGETS, name="forgets"))
    return shown


def choices(belief: Belief) -> list[dict[str, Any]]:
    """Questions that can be asked under a belief, with what they mean.

    >>> [choice["query"] for choice in choices(MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=["sit", "walk"]))]
    ['histogram', 'frequencies', 'transitions', 'stays', 'count:sit', 'count:walk']
    """
    if belief.real:
        asked = {"mean": "Mean", "sum": "Sum", "trend": "Trend: rise from step to step"}
    elif belief.variables is not None:
        asked = {"histogram": "How many variables have each state", "frequencies": "Share of each state"}
    else:
        asked = {
            "histogram": "How many values are in each state",
            "frequencies": "Share of each state",
            "transitions": "How often each state follows each",
            "stays": "How many stays there are in each state",
        }
    counts = {} if belief.real else {f"count:{state}": f"How often {state}" for state in belief.states}
    return [{"query": query, "label": label} for query, label in (asked | counts).items()]


# what it rests on, and what if it is wrong


def of_fit(fit: Fit) -> View:
    """A chain that was fitted, and what each of its rows rests on."""

    rows = [row | {"stays": in_time(row["stays"], fit.chain.step)} for row in fit.rows() if row["stays"] is not None]
    lead = f"{int(fit.counts.sum()):,} transitions in public data"
    return View(
        f"Fitted: {fit.chain!r}",
        lead,
        blocks=[picture("beliefs.heat_chart", fit.chain, caption=HEAT), Table(rows), Sentences(fit.warnings())],
    )


def rests_on(fit: Fit) -> View:
    """How many transitions each row of a fitted chain rests on."""
    return View(
        "", blocks=[Table(fit.rows(), title="What each row rests on: transitions seen, and those to other states")]
    )


def of_comparison(found: Comparison) -> View:
    """What a release is worth if the belief is wrong."""

    rows = [{"if stays last": f"{times:g} times as long", "ε": loss} for times, loss in found.stays]
    other = []
    if found.epsilon_other is not None:
        other = [say("other-belief", epsilon=found.epsilon_other, rule=found.rule_other)]
    elif not found.stays:
        other = [say("no-longer-stays")]
    caption = "The privacy loss of the same noise if all stays last longer than the belief says."
    stays: list[Block] = [picture("beliefs.longer_chart", found, caption=caption), Table(rows)] if found.stays else []
    lead = f"{found.query} · noise scale {found.noise_scale:g} · ε = {found.epsilon:.4g} under the belief"
    return View("What if the belief is wrong?", lead, blocks=[Sentences(other), *stays])


# whether public data agree


def of_check(check: BeliefCheck, belief: Belief | None = None) -> View:
    """What a check of a belief found on public data: the verdict first, then memory, levels and stays."""
    whose = "" if belief is None else f"{belief!r} · fingerprint {belief.fingerprint[:16]} · "
    lead = f"{whose}{check.subjects:,} series, {check.values:,} values of public data"
    return View(check_title(check), lead, blocks=checked_blocks(check, belief))


def check_page(check: BeliefCheck, belief: Belief) -> View:
    """The same as a page: it shows the data without noise, and says so."""
    shown = of_check(check, belief)
    return View(shown.title, shown.lead, blocks=[*shown.blocks, Sentences([say("with-data")])])


def checked_blocks(check: BeliefCheck, belief: Belief | None = None) -> list[Block]:
    """What a check of a belief found, with its tables and pictures."""
    said = Sentences([check.verdict, check.remedy])
    others = Sentences([*other_lines(check), *check.notes], name="more")
    return [said, *(_of_numbers(check, belief) if isinstance(check, GaussianCheck) else _of_states(check)), others]


def check_title(check: BeliefCheck) -> str:
    """The outcome as a heading."""
    if isinstance(check, GaussianCheck) and check.contradicts and not check.forgets_too_fast:
        return "The data contradict this belief"
    return {
        "refuted": "This belief forgets too fast",
        "holds": "This belief holds",
        "not refuted": "This belief is not refuted",
    }.get(check.outcome, "This belief is not refuted")


def _of_states(check: BeliefCheck) -> list[Block]:
    memory = [
        {
            "state": one.state,
            "after": one.after if isinstance(one, Followed) else one.state,
            "later": in_words(one.lag, check.step),
            "more likely than otherwise": f"{one.memory_data:.2f}",
            "between": _between(one.band),
            "belief": f"{one.memory_belief:.2f}",
            "": "too fast" if one.exceeds else "",
        }
        for one in _most_above(check)
    ]
    levels = [
        {
            "state": one.state,
            "share in data": _percent(one.data),
            "between": f"{_percent(one.band[0])} and {_percent(one.band[1])}",
            "belief": _percent(one.belief),
            "": "differs" if one.differs else "",
        }
        for one in check.levels
    ]
    titles = ("Memory: where data are most above the belief", "Levels: part of the time in each state")
    tables = [Table(rows, title=title) for rows, title in zip((memory, levels), titles, strict=True) if rows]
    return [*tables, *check_charts(check)]


def check_charts(check: BeliefCheck) -> list[Block]:
    """The pictures of a check."""

    if isinstance(check, GaussianCheck):
        caption = "Correlation by the time between values: data against what the belief allows."
        return [picture("fits.correlation_chart", check, caption=caption, name="memory")] if check.lags else []
    count = len({one.state for one in check.lags})
    more = f" The {MOST_PANELS} states with the largest differences are drawn." if count > MOST_PANELS else ""
    caption = (
        "How much more likely a state is some time after itself than otherwise, whatever its share. Shaded: where "
        "chance may put it, for all states and lags at once. Dots: more than the belief allows, so its noise is too "
        f"small.{more}"
    )
    drawn: list[Block] = [picture("fits.memory_chart", check, caption=caption, name="memory")] if check.lags else []
    caption = f"Part of the stays that last longer. Dots: longer than the belief says.{more}"
    return [*drawn, picture("fits.stays_chart", check, caption=caption, name="stays")] if check.stays else drawn


def _of_numbers(check: GaussianCheck, belief: Belief | None) -> list[Block]:
    rows = [
        {
            "after": in_words(one.lag, check.step),
            "data": f"{one.data:.2f}",
            "between": _between(one.band),
            "belief": f"{one.belief:.2f}",
            "": "too fast" if one.exceeds else "less" if getattr(one, "below", False) else "",
        }
        for n, one in enumerate(check.lags)
        if n % 3 == 0 or one.lag == check.lags[-1].lag
    ]
    shown: list[Block] = [Table(rows, title="Correlation, in the data and under the belief")] if rows else []
    if not isinstance(belief, GaussianBelief):
        return [*shown, *check_charts(check)]
    held, shape = belief, check.shape

    removed = "the mean of each subject" if check.rhythm == "none" else f"the mean of each time of {check.rhythm}"
    if check.lags:
        bound = "a bound on its size" if belief.correlation.at_most else "stated exactly"
        caption = (
            f"Correlation of values by the time between them, after {removed} was taken out. Shaded: 97 % for all lags "
            f"at once. The belief's is {bound}. Dots: the data contradict it, and its noise is too small."
        )
        shown.append(
            Group("How long values stay correlated", [picture("fits.correlation_chart", check, held, caption=caption)])
        )
    if shape is not None:
        caption = f"What is left after {removed} was taken out, against a Gaussian with the same spread."
        shown.append(Group("Whether values are Gaussian", [picture("fits.shape_chart", shape, caption=caption)]))
    return shown


def _between(band: tuple[float, float] | None) -> str:
    return "" if band is None else f"{band[0]:.2f} and {band[1]:.2f}"


def _most_above(check: BeliefCheck) -> list[Remembered | Followed]:
    """Of each state the lags at which the belief falls most short, and the pairs of states that refute it."""
    widest: dict[str, Remembered] = {}
    for one in check.lags:
        if one.band is not None and (one.state not in widest or _above(one) > _above(widest[one.state])):
            widest[one.state] = one
    return [*widest.values(), *(pair for pair in check.pairs if pair.exceeds)]


def _above(one: Remembered) -> tuple[bool, float]:
    return one.exceeds, one.memory_data - one.memory_belief


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def other_lines(check: BeliefCheck) -> list[str]:
    """What was found about levels, stays, hours and order."""
    if isinstance(check, GaussianCheck):
        return [part.verdict for part in (check.shape, check.spread) if part is not None]
    lines = _levels(check)
    longer = [one for one in check.stays if one.longer]
    if longer:
        most = max(longer, key=lambda one: one.data - one.belief)
        longest = in_words(most.length, check.step)
        lines.append(
            say("stays-longer", data=percent(most.data), state=most.state, length=longest, belief=percent(most.belief))
        )
    elif check.stays:
        lines.append(say("stays-hold"))
    differing = [one for one in check.hours if one.differs]
    if differing:
        hour = max(differing, key=lambda one: abs(one.data - one.overall))
        shares = {"data": percent(hour.data), "overall": percent(hour.overall), "state": hour.state}
        lines.append(say("hours-differ", first=hour.hour, last=hour.hour + 1, **shares))
    else:
        lines.append(say("hours-hold" if check.hours else "hours-unknown"))
    if check.order is None:
        return [*lines, say("order-unknown")]
    order = check.order
    facts = {"statistic": order.statistic, "degrees": order.degrees, "p_value": order.p_value}
    return [*lines, say("order", gain=100 * order.gain, **facts)]


def _levels(check: BeliefCheck) -> list[str]:
    """The levels that differ most, or that none do."""
    if not check.levels:
        return []
    rows = sorted((one for one in check.levels if one.differs), key=lambda one: -abs(one.data - one.belief))
    if not rows:
        return [say("levels-hold")]
    told = [
        f"{one.state} {percent(one.data)} ({percent(one.band[0])} to {percent(one.band[1])}), {percent(one.belief)} in "
        "the belief"
        for one in rows[:MOST_LEVELS]
    ]
    return [say("levels-differ", told="; ".join(told))]
