"""The published x402 client for Node, unmodified, pays a server of this package, and every proof of it is verified."""

from __future__ import annotations

import base64
import json
import subprocess

import pytest

from bilateral.core.payments import PaymentKind
from bilateral.x402 import CheckName
from bilateral.x402.clients.transports import paid_request
from tests.interop.test_agent0 import INSTALLED, PROBES, SECONDS
from tests.x402.conftest import (  # noqa: F401  # fixtures
    agent,
    deployment,
    every_facilitator_url,
    loader,
    metered_url,
    payment_chain,
    publish,
    register,
    rpc,
    seller,
    selling_client,
    verifier,
    web3,
)
from tests.x402.metered import CEILING, PRICE

KINDS = {
    "/eip3009": (PaymentKind.EIP3009, PRICE, None),
    "/exact": (PaymentKind.PERMIT2_EXACT, PRICE, None),
    "/metered?charge=1234": (PaymentKind.PERMIT2_UPTO, 1234, CEILING),
    "/metered?charge=40%25": (PaymentKind.PERMIT2_UPTO, CEILING * 4 // 10, CEILING),
}


@pytest.fixture
def buy(payment_chain, metered_url):  # noqa: F811  # the fixtures above
    """Buys an answer by the client for Node, and returns its buyer and what the client printed."""
    probe = INSTALLED / "npm" / "x402_buyer.mjs"  # beside node_modules, where Node looks for packages
    probe.write_bytes((PROBES / "x402_buyer.mjs").read_bytes())

    def run(path):
        buyer = payment_chain.buyer()
        command = ["node", str(probe), metered_url + path, "0x" + buyer.key.hex()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)  # noqa: S603
        assert done.returncode == 0, done.stderr[-3000:]
        return buyer, json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.mark.parametrize("path", KINDS)
def test_answer_that_the_client_for_node_pays_for_is_verified(buy, verifier, metered_url, seller, path):  # noqa: F811
    buyer, answer = buy(path)
    assert answer["status"] == 200, answer
    headers, body = {"payment-response": answer["settlement"]}, base64.b64decode(answer["body"])
    paid = paid_request(answer["payment"], f"GET {metered_url}{path}", {}, b"", headers, body)
    verification = verifier.verify(paid)
    assert verification.is_verified, verification.problems
    payment, (kind, amount, ceiling) = verification.payment, KINDS[path]
    assert (payment.kind, payment.amount, payment.ceiling) == (kind, amount, ceiling)
    assert (payment.payer, payment.payee) == (buyer.address, seller.address)


def test_client_for_node_that_pays_for_another_body_proves_nothing(buy, verifier, metered_url):  # noqa: F811
    _, answer = buy("/metered?charge=1234")
    headers = {"payment-response": answer["settlement"]}
    paid = paid_request(answer["payment"], f"GET {metered_url}/metered", {}, b"", headers, b'{"charge": "1"}')
    verification = verifier.verify(paid)
    assert verification.check(CheckName.PAYMENT).code == ""
    assert verification.check(CheckName.INTERACTION_HASH).code == "hash_mismatch"
