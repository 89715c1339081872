"""A payment that is verified, served and then not settled counts against its buyer, if the buyer caused it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import httpx
import pytest
from fastapi import FastAPI
from flask import Flask
from x402 import x402FacilitatorSync, x402ResourceServer, x402ResourceServerSync
from x402.mcp.server_async import PaymentWrapperConfig, create_payment_wrapper
from x402.mcp.types import MCPToolResult
from x402.mechanisms.evm import constants
from x402.mechanisms.evm.exact import register_exact_evm_facilitator
from x402.mechanisms.evm.signers import FacilitatorWeb3Signer
from x402.schemas import ResourceConfig, SettleResponse

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.values.failures import FailureCount, FailureReason
from bilateral.dev.servers import facilitator_app_of, serving
from bilateral.x402 import (
    Reputation8004ResourceServerExtension,
    declare_8004_reputation,
)
from bilateral.x402.server.a2a import paid_exchange
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.failures import FailedSettlements
from bilateral.x402.server.server import ReputationDraftResourceServerExtension
from bilateral.x402.server.wsgi import protect_flask
from tests.sdk.client.helpers import transact
from tests.waiting import until
from tests.x402.conftest import account
from tests.x402.test_a2a import ANSWER, REQUEST
from tests.x402.test_tools import CONTENT, call
from tests.x402.test_undelivered import signed_cancellation
from tests.x402.world import (
    NETWORK,
    PRICE,
    SIGNING_KEY,
    paying_client,
    payment_for,
    resource_server,
    route,
    serving_wsgi,
    settled,
)

WHOLE = 10**9
BALANCE, ALLOWANCE = FailureReason.INSUFFICIENT_BALANCE, FailureReason.INSUFFICIENT_ALLOWANCE
CANCELED = FailureReason.AUTHORIZATION_CANCELED


class Facilitator:
    """The SDK's facilitator, which may answer settlements with a code of its own choice."""

    def __init__(self, rpc, **options):
        self._inner, self.code, self.error = x402FacilitatorSync(), None, None
        signer = FacilitatorWeb3Signer(account(8).key.hex(), rpc, **options)
        register_exact_evm_facilitator(self._inner, signer, NETWORK)

    def settle(self, *arguments):
        if self.error is not None:
            raise self.error
        if self.code is not None:
            return SettleResponse(success=False, error_reason=self.code, transaction="", network=NETWORK)
        return self._inner.settle(*arguments)

    def __getattr__(self, name):
        return getattr(self._inner, name)


def fastapi_shop(url, routes, extensions, serve):
    app = FastAPI()
    app.get("/weather")(serve)
    server = resource_server(x402ResourceServer, url, extensions[0])
    for extension in extensions[1:]:
        server.register_extension(extension)
    app.add_middleware(ReputationMiddleware, routes=routes, server=server)
    return serving(app)


def flask_shop(url, routes, extensions, serve):
    app = Flask("shop")
    app.get("/weather")(serve)
    server = resource_server(x402ResourceServerSync, url, extensions[0])
    protect_flask(app, routes, server)
    return serving_wsgi(app)


SHOPS = {"FastAPI": fastapi_shop, "Flask": flask_shop}


@pytest.fixture
def open_shop(rpc, token, seller, agent, deployment, verifier):
    """Opens a paid route: its failures, those that its hook saw, and what its handler does before it answers."""
    contexts = []

    def make(face="FastAPI", *, failures=None, verifier=verifier, drafts=False, options=None, **extra):
        shop = SimpleNamespace(act=lambda: None, undone=[], runs=0, facilitator=Facilitator(rpc, **(options or {})))
        shop.failures = failures or FailedSettlements(on_failure=shop.undone.append)

        def serve():
            shop.runs += 1
            shop.act()
            return {"weather": "snow"}

        settings = {"verifier": verifier, "failures": shop.failures}
        extensions = [Reputation8004ResourceServerExtension(SIGNING_KEY, **settings)]
        declared = declare_8004_reputation(agent, deployment)
        if drafts:
            extensions.append(ReputationDraftResourceServerExtension(SIGNING_KEY, **settings))
            declared["reputation"] = {**declared["8004-reputation"]}
        contexts.append(serving(facilitator_app_of(shop.facilitator)))
        url = contexts[-1].__enter__()
        routes = {"* /*": route(token.address, seller.address, declared, **extra)}
        contexts.append(SHOPS[face](url, routes, extensions, serve))
        shop.url = contexts[-1].__enter__() + "/weather"
        return shop

    yield make
    for context in reversed(contexts):
        context.__exit__(None, None, None)


