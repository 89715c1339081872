"""A failed settlement is published with evidence that anybody can check on the chain, or not at all."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bilateral.client import Client
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import GlobalAgentId
from bilateral.core.payments import SignedPayment, proxy_call
from bilateral.core.payments.contracts import EXACT_PROXY, UPTO_PROXY
from bilateral.core.values.failures import FailureReason
from bilateral.x402 import VerifiedClient
from bilateral.x402.proof.errors import PaymentRefusedError, UnprovenFailureError
from bilateral.x402.proof.failures import MOST_BLOCKS, MOST_SECONDS, FailedPayment, check_failure
from bilateral.x402.server.failures import PAYMENT_UNSETTLED, failed_settlement_feedback
from tests.x402.test_failed_settlements import failed, open_shop, pay, refund, spend  # noqa: F401  # fixtures
from tests.x402.test_undelivered import later
from tests.x402.world import NETWORK, PRICE, payment_for


@pytest.fixture
def failure(open_shop, buyer, spend):  # noqa: F811
    """The failure of a buyer who spent its money while the seller worked."""
    shop = open_shop()
    shop.act = spend
    pay(shop, buyer)
    return failed(shop)


def deadline(failure):
    return int(failure.payment["payload"]["authorization"]["validBefore"])


@pytest.fixture
def expired(web3, failure):
    """The same, after the payment's deadline."""
    with later(web3, deadline(failure)):
        yield failure


@pytest.fixture
def standing(register, buyer, deployment):
    agent = GlobalAgentId(deployment.agent_registry, str(register(buyer)))
    return VerifiedClient(agent, buyer.address, buyer.address, None)


def refused(verifier, evidence, tokens):
    with pytest.raises(UnprovenFailureError) as raised:
        check_failure(verifier, evidence, tokens=tokens)
    return raised.value.code


def test_failure_is_published_with_evidence_that_others_check(
    expired, standing, selling_client, verifier, token, rpc, deployment
):
    arguments = failed_settlement_feedback(verifier, expired, standing, comment="no money")
    entry = selling_client.give_feedback(**arguments).wait()
    with Client(rpc, deployment=deployment) as reader:
        read = reader.get_feedback(entry.id)
    evidence = read.file.to_object()["failedSettlement"]
    assert (read.tag1, read.tag2, read.value, read.file.text) == (*PAYMENT_UNSETTLED, 0, "no money")
    assert evidence["settlement"]["transaction"] == expired.transaction != ""
    assert check_failure(verifier, evidence, tokens=[token.address]) is FailureReason.INSUFFICIENT_BALANCE


def test_payment_that_can_still_be_settled_is_not_published(failure, standing, verifier, token):
    assert refused(verifier, failure.evidence, [token.address]) == "still_payable"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"reason": "insufficient_allowance"}, "reason_not_shown"),
        ({"payableBlock": 0}, "never_payable"),  # the token was not there, and a call of no contract succeeds
        ({"amount": "1001"}, "malformed_evidence"),
        ({"amount": "999"}, "malformed_evidence"),
        ({"amount": "0"}, "malformed_evidence"),
        ({"amount": float("inf")}, "malformed_evidence"),  # as JSON reads 1e999
        ({"block": -1}, "malformed_evidence"),
        ({"reason": "poor"}, "malformed_evidence"),
        ({"payableBlock": None}, "malformed_evidence"),
        ({"accepted": {}}, "malformed_evidence"),
        ({"payload": None}, "malformed_evidence"),
    ],
)
def test_false_evidence_is_refused(expired, verifier, token, change, code):
    assert refused(verifier, expired.evidence | change, [token.address]) == code


def test_evidence_that_is_no_object_is_refused(verifier, token):
    assert refused(verifier, ["failedSettlement"], [token.address]) == "malformed_evidence"


def test_block_at_which_the_buyer_was_rich_is_no_end(expired, verifier, token):
    evidence = expired.evidence
    assert refused(verifier, evidence | {"block": evidence["payableBlock"]}, [token.address]) == "reason_not_shown"


