"""A service over an index that is written without a chain."""

from __future__ import annotations

import pytest

from bilateral.api.settings import ApiSettings
from tests.api.world import served
from tests.explorer.stored import evidence_index


@pytest.fixture(scope="session")
def evidence_site(tmp_path_factory):
    """The URL of the service over the index of evidence."""
    database = f"sqlite:///{tmp_path_factory.mktemp('evidence') / 'index.sqlite'}"
    evidence_index(database)
    with served(ApiSettings(database=database, rate=None, query_seconds=60.0, max_silence=10**9)) as url:
        yield url
