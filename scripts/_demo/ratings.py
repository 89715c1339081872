"""Chapter: the server rates its client and its validator, for ever; another server's gate declines the client."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ape.contracts import ContractInstance

    from scripts._demo.stage import Stage

CLIENT_RATING, VALIDATOR_RATING = 35, 92
MINIMUM_RATING = 70


def play(stage: Stage) -> None:
    """Rate in the other direction, and let a gate ask for the rating.

    Args:
        stage: The stage.
    """
    stage.chapter("Ratings in the other direction")
    registry = stage.registry("BidirectionalReputationRegistry")
    _rate(stage, registry)
    _decline(stage, registry)


def _rate(stage: Stage, registry: ContractInstance) -> None:
    server, stranger = stage.account("server"), stage.account("stranger")
    server_id, client_id, validator_id = (stage.agents[role] for role in ("server", "client", "validator"))
    with stage.step("The client paid late and lied about it: the server rates it.") as step:
        registry.rateClient(client_id, CLIENT_RATING, sender=server)
        step.check("rating", tuple(registry.getClientRating(client_id, server_id)), (True, CLIENT_RATING))
    with stage.step("The validator was fair: the server rates it, too.") as step:
        registry.rateValidator(validator_id, VALIDATOR_RATING, sender=server)
        rating = tuple(registry.getValidatorRating(validator_id, server_id))
        step.check("rating", rating, (True, VALIDATOR_RATING))
    with stage.refused(
        registry.AlreadyRated,
        "The server has second thoughts about the client.",
        subjectId=client_id,
        serverId=server_id,
    ):
        registry.rateClient(client_id, 90, sender=server)
    with stage.refused(registry.CannotRateSelf, "The server wants to rate itself."):
        registry.rateClient(server_id, 100, sender=server)
    with stage.refused(registry.RaterNotRegistered, "A stranger without an agent wants to rate.", account=stranger):
        registry.rateClient(client_id, 100, sender=stranger)


def _decline(stage: Stage, registry: ContractInstance) -> None:
    other_server, client, validator = map(stage.account, ("other server", "client", "validator"))
    server_id, client_id, validator_id = (stage.agents[role] for role in ("server", "client", "validator"))
    identity = stage.registry("IdentityRegistry")
    with stage.step("Another server deploys a gate that trusts the first one's ratings, and newcomers.") as step:
        gate = other_server.deploy(stage.contract("GatedService"), registry, identity, server_id, True)
        step.check("lowest rating", gate.MINIMUM_RATING(), MINIMUM_RATING)
        step.check("registry", gate.getRatingsRegistry(), registry)
    with stage.refused(
        gate.ClientDeclined,
        "The client asks the other server for service.",
        clientId=client_id,
        serverId=server_id,
        rating=CLIENT_RATING,
        minimum=MINIMUM_RATING,
    ):
        gate.serve(sender=client)
    with stage.step("The validator, which nobody has rated as a client, is served.") as step:
        gate.serve(sender=validator)
        step.check("times served", gate.served(validator_id), 1)
