"""Gas cases of ratings in the bidirectional reputation registry."""

from functools import partial

import ape
from ape.api import AccountAPI

from bench.measurement import GasCase, World, execution_gas

SERVER_ID = 1

FIRST_SUBJECT = 32
"""The first agent of a word of ratings."""

WORD = 32
"""Agents that share a word of ratings."""

EIP_8004A_GAS = 21_557
"""The gas that EIP-8004a quotes for a rating. docs/gas.md explains the figure."""


def _register(world: World, count: int = 2 * WORD) -> AccountAPI:
    """Register agents 1 to `count`, and return the owner of the first, which is the server that rates."""
    agents = world.deployer.deploy(ape.project.MockFeedbackGiver)
    world.identity.register(sender=world.owner)
    agents.repeat(world.identity, world.identity.register.encode_input(), count - 1, sender=world.deployer)
    return world.owner


def _rate(world: World, kind: str, earlier: int) -> int:
    server, rate = _register(world), getattr(world.reputation, f"rate{kind}")
    for i in range(earlier):
        rate(FIRST_SUBJECT + i, 95, sender=server)
    return int(rate(FIRST_SUBJECT + earlier, 95, sender=server).gas_used)


def _rate_clients(world: World, count: int) -> int:
    """Rate new clients that share a word, and return the gas for each."""
    server = _register(world)
    clients = list(range(FIRST_SUBJECT, FIRST_SUBJECT + count))
    receipt = world.reputation.rateClients(clients, [95] * count, sender=server)
    return int(receipt.gas_used) // count


def _rate_as(world: World, kind: str, earlier: int) -> int:
    """Rate agents of the deployer with the expected rater and owner, and return the gas for the last one."""
    server, rate = _register(world), getattr(world.reputation, f"rate{kind}As")
    subjects = range(FIRST_SUBJECT, FIRST_SUBJECT + earlier + 1)
    owner = world.identity.ownerOf(FIRST_SUBJECT)
    return [int(rate(subject, 95, SERVER_ID, owner, sender=server).gas_used) for subject in subjects][-1]


def _rate_clients_as(world: World, count: int) -> int:
    """Rate new clients that share a word with the expected rater and owners, and return the gas for each."""
    server = _register(world)
    clients = list(range(FIRST_SUBJECT, FIRST_SUBJECT + count))
    owners = [world.identity.ownerOf(FIRST_SUBJECT)] * count
    receipt = world.reputation.rateClientsAs(clients, [95] * count, SERVER_ID, owners, sender=server)
    return int(receipt.gas_used) // count


def _get_rating(world: World, kind: str) -> int:
    getattr(world.reputation, f"rate{kind}")(FIRST_SUBJECT, 95, sender=_register(world))
    return execution_gas(getattr(world.reputation, f"get{kind}Rating"), FIRST_SUBJECT, SERVER_ID)


def _get_client_ratings(world: World) -> int:
    clients = list(range(FIRST_SUBJECT, FIRST_SUBJECT + WORD))
    world.reputation.rateClients(clients, [95] * WORD, sender=_register(world))
    return execution_gas(world.reputation.getClientRatings, clients, SERVER_ID)


def _accept_feedback(world: World, earlier: int) -> int:
    server = _register(world)
    for i in range(earlier):
        world.reputation.acceptFeedback(FIRST_SUBJECT + i, SERVER_ID, sender=server)
    receipt = world.reputation.acceptFeedback(FIRST_SUBJECT + earlier, SERVER_ID, sender=server)
    return int(receipt.gas_used)


CASES = [
    GasCase("rateClient, first in a word", 55_000, partial(_rate, kind="Client", earlier=0), None, 84_314),
    GasCase("rateClient, a neighbour", 38_000, partial(_rate, kind="Client", earlier=1)),
    GasCase("rateValidator, first in a word", 55_000, partial(_rate, kind="Validator", earlier=0)),
    GasCase("rateValidator, a neighbour", 38_000, partial(_rate, kind="Validator", earlier=1)),
    GasCase("rateClients, 3 new neighbours, each", EIP_8004A_GAS, partial(_rate_clients, count=3)),
    GasCase("rateClients, 32 new neighbours, each", 6_500, partial(_rate_clients, count=WORD)),
    GasCase("rateClientAs, first in a word", 58_500, partial(_rate_as, kind="Client", earlier=0)),
    GasCase("rateClientAs, a neighbour", 41_500, partial(_rate_as, kind="Client", earlier=1)),
    GasCase("rateValidatorAs, first in a word", 58_500, partial(_rate_as, kind="Validator", earlier=0)),
    GasCase("rateClientsAs, 32 new neighbours, each", 9_000, partial(_rate_clients_as, count=WORD)),
    GasCase("getClientRating, execution", 3_000, partial(_get_rating, kind="Client"), None, 4_831),
    GasCase("getValidatorRating, execution", 3_000, partial(_get_rating, kind="Validator")),
    GasCase("getClientRatings, 32 neighbours, execution", 29_000, _get_client_ratings),
    GasCase("acceptFeedback, first in a word", 56_000, partial(_accept_feedback, earlier=0), None, 83_428),
    GasCase("acceptFeedback, next", 39_000, partial(_accept_feedback, earlier=1)),
]
"""The calls about ratings and the August 2025 authorisations."""
