"""Credentials of tiers: asked for by the buyer, for one place and day, and counted as one customer."""

# ruff: noqa: F811  # fixtures of another module

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx
import pytest
from eth_account import Account

from bilateral.buyers.messages import CredentialRequest, domain_of
from bilateral.core.contracts.buyer_terms import BuyerTier, TierCredential, policy_hash
from tests.api.world import served
from tests.buyers.service.registry import BUYER, CHAIN, SELLER, SERVICE
from tests.buyers.service.test_registry import (  # noqa: F401  # fixtures
    POLICIES,
    as_bytes,
    database,
    engine,
    market,
    node,
    service,
    settings,
)

pytestmark = pytest.mark.one_engine

SCOPE = "0x" + "5c" * 32


def wish(market, holder, *, signer=BUYER, seconds=300, scope=SCOPE, policy="brp-1.0", **changes):
    """Return the signed wish of a buyer for a credential."""
    expires_at = int(time.time()) + seconds
    body = {"holder": holder, "chainId": CHAIN, "policy": policy, "scope": scope, "expiresAt": expires_at}
    message = CredentialRequest(BUYER.address, holder, policy, as_bytes(scope), CHAIN, expires_at)
    signature = signer.sign_message(message.signable(domain_of(CHAIN))).signature
    return {**body, "signature": "0x" + bytes(signature).hex(), **changes}


def test_credential_for_a_fresh_address_is_valid_on_chain(service, market):
    fresh = Account.create().address
    answer = service.post(f"/api/buyer/{BUYER.address}/credential", json=wish(market, fresh)).json()
    message = answer["message"]
    assert message["scope"] == SCOPE
    assert (message["holder"], message["tier"]) == (fresh, BuyerTier.VERIFIED.level)
    assert answer["domain"]["verifyingContract"] == market.deployment.buyers
    assert BUYER.address[2:].lower() not in str(answer).lower()
    words = {name: as_bytes(message[name]) for name in ("policy", "scope", "pseudonym")}
    credential = TierCredential(fresh, message["issuedAt"], message["validUntil"], tier=BuyerTier.VERIFIED, **words)
    client = market.connect()
    client.verify_credential(credential, as_bytes(answer["signature"]))  # the chain's clock decides
    market.web3.provider.make_request("evm_mine", [max(message["issuedAt"], latest(market)) + 1])
    assert client.verify_credential(credential, as_bytes(answer["signature"]))


def latest(market):
    return market.web3.eth.get_block("latest")["timestamp"]


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"signer": SELLER}, 401, "invalid_signature"),
        ({"seconds": -60}, 422, "expired_request"),
        ({"seconds": 900}, 422, "expired_request"),
        ({"policy": "independent-1.0"}, 403, "policy_not_issued"),
        ({"scope": "0x" + "07" * 32}, 401, "invalid_signature"),
        ({"scope": "0x07"}, 422, "invalid_body"),
        ({"scope": None}, 422, "invalid_body"),
        ({"policy": "unknown"}, 400, "invalid_argument"),
        ({"holder": SELLER.address}, 401, "invalid_signature"),
        ({"holder": "0x12"}, 422, "invalid_body"),
    ],
    ids=[
        *("another signer", "late", "far ahead", "a policy that is not issued", "another scope"),
        *("a short scope", "no scope", "an unknown policy", "another holder", "no address"),
    ],
)
def test_wish_for_a_credential_is_refused(service, market, changes, status, code):
    options = {name: changes[name] for name in ("signer", "seconds") if name in changes}
    others = {name: value for name, value in changes.items() if name not in options}
    body = {**wish(market, Account.create().address, **options), **others}
    response = service.post(f"/api/buyer/{BUYER.address}/credential", json=body)
    assert (response.status_code, response.json()["code"]) == (status, code)


def ask_for(service, market, holder, scope):
    """Ask for a credential, as the buyer."""
    return service.post(f"/api/buyer/{BUYER.address}/credential", json=wish(market, holder, scope=scope))


def random_scope():
    return "0x" + os.urandom(32).hex()


def test_thirty_holders_of_one_buyer_are_one_customer_and_eight_are_served(service, market):
    scope, holders = random_scope(), [Account.create().address for _ in range(30)]
    answers = [ask_for(service, market, holder, scope) for holder in holders]
    assert [answer.status_code for answer in answers] == [200] * 8 + [429] * 22
    assert len({answer.json()["message"]["pseudonym"] for answer in answers[:8]}) == 1
    refusal = answers[8]
    assert refusal.json()["code"] == "too_many_holders"
    assert 0 < int(refusal.headers["Retry-After"]) <= 86_400
    assert ask_for(service, market, holders[3], scope).status_code == 200  # a known holder asks again
    assert ask_for(service, market, holders[8], random_scope()).status_code == 200


def test_holders_that_ask_at_once_are_counted_one_by_one(service, market):
    scope, holders = random_scope(), [Account.create().address for _ in range(16)]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda holder: ask_for(service, market, holder, scope), holders))
    assert sorted(answer.status_code for answer in answers) == [200] * 8 + [429] * 8
    assert len({answer.json()["message"]["pseudonym"] for answer in answers if answer.status_code == 200}) == 1


def test_pseudonym_is_of_one_scope(service, market):
    holder = Account.create().address
    answers = [ask_for(service, market, holder, random_scope()).json()["message"] for _ in range(3)]
    assert len({message["pseudonym"] for message in answers}) == 3


def test_buyer_chooses_among_the_policies_of_the_service(settings, market):
    buyers = replace(settings.buyers, credential_policies=POLICIES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BUYERS_KEY", "0x" + bytes(SERVICE.key).hex())
        with served(replace(settings, buyers=buyers)) as url:
            path, holder = f"{url}/api/buyer/{BUYER.address}/credential", Account.create().address
            for policy in POLICIES:
                message = httpx.post(path, json=wish(market, holder, policy=policy)).json()["message"]
                assert as_bytes(message["policy"]) == policy_hash(policy)
            forged = wish(market, holder) | {"policy": "independent-1.0"}
            assert httpx.post(path, json=forged).json()["code"] == "invalid_signature"


def test_service_that_is_not_the_attestor_issues_nothing(settings, market):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BUYERS_KEY", os.urandom(32).hex())
        with served(settings) as url:
            body = wish(market, Account.create().address)
            response = httpx.post(f"{url}/api/buyer/{BUYER.address}/credential", json=body)
    assert (response.status_code, response.json()["code"]) == (404, "not_attestor")
