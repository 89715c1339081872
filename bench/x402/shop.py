"""A chain with an agent, a token and funded buyers, the SDK's facilitator, and a server that signs its answers."""

import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import ape
import httpx
from eth_account import Account
from fastapi import FastAPI, Request
from fastapi.responses import Response
from web3 import HTTPProvider, Web3
from x402 import http as payments
from x402 import schemas, x402ClientSync, x402ResourceServer
from x402.http.middleware.fastapi import payment_middleware
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import register_exact_evm_client, register_exact_evm_server
from x402.mechanisms.evm.signers import EthAccountSigner

from bench.report import funded_account
from bilateral.client import Client
from bilateral.core.contracts import Deployment
from bilateral.dev.servers import facilitator_app, serving
from bilateral.documents import RegistrationFile
from bilateral.x402 import Reputation8004ResourceServerExtension as Extension
from bilateral.x402 import Secp256k1Key, declare_8004_reputation
from bilateral.x402.server.asgi import ReputationMiddleware

NETWORK: Final = "eip155:31337"
SMALL: Final = 1024
LARGE: Final = 30 * 1024 * 1024
KEY: Final = Secp256k1Key(bytes(range(1, 33)))

_REGISTRY: Final = "0x" + "12" * 20
_PAYEE: Final = "0x" + "34" * 20
_TOKEN: Final = "0x" + "56" * 20
_PAYER: Final = Account.from_key(b"\x07" * 32)
_OK: Final = 200
_FUNDS: Final = 10**15
_POLL_SECONDS: Final = 0.02
_VALID_SECONDS: Final = 24 * 3600
"""A payment stays valid for a day: each block of a local chain is a second later, so that its clock runs ahead."""

_FACILITATOR_SECONDS: Final = 600.0
"""A payment that is settled too late for the server has no proof. The SDK waits for 30 seconds by default."""


class ReadyFacilitator:
    """A facilitator that has its answers ready."""

    async def verify(self, payload: Any, requirements: Any) -> schemas.VerifyResponse:  # noqa: ARG002
        """Answer that the payment is valid."""
        return schemas.VerifyResponse(is_valid=True, payer=_PAYER.address)

    async def settle(self, payload: Any, requirements: Any) -> schemas.SettleResponse:  # noqa: ARG002
        """Answer that the payment is settled."""
        return schemas.SettleResponse(success=True, transaction="0x" + "ab" * 32, network=NETWORK, payer=_PAYER.address)

    def get_supported(self) -> schemas.SupportedResponse:
        """Return the one kind of payments."""
        return schemas.SupportedResponse(kinds=[schemas.SupportedKind(x402_version=2, scheme="exact", network=NETWORK)])


@dataclass(frozen=True)
class Market:
    """The parts of a payment.

    Attributes:
        facilitator: Makes a client of the facilitator, one for each server.
        token: The address of the token.
        payers: The accounts that pay.
    """

    facilitator: Callable[[], Any]
    token: str
    payers: tuple[Any, ...]

    def client(self, number: int = 0) -> x402ClientSync:
        """Return the SDK's client of a payer, without a limit on what it spends."""
        client = x402ClientSync().set_spend_controls(False)
        return register_exact_evm_client(client, EthAccountSigner(self.payers[number % len(self.payers)]))


READY: Final = Market(ReadyFacilitator, _TOKEN, (_PAYER,))
"""Payments that take no time."""


@dataclass(frozen=True)
class Overhead:
    """The times of both servers for one size of bodies.

    Attributes:
        size: The size of the request's and the response's body, in bytes.
        count: The number of requests to each server.
        bare: The median time of a request to the bare SDK, in seconds.
        signed: The median time of a request with the extension, in seconds.
    """

    size: int
    count: int
    bare: float
    signed: float

    @property
    def added(self) -> float:
        """The added time, in seconds."""
        return self.signed - self.bare

    @property
    def ratio(self) -> float:
        """The time with the extension, as a multiple of the bare time."""
        return self.signed / self.bare


def make_app(market: Market, pay_to: str, extension: Extension | None = None, declared: Any = None) -> FastAPI:
    """Make a paid application that repeats the request's body, and signs its answers by the extension, if it has one.

    Args:
        market: The parts of a payment.
        pay_to: The account that is paid.
        extension: The extension; None for the bare SDK.
        declared: The declaration of the extension.
    """
    server = x402ResourceServer(market.facilitator())
    register_exact_evm_server(server, NETWORK)
    price: Any = {"asset": market.token, "amount": "1000", "extra": {"name": "Test Dollar", "version": "2"}}
    option = PaymentOption(
        scheme="exact", network=NETWORK, pay_to=pay_to, price=price, max_timeout_seconds=_VALID_SECONDS
    )
    routes = {"POST /echo": RouteConfig(option, extensions=declared)}
    app = FastAPI()

    @app.post("/echo")
    async def echo(request: Request) -> Response:
        return Response(await request.body(), media_type="application/octet-stream")

    if extension is None:
        app.middleware("http")(payment_middleware(routes, server))
    else:
        server.register_extension(extension)
        app.add_middleware(ReputationMiddleware, routes=routes, server=server)
    return app


