"""Options that several commands share, and how their texts are read."""

import functools
import inspect
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from quiltwork.data import how
from quiltwork.errors import ParameterError
from quiltwork.types import Gaps, Guarantee, NoiseChoice

if TYPE_CHECKING:
    from polars import LazyFrame

    from quiltwork.beliefs import Belief, Secrets
    from quiltwork.data import Measurements
    from quiltwork.data.stored import StoredSeries
    from quiltwork.queries import Query
    from quiltwork.types import Progress


Method = Literal["enumeration", "projective"]
BeliefFile = Annotated[Path, typer.Argument(metavar="BELIEF", help="Belief file (JSON or TOML).")]
DataFile = Annotated[
    str,
    typer.Argument(metavar="DATA", help="CSV, TSV (also .gz) or Parquet file, or a quoted pattern: 'logs/*.parquet'."),
]
ColumnName = Annotated[str, typer.Option("--column", metavar="C", help="Column with the values.")]
ValueColumn = Annotated[
    str | None,
    typer.Option(
        "--column",
        metavar="C",
        help="Column with the values. For records, omit it if each variable has its own column.",
    ),
]
VariableColumn = Annotated[
    str | None,
    typer.Option("--variable", metavar="V", help="For records: column naming the variable in each row."),
]
GapsName = Annotated[
    Gaps, typer.Option("--gaps", help="Whether values before and after a gap may depend on each other.")
]
QUERIES = (
    "count:STATE, share:A|B, histogram, frequencies, mean, sum, median, quantile:0.9, top:3, transitions, stays, "
    "stays:STATE, stay-length:STATE, stay-lengths:STATE:2,5,10 or difference:STATE:A-B|C-D. "
    "For records, also Q over A,B, tally:A=x and records:A=x&B=y. "
    "For real values: mean, sum, trend, above:THRESHOLD:WIDTH, difference:A-B|C-D or weighted:W1,W2,..."
)
QueryText = Annotated[str, typer.Option("--query", metavar="Q", help=QUERIES)]
QueryTexts = Annotated[
    list[str] | None,
    typer.Option("--query", metavar="Q", help=f"{QUERIES} Repeat it for several questions that share ε."),
]
WorkloadFile = Annotated[
    Path | None,
    typer.Option(
        "--workload", metavar="FILE", help="Questions that share ε, with weights (JSON or TOML), instead of --query."
    ),
]
StateValues = Annotated[
    str | None,
    typer.Option(
        "--state-values",
        metavar="V",
        help="For mean and sum: the number that each state stands for, as off=0,on=1.5 or a JSON, TOML or CSV file.",
    ),
]
EpsilonValue = Annotated[
    float,
    typer.Option("--epsilon", metavar="E", help="Privacy loss allowed for any one moment; smaller is safer."),
]
Delta = Annotated[
    float,
    typer.Option(
        "--delta",
        metavar="D",
        help="Allow for a weaker (ε, δ) guarantee with this δ, such as 1e-6.",
    ),
]
NoiseName = Annotated[
    NoiseChoice | None,
    typer.Option(
        "--noise",
        help="Laplace or Gaussian noise (which needs --delta; 1e-6 if left out), or the one with the smaller error "
        "(the default with --delta). A ledger with a δ has Gaussian noise by default.",
    ),
]
GuaranteeName = Annotated[
    Guarantee,
    typer.Option("--guarantee", help="bayesian also covers adversaries who know any other values."),
]
SecretsText = Annotated[
    str | None,
    typer.Option(
        "--secrets",
        metavar="Q",
        help="What is secret: all (default), state:A, pairs:A|B,C|D, sets:A,B|* or, for records, variables:V,W.",
    ),
]
SecretTimes = Annotated[
    str | None,
    typer.Option(
        "--secret-times",
        metavar="T",
        help="When it is secret: positions 10:20 or, with a belief about the time of day, 8h-18h.",
    ),
]
NoiseScale = Annotated[
    float,
    typer.Option(
        "--noise-scale",
        metavar="S",
        help="Scale of the Laplace noise on each number, or the standard deviation of Gaussian noise.",
    ),
]
Seen = Annotated[int, typer.Option("--releases", metavar="K", help="Number of such releases seen together.")]
QuiltSize = Annotated[
    int | None,
    typer.Option("--quilt-size", metavar="M", help="For networks: largest quilt to try, in variables (default: 3)."),
]
DividedBy = Annotated[
    int | None,
    typer.Option(
        "--values",
        metavar="N",
        help="Number of values a mean or frequency was divided by (default: one series or record).",
    ),
]
RhythmName = Annotated[
    Literal["auto", "day", "week", "none"],
    typer.Option(
        "--rhythm",
        help="For numbers: take out the mean of each time of day or week first (auto: of day, from 8 days on).",
    ),
]
UnitName = Annotated[
    str | None, typer.Option("--unit", metavar="U", help="For numbers: unit of the values and the distance, as kW.")
]
SpreadValue = Annotated[
    float | None,
    typer.Option(
        "--spread",
        metavar="W",
        help="For numbers: width of the range that nearly all values lie in, as 5 for 0 to 5 kW.",
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="File with the ledger's key (default: QUILTWORK_LEDGER_KEY, if set)."),
]
WhoName = Annotated[
    str | None, typer.Option("--who", metavar="NAME", help="Name to record in the ledger (default: current user).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@dataclass(frozen=True)
class HowToRead(how.HowToRead):
    """The options that say how rows become series; the same for every command that reads data."""

    subject: Annotated[str | None, typer.Option("--subject", metavar="S", help="Column identifying the subject.")] = (
        None
    )
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            metavar="T",
            help="Time column, or DATE,TIME for two columns. If omitted, rows must already be in time order.",
        ),
    ] = None
    missing: Annotated[
        Literal["refuse", "split"],
        typer.Option("--missing", help="Refuse missing values, or split the series at them."),
    ] = "refuse"
    gap: Annotated[
        str | None,
        typer.Option("--gap", metavar="G", help="Split the series at pauses longer than this: 15min, 1h, or a number."),
    ] = None
    every: Annotated[
        str | None, typer.Option("--every", metavar="D", help="Keep one row per step: 5min, 1h, or a number.")
    ] = None
    take: Annotated[
        Literal["first", "last", "mean"],
        typer.Option("--take", help="With --every: row to keep in each step. mean is for numbers."),
    ] = "first"
    bins: Annotated[
        str | None,
        typer.Option("--bins", metavar="B", help="Group numbers into levels: edges 100,500 or LOW:HIGH:LEVELS."),
    ] = None
    unsorted: Annotated[
        Literal["refuse", "sort"],
        typer.Option("--unsorted", help="Refuse rows that are out of time order, or sort them."),
    ] = "refuse"
    duplicates: Annotated[
        Literal["refuse", "drop"],
        typer.Option("--duplicates", help="Refuse repeated times, or drop repeats with the same value."),
    ] = "refuse"
    together: Annotated[
        str | None,
        typer.Option(
            "--together",
            metavar="C",
            help="Column naming each of several people who influence each other.",
        ),
    ] = None
    separator: Annotated[
        str | None,
        typer.Option(
            "--separator",
            metavar="X",
            help="Character between columns of a text file (default: the one that splits its first line).",
        ),
    ] = None
    decimal: Annotated[
        Literal[".", ","] | None,
        typer.Option(
            "--decimal",
            help="Decimal sign of numbers in text (default: a point; a comma where columns are separated by ;).",
        ),
    ] = None
    date_format: Annotated[
        str | None,
        typer.Option(
            "--date-format", metavar="F", help="How dates are written in text: dd/mm/yyyy (default: yyyy-mm-dd)."
        ),
    ] = None
    recode: Annotated[
        str | None,
        typer.Option(
            "--recode",
            metavar="FILE",
            help="Names of states for values of the data: a JSON, TOML or CSV file, or 1=sleep,2=sit,*=other.",
        ),
    ] = None
    engine: Annotated[Literal["polars", "spark"], typer.Option("--engine", help="Engine that counts the rows.")] = (
        "polars"
    )
    master: Annotated[
        str | None, typer.Option("--master", metavar="URL", help="With --engine spark: cluster URL, or local[4].")
    ] = None

    def people(self, data: str, column: str | None, expected: "Iterable[str] | None" = None) -> "LazyFrame":
        """A table with a column for each person, from rows of several people."""
        if self.engine == "spark":
            raise ParameterError(
                "rows of several people need the column with their values, in a file",
                got="--engine spark",
                fix="--column C, without --engine",
            )
        return super().people(data, column, expected)

    def read(
        self,
        data: object,
        *,
        column: str | list[str],
        states: Any,
        segment: tuple[int, int] | None = None,
        progress: "Progress | None" = None,
    ) -> "StoredSeries":
        """The series in a file or table, read in this way; a terminal shows how far it is."""
        with _counting(progress) as report:
            series = super().read(data, column=column, states=states, segment=segment, progress=report)
        _warn_of(series.doubt)
        return series

    def measure(
        self,
        data: object,
        *,
        column: str,
        segment: tuple[int, int] | None = None,
        progress: "Progress | None" = None,
    ) -> "Measurements":
        """The real values in a file or table, read in this way; a terminal shows how far it is."""
        with _counting(progress) as report:
            series = super().measure(data, column=column, segment=segment, progress=report)
        _warn_of(series.doubt)
        return series

    def _source(self, data: object) -> object:
        """The file, or its table on Spark."""
        source = super()._source(data)
        if self.master is not None and self.engine != "spark":
            raise ParameterError("a master is only for Spark", got="--master", fix="--engine spark")
        if self.engine == "spark" and isinstance(data, str):
            from quiltwork.data.engines.spark import spark_table

            return spark_table(data, master=self.master, time=self.time, separator=self.separator)
        return source


