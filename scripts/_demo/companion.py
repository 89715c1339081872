"""Chapter: agents of an identity registry that is already deployed rate each other through a companion."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Final

from scripts._stand_ins import deploy_behind_proxy

if TYPE_CHECKING:
    from ape.contracts import ContractInstance

    from scripts._demo.stage import Stage

CLIENT_RATING, SERVER_RATING, FOUNDER_RATING = 35, 90, 80
_STAND_INS: Final = ("MockDeployedIdentityRegistry", "MockDeployedProxy")
FOUNDER_ID, SERVER_ID, CLIENT_ID = range(3)


def play(stage: Stage) -> None:
    """Register agents elsewhere, deploy a companion, and rate in both directions.

    Args:
        stage: The stage.
    """
    stage.chapter("Agents of a registry that is already deployed")
    identity = _register(stage)
    companion, ratings = _deploy(stage, identity)
    _choose(stage, companion, ratings)
    _rate(stage, companion, ratings)
    _sell(stage, identity, companion, ratings)


def _register(stage: Stage) -> ContractInstance:
    with stage.step("A stand-in for the deployed identity registry has agents already. The first has id 0.") as step:
        stand_ins = SimpleNamespace(**{name: stage.contract(name) for name in _STAND_INS})
        identity = deploy_behind_proxy(stand_ins, stage.account("deployer"), "MockDeployedIdentityRegistry")
        stage.introduce("deployed identity registry", identity)
        for role in ("founder", "veteran server", "veteran client"):
            identity.register(sender=stage.account(role))
        step.check("owner of agent 0", identity.ownerOf(FOUNDER_ID), stage.account("founder"))
        step.check("owner of agent 1", identity.ownerOf(SERVER_ID), stage.account("veteran server"))
        step.check("owner of agent 2", identity.ownerOf(CLIENT_ID), stage.account("veteran client"))
    return identity


def _deploy(stage: Stage, identity: ContractInstance) -> tuple[ContractInstance, ContractInstance]:
    deployer = stage.account("deployer")
    with stage.step("A companion gives it a directory. The registry of ratings is deployed on top, unchanged.") as step:
        companion = deployer.deploy(stage.contract("CompanionDirectory"), identity)
        stage.introduce("companion", companion)
        ratings = deployer.deploy(stage.contract("BidirectionalReputationRegistry"), companion)
        stage.introduce("ratings on the companion", ratings)
        step.check("companion of", companion.getIdentityRegistry(), identity)
        step.check("ratings ask", ratings.getIdentityRegistry(), companion)
    return companion, ratings


def _choose(stage: Stage, companion: ContractInstance, ratings: ContractInstance) -> None:
    server, client, founder = map(stage.account, ("veteran server", "veteran client", "founder"))
    with stage.refused(
        ratings.RaterNotRegistered, "The veteran server wants to rate, but has not chosen its agent.", account=server
    ):
        ratings.rateClient(CLIENT_ID, CLIENT_RATING, sender=server)
    with stage.refused(
        companion.NotOwnerOrWallet,
        "The veteran client wants to speak as the server's agent.",
        account=client,
        agentId=SERVER_ID,
    ):
        companion.setPrimaryAgent(SERVER_ID, sender=client)
    with stage.step("Server and client choose their own agents.") as step:
        companion.setPrimaryAgent(SERVER_ID, sender=server)
        companion.setPrimaryAgent(CLIENT_ID, sender=client)
        step.check("the server speaks as", companion.agentOf(server), SERVER_ID)
        step.check("the client speaks as", companion.agentOf(client), CLIENT_ID)
    with stage.refused(
        companion.NobodySpeaksAsAgentZero, "The founder wants to speak as agent 0, which means none.", account=founder
    ):
        companion.setPrimaryAgent(FOUNDER_ID, sender=founder)


def _rate(stage: Stage, companion: ContractInstance, ratings: ContractInstance) -> None:
    server, client = stage.account("veteran server"), stage.account("veteran client")
    with stage.step("The server rates the client, and the client rates the server.") as step:
        ratings.rateClient(CLIENT_ID, CLIENT_RATING, sender=server)
        ratings.rateClient(SERVER_ID, SERVER_RATING, sender=client)
        step.check("of the client", tuple(ratings.getClientRating(CLIENT_ID, SERVER_ID)), (True, CLIENT_RATING))
        step.check("of the server", tuple(ratings.getClientRating(SERVER_ID, CLIENT_ID)), (True, SERVER_RATING))
    with stage.step("Agent 0 does not speak, but it can be rated.") as step:
        ratings.rateClient(FOUNDER_ID, FOUNDER_RATING, sender=server)
        step.check("of agent 0", tuple(ratings.getClientRating(FOUNDER_ID, SERVER_ID)), (True, FOUNDER_RATING))
    with stage.step("A stranger proves that agent 2 exists, so batches may name agents up to it.") as step:
        companion.proveAgent(CLIENT_ID, sender=stage.account("stranger"))
        step.check("agents", companion.getAgentCount(), CLIENT_ID)


def _sell(stage: Stage, identity: ContractInstance, companion: ContractInstance, ratings: ContractInstance) -> None:
    server, founder = stage.account("veteran server"), stage.account("founder")
    with stage.step("The server sells its agent. The companion notices at the next use.") as step:
        identity.transferFrom(server, founder, SERVER_ID, sender=server)
        step.check("the former owner speaks as", companion.agentOf(server), 0)
        rating = tuple(ratings.getClientRating(CLIENT_ID, SERVER_ID))
        step.check("its rating stays", rating, (True, CLIENT_RATING))
    with stage.refused(ratings.RaterNotRegistered, "The former owner wants to rate as the sold agent.", account=server):
        ratings.rateValidator(CLIENT_ID, 0, sender=server)
