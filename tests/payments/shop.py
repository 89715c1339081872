"""Servers of the sellers, whose facilitator does on the chain what the stories say, and the client of the buyers."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass

import httpx
from fastapi import FastAPI, Request
from fastapi.responses import Response
from x402 import schemas, x402ResourceServer
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import register_exact_evm_server
from x402.mechanisms.evm.upto import UptoEvmServerScheme

from bilateral.documents import Limits, Loader, Network
from bilateral.x402 import Reputation8004ResourceServerExtension, Verifier, declare_8004_reputation
from bilateral.x402.clients.transports import paid_request
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.exchange import Reservations
from simulation.event_chain import Node
from tests.payments import wire
from tests.payments.acts import MAX_TIMEOUT
from tests.payments.stories import AGENTS, FREE_AGENTS, KINDS, PRICES
from tests.x402.world import SIGNING_KEY

STATES = 5
"""The newest blocks whose states a plain node has: fewer than pass between a payment and the last look at it."""

ROUTED = ("dollar", "taxed", "pretender")
"""The names of the tokens that servers take."""

NETWORK = f"eip155:{wire.CHAIN_ID}"


@dataclass
class Reply:
    """What a buyer gets for a message.

    Attributes:
        status: The status of the answer.
        reason: The reason for a refusal; empty without one.
        has_run: True if the application ran.
        verification: The client's verification; None without a paid answer.
        plain_verification: The same through a node that traces nothing.
    """

    status: int
    reason: str
    has_run: bool
    verification: object = None
    plain_verification: object = None


class PlainNode:
    """A node that traces nothing, and forgets the states of all but the newest blocks.

    Args:
        node: The node behind it, which does both.
    """

    def __init__(self, node):
        self._node = node

    def make_request(self, method, parameters):
        if method.startswith("debug_"):
            return {"error": {"code": -32601, "message": f"the method {method} does not exist"}}
        if method == "eth_call" and parameters[1] != "latest":
            latest = int(self._node.rpc("eth_blockNumber"), 16)
            if int(parameters[1], 16) < latest - STATES:
                return {"error": {"code": -32000, "message": "missing trie node"}}
        return self._node.request(method, *parameters)


class Facilitator:
    """Believes every payment, and settles by doing what the story says."""

    def __init__(self, acts):
        self._acts = acts
        self.deal = None

    async def verify(self, _payload, _requirements):
        return schemas.VerifyResponse(is_valid=True, payer=self._acts.chain.buyers[self.deal.story.buyer].address)

    async def settle(self, _payload, requirements):
        deal, story = self.deal, self.deal.story
        self._acts.happen(deal)
        answer = {"network": NETWORK, "payer": self._acts.chain.buyers[story.buyer].address}
        if story.act == "is overtaken" and story.kind != "eip3009":
            return schemas.SettleResponse(success=False, error_reason="transaction_failed", transaction="", **answer)
        amounts = {"the truth": requirements.amount, "another amount": str(int(requirements.amount) + 1)}
        amount = amounts.get(story.says)
        return schemas.SettleResponse(success=True, transaction=deal.named, amount=amount, **answer)

    def get_supported(self):
        extra = {"facilitatorAddress": self._acts.chain.facilitator.address}
        kinds = [("exact", None), ("upto", extra)]
        return schemas.SupportedResponse(
            kinds=[
                schemas.SupportedKind(x402_version=2, scheme=scheme, network=NETWORK, extra=extra)
                for scheme, extra in kinds
            ]
        )


class OneProcess(Reservations):
    """Reservations of a service with one process, which therefore sees them all."""

    is_shared = True


class Shop:
    """All servers as one application, and a client.

    Args:
        acts: Does on the chain what the stories say.
        url: The URL of the chain's node.
    """

    def __init__(self, acts, url):
        self.acts, self.facilitator, self.runs, self._interrupt = acts, Facilitator(acts), 0, None
        network = Network(allow_private=True)
        loader = Loader(limits=Limits(bytes=64 * 1024, seconds=60), gateways=(), network=network)
        plain = PlainNode(Node(url))
        self.verifier, self.plain_verifier = (
            Verifier({node: acts.chain.deployment}, loader=loader, receipt_seconds=0) for node in (url, plain)
        )
        self._app = self._application()
        self._loop = asyncio.new_event_loop()
        transport = httpx.ASGITransport(app=self._app)
        self._http = httpx.AsyncClient(transport=transport, base_url="http://shop.example", timeout=60)

    def close(self):
        self._loop.run_until_complete(self._http.aclose())
        self._loop.close()
        self.verifier.close()
        self.plain_verifier.close()

    def send(self, deal, payload):
        """Send a paid request, and verify its answer."""
        self.facilitator.deal, ran = deal, self.runs
        path, headers, body = request = self._request(deal, payload)
        response = self._loop.run_until_complete(self._post(*request))
        verification = plain = None
        header = headers["PAYMENT-SIGNATURE"]
        paid = paid_request(header, f"POST http://shop.example{path}", {}, body, response.headers, response.content)
        if response.status_code == 200:
            verification, plain = self.verifier.verify(paid), self.plain_verifier.verify(paid)
        return Reply(response.status_code, _reason(response), self.runs > ran, verification, plain)

    def send_meanwhile(self, deal, payload):
        """Send a paid request while the application runs for the next one, and return what returns its reply then."""
        replies = []

        async def interrupt():
            ran = self.runs
            response = await self._post(*self._request(deal, payload))
            replies.append(Reply(response.status_code, _reason(response), self.runs > ran))

        self._interrupt = interrupt
        return replies.pop

    async def _post(self, path, headers, body):
        return await self._http.post(path, content=body, headers=headers)

    def _request(self, deal, payload):
        """Return path, headers and body of a request. A route has one token, which is the signed one."""
        permitted = payload.get("permit2Authorization", {}).get("permitted", {})
        signed = permitted.get("token") if isinstance(permitted, dict) else None
        names = {address: name for name, address in self.acts.chain.tokens.items() if name in ROUTED}
        asset = signed if signed in names else deal.accepted["asset"]
        path = _path(deal.story.kind, names[asset], deal.story.price, deal.story.seller)
        message = {
            "x402Version": 2,
            "accepted": deal.accepted | {"asset": asset},
            "payload": payload,
            "extensions": {"8004-reputation": self._declared[deal.story.seller]["8004-reputation"]},
        }
        header = base64.b64encode(json.dumps(message).encode()).decode()
        return path, {"PAYMENT-SIGNATURE": header}, json.dumps({"charge": deal.story.charged}).encode()

    def _application(self):
        app = FastAPI()

        @app.post("/{path:path}")
        async def sell(request: Request):
            self.runs += 1
            if self._interrupt is not None:
                interrupt, self._interrupt = self._interrupt, None
                await interrupt()
            response = Response(await request.body(), media_type="application/json")
            response.headers["Settlement-Overrides"] = json.dumps({"amount": str((await request.json())["charge"])})
            return response

        chain = self.acts.chain
        server = x402ResourceServer(self.facilitator)
        register_exact_evm_server(server, NETWORK)
        server.register(NETWORK, UptoEvmServerScheme())
        server.register_extension(
            Reputation8004ResourceServerExtension(SIGNING_KEY, reservations=OneProcess(), verifier=self.verifier)
        )
        agents = [*chain.agents, chain.agents[0]]
        self._declared = [
            declare_8004_reputation(agent, chain.deployment, free_answers=number in FREE_AGENTS)
            for number, agent in enumerate(agents)
        ]
        routes = {}
        for kind in KINDS:
            for token in ROUTED:
                for price in PRICES:
                    for seller in range(AGENTS + 1):
                        option = self._option(kind, token, price, seller)
                        route = RouteConfig(option, extensions=self._declared[seller])
                        routes[f"POST {_path(kind, token, price, seller)}"] = route
        app.add_middleware(ReputationMiddleware, routes=routes, server=server)
        return app

    def _option(self, kind, token, price, seller):
        accepted = self.acts.accepted(kind, token, price, seller)
        price = {"asset": accepted["asset"], "amount": accepted["amount"], "extra": accepted["extra"]}
        payee = accepted["payTo"]
        return PaymentOption(
            scheme=accepted["scheme"], network=NETWORK, pay_to=payee, price=price, max_timeout_seconds=MAX_TIMEOUT
        )


def _path(kind, token, price, seller):
    return f"/{kind}/{token}/{price}/{seller}"


def _reason(response):
    """Return the reason that a server gives for a refusal."""
    for name, field in (("payment-response", "errorReason"), ("payment-required", "error")):
        if name in response.headers:
            message = json.loads(base64.b64decode(response.headers[name]))
            if message.get(field):
                return message[field]
    return "" if response.status_code == 200 else response.text[:200]
