"""The mocks of Permit2 and the proxies behave as the deployed contracts, with the real SDK as counterpart."""

from __future__ import annotations

import time

import httpx
import pytest
from eth_abi.abi import encode
from eth_account import Account
from eth_utils.crypto import keccak
from x402.schemas import PaymentPayload

from bilateral.core.payments.contracts import EXACT_PROXY, PERMIT2, UPTO_PROXY
from scripts._anvil import running_anvil
from simulation.event_chain import OPTIONS
from tests.permit2 import (
    FACILITATOR,
    MULTICALL,
    RELAYER,
    TOKEN,
    PaymentChain,
    WalletSigner,
    compact,
    events,
    logs_of,
    with_high_s,
)
from tests.x402.metered import every_facilitator, metered_shop, pay_headers
from tests.x402.world import settled

SETTLED, WITH_PERMIT, APPROVAL = ("Settled",), ("SettledWithPermit",), ("Approval",)


@pytest.fixture(scope="module")
def payer(payment_chain):
    """Has tokens that Permit2 may move."""
    return payment_chain.buyer()


@pytest.fixture(scope="module")
def plain_shop(payment_chain, every_facilitator_url, seller):
    """The URL of a shop with the SDK's own middleware."""
    with metered_shop(every_facilitator_url, payment_chain.token, seller.address) as url:
        yield url


@pytest.fixture
def buys(payment_chain, plain_shop, payer):
    """Buys at the shop, and returns `PAYMENT-RESPONSE` and the receipt."""

    def buy(path):
        response = httpx.get(plain_shop + path, headers=pay_headers(plain_shop + path, payer))
        assert response.status_code == 200, response.text
        answer = settled(response)
        return answer, payment_chain.rpc("eth_getTransactionReceipt", answer["transaction"]) if answer[
            "transaction"
        ] else None

    return buy


def error_of(payment_chain, receipt):
    """Return the selector of the error with which a transaction failed."""
    assert receipt["status"] == "0x0"
    assert receipt["logs"] == []
    trace = payment_chain.rpc("debug_traceTransaction", receipt["transactionHash"], {"tracer": "callTracer"})
    return trace["output"][2:10]


def transfer(sender, receiver, amount):
    return ("Transfer", sender, receiver, amount)


# Permit2


def test_permit2_computes_its_domain_for_the_address_and_the_chain(payment_chain):
    typehash = keccak(text="EIP712Domain(string name,uint256 chainId,address verifyingContract)")
    words = [typehash, keccak(text="Permit2"), payment_chain.chain_id, PERMIT2]
    domain = keccak(encode(["bytes32", "bytes32", "uint256", "address"], words))
    assert payment_chain.read(PERMIT2, payment_chain.code("MockPermit2", "DOMAIN_SEPARATOR")) == domain


def test_exact_moves_the_signed_amount_and_names_nobody_in_the_event(payment_chain, buys, payer, seller):
    answer, receipt = buys("/exact")
    assert answer["payer"] == payer.address
    assert "amount" not in answer
    assert events(receipt) == [transfer(payer.address, seller.address, 1000), SETTLED]
    event = logs_of(receipt)[-1]
    assert (event.address, event.topics[1:], event.data) == (EXACT_PROXY, (), b"")
    assert receipt["from"] == FACILITATOR.address.lower()


def test_exact_with_a_permit_of_the_token_needs_no_allowance(payment_chain, seller):
    fresh = Account.create()
    payment_chain.fund(fresh.address)
    payload = payment_chain.exact(fresh, seller.address, 600)
    receipt = payment_chain.settle(payload, permit=payment_chain.token_permit(fresh, 600))
    assert events(receipt) == [APPROVAL, transfer(fresh.address, seller.address, 600), WITH_PERMIT]


def test_exact_survives_a_permit_of_the_token_that_fails(payment_chain, payer, seller):
    permit = (600, 0, bytes(32), bytes(32), 27)
    receipt = payment_chain.settle(payment_chain.exact(payer, seller.address, 600), permit=permit)
    assert events(receipt) == [transfer(payer.address, seller.address, 600), WITH_PERMIT]


def test_an_authorization_settles_once(payment_chain, payer, seller):
    payload = payment_chain.exact(payer, seller.address, 1000)
    assert not payment_chain.is_used(payer.address, payload["permit2Authorization"]["nonce"])
    assert payment_chain.settle(payload)["status"] == "0x1"
    assert payment_chain.is_used(payer.address, payload["permit2Authorization"]["nonce"])
    assert error_of(payment_chain, payment_chain.settle(payload)) == "756688fe"


