"""While a shard does not answer, readers get whole answers about all other chains, and learn which chain is missing."""

from __future__ import annotations

import json
import logging
import re

import pytest

from bilateral.index.errors import DatabaseUnavailableError
from bilateral.index.shards.coordinator import update_shards
from tests.api.world import BOB, CHAIN_ID
from tests.commands import run_here
from tests.index.shards.world import BY_CHAIN, OF_ALL_CHAINS, OTHER_CHAIN, QUERIES, killed
from tests.postgres import dead_servers
from tests.waiting import until

PAGES_OF_ONE_CHAIN = [
    *("/{}/1", "/{}/1/ratings", "/{}/1/network", "/{}/network", "/{}/analysis", "/act/give_feedback?agent={}:1"),
    "/act/register_agent?chain={}",
]
PAGES_OF_ALL_CHAINS = [
    *("/", "/search?q=weather", "/search", f"/accounts/{BOB.address}", "/method", "/private-tiers"),
    f"/compare?first={CHAIN_ID}:1&second={CHAIN_ID}:2",
]
HTML = {"Accept": "text/html"}
LINK = re.compile('(?:href|value)="([^"]*)"')
MISSING = f"database of chain {OTHER_CHAIN} is not responding"


def answers(client, paths, **options):
    return {path: client.get(path, **options) for path in paths}


def answers_to_graphql(client, of_chain):
    return [client.post(f"/graphql{of_chain}", json={"query": query}) for query in QUERIES[:-1]]


@pytest.fixture(scope="module")
def before(apis):
    """The answers about the other chain while all shards answer."""
    client, _ = apis
    pages = answers(client, [page.format(CHAIN_ID) for page in PAGES_OF_ONE_CHAIN], headers=HTML)
    return answers(client, BY_CHAIN[CHAIN_ID]), pages, answers_to_graphql(client, f"/{CHAIN_ID}")


@pytest.fixture(scope="module")
def told(before, servers):
    """Keep a shard down, and yield what the service logs about its databases meanwhile."""
    handler, lines, logger = logging.Handler(), [], logging.getLogger("bilateral.api.database")
    handler.emit = lambda record: lines.append(record.getMessage())
    filters, logger.filters = logger.filters, []  # they would leave out what an earlier test had logged
    logger.addHandler(handler)
    with killed(servers.processes[1]):
        yield lines
    logger.removeHandler(handler)
    logger.filters = filters


@pytest.fixture
def client(apis, told):
    """A client of the service while a shard is down."""
    return apis[0]


def test_answers_about_other_chains_are_the_same(client, before, settings):
    of_rest, _, of_graphql = before
    for path, answer in answers(client, BY_CHAIN[CHAIN_ID]).items():
        assert (path, answer.status_code, answer.content) == (path, 200, of_rest[path].content)
    during = answers_to_graphql(client, f"/{CHAIN_ID}")
    assert [answer.content for answer in during] == [answer.content for answer in of_graphql]
    code, out, err = run_here("search", "weather", "--chain-id", CHAIN_ID, "--database", settings.database, "--json")
    assert (code, len(json.loads(out)["items"])) == (0, 1), err


def test_answer_that_needs_the_missing_chain_is_refused_and_names_the_chain(client):
    wanting = answers(
        client, (*BY_CHAIN[OTHER_CHAIN], *OF_ALL_CHAINS, *(f"{path}.json" for path in ("/index", "/search")))
    )
    for answer in (*wanting.values(), *answers_to_graphql(client, "")):
        assert (answer.status_code, MISSING in answer.text) == (503, True), answer.url


def test_page_of_another_chain_has_the_same_rows(client, before):
    _, pages, _ = before
    for path, page in answers(client, pages, headers=HTML).items():
        assert (path, page.status_code, "is missing" in page.text) == (path, 200, False)
        assert (path, LINK.findall(page.text)) == (path, LINK.findall(pages[path].text))


def test_page_of_the_missing_chain_says_so(client):
    for path, page in answers(client, [page.format(OTHER_CHAIN) for page in PAGES_OF_ONE_CHAIN], headers=HTML).items():
        assert (path, page.status_code, MISSING in page.text) == (path, 503, True)


def test_page_of_all_chains_has_the_others_and_names_the_missing_one(client):
    for path, page in answers(client, PAGES_OF_ALL_CHAINS, headers=HTML).items():
        assert (path, page.status_code) == (path, 200)
        assert f"{OTHER_CHAIN} is missing on this page: its database is not responding" in page.text
        assert f"{CHAIN_ID}: block" in page.text
        assert f"{OTHER_CHAIN}: block" not in page.text
    compared = client.get(f"/compare?first={CHAIN_ID}:1&second={OTHER_CHAIN}:1", headers=HTML).text
    assert MISSING in compared
    assert "has no agent" not in compared


def test_service_stays_ready_and_tells_monitors_which_chain_is_missing(client, told):
    state = until(
        lambda: client.get(f"/v1/agents/{CHAIN_ID}:1").headers["Index-State"], lambda told: str(OTHER_CHAIN) not in told
    )
    assert re.fullmatch(rf"{CHAIN_ID};block=\d+;lag=0;seconds=\d+", state)
    readiness = client.get("/readyz")
    assert (readiness.status_code, readiness.json()["missing"], readiness.json()["problems"]) == (200, [31338], [])
    figures = client.get("/metrics").text
    for chain_id, value in ((CHAIN_ID, 0.0), (OTHER_CHAIN, 1.0)):
        assert f'bilateral_chain_missing{{chain_id="{chain_id}"}} {value}' in figures
    assert f'bilateral_chain_block{{chain_id="{CHAIN_ID}"}}' in figures
    assert any("the shard b is excluded from reads: a shard did not respond: start its server" in line for line in told)
    assert any('could not connect to server "b"' in line for line in told)


def test_shards_are_not_changed(told, settings):
    with pytest.raises(DatabaseUnavailableError, match=r"^shard b: the database server did not respond"):
        update_shards(settings.database, settings.shards)


def test_shard_that_answers_again_is_read_again(client, told):
    path = BY_CHAIN[OTHER_CHAIN][0]
    assert client.get(path).status_code == 503
    assert dead_servers()
    until(lambda: client.get(path).status_code, lambda status: status == 200)
    assert told[-1] == "the shard b responds again"
    until(lambda: client.get("/readyz").json()["missing"], lambda missing: not missing)
