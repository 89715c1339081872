"""The mocks of channels behave as the deployed contract, with vouchers and deposits that the real SDK signs."""

from __future__ import annotations

import pytest
from eth_account import Account

from bilateral.core.payments.contracts import BATCH, EIP3009_COLLECTOR
from tests.channels import (
    batch,
    channel,
    channel_id,
    claim,
    claim_call,
    deposit,
    refund,
    settle_claims,
    sponsor_deposit,
    withdraw,
    words_of,
)
from tests.permit2 import (
    events,
    logs_of,
)

SETTLED = ("Settled",)


@pytest.fixture(scope="module")
def payer(payment_chain):
    """Has tokens that Permit2 may move."""
    return payment_chain.buyer()


def transfer(sender, receiver, amount):
    return ("Transfer", sender, receiver, amount)


@pytest.fixture
def config(payment_chain, payer, seller):
    """A channel of its own."""
    return channel(payment_chain, payer, seller.address, salt=int.from_bytes(Account.create().key))


def test_the_sdk_and_the_contract_give_a_channel_one_id(payment_chain, config):
    words = words_of(config)
    assert payment_chain.read(BATCH, payment_chain.code("MockChannels", "getChannelId", words)) == channel_id(
        payment_chain, config
    )


def test_a_deposit_by_permit2_is_one_transfer(payment_chain, config, payer):
    receipt = deposit(payment_chain, config, 5000, payer)
    assert events(receipt) == [transfer(payer.address, BATCH, 5000), ("ChannelCreated",), ("Deposited",)]
    assert logs_of(receipt)[-1].topics[1] == channel_id(payment_chain, config)


def test_a_deposit_by_eip3009_goes_through_its_collector(payment_chain, config, payer):
    receipt = deposit(payment_chain, config, 5000, payer, "eip3009")
    moved = [transfer(payer.address, EIP3009_COLLECTOR, 5000), transfer(EIP3009_COLLECTOR, BATCH, 5000)]
    assert events(receipt) == [("AuthorizationUsed",), *moved, ("ChannelCreated",), ("Deposited",)]


def test_a_claim_moves_no_token_and_its_replay_logs_nothing(payment_chain, config, payer, seller):
    deposit(payment_chain, config, 5000, payer)
    receipt = claim(payment_chain, (config, 700, payer), sender=seller)
    assert events(receipt) == [("Claimed",)]
    assert logs_of(receipt)[0].data == (700).to_bytes(32) * 2
    replay = claim(payment_chain, (config, 700, payer), sender=seller)
    assert (replay["status"], replay["logs"]) == ("0x1", [])


def test_money_of_claims_arrives_in_one_transfer(payment_chain, payer):
    receiver = Account.create()
    for salt in (1, 2):
        config = channel(payment_chain, payer, receiver.address, salt=salt)
        deposit(payment_chain, config, 5000, payer)
        claim(payment_chain, (config, 700, payer), sender=receiver)
    receipt = settle_claims(payment_chain, receiver.address)
    assert events(receipt) == [transfer(BATCH, receiver.address, 1400), SETTLED]
    assert logs_of(receipt)[-1].data == (1400).to_bytes(32)


def test_a_refund_and_a_withdrawal_pay_the_payer(payment_chain, config, payer, seller):
    deposit(payment_chain, config, 5000, payer)
    receipt = refund(payment_chain, config, 1000, seller)
    assert events(receipt) == [("Refunded",), transfer(BATCH, payer.address, 1000)]
    snapshot = payment_chain.rpc("evm_snapshot")
    announced, withdrawn = withdraw(payment_chain, config, 4000, payer)
    assert events(announced) == [("WithdrawInitiated",)]
    assert events(withdrawn) == [("WithdrawFinalized",), transfer(BATCH, payer.address, 4000)]
    payment_chain.rpc("evm_revert", snapshot)


def test_a_stranger_opens_a_channel_in_the_name_of_a_victim(payment_chain, seller, payer):
    victim, attacker = Account.create(), payer
    config = channel(payment_chain, victim, seller.address, authorizer=attacker)
    receipt = sponsor_deposit(payment_chain, config, 5000, attacker)
    assert events(receipt) == [transfer(attacker.address, BATCH, 5000), ("ChannelCreated",), ("Deposited",)]
    assert events(claim(payment_chain, (config, 700, attacker), sender=seller)) == [("Claimed",)]


def test_a_refilled_channel_revives_old_vouchers(payment_chain, config, payer, seller):
    deposit(payment_chain, config, 1000, payer)
    claim(payment_chain, (config, 100, payer), sender=seller)
    refund(payment_chain, config, 900, seller)
    assert ("ChannelCreated",) in events(deposit(payment_chain, config, 900, payer))
    receipt = claim(payment_chain, (config, 1000, payer), sender=seller)
    assert logs_of(receipt)[0].data == (900).to_bytes(32) + (1000).to_bytes(32)


def test_many_claims_of_one_unit_fit_into_one_transaction(payment_chain, config, payer, seller):
    deposit(payment_chain, config, 5000, payer)
    receipt = batch(
        payment_chain, *[claim_call(payment_chain, (config, total, payer)) for total in range(1, 51)], sender=seller
    )
    assert events(receipt) == [("Claimed",)] * 50


def test_a_claim_is_limited_by_the_voucher_and_the_balance(payment_chain, config, payer, seller, stranger):
    deposit(payment_chain, config, 500, payer)
    assert claim(payment_chain, (config, 501, payer), sender=seller)["status"] == "0x0"
    assert claim(payment_chain, (config, 500, stranger), sender=seller)["status"] == "0x0"
    assert claim(payment_chain, (config, 500, payer), sender=stranger)["status"] == "0x0"
    assert claim(payment_chain, (config, 500, payer), sender=seller)["status"] == "0x1"