def test_one_nonce_serves_one_payment_of_any_scheme(payment_chain, payer, seller):
    used = payment_chain.exact(payer, seller.address, 1000)
    payment_chain.settle(used)
    payload = payment_chain.upto(payer, seller.address, 5000, nonce=used["permit2Authorization"]["nonce"])
    assert error_of(payment_chain, payment_chain.settle(payload)) == "756688fe"


@pytest.mark.parametrize("form", [compact, with_high_s])
def test_every_form_of_a_signature_settles(payment_chain, payer, seller, form):
    payload = payment_chain.exact(payer, seller.address, 1000)
    receipt = payment_chain.settle(payload | {"signature": form(payload["signature"])})
    assert events(receipt) == [transfer(payer.address, seller.address, 1000), SETTLED]


def test_a_cancelled_nonce_does_not_settle(payment_chain, payer, seller):
    payload = payment_chain.exact(payer, seller.address, 1000)
    nonce = int(payload["permit2Authorization"]["nonce"])
    cancelled = payment_chain.cancel(payer, nonce)
    assert events(cancelled) == [("UnorderedNonceInvalidation",)]
    (log,) = logs_of(cancelled)
    assert log.data == (nonce >> 8).to_bytes(32) + (1 << (nonce & 255)).to_bytes(32)
    assert error_of(payment_chain, payment_chain.settle(payload)) == "756688fe"


def test_exact_settles_at_its_deadline_and_not_a_second_later(payment_chain, payer, seller):
    snapshot = payment_chain.rpc("evm_snapshot")
    deadline = int(time.time()) + 5_000
    payloads = [payment_chain.exact(payer, seller.address, 1000, deadline=deadline) for _ in range(2)]
    payment_chain.rpc("evm_setNextBlockTimestamp", deadline)
    assert payment_chain.settle(payloads[0])["status"] == "0x1"
    payment_chain.rpc("evm_setNextBlockTimestamp", deadline + 1)
    assert error_of(payment_chain, payment_chain.settle(payloads[1])) == "cd21db4f"
    payment_chain.rpc("evm_revert", snapshot)


def test_exact_settles_from_its_first_second_on(payment_chain, payer, seller):
    snapshot = payment_chain.rpc("evm_snapshot")
    first = int(time.time()) + 5_000
    payload = payment_chain.exact(payer, seller.address, 1000, valid_after=first, timeout=10_000)
    payment_chain.rpc("evm_setNextBlockTimestamp", first - 1)
    assert error_of(payment_chain, payment_chain.settle(payload)) == "a65539fa"
    payment_chain.rpc("evm_setNextBlockTimestamp", first)
    assert payment_chain.settle(payload)["status"] == "0x1"
    payment_chain.rpc("evm_revert", snapshot)


@pytest.mark.parametrize(
    ("amount", "changes", "error"),
    [
        (0, {}, "2c5211c6"),
        (1000, {"to": "0x" + "00" * 20}, "ac6b05f5"),
        (1000, {"signer": "stranger"}, "815e1d64"),
    ],
    ids=["zero", "no payee", "another signer"],
)
def test_exact_refuses(payment_chain, payer, seller, stranger, amount, changes, error):
    signer = WalletSigner(payer.address, stranger) if "signer" in changes else payer
    payload = payment_chain.exact(signer, changes.get("to", seller.address), amount)
    assert error_of(payment_chain, payment_chain.settle(payload)) == error


def test_exact_refuses_an_owner_that_is_nobody(payment_chain, payer, seller):
    payload = payment_chain.exact(payer, seller.address, 1000)
    payload["permit2Authorization"]["from"] = "0x" + "00" * 20
    assert error_of(payment_chain, payment_chain.settle(payload)) == "49e27cff"


def test_a_permit_of_the_token_is_for_the_amount_of_the_payment(payment_chain, payer, seller):
    receipt = payment_chain.settle(
        payment_chain.exact(payer, seller.address, 600), permit=(601, 0, bytes(32), bytes(32), 27)
    )
    assert error_of(payment_chain, receipt) == "050cda49"


