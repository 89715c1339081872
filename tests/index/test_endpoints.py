"""An endpoint that fails or lies is named, benched and replaced; the index stays what the chain is."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from sqlalchemy import select

from bilateral.core.contracts import Registry, selectors
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.follow import Follower, Outcome
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.errors import NoEndpointError
from bilateral.index.log import tables as schema
from bilateral.index.log.store import JOURNAL_BLOCKS
from tests.index.comparison import assert_equals_model
from tests.index.conftest import CHAIN_ID, REGISTRIES
from tests.index.proxy import Answer, Proxy, first_times, range_of

pytestmark = pytest.mark.one_engine

LATEST = 1_000
HUGE = hex(2**200)
WORD = "0x" + "77" * 32


class Endpoints:
    """A follower with several endpoints. Options are those of the follower.

    Attributes:
        benched: The host and the problem of each endpoint that was benched, in order.
        sources: The endpoints.
    """

    def __init__(self, store, *urls, first_block=0, **options):
        self.benched = []
        self.sources = [Source(Endpoint(url, timeout=60), list(REGISTRIES), wait=lambda _: True) for url in urls]
        pool = Pool(CHAIN_ID, self.sources, lambda *problem: self.benched.append(problem))
        self._follower = Follower(store, pool, REGISTRIES, first_block, **options)

    def catch_up(self):
        while self._follower.step().outcome is not Outcome.WAITED:
            pass

    def step(self):
        return self._follower.step()


@pytest.fixture
def beside_a_good_one(settled_chain, store, proxy):
    """Follow the settled chain through the proxy, with a good endpoint behind it in the list."""
    first_block = settled_chain.head - JOURNAL_BLOCKS - 200
    return Endpoints(store, proxy.url, settled_chain.url, first_block=first_block)


def changed(result, **fields):
    """Change fields of a result's last entry."""
    return [*result[:-1], result[-1] | fields] if result else result


LIES = {
    "of another chain": ("eth_chainId", lambda *_: "0x1"),
    "logs of another contract": ("eth_getLogs", lambda _, result: changed(result, address="0x" + "99" * 20)),
    "logs of a block that was not asked for": ("eth_getLogs", lambda _, result: changed(result, blockNumber="0x1")),
    "a log twice": ("eth_getLogs", lambda _, result: [*result, *result[-1:]]),
    "logs of another fork": ("eth_getLogs", lambda _, result: [entry | {"blockHash": WORD} for entry in result]),
    "headers with another time than their hash proves": (
        "eth_getBlockByNumber",
        lambda _, result: result | {"timestamp": hex(int(result["timestamp"], 16) - 1)},
    ),
    "some logs of another fork": ("eth_getLogs", lambda _, result: changed(result, blockHash=WORD)),
    "no logs of the latest blocks": (
        "eth_getLogs",
        lambda parameters, result: [] if range_of(parameters)[1] > LATEST else result,
    ),
    "every second header of another block": (
        "eth_getBlockByNumber",
        lambda _, result: result | {"number": hex(int(result["number"], 16) | 1)},
    ),
    "headers of other blocks": ("eth_getBlockByNumber", lambda _, result: result | {"number": "0x5"}),
    "headers that do not form a chain": ("eth_getBlockByNumber", lambda _, result: result | {"parentHash": WORD}),
}

