"""A reader that keeps opinions reads the same tables as a new one, whatever the chain does between two readings."""

from __future__ import annotations

import pytest
from sqlalchemy import event

from bilateral.core.contracts import Registry
from bilateral.index.log.database import snapshot
from bilateral.index.standing.inputs import TableReader
from bilateral.trust.tables.schema import COLUMNS
from simulation.events import ADDRESSES, encoded
from tests.index.conftest import CHAIN_ID

IDENTITY = ADDRESSES[Registry.IDENTITY]
ON_ONE_ENGINE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # the reader decides, in Python


@pytest.fixture
def reader():
    return TableReader(CHAIN_ID, IDENTITY)


@pytest.fixture
def read(engine, reader):
    """Read by the reader and by a new one: both must agree. Return the blocks after which the reader read opinions."""

    def run():
        blocks = []

        def note(_connection, _cursor, statement, parameters, *_):
            if "SELECT CASE WHEN agent_id" in statement and " block_number > " in statement:
                blocks.append(parameters["last"] if isinstance(parameters, dict) else parameters[-1])

        with snapshot(engine) as connection:
            event.listen(engine, "before_cursor_execute", note)
            kept = reader.read(connection)
            event.remove(engine, "before_cursor_execute", note)
            fresh = TableReader(CHAIN_ID, IDENTITY).read(connection)
        for name in COLUMNS:
            assert getattr(kept.tables, name).equals(getattr(fresh.tables, name)), name
        assert {name: list(places) for name, places in kept.places.items()} == {
            name: list(places) for name, places in fresh.places.items()
        }
        assert kept.left_out == fresh.left_out
        return blocks

    return run


def grow(event_chain, generator, blocks=6):
    for _ in range(blocks):
        event_chain.mine(generator.logs(20))


@pytest.mark.sample(2)
@pytest.mark.parametrize("chunks", [1, 64])
def test_kept_opinions_equal_those_read_again_through_growth_revocations_and_reorgs(
    event_chain, generator, read, reader, catch_up, monkeypatch, chunks
):
    monkeypatch.setattr("bilateral.index.standing.opinions._MOST_CHUNKS", chunks)
    monkeypatch.setattr("bilateral.index.standing.opinions._AT_ONCE", 7)
    for depth in (0, 0, 3, 0, 9, 1):
        if depth:
            event_chain.rpc("anvil_rollback", depth)
        grow(event_chain, generator)
        catch_up()
        read()
    assert all(len(kept._rows) for kept in (*reader._feedback, reader._ratings))  # the world has them all


@ON_ONE_ENGINE
def test_opinions_of_later_blocks_alone_are_read(event_chain, generator, read, catch_up):
    grow(event_chain, generator)
    catch_up()
    assert read() == [-1, -1, -1]
    agent, account = 1, generator._accounts[0]
    values = (agent, account, 500, 80, 0, bytes(32), b"starred", b"", b"", b"", bytes(32))
    event_chain.mine([encoded(Registry.BIDIRECTIONAL, "NewFeedback", *values)])
    catch_up()
    assert read() == [6, 6, 6]
    assert read() == [7, 7, 7]


@ON_ONE_ENGINE
def test_revoked_feedback_is_left_out_and_no_other_is_read_again(event_chain, generator, read, catch_up):
    grow(event_chain, generator)
    catch_up()
    read()
    agent, account, index = generator._given[0]
    event_chain.mine([encoded(Registry.BIDIRECTIONAL, "FeedbackRevoked", agent, account, index)])
    catch_up()
    assert read() == [6, 6, 6]


@ON_ONE_ENGINE
def test_everything_is_read_again_after_a_reorganisation(event_chain, generator, read, catch_up):
    grow(event_chain, generator)
    catch_up()
    read()
    event_chain.rpc("anvil_rollback", 2)
    grow(event_chain, generator, 3)
    catch_up()
    assert read() == [-1, -1, -1]
