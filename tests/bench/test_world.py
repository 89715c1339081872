"""The made-up world of the measurements is a consistent index: the same seed makes the same rows."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from bench.world.__main__ import main
from bench.world.build import build, repeat
from bench.world.people import World
from bilateral.index.agents import tables as agent_tables
from bilateral.index.files import tables as files
from bilateral.index.log import tables as schema
from bilateral.index.log.database import open_database
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PROJECTIONS
from tests.index.comparison import derived_rows
from tests.postgres import running_postgres

WORLD = World(agents=40, ratings=600, seed=7)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    engine = open_database(f"sqlite:///{tmp_path_factory.mktemp('world') / 'world.sqlite'}")
    build(engine, WORLD)
    yield engine
    engine.dispose()


def count(engine, table):
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def test_world_has_as_many_agents_and_ratings_as_asked_for(built):
    tables = ("new_feedback", "new_authorized_feedback", "client_rated", "validator_rated")
    ratings = sum(count(built, schema.metadata.tables[name]) for name in tables)
    assert count(built, agent_tables.agent) == 40
    assert 590 <= ratings <= 600  # an agent rates another one once
    assert count(built, files.registration_file) >= 35


def test_derived_tables_of_a_world_follow_from_its_events(built):
    before = derived_rows(built)
    ChainStore(built, WORLD.chain_id, PROJECTIONS).rebuild()
    assert derived_rows(built) == before


def test_same_seed_makes_the_same_world(built, tmp_path):
    again = open_database(f"sqlite:///{tmp_path / 'again.sqlite'}")
    build(again, WORLD)
    assert derived_rows(again) == derived_rows(built)
    again.dispose()


def test_copies_of_a_world_are_whole_worlds(tmp_path):
    once = {schema.block, schema.chain, schema.journal, agent_tables.primary_agent, schema.registry}
    tables = [sorted_table for sorted_table in schema.metadata.sorted_tables if sorted_table not in once]
    with running_postgres() as url:
        engine = open_database(url)
        build(engine, WORLD)
        rows = {table.name: count(engine, table) for table in tables}
        repeat(engine, 3)
        assert {table.name: count(engine, table) for table in tables} == {
            name: 3 * number for name, number in rows.items()
        }
        derived = derived_rows(engine)
        ChainStore(engine, WORLD.chain_id, PROJECTIONS).rebuild()
        again = derived_rows(engine)
        engine.dispose()
    for name, expected in again.items():
        assert derived[name] == expected, name


def test_copies_are_not_made_in_sqlite(monkeypatch, capsys, tmp_path):
    path = tmp_path / "world.sqlite"
    monkeypatch.setattr("sys.argv", ["world", "--database", f"sqlite:///{path}", "--copies", "2"])
    with pytest.raises(SystemExit):
        main()
    assert "--copies needs PostgreSQL" in capsys.readouterr().err
    assert not path.exists()
