"""The state of a payment is read from its nonce: used, canceled, or unused, until its deadline or for ever."""

from __future__ import annotations

import time
from contextlib import contextmanager

import pytest
from x402.mechanisms.evm.exact import ExactEvmClientScheme
from x402.mechanisms.evm.signers import EthAccountSigner

from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.node.running import StepRunner
from bilateral.node.transport import Transport
from bilateral.x402.proof import settlements
from bilateral.x402.proof.settlements import find_settlement
from tests.permit2 import MULTICALL
from tests.x402.nodes import NOT_FOUND, node_with

AMOUNT, CEILING = 1000, 5000
SCHEMES = {"exact": AMOUNT, "upto": CEILING}
UNUSED, EXPIRED, CANCELED = (False, False, False), (False, True, False), (False, True, True)
PAID, UNKNOWN = (True, False, False), (None, False, False)
PRUNED = {"error": {"code": -32000, "message": "missing trie node"}}


@pytest.fixture(scope="module")
def buyer(payment_chain):
    return payment_chain.buyer()


@pytest.fixture(params=SCHEMES)
def scheme(request):
    return request.param


@pytest.fixture
def sign(payment_chain, buyer, seller, scheme):
    """Signs a payment."""
    return lambda **changes: getattr(payment_chain, scheme)(buyer, seller.address, SCHEMES[scheme], **changes)


@pytest.fixture
def look_up(payment_chain, seller, scheme):
    """Looks a payment up."""

    def settlement_of(payload, url=payment_chain.url, confirmations=1, **changes):
        terms = payment_chain.terms(scheme, seller.address, SCHEMES[scheme], **changes)
        transport = Transport(url, 30)
        try:
            accepted = terms.model_dump(mode="json", by_alias=True)
            return StepRunner(transport).run(find_settlement(accepted, payload, confirmations))
        finally:
            transport.close()

    return settlement_of


@contextmanager
def block_at(payment_chain, *seconds):
    """Add blocks with these times, for as long as the context lasts."""
    snapshot = payment_chain.rpc("evm_snapshot")
    for time_of_block in seconds:
        payment_chain.rpc("evm_setNextBlockTimestamp", time_of_block)
        payment_chain.rpc("evm_mine")
    yield
    payment_chain.rpc("evm_revert", snapshot)


def state_of(settlement):
    return settlement.is_paid, settlement.is_expired, settlement.is_canceled


def test_used_nonce_is_paid_and_names_transaction_and_amount(payment_chain, sign, look_up, scheme):
    payload = sign()
    payment_chain.settle(sign(), amount=3)  # another payment between both
    receipt = payment_chain.settle(payload, amount=7)
    payment_chain.settle(sign(), amount=3)
    settlement = look_up(payload)
    assert state_of(settlement) == PAID
    assert settlement.transaction == receipt["transactionHash"]
    assert settlement.amount == (AMOUNT if scheme == "exact" else 7)
    assert settlement.signed.amount == SCHEMES[scheme]


def test_amount_and_transaction_are_unknown_without_the_trace_of_another_contract(
    payment_chain, buyer, seller, look_up, scheme
):
    changes = {"facilitator": MULTICALL} if scheme == "upto" else {}
    sign = getattr(payment_chain, scheme)
    payloads = [sign(buyer, seller.address, SCHEMES[scheme], **changes) for _ in range(2)]
    receipt = payment_chain.multicall(*(payment_chain.call(payload) for payload in payloads))
    assert look_up(payloads[1]).transaction == receipt["transactionHash"]
    with node_with(payment_chain.url, debug_traceTransaction=NOT_FOUND) as url:
        settlement = look_up(payloads[1], url)
    assert (state_of(settlement), settlement.transaction, settlement.amount) == (PAID, None, None)


@pytest.mark.parametrize("method", ["eth_getLogs", "eth_getTransactionByHash"])
def test_used_nonce_is_paid_although_the_node_shows_no_transaction(payment_chain, sign, look_up, method):
    payload = sign()
    payment_chain.settle(payload)
    with node_with(payment_chain.url, **{method: NOT_FOUND}) as url:
        settlement = look_up(payload, url)
    assert (state_of(settlement), settlement.transaction, settlement.amount) == (PAID, None, None)


def test_payment_before_the_searched_blocks_is_paid_without_a_transaction(payment_chain, sign, look_up, monkeypatch):
    payload = sign()
    payment_chain.settle(payload)
    monkeypatch.setattr(settlements, "SEARCHED_BLOCKS", 2)
    payment_chain.rpc("anvil_mine", "0x3")
    settlement = look_up(payload)
    assert (state_of(settlement), settlement.transaction) == (PAID, None)


@pytest.mark.parametrize(("later", "is_found"), [(1, True), (2, False)])
def test_as_many_transfers_between_both_are_read_as_the_limit_says(
    payment_chain, sign, look_up, monkeypatch, later, is_found
):
    monkeypatch.setattr(settlements, "_MOST_TRANSFERS", 2)
    payload = sign()
    receipt = payment_chain.settle(payload)
    for _ in range(later):
        payment_chain.settle(sign())
    settlement = look_up(payload)
    assert (state_of(settlement), settlement.transaction) == (PAID, receipt["transactionHash"] if is_found else None)


