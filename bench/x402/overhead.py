"""The time that the extension adds to a paid request, beside the bare SDK, in one run.

Both servers are real. By default their facilitator answers at once, so that no node takes time. The requests take
turns, so that what else the machine does slows both alike.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import httpx
from eth_account import Account
from fastapi import FastAPI, Request
from fastapi.responses import Response
from x402 import x402ClientSync, x402ResourceServer
from x402.http import decode_payment_required_header, encode_payment_signature_header
from x402.http.middleware.fastapi import payment_middleware
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import register_exact_evm_client, register_exact_evm_server
from x402.mechanisms.evm.signers import EthAccountSigner
from x402.schemas import SettleResponse, SupportedKind, SupportedResponse, VerifyResponse

from bilateral.core.contracts import Deployment
from bilateral.dev.servers import serving
from bilateral.x402 import Reputation8004ResourceServerExtension, Secp256k1Key, declare_8004_reputation
from bilateral.x402.server.asgi import ReputationMiddleware

if TYPE_CHECKING:
    from collections.abc import Callable

    from x402.schemas import PaymentPayload, PaymentRequirements

NETWORK: Final = "eip155:31337"
SMALL: Final = 1024
LARGE: Final = 30 * 1024 * 1024
KEY: Final = Secp256k1Key(bytes(range(1, 33)))

_REGISTRY: Final = "0x" + "12" * 20
_PAYEE: Final = "0x" + "34" * 20
_TOKEN: Final = "0x" + "56" * 20
_PAYER: Final = Account.from_key(b"\x07" * 32)
_OK: Final = 200


class ReadyFacilitator:
    """A facilitator that has its answers ready."""

    async def verify(self, payload: PaymentPayload, requirements: PaymentRequirements) -> VerifyResponse:  # noqa: ARG002
        """Answer that the payment is valid."""
        return VerifyResponse(is_valid=True, payer=_PAYER.address)

    async def settle(self, payload: PaymentPayload, requirements: PaymentRequirements) -> SettleResponse:  # noqa: ARG002
        """Answer that the payment is settled."""
        return SettleResponse(success=True, transaction="0x" + "ab" * 32, network=NETWORK, payer=_PAYER.address)

    def get_supported(self) -> SupportedResponse:
        """Return the one kind of payments."""
        return SupportedResponse(kinds=[SupportedKind(x402_version=2, scheme="exact", network=NETWORK)])


@dataclass(frozen=True)
class Market:
    """The parts of a payment.

    Attributes:
        facilitator: Makes a client of the facilitator, one for each server.
        token: The address of the token.
        payer: The account that pays.
    """

    facilitator: Callable[[], Any]
    token: str
    payer: Any


READY: Final = Market(ReadyFacilitator, _TOKEN, _PAYER)
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


def make_app(*, is_signed: bool, market: Market = READY) -> FastAPI:
    """Make a paid application that repeats the request's body.

    Args:
        is_signed: True to sign its answers by the extension.
        market: The parts of a payment.
    """
    server = x402ResourceServer(market.facilitator())
    register_exact_evm_server(server, NETWORK)
    price: Any = {"asset": market.token, "amount": "1000", "extra": {"name": "Test Dollar", "version": "2"}}
    option = PaymentOption(scheme="exact", network=NETWORK, pay_to=_PAYEE, price=price)
    app = FastAPI()

    @app.post("/echo")
    async def echo(request: Request) -> Response:
        return Response(await request.body(), media_type="application/octet-stream")

    if is_signed:
        declared = declare_8004_reputation(1, Deployment(31337, identity=_REGISTRY, reputation=_REGISTRY))
        server.register_extension(Reputation8004ResourceServerExtension(KEY))
        routes = {"POST /echo": RouteConfig(option, extensions=declared)}
        app.add_middleware(ReputationMiddleware, routes=routes, server=server)
    else:
        app.middleware("http")(payment_middleware({"POST /echo": RouteConfig(option)}, server))
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
    payer = register_exact_evm_client(x402ClientSync().set_spend_controls(False), EthAccountSigner(market.payer))
    with (
        serving(make_app(is_signed=False, market=market)) as bare_url,
        serving(make_app(is_signed=True, market=market)) as signed_url,
        httpx.Client(timeout=600) as http,
    ):
        for _ in range(count + 1):
            for kind, url in ((False, bare_url), (True, signed_url)):
                required = decode_payment_required_header(http.post(f"{url}/echo").headers["payment-required"])
                header = encode_payment_signature_header(payer.create_payment_payload(required))
                begun = time.perf_counter()
                response = http.post(f"{url}/echo", content=body, headers={"PAYMENT-SIGNATURE": header})
                taken[kind].append(time.perf_counter() - begun)
                assert (response.status_code, response.content) == (_OK, body)  # noqa: S101  # no failures are measured
    bare, signed = (statistics.median(taken[kind][1:]) for kind in (False, True))  # the first request sets up
    return Overhead(size, count, bare, signed)
