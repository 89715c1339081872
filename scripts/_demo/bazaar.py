"""The market of the chapter of buyers: a token, the registry of buyers, a facilitator, an index, and its service."""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import requests
from eth_account import Account
from fastapi import FastAPI
from x402 import x402ClientSync, x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.clients.requests import x402_requests
from x402.http.middleware.fastapi import PaymentMiddlewareASGI
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import register_exact_evm_client, register_exact_evm_server
from x402.mechanisms.evm.signers import EthAccountSigner

from bilateral.api.app import create_app
from bilateral.api.settings import ApiSettings
from bilateral.buyers.anchoring import anchor_states
from bilateral.buyers.credentials import gate_scope
from bilateral.buyers.messages import CredentialRequest, content_hash, domain_of
from bilateral.buyers.policies import BRP, INDEPENDENT, BuyerSettings
from bilateral.buyers.requests import EnrichmentBody
from bilateral.client import Client
from bilateral.core.contracts import Deployment
from bilateral.core.contracts.buyer_terms import BuyerTier, TierCredential
from bilateral.core.signatures import Domain
from bilateral.dev.servers import facilitator_app, serving
from bilateral.index.log.database import open_database
from bilateral.index.operating.settings import ChainSettings
from bilateral.index.operating.worker import Worker
from bilateral.index.payments.terms import PaymentTerms
from bilateral.index.reading.registries import AgentKey
from bilateral.x402.server.discounts import BuyerPricing, service_lookup
from scripts._payments import sign_payment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ape.contracts import ContractInstance
    from eth_account.signers.local import LocalAccount

    from bilateral.x402.server.discounts import ProofDiscounts
    from scripts._demo.stage import Stage

DOLLAR = 1_000_000
PRICE = 6 * DOLLAR
DISCOUNTS = {"verified": 5, "trusted": 10}

_KEY = "BILATERAL_DEMO_ATTESTOR"
_SECONDS = 30
_GAS = 200_000


