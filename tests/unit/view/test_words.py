"""Words: every code has a sentence, every sentence can be said, and renderers have none of their own."""

import ast
import re
import string
from pathlib import Path

import pytest

import quiltwork.view
from quiltwork.view.view import Bar, Cards, Chart, Code, Facts, Group, Sentences, Table, Verdict, View
from quiltwork.view.words import SENTENCES, say

VIEW = Path(quiltwork.view.__file__).parent
RENDERERS = ("view.py", "html.py", "terminal.py", "things.py")
NUMBERS = "geEfFdn%"


def _example(spec: str) -> object:
    """Something that can be formatted so."""
    return 1234 if spec == "," else 0.125 if spec and spec[-1] in NUMBERS else "a & b"


@pytest.mark.parametrize("code", SENTENCES)
def test_every_sentence_can_be_said(code: str) -> None:
    fields = [(name, spec) for _, name, spec, _ in string.Formatter().parse(SENTENCES[code]) if name is not None]
    numbers = {name: _example(spec or "") for name, spec in reversed(fields)}
    said = say(code, **numbers)
    assert said
    assert "{" not in said
    assert Verdict(code, "note", numbers).sentence == said


def test_no_sentence_is_written_twice() -> None:
    assert len(set(SENTENCES.values())) == len(SENTENCES)


def _codes(tree: ast.AST) -> set[str]:
    """Codes that a module says or finds."""
    return {
        argument.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("say", "Verdict")
        for argument in ast.walk(node.args[0])
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


def test_every_code_is_said_somewhere_and_known() -> None:
    files = [file for file in VIEW.parent.rglob("*.py") if file.name != "words.py"]
    text = "\n".join(file.read_text() for file in files)
    for code in SENTENCES:
        assert f'"{code}"' in text or f"'{code}'" in text, f"{code} is never said"
    for file in VIEW.glob("of_*.py"):
        assert _codes(ast.parse(file.read_text())) <= {*SENTENCES, "refuted"}, file.name


@pytest.mark.parametrize("name", RENDERERS)
def test_renderers_have_no_words_of_their_own(name: str) -> None:
    """They put things in place: what looks like a sentence in them is a docstring, or an error."""
    tree = ast.parse((VIEW / name).read_text())
    documented = ast.Module, ast.ClassDef, ast.FunctionDef
    kept: list[ast.AST] = [node.body[0].value for node in ast.walk(tree) if isinstance(node, documented) and node.body
            and isinstance(node.body[0], ast.Expr)]  # fmt: skip
    kept += [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    kept += [part for node in ast.walk(tree) if isinstance(node, ast.Raise) for part in ast.walk(node)]
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in kept
    ]
    for text in texts:
        plain = re.sub(r"<[^>]*>|\{[^}]*\}|[.#@][\w-]+", " ", text)
        assert not re.search(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}", plain) or "quiltwork {" in text, text


def test_a_view_is_the_same_for_all() -> None:
    from quiltwork.view.html import fragment, page

    shown = View(
        "A title",
        "what it is about",
        [Verdict("no-guarantee", "warning"), Verdict("noted", "note", {"text": "a note"})],
        [
            Cards([("1", "a card")], name="cards"),
            Group("A group", [Table([{"state": "sit", "±": "3"}], name="table"), Sentences(["A sentence."])], name="g"),
            Facts([("Row", Code("2")), ("Empty", "")], name="facts"),
            Bar([0.25, 0.5], "three quarters", name="bar"),
        ],
    )
    for made in (page("title", shown), fragment(shown)):
        for text in ("A title", "what it is about", "No guarantee.", "a note", "A group", "sit", "A sentence.", "Row"):
            assert text in made
        assert "Empty" not in made
        assert made.index("No guarantee.") < made.index("sit")  # verdicts first
    plain = shown.to_dict()
    assert plain["verdicts"][0] == {
        "code": "no-guarantee",
        "level": "warning",
        "text": Verdict("no-guarantee", "warning").sentence,
    }
    assert plain["g"]["table"] == {
        "title": "",
        "columns": ["state", "±"],
        "numbers": ["±"],
        "rows": [["sit", "3"]],
        "more": "",
    }
    assert plain["facts"] == [["Row", "2"]]
    assert plain["bar"]["shares"] == [0.25, 0.5]


def test_charts_are_made_late() -> None:
    """A terminal draws none, so it needs nothing that draws."""

    def never() -> None:
        raise AssertionError("nobody looks at it")

    from quiltwork.view.terminal import show

    show(View("", blocks=[Chart(never, "a picture"), Group("", [Chart(never)])]))  # type: ignore[arg-type]


def test_what_people_see_is_drawn_in_one_place() -> None:
    """Tables of a terminal, pages, and pictures have one door each."""
    doors = {
        "rich.table": {"terminal.py"},
        "<!doctype": {"html.py", "files.py", "pages.py"},
        "vl_convert.": {"style.py", "drawing.py"},
    }
    for mark, known in doors.items():
        found = {file.name for file in VIEW.parent.rglob("*.py") if mark in file.read_text()}
        assert found <= known, mark
    for package in ("beliefs", "question", "calibration", "accounting", "influence", "laws", "auditor", "certificate"):
        for file in (VIEW.parent / package).rglob("*.py"):
            assert not re.search(r"\b(print|say)\(", re.sub(r">>> .*|\.\.\. .*", "", file.read_text())), file
