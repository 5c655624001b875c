"""The shape of the project: public names, direction of imports, documentation, no leftovers."""

import ast
import importlib.util
import inspect
import json
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from markdown import Markdown
from mkdocs.exceptions import PluginError
from shell import run

import quiltwork
from quiltwork.cli import app
from quiltwork.samples import diary_path, simulate_diary

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "quiltwork"
SHELL = {">", ">>", "<", "|", "||", "&&", "&", ";"}
# "C Theorem 3.4", "C Thm 3.4", "A Lemma 4.7", "B Theorem 1"
PAPER = r"\b([ABC]) (?:Theorem|Thm\.?|Lemma) (\d+(?:\.\d+)?)"
# data flows one way: a module imports only from layers above its own (or, at the bottom of everything, its own)
GROUND = {"compiled", "errors", "fields", "forks", "job", "later", "types", "numeric"}
LAYERS = [
    GROUND,
    {"beliefs"},
    {"data", "samples"},
    {"fitting"},
    {"question"},
    {"laws", "influence"},
    {"certificate", "auditor"},
    {"calibration"},
    {"accounting"},
    {"ledger"},
    {"releases"},
    {"session"},
    {"view"},
    {"papers", "__init__"},
    {"web"},
    {"cli"},
]


def test_public_names_are_frozen() -> None:
    assert sorted(quiltwork.__all__) == [
        "Accountant", "AnyMixture", "Audit", "BayesianNetwork", "Belief", "BeliefCheck", "BudgetError",
        "Calibration", "Certificate", "ChainSet", "Comparison", "Composed", "Count", "Custom", "CycleChain",
        "Difference", "DynamicNetwork", "EntryGuarantee", "Fit", "Frequencies", "GaussianBelief",
        "GaussianCheck", "GaussianFit", "HiddenChain", "Histogram", "InputError", "IntervalChain", "JointTable",
        "Leakage", "Ledger", "Lipschitz", "MarkovChain", "Matching", "Mean", "Measurements", "MixingClass",
        "NetworkSet", "Noisy", "NotCoveredError", "OrderChain", "Over", "Plan", "Quantile", "Query", "QuiltworkError",
        "Records", "Release", "ReleaseRecord", "Secrets", "Series", "Session", "Share", "ShareAbove", "ShareDifference",
        "StayLength", "StayLengths", "Stays", "Sum", "Tally", "Top",
        "Transitions",
        "Trend", "WeightedSum", "Workload", "__version__", "audit",
        "bayesian_leakage", "calibrate", "check_belief", "compare", "entry_epsilon", "entry_guarantee", "fit_belief",
        "fit_chain", "fit_gaussian", "load_belief", "parse_query", "plan", "read_measurements", "read_records",
        "read_series", "release", "save_belief",
    ]  # fmt: skip


