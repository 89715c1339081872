"""A node that lags behind the server's spoils no proof: the receipt is asked for again, and later by `verify`."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace

import httpx
import pytest

from bilateral.x402 import CheckName, Verifier
from tests.sdk.servers import HttpServer, respond
from tests.x402.clients import CLIENTS


@dataclass
class Lag:
    """A node that does not know receipts when it is asked for them the first times."""

    url: str
    unknown: int = 0
    asked: int = 0


@pytest.fixture
def lagging(rpc):
    with HttpServer() as server, httpx.Client(timeout=120) as http:
        node = Lag(server.url)

        def answer(handler):
            message = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
            if isinstance(message, dict) and message["method"] == "eth_getTransactionReceipt":
                node.asked += 1
                if node.asked <= node.unknown:
                    missing = {"jsonrpc": "2.0", "id": message["id"], "result": None}
                    respond(handler, json.dumps(missing).encode())
                    return
            respond(handler, http.post(rpc, json=message).content)

        server.routes["/"] = answer
        yield node


@pytest.mark.parametrize("face", CLIENTS)
def test_receipt_that_comes_late_is_waited_for(lagging, shop, face, buyer, deployment):
    lagging.unknown = 2
    with CLIENTS[face](buyer, {lagging.url: deployment}) as client:
        verification = client.verification_of(client.post(shop + "/echo", b"snow"))
    assert verification.is_verified, verification.problems
    assert lagging.asked == 3


def test_wait_ends_at_the_deadline_and_a_later_look_verifies(lagging, bought, deployment, loader):
    lagging.unknown, start = 10**6, time.monotonic()
    with Verifier({lagging.url: deployment}, loader=loader, receipt_seconds=0.8) as verifier:
        early = verifier.verify(bought)
        assert early.check(CheckName.PAYMENT).code == "payment_not_found"
        assert time.monotonic() - start >= 0.8
        assert lagging.asked <= 3  # a busy machine has time for fewer looks
        lagging.unknown = 0
        assert verifier.verify(early.paid).is_verified


def test_payment_of_another_amount_is_not_waited_for(lagging, bought, deployment, loader):
    accepted = bought.payment["accepted"]
    other = replace(bought, payment=bought.payment | {"accepted": accepted | {"amount": "1000000"}})
    with Verifier({lagging.url: deployment}, loader=loader, receipt_seconds=3600) as verifier:
        assert verifier.verify(other).check(CheckName.PAYMENT).code == "amount_mismatch"
    assert lagging.asked == 0


def test_past_is_not_waited_for(lagging, bought, deployment, loader):
    lagging.unknown = 10**6
    with Verifier({lagging.url: deployment}, loader=loader, receipt_seconds=3600) as verifier:
        past = verifier.verify(bought, historical=True)
    assert (past.check(CheckName.PAYMENT).code, lagging.asked) == ("payment_not_found", 1)
