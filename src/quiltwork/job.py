"""A job: everything that a person says about a release, in one record. Each field is declared here and nowhere else.

The command's options, the forms of the page and job files (TOML) are made from these fields. Only the standard library
is needed to read a job, so that a command that refuses one starts quickly.
"""

import hashlib
import json
import os
import re
import textwrap
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from quiltwork.errors import ParameterError, did_you_mean
from quiltwork.fields import NAME, Section, declared, kind_of, say, text

Missing = Literal["refuse", "split"]
Take = Literal["first", "last", "mean"]
Unsorted = Literal["refuse", "sort"]
Duplicates = Literal["refuse", "drop"]
Decimal = Literal[".", ","]
Gaps = Literal["dependent", "independent"]
"""Whether values before and after a gap may depend on each other."""
Guarantee = Literal["pufferfish", "bayesian"]
"""Against adversaries who know no values, or who know any other values."""
NoiseChoice = Literal["laplace", "gaussian", "best"]
"""Laplace or Gaussian noise, or the one with the smaller error."""
S = TypeVar("S", bound="Section")
Format = Literal["table", "csv", "parquet", "json", "markdown"]
EngineName = Literal["polars", "spark"]

TEXT = 10_000  # characters of a long text
LARGEST_FILE = 10_000_000  # bytes of a job file
ENDING = ".toml"
WIDTH = 100  # of comments in a job file
PAGES, TABLES = (".html", ".htm"), (".csv", ".parquet", ".md", ".json")
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
QUERIES = (
    "count:STATE, share:A|B, histogram, frequencies, mean, sum, median, quantile:0.9, top:3, transitions, stays, "
    "stays:STATE, stay-length:STATE, stay-lengths:STATE:2,5,10 or difference:STATE:A-B|C-D. "
    "For records, also Q over A,B, tally:A=x and records:A=x&B=y. "
    "For real values: mean, sum, trend, above:THRESHOLD:WIDTH, difference:A-B|C-D or weighted:W1,W2,..."
)


@dataclass(frozen=True, kw_only=True)
class Data(Section):
    """The data and how rows become series or records; without data, how many there are.

    ``reading`` is what a ledger fixes: it does not depend on where the data are, or on which machine counts them.

    >>> how = Data(path="diary.csv", column="activity", subject="person", missing="split")
    >>> how.reading
    {'column': 'activity', 'subject': 'person', 'missing': 'split'}
    """

    label: ClassVar[str] = "[data]"

    path: str | None = text(
        "CSV, TSV (also .gz) or Parquet file, or a pattern of several: 'logs/*.parquet'.", "DATA", web=False, file=True
    )
    column: str | None = text("Column with the values. For records, omit it if each variable has its own column.", "C")
    variable: str | None = text("For records: column naming the variable in each row.", "V")
    subject: str | None = text("Column identifying the subject.", "S")
    time: str | None = text(
        "Time column, or DATE,TIME for two columns. If omitted, rows must already be in time order.", "T"
    )
    missing: Missing = say("refuse", "Refuse missing values, or split the series at them.")
    gap: str | None = text("Split the series at pauses longer than this: 15min, 1h, or a number.", "G")
    every: str | None = text("Keep one row per step: 5min, 1h, or a number.", "D")
    take: Take = say("first", "With --every: row to keep in each step. mean is for numbers.")
    bins: str | None = text("Group numbers into levels: edges 100,500 or LOW:HIGH:LEVELS.", "B", most=TEXT)
    unsorted: Unsorted = say("refuse", "Refuse rows that are out of time order, or sort them.")
    duplicates: Duplicates = say("refuse", "Refuse repeated times, or drop repeats with the same value.")
    together: str | None = text("Column naming each of several people who influence each other.", "C")
    separator: str | None = text(
        "Character between columns of a text file (default: the one that splits its first line).", "X"
    )
    decimal: Decimal | None = say(
        None, "Decimal sign of numbers in text (default: a point; a comma where columns are separated by ;)."
    )
    date_format: str | None = text("How dates are written in text: dd/mm/yyyy (default: yyyy-mm-dd).", "F")
    recode: str | Mapping[str, str | None] | None = say(
        None,
        "Names of states for values of the data: a JSON, TOML or CSV file, or 1=sleep,2=sit,*=other.",
        metavar="FILE",
        file=True,
    )
    gaps: Gaps = say("dependent", "Whether values before and after a gap may depend on each other.")
    engine: EngineName = say("polars", "Engine that counts the rows.", web=False)
    master: str | None = say(None, "With --engine spark: cluster URL, or local[4].", metavar="URL", web=False)
    length: int | Literal["any"] | None = say(
        None, "Length of the longest series, or any. Not for records.", metavar="N", ge=1
    )
    people: int | None = say(None, "Number of series of that length, instead of --values.", metavar="N", ge=1)
    values: int | None = say(None, "Total number of values, for frequencies and mean.", metavar="N", ge=1)
    spread: float | None = say(
        None,
        "For numbers: width of the range that nearly all values lie in, as 5 for 0 to 5 kW.",
        metavar="W",
        gt=0,
    )

    def _plain(self, name: str, value: Any) -> Any:
        if name == "length" and isinstance(value, str):
            return length_of(value)
        if name == "recode" and isinstance(value, Mapping):  # TOML has no null: an empty state is a missing value
            return {str(given): None if state in (None, "") else str(state) for given, state in value.items()}
        return super()._plain(name, value)

    def _check(self) -> None:
        for name in ("gap", "every"):
            if getattr(self, name) is not None:
                from quiltwork.types import Duration  # numpy comes with it

                Duration.parse(getattr(self, name), name=name)
        if self.master is not None and self.engine != "spark":
            raise ParameterError("a master is only for Spark", got="master=", fix="engine='spark'")

    @property
    def reading(self) -> dict[str, Any]:
        """How rows become values, as far as it differs from the usual: what a ledger keeps, and a service reads by."""
        said = self.said()
        return {name: said[name] for name in READING if name in said}

    def __str__(self) -> str:
        """In words: column activity, subject person, time time."""
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self.reading.items()) or "as it is"


