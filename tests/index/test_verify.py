"""Blocks are read again and compared with the rows: all of them, or some ranges. Derived tables are computed anew."""

from __future__ import annotations

import pytest
from sqlalchemy import delete, insert, select, update

from bilateral.index.agents import tables as agent_tables
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.source import Source
from bilateral.index.files.tables import agent_file, payment_claim
from bilateral.index.log import tables as schema
from bilateral.index.operating.verification import Verifier, compare_derived
from bilateral.index.projections import DERIVED_TABLES
from bilateral.index.ratings import tables as rating_tables
from tests.index.conftest import CHAIN_ID, REGISTRIES


@pytest.fixture
def compare(settled_chain, engine, follow, monkeypatch):
    """Index the settled chain, and return what compares it in ranges of 100 blocks."""
    monkeypatch.setattr("bilateral.index.operating.verification.RANGE_BLOCKS", 100)
    follower = follow(settled_chain.url)
    while follower.step().block < settled_chain.head:
        pass
    verifier = Verifier(engine, Source(Endpoint(settled_chain.url), list(REGISTRIES)), REGISTRIES)
    return lambda **options: list(verifier.compare(0, settled_chain.head, **options))


def test_all_ranges_together_are_the_whole_chain(settled_chain, compare):
    ranges = compare()
    assert [entry.first for entry in ranges] == [0, *(entry.last + 1 for entry in ranges[:-1])]
    assert sum(entry.rows for entry in ranges) == len(settled_chain.logs)
    assert all(entry.is_equal for entry in ranges)


def test_samples_are_some_ranges_and_the_same_for_one_seed(compare):
    # An endpoint may give less than a range at once, which is then compared in parts.
    chosen = [{entry.first // 100 for entry in compare(samples=3, seed=seed)} for seed in (1, 1, 2)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert {len(entry) for entry in chosen} == {3}


def test_each_range_names_its_own_missing_rows(engine, compare):
    table = schema.metadata.tables["registered"]
    with engine.begin() as connection:
        connection.execute(delete(table).where(table.c.block_number < 100))
    different = [entry for entry in compare() if not entry.is_equal]
    assert {entry.first // 100 for entry in different} == {0}
    assert all(text.startswith("registered block ") for entry in different for text in entry.missing)


def stored_rows(engine):
    """Return all rows of the tables that rebuilding computes anew, and the journal and cursor that it resets."""
    with engine.connect() as connection:
        others = (schema.journal, schema.chain, agent_file, payment_claim)
        return {
            table.name: sorted(map(repr, connection.execute(select(table)).all()))
            for table in (*DERIVED_TABLES, *others)
        }


def test_derived_tables_that_follow_from_the_events_are_equal_and_stay_as_they_are(engine, compare):
    before = stored_rows(engine)
    derived = compare_derived(engine, CHAIN_ID)
    assert all(table.is_equal for table in derived)
    assert {table.table: table.rows for table in derived} == {
        table.name: len(before[table.name]) for table in DERIVED_TABLES
    }
    assert derived[0].rows > 0
    assert stored_rows(engine) == before


def test_changed_removed_and_added_rows_of_derived_tables_are_named(engine, compare):
    agent, summary = agent_tables.agent, rating_tables.summary
    with engine.begin() as connection:
        first, second = connection.execute(select(agent).order_by(agent.c.agent_id).limit(2)).all()
        connection.execute(update(agent).where(agent.c.agent_id == first.agent_id).values(uri="changed"))
        connection.execute(delete(agent).where(agent.c.agent_id == second.agent_id))
        connection.execute(insert(agent).values({**second._asdict(), "agent_id": 2**200}))
        connection.execute(update(summary).values(count=summary.c.count + 1))
    before = stored_rows(engine)
    comparisons = {table.table: table for table in compare_derived(engine, CHAIN_ID)}
    registry = first.identity_registry
    assert comparisons["agent"].places == (
        f"missing identity_registry {registry} agent_id {second.agent_id}",
        f"stale identity_registry {registry} agent_id {2**200}",
        f"different identity_registry {registry} agent_id {first.agent_id}",
    )
    assert (comparisons["agent"].missing, comparisons["agent"].stale, comparisons["agent"].different) == (1, 1, 1)
    assert comparisons["summary"].different == comparisons["summary"].rows > len(comparisons["summary"].places) > 0
    assert {name for name, table in comparisons.items() if not table.is_equal} == {"agent", "summary"}
    assert stored_rows(engine) == before


def test_a_verification_that_breaks_off_changes_nothing(engine, compare):
    before = stored_rows(engine)

    def break_off(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare_derived(engine, CHAIN_ID, break_off)
    assert stored_rows(engine) == before
    assert all(table.is_equal for table in compare_derived(engine, CHAIN_ID))
