"""Options that several commands share, and how their texts are read."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from quiltwork.errors import ParameterError

if TYPE_CHECKING:
    from quiltwork.beliefs import Belief
    from quiltwork.queries import Query


class MissingRule(StrEnum):
    """What to do with missing values."""

    REFUSE = "refuse"
    SPLIT = "split"


class GapsRule(StrEnum):
    """What a gap means."""

    DEPENDENT = "dependent"
    INDEPENDENT = "independent"


class MethodName(StrEnum):
    """How leakage is computed."""

    ENUMERATION = "enumeration"
    PROJECTIVE = "projective"


class GuaranteeName(StrEnum):
    """Which promise."""

    PUFFERFISH = "pufferfish"
    BAYESIAN = "bayesian"


BeliefFile = Annotated[Path, typer.Argument(metavar="BELIEF", help="A belief file, JSON or TOML.")]
DataFile = Annotated[Path, typer.Argument(metavar="DATA", help="A CSV, TSV or Parquet file.")]
ColumnName = Annotated[str, typer.Option("--column", metavar="C", help="The column with the states.")]
SubjectName = Annotated[
    str | None, typer.Option("--subject", metavar="S", help="The column that says whose row it is.")
]
TimeName = Annotated[
    str | None,
    typer.Option("--time", metavar="T", help="The column to sort by; else rows are in time order."),
]
QueryText = Annotated[
    str,
    typer.Option(
        "--query",
        metavar="Q",
        help="count:STATE, histogram, frequencies, mean, sum, transitions; of records also Q over A,B or tally:A=x.",
    ),
]
EpsilonValue = Annotated[
    float,
    typer.Option("--epsilon", metavar="E", help="How much may be told about one moment; smaller is safer."),
]
Missing = Annotated[MissingRule, typer.Option("--missing", help="Refuse missing values, or split the series at them.")]
Delta = Annotated[
    float, typer.Option("--delta", metavar="D", help="For wasserstein: the weaker promise (ε, δ) with this δ.")
]
Promised = Annotated[
    GuaranteeName,
    typer.Option("--guarantee", help="bayesian: also against adversaries who know any other values."),
]
NoiseScale = Annotated[
    float, typer.Option("--noise-scale", metavar="S", help="The scale of the Laplace noise on each number.")
]
Seen = Annotated[int, typer.Option("--releases", metavar="K", help="How many such releases are seen.")]
QuiltSize = Annotated[
    int | None,
    typer.Option("--quilt-size", metavar="M", help="For networks: quilts of up to so many variables (3 if left out)."),
]
Asked = Annotated[
    int | None,
    typer.Option("--values", metavar="N", help="What a mean or share was divided by; else one series, or one record."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def known_values(facts: list[str]) -> dict[str, str]:
    """What is known, as place → state."""
    known = {}
    for fact in facts:
        place, equals, state = fact.partition("=")
        if not (place and equals and state):
            raise ParameterError("what is known must be POS=STATE", got=repr(fact), fix="--know 3=walk, say")
        if place in known:
            raise ParameterError("what is known must be said once", got=f"{place} twice")
        known[place] = state
    return known


def promise_of(name: GuaranteeName) -> Literal["pufferfish", "bayesian"]:
    """The promise asked for."""
    return "bayesian" if name is GuaranteeName.BAYESIAN else "pufferfish"


def method_of(name: MethodName) -> Literal["enumeration", "projective"]:
    """The method asked for."""
    return "enumeration" if name is MethodName.ENUMERATION else "projective"


def missing_rule(rule: MissingRule) -> Literal["refuse", "split"]:
    """What to do with missing values."""
    return "split" if rule is MissingRule.SPLIT else "refuse"


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
    from quiltwork.beliefs import RecordBelief

    if text is None and not isinstance(belief, RecordBelief):
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


def segment_of(text: str) -> tuple[int, int]:
    """A segment A:B."""
    try:
        first, last = (int(part) for part in text.split(":"))
    except ValueError:
        raise ParameterError("segment must be A:B with whole numbers", got=repr(text), fix="1:96, say") from None
    return first, last