def tool(name: str) -> Any:
    """A module of ``tools/``."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def generated(mark: str) -> str:
    """What the site has in place of a mark: ``tools/site_pages.py`` fills it when the site is built."""
    return str(tool("site_pages").on_page_markdown(mark))


def test_public_names_are_documented() -> None:
    reference, questions = generated("<!-- names -->"), generated("<!-- questions -->")
    assert "<!-- names -->" in (ROOT / "docs" / "reference" / "python.md").read_text()
    assert "<!-- questions -->" in (ROOT / "docs" / "api.md").read_text()
    for name in quiltwork.__all__:
        if name != "__version__":
            described = inspect.getdoc(getattr(quiltwork, name)) or ""
            assert described, name
            assert ">>>" in described or name == "QuiltworkError", f"{name} has no example"
            assert re.search(rf"^::: [\w.]+\.{name}$", reference, flags=re.M), f"{name} is not in the Python reference"
            assert f"`{name}`" in questions, f"{name} answers no question in the docstring of quiltwork"


def test_every_command_and_option_is_documented() -> None:
    text = generated("<!-- commands -->")
    assert "<!-- commands -->" in (ROOT / "docs" / "reference" / "command-line.md").read_text()

    def walk(command: object, path: str) -> None:
        for name, child in getattr(command, "commands", {}).items():
            walk(child, f"{path} {name}")
        if not hasattr(command, "commands"):
            assert f"## `{path}`" in text, f"{path} is not in the reference"
            section = text.split(f"## `{path}`")[1].split("\n## ")[0]
            for parameter in command.params:  # type: ignore[attr-defined]
                for option in parameter.opts:
                    if option.startswith("--") and option != "--help":
                        assert f"`{option}" in section, f"{option} of {path} is not in the reference"
                        assert parameter.help, f"{option} of {path} has no help"

    walk(typer.main.get_command(app), "quiltwork")


def typeset(markdown: str) -> str:
    """What the site makes of a page with formulas, with the extensions of ``mkdocs.yml`` that find them."""
    options = {"generic": True, "inline_syntax": ["dollar"], "block_syntax": ["dollar"]}
    extensions = ["tables", "pymdownx.superfences", "pymdownx.arithmatex"]
    content = Markdown(extensions=extensions, extension_configs={"pymdownx.arithmatex": options}).convert(markdown)
    page = SimpleNamespace(file=SimpleNamespace(src_uri="theory/page.md"))
    return str(tool("site_formulas").on_page_content(content, page=page))


def test_formulas_are_typeset() -> None:
    block = "$$\n\\max_{\\substack{x\\\\y}} \\frac{1}{2}\n$$"
    shown = typeset(f"Let $a_i \\le b$.\n\n{block}\n\n`$HOME`\n\n```console\n$ quiltwork\n```\n")
    assert shown.count("<math>") == 1
    assert shown.count('<div class="formula"><math display="block">') == 1
    assert "<mfrac><mn>1</mn><mn>2</mn></mfrac>" in shown
    assert "$HOME" in shown
    assert "$ </span>quiltwork" in shown


@pytest.mark.parametrize(
    ("markdown", "said"),
    [
        ("$\\unheard$", "cannot be typeset"),
        ("$a_$", "cannot be typeset"),
        ("for $ 5", "begins no formula"),
        ("$a", "no formula"),
    ],
)
def test_what_cannot_be_typeset_fails_the_build(markdown: str, said: str) -> None:
    with pytest.raises(PluginError, match=said) as caught:
        typeset(markdown)
    assert "theory/page.md" in str(caught.value)


def test_imports_point_one_way() -> None:
    level = {module: n for n, layer in enumerate(LAYERS) for module in layer}
    for file in SOURCE.rglob("*.py"):
        relative = file.relative_to(SOURCE).parts
        own = relative[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text())):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module == "quiltwork":
                names = [
                    f"quiltwork.{alias.name}" if alias.name in level else "quiltwork"
                    for alias in node.names
                    if alias.name != "__version__"
                ]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                parts = name.split(".")
                if parts[0] == "quiltwork":
                    other = parts[1] if len(parts) > 1 else "__init__"
                    near = other == own or {other, own} <= GROUND
                    assert level[other] < level[own] or near, f"{file.relative_to(SOURCE)} imports {name}"


def test_pictures_are_looked_for_in_one_place() -> None:
    """What is shown says so by a base class; only that class, and a view for its charts, reach below."""
    late = {
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if re.search(r"import_module\(f?.quiltwork\.view", file.read_text())
    }
    assert late == {"types.py", "view/view.py"}


def test_the_ground_floor_is_small() -> None:
    names = {path.name for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert {name.removesuffix(".py") for name in names} == set().union(*LAYERS)
    assert len(names) <= 27
    for package in SOURCE.rglob("__init__.py"):
        logic = [
            node for node in ast.parse(package.read_text()).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        assert not logic, f"{package.parent.name}/__init__.py holds logic"


def test_unit_tests_stand_where_the_code_stands() -> None:
    """Each folder in tests/unit is a package of quiltwork; a file on its ground floor is about a module there, or about
    the project or what people come for."""
    unit = ROOT / "tests" / "unit"
    folders = {path.parent.relative_to(unit) for path in unit.rglob("*.py")}
    assert len(folders) > 10
    for folder in folders:
        assert (SOURCE / folder / "__init__.py").exists(), f"tests/unit/{folder} is no package of quiltwork"
    for file in unit.glob("test_*.py"):
        name = file.name.removeprefix("test_")
        assert name in ("project.py", "five_jobs.py") or (SOURCE / name).exists(), f"{file.name} belongs in a folder"


def test_the_auditor_shares_nothing_with_what_it_audits() -> None:
    audits, laws = (sorted((SOURCE / package).rglob("*.py")) for package in ("auditor", "laws"))
    assert min(len(audits), len(laws)) > 2
    for file in [*audits, *laws]:
        text = file.read_text()
        assert "quiltwork.calibration" not in text, file.name
        assert "quiltwork.influence" not in text, file.name


def test_only_noise_draws_privacy_randomness() -> None:
    draws = SOURCE / "releases" / "noise.py"
    assert "opendp" in draws.read_text()
    for file in SOURCE.rglob("*.py"):
        text = file.read_text()
        if file != draws:
            assert "opendp" not in re.sub(r'""".*?"""', "", text, flags=re.S), file
        if file.name == "simulation.py":  # errors of what was released are measured on noise of a known seed
            assert re.findall(r"np\.random\.\w+\(\w*\)", text) == ["np.random.default_rng(SEED)"]
        elif not {"samples", "papers", "fitting"} & set(file.relative_to(SOURCE).parts):
            assert not re.search(r"np\.random\.(?!Generator\b)", text), file  # simulations are handed theirs


def test_no_leftovers() -> None:
    marks = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    for file in [*ROOT.glob("*.md"), *SOURCE.rglob("*.py"), *(ROOT / "docs").rglob("*.md")]:
        assert not marks.search(file.read_text()), file


def test_lock_files_have_hashes_and_no_addresses() -> None:
    pinned = {}
    for name in ("requirements.lock", "requirements-dev.lock"):
        lock = (ROOT / name).read_text()
        assert "://" not in lock
        blocks = re.split(r"\n(?=\S)", lock.strip())
        for block in blocks:
            assert "--hash=sha256:" in block, block[:60]
        pinned[name] = {block.partition(" \\")[0].partition(" ;")[0] for block in blocks}
    assert pinned["requirements.lock"] < pinned["requirements-dev.lock"]  # what develops adds, and changes nothing


def test_the_shipped_diary_is_the_simulated_one() -> None:
    import polars as pl

    assert pl.read_parquet(diary_path()).equals(simulate_diary())
    assert diary_path().stat().st_size < 100_000


@pytest.mark.parametrize(
    "file",
    [
        "README.md",
        "docs/quickstart.md",
        "docs/how-to/check-a-belief.md",
        "docs/how-to/choose-a-belief.md",
        "docs/how-to/choose-epsilon.md",
        "docs/how-to/what-can-go-wrong.md",
        "docs/how-to/networks.md",
        "docs/how-to/budget.md",
        "docs/how-to/many-releases.md",
        "docs/how-to/report.md",
        "docs/how-to/large-data.md",
        "docs/how-to/measurements.md",
        "docs/how-to/notebooks.md",
        "docs/how-to/reading-data.md",
        "docs/how-to/job-files.md",
        "docs/how-to/wrong-belief.md",
        "docs/how-to/secrets.md",
    ],
)
def test_commands_in_the_documents_run(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every `quiltwork ...` and `printf ...` line of a console block runs, in order, in one folder."""
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / file).read_text(), flags=re.S)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    commands = [line for line in lines if line.startswith(("quiltwork ", "printf "))]
    assert commands
    monkeypatch.chdir(tmp_path)
    for command in commands:
        words = shlex.split(command)
        if words[0] == "quiltwork" and not SHELL & set(
            words
        ):  # as a shell would start it, without starting Python anew
            done = run(*words[1:], alone=file == "README.md")
        else:
            shell = command.replace("quiltwork ", f"{sys.executable} -c 'from quiltwork.cli import main; main()' ", 1)
            done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=False)  # noqa: S602
        assert done.returncode == 0, f"{command}: {done.stderr}"


