"""What a client reports for each kind of payment: the table of `outcomes.json`, through real HTTP and a real chain."""

from __future__ import annotations

import json
import re

import pytest
from x402.http.clients import httpx as of_httpx
from x402.http.clients import requests as of_requests
from x402.mechanisms.evm.signers import EthAccountSigner
from x402.mechanisms.evm.upto import UptoEvmClientScheme

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.payments import PaymentKind
from bilateral.x402 import LostAnswerError, Outcome, PaidNotAnsweredError
from bilateral.x402.clients.feedback import paid_feedback
from tests.permit2 import MULTICALL
from tests.x402.clients import CLIENTS
from tests.x402.metered import paying_by_all
from tests.x402.nodes import NOT_FOUND, node_with
from tests.x402.sellers import BODY, scripted_seller
from tests.x402.situations import TERMS, scripts
from tests.x402.vectors import VECTORS

ROWS = json.loads((VECTORS / "outcomes.json").read_bytes())["rows"]
REFUSALS = (of_httpx.PaymentError, of_requests.PaymentError)


@pytest.fixture(scope="module")
def blind_node(payment_chain):
    with node_with(payment_chain.url, debug_traceTransaction=NOT_FOUND) as url:
        yield url


@pytest.fixture(scope="module")
def scripted(payment_chain, seller, agent, deployment):
    with scripted_seller(payment_chain, seller.address, agent, deployment) as running:
        yield running


@pytest.fixture(scope="module")
def payer(payment_chain):
    return payment_chain.buyer()


@pytest.fixture
def situations(payment_chain, scripted, payer):
    """The scripts of the seller, by situation."""
    return scripts(payment_chain, scripted, payer)


@pytest.fixture(scope="module")
def fee_token(payment_chain, payer):
    token = payment_chain.put("0x" + "fe" * 20, "TokenSplitsTransfers")
    payment_chain.fund(payer.address, token=token)
    payment_chain.approve(payer, token=token)
    return token


@pytest.fixture
def versatile_client(monkeypatch):
    """Clients pay by all kinds of the SDK, and would sign for other schemes, too."""

    def client_of(account, kind):
        client = paying_by_all(account, kind)
        for name in ("batch-settlement", "auth-capture"):
            scheme = type("Other", (UptoEvmClientScheme,), {"scheme": name})
            client.register("eip155:*", scheme(EthAccountSigner(account)))
        return client

    monkeypatch.setattr("tests.x402.clients.paying_client", client_of)


def reported(client, url, payer):
    """Return what a client reports about a purchase, as the table has it."""
    try:
        response = client.post(url, b"Oslo?")
    except REFUSALS as refusal:
        code = re.search("[a-z0-9-]+_not_supported", str(refusal))[0]
        return {"delivered": False, "outcome": "refused", "code": code, "paid": False, "feedback": False}
    except LostAnswerError as lost:
        paid = isinstance(lost, PaidNotAnsweredError) or None
        return {"delivered": False, "outcome": "lost", "code": lost.outcome, "paid": paid, "feedback": False}
    verification = client.verification_of(response)
    if verification is None:
        return {"delivered": True, "outcome": "unpaid", "code": "", "paid": False, "feedback": False}
    assert response.content == BODY
    first = next((check for check in verification.checks if check.outcome is not Outcome.PASSED), None)
    paid = verification.payment is not None or (False if first.code == "nothing_paid" else None)
    try:
        file = paid_feedback(verification, 95, payer)["feedback_file"]
    except InvalidArgumentError:
        has_feedback = False
    else:
        has_feedback = True
        assert (file.proof_of_payment is not None) == (paid is True)
    outcome, code = ("verified", "") if first is None else (str(first.outcome), first.code)
    return {"delivered": True, "outcome": outcome, "code": code, "paid": paid, "feedback": has_feedback}


@pytest.mark.usefixtures("versatile_client")
@pytest.mark.parametrize(("place", "row"), enumerate(ROWS), ids=[f"{row['kind']} {row['situation']}" for row in ROWS])
def test_client_reports_what_the_table_says(  # fixtures
    payment_chain, scripted, situations, payer, blind_node, fee_token, deployment, place, row
):
    kind, situation = row["kind"], row["situation"]
    scheme, amount, extra = TERMS[kind]
    if "another contract" in situation and kind == "permit2-upto":
        extra = {"facilitatorAddress": MULTICALL}
    token = fee_token if "fee" in situation else None
    terms = payment_chain.terms(scheme, scripted.wallet, amount, token=token, **extra)
    scripted.terms, url = terms.model_dump(mode="json", by_alias=True), payment_chain.url
    make_client = list(CLIENTS.values())[place % len(CLIENTS)]
    with make_client(payer, {url: deployment}, receipt_seconds=0.2) as client:
        if "earlier" in situation:
            scripted.script = situations["settles the price"]
            first = client.verification_of(client.post(scripted.url, b"Bergen?"))
            assert first.is_verified
            scripted.earlier = first.interaction.payment.transaction
    scripted.script, node = situations[situation], blind_node if "no traces" in situation else url
    with make_client(payer, {node: deployment}, receipt_seconds=0.2) as client:
        said = reported(client, scripted.url, payer)
    assert {"kind": kind, "situation": situation} | said == row


def test_table_has_every_kind_and_every_situation(situations):
    assert {row["kind"] for row in ROWS} == {*PaymentKind} - {"plain"}
    assert {row["situation"] for row in ROWS} == situations.keys()
