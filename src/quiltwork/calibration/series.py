"""Noise that is enough for every one of some series: with gaps, of different lengths, or from a later segment on."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from quiltwork.beliefs import Belief
from quiltwork.calibration.calibrate import CONTIGUOUS, SINGLE, calibrated, takes_long
from quiltwork.calibration.record import Calibration
from quiltwork.calibration.request import Request
from quiltwork.data import Series
from quiltwork.errors import NotCoveredError
from quiltwork.types import Gaps

WORTHWHILE = 0.999  # of the usual noise: for less of a gain, the mechanism whose releases add up


@dataclass(frozen=True)
class ForSeries:
    """Noise for some series: the belief that holds for them, and the most values of one series that it covers."""

    belief: Belief
    calibration: Calibration
    covered: int


def for_series(series: Series, request: Request) -> ForSeries:
    """The belief that holds for these series, and noise that is enough for every one of them."""
    chains = _chains(series, request.belief, request.gaps)
    held, longest = chains.belief, chains.longest
    asked = replace(request, belief=held)

    def of_length(length: int | None) -> Calibration:
        return calibrated(replace(asked, length=length))

    with_gaps = series.shape.uneven or (request.gaps == "dependent" and series.gaps > 0)
    beyond = _reaches_beyond(series, request)
    name = request.mechanism or held.default_mechanism
    if beyond and name not in ("curve", "group"):
        raise NotCoveredError(
            f"mechanism {name} does not cover secrets {request.secrets.text} here",
            got="a budget, a segment or series with gaps",
            why="values beyond those released are secret too, and its theorem is about the values released",
            fix="Use curve or group, or secrets all",
        )
    if (with_gaps or beyond) and request.guarantee == "bayesian" and name != "group":
        calibration = of_length(None)  # for every length: what is not recorded has the profile 0
    elif (with_gaps or beyond) and name == "curve":
        calibration = _across_gaps(asked, longest, beyond=beyond)
    else:
        calibration = of_length(longest)
    calibration = with_a_promise(calibration)
    if with_gaps and calibration.mechanism in CONTIGUOUS:
        raise NotCoveredError(
            f"mechanism {calibration.mechanism} does not cover series with gaps",
            why="it only covers values without gaps between them",
            fix="Use quilt-exact, or declare the stretches independent",
        )
    others = [length for length in chains.others if request.secrets.within(length)]
    if calibration.one_length:
        calibration = _largest([calibration, *map(of_length, others)])
    if request.mechanism is None and request.alone and not (with_gaps or beyond) and not request.divided:
        calibration = least_noise(asked, calibration, [longest, *others])
    return ForSeries(held, calibration, longest)


def _reaches_beyond(series: Series, request: Request) -> bool:
    """Whether the promise has to hold for values that are not released, and only some pairs of states are secret.

    Values beyond those released are mixtures of all states at the ends, not of secret pairs only (Statement 63): what
    holds for every length covers them.
    """
    secrets = request.secrets
    if secrets.times is not None and secrets.times.positions and not series.shape.certain:
        raise NotCoveredError(
            "secret positions need series without gaps",
            got="positions that are not known",
            why="which values they are depends on what was not recorded",
            fix="Leave the positions out",
        )
    if secrets.on(request.belief).everything:
        return False
    return not request.alone or series.segment is not None or not series.shape.certain


def least_noise(request: Request, usual: Calibration, lengths: Sequence[int | None]) -> Calibration:
    """The calibration with the least noise among those that give the same promise and do not take long."""
    best = usual
    for name in SINGLE if request.guarantee == "pufferfish" and request.delta == 0 else ():
        if any(takes_long(name, replace(request, length=length)) for length in lengths):
            continue
        with suppress(NotCoveredError):
            found = _largest([calibrated(replace(request, mechanism=name, length=length)) for length in lengths])
            best = found if found.noise_scale < WORTHWHILE * best.noise_scale else best
    return best


def _largest(calibrations: list[Calibration]) -> Calibration:
    return max(calibrations, key=lambda candidate: candidate.noise_scale)


class _Chains(NamedTuple):
    """The belief to calibrate for, the longest chain, and the lengths of all other chains."""

    belief: Belief
    longest: int
    others: list[int]


def _across_gaps(request: Request, joined: int, *, beyond: bool) -> Calibration:
    """By the curve for every length, which covers gaps of any length: what is not recorded has the profile 0.

    Where a series may never forget, quilts over the joined stretches still hold, if all pairs of states are secret.
    """
    try:
        return calibrated(replace(request, length=None, mechanism="curve"))
    except NotCoveredError:
        fallback = "quilt-exact" if request.belief.chains and not beyond else "group"
        return calibrated(replace(request, length=joined, mechanism=fallback))


def _chains(series: Series, belief: Belief, gaps: Gaps) -> _Chains:
    """The chains that noise has to cover.

    Skipping a gap brings nodes nearer than they are, and influence falls with distance, so a subject's stretches may be
    joined. The law of a node after a gap is not that of the first node, unless it is stationary, and no more is that of
    a later segment's first node. Any start covers them all.
    """
    shape = series.shape
    if not shape.certain or (series.segment is not None and series.segment[0] > 1):
        belief = belief.without_given_start()
    if belief.step_variables is not None and series.segment is not None:
        belief = belief.without_network()  # the network of some steps says nothing about the others
    if gaps == "dependent":
        # one more for a value that was not recorded: it too is to be hidden, wherever in a gap it was
        lengths = {values + (stretches > 1 or shape.uneven) for values, stretches in shape.chains}
    else:
        lengths = {values + shape.uneven for values in series.stretch_lengths}
    return _Chains(belief, max(lengths), sorted(lengths - {max(lengths)}))


def with_a_promise(found: Calibration) -> Calibration:
    """Refuse noise that is for comparison only."""
    if found.guarantee == "none":
        raise NotCoveredError(
            f"mechanism {found.mechanism} is for comparison only",
            why="it gives no guarantee on correlated data",
            fix="Leave mechanism= out",
        )
    return found
