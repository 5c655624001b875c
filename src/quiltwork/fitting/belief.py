"""A belief of any kind, fitted to public data: for Python and the command alike."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Unpack

from quiltwork.beliefs import Belief
from quiltwork.data.held import Reads, reads, to_fit
from quiltwork.data.series import Series
from quiltwork.errors import ParameterError
from quiltwork.fitting.autocorrelation import Rhythm
from quiltwork.fitting.chain import Fit, fit_chain, longer_stays
from quiltwork.fitting.gaussian import GaussianFit, fit_gaussian
from quiltwork.fitting.words import with_step
from quiltwork.forks import working

Kind = Literal["chain", "cycle", "hidden", "order", "dynamic", "gaussian"]
OF_KIND: dict[str, tuple[str, ...]] = {
    "chain": ("states", "confidence", "intervals", "stays", "smoothing"),
    "cycle": ("states", "cycle"),
    "hidden": ("states", "phases"),
    "order": ("states", "order"),
    "dynamic": (),
    "gaussian": ("distance", "unit", "rhythm", "confidence", "margin"),
}
"""What each kind can be told."""
NAMING = {"cycle": "cycle", "phases": "hidden", "order": "order", "together": "dynamic"}
"""What says of itself which kind is meant."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which belief is to be fitted, checked before data are looked at; ``together`` only says that there are people.

    >>> Wanted(order=2).kind, Wanted().kind
    ('order', 'chain')
    """

    kind: Kind | None = None
    states: Sequence[str] | None = None
    confidence: float | None = None
    intervals: bool = False
    stays: float | None = None
    smoothing: float | None = None
    cycle: str | None = None
    phases: int | None = None
    order: int | None = None
    together: str | None = None
    distance: float | None = None
    unit: str | None = None
    rhythm: Rhythm | None = None
    margin: float | None = None

    def __post_init__(self) -> None:
        named = [name for name in NAMING if name in self.said]
        if len(named) > 1:
            got = " and ".join(f"{name}=" for name in named)
            raise ParameterError("a belief is fitted of one kind", got=got, fix="Leave one of them out")
        kind = self.kind or (NAMING[named[0]] if named else "chain")
        if kind not in OF_KIND:
            raise ParameterError(f"kind must be one of {', '.join(OF_KIND)}", got=repr(kind)[:40])
        object.__setattr__(self, "kind", kind)
        for name in self.said:
            if name not in OF_KIND[kind] and NAMING.get(name) != kind:
                kinds = [other for other, known in OF_KIND.items() if name in known] or [NAMING[name]]
                about = "numbers" if kinds == ["gaussian"] else "states" if self.real else f"kind {' or '.join(kinds)}"
                raise ParameterError(f"{name}= is for {about}", got=f"kind {kind}", fix="Leave it out")
        if self.intervals and (self.confidence is None or self.stays is not None):
            raise ParameterError(
                "intervals need a confidence, and no stays",
                got="no confidence" if self.confidence is None else "stays=",
                fix="For example confidence=0.95",
            )
        if kind == "gaussian" and self.distance is None:
            raise ParameterError(
                "a Gaussian belief needs a distance",
                got="none",
                why="how large a difference at one moment is to be hidden is your decision, not a property of the data",
                fix="For example distance=1, with unit='kW'",
            )

    @property
    def said(self) -> dict[str, Any]:
        """What was said beside the kind."""
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "kind"}
        return {name: value for name, value in given.items() if value is not None and value is not False}

    @property
    def real(self) -> bool:
        """Whether it is about real values."""
        return self.kind == "gaussian"

    def fit(self, data: Series, people: Sequence[str] = ()) -> Fit | GaussianFit:
        """Fitted to public data; ``people`` are those whose states are joined in it."""
        if self.real:
            return fit_gaussian(data, **self.said)
        counted = fit_chain(data, smoothing=self.smoothing)
        made, chain = (with_step(one, data.step) for one in (self._made(data, counted, people), counted.chain))
        return Fit(made, chain.chains[0], counted.counts, counted.smoothing)

    def _made(self, series: Series, fit: Fit, people: Sequence[str]) -> Belief:
        if self.kind == "cycle":
            from quiltwork.fitting.cycle import fit_cycle

            return fit_cycle(series, step=series.step, cycle=self.cycle or "day")
        if self.kind == "hidden":
            from quiltwork.fitting.phases import fit_hidden

            return fit_hidden(series, phases=2 if self.phases is None else self.phases)
        if self.kind == "order":
            from quiltwork.fitting.order import fit_order

            return fit_order(series, order=2 if self.order is None else self.order)
        if self.kind == "dynamic":
            from quiltwork.fitting.together import fit_together

            return fit_together(series, people=people)
        if self.intervals and self.confidence is not None:
            return fit.intervals(self.confidence)
        fitted = fit.chain if self.confidence is None else fit.within(self.confidence)
        return fitted if self.stays is None else longer_stays(fitted, self.stays)


@reads
@working()
def fit_belief(  # noqa: PLR0913 - the public signature is meant to be read
    data: object,
    *,
    kind: Kind | None = None,
    states: Sequence[str] | None = None,
    confidence: float | None = None,
    intervals: bool = False,
    stays: float | None = None,
    smoothing: float | None = None,
    cycle: str | None = None,
    phases: int | None = None,
    order: int | None = None,
    distance: float | None = None,
    unit: str | None = None,
    rhythm: Rhythm | None = None,
    margin: float | None = None,
    **reading: Unpack[Reads],
) -> Fit | GaussianFit:
    """Fit a belief to public data: never to the data that is to be protected, which the belief would reveal.

    The data are given as to :func:`release`: a file or a table with its ``column``, ``subject`` and ``time``, values,
    or series that were read. States are the values that occur, if ``states`` does not name them. The result is taken
    wherever a belief is; its ``belief`` is the belief itself.

    - ``kind="chain"``, the usual: one chain. With a ``confidence`` also the slowest chains that the data allow, or with
      ``intervals`` bounds on every transition; with ``stays=2`` also chains whose stays last twice as long;
      ``smoothing`` is added to each count
    - ``kind="cycle"``: a transition matrix for each time of a ``cycle``, ``"day"`` (the usual) or ``"week"``
    - ``kind="hidden"``: ``phases`` behind each state (2 if left out), so that stays may have any length
    - ``kind="order"``: each value depends on the last ``order`` values (2 if left out)
    - ``kind="dynamic"``: people who influence each other; ``together`` is the column that says whose a row is
    - ``kind="gaussian"``: numbers; ``distance``, ``unit``, ``rhythm``, ``margin`` and ``confidence`` are those of
      :func:`fit_gaussian`

    >>> from quiltwork.samples import diary_path
    >>> fit = fit_belief(diary_path(), kind="cycle", column="activity", subject="person", time="time")
    >>> fit
    Fit(CycleChain(6 states, period=96, initial=stationary), from 64,488 transitions)
    """
    wanted = Wanted(
        kind=kind,
        states=states,
        confidence=confidence,
        intervals=intervals,
        stays=stays,
        smoothing=smoothing,
        cycle=cycle,
        phases=phases,
        order=order,
        together=reading.get("together"),
        distance=distance,
        unit=unit,
        rhythm=rhythm,
        margin=margin,
    )
    return wanted.fit(*to_fit(data, reading, states=states, real=wanted.real))
