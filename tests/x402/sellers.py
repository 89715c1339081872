"""A seller that a test scripts: it settles, reports and signs what the script says, whether it is true or not."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

from bilateral.core.identifiers import ChainId
from bilateral.x402 import InteractionData, declare_8004_reputation, interaction_hash
from bilateral.x402.offers import decode_header
from tests.sdk.servers import HttpServer, respond
from tests.x402.world import SIGNING_KEY, encoded

BODY = b"snow"


def authorized_call(chain, payload):
    """Return (token, calldata) of the settlement of a payment by EIP-3009 in the token of a `PaymentChain`."""
    signed, signature = payload["authorization"], bytes.fromhex(payload["signature"][2:])
    values = [signed["from"], signed["to"], *(int(signed[name]) for name in ("value", "validAfter", "validBefore"))]
    words = [*values, bytes.fromhex(signed["nonce"][2:]), signature]
    return chain.token, chain.code("MockPaymentToken", "transferWithAuthorization", *words)


@dataclass
class ScriptedSeller:
    """A seller on a `PaymentChain`.

    Attributes:
        wallet: The account that is paid, the agent's wallet.
        declaration: The declared extensions.
        agent_id: The agent's number.
        terms: The terms of payment that it asks for; a test sets them.
        script: Takes the payload of a payment, and returns a status, `PAYMENT-RESPONSE` or None, and further headers; a
            test sets it.
        payments: The headers of the payments that came.
    """

    chain: object
    wallet: str
    declaration: dict
    agent_id: int
    terms: dict = field(default_factory=dict)
    script: object = None
    payments: list = field(default_factory=list)
    url: str = ""

    def call(self, payload, amount=None):
        """Return the call that settles a payment."""
        if "authorization" in payload:
            return authorized_call(self.chain, payload)
        return self.chain.call(payload, amount=amount)

    def settle(self, payload, amount=None):
        """Settle a payment, and return the transaction's hash."""
        if "authorization" in payload:
            return self.chain.send(*self.call(payload))["transactionHash"]
        return self.chain.settle(payload, amount=amount)["transactionHash"]

    def report(self, transaction, **changes):
        """Return a report of a settlement. None leaves a field out."""
        report = {"success": True, "transaction": transaction, "network": self.chain.network} | changes
        return {name: value for name, value in report.items() if value is not None}

    def answer(self, handler):
        request = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        payment = handler.headers["PAYMENT-SIGNATURE"]
        if not payment:
            respond(handler, b"{}", 402, **{"PAYMENT-REQUIRED": self.price})
            return
        self.payments.append(payment)
        status, report, *others = self.script(decode_header(payment)["payload"])
        headers = others[0] if others else {}
        headers |= (
            {} if report is None else {"PAYMENT-RESPONSE": encoded(json.dumps(self.signed(report, request)).encode())}
        )
        headers |= {"PAYMENT-REQUIRED": self.price} if status == 402 else {}
        respond(handler, BODY, status, **headers)

    @property
    def price(self):
        message = {
            "x402Version": 2,
            "error": "payment required",
            "accepts": [self.terms],
            "extensions": self.declaration,
        }
        return encoded(json.dumps(message | {"resource": {"url": self.url}}).encode())

    def signed(self, report, request):
        """Add a statement to the report of a transaction."""
        if not report["transaction"]:
            return report
        task_ref = f"{report['network']}:{report['transaction']}"
        digest = interaction_hash(task_ref, request, BODY)
        signature, chain = SIGNING_KEY.sign(digest), ChainId.parse(report["network"])
        statement = InteractionData(chain, str(self.agent_id), task_ref, digest, signature, int(time.time()))
        return report | {"extensions": {"8004-reputation": statement.to_object()}}


@contextmanager
def scripted_seller(chain, wallet, agent_id, deployment):
    """Run a `ScriptedSeller`."""
    seller = ScriptedSeller(chain, wallet, declare_8004_reputation(agent_id, deployment), agent_id)
    with HttpServer() as server:
        seller.url = server.url + "/snow"
        server.routes["/snow"] = seller.answer
        yield seller
