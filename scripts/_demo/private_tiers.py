"""Part of the chapter of buyers: a trusted buyer is served from a fresh wallet, and nobody learns which buyer it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import ape

from bilateral.buyer_terms import BuyerTier, policy_hash
from bilateral.buyers.policies import BRP
from bilateral.buyers.private.errors import ProverMissingError
from bilateral.buyers.private.members import post_tiers
from bilateral.buyers.private.prover import Prover
from bilateral.buyers.private.proving import fetch_list, identity_secret, join_tiers, prove_tier
from bilateral.buyers.private.terms import private_gate_scope
from bilateral.client import Client
from bilateral.index.store.database import open_database
from scripts._anvil import restore
from scripts._build import ROOT

if TYPE_CHECKING:
    from ape.contracts import ContractInstance

    from bilateral.buyers.private.terms import TierProof
    from scripts._demo.bazaar import Bazaar

_DAY: Final = 86_400
_POLICY: Final = policy_hash(BRP.name)
_REQUEST: Final = bytes(32)
_WALLET, _THIEF = "fresh wallet", "thief"


def prove_privately(bazaar: Bazaar, members: tuple[str, ...]) -> None:
    """Let the first member be served from a fresh wallet, and refuse others with its proof.

    Args:
        bazaar: The market, whose states are anchored.
        members: The accounts that join the groups; the first is trusted.
    """
    try:
        prover = Prover(ROOT / ".cache" / "prover")
    except ProverMissingError:
        return  # `make demo` installs it
    tier_proofs, service = _deploy(bazaar)
    proof = _prove(bazaar, members, tier_proofs, service, prover)
    _use(bazaar, tier_proofs, service, proof)


def _deploy(bazaar: Bazaar) -> tuple[ContractInstance, ContractInstance]:
    """Deploy the contract of proofs, and a service that serves by it."""
    stage, deployer = bazaar.stage, bazaar.stage.account("deployer")
    verifier = deployer.deploy(stage.contract("TierProofVerifier"))
    tier_proofs = deployer.deploy(stage.contract("BuyerTierProofs"), bazaar.registry, verifier)
    service = deployer.deploy(stage.contract("PrivateService"), tier_proofs, _POLICY)
    stage.introduce("BuyerTierProofs", tier_proofs)
    stage.introduce("PrivateService", service)
    return tier_proofs, service


def _prove(
    bazaar: Bazaar,
    members: tuple[str, ...],
    tier_proofs: ContractInstance,
    service: ContractInstance,
    prover: Prover,
) -> TierProof:
    """Build the groups, post their roots, and make a proof."""
    stage = bazaar.stage
    deployment = replace(bazaar.deployment, tier_proofs=tier_proofs.address)
    secrets = [identity_secret(bazaar.key(member)) for member in members]
    with stage.step("Two buyers send commitments. The attestor posts the roots of today's groups.") as step:
        for member, secret in zip(members, secrets, strict=True):
            join_tiers(bazaar.service, secret, bazaar.key(member), chain_id=stage.chain_id, prover=prover)
        attestor = Client(stage.url, signer=bazaar.key("attestor"), deployment=deployment)
        engine = open_database(bazaar.database)
        posted = post_tiers(engine, attestor, BRP.name, prover)
        engine.dispose()
        step.check("members with at least trusted", posted.sizes["trusted"], len(members))
        step.check("roots on chain", tuple(tier_proofs.rootsOf(_POLICY, posted.epoch)), posted.roots)
    with stage.step(
        "The buyer audits the list, and proves its tier for a fresh wallet, without a transaction."
    ) as step:
        proof = prove_tier(
            fetch_list(bazaar.service, BRP.name, posted.epoch),
            secrets[0],
            BuyerTier.TRUSTED,
            stage.account(_WALLET).address,
            Client(stage.url, deployment=deployment),
            scope=lambda day: private_gate_scope(stage.chain_id, service.address, _POLICY, day),
            least_members=len(members),
            prover=prover,
        )
        step.check("tier", proof.minimum.value, "trusted")
        step.check("payments of the fresh wallet", bazaar.settled(_WALLET)[0], 0)
    return proof


def _use(bazaar: Bazaar, tier_proofs: ContractInstance, service: ContractInstance, proof: TierProof) -> None:
    """Use the proof, and refuse it to a thief, a second time and two days later."""
    stage, shown = bazaar.stage, (proof.nullifier, list(proof.points))
    wallet, thief = stage.account(_WALLET), stage.account(_THIEF)
    used: dict[str, Any] = {"nullifier": proof.nullifier}
    with stage.refused(tier_proofs.ProofRefused, "A thief copied the proof from a pending transaction.", **used):
        service.serve(shown, proof.epoch, _REQUEST, sender=thief)
    snapshot = ape.chain.snapshot()
    ape.chain.mine(timestamp=(proof.epoch + 2) * _DAY)
    late = {"epoch": proof.epoch, "today": proof.epoch + 2}
    with stage.refused(tier_proofs.EpochOver, "Two days later a fallen tier has lapsed, and so has the proof.", **late):
        service.serve(shown, proof.epoch, _REQUEST, sender=wallet)
    restore(ape.chain, snapshot)
    with stage.step("The fresh wallet is served today. Nobody can tell which of the buyers it is.") as step:
        service.serve(shown, proof.epoch, _REQUEST, sender=wallet)
        step.check("served", service.isNullifierUsed(proof.nullifier), True)
    with stage.refused(service.TierAlreadyUsed, "It wants to be served once more.", **used):
        service.serve(shown, proof.epoch, _REQUEST, sender=wallet)
