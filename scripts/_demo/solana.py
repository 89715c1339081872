"""Chapter: an agent on two chains is paid on Solana, and rated here; a sold agent pays its former owner nothing."""

from __future__ import annotations

import logging
import warnings
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, cast

import requests
from eth_account import Account
from fastapi import FastAPI
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from x402 import x402ClientSync, x402FacilitatorSync, x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.svm import FacilitatorKeypairSigner, KeypairSigner
from x402.mechanisms.svm.exact import (
    register_exact_svm_client,
    register_exact_svm_facilitator,
    register_exact_svm_server,
)

from bilateral.checks import LiveCheck, check_solana_server
from bilateral.client import Client
from bilateral.core.contracts import Deployment
from bilateral.core.identifiers import AccountId, GlobalAgentId
from bilateral.dev.servers import facilitator_app_of, serving
from bilateral.documents import RegistrationFile
from bilateral.solana.addresses import MAINNET, SATI
from bilateral.solana.identity import SatiIdentity
from bilateral.x402 import (
    AgentRegistration,
    CheckName,
    Ed25519Key,
    Outcome,
    Reputation8004ResourceServerExtension,
    Verifier,
    protect_client,
)
from bilateral.x402.clients.cross_chain_feedback import give_cross_chain_feedback, is_signed_by_payer
from bilateral.x402.clients.requests import verification_of, verifying_session
from bilateral.x402.proof.solana import SolanaReader, declare_solana_reputation
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.confirmation import confirm_settlement
from simulation.solana.node import Node
from simulation.solana.node import serving as serving_node
from simulation.solana.world import World

if TYPE_CHECKING:
    from eth_account.signers.local import LocalAccount

    from scripts._demo.stage import Stage

PRICE, FUNDS, SCORE = 1_000, 1_000_000, 90
KEY = Ed25519Key(bytes(range(2, 34)))


class Twin:
    """An agent with a registration on the story's chain and one on Solana, its seller, and its buyer.

    Args:
        stage: The stage.
        stack: Closes what the chapter opens.
    """

    def __init__(self, stage: Stage, stack: ExitStack) -> None:
        """Start a chain of Solana with SATI's registry, a token and a facilitator."""
        self.stage = stage
        self.node = cast("Any", Node())
        self.rpc: str = stack.enter_context(serving_node(self.node))
        self.world = cast("Any", World(self.node))
        self.seller, self.buyer, self.payer = Keypair(), Keypair(), Keypair()
        self.token = self.world.asset()
        for account in (self.seller, self.payer):
            self.world.fund(account.pubkey())
        self.world.give(self.token, self.seller.pubkey())
        self.world.give(self.token, self.payer.pubkey(), FUNDS)
        self.deployment = Deployment(
            stage.chain_id,
            identity=stage.registry("IdentityRegistry").address,
            reputation=stage.registry("BidirectionalReputationRegistry").address,
        )
        self.reader = SolanaReader(self.rpc, MAINNET)
        self.verifier = stack.enter_context(Verifier({}, readers=[self.reader]))
        facilitator, key = x402FacilitatorSync(), Keypair()
        self.world.fund(key.pubkey())
        register_exact_svm_facilitator(facilitator, FacilitatorKeypairSigner(key, self.rpc), MAINNET)
        self.facilitator = stack.enter_context(serving(facilitator_app_of(facilitator)))
        self.mint, self.agent = "", GlobalAgentId(self.deployment.agent_registry, "0")

    def registries(self, role: str) -> Client:
        """Return the SDK client of a role on the story's chain."""
        return Client(self.stage.url, signer=self.key(role), deployment=self.deployment, poll_interval=0.05)

    def key(self, role: str) -> LocalAccount:
        """Return the key of a role's account on the story's chain."""
        account: Any = self.stage.account(role)
        key: LocalAccount = Account.from_key(account.private_key)
        return key

    def check(self, pay_to: str) -> LiveCheck:
        """Ask both nodes about the agent."""
        with self.registries("client") as registries:
            clients = {str(self.deployment.agent_registry.chain): registries}
            return check_solana_server(f"{MAINNET}:{self.mint}", self.rpc, pay_to=pay_to, clients=clients)

    def shop(self, pay_to: str) -> FastAPI:
        """Make a server that sells a forecast on Solana, and declares both registrations."""
        app = FastAPI()

        @app.get("/weather")
        async def weather() -> dict[str, str]:
            return {"city": "Oslo", "weather": "sleet"}

        client = HTTPFacilitatorClient(FacilitatorConfig(url=self.facilitator))
        server = x402ResourceServer(confirm_settlement(client, self.rpc, MAINNET))
        register_exact_svm_server(server, MAINNET)
        server.register_extension(Reputation8004ResourceServerExtension(KEY))
        price: Any = {"asset": str(self.token), "amount": str(PRICE), "extra": {}}
        option = PaymentOption(scheme="exact", network=MAINNET, pay_to=pay_to, price=price, max_timeout_seconds=600)
        here = AgentRegistration(self.agent, AccountId(self.agent.registry.chain, str(self.deployment.reputation)))
        declared = declare_solana_reputation(self.mint, MAINNET, here)
        app.add_middleware(
            ReputationMiddleware, routes={"GET /weather": RouteConfig(option, extensions=declared)}, server=server
        )
        return app

    def session(self) -> requests.Session:
        """Return the buyer's HTTP session, which checks, pays on Solana and verifies."""
        client = x402ClientSync().set_spend_controls(False)
        register_exact_svm_client(client, KeypairSigner(self.payer), rpc_url=self.rpc)
        return verifying_session(protect_client(client, self.verifier), self.verifier)

    def balance(self) -> int:
        """Return the buyer's tokens."""
        account = self.world.give(self.token, self.payer.pubkey())
        return int.from_bytes(bytes(self.node.vm.get_account(account).data)[64:72], "little")


