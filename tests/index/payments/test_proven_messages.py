"""Messages about payments by Permit2: counted, pending, not provable or not settled, as the index will judge them."""

from __future__ import annotations

import pytest
from eth_account import Account

from bilateral.buyers.acceptance import BuyerMessages
from bilateral.buyers.errors import BuyerRefusalError
from bilateral.buyers.metrics import read_dealings
from bilateral.buyers.policies import BuyerSettings
from bilateral.buyers.requests import ReviewBody
from bilateral.core.payments.contracts import PERMIT2
from bilateral.index.payments.terms import PaymentTerms
from tests.channels import channel, claim, deposit
from tests.index.payments.test_messages import AGENT, CHAIN, review_of, signed
from tests.index.payments.world import IDENTITY, SELLER
from tests.permit2 import MULTICALL, TOKEN, WalletSigner

TERMS = PaymentTerms({TOKEN: 6})
TRACED = PaymentTerms({TOKEN: 6}, traces=True)

pytestmark = pytest.mark.one_engine


@pytest.fixture
def messages(engine, market):
    return BuyerMessages(engine, BuyerSettings(nodes={str(CHAIN): market.url}))


@pytest.fixture
def answer_to(messages):
    """Return the answer to a review of a payment: `counted`, or the code of its refusal."""

    def send(receipt, buyer, key=None):
        accounts = {"fromAddress": buyer, "toAddress": SELLER.address, "chainId": CHAIN}
        body = review_of({"txHash": receipt["transactionHash"], **accounts}, 80)
        try:
            return "counted" if messages.take_review(signed(ReviewBody, body, key)).is_counted else "not counted"
        except BuyerRefusalError as refusal:
            return refusal.code

    return send


def through_multicall(chain, buyer):
    return chain.multicall(chain.call(chain.exact(buyer, SELLER.address, 1000)))


def plain(chain, buyer):
    return chain.send(chain.token, chain.code("MockPaymentToken", "transfer", SELLER.address, 1000), buyer)


def beside_the_payment_of_another(chain, buyer):
    """Transfer plainly in the transaction in which somebody else pays."""
    chain.approve(buyer, MULTICALL)
    move = chain.code("MockPaymentToken", "transferFrom", buyer.address, SELLER.address, 1000)
    return chain.multicall((chain.token, move), chain.call(chain.exact(chain.buyer(), SELLER.address, 1000)))


def by_a_look_alike(chain, buyer):
    imitation = chain.put("0x" + "e1" * 20, "MockExactProxy")
    return chain.send(imitation, chain.call(chain.exact(buyer, SELLER.address, 1000, spender=imitation))[1])


def metered(chain, buyer):
    return chain.settle(chain.upto(buyer, SELLER.address, 5000), amount=1234)


def claimed(chain, buyer):
    config = channel(chain, buyer, SELLER.address)
    deposit(chain, config, 5000, buyer)
    return claim(chain, (config, 700, buyer), sender=SELLER)


@pytest.mark.parametrize("pay", [metered, claimed])
def test_payment_is_pending_until_the_index_has_it_and_counts_then(market, catch_up_payments, answer_to, pay):
    buyer = market.buyer()
    catch_up_payments(TERMS)
    paid = pay(market, buyer)
    assert answer_to(paid, buyer.address, buyer) == "payment_pending"
    catch_up_payments(TERMS)
    assert answer_to(paid, buyer.address, buyer) == "counted"


@pytest.mark.parametrize(
    ("pay", "terms", "code"),
    [
        (through_multicall, TERMS, "payment_not_provable"),
        (through_multicall, TRACED, "payment_pending"),
        (plain, TERMS, "payment_not_settled"),
        (beside_the_payment_of_another, TERMS, "payment_not_provable"),
        (beside_the_payment_of_another, TRACED, "payment_not_settled"),
        (by_a_look_alike, TRACED, "payment_not_settled"),
    ],
)
def test_transfer_is_judged_on_demand_as_the_index_will(market, catch_up_payments, answer_to, pay, terms, code):
    buyer = market.buyer()
    catch_up_payments(terms)
    paid = pay(market, buyer)
    assert answer_to(paid, buyer.address, buyer) == code
    catch_up_payments(terms)
    assert answer_to(paid, buyer.address, buyer) == ("counted" if code == "payment_pending" else code)


def test_two_payments_of_one_transaction_count_for_two_buyers(market, catch_up_payments, engine, answer_to):
    buyers = [market.buyer(), market.buyer()]
    paid = market.multicall(*(market.call(market.exact(buyer, SELLER.address, 1000)) for buyer in buyers))
    catch_up_payments(TRACED)
    for buyer in buyers:
        assert answer_to(paid, buyer.address, buyer) == "counted"
        with engine.connect() as connection:
            dealings = read_dealings(connection, CHAIN, buyer.address)[IDENTITY, AGENT.agent_id]
        assert (dealings.payments, dealings.micros, dealings.reviews) == (1, 1000, [80])


def test_wallet_that_paid_by_permit2_signs_its_messages_as_a_contract(market, catch_up_payments, answer_to):
    key, stranger = Account.create(), Account.create()
    wallet = market.deploy("MockWallet", key.address, types=["address"])
    market.fund(wallet)
    for method, value in (("anvil_setBalance", hex(10**18)), ("anvil_impersonateAccount", None)):
        market.rpc(method, wallet, *([] if value is None else [value]))
    approval = market.code("MockPaymentToken", "approve", PERMIT2, 10**9)
    sent = market.rpc("eth_sendTransaction", {"from": wallet, "to": market.token, "data": "0x" + approval.hex()})
    assert market.receipt(sent)["status"] == "0x1"
    paid = market.settle(market.exact(WalletSigner(wallet, key), SELLER.address, 1000))
    catch_up_payments(TERMS)
    assert answer_to(paid, wallet, stranger) == "invalid_signature"
    assert answer_to(paid, wallet, key) == "counted"
