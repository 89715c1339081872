"""Entries of a list that all link to one entity share it: it is read once for the list."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import event

from bilateral.api.graphql.rows import chains_of
from bilateral.api.graphql.statements import Page, Selected, read_list
from tests.api.world import CHAIN_ID

LEAF = Selected("feedback", "feedback", (Selected("id", "id"),), Page(first=3))
AGENT = Selected("agent", "agent", (LEAF,))
CYCLE = (Selected("feedback", "feedback", (AGENT,), Page(first=3)),)


@pytest.fixture
def explained(api_reader, registries):
    """Return the plan of a cycle from one agent through its feedback and back, as the engine tells it."""
    statements = []
    with api_reader.connect() as connection:

        @event.listens_for(connection, "before_cursor_execute")
        def note(_connection, _cursor, statement, parameters, *_):
            statements.append((statement, parameters))

        parsed = json.loads(read_list(connection, chains_of(registries, CHAIN_ID), "Agent", CYCLE, Page(first=1)))
        statement, parameters = statements[-1]
        explain = "EXPLAIN QUERY PLAN" if api_reader.dialect == "sqlite" else "EXPLAIN (ANALYZE, FORMAT JSON)"
        plan = connection.exec_driver_sql(f"{explain} {statement}", parameters).all()
    assert [len(entry["agent"]["feedback"]) for entry in parsed[0]["feedback"]] == [3, 3, 3]
    return plan


@pytest.mark.parametrize("api_database", ["postgresql"], indirect=True, scope="session")
def test_postgresql_sorts_the_list_of_a_shared_entity_once(explained):
    def nodes(node):
        yield node
        for inner in node.get("Plans", ()):
            yield from nodes(inner)

    sorts = [node["Actual Loops"] for node in nodes(explained[0][0][0]["Plan"]) if node["Node Type"].endswith("Sort")]
    assert len(sorts) >= 2
    assert set(sorts) == {1}


@pytest.mark.parametrize("aliases", [("a", "A"), (f"{'a' * 69}b", f"{'a' * 69}c")], ids=["case", "long"])
def test_a_shared_entity_has_any_aliases(query, aliases):
    first, second = aliases
    shown = f"{first}: agent {{ id }} {second}: agent {{ agentId }}"
    agents = query(f"{{ agents {{ id agentId feedback {{ {shown} }} }} }}")["agents"]
    assert any(agent["feedback"] for agent in agents)
    for agent in agents:
        expected = {first: {"id": agent["id"]}, second: {"agentId": agent["agentId"]}}
        assert all(entry == expected for entry in agent["feedback"])


@pytest.mark.parametrize("api_database", ["sqlite"], indirect=True, scope="session")
def test_sqlite_keeps_a_shared_entity_for_the_list(explained):
    around = {row[0]: (row[1], row[3]) for row in explained}

    def path(number):
        while number in around:
            number, detail = around[number]
            yield detail

    sorts = [list(path(row[0])) for row in explained if "ORDER BY" in row[3]]
    assert len(sorts) == 2
    deepest = max(sorts, key=len)
    # One scalar query shows the agent, and one its list. The shared agent is kept before any entry is shown.
    assert sum(text.startswith("MATERIALIZE") for text in deepest) == 1
