"""Payers that are contracts: the payer of a payment is the account that held the money, whoever brought it on chain."""

from __future__ import annotations

import httpx
import pytest
from eth_account import Account
from x402.http import decode_payment_signature_header
from x402.mechanisms.evm.constants import TRANSFER_WITH_AUTHORIZATION_BYTES_ABI
from x402.mechanisms.evm.exact import ExactEvmClientScheme
from x402.mechanisms.evm.multicall import encode_contract_call

from bilateral.core.payments import (
    PaymentKind,
    SignedPayment,
    inner_calls,
    proxy_call,
    settled_calls,
)
from bilateral.core.payments.contracts import AUTHORIZATION_USED, EXACT_PROXY, TRANSFER, UPTO_PROXY
from bilateral.core.payments.settling import address_topic
from tests.permit2 import FACILITATOR, WalletSigner, events, logs_of
from tests.wallets import BUNDLER, ENTRY_POINT, FACTORY, Wallets
from tests.x402.metered import metered_shop, pay_headers, serving_facilitator
from tests.x402.world import refusal, settled

PATHS = {
    "/eip3009": (PaymentKind.EIP3009, 1000),
    "/exact": (PaymentKind.PERMIT2_EXACT, 1000),
    "/metered?charge=1234": (PaymentKind.PERMIT2_UPTO, 1234),
}
PERMIT2_PATHS = [path for path in PATHS if path != "/eip3009"]


@pytest.fixture(scope="module")
def wallets(payment_chain):
    return Wallets(payment_chain)


@pytest.fixture(scope="module")
def shop_url(wallets, seller):
    """The URL of a shop whose facilitator deploys the accounts of one factory."""
    chain = wallets.chain
    with (
        serving_facilitator(chain, factories=[FACTORY]) as facilitator,
        metered_shop(facilitator, chain.token, seller.address) as url,
    ):
        yield url


@pytest.fixture(scope="module")
def delegate(payment_chain):
    """Lets an account run the code of a contract (EIP-7702), and returns the account with tokens."""

    def run(account, code):
        nonce = int(payment_chain.rpc("eth_getTransactionCount", account.address, "pending"), 16)
        signed = account.sign_authorization({"chainId": payment_chain.chain_id, "address": code, "nonce": nonce})
        payment_chain.rpc("anvil_setBalance", FACILITATOR.address, hex(10**20))
        transaction = {
            "chainId": payment_chain.chain_id,
            "nonce": int(payment_chain.rpc("eth_getTransactionCount", FACILITATOR.address, "pending"), 16),
            "to": FACILITATOR.address,
            "value": 0,
            "gas": 100_000,
            "maxFeePerGas": 10**10,
            "maxPriorityFeePerGas": 0,
            "authorizationList": [signed],
        }
        raw = FACILITATOR.sign_transaction(transaction).raw_transaction
        payment_chain.receipt(payment_chain.rpc("eth_sendRawTransaction", "0x" + bytes(raw).hex()))
        assert payment_chain.rpc("eth_getCode", account.address, "latest") == "0xef0100" + code[2:].lower()
        return account

    return run


@pytest.fixture(scope="module")
def delegated(payment_chain, delegate):
    """An account that follows its own key by the code of a wallet (EIP-7702)."""
    account = payment_chain.buyer()
    wallet = payment_chain.deploy("MockWallet", account.address, types=["address"])
    return WalletSigner(delegate(account, wallet).address, account)


@pytest.fixture(scope="module")
def deployed(wallets):
    """A smart account (ERC-1271)."""
    return wallets.deploy(Account.create())