@dataclass(frozen=True, kw_only=True)
class Privacy(Section):
    """What is believed and what is secret, how it is protected, and the budget.

    >>> Privacy(belief="belief.json", key="key")
    Traceback (most recent call last):
    quiltwork.errors.ParameterError: a key is that of a ledger, got key= without ledger=. Name the ledger too.
    """

    label: ClassVar[str] = "[privacy]"

    belief: Any = say(None, "Belief file (JSON or TOML).", metavar="B", file=True)
    secrets: str | None = say(
        None,
        "What is secret: all (default), state:A, pairs:A|B,C|D, sets:A,B|* or, for records, variables:V,W.",
        metavar="Q",
        max_length=TEXT,
    )
    secret_times: str | None = text(
        "When it is secret: positions 10:20 or, with a belief about the time of day, 8h-18h.", "T", most=TEXT
    )
    guarantee: Guarantee = say("pufferfish", "bayesian also covers adversaries who know any other values.")
    delta: float = say(0.0, "Allow for a weaker (ε, δ) guarantee with this δ, such as 1e-6.", metavar="D")
    noise: NoiseChoice | None = say(
        None,
        "Laplace or Gaussian noise (which needs --delta; 1e-6 if left out), or the one with the smaller error "
        "(the default with --delta). A ledger with a δ has Gaussian noise by default.",
    )
    mechanism: str | None = text(
        "Mechanism to use. Default: curve for series and networks, wasserstein for joint tables.", "M"
    )
    quilt_size: int | None = say(None, "For networks: largest quilt to try, in variables (default: 3).", metavar="M")
    distance: tuple[float, ...] = say(
        (),
        "For real values: hide differences of up to D instead of the belief's. Repeat it to compare several.",
        metavar="D",
        gt=0,
    )
    ledger: str | None = text("Charge the release to this ledger and its budget.", "URL", web=False, file=True)
    key: str | None = text(
        "File with the ledger's key (default: QUILTWORK_LEDGER_KEY, if set).", "FILE", web=False, file=True
    )
    budget: float | None = say(None, "Total ε for all releases together.", metavar="E", web=False)
    envelope: str | None = text(
        "With --delta: the query in whose shape room is made (default: histogram).", "Q", web=False
    )
    who: str | None = say(None, "Name to record in the ledger (default: current user).", metavar="NAME", web=False)
    anyway: bool = say(False, "Release answers that are noise only.")
    despite_check: bool = say(False, "Release under a belief that its check refuted.")

    def _check(self) -> None:
        if not (self.belief is None or isinstance(self.belief, str | Mapping) or hasattr(self.belief, "to_dict")):
            raise ParameterError(f"{self.label} belief must be a file or a belief", got=kind_of(self.belief))
        if isinstance(self.belief, Mapping):
            object.__setattr__(self, "belief", dict(self.belief))
        if self.key is not None and self.ledger is None:
            raise ParameterError("a key is that of a ledger", got="key= without ledger=", fix="Name the ledger too")
        if self.who is not None and self.ledger is None:
            raise ParameterError(
                "a name can only be recorded in a ledger", got="who= without ledger=", fix="Name the ledger too"
            )


