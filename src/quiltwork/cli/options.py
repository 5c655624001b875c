"""Options that several commands share, and how their texts are read. Those of a job are made from its fields."""

import functools
import inspect
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin

import typer

from quiltwork.errors import ParameterError
from quiltwork.fields import Section
from quiltwork.job import (
    ENDING,
    QUERIES,
    READING,
    SECTIONS,
    Ask,
    Data,
    Job,
    fields_by_name,
    is_job,
    option_of,
)

if TYPE_CHECKING:
    from quiltwork.beliefs import Belief, Secrets
    from quiltwork.question import Said


Method = Literal["enumeration", "projective"]
BeliefFile = Annotated[Path, typer.Argument(metavar="BELIEF", help="Belief file (JSON or TOML).")]
BeliefOrJob = Annotated[Path, typer.Argument(metavar="BELIEF", help="Belief file (JSON or TOML), or a job file.")]
DataFile = Annotated[
    str,
    typer.Argument(metavar="DATA", help="CSV, TSV (also .gz) or Parquet file, or a quoted pattern: 'logs/*.parquet'."),
]
DataOrJob = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV (also .gz) or Parquet file, a quoted pattern: 'logs/*.parquet', or a job file (.toml).",
    ),
]
ColumnName = Annotated[str, typer.Option("--column", metavar="C", help="Column with the values.")]
QueryText = Annotated[str, typer.Option("--query", metavar="Q", help=QUERIES)]
NoiseScale = Annotated[
    float,
    typer.Option(
        "--noise-scale",
        metavar="S",
        help="Scale of the Laplace noise on each number, or the standard deviation of Gaussian noise.",
    ),
]
Seen = Annotated[int, typer.Option("--releases", metavar="K", help="Number of such releases seen together.")]
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
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]

HOW = tuple(name for name in READING if name not in ("column", "variable", "gaps"))
MACHINE = ("engine", "master")


def job_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command options that are made from the fields of a job.

    A parameter with the name of a field becomes its option, with the default and the type that it has here. One called
    ``how`` becomes the options for reading data, and gets them as a :class:`Data`. One called ``said`` becomes the
    options of the fields ``names``, and gets those that were given, by name.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())
        listed = {p.name for p in own}
        options = [_option(p.name, p.annotation, p.default) if _is_field(p) else p for p in own]
        read = [_of_field(name) for name in (*HOW, *MACHINE)] if "how" in listed else []
        said = [_of_field(name) for name in names]
        made = {"how": read, "said": said}
        shown = [option for p in options for option in made.get(p.name, [p])]
        if "context" not in listed:
            shown.append(inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context))
        shown = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in shown]

        @functools.wraps(command)
        def with_options(**given: Any) -> None:
            at: typer.Context = given["context"] if "context" in listed else given.pop("context")
            if "how" in listed:
                given["how"] = Data(**{p.name: given.pop(p.name) for p in read})
            if "said" in listed:
                values = {p.name: given.pop(p.name) for p in said}
                given["said"] = {name: value for name, value in values.items() if _was_given(at, name)}
            command(**given)

        with_options.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        with_options.__annotations__ = {p.name: p.annotation for p in shown}
        return with_options

    return decorated


def _is_field(parameter: inspect.Parameter) -> bool:
    return parameter.name in fields_by_name() and get_origin(parameter.annotation) is not Annotated


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _of_field(name: str) -> inspect.Parameter:
    """The option of a field, as text where the field holds more than an option can."""
    one = fields_by_name()[name]
    leaves = [part for part in get_args(one.type) if part is not type(None)] or [one.type]
    kind: Any = str
    if get_origin(one.type) is tuple:
        return _option(name, list[leaves[0]] | None, None)  # type: ignore[valid-type]
    if get_origin(one.type) is Literal or len(leaves) == 1:
        kind = one.type if get_origin(one.type) is Literal else leaves[0]
    if kind in (Any, tuple) or get_origin(kind) is tuple:
        kind = str
    default = one.default
    return _option(name, kind if default is not None else kind | None, default)


