"""The SDK's facilitator settles through the registry of buyers, and knows a payment that somebody else submitted."""

from __future__ import annotations

import time
from dataclasses import replace
from threading import Thread

import pytest
from eth_account import Account
from x402 import x402ClientSync, x402FacilitatorSync
from x402.mechanisms.evm.exact import register_exact_evm_client, register_exact_evm_facilitator
from x402.mechanisms.evm.signers import EthAccountSigner
from x402.schemas import PaymentPayload, PaymentRequired, PaymentRequirements

from bilateral.client import Client
from bilateral.core.contracts import Registry
from bilateral.core.payments.contracts import EXACT_PROXY
from bilateral.dev.servers import _LocalSettlingSigner
from bilateral.x402.server.settling import SettlingSigner
from scripts._payments import payment_message
from tests.permit2 import RELAYER
from tests.sdk.client.helpers import deploy, plain, transact
from tests.x402.conftest import account
from tests.x402.metered import paying_by_all
from tests.x402.world import NETWORK

AMOUNT = 20_000


@pytest.fixture(scope="module")
def operator():
    """Pays the gas of settlements."""
    return account(8)


@pytest.fixture(scope="module")
def deployment(web3, project, deployment, token, operator):
    arguments = (deployment.identity, [token.address], operator.address, operator.address)
    return replace(deployment, buyers=deploy(web3, project.BuyerReputationRegistry, *arguments))


@pytest.fixture(scope="module")
def payee(web3, deployment):
    """The wallet of a seller's agent."""
    owner = account(7)
    transact(web3, plain(web3, Registry.IDENTITY, deployment.identity).get_function_by_signature("register()")(), owner)
    return owner.address


@pytest.fixture
def buyer(web3, token):
    fresh = Account.create()
    sent = token.functions.mint(fresh.address, 10**9).transact({"from": web3.eth.accounts[0]})
    web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)
    return fresh


def signer_for(rpc, operator, deployment, **options):
    return SettlingSigner(operator.key.hex(), rpc, deployment.buyers, **options)


@pytest.fixture
def facilitator(rpc, operator, deployment):
    return facilitator_of(signer_for(rpc, operator, deployment))


def facilitator_of(signer):
    facilitator = x402FacilitatorSync()
    register_exact_evm_facilitator(facilitator, signer, NETWORK)
    return facilitator


@pytest.fixture
def requirements(token, payee):
    return PaymentRequirements(
        scheme="exact",
        network=NETWORK,
        asset=token.address,
        amount=str(AMOUNT),
        pay_to=payee,
        max_timeout_seconds=600,
        extra={"name": "Test Dollar", "version": "2"},
    )


def paid(buyer, requirements):
    """Sign a payment, as the SDK's unchanged client does."""
    client = x402ClientSync().set_spend_controls(False)
    register_exact_evm_client(client, EthAccountSigner(buyer))
    payload = client.create_payment_payload(PaymentRequired(x402_version=2, accepts=[requirements]))
    assert isinstance(payload, PaymentPayload)
    return payload


def terms(payload):
    """Return the arguments of the token's `transferWithAuthorization`, with the signature in parts."""
    authorization = payload.payload["authorization"]
    signature = bytes.fromhex(payload.payload["signature"].removeprefix("0x"))
    return (
        authorization["from"],
        authorization["to"],
        int(authorization["value"]),
        int(authorization["validAfter"]),
        int(authorization["validBefore"]),
        bytes.fromhex(authorization["nonce"].removeprefix("0x")),
        signature[64],
        signature[:32],
        signature[32:64],
    )


def submit(web3, token, payload, sender):
    """Submit a payment to the token itself, and return the transaction's hash."""
    kinds = "address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32"
    function = token.get_function_by_signature(f"transferWithAuthorization({kinds})")
    return "0x" + bytes(transact(web3, function(*terms(payload)), sender)["transactionHash"]).hex()


def settled_payments(rpc, deployment, buyer):
    with Client(rpc, deployment=deployment) as client:
        return client.get_buyer_records(buyer.address).settled.payments


def test_payment_is_settled_through_the_registry_and_counts(
    rpc, web3, deployment, facilitator, buyer, requirements, token, payee
):
    before = token.functions.balanceOf(payee).call()
    payload = paid(buyer, requirements)
    assert facilitator.verify(payload, requirements).is_valid
    settled = facilitator.settle(payload, requirements)
    assert settled.success, settled.error_message
    assert web3.eth.get_transaction(settled.transaction)["to"] == deployment.buyers
    assert token.functions.balanceOf(payee).call() == before + AMOUNT
    assert settled_payments(rpc, deployment, buyer) == 1


