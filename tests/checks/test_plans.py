"""Statements of checks look up the events that they need. SQLite has no statistics, and may read all events."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import event

from bilateral.checks import Payment, Policy, Trust
from bilateral.index.log import tables as schema
from tests.checks.ledger import account, client_rated, feedback, registered, validated, wallet_set

EVENTS = "|".join(event_table.name for event_table in schema.EVENT_TABLES.values())
WHOLE = re.compile(
    rf"SCAN ({EVENTS})\b|SEARCH ({EVENTS}) USING (COVERING )?INDEX \w+ \(chain_id=\?( AND block_number<\?)?\)"
    r"|SEARCH agent USING PRIMARY KEY \(chain_id=\?( AND identity_registry=\?)?\)"
)
"""A look at all events of a chain, or at all its agents."""

POLICIES = {
    "no trust": Policy(),
    "accounts": Policy(trust=Trust(accounts=(account(1), account(2)))),
    "agents": Policy(trust=Trust(agents=(2, 3))),
    "own experience": Policy(trust=Trust(own_experience=True)),
    "lower bound": Policy(trust=Trust(minimum_lower_bound=60)),
    "age": Policy(maximum_rating_age_days=30),
}


@pytest.fixture
def statements(ledger):
    """The statements of SQLite, with their values."""
    ledger.block(registered(1, account(1)), wallet_set(1, account(11)), registered(2, account(2)))
    ledger.block(feedback(1, account(2), 90), client_rated(1, 2, 80), validated(1, account(7), 80))
    ledger.settle()
    seen = []

    @event.listens_for(ledger.engine, "checkout")
    def trace(connection, *_):  # Prepared statements bypass the events of SQLAlchemy
        connection.set_trace_callback(seen.append)

    yield seen
    event.remove(ledger.engine, "checkout", trace)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("back", [0, 1], ids=["last block", "earlier block"])
def test_no_statement_reads_all_events_of_a_chain(ledger, statements, policy, back):
    at_block = ledger.head - back if back else None
    ledger.server(1, payment=Payment(account(11)), policy=policy, at_block=at_block)
    ledger.client(1, policy=policy, for_server=2, at_block=at_block)
    ledger.client(account(2), policy=policy, at_block=at_block)
    plans = {}
    with ledger.engine.connect() as connection:
        for statement in list(statements):
            if (
                statement.startswith("SELECT") and "FROM undecodable_log" not in statement
            ):  # the last event of each kind
                rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")
                plans[statement] = " / ".join(row[3] for row in rows)
    assert len(plans) > 10
    assert {statement: plan for statement, plan in plans.items() if WHOLE.search(plan)} == {}
