"""Text files as people have them: compressed, with semicolons, decimal commas, dates of their own, other names."""

import gzip
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from shell import run

from quiltwork import InputError, JointTable, MarkovChain, read_measurements, read_records, read_series, save_belief
from quiltwork.data.rewritten import by_person

POWER = "Date;Time;kW;volt\n" + "".join(
    f"{1 + n // 4}/12/2006;17:{15 * (n % 4):02}:00;{kw};1,234\n"
    for n, kw in enumerate(["4,216", "0,5", "?", "1,25"] * 2)
)


def written(path: Path, text: str) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "between"),
    [("d.csv", ","), ("d.csv", ";"), ("d.csv", "|"), ("d.tsv", "\t"), ("d.csv.gz", ";"), ("d.tsv.gz", ",")],
)
def test_the_first_line_says_what_separates_columns(tmp_path: Path, name: str, between: str) -> None:
    rows = [("t", "what"), ("1", "sit"), ("2", "walk"), ("3", "sit")]
    file = written(tmp_path / name, "\n".join(between.join(row) for row in rows) + "\n")
    series = read_series(file, column="what", states=("sit", "walk"), time="t")
    assert series.transitions().tolist() == [[0, 1], [1, 0]]
    assert series.reading.to_dict() == {"layout": "series", "column": "what", "time": "t"}


def test_compressed_and_plain_parts_and_given_separators(tmp_path: Path) -> None:
    written(tmp_path / "a.csv", "t;x\n1;sit\n")
    written(tmp_path / "b.csv.gz", "t;x\n2;walk\n")
    assert read_series(str(tmp_path / "*.csv*"), column="x", states=("sit", "walk"), time="t").size == 2
    one = written(tmp_path / "one.csv", "a;b\nsit\nwalk\n")  # a single column with this name
    assert read_series(one, column="a;b", states=("sit", "walk")).size == 2
    spaced = written(tmp_path / "spaced.csv", "t x\n1 sit\n2 walk\n")
    assert read_series(spaced, column="x", states=("sit", "walk"), time="t", separator="space").size == 2
    with pytest.raises(InputError, match="separator must be one character, got 'ab'"):
        read_series(one, column="x", states=None, separator="ab")


def test_dates_and_times_in_two_columns_and_decimal_commas(tmp_path: Path) -> None:
    file = written(tmp_path / "power.csv", POWER)
    asked: dict[str, Any] = {"time": "Date,Time", "date_format": "dd/mm/yyyy", "missing": "split"}
    power = read_measurements(file, column="kW", **asked)
    assert [run.tolist() for run in power.numbers["0"]] == [[4.216, 0.5], [1.25, 4.216, 0.5], [1.25]]
    assert power.reading.to_dict() == {
        "layout": "numbers", "column": "kW", "time": "Date,Time", "missing": "split", "date_format": "dd/mm/yyyy",
        "decimal": "auto",
    }  # fmt: skip
    days = read_series(file, column="kW", states=None, bins="1", gap="1h", **asked)
    assert days.counts().tolist() == [2, 4]
    assert str(days.spacing[0]) == "15min"  # type: ignore[index]
    with pytest.raises(InputError, match="date_format='dd/mm/yyyy' or 'mm/dd/yyyy'"):
        read_measurements(file, column="kW", time="Date,Time", missing="split")
    with pytest.raises(InputError, match="can be read in two ways, got commas that may stand before thousands"):
        read_measurements(file, column="volt")
    assert read_measurements(file, column="volt", decimal=",").numbers["0"][0][0] == 1.234
    with pytest.raises(InputError, match="8 of 8 that are not"):
        read_measurements(file, column="volt", decimal=".")
    mixed = written(tmp_path / "mixed.csv", "x;y\n1,5;2\n1.500;3\n")
    with pytest.raises(InputError, match="got commas and points"):
        read_measurements(mixed, column="x")
    with pytest.raises(InputError, match="1 of 2 that are not"):
        read_measurements(mixed, column="x", decimal=",")
    assert read_measurements(mixed, column="y").size == 2


