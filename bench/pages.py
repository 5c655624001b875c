"""How long the Plan page takes to follow a slider, in the system's Chromium: ``python bench/pages.py``.

Both sides in one run: positions that the service has computed ahead while somebody looks at the page, and positions
that nobody has asked for, whose calibration begins with the move. From the move to the last change on the page.
"""

import statistics
import sys
import tempfile
from pathlib import Path
from shutil import copy

from playwright.sync_api import Page

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from system import chromium  # noqa: E402 - it stands with the tests
from web_service import serving  # noqa: E402

from quiltwork import save_belief  # noqa: E402
from quiltwork.samples import diary_belief, diary_path  # noqa: E402

LOOKING = 20_000  # milliseconds in which positions are computed ahead
MOVE = """async ([slider, steps]) => {
    const range = document.querySelectorAll("input[type=range]")[slider];
    const shown = document.querySelector(".split > div");
    let last = 0;
    const watched = new MutationObserver(() => { last = performance.now(); });
    watched.observe(shown, {subtree: true, childList: true, attributes: true, characterData: true});
    const begun = performance.now();
    range.value = Number(range.value) + steps;
    range.dispatchEvent(new Event("input", {bubbles: true}));
    while (performance.now() - begun < 15000) {
        await new Promise((later) => setTimeout(later, 20));
        const still = performance.now() - Math.max(last, begun) > 500;
        if (last && still && !shown.querySelector(".stale")) break;
    }
    watched.disconnect();
    return last - begun;
}"""
SLIDERS = {"ε": 0, "length": 1, "people": 2}


def moves(page: Page, slider: int, steps: list[int]) -> list[float]:
    """Milliseconds for each move."""
    return [float(page.evaluate(MOVE, [slider, step])) for step in steps]


def main() -> None:
    """Print a line for each slider, and the ratio."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        copy(diary_path(), folder / "diary.parquet")
        save_belief(diary_belief(), folder / "belief.json")
        with (
            (folder / "log").open("w") as log,
            serving("--public-folder", made, log=log) as address,
            chromium() as browser,
        ):
            page = browser.new_page()
            page.goto(address)
            page.wait_for_url("**/")
            page.goto(address.partition("?")[0] + "plan")
            page.locator(".picture svg").nth(2).wait_for()
            for name, slider in SLIDERS.items():
                page.wait_for_timeout(LOOKING)
                ahead = moves(page, slider, [1, -1, -1, 1])
                cold = moves(page, slider, [3, -5])
                middle, slow = statistics.median(ahead), statistics.median(cold)
                print(
                    f"{name}: {middle:.0f} ms computed ahead (largest {max(ahead):.0f}), {slow:.0f} ms anew, "
                    f"{slow / middle:.1f} times as long"
                )


if __name__ == "__main__":
    main()
