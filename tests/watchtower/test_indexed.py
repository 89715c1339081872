"""What the index knows of the agents that are measured: whose domains name them, and what strangers paid them."""

from __future__ import annotations

import pytest
from sqlalchemy import insert, select, update

from bench.world.people import IDENTITY
from bilateral.documents.registration import REGISTRATION_TYPE
from bilateral.index.files import tables as files
from bilateral.index.log.database import open_database
from bilateral.index.payments.tables import payment_return
from bilateral.watchtower.periods import Period, owned_hosts, revenues, two_digits
from tests.explorer.stored import BUYER, CLIENT, OWNER, TOKEN, WALLET, Ledger
from tests.index.conftest import fresh_postgres, new_database_url, postgres  # noqa: F401  # fixtures

CHAIN = 8453
AGENTS = [f"{CHAIN}:1", f"{CHAIN}:2", "10:7"]
WEEK = Period.parse("2025-W47")


def registration(agent_id, host):
    return {
        "type": REGISTRATION_TYPE,
        "name": f"Agent {agent_id}",
        "services": [{"name": "MCP", "endpoint": f"https://{host}/mcp"}],
        "registrations": [{"agentId": agent_id, "agentRegistry": f"eip155:{CHAIN}:{IDENTITY}"}],
    }


@pytest.fixture
def ledger():
    return Ledger(CHAIN)


@pytest.fixture
def engine(new_database_url, ledger):  # noqa: F811
    """An index with two agents, each with an endpoint."""
    engine = open_database(new_database_url)
    for agent_id in (1, 2):
        ledger.register(agent_id, OWNER, registration(agent_id, f"{agent_id}.example"))
    ledger.store(engine)
    yield engine
    engine.dispose()


def test_a_host_owns_the_agents_that_its_file_names(engine):
    with engine.begin() as connection:
        assert owned_hosts(connection, AGENTS) == set()
        content = connection.execute(
            select(files.registration_claim.c.content_hash).where(files.registration_claim.c.agent_id == 1)
        ).scalar_one()
        is_domain = files.file.c.kind == files.Kind.DOMAIN  # of both hosts, which serve the file of the first agent
        connection.execute(update(files.file).where(is_domain).values(state="loaded", content_hash=content))
        assert owned_hosts(connection, AGENTS) == {("8453:1", "1.example")}
        assert owned_hosts(connection, AGENTS[1:]) == set()


def test_revenues_are_what_strangers_paid_and_did_not_get_back(engine, ledger):
    with engine.begin() as connection:
        for number in range(4):
            ledger.pay(connection, CLIENT, 1, WALLET, bytes([number]) * 32)
        ledger.pay(connection, BUYER, 1, WALLET, b"b" * 32)
        ledger.pay(connection, OWNER, 1, WALLET, b"o" * 32, kinship="owner")
        ledger.pay(connection, OWNER, 2, WALLET, b"p" * 32, kinship="owner")
        columns = [column.name for column in payment_return.c]
        values = (*ledger.place(TOKEN), WALLET, CLIENT, 2_000_000)
        connection.execute(insert(payment_return), dict(zip(columns, values, strict=True)))
        ledger.learned(connection)
        (leaf,) = revenues(connection, WEEK, AGENTS)
    assert leaf == {
        "kind": "revenues",
        "period": "2025-W47",
        "agents": {"8453:1": True},
        "dollars": "5.5",
        "payers": 2,
        "topShare": "72.7",
        "blocks": [1, 1],
    }


def test_payments_after_the_period_do_not_count(engine, ledger):
    with engine.begin() as connection:
        ledger.pay(connection, CLIENT, 1, WALLET, b"c" * 32)
        assert revenues(connection, Period.parse("2025-W01"), AGENTS) == []
        assert len(revenues(connection, WEEK, AGENTS)) == 1


@pytest.mark.parametrize(
    ("micros", "dollars"),
    [(10_000, "0.010"), (1_999_999, "1.9"), (99_999_999, "99"), (1_234_567_890, "1200"), (100_000_000, "100")],
)
def test_dollars_are_rounded_down_to_two_digits(micros, dollars):
    assert two_digits(micros) == dollars