def test_block_at_which_the_buyer_was_poor_already_is_no_start(expired, verifier, token):
    evidence = expired.evidence
    assert refused(verifier, evidence | {"payableBlock": evidence["block"] - 1}, [token.address]) == "never_payable"
    assert refused(verifier, evidence | {"payableBlock": evidence["block"]}, [token.address]) == "never_payable"


def test_signature_that_the_buyer_did_not_make_is_no_evidence(expired, verifier, token, stranger):
    """A seller makes up a payment of a poor account."""
    payload = json.loads(json.dumps(expired.payment["payload"]))
    payload["authorization"]["nonce"] = "0x" + "11" * 32
    assert refused(verifier, expired.evidence | {"payload": payload}, [token.address]) == "never_payable"


def test_token_of_the_sellers_own_is_no_evidence(expired, verifier, stranger):
    assert refused(verifier, expired.evidence, [stranger.address]) == "unlisted_token"


def test_payment_that_was_settled_after_all_is_no_failure(open_shop, buyer, spend, refund, web3, verifier, token):  # noqa: F811
    shop = open_shop()
    headers, shop.act = payment_for(shop.url, buyer), spend
    pay(shop, buyer, headers)
    failure = failed(shop)
    refund()
    shop.act = lambda: None
    assert pay(shop, buyer, headers).status_code == 200
    with later(web3, deadline(failure)):
        assert refused(verifier, failure.evidence, [token.address]) == "payment_made"


def test_seller_that_never_settles_proves_nothing_by_what_the_buyer_spends_after_the_deadline(
    failure, web3, verifier, token
):
    with later(web3, deadline(failure)):
        evidence = failure.evidence | {"block": web3.eth.block_number}
        assert refused(verifier, evidence, [token.address]) == "reason_not_shown"


def signed_payment(token, payer, payee, valid_before):
    """Sign a payment by hand, as a client does whose server gives it any time."""
    domain = {"name": "Test Dollar", "version": "2", "chainId": 31337, "verifyingContract": token.address}
    types = {"from": "address", "to": "address", "value": "uint256", "validAfter": "uint256"}
    types |= {"validBefore": "uint256", "nonce": "bytes32"}
    terms = {"from": payer.address, "to": payee.address, "value": PRICE, "validAfter": 0, "validBefore": valid_before}
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    message = {**terms, "nonce": bytes(32)}
    signature = payer.sign_typed_data(domain, {"TransferWithAuthorization": fields}, message).signature
    authorization = {name: str(value) for name, value in terms.items()} | {"nonce": "0x" + "00" * 32}
    accepted = {"scheme": "exact", "network": NETWORK, "asset": token.address, "amount": str(PRICE)}
    return {
        "accepted": accepted | {"payTo": payee.address, "extra": {}},
        "payload": {"authorization": authorization, "signature": "0x" + signature.hex()},
        "amount": str(PRICE),
    }


@pytest.mark.parametrize(("seconds", "is_refused"), [(MOST_SECONDS, False), (MOST_SECONDS + 1, True)])
def test_states_from_long_before_the_deadline_prove_nothing(
    spend,  # noqa: F811
    buyer,
    seller,
    web3,
    verifier,
    token,
    seconds,
    is_refused,
):
    """The buyer may have been rich and poor before it signed, and rich again when it did."""
    latest = web3.eth.get_block("latest")
    payable, end = latest["number"], latest["timestamp"] + seconds
    spend()
    states = {"reason": "insufficient_balance", "block": payable + 1, "payableBlock": payable}
    evidence = signed_payment(token, buyer, seller, end) | states
    with later(web3, end):
        if is_refused:
            assert refused(verifier, evidence, [token.address]) == "too_early"
        else:
            assert check_failure(verifier, evidence, tokens=[token.address]) is FailureReason.INSUFFICIENT_BALANCE


