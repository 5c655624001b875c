"""Job files: written by ``new``, read by ``plan``, ``release``, ``belief check`` and ``ledger create``."""

import json
from pathlib import Path
from typing import Any

import pytest
from shell import answer, run

from quiltwork.errors import LedgerError
from quiltwork.job import Job
from quiltwork.releases.prepared import Prepared
from quiltwork.releases.result import Release

CHAIN = {"kind": "chain", "states": ["sit", "walk"], "transition": [[0.7, 0.3], [0.6, 0.4]], "initial": "any"}
QUESTIONS = """
[[question]]
ask = "histogram"
epsilon = 0.5

[[question]]
ask = ["share:walk", "transitions"]
window = "day"
epsilon = 0.5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Data of three people, a belief, and a job about them."""
    (tmp_path / "belief.json").write_text(json.dumps(CHAIN | {"step": "1h"}))
    rows = [
        f"{who},2024-03-{4 + n // 24:02} {n % 24:02}:00,{'walk' if (n * who) % 3 == 0 else 'sit'}"
        for who in (1, 2, 3)
        for n in range(240)
    ]
    (tmp_path / "diary.csv").write_text("\n".join(["person,time,activity", *rows, ""]))
    run("new", tmp_path / "diary.csv", "--out", tmp_path / "job.toml", code=0)
    return tmp_path


def job_with(folder: Path, text: str, name: str = "own.toml", **privacy: Any) -> Path:
    file = folder / name
    named = {"belief": "belief.json", **privacy}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in named.items())
    data = '[data]\npath = "diary.csv"\ncolumn = "activity"\nsubject = "person"\ntime = "time"\n'
    file.write_text(f"{data}[privacy]\n{lines}\n{text}")
    return file


def test_a_new_job_can_be_planned_and_released(folder: Path) -> None:
    job = Job.load(folder / "job.toml")
    assert (job.data.column, job.data.subject, job.data.time) == ("activity", "person", "time")
    assert job.data.path == str(folder / "diary.csv")
    text = (folder / "job.toml").read_text()
    assert 'path = "diary.csv"' in text
    assert text.count("# Privacy loss allowed") == 1
    planned = answer("plan", folder / "job.toml")["questions"]
    assert [(one["ask"], one["epsilon"]) for one in planned] == [("histogram", 0.5), ("frequencies", 0.5)]
    released = answer("release", folder / "job.toml", "--anyway")["releases"]
    assert [one["query"] for one in released] == ["histogram", "frequencies"]
    assert "exists already" in run("new", folder / "diary.csv", "--out", folder / "job.toml", code=2).stderr


@pytest.mark.parametrize(
    ("header", "row", "said"),
    [
        ("who;Datum;Zeit;kW", "a;13.2.2024;00:15;1,5", {"time": "Datum,Zeit", "separator": ";", "subject": "who"}),
        ("id,when,state", "1,2024-01-01 00:00,on", {"subject": "id", "time": "when", "column": "state"}),
        ("ann,bob", "yes,no", {}),
        ("date,steps", "02/13/2024,7", {"time": "date", "column": "steps", "date_format": "mm/dd/yyyy"}),
    ],
)  # fmt: skip
def test_columns_are_proposed_by_name_and_type(tmp_path: Path, header: str, row: str, said: dict[str, str]) -> None:
    (tmp_path / "data.csv").write_text(f"{header}\n{row}\n")
    made = Job.parse(answer("new", tmp_path / "data.csv")["job"]).data.reading
    assert {name: made.get(name) for name in said} == said
    assert said or not made


def test_a_plan_has_the_noise_of_the_release(folder: Path) -> None:
    file = job_with(folder, QUESTIONS)
    planned = answer("plan", file)["questions"]
    assert [one["ask"] for one in planned] == ["histogram", "share:walk", "transitions"]
    assert all(
        set(one) >= {"ask", "epsilon", "noise_scale", "error_95", "relative_error", "verdict", "mechanisms"}
        for one in planned
    )
    first, second = answer("release", file, "--anyway")["releases"]
    assert first["noise_scale"] == pytest.approx(planned[0]["noise_scale"])
    drawn = {one["query"]: one for one in second["questions"]}
    assert drawn["transitions"]["error_95"] >= planned[2]["error_95"] * (1 - 1e-9)
    assert planned[0]["verdict"] == "good"
    assert planned[2]["answers"] == 10
    assert {one["mechanism"] for one in planned[0]["mechanisms"]} >= {"curve", "group"}


def test_a_plan_reads_no_values(folder: Path) -> None:
    file = job_with(folder, QUESTIONS)
    before = answer("plan", file)["questions"]
    data = folder / "diary.csv"
    data.write_text(data.read_text().replace(",sit\n", ",never heard of\n"))
    after = answer("plan", file)["questions"]
    for one in (*before, *after):
        for offer in one["mechanisms"]:
            offer.pop("seconds", None)
    assert after == before
    assert "unknown" in run("release", file, code=2).stderr or "states" in run("release", file, code=2).stderr


def test_a_plan_without_data_takes_sizes(folder: Path) -> None:
    text = f'[data]\nlength = 240\npeople = 3\n[privacy]\nbelief = "belief.json"\n{QUESTIONS}'
    (folder / "sizes.toml").write_text(text)
    sizes, data = (answer("plan", file)["questions"] for file in (folder / "sizes.toml", job_with(folder, QUESTIONS)))
    assert sizes[0]["noise_scale"] == pytest.approx(data[0]["noise_scale"])
    assert sizes[1]["noise_scale"] == pytest.approx(data[1]["noise_scale"])
    (folder / "none.toml").write_text(f'[privacy]\nbelief = "belief.json"\n{QUESTIONS}')
    assert "--length and --people, or" in run("plan", folder / "none.toml", code=2).stderr


