"""Registries of August 2025 without tokens: their events alone say who owns an agent."""

from __future__ import annotations

import pytest

from bilateral.core.contracts import Registry
from bilateral.index.agents import tables as agent_tables
from simulation.events import encoded
from tests.index.comparison import assert_exact

FIRST, SECOND = "0x" + "11" * 20, "0x" + "22" * 20


@pytest.fixture
def agents(engine):
    """Return the rows of agents, and the primary agents."""

    def read():
        with engine.connect() as connection:
            rows = connection.execute(agent_tables.agent.select()).mappings().all()
            primary = connection.execute(agent_tables.primary_agent.select()).mappings().all()
        return (
            {row["agent_id"]: (row["owner"], row["wallet"], row["domain"]) for row in rows},
            {entry["account"]: entry["agent_id"] for entry in primary},
        )

    return read


def registered(agent_id, domain, address):
    return encoded(Registry.IDENTITY, "AgentRegistered", agent_id, domain, address)


def updated(agent_id, domain, address):
    return encoded(Registry.IDENTITY, "AgentUpdated", agent_id, domain, address)


def test_an_agent_without_a_token_belongs_to_the_address_of_its_events(event_chain, engine, store, catch_up, agents):
    event_chain.mine([registered(1, b"a.example", FIRST)])
    catch_up()
    assert agents() == ({1: (FIRST, FIRST, "a.example")}, {FIRST: 1})
    event_chain.mine([updated(1, b"b.example", FIRST)])
    event_chain.mine([updated(1, b"c.example", SECOND)])
    catch_up()
    assert agents() == ({1: (SECOND, SECOND, "c.example")}, {SECOND: 1})
    assert_exact(engine, store, event_chain)
    event_chain.rpc("anvil_rollback", 1)
    event_chain.mine([registered(2, b"d.example", SECOND)])
    catch_up()
    owners = {1: (FIRST, FIRST, "b.example"), 2: (SECOND, SECOND, "d.example")}
    assert agents() == (owners, {FIRST: 1, SECOND: 2})
    assert_exact(engine, store, event_chain)


def test_an_update_that_names_the_wallet_of_a_token_does_not_change_its_owner(event_chain, catch_up, agents):
    wallet = encoded(Registry.IDENTITY, "MetadataSet", 1, bytes(32), b"agentWallet", bytes.fromhex(SECOND[2:]))
    minted = encoded(Registry.IDENTITY, "Transfer", "0x" + "00" * 20, FIRST, 1)
    event_chain.mine([minted, registered(1, b"a.example", FIRST)])
    event_chain.mine([wallet])
    event_chain.mine([updated(1, b"b.example", SECOND)])
    catch_up()
    assert agents()[0] == {1: (FIRST, SECOND, "b.example")}
