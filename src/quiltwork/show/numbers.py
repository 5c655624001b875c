"""Released numbers as people read them: rounded to their noise, each with how far off it may be."""

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from quiltwork.releases.answer import PartAnswer, plus_minus
from quiltwork.releases.result import Release

CONSISTENT = (
    "Consistent: the closest numbers that satisfy the public constraints ({}). No privacy is lost by it. The ± is that "
    "of the released numbers."
)
NOISE_ONLY = "noise only: true number from .. to"
RANGES = (
    "Where it says noise only, the noise leaves nothing to learn: the range has the true number with probability 95 %, "
    "and neither order nor differences mean anything."
)
SHOWN = "Shown: the released numbers, none below or above what is possible, rounded to the noise."
KEEP = (
    "To keep all digits and the numbers as drawn, add --out FILE.csv when you make the release: a second one costs ε "
    "again."
)


def share_of_budget(ledger: Mapping[str, Any]) -> float:
    """The share of a budget that is used, from what a ledger says; with a δ it is the room that adds up, not ε.

    >>> share_of_budget({"spent": 0.5, "budget": 2.0}), share_of_budget({"spent": 0.5, "budget": 2.0, "used": 0.1})
    (0.25, 0.1)
    """
    spent = float(ledger["spent"]) / float(ledger["budget"])
    return min(1.0, spent, float(ledger.get("used", spent)))


def budget_words(ledger: Mapping[str, Any]) -> str:
    """What was spent of a budget and what remains, from what a ledger says.

    >>> budget_words({"spent": 0.5, "budget": 2.0})
    'spent 0.5 of 2, 1.5 remain'
    >>> budget_words({"spent": 0.5, "budget": 2.0, "used": 0.0123, "delta": 1e-6})
    'used 1.3 % of the budget (ε = 2, δ = 1e-06); so far ε = 0.5, whenever you stop'
    """
    spent, budget = float(ledger["spent"]), float(ledger["budget"])
    if not ledger.get("delta"):
        return f"spent {spent:.6g} of {budget:g}, {max(0.0, budget - spent):.6g} remain"
    percent = math.ceil(1000 * share_of_budget(ledger) * (1 - 1e-12)) / 10
    so_far = f"so far ε = {spent:.6g}, whenever you stop"
    return f"used {percent:g} % of the budget (ε = {budget:g}, δ = {ledger['delta']:g}); {so_far}"


def table_of(release: Release) -> list[dict[str, str]]:
    """A row for each number, or for each window or subject if there are some."""
    return _by_part(release.parts) if release.parts else _by_number(release)


def _by_number(release: Release) -> list[dict[str, str]]:
    answer = release.answers[0]
    error = answer.error()
    rows = [
        {answer.query.text: label, NOISE_ONLY if answer.pure_noise else "released": answer.with_error(number, error)}
        for label, number in zip(answer.labels, answer.numbers, strict=True)
    ]
    if answer.consistent is not None and not answer.pure_noise:
        for row, number in zip(rows, answer.consistent, strict=True):
            row["consistent"] = answer.rounded(number)
    return rows


def _by_part(parts: Sequence[PartAnswer]) -> list[dict[str, str]]:
    rows, any_poor = [], any(part.pure_noise for part in parts)
    derives = any(part.told is not None for part in parts)
    for part in parts:
        names = (part.query.text,) if len(part.numbers) == 1 else part.labels
        told = "noise only" if derives and part.told is None else part.told
        row = {"": part.name} | ({} if told is None else {part.query.text: told})
        shown = map(part.range_of, part.numbers) if part.pure_noise else map(part.rounded, part.possible)
        row |= dict(zip(names, shown, strict=True))
        row |= {"±95 %": plus_minus(part.error()), "values": f"{part.values:,}"}
        rows.append(row | ({} if not any_poor else {"": part.name, " ": "noise only" if part.pure_noise else ""}))
    return rows


def remarks(release: Release, *, told: bool = True, keep: str = "") -> list[str]:
    """What follows from the numbers, unless it is told elsewhere, what the columns are, and how to keep them."""
    answer, said = release.answers[0], []
    if told and not release.parts and answer.told is not None:
        said.append(f"{answer.query.text}: {answer.told}.")
    if any(one.pure_noise for one in release.answers):
        said.append(RANGES)
    if answer.consistent is not None and release.parts:
        said.append(SHOWN)
    elif answer.consistent is not None and not answer.pure_noise:
        public = "none below or above what is possible"
        if answer.limits is not None and answer.limits.total is not None:
            public = f"none below 0, all together {answer.limits.total:,g}"
        said.append(CONSISTENT.format(public))
    if release.parts and keep:
        said.append(keep)
    return said


def fitting(rows: Sequence[dict[str, str]], width: int) -> list[list[dict[str, str]]]:
    """The same rows in tables that are no wider than this, each with the first column.

    >>> [list(part[0]) for part in fitting([{"": "2024-03-04", "sit": "1", "walk": "2"}], 17)]
    [['', 'sit'], ['', 'walk']]
    """
    first, *others = rows[0]
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) + 2 for name in rows[0]}
    blocks: list[list[str]] = [[]]
    for name in others:
        used = widths[first] + sum(widths[one] for one in blocks[-1])
        if blocks[-1] and used + widths[name] > width:
            blocks.append([])
        blocks[-1].append(name)
    if len(blocks) > 1 and blocks[-1] == ["values"]:
        blocks.pop()  # not worth a table of its own
    return [[{name: row[name] for name in (first, *block)} for row in rows] for block in blocks]


def above(number: float, digits: int = 6) -> str:
    """A number in a few digits, rounded up: a privacy loss must not look smaller than it is.

    >>> above(0.99778124), above(1.0), above(0.05), below(2.0022199), below(0)
    ('0.997782', '1', '0.05', '2.00221', '0')
    """
    return _rounded(number, digits, ROUND_CEILING)


def below(number: float, digits: int = 6) -> str:
    """A number in a few digits, rounded down: what is left of a budget."""
    return _rounded(number, digits, ROUND_FLOOR)


def _rounded(number: float, digits: int, how: str) -> str:
    if not number or not math.isfinite(number):
        return f"{number:g}"
    exact = Decimal(repr(float(number)))  # as it is written, without the dust of its binary digits
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() + 1 - digits), rounding=how).normalize()
    return f"{rounded:f}" if abs(exact.adjusted()) < digits else f"{rounded:e}"
