"""Payers that are contracts: the payer of a payment is the account that held the money."""

from __future__ import annotations

from dataclasses import dataclass

import httpx
import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount

from bilateral.client import Client
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.payments import (
    PaymentKind,
    proxy_call,
)
from bilateral.x402.clients.feedback import give_paid_feedback, is_signed_by_client, sign_paid_feedback
from tests.permit2 import FACILITATOR, WalletSigner, events
from tests.x402.metered import metered_shop, pay_headers
from tests.x402.smart_wallets.conftest import PATHS, PERMIT2_PATHS, transaction_of
from tests.x402.world import refusal, settled

# ERC-1271 and EIP-7702


@pytest.mark.parametrize("path", PATHS)
def test_a_wallet_pays_and_is_the_payer(payment_chain, pay, verify, wallet, seller, path):
    kind, amount = PATHS[path]
    response, signed = pay(path, wallet)
    assert response.status_code == 200, response.text
    payment, settlement, _ = verify(response)
    assert (payment.payer, payment.payee, payment.amount) == (wallet.address, seller.address, amount)
    assert (payment.kind, payment.ceiling) == (kind, 5000 if kind is PaymentKind.PERMIT2_UPTO else None)
    assert (settlement.is_paid, settlement.transaction) == (True, settled(response)["transaction"])
    answer = settled(response)
    assert (answer["payer"], signed.payer, signed.kind) == (wallet.address, wallet.address, kind)
    receipt, payments = transaction_of(payment_chain, answer["transaction"])
    assert ("Transfer", wallet.address, seller.address, amount) in events(receipt)
    assert receipt["from"] == FACILITATOR.address.lower()
    if kind is not PaymentKind.EIP3009:
        data = bytes.fromhex(payment_chain.rpc("eth_getTransactionByHash", answer["transaction"])["input"][2:])
        ((call, _),) = payments
        assert call == proxy_call(receipt["to"], data)
        assert (call.payment, call.amount) == (signed, amount)


@pytest.mark.parametrize("path", PATHS)
def test_the_owner_of_a_wallet_stands_nowhere_in_a_payment(payment_chain, pay, wallets, path):
    owner = Account.create()
    response, _ = pay(path, wallets.deploy(owner))
    transaction = settled(response)["transaction"]
    calldata = payment_chain.rpc("eth_getTransactionByHash", transaction)["input"]
    assert owner.address[2:].lower() not in calldata
    assert all(owner.address not in event for event in events(transaction_of(payment_chain, transaction)[0]))


@pytest.mark.parametrize("path", PATHS)
def test_a_key_that_the_wallet_does_not_follow_pays_nothing(pay, deployed, stranger, path):
    response, _ = pay(path, WalletSigner(deployed.address, stranger))
    assert response.status_code == 402


@pytest.mark.parametrize("path", PATHS)
def test_an_account_is_payer_by_the_key_that_its_code_follows(payment_chain, pay, delegated_to, path):
    account, key = payment_chain.buyer(), Account.create()
    delegated_to(account, payment_chain.deploy("MockWallet", key.address, types=["address"]))
    response, _ = pay(path, WalletSigner(account.address, key))
    assert settled(response)["payer"] == account.address


# Permit2 decides by code. A token decides about EIP-3009 as it likes: the newest USDC by code, older ones by key.


@pytest.mark.parametrize("path", PERMIT2_PATHS)
def test_an_account_does_not_pay_by_its_own_key_if_its_code_follows_another(payment_chain, pay, delegated_to, path):
    account, key = payment_chain.buyer(), Account.create()
    delegated_to(account, payment_chain.deploy("MockWallet", key.address, types=["address"]))
    assert pay(path, account)[0].status_code == 402


@pytest.mark.parametrize("path", PERMIT2_PATHS)
def test_an_account_whose_code_answers_no_signature_cannot_pay(payment_chain, pay, delegated_to, path):
    account = delegated_to(payment_chain.buyer(), payment_chain.deploy("MockBatcher"))
    assert pay(path, account)[0].status_code == 402


