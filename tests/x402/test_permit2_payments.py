"""A payment by Permit2 is proven by the call that settled it, and by the one transfer that this call made."""

from __future__ import annotations

import pytest
from eth_account import Account
from x402.mechanisms.evm.exact import ExactEvmClientScheme
from x402.mechanisms.evm.signers import EthAccountSigner

from bilateral.core.payments import PaymentKind
from bilateral.core.payments.contracts import EXACT_PROXY, RETIRED_UPTO_PROXY, TRANSFER
from bilateral.node.running import StepRunner
from bilateral.node.transport import Transport
from bilateral.x402.proof.payments import PaymentProblemError, find_payment, signed_payment
from tests.permit2 import MULTICALL, compact, logs_of, with_high_s
from tests.x402.nodes import NOT_FOUND, node_with
from tests.x402.sellers import authorized_call

AMOUNT, CEILING = 1000, 5000


@pytest.fixture(scope="module")
def buyer(payment_chain):
    return payment_chain.buyer()


@pytest.fixture(scope="module")
def other_buyer(payment_chain):
    return payment_chain.buyer()


@pytest.fixture(scope="module")
def terms(payment_chain, seller):
    """Makes the accepted terms, as a payment payload has them."""

    def make(scheme, amount, **extra):
        required = payment_chain.terms(scheme, seller.address, amount, **extra)
        return required.model_dump(mode="json", by_alias=True)

    return make


@pytest.fixture(scope="module")
def find(payment_chain, terms):
    """Finds a payment in the transaction of a receipt."""

    def found(payload, receipt, scheme="exact", amount=AMOUNT, *, url=payment_chain.url, **changes):
        transport = Transport(url, 30)
        try:
            signed = signed_payment(terms(scheme, amount, **changes), payload)
            return StepRunner(transport).run(find_payment(signed, receipt["transactionHash"], 1))
        finally:
            transport.close()

    return found


@pytest.fixture(scope="module")
def problem(find):
    """The code with which a payment is not found, and whether that is final."""

    def code_of(*arguments, **changes):
        with pytest.raises(PaymentProblemError) as raised:
            find(*arguments, **changes)
        return raised.value.code, raised.value.is_final

    return code_of


@pytest.fixture(scope="module")
def blind_node(payment_chain):
    """The URL of the same node without traces."""
    with node_with(payment_chain.url, debug_traceTransaction=NOT_FOUND) as url:
        yield url


def transfers(receipt):
    return [log.log_index for log in logs_of(receipt) if log.topics[0] == TRANSFER]


# Direct calls


@pytest.mark.parametrize("has_permit", [False, True], ids=["settle", "settleWithPermit"])
def test_exact_is_proven_by_its_call(payment_chain, find, seller, has_permit):
    buyer = payment_chain.buyer()
    permit = payment_chain.token_permit(buyer, AMOUNT) if has_permit else None
    payload = payment_chain.exact(buyer, seller.address, AMOUNT)
    receipt = payment_chain.settle(payload, permit=permit)
    payment = find(payload, receipt)
    assert (payment.payer, payment.payee, payment.asset) == (buyer.address, seller.address, payment_chain.token)
    assert (payment.amount, payment.kind, payment.ceiling) == (AMOUNT, PaymentKind.PERMIT2_EXACT, None)
    assert [payment.log_index] == transfers(receipt)


@pytest.mark.parametrize("charged", [1, 1234, CEILING])
def test_upto_is_proven_for_every_amount_up_to_its_ceiling(payment_chain, find, buyer, seller, charged):
    payload = payment_chain.upto(buyer, seller.address, CEILING)
    payment = find(payload, payment_chain.settle(payload, amount=charged), "upto", CEILING)
    assert (payment.amount, payment.ceiling, payment.kind) == (charged, CEILING, PaymentKind.PERMIT2_UPTO)


@pytest.mark.parametrize("form", [compact, with_high_s])
def test_form_of_the_signature_changes_nothing(payment_chain, find, buyer, seller, form):
    payload = payment_chain.exact(buyer, seller.address, AMOUNT)
    receipt = payment_chain.settle(payload | {"signature": form(payload["signature"])})
    assert find(payload, receipt).amount == AMOUNT


def test_bytes_after_the_calldata_change_nothing(payment_chain, find, buyer, seller):
    payload = payment_chain.exact(buyer, seller.address, AMOUNT)
    assert find(payload, payment_chain.settle(payload, suffix=b"a code of the builder")).amount == AMOUNT


