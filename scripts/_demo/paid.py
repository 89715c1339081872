"""Chapter: a client pays an agent for an answer, checks it, and rates; thieves get nothing."""

from __future__ import annotations

import logging
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import httpx
import requests
from eth_account import Account
from fastapi import Depends, FastAPI
from x402 import x402ClientSync, x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient, decode_payment_required_header
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import register_exact_evm_client, register_exact_evm_server
from x402.mechanisms.evm.signers import EthAccountSigner

from bilateral.api.aggregator import FEEDBACK_PATH
from bilateral.api.app import create_app
from bilateral.api.settings import ApiSettings
from bilateral.client import Client
from bilateral.core.contracts import Deployment
from bilateral.core.identifiers import GlobalAgentId
from bilateral.dev.servers import facilitator_app, serving
from bilateral.documents import RegistrationFile
from bilateral.index.log.database import open_database
from bilateral.x402 import (
    REPUTATION_8004,
    RESPONSE_DELAYED,
    AsyncVerifier,
    CheckName,
    Outcome,
    Preflight,
    Reputation8004ResourceServerExtension,
    Secp256k1Key,
    VerifiedClient,
    Verifier,
    declare_8004_reputation,
    give_paid_feedback,
    protect_client,
)
from bilateral.x402.aggregator.client import give_sponsored_feedback
from bilateral.x402.aggregator.settings import AggregatorSettings, SponsoredChain
from bilateral.x402.clients.requests import verification_of, verifying_session
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.gate import rate_client, reputable_client

if TYPE_CHECKING:
    from ape.api import AccountAPI
    from ape.contracts import ContractInstance
    from eth_account.signers.local import LocalAccount

    from bilateral.x402 import PaidRequest, Verification
    from scripts._demo.stage import Stage

PRICE, FUNDS = 1_000, 1_000_000
SCORE, RATING, MINIMUM = 95, 88, 70
KEY = Secp256k1Key(bytes(range(1, 33)))


class RecordingVerifier(Verifier):
    """A verifier that remembers the paid requests, so that the story can tamper with them."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """See `Verifier`."""
        super().__init__(*arguments, **options)
        self.seen: list[PaidRequest] = []

    def verify(self, paid: PaidRequest, *, historical: bool = False) -> Verification:
        """Remember the request, then check it."""
        self.seen.append(paid)
        return super().verify(paid, historical=historical)


@dataclass
class Market:
    """A token, a facilitator, and the parties of the trade."""

    stage: Stage
    deployment: Deployment
    token: ContractInstance
    facilitator: str
    agent: int = 0
    served: list[VerifiedClient | None] = field(default_factory=list)

    @property
    def network(self) -> str:
        """The network (CAIP-2)."""
        return f"eip155:{self.stage.chain_id}"

    def registries(self, role: str) -> Client:
        """Return the SDK client of a role."""
        return Client(self.stage.url, signer=self.key(role), deployment=self.deployment, poll_interval=0.05)

    def key(self, role: str) -> LocalAccount:
        """Return the key of a role's account."""
        account: Any = self.stage.account(role)
        key: LocalAccount = Account.from_key(account.private_key)
        return key

    def fund(self, role: str = "client") -> None:
        """Give a buyer a million units of the token, if it has less than one request costs."""
        client = self.stage.account(role)
        if self.token.balanceOf(client) < PRICE:
            self.token.mint(client, FUNDS, sender=self.stage.account("deployer"))

    def shop(self, pay_to: AccountAPI, declaration: dict[str, Any], preflight: Preflight | None = None) -> FastAPI:
        """Make a server that sells a forecast."""
        app = FastAPI()
        gate = AsyncVerifier({self.stage.url: self.deployment})
        reputable = Depends(reputable_client(gate, server_agent=self.agent, minimum=MINIMUM))

        @app.get("/weather")
        async def weather(standing: VerifiedClient | None = reputable) -> dict[str, str]:
            self.served.append(standing)
            return {"city": "Oslo", "weather": "snow"}

        server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=self.facilitator)))
        register_exact_evm_server(server, self.network)
        server.register_extension(Reputation8004ResourceServerExtension(KEY))
        domain = {"name": "Test Dollar", "version": "2"}
        price: Any = {"asset": self.token.address, "amount": str(PRICE), "extra": domain}
        option = PaymentOption(scheme="exact", network=self.network, pay_to=str(pay_to.address), price=price)
        routes = {"GET /weather": RouteConfig(option, extensions=declaration)}
        app.add_middleware(ReputationMiddleware, routes=routes, server=server, preflight=preflight)
        return app


