"""Bundles (ERC-4337): payers are the accounts that held the money, never bundler, entry point or facilitator."""

from __future__ import annotations

from functools import partial
from itertools import count

import pytest
from eth_account import Account
from eth_utils.address import to_checksum_address
from x402.mechanisms.evm.constants import TRANSFER_WITH_AUTHORIZATION_BYTES_ABI
from x402.mechanisms.evm.exact import ExactEvmClientScheme
from x402.mechanisms.evm.multicall import encode_contract_call

from bilateral.core.payments import (
    PaymentKind,
    proxy_call,
)
from bilateral.core.payments.contracts import AUTHORIZATION_USED, EXACT_PROXY, TRANSFER, UPTO_PROXY
from bilateral.core.payments.settling import address_topic
from bilateral.dev.servers import _LocalSigner
from tests.permit2 import FACILITATOR, events, logs_of
from tests.wallets import BUNDLER, ENTRY_POINT
from tests.x402.smart_wallets.conftest import PATHS, transaction_of
from tests.x402.world import settled


class BundlingSigner(_LocalSigner):
    """Settles as a smart account, by operations of it."""

    def __init__(self, secret, rpc, *, wallets, account):
        super().__init__(secret, rpc)
        self._wallets, self._smart_account, self._nonces = wallets, account.address, count()

    def get_addresses(self):
        return [self._smart_account]

    def read_contract(self, address, abi, name, *arguments):
        contract = self._w3.eth.contract(address=to_checksum_address(address), abi=abi)
        return contract.get_function_by_name(name)(*arguments).call({"from": self._smart_account})

    def write_contract(self, address, abi, name, *arguments, **_):
        call = address, encode_contract_call(abi, name, *arguments)
        operation = self._wallets.operation(self._smart_account, self._account, *call, nonce=next(self._nonces))
        return self._wallets.bundle(operation)["transactionHash"]


@pytest.fixture(scope="module")
def bundling_url(wallets, open_shop):
    """The URL of a shop whose facilitator is a smart account."""
    owner = Account.create()
    with open_shop(account=owner, kind=partial(BundlingSigner, wallets=wallets, account=wallets.deploy(owner))) as url:
        yield url


@pytest.mark.parametrize("path", PATHS)
def test_a_payment_that_a_smart_account_settles_is_proven(pay, verify, payment_chain, bundling_url, path):
    kind, amount = PATHS[path]
    payer = payment_chain.buyer()
    response, _ = pay(path, payer, bundling_url)
    payment, settlement, _ = verify(response)
    assert (payment.payer, payment.kind, payment.amount) == (payer.address, kind, amount)
    assert settlement.transaction == settled(response)["transaction"]


@pytest.fixture
def bundled(payment_chain, wallets, seller):
    """A bundle of one transaction that settles a payment of each kind, and makes a plain transfer."""
    facilitator_owner, plain_owner = Account.create(), Account.create()
    facilitator, plain = wallets.deploy(facilitator_owner), wallets.deploy(plain_owner)
    exact_payer, upto_payer, eip3009_payer = payment_chain.buyer(), payment_chain.buyer(), payment_chain.buyer()
    calls = [
        payment_chain.call(payment_chain.exact(exact_payer, seller.address, 1000)),
        payment_chain.call(payment_chain.upto(upto_payer, seller.address, 5000, facilitator=facilitator), amount=1234),
        eip3009_call(payment_chain, eip3009_payer, seller.address, 2000),
    ]
    operations = [
        wallets.operation(facilitator.address, facilitator_owner, *call, nonce=nonce)
        for nonce, call in enumerate(calls)
    ]
    transfer = payment_chain.code("MockPaymentToken", "transfer", seller.address, 77)
    operations.append(wallets.operation(plain.address, plain_owner, payment_chain.token, transfer, nonce=0))
    receipt = wallets.bundle(*operations)
    return receipt, [exact_payer, upto_payer, eip3009_payer, plain], facilitator