def test_payment_is_settled_once(rpc, deployment, facilitator, buyer, requirements):
    payload = paid(buyer, requirements)
    assert facilitator.settle(payload, requirements).success
    again = facilitator.settle(payload, requirements)
    assert not again.success
    assert settled_payments(rpc, deployment, buyer) == 1


def test_payment_that_somebody_else_submitted_is_paid_once(
    rpc, web3, deployment, facilitator, buyer, requirements, token
):
    payload = paid(buyer, requirements)
    assert facilitator.verify(payload, requirements).is_valid
    other = submit(web3, token, payload, account(6))
    settled = facilitator.settle(payload, requirements)
    assert settled.success, settled.error_message
    assert settled.transaction == other
    assert settled_payments(rpc, deployment, buyer) == 0
    assert not facilitator.settle(payload, requirements).success


def test_payment_that_was_overtaken_in_the_block_is_paid(rpc, web3, deployment, operator, buyer, requirements, token):
    signer = signer_for(rpc, operator, deployment)
    payload, read = paid(buyer, requirements), signer.read_contract
    others = []

    def overtaken(*arguments):
        answer = read(*arguments)
        if arguments[2] == "settle":  # between the simulation and the transaction
            others.append(submit(web3, token, payload, account(6)))
        return answer

    signer.read_contract = overtaken
    settled = facilitator_of(signer).settle(payload, requirements)
    assert settled.success, settled.error_message
    assert [settled.transaction] == others


@pytest.mark.parametrize("kind", [SettlingSigner, _LocalSettlingSigner])
def test_settlement_that_stays_pending_takes_the_time_limit_once(
    rpc, web3, deployment, operator, buyer, requirements, kind
):
    signer = kind(operator.key.hex(), rpc, registry=deployment.buyers, confirmation_timeout_seconds=2)
    facilitator, payload = facilitator_of(signer), paid(buyer, requirements)
    web3.provider.make_request("evm_setAutomine", [False])
    try:
        start = time.monotonic()
        settled = facilitator.settle(payload, requirements)
        seconds = time.monotonic() - start
        web3.provider.make_request("evm_mine", [])
        assert facilitator.settle(payload, requirements).transaction == settled.transaction
    finally:
        web3.provider.make_request("evm_setAutomine", [True])
    assert settled.error_reason == "settlement_pending"
    assert 2 <= seconds < 3.9
    assert settled_payments(rpc, deployment, buyer) == 1


def test_payment_of_another_process_of_the_facilitator_is_not_paid_again(
    rpc, web3, deployment, operator, buyer, requirements, token
):
    colleague = account(6)
    facilitator = facilitator_of(signer_for(rpc, operator, deployment, own_accounts=[colleague.address]))
    payload = paid(buyer, requirements)
    submit(web3, token, payload, colleague)
    assert not facilitator.settle(payload, requirements).success


def test_payment_before_the_searched_blocks_is_not_found(rpc, web3, deployment, operator, buyer, requirements, token):
    facilitator = facilitator_of(signer_for(rpc, operator, deployment, searched_blocks=2))
    payload = paid(buyer, requirements)
    submit(web3, token, payload, account(6))
    web3.provider.make_request("anvil_mine", ["0x3"])
    assert not facilitator.settle(payload, requirements).success


def test_cancelled_payment_is_not_paid(rpc, web3, facilitator, buyer, requirements, token):
    payload = paid(buyer, requirements)
    nonce = terms(payload)[5]
    domain = {
        "name": "Test Dollar",
        "version": "2",
        "chainId": web3.eth.chain_id,
        "verifyingContract": token.address,
    }
    types = {"CancelAuthorization": [{"name": "authorizer", "type": "address"}, {"name": "nonce", "type": "bytes32"}]}
    signed = buyer.sign_typed_data(domain, types, {"authorizer": buyer.address, "nonce": nonce})
    transact(web3, token.functions.cancelAuthorization(buyer.address, nonce, bytes(signed.signature)), account(6))
    assert not facilitator.settle(payload, requirements).success


def test_nonce_that_was_used_for_other_terms_is_not_paid(web3, facilitator, buyer, requirements, token):
    payload, nothing = paid(buyer, requirements), requirements.model_copy(update={"amount": "1"})
    cheap = paid(buyer, nothing)
    values = (*terms(cheap)[:5], terms(payload)[5])
    signature = bytes(buyer.sign_message(payment_message(values, token.address, web3.eth.chain_id)).signature)
    cheap.payload["authorization"]["nonce"] = "0x" + values[5].hex()
    cheap.payload["signature"] = "0x" + signature.hex()
    submit(web3, token, cheap, account(6))
    assert not facilitator.settle(payload, requirements).success


