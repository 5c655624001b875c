"""What a person sees, once: verdicts first, then cards, tables, charts and sentences.

Terminal, report, notebook and page are renderers of it. They put things in place and add no words of their own.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from quiltwork.errors import ParameterError
from quiltwork.view.words import say

if TYPE_CHECKING:
    from altair.typing import ChartType

Level = Literal["refused", "warning", "note", "good"]
Row = Mapping[str, Any]
Heat = tuple[str, Sequence[str], Sequence[Sequence[float]]]
MOST_BARS = 30  # of a chart
NARROW = 330  # pixels of a picture's plot that fit on a phone with names beside it
NAMES = ("state", "next state", "part", "label", "rule")  # columns that may have numbers in them and are none
A_NUMBER = re.compile(r"[-+±]?[\d,.]*\d( %)?( ± [\d,.]+)?")


@dataclass(frozen=True)
class Verdict:
    """What was found, as a code with its numbers; the sentence stands in ``words.py``.

    >>> Verdict("epsilon-large", "warning", {"epsilon": 8.0}).sentence
    'ε = 8 promises little.'
    """

    code: str
    level: Level
    numbers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """In words."""
        return say(self.code, **self.numbers)


@dataclass(frozen=True)
class Cards:
    """The few numbers that matter most, each with what it is; what stands below them says it again."""

    items: Sequence[tuple[str, str]]
    name: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of the same columns; those in ``numbers``, and those that hold numbers, stand to the right."""

    rows: Sequence[Row]
    numbers: Collection[str] = ()
    title: str = ""
    most: int = 200
    bars: Sequence[float] = ()
    """A length for each row, drawn where a chart cannot be."""
    more: str = "more-rows"
    """The code of what is said where rows are left out."""
    name: str = ""

    @property
    def columns(self) -> list[str]:
        """The names of its columns, in order."""
        return list(self.rows[0]) if self.rows else []

    @property
    def right(self) -> set[str]:
        """The columns that stand to the right: numbers, and texts that are nothing but numbers with their error."""
        return {*self.numbers} | {
            name
            for place, name in enumerate(self.columns)
            if name not in NAMES and _numeric([row[name] for row in self.rows], texts=place > 0)
        }

    def rest(self, most: int | None = None) -> str:
        """That rows are left out, if at most so many are shown; empty where none are."""
        left_out = len(self.rows) - (self.most if most is None else most)
        return say(self.more, count=left_out) if left_out > 0 else ""


@dataclass(frozen=True)
class Chart:
    """A picture, made when somebody looks at it; ``heat`` is a table of shares that a terminal draws instead."""

    make: "Callable[[], ChartType]"
    caption: str = ""
    heat: Heat | None = None
    narrow: bool = False
    """Whether it has to fit on a phone, or beside a table."""
    name: str = ""

    def drawn(self, *, narrow: bool = False) -> "ChartType | None":
        """The picture; None if there is nothing to draw."""
        try:
            made = self.make()
        except ParameterError:
            return None
        look = import_module("quiltwork.view.charts.style")
        return look.narrow(made) if narrow and self.narrow else made


def picture(
    function: str,
    *arguments: Any,
    caption: str = "",
    heat: Heat | None = None,
    narrow: bool = False,
    name: str = "",
    **options: Any,
) -> Chart:
    """A chart by the function ``module.function`` of ``charts``, which is loaded when somebody looks at it."""

    def make() -> "ChartType":
        module, _, called = function.partition(".")
        made: ChartType = getattr(import_module(f"quiltwork.view.charts.{module}"), called)(*arguments, **options)
        return made

    return Chart(make, caption, heat, narrow, name)


@dataclass(frozen=True)
class Sentences:
    """Sentences, a paragraph each or in a list; ``note`` for what is said in passing."""

    texts: Sequence[str]
    kind: Literal["plain", "list", "note"] = "plain"
    name: str = ""


@dataclass(frozen=True)
class Code:
    """Something to be copied as it is."""

    text: str
    name: str = ""


