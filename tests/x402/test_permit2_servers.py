"""A server takes each authorization of Permit2 once, and refuses before it works what nobody could settle."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from bilateral.core.payments.contracts import ESCROW_COLLECTORS, RETIRED_UPTO_PROXY
from bilateral.x402 import Verifier, declare_8004_reputation
from tests.permit2 import compact, with_high_s
from tests.x402.metered import PRICE
from tests.x402.nodes import node_with
from tests.x402.permit2_shops import FRAMEWORKS, options, permit2_shop, problem_of
from tests.x402.world import assert_proves

STRANGER = "0x" + "12" * 20
OTHER_TOKEN = "0x70c3" + "00" * 17 + "02"


@pytest.fixture(scope="module")
def declared(agent, deployment):
    return declare_8004_reputation(agent, deployment)


@pytest.fixture(scope="module")
def priced(payment_chain, seller):
    other = payment_chain.put(OTHER_TOKEN, "MockPaymentTokenWithPermit")
    return options(payment_chain.token, seller.address, other=other)


@pytest.fixture(scope="module", params=FRAMEWORKS)
def open_shop(request, every_facilitator_url, priced, declared):
    with permit2_shop(request.param, every_facilitator_url, priced, declared) as shop:
        yield shop


@pytest.fixture
def shop(open_shop):
    """A shop whose server asks no node."""
    open_shop.runs.clear()
    open_shop.on_run = lambda: None
    return open_shop


@pytest.fixture(params=FRAMEWORKS)
def careful(request, every_facilitator_url, priced, declared, verifier):
    """A shop whose server looks nonces up."""
    with permit2_shop(request.param, every_facilitator_url, priced, declared, verifier=verifier) as shop:
        yield shop


@pytest.fixture
def payer(payment_chain):
    """Has tokens that Permit2 may move."""
    return payment_chain.buyer()


def test_answer_that_was_paid_by_permit2_is_signed(shop, payment_chain, payer, seller):
    before = payment_chain.balance(seller.address)
    response = shop.buy("/exact", payer)
    assert response.status_code == 200, response.text
    assert_proves(response, response.content)
    assert payment_chain.balance(seller.address) - before == PRICE
    assert shop.runs == ["/exact"]


def permit(change):
    """Return a change of what was signed, which no longer is."""

    def apply(payload):
        change(payload.payload["permit2Authorization"])
        return payload

    return apply


def merge(**fields):
    return permit(lambda signed: signed.update(fields))


def inside(name, **fields):
    return permit(lambda signed: signed[name].update(fields))


def without(*path):
    def remove(signed):
        for name in path[:-1]:
            signed = signed[name]
        del signed[path[-1]]

    return permit(remove)


def payload_with(**fields):
    def apply(payload):
        payload.payload.update(fields)
        return payload

    return apply


def payload_without_authorization(payload):
    del payload.payload["permit2Authorization"]
    return payload


INVALID = {
    "both parts": (payload_with(authorization={"from": STRANGER, "nonce": "0x12"}), "ambiguous_payment"),
    "no part": (payload_without_authorization, "unsupported_payment"),
    "a salt": (payload_with(salt="0x12"), "auth-capture_not_supported"),
    "a collector as spender": (merge(spender=ESCROW_COLLECTORS[1]), "auth-capture_not_supported"),
    "no witness": (without("witness"), "missing_witness"),
    "no permitted": (without("permitted"), "missing_permitted"),
    "no spender": (without("spender"), "missing_spender"),
    "a stranger as spender": (merge(spender=STRANGER), "unknown_spender"),
    "a whole number as nonce": (merge(nonce=1000), "ambiguous_payment"),
    "a fraction as nonce": (merge(nonce=1000.5), "ambiguous_payment"),
    "a negative nonce": (merge(nonce="-1"), "invalid_nonce"),
    "a large nonce": (merge(nonce=str(2**256)), "invalid_nonce"),
    "a nonce in hexadecimal digits": (merge(nonce="0x3e8"), "invalid_nonce"),
    "a deadline as a number": (merge(deadline=2**32), "invalid_payment"),
    "another payee": (inside("witness", to=STRANGER), "payee_mismatch"),
    "another token": (inside("permitted", token=STRANGER), "asset_mismatch"),
    "another amount": (inside("permitted", amount=str(PRICE - 1)), "amount_mismatch"),
}
INVALID_EXACT = {"a facilitator": (inside("witness", facilitator=STRANGER), "unexpected_facilitator")}
INVALID_METERED = {
    "no facilitator": (without("witness", "facilitator"), "missing_facilitator"),
    "zero as facilitator": (inside("witness", facilitator="0x" + "00" * 20), "missing_facilitator"),
    "the retired proxy": (merge(spender=RETIRED_UPTO_PROXY), "unknown_spender"),
}


@pytest.mark.parametrize(
    ("path", "change", "code"),
    [
        pytest.param(path, *case, id=f"{path[1:]} with {name}")
        for path, cases in (("/exact", INVALID | INVALID_EXACT), ("/metered", INVALID | INVALID_METERED))
        for name, case in cases.items()
    ],
)
def test_payment_that_nobody_could_settle_is_refused_before_the_application(
    shop, payment_chain, payer, path, change, code
):
    assert problem_of(shop.buy(path, payer, change=change)) == code
    assert shop.runs == []
    assert payment_chain.balance(payer.address) == 10**9


def test_payment_by_another_scheme_is_refused_before_the_application(shop, payer, payment_chain):
    exact, ours = shop.pay("/exact", payer), {}

    def swap(payload):
        ours["payload"] = payload.payload
        return payload

    shop.pay("/eip3009", payer, change=swap)
    assert problem_of(shop.buy("/metered", payer, change=payload_with(**ours["payload"]))) == "ambiguous_payment"
    response = shop.get("/metered", exact)  # the terms of another route
    assert problem_of(response) == "No matching payment requirements"
    assert shop.runs == []


@pytest.mark.parametrize("open_shop", ["FastAPI"], indirect=True)  # Flask's test server answers one request at a time
def test_one_nonce_runs_the_application_once_for_all_tokens_schemes_and_signatures(shop, payment_chain, payer):
    """While the first request runs, a facilitator verifies each copy of its authorization as valid."""
    other = payment_chain.put(OTHER_TOKEN, "MockPaymentTokenWithPermit")
    payment_chain.fund(payer.address, token=other)
    payment_chain.approve(payer, token=other)
    started, may_end = Event(), Event()
    shop.on_run = lambda: (started.set(), may_end.wait(60))
    nonce, answers = [], []

    def remember(payload):
        nonce.append(payload.payload["permit2Authorization"]["nonce"])
        return payload

    first = shop.pay("/exact", payer, change=remember)

    def same(sign=lambda signature: signature):
        def apply(payload):
            signed = payload.payload["permit2Authorization"] | {"nonce": nonce[0]}
            payload.payload.update(payment_chain.sign(payer, signed))
            payload.payload["signature"] = sign(payload.payload["signature"])
            return payload

        return apply

    copies = [("/exact", same()), ("/exact", same(with_high_s)), ("/other", same()), ("/metered", same())]
    thread = Thread(target=lambda: answers.append(shop.get("/exact", first)))
    thread.start()
    try:
        assert started.wait(60)
        problems = [problem_of(shop.buy(path, payer, change=change)) for path, change in copies]
        assert problem_of(shop.buy("/exact", payer, change=same(compact))) == "invalid_permit2_signature"  # the SDK's
    finally:
        may_end.set()
        thread.join()
    assert problems == ["payment_in_progress"] * len(copies)
    assert answers[0].status_code == 200
    assert shop.runs == ["/exact"]
    assert payment_chain.balance(payer.address) == 10**9 - PRICE


def test_used_nonce_is_refused_before_the_application_also_by_another_process(shop, careful, payment_chain, payer):
    """The facilitator verifies a used authorization of the scheme exact as valid."""
    headers = shop.pay("/exact", payer)
    assert shop.get("/exact", headers).status_code == 200
    assert problem_of(careful.get("/exact", headers)) == "nonce_used"
    assert problem_of(shop.get("/exact", headers)) == "payment_in_progress"
    assert (careful.runs, shop.runs) == ([], ["/exact"])


def test_cancelled_nonce_is_refused_before_the_application(careful, payment_chain, payer):

    def cancel(payload):
        payment_chain.cancel(payer, payload.payload["permit2Authorization"]["nonce"])
        return payload

    assert problem_of(careful.buy("/exact", payer, change=cancel)) == "nonce_used"
    assert careful.runs == []


def test_nonce_that_was_cancelled_before_the_states_of_a_node_is_refused_before_the_application(
    every_facilitator_url, priced, declared, payment_chain, deployment, loader, payer
):
    blocks = []

    def call(request):
        is_old = request["params"][1] in [hex(block - 1) for block in blocks]
        return {"error": {"code": -32000, "message": "missing trie node"}} if is_old else None

    def cancel(payload):
        receipt = payment_chain.cancel(payer, payload.payload["permit2Authorization"]["nonce"])
        blocks.append(int(receipt["blockNumber"], 16))
        return payload

    with (
        node_with(payment_chain.url, eth_call=call) as url,
        Verifier({url: deployment}, loader=loader) as verifier,
        permit2_shop(FRAMEWORKS[0], every_facilitator_url, priced, declared, verifier=verifier) as shop,
    ):
        assert problem_of(shop.buy("/exact", payer, change=cancel)) == "nonce_used"
        assert shop.runs == []


def test_expired_authorization_is_refused_before_the_application(careful, payment_chain, payer):
    assert problem_of(careful.buy("/exact", payer, change=merge(deadline="1000"))) == "authorization_expired"
    assert careful.runs == []
