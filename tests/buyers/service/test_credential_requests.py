"""A buyer asks for a credential by the SDK and by the command, and the registry verifies it."""

# ruff: noqa: F811  # fixtures of another module

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from eth_account import Account

from bilateral.buyers.credentials import gate_scope
from bilateral.buyers.errors import BuyerServiceFailedError, BuyerServiceRefusedError
from bilateral.buyers.remote import request_credential
from bilateral.core.contracts.buyer_terms import BuyerTier, policy_hash
from bilateral.core.errors import InvalidArgumentError
from tests.buyers.service.registry import BUYER, CHAIN, SELLER
from tests.buyers.service.test_registry import database, engine, market, node, service, settings  # noqa: F401
from tests.sdk.servers import HttpServer, respond

pytestmark = pytest.mark.one_engine

COMMAND = str(Path(sys.executable).with_name("bilateral"))
SCOPE = b"\x5c" * 32


def url_of(service):
    return str(service.base_url).rstrip("/")


def mine_after(market, credential):
    """Mine a block in which a credential is valid."""
    latest = market.web3.eth.get_block("latest")["timestamp"]
    market.web3.provider.make_request("evm_mine", [max(credential.issued_at, latest) + 1])


def test_credential_is_asked_for_and_valid_on_chain(service, market):
    fresh = Account.create().address
    signed = request_credential(url_of(service), fresh, BUYER, chain_id=CHAIN, scope=SCOPE)
    made = signed.credential
    assert (made.holder, made.tier, made.scope) == (fresh, BuyerTier.VERIFIED, SCOPE)
    assert made.policy == policy_hash("brp-1.0")
    mine_after(market, made)
    assert market.connect().verify_credential(made, signed.signature)


def test_command_writes_a_credential_that_the_registry_verifies(service, market, tmp_path):
    fresh, gate = Account.create().address, market.deployment.identity
    options = ["--gate", gate, "--chain-id", str(CHAIN), "--service", url_of(service)]
    command = [COMMAND, "buyer", "request-credential", fresh, *options]
    environment = {**os.environ, "BILATERAL_PRIVATE_KEY": "0x" + bytes(BUYER.key).hex()}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)  # noqa: S603
    assert (ran.returncode, ran.stderr) == (0, "")
    written = json.loads(ran.stdout)
    assert written["credential"]["holder"] == fresh
    assert written["credential"]["scope"] == "0x" + gate_scope(CHAIN, gate).hex()


def test_stranger_without_payments_gets_the_lowest_tier_and_a_service_that_does_not_issue_refuses(service):
    signed = request_credential(url_of(service), SELLER.address, Account.create(), chain_id=CHAIN, scope=SCOPE)
    assert signed.credential.tier is BuyerTier.NEW
    with pytest.raises(BuyerServiceRefusedError) as refused:
        request_credential(
            url_of(service), SELLER.address, BUYER, chain_id=CHAIN, scope=SCOPE, policy="independent-1.0"
        )
    assert refused.value.code == "policy_not_issued"


def test_credential_for_another_holder_is_refused(service):
    made = request_credential(url_of(service), SELLER.address, BUYER, chain_id=CHAIN, scope=SCOPE).credential
    message = {"holder": SELLER.address, "issuedAt": made.issued_at, "validUntil": made.valid_until, "tier": 3}
    message |= {name: "0x" + getattr(made, name).hex() for name in ("policy", "scope", "pseudonym")}
    with HttpServer() as liar:
        for answer in ({"message": message, "signature": "0x00"}, {"message": {}}, {}):
            liar.routes[f"/api/buyer/{BUYER.address}/credential"] = lambda handler, answer=answer: respond(
                handler, json.dumps(answer).encode()
            )
            with pytest.raises(BuyerServiceFailedError, match="credential"):
                request_credential(liar.url, BUYER.address, BUYER, chain_id=CHAIN, scope=SCOPE)


def test_scope_of_another_length_is_refused_before_the_request():
    with pytest.raises(InvalidArgumentError, match="32 bytes, not 31"):
        request_credential("http://127.0.0.1:1", SELLER.address, BUYER, chain_id=CHAIN, scope=SCOPE[1:])
