"""An aggregator takes signed payments of every kind that a transaction proves, and nothing beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bilateral.core.payments.contracts import EXACT_PROXY
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError
from bilateral.x402.aggregator.service import Aggregator
from tests.permit2 import MULTICALL, logs_of
from tests.sdk.client.unreliable import UnreliableNode, refuses
from tests.x402.aggregator.world import Review, log_of

LOOK_ALIKE = "0x" + "60" * 20


@pytest.fixture
def payer(payment_chain):
    return payment_chain.buyer()


@pytest.fixture
def accepting(settings_with, payment_chain):
    """Settings that accept the token of Permit2."""
    return settings_with(tokens={payment_chain.token: 1000})


@pytest.fixture
def service(engine, accepting):
    aggregator = Aggregator(engine, accepting)
    yield aggregator
    aggregator.close()


@pytest.fixture
def review_of(web3, deployment, agent):
    """Make the review of a payment by its receipt."""

    def make(receipt, reviewer, **changes):
        return Review.of_receipt(web3, receipt, reviewer, deployment, agent, **changes)

    return make


def refusal_of(service, review):
    with pytest.raises(FeedbackRefusedError) as refusal:
        service.submit(review.content)
    return refusal.value.code


def test_payment_by_permit2_is_taken(service, engine, payment_chain, payer, seller, review_of):
    paid = payment_chain.settle(payment_chain.exact(payer, seller.address, 1000))
    assert service.submit(review_of(paid, payer).content)[1]
    (entry,) = log_of(engine)
    assert entry.client == payer.address


@pytest.mark.parametrize(("charged", "is_taken"), [(1000, True), (999, False)])
def test_metered_payment_counts_what_was_charged_and_not_its_ceiling(
    service, payment_chain, payer, seller, review_of, charged, is_taken
):
    paid = payment_chain.settle(payment_chain.upto(payer, seller.address, 5000), amount=charged)
    review = review_of(paid, payer)
    if is_taken:
        assert service.submit(review.content)[1]
    else:
        assert refusal_of(service, review) is Code.PAYMENT_MISMATCH


def test_settlement_by_another_contract_is_judged_by_its_trace(service, payment_chain, payer, seller, review_of):
    paid = payment_chain.multicall(payment_chain.call(payment_chain.exact(payer, seller.address, 1000)))
    assert service.submit(review_of(paid, payer).content)[1]


def test_settlement_by_another_contract_is_not_provable_without_traces(
    engine, accepting, payment_chain, payer, seller, review_of
):
    paid = payment_chain.multicall(payment_chain.call(payment_chain.exact(payer, seller.address, 1000)))
    with UnreliableNode(payment_chain.url) as node:
        node.interference["debug_traceTransaction"] = refuses("no such method", -32601)
        without = replace(accepting, chains=(replace(accepting.chains[0], rpc_url=node.url),))
        service = Aggregator(engine, without)
        assert refusal_of(service, review_of(paid, payer)) is Code.PAYMENT_NOT_PROVABLE
        direct = payment_chain.settle(payment_chain.exact(payer, seller.address, 1000))
        assert service.submit(review_of(direct, payer).content)[1]
        service.close()


def test_plain_transfer_is_no_payment(service, payment_chain, payer, seller, review_of):
    sent = payment_chain.send(
        payment_chain.token, payment_chain.code("MockPaymentToken", "transfer", seller.address, 1000), payer
    )
    assert refusal_of(service, review_of(sent, payer)) is Code.PAYMENT_NOT_SETTLED


def test_plain_transfer_beside_the_payment_of_somebody_else_is_no_payment(
    service, payment_chain, payer, seller, review_of
):
    other = payment_chain.buyer()
    payment_chain.approve(payer, MULTICALL)
    move = payment_chain.code("MockPaymentToken", "transferFrom", payer.address, seller.address, 1000)
    settled = payment_chain.call(payment_chain.exact(other, seller.address, 1000))
    sent = payment_chain.multicall((payment_chain.token, move), settled)
    assert refusal_of(service, review_of(sent, payer)) is Code.PAYMENT_NOT_SETTLED
    assert service.submit(review_of(sent, other).content)[1]


def test_look_alike_of_a_proxy_proves_nothing(service, payment_chain, payer, seller, review_of):
    proxy = payment_chain.put(LOOK_ALIKE, "MockExactProxy")
    _, data = payment_chain.call(payment_chain.exact(payer, seller.address, 1000, spender=proxy))
    sent = payment_chain.send(proxy, data)
    assert EXACT_PROXY not in {log.address for log in logs_of(sent)}
    assert refusal_of(service, review_of(sent, payer)) is Code.PAYMENT_NOT_SETTLED


def test_two_payments_of_one_transaction_back_the_feedback_of_two_buyers(
    service, engine, payment_chain, seller, review_of
):
    buyers = [payment_chain.buyer(), payment_chain.buyer()]
    paid = payment_chain.multicall(
        *(payment_chain.call(payment_chain.exact(buyer, seller.address, 1000)) for buyer in buyers)
    )
    for buyer in buyers:
        assert service.submit(review_of(paid, buyer).content)[1]
    assert {entry.client for entry in log_of(engine)} == {buyer.address for buyer in buyers}


def test_payment_that_two_feedback_claim_backs_the_first(service, payment_chain, payer, seller, review_of):
    paid = payment_chain.settle(payment_chain.exact(payer, seller.address, 1000))
    assert service.submit(review_of(paid, payer).content)[1]
    assert refusal_of(service, review_of(paid, payer, value=5)) is Code.DUPLICATE_TASK_REF
