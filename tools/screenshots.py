"""Take the pictures of the pages for docs/how-to/serve.md, in the system's Chromium: ``make screenshots``."""

import base64
import sys
import tempfile
from pathlib import Path
from shutil import copy

from playwright.sync_api import Page

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from system import chromium  # noqa: E402 - it stands with the tests
from web_service import serving  # noqa: E402

from quiltwork import Ledger, Session, read_series, save_belief  # noqa: E402
from quiltwork.job import Data  # noqa: E402
from quiltwork.samples import diary_belief, diary_path  # noqa: E402

IMAGES = ROOT / "docs" / "images" / "pages"
SIZE = 1280, 960
SHARP = 1.5
WEBP = """async (png) => {
    const picture = new Image();
    picture.src = "data:image/png;base64," + png;
    await picture.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [picture.naturalWidth, picture.naturalHeight];
    canvas.getContext("2d").drawImage(picture, 0, 0);
    return canvas.toDataURL("image/webp", 0.85).split(",")[1];
}"""


def prepare(folder: Path) -> None:
    """The sample diary, its belief, and a ledger with releases of two people."""
    (folder / "data").mkdir()
    (folder / "public").mkdir()
    copy(diary_path(), folder / "data" / "diary.parquet")
    belief = diary_belief()
    save_belief(belief, folder / "public" / "belief.json")
    ledger = f"sqlite:///{folder / 'ledger.db'}"
    read = Data(column="activity", subject="person", time="time")
    Ledger.create(ledger, belief=belief, budget=3.0, read=read).close()
    series = read_series(diary_path(), column="activity", states=belief.states, subject="person", time="time")
    for who, query, epsilon, segment in (
        ("ann", "histogram", 0.5, None),
        ("bob", "count:work", 0.25, (1, 1344)),
        ("ann", "frequencies", 0.5, (1345, 2688)),
    ):
        session = Session(series, belief=belief, ledger=ledger, who=who)
        session.release(query, epsilon=epsilon, segment=segment)


class Camera:
    """Writes what a page shows, as WebP."""

    def __init__(self, page: Page, converter: Page):
        self.page, self.converter = page, converter

    def take(self, name: str) -> None:
        """What the window shows now, from the top."""
        self.page.evaluate("scrollTo(0, 0); document.activeElement.blur()")
        self.page.wait_for_timeout(400)  # charts have settled
        png = base64.b64encode(self.page.screenshot()).decode()
        (IMAGES / f"{name}.webp").write_bytes(base64.b64decode(self.converter.evaluate(WEBP, png)))

    def take_all(self, address: str) -> None:
        """Every page, on the way from a belief to the budget."""
        page, start = self.page, address.partition("?")[0]
        page.goto(address)
        page.wait_for_url("**/")
        page.goto(f"{start}belief")
        page.locator(".picture svg").nth(2).wait_for()
        self.take("belief")
        page.goto(f"{start}plan")
        page.locator(".picture svg").nth(2).wait_for()
        self.take("plan")
        page.goto(f"{start}release")
        page.get_by_label("A file that is there").select_option("path:diary.parquet")
        page.get_by_label("Answers for").select_option("week")
        page.get_by_role("button", name="Preview the release").click()
        confirm = page.get_by_role("button", name="Release, and spend")
        confirm.wait_for()
        self.take("release")
        confirm.click()
        page.locator(".result .picture svg").first.wait_for()
        self.take("result")
        page.goto(f"{start}budget")
        page.locator(".picture svg").nth(1).wait_for()
        self.take("budget")


def main() -> None:
    """Write the pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        prepare(folder)
        options = ["--data-folder", "data", "--public-folder", "public", "--ledger", "sqlite:///ledger.db"]
        with serving(*options, within=folder) as address:
            width, height = SIZE
            window = browser.new_context(viewport={"width": width, "height": height}, device_scale_factor=SHARP)
            Camera(window.new_page(), browser.new_page()).take_all(address)


if __name__ == "__main__":
    main()
