"""A market for the tests of the npm package: a chain, a facilitator, honest, scripted and evil sellers, all in Python.

python -m tests.npm.world    print the URLs and keys as a line of JSON, and run until the standard input ends

`control` takes JSON and sets what the sellers do next: a situation of `tests/vectors/outcomes.json`, a kind of evil
server, how many answers the relay loses.
"""

from __future__ import annotations

import json
import socket
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from functools import cached_property

import httpx
from eth_account import Account
from ethpm_types import ContractType
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.middleware.gzip import GZipMiddleware
from x402 import x402ResourceServer
from x402.extensions.payment_identifier import declare_payment_identifier_extension

from bilateral.client import Client
from bilateral.core.contracts import Deployment
from bilateral.dev.contracts import LocalChain
from bilateral.dev.servers import facilitator_app, serving
from bilateral.documents import RegistrationFile
from bilateral.x402 import Reputation8004ResourceServerExtension, declare_8004_reputation, is_signed_by_client
from bilateral.x402.server.asgi import ReputationMiddleware
from scripts._anvil import running_anvil
from scripts._build import ROOT
from tests.permit2 import FACILITATOR, MULTICALL, PaymentChain
from tests.sdk.servers import HttpServer, respond
from tests.x402.evil import payment_modes, price_modes
from tests.x402.nodes import NOT_FOUND, node_with
from tests.x402.sellers import scripted_seller
from tests.x402.situations import TERMS, scripts
from tests.x402.world import SIGNING_KEY, resource_server, route, signer_entry

HOP_BY_HOP = {"content-length", "transfer-encoding", "connection", "content-encoding", "date", "server"}
OPERATOR = Account.from_key(bytes(range(9, 41)))
SELLER = Account.from_key(bytes(range(5, 37)))
SPONSOR = Account.from_key(bytes(range(6, 38)))


class Compiled:
    """The compiled contracts, as `PaymentChain` takes them from Ape."""

    @cached_property
    def _types(self):
        return json.loads((ROOT / ".build" / "__local__.json").read_bytes())["contractTypes"]

    def __getattr__(self, name):
        contract = type("Contract", (), {"contract_type": ContractType.model_validate(self._types[name])})
        setattr(self, name, contract)
        return contract


def shop_app(facilitator, token, pay_to, extensions):
    """Make the honest seller: it answers in JSON, repeats a body, fails, sends much, and streams."""
    app = FastAPI()

    @app.get("/weather")
    def weather(city: str = "Oslo"):
        return {"city": city, "weather": "snø"}

    @app.post("/echo")
    async def echo(request: Request):
        return Response(await request.body(), media_type="application/octet-stream")

    @app.get("/large")
    def large(size: int):
        return Response(b"\0" * size, media_type="application/octet-stream")

    @app.get("/free/{path}")
    def free(path: str):
        return Response(b"free " + path.encode())

    server = resource_server(x402ResourceServer, facilitator, Reputation8004ResourceServerExtension(SIGNING_KEY))
    names = ("GET /weather", "POST /echo", "GET /large")
    app.add_middleware(GZipMiddleware, minimum_size=1000)
    routes = {name: route(token, pay_to, extensions) for name in names}
    app.add_middleware(ReputationMiddleware, routes=routes, server=server)
    return app


class Relay:
    """A server in front of the shop, which loses paid answers, or changes them."""

    def __init__(self, url, http):
        self.url, self._http, self.losses, self.payments, self.mode = url, http, 0, [], "cut"

    def answer(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        headers = {name: value for name, value in handler.headers.items() if name.lower() != "host"}
        answer = self._http.request(handler.command, self.url + handler.path, headers=headers, content=body)
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in HOP_BY_HOP}
        content, status = answer.content, answer.status_code
        if handler.headers["PAYMENT-SIGNATURE"]:
            self.payments.append(handler.headers["PAYMENT-SIGNATURE"])
            if self.losses:
                self.losses -= 1
                if self.mode == "cut":
                    handler.connection.shutdown(socket.SHUT_RDWR)
                    return
                if self.mode == "wait":
                    time.sleep(3)
                if self.mode == "encoding":
                    kept["Content-Encoding"] = "gzip"
                if self.mode == "redirect":
                    kept, content, status = {"Location": "/elsewhere"}, b"", 302
                if self.mode.isdigit():
                    kept, content, status = {}, b"sorry", int(self.mode)
                if self.mode == "twice":
                    kept["PAYMENT-RESPONSE"] = f"{kept.pop('payment-response')}, {answer.headers['payment-response']}"
        respond(handler, content, status, **kept)


