"""One walk over all answers of the service: a known ring stands above no honest agent unmarked, anywhere."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re

import httpx
import pytest
from mcp import Client
from sqlalchemy import select, update

from bilateral.api.settings import ApiSettings
from bilateral.index.log.database import open_database
from bilateral.index.standing.analysis import Refresher
from bilateral.index.standing.tables import standing_refresh
from tests.api.world import served
from tests.commands import run_here
from tests.explorer.html import Page
from tests.index.analysis.conftest import KEY, index
from tests.waiting import wait_until

RING, HONEST = 9, set(range(1, 8))
RINGS = f"31337:{RING}"
LISTS = {
    "/v1/leaders?tag=starred": "left out",
    "/v1/leaders?tag=starred&board=lower_bound": "marked",
    "/v1/leaders?tag=starred&board=held_back": "marked",
    "/v1/search/agents": "last",
    "/v1/search/agents?tag=starred": "last",
    "/v1/search/agents?tag=starred&order=standing": "last",
    "/v1/search/agents?tag=starred&order=mean": "marked",
    "/v1/search/agents?tag=starred&order=lower_bound": "marked",
}
"""The fate of the ring's agent in each list."""

PAGES = {
    "/": "marked",
    "/latest": "marked",
    "/search": "last",
    "/search?tag=starred": "last",
    f"/search?q={RINGS}": "marked",
    f"/compare?first={RINGS}&second=31337:1": "marked",
    "/31337/network": "marked",
    f"/31337/{RING}/network": "marked",
    f"/31337/{RING}": "marked",
    f"/31337/{RING}/ratings": "marked",
}


@pytest.fixture(scope="module")
def database(market, tmp_path_factory):
    """The URL of the database of the market, whose standings are current."""
    url = f"sqlite:///{tmp_path_factory.mktemp('walk') / 'index.sqlite'}"
    engine = open_database(url)
    index(engine, market.chain.url)
    Refresher(engine, {KEY.chain_id: (market.chain.url,)}).refresh()
    engine.dispose()
    return url


@pytest.fixture(scope="module")
def api(database):
    with served(ApiSettings(database=database)) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield client


def require(rows, fate):
    """Check what becomes of the ring's agent in rows of an id and a status: in the order in which they are listed."""
    listed = [agent for agent, _ in rows]
    assert {int(agent.partition(":")[2]) for agent in listed} >= HONEST or fate == "marked"
    if fate == "left out":
        assert RINGS not in listed
        return
    assert dict(rows)[RINGS] == "held_back"
    assert {status for agent, status in rows if agent != RINGS} <= {"ok", "thin", "contested"}
    if fate == "last":
        assert listed[-1] == RINGS


@pytest.mark.parametrize(("path", "fate"), LISTS.items())
def test_lists_rank_the_ring_below_honest_agents_or_mark_it(api, path, fate):
    items = api.get(path).raise_for_status().json()["items"]
    require([(item["id"], item["status"]) for item in items], fate)
    assert all(item["reason"] for item in items if item["status"] == "held_back")
    table = csv.DictReader(io.StringIO(api.get(f"{path}&format=csv" if "?" in path else f"{path}?format=csv").text))
    assert [(row["id"], row["status"]) for row in table] == [(item["id"], item["status"]) for item in items]


@pytest.mark.parametrize(("path", "fate"), PAGES.items())
def test_pages_mark_the_ring_wherever_they_name_it(api, path, fate):
    page = Page(api.get(path).raise_for_status().text)
    links = [link for link in page.attributes("href") if link.startswith("/31337/")]
    assert "made up" in page.text
    assert f"/31337/{RING}#deal" in links
    if fate == "last":
        named = [link for link in links if link in {f"/31337/{agent}" for agent in (*HONEST, RING)}]
        assert named[-1] == f"/31337/{RING}"


def test_first_funds_are_told_in_the_coin_of_the_chain_wherever_a_finding_is_told(api):
    sent = "0.12 ETH"  # twelve accounts, and 0.01 ETH each
    for path in ("/", f"/31337/{RING}", "/search?tag=starred", "/31337/analysis"):
        told = Page(api.get(path).text).text
        assert sent in told
        assert not re.search(r"\$[\d.,]+ moved|transferred [\d.]+ to", told)
    check = f"/v1/checks/server?agent={RINGS}"
    for reasons in (
        api.get(f"/v1/agents/{RINGS}/standing").json()["reasons"],
        [{"code": row["code"], "figures": row} for row in api.get(check).json()["figures"]["standing"]["reasons"]],
    ):
        (links,) = (reason["figures"] for reason in reasons if reason["code"] == "links")
        assert (links["moved"], links["coins"]) == (0.0, {"ETH": 0.12})


