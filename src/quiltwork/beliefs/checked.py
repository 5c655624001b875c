"""Whether a belief was checked on public data, and what was found: it stands beside ε wherever ε does."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from quiltwork.errors import BeliefError, visible

Outcome = Literal["holds", "levels differ", "not refuted", "refuted"]
LONGEST = 2000  # letters of a sentence
NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Checked:
    """What a check of a belief found, in short. ``belief`` is the fingerprint of the belief that was checked.

    >>> found = Checked("refuted", "Forgets too fast: ..", values=2000, series=1, date="2026-03-04", belief="12ab")
    >>> found.words
    'checked, refuted'
    """

    outcome: Outcome
    says: str
    values: int
    series: int
    date: str
    belief: str

    def __post_init__(self) -> None:
        texts = self.says, self.date, self.belief
        if self.outcome not in get_args(Outcome) or not all(isinstance(one, str) for one in texts):
            raise BeliefError("the result of a check must have an outcome, a sentence and a date", got="something else")
        if not all(type(size) is int and size >= 0 for size in (self.values, self.series)):
            raise BeliefError("the result of a check must say how many values it saw", got="something else")
        object.__setattr__(self, "says", visible(self.says)[:LONGEST])

    @property
    def words(self) -> str:
        """In two words, as they stand beside ε."""
        return f"checked, {self.outcome}"

    @property
    def sentence(self) -> str:
        """With what was found, on how much data, and when."""
        data = f"{self.values:,} values of public data, {self.series:,} series"
        return f"{self.words.capitalize()} ({data}, {self.date}): {self.says}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as belief files and results hold them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, contents: object) -> "Checked":
        """As ``to_dict`` wrote it down."""
        if not isinstance(contents, Mapping) or set(contents) != {one.name for one in fields(cls)}:
            raise BeliefError(
                "checked must be what `belief check --save` wrote", got="other keys", fix="Leave it out, or check again"
            )
        return cls(**contents)


def graver(later: Checked | None, earlier: Checked | None) -> Checked | None:
    """Which of two checks stands beside ε: the later one, unless only the earlier one refuted the belief.

    One could look for public data that agree: a refutation stays.
    """
    if earlier is not None and earlier.outcome == "refuted" and (later is None or later.outcome != "refuted"):
        return earlier
    return later or earlier


def words_of(checked: Checked | None) -> str:
    """What stands beside ε.

    >>> words_of(None)
    'not checked'
    """
    return NOT_CHECKED if checked is None else checked.words


def sentence_of(checked: Checked | None) -> str:
    """The same with what was found.

    >>> sentence_of(None)
    'Not checked on public data: whoever releases under this belief vouches for it.'
    """
    if checked is None:
        return "Not checked on public data: whoever releases under this belief vouches for it."
    return checked.sentence
