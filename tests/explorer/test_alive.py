"""Pages show who is alive: a strip of days with its text, a count of agents and hosts, and a facet of searches."""

from __future__ import annotations

import re
import time

import httpx
import pytest

from bilateral.api.settings import ApiSettings
from bilateral.explorer.charts import alive_days
from bilateral.index.log.database import open_database
from bilateral.index.measurements.queries import MeasuredDay
from bilateral.index.measurements.recording import record
from bilateral.index.measurements.values import Change, Outcome, Protocol
from tests.api.world import served
from tests.explorer.html import Page
from tests.explorer.stored import Ledger, account
from tests.index.measurements.rows import day_row, endpoint_id, state_row

CHAIN = 31337
NOW = int(time.time())
TODAY = NOW // 86_400
MCP, CARD = "https://one.example/mcp", "https://one.example/card.json"
KEY = endpoint_id(Protocol.MCP, MCP)
SERVICES = [{"name": "mcp", "endpoint": MCP}, {"name": "a2a", "endpoint": CARD}]


def filled(database):
    """Fill an index with an agent that answers, one that never did, and one without endpoints."""
    engine, ledger = open_database(database), Ledger(CHAIN)
    silent = [
        {"name": "web", "endpoint": "https://two.example/"},
        {**SERVICES[0], "endpoint": "https://three.example/"},
    ]
    for agent, services in ((1, SERVICES), (2, silent), (3, [])):
        file = {"type": "x", "name": f"Agent {agent}", "description": "", "services": services}
        ledger.register(agent, account(f"owner {agent}"), file)
    ledger.store(engine)
    down = [endpoint_id(Protocol.WEB, "https://two.example/"), endpoint_id(Protocol.MCP, "https://three.example/")]
    days = [day_row(KEY, TODAY - age, "eu-1", 96, {Outcome.UP: 96}, 40, 90) for age in range(1, 60) if age % 7]
    days.append(day_row(KEY, TODAY, "eu-1", 40, {Outcome.UP: 24, Outcome.DOWN: 6, Outcome.UNKNOWN: 10}, 40, 90))
    record(
        engine,
        currents=[
            state_row(KEY, "eu-1", Outcome.UP, "ok", NOW - 86_400, NOW, milliseconds=41),
            *(state_row(key, "eu-1", Outcome.DOWN, "dns_none", NOW - 60, NOW, 2) for key in down),
        ],
        days=days,
        changes=[Change(KEY, NOW - 3_600, "tools", "a", "b")],
    )
    engine.dispose()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    database = f"sqlite:///{tmp_path_factory.mktemp('alive') / 'index.sqlite'}"
    filled(database)
    settings = ApiSettings(database=database, rate=None, query_seconds=60.0, max_silence=10**9)
    with served(settings) as url, httpx.Client(base_url=url, timeout=60, headers={"Accept": "text/html"}) as client:
        yield client


def test_first_page_counts_the_agents_and_hosts_that_answer(site):
    page = Page(site.get("/").text)
    assert "Alive now 1 of 3 agents, on 1 host" in page.text
    assert "/search?alive=now" in page.attributes("href")


def test_page_of_an_agent_has_a_strip_with_its_text(site):
    page = Page(site.get("/31337/1").text)
    assert "mcp: responds since" in page.text
    assert "Responded to 99.9 % of 4,926 probes, 41 ms to the first byte, from eu-1. Last change: tools," in page.text
    assert "a2a: not measured" in page.text
    assert [values["role"] for values in page.of("svg") if values.get("class") == "days"] == ["img", "img"]
    assert "alive" in Page(site.get("/method").text).attributes("id")


def test_page_of_an_agent_without_measurements_has_no_strip(site):
    assert 'class="days"' not in site.get("/31337/3").text
    assert "web: down (dns_none) since" in Page(site.get("/31337/2").text).text


def test_strip_names_the_days_of_failures_and_paints_what_nobody_measured_grey():
    days = [MeasuredDay(10, 4, 4, 4, 40), MeasuredDay(11, 4, 1, 4, 40), MeasuredDay(12, 0, 0, 4, None)]
    strip = str(alive_days(days, 12))
    assert 'aria-label="90 days up to 13 Jan: measured on 2. Failures: 12 Jan"' in strip
    paths = dict(re.findall(r'class="(\w+)" d="([^"]*)"', strip))
    assert {kind: path.count("M") for kind, path in paths.items()} == {"track": 88, "x": 2, "s": 2}


def test_search_shows_the_facet_with_hosts_and_narrows_by_it(site):
    page = Page(site.get("/search").text)
    assert "Alive now 1 on 1 host never 1 on 2 hosts unknown 1" in page.text
    assert "Agent 2" not in Page(site.get("/search?alive=now").text).text


def test_json_of_the_page_has_the_endpoints(site):
    (mcp, card) = site.get("/31337/1.json").json()["endpoints"]
    assert (mcp["state"], mcp["days"][-1]["reachable"], card["state"]) == ("up", 24, None)


def test_api_has_the_endpoints_of_an_agent(site):
    answer = site.get("/v1/agents/31337:1/endpoints").json()
    assert (answer["alive"], [entry["state"] for entry in answer["endpoints"]]) == ("now", ["up", None])
    assert site.get("/v1/agents/31337:3/endpoints").json() == {"alive": "unknown", "endpoints": []}
    assert site.get("/v1/agents/31337:4/endpoints").status_code == 404


def test_change_feed_has_the_changes_of_endpoints(site):
    (change,) = site.get("/v1/changes", params={"kind": "endpoint", "since": "0"}).json()["items"]
    assert (change["agents"], change["details"]["change"], change["details"]["new"]) == (["31337:1"], "tools", "b")
