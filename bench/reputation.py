"""Gas cases of feedback in the bidirectional reputation registry, which contains the reputation registry."""

from functools import partial
from typing import Any

import ape
from ape.api import AccountAPI

from bench.measurement import GasCase, World, execution_gas
from bilateral.core.signatures import Domain, Feedback

AGENT_ID = 1

DEADLINE = 4_102_444_800
"""The year 2100. A time that does not pass makes the same signature, and so the same gas, each time."""

FULL = (
    87,
    0,
    "starred",
    "finance",
    "https://mcp.agent.example.com",
    "ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG",
    bytes(range(200, 232)),
)
"""A feedback with all that it can have."""

MINIMAL = (85, 0, "", "", "", "", bytes(32))
"""A feedback with a value alone."""

RESPONSE = ("ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdH", bytes(range(100, 132)))
"""URI and hash of an answer."""

BATCH = 250
"""Feedbacks, or new clients with one each, that fit into one transaction with room to spare."""


def _register(world: World) -> None:
    """Register the agent that is rated."""
    world.identity.register(sender=world.owner)


def _prepare(world: World) -> None:
    """Register the agent, which another client has rated with the usual tags."""
    _register(world)
    world.reputation.giveFeedback(AGENT_ID, *FULL, sender=world.other_client)


def _give(world: World, feedback: tuple[object, ...], client: AccountAPI | None = None) -> int:
    receipt = world.reputation.giveFeedback(AGENT_ID, *feedback, sender=client or world.client)
    return int(receipt.gas_used)


def _give_feedback(world: World, feedback: tuple[object, ...], earlier: int) -> int:
    _prepare(world)
    for _ in range(earlier):
        _give(world, feedback)
    return _give(world, feedback)


def _give_agents_first(world: World) -> int:
    _prepare(world)
    world.identity.register(sender=world.owner)
    return int(world.reputation.giveFeedback(AGENT_ID + 1, *FULL, sender=world.client).gas_used)


def _give_with_new_tags(world: World) -> int:
    _prepare(world)
    return _give(world, (9977, 2, "uptime", "month", *FULL[4:]))


def _give_by_signature(world: World) -> int:
    _prepare(world)
    _give(world, FULL)
    message = Feedback(AGENT_ID, world.client.address, 2, *FULL, DEADLINE)
    domain = Domain(ape.chain.chain_id, world.reputation.address)
    signature = world.client.sign_message(message.signable(domain)).encode_rsv()
    params = (AGENT_ID, 2, *FULL)
    receipt = world.reputation.giveFeedbackBySig(world.client, params, DEADLINE, signature, sender=world.validator)
    return int(receipt.gas_used)


def _void_signatures(world: World, earlier: int) -> int:
    void = world.reputation.voidSignaturesThrough
    return [int(void(DEADLINE + i, sender=world.client).gas_used) for i in range(earlier + 1)][-1]


def _revoke(world: World) -> int:
    _prepare(world)
    _give(world, FULL)
    return int(world.reputation.revokeFeedback(AGENT_ID, 1, sender=world.client).gas_used)


def _respond(world: World, earlier: int) -> int:
    _prepare(world)
    _give(world, FULL)
    for _ in range(earlier):
        world.reputation.appendResponse(AGENT_ID, world.client, 1, *RESPONSE, sender=world.owner)
    return int(world.reputation.appendResponse(AGENT_ID, world.client, 1, *RESPONSE, sender=world.owner).gas_used)


def _give_much(world: World, count: int) -> Any:
    """Let one client, a contract, rate the agent many times."""
    _register(world)
    client = world.deployer.deploy(ape.project.MockFeedbackGiver)
    call = world.reputation.giveFeedback.encode_input(AGENT_ID, *FULL)
    for done in range(0, count, BATCH):
        client.repeat(world.reputation, call, min(BATCH, count - done), sender=world.client)
    return client


def _gather(world: World, count: int) -> Any:
    """Let many clients rate the agent once each."""
    _register(world)
    crowd = world.deployer.deploy(ape.project.MockFeedbackCrowd)
    crowd.gather(count, sender=world.client)
    call = world.reputation.giveFeedback.encode_input(AGENT_ID, *FULL)
    crowd.performAll(world.reputation, call, 0, count, sender=world.client)
    return crowd.clients()


def _summarize_one_client(world: World, tag1: str) -> int:
    client = _give_much(world, 1_000)
    return execution_gas(world.reputation.getSummary, AGENT_ID, [client], tag1, "")


def _summarize_many_clients(world: World) -> int:
    clients = _gather(world, 100)
    return execution_gas(world.reputation.getSummary, AGENT_ID, clients, "", "")


def _read_all(world: World) -> int:
    client = _give_much(world, 100)
    return execution_gas(world.reputation.readAllFeedback, AGENT_ID, [client], "", "", False)


def _read_one(world: World) -> int:
    _prepare(world)
    return execution_gas(world.reputation.readFeedback, AGENT_ID, world.other_client, 1)


def _count_responses(world: World) -> int:
    _prepare(world)
    for responder in (world.owner, world.client, world.validator):
        world.reputation.appendResponse(AGENT_ID, world.other_client, 1, *RESPONSE, sender=responder)
    return execution_gas(world.reputation.getResponseCount, AGENT_ID, world.other_client, 1, [])


CASES = [
    GasCase("giveFeedback, full, first", 123_000, partial(_give_feedback, feedback=FULL, earlier=0), 196_248, 181_567),
    GasCase("giveFeedback, full, second", 79_000, partial(_give_feedback, feedback=FULL, earlier=1), 131_504, 116_892),
    GasCase(
        "giveFeedback, value alone, first",
        114_000,
        partial(_give_feedback, feedback=MINIMAL, earlier=0),
        152_805,
        138_155,
    ),
    GasCase(
        "giveFeedback, value alone, second",
        69_500,
        partial(_give_feedback, feedback=MINIMAL, earlier=1),
        88_061,
        73_480,
    ),
    GasCase("giveFeedback, full, an agent's first", 140_000, _give_agents_first),
    GasCase("giveFeedback, full, first, two new tags", 215_000, _give_with_new_tags),
    GasCase("giveFeedbackBySig, full, second", 90_000, _give_by_signature),
    GasCase("voidSignaturesThrough, a client's first", 46_000, partial(_void_signatures, earlier=0)),
    GasCase("voidSignaturesThrough, its second", 29_000, partial(_void_signatures, earlier=1)),
    GasCase("revokeFeedback", 36_000, _revoke, 36_244, 48_484),
    GasCase("appendResponse, a responder's first", 57_500, partial(_respond, earlier=0), 107_767, 52_611),
    GasCase("appendResponse, its second", 41_000, partial(_respond, earlier=1), 42_817, 35_511),
    GasCase("getSummary, 1 client with 1,000, execution", 9_000, partial(_summarize_one_client, tag1=""), 3_533_706),
    GasCase("the same with tag1 starred", 2_600_000, partial(_summarize_one_client, tag1="starred"), 6_150_787),
    GasCase("getSummary, 100 clients with 1, execution", 300_000, _summarize_many_clients, 625_545),
    GasCase("readAllFeedback, 1 client with 100, execution", 600_000, _read_all, 1_142_884),
    GasCase("readFeedback, execution", 9_000, _read_one),
    GasCase("getResponseCount, 3 responders, execution", 4_000, _count_responses),
]
"""The reputation registry's calls."""
