"""The service for buyers on each engine, over HTTP."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from bilateral.api.settings import ApiSettings
from bilateral.buyers.policies import BuyerSettings
from scripts._anvil import running_anvil
from simulation.event_chain import OPTIONS, EventChain
from tests.api.described import comparing_client
from tests.api.world import served
from tests.buyers.service.world import DAY, SELLER_ID, Market, index
from tests.postgres import running_postgres

KEY = "0x" + "11" * 32


@pytest.fixture(scope="session")
def buyers_market(project):
    """The chain, which no test changes."""
    code = project.MockLogEmitter.contract_type.runtime_bytecode.bytecode
    began = int(time.time()) - 54 * DAY
    with running_anvil(*OPTIONS, "--timestamp", str(began)) as url:
        market = Market(EventChain(url, code), code)
        market.tell()
        yield market


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def buyers_database(request, buyers_market, tmp_path_factory):
    """The URL of the indexed market."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('buyers') / 'index.sqlite'}"
        index(buyers_market.chain.url, url)
        yield url
        return
    with running_postgres() as url:
        index(buyers_market.chain.url, url)
        yield url


@pytest.fixture(scope="session")
def buyers_settings(buyers_database, buyers_market):
    settings = BuyerSettings(
        nodes={"31337": buyers_market.chain.url},
        disputes=True,
        provider="https://provider.example",
        seller=SELLER_ID,
        incentives={
            "enabled": True,
            "discounts": {"verified": 5, "trusted": 10, "premium": 15},
            "minimumBuyerScore": 50,
            "policyUrl": "https://myagent.com/buyer-policy",
        },
        key_variable="BUYERS_KEY",
    )
    usual = {"rate": None, "query_seconds": 60.0, "max_silence": 10**9, "needs_analysis": False}
    return ApiSettings(database=buyers_database, buyers=settings, **usual)


@pytest.fixture(scope="session")
def buyers(buyers_settings):
    """An HTTP client of the service."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BUYERS_KEY", KEY)
        with served(buyers_settings) as url, comparing_client(url) as client:
            yield client


@pytest.fixture
def buyers_with(buyers_settings):
    """Serve with other settings of the service for buyers."""

    def serve(**changes):
        settings = replace(buyers_settings, buyers=replace(buyers_settings.buyers, key_variable="", **changes))
        return served(settings)

    return serve
