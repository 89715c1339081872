"""Standings stay current by themselves, and a failed analysis stops nothing."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from sqlalchemy import select, text, update

from bilateral.index.log import tables as schema
from bilateral.index.operating.status import chain_statuses
from bilateral.index.standing import analysis
from bilateral.index.standing.analysis import Analyst, Refresher
from bilateral.index.standing.queries import standings_states
from bilateral.index.standing.tables import standing, standing_refresh
from bilateral.index.standing.worker import StandingsProcess
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
    assert (state(indexed).block, state(indexed).status, state(indexed).problem) == (head, "current", None)
    assert state(indexed).age < 60
    held = {agent for agent, status in stored(indexed).items() if status == "held_back"}
    ranks = stored(indexed, "rank")
    assert held == {agent for agent, rank in ranks.items() if rank is None}
    assert not refresher.refresh(), "nothing came, so nothing is to be done"


def test_failed_analysis_ranks_nobody_and_is_said_until_one_succeeds(indexed):
    Refresher(indexed, make=FailingAnalyst).refresh()
    assert state(indexed).lack == "is not analysed yet: ValueError: the analysis met a row that it cannot read"
    assert chain_statuses(indexed)[0].standings == state(indexed)
    assert stored(indexed) == {}
    Refresher(indexed).refresh()
    assert state(indexed).lack is None


def test_analysis_that_fails_later_keeps_the_last_standings(indexed):
    refresher = Refresher(indexed)
    refresher.refresh()
    before = stored(indexed)
    refresher._make, refresher._analysts = FailingAnalyst, {}
    with indexed.begin() as connection:
        connection.execute(text("UPDATE chain SET event_rows = event_rows + 1"))
    refresher.refresh()
    assert stored(indexed) == before != {}
    assert state(indexed).problem is not None


@pytest.mark.parametrize(
    ("seconds", "age", "status"),
    [(1, 595, "current"), (1, 605, "stale"), (400, 1195, "current"), (400, 1205, "stale")],
)
def test_standings_are_stale_after_ten_minutes_or_three_refreshes(indexed, seconds, age, status):
    Refresher(indexed).refresh()
    made = {"seconds": seconds, "made_at": int(time.time()) - age}
    with indexed.begin() as connection:
        connection.execute(update(standing_refresh).values(**made))
        assert standings_states(connection)[KEY.chain_id].status == "current", "no later block is indexed"
        connection.execute(text("UPDATE chain SET block_number = block_number + 1"))
    assert state(indexed).status == status


def test_standings_without_new_rows_are_confirmed_as_of_later_blocks(indexed, monkeypatch):
    refresher = Refresher(indexed)
    refresher.refresh()
    with indexed.begin() as connection:
        connection.execute(update(standing_refresh).values(made_at=1))
        connection.execute(text("UPDATE chain SET block_number = block_number + 1000"))
    assert state(indexed).is_stale
    monkeypatch.setattr(analysis, "_CONFIRM_SECONDS", 0.0)
    before = stored(indexed)
    assert not refresher.refresh()
    assert state(indexed).lack is None
    assert stored(indexed) == before


@pytest.mark.parametrize(("took", "pause"), [(0.0, 10.0), (25.0, 25.0)])
def test_refresh_waits_ten_seconds_or_its_own_duration_after_the_last_one(indexed, monkeypatch, took, pause):
    now = [100.0]

    class SlowAnalyst(Analyst):
        def analyse(self, *_, **__):
            now[0] += took

    monkeypatch.setattr(analysis, "time", SimpleNamespace(monotonic=lambda: now[0], time=time.time))
    refresher = Refresher(indexed, make=SlowAnalyst)
    assert refresher.refresh(is_paced=True)
    with indexed.begin() as connection:
        connection.execute(text("UPDATE chain SET event_rows = event_rows + 1"))
    now[0] += pause - 0.1
    assert not refresher.refresh(is_paced=True)
    now[0] += 0.2
    assert refresher.refresh(is_paced=True)


def test_process_analyses_only_the_chains_that_it_follows(indexed):
    assert not Refresher(indexed, {1: ("http://127.0.0.1:1",)}, only_followed=True).refresh()
    assert Refresher(indexed, {KEY.chain_id: ()}, only_followed=True).refresh()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_process_of_its_own_refreshes_when_rows_come(indexed):
    background = StandingsProcess(indexed, ())
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
