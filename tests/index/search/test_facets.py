"""Facets count the first agents of a search, and a domain that names an agent is a condition, on both engines."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlalchemy import insert, select, update

from bilateral.core.values import STANDARD_TAGS
from bilateral.index.agents import tables as agent_tables
from bilateral.index.files import tables as files
from bilateral.index.files.reading import file_id_of, secure_host, well_known_uri
from bilateral.index.files.tables import Kind, State, agent_file
from bilateral.index.search import plans as domains
from bilateral.index.search.filters import AgentSearch, Order
from bilateral.index.search.queries import search_agents, search_with_facets
from tests.index.search.random_searches import RandomSearches


def keys(page):
    return [(item.chain_id, item.identity_registry, item.agent_id) for item in page.items]


@pytest.fixture
def changed(connection):
    """The index, whose changes by a test are taken back."""
    yield connection
    connection.rollback()


def test_facets_of_random_searches_are_those_of_a_plain_count(connection, oracle):
    searches, counted = RandomSearches(oracle, seed=5), 0
    for _ in range(25):
        search = searches.make()
        page, facets = search_with_facets(connection, search, limit=3, sample=20)
        first = [oracle.agents[key] for key in oracle.search(search)]
        assert keys(page) == [agent.key for agent in first[:3]]
        assert (facets.agents, facets.has_more) == (len(first[:20]), len(first) > 20)
        rated = {(entry.agent, entry.tag) for entry in oracle.given if entry.side == search.rated_side}
        expected = {"chain": Counter(), "service": Counter(), "tag": Counter(), "x402": Counter()}
        for agent in first[:20]:
            expected["chain"][str(agent.key[0])] += 1
            expected["service"].update(agent.services)
            expected["tag"].update(tag for key, tag in rated if key == agent.key and tag in STANDARD_TAGS)
            expected["x402"]["yes"] += bool(agent.file and agent.file.get("x402Support"))
        for facet in facets.facets:
            wanted = sorted((+expected[facet.name]).items(), key=lambda value: (-value[1], value[0]))[:6]
            assert facet.values == tuple(wanted), (search, facet.name)
        assert {facet.name for facet in facets.facets} == {name for name, values in expected.items() if +values}
        counted += bool(first)
    assert counted >= 10


def named_by(connection, host, *agents):
    """Store a file at the well-known path of a host that names agents."""
    content = bytes(reversed(file_id_of(Kind.DOMAIN, well_known_uri(host), None)))
    connection.execute(insert(files.file_content).values(content_hash=content, content=b"{}", size=2))
    for position, (chain_id, identity, agent_id) in enumerate(agents):
        row = {"position": position, "agent_registry": f"eip155:{chain_id}:{identity}", "agent_id": agent_id}
        connection.execute(insert(files.registration_claim).values(content_hash=content, **row))
    changes = update(files.file).where(files.file.c.file_id == file_id_of(Kind.DOMAIN, well_known_uri(host), None))
    connection.execute(changes.values(state=State.LOADED, content_hash=content))


@pytest.mark.parametrize("most", [domains.MOST_CLAIMS, 0], ids=["few claims", "many claims"])
def test_domain_that_names_an_agent_is_a_condition_and_a_facet(changed, oracle, monkeypatch, most):
    monkeypatch.setattr(domains, "MOST_CLAIMS", most)
    by_host = {}
    for agent in oracle.agents.values():
        for service in agent.file["services"] if agent.file else ():
            if (host := secure_host(service["endpoint"])) is not None:
                by_host.setdefault(host, []).append(agent.key)
    (host, (named, *_)), (other_host, (denied, *_)) = [(host, by_host[host]) for host in sorted(by_host)][:2]
    assert keys(search_agents(changed, AgentSearch(verified_domain=True))) == []
    named_by(changed, host, named)
    named_by(changed, other_host, (1, *denied[1:]))  # the same registry and id, on another chain
    page, facets = search_with_facets(changed, AgentSearch(verified_domain=True, order=Order.LAST_ACTIVE))
    assert keys(page) == [named]
    assert ("verified_domain", (("yes", 1),)) in [(facet.name, facet.values) for facet in facets.facets]
    without = keys(search_agents(changed, AgentSearch(verified_domain=False), limit=1_000))
    assert set(without) == oracle.agents.keys() - {named}


@pytest.mark.parametrize("world_engine", ["sqlite"], indirect=True)
def test_search_for_verified_domains_begins_with_the_files_of_domains(changed):
    """No agent is looked at if no domain has a file, however many agents name domains."""
    statement = domains._CLAIMS.compile(dialect=changed.dialect, compile_kwargs={"literal_binds": True})
    first, *_ = [step for *_, step in changed.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")]
    assert "USING INDEX file_from_host" in first


@pytest.mark.parametrize("world_engine", ["postgresql"], indirect=True)
@pytest.mark.parametrize("is_verified", [True, False])
def test_postgresql_looks_the_domains_of_each_agent_up(changed, is_verified):
    condition = domains.has_verified_domain()
    query = select(agent_tables.agent.c.agent_id).where(condition if is_verified else ~condition).limit(50)
    statement = query.compile(dialect=changed.dialect, compile_kwargs={"literal_binds": True})
    plan = "\n".join(step for (step,) in changed.exec_driver_sql(f"EXPLAIN {statement}"))
    assert "SubPlan 1" in plan
    assert not any(word in plan for word in ("hashed", "Semi Join", "Anti Join"))


def test_strange_claims_of_domains_name_no_agent(changed):
    named_by(changed, "mcp1.example", (1, "0x", None))
    texts = "", "eip155:1", f"eip155:{2**64}:0x", "eip155:-1:0x", "eip155:1:0x"
    rows = [{"position": place, "agent_registry": text, "agent_id": 1} for place, text in enumerate(texts, 1)]
    (content,) = changed.execute(select(files.file.c.content_hash).where(files.IS_FROM_HOST)).scalars()
    changed.execute(insert(files.registration_claim), [{**row, "content_hash": content} for row in rows])
    assert domains.claimed_agents(changed) == [(1, "0x", 1)]


def test_file_from_the_domain_of_a_service_needs_no_other_file(changed, oracle):
    key, host = next(
        (agent.key, host)
        for agent in oracle.agents.values()
        for service in (agent.file["services"] if agent.file else ())
        if (host := secure_host(service["endpoint"])) is not None and agent.file.get("registrations")
    )
    names = ("chain_id", "identity_registry", "agent_id")
    conditions = [agent_file.c[name] == value for name, value in zip(names, key, strict=True)]
    file_id = changed.execute(select(agent_file.c.file_id).where(*conditions)).scalar_one()
    uris = (f"https://{host}/agent.json", [key]), (f"http://{host}/agent.json", []), (f"https://a{host}/a.json", [])
    for uri, expected in uris:
        values = {"uri": uri, "host": uri.split("/")[2]}
        changed.execute(update(files.file).where(files.file.c.file_id == file_id).values(**values))
        assert keys(search_agents(changed, AgentSearch(verified_domain=True))) == expected, uri
