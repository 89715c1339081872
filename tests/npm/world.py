"""A market for the tests of the npm package: a chain, a facilitator, honest, scripted and evil sellers, all in Python.

python -m tests.npm.world    print the URLs and keys as a line of JSON, and run until the standard input ends

`control` takes JSON and sets what the sellers do next: a situation of `tests/vectors/outcomes.json`, a kind of evil
server, how many answers the relay loses.
"""

from __future__ import annotations

import json
import socket
import sys
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
from bilateral.x402 import Reputation8004ResourceServerExtension, declare_8004_reputation
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
                    import time  # noqa: PLC0415

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


def main():
    """Run the market."""
    with ExitStack() as stack:
        enter = stack.enter_context
        rpc = enter(running_anvil("--gas-limit", str(10**9)))
        project = Compiled()
        content, _ = LocalChain(rpc).deploy()
        deployment = Deployment.from_record(json.dumps(content).encode())
        chain = PaymentChain(rpc, project)
        for account in (OPERATOR, SELLER, FACILITATOR):
            chain.rpc("anvil_setBalance", account.address, hex(10**20))
        facilitator = enter(serving(facilitator_app(rpc, OPERATOR.key.hex(), chain.network)))
        client = enter(Client(rpc, signer=SELLER, deployment=deployment, poll_interval=0.02))
        agent = client.register_agent().wait().agent
        file = RegistrationFile.new(
            "Weather",
            "It forecasts",
            "https://agent.example/i.png",
            signers=[signer_entry()],
            registrations=[{"agentId": agent.token_id, "agentRegistry": str(deployment.agent_registry)}],
        )
        client.set_agent_uri(agent, file=file).wait()
        declared = declare_8004_reputation(agent, deployment)
        declared["payment-identifier"] = declare_payment_identifier_extension()
        shop = enter(serving(shop_app(facilitator, chain.token, SELLER.address, declared)))
        scripted = enter(scripted_seller(chain, SELLER.address, agent.token_id, deployment))
        blind = enter(node_with(rpc, debug_traceTransaction=NOT_FOUND))
        http = enter(httpx.Client(timeout=120))
        relay, servers = Relay(shop, http), enter(HttpServer())
        evil, evil_state = enter(HttpServer()), {"answers": {}, "payments": []}
        price = httpx.post(shop + "/echo").headers["payment-required"]
        modes = price_modes(price) | payment_modes(price)
        honest = f"HTTP/1.1 402 Status\r\nConnection: close\r\nContent-Length: 0\r\nPAYMENT-REQUIRED: {price}\r\n\r\n"
        fee_token = chain.put("0x" + "fe" * 20, "TokenSplitsTransfers")

        def be_evil(handler):
            handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
            step = "price"
            if handler.headers["PAYMENT-SIGNATURE"]:
                evil_state["payments"].append(handler.headers["PAYMENT-SIGNATURE"])
                step = "paid"
            handler.wfile.write(evil_state["answers"][step])
            handler.close_connection = True

        evil.routes["/echo"] = be_evil

        def command(asked):
            if "situation" in asked:
                return set_situation(asked)
            if "evil" in asked:
                mode = asked["evil"]
                evil_state["payments"].clear()
                evil_state["answers"] = {"price": honest.encode(), mode.partition(":")[0]: modes[mode]}
            if "mine" in asked:
                chain.rpc("anvil_mine", hex(asked["mine"]))
            if "losses" in asked:
                relay.losses, relay.mode = asked["losses"], asked["mode"]
                relay.payments.clear()
            return {"evil": evil_state["payments"], "relay": relay.payments, "scripted": scripted.payments}

        def set_situation(asked):
            scheme, amount, extra = TERMS[asked["kind"]]
            if "another contract" in asked["situation"] and asked["kind"] == "permit2-upto":
                extra = {"facilitatorAddress": MULTICALL}
            token = fee_token if "fee" in asked["situation"] else None
            terms = chain.terms(scheme, scripted.wallet, amount, token=token, **extra)
            scripted.terms = terms.model_dump(mode="json", by_alias=True)
            scripted.earlier = asked.get("earlier")
            scripted.payments.clear()
            scripted.script = scripts(chain, scripted, Account.from_key(asked["payer"]))[asked["situation"]]
            return {"rpc": blind if "no traces" in asked["situation"] else rpc}

        def control(handler):
            asked = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
            if "buyer" in asked:  # an account with tokens that Permit2 may move
                account = chain.buyer()
                chain.fund(account.address, token=fee_token)
                chain.approve(account, token=fee_token)
                answer = {"key": "0x" + account.key.hex().removeprefix("0x")}
            else:
                answer = command(asked)
            respond(handler, json.dumps(answer).encode(), Content_Type="application/json")

        servers.routes |= {"/control": control, "/echo": relay.answer, "/weather": relay.answer}
        told = {
            "rpc": rpc,
            "chainId": chain.chain_id,
            "registries": {"IdentityRegistry": deployment.identity, "ReputationRegistry": deployment.reputation},
            "deployment": {name: entry["address"] for name, entry in content["contracts"].items()},
            "agent": agent.token_id,
            "seller": SELLER.address,
            "sellerKey": "0x" + SELLER.key.hex().removeprefix("0x"),
            "token": chain.token,
            "facilitator": facilitator,
            "shop": shop,
            "scripted": scripted.url,
            "relay": servers.url,
            "evil": evil.url,
            "evilModes": list(modes),
            "control": servers.url + "/control",
        }
        print(json.dumps(told), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
