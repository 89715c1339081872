"""An endpoint that contradicted itself is not trusted by a later sample, and what it delivered before is read again."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bilateral.index.chain.pool import Limits
from bilateral.index.chain.source import FIRST_BLOCKS
from bilateral.index.errors import NoEndpointError
from bilateral.index.log.store import JOURNAL_BLOCKS
from tests.index.comparison import derived_rows
from tests.index.conftest import CHAIN_ID
from tests.index.proxy import Proxy, range_of, refusal
from tests.index.test_endpoints import LIES, WORD, Endpoints, assert_complete, stored_places

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def number_of(entry):
    return int(entry["blockNumber"], 16)


def of_block(number, **fields):
    """Return the rule of an endpoint that alters the logs of one block."""
    return lambda _, result: [log | fields if number_of(log) == number else log for log in result]


@pytest.fixture
def first_block(settled_chain):
    return settled_chain.head - JOURNAL_BLOCKS - 120


@pytest.fixture
def middle(settled_chain, first_block):
    """A block with logs deep in the chain, in a range of many blocks."""
    numbers = sorted({number_of(log) for log in settled_chain.logs if number_of(log) >= first_block})
    return numbers[4]


@pytest.fixture
def luck(monkeypatch):
    """Let each sample be the last block of its range, which is checked in any case."""
    stub = SimpleNamespace(randint=lambda _, last: last, choice=max)
    monkeypatch.setattr("bilateral.index.chain.reading.random", stub)


@pytest.fixture
def without_bench(monkeypatch):
    monkeypatch.setattr("bilateral.index.chain.pool._BENCH_SECONDS", (0.0,))


def test_logs_of_one_block_that_are_of_another_one_are_never_stored_however_often_it_is_tried(
    settled_chain, store, engine, proxy, first_block, middle, luck
):
    proxy.rules["eth_getLogs"] = of_block(middle, blockHash=WORD)
    for _ in range(4):
        alone = Endpoints(store, proxy.url, first_block=first_block)
        with pytest.raises(NoEndpointError, match=f"the logs for block {middle} belong to a different block"):
            alone.catch_up()
        assert alone.sources[0].loses_logs
    assert stored_places(engine) <= {(log["blockHash"], log["logIndex"]) for log in settled_chain.logs}
    assert store.cursor().number < middle


@pytest.mark.parametrize("lie", ["a log twice", "headers of other blocks"])
def test_every_header_is_read_after_any_contradiction_so_that_no_lost_log_hides(
    settled_chain, store, engine, proxy, first_block, middle, luck, without_bench, lie
):
    def altered(method):
        def rule(parameters, result):
            if lies and lies[0][0] == method and result:
                return lies.pop()[1](parameters, result)
            return [log for log in result if number_of(log) != middle] if method == "eth_getLogs" else result

        return rule

    alone = Endpoints(store, proxy.url, first_block=first_block, enough=1)
    alone.step()
    done, lies = store.cursor().number, [LIES[lie]]
    proxy.rules |= {method: altered(method) for method in ("eth_getLogs", "eth_getBlockByNumber")}
    proxy.calls.clear()
    alone.catch_up()
    assert (lies, alone.sources[0].loses_logs) == ([], True)
    assert_complete(engine, settled_chain)
    read = {int(block, 16) for block, _ in proxy.asked("eth_getBlockByNumber") if block.startswith("0x")}
    assert set(range(done + 1, settled_chain.head + 1)) <= read


@pytest.mark.parametrize("problem", ["its head moves back", "another chain"])
def test_problem_that_a_lagging_node_explains_causes_no_distrust(settled_chain, store, proxy, problem):
    alone = Endpoints(store, proxy.url, first_block=settled_chain.head - 100)
    alone.catch_up()
    proxy.rules["eth_blockNumber"] = lambda _, result: hex(int(result, 16) - 3)
    if problem == "another chain":
        proxy.rules["eth_chainId"] = lambda *_: "0x1"
        proxy.rules["eth_getBlockByNumber"] = lambda _, result: result | {"hash": WORD}
    with pytest.raises(NoEndpointError, match="cannot be trusted"):
        alone.step()
    assert not alone.sources[0].loses_logs


def test_contradiction_in_a_range_that_was_read_ahead_is_not_forgotten_by_the_second_read(
    settled_chain, store, engine, proxy, first_block
):
    lies = [1]

    def twice_once(parameters, result):
        is_later = range_of(parameters)[0] > first_block + FIRST_BLOCKS
        return [*result, *result[-1:]] if is_later and result and lies and lies.pop() else result

    proxy.rules["eth_getLogs"] = twice_once
    alone = Endpoints(store, proxy.url, first_block=first_block)
    alone.catch_up()
    assert (lies, alone.sources[0].loses_logs) == ([], True)
    assert_complete(engine, settled_chain)


@pytest.mark.parametrize("has_receipts", [True, False], ids=["with receipts", "without receipts"])
def test_other_logs_of_one_block_from_two_endpoints_are_never_retried_until_they_pass(
    settled_chain, store, engine, proxy, first_block, has_receipts
):
    proxy.rules["eth_getLogs"] = lambda _, result: [log | {"data": "0x" + "11" * 64} for log in result]
    with Proxy(settled_chain.url) as honest:
        for endpoint in () if has_receipts else (proxy, honest):
            endpoint.rules["eth_getBlockReceipts"] = lambda *_: refusal("method not found", -32601)
            endpoint.rules["eth_getTransactionReceipt"] = lambda *_: refusal("method not found", -32601)
        both = Endpoints(store, proxy.url, honest.url, first_block=first_block)
        if has_receipts:
            both.catch_up()
            assert_complete(engine, settled_chain)
        else:
            with pytest.raises(NoEndpointError, match=r"the logs for block .* differ"):
                both.catch_up()
            assert stored_places(engine) == set()
    assert [source.loses_logs for source in both.sources] == [True, not has_receipts]


class Losing:
    """The rule of an endpoint that leaves out logs of some blocks until it is proven; see `prove`."""

    def __init__(self, blocks, proof):
        self.blocks, self.proof = blocks, proof

    def __call__(self, _, result):
        return [log for log in result if number_of(log) not in (*self.blocks, self.proof)]


@pytest.mark.parametrize("is_restarted", [False, True], ids=["one run", "restarted"])
def test_proof_of_lost_logs_reaches_back_to_all_that_the_endpoint_delivered_alone(
    settled_chain, store, engine, proxy, first_block, luck, without_bench, is_restarted
):
    numbers = sorted({number_of(log) for log in settled_chain.logs if number_of(log) >= first_block})
    losing = proxy.rules["eth_getLogs"] = Losing(numbers[1:4], proof=-1)
    endpoints = Endpoints(store, proxy.url, first_block=first_block, enough=1)
    limits = Limits(engine, CHAIN_ID, endpoints.sources)
    while (cursor := store.cursor()) is None or cursor.number < numbers[3]:
        endpoints.step()
    limits.store()
    assert cursor.number <= settled_chain.head - JOURNAL_BLOCKS
    missing = len(settled_chain.logs) - len(stored_places(engine))
    losing.proof = next(number for number in reversed(numbers) if number > settled_chain.head - JOURNAL_BLOCKS)
    losing.blocks = ()
    if is_restarted:
        endpoints = Endpoints(store, proxy.url, first_block=first_block)
        Limits(engine, CHAIN_ID, endpoints.sources)
    assert endpoints.sources[0].alone_from == first_block
    endpoints.catch_up()
    assert missing
    assert endpoints.sources[0].alone_from is None
    assert_complete(engine, settled_chain)
    derived = derived_rows(engine)
    store.rebuild()
    assert derived_rows(engine) == derived


def test_range_that_a_second_endpoint_confirmed_is_not_read_again(settled_chain, store, engine, proxy, first_block):
    both = Endpoints(store, proxy.url, settled_chain.url, first_block=first_block)
    both.catch_up()
    assert both.sources[0].alone_from > first_block
