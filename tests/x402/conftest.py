"""Fixtures of the tests of paid requests: one chain and one facilitator for a session; accounts and agents by role."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from eth_account import Account
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.middleware.gzip import GZipMiddleware
from web3 import HTTPProvider, Web3
from x402 import x402ResourceServer

from bilateral.client import Client
from bilateral.core.contracts import Deployment, Registry
from bilateral.dev.servers import facilitator_app, serving
from bilateral.documents import DataUriStore, Limits, Loader, Network, RegistrationFile
from bilateral.x402 import Reputation8004ResourceServerExtension, Verifier, declare_8004_reputation
from bilateral.x402.server.asgi import ReputationMiddleware
from scripts._anvil import running_anvil
from tests.permit2 import PaymentChain
from tests.sdk.client.helpers import deploy, plain, transact
from tests.x402.buying import buy
from tests.x402.metered import metered_shop, serving_facilitator
from tests.x402.world import NETWORK, SIGNING_KEY, resource_server, route, signer_entry

MNEMONIC = "test test test test test test test test test test test junk"

Account.enable_unaudited_hdwallet_features()


def account(number):
    return Account.from_mnemonic(MNEMONIC, account_path=f"m/44'/60'/0'/0/{number}")


@pytest.fixture(scope="session")
def rpc():
    with running_anvil("--gas-limit", str(10**9)) as url:
        yield url


@pytest.fixture(scope="session")
def web3(rpc):
    return Web3(HTTPProvider(rpc, cache_allowed_requests=True))  # or each transaction asks for the chain's id thrice


@pytest.fixture(scope="session")
def deployment(web3, project):
    identity = deploy(web3, project.IdentityRegistry)
    return Deployment(
        chain_id=web3.eth.chain_id,
        identity=identity,
        reputation=deploy(web3, project.BidirectionalReputationRegistry, identity),
    )


@pytest.fixture(scope="session")
def token(web3, project):
    """A token with transfers by signature."""
    address = deploy(web3, project.MockPaymentToken)
    return web3.eth.contract(
        address=address, abi=[entry.model_dump(by_alias=True) for entry in project.MockPaymentToken.contract_type.abi]
    )


@pytest.fixture(scope="session")
def facilitator(rpc):
    """The URL of the SDK's facilitator."""
    with serving(facilitator_app(rpc, account(9).key.hex(), NETWORK)) as url:
        yield url


@pytest.fixture(scope="session")
def payment_chain(rpc, project):
    """The same chain with Permit2, its proxies and channels, and a token that Permit2 needs an allowance of."""
    return PaymentChain(rpc, project)


@pytest.fixture(scope="session")
def every_facilitator_url(payment_chain):
    """The URL of a facilitator of the SDK that settles `exact` by both methods, and `upto`."""
    with serving_facilitator(payment_chain) as url:
        yield url


@pytest.fixture(scope="session")
def metered_url(payment_chain, every_facilitator_url, agent, seller, deployment):
    """The URL of a `metered_shop` of the honest seller, which signs its answers."""
    terms = declare_8004_reputation(agent, deployment)
    with metered_shop(every_facilitator_url, payment_chain.token, seller.address, terms) as url:
        yield url


@pytest.fixture(scope="session")
def seller():
    """Owns the server's agent and is its wallet."""
    return account(1)


@pytest.fixture(scope="session")
def stranger():
    return account(2)


@pytest.fixture(scope="session")
def enrich(web3, token):
    """Makes an account with tokens for payments and ether for feedback, without a transaction, which takes 20 ms."""

    def make():
        fresh = Account.create()
        web3.provider.make_request("anvil_setBalance", [fresh.address, hex(10**20)])
        web3.provider.make_request("anvil_dealERC20", [fresh.address, token.address, hex(10**9)])
        assert token.functions.balanceOf(fresh.address).call() == 10**9
        return fresh

    return make


@pytest.fixture
def buyer(enrich):
    """Pays for requests."""
    return enrich()