def play(stage: Stage) -> None:
    """Sell and buy a forecast, with all checks; then let servers cheat.

    Args:
        stage: The stage.
    """
    logging.getLogger("x402").setLevel(logging.CRITICAL)
    # Servers that cheat in this story have no preflight, and would warn that nothing checks them at start.
    logging.getLogger("bilateral.x402").setLevel(logging.ERROR)
    stage.chapter("A paid request")
    deployment = Deployment(
        stage.chain_id,
        identity=stage.registry("IdentityRegistry").address,
        reputation=stage.registry("BidirectionalReputationRegistry").address,
    )
    token = stage.account("deployer").deploy(stage.contract("MockPaymentToken"))
    secret: Any = stage.account("facilitator")
    with ExitStack() as stack:
        app = facilitator_app(stage.url, secret.private_key, f"eip155:{stage.chain_id}")
        market = Market(stage, deployment, token, stack.enter_context(serving(app)))
        open_shop(market)
        honest = declare_8004_reputation(market.agent, deployment)
        verifier = stack.enter_context(RecordingVerifier({stage.url: deployment}))
        shop = market.shop(stage.account("forecaster"), honest, Preflight(verifier))
        url = stack.enter_context(serving(shop)) + "/weather"
        _trade(market, url, verifier)
        _review(market, url, verifier)
        _cheat(market, url, verifier)


def open_shop(market: Market) -> None:
    """Register the seller with its signing key, and fund the buyer."""
    stage, identity = market.stage, market.stage.registry("IdentityRegistry")
    with stage.step("A forecaster registers an agent whose file lists the key that signs its answers.") as step:
        signer = {"publicKey": KEY.public_key, "algorithm": "secp256k1", "role": "delegate", "validFrom": 0}
        image = "https://forecaster.example/image.png"
        file = RegistrationFile.new("Forecaster", "It forecasts", image, signers=[{**signer, "validUntil": None}])
        with market.registries("forecaster") as registries:
            agent = registries.register_agent().wait().agent
            registries.set_agent_uri(agent, file=file).wait()
            registries.set_primary_agent(agent).wait()
        market.agent = agent.token_id
        step.check("owner", identity.ownerOf(market.agent), stage.account("forecaster"))
        step.check("wallet", identity.getAgentWallet(market.agent), stage.account("forecaster"))
    with stage.step("The client gets a million units of a token with transfers by signature.") as step:
        market.fund()
        step.check("balance", market.token.balanceOf(stage.account("client")), FUNDS)


def session(market: Market, verifier: Verifier, role: str = "client") -> requests.Session:
    """Return a buyer's HTTP session, which checks, pays and verifies."""
    payer = x402ClientSync().set_spend_controls(False)
    register_exact_evm_client(payer, EthAccountSigner(market.key(role)))
    client_agent = GlobalAgentId(market.deployment.agent_registry, str(market.stage.agents[role]))
    return verifying_session(protect_client(payer, verifier, client_agent=client_agent), verifier)


def _trade(market: Market, url: str, verifier: Verifier) -> None:
    """Ask, check, pay, verify, give feedback, and be rated."""
    stage, client = market.stage, market.stage.account("client")
    with stage.step("Unpaid, a request gets 402, the price, and the agent that would be paid.") as step:
        response = requests.get(url, timeout=30)
        required: Any = decode_payment_required_header(response.headers["payment-required"])
        declared = required.extensions[REPUTATION_8004]["info"]["registrations"][0]["agentId"]
        step.check("status", response.status_code, 402)
        step.check("price", required.accepts[0].amount, str(PRICE))
        step.check("agent", declared, str(market.agent))
    with stage.step("The client compares payTo with the agent's wallet, signs the payment, and is served.") as step:
        response = session(market, verifier).get(url)
        verification = verification_of(response)
        step.check("status", response.status_code, 200)
        step.check("weather", response.json()["weather"], "snow")
        step.check("paid", FUNDS - market.token.balanceOf(client), PRICE)
    if verification is None or verification.payment is None:
        return
    with stage.step("It verifies the proof: settlement, agent, bodies, payment, wallet, file, key, signature.") as step:
        step.check("problems", "; ".join(verification.problems), "")
        passed = sum(check.outcome is Outcome.PASSED for check in verification.checks)
        step.check("checks that passed", passed, len(CheckName))
        step.check("payee", verification.payment.payee, stage.account("forecaster"))
    with stage.step("It gives feedback that names the payment, with both signatures.") as step:
        with market.registries("client") as registries:
            entry = give_paid_feedback(registries, verification, SCORE, market.key("client")).wait()
        value, _, tag1, tag2, _ = stage.registry("BidirectionalReputationRegistry").readFeedback(
            market.agent, client, entry.id.on_chain_index
        )
        step.check("value", value, SCORE)
        step.check("tags", f"{tag1}, {tag2}", "x402-resource-delivered, proof-of-participation")
    standing = market.served[-1]
    with stage.step("The forecaster, which checked that the client is who it says, rates it in return.") as step:
        if standing is not None:
            with market.registries("forecaster") as registries:
                rate_client(registries, standing, RATING).wait()
        ratings = stage.registry("BidirectionalReputationRegistry")
        rating = tuple(ratings.getClientRating(stage.agents["client"], market.agent))
        step.check("rating", rating, (True, RATING))


