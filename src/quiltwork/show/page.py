"""The frame of every page: one HTML file that needs nothing but itself, light or dark, on a phone or on paper."""

import html
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

from quiltwork import __version__
from quiltwork.errors import InputError, visible

WIDEST_ON_A_PHONE = 560  # pixels of a picture that is still readable there
MOST_TOGETHER = 20  # rows of a table that stay on one sheet of paper
WITHOUT_NOISE = (
    "This page shows the data without noise. It is for public data, never for the data that is to be protected."
)


def footer() -> str:
    """Version and time, at the end of every page."""
    return f"<footer>quiltwork {__version__} · {datetime.now(UTC):%Y-%m-%d %H:%M} UTC</footer>"


def check_report(path: str | Path, *others: str | Path) -> Path:
    """A path that a report can be written to, before anything is done that the report is about; none of the others."""
    path = Path(path)
    for other in others:
        with suppress(OSError, ValueError):
            if path.samefile(other):
                raise InputError(f"report {path} must be a file of its own", got="one with another use")
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"report {path} must end in .html", got=repr(path.suffix), why="it is a page for a browser")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise InputError(
            f"report {path} cannot be written",
            why="its folder does not exist or is not writable",
            fix=f"Create it first: mkdir -p {path.parent}; or choose a place that you may write to",
        )
    if path.is_file() and path.stat().st_size and not _begins_like_a_page(path):
        raise InputError(f"report {path} must not replace another kind of file", got="one that is no page")
    import quiltwork.show.pictures  # noqa: F401 - a page has some

    return path


def _begins_like_a_page(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(9).lower() == b"<!doctype"


def write_page(path: str | Path, title: str, sections: Sequence[str]) -> Path:
    """Write one self-contained HTML file."""
    path = check_report(path)
    try:
        path.write_text(page(title, sections), encoding="utf-8")
    except OSError as problem:
        raise InputError(f"report {path} cannot be written", why=problem.strerror or "the system refused") from problem
    return path


def page(title: str, sections: Sequence[str]) -> str:
    """A page that needs nothing but itself."""
    return visible(_PAGE.format(title=html.escape(title), style=style(), body="\n".join(sections)))


@cache
def style() -> str:
    """The look of every page, as CSS."""
    return files("quiltwork.show").joinpath("page.css").read_text(encoding="utf-8")


def figure(svg: str, caption: str) -> str:
    """A picture with what it shows. On a phone, one that would become too small to read can be moved sideways."""
    svg = _for_readers(svg, caption)
    said = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return f"<figure><div class=picture{_least_width(svg)}>{svg}</div>{said}</figure>"


def _for_readers(svg: str, caption: str) -> str:
    """A picture that is announced as one, by its caption."""
    label = f' role="img" aria-label="{html.escape(caption)}"' if caption else ' role="img"'
    return re.sub(r"^<svg\b", f"<svg{label}", svg, count=1)


def _least_width(svg: str) -> str:
    found = re.search(r'<svg[^>]*\bwidth="([\d.]+)"', svg)
    wide = found is not None and float(found.group(1)) > WIDEST_ON_A_PHONE
    return ' style="--least: 34rem"' if wide else ""


def paragraphs(*texts: str) -> str:
    """Sentences, a paragraph each."""
    return "".join(f"<p>{html.escape(text)}</p>" for text in texts)


def items(texts: Iterable[str]) -> str:
    """Sentences in a list."""
    return f"<ul>{''.join(f'<li>{html.escape(text)}</li>' for text in texts)}</ul>"


def table(rows: Sequence[Mapping[str, str]], *, texts: int = 1) -> str:
    """Rows of the same keys; the first columns are text, the others numbers. A wide table can be moved sideways."""
    head = "".join(_cell("th", name, number=n >= texts) for n, name in enumerate(rows[0]))
    body = "".join(
        f"<tr>{''.join(_cell('td', text, number=n >= texts) for n, text in enumerate(row.values()))}</tr>"
        for row in rows
    )
    short = " short" if len(rows) <= MOST_TOGETHER else ""
    return f'<div class="wide{short}"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(tag: str, text: str, *, number: bool) -> str:
    return f"<{tag}{' class=n' if number else ''}>{html.escape(text)}</{tag}>"


def facts(named: Mapping[str, str]) -> str:
    """Names with what they are; what they are is HTML, and nothing is said of those that are empty."""
    rows = "".join(f"<dt>{html.escape(name)}</dt><dd>{value}</dd>" for name, value in named.items() if value)
    return f"<dl>{rows}</dl>"


def code(text: str) -> str:
    """Something to be copied as it is."""
    return f"<code>{html.escape(text)}</code>"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - quiltwork</title>
<style>{style}</style></head><body>
{body}
</body></html>
"""
