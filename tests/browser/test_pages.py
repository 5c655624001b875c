"""Every page: for everybody, in light and dark, on a phone."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext
from web_service import serving

from .conftest import Open, check_page

READY = {"/": "text=Private releases", "/docs": "text=POST /api/plan", "/release": "text=Preview the release"}


@pytest.mark.parametrize("path", sorted(READY))
def test_pages_are_for_everybody(path: str, open_page: Open) -> None:
    page = open_page(path)
    page.locator(READY[path]).first.wait_for()
    check_page(page)


def test_a_service_without_ledger_or_read_only_says_so(folder: Path, window: Callable[..., BrowserContext]) -> None:
    with serving(folder / "data", "--read-only", "--workers", "1") as address:
        page = window(storage_state=None).new_page()
        page.goto(address)
        page.wait_for_url("**/")
        page.goto(address.partition("?")[0] + "release")
        page.get_by_role("heading", name="This service is read-only").wait_for()
        page.goto(address.partition("?")[0] + "budget")
        page.get_by_role("heading", name="No ledger yet").wait_for()
        assert "quiltwork ledger create" in page.locator("pre").inner_text()
        check_page(page)


def test_axe_is_the_one_that_is_named() -> None:
    folder = Path(__file__).parent / "axe"
    named = re.search(r"sha256  (\w{64})", (folder / "README.md").read_text())
    assert named is not None
    assert hashlib.sha256((folder / "axe.min.js").read_bytes()).hexdigest() == named[1]