def test_token_that_is_not_listed_is_paid_without_a_record(
    rpc, web3, project, deployment, facilitator, buyer, requirements
):
    address = deploy(web3, project.MockPaymentToken)
    other = web3.eth.contract(
        address=address, abi=[entry.model_dump(by_alias=True) for entry in project.MockPaymentToken.contract_type.abi]
    )
    sent = other.functions.mint(buyer.address, 10**9).transact({"from": web3.eth.accounts[0]})
    web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)
    asked = requirements.model_copy(update={"asset": address})
    settled = facilitator.settle(paid(buyer, asked), asked)
    assert settled.success, settled.error_message
    assert web3.eth.get_transaction(settled.transaction)["to"] == address
    assert settled_payments(rpc, deployment, buyer) == 0


@pytest.fixture
def permitted(payment_chain, payee):
    """Makes a payment by Permit2 and its terms, as the SDK's unchanged client signs it."""

    def make(payer, **signed):
        terms = payment_chain.terms("exact", payee, AMOUNT)
        payload = paying_by_all(payer).create_payment_payload(PaymentRequired(x402_version=2, accepts=[terms]))
        if signed:
            authorization = payload.payload["permit2Authorization"] | signed
            payload.payload.update(payment_chain.sign(payer, authorization))
        return payload, terms

    return make


def test_payment_by_permit2_goes_the_way_of_the_sdk(facilitator, payment_chain, permitted, web3):
    settled = facilitator.settle(*permitted(payment_chain.buyer()))
    assert settled.success, settled.error_message
    assert web3.eth.get_transaction(settled.transaction)["to"] == EXACT_PROXY


def test_payment_by_permit2_that_a_stranger_settled_is_reported_once(facilitator, payment_chain, permitted):
    payload, terms = permitted(payment_chain.buyer())
    receipt = payment_chain.settle(payload.payload)
    settled = facilitator.settle(payload, terms)
    assert (settled.success, settled.transaction) == (True, receipt["transactionHash"])
    assert not facilitator.settle(payload, terms).success


def test_payment_by_permit2_of_the_facilitator_itself_is_not_reported_again(facilitator, payment_chain, permitted):
    payload, terms = permitted(payment_chain.buyer())
    assert facilitator.settle(payload, terms).success
    assert not facilitator.settle(payload, terms).success


def test_payment_by_permit2_of_another_process_is_not_reported(rpc, operator, deployment, payment_chain, permitted):
    facilitator = facilitator_of(signer_for(rpc, operator, deployment, own_accounts=[RELAYER.address]))
    payload, terms = permitted(payment_chain.buyer())
    payment_chain.settle(payload.payload, sender=RELAYER)
    assert not facilitator.settle(payload, terms).success


def test_cancelled_payment_by_permit2_is_not_paid(facilitator, payment_chain, permitted):
    payer = payment_chain.buyer()
    payload, terms = permitted(payer)
    payment_chain.cancel(payer, payload.payload["permit2Authorization"]["nonce"])
    assert not facilitator.settle(payload, terms).success


def test_nonce_of_permit2_that_paid_for_other_terms_is_not_paid(facilitator, payment_chain, permitted):
    """Both payments are between the same accounts, and of the same amount."""
    payer = payment_chain.buyer()
    payload, _ = permitted(payer)
    nonce = payload.payload["permit2Authorization"]["nonce"]
    payment_chain.settle(payload.payload)
    assert not facilitator.settle(*permitted(payer, nonce=nonce, deadline=str(2**40))).success


def test_payment_by_permit2_that_a_stranger_settles_while_it_is_sent_is_reported(
    facilitator, payment_chain, permitted, web3
):
    """Both transactions are in one block, and the stranger's is the first."""
    payload, terms = permitted(payment_chain.buyer())
    web3.provider.make_request("evm_setAutomine", [False])
    answers = []
    try:
        proxy, data = payment_chain.call(payload.payload)
        first = payment_chain.broadcast(proxy, data)
        thread = Thread(target=lambda: answers.append(facilitator.settle(payload, terms)))
        thread.start()
        while int(web3.provider.make_request("txpool_status", [])["result"]["pending"], 16) < 2:
            time.sleep(0.01)
        web3.provider.make_request("evm_mine", [])
        thread.join()
    finally:
        web3.provider.make_request("evm_setAutomine", [True])
    assert (answers[0].success, answers[0].transaction) == (True, first)
