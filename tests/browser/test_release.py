"""A release on its page: by mouse and by keyboard, with its preview, its refusals and its files."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from playwright.sync_api import FilePayload, Page, Route, expect

from quiltwork.ledger import read_export, verify_export

from .conftest import BUDGET, SCRIPT, Open, as_text, check_page, tab_to


def filled(page: Page, *, epsilon: str = "0.25") -> None:
    """The form, ready for its preview."""
    page.get_by_label("A file that is there").select_option("path:diary.csv")
    page.get_by_text("Read as the ledger says: column doing, subject person, time time").wait_for()
    page.get_by_text("MarkovChain(3 states").wait_for()
    page.get_by_label("Privacy loss ε, as a number").fill(epsilon)


def spent(page: Page) -> float:
    return float(page.request.get("/api/ledger").json()["spent"])


def test_a_release_by_keyboard_is_previewed_confirmed_shown_and_kept(open_page: Open, tmp_path: Path) -> None:
    page = open_page("/release")
    page.get_by_text("MarkovChain(3 states").wait_for()
    tab_to(page, "A file that is there")
    page.keyboard.press("d")  # the letter chooses; of words the end counts as a new one if it is typed late
    page.get_by_text("Read as the ledger says: column doing").wait_for()
    assert "bob" not in page.locator("main").inner_text()
    tab_to(page, "Ask one more")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Question 2", exact=True)).to_be_visible()
    page.keyboard.press("Shift+Tab")  # its button Remove
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("c")
    tab_to(page, "State")
    page.keyboard.press("End")
    tab_to(page, "Answers for")
    page.keyboard.type("ee")  # the second that begins like this
    expect(page.get_by_label("Answers for")).to_have_value("day")
    tab_to(page, "Privacy loss ε, as a number")
    page.keyboard.type("0.3")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_label("Privacy loss ε, as a number")).to_have_value("0.25")
    before = spent(page)
    tab_to(page, "Preview the release")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Confirm the release")).to_be_focused()
    assert spent(page) == before
    shown = page.get_by_role("region", name="Confirm the release").inner_text()
    for said in ("Spent before", "This release", "Remains", "±", "noise scale", f'count:"{SCRIPT}"'):
        assert said in shown
    as_text(page)
    check_page(page)
    tab_to(page, "Release, and spend ε = 0.2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Histogram, Count of")).to_be_focused()
    expect(page.locator(".picture svg")).to_have_count(2)
    assert before < spent(page) <= before + 0.25
    table = page.get_by_role("table").first.inner_text()
    assert "2024-03-01" in table
    assert SCRIPT in (page.locator(".picture svg").first.text_content() or "")
    as_text(page)
    check_page(page)
    files = {}
    for name in ("CSV", "Parquet", "JSON", "Report to sign"):
        with page.expect_download() as saving:
            page.get_by_role("link", name=name, exact=True).click()
        files[name] = tmp_path / saving.value.suggested_filename
        saving.value.save_as(files[name])
    assert files["CSV"].read_text().startswith("query,")
    assert json.loads(files["JSON"].read_text())["epsilon"] == 0.25
    report = files["Report to sign"].read_text()
    assert "Signatures" in report
    tab_to(page, "Ask something else")
    page.keyboard.press("Enter")
    tab_to(page, f'histogram + count:"{SCRIPT}", ε = 0.25')  # nothing is lost with a page that was left
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Histogram, Count of").wait_for()
    alone = open_page("about:blank")
    alone.set_content(report)  # a script that ran would open a dialog
    alone.get_by_role("heading", name="Signatures").wait_for()
    as_text(alone)
    check_page(alone)


def test_a_budget_that_would_be_exceeded_says_by_how_much(open_page: Open) -> None:
    page = open_page("/release")
    filled(page, epsilon="8")
    page.get_by_role("button", name="Preview the release").click()
    alert = page.get_by_role("alert")
    alert.wait_for()
    for said in ("The budget would be exceeded", "Requested", "Remaining", "Short by"):
        assert said in alert.inner_text()
    assert page.get_by_role("button", name="Release, and spend").count() == 0
    check_page(page)


def test_what_is_changed_needs_another_preview_and_uploads_can_be_deleted(open_page: Open, folder: Path) -> None:
    page = open_page("/release")
    page.locator("input[type=file]").first.set_input_files(folder / "data" / f"{SCRIPT}.csv")
    page.get_by_text("Read as the ledger says").wait_for()
    as_text(page)
    page.get_by_text("MarkovChain(3 states").wait_for()
    page.get_by_role("button", name="Preview the release").click()
    page.get_by_role("button", name="Release, and spend").wait_for()
    page.get_by_label("Privacy loss ε, as a number").fill("0.3")
    expect(page.get_by_role("button", name="Release, and spend")).to_have_count(0)
    page.get_by_role("button", name="Delete it now").click()
    page.get_by_text("Choose a file first.").wait_for()
    assert page.request.get("/api/uploads").json() == {"uploads": []}


AT_ONCE = """async () => {
    const chosen = document.querySelector("select");
    chosen.value = "path:diary.csv";
    chosen.dispatchEvent(new Event("change", {bubbles: true}));
    const button = document.querySelector("button[type=submit]");
    while (button.disabled) await Promise.resolve();  // no frame is drawn and no timer runs in between
    button.click();
}"""


def test_a_preview_that_is_asked_for_at_once_after_a_change_comes(open_page: Open) -> None:
    page = open_page("/release")
    page.get_by_text("MarkovChain(3 states").wait_for()
    page.locator("option", has_text="diary.csv").wait_for(state="attached")
    page.evaluate(AT_ONCE)
    page.get_by_role("button", name="Release, and spend").wait_for()


def test_the_budget_shows_what_was_spent_and_is_verified_and_exported(open_page: Open, tmp_path: Path) -> None:
    page = open_page("/budget")
    page.get_by_text(f"left of the budget of {BUDGET:g}").wait_for()
    page.get_by_role("heading", name="What it is for").wait_for()
    tab_to(page, "Verify the ledger")
    page.keyboard.press("Enter")
    page.get_by_text("The ledger is whole.").wait_for()
    check_page(page)
    with page.expect_download() as saving:
        page.get_by_role("link", name="Export").click()
    saving.value.save_as(tmp_path / "ledger.jsonl")
    rows, outcomes = read_export(str(tmp_path / "ledger.jsonl"))
    assert rows[0].kind == "opened"
    assert verify_export(rows, outcomes) == []
    if len(rows) > 1:  # another test has released something
        page.get_by_role("table", name="Releases").get_by_text("histogram").first.wait_for()
        expect(page.locator(".picture svg")).to_have_count(2)


def test_work_that_waits_shows_it_and_can_be_cancelled(open_page: Open, folder: Path) -> None:
    page = open_page("/release")
    filled(page)
    with closing(sqlite3.connect(folder / "ledger.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")  # whoever looks into the ledger waits: so does the only worker
        assert page.request.get("/api/ledger?wait=0").status == 202
        page.get_by_role("button", name="Preview the release").click()
        page.get_by_role("status").filter(has_text="Waiting").wait_for()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("alert").filter(has_text="Cancelled").wait_for()


def test_nothing_old_stays_beside_what_is_new(open_page: Open) -> None:
    page = open_page("/release")
    filled(page)

    def too_old(route: Route) -> None:
        if "confirm" in (route.request.post_data_json or {}):
            route.fulfill(status=409, json={"error": "the confirmation is too old.", "kind": "confirmation"})
        else:
            route.continue_()

    page.route("**/api/release?*", too_old)
    page.get_by_role("button", name="Preview the release").click()
    page.get_by_role("button", name="Release, and spend").click()
    page.get_by_role("alert").wait_for()
    page.get_by_role("button", name="Preview the release").click()
    page.get_by_role("button", name="Release, and spend").wait_for()
    assert page.get_by_role("alert").count() == 0  # the refusal was of another preview
    page.get_by_text("Less common settings").click()
    page.get_by_label("Only values from number").fill("50")  # half a segment
    page.get_by_role("button", name="Preview the release").click()
    page.get_by_role("alert").filter(has_text="two whole numbers").wait_for()
    unreadable: FilePayload = {"name": "unreadable.parquet", "mimeType": "application/octet-stream", "buffer": b"text"}
    page.get_by_label("Only values from number").fill("")
    page.locator("input[type=file]").first.set_input_files(unreadable)
    page.get_by_text("Delete it now").wait_for()
    page.get_by_role("button", name="Preview the release").click()
    page.get_by_role("alert").filter(has_text="cannot be read in this way").wait_for()
    page.get_by_role("button", name="Delete it now").click()
    page.get_by_text("Choose a file first.").wait_for()


def test_a_job_file_is_saved_and_loaded(open_page: Open, tmp_path: Path) -> None:
    page = open_page("/release")
    filled(page)
    page.get_by_text("Job file", exact=True).click()
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save as job file").click()
    file = tmp_path / saving.value.suggested_filename
    saving.value.save_as(file)
    text = file.read_text()
    assert text.startswith('[data]\npath = "diary.csv"\n')
    assert 'ask = "histogram"\nepsilon = 0.25\n' in text
    file.write_text(
        '[[question]]\nask = ["stays", "quantile:0.9"]\nepsilon = 0.1\nwindow = "day"\n'
        '[privacy]\nledger = "sqlite:///own.db"\nwho = "me"\n'
    )
    page.get_by_label("Load a job file (.toml)").set_input_files(file)
    page.get_by_text("Not taken from the file: ledger, who.").wait_for()
    expect(page.get_by_label("Privacy loss ε, as a number")).to_have_value("0.1")
    expect(page.get_by_label("Answers for")).to_have_value("day")
    expect(page.get_by_label("Question 1", exact=True)).to_have_value("stays")
    expect(page.get_by_label("As text")).to_have_value("quantile:0.9")
    check_page(page)
