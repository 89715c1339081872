"""A client signs no payment for a server that cannot be checked, or that fails a check."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from x402 import x402Client, x402ClientSync
from x402.http.clients.httpx import PaymentError as HttpxPaymentError
from x402.http.clients.httpx import x402AsyncTransport
from x402.http.clients.requests import PaymentError as RequestsPaymentError
from x402.http.clients.requests import x402_requests

from bilateral.core.contracts import Deployment
from bilateral.core.errors import InvalidArgumentError
from bilateral.x402 import AsyncVerifier, PaymentRefusedError, Verifier, declare_8004_reputation, protect_client
from bilateral.x402.clients.httpx import verifying_sync_transport
from bilateral.x402.clients.transports import price_problem
from bilateral.x402.offers import MAX_HEADER
from tests.sdk.client.helpers import deploy, plain, transact
from tests.sdk.servers import HttpServer
from tests.x402 import examples
from tests.x402.clients import CLIENTS
from tests.x402.examples import changed
from tests.x402.world import MALFORMED_HEADERS, NETWORK, encoded, paying_client

INFO = ("8004-reputation", "info")
FIRST = (*INFO, "registrations", 0)


@pytest.fixture(scope="module")
def declared(agent, deployment):
    return declare_8004_reputation(agent, deployment)


@pytest.fixture(scope="module")
def check(verifier, seller):
    """Checks a declaration, as a client does before it signs."""

    def run(extensions, network=NETWORK, pay_to=seller.address):
        return verifier.check_before_payment(extensions["8004-reputation"], network, pay_to)

    return run


def assert_refused(code, message, function, *arguments):
    with pytest.raises(PaymentRefusedError) as refused:
        function(*arguments)
    assert (refused.value.code, message in str(refused.value)) == (code, True), str(refused.value)


@pytest.mark.parametrize(
    "case", [str, str.lower, lambda value: "0x" + value[2:].upper()], ids=["checksum", "lower", "upper"]
)
def test_agent_whose_wallet_is_paid_passes(check, declared, agent, deployment, seller, case):
    registration = check(declared, NETWORK, case(seller.address))
    assert (registration.agent.agent, registration.agent.registry) == (str(agent), deployment.agent_registry)


def test_agent_that_is_not_on_the_payment_network_is_refused(check, declared):
    elsewhere = changed(declared, [*INFO, "registrations"], examples.MULTI_CHAIN_INFO["registrations"])
    assert_refused("agent_not_registered", "Agent not registered on chosen payment network", check, elsewhere)


def test_other_payee_than_the_agents_wallet_is_refused(check, declared, stranger):
    message = "Payment address mismatch - potential fraud. ABORTING."
    assert_refused("payment_address_mismatch", message, check, declared, NETWORK, stranger.address)


@pytest.mark.parametrize("pay_to", ["", "0x", "0x" + "00" * 20, examples.MINT])
def test_invalid_payee_is_refused(check, declared, pay_to):
    assert_refused("payment_address_mismatch", "mismatch", check, declared, NETWORK, pay_to)


def test_unknown_agent_is_refused_even_if_nobody_is_paid(check, declared):
    unknown = changed(declared, [*FIRST, "agentId"], "999999")
    assert_refused("payment_address_mismatch", "mismatch", check, unknown, NETWORK, "0x" + "00" * 20)


@pytest.fixture(scope="module")
def fake(web3, project, stranger):
    """Registries of a thief, in which an agent has the thief's wallet."""
    identity = deploy(web3, project.IdentityRegistry)
    reputation = deploy(web3, project.BidirectionalReputationRegistry, identity)
    contract = plain(web3, "IdentityRegistry", identity)
    transact(web3, contract.get_function_by_signature("register(string)")(""), stranger)
    return Deployment(chain_id=web3.eth.chain_id, identity=identity, reputation=reputation)


def test_fake_registry_with_a_fitting_wallet_is_refused(check, fake, stranger):
    declared = declare_8004_reputation(1, fake)
    assert_refused("unknown_registry", "not on the allow-list", check, declared, NETWORK, stranger.address)


def test_fake_reputation_registry_is_refused(check, declared, fake, seller):
    mixed = changed(declared, [*FIRST, "reputationRegistry"], f"{NETWORK}:{fake.reputation}")
    assert_refused("unknown_registry", "not on the allow-list", check, mixed, NETWORK, seller.address)


def test_known_registration_is_found_behind_a_strange_one(check, declared, fake, agent):
    strange = declare_8004_reputation(1, fake)["8004-reputation"]["info"]["registrations"]
    known = declared["8004-reputation"]["info"]["registrations"]
    both = changed(declared, [*INFO, "registrations"], strange + known)
    assert check(both).agent.agent == str(agent)


def test_reputation_registry_of_another_identity_registry_is_refused(rpc, deployment, fake, seller, agent):
    mixed = Deployment(deployment.chain_id, deployment.identity, fake.reputation)
    with Verifier({rpc: mixed}) as verifier:
        declared = declare_8004_reputation(agent, mixed)["8004-reputation"]
        arguments = (declared, NETWORK, seller.address)
        assert_refused("registry_mismatch", "a different identity registry", verifier.check_before_payment, *arguments)


