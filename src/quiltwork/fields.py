"""Records of what a person says: their fields are declared once, and checked once, when a record is made."""

import math
import os
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, field, fields
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from quiltwork.errors import ParameterError, did_you_mean, nearest

NAME = 1_000  # characters of a name


def say(
    default: Any,
    help: str,  # noqa: A002 - as options call it
    *,
    metavar: str | None = None,
    option: str | None = None,
    web: bool = True,
    file: bool = False,
    **limits: float,
) -> Any:
    """A field: its default, what it means, how the command and the page call it, and which values it may have.

    ``web`` says whether a form may set it, ``file`` whether it names a file, so that a job file can name it from where
    it is itself. ``limits`` are ``gt``, ``ge``, ``lt`` and ``max_length``.
    """
    facts = {"help": help, "metavar": metavar, "option": option, "web": web, "file": file, "limits": limits}
    return field(default=default, metadata=facts)


def text(help: str, metavar: str, *, most: int = NAME, **more: Any) -> Any:  # noqa: A002
    """A field for a line of text, which may be left out."""
    return say(None, help, metavar=metavar, max_length=most, **more)


class Section:
    """One section of a job: a frozen record whose fields are checked here, once."""

    label: ClassVar[str]

    def __post_init__(self) -> None:
        for name, one in declared(type(self)).items():
            object.__setattr__(self, name, _checked(self.label, one, self._plain(name, getattr(self, name))))
        self._check()

    def _check(self) -> None:
        """What concerns several fields."""

    def _plain(self, name: str, value: Any) -> Any:
        """A value that a command has as text, or a file as a list, as its field holds it."""
        single = isinstance(value, str | int | float) and get_origin(declared(type(self))[name].type) is tuple
        return (value,) if single else os.fspath(value) if isinstance(value, os.PathLike) else value

    def said(self) -> dict[str, Any]:
        """The fields that differ from their defaults, by name, in their order."""
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) != one.default}  # type: ignore[arg-type]

    @classmethod
    def of(cls, said: object) -> Self:
        """A section from keys and values, as a file or a request has them.

        >>> from quiltwork.job import Data
        >>> Data.of({"column": "activity", "subjct": "person"})
        Traceback (most recent call last):
        quiltwork.errors.ParameterError: [data] has no key 'subjct'. Did you mean 'subject'?...
        """
        if not isinstance(said, Mapping):
            raise ParameterError(f"{cls.label} must be a table of keys and values", got=kind_of(said))
        known = declared(cls)
        for key in said:
            if key not in known:
                raise ParameterError(
                    f"{cls.label} has no key {str(key)!r}",
                    fix=did_you_mean(str(key), known, "" if nearest(str(key), known) else f"Known: {', '.join(known)}"),
                )
        return cls(**said)


def declared(section: type["Section"]) -> dict[str, Field[Any]]:
    """The fields of a section by name, with their types in place of the texts of these."""
    if section not in _DECLARED:
        hints = get_type_hints(section)
        for one in fields(section):  # type: ignore[arg-type]
            one.type = hints[one.name]
        _DECLARED[section] = {one.name: one for one in fields(section)}  # type: ignore[arg-type]
    return _DECLARED[section]


_DECLARED: dict[type["Section"], dict[str, Field[Any]]] = {}


def _checked(label: str, one: Field[Any], value: Any) -> Any:
    """A value as its field wants it, or an error that names both."""
    if one.type is Any:
        return value
    found = list(_fitting(value, one.type))
    if not found:
        raise _refused(label, one, value)
    for part in found[0] if isinstance(found[0], tuple) else found:
        _check_limits(label, one, part)
    return found[0]


def _fitting(value: Any, kind: Any) -> Iterator[Any]:
    """The value, once for each way in which it fits a type."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        for part in parts:
            yield from _fitting(value, part)
    elif origin is Literal:
        yield from (known for known in parts if isinstance(value, str) and value == known)
    elif origin is tuple:
        yield from _fitting_list(value, parts)
    elif origin is Mapping:
        named = isinstance(value, Mapping) and all(isinstance(name, str) for name in value)
        if named and all(list(_fitting(one, parts[1])) for one in value.values()):
            yield dict(value)
    elif kind is float:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            yield float(value)
    elif type(value) is kind and (kind is not str or _is_text(value)):
        yield value


def _fitting_list(value: Any, parts: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return
    kinds = [parts[0]] * len(value) if parts[-1] is Ellipsis else list(parts)
    each = [list(_fitting(one, kind)) for one, kind in zip(value, kinds, strict=False)]
    if len(value) == len(kinds) and all(each):
        yield tuple(fits[0] for fits in each)


def _is_text(value: str) -> bool:
    """Whether it can be written to a file: no half of a surrogate pair."""
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


def _refused(label: str, one: Field[Any], value: Any) -> ParameterError:
    choices = [part for part in _leaves(one.type) if isinstance(part, str)]
    kinds = [_WORDS[part] for part in _leaves(one.type) if part in _WORDS]
    wanted = ", ".join([*kinds, *choices])
    if len(kinds) + len(choices) > 1:
        *others, last = [*kinds, *choices]
        wanted = f"{', '.join(others)} or {last}"
    shown = repr(value)[:40] if isinstance(value, str) and choices else kind_of(value)
    if isinstance(value, float) and not math.isfinite(value):
        wanted, shown = "a finite number", f"{value:g}"
    fix = did_you_mean(value, choices) if isinstance(value, str) and choices else None
    return ParameterError(f"{label} {one.name} must be {wanted}", got=shown, fix=fix or None)


def _leaves(kind: Any) -> Iterator[Any]:
    """The types and words that a type is made of."""
    if get_origin(kind) is Mapping:
        yield Mapping
    elif parts := get_args(kind):
        for part in parts:
            yield from _leaves(part)
    elif kind is not Ellipsis:
        yield kind


_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", Mapping: "a table"}


def kind_of(value: object) -> str:
    """What a value is, and not which."""
    if value is None:
        return "none"
    return next((words for kind, words in _WORDS.items() if type(value) is kind), type(value).__name__)


def _check_limits(label: str, one: Field[Any], value: Any) -> None:
    limits = one.metadata["limits"]
    if isinstance(value, str):
        if len(value) > limits.get("max_length", math.inf):
            raise ParameterError(f"{label} {one.name} is too long", got=f"{len(value):,} characters")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        what = f"{label} {one.name} must be"
        if "gt" in limits and not value > limits["gt"]:
            raise ParameterError(f"{what} above {limits['gt']:g}", got=f"{value:g}")
        if "ge" in limits and not value >= limits["ge"]:
            raise ParameterError(f"{what} at least {limits['ge']:g}", got=f"{value:g}")