@contextmanager
def _counting(given: "Progress | None") -> "Iterator[Progress | None]":
    if given is not None:
        yield given
        return
    from quiltwork.view.terminal import progress

    with progress("Counting") as report:
        yield report


def _warn_of(doubt: str | None) -> None:
    if doubt is not None:
        from quiltwork.view.terminal import err

        err.print(f"warning: {in_options(doubt)}.")


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of :class:`HowToRead`; it gets them as one argument, ``how``."""
    hints = get_type_hints(HowToRead, include_extras=True)
    options = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in fields(HowToRead)
        if one.default is not MISSING
    ]

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        how = HowToRead(**{one.name: given.pop(one.name) for one in fields(HowToRead)})
        command(**given, how=how)

    signature = inspect.signature(command, eval_str=True)
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in signature.parameters.values() if p.name != "how"]
    with_options.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    with_options.__annotations__ = {p.name: p.annotation for p in [*own, *options]}
    return with_options


def query_of(text: str, state_values: str | None, belief: "Belief") -> "Query":
    """The query, with the numbers that states stand for."""
    from quiltwork.calibration.wanted import question

    return question(text, _numbers(state_values), belief)


def _numbers(state_values: str | None) -> "dict[str, str | None] | None":
    if state_values is None:
        return None
    from quiltwork.data.recode import read_mapping

    return read_mapping(state_values, "state values", ("state", "value"))


def known_values(facts: list[str]) -> dict[str, str]:
    """What is known, as place → state."""
    known = {}
    for fact in facts:
        place, equals, state = fact.partition("=")
        if not (place and equals and state):
            raise ParameterError("a known value must be POS=STATE", got=repr(fact), fix="For example --know 3=walk")
        if place in known:
            raise ParameterError("each known value must be given once", got=f"{place} twice")
        known[place] = state
    return known


def secrets_of(text: str | None, times: str | None) -> "Secrets | None":
    """What is secret, and when; None if neither was said."""
    from quiltwork.beliefs import Secrets

    return None if text is None and times is None else Secrets.of(text).at(times)


def as_said(secrets: "Secrets | None") -> dict[str, str]:
    """What is secret as commands print it beside other values; nothing if it is everything."""
    return {} if secrets is None or secrets.everything else {"secrets": secrets.text}


def about(secrets: "Secrets | None") -> list[str]:
    """What a number is about, in words, where it is not about everything."""
    return [] if secrets is None or secrets.everything else [f"About: {secrets.secret}."]


def length_of(text: str) -> int | None:
    """A length: a whole number, or None for any."""
    if text.lower() == "any":
        return None
    try:
        return int(text)
    except ValueError:
        raise ParameterError(
            "length must be a whole number or any",
            got=repr(text),
            why="it counts the values of the longest series",
        ) from None


def needed_length(text: str | None, belief: "Belief") -> int | None:
    """The length of the series that a belief is about; a record has one value a variable."""
    if text is None and belief.variables is None:
        raise ParameterError(
            "a length is needed", got="none", why="it counts the values of the longest series", fix="--length N, or any"
        )
    return None if text is None else length_of(text)


def whole_of(query: "Query", noise_scale: float, values: int | None) -> tuple["Query", float]:
    """A share or a mean as the counts or sums that it was made of, if it is known what they were divided by."""
    if values is None:
        return query, noise_scale
    if values < 1:
        raise ParameterError("values must be at least 1", got=str(values))
    return query.undivided(), noise_scale * query.divisor(values)


def in_options(message: str) -> str:
    """A message of the library, which names arguments (``missing='split'``, ``quilt_size``), with options instead.

    >>> in_options("Sort them: unsorted='sort', or leave time= out. quilt_size is for networks.")
    'Sort them: --unsorted sort, or leave --time out. --quilt-size is for networks.'
    """

    def named(match: re.Match[str]) -> str:
        name, value = match.group(1), match.group(2)
        if name not in _known():
            return match.group(0)
        return f"--{name.replace('_', '-')}" + (f" {shlex.quote(value)}" if value else "")

    message = re.sub(r"\b([a-z_]+)=(?:'([^']*)'|(?=\W|$))", named, message)
    return re.sub(r"(?<![-\w])([a-z]+_[a-z_]+)(?![\w=])()", named, message)


@functools.cache
def _known() -> set[str]:
    """The options of all commands, as the library names them."""
    from quiltwork.cli.command import app

    return set(_option_names(typer.main.get_command(app)))


def _option_names(command: Any) -> Iterator[str]:
    for child in getattr(command, "commands", {}).values():
        yield from _option_names(child)
    for parameter in command.params:
        yield from (name[2:].replace("-", "_") for name in parameter.opts if name.startswith("--"))


def can_ask() -> bool:
    """Whether somebody sits at a terminal, who sees a question and can answer it."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def segment_of(text: str) -> tuple[int, int]:
    """A segment A:B."""
    try:
        first, last = (int(part) for part in text.split(":"))
    except ValueError:
        raise ParameterError("segment must be A:B with whole numbers", got=repr(text), fix="For example 1:96") from None
    return first, last


def asked_in(query: list[str] | None, workload: Path | None, state_values: str | None, belief: "Belief") -> "Query":
    """The question, or all questions of one release; numbers for states are for their means and sums."""
    from quiltwork.calibration.wanted import questions
    from quiltwork.queries.files import load_workload

    if (not query) == (workload is None):
        raise ParameterError(
            "a question is needed, by --query or in a --workload file",
            got="neither" if not query else "both",
            fix="For example --query histogram; repeat --query for several questions",
        )
    if workload is not None:
        if state_values is not None:
            raise ParameterError("numbers for states go with --query", got="--state-values with --workload")
        return load_workload(workload)
    return questions(query or [], _numbers(state_values), belief)
