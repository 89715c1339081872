"""Pages over the index of a real chain."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest

from bilateral.api.settings import ApiSettings
from bilateral.core.errors import InvalidArgumentError
from bilateral.explorer import rendering
from bilateral.explorer.acting import FORMS
from tests.api.world import ALICE, DAVE, ERIN, FRANK
from tests.explorer.html import Page

pytestmark = pytest.mark.one_engine

PATHS = (
    "/",
    "/method",
    "/private-tiers",
    *("/31337/1", "/31337/4", "/31337/5", "/31337/6", "/31337/7"),
    *("/accounts/erin", "/accounts/dave"),
    *("/search", "/search?q=weather&tag=starred&clients=2", "/search?lower_bound=high", "/search?q=nothing+here"),
    *("/compare", "/compare?first=31337/1&second=31337:2"),
    *("/31337/network", "/31337/1/network", "/31337/4/network"),
    *("/31337/1/ratings", "/31337/5/ratings?side=client", "/31337/1/ratings?side=authorized", "/31337/4/ratings"),
    "/31337/analysis",
    *("/act/give_feedback?agent=31337:1", "/act/edit_registration?agent=31337:1", "/act/register_agent?chain=31337"),
    *("feedback", "rating", "authorized"),
    *(f"/31337/validations/0x{'01' * 32}", f"/31337/validations/0x{'02' * 32}"),
)
"""Every page, also with nothing to show. A name without a slash is that of a rating of this kind."""


def path_of(path, api):
    """Return the path of a page in the world of the API's tests."""
    if path.startswith("/"):
        return path.replace("erin", ERIN.address).replace("dave", DAVE.address)
    if path == "authorized":
        (row,) = api.get("/v1/agents/31337:1/authorized-feedback").json()["items"]
    else:
        row = api.get("/31337/1.json" if path == "feedback" else "/31337/5.json").json()
        row = row["feedback" if path == "feedback" else "received"][0]
    return f"/31337/ratings/{row['block']}-{row['log_index']}"


def page(api, path):
    answer = api.get(path_of(path, api), headers={"Accept": "text/html"})
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    return Page(answer.text)


@pytest.fixture(scope="module")
def followed():
    """The links that led to a page. Most are on every page, and the index does not change."""
    return set()


@pytest.mark.parametrize("path", PATHS)
def test_a_page_loads_own_files_alone_and_has_nothing_inline(api, path):
    answer = api.get(path_of(path, api), headers={"Accept": "text/html"})
    html = Page(answer.text)
    assert answer.status_code == 200
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'; font-src 'self';")
    assert "unsafe" not in policy
    assert all(entry["src"].startswith("/assets/") for entry in html.of("script"))
    assert not html.attributes("style")
    assert not [name for _, values in html.elements for name in values if name.startswith("on")]
    assert all(attribute.startswith("/") for attribute in html.attributes("src"))
    assert all(entry["href"].startswith("/assets/") for entry in html.of("link") if entry["rel"] != "canonical")


@pytest.mark.parametrize("path", PATHS)
def test_every_own_link_of_a_page_leads_to_a_page(api, path, followed):
    own = {attribute for attribute in page(api, path).attributes("href") if attribute.startswith("/")}
    assert own
    for link in own - followed:
        assert api.get(link, follow_redirects=True).status_code == 200, link
        followed.add(link)


@pytest.mark.parametrize("path", PATHS)
def test_a_page_has_a_title_one_heading_a_language_and_names_for_its_tables(api, path):
    html = page(api, path)
    assert html.of("html")[0]["lang"] == "en"
    assert len(html.of("title")) == len(html.of("h1")) == len(html.of("main")) == 1
    assert len(html.of("table")) == len(html.of("caption"))
    assert all("aria-label" in entry or entry.get("aria-hidden") == "true" or "x" in entry for entry in html.of("svg"))


