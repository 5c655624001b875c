"""What pages elsewhere, and people without the token, try."""

import http.server
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from patience import until
from playwright.sync_api import BrowserContext, Page

from .conftest import MOST_UPLOAD, Open

ACT = """async ([address, method, credentials]) => {
    const sent = {method, credentials, headers: {"Content-Type": "text/plain"}, mode: "no-cors"};
    try {
        const answer = await fetch(address, method === "GET" ? {credentials, mode: "no-cors"} : {...sent, body: "{}"});
        return [answer.type, answer.status, await answer.text()];
    } catch (problem) { return ["refused", 0, ""]; }
}"""


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site of somebody else, on the same machine."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "index.html").write_text("<!doctype html><title>elsewhere</title><p>elsewhere</p>")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_without_the_token_a_page_asks_for_it(window: Callable[..., BrowserContext], service: str) -> None:
    page = window(storage_state=None).new_page()
    assert page.goto("/release").status == 401  # type: ignore[union-attr]
    assert page.get_by_label("Token").is_visible()
    assert page.evaluate("async () => (await fetch('/api/ledger')).status") == 401
    page.get_by_label("Token").fill(service.partition("token=")[2])
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Release").first.wait_for()
    assert "token" not in page.url


def test_another_site_gets_nothing_and_changes_nothing(
    window: Callable[..., BrowserContext], elsewhere: str, service: str, folder: Path
) -> None:
    page = window().new_page()  # signed in: the browser has the cookie, and sends it to every port of this machine
    page.goto(elsewhere)
    address = service.partition("?")[0]
    for path, method in (("api/ledger/verify", "GET"), ("api/compose", "POST"), ("api/uploads?name=x.csv", "POST")):
        before = len((folder / "log").read_text())
        kind, status, text = page.evaluate(ACT, [address + path, method, "include"])
        assert kind in ("refused", "opaque")
        assert (status, text) == (0, "")
        line = f"{method} /{path.partition('?')[0]} 403"
        # the service may write its line after the browser has its answer
        until(lambda before=before, line=line: line in (folder / "log").read_text()[before:])  # type: ignore[misc]
    with page.expect_event("requestfailed") as framed:
        page.set_content(f"<iframe src={address} title=framed></iframe>")
    assert (framed.value.url, framed.value.failure) == (address, "net::ERR_BLOCKED_BY_RESPONSE")
    assert [frame.url for frame in page.frames[1:]] == ["chrome-error://chromewebdata/"]
    page.set_content(f"<form method=post action={address}api/release><button>Go</button></form>")
    with page.expect_navigation() as moved:
        page.get_by_role("button").click()
    assert moved.value.status == 403


def test_paths_outside_the_folder_are_refused_and_no_policy_is_loose(open_page: Open) -> None:
    page = open_page("/")
    policy = page.request.get("/").headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    for path in ("../outside.csv", "/etc/passwd", "..%2foutside.csv"):
        status, content = _asked(page, "/api/columns", {"data": {"path": path}})
        assert status in (403, 404)
        assert "folder" in content["error"]


def test_a_huge_upload_is_refused_on_the_page(open_page: Open, tmp_path: Path) -> None:
    page = open_page("/release")
    large = tmp_path / "large.csv"
    large.write_bytes(b"doing\n" + b"sit\n" * (MOST_UPLOAD * 2**18 + 10))
    page.locator("input[type=file]").first.set_input_files(large)
    page.get_by_role("alert").filter(has_text=f"at most {MOST_UPLOAD} MiB").wait_for()


def _asked(page: Page, path: str, content: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    script = """async ([path, content]) => {
        const answer = await fetch(path, {method: "POST", headers: {"Content-Type": "application/json"},
                                          body: JSON.stringify(content)});
        return [answer.status, await answer.json()];
    }"""
    status, answer = page.evaluate(script, [path, content])
    return status, answer