@pytest.fixture(params=SHOPS)
def shop(request, open_shop):
    return open_shop(request.param)


def pay(shop, buyer, headers=None):
    return httpx.get(shop.url, headers=headers or payment_for(shop.url, buyer), timeout=60)


@pytest.fixture
def spend(token, web3, buyer, stranger):
    """Moves the buyer's money away."""
    return lambda: transact(web3, token.functions.transfer(stranger.address, WHOLE), buyer)


@pytest.fixture
def refund(token, web3, buyer, stranger):
    """Moves the money back."""
    return lambda: transact(web3, token.functions.transfer(buyer.address, WHOLE), stranger)


def failed(shop, number=1):
    """Wait for the work after answers, and return the newest failure that the hook saw."""
    return until(lambda: list(shop.undone), lambda seen: len(seen) == number)[-1]


def count(shop, buyer):
    return shop.failures.count(NETWORK, buyer.address)


def test_balance_that_is_spent_while_the_seller_works_counts(shop, buyer, spend, seller):
    shop.act = spend
    response = pay(shop, buyer)
    failure = failed(shop)
    assert response.status_code == 402
    assert (failure.payer, failure.network, failure.reason) == (buyer.address, NETWORK, BALANCE)
    assert (failure.method, failure.target, failure.amount) == ("GET", "/weather", PRICE)
    assert failure.transaction == settled(response)["transaction"] != ""
    assert (count(shop, buyer).number, count(shop, buyer).reasons) == (1, {BALANCE: 1})
    assert count(shop, buyer).last_at == failure.at
    assert count(shop, seller) == shop.failures.count("eip155:1", buyer.address) == FailureCount()


def test_authorization_that_is_canceled_while_the_seller_works_counts(shop, buyer, token, web3):
    nonces = []

    def change(payload):
        nonces.append(payload.payload["authorization"]["nonce"])
        return payload

    def cancel():
        signature = signed_cancellation(token, buyer, nonces[0])
        transact(web3, token.functions.cancelAuthorization(buyer.address, nonces[0], signature), buyer)

    headers, shop.act = payment_for(shop.url, buyer, change=change), cancel
    pay(shop, buyer, headers)
    assert failed(shop).reason is CANCELED
    assert count(shop, buyer).reasons == {CANCELED: 1}


def test_one_authorization_counts_once_however_often_it_is_sent(shop, buyer, spend, refund):
    headers = payment_for(shop.url, buyer)
    for number in (1, 2):
        shop.act = spend
        pay(shop, buyer, headers)
        failed(shop, number)  # the work was done twice, and is undone twice
        refund()
    assert (shop.runs, count(shop, buyer).number) == (2, 1)
    pay(shop, buyer)
    failed(shop, 3)
    assert count(shop, buyer).number == 2


def test_later_settlement_removes_the_failure(shop, buyer, spend, refund):
    headers, shop.act = payment_for(shop.url, buyer), spend
    pay(shop, buyer, headers)
    failed(shop)
    refund()
    shop.act = lambda: None
    assert pay(shop, buyer, headers).status_code == 200
    assert (count(shop, buyer), len(shop.undone)) == (FailureCount(), 1)


