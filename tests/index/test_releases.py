"""Databases of earlier versions of the tables are migrated with all their rows.

releases/<version>.sqlite.xz is the database that the last commit with these tables made of `WORLD`. A change of the
tables adds a migration and the file of the new version; it never makes an earlier file anew. Until the first release
nobody has such a database, and `python -m tests.index.test_releases` makes the file anew instead.
"""

from __future__ import annotations

import lzma
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import func, select

from bench.world.build import build
from bench.world.people import World
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.log.database import connect_engine, open_database
from bilateral.index.log.revisions import upgrade_within
from bilateral.index.profiles.queries import agent
from bilateral.index.reading.readers import Reader
from bilateral.index.reading.registries import agent_key, read_registries
from tests.index.test_migrations import MODULES

FOLDER = Path(__file__).with_name("releases")
WORLD = World(agents=6, ratings=40, seed=32)


@pytest.fixture(params=schema.REVISIONS)
def migrated(request, tmp_path):
    """The URL of a database of a version, migrated to the version of this package."""
    (tmp_path / "index.sqlite").write_bytes(lzma.decompress((FOLDER / f"{request.param}.sqlite.xz").read_bytes()))
    url = f"sqlite:///{tmp_path / 'index.sqlite'}"
    engine = connect_engine(url)
    with engine.begin() as connection:
        assert upgrade_within(connection) == request.param
    engine.dispose()
    return url


def test_database_of_a_version_has_the_tables_of_this_one_after_its_migration(migrated):
    engine = open_database(migrated, creates=False)
    with engine.connect() as connection:
        modules = [module.metadata for module in MODULES]
        differences = compare_metadata(MigrationContext.configure(connection), modules)
    engine.dispose()
    kept = [difference for difference in differences if difference[0] not in {"add_index", "remove_table"}]
    assert kept == [], "add a migration; before the first release: python -m tests.index.test_releases"


def test_rows_of_a_version_are_answered_after_its_migration(migrated):
    reader = Reader(migrated)
    with reader.connect() as connection:
        last = agent(connection, agent_key(read_registries(connection), f"{WORLD.chain_id}:{WORLD.agents}"), newest=5)
        assert connection.scalar(select(func.count()).select_from(agent_tables.agent)) == WORLD.agents
        assert connection.scalar(select(schema.chain.c.event_rows)) > WORLD.agents + WORLD.ratings
    reader.close()
    assert last.registration is not None
    assert last.registration.name


def make() -> None:
    """Make the file of the newest version."""
    path = FOLDER / "new.sqlite"
    engine = open_database(f"sqlite:///{path}")
    build(engine, WORLD)
    engine.dispose()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("VACUUM")
    (FOLDER / f"{schema.REVISION}.sqlite.xz").write_bytes(lzma.compress(path.read_bytes(), preset=9))
    path.unlink()


if __name__ == "__main__":
    sys.exit(make())
