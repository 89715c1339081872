"""Logs in ranges of blocks, at nodes that limit them in as many ways as nodes do."""

from __future__ import annotations

import math

import pytest

from bilateral.core.contracts.logs import LogPosition, RawLog
from bilateral.core.errors import MalformedNodeAnswerError, NodeError, NodeTimeoutError
from bilateral.core.identifiers import checksummed
from bilateral.node.logs import LogFilter, RangeLimit, read_logs
from bilateral.node.steps import Rpc

ADDRESS = "0x" + "ab" * 20
TOPIC = "0x" + "01" * 32
WANTED = LogFilter((ADDRESS.upper().replace("X", "x"),), (TOPIC,))
LAST = 49_999


def entry(block, index=0, **changes):
    return {
        "address": ADDRESS,
        "topics": [TOPIC],
        "data": "0x07",
        "blockNumber": hex(block),
        "blockHash": f"0x{block:064x}",
        "transactionHash": f"0x{index:064x}",
        "logIndex": hex(index),
    } | changes


class LimitedNode:
    """A node with a log every 1,000 blocks, which refuses ranges and lists beyond its limits in words of its own."""

    def __init__(self, refusal, blocks=math.inf, results=math.inf, code=-32000, data=None):
        self.refusal, self.blocks, self.results, self.code, self.data = refusal, blocks, results, code, data
        self.asked = []

    def __call__(self, step):
        assert isinstance(step, Rpc)
        (wanted,) = step.parameters
        first, last = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
        self.asked.append((first, last))
        entries = [entry(block) for block in range(math.ceil(first / 1000) * 1000, last + 1, 1000)]
        if last - first + 1 > self.blocks or len(entries) > self.results:
            words = {"first": first, "last": last, "asked": last - first + 1, "works": first + 999}
            words |= {"hex_first": hex(first), "hex_works": hex(first + 999)}
            data = self.data.format(**words) if self.data else None
            raise NodeError(step.method, self.code, self.refusal.format(**words), data)
        return entries


def run(operation, node):
    try:
        step = next(operation)
        while True:
            try:
                answer = node(step)
            except (NodeError, NodeTimeoutError) as error:
                step = operation.throw(error)
            else:
                step = operation.send(answer)
    except StopIteration as end:
        return end.value


REFUSALS = [
    "Under the Free tier plan, you can make eth_getLogs requests with up to a 1,000 block range. Based on your"
    " parameters, this block range should work: [{hex_first}, {hex_works}]. Upgrade to PAYG for expanded block range.",
    "Log response size exceeded. You can make eth_getLogs requests with up to a 1K block range",
    "range {asked} exceeds limit of 1000",
    "eth_getLogs is limited to a 1,000 range",
    "query exceeds max results 1, retry with the range {first}-{works}",
    "query exceeds max block range 1000",
    "exceed maximum block range: 1000",
    "ranges over 1000 blocks are not supported on free plan",
    "block range is too wide",
    "requested too many blocks from {first} to {last}, maximum is set to 1000",
    "logs matched by query exceeds limit of 1",
    "limit exceeded",
    "block range too large, max range: 1000",
    "query exceeds range, retry smaller (max block range 1000, got {asked})",
    "block range greater than 1000 max",
    "query returned more than allowed number of logs, try with smaller block range",
    "maximum [from, to] blocks distance: 1000",
    "too wide blocks range, the limit is 1000",
    "GetLogs query must be smaller than size 1000",
    "eth_getLogs is limited to 0 - 1000 blocks range",
    "block range is bigger than maxBlockRange",
    "Response is too big",
    "something that no table lists",
]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_limit_in_any_words_loses_no_log_and_costs_few_requests(refusal):
    node = LimitedNode(refusal, blocks=1000)
    logs = run(read_logs(WANTED, 0, LAST), node)
    assert [log.position.block_number for log in logs] == list(range(0, LAST + 1, 1000))
    assert len(node.asked) <= 2 * (LAST + 1) / 1000


@pytest.mark.parametrize(
    "data",
    [
        "Query returned more than 50000 results. Try with this block range [{hex_first}, {hex_works}].",
        "requested block range {asked} exceeds the limit of 1000; …",
    ],
)
def test_a_limit_that_only_the_data_names_is_read(data):
    node = LimitedNode("invalid params", blocks=1000, code=-32602, data=data)
    assert len(run(read_logs(WANTED, 0, LAST), node)) == 50
    assert len(node.asked) <= 2 * (LAST + 1) / 1000


@pytest.mark.parametrize("real", [101, 1, 2, 999])
def test_a_number_that_is_too_large_is_not_trusted_twice(real):
    node = LimitedNode("ranges over 10000 blocks are not supported on free plan", blocks=real, code=35)
    assert [log.position.block_number for log in run(read_logs(WANTED, 0, 2000), node)] == [0, 1000, 2000]


def test_a_hint_that_repeats_the_range_is_not_followed():
    node = LimitedNode("query exceeds max results 20000, retry with the range {first}-{last}", results=3)
    assert len(run(read_logs(WANTED, 0, LAST), node)) == 50