class Market:
    """All parts, and what the tests tell them.

    Args:
        stack: Closes the parts.
    """

    def __init__(self, stack):
        self._stack = stack
        enter = stack.enter_context
        self.rpc = enter(running_anvil("--gas-limit", str(10**9)))
        record, _ = LocalChain(self.rpc).deploy()
        self.contracts = {name: entry["address"] for name, entry in record["contracts"].items()}
        self.deployment = Deployment.from_record(json.dumps(record).encode())
        self.chain = PaymentChain(self.rpc, Compiled())
        for account in (OPERATOR, SELLER, SPONSOR, FACILITATOR):
            self.chain.rpc("anvil_setBalance", account.address, hex(10**20))
        self.facilitator = enter(serving(facilitator_app(self.rpc, OPERATOR.key.hex(), self.chain.network)))
        self.client = enter(Client(self.rpc, signer=SELLER, deployment=self.deployment, poll_interval=0.02))
        self.agent = self.client.register_agent().wait().agent
        self.client.set_agent_uri(self.agent, file=self._file()).wait()
        declared = declare_8004_reputation(self.agent, self.deployment)
        declared["payment-identifier"] = declare_payment_identifier_extension()
        app = shop_app(self.facilitator, self.chain.token, SELLER.address, declared)
        self.shop = enter(serving(app))
        self.scripted = enter(scripted_seller(self.chain, SELLER.address, self.agent.token_id, self.deployment))
        self.blind = enter(node_with(self.rpc, debug_traceTransaction=NOT_FOUND))
        self.relay, self.servers = Relay(self.shop, enter(httpx.Client(timeout=120))), enter(HttpServer())
        self.evil = Evil(httpx.post(self.shop + "/echo").headers["payment-required"], enter(HttpServer()))
        self.fee_token = self.chain.put("0x" + "fe" * 20, "TokenSplitsTransfers")
        answers = {"/control": self._control, "/echo": self.relay.answer, "/weather": self.relay.answer}
        self.servers.routes |= answers
        self._aggregator = None
        self._lock = threading.Lock()  # two transactions of one sender must not take the same nonce

    def _file(self):
        return RegistrationFile.new(
            "Weather",
            "It forecasts",
            "https://agent.example/i.png",
            signers=[signer_entry()],
            registrations=[{"agentId": self.agent.token_id, "agentRegistry": str(self.deployment.agent_registry)}],
        )

    @property
    def description(self):
        """What the tests need to know."""
        registries = {"IdentityRegistry": self.deployment.identity, "ReputationRegistry": self.deployment.reputation}
        return {
            "rpc": self.rpc,
            "chainId": self.chain.chain_id,
            "registries": registries,
            "deployment": self.contracts,
            "agent": self.agent.token_id,
            "seller": SELLER.address,
            "sellerKey": "0x" + SELLER.key.hex().removeprefix("0x"),
            "signingKey": SIGNING_KEY.secret.hex(),
            "token": self.chain.token,
            "facilitator": self.facilitator,
            "shop": self.shop,
            "scripted": self.scripted.url,
            "relay": self.servers.url,
            "evil": self.evil.url,
            "evilModes": list(self.evil.modes),
            "control": self.servers.url + "/control",
        }

    def _control(self, handler):
        asked = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        answer = {}
        with self._lock:
            for name in asked.keys() & {"situation", "buyer", "evil", "losses", "feedback", "aggregator"}:
                answer |= getattr(self, f"_on_{name}")(asked) or {}
        payments = {"evil": self.evil.payments, "relay": self.relay.payments, "scripted": self.scripted.payments}
        respond(handler, json.dumps({**payments, **answer}).encode(), Content_Type="application/json")

    def _on_buyer(self, _):
        """Make an account with ether, and with tokens that Permit2 may move."""
        account = self.chain.buyer()
        self.chain.fund(account.address, token=self.fee_token)
        self.chain.approve(account, token=self.fee_token)
        self.chain.rpc("anvil_setBalance", account.address, hex(10**20))
        return {"key": "0x" + account.key.hex().removeprefix("0x")}

    def _on_evil(self, asked):
        self.evil.set(asked["evil"])

    def _on_losses(self, asked):
        self.relay.losses, self.relay.mode = asked["losses"], asked["mode"]
        self.relay.payments.clear()

    def _on_situation(self, asked):
        scheme, amount, extra = TERMS[asked["kind"]]
        if "another contract" in asked["situation"] and asked["kind"] == "permit2-upto":
            extra = {"facilitatorAddress": MULTICALL}
        token = self.fee_token if "fee" in asked["situation"] else None
        terms = self.chain.terms(scheme, self.scripted.wallet, amount, token=token, **extra)
        self.scripted.terms = terms.model_dump(mode="json", by_alias=True)
        self.scripted.earlier = asked.get("earlier")
        self.scripted.payments.clear()
        payer = Account.from_key(asked["payer"])
        self.scripted.script = scripts(self.chain, self.scripted, payer)[asked["situation"]]
        return {"rpc": self.blind if "no traces" in asked["situation"] else self.rpc}

    def _on_feedback(self, asked):
        """Read the feedback of a client as Python does."""
        found = self.client.search_feedback(
            self.agent, reviewers=[asked["feedback"]], include_revoked=True, load_files=True
        )
        return {
            "feedback": [
                {
                    "value": str(entry.value),
                    "tags": [entry.tag1, entry.tag2],
                    "isRevoked": entry.is_revoked,
                    "problem": str(entry.file_problem or ""),
                    "isSigned": entry.file is not None and is_signed_by_client(entry.file),
                    "file": None if entry.file is None else entry.file.to_object(),
                }
                for entry in found
            ]
        }

    def _on_aggregator(self, _):
        """Start the aggregator, which takes seconds."""
        if self._aggregator is None:
            from bilateral.api.settings import ApiSettings  # noqa: PLC0415  # slow to import, and one test needs it
            from bilateral.index.log.database import open_database  # noqa: PLC0415
            from bilateral.x402.aggregator.settings import AggregatorSettings, SponsoredChain  # noqa: PLC0415
            from tests.api.world import served  # noqa: PLC0415

            database = f"sqlite:///{self._stack.enter_context(tempfile.TemporaryDirectory())}/index.sqlite"
            open_database(database).dispose()
            paid = SponsoredChain(
                *(self.rpc, self.deployment, SPONSOR, {self.chain.token: 1000}),
                budget=10**18,
                confirmations=1,
                poll_seconds=0.02,
            )
            settings = AggregatorSettings((paid,), answer_seconds=30.0, allow_private=True)
            api = ApiSettings(database=database, rate=None, aggregator=settings)
            self._aggregator = self._stack.enter_context(served(api)) + "/v1/aggregator/feedback"
        return {"aggregator": self._aggregator}


class Evil:
    """A server that answers to a request for the price, or to a payment, with the bytes of a kind of evil server."""

    def __init__(self, price, server):
        self.url, self.payments = server.url, []
        self.modes = price_modes(price) | payment_modes(price)
        headers = f"Connection: close\r\nContent-Length: 0\r\nPAYMENT-REQUIRED: {price}\r\n\r\n"
        self._honest = f"HTTP/1.1 402 Status\r\n{headers}".encode()
        self._answers = {}
        server.routes["/echo"] = self._answer

    def set(self, mode):
        """Choose a kind."""
        self.payments.clear()
        self._answers = {"price": self._honest, mode.partition(":")[0]: self.modes[mode]}

    def _answer(self, handler):
        handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        step = "price"
        if handler.headers["PAYMENT-SIGNATURE"]:
            self.payments.append(handler.headers["PAYMENT-SIGNATURE"])
            step = "paid"
        handler.wfile.write(self._answers[step])
        handler.close_connection = True


def main():
    """Run the market."""
    with ExitStack() as stack:
        print(json.dumps(Market(stack).description), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
