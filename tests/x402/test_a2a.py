"""Agents pay each other for messages (A2A), through the SDK's own server. The proof is of the messages' parts."""

from __future__ import annotations

import asyncio
import copy

import pytest
from x402 import x402ResourceServer
from x402.schemas import PaymentAbortedError, ResourceConfig

from bilateral.core.errors import InvalidArgumentError
from bilateral.x402 import (
    BodyTooLargeError,
    CheckName,
    Outcome,
    Reputation8004ResourceServerExtension,
    declare_8004_reputation,
)
from bilateral.x402.proof.fields import MAX_BODY
from bilateral.x402.proof.profiles import message_parts
from bilateral.x402.server.a2a import RECEIPTS, paid_exchange, paid_message, with_receipt
from tests.x402.world import NETWORK, PRICE, SIGNING_KEY, paying_client, resource_server

REQUEST = [{"kind": "text", "text": "Weather in Ålesund?"}, {"kind": "data", "data": {"days": 3}}]
ANSWER = [{"kind": "text", "text": "snø"}]


@pytest.fixture(scope="module")
def merchant(facilitator, token, seller, agent, deployment):
    """Makes an agent that is paid for its answers: its server, its terms and its declaration."""
    price = {"asset": token.address, "amount": str(PRICE), "extra": {"name": "Test Dollar", "version": "2"}}

    def make():  # one for each event loop
        server = resource_server(x402ResourceServer, facilitator, Reputation8004ResourceServerExtension(SIGNING_KEY))
        server.initialize()
        config = ResourceConfig(scheme="exact", network=NETWORK, pay_to=seller.address, price=price)
        return server, server.build_payment_requirements(config), declare_8004_reputation(agent, deployment)

    return make


def talk(merchant, buyer, *, request=REQUEST, answer=ANSWER, is_captured=True, limit=MAX_BODY):
    """Send a paid message, and return the payment and the answer."""
    server, (terms,), declared = merchant()

    async def run():
        required = await server.create_payment_required_response([terms], extensions=declared)
        payment = paying_client(buyer).create_payment_payload(required)
        options = {"declared_extensions": declared}
        if not is_captured:
            await server.verify_payment(payment, terms, **options)
        with paid_exchange(request, limit) as exchange:
            assert (await server.verify_payment(payment, terms, **options)).is_valid
            if answer is not None:
                exchange.answer(answer)
            settled = await server.settle_payment(payment, terms, **options)
            assert exchange.is_signed
        metadata = with_receipt({RECEIPTS: [{"success": False, "network": NETWORK}]}, settled)
        return payment.model_dump(by_alias=True, exclude_none=True), {"parts": answer, "metadata": metadata}

    return asyncio.run(run())


@pytest.fixture(scope="module")
def talked(merchant, enrich):
    return talk(merchant, enrich())


def test_paid_message_is_verified_with_its_payment(verifier, talked, seller):
    payment, answer = talked
    verification = verifier.verify(paid_message(payment, REQUEST, answer))
    assert verification.is_verified, verification.problems
    assert (verification.payment.payee, verification.payment.amount) == (seller.address, PRICE)
    assert [entry.get("success") for entry in answer["metadata"][RECEIPTS]] == [False, True]
    assert verifier.verify(paid_message(payment, REQUEST, answer), historical=True).is_verified


@pytest.mark.parametrize(
    ("request_parts", "answer_parts"),
    [(REQUEST[:1], ANSWER), (REQUEST, [*ANSWER, {"kind": "text", "text": ""}]), (REQUEST[::-1], ANSWER)],
    ids=["part of the question", "further part", "other order"],
)
def test_other_parts_than_were_signed_are_noticed(verifier, talked, request_parts, answer_parts):
    payment, answer = talked
    verification = verifier.verify(paid_message(payment, request_parts, {**answer, "parts": answer_parts}))
    assert verification.outcome(CheckName.INTERACTION_HASH) is Outcome.FAILED


@pytest.mark.parametrize("metadata", [None, [], "x", {}, {RECEIPTS: None}, {RECEIPTS: []}, {RECEIPTS: ["x"]}])
def test_malformed_metadata_of_a_stranger_verifies_nothing(verifier, talked, metadata):
    payment, answer = talked
    assert not verifier.verify(paid_message(payment, REQUEST, {**answer, "metadata": metadata})).is_verified


@pytest.mark.parametrize("parts", [None, "snø", {"kind": "text"}, [{"large": 2**60}]])
def test_malformed_parts_of_a_stranger_verify_nothing(verifier, talked, parts):
    payment, answer = copy.deepcopy(talked)
    assert not verifier.verify(paid_message(payment, REQUEST, {**answer, "parts": parts})).is_verified


def test_message_without_a_canonical_form_takes_no_money(merchant, buyer, token):
    for unsignable in ({"request": [2**60]}, {"answer": [2**60]}):
        with pytest.raises(InvalidArgumentError, match="the message cannot be encoded as canonical JSON"):
            talk(merchant, buyer, **unsignable)
    assert token.functions.balanceOf(buyer.address).call() == 10**9


@pytest.mark.parametrize(
    ("how", "problem"), [({"answer": None}, "response_not_signable"), ({"is_captured": False}, "no_adapter")]
)
def test_message_that_cannot_be_signed_takes_no_money(merchant, buyer, token, how, problem):
    with pytest.raises((PaymentAbortedError, AssertionError), match=problem):
        talk(merchant, buyer, **how)
    assert token.functions.balanceOf(buyer.address).call() == 10**9


@pytest.mark.parametrize("part", ["request", "answer"])
def test_message_at_the_limit_is_served_and_one_above_takes_no_money(merchant, buyer, token, part):
    other, parts = "answer" if part == "request" else "request", [{"kind": "text", "text": "a" * 500}]
    size = len(message_parts(parts))
    talk(merchant, buyer, **{part: parts, other: []}, limit=size)
    paid = token.functions.balanceOf(buyer.address).call()
    assert paid == 10**9 - PRICE
    with pytest.raises(BodyTooLargeError, match=f"the limit of {size - 1} bytes"):
        talk(merchant, buyer, **{part: parts, other: []}, limit=size - 1)
    assert token.functions.balanceOf(buyer.address).call() == paid
