"""The stored analysis over HTTP and for models, compared with the engine that made it."""

from __future__ import annotations

import asyncio
import csv
import io
import json

import httpx
import pytest
from mcp import Client

from bilateral.api.settings import ApiSettings
from bilateral.index.log.database import open_database, snapshot
from bilateral.index.reading.registries import agent_key, read_registries
from bilateral.index.standing.analysis import analyse
from bilateral.index.standing.inputs import read_tables
from bilateral.index.standing.queries import trusted_clients
from bilateral.trust.engine import Engine
from bilateral.trust.features.reviews import Reviews
from bilateral.trust.features.signs import MOST
from bilateral.trust.policy import trusted_clients as trusted_by_engine
from bilateral.trust.results import Results
from tests.api.world import served
from tests.index.analysis.conftest import KEY, collector, index
from tests.index.analysis.story import NOBODY

pytestmark = pytest.mark.one_engine

CHAIN = {"chain": 31337}
ACCOUNT = ("address", "suspicion", "cluster", "threshold_flag")


@pytest.fixture(scope="module")
def analysed(market, tmp_path_factory):
    """The URL of the analysed market's database."""
    url = f"sqlite:///{tmp_path_factory.mktemp('answers') / 'index.sqlite'}"
    engine = open_database(url)
    index(engine, market.chain.url)
    collector(engine, market.chain.url).collect()
    analyse(engine, KEY)
    engine.dispose()
    return url


@pytest.fixture(scope="module")
def api(analysed):
    with served(ApiSettings(database=analysed)) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield client


def chain_of(path):
    """The parameter that names the chain; none for the paths of agents, whose ids name it."""
    return {} if path.startswith("/v1/agents/") else CHAIN


def get(api, path, **query):
    answer = api.get(path, params=chain_of(path) | query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_finding_names_its_members_and_events(api, market):
    run = get(api, "/v1/analysis")
    items = get(api, "/v1/findings")["items"]
    assert run["findings"] == len(items) > 0
    strongest = get(api, f"/v1/findings/{items[0]['id']}")
    assert strongest["finding"] == items[0]
    assert {member["account"] for member in strongest["members"] if member["part"] == "actor"} >= set(market.ring)
    assert all(entry["transaction"].startswith("0x") for entry in strongest["evidence"])
    assert [item["strength"] for item in items] == sorted((item["strength"] for item in items), reverse=True)


def test_findings_come_as_csv_too(api):
    rows = list(csv.DictReader(io.StringIO(api.get("/v1/findings", params=CHAIN | {"format": "csv"}).text)))
    assert [row["id"] for row in rows] == [item["id"] for item in get(api, "/v1/findings")["items"]]


def test_a_cluster_holds_the_ring(api, market):
    (cluster,) = get(api, "/v1/clusters")["items"]
    accounts = get(api, f"/v1/clusters/{cluster['cluster']}")["items"]
    assert {account["account"] for account in accounts} >= set(market.ring)
    assert cluster["accounts"] == len(accounts)


def test_an_account_is_explained_by_its_findings(api, market):
    member = get(api, f"/v1/accounts/{market.ring[0]}/trust")
    assert member["judgement"]["is_flagged"]
    assert sum(member["judgement"]["parts"].values()) == pytest.approx(member["judgement"]["suspicion"])
    own = get(api, "/v1/findings", account=market.ring[0])["items"]
    assert [finding["finding"] for finding in member["findings"]] == own
    assert "actor" in {finding["part"] for finding in member["findings"]}
    client = get(api, f"/v1/accounts/{market.clients[0]}/trust")
    assert client["findings"] == []


def test_the_stored_suspicion_is_the_ranking_of_the_engine(api, analysed):
    database = open_database(analysed)
    with snapshot(database) as connection:
        fitted = Engine().fit(read_tables(connection, *KEY.columns.values()).tables)
    database.dispose()
    addresses = Results.of(fitted).addresses.to_pylist()
    ranked = {row["address"]: row for row in addresses if row["suspicion"] > 0}
    assert {row["threshold_flag"] for row in ranked.values()} == {True, False}
    for account in (row["address"] for row in addresses):
        told = get(api, f"/v1/accounts/{account}/trust")["judgement"]
        if account not in ranked:
            assert (told["suspicion"], told["parts"]) == (0.0, {})
            continue
        parts = ranked[account].items() - {(name, ranked[account][name]) for name in ACCOUNT}
        assert told["suspicion"] == ranked[account]["suspicion"]
        assert told["parts"] == {name: value for name, value in parts if value > 0}
        if not told["is_flagged"]:
            assert told["suspicion"] == told["parts"]["weak_signs"] <= MOST


def test_an_account_that_never_acted_has_no_suspicion(api):
    judgement = get(api, f"/v1/accounts/{NOBODY}/trust")["judgement"]
    assert (judgement["suspicion"], judgement["parts"]) == (0.0, {})


def test_checks_show_the_greatest_suspicion_of_the_accounts(api, market):
    for agent, accounts in (("31337:9", [market.master]), ("31337:1", [market.owners[0]])):
        figures = api.get("/v1/checks/server", params={"agent": agent}).json()["figures"]
        ranks = [get(api, f"/v1/accounts/{account}/trust")["judgement"]["suspicion"] for account in accounts]
        assert figures["suspicion"] == max(ranks) > 0
    without = api.get("/v1/checks/server", params={"agent": "31337:9", "findings": "false"}).json()["figures"]
    assert without["suspicion"] is None


def test_an_agent_has_a_score_and_trusted_clients(api, market):
    (score,) = get(api, "/v1/agents/31337:9/trust")["items"]
    assert (score["side"], score["lower_bound"]) == ("server", 0.0)
    trusted = get(api, "/v1/agents/31337:9/trusted-clients")
    assert (trusted["clients"], set(trusted["left_out"])) == ([], set(market.ring))
    assert (trusted["by_list"], trusted["is_complete"]) == (False, True)


@pytest.mark.parametrize("path", ["/v1/findings/nothing", "/v1/clusters/123456789"])
def test_an_unknown_name_is_not_found(api, path):
    answer = api.get(path, params=chain_of(path))
    assert (answer.status_code, answer.json()["code"]) == (404, "not_indexed")


@pytest.mark.parametrize("path", ["/v1/agents/5:1/trusted-clients", "/v1/agents/5:1/trust", "/v1/findings?chain=5"])
def test_a_chain_that_is_not_indexed_is_said(api, path):
    answer = api.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "chain_not_indexed")