def test_options_override_the_file(folder: Path) -> None:
    file = job_with(folder, QUESTIONS)
    assert [one["epsilon"] for one in answer("plan", file, "--epsilon", 2)["questions"]] == [2.0, 2.0, 2.0]
    only = answer("release", file, "--query", "stays", "--epsilon", 3)
    assert (only["query"], only["epsilon"]) == ("stays", 3.0)


def test_all_questions_are_within_the_budget_or_none_is_drawn(folder: Path) -> None:
    address = f"sqlite:///{folder}/ledger.db"
    file = job_with(folder, QUESTIONS, ledger="ledger.db", budget=0.9)
    created = answer("ledger", "create", file)
    assert created["budget"] == 0.9
    assert created["read"] == {"column": "activity", "subject": "person", "time": "time"}
    refused = run("release", file, "--anyway", code=3)
    assert "these 2 releases would exceed the budget" in refused.stderr
    assert refused.stdout == ""
    assert answer("ledger", "show", address)["releases"] == []
    done = answer("release", file, "--anyway", "--epsilon", 0.4)["releases"]
    spent = answer("ledger", "show", address)
    assert len(spent["releases"]) == 2
    assert done[-1]["ledger"]["spent"] == pytest.approx(spent["spent"])
    assert spent["spent"] <= 0.8 * (1 + 1e-9)


def test_without_a_ledger_a_budget_is_kept_in_memory(folder: Path) -> None:
    file = job_with(folder, QUESTIONS)
    done = answer("release", file, "--anyway")["releases"]
    assert done[-1]["ledger"]["budget"] == 1.0
    assert done[-1]["ledger"]["address"] == "an account in memory"
    refused = run("release", job_with(folder, QUESTIONS, budget=0.7), "--anyway", code=3)
    assert refused.stdout == ""


def test_a_report_for_each_release(folder: Path) -> None:
    text = QUESTIONS + '[out]\ntable = "answers.csv"\n'
    run("release", job_with(folder, text), "--anyway", code=0)
    assert (folder / "answers-1.csv").exists()
    assert (folder / "answers-2.csv").exists()


def test_a_belief_is_checked_as_a_job_reads(folder: Path) -> None:
    file = job_with(folder, QUESTIONS)
    public = folder / "public.csv"
    public.write_text((folder / "diary.csv").read_text())
    own = answer("belief", "check", file, public)
    options = ("--column", "activity", "--subject", "person", "--time", "time")
    assert own == answer("belief", "check", folder / "belief.json", public, *options)
    refused = run("belief", "check", file, folder / "diary.csv", code=2)
    assert "must not be checked on the data that is to be protected" in refused.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[data]\ncolum = 'x'\n", "own.toml: [data] has no key 'colum'. Did you mean 'column'?"),
        ("[[question]]\nask = 'histogram'\n[privacy]\nbelief = 'belief.json'\n", "data or path is needed"),
        ("[privacy]\nbelief = 'belief.json'\n[data]\npath = 'diary.csv'\n", "a question is needed"),
        ("[data]\npath = 'diary.csv'\n[[question]]\nask = 'histogram'\n", "belief is needed"),
    ],
)
def test_what_is_missing_is_named(folder: Path, text: str, said: str) -> None:
    (folder / "own.toml").write_text(text)
    done = run("release", folder / "own.toml", code=2)
    assert said in done.stderr or said.replace("data or path", "path") in done.stderr


def test_a_belief_may_stand_in_the_job(folder: Path) -> None:
    belief = json.loads((folder / "belief.json").read_text())
    job = Job.load(job_with(folder, QUESTIONS)).with_(belief=belief)
    job.save(folder / "whole.toml")
    assert Job.load(folder / "whole.toml").privacy.belief == belief
    assert answer("release", folder / "whole.toml", "--query", "histogram", "--epsilon", 1)["query"] == "histogram"


def test_a_plan_keeps_to_the_terms_of_the_ledger(folder: Path) -> None:
    file = job_with(folder, QUESTIONS, ledger="ledger.db", budget=2.0, delta=1e-6)
    before = answer("plan", file)["questions"]
    answer("ledger", "create", file)
    assert answer("plan", file)["questions"][0]["mechanism"] == "curve"
    assert [one["ask"] for one in before] == ["histogram", "share:walk", "transitions"]


def test_what_was_released_is_shown_where_a_later_one_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, held = [], Prepared.draw_within

    def draw_within(self: Prepared, *given: Any, **more: Any) -> Any:
        drawn.append(self)
        if len(drawn) > 1:
            raise LedgerError("the ledger is away")
        return held(self, *given, **more)

    monkeypatch.setattr(Prepared, "draw_within", draw_within)
    done = run("release", job_with(folder, QUESTIONS), "--anyway", "--json", code=2)
    assert json.loads(done.stdout)["kind"] == "ledger"
    assert json.loads(done.stderr.splitlines()[-2])["releases"][0]["query"] == "histogram"


def test_a_release_holds_its_job(folder: Path) -> None:
    kept: list[Release] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Release, "save", lambda self, _: kept.append(self))
        run("release", job_with(folder, QUESTIONS + '[out]\ntable = "a.csv"\n'), "--anyway", code=0)
    assert [Job.parse(one.job or "").questions[0].text for one in kept] == ["histogram", "share:walk + transitions"]
    assert str(folder) not in (kept[0].job or "")


def test_a_toml_file_that_is_no_job_is_refused(folder: Path) -> None:
    (folder / "no.toml").write_text("[dta]\npath = 'x'\n")
    assert "no section 'dta'" in run("release", folder / "no.toml", code=2).stderr