def test_token_with_a_fee_names_the_smaller_amount(payment_chain, buyer, seller, sign, look_up, scheme):
    token = payment_chain.put("0x" + "fe" * 20, "TokenSplitsTransfers")
    payment_chain.fund(buyer.address, token=token)
    payment_chain.approve(buyer, token=token)
    payload = sign(token=token)
    payment_chain.settle(payload)
    assert look_up(payload, token=token).amount == SCHEMES[scheme] * 9 // 10


# Canceled


def test_nonce_that_its_owner_cancels_can_never_be_used(payment_chain, buyer, sign, look_up):
    payload = sign()
    payment_chain.cancel(buyer, payload["permit2Authorization"]["nonce"])
    assert state_of(look_up(payload)) == CANCELED


def test_nonce_of_another_bit_or_word_that_is_canceled_changes_nothing(payment_chain, buyer, sign, look_up):
    payload = sign()
    nonce = int(payload["permit2Authorization"]["nonce"])
    payment_chain.cancel(buyer, nonce ^ 1)
    payment_chain.cancel(buyer, nonce ^ 1 << 200)
    assert state_of(look_up(payload)) == UNUSED
    receipt = payment_chain.settle(payload)
    assert look_up(payload).transaction == receipt["transactionHash"]


def test_owner_that_cancels_a_used_nonce_has_paid_all_the_same(payment_chain, buyer, sign, look_up, monkeypatch):
    payload = sign()
    receipt = payment_chain.settle(payload)
    payment_chain.rpc("anvil_mine", "0x5")
    payment_chain.cancel(buyer, payload["permit2Authorization"]["nonce"])
    assert (state_of(look_up(payload)), look_up(payload).transaction) == (PAID, receipt["transactionHash"])
    monkeypatch.setattr(settlements, "SEARCHED_BLOCKS", 2)
    assert (state_of(look_up(payload)), look_up(payload).transaction) == (PAID, None)


def test_cancellation_is_unsure_if_the_node_has_forgotten_what_was_before(payment_chain, buyer, sign, look_up):
    payload = sign()
    block = int(payment_chain.cancel(buyer, payload["permit2Authorization"]["nonce"])["blockNumber"], 16)
    calls = lambda request: PRUNED if request["params"][1] == hex(block - 1) else None  # noqa: E731
    with node_with(payment_chain.url, eth_call=calls) as url:
        settlement = look_up(payload, url)
    assert state_of(settlement) == (None, False, True)
    assert "was canceled, and the node cannot determine whether it had been used" in settlement.problem


# Unused


def test_unused_payment_can_be_settled_at_its_deadline_and_never_a_second_later(payment_chain, sign, look_up):
    deadline = int(time.time()) + 100_000
    payload = sign(deadline=deadline)
    with block_at(payment_chain, deadline):
        assert state_of(look_up(payload)) == UNUSED
    with block_at(payment_chain, deadline - 1):
        payment_chain.rpc("evm_setNextBlockTimestamp", deadline)
        payment_chain.settle(payload)
        assert state_of(look_up(payload)) == PAID
    with block_at(payment_chain, deadline + 1):
        assert state_of(look_up(payload)) == EXPIRED


def test_deadline_counts_once_a_confirmed_block_has_passed_it(payment_chain, sign, look_up):
    deadline = int(time.time()) + 100_000
    payload = sign(deadline=deadline)
    with block_at(payment_chain, deadline, deadline + 1):
        assert state_of(look_up(payload, confirmations=2)) == UNUSED
    with block_at(payment_chain, deadline + 1, deadline + 2):
        assert state_of(look_up(payload, confirmations=2)) == EXPIRED


def test_unused_eip3009_payment_can_be_settled_before_valid_before_and_never_at_it(payment_chain, buyer, seller):
    terms = payment_chain.terms("exact", seller.address, AMOUNT, assetTransferMethod=None)
    payload = ExactEvmClientScheme(EthAccountSigner(buyer)).create_payment_payload(terms)
    valid_before, accepted = int(payload["authorization"]["validBefore"]), terms.model_dump(mode="json", by_alias=True)
    transport = Transport(payment_chain.url, 30)
    states = []
    for seconds in (valid_before - 1, valid_before):
        with block_at(payment_chain, seconds):
            states.append(state_of(StepRunner(transport).run(find_settlement(accepted, payload))))
    transport.close()
    assert states == [UNUSED, EXPIRED]


@pytest.mark.parametrize("scheme", ["exact"], indirect=True)
def test_payment_of_another_kind_cannot_be_looked_up(look_up):
    settlement = look_up({"type": "voucher"})
    assert (state_of(settlement), settlement.signed) == (UNKNOWN, None)
    assert "the payment contains none of the parts authorization and permit2Authorization" in settlement.problem


def test_node_that_knows_no_nonces_says_nothing_about_a_payment(sign, look_up, payment_chain):
    with (
        node_with(payment_chain.url, eth_call="0x") as url,
        pytest.raises(MalformedNodeAnswerError, match="no payment nonces"),
    ):
        look_up(sign(), url)


@pytest.mark.parametrize("state", [PRUNED, "0x"])
def test_canceled_nonce_is_not_paid_because_an_old_state_is_missing(payment_chain, buyer, sign, look_up, state):
    payload = sign()
    payment_chain.cancel(buyer, payload["permit2Authorization"]["nonce"])
    before = hex(int(payment_chain.rpc("eth_blockNumber"), 16) - 1)
    missing = lambda request: state if request["params"][1] == before else None  # noqa: E731
    with node_with(payment_chain.url, eth_call=missing) as url:
        assert state_of(look_up(payload, url)) == (None, False, True)
