"""The made-up world of the measurements is a consistent index: the same seed makes the same rows."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from bench.world.build import build
from bench.world.people import World
from bilateral.index import schema
from bilateral.index.database import open_database
from bilateral.index.files import schema as files
from bilateral.index.store import ChainStore
from tests.index.comparison import derived_rows

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
    given = ("new_feedback", "new_authorized_feedback", "client_rated", "validator_rated")
    ratings = sum(count(built, schema.metadata.tables[name]) for name in given)
    assert count(built, schema.agent) == 40
    assert 590 <= ratings <= 600  # an agent rates another one once
    assert count(built, files.registration_file) >= 35


def test_derived_tables_of_a_world_follow_from_its_events(built):
    before = derived_rows(built)
    ChainStore(built, WORLD.chain_id).rebuild()
    assert derived_rows(built) == before


def test_same_seed_makes_the_same_world(built, tmp_path):
    again = open_database(f"sqlite:///{tmp_path / 'again.sqlite'}")
    build(again, WORLD)
    assert derived_rows(again) == derived_rows(built)
    again.dispose()
