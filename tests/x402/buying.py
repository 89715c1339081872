"""Paid answers as their clients saw them, and what a server could have made of them."""

from __future__ import annotations

import copy
from dataclasses import replace

import httpx

from bilateral.x402 import InteractionData, Outcome, Secp256k1Key, interaction_hash
from bilateral.x402.clients.transports import paid_request
from tests.x402 import examples
from tests.x402.world import SIGNING_KEY, payment_for

OTHER_KEY = Secp256k1Key(bytes(range(2, 34)))
BODY = b"snow in Oslo"


def buy(url, buyer, path="/echo", method="POST", content=BODY):
    """Pay for a request, and return it as the client saw it."""
    headers = payment_for(url + path, buyer, method=method)
    response = httpx.request(method, url + path, headers=headers, content=content)
    assert response.status_code == 200, response.text
    decoded = {name: value for name, value in response.headers.items() if name != "content-encoding"}
    return paid_request(
        headers["PAYMENT-SIGNATURE"], f"{method} {url}{path}", {}, content or b"", decoded, response.content
    )


def signed_anew(paid, key=SIGNING_KEY, **changes):
    """Return a paid request whose statement has other fields, and a signature that fits them."""
    settlement = copy.deepcopy(paid.settlement)
    statement = settlement["extensions"]["8004-reputation"] | changes
    interaction = InteractionData.of(statement)
    digest = interaction_hash(interaction.task_ref, paid.request, paid.response)
    statement |= {"interactionHash": digest.hex(), "agentSignature": key.sign(digest).hex()}
    settlement["extensions"]["8004-reputation"] = statement | changes
    return replace(paid, settlement=settlement)


def with_settlement(paid, **changes):
    return replace(paid, settlement=paid.settlement | changes)


def with_payment(paid, *path, value):
    return replace(paid, payment=examples.changed(paid.payment, list(path), value))


def assert_only(verification, *failed, outcome=Outcome.FAILED, problem=""):
    """Check that exactly these checks have this outcome, and the others passed."""
    outcomes = {check.name: check.outcome for check in verification.checks if check.outcome is not Outcome.PASSED}
    assert outcomes == dict.fromkeys(failed, outcome), verification.problems
    assert problem in verification.problems[0]
    assert not verification.is_verified
