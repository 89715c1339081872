"""The ways that people go through the pages."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.api.world import ERIN


def test_a_person_searches_gates_opens_an_agent_and_follows_a_rating_to_its_transaction(watched, site):
    page = watched().open("/")
    page.get_by_label("Search").fill("weather")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site}/search?q=weather")
    page.get_by_label("Tag", exact=True).fill("starred")
    page.get_by_label("Raters at least", exact=True).fill("2")
    page.get_by_role("button", name="Search", exact=True).click()
    page.wait_for_url(f"{site}/search?q=weather&tag=starred&side=server&clients=2")
    page.get_by_role("link", name="Weather Oracle").click()
    expect(page.locator("h1")).to_have_text("Weather Oracle")
    page.get_by_role("region", name="Feedback by clients").get_by_role("link").last.click()
    page.wait_for_url(re.compile(r".*/31337/ratings/\d+-\d+$"))
    content = page.request.get(f"{page.url}.json").json()
    expect(page.get_by_text(content["feedback"]["transaction"])).to_be_visible()


def test_a_search_that_nothing_fulfils_says_so(watched):
    page = watched().open("/search?tag=starred&clients=1000")
    expect(page.get_by_text("No agent meets all of these conditions")).to_be_visible()
    page = watched().open("/search?lower_bound=high")
    assert 'lower_bound "high" is not a number' in page.get_by_role("alert").inner_text()


def test_a_person_compares_two_agents(watched, site):
    page = watched().open("/compare")
    page.get_by_label("First agent").fill("31337/1")
    page.get_by_label("Second agent").fill("31337:2")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url(f"{site}/compare?first=31337%2F1&second=31337%3A2")
    expect(page.get_by_role("link", name="Weather Oracle")).to_be_visible()
    expect(page.get_by_role("link", name="Translator")).to_be_visible()


def test_a_person_walks_through_the_graph_by_keyboard(watched):
    page = watched(reduced_motion="reduce").open("/31337/network")
    page.wait_for_selector("#graph[data-drawn]")
    page.locator("#graph").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#chosen")).to_have_text(re.compile(r".+: rated by \d+, rates \d+"))
    for key in ("ArrowUp", "ArrowLeft", "+", "-", "0", "Escape", "ArrowDown"):
        page.keyboard.press(key)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert re.search(r"/31337/\d+$|/accounts/0x", page.url)


def test_the_table_beside_the_graph_has_the_same_links(watched):
    page = watched().open("/31337/network")
    links = page.request.get("/31337/network.json").json()["links"]
    assert page.get_by_role("region", name="Links").locator("tbody tr").count() == len(links)


def test_a_person_switches_the_theme_and_it_stays(watched):
    window = watched(color_scheme="light")
    page = window.open("/method")
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_role("button", name="Switch between light and dark").click()
    dark = page.evaluate(paper)
    assert dark != light
    assert window.open("/").evaluate(paper) == dark


def test_a_person_uses_the_keyboard_only(watched, site):
    page = watched().open("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site}/#main")
    page.keyboard.press("/")
    page.keyboard.type(ERIN.address)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site}/search?q={ERIN.address}")
    link = page.get_by_role("region", name="Agents").get_by_role("link", name="Agent 5")
    for _ in range(60):
        page.keyboard.press("Tab")
        if link.evaluate("it => it === document.activeElement"):
            break
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.wait_for_url(f"{site}/31337/5")


def test_an_identifier_is_copied(watched):
    window = watched(permissions=["clipboard-read", "clipboard-write"])
    page = window.open("/31337/1")
    page.get_by_role("button", name="Copy the identifier").click()
    page.wait_for_selector("[aria-label=Copied]")
    assert page.evaluate("navigator.clipboard.readText()").startswith("eip155:31337:0x")


def test_latest_ratings_are_renewed(watched):
    window = watched()
    window.page.clock.install()
    page = window.open("/")
    page.evaluate("document.querySelector('[data-live] caption').textContent = 'old'")
    with page.expect_response("**/latest"):
        page.clock.fast_forward(6_000)
    page.wait_for_function("document.querySelector('[data-live] caption').textContent !== 'old'")


def test_new_rows_are_marked_times_say_how_long_ago_and_a_dead_service_is_not_live(watched):
    window = watched()
    window.page.clock.install()
    page = window.open("/")
    expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("td time").first).to_have_text(re.compile(r"^(\d+ (s|min|h) ago|\d+ \w+ \d{4} .*UTC)$"))
    assert page.locator("td time").first.get_attribute("title").endswith("UTC")
    page.evaluate("document.querySelector('[data-live] tbody tr').remove()")
    page.clock.fast_forward(6_000)
    expect(page.locator("tr.fresh")).to_have_count(1)
    page.route("**/latest", lambda route: route.fulfill(status=503, body=""))
    window._status, window._asked = 503, f"{window.site}/latest"  # the console names it
    page.clock.fast_forward(6_000)
    expect(page.locator("#live")).to_have_text("no answer")
    expect(page.locator("#live")).to_have_class(re.compile("gone"))


def test_identifier_is_copied_and_the_theme_switches_without_clipboard_and_storage(watched):
    window = watched(color_scheme="light")
    window.page.add_init_script(
        """Object.defineProperty(navigator, "clipboard", { value: undefined });
        Object.defineProperty(globalThis, "localStorage", { get() { throw new DOMException("no", "SecurityError"); } });
        document.addEventListener("copy", () => { globalThis.copied = String(document.activeElement.value); });"""
    )
    page = window.open("/31337/1")
    page.get_by_role("button", name="Copy the identifier").click()
    page.wait_for_selector("[aria-label=Copied]")
    assert page.evaluate("copied").startswith("eip155:31337:0x")
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_graph_says_that_the_browser_has_no_webgl(watched):
    window = watched()
    window.page.add_init_script(
        """const draw = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
          return kind.startsWith("webgl") ? null : draw.call(this, kind, ...more);
        };"""
    )
    page = window.open("/31337/network")
    expect(page.locator("#chosen")).to_contain_text("lacks WebGL; the table below shows the same data")
    expect(page.locator("#graph")).to_be_hidden()
    assert all("getParameter" in fault for fault in window.faults)  # the library itself asks for it, too
    window.faults.clear()


def test_phone_shows_ratings_as_cards_and_all_pages_of_the_navigation(watched):
    page = watched("phone").open("/31337/1")
    table = page.get_by_role("region", name="Feedback by clients")
    assert table.evaluate("it => it.scrollWidth <= it.clientWidth")
    value = table.locator("td[data-th=Value]").first
    assert value.evaluate("it => it.getBoundingClientRect().right <= innerWidth")
    assert value.evaluate("it => getComputedStyle(it, '::before').content") == '"Value"'
    api = page.get_by_role("navigation", name="Pages").get_by_role("link", name="API")
    assert api.evaluate("it => it.getBoundingClientRect().right <= innerWidth")
    smallest = """Math.min(...[...document.querySelectorAll("main svg text")].filter((it) => it.checkVisibility())
      .map((it) => parseFloat(getComputedStyle(it).fontSize) * it.getScreenCTM().a))"""
    assert page.evaluate(smallest) >= 8


def test_results_of_a_search_begin_in_the_first_window_of_a_phone(watched):
    page = watched("phone").open("/search?q=weather")
    assert page.get_by_role("heading", name="Agents").bounding_box()["y"] < 844


def test_printed_page_has_its_content_and_no_controls(watched):
    page = watched(color_scheme="dark").open("/31337/1")
    page.emulate_media(media="print")
    expect(page.locator("h1")).to_be_visible()
    for control in ("nav.main", "form.search", "#theme", ".copy"):
        expect(page.locator(control).first).to_be_hidden()
    paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert paper == "rgb(250, 248, 244)"  # that of the light theme


def test_forced_colours_hide_no_heading_of_a_side(watched):
    page = watched(forced_colors="active").open("/31337/1")
    numeral = page.locator(".side .numeral").first
    assert numeral.evaluate("it => getComputedStyle(it).forcedColorAdjust") == "none"  # else a plate covers the heading
    assert page.locator(".butterfly").evaluate("it => getComputedStyle(it).backgroundImage") == "none"


def test_pages_are_complete_without_javascript(watched):
    window = watched(java_script_enabled=False)
    page = window.open("/31337/1")
    expect(page.get_by_role("img", name="Raters by their mean")).to_be_visible()
    assert not page.get_by_role("button", name="Switch between light and dark").is_visible()
    page.get_by_role("link", name="Open the graph").click()
    expect(page.get_by_text("The graph needs JavaScript; the table below shows the same data.")).to_be_visible()
    page.goto("/search")
    page.get_by_label("Words, an id").fill("painter")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_role("link", name="Image Painter")).to_be_visible()


def test_every_page_names_a_picture_that_exists(watched, site):
    page = watched().open("/31337/1")
    url = page.locator('meta[property="og:image"]').get_attribute("content")
    assert url == f"{site}/31337/1.png"
    for path in (url, "/picture.png"):
        answer = page.request.get(path)
        assert answer.headers["content-type"] == "image/png"
        assert answer.body()[16:24] == (1200).to_bytes(4) + (630).to_bytes(4)
        assert len(answer.body()) < 60_000


def test_a_person_follows_a_figure_to_its_ratings_and_a_payment_to_its_proof(watched, evidence_site):
    page = watched(at=evidence_site).open("/base/1")
    page.get_by_role("link", name="5 ratings").click()
    page.wait_for_url(f"{evidence_site}/base/1/ratings?tag=starred")
    page.get_by_role("region", name="Ratings").get_by_role("link", name="✓ paid $1.50").click()
    page.wait_for_url("**#payment")
    expect(page.get_by_text("Proven: the client paid this agent, as the chain shows")).to_be_visible()
    page.get_by_role("link", name="What this means").click()
    page.wait_for_url(f"{evidence_site}/method#payment")


def test_a_person_fills_a_second_gate_by_keyboard_and_shares_its_path(watched, evidence_site):
    page = watched(at=evidence_site).open("/search")
    page.get_by_text("More conditions").focus()
    page.keyboard.press("Enter")
    page.get_by_text("Requirement 2: must also be met").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Tag, requirement 2").fill("starred")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{evidence_site}/search?side=server&tag_2=starred")
    expect(page.get_by_label("Tag, requirement 2")).to_be_visible()
    assert page.get_by_role("region", name="Agents").get_by_role("row").count() == 2