def test_an_agent_is_shown_from_both_sides(api):
    html = page(api, "/31337/1")
    assert "Weather Oracle" in html.text
    assert "As a server" in html.text
    assert "As a client" in html.text
    assert re.search(r"14 ratings by 3 clients under starred", html.text)
    assert re.search(r"Plain mean, false ratings included: \d", html.text)
    for side in ("server", "client"):
        assert f"As a {side} Too little evidence" in html.text, "a side without enough raters has no figure"
    assert f"/accounts/{ALICE.address}" in html.attributes("href")


def test_the_figures_of_a_page_are_those_of_the_api(api):
    content = api.get("/31337/1.json").json()
    (summary,) = [
        rating
        for rating in api.get("/v1/agents/31337:1").json()["ratings"]
        if rating == content["as_server"]["summary"]
    ]
    assert sum(content["as_server"]["distribution"]) == summary["counterparts"]
    assert content["agent"] == {**api.get("/v1/agents/31337:1").json(), "newest": []}


def test_json_is_given_by_path_and_by_accept(api):
    by_path = api.get("/31337/1.json")
    by_accept = api.get("/31337/1", headers={"Accept": "application/json"})
    assert by_path.headers["Content-Type"] == by_accept.headers["Content-Type"] == "application/json"
    assert by_path.json()["agent"] == by_accept.json()["agent"]
    assert "Accept" in by_accept.headers["Vary"].split(", ")


@pytest.mark.parametrize("path", PATHS)
def test_every_page_has_the_same_content_as_json_by_path_and_by_accept(api, path):
    path = path_of(path, api)
    before, question, query = path.partition("?")
    by_path = api.get(f"{'/index' if before == '/' else before}.json{question}{query}")
    by_accept = api.get(path, headers={"Accept": "application/json"})
    assert by_path.headers["Content-Type"] == by_accept.headers["Content-Type"] == "application/json"
    assert by_path.json() == by_accept.json()
    assert by_path.url.raw_path.decode() in page(api, path).attributes("href")


def test_the_gate_on_an_agent_is_shown_as_commands_that_work(api):
    shown = page(api, "/31337/1").text
    assert "bilateral check client 31337:1" in shown
    assert "bilateral check server 31337:1" in shown
    path = re.search(r"GET (/v1/checks/server\?agent=31337:1)", shown)[1]
    assert api.get(path).status_code == 200


def test_the_words_of_a_hostile_agent_are_shown_and_do_nothing(api):
    answer = api.get("/31337/6", headers={"Accept": "text/html"})
    html = Page(answer.text)
    assert "<script>alert(1)</script>" in html.text
    assert "U+202E" in html.text
    assert "\u202e" not in answer.text
    assert all(entry["src"].startswith("/assets/") for entry in html.of("script"))


def test_links_of_strangers_are_marked_and_lead_to_the_web_only(api):
    links = [entry for entry in page(api, "/31337/1").of("a") if not entry["href"].startswith(("/", "#"))]
    assert links
    for link in links:
        assert urlsplit(link["href"]).scheme in ("http", "https")
        assert link["rel"] == "nofollow noopener ugc"


def test_the_count_of_each_link_of_a_network_leads_to_as_many_ratings(api):
    links = api.get("/31337/network.json").json()["links"]
    paths = [attribute for attribute in page(api, "/31337/network").attributes("href") if "/ratings?" in attribute]
    assert len(links) == len(paths)
    assert any(":" in link["source"] and link["side"] == "server" for link in links)
    for link, path in zip(links, paths, strict=True):
        before, _, query = path.partition("?")
        content = api.get(f"{before}.json?{query}").json()
        assert len(content["feedback"]) + len(content["ratings"]) == link["count"], path


def test_an_agent_without_a_file_and_without_ratings_says_so(api):
    html = page(api, "/31337/4")
    assert "Agent 4" in html.text
    assert "Registration file none" in html.text
    assert "As a server Not rated yet" in html.text


