"""Making a release: check and calibrate first, count and draw afterwards."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Unpack

from quiltwork.beliefs import Believed, Secrets, as_belief
from quiltwork.beliefs.checked import Checked
from quiltwork.calibration.calibrate import calibrated
from quiltwork.calibration.record import Calibration
from quiltwork.calibration.request import Request
from quiltwork.calibration.series import ForSeries, for_series, least_noise, with_a_promise
from quiltwork.calibration.split import split
from quiltwork.data import Countable, Series, Window
from quiltwork.data.held import Reads, check_step, held, reads
from quiltwork.data.records import Records
from quiltwork.errors import DataError, NotCoveredError, ParameterError
from quiltwork.fitting.outcome import BeliefCheck, as_checked
from quiltwork.forks import working
from quiltwork.influence.delta import check_delta_for
from quiltwork.question import Questions
from quiltwork.question.groups import all_sized
from quiltwork.releases.prepared import Answer, Prepared, check_asked, recorded, shorter
from quiltwork.releases.result import Release
from quiltwork.types import Gaps, Guarantee, NoiseChoice, Segment

SINGLE_RELEASE = (
    "The noise is the least for a single release. Later releases of the same data add up by their noise, not by their "
    "ε. If there will be more, keep a ledger or choose mechanism curve."
)
UNEVEN = (
    "The times are not evenly spaced, so the noise also covers values in between that were not recorded. With a gap "
    "option, pauses up to that gap count as one step, and longer ones split the series."
)
BY_ORDER = "Rows were matched to variables by their order ({}); to be sure, name the column with the variable."
MOST_STEPS = 2**55  # noise of a larger scale would not fit into 64-bit integers


@reads
@working()
def release(  # noqa: PLR0913 - the public signature is meant to be read
    data: object,
    query: Questions,
    *,
    belief: Believed,
    epsilon: float,
    mechanism: str | None = None,
    gaps: Gaps = "dependent",
    delta: float = 0.0,
    noise: NoiseChoice = "laplace",
    guarantee: Guarantee = "pufferfish",
    secrets: Secrets | str | None = None,
    quilt_size: int | None = None,
    window: str | int | None = None,
    by_subject: bool = False,
    spread: float | None = None,
    anyway: bool = False,
    check: Checked | BeliefCheck | None = None,
    despite_check: bool = False,
    segment: Segment | None = None,
    **reading: Unpack[Reads],
) -> Release:
    """Answer a query about the data with noise that hides every single value under the belief.

    The data are a file or a pattern of files, a table of polars, pandas, PyArrow, DuckDB or PySpark, values in time
    order, or what was read before. ``column``, ``subject``, ``time`` and the other settings of :func:`read_series` say
    how a file or a table is read; states are those of the belief. ``segment`` is the first and the last position that
    the answer is about. The belief may be what a fit found.

    Subjects are independent of one another and each is protected; their number and lengths are public. The stretches
    that gaps leave of one subject's series are taken as parts of one chain; ``gaps="independent"`` declares that
    nothing is remembered across a gap (only do this if you know it is true). ``guarantee="bayesian"`` is Bayesian
    differential privacy: the guarantee then also holds against adversaries who know any other values. ``secrets`` says
    what is to be kept apart (see :class:`Secrets`); every two states of every value if left out. With a ``delta`` the
    noise may be ``"gaussian"``, or the ``"best"``: see :func:`calibrate`.

    ``window`` (``"day"``, ``"hour"`` or a number of values) gives one answer per window, ``by_subject`` one per
    subject. Every value is in one of them only, so the noise is that of a single answer, and it is one release.

    Several queries are answered in one release, in which they share ε: see ``Release.questions``.

    An answer that would be noise only (its ± is more than half of what it can range over) is refused, and nothing is
    spent, unless you say ``anyway``. For real values ``spread`` says how wide the range is that they lie in, if the
    belief does not.

    ``check`` is what :func:`check_belief` found about the belief on public data; if left out, what the belief's file
    says. It stands beside ε in the result. A belief that was refuted is not used,
    unless you say ``despite_check``.

    Under a network or a joint table the data are records: a column for each variable, or a mapping of variables to
    states each. They are independent of one another, and every value of every record is protected.

    >>> from quiltwork import Histogram, MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["sit", "walk"])
    >>> result = release(["sit"] * 300 + ["walk"] * 100, Histogram(), belief=chain, epsilon=1.0)
    >>> sorted(result.value), round(result.noise_scale, 3), result.error(0.95)
    (['sit', 'walk'], 6.673, 10.0)
    >>> import polars as pl
    >>> table = pl.DataFrame({"day": [1, 2, 3, 4], "doing": ["sit", "walk", "sit", "sit"]})
    >>> release(table, "count:walk", belief=chain, epsilon=1.0, column="doing", time="day", anyway=True).values
    4
    """
    belief = as_belief(belief)
    request = Request.of(
        query,
        belief=belief,
        epsilon=epsilon,
        mechanism=mechanism,
        delta=delta,
        noise=noise,
        guarantee=guarantee,
        secrets=Secrets.of(secrets),
        quilt_size=quilt_size,
        gaps=gaps,
        window=window,
        by_subject=by_subject,
        spread=spread,
        anyway=anyway,
        checked=as_checked(check, belief),
        despite_check=despite_check,
        alone=True,
    )
    return prepare(held(data, belief, reading, gaps=gaps, segment=segment), request).draw()


@working()
def prepare(data: object, request: Request) -> Prepared:
    """Check and calibrate a release. The function, sessions and the command all come through here."""
    request.check_belief()
    if not request.alone:
        request = replace(request, belief=request.belief.without_network())  # with a budget, series may go on
    belief = request.belief
    found = held(data, belief)
    window = None if request.window is None else Window.parse(request.window)
    if isinstance(found, Records):
        if window is not None or request.by_subject:
            raise ParameterError("windows and subjects are for series", got="a belief about records")
        prepared = _of_records(found, split(request))
    elif belief.real:
        from quiltwork.releases.measured import of_measurements  # it needs polars, which loads slowly

        prepared = of_measurements(found, request, window)
    else:
        series = found
        if not request.alone:
            series.reading.check_positions()
        check_asked(series, request.asked, window, request.by_subject)
        if request.quilt_size is not None:
            raise ParameterError(
                "quilt_size is for networks", got=str(request.quilt_size), why="on a chain two nodes are enough"
            )
        about_steps = check_step(series, belief)
        request = replace(request, query=all_sized(request.query, series))
        known = series.longest if series.shape.certain else None
        request = replace(request, query=split(replace(request, length=known)).query)
        ready = for_series(series, request)
        prepared = of_series(series, request, ready, window, about_steps)
    check_delta_for(prepared.calibration.delta, prepared.sizes[0])
    if prepared.calibration.noise_scale == 0 and prepared.calibration.lipschitz > 0:
        raise ParameterError("the noise scale must be positive", got="0", why="a value would be released without noise")
    if any(
        one.question.integer and one.calibration.noise_scale > MOST_STEPS * one.unit
        for one in prepared.each or (prepared,)
    ):
        raise ParameterError(
            "epsilon is too small for these series",
            got=f"{request.epsilon:g}",
            why="the noise would not fit into 64-bit integers",
            fix="Use a larger epsilon",
        )
    return replace(prepared, again=lambda epsilon: prepare(found, replace(request, epsilon=epsilon)))


def of_series(
    series: Series, request: Request, ready: ForSeries, window: Window | None, about_steps: tuple[str, ...]
) -> Prepared:
    """A release of series, once its noise is known."""
    asked, by_subject = request.asked, request.by_subject

    def of_part(part: Countable, name: str) -> list[Answer]:
        links = int(part.transitions().sum()) if asked.linked else None
        return [
            Answer(one.evaluate(part), one.values_in(part.size), name, one.limits(part.size, links), n)
            for n, one in enumerate(asked.questions)
        ]

    def answers() -> list[Answer]:
        if window is None and not by_subject:
            _check_unchanged(series, [series], asked.linked)
            return of_part(series, "")
        parts = series.parts(window=window, by_subject=by_subject, transitions=asked.linked)
        _check_unchanged(series, parts.values(), asked.linked)
        return [answer for name, part in parts.items() for answer in of_part(part, name)]

    certain = series.shape.certain
    first = 1 if series.segment is None else series.segment[0]
    record = recorded(
        asked.said,
        ready.belief,
        ready.calibration,
        series.reading,
        segment=series.segment,
        length=first + series.longest - 1 if certain else ready.covered,
        lengths=shorter(series, first) if certain else (),
        window=None if window is None else window.span if window.kind == "values" else window.kind,
        gaps=None if certain else request.gaps if series.gaps or series.shape.uneven else "late",
    )
    return Prepared(
        request,
        ready.belief,
        ready.calibration,
        record,
        answers=answers,
        asked=asked,
        unit=asked.questions[0].unit,
        sizes=(series.subjects, series.size),
        about=series.about,
        notes=(
            *about_steps,
            *((UNEVEN,) if series.shape.uneven else ()),
            *((SINGLE_RELEASE,) if request.mechanism is None and ready.calibration.one_length else ()),
        ),
    ).with_each()


def _check_unchanged(series: Series, parts: Iterable[Countable], followed: bool) -> None:
    """Files may change while they are read: the noise is for as many values as there were before."""
    parts = list(parts)
    told = sum(int(part.counts().sum()) for part in parts)
    steps = sum(int(part.transitions().sum()) for part in parts) if followed else None
    if told != series.size or steps not in (None, series.size - series.subjects - series.gaps):
        raise DataError(
            "the data must not change while they are read",
            got="a different number of values than before",
            why="the noise is calibrated for the lengths that were read first",
        )


def _of_records(records: Records, request: Request) -> Prepared:
    calibration = usual = with_a_promise(calibrated(request))
    if request.mechanism is None and request.alone:
        calibration = least_noise(request, usual, [request.length])
    return of_records(records, request, calibration, (SINGLE_RELEASE,) if calibration is not usual else ())


def of_records(records: Records, request: Request, calibration: Calibration, about: tuple[str, ...]) -> Prepared:
    """A release of records, once its noise is known."""
    asked, belief = request.asked, request.belief
    by_records = not asked.several and asked.only.join == "all"
    if not by_records and not all(question.additive for question in asked.questions):
        raise NotCoveredError(
            f"{asked.text} cannot be released from records",
            why="only queries that add up over variables can",
            fix="Use a count, tally, histogram, frequencies, sum or mean",
        )

    def answers() -> list[Answer]:
        return [
            Answer(
                one.matching(records.codes).sum(axis=1) if by_records else one.answer(records.counts()),
                one.values_in(len(records)),
                limits=one.limits(len(records)),
                question=n,
            )
            for n, one in enumerate(asked.questions)
        ]

    return Prepared(
        request,
        belief,
        calibration,
        recorded(asked.said, belief, calibration, records.reading),
        answers=answers,
        asked=asked,
        unit=asked.questions[0].unit,
        sizes=(len(records), records.codes.size),
        about=records.about,
        notes=(
            *((BY_ORDER.format(", ".join(records.variables)),) if records.reading.by_order else ()),
            *about,
        ),
    ).with_each()
