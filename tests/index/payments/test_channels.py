"""Claims of channels count as far as they spend money that the payer paid in itself."""

from __future__ import annotations

import random

import pytest
from eth_account import Account
from eth_utils.crypto import keccak
from sqlalchemy import select, update

from bilateral.core.payments.contracts import CANONICAL
from bilateral.index.payments.tables import CHAIN_TABLES, channel_fund, payment, payment_cursor, payment_return
from bilateral.index.payments.tables import channel as channel_table
from bilateral.index.payments.terms import PaymentTerms
from tests.channels import (
    batch,
    channel,
    channel_id,
    claim,
    claim_call,
    deposit,
    deposit_call,
    refund,
    settle_claims,
    sponsor_call,
    sponsor_deposit,
    withdraw,
)
from tests.index.payments.world import SELLER, account
from tests.permit2 import TOKEN

TERMS = PaymentTerms({TOKEN: 6})
PLAIN = PaymentTerms({TOKEN: 6}, counts_plain=True)
ATTACKER = Account.from_key(keccak(text="channel attacker"))


def payments(engine):
    """Return (payer, payee, amount) of each stored payment, in the order of the chain."""
    table = payment.c
    with engine.connect() as connection:
        query = select(table.payer, table.payee, table.amount).order_by(table.block_number, table.log_index)
        return [(payer, payee, int(amount)) for payer, payee, amount in connection.execute(query)]


def returns(engine):
    """Return (payee, receiver, micros) of each stored return, in the order of the chain."""
    table = payment_return.c
    with engine.connect() as connection:
        query = select(table.payee, table.receiver, table.micros).order_by(table.block_number, table.log_index)
        return [tuple(row) for row in connection.execute(query)]


@pytest.mark.parametrize("method", ["permit2", "eip3009"])
def test_claims_of_a_deposit_by_the_payer_count(market, engine, catch_up_payments, method):
    buyer = market.buyer()
    config = channel(market, buyer, SELLER.address)
    deposit(market, config, 5000, buyer, method)
    claim(market, (config, 700, buyer), sender=SELLER)
    last = claim(market, (config, 1000, buyer), sender=SELLER)
    settle_claims(market, SELLER.address)
    catch_up_payments(TERMS)
    assert payments(engine) == [(buyer.address, SELLER.address, 700), (buyer.address, SELLER.address, 300)]
    assert returns(engine) == []
    with engine.connect() as connection:
        row = connection.execute(select(payment).order_by(payment.c.block_number.desc()).limit(1)).one()
    expected = "channel", channel_id(market, config), 1 << 21, int(last["logs"][0]["logIndex"], 16), TOKEN
    assert (row.kind, bytes(row.nonce), row.position, row.log_index, row.token) == expected


@pytest.mark.one_engine
def test_many_claims_of_one_transaction_are_one_payment(market, engine, catch_up_payments):
    buyer = market.buyer()
    config = channel(market, buyer, SELLER.address)
    deposit(market, config, 5000, buyer)
    receipt = batch(market, *(claim_call(market, (config, total, buyer)) for total in range(1, 51)), sender=SELLER)
    assert len(receipt["logs"]) == 50
    catch_up_payments(TERMS)
    assert payments(engine) == [(buyer.address, SELLER.address, 50)]


def test_victim_named_in_the_channel_of_a_stranger_paid_nothing(market, engine, catch_up_payments):
    victim = account("victim")
    market.fund(ATTACKER.address)
    config = channel(market, victim, SELLER.address, authorizer=ATTACKER)
    sponsor_deposit(market, config, 5000, ATTACKER)
    receipt = claim(market, (config, 700, ATTACKER), sender=SELLER)
    assert len(receipt["logs"]) == 1
    catch_up_payments(TERMS)
    assert (payments(engine), returns(engine)) == ([], [])


@pytest.mark.one_engine
def test_payer_counts_up_to_its_own_deposits_and_no_further(market, engine, catch_up_payments):
    buyer = market.buyer()
    market.fund(ATTACKER.address)
    config = channel(market, buyer, SELLER.address)
    deposit(market, config, 500, buyer)
    sponsor_deposit(market, config, 5000, ATTACKER)
    catch_up_payments(TERMS)  # what follows needs the stored money
    claim(market, (config, 400, buyer), sender=SELLER)
    claim(market, (config, 900, buyer), sender=SELLER)
    deposit(market, config, 50, buyer)
    catch_up_payments(TERMS)
    claim(market, (config, 1000, buyer), sender=SELLER)
    catch_up_payments(TERMS)
    assert [amount for *_, amount in payments(engine)] == [400, 100, 50]