def test_bytes_after_the_calldata_change_nothing(payment_chain, payer, seller):
    receipt = payment_chain.settle(payment_chain.exact(payer, seller.address, 1000), suffix=b"a code of the builder")
    assert events(receipt) == [transfer(payer.address, seller.address, 1000), SETTLED]


# upto


def test_upto_moves_what_the_seller_charges(payment_chain, buys, payer, seller):
    answer, receipt = buys("/metered?charge=1234")
    assert (answer["amount"], answer["payer"]) == ("1234", payer.address)
    assert events(receipt) == [transfer(payer.address, seller.address, 1234), SETTLED]
    assert logs_of(receipt)[-1].address == UPTO_PROXY


def test_upto_moves_a_percentage_of_the_ceiling(payment_chain, buys, payer, seller):
    answer, receipt = buys("/metered?charge=40%25")
    assert answer["amount"] == "2000"
    assert events(receipt) == [transfer(payer.address, seller.address, 2000), SETTLED]


def test_upto_of_zero_sends_nothing_and_leaves_the_nonce_for_the_ceiling(payment_chain, payer, seller):
    facilitator = every_facilitator(payment_chain)
    terms = payment_chain.terms("upto", seller.address, 5000, facilitatorAddress=FACILITATOR.address)
    inner = payment_chain.upto(payer, seller.address, 5000)
    payload = PaymentPayload(x402_version=2, accepted=terms, payload=inner)
    result = facilitator.settle(payload, terms.model_copy(update={"amount": "0"}))
    assert (result.success, result.transaction, result.amount) == (True, "", "0")
    assert not payment_chain.is_used(payer.address, inner["permit2Authorization"]["nonce"])
    receipt = payment_chain.settle(inner)
    assert events(receipt) == [transfer(payer.address, seller.address, 5000), SETTLED]


def test_upto_settles_no_more_than_the_ceiling(payment_chain, payer, seller):
    receipt = payment_chain.settle(payment_chain.upto(payer, seller.address, 5000), amount=5001)
    assert error_of(payment_chain, receipt) == "fe64b4c7"


def test_upto_is_settled_by_its_facilitator_alone(payment_chain, payer, seller):
    receipt = payment_chain.settle(payment_chain.upto(payer, seller.address, 5000), sender=RELAYER)
    assert error_of(payment_chain, receipt) == "0f6fae87"


def test_upto_by_a_facilitator_that_is_a_contract_has_another_sender(payment_chain, payer, seller):
    payload = payment_chain.upto(payer, seller.address, 5000, facilitator=MULTICALL)
    receipt = payment_chain.multicall(payment_chain.call(payload, amount=10))
    assert events(receipt) == [transfer(payer.address, seller.address, 10), SETTLED]
    assert receipt["from"] == RELAYER.address.lower()


def test_upto_with_a_permit_of_the_token(payment_chain, seller):
    fresh = Account.create()
    payment_chain.fund(fresh.address)
    payload = payment_chain.upto(fresh, seller.address, 5000)
    receipt = payment_chain.settle(payload, amount=600, permit=payment_chain.token_permit(fresh, 5000))
    assert events(receipt) == [APPROVAL, transfer(fresh.address, seller.address, 600), WITH_PERMIT]


# Other ways


def test_two_payments_in_one_transaction(payment_chain, payer, seller):
    calls = [payment_chain.call(payment_chain.exact(payer, seller.address, amount)) for amount in (1000, 2000)]
    receipt = payment_chain.multicall(*calls)
    expected = [transfer(payer.address, seller.address, amount) for amount in (1000, 2000)]
    assert events(receipt) == [expected[0], SETTLED, expected[1], SETTLED]
    assert receipt["to"] == MULTICALL.lower()


def test_a_call_that_fails_inside_a_transaction_leaves_no_logs(payment_chain, payer, seller):
    good, bad = payment_chain.exact(payer, seller.address, 1000), payment_chain.exact(payer, seller.address, 0)
    receipt = payment_chain.multicall(payment_chain.call(bad), payment_chain.call(good), may_fail=True)
    assert events(receipt) == [transfer(payer.address, seller.address, 1000), SETTLED]


def test_a_token_with_a_fee_pays_the_payee_less(payment_chain, payer, seller):
    token = payment_chain.put("0x" + "fe" * 20, "TokenSplitsTransfers")
    payment_chain.fund(payer.address, token=token)
    payment_chain.approve(payer, token=token)
    receipt = payment_chain.settle(payment_chain.exact(payer, seller.address, 1000, token=token))
    assert [event[3] for event in events(receipt)[:2]] == [100, 900]
    assert events(receipt)[1:] == [transfer(payer.address, seller.address, 900), SETTLED]


