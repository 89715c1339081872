"""A server runs its application once for a payment on Solana, and asks the chain before it answers, if told to."""

from __future__ import annotations

import asyncio
import base64
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import psutil
import pytest
from solders.keypair import Keypair
from x402.schemas import PaymentRequirements, SettleResponse

from bilateral.solana.addresses import DEVNET, MAINNET
from bilateral.x402.proof.payments import is_ambiguous
from bilateral.x402.server.confirmation import confirm_settlement
from bilateral.x402.server.exchange import payment_key
from tests.solana.paying import BODY, buy, emptying, payment_for, send
from tests.x402.world import refusal


def with_payload(payment, **payload):
    return payment.model_copy(update={"payload": payment.payload | payload})


def other_signature(transaction, fill):
    """Return a transaction with other bytes in the fee payer's empty signature."""
    content = bytearray(base64.b64decode(transaction))
    content[1:65] = bytes([fill]) * 64
    return base64.b64encode(bytes(content)).decode()


def test_s32_five_copies_of_one_payment_run_the_application_once(shop, buyer, rpc):
    """The copies differ in the fee payer's empty signature and in fields that nobody signs."""
    url, runs = shop
    before, payment = len(runs), payment_for(url, buyer, rpc)
    text = payment.payload["transaction"]
    copies = [with_payload(payment, transaction=other_signature(text, fill), more=fill) for fill in range(5)]
    start = threading.Barrier(5)

    def run(copy):
        start.wait()
        return send(url, copy).status_code

    with ThreadPoolExecutor(5) as pool:
        assert sorted(pool.map(run, copies)) == [200, 402, 402, 402, 402]
    assert len(runs) == before + 1


def test_s32_key_of_a_payment_is_its_chain_and_message(shop, buyer, rpc):
    payment = payment_for(shop[0], buyer, rpc)
    text = payment.payload["transaction"]
    key = payment_key(MAINNET, "any", payment.payload)
    assert payment_key(MAINNET, "other", {"transaction": other_signature(text, 7), "more": 1}) == key
    assert payment_key(DEVNET, "any", payment.payload) != key
    assert payment_key(MAINNET, "any", payment_for(shop[0], buyer, rpc).payload) != key


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + "\n",
        lambda text: text[:4] + "!" + text[4:],
        lambda text: base64.b64encode(base64.b64decode(text) + b"\0").decode(),
        lambda text: text[:-3] + "\u0301" + text[-3:],
        lambda _: "AQ==",
        lambda _: None,
    ],
    ids=["line break", "stray sign", "bytes behind", "not ASCII", "no transaction", "no text"],
)
def test_s32_payment_in_a_form_that_readers_take_differently_is_refused(shop, buyer, rpc, change):
    url, runs = shop
    before, payment = len(runs), payment_for(url, buyer, rpc)
    other = change(payment.payload["transaction"])
    assert is_ambiguous({"transaction": other}, MAINNET)
    response = send(url, with_payload(payment, transaction=other))
    assert (response.status_code, refusal(response)) == (402, "ambiguous_payment")
    assert len(runs) == before
    assert send(url, payment).status_code == 200  # the good one is neither locked nor used


def test_payment_that_failed_before_settlement_may_be_tried_again(shop, world, asset, rpc):
    url, _ = shop
    poor = Keypair()
    world.give(asset, poor.pubkey(), 10)
    payment = payment_for(url, poor, rpc)
    assert send(url, payment).status_code == 402
    world.give(asset, poor.pubkey(), 10**6)
    assert send(url, payment).status_code == 200


@pytest.fixture
def confirming_shop(sell, selling_agent, seller):
    with sell(selling_agent, str(seller.pubkey()), confirming=True) as opened:
        yield opened


def test_s33_seller_that_asks_the_chain_does_not_answer_unpaid(confirming_shop, node, world, asset, buyer, rpc):
    url, _ = confirming_shop
    payment = payment_for(url, buyer, rpc)
    with emptying(node, world, asset, buyer):
        response = send(url, payment)
    assert response.status_code == 402
    assert BODY not in response.content


def test_s33_seller_that_does_not_ask_the_chain_answers_unpaid(shop, node, world, asset, buyer, rpc, verifier):
    """The fault is the facilitator's, of x402 2.25.0. If this fails, a release has mended it: change docs/solana.md."""
    with emptying(node, world, asset, buyer):
        paid = buy(shop[0], buyer, rpc)
    assert paid.response == BODY
    assert not verifier.verify(paid).is_verified


def test_s33_paid_request_is_answered_as_without_the_question(confirming_shop, buyer, rpc, verifier):
    verification = verifier.verify(buy(confirming_shop[0], buyer, rpc))
    assert verification.is_verified, verification.problems


class Facilitator:
    """A facilitator's client that has settled a payment, and counts."""

    def __init__(self, transaction):
        self.settlement = SettleResponse(success=True, transaction=transaction, network=MAINNET, payer="x")
        self.count = 0

    def settle(self, payload, requirements):  # noqa: ARG002  # the SDK's interface
        self.count += 1
        return self.settlement.model_copy(update={"network": requirements.network})

    def get_supported(self):
        return "everything"


class AsyncFacilitator(Facilitator):
    """The same without blocking."""

    async def settle(self, payload, requirements):
        return super().settle(payload, requirements)


def requirements_of(paid, network=MAINNET):
    return PaymentRequirements.model_validate({**paid.accepted, "network": network})


class Payload:
    """The payment payload as the SDK hands it over, as far as it matters."""

    def __init__(self, paid):
        self.payload = paid.payment["payload"]


def connections_to(url):
    """Return the own addresses of this process's connections to a server."""
    port = urlsplit(url).port
    return {held.laddr for held in psutil.Process().net_connections("tcp") if held.raddr and held.raddr.port == port}


@pytest.mark.parametrize("kind", [Facilitator, AsyncFacilitator])
def test_s33_settlement_that_the_node_does_not_know_yet_is_pending_and_asked_again(bought, rpc, node, kind):
    inner = kind(bought.settlement["transaction"])
    outer, others = confirm_settlement(inner, rpc, MAINNET, seconds=0.01), connections_to(rpc)

    def settle():
        settled = outer.settle(Payload(bought), requirements_of(bought))
        return settled if kind is Facilitator else runner.run(settled)

    with asyncio.Runner() as runner:
        node.instead["getTransaction"] = lambda _: None
        first = settle()
        assert (first.success, first.error_reason) == (False, "settlement_pending")
        node.instead.clear()
        assert settle().success
        assert inner.count == 1  # the second question was for the chain alone
        node.instead["status"] = 404
        assert settle().error_reason == "settlement_pending"
        node.instead.clear()
        assert connections_to(rpc) - others
        outer.close() if kind is Facilitator else runner.run(outer.close())
        assert not connections_to(rpc) - others
    assert outer.get_supported() == "everything"


def test_s33_settlement_that_is_another_payment_has_failed(bought, shop, enrich, rpc):
    other = buy(shop[0], enrich(), rpc)
    outer = confirm_settlement(Facilitator(other.settlement["transaction"]), rpc, MAINNET)
    settled = outer.settle(Payload(bought), requirements_of(bought))
    assert (settled.success, settled.error_reason) == (False, "transaction_failed")
    assert "differs from the client's signed transaction" in settled.error_message


def test_s33_settlements_on_other_chains_are_passed_on(bought, rpc, node):
    outer = confirm_settlement(Facilitator("x"), rpc, MAINNET)
    node.instead["status"] = 404
    assert outer.settle(Payload(bought), requirements_of(bought, "eip155:8453")).success
