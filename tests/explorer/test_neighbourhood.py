"""An agent's neighbourhood shows the ratings that count, however many others its owner gave and revoked."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from bench.world.people import IDENTITY, REPUTATION
from bilateral.core.events import FeedbackRevoked, NewFeedback
from bilateral.index.log.database import open_database
from bilateral.index.ratings import neighbourhood as queries
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.neighbourhood import neighbourhood
from bilateral.index.reading.registries import AgentKey
from tests.explorer.stored import BASE, NOTHING, Ledger, account

OWNER = account("owner of many revoked entries")
REVOKED = range(100, 320)
LIVE = range(2, 42)
KEY = AgentKey(BASE, IDENTITY, 1, (REPUTATION,))


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    """An index whose agent 1 gave and revoked two entries to each of many agents, and one that counts to others."""
    engine = open_database(f"sqlite:///{tmp_path_factory.mktemp('revoked') / 'index.sqlite'}")
    ledger = Ledger(BASE)
    ledger.register(1, OWNER, {"name": "One"})
    for agent, number in [*((entry, 2) for entry in REVOKED), *((entry, 1) for entry in LIVE)]:
        for index in range(1, number + 1):
            values = (agent, OWNER, index, 90, 0, NOTHING, "starred", "", "", "", NOTHING, None)
            ledger.log(NewFeedback, REPUTATION, *values)
            if number > 1:
                ledger.log(FeedbackRevoked, REPUTATION, agent, OWNER, index)
    ledger.store(engine)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def _stored(connection):
    columns = rating_tables.counterpart.c
    rows = connection.execute(
        select(columns.agent_id, columns.count).where(columns.account == OWNER, columns.side == "server")
    )
    return sorted((f"{BASE}:{agent}", count) for agent, count in rows)


def test_revoked_entries_do_not_hide_those_that_count(connection):
    edges = neighbourhood(connection, KEY)
    assert sorted((edge.agent, edge.count) for edge in edges.edges) == _stored(connection)
    assert len(edges.edges) == len(LIVE)
    assert edges.is_whole


def test_a_short_answer_has_the_first_of_those_that_count(connection):
    edges = neighbourhood(connection, KEY, limit=5)
    assert [edge.agent for edge in edges.edges] == [f"{BASE}:{agent}" for agent in LIVE[:5]]
    assert not edges.is_whole


@pytest.mark.parametrize(("most", "is_whole"), [(480, False), (481, True)], ids=["reached", "not reached"])
def test_an_answer_is_whole_if_no_limit_was_reached(connection, monkeypatch, most, is_whole):
    monkeypatch.setattr(queries, "MAX_COUNTERPARTS", most)
    assert neighbourhood(connection, KEY).is_whole is is_whole
