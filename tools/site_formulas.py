"""Formulas of the site: LaTeX between dollar signs becomes MathML when it is built, so browsers need no script."""

import html
import re
from typing import Any

from math_core import LatexError, LatexToMathML
from mkdocs.exceptions import PluginError

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
NOT_TEXT = re.compile(r"<(pre|code|script|style|svg)\b.*?</\1>|<[^>]*>", re.DOTALL)
CONVERTER = LatexToMathML(macros={"substack": r"\begin{matrix}#1\end{matrix}"}, fancy_error=False)


def on_page_content(content: str, *, page: Any, **_: Any) -> str:
    """Typeset what ``pymdownx.arithmatex`` found in a page; mkdocs calls this for each."""
    where = page.file.src_uri
    typeset = FORMULA.sub(lambda match: _typeset(html.unescape(match[2]), where, block=match[1] == "div"), content)
    left = NOT_TEXT.sub("", typeset).partition("$")
    if left[1]:
        beside = f"{left[0][-20:]}${left[2][:20]}"
        raise PluginError(
            f"{where}: a dollar sign begins no formula, at {beside!r}: put it into code, or close the formula"
        )
    return typeset


def _typeset(latex: str, where: str, *, block: bool) -> str:
    try:
        formula: str = CONVERTER.convert_with_local_state(latex.strip(), displaystyle=block)
    except LatexError as error:
        raise PluginError(f"{where}: the formula {latex!r} cannot be typeset: {error}") from None
    return f'<div class="formula">{formula}</div>' if block else formula