def test_boards_of_the_first_page_leave_the_ring_out(api):
    boards = api.get("/index.json").json()["leaders"]
    assert RINGS not in {leader["id"] for board in boards for leader in board["leaders"]}
    assert [board["side"] for board in boards] == ["server", "client"], "another tag of a side has the same standings"
    assert [leader["id"] for leader in api.get("/index.json").json()["held_back"]] == [RINGS]
    assert "Not enough evidence yet" in Page(api.get("/").text).text, "nobody leads as a client"


def test_page_of_an_agent_opens_with_the_verdict_its_reasons_and_what_they_rest_on(api):
    ring, honest = (Page(api.get(f"/31337/{agent}").text).text for agent in (RING, 1))
    assert re.search(r"Should I deal with it\? .* As a server Held back No\. Its ratings were made up\.", ring)
    assert re.search(r"As a server \d\d Between \d\d and \d\d of 100, with 95 % confidence Yes, for up to", honest)
    for text in (ring, honest):
        assert "Based on" in text
        assert "--amount 5" in text
    assert "raters are independent" not in ring, "a prior is no score"


@pytest.mark.parametrize("agent", [RING, 1, 8])
def test_page_of_an_agent_shows_a_figure_only_if_independent_evidence_carries_it(api, agent):
    """A prior is not shown as a score."""
    answer = api.get(f"/31337/{agent}").text
    shown = Page(answer).text
    leading = re.findall(r'<div class="numeral[^"]*">([^<]+)</div>', answer)[0]
    assert leading.isdigit() is (agent == 1)
    assert leading in {RING: ["Held back"], 1: [leading], 8: ["Not rated yet"]}[agent]
    assert ("independent" in shown.partition("Plain mean")[0]) is (agent == 1)
    assert ("Nobody whose rating counts has rated it." in shown) is (agent == 8)


def test_every_place_shows_one_figure_for_an_agent(api, database):
    standing = api.get("/v1/agents/31337:1/standing").json()
    rating = f"{standing['rating']:.0f}"
    leads = r'<b class="st"><a class="quiet" href="/31337/1#deal">(\d+)</a>'
    assert re.findall(leads, api.get("/").text) == re.findall(leads, api.get("/search").text) == [rating]
    assert f'<div class="numeral">{rating}</div>' in api.get("/31337/1").text
    assert f'<div class="numeral">{rating}</div>' in api.get("/compare?first=31337:1&second=31337:2").text
    assert f"{rating} of 100" in api.get("/embed/31337/1.svg").text
    for path in ("/v1/leaders?tag=starred", "/v1/search/agents"):
        (row,) = [item for item in api.get(path).json()["items"] if item["id"] == "31337:1"]
        assert row["standing_rating"] == standing["rating"]
    _, out, _ = run_here("search", "--tag", "starred", "--database", database)
    assert any(
        "31337:1 " in line and f"{rating}, at least {standing['lower']:.0f}" in line for line in out.splitlines()
    )


def test_graphql_tells_standings_and_filters_by_them(api):
    ranked = 'where: {standing_: {status_not: "held_back"}}, orderBy: standing__lower, orderDirection: desc'
    every = "orderBy: lower, orderDirection: desc"
    query = f"{{ agents({ranked}) {{ id standing {{ status lower }} }}"
    query += f" standings({every}) {{ agent {{ id }} side status }} }}"
    data = api.post("/graphql/31337", json={"query": query}).raise_for_status().json()["data"]
    require([(agent["id"], agent["standing"]["status"]) for agent in data["agents"]], "left out")
    lowers = [float(agent["standing"]["lower"]) for agent in data["agents"]]
    assert lowers == sorted(lowers, reverse=True)
    servers = [(row["agent"]["id"], row["status"]) for row in data["standings"] if row["side"] == "server"]
    require(servers, "marked")


def test_models_find_the_ring_last_and_are_told_not_to_pay_it(api):
    async def ask():
        async with Client(f"{str(api.base_url).rstrip('/')}/mcp") as session:
            agents = await session.call_tool("search_agents", {"gates": [{"tag": "starred"}], "limit": 100})
            verdict = await session.call_tool("check_server", {"agent": RINGS, "amount": "1"})
        return [json.loads(answer.content[0].text) for answer in (agents, verdict)]

    agents, verdict = asyncio.run(ask())
    require([(item["id"], item["status"]) for item in agents["data"]["items"]], "last")
    assert verdict["check"]["verdict"] == "decline"


def test_command_line_shows_the_ring_last_with_the_reason(database):
    code, out, _ = run_here("search", "--tag", "starred", "--database", database)
    rows = [line for line in out.splitlines() if "31337:" in line]
    assert code == 0
    assert RINGS in rows[-1]
    assert "held back" in rows[-1]


