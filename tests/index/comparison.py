"""Compare the index with the chain, and its derived tables with those computed anew."""

from __future__ import annotations

from sqlalchemy import select

from bilateral.core.contracts import Registry
from bilateral.index.log import tables as schema
from bilateral.index.log.database import open_database
from bilateral.index.log.rows import rows_of
from bilateral.index.projections import DERIVED_TABLES
from simulation.events import ADDRESSES
from tests.index.model import Model, stored_tables


def open_with_registries(url):
    """Open a database, and write down the registries of the tests."""
    engine = open_database(url)
    know_registries(engine)
    return engine


def know_registries(engine):
    """Write down the registries of the tests, as a worker does, unless they are there."""
    columns = schema.registry.c.keys()
    with engine.begin() as connection:
        for kind, address in ADDRESSES.items():
            row = (31337, address, kind.value, ADDRESSES[Registry.IDENTITY], 0)
            rows_of(connection).insert_if_absent(schema.registry, dict(zip(columns, row, strict=True)))


def chain_keys(event_chain, first_block=0):
    """Return block hash, index and address of every log that the chain holds from a block on."""
    query = {"fromBlock": hex(first_block), "toBlock": "latest", "address": list(ADDRESSES.values())}
    logs = event_chain.rpc("eth_getLogs", query)
    return sorted((log["blockHash"], int(log["logIndex"], 16), log["address"].lower()) for log in logs)


def stored_keys(engine):
    """Return the same of every row of the tables of events."""
    differences = []
    with engine.connect() as connection:
        for table in (*schema.EVENT_TABLES.values(), schema.undecodable_log):
            rows = connection.execute(select(table.c.block_hash, table.c.log_index, table.c.registry))
            differences += [("0x" + hash_.hex(), index, registry.lower()) for hash_, index, registry in rows]
    return sorted(differences)


def derived_rows(engine):
    """Return all rows of the derived tables."""
    with engine.connect() as connection:
        return {table.name: sorted(map(repr, connection.execute(select(table)).all())) for table in DERIVED_TABLES}


def assert_equals_model(engine, event_chain):
    """Check that every table holds exactly the rows that the plain model makes of the chain's logs."""
    query = {"fromBlock": "0x0", "toBlock": "latest", "address": list(ADDRESSES.values())}
    expected = Model(int(event_chain.rpc("eth_chainId"), 16), event_chain.rpc("eth_getLogs", query)).tables
    tables = stored_tables(engine)
    for name, rows in expected.items():
        assert tables[name] == rows, name
    assert tables.keys() == expected.keys()


def assert_exact(engine, store, event_chain):
    """Check that no row is missing, stale or double, and that derived rows equal those computed anew."""
    assert_equals_model(engine, event_chain)
    derived = derived_rows(engine)
    store.rebuild()
    assert derived_rows(engine) == derived
