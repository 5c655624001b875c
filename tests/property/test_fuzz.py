"""Valid inputs with something wrong in them: refused in one line, never with a data value, never with another error."""

import copy
import gzip
import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from effort import examples
from hypothesis import given, settings, strategies as st
from shell import run

from quiltwork import (
    Accountant,
    BayesianNetwork,
    ChainSet,
    IntervalChain,
    JointTable,
    Ledger,
    MarkovChain,
    MixingClass,
    NetworkSet,
    QuiltworkError,
    ReleaseRecord,
    Session,
    calibrate,
    plan,
    read_measurements,
    read_records,
    read_series,
    release,
    save_belief,
)
from quiltwork.beliefs import Belief, belief_from_dict
from quiltwork.beliefs.bif import parse_bif
from quiltwork.data.rewritten import by_person
from quiltwork.ledger import verify_export
from quiltwork.ledger.rows import Outcome, Row, from_lines

CANARY = "CANARY7f3a"
"""Stands in every kind of data; no message may contain it."""
CHAIN = MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[0.3, 0.7], states=["sit", "walk"])
FLU = BayesianNetwork(
    {"flu": ["no", "yes"], "fever": ["none", "high"]},
    parents={"fever": ["flu"]},
    tables={"flu": [0.9, 0.1], "fever": [[0.9, 0.1], [0.2, 0.8]]},
)
BELIEFS: list[Belief] = [
    CHAIN,
    MarkovChain([[0.5, 0.5], [0.5, 0.5]]),
    ChainSet([CHAIN, CHAIN.with_start("stationary")]),
    IntervalChain([[0.8, 0.05], [0.3, 0.5]], [[0.95, 0.2], [0.5, 0.7]]),
    MixingClass(3, pi_min=0.1, gap=0.4),
    FLU,
    NetworkSet([FLU, FLU]),
    JointTable({"x": "01", "y": "01"}, [(("0", "0"), 0.5), (("1", "1"), 0.5)]),
]
RECORDS: list[dict[str, Any]] = [
    ReleaseRecord(
        mechanism="curve", epsilon=1.0, noise_scale=3.4, query="count:walk", segment=(1, 5), length=9
    ).to_dict(),
    ReleaseRecord(mechanism="quilt-exact", epsilon=0.5, noise_scale=20.0, query="histogram").to_dict(),
    ReleaseRecord(mechanism="other", epsilon=1.0, segment=(6, 9)).to_dict(),
    ReleaseRecord(noise_scale=2.0, lipschitz=1.0, gaps="dependent", length=4, lengths=(2, 3), window=2).to_dict(),
]
BIF = """network sample {}
variable flu { type discrete [ 2 ] { no, yes }; }
variable fever { type discrete [ 2 ] { none, high }; }
probability ( flu ) { table 0.9, 0.1; }
probability ( fever | flu ) { (no) 0.9, 0.1; (yes) 0.2, 0.8; }
"""
NASTY: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    0.5,
    -0.0,
    1e-320,
    1e308,
    10**400,
    -(10**400),
    3.7,
    "",
    " ",
    "any",
    "stationary",
    "0",
    "walk",
    "\x00",
    "\x1b[2J",
    "\u202e",
    "\ud800",
    "é" * 50,
    "x" * 3000,
    [],
    {},
    [[]],
    [0.5, 0.5],
    [[1.0]],
    [[0.5, 0.5]] * 3,
    ["a", "a"],
    {"kind": "chain"},
    {"kind": "set", "members": []},
    [None],
    float("inf"),
    float("nan"),
]
FUZZ = settings(deadline=None, database=None)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything inside plain values."""
    found = [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += places(inner, (*path, key))
    return found


@st.composite
def mutated(draw: st.DrawFn, value: Any) -> Any:
    """Plain values with one to three changes: replaced, removed, doubled, renamed, wrapped or moved."""
    changed = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(changed)))
        if not path:
            changed = draw(st.sampled_from([changed, [changed], {"kind": changed}]))
            continue
        holder = changed
        for key in path[:-1]:
            holder = holder[key]
        key, how = path[-1], draw(st.sampled_from(["replace"] * 4 + ["remove", "double", "rename", "wrap", "digit"]))
        if how == "remove":
            del holder[key]
        elif how == "double" and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif how == "rename" and isinstance(holder, dict):
            holder[draw(st.sampled_from(["", "kind", "p", "states", "\x07", "unknown"]))] = holder.pop(key)
        elif how == "wrap":
            holder[key] = [holder[key]]
        elif how == "digit" and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
            with suppress(OverflowError):
                holder[key] = holder[key] * draw(st.sampled_from([-1, 1 + 1e-9, 1e-300, 1e300]))
        else:
            holder[key] = copy.deepcopy(draw(st.sampled_from(NASTY)))
    return changed


@st.composite
def mutated_text(draw: st.DrawFn, text: str) -> str:
    """A text with one to four changes of characters, words or lines."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(text) - 1)))
        span = draw(st.integers(0, 12))
        piece = draw(
            st.sampled_from(
                [
                    "",
                    " ",
                    "\n",
                    ",",
                    ";",
                    "{",
                    "}",
                    "(",
                    ")",
                    "|",
                    "0",
                    "-1",
                    "9" * 400,
                    "nan",
                    "\x00",
                    "\x1b",
                    "\u202e",
                    '"',
                    "é",
                    text[:40],
                ]
            )
        )
        text = text[:at] + piece + text[at + span :]
    return text


