"""The status tells the head as it was last seen, though no rows come."""

from __future__ import annotations

import threading
import time

import pytest
from sqlalchemy import update

from bilateral.index.errors import NoEndpointError
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Block
from bilateral.index.log.database import open_database
from bilateral.index.log.store import ChainStore
from bilateral.index.operating.chains import chains
from bilateral.index.operating.settings import ChainSettings
from bilateral.index.operating.status import chain_statuses
from bilateral.index.operating.worker import Worker
from bilateral.index.projections import PROJECTIONS
from bilateral.index.reading.readers import Reader
from tests.index.conftest import CHAIN_ID, DEPLOYMENT
from tests.index.proxy import Proxy
from tests.index.test_limits import STOPS


@pytest.fixture
def node(event_chain):
    """An endpoint of the chain that behaves as the test says."""
    with Proxy(event_chain.url) as node:
        yield node


@pytest.fixture
def catch_up(engine, node):
    """Follow the chain to its head, as a process that was just started does."""

    def run():
        settings = ChainSettings((node.url,), (DEPLOYMENT,), 1)
        Worker(engine, settings, stop=threading.Event()).run(until_head=True)

    return run


def grow(event_chain, generator, blocks):
    for _ in range(blocks):
        event_chain.mine(generator.logs(3))


def seen(engine):
    """Return the last indexed block, the head and the lag, as the status tells them."""
    (status,) = chain_statuses(engine)
    return status.block, status.head, status.lag


def age(engine):
    """Pretend that the last look was long ago."""
    with engine.begin() as connection:
        connection.execute(update(schema.chain).values(updated_at=1))


def test_status_and_readiness_tell_the_lag_while_the_endpoint_refuses_logs(
    event_chain, generator, engine, database_url, node, catch_up
):
    grow(event_chain, generator, 3)
    catch_up()
    age(engine)
    node.rules["eth_getLogs"] = lambda *_: STOPS["no key"]
    grow(event_chain, generator, 5)
    before = int(time.time())
    with pytest.raises(NoEndpointError):
        catch_up()
    assert seen(engine) == (3, 8, 5)
    reader = Reader(database_url)
    (progress,) = reader.read(chains)
    reader.close()
    assert (progress.lag, progress.updated_at >= before) == (5, True)


def test_status_tells_the_lag_of_a_chain_none_of_whose_logs_could_be_read(
    event_chain, generator, engine, node, catch_up
):
    node.rules["eth_getLogs"] = lambda *_: STOPS["no key"]
    grow(event_chain, generator, 5)
    with pytest.raises(NoEndpointError):
        catch_up()
    assert seen(engine) == (0, 5, 5)


def test_a_look_that_finds_no_new_block_is_told(event_chain, generator, engine, catch_up):
    grow(event_chain, generator, 3)
    catch_up()
    age(engine)
    before = int(time.time())
    catch_up()
    (status,) = chain_statuses(engine)
    assert status.updated_at.timestamp() >= before
    assert seen(engine) == (3, 3, 0)


def test_a_note_is_stored_every_five_seconds(event_chain, generator, engine, store, catch_up, monkeypatch):
    grow(event_chain, generator, 1)
    catch_up()
    times = [100.0]
    told = []
    for moment, head in ((100.0, 5), (104.9, 6), (105.0, 7), (109.9, 8), (110.0, 9)):
        times.append(moment)
        with monkeypatch.context() as patch:
            patch.setattr(time, "monotonic", lambda: times[-1])
            store.note_head(store.cursor(), head)
        told.append(seen(engine)[1])
    assert told == [5, 5, 7, 7, 9]


@pytest.mark.parametrize("other", [Block(0, bytes(32), 0), Block(1, bytes(32), 0)], ids=["number", "hash"])
def test_a_worker_whose_cursor_another_one_moved_notes_nothing(event_chain, generator, engine, catch_up, other):
    grow(event_chain, generator, 1)
    catch_up()
    age(engine)
    ChainStore(engine, CHAIN_ID, PROJECTIONS).note_head(other, 9)
    (status,) = chain_statuses(engine)
    assert (status.head, status.updated_at.timestamp()) == (1, 1)


def test_a_database_that_another_program_holds_ends_no_look(
    event_chain, generator, engine, database_url, store, catch_up
):
    grow(event_chain, generator, 1)
    catch_up()
    cursor = store.cursor()
    # The URL of PostgreSQL ends with the options of its sessions.
    waiting = open_database(database_url + ("?timeout=0" if "sqlite" in database_url else "%20-clock_timeout%3D10"))
    with engine.begin() as connection:
        connection.execute(update(schema.chain).values(updated_at=1))
        ChainStore(waiting, CHAIN_ID, PROJECTIONS).note_head(cursor, 9)
    waiting.dispose()
    assert seen(engine) == (1, 1, 0)