def _review(market: Market, url: str, verifier: RecordingVerifier) -> None:
    """Buy another forecast, and review it without paying gas."""
    verification = verification_of(session(market, verifier).get(url))
    if verification is not None:
        review(market, verification)


def _cheat(market: Market, url: str, verifier: RecordingVerifier) -> None:
    """Let servers cheat in four ways."""
    stage, thief = market.stage, market.stage.account("thief")
    honest = declare_8004_reputation(market.agent, market.deployment)
    with stage.step("A thief has taken over the server, and asks to be paid itself.") as step:
        step.check("refused", _refusal(market, market.shop(thief, honest), verifier), "payment_address_mismatch")
        step.check("the thief has", market.token.balanceOf(thief), 0)
    with stage.step("It deploys registries of its own, in which its wallet is the agent's.") as step:
        fake = thief.deploy(stage.contract("IdentityRegistry"))
        reputation = thief.deploy(stage.contract("BidirectionalReputationRegistry"), fake)
        fake.register(sender=thief)
        forged = declare_8004_reputation(1, Deployment(stage.chain_id, str(fake.address), str(reputation.address)))
        step.check("its wallet there", fake.getAgentWallet(1), thief)
        step.check("refused", _refusal(market, market.shop(thief, forged), verifier), "unknown_registry")
        step.check("the thief has", market.token.balanceOf(thief), 0)
    paid = verifier.seen[0]
    with stage.step("Somebody changes the answer on its way.") as step:
        step.check("failed", _failed(verifier, replace(paid, response=b'{"weather":"sun"}')), "interaction_hash")
    with stage.step("The server repeats an old proof instead of signing the new answer.") as step:
        session(market, verifier).get(url)
        newer, settlement = verifier.seen[-1], dict(paid.settlement or {})
        replayed = replace(newer, settlement={**(newer.settlement or {}), "extensions": settlement["extensions"]})
        step.check("failed", _failed(verifier, replayed), "task_ref, payment")


def _refusal(market: Market, app: FastAPI, verifier: Verifier) -> str:
    """Return the code with which the client refuses to pay a server."""
    with serving(app) as url:
        try:
            session(market, verifier).get(url + "/weather")
        except Exception as error:  # noqa: BLE001  # the SDK raises its own errors around ours
            return str(error).rpartition("aborted: ")[2].partition(":")[0]
    return "not refused"


def _failed(verifier: Verifier, paid: PaidRequest) -> str:
    """Return the names of the checks that a paid request fails."""
    checks = Verifier.verify(verifier, paid).checks
    return ", ".join(check.name for check in checks if check.outcome is Outcome.FAILED)


LATE_SCORE, SMALLEST_PAYMENT, BUDGET = 40, 1_000, 10**18
SECONDS = 30


def review(market: Market, verification: Verification) -> None:
    """Review a paid answer through an aggregator.

    Args:
        market: The market.
        verification: The verification of the answer.
    """
    stage, client = market.stage, market.stage.account("client")
    chain = SponsoredChain(
        stage.url,
        market.deployment,
        market.key("sponsor"),
        {str(market.token.address): SMALLEST_PAYMENT},
        budget=BUDGET,
        confirmations=1,
        poll_seconds=0.05,
    )
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        database = f"sqlite:///{folder}/index.sqlite"
        open_database(database).dispose()
        app = create_app(ApiSettings(database=database, rate=None, aggregator=AggregatorSettings((chain,))))
        http = stack.enter_context(httpx.Client(base_url=stack.enter_context(serving(app)), timeout=SECONDS))
        with stage.step("For a late answer it signs a review, and an aggregator checks it and pays the gas.") as step:
            ether = client.balance
            with market.registries("client") as registries:
                taken = give_sponsored_feedback(
                    registries,
                    verification,
                    LATE_SCORE,
                    market.key("client"),
                    RESPONSE_DELAYED,
                    aggregator=FEEDBACK_PATH,
                    send_bodies=True,
                    http=http,
                )
            state = _confirmed(http, taken.id)
            step.check("proof", taken.proof, "bound")
            step.check("state", state, "confirmed")
            step.check("ether that the client spent", ether - client.balance, 0)
        with stage.step("Everybody reads in its log that it takes bad reviews, too.") as step:
            (entry,) = http.get(FEEDBACK_PATH).json()["items"]
            step.check("value", entry["value"], LATE_SCORE)
            step.check("transaction", entry["transaction"], taken.transaction)


def _confirmed(http: httpx.Client, number: int) -> str:
    """Wait until a feedback is confirmed, and return its state."""
    end = time.monotonic() + SECONDS
    while True:
        state = str(http.get(f"{FEEDBACK_PATH}/{number}").json()["state"])
        if state in {"confirmed", "failed"} or time.monotonic() > end:
            return state
        time.sleep(0.05)
