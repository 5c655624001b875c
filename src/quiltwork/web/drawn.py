"""What pages show beside the objects of the command: questions to choose from, pictures, and rehearsals."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from quiltwork.beliefs import Belief, MarkovChain
from quiltwork.beliefs.secrets import likely, posterior
from quiltwork.calibration.calibrate import MECHANISMS as NAMES, calibrated, remembering
from quiltwork.calibration.plan import Plan
from quiltwork.data.records import Records
from quiltwork.data.series import Series
from quiltwork.errors import NotCoveredError, QuiltworkError
from quiltwork.fitting import forgotten_after, in_time
from quiltwork.fitting.outcome import BeliefCheck
from quiltwork.fitting.words import in_words
from quiltwork.releases.rehearsal import rehearse, simulated
from quiltwork.view.of_belief import belief_charts, check_charts, choices, other_lines
from quiltwork.view.of_plan import reason_of
from quiltwork.view.view import Block, plain
from quiltwork.view.words import say

MOST_ROWS = 240
MOST_STATES = 30  # up to which quilts take no time
MOST_WINDOWS = 366
QUICK = ("quilt-exact", "quilt-approx", "group", "entry")
THIS = "this release"
EXAMPLE = 0.5
Picture = dict[str, Any]


def of_belief(belief: Belief) -> dict[str, Any]:
    """What the page about a belief shows: pictures, how long stays last and when values are forgotten, questions."""
    return {
        "charts": _pictures(belief_charts(belief)),
        "questions": choices(belief),
        "editable": isinstance(belief, MarkovChain),
        "records": belief.variables is not None,
        "real": belief.real,
        "words": _words(belief),
    }


def _pictures(charts: Sequence[Block]) -> list[Picture]:
    return [found for found in map(plain, charts) if found is not None]


def _words(belief: Belief) -> dict[str, Any]:
    step = {} if belief.step is None or belief.step.steps else {"step": in_words(1, belief.step)}
    if not isinstance(belief, MarkovChain):
        return step
    after = forgotten_after(belief)
    return step | {
        "forgets": None if after is None else in_time(after, belief.step),
        "stays": [None if p >= 1 else in_time(1 / (1 - p), belief.step) for p in belief.transition.diagonal().tolist()],
    }


def of_check(found: BeliefCheck) -> dict[str, Any]:
    """The pictures of a check, and what else was found in words."""
    return {"charts": _pictures(check_charts(found)), "more": other_lines(found)}


def of_plan(made: Plan) -> dict[str, Any]:
    """The picture of a plan, the reason for each mechanism's noise, and which one needs the least."""
    best = None if made.best is None else made.best.mechanism
    return {"charts": [of_noise(made)], "reasons": reasons(made), "best": best, "complete": made.complete}


def of_noise(made: Plan) -> Picture:
    """The noise of the mechanisms side by side."""
    from quiltwork.view.charts.losses import noise_spec

    return {"name": "mechanisms", "caption": say("chart-mechanisms"), "spec": noise_spec(made)}


def reasons(made: Plan) -> dict[str, str | None]:
    """Why each mechanism needs this much noise, or why it cannot be used."""
    return {
        offer.mechanism: offer.refused if offer.calibration is None else reason_of(offer.calibration)
        for offer in made.offers
    }


def meaning(epsilon: float) -> dict[str, Any]:
    """What ε means for a secret that was as likely as not, with its picture."""
    from quiltwork.view.charts.losses import posterior_spec

    after = posterior(EXAMPLE, epsilon)
    chart = {"name": "promise", "caption": say("chart-promise"), "spec": posterior_spec(THIS, epsilon)}
    return {"before": EXAMPLE, "at_most": after, "text": likely(after), "chart": chart}


@lru_cache(maxsize=3)
def _simulated(belief: Belief, length: int | None, people: int, seed: int) -> Series | Records:
    """Simulated data; the last ones are kept, because ε changes more often than they do."""
    return simulated(belief, length, people, seed)


def of_rehearsal(belief: Belief, made: Plan, ask: Mapping[str, Any]) -> dict[str, Any]:
    """How the answer would look on simulated data; or why that cannot be shown."""
    from quiltwork.view.charts.releases import compared, rehearsal_spec

    offer = made.best
    length, window, people = made.length, ask.get("window"), ask.get("people") or 1
    if offer is None or offer.calibration is None:
        return {"rows": [], "why_not": say("not-rehearsed")}
    if window is not None and length is not None and length > MOST_WINDOWS * window:
        return {"rows": [], "why_not": say("too-many-windows", most=MOST_WINDOWS)}
    try:
        data = _simulated(belief, length, people, ask.get("seed", 0))
        rehearsal = rehearse(belief, offer.calibration, length=length, people=people, window=window, data=data)
    except QuiltworkError as problem:
        return {"rows": [], "why_not": f"{problem.what}{'' if problem.why is None else f': {problem.why}'}."}
    rows = compared(rehearsal)
    chart = {"name": "answer", "caption": say("chart-rehearsed"), "spec": rehearsal_spec(rehearsal, rows)}
    return {"rows": rows[:MOST_ROWS], "all_rows": len(rows), "chart": chart}


def spans(belief: Belief, length: int | None, window: int | None) -> dict[str, str | None]:
    """A length and a window as people say it."""
    return {
        "length": None if length is None else in_words(length, belief.step),
        "window": None if window is None else in_words(window, belief.step),
    }


calibrated_once = remembering(calibrated, most=512)
"""How much noise a request needs; what this worker has calibrated before is not calibrated again."""


def quick(belief: Belief) -> list[str]:
    """Mechanisms whose noise is found while a slider moves: the usual one, and those that take no time beside it."""
    names = belief.mechanisms or NAMES
    at_once = QUICK if belief.chains and len(belief.states) <= MOST_STATES else ("group", "entry")
    return [name for name in names if name == belief.default_mechanism or name in at_once]


def others(belief: Belief, made: Plan) -> list[str]:
    """Mechanisms that were not tried."""
    tried = {offer.mechanism for offer in made.offers}
    return [name for name in belief.mechanisms or NAMES if name not in tried]


def refused(made: Plan) -> None:
    """Refuse a plan in which every mechanism is."""
    if all(offer.refused for offer in made.offers):
        raise NotCoveredError(" ".join(offer.refused or "" for offer in made.offers).rstrip("."))
