"""A belief is chosen, edited and checked; a plan follows its sliders."""

import pytest
from playwright.sync_api import Page, expect

from .conftest import SCRIPT, Open, as_text, check_page, tab_to


def chosen(page: Page) -> None:
    """The belief of the folder, of which a state is named like a script."""
    belief = page.get_by_label("Belief", exact=True)
    expect(belief.locator("option")).not_to_have_count(0)
    label = next(text for text in belief.locator("option").all_inner_texts() if "belief.json" in text)
    belief.select_option(label=label)


def row_of(page: Page, state: str) -> list[float]:
    cells = page.locator(f"input[aria-label^='From {state} to']")
    return [float(cell.input_value()) for cell in cells.all()]


def test_a_belief_is_chosen_edited_by_keyboard_and_undone(open_page: Open) -> None:
    page = open_page("/belief")
    chosen(page)
    expect(page.get_by_label("From sit to sit")).to_have_value("0.7")
    page.locator(".picture svg").nth(2).wait_for()
    expect(page.locator(".picture svg").first).to_contain_text(SCRIPT[:16])  # long names are cut in charts
    as_text(page)
    check_page(page)
    tab_to(page, "From sit to sit")
    page.keyboard.type("0.4")
    page.keyboard.press("Tab")
    expect(page.get_by_label("From sit to walk")).to_have_value("0.4")
    assert row_of(page, "sit") == pytest.approx([0.4, 0.4, 0.2])  # the others are rescaled
    tab_to(page, "Undo", most=200)
    page.keyboard.press("Enter")
    expect(page.get_by_label("From sit to sit")).to_have_value("0.7")


def test_a_belief_is_checked_on_public_data(open_page: Open) -> None:
    page = open_page("/belief")
    chosen(page)
    expect(page.get_by_label("From sit to sit")).to_have_value("0.7")
    page.get_by_label("A public file").select_option(f"{SCRIPT}.csv")
    page.get_by_role("button", name="Check the belief").click()
    page.locator("[role=status] .picture svg").first.wait_for()
    as_text(page)
    check_page(page)


def test_a_plan_follows_its_sliders(open_page: Open) -> None:
    page = open_page("/plan")
    chosen(page)
    page.locator(".picture svg").nth(2).wait_for()
    expect(page.locator(".picture svg").first).to_contain_text(SCRIPT[:16])
    as_text(page)
    check_page(page)
    precision = page.locator(".card b").first
    before = precision.inner_text()
    tab_to(page, "Privacy loss ε, as a number")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(precision).not_to_have_text(before)
    tab_to(page, "An answer for each window")
    page.keyboard.press("Space")
    expect(page.locator(".card").first).to_contain_text("each window")
    page.get_by_role("link", name="Release").click()
    page.get_by_role("button", name="Preview the release").wait_for()
