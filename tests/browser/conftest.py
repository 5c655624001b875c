"""A service and a browser, each started once; every test has a window of its own that is signed in."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, StorageState
from system import chromium, chromium_program
from web_service import BELIEF, serving

from quiltwork import Ledger
from quiltwork.beliefs.files import belief_from_dict
from quiltwork.show.terminal import json_line

SCRIPT = "<img src=x onerror=alert(1)>"
"""A state, column, person and file of this name must be shown as text wherever names are shown."""
HOSTILE = BELIEF | {"states": ["sit", SCRIPT]}
BUDGET = 6.0
MOST_UPLOAD = 1  # MiB
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
Open = Callable[..., Page]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a diary of three people, beliefs, and data whose names are scripts."""
    folder = tmp_path_factory.mktemp("browser")
    data = folder / "data"
    data.mkdir()
    rows = [f"{p},2024-03-{1 + n // 96:02}T{n % 96 // 4:02}:{15 * (n % 4):02},{'sit' if n % 3 else 'walk'}"
            for p in ("ann", "bob", "eve") for n in range(192)]  # fmt: skip
    (data / "diary.csv").write_text("\n".join(["person,time,doing", *rows, ""]))
    hostile = [row.replace("ann", SCRIPT).replace("walk", SCRIPT) for row in rows]
    (data / "hostile.csv").write_text("\n".join([f"person,time,{SCRIPT}", *hostile, ""]))
    belief = BELIEF | {"step": "15min"}
    (data / "belief.json").write_text(json_line(belief))
    (data / "hostile.json").write_text(json_line(HOSTILE | {"step": "15min"}))
    (folder / "outside.csv").write_text("person,time,doing\n1,1,sit\n")
    Ledger.create(str(folder / "ledger.db"), belief=belief_from_dict(belief), budget=BUDGET).close()
    return folder


@pytest.fixture(scope="session")
def service(folder: Path) -> Iterator[str]:
    """The address with the token."""
    chromium_program()
    ledger = f"sqlite:///{folder / 'ledger.db'}"
    options = ["--ledger", ledger, "--workers", "1", "--max-upload", str(MOST_UPLOAD)]
    with (folder / "log").open("w") as log, serving(folder / "data", *options, log=log) as address:
        yield address


@pytest.fixture(scope="package")  # not longer: while it is open, other tests cannot run loops of their own
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="package")
def signed_in(browser: Browser, service: str) -> StorageState:
    """The cookie that the token is exchanged for."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(service)
    page.wait_for_url("**/")
    kept = context.storage_state()
    context.close()
    return kept


@pytest.fixture
def window(browser: Browser, service: str, signed_in: StorageState) -> Iterator[Callable[..., BrowserContext]]:
    """Windows of browsers, closed at the end; ``window(colour_scheme=..)`` and other settings of a context."""
    opened: list[BrowserContext] = []

    def new(**settings: Any) -> BrowserContext:
        settings = {"viewport": DESK, "storage_state": signed_in, "reduced_motion": "reduce"} | settings
        context = browser.new_context(base_url=service.partition("?")[0], accept_downloads=True, **settings)
        context.set_default_timeout(20_000)
        opened.append(context)
        return context

    yield new
    for context in opened:
        context.close()


@pytest.fixture
def open_page(window: Callable[..., BrowserContext]) -> Iterator[Open]:
    """Opens a page of the service; at the end no script has failed, and nothing was asked of the network."""
    problems: list[str] = []

    def open_at(path: str, **settings: Any) -> Page:
        page = window(**settings).new_page()

        def said(message: ConsoleMessage) -> None:
            # refusals are answers here, which browsers write down as errors
            if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
                problems.append(message.text)

        page.on("console", said)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: (problems.append("a script ran"), dialog.dismiss()))
        page.on("request", lambda request: _ours(request.url, problems))
        page.goto(path)
        return page

    yield open_at
    assert problems == []


def _ours(address: str, problems: list[str]) -> None:
    if not address.startswith(("http://127.0.0.1:", "data:", "blob:http://127.0.0.1:")):
        problems.append(f"asked for {address}")
