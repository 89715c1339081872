"""Answers of metered servers: what was paid of the ceiling, nothing at all, or nothing that can be proven."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import httpx
import pytest

from bilateral.client import Client
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.payments import PaymentKind
from bilateral.x402 import (
    CheckName,
    DuplicateFeedbackError,
    LostAnswerError,
    Outcome,
    PaidNotAnsweredError,
    SettlementReceipt,
    Verifier,
    give_paid_feedback,
    paid_feedback,
)
from bilateral.x402.clients.transports import paid_request
from bilateral.x402.offers import decode_header
from bilateral.x402.proof.blind import BlindSealer
from bilateral.x402.proof.errors import InvalidMessageError
from bilateral.x402.proof.payments import unsupported_kind
from tests.permit2 import FACILITATOR, MULTICALL
from tests.x402.buying import assert_only, with_payment, with_settlement
from tests.x402.clients import CLIENTS
from tests.x402.metered import CEILING, PRICE, pay_headers, paying_by_all
from tests.x402.nodes import NOT_FOUND, node_with
from tests.x402.sellers import scripted_seller

PART = 1234


@pytest.fixture(scope="module")
def payer(payment_chain):
    return payment_chain.buyer()


@pytest.fixture(scope="module")
def buy_metered(metered_url, payer):
    """Buys at the shop of the SDK's server and facilitator, and returns the paid request."""

    def buy(path):
        headers = pay_headers(metered_url + path, payer)
        response = httpx.get(metered_url + path, headers=headers)
        assert response.status_code == 200, response.text
        sent = headers, f"GET {metered_url}{path}", {}, b""
        return paid_request(*sent, response.headers, response.content)

    return buy


@pytest.fixture(scope="module")
def metered(buy_metered):
    """A paid answer that cost a part of the ceiling."""
    return buy_metered(f"/metered?charge={PART}")


