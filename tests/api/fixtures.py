"""Fixtures of the service, for every folder of tests: the world of `tests.api.world`, indexed and served.

The plugin is named in `tests/conftest.py`. A process makes the world and each of its databases once.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import replace

import pytest

from bilateral.api.settings import ApiSettings
from bilateral.index.reading.readers import Reader
from tests.api.described import comparing_client
from tests.api.world import build, index_world, served
from tests.postgres import running_postgres

ENGINES = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def api_world(project):
    """The world on its chain."""
    with build() as world:
        yield world


@pytest.fixture(scope="session")
def api_sqlite(api_world, tmp_path_factory):
    """The URL of the world's index in SQLite."""
    url = f"sqlite:///{tmp_path_factory.mktemp('world') / 'index.sqlite'}"
    index_world(api_world, url)
    return url


@pytest.fixture
def copied_database(api_sqlite, tmp_path):
    """The URL of a copy of the world's index, which a test may change."""
    path = tmp_path / "copy.sqlite"
    with sqlite3.connect(api_sqlite.removeprefix("sqlite:///")) as connection:
        connection.execute("VACUUM INTO ?", (str(path),))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    return f"sqlite:///{path}"


@pytest.fixture(scope="session")
def api_postgresql(api_world, tmp_path_factory):
    """The URL of the world's index in PostgreSQL."""
    with running_postgres() as url:
        index_world(api_world, url)
        yield url


@pytest.fixture(scope="session", params=ENGINES)
def api_database(request):
    """The URL of the world's index, on each engine."""
    return request.getfixturevalue(f"api_{request.param}")


@pytest.fixture(scope="session")
def api_reader(api_database):
    """The world's index, for queries without HTTP."""
    reader = Reader(api_database, seconds=60.0)
    yield reader
    reader.close()


@pytest.fixture(scope="session")
def api_settings(api_database):
    """The settings of the service, without a limit of requests."""
    return ApiSettings(database=api_database, rate=None, query_seconds=60.0, max_silence=10**9)


@pytest.fixture(scope="session")
def api(api_settings):
    """An HTTP client of the service."""
    with served(api_settings) as url, comparing_client(url) as client:
        yield client


@pytest.fixture
def api_with(api_settings):
    """Make clients of services with other settings; each is a context manager."""

    @contextmanager
    def serve(**changes):
        with served(replace(api_settings, **changes)) as url, comparing_client(url) as client:
            yield client

    return serve