WITH_PYTHON = [page for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")) if ">>> " in page.read_text()]


@pytest.mark.parametrize("page", sorted(WITH_PYTHON), ids=lambda page: str(page.relative_to(ROOT)))
def test_python_in_the_documents_runs(page: Path) -> None:
    import doctest

    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert failed == 0
    assert tried


def test_the_tutorial_runs() -> None:
    """From first to last in a kernel. The committed notebook has no outputs: none of them can be out of date."""
    path = ROOT / "docs" / "tutorial.ipynb"
    cells = json.loads(path.read_text())["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
    command = [sys.executable, str(ROOT / "tools" / "notebooks.py"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    page = done.stdout
    assert page.count("<svg") >= 5
    assert "This belief forgets too fast" not in page
    for shown in ("Spent 1.4", "would exceed the budget", "<code>[]</code>", "activities.html"):
        assert shown in page
    assert not any(folder in page for folder in (str(ROOT), tempfile.gettempdir(), str(Path.home())))


def test_every_cited_statement_is_there() -> None:
    """Code and tests cite numbered statements, and theorems of papers A, B and C; each has its place in docs/theory."""
    text = (ROOT / "docs" / "theory" / "statements.md").read_text()
    numbered = {int(n) for n in re.findall(r"^## Statement (\d+) ", text, flags=re.M)}
    assert numbered == set(range(1, max(numbered) + 1))
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "theory").glob("*.md"))
    stated = set(re.findall(PAPER, pages))
    cited, theorems = set(), set()
    for file in [*SOURCE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        if file == Path(__file__):
            continue
        source = file.read_text()
        assert not re.search(r"theory,? sections?\b|\btheory\.md", source, flags=re.I), file.name
        for listed in re.findall(r"Statements? (\d+(?:(?:,| to| and|, and) \d+)*)", source):
            for first, last in re.findall(r"(\d+)(?: to (\d+))?", listed):
                numbers = set(range(int(first), int(last or first) + 1))
                assert numbers <= numbered, f"{file.name} cites Statements {listed}"
                cited |= numbers
        for paper, number in re.findall(PAPER, source):
            assert (paper, number) in stated, f"{file.name} cites {paper} {number}, which no page of docs/theory states"
            theorems.add((paper, number))
    assert len(cited) >= 15
    assert len(theorems) >= 8


FORM = ["Statement", "Proof", "In the code", "Example", "Limits"]
OTHER_FORMS = {"statements.md", "index.md", "errata.md"}
THEORY = [page for page in (ROOT / "docs" / "theory").glob("*.md") if page.name not in OTHER_FORMS]


@pytest.mark.parametrize("page", sorted(THEORY), ids=lambda page: page.stem)
def test_theory_pages_have_one_form(page: Path) -> None:
    text = page.read_text()
    assert re.findall(r"^## (.*)$", text, flags=re.M) == FORM
    assert ">>> " in text.split("\n## Example\n")[1].split("\n## ")[0]
    assert "(index.md#references)" in text


def test_starting_up_loads_nothing_heavy() -> None:
    """Compiled code, tables, charts and databases are loaded when they are first needed."""
    heavy = "{'numba', 'polars', 'psycopg', 'scipy', 'altair', 'narwhals', 'opendp', 'pyagrum', 'flint'}"
    code = f"import quiltwork.cli, sys; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_documents_name_files_that_are_there() -> None:
    """A reader who follows a theory page finds the code and the tests that it names."""
    named = 0
    for page in (ROOT / "docs" / "theory").glob("*.md"):
        for name in re.findall(r"`([a-z_/]+/[a-z_]+\.py)", page.read_text()):
            named += 1
            assert (SOURCE / name).exists() or (ROOT / name).exists(), f"{page.name} names {name}"
    assert named > 20


def test_mutants_are_about_the_code_that_is_there() -> None:
    """`make mutants` tries each; here only whether its place is still there, once, and its tests are."""
    for mutant in tomllib.loads((ROOT / "tools" / "mutants.toml").read_text())["mutant"]:
        assert (ROOT / mutant["file"]).read_text().count(mutant["old"]) == 1, mutant["what"]
        assert mutant["old"] != mutant["new"]
        assert all((ROOT / name.split("::")[0]).exists() for name in mutant["tests"] if name.endswith(".py"))
