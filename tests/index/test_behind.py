"""With PostgreSQL a second connection reads while the first one writes; the rows are the same, or none."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import IntegrityError

from bilateral.index import behind, schema
from bilateral.index.activity import ActivityTable
from bilateral.index.endpoint import Endpoint
from bilateral.index.follow import Follower
from bilateral.index.pool import Pool
from bilateral.index.source import Source
from bilateral.index.store import Block
from tests.index.conftest import CHAIN_ID, REGISTRIES
from tests.index.test_endpoints import assert_complete

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.fixture(autouse=True)
def made(monkeypatch):
    """Let few logs suffice for a second connection, and return the accesses to rows that write behind."""
    made = []

    class Recorded(behind._RowsBehind):
        def __init__(self, *arguments):
            made.append(self)
            super().__init__(*arguments)

    monkeypatch.setattr(behind, "_MANY", 1)
    monkeypatch.setattr(behind, "_RowsBehind", Recorded)
    return made


@pytest.fixture
def step(store, settled_chain):
    """Store the whole chain by one transaction."""
    source = Source(Endpoint(settled_chain.url), list(REGISTRIES))
    return Follower(store, Pool(CHAIN_ID, [source]), REGISTRIES, 0).step


def assert_ended(made):
    """Check that one access wrote behind, and that its thread has ended."""
    (rows,) = made
    assert not rows._thread.is_alive()


def test_a_batch_is_the_same_that_one_connection_stores(step, engine, settled_chain, made):
    step()
    assert_ended(made)
    assert_complete(engine, settled_chain)


def test_a_write_that_fails_stores_nothing(step, engine, settled_chain, store, made):
    store.begin(Block(-1, bytes(32), 0))
    table = schema.block
    with engine.begin() as connection:  # another program wrote the row that the batch inserts
        connection.execute(
            table.insert().values(chain_id=CHAIN_ID, block_number=settled_chain.head, block_hash=bytes(32))
        )
    with pytest.raises(IntegrityError):
        step()
    assert_ended(made)
    assert store.cursor().number == -1
    with engine.begin() as connection:
        assert connection.execute(schema.chain.select()).one().event_rows == 0
        connection.execute(table.delete().where(table.c.block_number == settled_chain.head))
    step()
    assert_complete(engine, settled_chain)


def test_an_interruption_stores_nothing_and_leaves_no_thread(step, engine, settled_chain, store, made, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ActivityTable, "derive", interrupt)
        with pytest.raises(KeyboardInterrupt):
            step()
    assert_ended(made)
    assert store.cursor().number == -1
    step()
    assert_complete(engine, settled_chain)


def test_a_table_that_another_program_locks_is_waited_for_by_one_connection(
    step, engine, settled_chain, store, database_url, made
):
    store.begin(Block(-1, bytes(32), 0))
    other = create_engine(database_url.replace("postgresql:", "postgresql+psycopg:"))
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'agent_activity'::regclass")
    with other.connect() as holder, other.connect().execution_options(isolation_level="AUTOCOMMIT") as watcher:
        holder.exec_driver_sql("LOCK TABLE agent_activity IN ACCESS EXCLUSIVE MODE")
        thread = threading.Thread(target=step)
        thread.start()
        while not watcher.execute(waiting).scalar_one():
            assert thread.is_alive()
        holder.rollback()
        thread.join()
    other.dispose()
    assert not made
    assert_complete(engine, settled_chain)


def test_a_process_with_many_connections_takes_no_second_one(step, engine, settled_chain, made):
    with ExitStack() as stack:
        for _ in range(engine.pool.size()):
            stack.enter_context(engine.connect())
        step()
    assert not made
    assert_complete(engine, settled_chain)
