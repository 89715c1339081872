"""Two servers with a chain each behind a coordinator, and the same chains in one database."""

from __future__ import annotations

import pytest

from bilateral.api.settings import ApiSettings
from tests.api.described import comparing_client
from tests.api.world import served
from tests.index.shards.world import index_both, running_servers, sharded, two_chains


@pytest.fixture(scope="package")
def servers():
    with running_servers() as servers:
        yield servers


@pytest.fixture(scope="package")
def settings(servers, api_world):
    """The settings of two shards with a chain each, which are indexed."""
    with two_chains(api_world) as plain:
        settings = sharded(servers, plain)
        index_both(settings, settings.database)
        yield settings


@pytest.fixture(scope="package")
def whole(servers, api_world):
    """The URL of one database with both chains."""
    with two_chains(api_world) as plain:
        url = servers.database(0, "whole")
        index_both(plain, url)
        yield url


@pytest.fixture(scope="package")
def apis(settings, whole):
    """Clients of the service over both."""
    options = {"rate": None, "query_seconds": 60.0, "max_silence": 10**9, "needs_analysis": False}
    with (
        served(ApiSettings(database=settings.database, **options)) as of_shards,
        served(ApiSettings(database=whole, **options)) as of_one,
        comparing_client(of_shards) as sharded_client,
        comparing_client(of_one) as client,
    ):
        yield sharded_client, client