@pytest.fixture(params=["deployed", "delegated"])
def wallet(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def pay(shop_url):
    """Pays for a request, and returns the response and the payment as its payer signed it."""

    def send(path, payer):
        headers = pay_headers(shop_url + path, payer)
        message = decode_payment_signature_header(headers["PAYMENT-SIGNATURE"])
        accepted = message.accepted.model_dump(by_alias=True, mode="json")
        signed = SignedPayment.of(accepted, message.payload)
        return httpx.get(shop_url + path, headers=headers), signed

    return send


def transaction_of(chain, transaction):
    """Return the receipt, the payments that the proxies settled, and the place of each transfer."""
    receipt = chain.rpc("eth_getTransactionReceipt", transaction)
    trace = chain.rpc("debug_traceTransaction", transaction, {"tracer": "callTracer"})
    return receipt, list(settled_calls(inner_calls(trace), logs_of(receipt)))


def is_in_calldata(chain, transaction, address):
    return address[2:].lower() in chain.rpc("eth_getTransactionByHash", transaction)["input"]


# ERC-1271 and EIP-7702


@pytest.mark.parametrize("path", PATHS)
def test_a_wallet_pays_and_is_the_payer(payment_chain, pay, wallet, seller, path):
    kind, amount = PATHS[path]
    response, signed = pay(path, wallet)
    assert response.status_code == 200, response.text
    answer = settled(response)
    assert (answer["payer"], signed.payer, signed.kind) == (wallet.address, wallet.address, kind)
    receipt, payments = transaction_of(payment_chain, answer["transaction"])
    assert ("Transfer", wallet.address, seller.address, amount) in events(receipt)
    assert receipt["from"] == FACILITATOR.address.lower()
    if kind is not PaymentKind.EIP3009:
        data = bytes.fromhex(payment_chain.rpc("eth_getTransactionByHash", answer["transaction"])["input"][2:])
        ((call, _),) = payments
        assert call == proxy_call(receipt["to"], data)
        assert (call.owner, call.payee, call.nonce, call.amount) == (
            signed.payer,
            signed.payee,
            signed.nonce,
            amount,
        )


@pytest.mark.parametrize("path", PATHS)
def test_the_owner_of_a_wallet_stands_nowhere_in_a_payment(payment_chain, pay, wallets, path):
    owner = Account.create()
    response, _ = pay(path, wallets.deploy(owner))
    transaction = settled(response)["transaction"]
    assert not is_in_calldata(payment_chain, transaction, owner.address)
    assert all(owner.address not in event for event in events(transaction_of(payment_chain, transaction)[0]))


@pytest.mark.parametrize("path", PATHS)
def test_a_key_that_the_wallet_does_not_follow_pays_nothing(pay, deployed, stranger, path):
    response, _ = pay(path, WalletSigner(deployed.address, stranger))
    assert response.status_code == 402


@pytest.mark.parametrize("path", PATHS)
def test_an_account_is_payer_by_the_key_that_its_code_follows(payment_chain, pay, delegate, path):
    account, key = payment_chain.buyer(), Account.create()
    delegate(account, payment_chain.deploy("MockWallet", key.address, types=["address"]))
    response, _ = pay(path, WalletSigner(account.address, key))
    assert settled(response)["payer"] == account.address


# Permit2 decides by code. A token decides about EIP-3009 as it likes: the newest USDC by code, older ones by key.


@pytest.mark.parametrize("path", PERMIT2_PATHS)
def test_an_account_does_not_pay_by_its_own_key_if_its_code_follows_another(payment_chain, pay, delegate, path):
    account, key = payment_chain.buyer(), Account.create()
    delegate(account, payment_chain.deploy("MockWallet", key.address, types=["address"]))
    assert pay(path, account)[0].status_code == 402


@pytest.mark.parametrize("path", PERMIT2_PATHS)
def test_an_account_whose_code_answers_no_signature_cannot_pay(payment_chain, pay, delegate, path):
    account = delegate(payment_chain.buyer(), payment_chain.deploy("MockBatcher"))
    assert pay(path, account)[0].status_code == 402


def test_permit2_refuses_the_key_of_an_account_whose_code_follows_another(payment_chain, delegate, seller):
    account, key = payment_chain.buyer(), Account.create()
    delegate(account, payment_chain.deploy("MockWallet", key.address, types=["address"]))
    receipt = payment_chain.settle(payment_chain.exact(account, seller.address, 1000))
    trace = payment_chain.rpc("debug_traceTransaction", receipt["transactionHash"], {"tracer": "callTracer"})
    assert (receipt["status"], trace["output"][:10]) == ("0x0", "0xb0669cbc")


# ERC-6492


def test_an_undeployed_account_pays_by_eip3009_in_the_transaction_after_its_deployment(
    payment_chain, wallets, pay, seller
):
    signer = wallets.undeployed(Account.create())
    response, signed = pay("/eip3009", signer)
    assert response.status_code == 200, response.text
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


# ERC-4337


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
    assert [(call.kind, call.owner, call.amount) for call, _ in payments] == [
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
    assert settled_call.owner == account.address