def eip3009_call(chain, payer, payee, amount):
    """Return (token, calldata) of the settlement of a payment that the SDK signs."""
    terms = chain.terms("exact", payee, amount, assetTransferMethod=None)
    payload = ExactEvmClientScheme(payer).create_payment_payload(terms)
    signed = payload["authorization"]
    values = [int(signed[name]) for name in ("value", "validAfter", "validBefore")]
    arguments = signed["from"], signed["to"], *values, bytes.fromhex(signed["nonce"][2:])
    signature = bytes.fromhex(payload["signature"][2:])
    abi = TRANSFER_WITH_AUTHORIZATION_BYTES_ABI
    return chain.token, encode_contract_call(abi, "transferWithAuthorization", *arguments, signature)


def test_a_bundle_settles_payments_of_several_accounts(bundled, seller):
    receipt, (exact, upto, eip3009, plain), _ = bundled
    operated = ("UserOperationEvent",)
    assert events(receipt) == [
        ("Transfer", exact.address, seller.address, 1000),
        ("Settled",),
        operated,
        ("Transfer", upto.address, seller.address, 1234),
        ("Settled",),
        operated,
        ("AuthorizationUsed",),
        ("Transfer", eip3009.address, seller.address, 2000),
        operated,
        ("Transfer", plain.address, seller.address, 77),
        operated,
    ]


def test_payers_of_a_bundle_are_the_accounts_that_held_the_money(payment_chain, bundled):
    receipt, (exact, upto, eip3009, _), facilitator = bundled
    _, payments = transaction_of(payment_chain, receipt["transactionHash"])
    assert [(call.payment.kind, call.payment.payer, call.amount) for call, _ in payments] == [
        (PaymentKind.PERMIT2_EXACT, exact.address, 1000),
        (PaymentKind.PERMIT2_UPTO, upto.address, 1234),
    ]
    assert [log.topics[1] for log in logs_of(receipt) if log.topics[0] == AUTHORIZATION_USED] == [
        address_topic(eip3009.address)
    ]
    assert (receipt["from"], receipt["to"]) == (BUNDLER.address.lower(), ENTRY_POINT.lower())
    senders = {log.topics[1] for log in logs_of(receipt) if log.topics[0] == TRANSFER}
    others = [BUNDLER.address, ENTRY_POINT, facilitator.address, FACILITATOR.address]
    assert senders.isdisjoint(map(address_topic, others))


def test_a_bundle_is_no_direct_call_of_a_proxy(payment_chain, bundled):
    receipt, *_ = bundled
    data = bytes.fromhex(payment_chain.rpc("eth_getTransactionByHash", receipt["transactionHash"])["input"][2:])
    assert proxy_call(receipt["to"], data) is None


def test_an_operation_that_fails_settles_nothing_beside_those_that_do(payment_chain, wallets, seller):
    owner, payer = Account.create(), payment_chain.buyer()
    account = wallets.deploy(owner)
    payloads = [payment_chain.exact(payer, seller.address, amount) for amount in (10**12, 1000)]
    operations = [
        wallets.operation(account.address, owner, *payment_chain.call(payload), nonce=nonce)
        for nonce, payload in enumerate(payloads)
    ]
    receipt = wallets.bundle(*operations)
    _, ((call, transfer),) = transaction_of(payment_chain, receipt["transactionHash"])
    assert (call.amount, int.from_bytes(transfer.data)) == (1000, 1000)


@pytest.mark.parametrize("kind", ["exact", "upto"])
def test_an_account_settles_its_own_payment_by_an_operation(payment_chain, wallets, seller, kind):
    owner = Account.create()
    account = wallets.deploy(owner)
    more = {"facilitator": account} if kind == "upto" else {}
    payload = getattr(payment_chain, kind)(account, seller.address, 1000, **more)
    call = payment_chain.call(payload)
    assert call[0] == (UPTO_PROXY if more else EXACT_PROXY)
    receipt = wallets.bundle(wallets.operation(account.address, owner, *call, nonce=0))
    _, ((settled_call, _),) = transaction_of(payment_chain, receipt["transactionHash"])
    assert settled_call.payment.payer == account.address
