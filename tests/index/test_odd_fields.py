"""A field that a node omits, pads, types differently or fills with something else: the rows are right, or it is named.

docs/index.md says of each field what proves it. Here a proxy alters one field in each answer of a real node.
"""

from __future__ import annotations

import json
import re

import pytest

from bilateral.index.errors import NoEndpointError
from bilateral.index.log import tables as schema
from scripts._anvil import running_anvil
from simulation.event_chain import OPTIONS, EventChain
from simulation.events import Generator
from tests.index.conftest import CHAIN_ID, REGISTRIES
from tests.index.model import Model, stored_tables
from tests.index.proxy import Proxy, refusal
from tests.index.test_endpoints import Endpoints

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

DEEP, NEAR = 12, 12
FOREIGN = "0x" + "99" * 20
EVENTS = [table.name for table in (*schema.EVENT_TABLES.values(), schema.undecodable_log)]
ABSENT = object()


@pytest.fixture(scope="module")
def busy_chain(emitter_code):
    """A chain of few blocks: some hold several transactions with logs, some foreign logs, and some nothing."""
    with running_anvil(*OPTIONS) as url:
        chain, events = EventChain(url, emitter_code), Generator(seed=5, hostile=0.02)
        chain.rpc("anvil_setCode", FOREIGN, emitter_code)
        for number in range(1, DEEP + NEAR + 1):
            if number % 4 == 2:
                chain.rpc("eth_sendTransaction", chain.call_of(FOREIGN, events.logs(2)))
            chain.mine(events.logs(6) if number % 4 == 1 else ())
        logs = chain.rpc("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest", "address": list(REGISTRIES)})
        chain.tables = Model(CHAIN_ID, logs).tables
        yield chain


@pytest.fixture(autouse=True)
def short_journal(monkeypatch):
    """Half of the chain is deep: its blocks are read by ranges."""
    monkeypatch.setattr("bilateral.index.chain.reading.JOURNAL_BLOCKS", NEAR)


class Memory(Proxy):
    """A proxy that asks the node once for each answer: the chain does not change."""

    answers: dict = {}  # noqa: RUF012  # of all instances

    def forward(self, method, parameters):
        key = self.node, method, json.dumps(parameters)
        if key not in self.answers:
            self.answers[key] = super().forward(method, parameters)
        return dict(self.answers[key])


@pytest.fixture
def follow_through(busy_chain, store, engine):
    """Follow the chain through a proxy with some rules; check that no false row is stored, and return the problem."""

    def follow(rules):
        with Memory(busy_chain.url, rules) as proxy:
            problem = ""
            try:
                Endpoints(store, proxy.url).catch_up()
            except NoEndpointError as stop:
                problem = str(stop)
                assert proxy.name in problem
        stored = stored_tables(engine)
        for name, rows in busy_chain.tables.items():
            if not problem:
                assert stored[name] == rows, name
            elif name in EVENTS:
                assert set(map(repr, stored[name])) <= set(map(repr, rows)), name
        return problem

    return follow


WAYS = {
    "omitted": ABSENT,
    "null": None,
    "a number": lambda now, _: int(now, 16) % 2**63 if isinstance(now, str) and len(now) > 2 else 7,
    "an object": {"value": "0x1"},
    "padded": lambda now, _: now.replace("0x", "0x00", 1) if isinstance(now, str) else [now, now],
    "cut short": lambda now, _: now[:-1] if isinstance(now, str | list) else not now,
    "zero": lambda now, _: "0x" + "0" * (len(now) - 2) if isinstance(now, str) and len(now) > 60 else "0x0",
    "of its neighbour": lambda _, before: before,
    "in capitals": lambda now, _: "0x" + now[2:].upper() if isinstance(now, str) else now,
    "something else": lambda now, _: now[:-1] + ("1" if now[-1:] == "0" else "0") if isinstance(now, str) else True,
}
LOG = ("address", "topics", "data", "blockNumber", "blockHash", "transactionHash", "logIndex")
LOG_HINTS = ("transactionIndex", "blockTimestamp")
HEADER = ("number", "hash", "parentHash", "timestamp")
HEADER_HINTS = ("logsBloom", "receiptsRoot", "transactions", "transactionsRoot", "gasUsed", "requestsHash", "size")
RECEIPT = ("logs", "type", "status", "cumulativeGasUsed", "transactionHash", "transactionIndex", "blockHash")


