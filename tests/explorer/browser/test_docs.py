"""The page of the HTTP API, in a browser that holds it to the content policy of all pages."""

from __future__ import annotations

from playwright.sync_api import expect

MOST_BYTES = 150_000
"""The bytes of scripts, styles and fonts of the list: those of any page."""


def test_people_read_the_api_and_try_it_on_a_page_of_this_service_alone(watched):
    window = watched()
    page = window.open("/")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="API").click()
    page.wait_for_url("**/openapi")
    assert window.violations() == []
    listed = page.evaluate("performance.getEntriesByType('resource').reduce((sum, it) => sum + it.transferSize, 0)")
    assert listed < MOST_BYTES, "the program to try a path is loaded once one is chosen"
    page.get_by_role("link", name="GET /v1/chains", exact=True).click()
    path = page.locator("#operations-chains-read_chains_v1_chains_get")
    path.get_by_role("button", name="Try it out").click()
    path.get_by_role("button", name="Execute").click()
    expect(path.locator(".live-responses-table .response-col_status").last).to_contain_text("200")
    assert window.faults == []
    # The program has a main element of its own, which is made a group.
    assert [violation for violation in window.violations() if violation[0] != "aria-allowed-role"] == []
    assert page.locator("h1").count() == 1
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_class("dark-mode")
    assert window.violations(["color-contrast"]) == []
    paper = "(it) => getComputedStyle(it).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    assert max(page.locator("#docs").evaluate(paper)) < 64, "no white sheet in the dark theme"


def test_page_of_the_api_names_its_document_without_scripts(watched):
    page = watched(java_script_enabled=False).open("/openapi")
    expect(page.locator("#docs")).to_contain_text("requires JavaScript")
    page.locator("#docs").get_by_role("link", name="openapi.json").click()
    page.wait_for_url("**/openapi.json")
