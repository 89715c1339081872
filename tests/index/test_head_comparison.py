"""An endpoint that lags behind another one is named, benched and replaced, until it has caught up."""

from __future__ import annotations

from concurrent.futures import wait
from types import SimpleNamespace

import pytest

from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.follow import Follower, Outcome
from bilateral.index.chain.pool import LONGEST_LAG, Pool
from bilateral.index.chain.source import Source
from tests.index.comparison import assert_equals_model
from tests.index.conftest import CHAIN_ID, REGISTRIES
from tests.index.proxy import Answer, Proxy

pytestmark = pytest.mark.one_engine


class Clock:
    """The clock of pools, moved by tests."""

    now = 1_000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("bilateral.index.chain.pool.time", clock)
    return clock


@pytest.fixture
def endpoints(event_chain, generator, clock):
    """Two proxies in front of one node, a pool of both, and the problems that benched them."""
    for _ in range(5):
        event_chain.mine(generator.logs(5))
    with Proxy(event_chain.url) as first, Proxy(event_chain.url) as second:
        sources = [Source(Endpoint(entry.url), list(REGISTRIES)) for entry in (first, second)]
        benched = []
        pool = Pool(CHAIN_ID, sources, lambda *problem: benched.append(problem))
        yield SimpleNamespace(first=first, second=second, pool=pool, sources=sources, benched=benched)


@pytest.fixture
def follower(store, endpoints):
    return Follower(store, endpoints.pool, REGISTRIES, first_block=0)


def stop_head(proxy, chain):
    """Let a proxy tell the present head for ever."""
    head = chain.rpc("eth_blockNumber")
    proxy.rules["eth_blockNumber"] = lambda *_: head


def step(follower, pool):
    """Take a step, and wait until a comparison of heads that it began has ended."""
    taken = follower.step()
    if pool._comparison.is_under_way:
        wait([pool._comparison._job[1]], timeout=300)
        assert pool._comparison.is_done, "the comparison of heads hangs"
    return taken


def test_stuck_endpoint_is_named_benched_and_replaced(endpoints, follower, event_chain, generator, engine, clock):
    step(follower, endpoints.pool)
    stop_head(endpoints.first, event_chain)
    for _ in range(3):
        event_chain.mine(generator.logs(5))
    assert step(follower, endpoints.pool).outcome is Outcome.WAITED  # nothing tells that more exists
    for _ in range(2):
        clock.now += LONGEST_LAG
        assert step(follower, endpoints.pool).outcome is Outcome.WAITED
        assert endpoints.benched == []
    taken = step(follower, endpoints.pool)
    assert (taken.outcome, taken.block, taken.endpoint) == (Outcome.ADVANCED, 8, endpoints.second.name)
    name = endpoints.first.name
    assert endpoints.benched == [(name, f"{name} lags: its last block is 5, but {endpoints.second.name} has block 8")]
    assert_equals_model(engine, event_chain)


def test_endpoint_that_lags_by_the_chains_clock_is_noticed_at_once(endpoints, event_chain, generator):
    stop_head(endpoints.first, event_chain)
    event_chain.mine(generator.logs(1))
    event_chain.rpc("evm_increaseTime", LONGEST_LAG + 1)
    event_chain.mine(generator.logs(1))
    assert endpoints.pool.compare_heads_now() == 1
    assert endpoints.pool.choose() is endpoints.sources[1]


def test_endpoint_that_lacks_only_the_latest_block_is_kept(endpoints, event_chain, generator):
    stop_head(endpoints.first, event_chain)
    event_chain.rpc("evm_increaseTime", 10 * LONGEST_LAG)  # a chain on which nothing happened for long
    event_chain.mine(generator.logs(1))
    assert endpoints.pool.compare_heads_now() == 0
    assert endpoints.pool.choose() is endpoints.sources[0]


def test_endpoint_that_lagged_is_used_again_once_it_has_caught_up(endpoints, event_chain, clock):
    stop_head(endpoints.first, event_chain)
    event_chain.rpc("anvil_mine", "0x3", "0x14")  # blocks of 20 seconds each
    assert endpoints.pool.compare_heads_now() == 1
    clock.now += 2
    assert endpoints.pool.choose() is endpoints.sources[1]
    assert [name for name, _ in endpoints.benched] == [endpoints.first.name] * 2
    endpoints.first.rules.clear()
    clock.now += 6
    assert endpoints.pool.choose() is endpoints.sources[0]


def test_endpoint_one_block_behind_at_comparisons_soon_after_each_other_is_kept(endpoints, event_chain, clock):
    stop_head(endpoints.first, event_chain)
    event_chain.mine([])
    for _ in range(3):
        assert endpoints.pool.compare_heads_now() == 0
    clock.now += LONGEST_LAG - 1
    assert endpoints.pool.compare_heads_now() == 0
    clock.now += 1
    assert endpoints.pool.compare_heads_now() == 1
    assert endpoints.benched[0][0] == endpoints.first.name


def test_comparison_between_does_not_put_the_regular_one_off(endpoints, follower, event_chain, clock):
    stop_head(endpoints.first, event_chain)
    event_chain.mine([])
    clock.now += LONGEST_LAG
    step(follower, endpoints.pool)
    clock.now += LONGEST_LAG / 2
    assert endpoints.pool.compare_heads_now() == 0
    clock.now += LONGEST_LAG / 2
    for _ in range(2):
        step(follower, endpoints.pool)
    assert [name for name, _ in endpoints.benched] == [endpoints.first.name]


def test_head_that_an_endpoint_cannot_show_blames_nobody(endpoints, clock):
    endpoints.second.rules["eth_blockNumber"] = lambda *_: hex(10**6)
    for _ in range(2):
        assert endpoints.pool.compare_heads_now() == 0
        clock.now += LONGEST_LAG


def test_endpoint_that_tells_no_head_is_benched(endpoints):
    endpoints.second.rules["eth_blockNumber"] = lambda *_: Answer(500, b"no")
    assert endpoints.pool.compare_heads_now() == 1
    assert endpoints.benched[0][0] == endpoints.second.name


def test_chain_that_gets_shorter_benches_nobody(endpoints, event_chain):
    endpoints.pool.compare_heads_now()
    event_chain.rpc("anvil_rollback", 3)
    assert endpoints.pool.compare_heads_now() == 0
