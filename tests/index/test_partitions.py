"""In PostgreSQL each chain has partitions of its own, and a query about one chain reads no other's."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import inspect, select, text
from sqlalchemy.exc import DBAPIError

from bilateral.index.chain.extraction import Extraction
from bilateral.index.chain.logs import grouped
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Batch, Block
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PARTITIONED_TABLES, PROJECTIONS
from simulation.events import ADDRESSES, Generator
from tests.index.test_extraction import entries

REGISTRIES = {address: registry for registry, address in ADDRESSES.items()}
CHAINS = (8453, 84532)


@pytest.fixture(params=["postgresql"])
def database_url(request, fresh_postgres):
    return fresh_postgres


@pytest.fixture
def filled(engine):
    """Two chains with the same events."""
    blocks = grouped("node", entries(Generator(seed=1, hostile=0).logs(200)), list(REGISTRIES), 7, 7)
    for chain in CHAINS:
        store, end = ChainStore(engine, chain, PROJECTIONS), Block(7, blocks[0].hash, 5)
        store.begin(Block(6, bytes(32), 0))
        store.append(Block(6, bytes(32), 0), Batch(end, Extraction(chain, REGISTRIES).rows(blocks), [end], 7))
    return engine


@pytest.mark.parametrize("table", ["new_feedback", "summary", "feedback"])
def test_a_query_about_one_chain_reads_no_other_chains_partition(filled, table):
    query = f"EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM {table} WHERE chain_id = 8453"  # noqa: S608  # names above
    with filled.connect() as connection:
        plan = connection.execute(text(query)).scalars().all()
    read = [line for line in plan if " on " in line and "never executed" not in line]
    assert any("_8453" in line for line in read)
    assert not any("_84532" in line for line in read)


def test_rows_of_a_chain_stand_in_its_partition(filled):
    with filled.connect() as connection:
        for table in PARTITIONED_TABLES:
            of_chain = connection.execute(select(table).where(table.c.chain_id == CHAINS[0])).all()
            name = schema.partition_name(table, CHAINS[0])
            of_partition = connection.execute(select(text("*")).select_from(text(f'"{name}"'))).all()
            assert len(of_partition) == len(of_chain)


def is_of_sqlite(index):
    return index._ddl_if is not None and index._ddl_if.dialect == "sqlite"


def test_partitions_have_the_keys_and_indexes_of_their_table(filled):
    inspector = inspect(filled)
    for table in PARTITIONED_TABLES:
        name = schema.partition_name(table, CHAINS[1])
        assert inspector.get_pk_constraint(name)["constrained_columns"] == list(table.primary_key.columns.keys())
        indexed = sorted(index["column_names"] for index in inspector.get_indexes(name))
        assert indexed == sorted(list(index.columns.keys()) for index in table.indexes if not is_of_sqlite(index))


def test_two_workers_that_begin_one_chain_at_once_make_its_partitions_once(engine):
    problems = []

    def begin():
        try:
            ChainStore(engine, 10, PROJECTIONS).begin(Block(6, bytes(32), 0))
        except DBAPIError as problem:
            problems.append(problem)

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert ChainStore(engine, 10, PROJECTIONS).cursor() == Block(6, bytes(32), 0)