FAILURES = {
    "a block number beyond 63 bits": ("eth_getLogs", lambda _, result: changed(result, blockNumber=HUGE)),
    "a log index beyond 31 bits": ("eth_getLogs", lambda _, result: changed(result, logIndex=hex(2**31))),
    "a negative log index": ("eth_getLogs", lambda _, result: changed(result, logIndex="-0x1")),
    "a time beyond 63 bits": ("eth_getBlockByNumber", lambda _, result: result | {"timestamp": HUGE}),
    "a short hash": ("eth_getLogs", lambda _, result: changed(result, blockHash="0x12")),
    "a short topic": ("eth_getLogs", lambda _, result: changed(result, topics=["0x12"])),
    "five topics": ("eth_getLogs", lambda _, result: changed(result, topics=[WORD] * 5)),
    "data with blanks": ("eth_getLogs", lambda _, result: changed(result, data="0x12 34")),
    "data without 0x": ("eth_getLogs", lambda _, result: changed(result, data="1234")),
    "an address that is no address": ("eth_getLogs", lambda _, result: changed(result, address="0x12")),
    "a log that was removed": ("eth_getLogs", lambda _, result: changed(result, removed=True)),
    "a log without its block": ("eth_getLogs", lambda _, result: changed(result, blockHash=None)),
    "null instead of logs": ("eth_getLogs", lambda *_: None),
    "text instead of logs": ("eth_getLogs", lambda *_: "logs"),
    "a header with a huge number": ("eth_getBlockByNumber", lambda _, result: result | {"number": HUGE}),
    "no header": ("eth_getBlockByNumber", lambda *_: None),
    "a head that is no number": ("eth_blockNumber", lambda *_: "many"),
    "a head beyond 63 bits": ("eth_blockNumber", lambda *_: HUGE),
    "HTTP 500": ("eth_getLogs", lambda *_: Answer(500, b"no")),
    "HTTP 302": ("eth_getLogs", lambda *_: Answer(302, b"")),
    "no JSON": ("eth_getLogs", lambda *_: Answer(200, b"<html>")),
    "deep JSON": ("eth_getLogs", lambda *_: Answer(200, b"[" * 100_000)),
    "nothing": ("eth_getLogs", lambda *_: Answer(200, None)),
}


@pytest.mark.sample(12)
@pytest.mark.parametrize("fault", [*LIES, *FAILURES])
def test_an_endpoint_that_gives_what_cannot_be_is_named_and_replaced(
    settled_chain, store, engine, proxy, beside_a_good_one, fault
):
    method, rule = (LIES | FAILURES)[fault]
    proxy.rules[method] = rule
    beside_a_good_one.catch_up()
    assert {name for name, _ in beside_a_good_one.benched} == {proxy.name}
    assert_complete(engine, settled_chain)


@pytest.mark.sample(12)
@pytest.mark.parametrize("fault", [*LIES, *FAILURES])
def test_an_endpoint_that_stands_alone_and_gives_what_cannot_be_stores_nothing_wrong(
    settled_chain, store, engine, proxy, fault
):
    method, rule = (LIES | FAILURES)[fault]
    alone = Endpoints(store, proxy.url, first_block=settled_chain.head - JOURNAL_BLOCKS - 200)
    proxy.rules[method] = rule
    with pytest.raises(NoEndpointError, match=proxy.name):
        alone.catch_up()
    held = {(log["blockHash"], log["logIndex"]) for log in settled_chain.logs}
    assert stored_places(engine) <= held


def assert_complete(engine, chain):
    """Check that the logs from the first indexed block on are stored, and no others."""
    with engine.connect() as connection:
        first = connection.execute(select(schema.chain.c.first_block)).scalar_one()
    expected = {(log["blockHash"], log["logIndex"]) for log in chain.logs if int(log["blockNumber"], 16) >= first}
    assert stored_places(engine) == expected


def stored_places(engine):
    logs = set()
    with engine.connect() as connection:
        for table in (*schema.EVENT_TABLES.values(), schema.undecodable_log):
            rows = connection.execute(select(table.c.block_hash, table.c.log_index))
            logs |= {("0x" + hash_.hex(), hex(index)) for hash_, index in rows}
    return logs


def without(parts):
    """Return the rule of an endpoint that leaves out one log of several."""

    def rule(_, result):
        return [log for at, log in enumerate(result) if at % parts]

    return rule


def test_an_endpoint_known_to_lose_logs_is_read_twice_deep_in_the_chain(
    settled_chain, store, engine, proxy, beside_a_good_one
):
    beside_a_good_one.sources[0].lost_logs_at = int(time.time())
    proxy.rules["eth_getLogs"] = without(7)
    beside_a_good_one.catch_up()
    assert "omitted" in beside_a_good_one.benched[0][1]
    assert_complete(engine, settled_chain)