@pytest.mark.one_engine
@pytest.mark.parametrize("is_first", [False, True])
def test_deposits_of_one_transaction_take_their_own_transfers(market, engine, catch_up_payments, is_first):
    buyer, victim = market.buyer(), account("victim")
    market.fund(ATTACKER.address)
    own, foreign = channel(market, buyer, SELLER.address), channel(market, victim, SELLER.address, authorizer=ATTACKER)
    calls = deposit_call(market, own, 500, buyer), sponsor_call(market, foreign, 500, ATTACKER)
    market.multicall(*(calls if is_first else calls[::-1]))
    claim(market, (own, 500, buyer), (foreign, 500, ATTACKER), sender=SELLER)
    catch_up_payments(TERMS)
    assert payments(engine) == [(buyer.address, SELLER.address, 500)]


@pytest.mark.one_engine
@pytest.mark.parametrize("is_withdrawn", [False, True], ids=["refund", "withdrawal"])
def test_money_that_goes_back_to_the_payer_is_neither_paid_nor_returned(
    market, engine, catch_up_payments, is_withdrawn
):
    buyer = market.buyer()
    config = channel(market, buyer, SELLER.address)
    deposit(market, config, 1000, buyer)
    claim(market, (config, 100, buyer), sender=SELLER)
    if is_withdrawn:
        withdraw(market, config, 900, buyer)
    else:
        refund(market, config, 900, SELLER)
    market.fund(ATTACKER.address)
    sponsor_deposit(market, config, 900, ATTACKER)  # the old voucher lives again
    claim(market, (config, 1000, buyer), sender=SELLER)
    catch_up_payments(TERMS)
    assert payments(engine) == [(buyer.address, SELLER.address, 100)]
    assert returns(engine) == []


@pytest.mark.one_engine
def test_sweep_of_claims_is_no_payment_of_the_contract_of_channels(market, engine, catch_up_payments):
    buyer = market.buyer()
    config = channel(market, buyer, SELLER.address)
    deposit(market, config, 1000, buyer)
    claim(market, (config, 100, buyer), sender=SELLER)
    settle_claims(market, SELLER.address)
    catch_up_payments(PLAIN)
    assert payments(engine) == [(buyer.address, SELLER.address, 100)]


@pytest.mark.one_engine
def test_claim_by_a_buyer_of_a_seller_is_a_return(market, engine, catch_up_payments):
    buyer = market.buyer()
    market.fund(SELLER.address)
    market.approve(SELLER)
    market.settle(market.exact(buyer, SELLER.address, 1000))
    config = channel(market, SELLER, buyer.address)
    deposit(market, config, 900, SELLER)
    claim(market, (config, 800, SELLER), sender=buyer)
    catch_up_payments(TERMS)
    assert payments(engine) == [(buyer.address, SELLER.address, 1000)]
    assert returns(engine) == [(SELLER.address, buyer.address, 800)]


@pytest.mark.one_engine
def test_seller_that_fills_the_channel_of_its_buyer_returns_what_is_refunded(market, engine, catch_up_payments):
    buyer = market.buyer()
    market.fund(SELLER.address)
    config = channel(market, buyer, SELLER.address)
    deposit(market, config, 100, buyer)
    sponsor_deposit(market, config, 100, SELLER)
    claim(market, (config, 100, buyer), sender=SELLER)
    refund(market, config, 100, SELLER)
    catch_up_payments(TERMS)
    assert payments(engine) == [(buyer.address, SELLER.address, 100)]
    assert returns(engine) == [(SELLER.address, buyer.address, 100)]


@pytest.mark.one_engine
def test_channels_in_other_tokens_are_left_out(market, engine, catch_up_payments):
    buyer, token = market.buyer(), market.put("0x" + "e3" * 20, "MockPaymentTokenWithPermit")
    market.fund(buyer.address, token=token)
    market.approve(buyer, token=token)
    config = channel(market, buyer, SELLER.address, token=token)
    deposit(market, config, 1000, buyer)
    claim(market, (config, 100, buyer), sender=SELLER)
    catch_up_payments(TERMS)
    assert payments(engine) == []
    with engine.connect() as connection:
        assert connection.execute(select(channel_table)).all() == []


def test_a_reorganisation_takes_money_of_channels_back(market, event_chain, engine, catch_up_payments):
    buyer = market.buyer()
    config, new = (channel(market, buyer, SELLER.address, salt=salt) for salt in (0, 1))
    deposit(market, config, 1000, buyer)
    claim(market, (config, 100, buyer), sender=SELLER)
    catch_up_payments(TERMS)
    claim(market, (config, 900, buyer), sender=SELLER)
    deposit(market, new, 50, buyer)
    catch_up_payments(TERMS)
    event_chain.rpc("anvil_rollback", 2)
    claim(market, (config, 1000, buyer), sender=SELLER)
    catch_up_payments(TERMS)
    assert [amount for *_, amount in payments(engine)] == [100, 900]
    with engine.connect() as connection:
        remaining = connection.execute(select(channel_fund.c.remaining).order_by(channel_fund.c.block_number))
        assert [int(amount) for amount in remaining.scalars()] == [1000, 900, 0]
        assert len(connection.execute(select(channel_table)).all()) == 1


