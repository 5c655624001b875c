"""The verdict of a check in words, and what follows from it."""

from collections.abc import Sequence
from dataclasses import replace

from quiltwork.beliefs.checked import Outcome
from quiltwork.fitting.outcome import BeliefCheck, Followed, Remembered, Together
from quiltwork.fitting.words import in_words, percent
from quiltwork.types import Duration

CLEAR = 0.15
"""Data hold a belief up if they would have shown this much more memory at every time that is looked at."""
LONGER = 0.1
"""How much less memory there must be than the belief says, for the belief to be called too careful."""
VAGUE = 0.25
"""Data that would not have shown this much more memory from one value to the next say nothing."""
ORDER_MATTERS = 0.02
"""The part of the uncertainty about the next value that the value before last must take away."""
NOTHING = "Nothing needs to change."
TOO_SHORT = "This data is too short to support any belief well. Use longer data, or more subjects."
A_SET = (
    "The noise is for the belief's levels: fit a belief to each person or home, and put them into one belief file of "
    "kind set. Its promise is for those who know which member holds; quiltwork belief show says what it is for others."
)
LONGER_MEMORY = "Fit a belief that remembers longer to data of this kind: quiltwork belief fit."


def worded(check: BeliefCheck, *, first_order: bool) -> BeliefCheck:
    """The check with its outcome, its verdict and what to do, in words."""
    levels = _levels_in_words(check)
    if check.forgets_too_fast:
        verdict = f"The belief forgets too fast: {_where(check)}"
        return replace(check, outcome="refuted", verdict=verdict + levels, remedy=LONGER_MEMORY)
    seen = check.would_show
    if not seen or seen[0][1] > VAGUE:
        few = f"{check.values:,} values are too few to tell whether the belief fits."
        return replace(check, verdict=few, remedy=TOO_SHORT)
    vague = [(lag, memory) for lag, memory in seen if memory > CLEAR]
    verdict = _safe(check) or _unsure(check, vague) or _held_up(check)
    order = check.order
    if first_order and order is not None and order.significant and order.gain >= ORDER_MATTERS:
        verdict += " But the value before last still matters, which it does not know."
    outcome: Outcome = "not refuted" if vague else "holds"
    remedy = A_SET if check.levels_differ else NOTHING
    return replace(check, outcome=outcome, verdict=verdict + levels, remedy=remedy)


def _held_up(check: BeliefCheck) -> str:
    """How far the data looked, and what they would have shown."""
    span = f"from {in_words(1, check.step)} to {in_words(max(one.last for one in check.together), check.step)}"
    told = [f"{memory:.2g} after {in_words(lag, check.step)}" for lag, memory in check.would_show]
    listed = told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
    return (
        f"The belief holds: memory is nowhere above the belief's, {span}. Over all states, this data would have shown "
        f"{listed} more than it says."
    )


def _unsure(check: BeliefCheck, vague: Sequence[tuple[int, float]]) -> str:
    """What the data would not have shown; nothing if they would have shown enough."""
    if not vague:
        return ""
    lag, memory = max(vague, key=lambda one: one[1])
    return (
        f"Not refuted, but {check.values:,} values would not have shown less than {memory:.2g} more memory after "
        f"{in_words(lag, check.step)}."
    )


def _safe(check: BeliefCheck) -> str:
    """Where the belief remembers far longer than the data, by more than chance."""
    above = [one for one in check.lags if one.band is not None and one.memory_belief > one.band[1] + LONGER]
    most = max(above, key=lambda one: one.memory_belief - one.memory_data, default=None)
    if most is None:
        return ""
    return (
        f"The belief remembers longer than the data, which is safe but costs noise: {_later(most, check.step)}, "
        f"{most.state} is {_more(most.memory_data)} after {most.state} than otherwise; the belief says "
        f"{_number(most.memory_belief)}."
    )


def _where(check: BeliefCheck) -> str:
    """Where the data remember most above the belief."""
    worst = check.worst
    if worst is None:
        return ""
    if isinstance(worst, Together):
        who = f"over all states, values are {_more(worst.memory_data)} to be the same again than by chance"
    else:
        after = worst.after if isinstance(worst, Followed) else worst.state
        who = f"{worst.state} is {_more(worst.memory_data)} after {after} than otherwise"
    return f"{_later(worst, check.step)}, {who}; the belief says {_number(worst.memory_belief)}."


def _number(memory: float) -> str:
    return f"{abs(memory) if abs(memory) < 0.005 else memory:.2f}"


def _more(memory: float) -> str:
    return f"{_number(memory)} more likely"


def _later(row: Remembered | Followed | Together, step: Duration | None) -> str:
    first, last = row.first or row.lag, row.last or row.lag
    if first < row.lag < last:
        return f"about {in_words(row.lag, step)} later"
    if first == last:
        return f"{in_words(first, step)} later"
    begin = f"{first:,}" if step is None or step.steps else in_words(first, step)
    return f"{begin} to {in_words(last, step)} later"


def _levels_in_words(check: BeliefCheck) -> str:
    differing = [one for one in check.levels if one.differs]
    if not differing:
        return ""
    most = max(differing, key=lambda one: abs(one.data - one.belief))
    also = "Levels differ too" if check.forgets_too_fast else "Levels differ (memory does not)"
    told = f"{most.state} {percent(most.data)} here"
    if check.subjects > 1:
        most = max(differing, key=lambda one: (one.series, abs(one.data - one.belief)))
        told = f"{most.state} {percent(most.least)} to {percent(most.most)} in one series or another"
    return f" {also}: {told}, {percent(most.belief)} in the belief."