def test_an_account_shows_its_agents_and_what_it_gave(api):
    html = page(api, "/accounts/erin")
    assert ERIN.address in html.text
    assert "/31337/5" in html.attributes("href")
    assert "/31337/1" in html.attributes("href")
    assert "revoked" in html.text


def test_the_first_page_shows_both_directions(api):
    content = api.get("/", headers={"Accept": "application/json"}).json()
    assert {entry["side"] for entry in content["latest"]} == {"server", "client"}
    blocks = [entry["block"] for entry in content["latest"]]
    assert blocks == sorted(blocks, reverse=True)
    assert "31337: block" in page(api, "/").text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/31337/999", 404),
        (f"/31337/{2**256 - 1}", 404),
        (f"/31337/{2**256}", 400),
        ("/nowhere/1", 404),
        ("/5/1", 404),
        (f"/accounts/{FRANK.address[:-1]}", 400),
    ],
)
def test_a_problem_is_a_page_for_people_and_json_for_programs(api, path, status):
    shown = api.get(path, headers={"Accept": "text/html"})
    assert shown.status_code == status
    assert shown.headers["Content-Type"] == "text/html; charset=utf-8"
    assert str(status) in Page(shown.text).text
    told = api.get(path, headers={"Accept": "application/json"})
    assert (told.status_code, told.headers["Content-Type"]) == (status, "application/problem+json")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nothing", 404),
        ("/31337", 404),
        ("/31337/1/", 404),
        ("/31337/1/nothing/at/all", 404),
        ("//evil.example/", 404),
        ("/31337/" + "9" * 200, 404),
        ("/31337/network?page=abc", 400),
    ],
)
def test_mistyped_path_is_a_page_for_browsers_and_json_for_programs(api, path, status):
    url = str(api.base_url).rstrip("/") + path
    shown = api.get(url, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (shown.status_code, shown.headers["Content-Type"]) == (status, "text/html; charset=utf-8")
    assert shown.headers["Content-Security-Policy"] == rendering.POLICY
    assert "31337: block" in Page(shown.text).text
    for accepted in ("*/*", "application/json"):
        told = api.get(url, headers={"Accept": accepted})
        assert (told.status_code, told.headers["Content-Type"]) == (status, "application/problem+json")


@pytest.mark.parametrize("path", ["/v1/nothing", "/api/nothing", "/v1", "/index.html.json", "/31337/999.json"])
def test_paths_of_programs_answer_with_json_whoever_asks(api, path):
    told = api.get(path, headers={"Accept": "text/html"})
    assert (told.status_code, told.headers["Content-Type"]) == (404, "application/problem+json")


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/5/1", "5"),
        ("/5/network", "5"),
        ("/nowhere/1", '"nowhere"'),
        ("/search?chain=5", "5"),
        ("/search?chain=31337,5&tag=starred", "5"),
    ],
)
def test_a_chain_that_is_not_indexed_is_said(api, path, named):
    shown = api.get(path, headers={"Accept": "text/html"})
    assert shown.status_code == 404
    assert f"chain {named} is not indexed: choose one of the indexed chains (31337)" in Page(shown.text).text
    told = api.get(path, headers={"Accept": "application/json"})
    assert (told.status_code, told.json()["code"]) == (404, "chain_not_indexed")


def test_files_of_pages_are_kept_for_ever_by_their_hash(api):
    html = page(api, "/")
    paths = [entry["href"] for entry in html.of("link") if entry["href"].startswith("/")] + html.attributes("src")
    kinds = {path.rpartition(".")[2]: api.get(path).headers["Content-Type"] for path in paths}
    assert kinds == {
        "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8",
        "svg": "image/svg+xml",
        "woff2": "font/woff2",
    }
    assert all("immutable" in api.get(path).headers["Cache-Control"] for path in paths)
    assert api.get("/assets/style.000000000000.css").status_code == 404


