"""Searches, counts and pages read one definition of who is alive, on both engines."""

from __future__ import annotations

import random
import time

import pytest
from sqlalchemy import insert, select

from bilateral.core.contracts import Registry
from bilateral.index.agents.tables import agent
from bilateral.index.measurements import queries
from bilateral.index.measurements.queries import AliveCount, MeasuredDay, count_alive, endpoints_of, is_alive
from bilateral.index.measurements.tables import endpoint_state
from bilateral.index.measurements.values import Alive, Change, Outcome, Protocol
from bilateral.index.reading.registries import AgentKey
from bilateral.index.search import plans
from bilateral.index.search.filters import AgentSearch, Order
from bilateral.index.search.queries import search_agents, search_with_facets
from simulation.events import ADDRESSES
from tests.index.conftest import CHAIN_ID
from tests.index.measurements.conftest import KEY, MCP, current, data_uri, registered
from tests.index.measurements.rows import day_row, endpoint_id

DAY = 86_400
NOW = int(time.time())
OTHER = "https://other.example/mcp"
AGES = [None, 0, DAY - 60, DAY + 60, 7 * DAY - 60, 7 * DAY + 60]


@pytest.fixture
def market(measured):
    """Agents that answer now, answered before, never did, and nobody measured."""
    urls = {number: f"https://host{number % 2}.example/{number}" for number in range(1, 7)}
    for number, url in urls.items():
        measured.agent(number, ("mcp", url))
    measured.agent(7, ("email", "agent@seller.example"))
    up, down = Outcome.UP, Outcome.DOWN
    states = [(1, up, 0), (2, Outcome.GATED, 0), (3, up, 2), (3, down, 0), (4, up, 30), (4, down, 0), (5, down, 0)]
    for number, state, days in states:
        measured.record(currents=[current(state, url=urls[number], at=NOW - days * DAY)])
    return measured


EXPECTED = {
    Alive.NOW: [1, 2],
    Alive.RECENTLY: [3],
    Alive.FORMERLY: [4],
    Alive.NEVER: [5],
    Alive.UNKNOWN: [6, 7],
}


@pytest.mark.parametrize("most", [plans.MOST_MEASURED, 0], ids=["few measured", "many measured"])
def test_search_finds_the_agents_of_each_state(market, monkeypatch, most):
    monkeypatch.setattr(plans, "MOST_MEASURED", most)
    with market.engine.connect() as connection:
        for order in (None, Order.REGISTERED):
            found = {
                alive: sorted(
                    item.agent_id for item in search_agents(connection, AgentSearch(alive=alive, order=order)).items
                )
                for alive in Alive
            }
            assert found == EXPECTED


def test_facet_counts_agents_and_hosts(market):
    with market.engine.connect() as connection:
        _, facets = search_with_facets(connection, AgentSearch())
        (facet,) = [facet for facet in facets.facets if facet.name == "alive"]
    assert facet.values == (("now", 2), ("recently", 1), ("formerly", 1), ("never", 1), ("unknown", 2))
    assert facet.hosts == (2, 1, 1, 1, 0)


def test_agents_that_answer_now_are_counted_with_their_hosts(market):
    with market.engine.connect() as connection:
        assert count_alive(connection) == AliveCount(2, 7, 2, NOW)


def test_condition_of_searches_is_the_rule_of_pages(measured):
    generator = random.Random(7)  # noqa: S311  # not secret
    rows, logs = [], []
    for number in range(1, 51):
        urls = [f"https://host.example/{number}/{part}" for part in range(generator.randint(0, 2))]
        logs += registered(data_uri(*(("mcp", url) for url in urls)), number)
        for url in urls:
            state = generator.choice([None, *Outcome, *[Outcome.DOWN] * 8])
            probed_at, alive_at = (None if (age := generator.choice(AGES)) is None else NOW - age for _ in range(2))
            probed_at = probed_at or alive_at
            if state in queries.REACHABLE:
                probed_at = alive_at = probed_at or NOW
            row = {"chain_id": CHAIN_ID, "endpoint_id": endpoint_id(Protocol.MCP, url), "vantage": "eu-1"}
            rows.append({**row, "state": state, "probed_at": probed_at, "alive_at": alive_at, "failures": 0})
    measured.story.block(*logs)
    measured.story.settle()
    with measured.engine.begin() as connection:
        connection.execute(insert(endpoint_state), rows)
        queries.renew_alive(connection, [row["endpoint_id"] for row in rows])
        ids = [*connection.execute(select(agent.c.agent_id)).scalars()]
        states = {}
        for agent_id in ids:
            key = {"chain_id": [CHAIN_ID], "identity_registry": [ADDRESSES[Registry.IDENTITY]], "agent_id": [agent_id]}
            row = connection.execute(queries.AGENTS_ALIVE, key).first()
            states[agent_id] = Alive.UNKNOWN if row is None else Alive(row.alive)
        for alive in Alive:
            found = set(connection.execute(select(agent.c.agent_id).where(is_alive(alive))).scalars())
            assert found == {agent_id for agent_id, state in states.items() if state is alive}, alive
    assert set(states.values()) == set(Alive)


def test_page_of_an_agent_has_its_endpoints_with_days_and_changes(measured):
    today = NOW // DAY
    measured.agent(1, ("mcp", MCP), ("a2a", OTHER))
    currents = [current(at=NOW, milliseconds=40), current(Outcome.DOWN, at=NOW, vantage="us-1")]
    days = [
        day_row(KEY, today, "eu-1", 10, {Outcome.UP: 8, Outcome.DOWN: 1, Outcome.UNKNOWN: 1}, 40, 90),
        day_row(KEY, today, "us-1", 10, {Outcome.DOWN: 10}),
        day_row(KEY, today - 90, "eu-1", 10, {Outcome.UP: 10}),
    ]
    measured.record(currents=currents, days=days, changes=[Change(KEY, NOW, "tools", "a", "b")])
    with measured.engine.connect() as connection:
        mcp, a2a = endpoints_of(connection, AgentKey(CHAIN_ID, ADDRESSES[Registry.IDENTITY], 1, ()))
    assert (mcp.url, mcp.state, mcp.milliseconds, mcp.vantages) == (MCP, "up", 40, ("eu-1", "us-1"))
    assert mcp.days == (MeasuredDay(today, 19, 8, 20, 40),)
    assert [(change.kind, change.old, change.new) for change in mcp.changes] == [("tools", "a", "b")]
    assert (a2a.url, a2a.state, a2a.days) == (OTHER, None, ())