def play(stage: Stage) -> None:
    """Register an agent on both chains, pay it on Solana and rate it here; then sell it.

    Args:
        stage: The stage.
    """
    # The SDK's Solana half uses a client that its own library has deprecated, and says so at each payment.
    warnings.filterwarnings("ignore", message="Client is deprecated", category=FutureWarning)
    logging.getLogger("bilateral.x402").setLevel(logging.ERROR)  # no server checks itself at start, as in "paid"
    stage.chapter("An agent on two chains")
    with ExitStack() as stack:
        twin = Twin(stage, stack)
        _register(twin)
        _buy(twin, stack)
        _sell(twin)


def _register(twin: Twin) -> None:
    """Register the agent on both chains, with one file that names both."""
    stage, seller = twin.stage, str(twin.seller.pubkey())
    with stage.step("A forecaster registers one agent with SATI on Solana and one here. One file names both.") as step:
        twin.mint = str(twin.world.register(twin.seller))
        entry = {"agentRegistry": f"{MAINNET}:{SATI}", "agentId": twin.mint}
        signer = {"publicKey": KEY.public_key, "algorithm": "ed25519", "role": "delegate"}
        signers = [{**signer, "validFrom": 0, "validUntil": None}]
        image = "https://twin.example/i.png"
        file = RegistrationFile.new("Twin", "It forecasts", image, registrations=[entry], signers=signers)
        with twin.registries("forecaster") as registries:
            registered = registries.register_agent().wait().agent
            registries.set_agent_uri(registered, file=file).wait()
            uri = str(registries.load_agent(registered).uri)
        twin.agent = GlobalAgentId(twin.deployment.agent_registry, str(registered.token_id))
        with SatiIdentity(twin.rpc, MAINNET, bytes(twin.seller)) as identity:
            identity.set_uri(twin.mint, uri)
            step.check("holder on Solana", identity.agent(twin.mint).holder, seller)
            step.check("one file", identity.agent(twin.mint).uri == uri, True)
    with stage.step("The client asks both chains before it pays: both registration files list each other.") as step:
        check = twin.check(seller)
        step.check("also here", ", ".join(other.proof for other in check.also), "both_ways")
        step.check("verdict", check.verdict, "caution")
        reasons = ", ".join(str(reason.code) for reason in check.reasons)
        step.check("reasons", reasons, "no_ratings, payment_not_offered, also_proven")


def _buy(twin: Twin, stack: ExitStack) -> None:
    """Pay on Solana, verify, and rate on the story's chain with the payment as proof."""
    stage = twin.stage
    url = stack.enter_context(serving(twin.shop(str(twin.seller.pubkey())))) + "/weather"
    with stage.step("It pays on Solana, and verifies the answer there.") as step:
        response = twin.session().get(url)
        verification = verification_of(response)
        step.check("status", response.status_code, 200)
        step.check("paid", FUNDS - twin.balance(), PRICE)
        if verification is not None:
            step.check("problems", "; ".join(verification.problems), "")
            passed = sum(check.outcome is Outcome.PASSED for check in verification.checks)
            step.check("checks that passed", passed, len(CheckName))
    if verification is None:
        return
    with stage.step("It rates the agent here. The payment on Solana is the proof, and its payer signs that.") as step:
        client, payer = stage.account("client"), Ed25519Key(twin.payer.secret())
        with twin.registries("client") as registries:
            key = twin.key("client")
            entry = give_cross_chain_feedback(registries, verification, twin.agent, SCORE, key, payer).wait()
            (feedback,) = registries.search_feedback(twin.agent, reviewers=[key.address], load_files=True)
        value = stage.registry("BidirectionalReputationRegistry").readFeedback(
            int(twin.agent.agent), client, entry.id.on_chain_index
        )[0]
        step.check("value", value, SCORE)
        if feedback.file is not None and verification.interaction is not None:
            is_named = feedback.file.payment_reference == verification.interaction.task_ref
            step.check("names the payment", is_named, True)
            step.check("signed by the payer", is_signed_by_payer(feedback.file), True)


def _sell(twin: Twin) -> None:
    """Sell the agent by a plain transfer, and let its former owner redirect the wallet."""
    stage, seller = twin.stage, str(twin.seller.pubkey())
    before = twin.balance()
    with stage.step("The forecaster sells the agent on Solana, and still names its own wallet there.") as step:
        twin.world.transfer_agent(Pubkey.from_string(twin.mint), twin.seller, twin.buyer)
        twin.world.set_field(twin.seller, Pubkey.from_string(twin.mint), "agentWallet", f"{MAINNET}:{seller}")
        step.check("refused", _refusal(twin), "authority_mismatch")
        step.check("verdict", twin.check(seller).verdict, "decline")
        step.check("paid", before - twin.balance(), 0)


def _refusal(twin: Twin) -> str:
    """Return the code with which the client refuses to pay the former owner."""
    with serving(twin.shop(str(twin.seller.pubkey()))) as url:
        try:
            twin.session().get(url + "/weather")
        except Exception as error:  # noqa: BLE001  # the SDK raises its own errors around ours
            return str(error).rpartition("aborted: ")[2].partition(":")[0]
    return "not refused"
