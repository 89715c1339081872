"""The index holds exactly what the chain holds, whatever the chain does."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.follow import Follower, Outcome
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.log import tables as schema
from bilateral.index.log.store import JOURNAL_BLOCKS
from tests.index.comparison import assert_exact, chain_keys, derived_rows, stored_keys
from tests.index.conftest import CHAIN_ID, REGISTRIES


def grow(event_chain, generator, blocks, logs=5):
    for _ in range(blocks):
        event_chain.mine(generator.logs(logs))


def test_every_log_becomes_a_row(event_chain, generator, engine, store, catch_up):
    grow(event_chain, generator, 30, logs=20)
    catch_up()
    assert len(stored_keys(engine)) >= 600
    assert_exact(engine, store, event_chain)


def test_blocks_deep_in_the_chain_are_read_exactly(event_chain, generator, engine, store, catch_up):
    grow(event_chain, generator, 10)
    event_chain.rpc("anvil_mine", hex(JOURNAL_BLOCKS + 20))
    grow(event_chain, generator, 10)
    catch_up()
    assert_exact(engine, store, event_chain)


@pytest.mark.sample(3)
@pytest.mark.parametrize("depth", [1, 5, 40])
def test_a_reorganisation_replaces_the_rows_of_its_blocks(event_chain, generator, engine, store, catch_up, depth):
    grow(event_chain, generator, 50)
    catch_up()
    event_chain.rpc("anvil_rollback", depth)
    grow(event_chain, generator, depth + 1)
    steps = catch_up()
    assert [step.depth for step in steps if step.outcome is Outcome.ROLLED_BACK] == [depth]
    assert_exact(engine, store, event_chain)


def test_a_reorganisation_deeper_than_the_journal_is_exact(
    event_chain, generator, engine, store, catch_up, monkeypatch
):
    monkeypatch.setattr("bilateral.index.log.batches._MOST_EVENTS", 10)  # it comes out in many parts
    monkeypatch.setattr("bilateral.index.log.rows._ROWS_AT_ONCE", 3)
    grow(event_chain, generator, 20)
    catch_up()
    event_chain.rpc("anvil_mine", hex(JOURNAL_BLOCKS + 30))
    catch_up()
    event_chain.rpc("anvil_rollback", JOURNAL_BLOCKS + 40)
    grow(event_chain, generator, 5)
    catch_up(trusts_reorganisation=True)
    assert_exact(engine, store, event_chain)


@pytest.mark.sample(3)
@pytest.mark.parametrize("further", [0, 3, JOURNAL_BLOCKS + 20])
def test_a_reorganisation_of_the_block_before_the_first_one_is_exact(event_chain, generator, engine, store, further):
    grow(event_chain, generator, 12)
    pool = Pool(CHAIN_ID, [Source(Endpoint(event_chain.url), list(REGISTRIES))])
    follower = Follower(store, pool, REGISTRIES, first_block=13, trusts_reorganisation=True)
    grow(event_chain, generator, further)
    while follower.step().outcome is not Outcome.WAITED:
        pass
    for removed, mined in ((further + 5, 8), (1, 2)):
        event_chain.rpc("anvil_rollback", removed)
        grow(event_chain, generator, mined)
        while follower.step().outcome is not Outcome.WAITED:
            pass
        assert stored_keys(engine) == chain_keys(event_chain, first_block=13)
        derived = derived_rows(engine)
        store.rebuild()
        assert derived_rows(engine) == derived
    assert store.cursor().number == 16


def test_a_chain_that_got_shorter_loses_its_rows(event_chain, generator, engine, store, catch_up):
    grow(event_chain, generator, 30)
    catch_up()
    event_chain.rpc("anvil_rollback", 10)
    catch_up()
    assert store.cursor().number == 20
    assert_exact(engine, store, event_chain)


def test_a_second_worker_stores_nothing_twice(event_chain, generator, engine, store, follow):
    grow(event_chain, generator, 30)
    workers = [follow(), follow()]
    outcomes = [workers[turn % 2].step().outcome for turn in range(6)]
    assert Outcome.ADVANCED in outcomes
    assert_exact(engine, store, event_chain)


def test_text_that_cannot_be_stored_is_replaced_and_its_bytes_are_kept(event_chain, generator, engine, catch_up):
    grow(event_chain, generator, 30, logs=40)
    catch_up()
    table = schema.metadata.tables["new_feedback"]
    with engine.connect() as connection:
        rows = connection.execute(select(table.c.tag1, table.c.raw_data).where(table.c.raw_data.is_not(None))).all()
    assert rows
    assert any("\N{REPLACEMENT CHARACTER}" in tag for tag, _ in rows)
    assert all(b"\xff\xfe" in raw or b"a\0b" in raw or b"\xf0\x9f\x98" in raw for _, raw in rows)
