"""Chapter: a buyer climbs by real payments and pays less; an impostor and a wash trader do not get far."""

from __future__ import annotations

import logging
import tempfile
from contextlib import closing
from typing import TYPE_CHECKING

import requests

from bilateral.buyers.policies import BRP, INDEPENDENT
from bilateral.core.contracts.buyer_terms import BuyerTier, policy_hash
from bilateral.dev.servers import serving
from scripts._demo import private
from scripts._demo.bazaar import DOLLAR, PRICE, Bazaar, price_in, required_in

if TYPE_CHECKING:
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
        private.play(bazaar, agent)


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