def test_months_and_days_are_never_guessed(tmp_path: Path) -> None:
    file = written(tmp_path / "d.csv", "t,x\n1/2/2024,0\n2/2/2024,1\n")

    def steps(date_format: str) -> str:
        return str(read_series(file, column="x", states=("0", "1"), time="t", date_format=date_format).step)

    assert steps("dd/mm/yyyy") == "1d"
    assert steps("%m/%d/%Y") == "31d"
    with pytest.raises(InputError, match=r"must hold dates written as dd.mm.yyyy"):
        steps("dd.mm.yyyy")
    with pytest.raises(InputError, match="a year of two digits does not say its century"):
        steps("dd/mm/yy")
    frame = pl.DataFrame({"t": [1, 2], "x": ["0", "1"]})
    with pytest.raises(InputError, match="must hold text if a date format is given"):
        read_series(frame, column="x", states=("0", "1"), time="t", date_format="dd/mm/yyyy")


def test_dates_and_times_of_other_types() -> None:
    frame = pl.DataFrame({"d": ["2024-01-01"] * 3, "t": ["10:00", "10:05", "10:10"], "x": ["0", "1", "0"]})
    typed = frame.with_columns(pl.col("d").str.to_date(), pl.col("t").str.to_time("%H:%M"))
    for table in (frame, typed, typed.lazy()):
        assert str(read_series(table, column="x", states=("0", "1"), time="d, t").step) == "5min"
    with pytest.raises(InputError, match="Make them one timestamp in your query"):
        read_series(duckdb.sql("select * from frame"), column="x", states=("0", "1"), time="d,t")


def test_a_column_of_people_is_not_a_time_too(tmp_path: Path) -> None:
    file = written(tmp_path / "d.csv", "d;t;x\n1;2;0\n")
    with pytest.raises(InputError, match="must be different, got one of them twice"):
        by_person(file, who="t", column="x", time="d,t")


def test_people_together_have_dates_and_names_too(tmp_path: Path) -> None:
    rows = [f"{n}.1.2024;08:00;{who};{n % 2}" for n in (1, 2) for who in "ab"]
    file = written(tmp_path / "d.csv", "\n".join(["d;t;who;x", *rows]) + "\n")
    table = by_person(file, who="who", column="x", time="d,t")
    asked: dict[str, Any] = {"time": "d,t", "date_format": "dd.mm.yyyy", "recode": {"0": "well", "1": "ill"}}
    both = read_series(table, column=["a", "b"], states=None, **asked)
    assert (both.states, str(both.step)) == (("ill+ill", "well+well"), "1d")


@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64, pl.String])
def test_values_under_other_names(kind: Any) -> None:
    frame = pl.DataFrame({"x": [1, 2, 3, None, 1], "t": range(5)}).with_columns(pl.col("x").cast(kind))
    recode = {"1": "sleep", "2": "sit", "*": "other"}
    for table in (frame, duckdb.sql("select * from frame")):
        series = read_series(table, column="x", states=None, time="t", missing="split", recode=recode)
        assert series.states == ("other", "sit", "sleep")
        assert series.counts().tolist() == [1, 1, 2]
        assert series.reading.to_dict()["recode"] == dict(sorted(recode.items()))
        kept = read_series(table, column="x", states=("a", "2"), time="t", missing="split", recode={1: "a", 3: None})
        assert kept.counts().tolist() == [2, 1]


