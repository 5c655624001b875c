"""What a check of a belief found, in words."""

from quiltwork.fitting.gaussian_check import GaussianCheck
from quiltwork.fitting.outcome import BeliefCheck
from quiltwork.fitting.words import in_words, percent

MOST_LEVELS = 3


def check_title(check: BeliefCheck) -> str:
    """The outcome as a heading."""
    return {
        "refuted": "This belief forgets too fast",
        "holds": "This belief holds",
        "not refuted": "This belief is not refuted",
    }[check.outcome]


def other_lines(check: BeliefCheck) -> list[str]:
    """What was found about levels, stays, hours and order, in words."""
    if isinstance(check, GaussianCheck):
        return [part.verdict for part in (check.shape, check.spread) if part is not None]
    lines = _levels(check)
    longer = [one for one in check.stays if one.longer]
    if longer:
        most = max(longer, key=lambda one: one.data - one.belief)
        lines.append(
            f"Stays: {percent(most.data)} of those in {most.state} last longer than "
            f"{in_words(most.length, check.step)}, the belief says {percent(most.belief)}."
        )
    elif check.stays:
        lines.append("Stays: none last longer than the belief says, by more than chance.")
    differing = [one for one in check.hours if one.differs]
    if differing:
        most_hour = max(differing, key=lambda one: abs(one.data - one.overall))
        lines.append(
            f"Time of day: from {most_hour.hour}:00 to {most_hour.hour + 1}:00 {percent(most_hour.data)} are in "
            f"{most_hour.state}, at all hours {percent(most_hour.overall)}."
        )
    else:
        known = "no hour differs from the others by more than chance" if check.hours else "not enough days with dates"
        lines.append(f"Time of day: {known}.")
    if check.order is None:
        lines.append("Value before last: too few values to tell.")
    else:
        order = check.order
        lines.append(
            f"Value before last: it takes away {100 * order.gain:.2g} % of the uncertainty about the next value "
            f"(G = {order.statistic:.4g} with {order.degrees} degrees of freedom, p = {order.p_value:.2g})."
        )
    return lines


def _levels(check: BeliefCheck) -> list[str]:
    """The levels that differ most, or that none do."""
    if not check.levels:
        return []
    rows = sorted((one for one in check.levels if one.differs), key=lambda one: -abs(one.data - one.belief))
    if not rows:
        return ["Levels: nowhere does the share of a state differ from the belief's by more than chance."]
    told = [
        f"{one.state} {percent(one.data)} ({percent(one.band[0])} to {percent(one.band[1])}), {percent(one.belief)} in "
        "the belief"
        for one in rows[:MOST_LEVELS]
    ]
    return [f"Levels: {'; '.join(told)}. They do not refute the belief, but its noise is for its own shares."]
