"""Fixtures of the tests on Solana: one chain for a session; accounts, agents and shops by role."""

from __future__ import annotations

import os
from contextlib import contextmanager

import pytest

pytest.importorskip("solders.litesvm", reason="solders has no wheel for this platform")

from fastapi import FastAPI, Request
from fastapi.responses import Response
from solders.keypair import Keypair
from x402 import x402FacilitatorSync, x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.svm import FacilitatorKeypairSigner
from x402.mechanisms.svm.exact import register_exact_svm_facilitator, register_exact_svm_server

from bilateral.dev.servers import facilitator_app_of, serving
from bilateral.documents import DataUriStore, RegistrationFile
from bilateral.node.running import StepRunner
from bilateral.node.transport import Transport
from bilateral.solana.addresses import MAINNET, SATI
from bilateral.x402 import Ed25519Key, Reputation8004ResourceServerExtension, Verifier
from bilateral.x402.proof.solana import SatiReader, declare_solana_reputation
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.confirmation import confirm_settlement
from simulation.solana.node import Node
from simulation.solana.node import serving as serving_node
from simulation.solana.world import World
from tests.solana.paying import buy
from tests.x402.world import signer_entry

KEY = Ed25519Key(bytes(range(9, 41)))
PRICE = 1000


@pytest.fixture(autouse=True)
def _isolation():
    """Leave the EVM chain alone: nothing here uses it, but for tests that ask for it."""


@pytest.fixture(scope="session", autouse=True)
def _impatient():
    """Ask again soon, where real nodes need half a second."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("bilateral.x402.server.confirmation", "bilateral.solana.sending"):
            patch.setattr(f"{module}._POLL_SECONDS", 0.01)
        yield


@pytest.fixture(scope="session")
def node():
    return Node()


@pytest.fixture(autouse=True)
def honest(node):
    """The node answers honestly before and after each test, whatever a test makes of it."""
    yield
    node.instead.clear()
    node.final_lag, node.first = 0, 0


@pytest.fixture(scope="session")
def world(node):
    return World(node)


@pytest.fixture(scope="session")
def rpc(node):
    """The URL of the node."""
    with serving_node(node) as url:
        yield url


@pytest.fixture
def owner(world):
    """Owns an agent, and can pay fees."""
    made = Keypair()
    world.fund(made.pubkey())
    return made


@pytest.fixture
def stranger():
    return Keypair()


@pytest.fixture
def reader(rpc):
    return SatiReader(rpc, MAINNET)


@pytest.fixture
def run(rpc):
    """Runs an operation on the node."""
    transport = Transport(rpc, 20)
    yield StepRunner(transport).run
    transport.close()


@pytest.fixture
def verifier(reader):
    with Verifier({}, readers=[reader], receipt_seconds=0) as made:
        yield made


def file_of(mint, *signers, **fields):
    """Write a registration file of an agent, and return its URI."""
    registrations = [{"agentId": str(mint), "agentRegistry": f"{MAINNET}:{SATI}"}]
    file = RegistrationFile.new(
        "Weather",
        "It forecasts",
        "https://agent.example/i.png",
        signers=list(signers) or [signer_entry(KEY)],
        **{"registrations": registrations, **fields},
    )
    return DataUriStore().put(file.to_bytes()).uri


@pytest.fixture(scope="session")
def register(world):
    """Registers an agent with a registration file, and returns its mint as text."""

    def make(owner, metadata=None, **options):
        mint = world.register(owner, metadata=metadata, **options)
        world.set_field(owner, mint, "uri", file_of(mint))
        return str(mint)

    return make


@pytest.fixture
def agent(register, owner):
    """An agent whose wallet is its owner."""
    return register(owner)


@pytest.fixture(scope="session")
def asset(world):
    """A token for payments."""
    return world.asset()


@pytest.fixture(scope="session")
def facilitator_key(world):
    made = Keypair()
    world.fund(made.pubkey())
    return made


@pytest.fixture(scope="session")
def facilitator(rpc, facilitator_key):
    """The URL of the SDK's facilitator."""
    made = x402FacilitatorSync()
    register_exact_svm_facilitator(made, FacilitatorKeypairSigner(facilitator_key, rpc), MAINNET)
    with serving(facilitator_app_of(made)) as url:
        yield url


@pytest.fixture(scope="session")
def enrich(world, asset):
    """Makes an account with tokens for payments. It has no lamports: the facilitator pays the fees."""

    def make():
        made = Keypair()
        world.give(asset, made.pubkey(), 10**6)
        return made

    return make


@pytest.fixture
def buyer(enrich):
    """Pays for requests."""
    return enrich()


@pytest.fixture(scope="session")
def sell(facilitator, asset, rpc, world):
    """Opens an application that is paid for on Solana. Its URL repeats the request, and counts its runs."""

    @contextmanager
    def serve(mint, pay_to, *, key=KEY, token=None, extensions=None, confirming=False):
        app, runs = FastAPI(), []

        @app.post("/echo")
        async def echo(request: Request):
            runs.append(await request.body())
            return Response(runs[-1], media_type="application/octet-stream")

        client = HTTPFacilitatorClient(FacilitatorConfig(url=facilitator))
        if confirming:
            client = confirm_settlement(client, rpc, MAINNET, seconds=0.2)
        server = x402ResourceServer(client)
        register_exact_svm_server(server, MAINNET)
        server.register_extension(Reputation8004ResourceServerExtension(key))
        price = {"asset": str(token or asset), "amount": str(PRICE), "extra": {}}
        option = PaymentOption(scheme="exact", network=MAINNET, pay_to=pay_to, price=price, max_timeout_seconds=600)
        declared = extensions or declare_solana_reputation(mint, MAINNET)
        routes = {"* /*": RouteConfig(accepts=option, extensions=declared)}
        app.add_middleware(ReputationMiddleware, routes=routes, server=server)
        with serving(app) as url:
            yield url + "/echo", runs

    return serve


@pytest.fixture(scope="session")
def seller():
    """Owns the agent of the honest server, which no test changes."""
    return Keypair()


@pytest.fixture(scope="session")
def selling_agent(register, seller, world, asset):
    world.give(asset, seller.pubkey())
    return register(seller)


@pytest.fixture(scope="session")
def shop(sell, selling_agent, seller):
    """The honest server: its URL, and the bodies that its application served."""
    with sell(selling_agent, str(seller.pubkey())) as opened:
        yield opened


@pytest.fixture(scope="session")
def bought(shop, enrich, rpc):
    """A paid answer of the honest server."""
    return buy(shop[0], enrich(), rpc)


@pytest.fixture
def own(sell, agent, owner, enrich, world, asset, rpc):
    """A paid answer of an agent that a test changes after the payment."""
    world.give(asset, owner.pubkey())
    with sell(agent, str(owner.pubkey())) as (url, _):
        return buy(url, enrich(), rpc)


def fuzz_count(usual):
    """Return the number of examples: the whole of them if asked for."""
    return int(os.environ.get("BILATERAL_FUZZ", usual))