@pytest.mark.parametrize(
    "refusal",
    [
        "Please specify an address in your request or, to remove restrictions, order a dedicated full node here",
        "This query contains 5001 filters. The current limit is 5000.",
        "Archive requests require a personal token.",
    ],
)
def test_a_refusal_that_no_smaller_range_mends_is_told_at_once(refusal):
    node = LimitedNode(refusal, blocks=10)
    with pytest.raises(NodeError):
        run(read_logs(WANTED, 0, LAST), node)
    assert len(node.asked) == 1


def test_a_single_block_that_is_refused_is_told():
    node = LimitedNode("Response is too big", results=0)
    with pytest.raises(NodeError, match="too big"):
        run(read_logs(WANTED, 1000, 1003), node)
    assert node.asked[-1] == (1000, 1000)


@pytest.mark.parametrize("failure", [NodeTimeoutError("slow"), MalformedNodeAnswerError("cut")])
def test_an_answer_that_does_not_arrive_is_asked_for_in_parts(failure):
    asked = []

    def node(step):
        asked.append(step)
        if len(asked) == 1:
            raise failure
        return LimitedNode("")(step)

    def throwing(step):
        return node(step)

    operation = read_logs(WANTED, 0, LAST)
    step, reply = next(operation), None
    while reply is None:
        try:
            answer = throwing(step)
        except (NodeTimeoutError, MalformedNodeAnswerError) as error:
            step = operation.throw(error)
            continue
        try:
            step = operation.send(answer)
        except StopIteration as end:
            reply = end.value
    assert len(reply) == 50


def test_the_next_call_keeps_to_a_limit_learnt_before():
    limit, node = RangeLimit(), LimitedNode("exceed maximum block range: 1000", blocks=1000)
    run(read_logs(WANTED, 0, 4999, limit=limit), node)
    node.asked.clear()
    run(read_logs(WANTED, 5000, 9999, limit=limit), node)
    assert node.asked[0] == (5000, 5999)
    assert len(node.asked) <= 8


def test_a_range_grows_again_after_eight_answers():
    limit = RangeLimit(span=100, ceiling=120)
    for _ in range(7):
        limit.accepted()
    assert limit.span == 100
    limit.accepted()
    assert limit.span == 120


def test_a_search_ends_with_the_log_that_ends_it():
    node = LimitedNode("exceed maximum block range: 1000", blocks=1000)
    run(read_logs(WANTED, 0, LAST, is_last=lambda log: log.position.block_number == 2000), node)
    assert max(last for first, last in node.asked[2:]) < 4000


def test_a_range_without_blocks_asks_for_nothing():
    assert run(read_logs(WANTED, 5, 4), None) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"blockNumber": "0x0"},
        {"blockNumber": "0x3e9"},
        {"blockNumber": None},
        {"address": "0x" + "cd" * 20},
        {"address": "0x12"},
        {"topics": []},
        {"topics": ["0x" + "02" * 32]},
        {"topics": ["0x01"]},
        {"topics": [TOPIC] * 5},
        {"topics": "0x"},
        {"data": None},
        {"logIndex": 1},
        {"transactionHash": "0x01"},
        {"blockHash": None},
    ],
)
def test_a_log_that_was_not_asked_for_is_malformed(changes):
    with pytest.raises(MalformedNodeAnswerError):
        run(read_logs(WANTED, 1000, 1000), lambda _: [entry(1000, **changes)])


def test_a_log_has_typed_fields():
    place = LogPosition(checksummed(ADDRESS), 1000, f"0x{1000:064x}", f"0x{3:064x}", 3)
    (log,) = run(read_logs(WANTED, 1000, 1000), lambda _: [entry(1000, 3)])
    assert log == RawLog(place, (bytes.fromhex(TOPIC[2:]),), b"\x07")


@pytest.mark.parametrize(("hint", "time"), [("0x0", None), (0, None), (5, 5), ("0x05", 5), ("5", None), (1.5, None)])
def test_time_in_a_log_is_a_hint_in_any_form(hint, time):
    (log,) = run(read_logs(WANTED, 1000, 1000), lambda _: [entry(1000, 3, blockTimestamp=hint)])
    assert log.position.block_timestamp == time


def test_logs_are_in_the_order_of_the_chain():
    logs = run(read_logs(WANTED, 0, 2000), lambda _: [entry(2, 0), entry(1, 5), entry(1, 0)])
    assert [(log.position.block_number, log.position.log_index) for log in logs] == [(1, 0), (1, 5), (2, 0)]


def test_one_of_several_topics_and_contracts_may_match():
    wanted = LogFilter((ADDRESS, "0x" + "cd" * 20), ([TOPIC, "0x" + "02" * 32],))
    logs = run(read_logs(wanted, 0, 9), lambda _: [entry(1), entry(2, topics=["0x" + "02" * 32, TOPIC])])
    assert [log.position.block_number for log in logs] == [1, 2]
    assert wanted.parameters(0, 9)["address"] == list(wanted.addresses)
