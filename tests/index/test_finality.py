"""Finalized blocks stay until a second endpoint, or an operator, says that they are gone."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from bilateral.index.chain.follow import Outcome
from bilateral.index.errors import NoEndpointError
from tests.index.comparison import assert_exact, stored_keys
from tests.index.proxy import Proxy

BLOCKS = 175
FINALIZED = BLOCKS - 64
"""The last block that anvil calls finalized."""

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # no word of this is the engine's


def fall_behind(proxy, head):
    """Let an endpoint show a chain that ends earlier."""
    proxy.rules["eth_blockNumber"] = lambda *_: hex(head)
    proxy.rules["eth_getBlockByNumber"] = lambda _, block: block if block and int(block["number"], 16) <= head else None


@pytest.fixture
def indexed(event_chain, generator, catch_up):
    for _ in range(BLOCKS):
        event_chain.mine(generator.logs(2))
    catch_up()
    return event_chain


@pytest.fixture
def behind(indexed, monkeypatch):
    """An endpoint that falls far behind."""
    monkeypatch.setattr("bilateral.index.chain.pool._BENCH_SECONDS", (0.05,))
    with Proxy(indexed.url) as proxy:
        fall_behind(proxy, 25)
        yield proxy


def at_the_head(follower):
    """Follow to the head, and wait for endpoints on the bench."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with suppress(NoEndpointError):
            if (step := follower.step()).outcome is Outcome.WAITED:
                return step
        time.sleep(0.01)
    raise TimeoutError


def test_one_endpoint_that_falls_behind_removes_no_finalized_block(behind, indexed, engine, store, follow):
    before, follower = stored_keys(engine), follow(behind.url)
    for _ in range(3):
        time.sleep(0.06)  # longer than the bench
        with pytest.raises(NoEndpointError, match=rf"lacks blocks 20 to {FINALIZED}, which are indexed and finalized"):
            follower.step()
    assert stored_keys(engine) == before
    behind.rules.clear()
    assert at_the_head(follower).block == BLOCKS
    assert_exact(engine, store, indexed)


def test_the_same_endpoint_named_twice_removes_no_finalized_block(behind, engine, follow):
    before, follower = stored_keys(engine), follow(behind.url, behind.url)
    for _ in range(3):
        time.sleep(0.06)
        with pytest.raises(NoEndpointError):
            follower.step()
    assert stored_keys(engine) == before


def test_a_second_endpoint_that_has_the_finalized_blocks_is_used_instead(behind, indexed, engine, store, follow):
    follower = follow(behind.url, indexed.url)
    assert at_the_head(follower).endpoint != behind.name
    assert_exact(engine, store, indexed)


def test_a_second_endpoint_that_lacks_the_finalized_blocks_too_is_believed(behind, indexed, engine, store, follow):
    with Proxy(indexed.url) as second:
        fall_behind(second, 30)
        follower = follow(behind.url, second.url)
        assert follower.step().outcome is Outcome.ROLLED_BACK
    at_the_head(follow(indexed.url))
    assert_exact(engine, store, indexed)


def test_an_operator_may_believe_one_endpoint(behind, engine, store, follow):
    follower = follow(behind.url, trusts_reorganisation=True)
    assert follower.step().outcome is Outcome.ROLLED_BACK
    assert store.cursor().number == 19


def test_blocks_that_are_not_finalized_go_on_one_endpoints_word(behind, store, follow):
    fall_behind(behind, FINALIZED)
    assert follow(behind.url).step().block == FINALIZED
    fall_behind(behind, FINALIZED - 1)
    with pytest.raises(NoEndpointError, match=f"lacks blocks {FINALIZED} to {FINALIZED}"):
        follow(behind.url).step()
    assert store.cursor().number == FINALIZED