@dataclass(frozen=True, kw_only=True)
class Ask(Section):
    """One release: a question, or several that share ε.

    >>> Ask(ask="histogram", epsilon=0.5, segment="1:96").segment
    (1, 96)
    """

    label: ClassVar[str] = "[[question]]"

    ask: tuple[str, ...] = say(
        (),
        f"{QUERIES} Repeat it for several questions that share ε.",
        metavar="Q",
        option="--query",
        max_length=TEXT,
    )
    epsilon: float | None = say(None, "Privacy loss allowed for any one moment; smaller is safer.", metavar="E", gt=0)
    weight: tuple[float, ...] = say(
        (), "Of several questions that share ε: how precise each is to be, in proportion.", web=False, gt=0
    )
    workload: str | None = text(
        "Questions that share ε, with weights (JSON or TOML), instead of --query.", "FILE", web=False, file=True
    )
    state_values: str | Mapping[str, float | str] | None = say(
        None,
        "For mean and sum: the number that each state stands for, as off=0,on=1.5 or a JSON, TOML or CSV file.",
        metavar="V",
        file=True,
    )
    segment: tuple[int, int] | None = say(
        None, "Use only values A to B of each series, counted from 1.", metavar="A:B", ge=1
    )
    window: str | int | None = say(
        None,
        "One answer per window: day, hour, week, month, hour-of-day, weekday, or a number of values.",
        metavar="W",
        max_length=NAME,
    )
    by_subject: bool = say(False, "One answer per subject, published by name.")
    target_error: str | float | None = say(
        None,
        "Show which ε, how many people or which window keeps the error within this with probability 95 %: a "
        "number, or a percentage of what the answer can be.",
        metavar="5%",
        max_length=NAME,
    )

    def _plain(self, name: str, value: Any) -> Any:
        if name == "segment" and isinstance(value, str):
            return segment_of(value)
        return super()._plain(name, value)

    def _check(self) -> None:
        if bool(self.ask) == (self.workload is not None):
            raise ParameterError(
                "a question is needed, by ask= or in a workload= file",
                got="neither" if not self.ask else "both",
                fix="For example --query histogram; repeat --query for several questions",
            )
        if self.workload is not None and self.state_values is not None:
            raise ParameterError("numbers for states go with ask=", got="state_values= with workload=")
        if self.weight and len(self.weight) != len(self.ask):
            raise ParameterError(
                f"{self.label} weight must have a number for each question",
                got=f"{len(self.weight)} for {len(self.ask)}",
            )

    @property
    def text(self) -> str:
        """What is asked, in one line."""
        return " + ".join(self.ask) or f"the questions of {self.workload}"


@dataclass(frozen=True, kw_only=True)
class Out(Section):
    """What is written, and what is printed.

    >>> Out(report="report.html", table="answers.csv").written
    ('report.html', 'answers.csv')
    """

    label: ClassVar[str] = "[out]"

    report: str | None = text("Write a report with charts.", "FILE.html", web=False, file=True)
    table: str | None = text("Write the answers as a table: .csv, .parquet or .md.", "FILE", web=False, file=True)
    files: tuple[str, ...] = say(
        (),
        "Also write a file: .html for a report, .csv, .parquet or .md for a table, .json for everything. "
        "May be repeated.",
        metavar="FILE",
        option="--out",
        web=False,
        file=True,
    )
    check: str | None = say(
        None,
        "Public data, in the same columns, to check the belief against. A report shows them without noise.",
        metavar="PUBLIC_DATA",
        web=False,
        file=True,
    )
    form: Format = say("table", "What to print. json is the same as --json.", option="--format", web=False)

    def _check(self) -> None:
        for name, endings in (("report", PAGES), ("table", TABLES)):
            file = getattr(self, name)
            if file is not None and Path(file).suffix.lower() not in endings:
                raise ParameterError(
                    f"{self.label} {name} must end in {', '.join(endings[:-1])} or {endings[-1]}",
                    got=repr(Path(file).suffix),
                )

    @property
    def written(self) -> tuple[str, ...]:
        """All files that are written, each once."""
        named = (self.report, self.table, *self.files)
        return tuple(dict.fromkeys(file for file in named if file is not None))