def test_fonts_of_the_style_sheet_are_own_files(api):
    (path,) = [entry["href"] for entry in page(api, "/").of("link") if entry.get("rel") == "stylesheet"]
    fonts = re.findall(r"url\(([^)]*)\)", api.get(path).text)
    assert len(fonts) == 3
    assert all(api.get(font).status_code == 200 for font in fonts)


def test_pages_have_addresses_titles_and_policies_of_their_own(api):
    titles = set()
    for path in ("/search", "/search?tag=starred", "/search?tag=starred&clients=2", "/search?service=MCP", "/openapi"):
        answer = api.get(path, headers={"Accept": "text/html"})
        html = Page(answer.text)
        titles.add(re.search("<title>(.*?)</title>", answer.text)[1])
        (canonical,) = [entry["href"] for entry in html.of("link") if entry.get("rel") == "canonical"]
        assert canonical == str(api.base_url).rstrip("/") + path
        assert '<meta property="og:type" content="website">' in answer.text
        assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert "camera=()" in answer.headers["Permissions-Policy"]
        (icon,) = [entry["href"] for entry in html.of("link") if entry.get("rel") == "icon"]
        assert api.get(icon).headers["Content-Type"] == "image/svg+xml"
    assert len(titles) == 5


@pytest.mark.parametrize("action", sorted(FORMS.keys() - {"sponsored_feedback"}))
def test_the_page_of_every_action_has_its_json(api, action):
    about = f"agent=31337:1&chain=31337&feedback=31337:1:{ERIN.address}:0&request=0x{'01' * 32}"
    content = api.get(f"/act/{action}.json?{about}")
    assert (content.status_code, content.json()["form"]["action"]) == (200, action)
    (link,) = [link for link in page(api, f"/act/{action}?{about}").attributes("href") if ".json" in link]
    assert link == f"/act/{action}.json?{about}"


def addresses(api, **headers):
    """Return the addresses of this service that its first page names."""
    html = Page(api.get("/", headers={"Accept": "text/html", **headers}).text)
    metas = [entry["content"] for entry in html.of("meta") if entry.get("property") in ("og:url", "og:image")]
    return [*metas, *(entry["href"] for entry in html.of("link") if entry.get("rel") == "canonical")]


def test_no_page_repeats_a_host_that_a_stranger_names(api):
    hosts = ("foreign.test", "127.0.0.1.foreign.test", "localhost@foreign.test", 'a"><script>', "[::2]", "127.0.0.2x")
    for host in hosts:
        assert addresses(api, Host=host) == [], host
        assert "foreign.test" not in api.get("/", headers={"Accept": "text/html", "Host": host}).text
    assert addresses(api, **{"X-Forwarded-Proto": "https"})[0].startswith("http://127.0.0.1:")


def test_a_trusted_proxy_says_scheme_and_host_of_links(api_with):
    forwarded = {"X-Forwarded-Proto": "https", "Host": "explorer.example"}
    with api_with(trusted_proxies=("127.0.0.1",)) as api:
        places = [f"https://explorer.example{path}" for path in ("/", "/picture.png", "/")]
        assert addresses(api, **forwarded) == places
        assert addresses(api, **{**forwarded, "X-Forwarded-Proto": "javascript"})[0] == "http://explorer.example/"
    with api_with(trusted_proxies=("192.0.2.1",)) as api:
        assert addresses(api, **forwarded) == []


def test_the_public_address_counts_more_than_what_requests_say(api_with):
    with api_with(public_url="https://trust.example/", trusted_proxies=("127.0.0.1",)) as api:
        places = [f"https://trust.example{path}" for path in ("/", "/picture.png", "/")]
        assert addresses(api, **{"X-Forwarded-Proto": "http", "Host": "evil.example"}) == places


@pytest.mark.parametrize("url", ["trust.example", "ftp://trust.example", "https://trust.example/path", "https://a b"])
def test_a_public_address_is_a_scheme_and_a_host(url):
    with pytest.raises(InvalidArgumentError, match=r"api\.public_url .* must be http"):
        ApiSettings(public_url=url)