def test_values_under_other_names_are_checked(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": ["off", "on", "NA"], "y": ["on", "on", "off"]})
    with pytest.raises(InputError, match=r"got 'slep'. Did you mean 'sleep'\?"):
        read_series(frame, column="x", states=("sit", "sleep"), recode={"on": "slep"})
    with pytest.raises(InputError, match="must lead to numbers here, got 'high'"):
        read_measurements(frame, column="x", recode={"on": "high"})
    numbers = read_measurements(frame, column="x", recode={"on": 1.5, "off": "0"}, missing="split")
    assert numbers.numbers["0"][0].tolist() == [0.0, 1.5]
    both = read_series(frame.head(2), column=["x", "y"], states=None, recode={"on": "1", "off": "0"})
    assert both.states == ("0+1", "1+1")
    for wrong in ({}, {"a": ""}, {"a": ["b"]}, {1: "a", "1": "b"}):
        with pytest.raises(InputError, match="recode must name"):
            read_series(frame, column="x", states=None, recode=wrong)
    light = JointTable({"x": ("0", "1"), "y": ("0", "1")}, [(("0", "0"), 0.5), (("1", "1"), 0.5)])
    written(tmp_path / "r.csv", "x;y\noff;on\non;on\n")
    records = read_records(tmp_path / "r.csv", belief=light, recode={"on": "1", "off": "0"})
    assert records.codes.tolist() == [[0, 1], [1, 1]]
    assert records.reading.to_dict() == {"layout": "columns", "recode": {"off": "0", "on": "1"}}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"x\nsit\n\xe9t\xe9\n", "not in UTF-8. Save it as UTF-8, or convert it: iconv -f WINDOWS-1252"),
        ("x\nsit\n".encode("utf-16"), "iconv -f UTF-16"),
    ],
)
def test_other_encodings_are_named(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "d.csv").write_bytes(content)
    with pytest.raises(InputError, match=why):
        read_series(tmp_path / "d.csv", column="x", states=("sit",))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("wanted", [{"column": "x"}, {"column": "x", "time": "t"}, {"column": "x", "subject": "y"}])
def test_rows_with_more_fields_than_the_header_are_refused(
    tmp_path: Path, wanted: dict[str, str], compressed: bool
) -> None:
    file = tmp_path / ("d.csv.gz" if compressed else "d.csv")
    rows = "1,sit,a\n" * 3
    for row, said in [
        ("2,walk,a,hospital\n", "4 fields in line 5, 3 in the first"),
        ("2,walk,a,\n", "4 fields in line 5"),
        ('2,walk,a,"hospital, ward ""3"""\n', "4 fields in line 5"),
    ]:
        written(file, "t,x,y\n" + rows + row + rows)
        with pytest.raises(InputError, match=said) as caught:
            read_series(file, states=("sit", "walk"), **wanted)  # type: ignore[arg-type]
        assert "hospital" not in str(caught.value)
    light = JointTable({"x": ("sit", "walk"), "t": ("1", "2")}, [(("sit", "1"), 0.5), (("walk", "2"), 0.5)])
    with pytest.raises(InputError, match="more fields than the first"):
        read_records(file, belief=light)


