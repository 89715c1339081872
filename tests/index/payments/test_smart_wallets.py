"""The payer of a payment is the account that held the money: a wallet, never its owner, a bundler or an entry point."""

from __future__ import annotations

import pytest
from eth_account import Account

from bilateral.index.payments.terms import PaymentTerms
from tests.index.payments.test_permit2 import TERMS, TRACED, authorized, kinds
from tests.index.payments.world import SELLER
from tests.permit2 import TOKEN
from tests.wallets import Wallets

pytestmark = pytest.mark.one_engine


@pytest.fixture
def wallets(market):
    return Wallets(market)


@pytest.fixture
def bundle(market, wallets):
    """Sends a bundle in which a smart account settles payments by each method, and another one transfers plainly."""
    owner, plain_owner = Account.create(), Account.create()
    account, plain = wallets.deploy(owner), wallets.deploy(plain_owner)
    exact, upto, eip3009 = (market.buyer() for _ in range(3))
    calls = [
        market.call(market.exact(exact, SELLER.address, 1000)),
        market.call(market.upto(upto, SELLER.address, 5000, facilitator=account), amount=1234),
        authorized(market, eip3009, SELLER.address, 2000),
    ]
    operations = [wallets.operation(account.address, owner, *call, nonce=nonce) for nonce, call in enumerate(calls)]
    transfer = market.token, market.code("MockPaymentToken", "transfer", SELLER.address, 77)
    wallets.bundle(*operations, wallets.operation(plain.address, plain_owner, *transfer, nonce=0))
    return exact.address, upto.address, eip3009.address, plain.address


def test_payments_of_a_contract_wallet_count_for_the_wallet(market, wallets, engine, catch_up_payments):
    wallet = wallets.deploy(Account.create())
    market.settle(market.exact(wallet, SELLER.address, 1000))
    market.settle(market.upto(wallet, SELLER.address, 5000), amount=1234)
    catch_up_payments(TERMS)
    assert kinds(engine) == [
        ("permit2-exact", wallet.address, 1000, None),
        ("permit2-upto", wallet.address, 1234, 5000),
    ]


def test_payments_of_a_bundle_count_for_the_accounts_that_held_the_money(bundle, engine, catch_up_payments):
    exact, upto, eip3009, _ = bundle
    catch_up_payments(TRACED)
    assert kinds(engine) == [
        ("permit2-exact", exact, 1000, None),
        ("permit2-upto", upto, 1234, 5000),
        ("eip3009", eip3009, 2000, None),
    ]


def test_without_traces_a_bundle_counts_what_the_token_logs(bundle, engine, catch_up_payments):
    catch_up_payments(TERMS)
    assert kinds(engine) == [("eip3009", bundle[2], 2000, None)]


def test_plain_transfers_of_a_bundle_are_of_the_accounts_that_held_the_money(bundle, engine, catch_up_payments):
    exact, upto, eip3009, plain = bundle
    catch_up_payments(PaymentTerms({TOKEN: 6}, counts_plain=True))
    assert [payer for _, payer, _, _ in kinds(engine)] == [exact, upto, eip3009, plain]
