"""A session: data, a belief, a budget and a ledger, joined so that nothing is released that was not counted before.

Every release goes check → calibrate → count → reserve → add noise → record → return. (Files are tallied while they
are read, for their lengths are needed to calibrate.) A reservation is durable before noise is drawn, and a value is
returned only after that. A crash on the way may waste budget and never hides a spend.
"""

import getpass
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self, Unpack

from quiltwork import __version__
from quiltwork.beliefs import Belief, Believed, Secrets, as_belief
from quiltwork.beliefs.checked import Checked
from quiltwork.calibration.plan import Plan, plan as make_plan
from quiltwork.calibration.request import Request
from quiltwork.data import Series
from quiltwork.data.held import Reads, check_step, held, reads
from quiltwork.data.records import Records
from quiltwork.errors import DataError, ParameterError
from quiltwork.fitting.outcome import BeliefCheck, as_checked
from quiltwork.forks import working
from quiltwork.influence.delta import check_delta_for
from quiltwork.ledger import Ledger, Statement
from quiltwork.question import Count, Frequencies, Histogram, Mean, Query, Questions, Sum, Transitions
from quiltwork.releases.pipeline import prepare
from quiltwork.releases.prepared import Prepared
from quiltwork.releases.result import Release
from quiltwork.types import Gaps, Guarantee, NoiseChoice, Segment, Shown, show_module

if TYPE_CHECKING:
    from collections.abc import Hashable

    from quiltwork.influence.curve.timeline import Losses

LONGEST_NAME = 100
IN_MEMORY = "sqlite://"  # the name of a ledger that is forgotten with the session


