"""Values at equal steps: gaps whose length times say are bridged, others begin a new timeline."""

from datetime import datetime, timedelta

import polars as pl

from quiltwork import Series, read_series
from quiltwork.data.series import Timeline

BEGUN = datetime(2024, 3, 4, 1, 0)  # Monday, one o'clock


def table(places: list[int], values: str) -> pl.DataFrame:
    """Quarter hours at these places."""
    return pl.DataFrame({"at": [BEGUN + timedelta(minutes=15 * n) for n in places], "what": list(values)})


def plain(series: Series) -> list[list[tuple[list[int], int | None]]]:
    return [[(line.codes.tolist(), line.begun) for line in subject] for subject in series.timelines]


def test_gaps_of_known_length_are_bridged() -> None:
    """Two values are missing, and one that is null; the time of day is that of the first value."""
    rows = table([0, 1, 2, 5, 6, 7], "abbaab").vstack(
        pl.DataFrame({"at": [BEGUN + timedelta(hours=2)], "what": [None]})
    )
    rows = rows.vstack(table([9, 10], "bb"))
    series = read_series(rows, column="what", states=["a", "b"], time="at", missing="split", gap="15min")
    first = int(BEGUN.replace(tzinfo=None).timestamp() - datetime(1970, 1, 1).timestamp()) // 900
    assert plain(series) == [[([0, 1, 1, -1, -1, 0, 0, 1, -1, 1, 1], first)]]
    assert first % 96 == 4


def test_gaps_longer_than_what_is_beside_them_begin_a_new_timeline() -> None:
    series = read_series(
        table([0, 1, 2, 96, 97], "abaab"), column="what", states=["a", "b"], time="at", missing="split", gap="15min"
    )
    (lines,) = plain(series)
    assert [codes for codes, _ in lines] == [[0, 1, 0], [0, 1]]
    assert lines[0][1] is not None
    assert lines[1][1] == lines[0][1] + 96


def test_without_times_nothing_is_bridged() -> None:
    held = Series.from_values(["a", None, "b", "b"], states=["a", "b"], missing="split")
    assert plain(held) == [[([0], None), ([1, 1], None)]]
    read = read_series(pl.DataFrame({"what": ["a", None, "b", "b"]}), column="what", states=["a", "b"], missing="split")
    assert plain(read) == [[([0], None), ([1, 1], None)]]
    assert Timeline(held.stretches[0]).begun is None


def test_subjects_are_apart_and_steps_may_be_longer() -> None:
    both = pl.concat(
        [table(list(range(8)), "aabbaabb").with_columns(who=pl.lit(name)) for name in ("ann", "bob")], how="vertical"
    )
    series = read_series(both, column="what", states=["a", "b"], time="at", subject="who", every="30min")
    assert [[len(line.codes) for line in subject] for subject in series.timelines] == [[4], [4]]
    assert [line.begun for subject in series.timelines for line in subject] == [949_730, 949_730]
