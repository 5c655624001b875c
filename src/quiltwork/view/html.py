"""A view as HTML: one file that needs nothing but itself, light or dark, on a phone or on paper; or part of a notebook.

Names are escaped, and nothing in them is obeyed.
"""

import html
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

from quiltwork import __version__
from quiltwork.errors import InputError, visible
from quiltwork.view.files import check_file
from quiltwork.view.view import Bar, Block, Cards, Chart, Code, Facts, Group, Sentences, Signature, Table, View, cell

WIDEST_ON_A_PHONE = 560  # pixels of a picture that is still readable there
MOST_TOGETHER = 20  # rows of a table that stay on one sheet of paper
MOST_IN_A_NOTEBOOK = 40
BESIDE = 36  # letters of a row of a table that has room beside a picture

# colours are given for both, so that it stays readable in a dark notebook
_STYLE = """<style>
.quiltwork { font: 14px/1.5 system-ui, sans-serif; color: #22304a; background: white; padding: .6rem .8rem;
  max-width: 60rem }
.quiltwork h4 { margin: 0; color: #22304a; font-size: 1.1em } .quiltwork h5 { margin: .8rem 0 0; color: #22304a }
.quiltwork p { margin: .2rem 0; color: #22304a } .quiltwork p.lead, .quiltwork p.note { color: #5b6780 }
.quiltwork p.warning { border-left: 3px solid #c2703d; padding-left: .6rem }
.quiltwork table { border-collapse: collapse; margin: .5rem 0; font-size: 1em; border: 0 }
.quiltwork td, .quiltwork th { padding: .15rem 1rem .15rem 0; border: 0; border-bottom: 1px solid #e6e9ef;
  text-align: left; vertical-align: top; color: #22304a; background: white; max-width: 34rem; white-space: normal }
.quiltwork .n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.quiltwork svg { max-width: 100%; height: auto; display: block; margin: .4rem 0 }
.quiltwork dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .4rem 0 }
.quiltwork dt { color: #5b6780 } .quiltwork dd { margin: 0 }
.quiltwork .bar { width: 20rem; height: .6rem; background: #e6e9ef; margin: .4rem 0; display: flex }
.quiltwork .bar i { background: #2f6fb3 } .quiltwork .bar i.full { background: #c2703d }
.quiltwork figure { margin: 0 } .quiltwork figcaption { display: none }
</style>"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - quiltwork</title>
<style>{style}</style></head><body>
{body}
</body></html>
"""


def page(title: str, view: View) -> str:
    """A page that needs nothing but itself; ``title`` is what a browser shows above it."""
    over = f"<p class=over>{_text(view.over)}</p>" if view.over else ""
    head = f"{over}<h1>{_text(view.title)}</h1>" + _paragraph(view.lead, "lead")
    foot = "" if any(isinstance(block, Signature) for block in _all(view.blocks)) else f"<footer>{made()}</footer>"
    body = "\n".join([head, *_verdicts(view), *(_block(block, 2) for block in view.blocks), foot])
    return document(title, body)


def document(title: str, body: str) -> str:
    """A page with this content, which is HTML."""
    return visible(_PAGE.format(title=_text(title), style=style(), body=body))


def fragment(view: View) -> str:
    """A part of a notebook."""
    parts = [
        *_verdicts(view),
        *(_block(block, 5, most=MOST_IN_A_NOTEBOOK) for block in view.blocks if not isinstance(block, Cards)),
    ]
    content = "\n".join(part for part in parts if part)
    head = f"<h4>{_text(view.title)}</h4>{_paragraph(view.lead, 'lead')}"
    return visible(f'<div class="quiltwork">{_STYLE}{head}\n{content}\n</div>')


def made() -> str:
    """Version and time, at the end of every page."""
    return f"quiltwork {__version__} · {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"


def _all(blocks: Sequence[Block]) -> list[Block]:
    return [one for block in blocks for one in (block, *(_all(block.blocks) if isinstance(block, Group) else ()))]


def _verdicts(view: View) -> list[str]:
    levels = {"warning": "warning", "refused": "warning", "note": "note", "good": ""}
    return [_paragraph(verdict.sentence, levels[verdict.level]) for verdict in view.verdicts]


def _text(text: str) -> str:
    return html.escape(text)


def _paragraph(text: str, kind: str = "") -> str:
    """A paragraph, with its beginning in bold where it is a warning."""
    if not text:
        return ""
    first, stop, rest = text.partition(". ") if kind == "warning" else ("", "", text)
    strong = f"<b>{_text(first + stop.rstrip())}</b> " if stop else ""
    return f"<p{f' class={kind}' if kind else ''}>{strong}{_text(rest if stop or not first else text)}</p>"