@dataclass(frozen=True)
class Facts:
    """Names with what they are; those that are empty are left out."""

    items: Sequence[tuple[str, str | Code]]
    name: str = ""

    @property
    def known(self) -> list[tuple[str, str | Code]]:
        """Those that are not empty."""
        return [(what, value) for what, value in self.items if value]


@dataclass(frozen=True)
class Bar:
    """How much of a budget is used: shares of it, one after the other, and the same in words."""

    shares: Sequence[float]
    text: str
    name: str = ""


@dataclass(frozen=True)
class Signature:
    """Room to sign, with what is signed for."""

    lines: Sequence[str]
    mark: str
    name: str = ""


@dataclass(frozen=True)
class Group:
    """Blocks that belong together, under a title; beside each other, or on one sheet of paper."""

    title: str
    blocks: "Sequence[Block]"
    layout: Literal["below", "beside", "together"] = "below"
    name: str = ""


Block = Cards | Table | Chart | Sentences | Code | Facts | Bar | Signature | Group


@dataclass(frozen=True)
class View:
    """All that is said about one thing: what it is, what was found about it, and blocks in the order of reading."""

    title: str
    lead: str = ""
    verdicts: Sequence[Verdict] = ()
    blocks: Sequence[Block] = ()
    over: str = ""
    """What kind of page it is."""

    def charts(self) -> Iterator[Chart]:
        """Its pictures, in order."""
        yield from _charts(self.blocks)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for pages that put the named blocks in place; charts as Vega-Lite."""
        verdicts = [{"code": v.code, "level": v.level, "text": v.sentence} for v in self.verdicts]
        return {"title": self.title, "lead": self.lead, "verdicts": verdicts} | _named(self.blocks)


def _charts(blocks: Sequence[Block]) -> Iterator[Chart]:
    for block in blocks:
        if isinstance(block, Chart):
            yield block
        elif isinstance(block, Group):
            yield from _charts(block.blocks)


def _named(blocks: Sequence[Block]) -> dict[str, Any]:
    return {block.name: plain(block) for block in blocks if block.name}


def plain(block: Block) -> Any:
    """A block as plain values; None of a chart if there is nothing to draw."""
    if isinstance(block, Cards):
        return [list(item) for item in block.items]
    if isinstance(block, Table):
        rows = [[cell(row[name]) for name in block.columns] for row in block.rows[: block.most]]
        right = [name for name in block.columns if name in block.right]
        return {"title": block.title, "columns": block.columns, "numbers": right, "rows": rows, "more": block.rest()}
    if isinstance(block, Chart):
        made = block.drawn(narrow=True)
        spec = None if made is None else import_module("quiltwork.view.charts.style").to_spec(made)
        return None if spec is None else {"name": block.name, "caption": block.caption, "spec": spec}
    if isinstance(block, Sentences):
        return list(block.texts)
    if isinstance(block, Facts):
        return [[what, value.text if isinstance(value, Code) else value] for what, value in block.known]
    if isinstance(block, Bar):
        return {"text": block.text, "shares": list(block.shares)}
    if isinstance(block, Group):
        if all(isinstance(one, Chart) or (isinstance(one, Group) and not one.name) for one in block.blocks):
            return [one for one in map(plain, block.blocks) if one is not None]
        return {"title": block.title, "layout": block.layout} | _named(block.blocks)
    return block.text if isinstance(block, Code) else list(block.lines)


def _numeric(values: Sequence[Any], *, texts: bool) -> bool:
    """Whether there are numbers, and nothing but numbers; or texts that are."""
    known = [value for value in values if value not in (None, "", "-")]
    return bool(known) and all(
        (isinstance(value, int | float) and not isinstance(value, bool))
        or (texts and isinstance(value, str) and A_NUMBER.fullmatch(value) is not None)
        for value in known
    )


def cell(value: object) -> str:
    """A value of a table as people read it.

    >>> cell(1234.5678), cell(True), cell(None), cell(12345)
    ('1,234.57', 'yes', '-', '12,345')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