def altered(entries, field, way):
    """Change a field of all entries in one of `WAYS`."""
    changed, before = [], None
    for entry in entries:
        now, new = entry.get(field), WAYS[way]
        if callable(new):
            new = new(now, now if before is None else before)
        before = now
        changed.append({name: value for name, value in (entry | {field: new}).items() if value is not ABSENT})
    return changed


@pytest.mark.sample(12)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("field", [*LOG, *LOG_HINTS, "removed"])
def test_field_of_logs_is_right_in_the_rows_or_named(follow_through, field, way):
    problem = follow_through({"eth_getLogs": lambda _, result: altered(result, field, way)})
    assert not (problem and field in LOG_HINTS)


@pytest.mark.sample(12)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("field", [*HEADER, *HEADER_HINTS])
def test_field_of_headers_is_right_in_the_rows_or_named(follow_through, field, way):
    problem = follow_through(
        {"eth_getBlockByNumber": lambda _, result: result and altered([result], field, way)[0]},
    )
    assert not (problem and field in HEADER_HINTS)


@pytest.mark.sample(10)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("field", [*RECEIPT, *(f"logs {name}" for name in LOG)])
def test_field_of_receipts_is_right_in_the_rows_or_named(follow_through, field, way):
    def of(receipt):
        name = field.removeprefix("logs ")
        if name == field:
            return altered([receipt], field, way)[0]
        return receipt | {"logs": altered(receipt["logs"], name, way)}

    follow_through(
        {
            "eth_getBlockReceipts": lambda _, result: [of(receipt) for receipt in result],
            "eth_getTransactionReceipt": lambda _, result: of(result),
        }
    )


@pytest.mark.parametrize(
    "time", ["0x0", 0, 1_700_000_000, "0x1", "1700000000", 1.5, None], ids=lambda time: f"{time!r}"
)
def test_time_of_a_row_is_the_headers_whatever_its_log_says(follow_through, time):
    rules = {"eth_getLogs": lambda _, result: [log | {"blockTimestamp": time} for log in result]}
    assert follow_through(rules) == ""


def by_transaction(logs):
    """Count logs by transaction, as the nodes of Hedera do."""
    counts, changed = {}, []
    for log in logs:
        index = counts[log["transactionHash"]] = counts.get(log["transactionHash"], -1) + 1
        changed.append(log | {"logIndex": hex(index)})
    return changed


HEDERA = {
    "eth_getLogs": lambda _, result: by_transaction(result),
    "eth_getBlockReceipts": lambda _, result: [
        receipt | {"logs": by_transaction(receipt["logs"])} for receipt in result
    ],
    "eth_getTransactionReceipt": lambda _, result: result | {"logs": by_transaction(result["logs"])},
}


def test_logs_that_a_node_counts_by_transaction_have_their_positions_in_the_block(follow_through):
    assert follow_through(HEDERA) == ""


@pytest.mark.parametrize("receipts", ["refused", "of another node"])
def test_logs_counted_by_transaction_are_named_as_the_cause_where_no_receipts_tell_their_order(
    follow_through, receipts
):
    rules = {"eth_getLogs": HEDERA["eth_getLogs"]}
    if receipts == "refused":
        rules |= dict.fromkeys(HEDERA, lambda *_: refusal("method not found", -32601)) | rules
    problem = follow_through(rules)
    assert re.search(r"indices of the logs for block \d+ repeat or contradict the order of their transactions", problem)


def test_filter_that_announces_logs_does_not_stop_the_chain_where_the_block_proves_that_it_has_none(
    busy_chain, follow_through
):
    announcing = busy_chain.rpc("eth_getBlockByNumber", "0x1", False)["logsBloom"]
    rule = lambda _, result: result | ({"logsBloom": announcing} if int(result["number"], 16) % 4 != 1 else {})  # noqa: E731
    assert follow_through({"eth_getBlockByNumber": rule}) == ""
    by_transactions = {"eth_getBlockReceipts": lambda *_: refusal("method not found", -32601)}
    assert follow_through({"eth_getBlockByNumber": rule} | by_transactions) == ""


def test_altered_data_of_one_block_near_the_head_is_taken_from_its_receipts(busy_chain, follow_through):
    number = next(block for block in range(DEEP + 2, DEEP + NEAR) if block % 4 == 1)

    def rule(_, result):
        return [
            log | {"data": log["data"][:-1] + "1"} if int(log["blockNumber"], 16) == number else log for log in result
        ]

    assert follow_through({"eth_getLogs": rule}) == ""