def test_token_that_deducts_a_fee_pays_exact_less_than_the_price(payment_chain, find, problem, buyer, seller):
    token = payment_chain.put("0x" + "fe" * 20, "TokenSplitsTransfers")
    payment_chain.fund(buyer.address, token=token)
    payment_chain.approve(buyer, token=token)
    exact = payment_chain.exact(buyer, seller.address, AMOUNT, token=token)
    receipt = payment_chain.settle(exact)
    assert problem(exact, receipt, token=token) == ("paid_less", True)
    with pytest.raises(PaymentProblemError, match=f"only 900 of {token} arrived at .*, but the price is 1000"):
        find(exact, receipt, token=token)
    upto = payment_chain.upto(buyer, seller.address, CEILING, token=token)
    assert find(upto, payment_chain.settle(upto), "upto", CEILING, token=token).amount == CEILING * 9 // 10


# Attacks


def test_look_alike_proxy_proves_nothing(payment_chain, problem, buyer, seller):
    look_alike = payment_chain.put("0x402085C248EeA27D92E8b30b2C58ed07f9E20000", "MockExactProxy")
    forged = payment_chain.exact(buyer, seller.address, AMOUNT, spender=look_alike)
    receipt = payment_chain.send(look_alike, payment_chain.call(forged)[1])
    assert problem(forged, receipt) == ("unknown_spender", True)
    payload = payment_chain.exact(buyer, seller.address, AMOUNT)  # it was never settled
    assert problem(payload, receipt) == ("payment_mismatch", True)


def test_retired_proxy_is_no_spender_of_upto(payment_chain, problem, buyer, seller):
    payload = payment_chain.upto(buyer, seller.address, CEILING, spender=RETIRED_UPTO_PROXY)
    assert problem(payload, {"transactionHash": "0x" + "00" * 32}, "upto", CEILING) == ("unknown_spender", True)


def test_real_proxy_with_a_hostile_token_after_a_transfer_of_the_real_one_proves_nothing(
    payment_chain, problem, buyer, seller, stranger
):
    token = payment_chain.put("0x" + "bd" * 20, "TokenMovesAnotherToken")
    payment_chain.send(token, payment_chain.code("TokenMovesAnotherToken", "aim", payment_chain.token, buyer.address))
    payment_chain.approve(buyer, token)
    receipt = payment_chain.settle(payment_chain.exact(stranger, seller.address, AMOUNT, token=token))
    assert problem(payment_chain.exact(buyer, seller.address, AMOUNT), receipt) == ("payment_mismatch", True)


def test_plain_transfer_beside_an_unsettled_authorization_proves_nothing(payment_chain, problem, buyer, seller):
    moved = payment_chain.code("MockPaymentToken", "transfer", seller.address, AMOUNT)
    receipt = payment_chain.send(payment_chain.token, moved, buyer)
    assert problem(payment_chain.exact(buyer, seller.address, AMOUNT), receipt) == ("payment_mismatch", True)


def test_plain_transfer_before_the_settlement_of_another_buyer_proves_nothing(
    payment_chain, problem, blind_node, buyer, other_buyer, seller
):
    payment_chain.approve(buyer, MULTICALL)
    moved = payment_chain.code("MockPaymentToken", "transferFrom", buyer.address, seller.address, AMOUNT)
    settled = payment_chain.call(payment_chain.exact(other_buyer, seller.address, AMOUNT))
    receipt = payment_chain.multicall((payment_chain.token, moved), settled)
    unsettled = payment_chain.exact(buyer, seller.address, AMOUNT)
    assert problem(unsettled, receipt) == ("payment_mismatch", True)
    assert problem(unsettled, receipt, url=blind_node) == ("not_provable", True)


def test_settlement_of_another_buyer_proves_nothing(payment_chain, problem, buyer, other_buyer, seller):
    receipt = payment_chain.settle(payment_chain.exact(other_buyer, seller.address, AMOUNT))
    assert problem(payment_chain.exact(buyer, seller.address, AMOUNT), receipt) == ("payment_mismatch", True)


@pytest.mark.parametrize("scheme", ["exact", "upto"])
def test_earlier_payment_of_the_same_buyer_proves_nothing(payment_chain, problem, buyer, seller, scheme):
    sign = getattr(payment_chain, scheme)
    receipt = payment_chain.settle(sign(buyer, seller.address, AMOUNT))
    assert problem(sign(buyer, seller.address, AMOUNT), receipt, scheme) == ("payment_mismatch", True)


CHANGES = {
    "nonce": {"nonce": 7},
    "deadline": {"deadline": 2**40},
    "facilitator": {"facilitator": MULTICALL},
}


@pytest.mark.parametrize("field", CHANGES)
def test_call_with_one_other_word_is_another_payment(payment_chain, problem, buyer, seller, field):
    original = payment_chain.upto(buyer, seller.address, CEILING)
    signed = original["permit2Authorization"]
    words = {"nonce": signed["nonce"], "deadline": signed["deadline"]} | CHANGES[field]
    other = payment_chain.upto(buyer, seller.address, CEILING, **words)
    receipt = payment_chain.settle(original, amount=AMOUNT)
    assert problem(other, receipt, "upto", CEILING) == ("payment_mismatch", True)


