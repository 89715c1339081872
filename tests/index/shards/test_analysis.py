"""The trust analysis of chains on several servers is that of one database with the same rows."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from bilateral.cli.analysis import results_of_index
from bilateral.index.files.worker import FileSettings
from bilateral.index.log.database import open_database
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.trust.results import Results
from tests.api.world import CHAIN_ID
from tests.commands import run_here
from tests.index.analysis.conftest import DEPLOYMENT, market  # noqa: F401  # a fixture
from tests.index.proxy import Proxy
from tests.index.shards.world import OTHER_CHAIN, index_both, sharded


@pytest.fixture(scope="module")
def markets(servers, market):  # noqa: F811
    """The URLs of the coordinator of a market on two chains, and of one database with both."""
    url = market.chain.url
    with Proxy(url, own={"eth_chainId": lambda _: hex(OTHER_CHAIN)}) as proxy:
        nodes = {CHAIN_ID: url, OTHER_CHAIN: proxy.url}
        chains = [ChainSettings((node,), (replace(DEPLOYMENT, chain_id=chain),)) for chain, node in nodes.items()]
        plain = IndexSettings(tuple(chains), poll_seconds=0.05, files=FileSettings(workers=0), analyses=False)
        settings, whole = sharded(servers, replace(plain, analyses=True), "market"), servers.database(0, "whole_market")
        index_both(settings, settings.database)
        index_both(plain, whole)
        for chain, node in nodes.items():
            command = ("analyse", "--database", whole, "--chain-id", chain, "--rpc-url", node)
            assert run_here("index", *command)[0] == 0
        yield settings.database, whole


def require_equal(ours, theirs):
    """Compare results, which have findings."""
    assert ours.findings.num_rows > 0
    for field in fields(Results):
        assert getattr(ours, field.name) == getattr(theirs, field.name), field.name


@pytest.mark.parametrize("chain_id", [CHAIN_ID, OTHER_CHAIN])
def test_index_with_shards_keeps_the_standings_of_each_chain_as_one_database_does(markets, chain_id):
    stored = []
    for url in markets:
        engine = open_database(url, creates=False)
        stored.append(results_of_index(engine, chain_id))
        engine.dispose()
    require_equal(*stored)


def test_chains_of_a_coordinator_are_analysed_together_as_those_of_one_database(markets, tmp_path):
    results = []
    for name, url in zip(("ours", "theirs"), markets, strict=True):
        code, _, err = run_here("trust", "analyse", "--database", url, "--out", tmp_path / name)
        assert code == 0, err
        results.append(Results.read(tmp_path / name))
    require_equal(*results)
    assert set(results[0].agents["chain_id"].to_pylist()) == {CHAIN_ID, OTHER_CHAIN}
