"""A field that a node omits, pads, types differently or fills with something else: the rows are right, or it is named.

docs/index.md says of each field what proves it. Here a proxy alters one field at a time, in each answer of a real node.
"""

from __future__ import annotations

import json

import pytest

from bilateral.index.errors import NoEndpointError
from bilateral.index.tables import schema
from simulation.event_chain import OPTIONS, EventChain
from simulation.events import ADDRESSES, Generator
from scripts._anvil import running_anvil
from tests.index.comparison import assert_equals_model
from tests.index.conftest import REGISTRIES
from tests.index.model import Model, stored_tables
from tests.index.proxy import Proxy, refusal
from tests.index.test_endpoints import Endpoints

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

DEEP, NEAR = 24, 16
ABSENT = object()
FOREIGN = "0x" + "99" * 20
WORD = "0x" + "77" * 32


@pytest.fixture(scope="module")
def busy_chain(emitter_code):
    """A chain of few blocks: some hold several transactions with logs, some only foreign logs, and some nothing."""
    with running_anvil(*OPTIONS) as url:
        chain, events = EventChain(url, emitter_code), Generator(seed=5, hostile=0.02)
        chain.rpc("anvil_setCode", FOREIGN, "0x" + emitter_code.hex() if isinstance(emitter_code, bytes) else emitter_code)
        for number in range(1, DEEP + NEAR + 1):
            logs = events.logs(9) if number % 4 == 1 else []
            if number % 4 == 2:
                chain.rpc("eth_sendTransaction", chain.call_of(FOREIGN, events.logs(2)))
            chain.mine(logs)
        query = {"fromBlock": "0x0", "toBlock": "latest", "address": list(REGISTRIES)}
        chain.logs = chain.rpc("eth_getLogs", query)
        chain.tables = Model(31337, chain.logs).tables
        yield chain


@pytest.fixture(autouse=True)
def short_journal(monkeypatch):
    """Most of the chain is deep: its blocks are read by ranges."""
    for module in ("reading", "follow"):
        monkeypatch.setattr(f"bilateral.index.chain.{module}.JOURNAL_BLOCKS", NEAR)


def altered(entries, field, value):
    """Change a field of all entries.

    Args:
        entries: The entries.
        field: The field's name.
        value: The new value, or a function of the old value and of that of the entry before.
    """
    changed, before = [], None
    for entry in entries:
        now = entry.get(field)
        new = value(now, now if before is None else before) if callable(value) else value
        changed.append({name: of for name, of in (entry | {field: new}).items() if of is not ABSENT})
        before = now
    return changed


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
LOG = "address topics data blockNumber blockHash transactionHash logIndex transactionIndex blockTimestamp removed".split()
HEADER = (
    "number hash parentHash timestamp logsBloom receiptsRoot transactions transactionsRoot stateRoot gasUsed miner "
    "baseFeePerGas extraData requestsHash size"
).split()
RECEIPT = "logs type status cumulativeGasUsed transactionHash transactionIndex logsBloom blockHash blockNumber".split()


class Memory(Proxy):
    """A proxy that asks the node once for each answer: the chain does not change."""

    answers: dict = {}  # noqa: RUF012  # of all instances

    def forward(self, method, parameters):
        key = self.node, method, json.dumps(parameters)
        if key not in self.answers:
            self.answers[key] = super().forward(method, parameters)
        return dict(self.answers[key])


def check(busy_chain, store, engine, field, rules):
    """Follow the chain through a proxy with some rules; check that no false row is stored, and return the problem."""
    with Memory(busy_chain.url, rules) as proxy:
        try:
            Endpoints(store, proxy.url).catch_up()
        except NoEndpointError as stop:
            problem = str(stop)
        else:
            problem = ""
    expected, stored = busy_chain.tables, stored_tables(engine)
    if problem:
        assert proxy.name in problem
        for name in EVENTS:
            assert set(map(repr, stored[name])) <= set(map(repr, expected[name])), name
    else:
        for name, rows in expected.items():
            assert stored[name] == rows, name
    return problem


EVENTS = [table.name for table in (*schema.EVENT_TABLES.values(), schema.undecodable_log)]

HINTS = {"transactionIndex", "blockTimestamp", "logsBloom", "receiptsRoot", "transactionsRoot", "size"}
"""Fields that are hints: whatever a node fills them with, the index gets to the head."""

@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("field", LOG)
def test_field_of_logs_is_right_in_the_rows_or_named(busy_chain, engine, store, field, way):
    problem = check(busy_chain, store, engine, field, {"eth_getLogs": lambda _, result: altered(result, field, WAYS[way])})
    print("OUT", field, "|", way, "|", problem[:200])
    assert not (problem and field in HINTS)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("field", HEADER)
def test_field_of_headers_is_right_in_the_rows_or_named(busy_chain, engine, store, field, way):
    rule = lambda _, result: result and altered([result], field, WAYS[way])[0]
    problem = check(busy_chain, store, engine, field, {"eth_getBlockByNumber": rule})
    print("OUT H", field, "|", way, "|", problem[:200])
    assert not (problem and field in HINTS)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("field", RECEIPT + LOG)
def test_field_of_receipts_is_right_in_the_rows_or_named(busy_chain, engine, store, field, way):
    def rule(_, result):
        receipts = result if isinstance(result, list) else [result]
        if field in RECEIPT:
            receipts = altered(receipts, field, WAYS[way])
        if field in LOG:
            receipts = [r | {"logs": altered(r["logs"], field, WAYS[way])} if isinstance(r.get("logs"), list) else r for r in receipts]
        return receipts if isinstance(result, list) else receipts[0]
    problem = check(busy_chain, store, engine, field, {"eth_getBlockReceipts": rule, "eth_getTransactionReceipt": rule})
    print("OUT R", field, "|", way, "|", problem[:200])
