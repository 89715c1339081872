"""Standings stay current by themselves, and a failed analysis stops nothing."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import select, text

from bilateral.index.analysis.background import Background
from bilateral.index.analysis.notes import standings_states
from bilateral.index.analysis.refresh import Refresher
from bilateral.index.analysis.run import Analyst
from bilateral.index.status import chain_statuses
from bilateral.index.tables import schema
from bilateral.index.tables.standings import standing
from tests.index.analysis.conftest import KEY


class FailingAnalyst(Analyst):
    """An analyst whose every analysis fails."""

    def analyse(self, *_, **__):
        raise ValueError("the analysis met a row that it cannot read")


def state(engine):
    with engine.connect() as connection:
        return standings_states(connection)[KEY.chain_id]


def stored(engine, column="status"):
    with engine.connect() as connection:
        rows = connection.execute(select(standing).where(standing.c.side == "server")).mappings()
        return {int(row["agent_id"]): row[column] for row in rows}


def test_refresh_finds_funds_and_holds_the_ring_back_with_the_block_and_time(indexed, market):
    refresher = Refresher(indexed, {KEY.chain_id: (market.chain.url,)})
    assert refresher.refresh()
    with indexed.connect() as connection:
        head = connection.execute(select(schema.chain.c.block_number)).scalar_one()
    assert (state(indexed).block, state(indexed).basis, state(indexed).problem) == (head, "analysis", None)
    assert state(indexed).age < 60
    held = {agent for agent, status in stored(indexed).items() if status == "held_back"}
    ranks = stored(indexed, "rank")
    assert held == {agent for agent, rank in ranks.items() if rank is None}
    assert not refresher.refresh(), "nothing came, so nothing is to be done"


def test_failed_analysis_leaves_standings_by_ratings_and_is_said_until_one_succeeds(indexed):
    Refresher(indexed, make=FailingAnalyst).refresh()
    assert state(indexed).basis == "ratings"
    assert state(indexed).problem == "ValueError: the analysis met a row that it cannot read"
    assert chain_statuses(indexed)[0].standings == state(indexed)
    assert set(stored(indexed, "basis").values()) == {"ratings"}
    Refresher(indexed).refresh()
    assert (state(indexed).basis, state(indexed).problem) == ("analysis", None)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_process_of_its_own_refreshes_when_rows_come(indexed):
    background = Background(indexed, ())
    background.start()
    try:
        first = waited_for(indexed, lambda now: now is not None and now.made_at)
        with indexed.begin() as connection:
            connection.execute(text("UPDATE standing_refresh SET made_at = 1"))
            connection.execute(text("UPDATE chain SET event_rows = event_rows + 1"))
        assert waited_for(indexed, lambda now: now.made_at > 1) >= first
    finally:
        background.end()


def waited_for(engine, is_reached, seconds=60):
    """Return the time of the standings, once it is reached."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with engine.connect() as connection:
            now = standings_states(connection).get(KEY.chain_id)
        if now is not None and is_reached(now):
            return now.made_at
        time.sleep(0.2)
    raise AssertionError(f"the standings were not refreshed in {seconds} seconds")