@pytest.fixture(scope="module")
def unanalysed(market, tmp_path_factory):
    """The API over the market before its first analysis."""
    url = f"sqlite:///{tmp_path_factory.mktemp('unanalysed') / 'index.sqlite'}"
    engine = open_database(url)
    index(engine, market.chain.url)
    engine.dispose()
    with served(ApiSettings(database=url)) as base, httpx.Client(base_url=base, timeout=120) as client:
        yield client


def ids_of(client, path):
    return [int(item["agent_id"]) for item in client.get(path).raise_for_status().json()["items"]]


@pytest.mark.parametrize("board", ["", "&board=standing", "&board=lower_bound", "&board=held_back"])
def test_nobody_leads_before_the_first_analysis(unanalysed, board):
    assert ids_of(unanalysed, f"/v1/leaders?tag=starred{board}") == []
    assert not any(board["leaders"] for board in unanalysed.get("/index.json").json()["leaders"])
    assert "Not analysed yet." in Page(unanalysed.get("/").text).text


@pytest.mark.parametrize("query", ["", "?tag=starred", "?tag=starred&lower_bound=1"])
def test_search_is_in_the_order_of_registration_before_the_first_analysis(unanalysed, query):
    agents = ids_of(unanalysed, f"/v1/search/agents{query}")
    assert RING in agents
    assert agents == sorted(agents)


def test_agent_has_no_standing_and_no_figure_on_its_badge_before_the_first_analysis(unanalysed):
    for path in ("/v1/agents/31337:1/standing", "/v1/agents/31337:777/standing"):
        assert unanalysed.get(path).status_code == 404
    assert "standing as a server, which a trust analysis computes" in unanalysed.get("/v1/agents/31337:9/standing").text
    assert "as a server, not analysed yet" in unanalysed.get(f"/embed/31337/{RING}.svg").text
    page = Page(unanalysed.get(f"/31337/{RING}").text).text
    assert "Not analysed yet The raters have not been analysed yet" in page
    assert ": block" in page.partition("not analysed yet")[0], "the foot of the page says so, too"


@pytest.mark.parametrize("agent", [RING, 1])
@pytest.mark.parametrize("side", ["server", "client"])
def test_checks_answer_at_most_caution_before_the_first_analysis(unanalysed, agent, side):
    reviewers = json.loads(unanalysed.get(f"/v1/agents/31337:{agent}/feedback?limit=1").text)["items"]
    trust = f"&trust_account={reviewers[0]['client']}" if side == "server" else ""
    for policy in ("", trust):
        check = unanalysed.get(f"/v1/checks/{side}?{'agent' if side == 'server' else 'client'}=31337:{agent}{policy}")
        answer = check.raise_for_status().json()
        assert answer["verdict"] != "accept"
        assert {reason["code"]: reason["severity"] for reason in answer["reasons"]}["not_analysed"] == "caution"


def test_service_is_ready_once_the_first_analysis_has_ended(unanalysed, api):
    assert "chain 31337 is not analysed yet" in unanalysed.get("/readyz").json()["problems"]
    assert not [problem for problem in api.get("/readyz").json()["problems"] if "analysed" in problem]
    assert 'bilateral_standings_missing{chain_id="31337"} 1.0' in unanalysed.get("/metrics").text
    assert 'bilateral_standings_missing{chain_id="31337"} 0.0' in api.get("/metrics").text


def test_stale_standings_are_reported_and_no_check_accepts_by_them(database, api):
    engine = open_database(database)
    with engine.begin() as connection:
        made = connection.execute(select(standing_refresh.c.made_at, standing_refresh.c.block_number)).one()
        older = {"made_at": made.made_at - 1500, "block_number": made.block_number - 1}
        connection.execute(update(standing_refresh).values(**older))
    try:
        answer = api.get("/v1/checks/server?agent=31337:1&amount=0.5").json()
        reasons = {reason["code"]: reason["sentence"] for reason in answer["reasons"]}
        assert reasons["not_analysed"] == "The last trust analysis is 25 minutes old."
        assert answer["verdict"] == "caution"
        wait_until(lambda: "was analysed 25 minutes ago" in api.get("/readyz").text)  # it is read once a second
        wait_until(lambda: 'bilateral_standings_stale{chain_id="31337"} 1.0' in api.get("/metrics").text)
        (chain,) = api.get("/v1/chains").json()["items"]
        assert chain["progress"]["standings"]["status"] == "stale"
    finally:
        with engine.begin() as connection:
            connection.execute(update(standing_refresh).values(**made._mapping))
        engine.dispose()
    assert "not_analysed" not in api.get("/v1/checks/server?agent=31337:1&amount=0.5").text