def test_order_by_ratings_without_a_gate_ranks_by_the_usual_tag(api):
    for order in ("lower_bound", "mean", "activity"):
        answer = api.get(f"/search?q=weather&order={order}", follow_redirects=False)
        assert (answer.status_code, answer.headers["Location"]) == (303, f"/search?q=weather&tag=starred&order={order}")
        assert api.get(f"/search.json?order={order}").json()["problem"] is None
    (oracle,) = api.get("/search.json?q=weather&order=mean").json()["found"]
    assert oracle["rating"]["tag"] == "starred"


def test_rows_of_a_search_say_how_agents_are_rated_why_they_match_and_how_they_serve(api):
    content = api.get("/search.json?q=forecast").json()
    (agent,) = [agent for agent in content["found"] if agent["name"] == "Weather Oracle"]
    beside = content["details"][agent["id"]]
    best = api.get("/31337/1.json").json()["as_server"]["summary"]
    assert (beside["rating"]["tag"], beside["rating"]["mean"]) == (best["tag"], best["mean"])
    assert beside["snippet"]["word"].lower().startswith("forecast")
    shown = page(api, "/search?q=forecast")
    assert f"{best['count']} by {best['counterparts']}, {best['tag']}" in shown.text
    assert beside["services"][0] in shown.text


def test_rows_that_are_close_in_meaning_name_no_word_that_matched(api):
    pytest.importorskip("wordllama")
    content = api.get("/search.json?q=the+one+for+rain+and+storms&order=meaning").json()
    assert content["found"]
    assert {beside["snippet"] for beside in content["details"].values()} == {None}


def test_search_whose_words_no_agent_has_shows_those_that_are_close_in_meaning(api):
    pytest.importorskip("wordllama")
    content = api.get("/search.json?q=tempest+and+downpour").json()
    by_meaning = api.get("/search.json?q=tempest+and+downpour&order=meaning").json()
    assert content["is_closest"]
    assert content["found"] == by_meaning["found"] != []


def test_facets_of_a_search_count_its_agents_and_lead_to_the_search_with_one_more_condition(api):
    content = api.get("/search.json?q=weather").json()
    facets = {facet["name"]: dict(facet["values"]) for facet in content["facets"]["facets"]}
    assert content["facets"]["agents"] == facets["chain"]["31337"] == len(content["found"])
    links = page(api, "/search?q=weather").attributes("href")
    for name, value in (("chain", "31337"), ("service", "mcp"), ("tag", "starred")):
        assert f"/search?q=weather&{name}={value}" in links
        agents = api.get(f"/search.json?q=weather&{name}={value}").json()["found"]
        assert len(agents) == facets[name][value]
    by_activity = api.get("/search.json?order=last_active").json()
    assert by_activity["problem"] is None
    assert by_activity["found"]
    assert api.get("/search.json?verified_domain=yes").json()["found"] == []


def test_search_for_an_id_shows_its_agent_and_does_not_say_that_none_is_there(api):
    shown = page(api, "/search?q=31337:1").text
    assert "Weather Oracle" in shown
    assert "No other agent meets these conditions." in shown
    assert "No agent meets" not in shown


def test_api_is_described_for_people_by_own_files_and_for_programs(api):
    answer = api.get("/openapi", headers={"Accept": "text/html"})
    assert answer.headers["Content-Security-Policy"] == rendering.POLICY
    assert "unsafe" not in rendering.POLICY
    scripts = Page(answer.text).attributes("src")
    assert all(path.startswith("/assets/") for path in scripts)
    assert any(b"SwaggerUIBundle" in api.get(path).content for path in scripts)


def test_a_page_that_did_not_change_is_not_sent_again(api):
    first = api.get("/31337/1", headers={"Accept": "text/html"})
    again = api.get("/31337/1", headers={"Accept": "text/html", "If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