@pytest.mark.parametrize(("blocks", "is_refused"), [(MOST_BLOCKS, False), (MOST_BLOCKS + 1, True)])
def test_state_of_many_blocks_ago_proves_nothing(
    spend,  # noqa: F811
    buyer,
    seller,
    web3,
    verifier,
    token,
    blocks,
    is_refused,
):
    payable = web3.eth.block_number
    spend()
    web3.provider.make_request("anvil_mine", [hex(blocks - 1), "0x0"])
    end = web3.eth.get_block("latest")["timestamp"] + 100
    states = {"reason": "insufficient_balance", "block": payable + blocks, "payableBlock": payable}
    evidence = signed_payment(token, buyer, seller, end) | states
    with later(web3, end):
        if is_refused:
            assert refused(verifier, evidence, [token.address]) == "never_payable"
        else:
            check_failure(verifier, evidence, tokens=[token.address])


def test_failure_that_the_chain_does_not_show_is_not_published(failure, standing, verifier):
    unproven = replace(failure, proof=None)
    with pytest.raises(UnprovenFailureError, match="the chain does not prove transaction_failed") as raised:
        failed_settlement_feedback(verifier, unproven, standing)
    assert raised.value.code == "no_evidence"
    never_seen_payable = replace(failure, proof=replace(failure.proof, payable_block=None))
    with pytest.raises(UnprovenFailureError, match="malformed"):
        failed_settlement_feedback(verifier, never_seen_payable, standing)


@pytest.mark.parametrize(("size", "is_kept"), [(1_000, True), (8_000, False)])
def test_payment_that_its_buyer_padded_counts_and_takes_no_memory(open_shop, buyer, spend, size, is_kept):  # noqa: F811
    def pad(payload):
        payload.payload["padding"] = "a" * size
        return payload

    shop = open_shop()
    shop.act = spend
    pay(shop, buyer, payment_for(shop.url, buyer, change=pad))
    assert failed(shop).payment["payload"]["padding"] == "a" * size
    (failure,) = shop.failures.list(NETWORK, buyer.address)
    assert (len(str(failure)) <= 8_192, failure.payment != {}) == (True, is_kept)
    if not is_kept:
        with pytest.raises(UnprovenFailureError, match="too large to store"):
            _ = failure.evidence


def test_failure_is_not_published_about_another_account(failure, standing, verifier, stranger):
    other = replace(standing, payer=stranger.address)
    with pytest.raises(InvalidArgumentError, match="the failed payment is from"):
        failed_settlement_feedback(verifier, failure, other)


def test_payment_on_a_chain_without_a_node_cannot_be_checked(expired, verifier, token):
    evidence = expired.evidence | {"accepted": expired.payment["accepted"] | {"network": "eip155:1"}}
    with pytest.raises(PaymentRefusedError, match="cannot be checked"):
        check_failure(verifier, evidence, tokens=[token.address])


SIGNED = "0x" + "11" * 64 + "1b"


@pytest.mark.parametrize(
    ("scheme", "spender", "amount"), [("exact", EXACT_PROXY, 1000), ("upto", UPTO_PROXY, 1000), ("upto", UPTO_PROXY, 7)]
)
def test_simulated_call_of_a_proxy_is_what_readers_take_for_this_payment(buyer, seller, token, scheme, spender, amount):
    facilitator = {"facilitator": token.address} if scheme == "upto" else {}
    accepted = {"scheme": scheme, "network": NETWORK, "asset": token.address, "amount": "1000"}
    accepted |= {"payTo": seller.address, "extra": {"assetTransferMethod": "permit2"}}
    authorization = {"from": buyer.address, "permitted": {"token": token.address, "amount": "1000"}, "nonce": "77"}
    authorization |= {"spender": spender, "deadline": "99", "witness": {"to": seller.address, "validAfter": "5"}}
    authorization["witness"] |= facilitator
    payload = {"permit2Authorization": authorization, "signature": SIGNED}
    call = FailedPayment(accepted, payload, amount).settling_call()
    read = proxy_call(call["to"], bytes.fromhex(call["data"][2:]))
    signed = SignedPayment.of(accepted, payload)
    assert read == (signed, amount)
    assert (signed.amount, int.from_bytes(signed.nonce), signed.deadline) == (1000, 77, 99)
    assert call.get("from") == facilitator.get("facilitator")
