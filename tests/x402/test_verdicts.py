"""The result of a verification says of each check, for programs, why it did not pass; and stands alone for feedback."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import replace

import pytest
from x402.http import decode_payment_required_header

from bilateral.x402 import AsyncVerifier, CheckName, Outcome, Verifier, declare_8004_reputation
from bilateral.x402.clients.transports import paid_request
from bilateral.x402.offers import MAX_HEADER, decode_header
from tests.sdk.client.helpers import deploy, transact
from tests.x402.buying import BODY, OTHER_KEY, assert_only, buy, signed_anew, with_payment, with_settlement
from tests.x402.examples import changed
from tests.x402.world import NETWORK, ask_price, paying_client, signer_entry

OTHER_TOKEN = "0x" + "12" * 20


def without(paid, *path):
    """Return a paid answer whose settlement lacks a field."""
    return replace(paid, settlement=changed(paid.settlement, list(path), None))


STATEMENT = ("extensions", "8004-reputation")


@pytest.mark.parametrize(
    ("change", "check", "code", "field"),
    [
        (lambda value: replace(value, settlement=None), "settlement", "missing", "PAYMENT-RESPONSE"),
        (lambda value: without(value, "transaction"), "settlement", "missing", "transaction"),
        (lambda value: with_settlement(value, success=False), "settlement", "settlement_failed", ""),
        (lambda value: without(value, "extensions"), "interaction", "missing", "8004-reputation"),
        (lambda value: without(value, *STATEMENT, "taskRef"), "interaction", "missing", "taskRef"),
        (lambda value: without(value, *STATEMENT, "agentSignature"), "interaction", "missing", "agentSignature"),
        (lambda value: signed_anew(value, agentId="999"), "agent", "agent_mismatch", ""),
        (lambda value: with_settlement(value, network="eip155:1"), "network", "network_mismatch", ""),
        (lambda value: with_settlement(value, transaction="0x" + "ab" * 32), "task_ref", "task_ref_mismatch", ""),
        (lambda value: replace(value, response=BODY + b"!"), "interaction_hash", "hash_mismatch", ""),
        (lambda value: replace(value, response=None), "interaction_hash", "unsupported_body", ""),
        (lambda value: replace(value, is_body_lost=True), "interaction_hash", "body_not_kept", ""),
        (lambda value: with_payment(value, "accepted", "amount", value="9999999"), "payment", "amount_mismatch", ""),
        (
            lambda value: with_payment(value, "accepted", "asset", value="0x" + "12" * 20),
            "payment",
            "payment_mismatch",
            "",
        ),
        (
            lambda value: with_payment(value, "accepted", "network", value="eip155:1"),
            "payment",
            "unsupported_network",
            "",
        ),
        (lambda value: signed_anew(value, OTHER_KEY), "signature", "signature_failed", ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_check_that_does_not_pass_has_a_code_and_names_its_field(verifier, bought, change, check, code, field):
    verdict = verifier.verify(change(bought)).check(CheckName(check))
    assert (verdict.code, verdict.field) == (code, field)
    assert verdict.problem
    assert verdict.outcome is not Outcome.PASSED


def test_checks_that_pass_have_no_code(verifier, bought):
    verification = verifier.verify(bought)
    assert {(check.code, check.field, check.problem) for check in verification.checks} == {("", "", "")}


def test_payment_that_is_unknown_or_too_recent_has_its_own_code(verifier, rpc, deployment, bought, web3):
    unknown = "0x" + "ab" * 32
    forged = signed_anew(with_settlement(bought, transaction=unknown), taskRef=f"{NETWORK}:{unknown}")
    verification = verifier.verify(forged)
    assert verification.check(CheckName.PAYMENT).code == "payment_not_found"
    assert verification.check(CheckName.PAY_TO).code == "earlier_check_failed"
    many = web3.eth.block_number + 2
    with Verifier({rpc: deployment}, confirmations=many, receipt_seconds=0) as careful:
        assert careful.verify(bought).check(CheckName.PAYMENT).code == "payment_unconfirmed"


@pytest.mark.parametrize(
    ("uri", "check", "code", "field"),
    [
        ("", "registration_file", "file_not_loaded", ""),
        ("data:application/json,[]", "registration_file", "malformed_file", ""),
        ("data:application/json,{}", "registration_file", "agent_not_registered", ""),
        ([signer_entry(valid_until=1)], "signers", "no_valid_signers", ""),
        ([signer_entry()] * 65, "signers", "too_many", "signers"),
    ],
    ids=["no URI", "malformed", "of another agent", "expired key", "65 keys"],
)
def test_registration_file_that_verifies_nothing_has_a_code(
    verifier, own, selling_client, publish, uri, check, code, field
):
    agent_id, paid = own
    if isinstance(uri, str):
        selling_client.set_agent_uri(agent_id, uri).wait()
    else:
        publish(agent_id, *uri)
    verdict = verifier.verify(paid).check(CheckName(check))
    assert (verdict.code, verdict.field) == (code, field)


def test_payee_that_is_not_the_wallet_fails_alone(sell, agent, deployment, verifier, buyer, stranger):
    with sell(declare_8004_reputation(agent, deployment), pay_to=stranger.address) as url:
        paid = buy(url, buyer)
    verification = verifier.verify(paid)
    assert_only(verification, CheckName.PAY_TO, problem="Payment address mismatch - potential fraud. ABORTING.")
    assert verification.check(CheckName.PAY_TO).code == "payment_address_mismatch"


@pytest.mark.parametrize("face", ["blocking", "asynchronous"])
def test_historical_verification_also_judges_now(rpc, deployment, own, publish, face):
    agent_id, paid = own
    publish(agent_id, signer_entry(OTHER_KEY))

    async def ask():
        async with AsyncVerifier({rpc: deployment}) as verifier:
            return await verifier.verify(paid, historical=True)

    if face == "blocking":
        with Verifier({rpc: deployment}) as verifier:
            verification = verifier.verify(paid, historical=True)
    else:
        verification = asyncio.run(ask())
    assert verification.is_verified
    assert (verification.is_historical, verification.now.is_historical) == (True, False)
    assert_only(verification.now, CheckName.SIGNATURE, problem="Signature verification failed")
    assert verification.now.payment == verification.payment
    assert verification.now.now is None


def test_verification_for_now_has_no_second_one(verifier, bought):
    assert verifier.verify(bought).now is None


def test_historical_verification_on_an_unknown_network_is_unchecked_both_times(verifier, bought):
    verification = verifier.verify(with_payment(bought, "accepted", "network", value="eip155:1"), historical=True)
    for verified in (verification, verification.now):
        assert {(check.outcome, check.code) for check in verified.checks} == {
            (Outcome.UNCHECKED, "unsupported_network")
        }


def test_result_has_the_paid_request(verifier, bought):
    assert verifier.verify(bought).paid is bought


@pytest.fixture
def batcher(web3, project):
    """Makes many calls in one transaction."""
    address = deploy(web3, project.MockBatcher)
    abi = [entry.model_dump(by_alias=True) for entry in project.MockBatcher.contract_type.abi]
    return web3.eth.contract(address=address, abi=abi)


def test_two_payments_in_one_transaction_are_two_payments(
    shop, verifier, bought, buyer, stranger, token, web3, batcher
):
    """The second transfer is not taken for the first, though payer, payee and amount are the same."""
    required = decode_payment_required_header(ask_price(shop + "/echo", "POST").headers["payment-required"])
    payments = [paying_client(buyer).create_payment_payload(required) for _ in range(2)]
    calls = [
        token.encode_abi(
            "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
            [
                signed["from"],
                signed["to"],
                int(signed["value"]),
                int(signed["validAfter"]),
                int(signed["validBefore"]),
                signed["nonce"],
                payment.payload["signature"],
            ],
        )
        for payment in payments
        for signed in [payment.payload["authorization"]]
    ]
    receipt = transact(web3, batcher.functions.executeAll(token.address, calls), stranger)
    transaction = "0x" + receipt["transactionHash"].hex().removeprefix("0x")
    transfers_of = []
    for payment in payments:
        paid = replace(bought, payment=payment.model_dump(by_alias=True, exclude_none=True))
        paid = with_settlement(paid, transaction=transaction, payer=buyer.address)
        verification = verifier.verify(signed_anew(paid, taskRef=f"{NETWORK}:{transaction}"))
        assert verification.is_verified, verification.problems
        transfers_of.append(verification.payment)
    transfers = [log["logIndex"] for log in receipt["logs"] if len(log["topics"]) == 3 and len(log["data"]) == 32]
    assert [entry.log_index for entry in transfers_of] == transfers


def test_text_of_a_stranger_is_shown_escaped(verifier, bought):
    statement = changed(bought.settlement["extensions"], ["8004-reputation", "agentId"], "9\x1b[31m")
    check = verifier.verify(with_settlement(bought, extensions=statement)).check(CheckName.INTERACTION)
    assert check.outcome is Outcome.FAILED
    assert (check.problem + check.field).isprintable()


def header(text, length=0):
    """Encode a header, with spaces up to a length."""
    encoded = base64.b64encode(text + b" " * (length * 3 // 4 - len(text)))
    return encoded.decode()


def test_header_with_a_name_twice_is_not_read():
    once, twice = b'{"success":true}', b'{"success":false,"success":true}'
    assert decode_header(header(once)) == {"success": True}
    assert decode_header(header(twice)) is None
    assert decode_header(header(b'{"extensions":{"8004-reputation":{"taskRef":1,"taskRef":2}}}')) is None


def test_statement_with_a_name_twice_is_not_read(verifier, bought):
    settlement = json.dumps(bought.settlement).replace('"taskRef"', '"taskRef":"","taskRef"')
    paid = paid_request(
        header(json.dumps(bought.payment).encode()),
        bought.target,
        {},
        bought.request,
        {"PAYMENT-RESPONSE": header(settlement.encode())},
        bought.response,
    )
    check = verifier.verify(paid).check(CheckName.SETTLEMENT)
    assert (check.outcome, check.code, check.field) == (Outcome.FAILED, "missing", "PAYMENT-RESPONSE")


@pytest.mark.parametrize(("more", "expected"), [(0, {"success": True}), (4, None)])
def test_header_has_a_limit(more, expected):
    text = header(b'{"success":true}', MAX_HEADER + more)
    assert len(text) == MAX_HEADER + more
    assert decode_header(text) == expected
