"""Ranges far from the head are stored by few transactions, each once, and never if they are known to be replaced."""

from __future__ import annotations

import sqlite3

import pytest
from sqlalchemy.exc import OperationalError

from bilateral.core.contracts import Registry
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.follow import Follower, Outcome
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.errors import NoEndpointError
from bilateral.index.log.database import connect_engine
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PROJECTIONS
from simulation.events import ADDRESSES, Log
from tests.index.comparison import assert_equals_model
from tests.index.conftest import CHAIN_ID, REGISTRIES
from tests.index.proxy import Answer, Proxy, range_of, refusal
from tests.index.test_endpoints import assert_complete

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


class Store(ChainStore):
    """The rows of the chain.

    Attributes:
        transactions: The first and the last block of each batch that was to be stored, and the number of its logs.
    """

    def __init__(self, engine):
        super().__init__(engine, CHAIN_ID, PROJECTIONS)
        self.transactions = []

    def append(self, cursor, batch, writes=None):
        self.transactions.append((cursor.number + 1, batch.end.number, batch.count))
        super().append(cursor, batch, writes)


class LockedStore(Store):
    """Rows that another program locks whenever a batch is to be stored."""

    def append(self, cursor, batch, writes=None):
        other = sqlite3.connect(self.engine.url.database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            super().append(cursor, batch, writes)
        finally:
            other.close()


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Let no step end because it took long."""
    monkeypatch.setattr("bilateral.index.chain.follow._MOST_SECONDS", 600.0)


@pytest.fixture
def parts_of_ten(monkeypatch):
    """Let one range have many parts."""
    monkeypatch.setattr("bilateral.index.chain.reading._MAX_LOGS", 10)


def follower_of(store, *urls, **options):
    sources = [Source(Endpoint(url), list(REGISTRIES)) for url in urls]
    return Follower(store, Pool(CHAIN_ID, sources), REGISTRIES, 0, **options)


def hundred_blocks(parameters, result):
    """Refuse more than 100 blocks at once."""
    first, last = range_of(parameters)
    return refusal("exceed maximum block range: 100", -32701) if last - first >= 100 else result


def fails_from(block):
    """Return the rule of an endpoint that gives logs of 100 blocks at most, and none from a block on."""

    def rule(parameters, result):
        return Answer(500, b"no") if range_of(parameters)[0] >= block else hundred_blocks(parameters, result)

    return rule


def test_several_ranges_are_stored_by_one_transaction(settled_chain, engine, proxy):
    proxy.rules["eth_getLogs"] = hundred_blocks
    store = Store(engine)
    assert follower_of(store, proxy.url).step().events == len(settled_chain.logs)
    assert store.transactions == [(0, settled_chain.head, len(settled_chain.logs))]
    assert len(proxy.asked("eth_getLogs")) > 10
    assert_complete(engine, settled_chain)


@ON_SQLITE
def test_a_transaction_ends_at_the_number_of_logs_that_is_given(settled_chain, engine, proxy, parts_of_ten):
    store = Store(engine)
    follower, events = follower_of(store, proxy.url, enough=20), 0
    while (step := follower.step()).outcome is not Outcome.WAITED:
        events += step.events
    starts, ends, counts = zip(*store.transactions, strict=True)
    assert starts == (0, *(end + 1 for end in ends[:-1]))
    assert sum(counts) == events == len(settled_chain.logs)
    assert len(counts) >= 7
    assert all(20 <= count < 30 for count in counts[:-1])
    assert_complete(engine, settled_chain)


@ON_SQLITE
@pytest.mark.parametrize(("characters", "counts"), [(32_000, [39]), (32_002, [19, 20])])
def test_long_texts_count_three_times_towards_the_end_of_a_transaction(
    event_chain, engine, monkeypatch, characters, counts
):
    monkeypatch.setattr("bilateral.index.chain.follow._ENOUGH_BYTES", 1_280_000)
    for _ in range(39):
        event_chain.mine([Log(ADDRESSES[Registry.IDENTITY], (bytes(32),), bytes(characters // 2 - 1))])
    store = Store(engine)
    follower = follower_of(store, event_chain.url)
    while follower.step().outcome is not Outcome.WAITED:
        pass
    assert [count for _, _, count in store.transactions if count] == counts


def test_a_range_that_fails_keeps_those_before_it(settled_chain, engine, proxy):
    proxy.rules["eth_getLogs"] = fails_from(500)
    store = Store(engine)
    with pytest.raises(NoEndpointError, match="HTTP status 500"):
        follower_of(store, proxy.url).step()
    ((_, end, count),) = store.transactions
    assert store.cursor().number == end >= 400
    assert count == sum(int(log["blockNumber"], 16) <= end for log in settled_chain.logs) > 0
    follower_of(store, settled_chain.url).step()
    assert_complete(engine, settled_chain)


def test_a_range_with_a_log_that_cannot_be_decoded_is_read_once_and_keeps_those_before_it(settled_chain, engine, proxy):
    def malformed(parameters, result):
        if range_of(parameters)[0] >= 500 and isinstance(result, list) and result:
            result[0]["data"] += "0"
        return hundred_blocks(parameters, result)

    proxy.rules["eth_getLogs"] = malformed
    store = Store(engine)
    with pytest.raises(NoEndpointError, match="the node returned malformed bytes"):
        follower_of(store, proxy.url).step()
    ((_, end, _),) = store.transactions
    assert store.cursor().number == end >= 400
    assert [range_of(entry)[0] for entry in proxy.asked("eth_getLogs")].count(end + 1) == 1
    follower_of(store, settled_chain.url).step()
    assert_complete(engine, settled_chain)


def test_a_reorganisation_of_ranges_that_wait_stores_nothing_of_them(event_chain, generator, engine):
    for _ in range(20):
        event_chain.mine(generator.logs(4))
        event_chain.rpc("anvil_mine", hex(14))

    def reorganise(parameters, result):
        if not reorganised and range_of(parameters)[0] > 100:
            reorganised.append(True)
            event_chain.rpc("anvil_rollback", 220)
            event_chain.mine(generator.logs(4))
            event_chain.rpc("anvil_mine", hex(230))
        return hundred_blocks(parameters, result)

    reorganised, outcomes, store = [], [], Store(engine)
    with Proxy(event_chain.url, {"eth_getLogs": reorganise}) as proxy:
        follower = follower_of(store, proxy.url)
        while Outcome.WAITED not in outcomes:
            outcomes.append(follower.step().outcome)
    assert reorganised
    assert Outcome.ROLLED_BACK not in outcomes
    assert [start for start, _, _ in store.transactions] == [0]
    assert_equals_model(engine, event_chain)


@ON_SQLITE
@pytest.mark.parametrize("enough", [20, 50_000], ids=["within a range", "at the end"])
def test_a_transaction_that_fails_is_tried_once(settled_chain, engine, database_url, parts_of_ten, enough):
    store = LockedStore(connect_engine(f"{database_url}?timeout=0"))
    with pytest.raises(OperationalError, match="locked"):
        follower_of(store, settled_chain.url, enough=enough).step()
    assert len(store.transactions) == 1
    assert store.cursor().number == -1


@ON_SQLITE
def test_a_transaction_that_fails_does_not_hide_that_the_endpoint_failed(engine, database_url, proxy):
    proxy.rules["eth_getLogs"] = fails_from(500)
    store = LockedStore(connect_engine(f"{database_url}?timeout=0"))
    with pytest.raises(NoEndpointError, match="HTTP status 500"):
        follower_of(store, proxy.url).step()
    assert len(store.transactions) == 1
