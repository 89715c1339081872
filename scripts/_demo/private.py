"""Chapter: a good buyer gets its discount from a fresh wallet, and shows its tier and nothing else."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import requests

from bilateral.buyers.policies import INDEPENDENT
from bilateral.buyers.private.errors import NotAMemberError, TierProofRefusedError, TooFewMembersError
from bilateral.buyers.private.members import post_tiers
from bilateral.buyers.private.prover import Prover
from bilateral.buyers.private.proving import LEAST_MEMBERS, fetch_list, identity_secret, join_tiers, prove_tier
from bilateral.buyers.private.terms import private_agent_scope
from bilateral.buyers.private.verifying import TierVerifier, on_chain
from bilateral.client import Client
from bilateral.core.contracts.buyer_terms import BuyerTier, policy_hash
from bilateral.dev.servers import serving
from bilateral.index.log.database import open_database
from bilateral.x402.server.tier_proofs import ProofDiscounts, proof_headers
from scripts._build import ROOT
from scripts._demo.bazaar import DOLLAR, PRICE, price_in
from scripts._payments import sign_payment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bilateral.buyers.private.terms import TierProof
    from scripts._demo.bazaar import Bazaar

POLICY = INDEPENDENT.name
TRUSTED_PRICE = PRICE * 90 // 100
PAYMENTS = 3

_SELLER, _BUYER, _FALLEN = "auditor", "buyer", "buyer with a refund"
_FRESH, _SECOND, _THIEF = "fresh wallet", "second wallet", "thief of the proof"
_SECONDS = 30


def play(bazaar: Bazaar, agent: int) -> None:
    """Let the trusted buyer of the market use its tier from a fresh wallet.

    Args:
        bazaar: The market, with a trusted buyer.
        agent: The seller's agent.
    """
    bazaar.stage.chapter("Private tiers")
    market = _PrivateMarket(bazaar, agent)
    market.deploy()
    market.join()
    with market.client() as client:
        verifier = TierVerifier(
            on_chain(client), policy=policy_hash(POLICY), scope=market.scope, minimum=BuyerTier.TRUSTED
        )
        market.refuse_to_prove(client)
        market.use(client, verifier)


class _PrivateMarket:
    """The market with the contract of private proofs."""

    def __init__(self, bazaar: Bazaar, agent: int) -> None:
        self._bazaar, self._stage, self._agent = bazaar, bazaar.stage, agent
        self._prover = Prover(ROOT / ".cache" / "prover")
        self._deployment = bazaar.deployment
        self._document = b""

    @contextmanager
    def client(self, role: str | None = None) -> Iterator[Client]:
        """Return the SDK's client of a role, which knows the contract of proofs."""
        signer = None if role is None else self._bazaar.key(role)
        with Client(self._stage.url, signer=signer, deployment=self._deployment) as client:
            yield client

    def scope(self, day: int) -> bytes:
        """Return the seller's scope."""
        identity = self._deployment.identity
        return private_agent_scope(self._stage.chain_id, identity, self._agent, policy_hash(POLICY), day)

    def deploy(self) -> None:
        """Deploy the contract of proofs with Semaphore's verifier."""
        stage, deployer = self._stage, self._stage.account("deployer")
        with stage.step(
            "The contract of private proofs stands beside the registry, with Semaphore's verifier."
        ) as step:
            verifier = deployer.deploy(stage.contract("TierProofVerifier"))
            proofs = deployer.deploy(stage.contract("BuyerTierProofs"), self._bazaar.registry, verifier)
            stage.introduce("BuyerTierProofs", proofs)
            self._deployment = replace(self._deployment, tier_proofs=proofs.address)
            step.check("registry", proofs.getBuyerRegistry(), self._bazaar.registry)

    def join(self) -> None:
        """Make two buyers members. One gets its money back, and falls. Post the groups of today."""
        bazaar, stage = self._bazaar, self._stage
        bazaar.fund(_FALLEN, PAYMENTS * PRICE // DOLLAR)
        self._settle_payments()
        with stage.step(
            "Two buyers sign commitments of secrets, which stay with them. The service takes both."
        ) as step:
            for role, tier in ((_BUYER, "trusted"), (_FALLEN, "verified")):
                step.check(role, self._join(role)["tier"], tier)
        with stage.step("The second one gets its money back, which the policy sees. It is new again.") as step:
            bazaar.token.transfer(stage.account(_FALLEN), PAYMENTS * PRICE, sender=stage.account(_SELLER))
            bazaar.index()
            step.check("tier", bazaar.profile(_FALLEN, POLICY)["reputation"]["tier"], "new")
        with stage.step("The service anchors all states, and posts the roots of the groups of today.") as step:
            bazaar.anchor((POLICY,))
            engine = open_database(bazaar.database)
            with self.client("attestor") as attestor:
                posted = post_tiers(engine, attestor, POLICY, self._prover, now=stage.now())
            engine.dispose()
            for tier, members in posted.sizes.items():
                step.check(tier, members, 0 if tier == "premium" else 1)
        self._document = fetch_list(bazaar.service, POLICY, posted.epoch)

    def refuse_to_prove(self, client: Client) -> None:
        """Let the prover refuse a small group, and a buyer whose tier fell."""
        stage = self._stage
        with stage.step("The prover refuses unasked to hide the buyer in a group of one.") as step:
            step.check("refused", self._no_proof(client, _BUYER, BuyerTier.TRUSTED, LEAST_MEMBERS), "too_few_members")
        with stage.step("The buyer with a refund cannot prove the tier from which it fell.") as step:
            step.check("refused", self._no_proof(client, _FALLEN, BuyerTier.VERIFIED, 1), "not_a_member")

    def use(self, client: Client, verifier: TierVerifier) -> None:
        """Use a proof once: from the wallet that it is made for."""
        bazaar, stage = self._bazaar, self._stage
        with stage.step('The buyer proves "at least trusted", for a fresh wallet that nobody knows.') as step:
            proof = self._prove(client, _BUYER, _FRESH, BuyerTier.TRUSTED, 1)
            step.check("tier", proof.minimum.value, "trusted")
            names = [str(stage.account(role).address)[2:].lower() for role in (_BUYER, _FRESH)]
            step.check("names an account", any(name in str(proof.to_json()).lower() for name in names), False)
        bazaar.fund(_FRESH, PRICE // DOLLAR)
        discounts = ProofDiscounts({BuyerTier.TRUSTED: Decimal(10)}, verifier)
        with serving(bazaar.shop(_SELLER, self._agent, discounts)) as url:
            with stage.step("A thief copies the proof before it is used. It is bound to the wallet.") as step:
                step.check("refused", self._refusal(verifier, proof, _THIEF), "proof_refused")
                step.check("price in dollars", self._price(url, proof, _THIEF), PRICE / DOLLAR)
            with stage.step("The fresh wallet pays the price of a trusted buyer. It has no record of its own.") as step:
                before = bazaar.balance(_FRESH)
                with bazaar.session(_FRESH) as session:
                    answer = session.get(self._audit(url, _FRESH), headers=proof_headers(proof), timeout=_SECONDS)
                step.check("status", answer.status_code, 200)
                step.check("paid in dollars", (before - bazaar.balance(_FRESH)) / DOLLAR, TRUSTED_PRICE / DOLLAR)
            with stage.step("The buyer uses its tier a second time today, from a second wallet.") as step:
                step.check("refused", self._refusal(verifier, proof, _SECOND), "tier_already_used")
                step.check("price in dollars", self._price(url, proof, _SECOND), PRICE / DOLLAR)

    def _settle_payments(self) -> None:
        """Settle payments of the buyer that will fall, and index them."""
        stage, bazaar = self._stage, self._bazaar
        seller = stage.account(_SELLER)
        for number in range(PAYMENTS):
            payer = stage.account(_FALLEN)
            payment = sign_payment(bazaar.token, stage.chain_id, payer, str(seller.address), PRICE, number)
            bazaar.registry.settle(*payment.settled_in(bazaar.token, in_parts=True), sender=seller)
        bazaar.index()

    def _join(self, role: str) -> Any:
        key = self._bazaar.key(role)
        return join_tiers(
            self._bazaar.service,
            identity_secret(key),
            key,
            chain_id=self._stage.chain_id,
            policy=POLICY,
            prover=self._prover,
        )

    def _prove(self, client: Client, role: str, holder: str, tier: BuyerTier, least: int) -> TierProof:
        return prove_tier(
            self._document,
            identity_secret(self._bazaar.key(role)),
            tier,
            str(self._stage.account(holder).address),
            client,
            scope=self.scope,
            least_members=least,
            prover=self._prover,
        )

    def _no_proof(self, client: Client, role: str, tier: BuyerTier, least: int) -> str:
        """Return the reason for which the prover makes no proof."""
        try:
            self._prove(client, role, _FRESH, tier, least)
        except (TooFewMembersError, NotAMemberError) as refusal:
            return refusal.reason
        return "not refused"

    def _refusal(self, verifier: TierVerifier, proof: TierProof, role: str) -> str:
        """Return the reason for which the seller refuses a proof that a role shows."""
        try:
            verifier.check(proof, str(self._stage.account(role).address))
        except TierProofRefusedError as refusal:
            return refusal.reason
        return "not refused"

    def _price(self, url: str, proof: TierProof, role: str) -> float:
        """Return the price that a role gets with a proof, in dollars."""
        return price_in(requests.get(self._audit(url, role), headers=proof_headers(proof), timeout=_SECONDS)) / DOLLAR

    def _audit(self, url: str, role: str) -> str:
        return f"{url}/audit?buyerAddress={self._stage.account(role).address}"