def _option(name: str, kind: Any, default: Any) -> inspect.Parameter:
    facts = fields_by_name()[name].metadata
    made = typer.Option(option_of(name), metavar=facts["metavar"], help=facts["help"])
    annotation: Any = Annotated[kind, made]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def job_of(file: str | Path, said: dict[str, Any], argument: str) -> Job:
    """The job that a command is to do: a file with what was said beside it, or what was said alone.

    ``argument`` is the field that the command's first argument sets, where it is no job file.
    """
    if is_job(file) or (argument == "path" and Path(file).suffix.lower() == ENDING):  # data are no TOML
        return Job.load(file).with_(**said)
    return Job.of(**(said | {argument: str(file)}))


def needed(section: Section, name: str, why: str | None = None) -> Any:
    """A field that must be there for what is asked."""
    value = getattr(section, name)
    if value is None:
        raise ParameterError(
            f"{option_of(name)[2:].replace('-', ' ')} is needed",
            got="none",
            why=why,
            fix=f"{option_of(name)}, or {name} under {section.label} in a job file",
        )
    return value


def believed(job: Job) -> "Belief":
    """The belief of a job: one in a file, or one that the job itself spells out."""
    from quiltwork.beliefs.files import belief_from_dict, load_belief

    given = needed(job.privacy, "belief")
    return load_belief(given) if isinstance(given, str) else belief_from_dict(given)


def questions_of(job: Job) -> tuple[Ask, ...]:
    """The questions of a job; there must be one."""
    return job.questions or Job.of(epsilon=1.0).questions  # refused as a question without a text


Rows = TypeVar("Rows")


def counted(read: "Callable[..., Rows]", *given: Any, **more: Any) -> Rows:
    """What a function reads; a terminal shows how far it is, and what is doubtful about it."""
    from quiltwork.view.terminal import err, progress

    with progress("Counting") as report:
        rows = read(*given, **more, progress=report)
    doubt = getattr(rows, "doubt", None)
    if doubt is not None:
        err.print(f"warning: {in_options(doubt)}.")
    return rows


def query_of(text: str, state_values: str | None, belief: "Belief") -> "Said":
    """The query, with the numbers that states stand for."""
    from quiltwork.calibration.wanted import asked

    return asked(Ask(ask=(text,), state_values=state_values), belief)


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


def needed_length(text: "str | int | None", belief: "Belief") -> int | None:
    """The length of the series that a belief is about; a record has one value a variable."""
    if text is None and belief.variables is None:
        raise ParameterError(
            "a length is needed", got="none", why="it counts the values of the longest series", fix="--length N, or any"
        )
    return length_of(text)


def length_of(text: "str | int | None") -> int | None:
    """A length: a whole number, or None for any."""
    said = Data(length=text).length  # type: ignore[arg-type]
    return None if said == "any" else said


def whole_of(query: "Said", noise_scale: float, values: int | None) -> tuple["Said", float]:
    """A share or a mean as the counts or sums that it was made of, if it is known what they were divided by."""
    from quiltwork.question import Workload

    if values is None:
        return query, noise_scale
    if values < 1:
        raise ParameterError("values must be at least 1", got=str(values))
    if isinstance(query, Workload) or query.entry.divided is None:
        raise ParameterError("values are for shares and means", got=f"query {query.text}", fix="Leave --values out")
    return query.undivided, noise_scale * values


def in_options(message: str) -> str:
    """A message of the library, which names arguments (``missing='split'``, ``quilt_size``), with options instead.

    >>> in_options("Sort them: unsorted='sort', or leave time= out. quilt_size is for networks.")
    'Sort them: --unsorted sort, or leave --time out. --quilt-size is for networks.'
    """

    def named(match: re.Match[str]) -> str:
        name, value = match.group(1), match.group(2)
        option = option_of(name) if name in fields_by_name() else f"--{name.replace('_', '-')}"
        if option[2:].replace("-", "_") not in _known():
            return match.group(0)
        return option + (f" {shlex.quote(value)}" if value else "")

    message = re.sub(rf"^({'|'.join(re.escape(one.label) for one in SECTIONS.values())}) (?=\w+ )", "", message)
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
