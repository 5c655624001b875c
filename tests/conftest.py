"""Settings for all tests."""

import os
from pathlib import Path

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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.pluginmanager.hasplugin("_cov"):
        for item in items:
            if item.path.parent in NOT_MEASURED:
                item.add_marker(pytest.mark.no_cover)


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