class Session(Shown):
    """Releases from one data set within one budget; who releases what is written into the ledger.

    Data, belief and what says how a file or a table is read are those of :func:`release`.

    ``ledger`` is an address (``sqlite:///path``, a path, ``postgresql://...``) or a :class:`Ledger`; a SQLite file is
    created on first use. Without one the spending is counted in this session only and forgotten with it. The budget is
    on the ε of all releases together, so later releases gain from the influence curve. ``who`` is written down with
    each release; the name of the user if left out. ``secrets`` say what is kept apart (see :class:`Secrets`): what the
    ledger counts, and what releases promise unless they say otherwise. With a ``delta`` the budget is (ε, δ), and there
    may be many releases with Gaussian noise: see :meth:`Ledger.create`. ``check`` is what a check of the belief on
    public data found; what the belief's file says if left out.

    >>> from quiltwork import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["sit", "walk"])
    >>> session = Session(["sit", "sit", "walk", "sit"] * 250, belief=chain, budget=1.0)
    >>> result = session.count("walk", epsilon=0.5)
    >>> result.calibration.epsilon, round(session.spent(), 3), round(session.remaining(), 3)
    (0.5, 0.5, 0.5)
    >>> len(session.releases()), session.releases()[0]["query"]
    (1, 'count:walk')
    """

    @reads
    @working()
    def __init__(  # noqa: PLR0913 - the public signature is meant to be read
        self,
        data: object,
        *,
        belief: Believed,
        budget: float | None = None,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        who: str | None = None,
        program: str | None = None,
        guarantee: Guarantee = "pufferfish",
        gaps: Gaps = "dependent",
        secrets: Secrets | str | None = None,
        delta: float | None = None,
        envelope: Query | str = "histogram",
        check: Checked | BeliefCheck | None = None,
        **reading: Unpack[Reads],
    ):
        self.belief, self.guarantee = as_belief(belief), guarantee
        self._checked = as_checked(check, self.belief)
        self.data = _held(data, self.belief, reading, gaps)
        terms: dict[str, Any] = {"guarantee": guarantee, "secrets": None if secrets is None else Secrets.of(secrets)}
        if delta:
            check_delta_for(delta, len(self.data) if isinstance(self.data, Records) else self.data.subjects)
        self.ledger = _opened(ledger, self.belief, budget, delta, envelope, terms)
        self._shared = self.ledger is ledger  # whoever opened it closes it
        self._gaps = gaps
        self._who = written_down(who, program)
        self._prepared: dict[Hashable, Prepared] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the ledger, unless it was opened elsewhere; ``with Session(..) as session:`` does so at its end.

        What was spent stays known: it is opened again when it is needed.
        """
        if not self._shared and self.ledger.name != IN_MEMORY:
            self.ledger.close()

    def __repr__(self) -> str:
        data = self.data
        held = repr(data) if isinstance(data, Records) else f"{data.subjects:,} series with {data.size:,} values"
        where = "" if self.ledger.name == IN_MEMORY else f", ledger {self.ledger.name!r}"
        return f"Session({held}, budget {self.ledger.terms.words}, {self.belief!r}{where})"

    def __str__(self) -> str:
        return self.explain()

    @property
    def budget(self) -> float:
        """ε that all releases together may not exceed."""
        return self.ledger.terms.budget

    @property
    def secrets(self) -> Secrets:
        """What is kept apart, and what the budget is about."""
        return self.ledger.terms.secrets

    @working()
    def plan(self, query: Questions, *, epsilon: float, releases: int = 1) -> Plan:
        """How much noise each mechanism would need. Spends nothing."""
        length = None if isinstance(self.data, Records) or self.data.gaps else self.data.longest
        values = None if isinstance(self.data, Records) else self.data.size
        return make_plan(
            query,
            belief=self.belief,
            epsilon=epsilon,
            length=length,
            values=values,
            releases=releases,
            guarantee=self.guarantee,
            secrets=self.secrets,
        )

    @working()
    def release(  # noqa: PLR0913 - the public signature is meant to be read
        self,
        query: Questions,
        *,
        epsilon: float,
        mechanism: str | None = None,
        noise: NoiseChoice | None = None,
        segment: Segment | None = None,
        quilt_size: int | None = None,
        window: str | int | None = None,
        by_subject: bool = False,
        secrets: Secrets | str | None = None,
        spread: float | None = None,
        anyway: bool = False,
        despite_check: bool = False,
    ) -> Release:
        """Answer a query with noise, within the budget; about the times of a segment only, if there is one.

        Several queries are answered in one release, in which they share ε.

        ``secrets`` are what this release promises to keep apart, those of the session if left out; the budget is
        charged for what it tells about the session's.

        With ``window`` or ``by_subject`` there is an answer for each window or subject; all of them are one release.
        ``noise`` is Gaussian where the budget has a δ, which is then that of the release, too, and Laplace noise
        elsewhere; with a δ it may be "laplace" or "best" as well. An answer that would be noise only is refused before
        anything is spent, unless you say ``anyway``; so is one under a belief that its check refuted, unless you say
        ``despite_check``.
        """
        noise, delta = self.ledger.noise_and_delta(noise)
        request = Request.of(
            query,
            belief=self.belief,
            epsilon=epsilon,
            mechanism=mechanism,
            noise=noise,
            delta=delta,
            guarantee=self.guarantee,
            secrets=self.secrets if secrets is None else Secrets.of(secrets),
            quilt_size=quilt_size,
            gaps=self._gaps,
            window=window,
            by_subject=by_subject,
            spread=spread,
            anyway=anyway,
            checked=self._checked,
            despite_check=despite_check,
        )
        ready = self._ready(request, segment)
        return ready.draw_within(self.ledger, self._who)

    def count(self, state: str, *, epsilon: float, **options: Any) -> Release:
        """How often a state occurs."""
        return self.release(Count(state), epsilon=epsilon, **options)

    def histogram(self, *, epsilon: float, **options: Any) -> Release:
        """How often each state occurs."""
        return self.release(Histogram(), epsilon=epsilon, **options)

    def frequencies(self, *, epsilon: float, **options: Any) -> Release:
        """Which share of the values each state has."""
        return self.release(Frequencies(), epsilon=epsilon, **options)

    def sum(self, values: Mapping[str, float] | None = None, *, epsilon: float, **options: Any) -> Release:
        """The sum of numeric states."""
        return self.release(Sum(values), epsilon=epsilon, **options)

    def mean(self, values: Mapping[str, float] | None = None, *, epsilon: float, **options: Any) -> Release:
        """The mean of numeric states."""
        return self.release(Mean(values), epsilon=epsilon, **options)

    def transitions(self, *, epsilon: float, **options: Any) -> Release:
        """How often each state is directly followed by each."""
        return self.release(Transitions(), epsilon=epsilon, **options)

    def append(self, more: object, *, subject: Iterable[object] | None = None) -> Segment | None:
        """Further values, at the end of the series; the times that are new, as a segment.

        The segment is None where the new values of subjects are at different times: where their series have different
        lengths, or where a subject is new.

        ``more`` is a sequence (with ``subject``, whose value each is), or a table or file of the same columns for data
        that :func:`read_series` read. Releases made before stay what they were: what they tell about each past time is
        known, and later releases add to it, at the times that they are about.

        >>> from quiltwork import MarkovChain
        >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary", states=["sit", "walk"])
        >>> session = Session(["sit", "walk"] * 50, belief=chain, budget=1.0)
        >>> _ = session.histogram(epsilon=0.5)
        >>> new = session.append(["walk", "sit"] * 50)
        >>> _ = session.histogram(epsilon=0.5, segment=new)
        >>> new, [round(session.losses().at(time), 2) for time in (50, 150)], round(session.spent(), 2)
        ((101, 200), [0.5, 0.5], 0.5)
        """
        if isinstance(self.data, Records):
            raise DataError(
                "records cannot be appended", got="a belief about records", fix="Open a session on all records"
            )
        if isinstance(more, list):
            more = list(self.belief.values_of(more))
        before, grown = self.data.shape, self.data.extended(more, subject=subject)
        if grown.size == before.size:
            raise DataError("append needs at least one value", got="none")
        self.data = grown
        self._prepared.clear()
        lengths = {values for values, _ in before.chains}
        together = len(lengths) == 1 and before.certain and grown.subjects == before.subjects
        return (lengths.pop() + 1, grown.longest) if together else None

    def losses(self) -> "Losses":
        """What all releases so far tell about each time, at most; for series.

        It is known for times that are sure: not after releases from series with gaps, which may be about any time.
        """
        return self.ledger.losses()

    def spent(self) -> float:
        """ε of all releases so far together, by whoever made them."""
        return self.ledger.spent()

    def remaining(self) -> float:
        """What is left of the budget."""
        return max(0.0, self.budget - self.spent())

    def releases(self) -> list[dict[str, Any]]:
        """All releases so far, by whoever made them."""
        return self.statement().releases()

    def statement(self) -> Statement:
        """The ledger as it is now."""
        return self.ledger.statement()

    def explain(self) -> str:
        """What was spent, on what, and by which rule it adds up."""
        return "\n".join(show_module("of_account").explain(self.statement()))

    def _ready(self, request: Request, segment: Segment | None) -> Prepared:
        """Checked and calibrated; the same request again needs no second calibration."""
        key = (request, segment)
        kept = _hashable(key)
        if kept and key in self._prepared:
            return self._prepared[key]
        ready = prepare(self._part(segment), request)
        if kept:
            self._prepared[key] = ready
        return ready

    def _part(self, segment: Segment | None) -> Series | Records:
        if segment is None:
            return self.data
        if isinstance(self.data, Records):
            raise ParameterError("records have no segments", got="one", fix="Name variables in the query")
        pair = isinstance(segment, tuple | list) and len(segment) == 2
        if not pair or not all(isinstance(n, int) and not isinstance(n, bool) for n in segment):
            raise ParameterError("segment must be (first, last)", got=repr(segment)[:40], fix="For example (1, 96)")
        return self.data.between(*segment)


def _held(data: object, belief: Belief, reading: Reads, gaps: Gaps) -> Series | Records:
    found = held(data, belief, reading, gaps=gaps)
    if isinstance(found, Series):
        check_step(found, belief)  # refused before a ledger is made
        found.reading.check_positions()
    return found


def _opened(
    ledger: Ledger | str | os.PathLike[str] | None,
    belief: Belief,
    budget: float | None,
    delta: float | None,
    envelope: Query | str,
    terms: Mapping[str, Any],
) -> Ledger:
    if isinstance(ledger, Ledger):
        ledger.check(belief=belief, budget=budget, delta=delta, **terms)
        return ledger
    if ledger is None and budget is None:
        raise ParameterError(
            "a session needs a budget",
            got="none",
            why="it limits the total privacy loss of all releases",
            fix="Pass budget=, or ledger= with one that has a budget",
        )
    if ledger is None and budget is not None:
        return Ledger.in_memory(belief=belief, budget=budget, delta=delta or 0.0, envelope=envelope, **terms)
    address = os.fspath(ledger) if ledger is not None else ""
    if budget is None:
        opened = Ledger(address)
        opened.check(belief=belief, delta=delta, **terms)
        return opened
    return Ledger.create(
        address, belief=belief, budget=budget, delta=delta or 0.0, envelope=envelope, exist_ok=True, **terms
    )


def _hashable(key: object) -> bool:
    try:
        hash(key)
    except TypeError:
        return False  # for example values of a sum: such a query cannot be told from others
    return True


def written_down(who: str | None, program: str | None = None) -> dict[str, str]:
    """The person and the program that a ledger names."""
    named = {"who": _user() if who is None else who, "program": _program() if program is None else program}
    for key, name in named.items():
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
            raise ParameterError(
                f"{key} must be a name of up to {LONGEST_NAME} printable characters",
                got="another",
                why="it is written into the ledger, and shown there",
            )
    return named


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"


def _program() -> str:
    name = os.path.basename(sys.argv[0] or "") or "python"
    return f"{name}, quiltwork {__version__}"
