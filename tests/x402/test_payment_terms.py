"""Terms of payment that nobody could settle, or no transaction would prove, are found before a payment."""

from __future__ import annotations

import copy

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from flask import Flask
from x402 import x402ResourceServer, x402ResourceServerSync
from x402.http.types import RouteConfig
from x402.mechanisms.evm.upto import UptoEvmServerScheme

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.payments.contracts import EXACT_PROXY, PERMIT2, UPTO_PROXY
from bilateral.x402 import (
    Preflight,
    PreflightError,
    Reputation8004ResourceServerExtension,
    check_url,
    declare_8004_reputation,
)
from bilateral.x402.clients.preflight import ask_price, findings_of
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.wsgi import protect_flask
from tests.permit2 import place_contracts
from tests.x402.permit2_shops import FRAMEWORKS, options
from tests.x402.world import SIGNING_KEY, resource_server

WHY = "payments of this kind cannot be proven by a single transaction"


@pytest.fixture(scope="module")
def prices(metered_url):
    """The prices of a shop, by path."""
    return {path: ask_price(metered_url + path) for path in ("/exact", "/metered")}


@pytest.fixture
def problems(verifier, metered_url, prices):
    """Finds the problems of a price, from outside: of which check, and their codes."""

    def find(path, change=dict):
        price = copy.deepcopy(prices[path])
        change(price["accepts"][0])
        findings = findings_of(verifier, metered_url + path, price)
        assert [finding.check for finding in findings[:2]] == ["wallet", "keys"]
        return {(finding.check, finding.code): finding.problem for finding in findings if finding.code}

    return find


def terms(**fields):
    return lambda terms: terms.update(fields)


def extra(**fields):
    return lambda terms: terms["extra"].update(fields)


def without(name):
    return lambda terms: terms["extra"].pop(name)


WRONG = {
    "no facilitator": ("/metered", without("facilitatorAddress"), "facilitator_missing", "nobody could settle"),
    "zero as facilitator": ("/metered", extra(facilitatorAddress="0x" + "00" * 20), "facilitator_missing", "zero"),
    "no address as facilitator": ("/metered", extra(facilitatorAddress=7), "facilitator_missing", "extra.facilitator"),
    "no time": ("/exact", terms(maxTimeoutSeconds=0), "timeout_invalid", "maxTimeoutSeconds: 0 leaves no time"),
    "less than no time": ("/metered", terms(maxTimeoutSeconds=-5), "timeout_invalid", "-5"),
    "a time as text": ("/exact", terms(maxTimeoutSeconds="60"), "timeout_invalid", "60"),
    "two settlements": ("/exact", extra(paymentFlow="escrow"), "payment_flow_not_supported", '"escrow" settles more'),
    "a list as flow": ("/exact", extra(paymentFlow=[]), "payment_flow_not_supported", "use authorization or upfront"),
    "channels": ("/exact", terms(scheme="batch-settlement"), "batch-settlement_not_supported", WHY),
    "an escrow": ("/exact", terms(scheme="auth-capture"), "auth-capture_not_supported", WHY),
    "delegation": ("/exact", extra(assetTransferMethod="erc7710"), "erc7710_not_supported", WHY),
    "an unknown scheme": ("/exact", terms(scheme="gift"), "gift_not_supported", WHY),
}


@pytest.mark.parametrize("case", WRONG)
def test_terms_that_cannot_be_settled_or_proven_are_found_from_outside(problems, case):
    path, change, code, text = WRONG[case]
    found = problems(path, change)
    assert list(found) == [("payment", code)]
    assert text in found["payment", code]


@pytest.mark.parametrize("flow", ["authorization", "upfront"])
def test_flow_that_settles_once_is_no_problem(problems, flow):
    assert problems("/exact", extra(paymentFlow=flow)) == {}


@pytest.mark.parametrize("path", ["/eip3009", "/exact", "/metered"])
def test_price_by_any_kind_that_is_proven_is_no_problem(verifier, metered_url, path):
    findings = check_url(verifier, metered_url + path)
    assert [(finding.check, finding.code) for finding in findings] == [("wallet", ""), ("keys", "")]


@pytest.fixture
def remove(payment_chain, project):
    """Takes contracts off the chain for one test."""
    yield lambda *contracts: [payment_chain.rpc("anvil_setCode", contract, "0x") for contract in contracts]
    place_contracts(payment_chain.rpc, project)


MISSING = {
    "Permit2": ("/exact", [PERMIT2], ["permit2_not_found"]),
    "the proxy for the exact scheme": ("/exact", [EXACT_PROXY], ["proxy_not_found"]),
    "the proxy of upto": ("/metered", [UPTO_PROXY], ["proxy_not_found"]),
    "both": ("/metered", [PERMIT2, UPTO_PROXY], ["permit2_not_found", "proxy_not_found"]),
    "the proxy of another scheme": ("/metered", [EXACT_PROXY], []),
}


