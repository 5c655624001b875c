"""Every page: for everybody, in light and dark, on a phone."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Route

from .conftest import Open, check_page

READY = {"/": "text=Private releases", "/docs": "text=POST /api/plan", "/release": "text=Preview the release"}


@pytest.mark.parametrize("path", sorted(READY))
def test_pages_are_for_everybody(path: str, open_page: Open) -> None:
    page = open_page(path)
    page.locator(READY[path]).first.wait_for()
    check_page(page)


def test_a_service_without_ledger_or_read_only_says_so(window: Callable[..., BrowserContext]) -> None:
    """The pages of such services, without starting another one: only what the service says of itself is changed."""
    page = window().new_page()

    def other(route: Route) -> None:
        answer = route.fetch()
        text = answer.text().replace("&#34;ledger&#34;: true", "&#34;ledger&#34;: false")
        route.fulfill(response=answer, body=text.replace("&#34;read_only&#34;: false", "&#34;read_only&#34;: true"))

    for path, said in (("/release", "This service is read-only"), ("/budget", "No ledger yet")):
        page.route(f"**{path}", other)
        page.goto(path)
        page.get_by_role("heading", name=said).wait_for()
    assert "quiltwork ledger create" in page.locator("pre").inner_text()
    check_page(page)


def test_axe_is_the_one_that_is_named() -> None:
    folder = Path(__file__).parent / "axe"
    named = re.search(r"sha256  (\w{64})", (folder / "README.md").read_text())
    assert named is not None
    assert hashlib.sha256((folder / "axe.min.js").read_bytes()).hexdigest() == named[1]
