"""The result of a verification says of each check, for programs, why it did not pass; and stands alone for feedback."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import replace

import pytest
from x402.http import decode_payment_required_header

from bilateral.x402 import AsyncVerifier, CheckName, Outcome, Verifier, declare_8004_reputation
from bilateral.x402.transports import MAX_HEADER, decode_header, paid_request
from tests.sdk.client.helpers import deploy, transact
from tests.x402.buying import BODY, OTHER_KEY, assert_only, buy, signed_anew, with_payment, with_settlement
from tests.x402.examples import changed
from tests.x402.world import NETWORK, ask_price, paying_client, signer_entry


def without(paid, *path):
    """Return a paid answer whose settlement lacks a field."""
    return replace(paid, settlement=changed(paid.settlement, list(path), None))


STATEMENT = ("extensions", "8004-reputation")


@pytest.mark.parametrize(
    ("change", "check", "code", "field"),
    [
        (lambda it: replace(it, settlement=None), "settlement", "missing", "PAYMENT-RESPONSE"),
        (lambda it: without(it, "transaction"), "settlement", "missing", "transaction"),
        (lambda it: with_settlement(it, success=False), "settlement", "settlement_failed", ""),
        (lambda it: without(it, "extensions"), "interaction", "missing", "8004-reputation"),
        (lambda it: without(it, *STATEMENT, "taskRef"), "interaction", "missing", "taskRef"),
        (lambda it: without(it, *STATEMENT, "agentSignature"), "interaction", "missing", "agentSignature"),
        (lambda it: signed_anew(it, agentId="999"), "agent", "agent_mismatch", ""),
        (lambda it: with_settlement(it, network="eip155:1"), "network", "network_mismatch", ""),
        (lambda it: with_settlement(it, transaction="0x" + "ab" * 32), "task_ref", "task_ref_mismatch", ""),
        (lambda it: replace(it, response=BODY + b"!"), "interaction_hash", "hash_mismatch", ""),
        (lambda it: replace(it, response=None), "interaction_hash", "unsupported_body", ""),
        (lambda it: replace(it, is_body_lost=True), "interaction_hash", "body_not_kept", ""),
        (lambda it: with_payment(it, "accepted", "amount", value="9999999"), "payment", "payment_mismatch", ""),
        (lambda it: with_payment(it, "accepted", "network", value="eip155:1"), "payment", "unsupported_network", ""),
        (lambda it: signed_anew(it, OTHER_KEY), "signature", "signature_failed", ""),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_check_that_does_not_pass_has_a_code_and_names_its_field(verifier, bought, change, check, code, field):
    found = verifier.verify(change(bought)).check(CheckName(check))
    assert (found.code, found.field) == (code, field)
    assert found.problem
    assert found.outcome is not Outcome.PASSED


def test_checks_that_pass_have_no_code(verifier, bought):
    verification = verifier.verify(bought)
    assert {(it.code, it.field, it.problem) for it in verification.checks} == {("", "", "")}


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
    found = verifier.verify(paid).check(CheckName(check))
    assert (found.code, found.field) == (code, field)


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
    for each in (verification, verification.now):
        assert {(it.outcome, it.code) for it in each.checks} == {(Outcome.UNCHECKED, "unsupported_network")}


def test_result_has_the_paid_request(verifier, bought):
    assert verifier.verify(bought).paid is bought


@pytest.fixture
def batcher(web3, project):
    """Makes many calls in one transaction."""
    address = deploy(web3, project.MockBatcher)
    abi = [it.model_dump(by_alias=True) for it in project.MockBatcher.contract_type.abi]
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
    found = []
    for payment in payments:
        paid = replace(bought, payment=payment.model_dump(by_alias=True, exclude_none=True))
        paid = with_settlement(paid, transaction=transaction, payer=buyer.address)
        verification = verifier.verify(signed_anew(paid, taskRef=f"{NETWORK}:{transaction}"))
        assert verification.is_verified, verification.problems
        found.append(verification.payment)
    transfers = [log["logIndex"] for log in receipt["logs"] if len(log["topics"]) == 3 and len(log["data"]) == 32]
    assert [it.log_index for it in found] == transfers


def test_text_of_a_stranger_is_shown_escaped(verifier, bought):
    statement = changed(bought.settlement["extensions"], ["8004-reputation", "agentId"], "9\x1b[31m")
    found = verifier.verify(with_settlement(bought, extensions=statement)).check(CheckName.INTERACTION)
    assert found.outcome is Outcome.FAILED
    assert (found.problem + found.field).isprintable()


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
    found = verifier.verify(paid).check(CheckName.SETTLEMENT)
    assert (found.outcome, found.code, found.field) == (Outcome.FAILED, "missing", "PAYMENT-RESPONSE")


@pytest.mark.parametrize(("more", "expected"), [(0, {"success": True}), (4, None)])
def test_header_has_a_limit(more, expected):
    text = header(b'{"success":true}', MAX_HEADER + more)
    assert len(text) == MAX_HEADER + more
    assert decode_header(text) == expected
