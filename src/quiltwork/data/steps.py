"""Whether a belief and data are about the same steps: a chain for minutes says nothing true about hours."""

import json

from quiltwork.beliefs import Belief
from quiltwork.data.series import POSITIONS, Series
from quiltwork.errors import DataError, NotCoveredError
from quiltwork.types import SAME_SPAN, Duration

NO_STEP = (
    "The belief does not say how much time passes from one value to the next, so it cannot be compared with the data. "
    'Add it to the belief file: "step": "15min", or 1 for values without times.'
)


def check_step(series: Series, belief: Belief) -> tuple[str, ...]:
    """Refuse data whose step is not the belief's; what could not be checked is said in the notes that come back.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], step="15min")
    >>> check_step(Series.from_values("0110", states=chain.states), chain)
    ("The data has no times; the belief's step of 15min was taken on trust.",)
    """
    wanted = belief.step
    if wanted is None:
        return (NO_STEP,)
    spacing = series.spacing
    if spacing is None:
        return (f"The data's times have no usual spacing; the belief's step of {wanted} was taken on trust.",)
    least, most = spacing
    if series.reading.time is None and not wanted.steps:
        return (f"The data has no times; the belief's step of {wanted} was taken on trust.",)
    low, high = least.length * (1 - SAME_SPAN), most.length * (1 + SAME_SPAN)
    if wanted.steps == least.steps and low <= wanted.length <= high:
        return ()
    raise _other_step(wanted, least, series, belief)


def _other_step(wanted: Duration, found: Duration, series: Series, belief: Belief) -> DataError:
    return DataError(
        f"the belief is about steps of {_named(wanted)}",
        got=f"data in steps of {_named(found)}",
        why="the noise is for how fast values forget each other from step to step",
        fix=_remedy(wanted, found, series, belief),
    )


def _named(step: Duration) -> str:
    return "1 (plain positions)" if step == POSITIONS else str(step)


def _remedy(wanted: Duration, found: Duration, series: Series, belief: Belief) -> str:
    if wanted.steps != found.steps:
        return f'If a step of the belief is {found}, write "step": {json.dumps(found.plain)} into the belief file'
    if wanted.multiple(of=found) is not None:
        if series.reading.time is None:
            return "Keep only every so many values, or use a belief about single steps"
        return f"Keep one row per step of the belief: every='{wanted}'"
    times = found.multiple(of=wanted)
    if times is not None:
        try:
            belief.every(times)
        except NotCoveredError:
            pass
        else:
            rows = ", or leave time= out if a step is one row" if wanted == POSITIONS else ""
            return f"Make a belief for the data's step: quiltwork belief every BELIEF {times} --out NEW.json{rows}"
    return f"Use a belief with a step of {found}"
