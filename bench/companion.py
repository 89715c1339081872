"""Gas cases of the companion directory, by accounts that own their agent.

The identity registry stands behind an ERC-1967 proxy, as the deployed one does.
"""

from functools import cached_property, partial
from typing import Any

import ape
from ape.api import AccountAPI

from bench.authorized import feedback_arguments
from bench.measurement import GasCase, World, execution_gas
from scripts._stand_ins import deploy_behind_proxy

SERVER_ID = 1

FIRST_SUBJECT = 2
"""The first agent that the server rates. The agents share a word of ratings."""

LAST_SUBJECT = 5

VALUE = (87, 0, "starred", "", "", "", bytes(32))


class CompanionWorld(World):
    """Registries on top of a companion. The owner owns agent 1, and agents 0 to 5 exist."""

    def __init__(self) -> None:
        super().__init__()
        for agent_id in range(LAST_SUBJECT + 1):
            self.foreign.register(sender=self.owner if agent_id == SERVER_ID else self.deployer)

    @cached_property
    def foreign(self) -> Any:
        """The identity registry, which has no directory."""
        return deploy_behind_proxy(ape.project, self.deployer, "MockDeployedIdentityRegistry")

    @cached_property
    def identity(self) -> Any:
        """The companion, which the other registries ask."""
        return self.deployer.deploy(ape.project.CompanionDirectory, self.foreign)

    def speaker(self) -> AccountAPI:
        """Return the owner, who has chosen its agent."""
        self.identity.setPrimaryAgent(SERVER_ID, sender=self.owner)
        return self.owner


def _set_primary_agent(_: World) -> int:
    world = CompanionWorld()
    return int(world.identity.setPrimaryAgent(SERVER_ID, sender=world.owner).gas_used)


def _prove_agent(_: World, earlier: int) -> int:
    world = CompanionWorld()
    receipts = [world.identity.proveAgent(FIRST_SUBJECT + number, sender=world.client) for number in range(earlier + 1)]
    return int(receipts[-1].gas_used)


def _rate(_: World, kind: str, earlier: int) -> int:
    world = CompanionWorld()
    server, rate = world.speaker(), getattr(world.reputation, f"rate{kind}")
    receipts = [rate(FIRST_SUBJECT + number, 95, sender=server) for number in range(earlier + 1)]
    return int(receipts[-1].gas_used)


def _rate_clients(_: World) -> int:
    """Rate new clients that share a word, and return the gas for each."""
    world = CompanionWorld()
    server, clients = world.speaker(), list(range(FIRST_SUBJECT, LAST_SUBJECT))
    world.identity.proveAgent(LAST_SUBJECT, sender=world.client)
    receipt = world.reputation.rateClients(clients, [95] * len(clients), sender=server)
    return int(receipt.gas_used) // len(clients)


def _give_feedback(_: World) -> int:
    """Give feedback to an agent that has some, with the same tag, as a client's first."""
    world = CompanionWorld()
    for client in (world.other_client, world.client):
        receipt = world.reputation.giveFeedback(SERVER_ID, *VALUE, sender=client)
    return int(receipt.gas_used)


def _give_authorized_feedback(_: World, nth: int) -> int:
    """Give feedback as in the first cases of the registry for authorised feedback."""
    world = CompanionWorld()
    other, client = world.other_client, world.client
    world.authorized.giveFeedback(*feedback_arguments(world, other.address, 1), sender=other)
    arguments = feedback_arguments(world, client.address, nth)
    receipts = [world.authorized.giveFeedback(*arguments, sender=client) for _ in range(nth)]
    return int(receipts[-1].gas_used)


def _agent_of(_: World) -> int:
    world = CompanionWorld()
    return execution_gas(world.identity.agentOf, world.speaker())


CASES = [
    GasCase("setPrimaryAgent, a first choice", 60_000, _set_primary_agent),
    GasCase("proveAgent, the first", 60_000, partial(_prove_agent, earlier=0)),
    GasCase("proveAgent, a later one", 42_000, partial(_prove_agent, earlier=1)),
    GasCase("agentOf an owner, execution", 14_000, _agent_of),
    GasCase("rateClient by a companion, first in a word", 66_000, partial(_rate, kind="Client", earlier=0)),
    GasCase("rateClient by a companion, a neighbour", 49_000, partial(_rate, kind="Client", earlier=1)),
    GasCase("rateValidator by a companion, first in a word", 66_000, partial(_rate, kind="Validator", earlier=0)),
    GasCase("rateClients by a companion, 3 new neighbours, each", 26_000, _rate_clients),
    GasCase("giveFeedback by a companion, value and tag", 130_000, _give_feedback),
    GasCase("authorised giveFeedback by a companion, first", 111_000, partial(_give_authorized_feedback, nth=1)),
    GasCase("authorised giveFeedback by a companion, second", 94_000, partial(_give_authorized_feedback, nth=2)),
]
"""The calls of the companion, and those of the other registries on top of it."""
