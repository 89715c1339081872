"""An endpoint's limit outlives the process that learnt it, for a day."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import select, update

from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.follow import Follower, Outcome
from bilateral.index.chain.pool import Limits, Pool
from bilateral.index.chain.source import Source
from bilateral.index.log import tables as schema
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PARTITIONED_TABLES, PROJECTIONS
from tests.index.conftest import CHAIN_ID, REGISTRIES
from tests.index.proxy import range_of, refusal

pytestmark = pytest.mark.one_engine

LARGEST = 100


@pytest.fixture
def refused(proxy):
    """The numbers of blocks that the endpoint refused, which gives at most 100."""
    lasts = []

    def limit(parameters, result):
        first, last = range_of(parameters)
        if last - first < LARGEST:
            return result
        lasts.append(last - first + 1)
        return refusal(f"exceed maximum block range: {LARGEST}", -32701)

    proxy.rules["eth_getLogs"] = limit
    return lasts


@pytest.fixture
def restarted(engine, proxy):
    """Follow the settled chain anew, as a process that starts would."""

    def run(chain_id=CHAIN_ID):
        source = Source(Endpoint(proxy.url), list(REGISTRIES), wait=lambda _: True)
        limits = Limits(engine, chain_id, [source])
        follower = Follower(
            ChainStore(engine, CHAIN_ID, PROJECTIONS), Pool(CHAIN_ID, [source]), REGISTRIES, first_block=0
        )
        while follower.step().outcome is not Outcome.WAITED:
            limits.store()
        with engine.begin() as connection:
            for table in (schema.chain, schema.block, schema.journal, *PARTITIONED_TABLES):
                connection.execute(table.delete())

    return run


def test_a_restart_asks_for_no_more_than_was_given_before(refused, restarted):
    restarted()
    assert refused
    learnt = len(refused)
    restarted()
    assert len(refused) == learnt


def test_another_chain_of_the_same_host_learns_its_own_limit(refused, restarted):
    restarted()
    learnt = len(refused)
    restarted(chain_id=1)
    assert len(refused) > learnt


def test_a_limit_is_learnt_anew_after_a_day(refused, restarted, engine):
    restarted()
    learnt = len(refused)
    table = schema.endpoint_limit
    with engine.begin() as connection:
        connection.execute(update(table).values(learnt_at=table.c.learnt_at - 24 * 3600))
    restarted()
    assert len(refused) > learnt


def lossy(engine, proxy, chain_id=CHAIN_ID):
    """Return an endpoint as a process that starts knows it, and the limits that remember it."""
    source = Source(Endpoint(proxy.url), list(REGISTRIES))
    return source, Limits(engine, chain_id, [source])


def test_endpoint_that_lost_logs_is_known_after_a_restart_for_thirty_days(engine, proxy):
    source, limits = lossy(engine, proxy)
    source.lost_logs_at = int(time.time())
    limits.store()
    restarted, limits = lossy(engine, proxy)
    assert restarted.loses_logs
    assert restarted.size.blocks == source.size.blocks  # no limit was learnt
    limits.store()
    table = schema.endpoint_limit
    for days, is_known in ((29, True), (1, False)):
        with engine.begin() as connection:
            connection.execute(update(table).values(lost_logs_at=table.c.lost_logs_at - days * 24 * 3600))
        assert lossy(engine, proxy)[0].loses_logs == is_known


def test_another_chain_of_the_same_host_is_not_blamed_for_lost_logs(engine, proxy):
    source, limits = lossy(engine, proxy)
    source.lost_logs_at = int(time.time())
    limits.store()
    assert not lossy(engine, proxy, chain_id=1)[0].loses_logs


def test_endpoint_counts_as_one_that_loses_logs_for_thirty_days_within_one_process(engine, proxy):
    source, _ = lossy(engine, proxy)
    for seconds, is_known in ((29 * 24 * 3600, True), (30 * 24 * 3600, False)):
        source.lost_logs_at = int(time.time()) - seconds
        assert source.loses_logs == is_known


def test_later_loss_begins_the_thirty_days_anew(engine, proxy):
    source, limits = lossy(engine, proxy)
    for days in (29, 1):
        source.lost_logs_at = int(time.time()) - days * 24 * 3600
        limits.store()
    assert lossy(engine, proxy)[0].lost_logs_at == source.lost_logs_at


def two_keys(engine, proxy):
    """Return two endpoints at one provider, as a process that starts knows them, and the limits."""
    sources = [Source(Endpoint(f"{proxy.url}/{key}"), list(REGISTRIES)) for key in ("open-sesame", "swordfish")]
    return sources, Limits(engine, CHAIN_ID, sources)


def test_two_keys_at_one_provider_are_remembered_apart_and_not_shown(engine, proxy):
    sources, limits = two_keys(engine, proxy)
    sources[0].lost_logs_at = int(time.time())
    sources[1].size.refused(100, 70)
    limits.store()
    restarted, _ = two_keys(engine, proxy)
    assert [entry.loses_logs for entry in restarted] == [True, False]
    assert [entry.size.blocks for entry in restarted] == [source.size.blocks for source in sources]
    with engine.connect() as connection:
        names = connection.execute(select(schema.endpoint_limit.c.endpoint)).scalars().all()
    assert len(names) == 2
    for name in names:
        host, _, digest = name.partition("#")
        assert (host, len(digest)) == (sources[0].name, 8)
