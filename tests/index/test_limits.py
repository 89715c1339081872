"""Each provider's limit on `eth_getLogs`, in its own words, ends with every event indexed, or with a clear message."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from bilateral.core.contracts import Registry
from bilateral.core.errors import NodeError, NodeTimeoutError
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.follow import Follower, Outcome
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import FIRST_BLOCKS, RangeSize, Source
from bilateral.index.errors import NoEndpointError
from bilateral.node.ranges import Reaction, judge
from scripts._anvil import running_anvil
from simulation.event_chain import OPTIONS, EventChain
from simulation.events import ADDRESSES, Generator, Log
from tests.index.comparison import chain_keys, stored_keys
from tests.index.conftest import CHAIN_ID, REGISTRIES
from tests.index.proxy import Answer, Proxy, first_times, range_of, refusal

pytestmark = pytest.mark.one_engine


@dataclass(frozen=True)
class Limit:
    """A provider's limit, scaled to the test's chain.

    In the texts, `{limit}` is the limit, `{a}` and `{b}` are a range that fits, `{first}`, `{last}` and `{asked}` say
    what was asked for.

    Attributes:
        message: Its message.
        most: The most blocks, or logs, that it gives.
        code: The code of its error.
        data: The data of its error.
        status: Its HTTP status.
        of_logs: True if it limits logs.
    """

    message: str
    most: int
    code: int = -32000
    data: object = None
    status: int = 200
    of_logs: bool = False


LIMITS = {
    "Alchemy free": Limit(
        "Under the Free tier plan, you can make eth_getLogs requests with up to a {limit} block range. Based on your "
        "parameters, this block range should work: [{a:#x}, {b:#x}]. Upgrade to PAYG for expanded block range.",
        10,
        -32600,
        status=400,
    ),
    "Alchemy paid": Limit(
        "You can make eth_getLogs requests with up to a {limit} block range. Based on your parameters, this block "
        "range should work: [{a:#x}, {b:#x}]",
        100,
        -32600,
    ),
    "Alchemy size": Limit(
        "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the "
        "response size. Based on your parameters, this block range should work: [{a:#x}, {b:#x}]",
        40,
        -32602,
        of_logs=True,
    ),
    "Infura": Limit("range {asked} exceeds limit of {limit}", 100, -32602),
    "Infura results": Limit(
        "query returned more than {limit} results. Try with this block range [0x{a:X}, 0x{b:X}].",
        40,
        -32005,
        of_logs=True,
    ),
    "Infura results without a hint": Limit("query returned more than {limit} results", 15, -32005, of_logs=True),
    "Infura timeout": Limit("query timeout exceeded", 15, -32005, of_logs=True),
    "QuickNode": Limit("eth_getLogs is limited to a {limit:,} range", 1_000, -32614, status=413),
    "QuickNode free": Limit(
        "eth_getLogs is limited to a {limit} range, upgrade from discover plan at https://dashboard.quicknode.com/",
        5,
        -32615,
        status=413,
    ),
    "Base": Limit("eth_getLogs is limited to a {limit:,} range", 100, -32614),
    "Base, reth": Limit("query exceeds max results {limit}, retry with the range {a}-{b}", 40, -32602, of_logs=True),
    "Base, reth, the range asked": Limit(
        "query exceeds max results {limit}, retry with the range {first}-{last}", 15, -32602, of_logs=True
    ),
    "reth": Limit("query exceeds max block range {limit}", 100, -32602),
    "publicnode": Limit("exceed maximum block range: {limit}", 100, -32701),
    "dRPC free": Limit("ranges over 10000 blocks are not supported on free plan", 101, 35, status=400),
    "dRPC free, older": Limit("ranges over 10000 blocks are not supported on freetier", 101, 35, status=400),
    "Ankr": Limit("block range is too wide", 101, -32600),
    "Avalanche": Limit("requested too many blocks from {first} to {last}, maximum is set to {limit}", 204, -32000),
    "Flare": Limit("requested too many blocks from {first} to {last}, maximum is set to {limit}", 30, -32000),
    "Arbitrum": Limit("logs matched by query exceeds limit of {limit}", 15, -32000, of_logs=True),
    "BNB": Limit("limit exceeded", 130, -32005),
    "BNB, older": Limit("exceed maximum block range: {limit}", 500, -32000),
    "Polygon zkEVM": Limit("block range too large, max range: {limit}", 100, -32000),
    "Nethermind": Limit(
        "invalid params",
        40,
        -32602,
        "Query returned more than {limit} results. Try with this block range [{a:#x}, {b:#x}].",
        of_logs=True,
    ),
    "Ronin": Limit(
        "Invalid params",
        200,
        -32602,
        "requested block range {asked} exceeds the limit of {limit}; please narrow the range",
    ),
    "zkSync": Limit(
        "Query returned more than {limit} results. Try with this block range [{a:#x}, {b:#x}].",
        40,
        -32602,
        of_logs=True,
    ),
    "Celo": Limit("query exceeds range, retry smaller (max block range {limit}, got {asked})", 500, -32602),
    "Linea": Limit("range {asked} exceeds limit of {limit}", 100, -32602),
    "Mantle": Limit("block range greater than {limit} max", 100, -32602),
    "Immutable": Limit("exceeded maximum block range: {limit}", 500, -32000),
    "PulseChain": Limit(
        "query returned more than allowed number of logs, try with smaller block range", 15, -32000, of_logs=True
    ),
    "Cronos": Limit("maximum [from, to] blocks distance: {limit}", 200, -32000),
    "Sonic": Limit("too wide blocks range, the limit is {limit}", 100, -32000),
    "Harmony": Limit("GetLogs query must be smaller than size {limit}", 102, -32000),
    "1rpc": Limit("eth_getLogs is limited to 0 - {limit} blocks range", 50, -32602),
    "Cloudflare": Limit("Block range is too large. Max range: {limit}", 80, -32047),
    "Scroll": Limit("block range is bigger than maxBlockRange", 101, -32000),
    "Taiko": Limit("block range limit", 100, -32012, {"details": {"maxAllowedRange": "{limit}"}}),
    "Moonbeam": Limit("block range is too wide (maximum {limit})", 102),
    "jsonrpsee": Limit("Response is too big", 15, -32008, "Exceeded max limit of 167772160", of_logs=True),
    "OP stack": Limit("backend response too large", 15, -32020, of_logs=True),
    "cut off": Limit("", 101),
}

STOPS = {
    "publicnode, no address": refusal(
        "Please specify an address in your request or, to remove restrictions, order a dedicated full node here: "
        "https://www.allnodes.com/publicnode",
        -32701,
    ),
    "publicnode, old blocks": refusal(
        "Archive requests require a personal token. Get one at: https://www.allnodes.com/publicnode", -32602
    ),
    "Infura, parameters": refusal("This query contains 6000 filters. The current limit is 5000.", -32602),
    "Cloudflare, user agent": Answer(403, b"error code: 1010"),
    "no key": Answer(401, b"Unauthorized"),
    "unknown words": refusal("the moon is in the wrong house", -32099),
}

WAITS = {
    "QuickNode": refusal(
        "The requests per second (RPS) of your requests are higher than your plan allows.", 429, status=429
    ),
    "dRPC": refusal("Request timeout on the free plan, please upgrade to paid plan", 30, status=408),
    "Base": refusal("no backend is currently healthy to serve traffic", -32011, status=503),
    "no JSON": Answer(429, b"<html>slow down</html>"),
    "BNB": refusal("limit exceeded", -32005),
}


@pytest.fixture
def indexed(settled_chain, store, proxy):
    """Index the settled chain through the proxy, and return the seconds that were waited."""

    def run(first_block=0):
        waited = []
        source = Source(Endpoint(proxy.url), list(REGISTRIES), wait=lambda seconds: waited.append(seconds) or True)
        run.pool = Pool(CHAIN_ID, [source])
        follower = Follower(store, run.pool, REGISTRIES, first_block)
        while follower.step().outcome is not Outcome.WAITED:
            pass
        return waited

    return run


def fitting(limit, first, last, logs):
    """Return the last block of the longest range from a block within a limit."""
    if not limit.of_logs:
        return min(last, first + limit.most - 1)
    numbers = sorted(int(log["blockNumber"], 16) for log in logs)
    return last if len(numbers) <= limit.most else max(first, numbers[limit.most] - 1)


def enforcing(limit):
    """Return the rule of a proxy that enforces a limit."""

    def rule(parameters, result):
        first, last = range_of(parameters)
        end = fitting(limit, first, last, result)
        if end >= last:
            return result
        if not limit.message:
            return Answer(200, b'{"jsonrpc": "2.0", "result": [')
        words = {"limit": limit.most, "a": first, "b": end, "first": first, "last": last, "asked": last - first}
        data = limit.data.format(**words) if isinstance(limit.data, str) else limit.data
        if isinstance(data, dict):
            data = {"details": {"maxAllowedRange": limit.most}}
        return refusal(limit.message.format(**words), limit.code, data, limit.status)

    return rule


def least_calls(limit, chain, first_block):
    """Return the least number of calls that give all logs of a chain from a block on within a limit."""
    if not limit.of_logs:
        return math.ceil((chain.head + 1 - first_block) / limit.most)
    counts, calls, held = Counter(int(log["blockNumber"], 16) for log in chain.logs), 1, 0
    for number in sorted(counts):
        held += counts[number]
        if held > limit.most:
            calls, held = calls + 1, counts[number]
    return calls


@pytest.mark.sample(8)
@pytest.mark.parametrize("who", LIMITS)
def test_every_event_is_indexed_within_twice_the_least_calls(settled_chain, engine, proxy, indexed, who):
    limit = LIMITS[who]
    proxy.rules["eth_getLogs"] = enforcing(limit)
    first_block = 0 if limit.of_logs else max(0, settled_chain.head + 1 - 30 * limit.most)
    indexed(first_block)
    assert stored_keys(engine) == chain_keys(settled_chain, first_block)
    assert len(proxy.asked("eth_getLogs")) <= 2 * least_calls(limit, settled_chain, first_block)


@pytest.fixture(scope="module")
def dense_chain(emitter_code):
    """A chain of 2,100 blocks: the first hundred are full of logs, the others hardly hold any."""
    with running_anvil(*OPTIONS) as url:
        chain, events = EventChain(url, emitter_code), Generator(seed=3)
        for _ in range(100):
            chain.mine(events.logs(4)[:4])
        for _ in range(5):
            chain.rpc("anvil_mine", hex(399))
            chain.mine(events.logs(4)[:4])
        chain.head = int(chain.rpc("eth_blockNumber"), 16)
        chain.logs = chain.rpc("eth_getLogs", {"fromBlock": "0x0", "address": list(REGISTRIES)})
        yield chain


@pytest.mark.sample(1)
@pytest.mark.parametrize("who", [who for who, limit in LIMITS.items() if limit.of_logs])
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_limit_that_is_not_on_blocks_sets_no_ceiling_behind_a_dense_stretch(dense_chain, engine, store, who):
    limit = replace(LIMITS[who], most=32)
    with Proxy(dense_chain.url, {"eth_getLogs": enforcing(limit)}) as proxy:
        source = Source(Endpoint(proxy.url), list(REGISTRIES), wait=lambda _: True)
        follower = Follower(store, Pool(CHAIN_ID, [source]), REGISTRIES, 0)
        while follower.step().outcome is not Outcome.WAITED:
            pass
        assert source.size.ceiling is None
        assert len(proxy.asked("eth_getLogs")) <= 2 * least_calls(limit, dense_chain, 0)
    assert stored_keys(engine) == chain_keys(dense_chain)


@pytest.mark.sample(2)
@pytest.mark.parametrize("who", WAITS)
def test_a_limit_on_the_rate_is_waited_for(settled_chain, engine, proxy, indexed, who):
    proxy.rules["eth_getLogs"] = first_times(4, lambda *_: WAITS[who])
    assert indexed()
    assert stored_keys(engine) == chain_keys(settled_chain)


def test_the_time_that_an_endpoint_asks_for_is_waited(settled_chain, engine, proxy, indexed):
    proxy.rules["eth_getLogs"] = first_times(1, lambda *_: Answer(429, b"slow down", retry_after="7"))
    assert indexed() == [7]
    assert stored_keys(engine) == chain_keys(settled_chain)


def test_an_endpoint_that_asks_for_more_than_a_minute_is_left_alone_so_long(proxy, indexed, monkeypatch):
    proxy.rules["eth_getLogs"] = lambda *_: Answer(429, b"slow down", retry_after="61")
    now = 1_000.0
    monkeypatch.setattr("bilateral.index.chain.pool.time", SimpleNamespace(monotonic=lambda: now))
    with pytest.raises(NoEndpointError, match="slow down"):
        indexed()
    now += 60.9
    with pytest.raises(NoEndpointError, match="slow down"):
        indexed.pool.choose()
    now += 0.2
    assert indexed.pool.choose()


@pytest.mark.parametrize("who", STOPS)
def test_a_refusal_that_no_range_avoids_ends_with_its_words_and_a_way_on(proxy, store, indexed, who):
    proxy.rules["eth_getLogs"] = lambda *_: STOPS[who]
    text = STOPS[who].body.decode()
    words = json.loads(text)["error"]["message"] if '"message"' in text else text
    with pytest.raises(NoEndpointError, match=re.escape(words)):
        indexed()
    assert store.cursor().number == -1
    assert len(proxy.asked("eth_getLogs")) <= 3


def test_a_block_that_is_refused_alone_is_named_and_not_skipped(settled_chain, proxy, store, indexed):
    crowded = int(settled_chain.logs[30]["blockNumber"], 16)
    refused = refusal("query returned more than 10000 results", -32005)

    def rule(parameters, result):
        first, last = range_of(parameters)
        return refused if first <= crowded <= last else result

    proxy.rules["eth_getLogs"] = rule
    with pytest.raises(NoEndpointError, match=f"refused to return the logs of blocks {crowded} to {crowded}"):
        indexed()
    assert store.cursor().number == crowded - 1


def test_a_node_that_lags_behind_the_head_it_told_is_asked_for_its_head_again(settled_chain, engine, proxy, indexed):
    head, ends, heads = settled_chain.head, [], []

    def lag(parameters, result):
        ends.append(range_of(parameters)[1])
        if ends[-1] == head and ends.count(head) == 1:
            return refusal(f"BlockOutOfRangeError: block height is {head - 3} but requested was {head}", -32602)
        return result

    def told(_, result):
        heads.append(head - 3 if head in ends and head - 3 not in heads else head)
        return hex(heads[-1])

    proxy.rules |= {"eth_getLogs": lag, "eth_blockNumber": told}
    indexed()
    assert ends[-3:] == [head, head - 3, head]
    assert stored_keys(engine) == chain_keys(settled_chain)


@pytest.mark.parametrize("text", ["please try again", "", "0x", "[0x5, 0x1]", "range 9-3", "max range: 0"])
def test_a_senseless_refusal_never_asks_for_more_or_for_nothing(text):
    verdict = judge(NodeError("eth_getLogs", -32000, text), 100, 199)
    size = RangeSize(100)
    assert verdict.reaction is Reaction.SPLIT
    size.refused(100, verdict.blocks)
    assert size.blocks == 50


def test_a_limit_in_data_other_than_text_is_read():
    data = {"reason": "block range exceeds the limit of 500"}
    verdict = judge(NodeError("eth_getLogs", -32602, "invalid params", data), 0, 999)
    assert (verdict.reaction, verdict.blocks) == (Reaction.SPLIT, 500)


def test_a_time_out_halves_the_range_three_times_at_most():
    verdict = judge(NodeTimeoutError("slow"), 0, 99)
    assert (verdict.reaction, verdict.repeats, verdict.otherwise) == (Reaction.SPLIT, 3, Reaction.STOP)


def test_growth_never_passes_the_ceiling_that_the_endpoint_named():
    size = RangeSize(10_000)
    size.refused(10_000, 500)
    for _ in range(50):
        size.accepted(size.blocks, logs=1)
        assert size.blocks == 500


def test_an_answer_with_very_many_logs_makes_the_next_range_shorter():
    size = RangeSize(10_000)
    size.accepted(10_000, logs=100_000)
    assert size.blocks == 1_000


def test_logs_with_much_data_make_the_next_range_shorter(event_chain):
    data = bytes(300_000)
    for _ in range(60):
        event_chain.mine([Log(ADDRESSES[Registry.IDENTITY], (bytes(32),), data)])
    source = Source(Endpoint(event_chain.url), list(REGISTRIES))
    _, end = source.logs(1, 60)
    assert end == FIRST_BLOCKS
    assert source.size.blocks * len(data.hex()) < 11_000_000