@pytest.mark.parametrize("case", MISSING)
def test_contracts_that_a_chain_lacks_are_found_from_outside(problems, remove, case):
    path, contracts, codes = MISSING[case]
    remove(*contracts)
    found = problems(path)
    assert list(found) == [("payment", code) for code in codes]
    assert all(contract in text for contract, text in zip(contracts, found.values(), strict=False))


@pytest.fixture
def start(every_facilitator_url, agent, deployment):
    """Starts a server for one option behind FastAPI or Flask."""

    def make(framework, option, preflight):
        routes = {"GET /weather": RouteConfig(accepts=option, extensions=declare_8004_reputation(agent, deployment))}
        kind = x402ResourceServerSync if framework == "Flask" else x402ResourceServer
        server = resource_server(kind, every_facilitator_url, Reputation8004ResourceServerExtension(SIGNING_KEY))
        server.register(option.network, UptoEvmServerScheme()).initialize()
        if framework == "Flask":
            protect_flask(Flask("shop"), routes, server, preflight=preflight)
            return
        app = ReputationMiddleware(FastAPI(), routes=routes, server=server, preflight=preflight)
        with TestClient(app):
            pass

    return make


@pytest.fixture(scope="module")
def priced(payment_chain, seller):
    return options(payment_chain.token, seller.address)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("path", ["GET /eip3009", "GET /exact", "GET /metered"])
def test_server_of_any_kind_that_is_proven_starts(start, priced, verifier, framework, path):
    start(framework, priced[path], Preflight(verifier))


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("scheme", ["batch-settlement", "auth-capture"])
def test_server_whose_payments_have_no_transaction_of_their_own_does_not_start(
    start, priced, verifier, framework, scheme
):
    option = copy.deepcopy(priced["GET /exact"])
    option.scheme = scheme
    with pytest.raises(InvalidArgumentError, match=rf"GET /weather accepts .* \({scheme}_not_supported\): {WHY}"):
        start(framework, option, Preflight(verifier))
    findings = Preflight(verifier, "warn").run({"GET /": RouteConfig(option, extensions={"8004-reputation": {}})}, {})
    assert ("payment", f"{scheme}_not_supported") in {(finding.check, finding.code) for finding in findings}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_server_on_a_chain_without_the_proxy_does_not_start(start, priced, verifier, remove, framework):
    remove(UPTO_PROXY)
    with pytest.raises(PreflightError, match=f"payment: eip155:31337 has no contract at {UPTO_PROXY}, which settles"):
        start(framework, priced["GET /metered"], Preflight(verifier))


def test_token_that_is_listed_with_a_fee_on_transfers_is_found(start, priced, payment_chain, verifier):
    with pytest.raises(PreflightError, match=f"token: asset: {payment_chain.token} deducts a fee from each transfer"):
        start("Flask", priced["GET /exact"], Preflight(verifier, fee_tokens=[payment_chain.token.lower()]))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda option: setattr(option, "max_timeout_seconds", -1), "timeout_invalid"),
        (lambda option: option.price["extra"].update(paymentFlow="escrow"), "payment_flow_not_supported"),
        (lambda option: option.price.update(amount="1.5"), "terms_invalid"),
    ],
    ids=["less than no time", "two settlements", "a fraction of a token without decimals"],
)
def test_option_that_the_sdk_cannot_offer_is_found_at_start(
    every_facilitator_url, agent, deployment, priced, verifier, change, code
):
    option = copy.deepcopy(priced["GET /exact"])
    change(option)
    server = resource_server(
        x402ResourceServerSync, every_facilitator_url, Reputation8004ResourceServerExtension(SIGNING_KEY)
    )
    server.initialize()
    routes = {"GET /": RouteConfig(option, extensions=declare_8004_reputation(agent, deployment))}
    findings = Preflight(verifier, "warn").run(routes, {}, server)
    assert [(finding.check, finding.code) for finding in findings if finding.code] == [("payment", code)]


class NamelessFacilitator(UptoEvmServerScheme):
    """The SDK's scheme, after a facilitator that names no address."""

    def enhance_payment_requirements(self, requirements, supported_kind, extension_keys):
        return super().enhance_payment_requirements(
            requirements, supported_kind.model_copy(update={"extra": {}}), extension_keys
        )


def test_facilitator_without_an_address_is_found_at_start(every_facilitator_url, agent, deployment, priced, verifier):
    server = resource_server(
        x402ResourceServerSync, every_facilitator_url, Reputation8004ResourceServerExtension(SIGNING_KEY)
    )
    option = priced["GET /metered"]
    server.register(option.network, NamelessFacilitator()).initialize()
    routes = {"GET /": RouteConfig(option, extensions=declare_8004_reputation(agent, deployment))}
    with pytest.raises(PreflightError, match=r"extra\.facilitatorAddress: missing or zero"):
        Preflight(verifier).run(routes, {}, server)
