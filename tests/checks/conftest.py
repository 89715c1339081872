"""The ledger of the tests of checks: on SQLite, and for what depends on the engine on both."""

from __future__ import annotations

import shutil

import pytest

from bilateral.documents import Limits, Loader
from bilateral.index.log.database import open_database
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PROJECTIONS
from tests.checks.ledger import CHAIN_ID, Ledger
from tests.index.conftest import (  # noqa: F401  # fixtures
    database_url,
    engine,
    fresh_postgres,
    postgres,
    postgres_template,
    sqlite_template,
)


@pytest.fixture(scope="session")
def loader():
    """A loader that reaches no server: files are in data URIs."""
    return Loader(limits=Limits(bytes=128 * 1024, seconds=60))


@pytest.fixture
def ledger(tmp_path, loader, sqlite_template):  # noqa: F811  # a fixture
    """A ledger on SQLite."""
    path = shutil.copy(sqlite_template, tmp_path / "index.sqlite")
    engine = open_database(f"sqlite:///{path}")  # noqa: F811  # not the fixture
    yield Ledger(engine, ChainStore(engine, CHAIN_ID, PROJECTIONS), loader)
    engine.dispose()


@pytest.fixture
def any_ledger(engine, loader):  # noqa: F811  # a fixture
    """A ledger on either engine."""
    return Ledger(engine, ChainStore(engine, CHAIN_ID, PROJECTIONS), loader)
