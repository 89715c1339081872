"""Chapter: a buyer climbs by real payments and pays less; an impostor and a wash trader do not get far."""

from __future__ import annotations

import logging
import tempfile
from contextlib import closing, contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import requests

from bilateral.buyers.errors import NotAMemberError, TierProofRefusedError, TooFewMembersError
from bilateral.buyers.policies import BRP, INDEPENDENT
from bilateral.buyers.private.members import post_tiers
from bilateral.buyers.private.prover import Prover
from bilateral.buyers.private.proving import LEAST_MEMBERS, fetch_list, identity_secret, join_tiers, prove_tier
from bilateral.buyers.private.tiers import TierVerifier, on_chain, private_agent_scope
from bilateral.client import Client
from bilateral.core.contracts.buyer_terms import BuyerTier, policy_hash
from bilateral.dev.servers import serving
from bilateral.index.log.database import open_database
from bilateral.x402.server.discounts import ProofDiscounts, proof_headers
from scripts._build import ROOT
from scripts._demo.bazaar import DOLLAR, PRICE, Bazaar, price_in, required_in
from scripts._payments import sign_payment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bilateral.buyers.private.tiers import TierProof
    from scripts._demo.bazaar import Bazaar
    from scripts._demo.stage import Stage

FULL, VERIFIED_PRICE, TRUSTED_PRICE = PRICE, PRICE * 95 // 100, PRICE * 90 // 100
FIRST_PAYMENTS, MORE_PAYMENTS, REVIEW = 3, 7, 70
WASHED, WASH_AMOUNT, WASH_DOLLARS = 50, 10 * DOLLAR, 10

_AUDITOR, _BUYER, _WASHER = "auditor", "buyer", "wash trader"
_SECONDS = 30


def play(stage: Stage) -> None:
    """Let a buyer climb, show what others get, anchor the state, use a credential, and prove the tier privately.

    Args:
        stage: The stage.
    """
    logging.getLogger("x402").setLevel(logging.CRITICAL)
    stage.chapter("Buyers")
    with tempfile.TemporaryDirectory() as folder, closing(Bazaar(stage, folder)) as bazaar:
        agent = _open(bazaar)
        _climb(bazaar, agent)
        _impersonate(bazaar, agent)
        _wash(bazaar)
        _anchor(bazaar)
        _show_credential(bazaar)
        play_private(bazaar, agent)


def _open(bazaar: Bazaar) -> int:
    """Start the market. Return the seller's agent."""
    stage, identity = bazaar.stage, bazaar.stage.registry("IdentityRegistry")
    with stage.step("The registry of buyers is deployed. One account attests, and one anchors.") as step:
        step.check("attestor", bazaar.registry.roleHolderOf(0)[0], stage.account("attestor"))
        step.check("anchorer", bazaar.registry.roleHolderOf(1)[0], stage.account("anchorer"))
    agent = 0
    with stage.step("An auditor registers an agent, and publishes its discounts, signed.") as step:
        identity.register(sender=stage.account(_AUDITOR))
        agent = int(identity.agentOf(stage.account(_AUDITOR)))
        step.check("wallet", identity.getAgentWallet(agent), stage.account(_AUDITOR))
        bazaar.open()
        step.check("taken", bazaar.offer(_AUDITOR, agent).get("success"), True)
    bazaar.fund(_BUYER, 100)
    return agent


