"""Does a belief fit public data, and if not, which one does and what noise it needs."""

from dataclasses import replace
from typing import Unpack

from quiltwork.beliefs import Belief, Believed, as_belief
from quiltwork.calibration.calibrate import calibrate
from quiltwork.data.held import Reads, held_series, reads
from quiltwork.data.series import Series
from quiltwork.errors import NotCoveredError, ParameterError
from quiltwork.fitting.autocorrelation import Rhythm
from quiltwork.fitting.check import check_memory
from quiltwork.fitting.outcome import BeliefCheck
from quiltwork.fitting.remedies import Remedy, tried
from quiltwork.fitting.verdict import A_SET
from quiltwork.forks import working
from quiltwork.question import Histogram

TOGETHER = "No other kind of belief is there for people together: use longer steps (--every), or more data."


@reads
@working()
def check_belief(
    belief: Believed, data: object, *, remedies: bool = True, rhythm: Rhythm = "auto", **reading: Unpack[Reads]
) -> BeliefCheck:
    """Compare a belief with public data: never with the data that is to be protected, which the result would reveal.

    The data are given as to :func:`release`: a file or a table with its ``column``, ``subject`` and ``time``, values,
    or series that were read.

    What is compared is memory: how much more likely a state is some time after a state than otherwise, for each two
    states and for all together, relative to how much each series does of it (under a cycle, at each time of it). Lags
    go in bands (1, 2, 3 to 4, 5 to 8, .. and round 1, 2 and 7 days) up to an eighth of a series, or a quarter where
    there are eight subjects or more. What to expect of an estimate is learned from some 200 data sets that the belief
    makes up with the same subjects, lengths and gaps, and as many with the shares of the data. A true belief is called
    too forgetful in at most 1 of 20 data sets.

    Levels (shares) that differ are reported apart: they do not refute a belief. Every series must fit some member of a
    set. A belief that is refuted comes with what was tried instead and passes, with its noise; ``remedies=False``
    leaves that out.

    >>> from quiltwork.samples import diary_belief, diary_path
    >>> found = check_belief(diary_belief(), diary_path(), column="activity", subject="person", time="time")
    >>> found.outcome, found.levels_differ
    ('holds', False)

    A Gaussian belief is compared with numbers by their correlation: the result is then a :class:`GaussianCheck`.
    ``rhythm`` is that of :func:`fit_gaussian`.
    """
    belief = as_belief(belief)
    if not belief.real:
        belief.again([1])  # refused at once by beliefs that cannot say
        if rhythm != "auto":
            raise ParameterError("rhythm= is for numbers", got="a belief about states", fix="Leave it out")
    series = held_series(data, belief, reading)
    check = check_memory(belief, series, rhythm=rhythm)
    if not (remedies and check.forgets_too_fast) or belief.real:
        return check
    return replace(check, remedy=_in_words(belief, series) + (f" {A_SET}" if check.levels_differ else ""))


def _in_words(belief: Belief, series: Series) -> str:
    """What was tried, and what came of it."""
    found, failed = tried(belief, series)
    refuted = f" Also refuted: {', '.join(failed)}." if failed else ""
    if found is None:
        return f"Nothing that was tried fits this data.{refuted}" if failed else TOGETHER
    return f"{_passes(found)} {_noise(belief, found)}{refuted} Check it again on other data."


def _passes(found: Remedy) -> str:
    return f"Fitted to this data and not refuted by it: {found.name} (quiltwork belief fit{found.option})."


def _noise(belief: Belief, found: Remedy) -> str:
    """The noise of a histogram under both beliefs."""
    new, old = _scale(found.belief), _scale(belief)
    if new is None:
        return ""
    instead = "" if old is None else f", where this belief has {old:.3g}"
    return f"A histogram at ε = 1 then needs noise of scale {new:.3g}{instead}."


def _scale(belief: Belief) -> float | None:
    try:
        return calibrate(Histogram(), belief=belief, epsilon=1.0).noise_scale
    except NotCoveredError:
        return None