@st.composite
def one_of(draw: st.DrawFn, values: list[Any]) -> Any:
    return draw(mutated(draw(st.sampled_from(values))))


def refused(problem: QuiltworkError) -> None:
    """One line, printable, without data."""
    message = str(problem)
    assert CANARY not in message
    assert "\x1b" not in message
    assert message.isprintable() or "\n" in message
    message.encode()


@settings(FUZZ, max_examples=examples(336))
@given(one_of([belief.to_dict() for belief in BELIEFS]))
def test_beliefs(contents: Any) -> None:
    try:
        belief = belief_from_dict(contents)
        belief.summary()
        length = 4 if belief.variables is None else None
        plan("histogram", belief=belief, epsilon=1.0, length=length, mechanisms=["group", "quilt-exact"])
    except QuiltworkError as problem:
        refused(problem)


@settings(FUZZ, max_examples=examples(48))
@given(one_of([belief.to_dict() for belief in BELIEFS]))
def test_beliefs_by_the_curve(contents: Any) -> None:
    with suppress(QuiltworkError):
        belief = belief_from_dict(contents)
        calibrate(
            f"count:{belief.states[0]}", belief=belief, epsilon=1.0, length=3 if belief.variables is None else None
        )


@settings(FUZZ, max_examples=examples(288))
@given(st.lists(one_of(RECORDS), min_size=1, max_size=2))
def test_records(contents: list[Any]) -> None:
    try:
        records = [ReleaseRecord.from_dict(content) for content in contents if isinstance(content, dict)]
        Accountant(CHAIN, length=9, releases=records).composed()
    except QuiltworkError as problem:
        refused(problem)


@settings(FUZZ, max_examples=examples(168))
@given(mutated_text(BIF))
def test_bif_files(text: str) -> None:
    try:
        contents = parse_bif(text)
        network = BayesianNetwork(contents.variables, parents=contents.parents, tables=contents.tables)
        calibrate("count:yes", belief=network, epsilon=1.0, mechanism="group")
    except QuiltworkError as problem:
        refused(problem)


CSV = "person,time,what,n\n" + "".join(
    f"{CANARY},2024-03-04T0{n}:00,{'sit' if n % 3 else 'walk'},{n}\n" for n in range(9)
)