def test_without_an_analysis_there_is_no_answer(market, tmp_path):
    url = f"sqlite:///{tmp_path / 'index.sqlite'}"
    engine = open_database(url)
    index(engine, market.chain.url)
    engine.dispose()
    with served(ApiSettings(database=url)) as base, httpx.Client(base_url=base, timeout=120) as client:
        for path in ("/v1/analysis", "/v1/agents/31337:1/trusted-clients"):
            answer = client.get(path, params=chain_of(path))
            assert (answer.status_code, answer.json()["code"]) == (404, "not_indexed")
        assert client.get("/v1/findings", params=CHAIN).json()["items"] == []


def test_models_ask_why_an_account_is_suspect(api, market):
    async def ask():
        async with Client(f"{str(api.base_url).rstrip('/')}/mcp") as session:
            account = await session.call_tool("explain_account", {"address": market.ring[0], "chain": 31337})
            clients = await session.call_tool("get_trusted_clients", {"agent": "31337:9"})
            wrong = await session.call_tool("explain_account", {"address": market.ring[0], "chain": 5})
        return account, clients, wrong

    account, clients, wrong = asyncio.run(ask())
    assert json.loads(account.content[0].text)["data"] == get(api, f"/v1/accounts/{market.ring[0]}/trust")
    assert json.loads(clients.content[0].text)["data"] == get(api, "/v1/agents/31337:9/trusted-clients")
    assert wrong.is_error
    assert "chain_not_indexed: chain 5 is not indexed" in wrong.content[0].text


@pytest.mark.parametrize("options", ["plain", "list", "appeal"])
def test_the_stored_results_give_the_same_trusted_clients_as_the_engine(engine, market, options):
    index(engine, market.chain.url)
    collector(engine, market.chain.url).collect()
    trusted = [market.clients[0], market.owners[1]] if options == "list" else []
    appeals = [{"account": entry, "verdict": "innocent", "reason": "papers were seen"} for entry in market.ring[:3]]
    cases = Reviews.of(appeals) if options == "appeal" else None
    analyse(engine, KEY, cases, trusted)
    with snapshot(engine) as connection:
        fitted = Engine().fit(read_tables(connection, *KEY.columns.values()).tables, cases, trusted)
        registries = read_registries(connection)
        for agent in range(1, 10):
            stored = trusted_clients(connection, agent_key(registries, f"31337:{agent}"))
            computed = trusted_by_engine(fitted, agent)
            assert stored.clients == computed.clients  # in the same order
            assert set(stored.left_out) == set(computed.left_out)
            assert stored.by_list == computed.by_list
