"""Several projections may journal one batch: each goes through its blocks, and all of them are undone together."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from bilateral.index.agents.tables import agent_metadata, primary_agent
from bilateral.index.log.journal import DerivedTable, Journal, undo
from bilateral.index.log.places import create_partitions
from bilateral.index.log.rows import rows_of

CHAIN = 31337
REGISTRY, ALICE = "0x" + "11" * 20, "0x" + "22" * 20
CHANGES = {
    agent_metadata: ((CHAIN, REGISTRY, 1, "region"), [(b"eu",), (b"us",)]),
    primary_agent: ((CHAIN, REGISTRY, ALICE), [(1,), (2,)]),
}


@pytest.fixture
def connection(engine):
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            create_partitions(connection, CHAIN, CHANGES)
        yield connection


def stored(connection):
    return {table: connection.execute(select(table)).all() for table in CHANGES}


@pytest.mark.parametrize("target", [5, 6])
def test_two_tables_with_passes_of_their_own_return_to_a_block(connection, target):
    rows, journal = rows_of(connection), Journal(CHAIN, 0)
    for table, (key, states) in CHANGES.items():
        derived = DerivedTable(table, journal)
        derived.load(rows, [key])
        for block, state in zip((6, 7), states, strict=True):
            journal.begin_block(block)
            derived.set(key, state)
        derived.write(rows)
    journal.write(rows)
    undo(rows, CHAIN, target, CHANGES)
    expected = {table: [(*key, *states[0])] if target == 6 else [] for table, (key, states) in CHANGES.items()}
    assert stored(connection) == expected
