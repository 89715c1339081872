"""Pages of agents are read from indexes: SQLite sorts no table to answer them."""

from __future__ import annotations

import pytest
from sqlalchemy import event

pytestmark = pytest.mark.parametrize("api_database", ["sqlite"], indirect=True, scope="session")
"""PostgreSQL sorts small tables, and so gives other plans."""


@pytest.fixture
def plan(api_reader, query):
    """Return the steps by which SQLite finds the page of a query with one field at its root."""

    def explain(text):
        seen = []
        engine = api_reader._engine  # the statement is the thing under test

        def note(connection, cursor, statement, parameters, context, many):
            seen.append((statement, parameters))

        event.listen(engine, "before_cursor_execute", note)
        try:
            query(text)
        finally:
            event.remove(engine, "before_cursor_execute", note)
        statement, parameters = next(entry for entry in seen if "json_object" in entry[0])
        with api_reader.connect() as connection:
            steps = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
        return [row[3] for row in steps]

    return explain


@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("order", ["id", "createdAt", "updatedAt", "lastActivity"])
def test_agents_are_read_in_the_order_of_an_index(plan, order, direction):
    plan_steps = plan(f"{{ agents(orderBy: {order}, orderDirection: {direction}, skip: 1) {{ id }} }}")
    assert any("USING COVERING INDEX agent_activity_by" in entry for entry in plan_steps)
    assert not any("TEMP B-TREE" in entry for entry in plan_steps)


@pytest.mark.parametrize("name", ["updatedAt", "lastActivity"])
def test_filters_on_times_of_agents_use_their_index(plan, name):
    plan_steps = plan(f"{{ agents(where: {{{name}_gte: 1700000000}}, orderBy: {name}) {{ id }} }}")
    assert any("INDEX agent_activity_by" in entry and ">?" in entry for entry in plan_steps)
