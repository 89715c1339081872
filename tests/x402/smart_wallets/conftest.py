"""A shop whose facilitator deploys smart wallets, and such wallets that pay there."""

from __future__ import annotations

from contextlib import contextmanager

import httpx
import pytest
from eth_account import Account
from x402.http import decode_payment_signature_header

from bilateral.core.payments import (
    PaymentKind,
    SignedPayment,
    inner_calls,
    settled_calls,
)
from bilateral.x402 import declare_8004_reputation
from bilateral.x402.clients.transports import paid_request
from tests.delegation import delegate
from tests.permit2 import FACILITATOR, WalletSigner, logs_of
from tests.wallets import FACTORY, Wallets
from tests.x402.metered import metered_shop, pay_headers, serving_facilitator

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
def open_shop(wallets, seller, agent, deployment):
    """Opens a shop that signs its answers, and whose facilitator has given settings."""
    terms = declare_8004_reputation(agent, deployment)

    @contextmanager
    def serve(**settings):
        with (
            serving_facilitator(wallets.chain, **settings) as facilitator,
            metered_shop(facilitator, wallets.chain.token, seller.address, terms) as url,
        ):
            yield url

    return serve


@pytest.fixture(scope="module")
def shop_url(open_shop):
    """The URL of a shop whose facilitator deploys the accounts of one factory."""
    with open_shop(factories=[FACTORY]) as url:
        yield url


@pytest.fixture(scope="module")
def delegated_to(payment_chain, web3):
    """Lets an account run the code of a contract (EIP-7702), and returns the account."""

    def run(account, code):
        payment_chain.rpc("anvil_setBalance", FACILITATOR.address, hex(10**20))
        delegate(web3, account, code, FACILITATOR)
        return account

    return run


@pytest.fixture(scope="module")
def delegated(payment_chain, delegated_to):
    """An account that follows its own key by the code of a wallet (EIP-7702)."""
    account = payment_chain.buyer()
    wallet = payment_chain.deploy("MockWallet", account.address, types=["address"])
    return WalletSigner(delegated_to(account, wallet).address, account)


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

    def send(path, payer, url=shop_url):
        headers = pay_headers(url + path, payer)
        message = decode_payment_signature_header(headers["PAYMENT-SIGNATURE"])
        accepted = message.accepted.model_dump(by_alias=True, mode="json")
        return httpx.get(url + path, headers=headers), SignedPayment.of(accepted, message.payload)

    return send


@pytest.fixture
def verify(verifier):
    """Verifies a paid answer, and looks the payment up that was sent for it."""

    def check(response):
        header, url = response.request.headers["payment-signature"], response.request.url
        paid = paid_request(header, f"GET {url}", {}, b"", dict(response.headers), response.content)
        verification = verifier.verify(paid)
        assert verification.is_verified, verification.problems
        settlement = verifier.find_settlement(paid.payment)
        return verification.payment, settlement, verification

    return check


def transaction_of(chain, transaction):
    """Return the receipt, the payments that the proxies settled, and the place of each transfer."""
    receipt = chain.rpc("eth_getTransactionReceipt", transaction)
    trace = chain.rpc("debug_traceTransaction", transaction, {"tracer": "callTracer"})
    return receipt, list(settled_calls(inner_calls(trace), logs_of(receipt)))
