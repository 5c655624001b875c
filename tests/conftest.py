"""Settings for all tests."""

import os
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import pytest
from effort import examples
from hypothesis import HealthCheck, settings

settings.register_profile(
    "quiltwork",
    deadline=None,
    max_examples=examples(30),
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("quiltwork")

HERE = Path(__file__).parent
# thousands of random cases run the same lines: measuring them would take long and show nothing new
NOT_MEASURED = (HERE / "property", HERE / "audit")


# these take the longest, or wait for programs: begun first, none of them is left for one worker at the end
LONGEST = (
    "test_spark_counts_what_plain_loops_count",
    "test_the_tutorial_runs",
    "test_commands_in_the_documents_run",
    "test_copies_and_forks_do_not_take_locks_away",
    "test_any_length_neither_crashes_nor_lies",
    "test_everything_at_once",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    names = [getattr(item, "originalname", None) or item.name for item in items]
    place = {item: LONGEST.index(name) for item, name in zip(items, names, strict=True) if name in LONGEST}
    items.sort(key=lambda item: place.get(item, len(LONGEST)))
    if config.pluginmanager.hasplugin("_cov"):
        for item in items:
            if item.path.parent in NOT_MEASURED:
                item.add_marker(pytest.mark.no_cover)


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    """Tests write into folders of their own, not into that of the project."""
    before = set(os.listdir(HERE.parent))
    yield
    left = {name for name in os.listdir(HERE.parent) if not name.startswith(".")} - before
    assert not left, f"a test has written {', '.join(sorted(left))} into the folder of the project"


@pytest.fixture(scope="session", autouse=True)
def folder_of_kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where tests keep what was paid for; services that serve several tests keep it at its top."""
    folder = tmp_path_factory.mktemp("kept")
    os.environ["QUILTWORK_KEPT"] = str(folder / "services")
    return folder


@pytest.fixture(autouse=True)
def _results_are_kept_apart(folder_of_kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that are kept until they are taken go to a folder of each test, also those of programs they start."""
    monkeypatch.setenv("QUILTWORK_KEPT", str(folder_of_kept / token_hex(8)))


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
