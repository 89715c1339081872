"""The index follows the canonical registries of a chain without being told their addresses."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import select

from bilateral.events import NewFeedback
from bilateral.index import schema
from bilateral.index.settings import ChainSettings
from bilateral.index.worker import Worker
from tests.sdk.deployed.world import CANONICAL, CHAIN_ID, OWNER, REVIEWER, canonical_chain, make_world


@pytest.fixture
def url():
    with canonical_chain() as running:
        yield running


def test_the_agents_and_feedback_of_the_address_book_are_indexed(url, engine):
    world = make_world(url)
    world.reviewer.give_feedback(0, 80, "starred").wait()
    Worker(engine, ChainSettings((url,)), stop=threading.Event()).run(until_head=True)
    with engine.connect() as connection:
        agents = connection.execute(select(schema.agent).order_by(schema.agent.c.agent_id)).mappings().all()
        (given,) = connection.execute(select(schema.EVENT_TABLES[NewFeedback])).mappings().all()
        registries = connection.execute(select(schema.registry)).mappings().all()
    assert [(int(it["agent_id"]), it["owner"]) for it in agents] == [(0, OWNER.address), (1, REVIEWER.address)]
    assert (int(given["agent_id"]), given["client_address"], int(given["value"])) == (0, REVIEWER.address, 80)
    assert {(it["chain_id"], it["address"]) for it in registries} == {
        (CHAIN_ID, it) for it in (CANONICAL.identity, CANONICAL.reputation, CANONICAL.validation)
    }
