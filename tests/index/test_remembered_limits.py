"""An endpoint's limit outlives the process that learnt it, for a day."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from bilateral.index import schema
from bilateral.index.endpoint import Endpoint
from bilateral.index.follow import Follower, Outcome
from bilateral.index.limits import Limits
from bilateral.index.pool import Pool
from bilateral.index.source import Source
from bilateral.index.store import ChainStore
from tests.index.conftest import CHAIN_ID, REGISTRIES
from tests.index.proxy import range_of, refusal

LARGEST = 100


@pytest.fixture
def database_url(tmp_path):
    """These tests are about endpoints: one engine is enough."""
    return f"sqlite:///{tmp_path / 'index.sqlite'}"


@pytest.fixture
def refused(proxy):
    """The numbers of blocks that the endpoint refused, which gives at most 100."""
    found = []

    def limit(parameters, result):
        first, last = range_of(parameters)
        if last - first < LARGEST:
            return result
        found.append(last - first + 1)
        return refusal(f"exceed maximum block range: {LARGEST}", -32701)

    proxy.rules["eth_getLogs"] = limit
    return found


@pytest.fixture
def restarted(engine, proxy):
    """Follow the settled chain anew, as a process that starts would."""

    def run(chain_id=CHAIN_ID):
        source = Source(Endpoint(proxy.url), list(REGISTRIES), wait=lambda _: True)
        limits = Limits(engine, chain_id, [source])
        follower = Follower(ChainStore(engine, CHAIN_ID), Pool(CHAIN_ID, [source]), REGISTRIES, first_block=0)
        while follower.step().outcome is not Outcome.WAITED:
            limits.store()
        with engine.begin() as connection:
            for table in (schema.chain, schema.block, schema.journal, *schema.PARTITIONED_TABLES):
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
