"""A noisy value with its accuracy and the reason for its noise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiltwork.accounting.record import ReleaseRecord
from quiltwork.beliefs import Belief
from quiltwork.beliefs.checked import Checked
from quiltwork.calibration.accuracy import answer_error
from quiltwork.calibration.record import Calibration
from quiltwork.data.reading import About
from quiltwork.errors import ParameterError
from quiltwork.releases.answer import PartAnswer, plus_minus
from quiltwork.releases.frame import frame_of
from quiltwork.types import Shown, show_module

if TYPE_CHECKING:
    import polars as pl

    from quiltwork.fitting.outcome import BeliefCheck

NOISE_ONLY = "noise only"
MOST_SHOWN, MOST_LINES = 6, 30


@dataclass(frozen=True, repr=False)
class Release(Shown):
    """What may be published: the noisy value, how far off the noise may be, and why.

    ``value`` is a number, or numbers by state; ``numbers`` the same numbers in a row, named by ``labels``. Of windows
    or subjects it is a value for each of them, by name. ``consistent`` is the same where it keeps to what is public:
    no count below 0, and all of them together the number of values.

    >>> from quiltwork import MarkovChain, release
    >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    >>> result = release(["0", "1"] * 50, "count:1", belief=coin, epsilon=1.0)
    >>> result.error(0.95), result.subjects, result.values
    (3.0, 1, 100)
    """

    answers: tuple[PartAnswer, ...]
    """One, or one for each window or subject."""
    subjects: int
    values: int
    belief: Belief
    calibration: Calibration
    recorded: ReleaseRecord
    checked: Checked | None = None
    """What a check of the belief on public data found; None if it was not checked."""
    divisor: int = 1
    """What counts or sums were divided by; the least, if there are several."""
    about: About | None = None
    """What is public about the table that the data were read from; None for values in memory."""
    ledger: dict[str, Any] | None = None
    """Where its spending was recorded, and what is left."""
    notes: tuple[str, ...] = ()
    """What else to know about the data."""
    job: str | None = None
    """What was asked for, as a job file says it; files by their names alone."""
    questions: tuple["Release", ...] = ()
    """The answer to each question by itself, if several were asked in one release; they share ε, record and ledger."""

    def __repr__(self) -> str:
        first = self.answers[0]
        shown = f"{len(self.parts):,} parts" if self.parts else "noise only" if first.pure_noise else _in_a_line(first)
        asked = f"{self.calibration.query.text} by {self.calibration.mechanism}, ε = {self.calibration.epsilon:g}"
        if self.questions:
            return f"Release({asked}: {len(self.questions)} questions)"
        return f"Release({asked}: {shown}, ±{plus_minus(self.error())})"

    def __str__(self) -> str:
        """The numbers, rounded to the noise, with their error; a few lines."""
        if self.questions:
            return "\n".join(map(str, self.questions))
        made = self.calibration
        lines = [
            f"{made.query.text} by {made.mechanism}, ε = {made.epsilon:g} ({made.guarantee}); {self.subjects:,} "
            f"{self.belief.noun}, {self.values:,} values"
        ]
        if self.parts:
            width = max(len(answer.name) for answer in self.parts)
            lines += [f"{a.name:<{width}}  {_with_error(a)}{_told(a)}" for a in self.parts]
        else:
            answer = self.answers[0]
            if answer.pure_noise:
                return "\n".join([*lines, *_ranges(answer)][: MOST_LINES + 2])
            numbers, best = ([answer.rounded(n) for n in row] for row in (answer.numbers, answer.best))
            wide, long = max(map(len, answer.labels)), max(map(len, numbers))
            error = plus_minus(answer.error())
            known = answer.consistent is not None
            lines += [
                f"{label:<{wide}}  {number:>{long}} ± {error}" + (f"  (consistent: {kept})" if known else "")
                for label, number, kept in zip(answer.labels, numbers, best, strict=True)
            ]
            lines += [] if answer.told is None else [f"{answer.query.text}: {answer.told}"]
        more = len(lines) - 1 - MOST_LINES
        return "\n".join(lines if more <= 0 else [*lines[: MOST_LINES + 1], f"... and {more:,} more"])

    @property
    def parts(self) -> tuple[PartAnswer, ...]:
        """The answers about windows or subjects, if those were asked for."""
        return self.answers if self.answers[0].name and not self.questions else ()

    @property
    def value(self) -> Any:
        """The noisy value as it was drawn; of several questions, that of each by its text."""
        if self.questions:
            return self.by_question(lambda question: question.value)
        return self._by_part(lambda answer: answer.value)

    @property
    def consistent(self) -> Any:
        """The nearest value that keeps to what is public; None if nothing is."""
        if self.questions:
            return self.by_question(lambda question: question.consistent)
        if all(answer.consistent is None for answer in self.answers):
            return None
        return self._by_part(_consistent)

    @property
    def derived(self) -> Any:
        """What was asked for, where it follows from the numbers, such as a median; None if it is the numbers."""
        if self.questions:
            found = self.by_question(lambda question: question.derived)
            return {text: derived for text, derived in found.items() if derived is not None} or None
        if all(answer.derived is None for answer in self.answers):
            return None
        return self._by_part(lambda answer: answer.derived)

    @property
    def numbers(self) -> tuple[float, ...]:
        """All noisy numbers in a row."""
        return tuple(number for answer in self.answers for number in answer.numbers)

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each number."""
        if self.questions:
            named = self.by_question(lambda question: question.labels)
            return tuple(f"{text}: {label}" for text, labels in named.items() for label in labels)
        return tuple(label for answer in self.answers for label in _labels(answer))

    @property
    def epsilon(self) -> float:
        """The ε of its promise."""
        return self.calibration.epsilon

    @property
    def mechanism(self) -> str:
        """What chose the noise."""
        return self.calibration.mechanism

    @property
    def guarantee(self) -> str:
        """What kind of adversaries its promise is about."""
        return self.calibration.guarantee

    def verify(self) -> float:
        """The ε that a certificate proves for its noise; an error says what is not proved.

        >>> from quiltwork import MarkovChain, release
        >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
        >>> release(["0", "1"] * 50, "histogram", belief=chain, epsilon=1.0, mechanism="curve").verify() <= 1.0
        True
        """
        return self.calibration.verify(self.belief)

    @property
    def noise_scale(self) -> float:
        """The scale of the noise on each number; where they are divided by different numbers, the largest."""
        return max(answer.noise_scale for answer in self.answers)

    @property
    def integer(self) -> bool:
        """Whether noise was drawn on whole numbers."""
        return all(answer.question.integer for answer in self.answers)

    def error(self, confidence: float = 0.95, *, simultaneous: bool = False) -> float:
        """How far the noise may have moved a number, up or down, with this probability.

        With ``simultaneous`` it holds for all numbers of the answer at once. It is about the noise only: it says
        nothing about how well the data stands for a larger population, so it is not a confidence interval. Of several
        questions it is the largest; each of ``questions`` has its own.
        """
        if self.questions:
            if not simultaneous:
                return max(question.error(confidence) for question in self.questions)
            each = confidence ** (1 / len(self.numbers))
            return max(question.error(each ** len(question.numbers), simultaneous=True) for question in self.questions)
        least_precise = max(self.answers, key=lambda answer: answer.noise_scale)
        if not simultaneous:
            return least_precise.error(confidence)
        return answer_error(
            least_precise.noise_scale,
            confidence,
            numbers=len(self.numbers),
            totals=[size for answer in self.answers for size in answer.group_sizes],
            simultaneous=True,
            unit=least_precise.step,
            integer=self.integer,
            noise=self.calibration.noise,
        )

    def by_question(self, value: Callable[["Release"], Any]) -> dict[str, Any]:
        """Something about each of several questions, by its text; a text that comes again gets a number."""
        found: dict[str, Any] = {}
        for question in self.questions:
            text = name = question.calibration.query.text
            again = 1
            while name in found:
                again += 1
                name = f"{text} ({again})"
            found[name] = value(question)
        return found

    def explain(self) -> str:
        """Accuracy and the reason for the noise, in words."""
        return "\n".join(show_module("of_release").explain(self))

    def table(self) -> list[dict[str, Any]]:
        """The answers about windows or subjects, a row each with a column for each number."""
        rows = []
        for answer in self.parts:
            single = len(answer.numbers) == 1
            names = [answer.query.text] if single else answer.labels
            derived = {} if answer.told is None else {answer.query.text: answer.told}
            numbers = dict(zip(names, answer.numbers, strict=True))
            rows.append({"": answer.name} | derived | numbers | {"values": answer.values})
        return rows

    def to_polars(self) -> "pl.DataFrame":
        """A table with a row for each number: what it is about, the noisy value, its error, and what follows from it.

        >>> from quiltwork import MarkovChain, release
        >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
        >>> result = release(["0", "1"] * 50, "transitions", belief=coin, epsilon=1.0)
        >>> result.to_polars().select("state", "next_state").rows()
        [('0', '0'), ('0', '1'), ('1', '0'), ('1', '1')]
        """
        return frame_of(self)

    def to_pandas(self) -> Any:
        """The same table for pandas, which must be installed."""
        return self._converted("to_pandas", "pandas pyarrow")

    def to_arrow(self) -> Any:
        """The same table for PyArrow, which must be installed."""
        return self._converted("to_arrow", "pyarrow")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The same table for every library that reads Arrow, without a copy: ``pyarrow.table(release)``."""
        return self.to_polars().__arrow_c_stream__(requested_schema)

    def _converted(self, how: str, needed: str) -> Any:
        try:
            return getattr(self.to_polars(), how)()
        except ImportError as problem:
            packages = needed.replace(" ", " and ")
            raise ParameterError(
                f"{how} needs {packages}", got="an installation without", fix=f"pip install {needed}"
            ) from problem

    def save(self, path: str | Path, *, check: "BeliefCheck | None" = None) -> Path:
        """Write it to a file: .csv, .parquet or .md for a table, .json for everything, .html for a report.

        ``check`` is for the report: what :func:`check_belief` found out about the belief on public data.

        >>> from quiltwork import MarkovChain, release
        >>> import tempfile
        >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
        >>> result = release(["0", "1"] * 50, "count:1", belief=coin, epsilon=1.0)
        >>> result.save(tempfile.mkdtemp() + "/ones.csv").read_text().startswith("query,value,error_95,")
        True
        """
        written: Path = show_module("files").save(self, path, check=check)
        return written

    def record(self) -> ReleaseRecord:
        """What to write down about it for ``quiltwork compose`` and :class:`Accountant`: no data in it.

        >>> from quiltwork import MarkovChain, release
        >>> coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
        >>> release(["0", "1"] * 50, "count:1", belief=coin, epsilon=1.0).record().length
        100
        """
        return self.recorded

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values, as ``quiltwork release --json`` prints it."""
        own = {"value": self.value, "questions": self._each()} if self.questions else self._answered()
        parts = {"parts": own.pop("parts")} if "parts" in own else {}
        return (
            own
            | {
                "lipschitz": self.calibration.lipschitz / self.divisor,
                "record": self.record().to_dict(),
                "epsilon": self.calibration.epsilon,
                "mechanism": self.calibration.mechanism,
                "guarantee": self.calibration.guarantee,
                **self._weaker(),
                "secrets": self.calibration.secrets.text,
                "meaning": self.calibration.meaning(self.belief),
                "query": self.calibration.query.text,
                "length": self.calibration.length,
                "subjects": self.subjects,
                "values": self.values,
                "data": None if self.about is None else self.about.to_dict(),
                "belief": self.belief.fingerprint,
                "check": None if self.checked is None else self.checked.to_dict(),
                "detail": self.calibration.detail(),
                "ledger": self.ledger,
                "notes": list(self.notes),
            }
            | parts
        )

    def _weaker(self) -> dict[str, Any]:
        """The kind of noise where it is not Laplace, and δ with what it means where there is one."""
        made = self.calibration
        return ({"noise": made.noise} if made.noise != "laplace" else {}) | (
            {"delta": made.delta, "delta_meaning": show_module("of_plan").exception(made)} if made.delta else {}
        )

    def _answered(self) -> dict[str, Any]:
        """What is said about the answer to one question."""
        return (
            {
                "value": self.value,
                "noise_scale": self.noise_scale,
                "error_95": self.error(),
                "error_95_all": self.error(simultaneous=True),
            }
            | ({"noise_only": True} if any(answer.pure_noise for answer in self.answers) else {})
            | self._after(0 if not self.parts else None)
            | ({"parts": [self._part(n) for n in range(len(self.parts))]} if self.parts else {})
        )

    def _each(self) -> list[dict[str, Any]]:
        """What is said about the answers to several questions; some may follow from another one."""
        asked = self.calibration.asked
        rows = []
        for place, question in enumerate(self.questions):
            source = asked.source(place)
            follows = {} if source is None else {"follows_from": self.questions[source].calibration.query.text}
            rows.append({"query": question.calibration.query.text} | question._answered() | follows)
        return rows

    def _after(self, place: int | None) -> dict[str, Any]:
        """What follows from the noisy numbers of an answer, or of all of them."""
        chosen = self.answers if place is None else (self.answers[place],)
        after: dict[str, Any] = {}
        if any(answer.consistent is not None for answer in chosen):
            values = {answer.name: _consistent(answer) for answer in chosen}
            after["consistent"] = values if place is None else next(iter(values.values()))
        if any(answer.derived is not None for answer in chosen):
            after["derived"] = chosen[0].derived if place is not None else {a.name: a.derived for a in chosen}
        return after

    def _part(self, place: int) -> dict[str, Any]:
        part = self.answers[place]
        return {
            "part": part.name,
            "value": part.value,
            "values": part.values,
            "noise_scale": part.noise_scale,
            "error_95": part.error(),
        } | (({"noise_only": True} if part.pure_noise else {}) | self._after(place))

    def _by_part(self, value: Callable[[PartAnswer], Any]) -> Any:
        if not self.parts:
            return value(self.answers[0])
        return {answer.name: value(answer) for answer in self.answers}


