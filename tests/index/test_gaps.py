"""Logs that an endpoint leaves out, although headers announce them, are found by receipts, or the index stops."""

from __future__ import annotations

import pytest

from bilateral.index.errors import NoEndpointError
from bilateral.index.log.store import JOURNAL_BLOCKS
from tests.index.comparison import assert_exact
from tests.index.proxy import Proxy, refusal
from tests.index.test_commands import bilateral, record  # noqa: F401  # a fixture

GAP = range(11, 15)


def keep_back(result):
    return [log for log in result if int(log["blockNumber"], 16) not in GAP]


def lossy(receipt):
    return receipt | {"logs": keep_back(receipt["logs"])}


NO_RECEIPTS = dict.fromkeys(
    ("eth_getBlockReceipts", "eth_getTransactionReceipt"), lambda *_: refusal("method not found", -32601)
)


@pytest.fixture(
    params=[0, JOURNAL_BLOCKS - 6], ids=["near the head", "deep in the chain"]
)  # the gap ends a range there
def gapped(request, event_chain, generator):
    """An endpoint that leaves out the logs of some blocks."""
    for _ in range(20):
        event_chain.mine(generator.logs(4))
    event_chain.rpc("anvil_mine", hex(request.param))
    with Proxy(event_chain.url, {"eth_getLogs": lambda _, result: keep_back(result)}) as proxy:
        yield proxy


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_logs_that_a_single_endpoint_leaves_out_are_read_from_receipts(gapped, event_chain, engine, store, follow):
    follower = follow(gapped.url)
    while (cursor := store.cursor()) is None or cursor.number < int(event_chain.rpc("eth_blockNumber"), 16):
        follower.step()
    assert_exact(engine, store, event_chain)
    assert gapped.asked("eth_getBlockReceipts")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("receipts", ["refused", "without those logs"])
def test_index_stops_before_a_proven_gap_and_names_the_block(gapped, store, follow, receipts):
    gapped.rules |= {
        "refused": NO_RECEIPTS,
        "without those logs": {
            "eth_getBlockReceipts": lambda _, result: [lossy(receipt) for receipt in result],
            "eth_getTransactionReceipt": lambda _, result: lossy(result),
        },
    }[receipts]
    with pytest.raises(
        NoEndpointError, match=r"returned no log for block 1[1-4], whose header announces registry logs"
    ):
        for _ in range(20):
            follow(gapped.url).step()
    assert (store.cursor() is None) or store.cursor().number < GAP.start


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_another_endpoint_that_has_the_logs_is_used_instead(gapped, event_chain, engine, store, follow):
    gapped.rules |= NO_RECEIPTS
    follower = follow(gapped.url, event_chain.url)
    while (cursor := store.cursor()) is None or cursor.number < int(event_chain.rpc("eth_blockNumber"), 16):
        follower.step()
    assert_exact(engine, store, event_chain)


def test_run_to_the_head_ends_at_a_proven_gap_and_status_shows_it(gapped, record, tmp_path):  # noqa: F811  # a fixture
    gapped.rules |= NO_RECEIPTS
    database = f"sqlite:///{tmp_path / 'index.sqlite'}"
    arguments = ("--rpc-url", gapped.url, "--deployment", record, "--database", database)
    code, _, told = bilateral("run", *arguments, "--until-head", "--no-files", "--max-wait", "3")
    assert code == 5
    assert "whose header announces registry logs" in told
    assert "whose header announces registry logs" in bilateral("status", "--database", database, "--json")[1]
