"""The small market, indexed on each engine."""

from __future__ import annotations

import threading

import pytest

from bilateral.core.contracts import Deployment, Registry
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.files.worker import FileSettings
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.index.operating.worker import follow_chains
from bilateral.index.standing.funding import FundingCollector
from bilateral.index.standing.tables import AnalysisKey
from scripts._anvil import running_anvil
from simulation.event_chain import OPTIONS, EventChain
from simulation.events import ADDRESSES
from tests.index.analysis.story import Market

KEY = AnalysisKey(31337, ADDRESSES[Registry.IDENTITY])
DEPLOYMENT = Deployment(
    31337,
    ADDRESSES[Registry.IDENTITY],
    ADDRESSES[Registry.BIDIRECTIONAL],
    ADDRESSES[Registry.AUTHORIZED],
    ADDRESSES[Registry.VALIDATION],
    first_block=1,
    buyers=ADDRESSES[Registry.BUYERS],
)


@pytest.fixture(scope="session")
def market(emitter_code):
    """The market, on a chain that no test changes."""
    with running_anvil(*OPTIONS) as url:
        market = Market(EventChain(url, emitter_code))
        market.tell()
        yield market


def index(engine, url):
    """Index a chain to its head."""
    settings = IndexSettings((ChainSettings((url,), (DEPLOYMENT,)),), files=FileSettings(workers=0), analyses=False)
    follow_chains(engine, settings, stop=threading.Event(), until_head=True)


def collector(engine, *urls, progress=lambda *_: None):
    """Return a collector of sources of funds."""
    return FundingCollector(engine, KEY, Pool(31337, [Source(Endpoint(url), ()) for url in urls]), progress)


@pytest.fixture
def indexed(engine, market):
    """The database of the indexed market."""
    index(engine, market.chain.url)
    return engine