def _in_a_line(answer: PartAnswer) -> str:
    """The numbers of an answer, rounded to the noise; the first of them if there are many."""
    if len(answer.numbers) == 1:
        return answer.rounded(answer.numbers[0])
    pairs = [f"{label} {answer.rounded(n)}" for label, n in zip(answer.labels, answer.numbers, strict=True)]
    return ", ".join(pairs[:MOST_SHOWN]) + (", ..." if len(pairs) > MOST_SHOWN else "")


def _consistent(answer: PartAnswer) -> Any:
    return None if answer.consistent is None else answer.presented(answer.consistent)


def _with_error(answer: PartAnswer) -> str:
    return f"{_in_a_line(answer)} ± {plus_minus(answer.error())}" if not answer.pure_noise else NOISE_ONLY


def _ranges(answer: PartAnswer) -> list[str]:
    """An answer that is noise only: the range of each true number."""
    return [f"{NOISE_ONLY}; true numbers with probability 95 %:"] + [
        f"{label}  {answer.range_of(number)}" for label, number in zip(answer.labels, answer.numbers, strict=True)
    ]


def _told(answer: PartAnswer) -> str:
    return "" if answer.told is None else f"  ({answer.query.text}: {answer.told})"


def _labels(answer: PartAnswer) -> Sequence[str]:
    if not answer.name:
        return answer.labels
    return [answer.name] if len(answer.numbers) == 1 else [f"{answer.name} {label}" for label in answer.labels]
