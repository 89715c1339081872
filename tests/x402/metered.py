"""A shop of the real SDK that is paid by each kind: a fixed price by EIP-3009 or Permit2, and a metered one."""

from __future__ import annotations

from contextlib import contextmanager

from fastapi import FastAPI, Response
from x402 import x402ClientSync, x402FacilitatorSync, x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient, decode_payment_required_header
from x402.http import encode_payment_signature_header as encode_payment
from x402.http.middleware.fastapi import payment_middleware, set_settlement_overrides
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import (
    register_exact_evm_client,
    register_exact_evm_facilitator,
    register_exact_evm_server,
)
from x402.mechanisms.evm.signers import EthAccountSigner
from x402.mechanisms.evm.upto import UptoEvmClientScheme, UptoEvmFacilitatorScheme, UptoEvmServerScheme

from bilateral.dev.servers import _LocalSigner, facilitator_app_of, serving
from bilateral.x402 import Reputation8004ResourceServerExtension
from bilateral.x402.server.asgi import ReputationMiddleware
from tests.permit2 import FACILITATOR
from tests.x402.world import NETWORK, SIGNING_KEY, ask_price

PRICE, CEILING = 1000, 5000


def every_facilitator(chain, account=FACILITATOR, factories=(), kind=_LocalSigner, **options):
    """Make the SDK's facilitator with `exact` and `upto` on a `PaymentChain`.

    Args:
        chain: The `PaymentChain`.
        account: Sends the transactions.
        factories: The factories of smart wallets (ERC-6492) that it may call.
        kind: A kind of the SDK's signer.
        **options: Settings of the SDK's signer.
    """
    chain.rpc("anvil_setBalance", account.address, hex(10**20))
    signer = kind("0x" + account.key.hex(), chain.url, **options)
    facilitator = x402FacilitatorSync()
    register_exact_evm_facilitator(facilitator, signer, NETWORK, list(factories))
    return facilitator.register([NETWORK], UptoEvmFacilitatorScheme(signer))


@contextmanager
def serving_facilitator(chain, **settings):
    """Run that facilitator behind HTTP, and yield its URL."""
    with serving(facilitator_app_of(every_facilitator(chain, **settings))) as url:
        yield url


@contextmanager
def metered_shop(facilitator_url, token, pay_to, extensions=None, *, key=SIGNING_KEY, ceiling=CEILING, **settings):
    """Run a shop, and yield its URL.

    `/eip3009` and `/exact` cost `PRICE`. `/metered` costs at most the ceiling, and charges what its query `charge`
    says, as `Settlement-Overrides` has it: an amount such as 1234, or a percentage such as 40%; without it the ceiling.

    Args:
        facilitator_url: The URL of the facilitator.
        token: The token's address.
        pay_to: The address that is paid.
        extensions: `declare_8004_reputation(...)` for a shop that signs its answers by our middleware; without it the
            SDK's own middleware serves.
        key: Signs answers.
        ceiling: The ceiling of `/metered`.
        **settings: Further settings of our middleware.
    """
    app = FastAPI()

    @app.get("/eip3009")
    @app.get("/exact")
    def fixed(city: str = "Oslo"):
        return {"city": city}

    @app.get("/metered")
    def metered(response: Response, charge: str | None = None):
        if charge is not None:
            set_settlement_overrides(response, {"amount": charge})
        return {"charge": charge}

    def option(scheme, amount, **extra):
        extra = {"name": "Test Dollar", "version": "2", **extra}
        price = {"asset": token, "amount": str(amount), "extra": extra}
        return PaymentOption(scheme=scheme, network=NETWORK, pay_to=pay_to, price=price, max_timeout_seconds=600)

    options = {
        "GET /eip3009": option("exact", PRICE),
        "GET /exact": option("exact", PRICE, assetTransferMethod="permit2"),
        "GET /metered": option("upto", ceiling),
    }
    routes = {path: RouteConfig(accepts=accepted, extensions=extensions) for path, accepted in options.items()}
    server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=facilitator_url)))
    register_exact_evm_server(server, NETWORK)
    server.register(NETWORK, UptoEvmServerScheme())
    if extensions is None:
        app.middleware("http")(payment_middleware(routes, server))
    else:
        server.register_extension(Reputation8004ResourceServerExtension(key))
        app.add_middleware(ReputationMiddleware, routes=routes, server=server, **settings)
    with serving(app) as url:
        yield url


def paying_by_all(payer, kind=x402ClientSync):
    """Make the SDK's client of an account or a `WalletSigner`, which pays by `exact` and `upto`."""
    signer = payer if isinstance(payer, EthAccountSigner) else EthAccountSigner(payer)
    client = register_exact_evm_client(kind().set_spend_controls(False), signer)
    return client.register("eip155:*", UptoEvmClientScheme(signer))


def pay_headers(url, payer, change=lambda payload: payload):
    """Ask for the price, and return the headers of a request that pays it by whatever kind the server asks for."""
    required = decode_payment_required_header(ask_price(url).headers["payment-required"])
    payload = paying_by_all(payer).create_payment_payload(required)
    return {"PAYMENT-SIGNATURE": encode_payment(change(payload))}
