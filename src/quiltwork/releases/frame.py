"""A release as a table in long form: a row for each number."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quiltwork.releases.answer import PartAnswer

if TYPE_CHECKING:
    import polars as pl

    from quiltwork.releases.result import Release

KEYS = ("state", "next_state")
FIRST_COLUMN = "query"
COLUMNS = (
    FIRST_COLUMN, "part", *KEYS, "label", "value", "error_95", "consistent", "values", "noise_only",
)  # fmt: skip


def rows_of(release: "Release") -> list[tuple[PartAnswer, dict[str, Any]]]:
    """Each number with what it is about, and the answer that it belongs to; all rows have the same columns.

    Of several questions the rows of all of them, one question after the other.
    """
    rows = [pair for question in release.questions or (release,) for pair in _rows(question)]
    used = {name for _, row in rows for name in row}
    kept = [name for name in COLUMNS if name in used]
    return [(answer, {name: row.get(name) for name in kept}) for answer, row in rows]


def _rows(release: "Release") -> Iterator[tuple[PartAnswer, dict[str, Any]]]:
    poor = any(answer.pure_noise for answer in release.answers)
    for answer in release.answers:
        error = answer.error()
        for n, (names, number) in enumerate(zip(_names(answer), answer.numbers, strict=True)):
            row: dict[str, Any] = {FIRST_COLUMN: answer.query.text}
            row |= {"part": answer.name} if release.parts else {}
            row |= names | {"value": number, "error_95": error}
            if answer.consistent is not None:
                row["consistent"] = answer.consistent[n]
            row |= {"values": answer.values} | ({"noise_only": answer.pure_noise} if poor else {})
            yield answer, row


def _names(answer: PartAnswer) -> Sequence[dict[str, str]]:
    """What each number is about: a state, a state and the next, or nothing if there is one number."""
    count = len(answer.numbers)
    paths = dict(_paths(answer.presented(list(range(count)))))
    if set(paths) == set(range(count)) and all(len(path) <= len(KEYS) for path in paths.values()):
        return [dict(zip(KEYS, paths[n], strict=False)) for n in range(count)]
    return [{"label": label} for label in answer.labels]


def _paths(places: object, path: tuple[str, ...] = ()) -> Iterator[tuple[object, tuple[str, ...]]]:
    """Where each number stands in the form that people read."""
    if isinstance(places, Mapping):
        for name, inner in places.items():
            yield from _paths(inner, (*path, name))
    elif isinstance(places, int):
        yield places, path


def frame_of(release: "Release") -> "pl.DataFrame":
    """The rows as a table of polars."""
    import polars as pl  # it loads slowly

    return pl.DataFrame([row for _, row in rows_of(release)], infer_schema_length=None)