def _block(block: Block, level: int, *, most: int | None = None) -> str:
    if isinstance(block, Group):
        return _group(block, level, most)
    if isinstance(block, Sentences):
        if block.kind == "list":
            return f"<ul>{''.join(f'<li>{_text(text)}</li>' for text in block.texts)}</ul>" if block.texts else ""
        return "".join(_paragraph(text, "note" if block.kind == "note" else "") for text in block.texts)
    if isinstance(block, Table):
        return _table(block, block.most if most is None else min(most, block.most))
    if isinstance(block, Chart):
        return _figure(block, narrow=most is None)
    if isinstance(block, Facts):
        rows = "".join(f"<dt>{_text(what)}</dt><dd>{_value(value)}</dd>" for what, value in block.known)
        return f"<dl>{rows}</dl>"
    if isinstance(block, Cards):
        boxes = "".join(f"<div class=card><b>{_text(b)}</b><span>{_text(s)}</span></div>" for b, s in block.items)
        return f"<div class=cards>{boxes}</div>"
    if isinstance(block, Bar):
        full = ' class="full"' if sum(block.shares) >= 0.9 else ""
        parts = "".join(f'<i{full} style="width: {100 * part:.1f}%"></i>' for part in block.shares)
        bar = f'<div class=bar role="img" aria-label="{_text(block.text)}">{parts}</div>'
        return bar if most is None else f"<p>{_text(block.text)}</p>{bar}"
    if isinstance(block, Code):
        return f"<pre>{_text(block.text)}</pre>"
    room = "".join(f"<span>{_text(line)}</span>" for line in block.lines)
    return f"<div class=sign>{room}</div><p class=note>{_text(block.mark)} · {made()}</p>"


def _value(value: str | Code) -> str:
    return f"<code>{_text(value.text)}</code>" if isinstance(value, Code) else _text(value)


def _group(group: Group, level: int, most: int | None) -> str:
    inner = level + bool(group.title) if most is None else level
    title = f"<h{level}>{_text(group.title)}</h{level}>" if group.title else ""
    parts = [_block(block, inner, most=most) for block in group.blocks]
    if group.layout == "beside" and most is None and len(parts) > 1:
        left, right, *others = parts
        wide = [block for block in group.blocks[1:2] if isinstance(block, Table) and _width(block) > BESIDE]
        if not wide:
            return f"{title}<div class=beside>{left}<div>{right}</div></div>{''.join(others)}"
        return f"{title}<div class=beside>{left}<div>{''.join(others)}</div></div>{right}"
    content = title + "\n".join(part for part in parts if part)
    return f"<div class=together>{content}</div>" if group.layout == "together" else content


def _width(table: Table) -> int:
    """The letters of the widest row of a table, with some room between columns."""
    return sum(max(len(name), *(len(cell(row[name])) for row in table.rows)) + 2 for name in table.columns)


def _table(table: Table, most: int) -> str:
    """Columns with nothing in them are left out; a wide table can be moved sideways."""
    if not table.rows:
        return ""
    kept = [name for name in table.columns if any(row[name] not in (None, "", "-") for row in table.rows)]
    right = table.right
    marks = [" class=n" if name in right else "" for name in kept]
    head = "".join(f"<th{mark}>{_text(name)}</th>" for name, mark in zip(kept, marks, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f"<td{mark}>{_text(cell(row[name]))}</td>" for name, mark in zip(kept, marks, strict=True))
        + "</tr>"
        for row in table.rows[:most]
    )
    short = " short" if len(table.rows) <= MOST_TOGETHER else ""
    title = _paragraph(table.title, "note")
    drawn = f'{title}<div class="wide{short}"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    return drawn + _paragraph(table.rest(most))


def _figure(chart: Chart, *, narrow: bool) -> str:
    """A picture with what it shows. On a phone, one that would become too small to read can be moved sideways."""
    from quiltwork.view.charts.style import to_svg  # loads slowly

    made = chart.drawn(narrow=narrow)
    if made is None:
        return ""
    svg, caption = to_svg(made), _text(chart.caption)
    label = f' role="img" aria-label="{caption}"' if caption else ' role="img"'
    svg = re.sub(r"^<svg\b", f"<svg{label}", svg, count=1)
    found = re.search(r'<svg[^>]*\bwidth="([\d.]+)"', svg)
    wide = ' style="--least: 34rem"' if found is not None and float(found.group(1)) > WIDEST_ON_A_PHONE else ""
    said = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f"<figure><div class=picture{wide}>{svg}</div>{said}</figure>"


@cache
def style() -> str:
    """The look of every page, as CSS."""
    return files("quiltwork.view").joinpath("page.css").read_text(encoding="utf-8")


def write_page(path: str | Path, title: str, view: View) -> Path:
    """Write one self-contained HTML file."""
    path = check_file(path, report=True)
    try:
        path.write_text(page(title, view), encoding="utf-8")
    except OSError as problem:
        raise InputError(f"report {path} cannot be written", why=problem.strerror or "the system refused") from problem
    return path