def measure(size: int, count: int, market: Market = READY) -> Overhead:
    """Send paid requests over HTTP to both servers in turns, and return the medians.

    Args:
        size: The size of a body, in bytes.
        count: The number of requests to each server.
        market: The parts of a payment.
    """
    body = b"a" * size
    taken: dict[bool, list[float]] = {False: [], True: []}
    payer = market.client()
    declared = declare_8004_reputation(1, Deployment(31337, identity=_REGISTRY, reputation=_REGISTRY))
    with (
        serving(make_app(market, _PAYEE)) as bare_url,
        serving(make_app(market, _PAYEE, Extension(KEY), declared)) as signed_url,
        httpx.Client(timeout=600) as http,
    ):
        for _ in range(count + 1):
            for kind, url in ((False, bare_url), (True, signed_url)):
                required = payments.decode_payment_required_header(http.post(f"{url}/echo").headers["payment-required"])
                header = payments.encode_payment_signature_header(payer.create_payment_payload(required))
                begun = time.perf_counter()
                response = http.post(f"{url}/echo", content=body, headers={"PAYMENT-SIGNATURE": header})
                taken[kind].append(time.perf_counter() - begun)
                assert (response.status_code, response.content) == (_OK, body)  # noqa: S101  # no failures are measured
    bare, signed = (statistics.median(taken[kind][1:]) for kind in (False, True))  # the first request sets up
    return Overhead(size, count, bare, signed)


@dataclass(frozen=True)
class Shop:
    """A running shop.

    Attributes:
        url: The URL of the server. `/echo` repeats the request's body.
        rpc: The URL of the node.
        deployment: The registries.
        extension: The server's extension, which counts its signatures.
        market: The token, the facilitator and the accounts that pay.
    """

    url: str
    rpc: str
    deployment: Deployment
    extension: Extension
    market: Market


@contextmanager
def open_shop(rpc: str, buyers: int) -> Iterator[Shop]:
    """Deploy everything on a local chain, and serve until the context ends.

    Args:
        rpc: The URL of an anvil.
        buyers: The number of buyers.
    """
    web3 = Web3(HTTPProvider(rpc))
    identity = _deployed(web3, "IdentityRegistry").address
    reputation = _deployed(web3, "BidirectionalReputationRegistry", identity).address
    deployment = Deployment(web3.eth.chain_id, identity=identity, reputation=reputation)
    seller, extension = funded_account(web3), Extension(KEY)
    with Client(rpc, signer=seller, deployment=deployment, poll_interval=_POLL_SECONDS) as client:
        agent = client.register_agent().wait().agent
        entry = {"publicKey": KEY.public_key, "algorithm": KEY.algorithm, "role": "delegate"}
        signers = [entry | {"validFrom": 0, "validUntil": None}]
        file = RegistrationFile.new("Echo", "It repeats", "https://agent.example/i.png", signers=signers)
        client.set_agent_uri(agent, file=file).wait()
    declared = declare_8004_reputation(agent, deployment)
    with open_market(rpc, buyers) as market, serving(make_app(market, seller.address, extension, declared)) as url:
        yield Shop(url, rpc, deployment, extension, market)


@contextmanager
def open_market(rpc: str, buyers: int = 1) -> Iterator[Market]:
    """Deploy a token on a local chain, and settle payments there by the SDK's facilitator until the context ends.

    Args:
        rpc: The URL of an anvil.
        buyers: The number of accounts with tokens.
    """
    web3 = Web3(HTTPProvider(rpc))
    token = _deployed(web3, "MockPaymentToken")
    payers = tuple(Account.create() for _ in range(buyers))
    for payer in payers:
        minted = token.functions.mint(payer.address, _FUNDS).transact({"from": web3.eth.accounts[0]})
        web3.eth.wait_for_transaction_receipt(minted, poll_latency=_POLL_SECONDS)
    with serving(facilitator_app(rpc, funded_account(web3).key.hex(), NETWORK)) as url:
        config = payments.FacilitatorConfig(url=url, timeout=_FACILITATOR_SECONDS)
        yield Market(lambda: payments.HTTPFacilitatorClient(config), token.address, payers)


def _deployed(web3: Web3, name: str, *arguments: str) -> Any:
    """Deploy a compiled contract from the chain's first account."""
    compiled = getattr(ape.project, name).contract_type
    abi = json.loads(compiled.model_dump_json(by_alias=True, exclude_none=True))["abi"]
    factory = web3.eth.contract(abi=abi, bytecode=compiled.deployment_bytecode.bytecode)
    sent = factory.constructor(*arguments).transact({"from": web3.eth.accounts[0]})
    receipt = web3.eth.wait_for_transaction_receipt(sent, poll_latency=_POLL_SECONDS)
    return web3.eth.contract(address=receipt["contractAddress"], abi=abi)
