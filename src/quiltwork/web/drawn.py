"""What pages show beside the objects of the command: pictures as Vega-Lite, words, edits, and rehearsals."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from quiltwork.beliefs import Belief, MarkovChain
from quiltwork.beliefs.secrets import likely, posterior
from quiltwork.calibration.calibrate import MECHANISMS as NAMES, calibrated, remembering
from quiltwork.calibration.plan import Plan
from quiltwork.data.records import Records
from quiltwork.data.series import Series
from quiltwork.errors import NotCoveredError, ParameterError, QuiltworkError
from quiltwork.fitting import forgotten_after, in_time
from quiltwork.fitting.outcome import BeliefCheck
from quiltwork.fitting.words import in_words
from quiltwork.releases.rehearsal import rehearse, simulated

MOST_ROWS = 240
MOST_STATES = 30  # up to which quilts take no time
MOST_WINDOWS = 366
QUICK = ("quilt-exact", "quilt-approx", "group", "entry")
THIS = "this release"
EXAMPLE = 0.5
HEAT = "How likely each state (column) follows each (row)."
STAYS = "How many stays in a state last longer than some time."
FORGETS = "How often a value is the same again some time later. Lines end where the past no longer matters."
NETWORK = "Parents above children."
CORRELATION = "How strongly values are correlated, at most, by the time between them."
MEMORY = (
    "How much more likely a state is some time after itself than otherwise. Shaded: where chance may put it. Dots: "
    "more than the belief allows, so its noise is too small."
)
LASTING = "Part of the stays that last longer. Dots: longer than the belief says."
COMPARED = "Correlation by the time between values: data against what the belief allows."
MECHANISMS = "The noise on each number, by mechanism (log axis). Further left is better."
PROMISE = "What a secret's probability may become at most, and at least."
REHEARSED = (
    "Simulated data from the belief: true, and as it would be released. Thin lines and shades: the range that the "
    "noise leaves of each true value, with probability 95 %."
)
Picture = dict[str, Any]


def picture(name: str, chart: Any, caption: str) -> Picture:
    """A chart as pages take it."""
    from quiltwork.show.style import to_spec

    return {"name": name, "caption": caption, "spec": to_spec(chart)}


def _filled(shape: dict[str, Any], rows: Mapping[str, Any]) -> dict[str, Any]:
    """A picture with its rows by name, beside those that it has of its own."""
    return shape | {"datasets": shape.get("datasets", {}) | rows}


def of_belief(belief: Belief) -> dict[str, Any]:
    """What the page about a belief shows: pictures, how long stays last and when values are forgotten, questions."""
    from quiltwork.show.memory import forgetting_chart, stays_chart
    from quiltwork.show.plots import drawn

    pictures = []
    if belief.step_variables is None or belief.variables is not None:
        try:
            caption = NETWORK if belief.networks else CORRELATION if belief.real else HEAT
            pictures.append(picture("heat", drawn(belief), caption))
        except ParameterError:  # there is nothing to draw
            pass
    if not belief.real and belief.variables is None:
        for name, make, caption in (("stays", stays_chart, STAYS), ("forgets", forgetting_chart, FORGETS)):
            chart = make(belief)
            if chart is not None:
                pictures.append(picture(name, chart, caption))
    return {
        "charts": pictures,
        "questions": choices(belief),
        "editable": isinstance(belief, MarkovChain),
        "records": belief.variables is not None,
        "real": belief.real,
        "words": _words(belief),
    }


def _words(belief: Belief) -> dict[str, Any]:
    step = {} if belief.step is None or belief.step.steps else {"step": in_words(1, belief.step)}
    if not isinstance(belief, MarkovChain):
        return step
    after = forgotten_after(belief)
    return step | {
        "forgets": None if after is None else in_time(after, belief.step),
        "stays": [None if p >= 1 else in_time(1 / (1 - p), belief.step) for p in belief.transition.diagonal().tolist()],
    }


def choices(belief: Belief) -> list[dict[str, Any]]:
    """Questions that can be asked under a belief, with what they mean.

    >>> from quiltwork import MarkovChain
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