def test_a_proxy_elsewhere_settles_for_its_own_address(payment_chain, payer, seller):
    look_alike = payment_chain.put("0x402085C248eEa27D92E8b30b2C58ed07f9E20000", "MockExactProxy")
    payload = payment_chain.exact(payer, seller.address, 1000, spender=look_alike)
    _, data = payment_chain.call(payload)
    receipt = payment_chain.send(look_alike, data)
    assert events(receipt) == [transfer(payer.address, seller.address, 1000), SETTLED]
    assert logs_of(receipt)[-1].address == look_alike


def test_a_hostile_token_lets_the_real_proxy_log_after_a_transfer_of_the_real_token(
    payment_chain, payer, seller, stranger
):
    token = payment_chain.put("0x" + "bd" * 20, "TokenMovesAnotherToken")
    payment_chain.send(token, payment_chain.code("TokenMovesAnotherToken", "aim", payment_chain.token, payer.address))
    payment_chain.approve(payer, token)
    receipt = payment_chain.settle(payment_chain.exact(stranger, seller.address, 1000, token=token))
    assert events(receipt) == [transfer(payer.address, seller.address, 1000), SETTLED]
    assert [log.address for log in logs_of(receipt)] == [TOKEN, EXACT_PROXY]


@pytest.fixture
def permitted(payment_chain, payer, seller):
    """Lets a spender move money by a permit without a witness, and returns the receipt."""

    def move(amount):
        domain = {"name": "Permit2", "chainId": payment_chain.chain_id, "verifyingContract": PERMIT2}
        types = {
            "PermitTransferFrom": [
                {"name": "permitted", "type": "TokenPermissions"},
                *({"name": "spender", "type": "address"}, {"name": "nonce", "type": "uint256"}),
                {"name": "deadline", "type": "uint256"},
            ],
            "TokenPermissions": [{"name": "token", "type": "address"}, {"name": "amount", "type": "uint256"}],
        }
        nonce, deadline = int.from_bytes(Account.create().key), 2**40
        limits = {"permitted": {"token": TOKEN, "amount": 1000}, "spender": RELAYER.address}
        signed = payer.sign_typed_data(domain, types, {**limits, "nonce": nonce, "deadline": deadline})
        terms, details = ((TOKEN, 1000), nonce, deadline), (seller.address, amount)
        arguments = terms, details, payer.address, bytes(signed.signature)
        return payment_chain.send(PERMIT2, payment_chain.code("MockPermit2", "permitTransferFrom", *arguments))

    return move


def test_a_permit_without_a_proxy_leaves_a_transfer_alone(permitted, payer, seller):
    assert events(permitted(1000)) == [transfer(payer.address, seller.address, 1000)]


def test_permit2_moves_no_more_than_was_signed(payment_chain, permitted):
    assert error_of(payment_chain, permitted(1001)) == "3728b83d"


def test_an_allowance_of_permit2_leaves_a_transfer_alone(payment_chain, payer, seller):
    payment_chain.send(
        PERMIT2,
        payment_chain.code("MockPermit2", "approve", payment_chain.token, RELAYER.address, 1000, 2**48 - 1),
        payer,
    )
    moved = payment_chain.code("MockPermit2", "transferFrom", payer.address, seller.address, 1000, payment_chain.token)
    assert events(payment_chain.send(PERMIT2, moved)) == [transfer(payer.address, seller.address, 1000)]


def test_an_eip3009_payment_of_the_same_token_by_the_same_facilitator(payment_chain, buys, payer, seller):
    _, receipt = buys("/eip3009")
    assert events(receipt) == [("AuthorizationUsed",), transfer(payer.address, seller.address, 1000)]


# Other chains


def test_the_same_world_stands_on_a_chain_that_mines_on_demand(project):
    with running_anvil(*OPTIONS) as url:
        chain = PaymentChain(url, project)
        buyer, seller = chain.buyer(), Account.create()
        hashes = [chain.broadcast(*chain.call(chain.exact(buyer, seller.address, amount))) for amount in (1, 2)]
        first, second = (chain.receipt(transaction) for transaction in hashes)
        assert first["blockNumber"] == second["blockNumber"]
        assert chain.balance(seller.address) == 3