def test_the_first_range_deep_in_the_chain_is_read_from_a_second_endpoint_too(
    settled_chain, engine, proxy, beside_a_good_one
):
    proxy.rules["eth_getLogs"] = without(7)
    beside_a_good_one.catch_up()
    assert "omitted" in beside_a_good_one.benched[0][1]
    assert beside_a_good_one.sources[0].loses_logs
    assert_complete(engine, settled_chain)


def test_endpoint_for_the_second_look_that_lags_is_not_blamed(settled_chain, store, engine, proxy):
    first = settled_chain.head - JOURNAL_BLOCKS - 200
    proxy.rules["eth_blockNumber"] = lambda *_: hex(first + 1)
    proxy.rules["eth_getLogs"] = lambda *_: []  # as nodes answer that lack the blocks
    endpoints = Endpoints(store, settled_chain.url, proxy.url, first_block=first)
    endpoints.catch_up()
    assert (endpoints.benched, endpoints.sources[1].loses_logs) == ([], False)
    assert_complete(engine, settled_chain)


def test_endpoint_for_the_second_look_that_tells_no_head_is_replaced(settled_chain, store, engine, proxy):
    proxy.rules["eth_blockNumber"] = lambda *_: Answer(500, b"no")
    endpoints = Endpoints(store, settled_chain.url, proxy.url, first_block=settled_chain.head - JOURNAL_BLOCKS - 200)
    endpoints.catch_up()
    assert {name for name, _ in endpoints.benched} == {proxy.name}
    assert_complete(engine, settled_chain)


@pytest.mark.parametrize("event", ["Registered", "MetadataSet"])
def test_filter_announces_the_first_topic_of_logs_that_an_endpoint_left_out(
    event_chain, generator, store, engine, event
):
    (topic,) = (value for value, entry in selectors(Registry.IDENTITY, "event").items() if entry["name"] == event)
    event_chain.mine(generator.logs(1))  # a new agent: one log of each kind
    with Proxy(event_chain.url) as losing:
        losing.rules["eth_getLogs"] = lambda _, result: [
            entry for entry in result if entry["topics"][0] != "0x" + topic.hex()
        ]
        endpoints = Endpoints(store, losing.url, event_chain.url)
        endpoints.catch_up()
    assert "omitted 1 logs of blocks 1 to 1" in endpoints.benched[0][1]
    assert_equals_model(engine, event_chain)


def test_the_endpoint_that_lost_logs_is_blamed_also_if_it_is_the_one_for_the_second_look(
    settled_chain, store, engine, proxy
):
    endpoints = Endpoints(store, settled_chain.url, proxy.url, first_block=settled_chain.head - 300)
    endpoints.sources[0].lost_logs_at = int(time.time())
    proxy.rules["eth_getLogs"] = without(3)
    endpoints.catch_up()
    assert {name for name, _ in endpoints.benched} == {proxy.name}
    assert_complete(engine, settled_chain)


def test_an_endpoint_that_loses_logs_now_and_then_is_complete_in_the_end_though_it_stands_alone(
    settled_chain, store, engine, proxy, monkeypatch
):
    monkeypatch.setattr("bilateral.index.chain.pool._BENCH_SECONDS", (0.0,))
    alone = Endpoints(store, proxy.url, first_block=settled_chain.head - 300)
    alone.sources[0].lost_logs_at = int(time.time())
    proxy.rules["eth_getLogs"] = first_times(1, without(4))
    alone.catch_up()
    assert_complete(engine, settled_chain)


def test_a_head_that_moves_back_removes_no_row_that_another_endpoint_confirms(
    settled_chain, store, engine, proxy, beside_a_good_one
):
    beside_a_good_one.catch_up()
    proxy.rules["eth_blockNumber"] = lambda _, result: hex(int(result, 16) - 50)
    assert beside_a_good_one.step().outcome is Outcome.WAITED
    assert beside_a_good_one.benched == [(proxy.name, beside_a_good_one.benched[0][1])]
    head = settled_chain.head
    assert f"moved back to {head - 50}, but it still has block {head}" in beside_a_good_one.benched[0][1]
    assert_complete(engine, settled_chain)
    with engine.connect() as connection:
        assert connection.execute(select(schema.chain.c.reorganizations)).scalar_one() == 0


