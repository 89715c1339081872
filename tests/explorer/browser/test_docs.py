"""The page of the HTTP API, in a browser that holds it to the content policy of all pages."""

from __future__ import annotations

from playwright.sync_api import expect


def test_people_read_the_api_and_try_it_on_a_page_of_this_service_alone(watched):
    window = watched()
    page = window.open("/")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="API").click()
    page.wait_for_url("**/openapi")
    path = page.locator("#operations-chains-read_chains_v1_chains_get, .opblock", has_text="/v1/chains").first
    path.locator(".opblock-summary-control").click()
    path.get_by_role("button", name="Try it out").click()
    path.get_by_role("button", name="Execute").click()
    expect(path.locator(".live-responses-table .response-col_status").last).to_contain_text("200")
    assert window.faults == []
    page.emulate_media(color_scheme="dark")
    assert window.violations(["color-contrast"]) == []


def test_page_of_the_api_names_its_document_without_scripts(watched):
    page = watched(java_script_enabled=False).open("/openapi")
    expect(page.locator("#docs")).to_contain_text("needs JavaScript")
    page.locator("#docs").get_by_role("link", name="openapi.json").click()
    page.wait_for_url("**/openapi.json")