@pytest.mark.parametrize("value", [None, {}, [], "8004", {"info": {"version": "9.0.0"}}])
def test_malformed_declaration_is_refused(verifier, value, seller):
    assert_refused("invalid_declaration", "", verifier.check_before_payment, value, NETWORK, seller.address)


@pytest.mark.parametrize("network", ["eip155:1", examples.SOLANA, "", "x" * 500])
def test_network_that_cannot_be_checked_is_refused(check, declared, network):
    assert_refused("unsupported_network", "cannot be checked", check, declared, network)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "wrong chain"])
def test_node_that_fails_lets_nothing_pass(rpc, deployment, declared, url, seller):
    trusted = deployment
    if url == "wrong chain":
        url, trusted = rpc, Deployment(1, deployment.identity, deployment.reputation)
        declared = changed(
            declared,
            [*INFO, "registrations"],
            [
                {
                    "agentRegistry": f"eip155:1:{deployment.identity}",
                    "agentId": "1",
                    "reputationRegistry": f"eip155:1:{deployment.reputation}",
                }
            ],
        )
    network = f"eip155:{trusted.chain_id}"
    with Verifier({url: trusted}, request_timeout=2) as verifier:
        arguments = (declared["8004-reputation"], network, seller.address)
        assert_refused("cannot_check", "cannot be checked", verifier.check_before_payment, *arguments)


def test_two_deployments_on_one_chain_are_refused(rpc, deployment, fake):
    with pytest.raises(InvalidArgumentError, match=r"two deployments are on eip155:31337"):
        Verifier({rpc: deployment, rpc + "/": fake})
    with pytest.raises(InvalidArgumentError, match="no reputation registry"):
        Verifier({rpc: Deployment(1, deployment.identity)})


class Payer:
    """An account that counts the messages that it signs."""

    def __init__(self, account):
        self._account, self.signed = account, 0
        self.address = account.address

    def sign_typed_data(self, **options):
        self.signed += 1
        return self._account.sign_typed_data(**options)


THEFTS = {
    "undeclared": (lambda _: None, "not_declared"),
    "other payee": (lambda declared: declared, "payment_address_mismatch"),
}


@pytest.mark.parametrize("theft", THEFTS)
@pytest.mark.parametrize("face", ["httpx", "httpx without an event loop", "requests"])
def test_nothing_is_signed_for_a_compromised_server(sell, declared, rpc, deployment, buyer, stranger, theft, face):
    change, reason = THEFTS[theft]
    payer = Payer(buyer)
    with sell(change(declared), pay_to=stranger.address) as url:
        if face != "httpx":
            with Verifier({rpc: deployment}) as verifier:
                client = protect_client(paying_client(payer, x402ClientSync), verifier)
                paying = httpx.Client(transport=verifying_sync_transport(client, verifier))
                with pytest.raises(Exception, match=reason), paying as http:
                    (x402_requests(client) if face == "requests" else http).get(url + "/weather")
        else:

            async def get():
                async with AsyncVerifier({rpc: deployment}) as verifier:
                    client = protect_client(paying_client(payer, x402Client), verifier)
                    async with httpx.AsyncClient(transport=x402AsyncTransport(client)) as http:
                        await http.get(url + "/weather")

            with pytest.raises(Exception, match=reason):
                asyncio.run(get())
    assert payer.signed == 0


def test_undeclared_server_may_be_paid_if_the_user_says_so(sell, rpc, deployment, buyer):
    with sell(None) as url, Verifier({rpc: deployment}) as verifier:
        client = protect_client(paying_client(buyer), verifier, required=False)
        assert x402_requests(client).get(url + "/weather").status_code == 200


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("header", MALFORMED_HEADERS)
def test_price_that_cannot_be_read_strictly_is_not_paid(buyer, client, header):
    """The SDK takes the last of two equal names, and other readers the first."""

    def ask(handler):
        handler.send_response(402)
        for value in MALFORMED_HEADERS[header]:
            handler.send_header("PAYMENT-REQUIRED", value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with HttpServer() as server, CLIENTS[client](buyer, {}) as paying:
        server.routes["/weather"] = ask
        with pytest.raises((HttpxPaymentError, RequestsPaymentError), match=r"^invalid_declaration: "):
            paying.post(server.url + "/weather", b"")
        assert len(server.requests) == 1


@pytest.mark.parametrize(("spaces", "is_read"), [(MAX_HEADER * 3 // 4 - 2, True), (MAX_HEADER * 3 // 4, False)])
def test_price_is_read_up_to_a_limit(spaces, is_read):
    headers = {"payment-required": encoded(b"{}" + b" " * spaces)}
    assert (price_problem(402, headers) is None) is is_read
    assert price_problem(200, headers) is price_problem(402, {}) is None