def test_a_head_that_moves_back_removes_no_row_of_a_block_that_the_endpoint_still_has(
    settled_chain, store, engine, proxy
):
    alone = Endpoints(store, proxy.url, first_block=settled_chain.head - 100)
    alone.catch_up()
    proxy.rules["eth_blockNumber"] = lambda _, result: hex(int(result, 16) - 3)
    with pytest.raises(NoEndpointError, match=f"its head moved back to {settled_chain.head - 3}"):
        alone.step()
    assert store.cursor().number == settled_chain.head
    assert_complete(engine, settled_chain)


def test_a_block_that_another_worker_stored_meanwhile_blames_nobody(event_chain, generator, store, engine, proxy):
    proxy.node = event_chain.url
    event_chain.mine(generator.logs(3))
    slow, fast = Endpoints(store, proxy.url), Endpoints(store, event_chain.url)
    fast.catch_up()

    def overtaken(_, result):
        event_chain.mine(generator.logs(3))
        fast.catch_up()
        return result

    proxy.rules["eth_blockNumber"] = first_times(1, overtaken)
    slow.catch_up()
    assert slow.benched == []
    with engine.connect() as connection:
        assert connection.execute(select(schema.chain.c.reorganizations)).scalar_one() == 0
    assert_equals_model(engine, event_chain)


def test_an_endpoint_that_turns_to_another_chain_removes_nothing(settled_chain, store, engine, proxy):
    alone = Endpoints(store, proxy.url, first_block=settled_chain.head - 100)
    alone.catch_up()
    proxy.rules["eth_chainId"] = lambda *_: "0x1"
    proxy.rules["eth_getBlockByNumber"] = lambda _, result: result | {"hash": WORD}
    with pytest.raises(NoEndpointError, match="it is on chain 1 instead of 31337"):
        alone.step()
    assert_complete(engine, settled_chain)


def test_an_endpoint_that_lies_again_waits_for_an_hour(store, settled_chain, proxy, monkeypatch):
    monkeypatch.setattr("bilateral.index.chain.pool._BENCH_SECONDS", (0.0,))
    endpoints = Endpoints(store, proxy.url, settled_chain.url, first_block=settled_chain.head - 100)
    proxy.rules["eth_getLogs"] = LIES["a log twice"][1]
    for _ in range(3):
        endpoints.step()
    assert len(endpoints.benched) == 2


@pytest.mark.parametrize("depth", [3, JOURNAL_BLOCKS + 20])
def test_a_reorganisation_while_logs_are_read_leaves_no_row_of_the_former_branch(
    event_chain, generator, store, engine, depth
):
    for _ in range(20):
        event_chain.mine(generator.logs(4))
        event_chain.rpc("anvil_mine", hex(10))

    def reorganise(parameters, result):
        if reorganised or range_of(parameters)[1] < 20:
            return result
        reorganised.append(True)
        event_chain.rpc("anvil_rollback", depth)
        for _ in range(depth + 3):
            event_chain.mine(generator.logs(1) if depth < 10 else ())
        return result

    reorganised = []
    with Proxy(event_chain.url, {"eth_getLogs": reorganise}) as proxy:
        Endpoints(store, proxy.url).catch_up()
    assert reorganised
    assert_equals_model(engine, event_chain)


RACES = """
import importlib, sys, threading
from bilateral.index.chain import endpoint, logs

def ask(kind):
    at_once.wait()
    if endpoint.Endpoint(sys.argv[1]).request("eth_getLogs", (), kind) == []:
        answered.append(kind)

sys.setswitchinterval(1e-6)
answered = []
for _ in range(400):
    importlib.reload(logs)
    importlib.reload(endpoint)  # its types are new, and not built yet
    at_once = threading.Barrier(2)
    threads = [threading.Thread(target=ask, args=(list[logs.LogEntry],)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(len(answered))
"""


def test_threads_that_read_their_first_answers_at_once_do_not_crash_in_400_races(proxy):
    proxy.own["eth_getLogs"] = lambda _: []
    command = [sys.executable, "-c", RACES, proxy.url]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)  # noqa: S603  # ours
    assert (done.returncode, done.stdout) == (0, "800\n"), done.stderr