def of_check(found: BeliefCheck) -> dict[str, Any]:
    """The pictures of a check, and what else was found in words."""
    from quiltwork.fitting.gaussian_check import GaussianCheck
    from quiltwork.show.checks import other_lines
    from quiltwork.show.fit import memory_chart, stays_chart
    from quiltwork.show.plots import drawn

    pictures = []
    if isinstance(found, GaussianCheck):
        pictures.append(picture("memory", drawn(found), COMPARED))
    else:
        if found.lags:
            pictures.append(picture("memory", memory_chart(found), MEMORY))
        if found.stays:
            pictures.append(picture("stays", stays_chart(found), LASTING))
    return {"charts": pictures, "more": other_lines(found)}


def of_plan(made: Plan) -> dict[str, Any]:
    """The picture of a plan, the reason for each mechanism's noise, and which one needs the least."""
    best = None if made.best is None else made.best.mechanism
    return {"charts": [of_noise(made)], "reasons": reasons(made), "best": best, "complete": made.complete}


def of_noise(made: Plan) -> Picture:
    """The noise of the mechanisms side by side."""
    from quiltwork.show.losses import noise_rows

    rows, ticks = noise_rows(made)
    spec = _filled(_noise_shape(tuple(row["name"] for row in rows), tuple(ticks)), {"noise": rows})
    return {"name": "mechanisms", "caption": MECHANISMS, "spec": spec}


@lru_cache(maxsize=64)
def _noise_shape(names: tuple[str, ...], ticks: tuple[float, ...]) -> dict[str, Any]:
    from quiltwork.show.losses import noise_shape
    from quiltwork.show.style import narrow, to_spec

    return to_spec(narrow(noise_shape(names, ticks)))


def reasons(made: Plan) -> dict[str, str | None]:
    """Why each mechanism needs this much noise, or why it cannot be used."""
    return {
        offer.mechanism: offer.refused if offer.calibration is None else offer.calibration.reason.sentence()
        for offer in made.offers
    }


def meaning(epsilon: float) -> dict[str, Any]:
    """What ε means for a secret that was as likely as not, with its picture."""
    from quiltwork.show.charts import posterior_rows

    after = posterior(EXAMPLE, epsilon)
    spec = _filled(_promise_shape(), posterior_rows({THIS: epsilon}))
    return {
        "before": EXAMPLE,
        "at_most": after,
        "text": likely(after),
        "chart": {"name": "promise", "caption": PROMISE, "spec": spec},
    }


@lru_cache(maxsize=1)
def _promise_shape() -> dict[str, Any]:
    from quiltwork.show.charts import posterior_shape
    from quiltwork.show.style import to_spec

    return to_spec(posterior_shape([THIS], size=220))


@lru_cache(maxsize=64)
def _shape(shape: Any) -> dict[str, Any]:
    from quiltwork.show.rehearsed import shaped
    from quiltwork.show.style import to_spec

    return to_spec(shaped(shape))


@lru_cache(maxsize=3)
def _simulated(belief: Belief, length: int | None, people: int, seed: int) -> Series | Records:
    """Simulated data; the last ones are kept, because ε changes more often than they do."""
    return simulated(belief, length, people, seed)


def of_rehearsal(belief: Belief, made: Plan, ask: Mapping[str, Any]) -> dict[str, Any]:
    """How the answer would look on simulated data; or why that cannot be shown."""
    from quiltwork.show.rehearsed import compared, parts

    offer = made.best
    length, window, people = made.length, ask.get("window"), ask.get("people") or 1
    if offer is None or offer.calibration is None:
        return {"rows": [], "why_not": "no mechanism has a guarantee here."}
    if window is not None and length is not None and length > MOST_WINDOWS * window:
        return {"rows": [], "why_not": f"At most {MOST_WINDOWS} windows are drawn. Choose longer ones."}
    try:
        data = _simulated(belief, length, people, ask.get("seed", 0))
        rehearsal = rehearse(belief, offer.calibration, length=length, people=people, window=window, data=data)
    except QuiltworkError as problem:
        return {"rows": [], "why_not": f"{problem.what}{'' if problem.why is None else f': {problem.why}'}."}
    rows = compared(rehearsal)
    shape, by_name = parts(rehearsal, rows)
    chart = {"name": "answer", "caption": REHEARSED, "spec": _filled(_shape(shape), by_name)}
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