def _climb(bazaar: Bazaar, agent: int) -> None:
    """Pay until the buyer is trusted."""
    stage, rows = bazaar.stage, []
    rows.append(_row(bazaar, agent))
    with stage.step("A buyer pays three times, by an unchanged x402 client. The registry settles and records.") as step:
        _buy(bazaar, agent, FIRST_PAYMENTS)
        payments, volume = bazaar.settled(_BUYER)
        step.check("payments on chain", payments, FIRST_PAYMENTS)
        step.check("dollars on chain", volume // DOLLAR, FIRST_PAYMENTS * FULL // DOLLAR)
        step.check("tier on chain", bazaar.registry.getBuyerTier(stage.account(_BUYER)), "verified")
    with stage.step("The index learns the payments from the token's log, and the service gives the same tier.") as step:
        bazaar.index()
        rows.append(_row(bazaar, agent))
        step.check("tier", bazaar.profile(_BUYER)["reputation"]["tier"], "verified")
    with stage.step("It pays seven times more, for less, and reviews the auditor on chain.") as step:
        before = bazaar.balance(_BUYER)
        _buy(bazaar, agent, MORE_PAYMENTS)
        step.check(
            "paid each time", (before - bazaar.balance(_BUYER)) / MORE_PAYMENTS / DOLLAR, VERIFIED_PRICE / DOLLAR
        )
        reviews = stage.registry("BidirectionalReputationRegistry")
        reviews.giveFeedback(agent, REVIEW, 0, "starred", "", "", "", bytes(32), sender=stage.account(_BUYER))
        bazaar.index()
        rows.append(_row(bazaar, agent))
        step.check("tier", bazaar.profile(_BUYER)["reputation"]["tier"], "trusted")
    with stage.step("The attestor records the review for contracts, which see the tier then.") as step:
        bazaar.registry.recordReviews([(stage.account(_BUYER), 1, REVIEW, 0)], sender=stage.account("attestor"))
        step.check("tier on chain", bazaar.registry.getBuyerTier(stage.account(_BUYER)), "trusted")
        score = bazaar.registry.getBuyerScore(stage.account(_BUYER))
        step.check("score on chain", score, bazaar.profile(_BUYER)["reputation"]["score"])
    stage.table("The buyer climbs", ("payments", "dollars", "score", "tier", "price in dollars"), rows)


def _impersonate(bazaar: Bazaar, agent: int) -> None:
    """Let the trusted buyer, an impostor and a stranger ask for the same audit."""
    stage = bazaar.stage
    with serving(bazaar.shop(_AUDITOR, agent)) as url:
        claimed = _audit_of(bazaar, url)
        with stage.step("The trusted buyer names itself, and pays its price.") as step:
            before = bazaar.balance(_BUYER)
            step.check("status", bazaar.session(_BUYER).get(claimed, timeout=_SECONDS).status_code, 200)
            step.check("paid in dollars", (before - bazaar.balance(_BUYER)) / DOLLAR, TRUSTED_PRICE / DOLLAR)
        with stage.step("An impostor names the buyer, but pays with its own account.") as step:
            bazaar.fund("impostor", 100)
            before = bazaar.balance("impostor")
            refused = bazaar.session("impostor").get(claimed, timeout=_SECONDS)
            step.check("status", refused.status_code, 402)
            step.check("refused", required_in(refused).get("error"), "buyer_mismatch")
            step.check("it paid", before - bazaar.balance("impostor"), 0)
        with stage.step("Without the claim it gets the full price.") as step:
            full = requests.get(f"{url}/audit", timeout=_SECONDS)
            step.check("price in dollars", price_in(full) // DOLLAR, FULL // DOLLAR)


def _wash(bazaar: Bazaar) -> None:
    """Let a cheater pay a friend's agent with the same ten dollars again and again."""
    stage, identity = bazaar.stage, bazaar.stage.registry("IdentityRegistry")
    with stage.step("A wash trader pays its friend's agent fifty times, and gets the same ten dollars back.") as step:
        identity.register(sender=stage.account("friend"))
        friend = int(identity.agentOf(stage.account("friend")))
        bazaar.fund(_WASHER, WASH_DOLLARS)
        bazaar.wash(_WASHER, "friend", WASH_AMOUNT, WASHED)
        reviews = stage.registry("BidirectionalReputationRegistry")
        reviews.giveFeedback(friend, REVIEW, 0, "starred", "", "", "", bytes(32), sender=stage.account(_WASHER))
        step.check("dollars on chain", bazaar.settled(_WASHER)[1] // DOLLAR, WASHED * WASH_AMOUNT // DOLLAR)
        step.check("dollars that it lost", WASH_DOLLARS - bazaar.balance(_WASHER) // DOLLAR, 0)
        step.check("tier on chain", bazaar.registry.getBuyerTier(stage.account(_WASHER)), "verified")
    bazaar.index()
    reputations = {
        (role, policy.name): bazaar.profile(role, policy.name)["reputation"]
        for role in (_BUYER, _WASHER)
        for policy in (BRP, INDEPENDENT)
    }
    with stage.step("The plain formula takes it for a premium buyer.") as step:
        step.check("tier", reputations[_WASHER, BRP.name]["tier"], "premium")
    with stage.step(
        "The policy of independent sellers finds that the money came back. The buyer loses nothing."
    ) as step:
        step.check("tier", reputations[_WASHER, INDEPENDENT.name]["tier"], "new")
        step.check("score", reputations[_WASHER, INDEPENDENT.name]["score"], 0)
        step.check(
            "reasons", ", ".join(reputations[_WASHER, INDEPENDENT.name]["reasons"]), "no_payments, returned_payments"
        )
        step.check("tier of the buyer", reputations[_BUYER, INDEPENDENT.name]["tier"], "trusted")
    rows = [
        (role, policy, reputation["score"], reputation["tier"], ", ".join(reputation["reasons"]))
        for (role, policy), reputation in reputations.items()
    ]
    stage.table("Two policies", ("account", "policy", "score", "tier", "reasons"), rows)


def _anchor(bazaar: Bazaar) -> None:
    """Anchor the states of all buyers, and verify one on chain."""
    stage, registry = bazaar.stage, bazaar.registry
    with stage.step("The service anchors its state: one root for all buyers and policies.") as step:
        epoch = bazaar.anchor((BRP.name, INDEPENDENT.name))
        anchored = bazaar.anchored(_BUYER)
        step.check("epoch", registry.getNextEpoch() - 1, epoch)
        step.check("anchored by the service", anchored["epoch"], epoch)
    with stage.step("Anybody verifies the buyer's leaf on chain. A better score would not pass.") as step:
        state = tuple(anchored["state"].values())
        state = (*state[:5], int(state[5]), *state[6:])
        better = (*state[:2], 100, *state[3:])
        step.check("score", state[2], bazaar.profile(_BUYER)["reputation"]["score"])
        step.check("verified", registry.verifyBuyer(state, epoch, anchored["proof"]), True)
        step.check("verified with score 100", registry.verifyBuyer(better, epoch, anchored["proof"]), False)
    with stage.refused(
        registry.NotRoleHolder,
        "The wash trader wants to anchor a state of its own.",
        role=1,
        caller=stage.account(_WASHER),
    ):
        registry.anchorRoot(epoch + 1, anchored["root"], sender=stage.account(_WASHER))


def _show_credential(bazaar: Bazaar) -> None:
    """Let a fresh address prove the buyer's tier."""
    stage = bazaar.stage
    policy = policy_hash(BRP.name)
    service = stage.account("deployer").deploy(stage.contract("DiscountedService"), bazaar.registry, policy)
    stage.introduce("DiscountedService", service)
    fresh, stranger = stage.account("fresh address"), stage.account("stranger")
    with stage.step("A contract serves trusted buyers. The buyer is one.") as step:
        service.serve(sender=stage.account(_BUYER))
        step.check("served", service.served(stage.account(_BUYER)), 1)
    tier = BuyerTier.NEW
    with stage.refused(
        service.TierTooLow, "A fresh address is not.", account=fresh, tier=tier.level, minimum=BuyerTier.TRUSTED.level
    ):
        service.serve(sender=fresh)
    with stage.step("The service signs a credential for the fresh address, which hides the buyer's account.") as step:
        credential, signature = bazaar.credential(_BUYER, "fresh address", service)
        step.check("tier", credential.tier.value, BuyerTier.TRUSTED.value)
        service.serveHolder(credential.arguments, signature, sender=fresh)
        step.check("served", service.servedHolders(credential.pseudonym), 1)
        step.check("payments of the fresh address", bazaar.settled("fresh address")[0], 0)
    with stage.step("The buyer takes a second address. The contract counts both as one customer.") as step:
        second = stage.account("second address")
        own, its_signature = bazaar.credential(_BUYER, "second address", service)
        service.serveHolder(own.arguments, its_signature, sender=second)
        step.check("served", service.servedHolders(own.pseudonym), 2)
        step.check("customers", service.pseudonyms(), 1)
    with stage.refused(service.CredentialOfAnother, "A stranger copied the credential.", holder=fresh, caller=stranger):
        service.serveHolder(credential.arguments, signature, sender=stranger)


def _buy(bazaar: Bazaar, agent: int, times: int) -> None:
    """Buy audits with the buyer's account, which names itself."""
    with serving(bazaar.shop(_AUDITOR, agent)) as url, bazaar.session(_BUYER) as session:
        for _ in range(times):
            session.get(_audit_of(bazaar, url), timeout=_SECONDS).raise_for_status()


def _audit_of(bazaar: Bazaar, url: str) -> str:
    """Return the URL of an audit, with the buyer's address."""
    return f"{url}/audit?buyerAddress={bazaar.stage.account(_BUYER).address}"


def _row(bazaar: Bazaar, agent: int) -> tuple[object, ...]:
    """Return what the service says of the buyer, and the price that it gets."""
    profile = bazaar.profile(_BUYER)
    with serving(bazaar.shop(_AUDITOR, agent)) as url:
        price = price_in(requests.get(_audit_of(bazaar, url), timeout=_SECONDS)) / DOLLAR
    metrics, reputation = profile["metrics"], profile["reputation"]
    return metrics["paymentCount"], metrics["totalVolumeUsdc"], reputation["score"], reputation["tier"], f"{price:.2f}"


POLICY = INDEPENDENT.name
TRUSTED_PRICE = PRICE * 90 // 100
PAYMENTS = 3

_SELLER, _BUYER, _FALLEN = "auditor", "buyer", "buyer with a refund"
_FRESH, _SECOND, _THIEF = "fresh wallet", "second wallet", "thief of the proof"


def play_private(bazaar: Bazaar, agent: int) -> None:
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