def test_permit2_refuses_the_key_of_an_account_whose_code_follows_another(payment_chain, delegated_to, seller):
    account, key = payment_chain.buyer(), Account.create()
    delegated_to(account, payment_chain.deploy("MockWallet", key.address, types=["address"]))
    receipt = payment_chain.settle(payment_chain.exact(account, seller.address, 1000))
    trace = payment_chain.rpc("debug_traceTransaction", receipt["transactionHash"], {"tracer": "callTracer"})
    assert (receipt["status"], trace["output"][:10]) == ("0x0", "0xb0669cbc")


# ERC-6492


def test_an_undeployed_account_pays_by_eip3009_in_the_transaction_after_its_deployment(
    payment_chain, wallets, pay, verify, seller
):
    signer = wallets.undeployed(Account.create())
    response, signed = pay("/eip3009", signer)
    assert response.status_code == 200, response.text
    assert verify(response)[0].payer == signer.address
    answer = settled(response)
    assert (answer["payer"], signed.payer) == (signer.address, signer.address)
    receipt, _ = transaction_of(payment_chain, answer["transaction"])
    assert events(receipt) == [("AuthorizationUsed",), ("Transfer", signer.address, seller.address, 1000)]
    before = hex(int(receipt["blockNumber"], 16) - 2)
    assert payment_chain.rpc("eth_getCode", signer.address, before) == "0x"
    assert payment_chain.rpc("eth_getCode", signer.address, "latest") != "0x"


def test_a_facilitator_deploys_by_no_factory_that_is_not_on_its_list(
    payment_chain, wallets, every_facilitator_url, seller
):
    signer = wallets.undeployed(Account.create())
    with metered_shop(every_facilitator_url, payment_chain.token, seller.address) as url:
        response = httpx.get(f"{url}/eip3009", headers=pay_headers(f"{url}/eip3009", signer))
    assert (response.status_code, refusal(response)) == (402, "eip6492_factory_not_allowed")
    assert payment_chain.rpc("eth_getCode", signer.address, "latest") == "0x"


@pytest.mark.parametrize("path", PERMIT2_PATHS)
def test_an_undeployed_account_pays_by_permit2_only_after_its_deployment(payment_chain, wallets, pay, path):
    owner = Account.create()
    signer = wallets.undeployed(owner)
    response, _ = pay(path, signer)
    assert (response.status_code, refusal(response)) == (402, "invalid_permit2_signature")
    assert payment_chain.rpc("eth_getCode", signer.address, "latest") == "0x"
    response, _ = pay(path, wallets.deploy(owner))
    assert settled(response)["payer"] == signer.address


# Feedback


@dataclass(frozen=True)
class WalletAccount:
    """The account of a wallet, for the SDK's client: its owner signs messages. Transactions are sent by others."""

    address: str
    owner: LocalAccount

    def sign_message(self, message):
        return self.owner.sign_message(message)

    def sign_transaction(self, transaction):
        raise AssertionError(f"a wallet signs no transaction: {transaction}")


@pytest.mark.parametrize("path", PATHS)
def test_a_wallet_rates_what_it_paid_for(wallets, pay, verify, rpc, deployment, loader, client, path):
    owner = Account.create()
    account = WalletAccount(wallets.deploy(owner).address, owner)
    *_, verification = verify(pay(path, WalletSigner(account.address, owner))[0])
    with Client(rpc, signer=account, deployment=deployment, loader=loader, poll_interval=0.02) as own:
        signed = sign_paid_feedback(own, verification, 95, account)
    entry = client.submit_signed_feedback(signed).wait()
    assert entry.id.client == account.address
    assert is_signed_by_client(client.get_feedback(entry.id).file, client)


@pytest.mark.parametrize("path", PATHS)
def test_the_owner_of_a_wallet_rates_nothing_that_the_wallet_paid_for(wallets, pay, verify, client, path):
    owner = Account.create()
    *_, verification = verify(pay(path, wallets.deploy(owner))[0])
    with pytest.raises(InvalidArgumentError, match="made the payment, so"):
        give_paid_feedback(client, verification, 95, owner)
