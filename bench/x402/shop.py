"""A chain with an agent, a token and funded buyers, the SDK's facilitator, and a server that signs its answers."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import ape
from eth_account import Account
from fastapi import FastAPI, Request
from fastapi.responses import Response
from web3 import HTTPProvider, Web3
from x402 import x402ClientSync, x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import register_exact_evm_client, register_exact_evm_server
from x402.mechanisms.evm.signers import EthAccountSigner

from bench.x402.overhead import KEY, NETWORK, Market
from bilateral.client import Client
from bilateral.core.contracts import Deployment
from bilateral.dev.servers import facilitator_app, serving
from bilateral.documents import RegistrationFile
from bilateral.x402 import Reputation8004ResourceServerExtension, declare_8004_reputation
from bilateral.x402.server.asgi import ReputationMiddleware

if TYPE_CHECKING:
    from collections.abc import Iterator

_ETHER: Final = 10**18
_FUNDS: Final = 10**15
_POLL_SECONDS: Final = 0.02
_VALID_SECONDS: Final = 24 * 3600
"""A payment stays valid for a day: each block of a local chain is a second later, so that its clock runs ahead."""

_FACILITATOR_SECONDS: Final = 600.0
"""A payment that is settled too late for the server has no proof. The SDK waits for 30 seconds by default."""


@dataclass(frozen=True)
class Shop:
    """A running shop.

    Attributes:
        url: The URL of the server. `/echo` repeats the request's body.
        rpc: The URL of the node.
        deployment: The registries.
        extension: The server's extension, which counts its signatures.
        buyers: Accounts with tokens.
    """

    url: str
    rpc: str
    deployment: Deployment
    extension: Reputation8004ResourceServerExtension
    buyers: tuple[Any, ...]

    def payer(self, number: int) -> x402ClientSync:
        """Return the SDK's client of a buyer, without a limit on what it spends."""
        client = x402ClientSync().set_spend_controls(False)
        return register_exact_evm_client(client, EthAccountSigner(self.buyers[number % len(self.buyers)]))


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
    token = _deployed(web3, "MockPaymentToken")
    deployment = Deployment(web3.eth.chain_id, identity=identity, reputation=reputation)
    seller, facilitator, *accounts = (Account.create() for _ in range(buyers + 2))
    for account in (seller, facilitator):
        web3.provider.make_request("anvil_setBalance", [account.address, hex(1000 * _ETHER)])  # type: ignore[arg-type]
    for account in accounts:
        minted = token.functions.mint(account.address, _FUNDS).transact({"from": web3.eth.accounts[0]})
        web3.eth.wait_for_transaction_receipt(minted, poll_latency=_POLL_SECONDS)
    with Client(rpc, signer=seller, deployment=deployment, poll_interval=_POLL_SECONDS) as client:
        agent = client.register_agent().wait().agent
        file = RegistrationFile.new("Echo", "It repeats", "https://agent.example/i.png", signers=[_entry()])
        client.set_agent_uri(agent, file=file).wait()
    network = f"eip155:{deployment.chain_id}"
    extension = Reputation8004ResourceServerExtension(KEY)
    with serving(facilitator_app(rpc, facilitator.key.hex(), network)) as facilitator_url:
        server = x402ResourceServer(
            HTTPFacilitatorClient(FacilitatorConfig(url=facilitator_url, timeout=_FACILITATOR_SECONDS))
        )
        register_exact_evm_server(server, network)
        server.register_extension(extension)
        price: Any = {"asset": token.address, "amount": "1000", "extra": {"name": "Test Dollar", "version": "2"}}
        option = PaymentOption(
            scheme="exact", network=network, pay_to=seller.address, price=price, max_timeout_seconds=_VALID_SECONDS
        )
        declared = declare_8004_reputation(agent, deployment)
        with serving(_app(server, RouteConfig(option, extensions=declared))) as url:
            yield Shop(url, rpc, deployment, extension, tuple(accounts))


@contextmanager
def open_market(rpc: str) -> Iterator[Market]:
    """Deploy a token on a local chain, and settle payments there by the SDK's facilitator until the context ends.

    Args:
        rpc: The URL of an anvil.
    """
    web3 = Web3(HTTPProvider(rpc))
    token = _deployed(web3, "MockPaymentToken")
    facilitator, payer = Account.create(), Account.create()
    web3.provider.make_request("anvil_setBalance", [facilitator.address, hex(1000 * _ETHER)])  # type: ignore[arg-type]
    minted = token.functions.mint(payer.address, _FUNDS).transact({"from": web3.eth.accounts[0]})
    web3.eth.wait_for_transaction_receipt(minted, poll_latency=_POLL_SECONDS)
    with serving(facilitator_app(rpc, facilitator.key.hex(), NETWORK)) as url:
        yield Market(lambda: HTTPFacilitatorClient(FacilitatorConfig(url=url)), token.address, payer)


def _app(server: x402ResourceServer, route: RouteConfig) -> FastAPI:
    """Make an application that repeats requests."""
    app = FastAPI()

    @app.post("/echo")
    async def echo(request: Request) -> Response:
        return Response(await request.body(), media_type="application/octet-stream")

    app.add_middleware(ReputationMiddleware, routes={"POST /echo": route}, server=server)
    return app


def _deployed(web3: Web3, name: str, *arguments: str) -> Any:
    """Deploy a compiled contract from the chain's first account."""
    compiled = getattr(ape.project, name).contract_type
    abi = json.loads(compiled.model_dump_json(by_alias=True, exclude_none=True))["abi"]
    factory = web3.eth.contract(abi=abi, bytecode=compiled.deployment_bytecode.bytecode)
    sent = factory.constructor(*arguments).transact({"from": web3.eth.accounts[0]})
    receipt = web3.eth.wait_for_transaction_receipt(sent, poll_latency=_POLL_SECONDS)
    return web3.eth.contract(address=receipt["contractAddress"], abi=abi)


def _entry() -> dict[str, Any]:
    """Return the entry of the signing key in the registration file."""
    valid = {"validFrom": 0, "validUntil": None}
    return {"publicKey": KEY.public_key, "algorithm": KEY.algorithm, "role": "delegate", **valid}
