"""CSV for spreadsheets: text that a spreadsheet would compute stays text."""

import csv
import io
import re
from collections.abc import Iterable, Mapping
from typing import Any

_COMPUTED = re.compile(r"[=+\-@\t\r\n]")


def csv_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows with the same columns as CSV.

    >>> csv_of([{"state": "=1+1", "value": -3}, {"state": "-2", "value": None}])
    "state,value\\n'=1+1,-3\\n-2,\\n"
    """
    written, listed = io.StringIO(), list(rows)
    writer = csv.DictWriter(written, fieldnames=list(listed[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: plain_cell(value) for name, value in row.items()} for row in listed)
    return written.getvalue()


def plain_cell(value: Any) -> Any:
    """A value of a table for spreadsheets: an apostrophe before text that would be a formula; numbers as they are.

    >>> plain_cell("=HYPERLINK(0)"), plain_cell("@SUM"), plain_cell("-2.5"), plain_cell(-2.5), plain_cell("a=b")
    ("'=HYPERLINK(0)", "'@SUM", '-2.5', -2.5, 'a=b')
    """
    return f"'{value}" if isinstance(value, str) and _COMPUTED.match(value) and not _is_number(value) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "\t" not in text and "\r" not in text and "\n" not in text
