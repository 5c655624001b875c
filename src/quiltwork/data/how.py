"""How a user says that a file is to be read, and the rows of that file under a belief: for every shell alike."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from quiltwork.data.reading import CHOICES, Decimal, Duplicates, Missing, Take, Unsorted
from quiltwork.data.recode import recode_of
from quiltwork.errors import ParameterError
from quiltwork.types import Gaps, Progress, Segment

if TYPE_CHECKING:
    from polars import LazyFrame

    from quiltwork.beliefs import Belief
    from quiltwork.data.measured import Measurements
    from quiltwork.data.records import Records
    from quiltwork.data.series import Series
    from quiltwork.data.stored import StoredSeries

FOR_RECORDS = {"subject", "separator", "recode"}


@dataclass(frozen=True)
class HowToRead:
    """How rows become series or records, as the options of the command say it.

    ``recode`` is a mapping of values to states, or the name of a file with one. ``together`` is the column that names
    each of several people who influence each other.

    >>> from quiltwork import MarkovChain
    >>> from quiltwork.samples import diary_path
    >>> HowToRead(subject="person", time="time").read(diary_path(), column="activity", states=None)
    Series(24 subjects, 64512 values of 6 states)
    """

    subject: str | None = None
    time: str | None = None
    missing: Missing = "refuse"
    gap: str | None = None
    every: str | None = None
    take: Take = "first"
    bins: str | None = None
    unsorted: Unsorted = "refuse"
    duplicates: Duplicates = "refuse"
    together: str | None = None
    separator: str | None = None
    decimal: Decimal | None = None
    date_format: str | None = None
    recode: str | Mapping[str, str | None] | None = None

    def given(self) -> list[str]:
        """The settings that differ from their defaults, by name."""
        return [one.name for one in fields(self) if getattr(self, one.name) != one.default]

    @property
    def recoded(self) -> Mapping[str, str | None] | None:
        """Which values of the data are which states, if they have other names there."""
        if not isinstance(self.recode, str):
            return self.recode
        from quiltwork.data.recode import read_mapping

        return read_mapping(self.recode, "recoded values")

    def rows(
        self,
        belief: "Belief",
        data: object,
        *,
        column: str | None,
        variable: str | None = None,
        segment: Segment | None = None,
        gaps: Gaps = "dependent",
    ) -> "Series | Records":
        """What a file holds, as the belief is about it: series of states or of real values, or records."""
        if belief.variables is not None:
            self._check_for_records(segment, gaps)
            return self._records(belief, data, column, variable)
        from quiltwork.data.tables import pattern_of

        source = data
        if self.together is not None:
            if belief.step_variables is None:
                raise ParameterError(
                    "people who belong together need a belief about all of them",
                    got=f"together= with {belief!r}",
                    fix="quiltwork belief fit --together, or leave it out",
                )
            source, column = self.people(data, column, belief.step_variables), None
        named = _series_column(column, variable, belief)
        if belief.real and isinstance(named, str):
            return self.measure(source, column=named, segment=segment).from_files(pattern_of(data))
        return self.read(source, column=named, states=belief.states, segment=segment).from_files(pattern_of(data))

    def to_fit(
        self, data: object, *, column: str | None, states: Any = None, real: bool = False
    ) -> "tuple[Series, list[str]]":
        """Public data to which a belief is to be fitted; and of people together, their names."""
        if self.together is not None:
            table = self.people(data, column)
            people = table.collect_schema().names()[1 if self.subject is None else 2 :]
            return self.read(table, column=people, states=None), people
        if column is None:
            raise ParameterError("a series needs the column with its values", got="no column", fix="Name it: column=")
        return self.measure(data, column=column) if real else self.read(data, column=column, states=states), []

    def public(self, belief: "Belief", data: str, *, column: str) -> "Series":
        """Public data with which a belief about series is compared; a belief about records is refused before."""
        if belief.real:
            return self.measure(data, column=column)
        belief.again([1])
        if self.together is not None and belief.step_variables is not None:
            table = self.people(data, column, belief.step_variables)
            return self.read(table, column=list(belief.step_variables), states=belief.states)
        return self.read(data, column=column, states=belief.states)

    def people(self, data: object, column: str | None, expected: Iterable[str] | None = None) -> "LazyFrame":
        """A table with a column for each person, from rows of several people: those that are expected."""
        from quiltwork.data.together import by_person

        if column is None:
            raise ParameterError(
                "rows of several people need the column with their values, in a file",
                got="no column",
                fix="Name it: column=",
            )
        return by_person(
            data,
            who=str(self.together),
            column=column,
            time=self.time,
            subject=self.subject,
            separator=self.separator,
            expected=None if expected is None else list(expected),
        )

    def read(
        self,
        data: object,
        *,
        column: str | list[str],
        states: Any,
        segment: Segment | None = None,
        progress: Progress | None = None,
    ) -> "StoredSeries":
        """The series in a file or table, read in this way."""
        from quiltwork.data.read import read_series

        source = self._source(data)
        settings = self._settings(segment, progress)
        return read_series(source, column=column, states=states, bins=self.bins, **settings)

    def measure(
        self, data: object, *, column: str, segment: Segment | None = None, progress: Progress | None = None
    ) -> "Measurements":
        """The real values in a file or table, read in this way."""
        from quiltwork.data.read import read_measurements

        if self.bins is not None:
            raise ParameterError(
                "bins are for beliefs about levels", got="bins=", why="the belief is about real values", fix="Omit it"
            )
        return read_measurements(self._source(data), column=column, **self._settings(segment, progress))

    def _source(self, data: object) -> object:
        if self.together is not None and isinstance(data, str):
            raise ParameterError("people together are for records over time", got="together=", fix="Leave it out")
        return data

    def _settings(self, segment: Segment | None, progress: Progress | None) -> dict[str, Any]:
        names = ["subject", "time", "missing", "gap", "every", "take", "unsorted", "duplicates"]
        names += ["separator", "decimal", "date_format"]
        given = {name: getattr(self, name) for name in names}
        return given | {"recode": self.recoded, "segment": segment, "progress": progress}

    def _check_for_records(self, segment: Segment | None, gaps: Gaps) -> None:
        given = [name for name in self.given() if name not in FOR_RECORDS]
        given += ["segment"] * (segment is not None) + ["gaps"] * (gaps != "dependent")
        if given:
            raise ParameterError(
                "records have no time, no segments, no gaps and no missing values",
                got=f"{given[0]}=",
                why="the belief is about named variables",
                fix="Leave it out",
            )

    def _records(self, belief: "Belief", data: object, column: str | None, variable: str | None) -> "Records":
        from quiltwork.data.records import read_records

        if column is None and (variable is not None or self.subject is not None):
            raise ParameterError(
                "variable= and subject= need the column with the values", got="none", fix="Name it: column="
            )
        columns = {"column": column, "variable": variable, "subject": self.subject}
        return read_records(data, belief=belief, **columns, separator=self.separator, recode=self.recoded)


@dataclass(frozen=True)
class ReadAs:
    """Which column holds the values, and how rows become series or records: what a ledger fixes about its data.

    >>> declared = ReadAs("activity", how=HowToRead(subject="person", time="time"))
    >>> declared.to_dict()
    {'column': 'activity', 'subject': 'person', 'time': 'time'}
    >>> ReadAs.from_dict(declared.to_dict()) == declared
    True
    """

    column: str | None = None
    variable: str | None = None
    gaps: Gaps = "dependent"
    how: HowToRead = field(default_factory=HowToRead)

    def __post_init__(self) -> None:
        plain = {one.name: getattr(self.how, one.name) for one in fields(HowToRead)}  # a shell may have more settings
        if self.how.recoded is not None:
            plain["recode"] = dict(recode_of(self.how.recoded))  # a file may change
        object.__setattr__(self, "how", HowToRead(**plain))

    def rows(self, belief: "Belief", data: object, *, segment: Segment | None = None) -> "Series | Records":
        """What a file holds, as the belief is about it."""
        how, column, variable = self.how, self.column, self.variable
        return how.rows(belief, data, column=column, variable=variable, segment=segment, gaps=self.gaps)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: what differs from the usual."""
        own = {name: getattr(self, name) for name in _OWN if getattr(self, name) != getattr(ReadAs, name)}
        return own | {name: getattr(self.how, name) for name in self.how.given()}

    @classmethod
    def from_dict(cls, contents: object) -> "ReadAs":
        """As ``to_dict`` wrote it down, or as a request says it."""
        if not isinstance(contents, Mapping):
            raise ParameterError("how data are read must be an object", got=type(contents).__name__)
        known = {*_OWN, *(one.name for one in fields(HowToRead))}
        unknown = sorted(set(map(str, contents)) - known)
        if unknown:
            raise ParameterError(
                "how data are read has a key that is not known", got=repr(unknown[0]), fix=f"Known: {', '.join(known)}"
            )
        for name, value in contents.items():
            expected = Mapping if name == "recode" else str
            if value is not None and not isinstance(value, expected):
                raise ParameterError(f"{name} must be text", got=type(value).__name__)
            if name in CHOICES and value is not None and value not in CHOICES[name]:
                raise ParameterError(f"{name} must be one of {', '.join(CHOICES[name])}", got=repr(value))
        own = {name: contents[name] for name in _OWN if name in contents}
        return cls(**own, how=HowToRead(**{name: value for name, value in contents.items() if name not in _OWN}))

    def __str__(self) -> str:
        """In words: column activity, subject person, time time."""
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self.to_dict().items()) or "as it is"


_OWN = ("column", "variable", "gaps")


def _series_column(column: str | None, variable: str | None, belief: "Belief") -> str | list[str]:
    if belief.step_variables is not None:
        if column is not None or variable is not None:
            raise ParameterError(
                "records over time have a column for each variable",
                got="column=" if column is not None else "variable=",
                fix=f"Leave it out if there are columns {', '.join(belief.step_variables)}; if each person has rows of "
                "their own, name the column of people: together=",
            )
        return list(belief.step_variables)
    if column is None or variable is not None:
        raise ParameterError(
            "a series needs the column with its values"
            if column is None
            else "variables are for networks and joint tables",
            got="no column" if column is None else "variable=",
            fix="Name it: column=" if column is None else "Leave it out",
        )
    return column