@settings(FUZZ, max_examples=examples(144))
@given(
    text=mutated_text(CSV),
    options=st.sampled_from(
        [
            {},
            {"subject": "person"},
            {"subject": "person", "time": "time"},
            {"time": "person,time", "date_format": "dd/mm/yyyy"},
            {"recode": {"0": "sit", "*": "walk"}, "decimal": ","},
            {"bins": "4", "separator": ";"},
        ]
    ),
    column=st.sampled_from(["what", "n"]),
)
def test_tables(text: str, options: dict[str, Any], column: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzz.csv"
    file.write_bytes(text.replace("sit", CANARY + "s" if "9" * 400 in text else "sit").encode(errors="replace"))
    try:
        series = read_series(file, column=column, states=CHAIN.states, missing="split", unsorted="sort", **options)
        release(series, "histogram", belief=CHAIN, epsilon=1.0, mechanism="group", gaps="independent", anyway=True)
    except QuiltworkError as problem:
        refused(problem)


@settings(FUZZ, max_examples=examples(72))
@given(text=mutated_text("flu,fever\n" + "no,none\nyes,high\n" * 3 + f"{CANARY},none\n"))
def test_tables_of_records(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "records.csv"
    file.write_bytes(text.encode(errors="replace"))
    try:
        release(read_records(file, belief=FLU), "count:yes", belief=FLU, epsilon=1.0, mechanism="group", anyway=True)
    except QuiltworkError as problem:
        refused(problem)


TOKEN = st.text("bcdfghjklmnpqrstvwxz", min_size=9, max_size=9)


@st.composite
def without_header(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A table with no line of names, written in some way, and the tokens that stand in its cells."""
    tokens: list[str] = []

    def cell(row: int) -> str:
        tokens.append(draw(TOKEN))
        forms = [
            "{}",
            "{}",
            "what{}",
            "person {}",
            '"{}"',
            '"{}\n{}"',
            '"{} ""{}"""',
            "{}\r{}",
            "user_{}",
            "{},{}",
            "0{}",
        ]
        form = draw(st.sampled_from(forms if row < 2 else forms[:4]))
        return form.format(tokens[-1], tokens[-1])

    between = draw(st.sampled_from([",", ";", "\t", "|", " "]))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    width = draw(st.integers(1, 4))
    rows = [[cell(row) for _ in range(width)] for row in range(draw(st.integers(1, 4)))]
    if draw(st.booleans()):
        rows = [rows[0], rows[0], *rows]  # names that repeat
        rows[0] = rows[0] * draw(st.integers(1, 2))
    return end.join(between.join(row) for row in rows) + end, tokens


@settings(FUZZ, max_examples=examples(60))
@given(
    table=without_header(),
    ending=st.sampled_from([".csv", ".tsv", ".csv.gz"]),
    wanted=st.fixed_dictionaries({"column": st.sampled_from(["what", "n"])}, optional={
        "subject": st.sampled_from(["person", "user_id"]), "time": st.sampled_from(["time", "day,hour"]),
        "separator": st.sampled_from([",", ";", "|"]),
    }),
    belief=st.sampled_from([CHAIN, FLU, MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=["what", "n"])]),
)  # fmt: skip
def test_first_rows_are_not_shown(
    table: tuple[str, list[str]],
    ending: str,
    wanted: dict[str, Any],
    belief: Belief,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A file that has no header, or is written in another way than it is read, is refused without any of its cells."""
    folder = tmp_path_factory.getbasetemp()
    file, text = folder / f"bare{ending}", table[0].encode()
    file.write_bytes(gzip.compress(text) if ending.endswith(".gz") else text)
    save_belief(belief, folder / "bare.json")
    options = [word for name, value in wanted.items() for word in (f"--{name}", value)]
    asked = [*options, "--belief", folder / "bare.json", "--epsilon", "1", "--query", f"count:{belief.states[0]}"]
    attempts: list[Callable[[], object]] = [
        lambda: read_series(file, states=None, **wanted),
        lambda: read_measurements(file, **wanted),
        lambda: read_records(file, belief=FLU),
        lambda: by_person(file, who="person", column="what", time="time"),
    ]
    said = [
        run("release", "--anyway", file, *asked, code=2).stderr,
        run("belief", "fit", file, *options, code=2).stderr,
    ]
    for attempt in attempts:
        with pytest.raises(QuiltworkError) as caught:
            said.append(repr(attempt()))
        said.append(str(caught.value))
    assert not [token for token in table[1] if token in "".join(said)]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with some releases."""
    path = tmp_path_factory.mktemp("fuzz") / "ledger.db"
    session = Session(["sit", "walk"] * 5, belief=CHAIN, budget=3.0, ledger=path, who="ann")
    for _ in range(3):
        session.count("walk", epsilon=0.2, anyway=True)
    session.ledger.close()
    return path


@settings(FUZZ, max_examples=examples(72))
@given(data=st.data())
def test_exported_ledgers(data: st.DataObject, kept: Path) -> None:
    rows, outcomes = Ledger(str(kept)).rows()
    lines = [row.to_dict() for row in rows] + [outcome.to_dict() for outcome in outcomes]
    changed = data.draw(mutated(lines))
    with suppress(ValueError):  # what JSON cannot say
        text = [json.dumps(line, allow_nan=False) for line in changed] if isinstance(changed, list) else ["{"]
        try:
            read = list(from_lines(text))
            told = verify_export(
                [line for line in read if isinstance(line, Row)], [line for line in read if isinstance(line, Outcome)]
            )
            assert all(problem.isprintable() for problem in told)
        except QuiltworkError as problem:
            refused(problem)


@settings(FUZZ, max_examples=examples(48))
@given(data=st.data())
def test_ledger_files(data: st.DataObject, kept: Path) -> None:
    """Bytes that flip, and columns that change: used as before, or refused; never more budget than there was."""
    content = bytearray(kept.read_bytes())
    copied = kept.with_name("copy.db")
    if data.draw(st.booleans()):
        for _ in range(data.draw(st.integers(1, 8))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        copied.write_bytes(content)
    else:
        copied.write_bytes(content)
        table, column = data.draw(
            st.sampled_from(
                [
                    ("rows", "content"),
                    ("rows", "hash"),
                    ("rows", "time"),
                    ("rows", "number"),
                    ("kept", "sum"),
                    ("kept", "epsilon"),
                    ("kept", "number"),
                    ("kept", "outcomes"),
                    ("outcomes", "hash"),
                    ("version", "version"),
                ]
            )
        )
        value = data.draw(st.sampled_from(["x", "", "{}", "[1]", 0, -5, 10**12, 1.5, None, b"\x00", "\x1b[2J"]))
        with sqlite3.connect(copied) as connection, suppress(sqlite3.Error):
            connection.execute(f"UPDATE quiltwork_{table} SET {column} = ? WHERE rowid = 1", (value,))  # noqa: S608
        connection.close()
    for end in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(f"{copied}{end}")
    try:
        ledger = Ledger(str(copied))
        ledger.verify()
        assert ledger.statement().remaining <= 3.0
        ledger.close()
    except QuiltworkError as problem:
        refused(problem)


OPTIONS = [
    "release",
    "DATA",
    "--column",
    "what",
    "--belief",
    "BELIEF",
    "--query",
    "count:walk",
    "--epsilon",
    "1",
    "--subject",
    "person",
    "--time",
    "time",
    "--window",
    "3",
    "--mechanism",
    "group",
    "--json",
]
WORDS = [
    "",
    "-1",
    "0",
    "nan",
    "inf",
    "1e400",
    "9" * 400,
    "count:",
    "histogram",
    "any",
    "\x1b[2J",
    "\u202e",
    "é",
    "--help",
    "--no-such",
    "--segment",
    "2:1",
    "1:3",
    "--gap",
    "1h",
    "--every",
    "2",
    "--bins",
    "0:9:3",
    "--take",
    "mean",
    "--by-subject",
    "--delta",
    "0.5",
    "--guarantee",
    "bayesian",
    "/dev/zero",
    "DATA",
    "BELIEF",
    "plan",
    "audit",
    "--ledger",
    "sqlite://",
    "--out",
    "x.html",
    "--recode",
    "sit=walk,*=sit",
    "--state-values",
    "sit=0,walk=1",
    "--date-format",
    "dd/mm/yyyy",
    "--separator",
    ";",
    "--decimal",
    ",",
    "person,time",
]


@settings(FUZZ, max_examples=examples(36))
@given(data=st.data())
def test_option_lists(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    table, belief = folder / "options.csv", folder / "options.json"
    table.write_text(CSV)
    save_belief(CHAIN, belief)
    words = list(OPTIONS)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(words) - 1))
        how = data.draw(st.sampled_from(["replace", "insert", "remove"]))
        words[at : at + (how != "insert")] = [] if how == "remove" else [data.draw(st.sampled_from(WORDS))]
    done = run(*[{"DATA": table, "BELIEF": belief, "x.html": folder / "x.html"}.get(word, word) for word in words])
    assert done.returncode in (0, 2, 3, 4), done.stderr
    assert "should not have" not in done.stderr
    assert "Traceback" not in done.stderr
    assert CANARY not in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    if done.returncode:
        assert len(done.stderr.strip().splitlines()) <= 1 + done.stderr.count("warning:")


def test_frames_keep_their_values_to_themselves() -> None:
    for column in ([CANARY, "sit"], [1.5, 2.5], [None, CANARY], [b"CANARY7f3a", b"x"], [{"a": CANARY}, {"a": "b"}]):
        with pytest.raises(QuiltworkError) as problem:
            read_series(pl.DataFrame({"what": column}), column="what", states=CHAIN.states)
        refused(problem.value)
