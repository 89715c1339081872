"""A made-up world in a database of each engine, which every test reads, and a plain model of searches over it."""

from __future__ import annotations

from uuid import uuid4

import pytest

from bench.world.build import build
from bench.world.people import World
from bilateral.index.log.database import open_database
from tests.index.files.conftest import gateway, loader, server, story  # noqa: F401  # fixtures
from tests.index.schemas import make_schema
from tests.index.search.oracle import Oracle

WORLD = World(agents=70, ratings=1_100, seed=3)


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def world_engine(request, tmp_path_factory, postgres):
    """The world in a database of its own. The server is an argument, so that it ends after this."""
    if request.param == "sqlite":
        engine = open_database(f"sqlite:///{tmp_path_factory.mktemp('searched') / 'world.sqlite'}")
        build(engine, WORLD)
        yield engine
        engine.dispose()
        return
    engine = open_database(make_schema(postgres, f"searched_world_{uuid4().hex}"))  # it goes with its server
    build(engine, WORLD)
    yield engine
    engine.dispose()


@pytest.fixture
def connection(world_engine):
    with world_engine.connect().execution_options(bilateral_reader=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def oracle(world_engine):
    """The model of searches: it goes through everything in plain Python."""
    return Oracle(world_engine)