@pytest.mark.parametrize(
    ("path", "kind", "amount", "ceiling"),
    [
        ("/eip3009", PaymentKind.EIP3009, PRICE, None),
        ("/exact", PaymentKind.PERMIT2_EXACT, PRICE, None),
        (f"/metered?charge={PART}", PaymentKind.PERMIT2_UPTO, PART, CEILING),
        ("/metered?charge=40%25", PaymentKind.PERMIT2_UPTO, CEILING * 2 // 5, CEILING),
    ],
)
def test_every_kind_that_the_sdk_settles_is_verified(buy_metered, verifier, path, kind, amount, ceiling):
    verification = verifier.verify(buy_metered(path))
    assert verification.is_verified, verification.problems
    assert (verification.payment.kind, verification.payment.amount) == (kind, amount)
    assert (verification.payment.ceiling, verification.remarks) == (ceiling, ())


@pytest.mark.parametrize("amount", [str(PART + 1), "0", f"0{PART}", hex(PART), "-1234", "many", "9" * 79])
def test_report_of_another_amount_fails_and_the_payment_still_counts(verifier, metered, payer, amount):
    verification = verifier.verify(with_settlement(metered, amount=amount))
    assert_only(verification, CheckName.SETTLEMENT, problem=f"{amount} was paid, but the payment is {PART}")
    assert verification.check(CheckName.SETTLEMENT).code == "amount_mismatch"
    assert verification.payment.amount == PART
    assert paid_feedback(verification, 20, payer)["feedback_file"].proof_of_payment is not None


@pytest.mark.parametrize("amount", [None, ""])
def test_report_without_the_amount_of_a_metered_payment_is_remarked(verifier, metered, amount):
    verification = verifier.verify(with_settlement(metered, amount=amount))
    assert verification.is_verified
    assert verification.remarks == ("PAYMENT-RESPONSE does not state how much of the maximum amount was taken",)


@pytest.mark.parametrize(("amount", "fault"), [(PART, "wrong_type"), (1234.0, "wrong_type"), ({}, "wrong_type")])
def test_amount_that_is_no_text_is_malformed(verifier, metered, amount, fault):
    with pytest.raises(InvalidMessageError) as raised:
        SettlementReceipt.of(metered.settlement | {"amount": amount})
    assert (raised.value.field, raised.value.fault) == ("amount", fault)
    check = verifier.verify(with_settlement(metered, amount=amount)).check(CheckName.SETTLEMENT)
    assert (check.outcome, check.code, check.field) == (Outcome.FAILED, fault, "amount")


# Nothing was paid


@pytest.fixture
def free(metered, payment_chain, payer, seller):
    """A metered answer for which the server took nothing, with a payment that is still unused."""
    payload = payment_chain.upto(payer, seller.address, CEILING)
    settlement = {name: value for name, value in metered.settlement.items() if name != "extensions"}
    paid = with_payment(metered, "payload", value=payload)
    return replace(paid, settlement=settlement | {"transaction": "", "amount": "0"})


def deadline_of(paid):
    return int(paid.payload["permit2Authorization"]["deadline"])


def test_answer_for_nothing_says_until_when_the_ceiling_may_be_taken(verifier, free, payer):
    verification = verifier.verify(free)
    until = datetime.fromtimestamp(deadline_of(free), UTC)
    problem = f"nothing was paid so far; the server may still take up to {CEILING} until {until:%Y-%m-%d %H:%M:%S} UTC"
    assert verification.problems == (problem,)
    codes = {(check.outcome, check.code) for check in verification.checks}
    assert codes == {(Outcome.UNCHECKED, "nothing_paid")}
    assert (verification.payment, verification.is_verified) == (None, False)
    with pytest.raises(InvalidArgumentError, match="feedback needs a verified payment"):
        paid_feedback(verification, 95, payer)


def test_answer_for_nothing_is_free_once_its_deadline_has_passed(payment_chain, verifier, free):
    snapshot, states = payment_chain.rpc("evm_snapshot"), []
    for seconds in (deadline_of(free), deadline_of(free) + 1):
        payment_chain.rpc("evm_setNextBlockTimestamp", seconds)
        payment_chain.rpc("evm_mine")
        states += verifier.verify(free).problems
    payment_chain.rpc("evm_revert", snapshot)
    assert states[0].startswith("nothing was paid so far")
    assert states[1] == "nothing was paid, and nothing can be taken any more"


def test_answer_for_nothing_is_free_once_the_payer_has_canceled(payment_chain, verifier, free, payer):
    payment_chain.cancel(payer, free.payload["permit2Authorization"]["nonce"])
    assert verifier.verify(free).problems == ("nothing was paid, and nothing can be taken any more",)


def test_answer_for_nothing_needs_no_node(payment_chain, deployment, free):
    with node_with(payment_chain.url, eth_call=NOT_FOUND) as url, Verifier({url: deployment}) as verifier:
        assert verifier.verify(free).problems[0].startswith("nothing was paid so far")


def test_answer_for_nothing_is_judged_alike_for_the_past(verifier, free):
    verification = verifier.verify(free, historical=True)
    assert verification.problems == verification.now.problems
    assert verification.now.check(CheckName.SIGNATURE).code == "nothing_paid"


def test_server_that_reports_nothing_and_takes_money_is_found_out_later(payment_chain, verifier, free):
    assert verifier.verify(free).check(CheckName.PAYMENT).code == "nothing_paid"
    payment_chain.settle(free.payload, amount=PART)
    verification = verifier.verify(free)
    settlement = verification.check(CheckName.SETTLEMENT)
    assert (settlement.outcome, settlement.code) == (Outcome.FAILED, "amount_mismatch")
    assert f"reports that nothing was paid, but took {PART}" in settlement.problem
    assert (verification.payment.amount, verification.payment.ceiling) == (PART, CEILING)


@pytest.mark.parametrize("amount", ["1", None, "", "00"])
def test_report_without_a_transaction_of_another_amount_is_malformed(verifier, free, amount):
    settlement = verifier.verify(with_settlement(free, amount=amount)).check(CheckName.SETTLEMENT)
    assert (settlement.outcome, settlement.code, settlement.field) == (Outcome.FAILED, "malformed", "transaction")


def test_deadline_after_all_calendars_is_a_number(payment_chain, verifier, free, payer, seller):
    endless = payment_chain.upto(payer, seller.address, CEILING, deadline=2**255)
    problem = verifier.verify(with_payment(free, "payload", value=endless)).problems[0]
    assert problem.endswith(f"until Unix time {2**255}")


def test_no_envelope_is_sealed_for_an_answer_for_nothing():
    assert BlindSealer(None, None, None).envelope(None, None, "", "") is None


# Nothing can be proven


@pytest.fixture(scope="module")
def blind_verifier(payment_chain, deployment):
    """A verifier whose node has no traces."""
    with node_with(payment_chain.url, debug_traceTransaction=NOT_FOUND) as url, Verifier({url: deployment}) as made:
        yield made


@pytest.fixture
def scripted(payment_chain, seller, agent, deployment):
    """A seller of metered answers."""
    with scripted_seller(payment_chain, seller.address, agent, deployment) as running:
        terms = payment_chain.terms("upto", seller.address, CEILING, facilitatorAddress=FACILITATOR.address)
        running.terms = terms.model_dump(mode="json", by_alias=True)
        yield running


@pytest.fixture
def through_a_contract(scripted, payment_chain, payer):
    """A metered answer whose payment another contract settled."""
    scripted.terms["extra"]["facilitatorAddress"] = MULTICALL
    headers = pay_headers(scripted.url, payer)

    def settle(payload):
        receipt = payment_chain.multicall(scripted.call(payload, PART))
        return 200, scripted.report(receipt["transactionHash"], amount=str(PART))

    scripted.script = settle
    response = httpx.post(scripted.url, headers=headers, content=b"Oslo?")
    return paid_request(headers, f"POST {scripted.url}", {}, b"Oslo?", response.headers, response.content)


def test_feedback_about_a_payment_that_is_not_provable_says_so_and_proves_none(
    rpc, deployment, blind_verifier, verifier, through_a_contract, payer, payment_chain, loader
):
    verification = blind_verifier.verify(through_a_contract)
    payment = verification.check(CheckName.PAYMENT)
    assert (payment.outcome, payment.code) == (Outcome.UNCHECKED, "not_provable")
    payment_chain.rpc("anvil_setBalance", payer.address, hex(10**20))
    with Client(rpc, signer=payer, deployment=deployment, loader=loader, poll_interval=0.02) as client:
        entry = client.get_feedback(give_paid_feedback(client, verification, 40, payer).wait().id, load_file=True)
        assert entry.file.model_extra["paymentStatus"] == "not_provable"
        assert (entry.file.proof_of_payment, entry.file.task_ref) == (None, verification.interaction.task_ref)
        with pytest.raises(DuplicateFeedbackError):
            give_paid_feedback(client, verifier.verify(through_a_contract), 40, payer)


def test_only_the_payer_gives_feedback_about_a_payment_that_is_not_provable(
    blind_verifier, through_a_contract, payer, stranger
):
    verification = blind_verifier.verify(through_a_contract)
    with pytest.raises(InvalidArgumentError, match=f"{payer.address} made the payment, so {stranger.address} cannot"):
        paid_feedback(verification, 40, stranger)


def test_payment_that_was_not_provable_is_verified_by_another_node(blind_verifier, verifier, through_a_contract):
    verification = verifier.verify(blind_verifier.verify(through_a_contract).paid)
    assert verification.is_verified, verification.problems
    assert verification.payment.amount == PART


# Errors


@pytest.mark.parametrize("client", CLIENTS)
def test_lost_metered_answer_names_amount_and_ceiling(scripted, payment_chain, payer, deployment, monkeypatch, client):
    def settle(payload):
        scripted.transaction = scripted.settle(payload, PART)
        return 402, None

    scripted.script = settle
    monkeypatch.setattr("tests.x402.clients.paying_client", paying_by_all)
    with CLIENTS[client](payer, {payment_chain.url: deployment}) as buyer, pytest.raises(PaidNotAnsweredError) as lost:
        buyer.post(scripted.url, b"Oslo?")
    assert lost.value.transaction == scripted.transaction
    assert f"was taken by transaction {scripted.transaction} ({PART} of at most {CEILING})" in str(lost.value)


@pytest.mark.parametrize("client", CLIENTS)
def test_unsettled_metered_payment_can_be_settled_until_its_deadline(
    scripted, payment_chain, payer, deployment, monkeypatch, client
):
    scripted.script = lambda _: (402, None)
    monkeypatch.setattr("tests.x402.clients.paying_client", paying_by_all)
    with CLIENTS[client](payer, {payment_chain.url: deployment}) as buyer, pytest.raises(LostAnswerError) as lost:
        buyer.post(scripted.url, b"Oslo?")
    signed = decode_header(scripted.payments[-1])["payload"]["permit2Authorization"]
    until = datetime.fromtimestamp(int(signed["deadline"]), UTC)
    assert f"is not settled yet, but could be until {until:%Y-%m-%d %H:%M:%S} UTC" in str(lost.value)


# Kinds


EVM, OTHER = "eip155:8453", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"


@pytest.mark.parametrize(
    ("scheme", "network", "extra", "code"),
    [
        ("exact", EVM, {}, None),
        ("exact", EVM, {"assetTransferMethod": "eip3009"}, None),
        ("exact", EVM, {"assetTransferMethod": "permit2"}, None),
        ("exact", EVM, {"assetTransferMethod": "erc7710"}, "erc7710_not_supported"),
        ("exact", EVM, {"assetTransferMethod": 5}, "5_not_supported"),
        ("upto", EVM, {}, None),
        ("upto", EVM, {"assetTransferMethod": "permit2"}, None),
        ("upto", EVM, {"assetTransferMethod": "eip3009"}, "eip3009_not_supported"),
        ("batch-settlement", EVM, {}, "batch-settlement_not_supported"),
        ("auth-capture", EVM, {}, "auth-capture_not_supported"),
        ("Some Thing", EVM, {}, "some_thing_not_supported"),
        (None, EVM, None, "none_not_supported"),
        ("exact", OTHER, {}, None),
        ("other", OTHER, {}, None),
        ("exact", OTHER, {"assetTransferMethod": "permit2"}, "permit2_not_supported"),
        ("upto", OTHER, {}, "upto_not_supported"),
        ("batch-settlement", OTHER, {}, "batch-settlement_not_supported"),
        ("auth-capture", OTHER, {}, "auth-capture_not_supported"),
    ],
)
def test_terms_are_refused_by_their_kind(scheme, network, extra, code):
    assert unsupported_kind(scheme, network, extra) == code


def test_names_of_refusals_are_bounded():
    assert re.fullmatch("x{40}_not_supported", unsupported_kind("x" * 1000, EVM, {}))
