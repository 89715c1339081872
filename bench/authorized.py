"""Gas cases of the registry for authorised feedback."""

from functools import partial
from typing import Any

import ape
from ape.types import AddressType
from eth_account import Account

from bench.measurement import GasCase, World, execution_gas
from bilateral.core.signatures import Domain, FeedbackAuth, sign_feedback_auth

FILE_URI = "ipfs://bafkreidwr2bd5pvbvoesdzgpcsjhmcmvtkvm4yxyrr5yl"
"""A URI of 53 characters, as that of the reference's figures."""

FILE_HASH = bytes(range(200, 232))
TAGS = (b"quality".ljust(32, b"\0"), b"speed".ljust(32, b"\0"))
NO_TAGS = (bytes(32), bytes(32))

AGENT_ID = 1
UNRATED_AGENT_ID = 2

EXPIRY = 4_102_444_800
"""The year 2100. A time that does not pass makes the same signature, and so the same gas, each time."""

BATCH = 200
"""Feedbacks that fit into one transaction of a client that repeats itself."""


def feedback_arguments(
    world: World, client: AddressType, limit: int, agent_id: int = AGENT_ID, tags: tuple[bytes, bytes] = TAGS
) -> tuple[Any, ...]:
    """Arguments of `giveFeedback`, authorised by the agent's owner up to an index limit."""
    chain_id = ape.chain.chain_id
    auth = FeedbackAuth(agent_id, client, limit, EXPIRY, chain_id)
    owner = Account.from_key(world.owner.private_key)
    feedback_auth = sign_feedback_auth(auth, Domain(chain_id, world.authorized.address), owner)
    return agent_id, 92, *tags, FILE_URI, FILE_HASH, feedback_auth


def _prepare(world: World) -> None:
    """Register two agents, the first of which has feedback from another client, with the usual tags."""
    for _ in (AGENT_ID, UNRATED_AGENT_ID):
        world.identity.register(sender=world.owner)
    other = world.other_client
    world.authorized.giveFeedback(*feedback_arguments(world, other.address, 1), sender=other)


def _give_feedback(world: World, nth: int = 1, agent_id: int = AGENT_ID, tags: tuple[bytes, bytes] = TAGS) -> int:
    _prepare(world)
    client = world.client
    for _ in range(nth - 1):
        world.authorized.giveFeedback(*feedback_arguments(world, client.address, nth), sender=client)
    arguments = feedback_arguments(world, client.address, nth, agent_id, tags)
    return int(world.authorized.giveFeedback(*arguments, sender=client).gas_used)


def _give_much_feedback(world: World, count: int) -> Any:
    """Let one client, a contract, rate the agent many times."""
    world.identity.register(sender=world.owner)
    client = world.deployer.deploy(ape.project.MockRegularClient)
    data = world.authorized.giveFeedback.encode_input(*feedback_arguments(world, client.address, count))
    for done in range(0, count, BATCH):
        client.repeatCall(world.authorized, data, min(BATCH, count - done), sender=world.client)
    return client


def _get_summary(world: World, count: int) -> int:
    _give_much_feedback(world, count)
    return execution_gas(world.authorized.getSummary, AGENT_ID)


def _get_feedback(world: World) -> int:
    _prepare(world)
    return execution_gas(world.authorized.getFeedback, AGENT_ID, 0)


def _get_client_feedback_page(world: World) -> int:
    client = _give_much_feedback(world, 10)
    return execution_gas(world.authorized.getClientFeedbackPage, AGENT_ID, client, 0, 10)


CASES = [
    GasCase("giveFeedback, a client's first", 100_000, _give_feedback, None, 252_006),
    GasCase("giveFeedback, its second", 84_000, partial(_give_feedback, nth=2), None, 187_214),
    GasCase("giveFeedback, its fifth: a new page", 106_000, partial(_give_feedback, nth=5)),
    GasCase("giveFeedback, first, no tags", 97_500, partial(_give_feedback, tags=NO_TAGS)),
    GasCase("giveFeedback, first, new tags", 172_000, partial(_give_feedback, tags=TAGS[::-1])),
    GasCase("giveFeedback, an agent's first", 118_000, partial(_give_feedback, agent_id=UNRATED_AGENT_ID)),
    GasCase("getSummary of 1, execution", 3_000, partial(_get_summary, count=1)),
    GasCase("getSummary of 100, execution", 3_000, partial(_get_summary, count=100)),
    GasCase("getSummary of 1,000, execution", 3_000, partial(_get_summary, count=1_000)),
    GasCase("getFeedback, execution", 9_000, _get_feedback),
    GasCase("getClientFeedbackPage of 10, execution", 60_000, _get_client_feedback_page),
]
"""The calls of the registry for authorised feedback."""
