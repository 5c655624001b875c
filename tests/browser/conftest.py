"""A service and a browser, each started once; every test has a window of its own that is signed in."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    StorageState,
    ViewportSize,
    expect,
)
from system import chromium, chromium_program
from web_service import serving

from quiltwork import Ledger
from quiltwork.beliefs.files import belief_from_dict
from quiltwork.fitting.made_up import made_up
from quiltwork.job import Data
from quiltwork.view.terminal import json_line

SCRIPT = "<img src=x onerror=alert(1)>"
"""A state, a person and a file have this name: it must be shown as text wherever names are shown."""
STATES = ["sit", "walk", SCRIPT]
CHAIN = {
    "kind": "chain",
    "states": STATES,
    "transition": [[0.7, 0.2, 0.1], [0.4, 0.4, 0.2], [0.3, 0.3, 0.4]],
    "initial": "stationary",
    "step": "15min",
}
BUDGET = 6.0
MOST_UPLOAD = 1  # MiB
PHONE: ViewportSize = {"width": 390, "height": 844}
DESK: ViewportSize = {"width": 1280, "height": 900}
Open = Callable[..., Page]
expect.set_options(timeout=1000 * PATIENCE)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a diary of three people and a belief; a state, a person and a file are named like a script."""
    folder = tmp_path_factory.mktemp("browser")
    data = folder / "data"
    data.mkdir()
    rows = [f"{p},2024-03-{1 + n // 96:02}T{n % 96 // 4:02}:{15 * (n % 4):02},{STATES[n * n % 5 % 3]}"
            for p in ("ann", "bob", SCRIPT) for n in range(192)]  # fmt: skip
    for name in ("diary.csv", f"{SCRIPT}.csv"):
        (data / name).write_text("\n".join(["person,time,doing", *rows, ""]))
    (folder / "public").mkdir()
    (folder / "public" / "belief.json").write_text(json_line(CHAIN))
    others = made_up(belief_from_dict(CHAIN), length=192, people=3, seed=2).by_subject  # the belief holds on them
    told = [f"{p},{row.split(',')[1]},{STATES[code]}" for p, (codes,) in enumerate(others)
            for row, code in zip(rows, codes, strict=False)]  # fmt: skip
    (folder / "public" / f"{SCRIPT}.csv").write_text("\n".join(["person,time,doing", *told, ""]))
    (folder / "outside.csv").write_text("person,time,doing\n1,1,sit\n")
    read = Data(column="doing", subject="person", time="time")
    Ledger.create(str(folder / "ledger.db"), belief=belief_from_dict(CHAIN), budget=BUDGET, read=read).close()
    return folder


@pytest.fixture(scope="session")
def service(folder: Path) -> Iterator[str]:
    """The address with the token."""
    chromium_program()
    ledger = f"sqlite:///{folder / 'ledger.db'}"
    options = ["--data-folder", str(folder / "data"), "--public-folder", str(folder / "public"), "--ledger", ledger]
    options += ["--workers", "1", "--max-upload", str(MOST_UPLOAD)]
    with (folder / "log").open("w") as log, serving(*options, log=log) as address:
        yield address


@pytest.fixture(scope="package")  # not longer: while it is open, other tests cannot run loops of their own
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="package")
def signed_in(browser: Browser, service: str) -> StorageState:
    """The cookie that the token is exchanged for."""
    context = browser.new_context()
    context.set_default_timeout(1000 * PATIENCE)
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
        context.set_default_timeout(1000 * PATIENCE)
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

        def opened(dialog: Dialog) -> None:
            problems.append("a script ran")
            dialog.dismiss()

        page.on("console", said)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", opened)
        page.on("request", lambda request: _ours(request.url, problems))
        page.goto(path)
        return page

    yield open_at
    assert problems == []


def _ours(address: str, problems: list[str]) -> None:
    if not address.startswith(("http://127.0.0.1:", "data:", "blob:http://127.0.0.1:")):
        problems.append(f"asked for {address}")


AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
SERIOUS = """async (rules) => {
    const only = rules === null ? {} : {runOnly: rules};
    const found = await axe.run(document, {resultTypes: ["violations"], ...only});
    return found.violations.filter((one) => ["serious", "critical"].includes(one.impact))
        .map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 150)).join(" | ")}`);
}"""


def check_page(page: Page) -> None:
    """Nobody is shut out, in light and dark, and nothing moves sideways on a phone."""
    page.evaluate(AXE)
    assert page.evaluate(SERIOUS, None) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(SERIOUS, ["color-contrast"]) == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    page.wait_for_function("(width) => document.documentElement.scrollWidth <= width", arg=PHONE["width"])
    page.set_viewport_size(DESK)


def as_text(page: Page) -> None:
    """The name that is a script is on the page, and it is text."""
    assert SCRIPT in page.locator("body").inner_text() or page.get_by_text(SCRIPT).count()
    assert page.locator("img[onerror]").count() == 0


NAMED = """(name) => (at) => [at.ariaLabel, at.innerText, ...[...(at.labels || [])].map((one) => one.innerText)]
    .some((said) => said && said.trim().startsWith(name))"""


def tab_to(page: Page, name: str, *, most: int = 80) -> None:
    """Go on by the tabulator until a control of this name has the focus, as soon as there is one."""
    there = "a, button, input, select, textarea, summary"
    page.wait_for_function(f"(name) => [...document.querySelectorAll('{there}')].some(({NAMED})(name))", arg=name)
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(f"(name) => ({NAMED})(name)(document.activeElement)", name):
            return
    raise AssertionError(f"{name} cannot be reached by the keyboard")
