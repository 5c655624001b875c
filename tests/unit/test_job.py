"""A job is what a person says: written and read back it is the same, and what cannot be is refused by name."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given, strategies as st

from quiltwork import MarkovChain
from quiltwork.errors import ParameterError
from quiltwork.fields import Section, declared
from quiltwork.job import READING, SECTIONS, Ask, Data, Job, Out, Privacy, is_job

ENDINGS = {"report": ".html", "table": ".csv"}
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
numbers = st.floats(1e-6, 1e6)


def values_of(name: str, kind: Any, default: Any) -> st.SearchStrategy[Any]:
    """Values that a field may have; its default among them."""
    if name in ("gap", "every"):
        found: st.SearchStrategy[Any] = st.sampled_from(["15min", "3", "1h"])
    elif name in ENDINGS:
        found = texts.map(lambda text: f"{text}answers{ENDINGS[name]}")
    elif name == "belief":
        found = texts | st.just({"kind": "chain", "transition": [[0.5, 0.5], [1, 0]], "initial": "any"})
    elif name == "delta":
        found = st.floats(0, 1)
    else:
        found = of_kind(kind)
    return st.just(default) | found


def of_kind(kind: Any) -> st.SearchStrategy[Any]:
    parts = get_args(kind)
    if get_origin(kind) is Literal:
        return st.sampled_from(parts)
    if get_origin(kind) is tuple:
        return st.lists(of_kind(parts[0]), min_size=2, max_size=2).map(tuple)
    if parts and get_origin(kind) is not None and "Mapping" in str(get_origin(kind)):
        return st.dictionaries(texts, of_kind(parts[1]), min_size=1, max_size=3).map(
            lambda pairs: (
                {name: value or None for name, value in pairs.items()} if type(None) in get_args(parts[1]) else pairs
            )
        )
    if parts:
        return st.one_of([of_kind(part) for part in parts])
    plain = {str: texts, int: st.integers(1, 10**6), float: numbers, bool: st.booleans(), type(None): st.none()}
    return plain[kind]


@st.composite
def sections(draw: st.DrawFn, section: type[Section]) -> Any:
    said = {name: draw(values_of(name, one.type, one.default)) for name, one in declared(section).items()}
    if section is Privacy and said["ledger"] is None:
        said |= {"key": None, "who": None}
    if section is Data:
        said["engine"] = "polars" if said["master"] is None else "spark"
    if section is Ask:
        said |= {"workload": None, "weight": ()}
        said["ask"] = said["ask"] or ("histogram",)
    return section(**said)


jobs = st.builds(
    lambda data, privacy, questions, out: Job(data=data, privacy=privacy, questions=tuple(questions), out=out),
    sections(Data),
    sections(Privacy),
    st.lists(sections(Ask), max_size=3),
    sections(Out),
)


@given(jobs, st.booleans())
def test_a_job_written_and_read_back_is_the_same(job: Job, comments: bool) -> None:
    text = job.to_toml(comments=comments)
    again = Job.parse(text)
    assert again == job
    assert again.to_toml(comments=comments) == text
    assert again.fingerprint == job.fingerprint


def test_no_two_fields_have_the_same_name() -> None:
    names = Counter(name for section in SECTIONS.values() for name in declared(section))
    assert max(names.values()) == 1
    assert all(one.metadata["help"].endswith((".", ")")) for s in SECTIONS.values() for one in declared(s).values())
    assert set(READING) < set(declared(Data))


def test_files_are_relative_to_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "jobs"
    folder.mkdir()
    file = folder / "job.toml"
    file.write_text(
        '[data]\npath = "../diary.csv"\nrecode = "1=sit"\n[privacy]\nbelief = "b.json"\n'
        'ledger = "sqlite:///budget.db"\n[[question]]\nask = "top:3"\n[out]\nfiles = ["a.html", "/b.csv"]\n'
    )
    job = Job.load("jobs/job.toml")
    assert job.data.path == "diary.csv"
    assert job.data.recode == "1=sit"
    assert job.privacy.belief == "jobs/b.json"
    assert job.privacy.ledger == "sqlite:///jobs/budget.db"
    assert job.out.files == ("jobs/a.html", "/b.csv")
    other = folder / "other.toml"
    job.save("jobs/other.toml")
    assert Job.load("jobs/other.toml") == job
    assert 'path = "../diary.csv"' in other.read_text()
    Job.load(file).save(other)  # by its whole path
    assert 'belief = "b.json"' in other.read_text()


@pytest.mark.parametrize("address", ["library:diary", "postgresql://host/budget"])
def test_what_is_no_file_stays_as_it_is(address: str) -> None:
    text = f'[privacy]\nbelief = "library:diary"\nledger = "{address}"\n'
    assert Job.parse(text, folder="jobs").privacy.ledger in (address, "jobs/library:diary")
    assert Job.parse(text, folder="jobs").privacy.belief == "library:diary"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[data]\ncolum = 'x'", "[data] has no key 'colum'. Did you mean 'column'?"),
        ("[data]\nxyzzy = 1", "[data] has no key 'xyzzy'. Known: path, column,"),
        ("[dta]\n", "a job has no section 'dta'. Did you mean 'data'?"),
        ("[[qestion]]\n", "a job has no section 'qestion'. Did you mean 'question'?"),
        ("[question]\nask = 'stays'", "questions of a job are written as [[question]]"),
        ("[data]\nmissing = 'splt'", "[data] missing must be refuse or split, got 'splt'. Did you mean 'split'?"),
        ("[data]\ncolumn = 3", "[data] column must be text, got a whole number"),
        ("[data]\nlength = 0", "[data] length must be at least 1, got 0"),
        ("[data]\nlength = 'many'", "length must be a whole number or any"),
        ("[privacy]\ndelta = true", "[privacy] delta must be a number, got true or false"),
        ("[privacy]\nbelief = 3", "[privacy] belief must be a file or a belief"),
        ("[privacy]\nkey = 'k'", "a key is that of a ledger"),
        ("[[question]]\nask = 'stays'\nepsilon = 0", "[[question]] number 1: epsilon must be above 0, got 0"),
        ("[[question]]\nask = 'stays'\n[[question]]\nepsilon = 1", "[[question]] number 2: a question is needed"),
        ("[[question]]\nask = ['stays', 'mean']\nweight = 1", "weight must have a number for each question"),
        ("[[question]]\nask = 'stays'\nsegment = [1]", "[[question]] number 1: segment must be"),
        ("[out]\nreport = 'r.pdf'", "[out] report must end in .html or .htm, got '.pdf'"),
        ("[data\n", "a job must be TOML"),
    ],
)
def test_errors_name_section_and_key(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as refused:
        Job.parse(text)
    assert str(refused.value).startswith(said) or said in str(refused.value)
    file = tmp_path / "job.toml"
    file.write_text(text)
    with pytest.raises(ParameterError, match=r"^job file .*job\.toml: "):
        Job.load(file)


def test_options_override_what_a_file_says() -> None:
    job = Job.parse("[data]\nmissing = 'split'\n[[question]]\nask = ['stays', 'mean']\nepsilon = 1\nwindow = 'day'\n")
    assert job.with_(missing="refuse").data.missing == "refuse"
    assert job.with_(epsilon=2.0).questions[0].epsilon == 2
    other = job.with_(ask=["histogram"]).questions
    assert [(one.ask, one.epsilon, one.window) for one in other] == [(("histogram",), 1.0, "day")]
    with pytest.raises(ParameterError, match="no field 'epsilo'"):
        job.with_(epsilo=2.0)


def test_the_fingerprint_is_of_what_changes_numbers() -> None:
    job = Job.of(column="x", belief={"kind": "chain"}, ask="histogram", epsilon=1, ledger="sqlite:///l.db")
    assert job.fingerprint == job.with_(who="ann", report="r.html").fingerprint
    assert job.fingerprint != job.with_(epsilon=2).fingerprint
    chain = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    assert Job.of(belief=chain).fingerprint == Job.of(belief=chain.to_dict()).fingerprint


def test_a_job_is_told_from_a_belief(tmp_path: Path) -> None:
    job, belief = tmp_path / "job.toml", tmp_path / "belief.toml"
    job.write_text("# what is published\n[privacy]\nbelief = 'belief.toml'\n")
    belief.write_text("kind = 'chain'\ntransition = [[0.5, 0.5], [0.5, 0.5]]\n")
    assert is_job(job)
    assert not is_job(belief)
    assert not is_job(tmp_path / "missing.toml")


def test_reading_a_job_needs_no_packages() -> None:
    code = "import sys, quiltwork.job as j; j.Job.parse('[data]\\ncolumn = \"x\"'); print([m for m in sys.modules if m "
    code += "in ('numpy', 'polars', 'typer', 'pydantic')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
