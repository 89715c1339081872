"""Readers on a replica: PostgreSQL copies an index to another server, and the API's reader reads it there."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pgserver
import pytest
from msgspec.structs import replace
from sqlalchemy import create_engine, select, text
from sqlalchemy.exc import DBAPIError

from bilateral.index.chain.extraction import Extraction
from bilateral.index.chain.logs import grouped
from bilateral.index.store.chain_store import ChainStore
from bilateral.index.tables import schema
from bilateral.index.tables.batches import Batch, Block
from bilateral.query.readers import Reader
from simulation.events import Generator
from tests.index.comparison import open_with_registries
from tests.index.conftest import CHAIN_ID, REGISTRIES
from tests.index.test_extraction import entries
from tests.postgres import running_server, server_folder, with_driver

START = Block(6, bytes(32), 0)
PROGRAMS = Path(pgserver.__file__).parent / "pginstall" / "bin"


@pytest.fixture(scope="module")
def servers():
    """The URLs of a server and of its replica, which follows it by streaming."""
    with server_folder() as folder, running_server(folder / "primary") as primary:
        copy = folder / "replica"
        copy.mkdir(mode=0o700)
        user = primary.system_user  # the server does not run as root
        if user is not None:
            os.chown(copy, *(getattr(folder.joinpath("primary").stat(), name) for name in ("st_uid", "st_gid")))
        command = [PROGRAMS / "pg_basebackup", "-D", copy, "-d", primary.get_uri(), "-R", "-c", "fast"]
        subprocess.run(command, check=True, user=user, capture_output=True)  # noqa: S603  # ours
        for name in (".s.PGSQL.5432.lock", ".handle_pids.json"):  # of the server, not of its replica
            (copy / name).unlink(missing_ok=True)
        with running_server(copy) as replica:
            yield with_driver(primary.get_uri()), with_driver(replica.get_uri())


@pytest.fixture(scope="module")
def filled(servers):
    """The store of an index with some blocks on the server."""
    engine = open_with_registries(servers[0])
    store = ChainStore(engine, CHAIN_ID)
    store.begin(START)
    for number in (7, 8):
        logs = [replace(entry, blockNumber=hex(number)) for entry in entries(Generator(seed=1, hostile=0).logs(50))]
        blocks = grouped("node", logs, list(REGISTRIES), number, number)
        end = Block(number, blocks[0].hash, 5)
        store.append(store.cursor(), Batch(end, Extraction(CHAIN_ID, REGISTRIES).rows(blocks), [end], 8))
    yield store
    engine.dispose()


def asked(url, query):
    engine = create_engine(url)
    with engine.connect() as connection:
        value = connection.execute(text(query)).scalar_one()
    engine.dispose()
    return value


def wait_for_copy(servers):
    """Wait until the replica has all that the server has."""
    place = asked(servers[0], "SELECT pg_current_wal_insert_lsn()")
    end = time.monotonic() + 300
    while not asked(servers[1], f"SELECT pg_last_wal_replay_lsn() >= '{place}'"):
        assert time.monotonic() < end
        time.sleep(0.01)


def rows(url):
    """Return all rows of the index, as the reader of the API sees them."""
    reader, tables = Reader(url), schema.metadata.sorted_tables
    with reader.connect() as connection:
        rows_of = {table.name: sorted(map(repr, connection.execute(select(table)).all())) for table in tables}
    reader.close()
    return rows_of


def test_replica_has_each_row_and_each_rollback(servers, filled):
    wait_for_copy(servers)
    before = rows(servers[1])
    assert before == rows(servers[0])
    assert before["summary"]
    target = next(checkpoint for checkpoint in filled.checkpoints(8) if checkpoint.number == 7)
    filled.roll_back(filled.cursor(), target)
    wait_for_copy(servers)
    assert rows(servers[1]) == rows(servers[0]) != before


def test_replica_refuses_to_be_written(servers, filled):
    wait_for_copy(servers)
    engine = create_engine(servers[1])
    with pytest.raises(DBAPIError, match="read-only transaction"), engine.begin() as connection:
        connection.execute(text("DELETE FROM chain"))
    engine.dispose()