def test_settlement_of_a_lower_ceiling_is_another_payment(payment_chain, problem, buyer, seller):
    receipt = payment_chain.settle(payment_chain.upto(buyer, seller.address, CEILING - 1), amount=AMOUNT)
    payload = payment_chain.upto(buyer, seller.address, CEILING)
    assert problem(payload, receipt, "upto", CEILING) == ("payment_mismatch", True)


def test_transaction_that_failed_is_no_payment(payment_chain, problem, buyer, seller):
    payload = payment_chain.exact(buyer, seller.address, AMOUNT)
    payment_chain.settle(payload)
    assert problem(payload, payment_chain.settle(payload)) == ("payment_not_found", True)


# Calls through another contract


def test_calls_through_another_contract_are_proven_by_a_trace(payment_chain, find, buyer, other_buyer, seller):
    payloads = [payment_chain.exact(payer, seller.address, AMOUNT) for payer in (buyer, other_buyer, buyer)]
    receipt = payment_chain.multicall(*(payment_chain.call(payload) for payload in payloads))
    found = [find(payload, receipt) for payload in payloads]
    assert [payment.payer for payment in found] == [buyer.address, other_buyer.address, buyer.address]
    assert [payment.log_index for payment in found] == transfers(receipt)


def test_upto_by_a_facilitator_that_is_a_contract_is_proven_by_a_trace(payment_chain, find, buyer, seller):
    payload = payment_chain.upto(buyer, seller.address, CEILING, facilitator=MULTICALL)
    receipt = payment_chain.multicall(payment_chain.call(payload, amount=10))
    assert find(payload, receipt, "upto", CEILING).amount == 10


def test_call_that_failed_beside_others_is_no_payment(payment_chain, find, problem, buyer, seller):
    paid, poor = payment_chain.exact(buyer, seller.address, AMOUNT), Account.create()
    unpaid = payment_chain.exact(poor, seller.address, AMOUNT)
    receipt = payment_chain.multicall(payment_chain.call(unpaid), payment_chain.call(paid), may_fail=True)
    assert find(paid, receipt).amount == AMOUNT
    assert problem(unpaid, receipt) == ("payment_mismatch", True)


MALFORMED = {
    "no such method": NOT_FOUND,
    "text": "trace",
    "no calls": {"type": "CALL", "to": MULTICALL, "input": "0x"},
    "malformed calls": {"type": "CALL", "to": MULTICALL, "input": "0x", "calls": "many"},
    "malformed input": {"type": "CALL", "to": EXACT_PROXY, "input": "0xzz"},
}


@pytest.mark.parametrize("trace", MALFORMED)
def test_call_through_another_contract_is_not_provable_without_a_trace(payment_chain, problem, buyer, seller, trace):
    payload = payment_chain.exact(buyer, seller.address, AMOUNT)
    receipt = payment_chain.multicall(payment_chain.call(payload))
    with node_with(payment_chain.url, debug_traceTransaction=MALFORMED[trace]) as url:
        assert problem(payload, receipt, url=url) == ("not_provable", True)


def test_direct_call_needs_no_trace(payment_chain, find, blind_node, buyer, seller):
    payload = payment_chain.exact(buyer, seller.address, AMOUNT)
    assert find(payload, payment_chain.settle(payload), url=blind_node).amount == AMOUNT


# One transfer proves one payment


def authorization(payment_chain, buyer, payee):
    """Let the SDK sign a payment by EIP-3009, and return its payload and the call that settles it."""
    terms = payment_chain.terms("exact", payee, AMOUNT, assetTransferMethod=None)
    payload = ExactEvmClientScheme(EthAccountSigner(buyer)).create_payment_payload(terms)
    return payload, authorized_call(payment_chain, payload)


def test_payments_of_both_methods_in_one_transaction_take_one_transfer_each(payment_chain, find, buyer, seller):
    permitted = [payment_chain.exact(buyer, seller.address, AMOUNT) for _ in range(2)]
    authorized = [authorization(payment_chain, buyer, seller.address) for _ in range(2)]
    calls = [payment_chain.call(permitted[0]), authorized[0][1], authorized[1][1], payment_chain.call(permitted[1])]
    receipt = payment_chain.multicall(*calls)
    payments = [find(payload, receipt) for payload in permitted]
    payments += [find(payload, receipt, assetTransferMethod=None) for payload, _ in authorized]
    assert sorted(payment.log_index for payment in payments) == transfers(receipt)
    assert {payment.kind for payment in payments} == {PaymentKind.PERMIT2_EXACT, PaymentKind.EIP3009}