@pytest.fixture(scope="session")
def register(web3, deployment):
    """Registers an agent by plain web3.py, and returns its id."""
    identity = plain(web3, Registry.IDENTITY, deployment.identity)

    def make(by, uri=""):
        receipt = transact(web3, identity.get_function_by_signature("register(string)")(uri), by)
        return int(receipt["logs"][0]["topics"][3].hex(), 16)

    return make


@pytest.fixture(scope="session")
def selling_client(rpc, deployment, seller):
    """The SDK client of the seller."""
    with Client(rpc, signer=seller, deployment=deployment, poll_interval=0.02) as client:
        yield client


@pytest.fixture(scope="session")
def publish(selling_client, deployment):
    """Publishes a registration file of the seller's agent with signers, and returns its URI."""

    def make(agent_id, *signers, **fields):
        file = RegistrationFile.new(
            "Weather",
            "It forecasts",
            "https://agent.example/i.png",
            signers=list(signers) or [signer_entry()],
            registrations=[{"agentId": agent_id, "agentRegistry": str(deployment.agent_registry)}],
            **fields,
        )
        uri = DataUriStore().put(file.to_bytes()).uri
        selling_client.set_agent_uri(agent_id, uri).wait()
        return uri

    return make


@pytest.fixture(scope="session")
def sell(facilitator, token, seller):
    """Opens an application that is paid for; its `/weather` answers, and `/echo` repeats the request."""

    @contextmanager
    def serve(
        extensions,
        key=SIGNING_KEY,
        pay_to=seller.address,
        register=lambda _: None,
        kind=Reputation8004ResourceServerExtension,
        **extra,
    ):
        app = FastAPI()

        @app.get("/weather")
        def weather(city: str = "Oslo"):
            return {"city": city, "weather": "snø"}

        @app.post("/echo")
        async def echo(request: Request):
            return Response(await request.body(), media_type="application/octet-stream")

        register(app)
        server = resource_server(x402ResourceServer, facilitator, kind(key))
        routes = {"* /*": route(token.address, pay_to, extensions, **extra)}
        app.add_middleware(GZipMiddleware, minimum_size=1000)
        app.add_middleware(ReputationMiddleware, routes=routes, server=server)
        with serving(app) as url:
            yield url

    return serve


@pytest.fixture(scope="session")
def shop(sell, agent, deployment):
    """The URL of the honest server."""
    with sell(declare_8004_reputation(agent, deployment)) as url:
        yield url


@pytest.fixture(scope="session")
def loader():
    """A loader that may connect to this machine."""
    return Loader(limits=Limits(bytes=64 * 1024, seconds=60), gateways=(), network=Network(allow_private=True))


@pytest.fixture(scope="session")
def verifier(rpc, deployment, loader):
    with Verifier({rpc: deployment}, loader=loader, receipt_seconds=0) as made:
        yield made


@pytest.fixture(scope="session")
def agent(register, seller, publish):
    """The server's agent, with a registration file that lists its signing key."""
    agent_id = register(seller)
    publish(agent_id)
    return agent_id


@pytest.fixture(scope="module")
def bought(shop, enrich):
    """A paid answer of the honest server. The chain keeps the states of 256 blocks, so no answer serves all files."""
    return buy(shop, enrich())


@pytest.fixture(scope="module")
def bought_before(shop, enrich):
    """An earlier paid answer to another client."""
    return buy(shop, enrich(), content=b"rain in Bergen")


@pytest.fixture
def own(sell, register, seller, publish, deployment, enrich):
    """Sells as an agent of its own, whose file a test changes after the payment."""
    agent_id = register(seller)
    publish(agent_id)
    with sell(declare_8004_reputation(agent_id, deployment)) as url:
        yield agent_id, buy(url, enrich())


@pytest.fixture
def client(rpc, deployment, buyer, loader):
    """The SDK's client of the buyer."""
    with Client(rpc, signer=buyer, deployment=deployment, loader=loader, poll_interval=0.02) as made:
        yield made