def test_exception_of_the_hook_changes_no_answer(open_shop, buyer, spend, caplog):
    shop = open_shop(failures=FailedSettlements(on_failure=lambda _: 1 // 0))
    shop.act = spend
    assert pay(shop, buyer).status_code == 402
    until(lambda: "a task that followed a paid answer failed" in caplog.text, bool)
    assert count(shop, buyer).number == 1


def test_both_profiles_of_a_route_note_a_failure_once(open_shop, buyer, spend):
    shop = open_shop(drafts=True)
    shop.act = spend
    pay(shop, buyer)
    failed(shop)
    pay(shop, buyer)
    assert (shop.undone, count(shop, buyer).number) == ([shop.undone[0]], 1)


@pytest.mark.parametrize("code", [None, "invalid_exact_evm_insufficient_balance"])  # of a buyer who had the price alone
def test_payment_that_a_stranger_settled_first_does_not_count(shop, buyer, stranger, token, web3, caplog, code):
    payments = []

    def change(payload):
        payments.append(payload.payload)
        return payload

    def overtake():
        signed, signature = payments[0]["authorization"], bytes.fromhex(payments[0]["signature"][2:])
        terms = (signed["from"], signed["to"], *(int(signed[name]) for name in ("value", "validAfter", "validBefore")))
        function = token.get_function_by_signature(
            "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"
        )
        transact(web3, function(*terms, signed["nonce"], signature), stranger)

    headers, shop.act, shop.facilitator.code = payment_for(shop.url, buyer, change=change), overtake, code
    assert settled(pay(shop, buyer, headers))["errorReason"] == (code or "transaction_failed")
    until(lambda: f"somebody else settled the payment by {buyer.address}" in caplog.text, bool)
    assert (shop.undone, count(shop, buyer)) == ([], FailureCount())


def test_transaction_with_too_little_gas_does_not_count(open_shop, buyer):
    shop = open_shop(options={"gas_limit": 45_000})
    assert settled(pay(shop, buyer))["errorReason"] == "transaction_failed"
    failure = failed(shop)
    assert (failure.reason, failure.transaction != "", count(shop, buyer)) == (None, True, FailureCount())


def test_facilitator_that_fails_or_waits_does_not_count(open_shop, buyer, spend):
    shop = open_shop()
    shop.act, shop.facilitator.error = spend, RuntimeError("the facilitator is down")
    assert pay(shop, buyer).status_code == 402
    shop.facilitator.error, shop.facilitator.code = None, "settlement_pending"
    shop.act = lambda: None
    pay(shop, buyer)
    assert (shop.undone, count(shop, buyer)) == ([], FailureCount())


COUNTED = {
    "insufficient_funds": BALANCE,
    "invalid_exact_evm_insufficient_balance": BALANCE,
    "permit2_insufficient_balance": BALANCE,
    "permit2_allowance_required": ALLOWANCE,
}
CODES = {text for name, text in vars(constants).items() if name.startswith("ERR_")} | set(COUNTED)


def test_facilitators_word_counts_for_few_codes_alone(open_shop, enrich):
    """The chain shows a rich buyer, so nothing but the facilitator's code can count."""
    shop, seen, number = open_shop(), {}, 0
    for code in sorted(CODES - {"settlement_pending"}):
        buyer = enrich()
        shop.facilitator.code, number = code, number + 1
        pay(shop, buyer)
        failure = failed(shop, number)
        assert (failure.code, failure.proof) == (code, None)
        if count(shop, buyer).number:
            seen[code] = failure.reason
    assert seen == COUNTED


@pytest.mark.parametrize("code", ["permit2_amount_mismatch", "upto_facilitator_mismatch", "made_up"])
def test_poor_buyer_does_not_answer_for_the_sellers_mistakes(open_shop, buyer, spend, code):
    shop = open_shop()
    shop.act, shop.facilitator.code = spend, code
    pay(shop, buyer)
    assert (failed(shop).reason, count(shop, buyer)) == (None, FailureCount())


def test_without_a_node_only_clear_codes_count(open_shop, buyer, spend):
    shop = open_shop(verifier=None)
    shop.act = spend
    pay(shop, buyer)
    assert (failed(shop).code, shop.undone[0].reason) == ("transaction_failed", None)


def test_node_that_fails_leaves_the_hook_and_the_clear_codes(open_shop, buyer, verifier, monkeypatch):
    shop = open_shop()
    shop.facilitator.code = "insufficient_funds"
    monkeypatch.setattr(verifier, "run_on", lambda *_: (_ for _ in ()).throw(InvalidArgumentError("the node is down")))
    pay(shop, buyer)
    assert (failed(shop).reason, count(shop, buyer).number) == (BALANCE, 1)


def test_forged_payment_that_nobody_verified_counts_against_nobody(open_shop, buyer, stranger):
    """It is settled before the application runs, without a verification: its payer is anybody's claim."""
    shop = open_shop(paymentFlow="upfront")
    shop.facilitator.code = "invalid_exact_evm_insufficient_balance"

    def forge(payload):
        payload.payload["authorization"]["from"] = buyer.address
        return payload

    assert pay(shop, buyer, payment_for(shop.url, stranger, change=forge)).status_code == 402
    assert (shop.runs, shop.undone, count(shop, buyer)) == (0, [], FailureCount())


def test_forged_payment_is_not_verified_and_counts_against_nobody(shop, buyer, stranger):
    def forge(payload):
        payload.payload["authorization"]["from"] = buyer.address
        return payload

    shop.facilitator.code = "invalid_exact_evm_insufficient_balance"
    assert pay(shop, buyer, payment_for(shop.url, stranger, change=forge)).status_code == 402
    assert (shop.runs, shop.undone, count(shop, buyer)) == (0, [], FailureCount())


@pytest.fixture
def merchant(facilitator, token, seller, agent, deployment, verifier):
    """A server without HTTP: its failures, those that its hook saw, its terms and its declaration."""
    made = SimpleNamespace(undone=[], declared=declare_8004_reputation(agent, deployment))
    made.failures = FailedSettlements(on_failure=made.undone.append)
    extension = Reputation8004ResourceServerExtension(SIGNING_KEY, verifier=verifier, failures=made.failures)
    made.server = resource_server(x402ResourceServer, facilitator, extension)
    made.server.initialize()
    price = {"asset": token.address, "amount": str(PRICE), "extra": {"name": "Test Dollar", "version": "2"}}
    config = ResourceConfig(scheme="exact", network=NETWORK, pay_to=seller.address, price=price)
    made.terms = made.server.build_payment_requirements(config)
    return made


def test_tool_call_that_is_not_settled_counts(merchant, buyer, spend):
    paid = create_payment_wrapper(merchant.server, PaymentWrapperConfig(merchant.terms, extensions=merchant.declared))

    async def forecast(_arguments, _context):
        spend()
        return MCPToolResult(content=CONTENT)

    assert call(paid(forecast), {}, buyer).is_error
    assert (failed(merchant).reason, count(merchant, buyer).number) == (BALANCE, 1)


def test_message_between_agents_that_is_not_settled_counts(merchant, buyer, spend):
    server, (terms,), declared = merchant.server, merchant.terms, merchant.declared

    async def run():
        required = await server.create_payment_required_response([terms], extensions=declared)
        payment = paying_client(buyer).create_payment_payload(required)
        with paid_exchange(REQUEST) as exchange:
            assert (await server.verify_payment(payment, terms, declared_extensions=declared)).is_valid
            spend()
            exchange.answer(ANSWER)
            return await server.settle_payment(payment, terms, declared_extensions=declared)

    assert not asyncio.run(run()).success
    assert (failed(merchant).reason, count(merchant, buyer).number) == (BALANCE, 1)