READING = tuple(
    one.name
    for one in fields(Data)
    if one.name not in ("path", "engine", "master", "length", "people", "values", "spread")
)
"""The fields that say how rows become values: what a ledger fixes about its data."""
SECTIONS: dict[str, type[Section]] = {"data": Data, "privacy": Privacy, "question": Ask, "out": Out}


@dataclass(frozen=True, kw_only=True)
class Job:
    """Everything that a person says: the data, what is believed and secret, the questions, and what is written.

    Each question is one release; several texts in one question share its ε.

    >>> job = Job.of(path="diary.csv", column="activity", belief="belief.json", ask="histogram", epsilon=0.5)
    >>> print(job.to_toml())
    [data]
    path = "diary.csv"
    column = "activity"
    <BLANKLINE>
    [privacy]
    belief = "belief.json"
    <BLANKLINE>
    [[question]]
    ask = "histogram"
    epsilon = 0.5
    <BLANKLINE>
    >>> Job.parse(job.to_toml()) == job
    True
    """

    data: Data = Data()
    privacy: Privacy = Privacy()
    questions: tuple[Ask, ...] = ()
    out: Out = Out()

    @classmethod
    def of(cls, **said: Any) -> "Job":
        """A job with one question, or none, from fields of all sections by name."""
        return cls().with_(**said)

    def with_(self, **said: Any) -> "Job":
        """The same with other values for some fields.

        Another question takes the place of all questions; its other fields change each of them.

        >>> job = Job(questions=(Ask(ask="histogram", epsilon=1), Ask(ask="stays", epsilon=2)))
        >>> [one.epsilon for one in job.with_(epsilon=0.5).questions], job.with_(ask="top:3").questions[0].epsilon
        ([0.5, 0.5], 1.0)
        """
        known = fields_by_name()
        for name in said:
            if name not in known:
                raise ParameterError(f"a job has no field {name!r}", fix=did_you_mean(name, known))
        own = {section: {n: said[n] for n in declared(section) if n in said} for section in SECTIONS.values()}
        asked, questions = own[Ask], self.questions
        if "ask" in asked or "workload" in asked or (asked and not questions):
            first = questions[0] if questions else None
            kept = (
                {}
                if first is None
                else {n: v for n, v in first.said().items() if n not in ("ask", "workload", "weight")}
            )
            questions = (Ask(**(kept | asked)),)
        elif asked:
            questions = tuple(replace(one, **asked) for one in questions)
        data, privacy, out = replace(self.data, **own[Data]), replace(self.privacy, **own[Privacy]), self.out
        return Job(data=data, privacy=privacy, questions=questions, out=replace(out, **own[Out]))

    def with_questions(self, questions: Sequence[Ask]) -> "Job":
        """The same with other questions."""
        return replace(self, questions=tuple(questions))

    def said(self) -> dict[str, Any]:
        """The fields that differ from their defaults, by name; of the questions those of the first."""
        first = self.questions[0].said() if self.questions else {}
        return self.data.said() | self.privacy.said() | first | self.out.said()

    @classmethod
    def parse(cls, text: str, *, folder: str = "") -> "Job":
        """A job as it is written in a file; the files that it names are relative to ``folder``.

        >>> Job.parse("[data]\\ncolum = 'activity'")
        Traceback (most recent call last):
        quiltwork.errors.ParameterError: [data] has no key 'colum'. Did you mean 'column'?
        """
        try:
            content = tomllib.loads(text)
        except (ValueError, RecursionError) as problem:
            why = str(problem) if isinstance(problem, tomllib.TOMLDecodeError) else "it is nested too deeply"
            raise ParameterError("a job must be TOML", why=why) from None
        for key in content:
            if key not in SECTIONS:
                names = "[data], [privacy], [[question]] and [out]"
                raise ParameterError(
                    f"a job has no section {key!r}", fix=did_you_mean(key, SECTIONS, f"It has {names}")
                )
        asked = content.pop("question", [])
        if not isinstance(asked, list):
            raise ParameterError("questions of a job are written as [[question]]", got="[question]")
        made: dict[str, Any] = {name: _placed(SECTIONS[name].of(own), folder) for name, own in content.items()}
        return cls(**made, questions=tuple(_question(n, own, folder) for n, own in enumerate(asked, 1)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Job":
        """Read a job file; the files that it names are relative to it."""
        file = Path(path)
        try:
            with file.open("rb") as stream:
                content = stream.read(LARGEST_FILE + 1)
            if len(content) > LARGEST_FILE:
                raise ParameterError("it is too large for a job", got=f"more than {LARGEST_FILE:,} bytes")
            return cls.parse(content.decode("utf-8-sig"), folder=os.path.dirname(os.fspath(path)))
        except UnicodeDecodeError:
            raise ParameterError(f"job file {file} must be UTF-8 text", got="other bytes") from None
        except ParameterError as problem:
            raise ParameterError(
                f"job file {file}: {problem.what}", got=problem.got, why=problem.why, fix=problem.fix
            ) from None

    def near(self, path: str | os.PathLike[str]) -> "Job":
        """The same with the files that it names relative to a job file."""
        folder = os.path.dirname(os.fspath(path))
        return Job(
            data=_placed(self.data, folder, back=True),
            privacy=_placed(self.privacy, folder, back=True),
            questions=tuple(_placed(one, folder, back=True) for one in self.questions),
            out=_placed(self.out, folder, back=True),
        )

    def shown(self) -> "Job":
        """The same as a report may show it: files by their names alone, a ledger without who may open it, no key.

        >>> job = Job.of(path="/home/ann/diary.csv", ledger="postgresql://ann:secret@host/budget", key="/home/ann/key")
        >>> print(job.shown().to_toml())
        [data]
        path = "diary.csv"
        <BLANKLINE>
        [privacy]
        ledger = "postgresql://host/budget"
        <BLANKLINE>
        """

        def named(section: S) -> S:
            return _moved(section, lambda _, text: _name_of(text))

        privacy = named(replace(self.privacy, key=None))
        questions = tuple(named(one) for one in self.questions)
        return Job(data=named(self.data), privacy=privacy, questions=questions, out=named(self.out))

    def save(self, path: str | os.PathLike[str], *, comments: bool = False) -> None:
        """Write a job file; the files that it names are written relative to it."""
        Path(path).write_text(self.near(path).to_toml(comments=comments), encoding="utf-8")

    def to_toml(self, *, comments: bool = False) -> str:
        """The job as a file holds it, what differs from the defaults; with ``comments`` a line says what each means."""
        parts, explained = [], set()
        for section in (self.data, self.privacy, *self.questions, self.out):
            lines = [section.label]
            for name, value in section.said().items():
                if comments and name not in explained:
                    explained.add(name)
                    lines += textwrap.wrap(
                        _in_file(declared(type(section))[name].metadata["help"]),
                        WIDTH,
                        initial_indent="# ",
                        subsequent_indent="# ",
                        break_on_hyphens=False,
                    )
                lines.append(f"{name} = {_written(value)}")
            if len(lines) > 1:
                parts.append("\n".join(lines) + "\n")
        return "\n".join(parts)

    @property
    def fingerprint(self) -> str:
        """A name for all that can change a number: not for what is written, and by whom."""
        plain = {
            "data": self.data.said(),
            "privacy": {name: value for name, value in self.privacy.said().items() if name not in ("key", "who")},
            "questions": [one.said() for one in self.questions],
        }
        text = json.dumps(plain, sort_keys=True, default=lambda belief: belief.to_dict())
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_job(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a job rather than a belief or data: TOML with the sections of one.

    >>> is_job("diary.csv")
    False
    """
    if os.path.splitext(os.fspath(path))[1].lower() != ENDING:
        return False
    try:
        with open(path, encoding="utf-8-sig") as stream:
            lines = stream.read(LARGEST_FILE).splitlines()
    except (OSError, ValueError):
        return False
    return any(re.match(r"\s*(\[\[question\]\]|\[(data|privacy|out)\])", line) for line in lines)


@cache
def fields_by_name() -> dict[str, Field[Any]]:
    """The fields of all sections; no two have the same name."""
    return {name: one for section in SECTIONS.values() for name, one in declared(section).items()}


def option_of(name: str) -> str:
    """What the command calls a field.

    >>> option_of("ask"), option_of("date_format")
    ('--query', '--date-format')
    """
    option: str | None = fields_by_name()[name].metadata["option"]
    return option or "--" + name.replace("_", "-")


def _question(n: int, said: object, folder: str) -> Ask:
    try:
        return _placed(Ask.of(said), folder)
    except ParameterError as problem:
        what = problem.what if problem.what.startswith(Ask.label) else f"{Ask.label} {problem.what}"
        what = what.replace(Ask.label, f"{Ask.label} number {n}:", 1)
        raise ParameterError(what, got=problem.got, why=problem.why, fix=problem.fix) from None


def _placed(section: S, folder: str, *, back: bool = False) -> S:
    """A section with its files where a job file in this folder means them, or as one there would name them."""
    return _moved(section, lambda name, text: _path(name, text, folder, back=back)) if folder else section


def _moved(section: S, path: Callable[[str, str], str]) -> S:
    """A section with other paths of its files, given the name of a field and what it says."""
    moved: dict[str, Any] = {}
    for name, one in declared(type(section)).items():
        value = getattr(section, name)
        if one.metadata["file"] and value and not _spelled_out(name, value):
            moved[name] = path(name, value) if isinstance(value, str) else tuple(path(name, file) for file in value)
    return replace(section, **moved) if moved else section  # type: ignore[type-var]


def _spelled_out(name: str, value: Any) -> bool:
    """Whether a field that may name a file holds what would stand in it, or a name that is no path."""
    if not isinstance(value, str):
        return not isinstance(value, tuple)
    return (name in ("recode", "state_values") and "=" in value) or value.startswith("library:")


def _name_of(text: str) -> str:
    """A file by its name; an address without user and password."""
    scheme, found, rest = text.partition("://")
    if not found:
        return os.path.basename(text)
    return f"sqlite:///{os.path.basename(rest)}" if scheme == "sqlite" else f"{scheme}://{rest.rpartition('@')[2]}"


def _path(name: str, text: str, folder: str, *, back: bool) -> str:
    scheme = "sqlite:///" if name == "ledger" and text.startswith("sqlite:///") else ""
    path = text.removeprefix(scheme)
    inside = back and os.path.isabs(path) and path.startswith(os.path.join(os.path.abspath(folder), ""))
    if "://" in path or (os.path.isabs(path) and not inside):
        return text
    moved = os.path.relpath(path, folder) if back else os.path.normpath(os.path.join(folder, path))
    return f"{scheme}{moved}"


def segment_of(text: str) -> tuple[int, int]:
    """A segment A:B.

    >>> segment_of("1:96")
    (1, 96)
    """
    try:
        first, last = (int(part) for part in text.split(":"))
    except ValueError:
        raise ParameterError("segment must be A:B with whole numbers", got=repr(text), fix="For example 1:96") from None
    return first, last


def length_of(text: str) -> int | Literal["any"]:
    """A length: a whole number, or any.

    >>> length_of("672"), length_of("ANY")
    (672, 'any')
    """
    if text.lower() == "any":
        return "any"
    try:
        return int(text)
    except ValueError:
        raise ParameterError(
            "length must be a whole number or any",
            got=repr(text),
            why="it counts the values of the longest series",
        ) from None


def _in_file(help: str) -> str:  # noqa: A002
    """What a field means, as a comment in a file: keys in place of options."""
    help = help.replace("Repeat it for", "Write a list for").replace("May be repeated", "May be a list")  # noqa: A001
    names = {option_of(name): name for name in fields_by_name()}
    return re.sub(r"--[a-z][a-z-]*", lambda found: names.get(found[0], found[0]), help)


def _written(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        pairs = (f"{_key(name)} = {_written('' if one is None else one)}" for name, one in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, Sequence):
        single = len(value) == 1 and isinstance(value, tuple)
        return _written(value[0]) if single else f"[{', '.join(map(_written, value))}]"
    return _written(value.to_dict())


def _key(name: str) -> str:
    return name if BARE_KEY.fullmatch(name) else _written(name)
