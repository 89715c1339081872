"""Notes about a chain's cursor say where it is at their commit, though other workers move it."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import pytest
from sqlalchemy import insert, select, text, update

from bilateral.index.files import tables as files
from bilateral.index.files.observations import note_observations
from bilateral.index.files.tables import Kind, State
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Batch, Block
from bilateral.index.log.database import snapshot
from bilateral.index.log.dialects import own_cursor
from bilateral.index.payments.projection import note_late_payments
from bilateral.index.payments.tables import FORGOTTEN, late_payment
from bilateral.index.payments.terms import PaymentTerms
from bilateral.index.payments.worker import PaymentStore
from tests.index.conftest import CHAIN_ID
from tests.index.payments.world import TOKEN

START, NEXT, LAST = (Block(number, bytes([number]) * 32, 0) for number in (6, 7, 8))
FILE_ID, OTHER_FILE_ID = b"\1" * 32, b"\2" * 32


def add_file(engine, file_id=FILE_ID, log_index=0):
    """Store a file that an event of the chain names."""
    numbers = dict.fromkeys(("found_at", "attempts", "failures", "refresh_seconds"), 0)
    file = {"file_id": file_id, "kind": Kind.FEEDBACK, "uri": "https://agent.example", "state": State.FAILED}
    place = {"chain_id": CHAIN_ID, "block_number": 6, "log_index": log_index}
    reference = {"kind": Kind.FEEDBACK, "registry": "0x", "agent_id": 1, "file_id": file_id}
    with engine.begin() as connection:
        connection.execute(insert(files.file).values(**file, **numbers))
        connection.execute(insert(files.file_reference).values(**place, **reference))


NOTES = {
    "files": (lambda connection: note_observations(connection, [FILE_ID]), files.file_sight),
    "payments": (lambda connection: note_late_payments(connection, CHAIN_ID, [2]), late_payment),
}


@pytest.fixture(params=NOTES)
def note(request, engine, store):
    """Functions that note the cursor in a transaction, and that return the noted block."""
    store.begin(START)
    add_file(engine)
    write, table = NOTES[request.param]

    def noted():
        with snapshot(engine) as connection:
            return connection.execute(select(table.c.seen_block)).scalar_one()

    return write, noted


def cursor(engine):
    with snapshot(engine) as connection:
        return connection.execute(select(schema.chain.c.block_number)).scalar_one()


@contextmanager
def waiting(engine, work):
    """Start some work in a thread, and go on once it waits for a lock; at the end, wait for the work."""
    thread = threading.Thread(target=work)
    thread.start()
    end = time.monotonic() + 300
    while engine.dialect.name == "postgresql":  # a writer of SQLite waits for the end of every other one
        with snapshot(engine) as connection:
            if connection.execute(text("SELECT count(*) FROM pg_locks WHERE NOT granted")).scalar_one():
                break
        assert thread.is_alive(), "it did not wait"
        assert time.monotonic() < end
    yield
    thread.join()


def in_transaction(engine, work):
    def run():
        with engine.begin() as connection:
            work(connection)

    return run


def test_cursor_does_not_move_before_a_note_about_it_is_stored(engine, store, note):
    write, noted = note
    with engine.connect() as connection:
        transaction = connection.begin()
        write(connection)
        with waiting(engine, lambda: store.append(START, Batch(NEXT, {}, [NEXT], 7))):
            assert cursor(engine) == 6
            transaction.commit()
    assert (cursor(engine), noted()) == (7, 6)


def test_note_waits_for_a_cursor_that_moves(engine, note):
    write, noted = note
    with engine.connect() as connection:
        transaction = connection.begin()
        connection.execute(update(schema.chain).values(block_number=7))
        own_cursor(connection, CHAIN_ID)
        with waiting(engine, in_transaction(engine, write)):
            transaction.commit()
    assert noted() == 7


def test_sights_are_stored_in_the_order_of_their_numbers(engine, store):
    store.begin(START)
    for index, file_id in enumerate((FILE_ID, OTHER_FILE_ID)):
        add_file(engine, file_id, index)
    with engine.connect() as connection:
        transaction = connection.begin()
        note_observations(connection, [FILE_ID])
        with waiting(engine, in_transaction(engine, lambda other: note_observations(other, [OTHER_FILE_ID]))):
            with snapshot(engine) as reader:
                assert reader.execute(select(files.file_sight.c.sight_id)).all() == []
            transaction.commit()
    with snapshot(engine) as reader:
        query = select(files.file_sight.c.file_id).order_by(files.file_sight.c.sight_id)
        assert [bytes(value) for value in reader.execute(query).scalars()] == [FILE_ID, OTHER_FILE_ID]


def test_refresh_that_finds_nothing_new_waits_for_no_other_sight(engine, store):
    store.begin(START)
    for index, file_id in enumerate((FILE_ID, OTHER_FILE_ID)):
        add_file(engine, file_id, index)
    with engine.begin() as connection:
        note_observations(connection, [FILE_ID])
    with engine.connect() as connection, snapshot(engine) as other:
        transaction = connection.begin()
        note_observations(connection, [OTHER_FILE_ID])
        note_observations(other, [FILE_ID])
        transaction.rollback()


def test_rollback_moves_a_note_that_was_not_stored_when_it_began(engine, store):
    store.begin(START)
    add_file(engine)
    store.append(START, Batch(LAST, {}, [NEXT, LAST], 8))
    with engine.connect() as connection:
        transaction = connection.begin()
        note_observations(connection, [FILE_ID])
        with waiting(engine, lambda: store.roll_back(LAST, START)):
            transaction.commit()
    with snapshot(engine) as connection:
        assert connection.execute(select(files.file_sight.c.seen_block)).scalar_one() == 7  # after the block that stays


def test_two_workers_that_learn_of_new_terms_begin_anew_once(engine, store):
    store.begin(START)
    former, new = ({"tokens": {TOKEN: decimals}} for decimals in (6, 18))
    PaymentStore(engine, CHAIN_ID, PaymentTerms(**former)).next_range()
    first, second = (PaymentStore(engine, CHAIN_ID, PaymentTerms(**new)) for _ in range(2))
    with engine.connect() as connection:
        transaction = connection.begin()
        first._cursor(connection, 5)
        with waiting(engine, second.next_range):
            transaction.commit()
    with snapshot(engine) as connection:
        notes = connection.execute(select(late_payment.c.first_block, late_payment.c.seen_block)).all()
    assert notes == [(FORGOTTEN, 6)]
