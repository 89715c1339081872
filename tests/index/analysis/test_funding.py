"""Sources of accounts' first funds."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from bilateral.core.contracts import Registry
from bilateral.index.errors import NoEndpointError
from bilateral.index.log.batches import Block
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PROJECTIONS
from bilateral.index.standing.tables import FundingState, funding
from simulation.events import encoded
from tests.index.analysis.conftest import collector, index
from tests.index.analysis.story import Market, account
from tests.index.proxy import Proxy, refusal


def rows(engine):
    with engine.connect() as connection:
        return {row["account"]: row for row in connection.execute(select(funding)).mappings()}


def test_the_first_inbound_transfer_of_every_account_is_found(indexed, market):
    steps = []
    assert collector(indexed, market.chain.url, progress=lambda *step: steps.append(step)).collect() == 61
    funding = rows(indexed)
    assert steps == [(40, 61), (61, 61)]
    assert funding.keys() == market.funded.keys()
    for name, (source, amount, block, hash_) in market.funded.items():
        row = funding[name]
        assert (row["state"], row["source"], row["amount"]) == (FundingState.FOUND, source, amount)
        assert (row["block_number"], row["transaction_hash"]) == (block, hash_)
        time = int(market.chain.rpc("eth_getBlockByNumber", hex(block), False)["timestamp"], 16)
        assert row["block_time"] == time


def test_a_collector_goes_on_where_it_was(indexed, market):
    assert collector(indexed, market.chain.url).collect(at_most=10) == 10
    assert len(rows(indexed)) == 10
    assert collector(indexed, market.chain.url).collect() == 51
    assert collector(indexed, market.chain.url).collect() == 0
    assert len(rows(indexed)) == 61


def test_a_node_without_old_states_is_replaced_by_another(indexed, market):
    with Proxy(market.chain.url) as pruned:
        pruned.rules["eth_getBalance"] = lambda *_: refusal("missing trie node")
        assert collector(indexed, pruned.url, market.chain.url).collect(at_most=2) == 2
        with pytest.raises(NoEndpointError, match="missing trie node"):
            collector(indexed, pruned.url).collect()
    assert len(rows(indexed)) == 2


def test_funds_without_a_source_in_their_block_are_unknown(engine, event_chain):
    """An account may be paid by a contract or in the genesis block, and a failed transaction pays nothing."""
    market = Market(event_chain)
    market.block(*market.register(1, genesis := market.exchanges[0]))
    paid, failed, poor = (account(name) for name in ("paid by a contract", "failed", "poor"))
    event_chain.rpc("anvil_setBalance", paid, hex(5))
    event_chain.rpc("anvil_setCode", failed, "0x60006000fd")
    market.block()
    market.pay(genesis, failed, 7)
    event_chain.rpc("anvil_setBalance", failed, hex(9))
    market.block()
    market.block(*(market.feedback(1, client, 50) for client in (paid, failed, poor)))
    index(engine, event_chain.url)
    collector(engine, event_chain.url).collect()
    funding = rows(engine)
    assert {name: row["state"] for name, row in funding.items()} == {
        genesis: FundingState.UNKNOWN,
        paid: FundingState.UNKNOWN,
        failed: FundingState.UNKNOWN,
        poor: FundingState.NONE,
    }
    assert {(row["source"], row["amount"], row["transaction_hash"]) for row in funding.values()} == {(None, None, None)}


def test_the_first_of_several_transfers_counts(engine, event_chain):
    market = Market(event_chain)
    first, second = market.exchanges[:2]
    market.block(*market.register(1, second))
    client = account("client")
    market.pay(first, client, 10**18)
    market.pay(second, client, 10**18)
    funded = market.block()
    market.pay(client, second, 10**17)
    market.block()
    market.block(market.feedback(1, client, 50))
    index(engine, event_chain.url)
    collector(engine, event_chain.url).collect()
    row = rows(engine)[client]
    assert (row["source"], row["block_number"]) == (first, funded)


def test_funds_after_the_first_act_do_not_count(engine, event_chain):
    market = Market(event_chain)
    market.block(*market.register(1, owner := account("owner")))
    market.fund(market.exchanges[0], owner, 10**18)
    market.fund(market.exchanges[0], later := account("later owner"), 10**18)
    market.block(encoded(Registry.IDENTITY, "Transfer", owner, later, 1))
    index(engine, event_chain.url)
    collector(engine, event_chain.url).collect()
    states = {name: row["state"] for name, row in rows(engine).items()}
    assert states == {owner: FundingState.NONE, later: FundingState.FOUND}  # who gets an agent did not register it


def test_an_endpoint_without_batches_is_asked_one_by_one(indexed, market):
    with Proxy(market.chain.url, refuses_batches=True) as proxy:
        assert collector(indexed, proxy.url).collect(at_most=2) == 2
    assert len(rows(indexed)) == 2


def test_a_rollback_forgets_sources_in_blocks_that_are_gone(indexed, market):
    collector(indexed, market.chain.url).collect()
    store = ChainStore(indexed, 31337, PROJECTIONS)
    funding = rows(indexed)
    middle = sorted(row["block_number"] for row in funding.values())[30]
    header = market.chain.rpc("eth_getBlockByNumber", hex(middle), False)
    target = Block(middle, bytes.fromhex(header["hash"][2:]), int(header["timestamp"], 16))
    store.roll_back(store.cursor(), target)
    left = {name: row for name, row in funding.items() if row["block_number"] <= middle}
    assert rows(indexed) == {name: {**row, "seen_block": min(row["seen_block"], middle)} for name, row in left.items()}