class Bazaar:
    """A market with the registry of buyers. Close it in the end.

    Args:
        stage: The stage.
        folder: A folder for the index.
    """

    def __init__(self, stage: Stage, folder: str) -> None:
        """Deploy the token and the registry."""
        self.stage = stage
        identity, deployer = stage.registry("IdentityRegistry"), stage.account("deployer")
        self.token: ContractInstance = deployer.deploy(stage.contract("MockPaymentToken"))
        roles = stage.account("attestor"), stage.account("anchorer")
        self.registry: ContractInstance = deployer.deploy(
            stage.contract("BuyerReputationRegistry"), identity, [self.token], *roles
        )
        stage.introduce("BuyerReputationRegistry", self.registry)
        self.deployment = Deployment(
            stage.chain_id,
            identity=identity.address,
            reputation=stage.registry("BidirectionalReputationRegistry").address,
            buyers=self.registry.address,
        )
        self.database = f"sqlite:///{folder}/index.sqlite"
        self._stack = ExitStack()

    def open(self) -> None:
        """Start the facilitator, which settles through the registry, and the service over the index."""
        secret: Any = self.stage.account("facilitator")
        app = facilitator_app(self.stage.url, secret.private_key, self.network, str(self.registry.address))
        self.facilitator = self._stack.enter_context(serving(app))
        self.index()
        attestor: Any = self.stage.account("attestor")
        os.environ[_KEY] = attestor.private_key
        self._stack.callback(os.environ.pop, _KEY, None)
        buyers = BuyerSettings(key_variable=_KEY, credential_policies=(BRP.name, INDEPENDENT.name))
        nodes = {str(self.stage.chain_id): self.stage.url}
        settings = ApiSettings(database=self.database, rate=None, buyers=buyers, nodes=nodes, allow_private=True)
        self.service = self._stack.enter_context(serving(create_app(settings)))

    def close(self) -> None:
        """Stop all servers."""
        self._stack.close()

    @property
    def network(self) -> str:
        """The network (CAIP-2)."""
        return f"eip155:{self.stage.chain_id}"

    def key(self, role: str) -> LocalAccount:
        """Return the key of a role's account."""
        account: Any = self.stage.account(role)
        key: LocalAccount = Account.from_key(account.private_key)
        return key

    def fund(self, role: str, dollars: int) -> None:
        """Give an account dollars of the token."""
        self.token.mint(self.stage.account(role), dollars * DOLLAR, sender=self.stage.account("deployer"))

    def balance(self, role: str) -> int:
        """Return the millionths of a dollar that an account has."""
        return int(self.token.balanceOf(self.stage.account(role)))

    def settled(self, role: str) -> tuple[int, int]:
        """Return the number of an account's settled payments on chain, and their sum."""
        payments, volume, *_ = self.registry.recordsOf(self.stage.account(role))[0]
        return int(payments), int(volume)

    def index(self) -> None:
        """Index the chain with its payments, up to its head."""
        engine = open_database(self.database)
        terms = PaymentTerms({str(self.token.address): 6})
        chain = ChainSettings((self.stage.url,), (self.deployment,), payments=terms)
        Worker(engine, chain, stop=threading.Event()).run(until_head=True)
        engine.dispose()

    def profile(self, role: str, policy: str = "brp-1.0") -> dict[str, Any]:
        """Ask the service for the profile of an account."""
        url = f"{self.service}/api/buyer/{self.stage.account(role).address}"
        answer = requests.get(url, params={"policy": policy}, timeout=_SECONDS)
        answer.raise_for_status()
        profile: dict[str, Any] = answer.json()
        return profile

    def anchor(self, policies: Sequence[str]) -> int:
        """Store the states of all buyers and post their root, as the service's operator does. Return the epoch."""
        engine = open_database(self.database)
        with Client(self.stage.url, signer=self.key("anchorer"), deployment=self.deployment) as client:
            epoch = anchor_states(engine, client, policies)
        engine.dispose()
        self.index()
        return epoch

    def anchored(self, role: str) -> dict[str, Any]:
        """Ask the service for the anchored state of an account, with its proof."""
        url = f"{self.service}/api/buyer/{self.stage.account(role).address}/anchor"
        answer = requests.get(url, timeout=_SECONDS)
        answer.raise_for_status()
        content: dict[str, Any] = answer.json()
        return content

    def credential(self, role: str, holder: str, gate: ContractInstance) -> tuple[TierCredential, bytes]:
        """Ask the service for a credential of an account's tier for another address at a gate, as the account signs."""
        buyer: Any = self.stage.account(role).address
        fresh: Any = self.stage.account(holder).address
        expires_at = int(time.time()) + _SECONDS
        scope = gate_scope(self.stage.chain_id, gate.address)
        wish = CredentialRequest(buyer, fresh, BRP.name, scope, self.stage.chain_id, expires_at)
        signature = bytes(self.key(role).sign_message(wish.signable(domain_of(self.stage.chain_id))).signature)
        body = {"holder": fresh, "chainId": self.stage.chain_id, "policy": BRP.name, "expiresAt": expires_at}
        body["scope"] = f"0x{scope.hex()}"
        url = f"{self.service}/api/buyer/{buyer}/credential"
        answer = requests.post(url, json={**body, "signature": f"0x{signature.hex()}"}, timeout=_SECONDS)
        answer.raise_for_status()
        message: dict[str, Any] = answer.json()["message"]
        policy, scope, pseudonym = (bytes.fromhex(message[name][2:]) for name in ("policy", "scope", "pseudonym"))
        terms = (
            message["holder"],
            message["issuedAt"],
            message["validUntil"],
            policy,
            BuyerTier.of_level(message["tier"]),
        )
        credential = TierCredential(*terms, scope, pseudonym)
        return credential, bytes.fromhex(answer.json()["signature"][2:])

    def offer(self, role: str, agent: int) -> dict[str, Any]:
        """Publish the discounts of a seller, signed by it. Return the answer of the service."""
        seller = AgentKey(self.stage.chain_id, self.deployment.identity, agent, ())
        incentives = {"enabled": True, "discounts": DISCOUNTS}
        body: dict[str, Any] = {"globalId": seller.global_id, "serviceName": "audit", "buyerIncentives": incentives}
        body["issuedAt"] = int(time.time())
        unsigned = EnrichmentBody.model_validate({**body, "signature": "0x00"})
        message = unsigned.message(seller, content_hash(body))
        domain = Domain(self.stage.chain_id, self.deployment.identity)  # type: ignore[arg-type]  # it is checksummed
        signature = bytes(self.key(role).sign_message(message.signable(domain)).signature)
        signed = {**body, "signature": f"0x{signature.hex()}"}
        answer: dict[str, Any] = requests.post(
            f"{self.service}/api/agent/enrichment", json=signed, timeout=_SECONDS
        ).json()
        return answer

    def shop(self, role: str, agent: int, proofs: ProofDiscounts | None = None) -> FastAPI:
        """Make the server of a seller, which asks the service for the discount of each buyer, and may take proofs."""
        lookup = service_lookup(f"{self.service}/api/buyer", f"{self.network}:{self.deployment.identity}#{agent}")
        domain = {"name": "Test Dollar", "version": "2"}
        pricing = BuyerPricing(lookup, str(self.token.address), PRICE, domain, proofs=proofs)
        server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=self.facilitator)))
        register_exact_evm_server(server, self.network)
        server.on_before_verify(pricing.check_payer)
        wallet = str(self.stage.account(role).address)
        option = PaymentOption(scheme="exact", network=self.network, pay_to=wallet, price=pricing.price)
        app = FastAPI()

        @app.get("/audit")
        def audit() -> dict[str, str]:
            return {"audit": "no findings"}

        app.add_middleware(PaymentMiddlewareASGI, routes={"GET /audit": RouteConfig(option)}, server=server)
        return app

    def session(self, role: str) -> requests.Session:
        """Return the HTTP session of a buyer, with the unchanged client of the x402 SDK."""
        payer = x402ClientSync().set_spend_controls(False)
        register_exact_evm_client(payer, EthAccountSigner(self.key(role)))
        return x402_requests(payer)

    def wash(self, role: str, friend: str, amount: int, times: int) -> None:
        """Pay a friend's agent, and get the money back, many times. The friend sends all, in one block."""
        buyer, seller = self.stage.account(role), self.stage.account(friend)
        back = self.token.transfer.encode_input(buyer, amount)
        self.stage.ask("evm_setAutomine", False)
        for number in range(times):
            payment = sign_payment(self.token, self.stage.chain_id, buyer, str(seller.address), amount, number)
            settlement = self.registry.settle.encode_input(*payment.settled_in(self.token, in_parts=True))
            self._send(seller.address, self.registry, settlement)
            self._send(seller.address, self.token, back)
        self.stage.ask("evm_mine")
        self.stage.ask("evm_setAutomine", True)

    def _send(self, sender: str, target: ContractInstance, data: bytes) -> None:
        """Let the local chain send a transaction for one of its accounts."""
        call = {"from": sender, "to": str(target.address), "data": f"0x{data.hex()}", "gas": hex(_GAS)}
        self.stage.ask("eth_sendTransaction", call)


def price_in(response: requests.Response) -> int:
    """Return the amount that a refusal asks for, in millionths of a dollar.

    Args:
        response: The answer with status 402.
    """
    return int(required_in(response)["accepts"][0]["amount"])


def required_in(response: requests.Response) -> dict[str, Any]:
    """Return the terms that a refusal names.

    Args:
        response: The answer with status 402.
    """
    parsed: dict[str, Any] = json.loads(base64.b64decode(response.headers["payment-required"]))
    return parsed
