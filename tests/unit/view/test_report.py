"""Reports: what they say, what they never say, and that what they tell to repeat can be repeated."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from shell import answer, run

from quiltwork import (
    BayesianNetwork,
    GaussianBelief,
    MarkovChain,
    Release,
    Series,
    Session,
    check_belief,
    read_measurements,
    read_records,
    read_series,
    release,
    save_belief,
)
from quiltwork.errors import ParameterError
from quiltwork.view.charts import style
from quiltwork.view.html import style as page_style
from quiltwork.view.report import assumptions, python_code, write_report

P = [[0.8, 0.2], [0.3, 0.7]]
CHAIN = MarkovChain(P, initial="stationary", states=["sit", "walk"], step="15min")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A diary of two people, public data of a third, and a belief; the working folder."""
    save_belief(CHAIN, tmp_path / "belief.json")
    values = ["sit", "sit", "sit", "walk"] * 24
    times = [f"2024-03-04 {n // 4:02}:{n % 4 * 15:02}" for n in range(len(values))]
    rows = [f"{who},{time},{value}" for who in ("ann", "bob") for time, value in zip(times, values, strict=True)]
    (tmp_path / "my diary.csv").write_text("who,time,what\n" + "\n".join(rows) + "\n")
    (tmp_path / "public.csv").write_text("who,time,what\n" + "\n".join(rows[:96]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(folder: Path, *more: object) -> tuple[object, ...]:
    columns = ("--column", "what", "--subject", "who", "--time", "time", "--belief", folder / "belief.json")
    return ("release", folder / "my diary.csv", *columns, "--query", "histogram", "--epsilon", 0.5, *more)


def read(folder: Path) -> Any:
    return read_series(folder / "my diary.csv", column="what", states=CHAIN.states, subject="who", time="time")


def test_a_report_says_all_that_is_signed_for(folder: Path) -> None:
    address = f"sqlite:///{folder}/ledger.db"
    run("ledger", "create", address, "--belief", folder / "belief.json", "--budget", 2, code=0)
    made = answer(*asked(folder, "--ledger", address, "--check", "public.csv", "--out", folder / "r.html"))
    assert made["data"] == {
        "source": "my diary.csv",
        "rows": 192,
        "first": "2024-03-04 00:00",
        "last": "2024-03-04 23:45",
        "step": "15min",
        "reading": {"layout": "series", "column": "what", "subject": "who", "time": "time"},
    }
    page = (folder / "r.html").read_text()
    assert str(folder) not in page
    for said in (
        "my diary.csv",
        "192 rows; 2 people or series, 192 values",
        "2024-03-04 00:00 to 2024-03-04 23:45",
        "who are independent of one another",
        "15 min passes in the belief, as in the data",
        "has the long-run law",
        "Verified by interval arithmetic",
        f"{made['ledger']['row']}:{made['ledger']['hash']}",
        "left of the budget of 2",
        "Checked against public data",
        CHAIN.fingerprint,
        "Responsible for privacy",
    ):
        assert said in page, said
    command = re.findall(r"<pre>(quiltwork release.*?)</pre>", page, flags=re.DOTALL)[0]
    words = shlex.split(command.replace("&#x27;", "'").replace("\\\n", ""))
    assert words[:3] == ["quiltwork", "release", "my diary.csv"]
    assert words[words.index("--check") + 1] == "public.csv"
    again = answer(*words[1 : words.index("--out")])
    assert again["noise_scale"] == made["noise_scale"]
    assert again["ledger"]["row"] == made["ledger"]["row"] + 1


def test_a_report_needs_nothing_and_runs_nothing(tmp_path: Path) -> None:
    """Names cannot become markup, in text or in pictures."""
    nasty = MarkovChain(P, states=["<script>alert(1)</script>", "a & b"], step=1)
    values = ["a & b", "<script>alert(1)</script>"] * 30
    page = release(values, "transitions", belief=nasty, epsilon=1.0, anyway=True).save(tmp_path / "r.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    links = re.findall(r"https?://[^\"' <]+|src=|@import|url\(|javascript:", page)
    assert {link for link in links if "www.w3.org" not in link} == set()
    for colour in (style.INK, style.QUIET, style.ACCENT, style.WARNING, style.LINE, style.FAINT):
        assert colour in page_style()  # a dark page draws them in others
    assert "values in memory" in page
    assert "not checked against public data" in page


@pytest.mark.parametrize("stopped", [KeyboardInterrupt, MemoryError, ParameterError("x")])
def test_a_report_never_waits_for_a_verification_that_was_stopped(
    stopped: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial="stationary")
    made = release(["0", "0", "1"] * 50, "histogram", belief=chain, epsilon=1.0, anyway=True)
    seen: list[str] = []

    def stop(*_: Any) -> float:
        seen.append((tmp_path / "report.html").read_text())
        raise stopped

    monkeypatch.setattr(type(made.calibration), "verify", stop)
    with pytest.raises((KeyboardInterrupt, MemoryError, ParameterError)):
        write_report(tmp_path / "report.html", release=made)
    assert "It is being verified" in seen[0]  # the report is there before
    written = (tmp_path / "report.html").read_text()
    assert "It is being verified" not in written
    assert "NOT VERIFIED: there is one, but its verification was interrupted." in written


def test_data_to_protect_is_not_shown_as_a_check(folder: Path) -> None:
    same = run(*asked(folder, "--check", folder / "my diary.csv", "--out", "r.html"), code=2)
    assert "must not be checked on the data that is to be protected" in same.stderr
    alone = run(*asked(folder, "--check", "public.csv", "--despite-check"), code=0)
    assert "Belief: Checked, " in alone.stdout
    found = release(read(folder), "count:sit", belief=CHAIN, epsilon=1.0, anyway=True)
    check = check_belief(CHAIN, ["sit", "sit", "walk"] * 40)
    assert check.verdict in found.save("r.html", check=check).read_text().replace("&#x27;", "'")
    with pytest.raises(ParameterError, match="report"):
        found.save("r.csv", check=check)


def test_python_code_makes_the_release_again(folder: Path) -> None:
    rain = BayesianNetwork.from_chain(MarkovChain(P, initial="stationary", states=["no", "yes"]), 3)
    (folder / "records.csv").write_text(",".join(rain.variables) + "\nno,yes,no\nyes,yes,no\n")
    power = GaussianBelief(correlation={"ar1": 0.5}, distance=1.0)
    (folder / "power.csv").write_text("kw\n" + "\n".join(str(n % 7) for n in range(60)) + "\n")
    whole, measured = read(folder), read_measurements("power.csv", column="kw")
    cases: list[tuple[Any, Release]] = [
        (
            CHAIN,
            release(whole, ["histogram", "transitions"], belief=CHAIN, epsilon=1.0, secrets="state:walk", anyway=True),
        ),
        (
            CHAIN,
            Session(whole, belief=CHAIN, budget=2, ledger="l.db").histogram(epsilon=1.0, segment=(5, 20), anyway=True),
        ),
        (
            CHAIN,
            Session(whole, belief=CHAIN, budget=2).count("sit", epsilon=1.0, window=24, by_subject=True, anyway=True),
        ),
        (rain, release(read_records("records.csv", belief=rain), "count:yes", belief=rain, epsilon=1.0, anyway=True)),
        (power, release(measured, "mean", belief=power, epsilon=1.0, window=30, anyway=True)),
    ]
    for belief, made in cases:
        save_belief(belief, "belief.json")
        code = python_code(made)
        names: dict[str, Any] = {}
        exec(code, names)  # noqa: S102 - it is what a reader would do
        assert names["result"].calibration.noise_scale == made.calibration.noise_scale, code
        assert names["result"].recorded == made.recorded, code


def test_assumptions_follow_from_the_release() -> None:
    values = ["sit", "walk", None, "sit"] * 10
    gaps = Series.from_values(values, states=CHAIN.states, missing="split")
    bold = release(gaps, "count:sit", belief=CHAIN, epsilon=1.0, gaps="independent", anyway=True)
    said = " ".join(assumptions(bold))
    for words in ("nothing is remembered across a gap", "one series of one person", "taken on trust", "no ledger"):
        assert words in said, words
    careful = MarkovChain(P, states=["sit", "walk"], step=1)
    said = " ".join(
        assumptions(release(["sit"] * 9, "count:sit", belief=careful, epsilon=1.0, guarantee="bayesian", anyway=True))
    )
    assert "any other values of the data" in said
    assert "Nothing is assumed about how a series begins" in said
    said = " ".join(
        assumptions(
            release(
                [1.0, 2.5], "mean", belief=GaussianBelief(correlation=[1, 0.5], distance=1), epsilon=1.0, anyway=True
            )
        )
    )
    assert "Gaussian values" in said
    assert "begins:" not in said
    session = Session(["sit"] * 9, belief=careful, budget=1.0)
    assert "recorded in the ledger" in assumptions(session.count("sit", epsilon=0.5, anyway=True))[-1]


def test_passwords_and_folders_stay_out() -> None:
    from quiltwork.cli.repeat import _shown

    assert _shown("ledger", "/home/ann/ledger.db") == "sqlite:///ledger.db"
    assert _shown("belief", Path("/home/ann/b.json")) == "b.json"
    assert _shown("recode", "1=sleep,2=sit") == "1=sleep,2=sit"
    pytest.importorskip("psycopg")
    assert "secret" not in _shown("ledger", "postgresql://ann:secret@host/budget")


def test_facts_about_the_data_are_the_same_on_every_engine(folder: Path) -> None:
    import polars as pl

    duckdb = pytest.importorskip("duckdb")
    rows = pl.read_csv(folder / "my diary.csv", try_parse_dates=True)
    relation = duckdb.sql("SELECT * FROM rows")
    columns: dict[str, Any] = {"column": "what", "states": CHAIN.states, "subject": "who", "time": "time"}
    found = [read_series(table, **columns).about for table in ("my diary.csv", rows, relation)]
    assert [about.source for about in found] == ["my diary.csv", None, None]
    assert {(about.rows, about.first, about.last, str(about.step)) for about in found} == {
        (192, "2024-03-04 00:00", "2024-03-04 23:45", "15min")
    }
    assert Series.from_values(["sit"], states=CHAIN.states).about is None
    numbered = read_series(pl.DataFrame({"t": [3, 4], "what": ["sit", "walk"]}), column="what", states=None, time="t")
    assert (numbered.about.first, numbered.about.last, str(numbered.about.step)) == ("3", "4", "1")
    assert rows.height == 192