@pytest.mark.one_engine
def test_channel_that_is_opened_before_its_receiver_is_an_agent_counts_from_then_on(
    market, world, engine, catch_up_payments
):
    buyer, later = market.buyer(), Account.create()
    config = channel(market, buyer, later.address)
    deposit(market, config, 1000, buyer)
    claim(market, (config, 100, buyer), sender=later)
    catch_up_payments(TERMS)
    world.mine(world.register(2, later.address))
    claim(market, (config, 300, buyer), sender=later)
    catch_up_payments(TERMS)
    assert payments(engine) == [(buyer.address, later.address, 200)]


@pytest.mark.one_engine
def test_canonical_contracts_are_neither_payers_nor_sellers_nor_in_returns(market, world, engine, catch_up_payments):
    def send(sender, receiver, amount):
        market.rpc("anvil_setBalance", sender, hex(10**20))
        market.rpc("anvil_impersonateAccount", sender)
        data = "0x" + market.code("MockPaymentToken", "transfer", receiver, amount).hex()
        hash_ = market.rpc("eth_sendTransaction", {"from": sender, "to": market.token, "data": data})
        assert market.receipt(hash_)["status"] == "0x1"

    buyer = market.buyer()
    for agent, contract in enumerate(sorted(CANONICAL), start=2):
        world.mine(world.register(agent, contract))
        send(buyer.address, contract, 20)
        send(contract, SELLER.address, 10)
        send(contract, buyer.address, 10)
        send(SELLER.address, contract, 10)
    catch_up_payments(PLAIN)
    assert (payments(engine), returns(engine)) == ([], [])


def rows(engine):
    with engine.connect() as connection:
        return [connection.execute(select(table).order_by(*table.primary_key)).all() for table in CHAIN_TABLES]


class Ledger:
    """A plain model of the money in channels."""

    def __init__(self):
        self.funds, self.payments, self.returns = {}, [], []

    def fill(self, config, funder, amount):
        funds = self.funds.setdefault(config.salt, {config.payer: 0})
        funds[funder] = funds.get(funder, 0) + amount

    def spend(self, config, receiver, amount, *, is_claim):
        funds = self.funds[config.salt]
        for funder in sorted(funds, key=lambda funder: (funder != config.payer, funder)):
            spent = min(amount, funds[funder])
            funds[funder] -= spent
            amount -= spent
            if spent and is_claim and funder == config.payer:
                self.payments.append((funder, receiver, spent))
            if spent and funder == SELLER.address != receiver:
                self.returns.append((funder, receiver, spent))


def test_rows_are_those_of_a_plain_model_however_the_chain_is_cut(market, engine, catch_up_payments, monkeypatch):
    chance, ledger = random.Random(7), Ledger()  # noqa: S311  # reproducible, not secret
    buyers = [market.buyer() for _ in range(4)]
    configs = [channel(market, buyer, SELLER.address, salt=salt) for salt, buyer in enumerate(buyers)]
    for sponsor in (SELLER, ATTACKER):
        market.fund(sponsor.address)
    totals = dict.fromkeys(range(4), 0)
    for _ in range(60):
        number, amount = chance.randrange(4), chance.randint(1, 100)
        buyer, config = buyers[number], configs[number]
        unclaimed = sum(ledger.funds.get(config.salt, {}).values())
        if chance.random() < 0.3:
            deposit(market, config, amount, buyer, chance.choice(["permit2", "eip3009"]))
            ledger.fill(config, buyer.address, amount)
        elif chance.random() < 0.4:
            sponsor = chance.choice([SELLER, ATTACKER])
            sponsor_deposit(market, config, amount, sponsor)
            ledger.fill(config, sponsor.address, amount)
        elif unclaimed and chance.random() < 0.7:
            totals[number] += min(amount, unclaimed)
            claim(market, (config, totals[number], buyer), sender=SELLER)
            ledger.spend(config, SELLER.address, min(amount, unclaimed), is_claim=True)
        elif unclaimed:
            refund(market, config, unclaimed, SELLER)
            ledger.spend(config, buyer.address, unclaimed, is_claim=False)
    assert len(ledger.payments) > 9
    assert ledger.returns
    catch_up_payments(TERMS)
    assert (payments(engine), returns(engine)) == (ledger.payments, ledger.returns)
    at_once = rows(engine)
    with engine.begin() as connection:
        connection.execute(update(payment_cursor).values(terms='{"plain": false, "tokens": {}}'))
    monkeypatch.setattr("bilateral.index.payments.worker._MOST_BLOCKS", 3)
    catch_up_payments(TERMS)
    assert rows(engine) == at_once