def test_quotation_marks_in_names_are_undone(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv.gz", "c.csv"):
        written(tmp_path / name, 't,"a ""b""","c\nd"\n1,sit,0\n')
    for column in ('a "b"', "c\nd"):
        series = read_series(tmp_path / "a.csv", column=column, states=("sit", "0"))
        assert series.size == 1
        assert read_series(str(tmp_path / "*"), column=column, states=("sit", "0")).size == 3
    written(tmp_path / "c.csv", "x_duplicated_0,x\nsit,0\n")
    assert read_series(tmp_path / "c.csv", column="x_duplicated_0", states=("sit", "0")).size == 1


def test_lines_that_end_in_carriage_returns_alone(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(b"hospital,ann\rhospital,ann\r")
    with pytest.raises(InputError, match="must end in a newline, got carriage returns alone") as caught:
        read_series(tmp_path / "d.csv", column="x", states=None)
    assert "hospital" not in str(caught.value)


def damaged(content: bytes) -> dict[str, bytes]:
    """The same with a byte changed in the middle, at the beginning and at the end, and cut off."""
    middle = len(content) // 2
    return {
        "middle": content[:middle] + bytes(b ^ 255 for b in content[middle : middle + 9]) + content[middle + 9 :],
        "beginning": content[:10] + bytes(b ^ 255 for b in content[10:16]) + content[16:],
        "end": content[:-6] + bytes(b ^ 255 for b in content[-6:]),
        "cut off": content[:middle],
        "other": b"hospital",
    }


@pytest.mark.parametrize("how", list(damaged(b"")))
@pytest.mark.parametrize("ending", [".csv.gz", ".parquet"])
def test_damaged_files_are_refused_in_one_line(tmp_path: Path, how: str, ending: str) -> None:
    table = pl.DataFrame({"x": [f"hospital{n**5}" for n in range(500)], "t": range(500), "y": [0] * 500})
    file = tmp_path / f"d{ending}"
    if ending == ".parquet":
        table.write_parquet(file)
    else:
        written(file, table.write_csv())
    file.write_bytes(damaged(file.read_bytes())[how])
    save_belief(MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=["a", "b"]), tmp_path / "b.json")
    light = JointTable({"x": "ab", "t": "01"}, [(("a", "0"), 0.5), (("b", "1"), 0.5)])
    asked = ["--belief", tmp_path / "b.json", "--query", "histogram", "--epsilon", "1"]
    for command in (["release", file, "--column", "x", *asked], ["belief", "fit", file, "--column", "x"]):
        said = run(*command, code=2).stderr
        assert (said.count("\n"), "hospital" in said) == (1, False)
    for attempt in (
        lambda: read_series(file, column="x", states=("a", "b"), time="t"),
        lambda: read_measurements(file, column="x"),
        lambda: read_records(file, belief=light),
        lambda: by_person(file, who="x", column="y", time="t"),
    ):
        with pytest.raises(InputError) as caught:
            attempt()
        assert "hospital" not in str(caught.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    written(tmp_path / "diary.csv", "x\nsit\n")
    with pytest.raises(InputError, match=r"No such file or directory. Did you mean .*diary.csv\?"):
        read_series(tmp_path / "dairy.csv", column="x", states=None)
    with pytest.raises(InputError, match="there is no folder"):
        read_series(tmp_path / "no" / "diary.csv", column="x", states=None)
    with pytest.raises(InputError, match=r"Name the files in it: '.*/\*.csv'"):
        read_series(tmp_path, column="x", states=None)
    with pytest.raises(InputError, match=r"Did you mean .*diary.csv\?"):
        read_series(tmp_path / "diary", column="x", states=None)
    written(tmp_path / "d.txt", "x")
    with pytest.raises(InputError, match=r"rename it to .csv"):
        read_series(tmp_path / "d.txt", column="x", states=None)


def test_a_forgotten_subject_is_noticed() -> None:
    frame = pl.DataFrame({"user_id": ["a", "a", "b", "b"], "t": [1, 2, 1, 2], "x": ["0", "1"] * 2})
    asked: dict[str, Any] = {"column": "x", "states": ("0", "1")}
    with pytest.raises(InputError, match=r"times start again with each person, .* it seems to be subject='user_id'"):
        read_series(frame, **asked, time="t")
    with pytest.raises(InputError, match="Name the subject column with subject=, it seems to be subject='user_id'"):
        read_series(frame, **asked, time="t", unsorted="sort")
    doubt = read_series(frame, **asked).doubt
    assert doubt is not None
    assert "column 'user_id' is not used" in doubt
    assert read_series(frame, **asked, time="t", subject="user_id").doubt is None
    assert read_series(frame.rename({"user_id": "id"}), **asked).doubt is None  # rows may have numbers


def test_a_state_is_not_recoded_to_missing() -> None:
    """The number of missing values is public: it would be the exact count of the state."""
    rows = pl.DataFrame({"v": ["sit", "walk", "sit"]})
    with pytest.raises(InputError, match="cannot be recoded to missing"):
        read_series(rows, column="v", states=["sit", "walk"], recode={"walk": None}, missing="split")
