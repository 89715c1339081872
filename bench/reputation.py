"""Gas cases of the bidirectional reputation registry: feedback, ratings and blind ratings."""

from typing import Any

import ape
from ape.api import AccountAPI
from eth_utils.crypto import keccak

from bench.measurement import GasCase, World, execution_gas
from bilateral.core.signatures import Domain, Feedback
from bilateral.core.signatures.blind_ratings import BlindFeedback, Envelope, Pair, rating_seal

AGENT_ID = 1

DEADLINE = 4_102_444_800
"""The year 2100. A time that does not pass makes the same signature, and so the same gas, each time."""

FILE = ("ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG", bytes(range(200, 232)))
"""URI and hash of a file."""

FULL = (87, 0, "starred", "finance", "https://mcp.agent.example.com", *FILE)
"""A feedback with all that it can have."""

MINIMAL = (85, 0, "", "", "", "", bytes(32))
"""A feedback with a value alone."""

RESPONSE = ("ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdH", bytes(range(100, 132)))
"""URI and hash of an answer."""

BATCH = 250
"""Feedbacks, or new clients with one each, that fit into one transaction with room to spare."""


def _prepare(world: World) -> None:
    """Register the agent, which another client has rated with the usual tags."""
    world.identity.register(sender=world.owner)
    world.reputation.giveFeedback(AGENT_ID, *FULL, sender=world.other_client)


def _give(world: World, feedback: tuple[object, ...]) -> Any:
    return world.reputation.giveFeedback(AGENT_ID, *feedback, sender=world.client)


def _give_feedback(world: World, feedback: tuple[object, ...] = FULL, earlier: int = 0) -> Any:
    _prepare(world)
    return [_give(world, feedback) for _ in range(earlier + 1)][-1]


def _give_agents_first(world: World) -> Any:
    _prepare(world)
    world.identity.register(sender=world.owner)
    return world.reputation.giveFeedback(AGENT_ID + 1, *FULL, sender=world.client)


def _give_with_new_tags(world: World) -> Any:
    _prepare(world)
    return _give(world, (9977, 2, "uptime", "month", *FULL[4:]))


def _give_by_signature(world: World) -> Any:
    _prepare(world)
    _give(world, FULL)
    message = Feedback(AGENT_ID, world.client.address, 2, *FULL, DEADLINE)
    domain = Domain(ape.chain.chain_id, world.reputation.address)
    signature = world.client.sign_message(message.signable(domain)).encode_rsv()
    params = (AGENT_ID, 2, *FULL)
    return world.reputation.giveFeedbackBySig(world.client, params, DEADLINE, signature, sender=world.validator)


def _void_signatures(world: World, earlier: int) -> Any:
    void = world.reputation.voidSignaturesThrough
    return [void(DEADLINE + i, sender=world.client) for i in range(earlier + 1)][-1]


def _revoke(world: World) -> Any:
    _prepare(world)
    _give(world, FULL)
    return world.reputation.revokeFeedback(AGENT_ID, 1, sender=world.client)


def _respond(world: World, earlier: int) -> Any:
    _prepare(world)
    _give(world, FULL)
    append = world.reputation.appendResponse
    return [append(AGENT_ID, world.client, 1, *RESPONSE, sender=world.owner) for _ in range(earlier + 1)][-1]


def _give_much(world: World, count: int) -> Any:
    """Let one client, a contract, rate the agent many times."""
    world.identity.register(sender=world.owner)
    client = world.deployer.deploy(ape.project.MockFeedbackGiver)
    call = world.reputation.giveFeedback.encode_input(AGENT_ID, *FULL)
    for done in range(0, count, BATCH):
        client.repeat(world.reputation, call, min(BATCH, count - done), sender=world.client)
    return client


def _gather(world: World, count: int) -> Any:
    """Let many clients rate the agent once each."""
    world.identity.register(sender=world.owner)
    crowd = world.deployer.deploy(ape.project.MockFeedbackCrowd)
    crowd.gather(count, sender=world.client)
    call = world.reputation.giveFeedback.encode_input(AGENT_ID, *FULL)
    crowd.performAll(world.reputation, call, 0, count, sender=world.client)
    return crowd.clients()


def _summarize_one_client(world: World, tag1: str) -> Any:
    client = _give_much(world, 1_000)
    return execution_gas(world.reputation.getSummary, AGENT_ID, [client], tag1, "")


def _summarize_many_clients(world: World) -> Any:
    clients = _gather(world, 100)
    return execution_gas(world.reputation.getSummary, AGENT_ID, clients, "", "")


def _read_all(world: World) -> Any:
    client = _give_much(world, 100)
    return execution_gas(world.reputation.readAllFeedback, AGENT_ID, [client], "", "", False)


def _read_one(world: World) -> Any:
    _prepare(world)
    return execution_gas(world.reputation.readFeedback, AGENT_ID, world.other_client, 1)


def _count_responses(world: World) -> Any:
    _prepare(world)
    for responder in (world.owner, world.client, world.validator):
        world.reputation.appendResponse(AGENT_ID, world.other_client, 1, *RESPONSE, sender=responder)
    return execution_gas(world.reputation.getResponseCount, AGENT_ID, world.other_client, 1, [])


REPUTATION_CASES = [
    GasCase.of("giveFeedback, full, first", 123_000, _give_feedback, 196_248, 181_567),
    GasCase.of("giveFeedback, full, second", 79_000, _give_feedback, 131_504, 116_892, earlier=1),
    GasCase.of("giveFeedback, value alone, first", 114_000, _give_feedback, 152_805, 138_155, feedback=MINIMAL),
    GasCase.of(
        "giveFeedback, value alone, second", 69_500, _give_feedback, 88_061, 73_480, feedback=MINIMAL, earlier=1
    ),
    GasCase("giveFeedback, full, an agent's first", 140_000, _give_agents_first),
    GasCase("giveFeedback, full, first, two new tags", 215_000, _give_with_new_tags),
    GasCase("giveFeedbackBySig, full, second", 90_000, _give_by_signature),
    GasCase.of("voidSignaturesThrough, a client's first", 46_000, _void_signatures, earlier=0),
    GasCase.of("voidSignaturesThrough, its second", 29_000, _void_signatures, earlier=1),
    GasCase("revokeFeedback", 36_000, _revoke, 36_244, 48_484),
    GasCase.of("appendResponse, a responder's first", 57_500, _respond, 107_767, 52_611, earlier=0),
    GasCase.of("appendResponse, its second", 41_000, _respond, 42_817, 35_511, earlier=1),
    GasCase.of("getSummary, 1 client with 1,000, execution", 9_000, _summarize_one_client, 3_533_706, tag1=""),
    GasCase.of("the same with tag1 starred", 2_600_000, _summarize_one_client, 6_150_787, tag1="starred"),
    GasCase("getSummary, 100 clients with 1, execution", 300_000, _summarize_many_clients, 625_545),
    GasCase("readAllFeedback, 1 client with 100, execution", 600_000, _read_all, 1_142_884),
    GasCase("readFeedback, execution", 9_000, _read_one),
    GasCase("getResponseCount, 3 responders, execution", 4_000, _count_responses),
]
"""The reputation registry's calls."""


SERVER_ID = 1

FIRST_SUBJECT = 32
"""The first agent of a word of ratings."""

WORD = 32
"""Agents that share a word of ratings."""

EIP_8004A_GAS = 21_557
"""The gas that EIP-8004a quotes for a rating. docs/gas.md explains the figure."""


def _register_ratings(world: World, count: int = 2 * WORD) -> AccountAPI:
    """Register agents 1 to `count`, and return the owner of the first, which is the server that rates."""
    agents = world.deployer.deploy(ape.project.MockFeedbackGiver)
    world.identity.register(sender=world.owner)
    agents.repeat(world.identity, world.identity.register.encode_input(), count - 1, sender=world.deployer)
    return world.owner


def _rate(world: World, kind: str, earlier: int = 0, *, named: bool = False) -> Any:
    """Rate agents of the deployer, perhaps with the expected rater and owner, and return the gas for the last one."""
    server, rate = _register_ratings(world), getattr(world.reputation, f"rate{kind}{'As' * named}")
    expected = (SERVER_ID, world.identity.ownerOf(FIRST_SUBJECT)) if named else ()
    subjects = range(FIRST_SUBJECT, FIRST_SUBJECT + earlier + 1)
    return [rate(subject, 95, *expected, sender=server) for subject in subjects][-1]


def _rate_clients(world: World, count: int, *, named: bool = False) -> Any:
    """Rate new clients that share a word, perhaps with the expected rater and owners, and return the gas for each."""
    server, rate = _register_ratings(world), getattr(world.reputation, f"rateClients{'As' * named}")
    expected = (SERVER_ID, [world.identity.ownerOf(FIRST_SUBJECT)] * count) if named else ()
    receipt = rate(list(range(FIRST_SUBJECT, FIRST_SUBJECT + count)), [95] * count, *expected, sender=server)
    return int(receipt.gas_used) // count


def _get_rating(world: World, kind: str) -> Any:
    getattr(world.reputation, f"rate{kind}")(FIRST_SUBJECT, 95, sender=_register_ratings(world))
    return execution_gas(getattr(world.reputation, f"get{kind}Rating"), FIRST_SUBJECT, SERVER_ID)


def _get_client_ratings(world: World) -> Any:
    clients = list(range(FIRST_SUBJECT, FIRST_SUBJECT + WORD))
    world.reputation.rateClients(clients, [95] * WORD, sender=_register_ratings(world))
    return execution_gas(world.reputation.getClientRatings, clients, SERVER_ID)


def _accept_feedback(world: World, earlier: int) -> Any:
    server, accept = _register_ratings(world), world.reputation.acceptFeedback
    return [accept(FIRST_SUBJECT + number, SERVER_ID, sender=server) for number in range(earlier + 1)][-1]


RATINGS_CASES = [
    GasCase.of("rateClient, first in a word", 55_000, _rate, None, 84_314, kind="Client", earlier=0),
    GasCase.of("rateClient, a neighbour", 38_000, _rate, kind="Client", earlier=1),
    GasCase.of("rateValidator, first in a word", 55_000, _rate, kind="Validator", earlier=0),
    GasCase.of("rateValidator, a neighbour", 38_000, _rate, kind="Validator", earlier=1),
    GasCase.of("rateClients, 3 new neighbours, each", EIP_8004A_GAS, _rate_clients, count=3),
    GasCase.of("rateClients, 32 new neighbours, each", 6_500, _rate_clients, count=WORD),
    GasCase.of("rateClientAs, first in a word", 58_500, _rate, kind="Client", earlier=0, named=True),
    GasCase.of("rateClientAs, a neighbour", 41_500, _rate, kind="Client", earlier=1, named=True),
    GasCase.of("rateValidatorAs, first in a word", 58_500, _rate, kind="Validator", earlier=0, named=True),
    GasCase.of("rateClientsAs, 32 new neighbours, each", 9_000, _rate_clients, count=WORD, named=True),
    GasCase.of("getClientRating, execution", 3_000, _get_rating, None, 4_831, kind="Client"),
    GasCase.of("getValidatorRating, execution", 3_000, _get_rating, kind="Validator"),
    GasCase("getClientRatings, 32 neighbours, execution", 29_000, _get_client_ratings),
    GasCase.of("acceptFeedback, first in a word", 56_000, _accept_feedback, None, 83_428, earlier=0),
    GasCase.of("acceptFeedback, next", 39_000, _accept_feedback, earlier=1),
]
"""The calls about ratings and the August 2025 authorisations."""


CLIENT_ID = 32
"""The first agent of a word of ratings."""


RATING = 95

FEEDBACK = BlindFeedback(value=87, tag1="starred", tag2="finance", feedback_uri=FILE[0], feedback_hash=FILE[1])
"""A feedback with a file and two tags that somebody used before."""

INTERACTION, CLIENT_SALT, SERVER_SALT = (keccak(text=name) for name in ("interaction", "client", "server"))
"""Fixed values, because a zero byte of calldata is cheaper."""

OPENINGS = (FEEDBACK.arguments, CLIENT_SALT, RATING, SERVER_SALT)
"""The arguments that open both ratings."""


def _agree(world: World, is_neighbour: bool) -> tuple[tuple[Any, ...], bytes, bytes]:
    """Register the server and its client, and return their pair as the registry takes it, with both signatures.

    Another client rated the server with the usual tags.

    Args:
        world: The registries and accounts.
        is_neighbour: True if the server rated a neighbour of the client, and the client rated the server.
    """
    identity, reputation = world.identity, world.reputation
    identity.register(sender=world.owner)
    others = world.deployer.deploy(ape.project.MockFeedbackGiver)
    others.repeat(identity, identity.register.encode_input(), CLIENT_ID - 2, sender=world.deployer)
    for client in (world.client, world.other_client):
        identity.register(sender=client)
    reputation.giveFeedback(SERVER_ID, *FEEDBACK.arguments, sender=world.other_client)
    if is_neighbour:
        reputation.rateClient(CLIENT_ID + 1, RATING, sender=world.owner)
        reputation.giveFeedback(SERVER_ID, *FEEDBACK.arguments, sender=world.client)
    sides = (INTERACTION, CLIENT_ID, world.client.address, SERVER_ID, world.owner.address)
    feedback_seal = FEEDBACK.seal(CLIENT_SALT, world.client.address, SERVER_ID)
    pair = Pair(*sides, feedback_seal, DEADLINE, rating_seal(RATING, SERVER_SALT, CLIENT_ID, SERVER_ID), DEADLINE)
    client_signature = _sign(world, pair.feedback_envelope, world.client)
    return pair.arguments, client_signature, _sign(world, pair.rating_envelope, world.owner)


def _sign(world: World, envelope: Envelope, account: Any) -> bytes:
    signable = envelope.signable(Domain(ape.chain.chain_id, world.reputation.address))
    return bytes(account.sign_message(signable).encode_rsv())


def _seal(world: World, is_neighbour: bool) -> Any:
    return world.reputation.seal(*_agree(world, is_neighbour), sender=world.validator)


def _sealed(world: World, is_neighbour: bool) -> tuple[Any, ...]:
    pair, *signatures = _agree(world, is_neighbour)
    world.reputation.seal(pair, *signatures, sender=world.validator)
    return pair


def _open(world: World, is_neighbour: bool) -> Any:
    return world.reputation.open(_sealed(world, is_neighbour), *OPENINGS, sender=world.validator)


def _open_rating(world: World) -> Any:
    return world.reputation.openRating(_sealed(world, is_neighbour=True), RATING, SERVER_SALT, sender=world.validator)


def _open_feedback(world: World) -> Any:
    pair = _sealed(world, is_neighbour=False)
    return world.reputation.openFeedback(pair, FEEDBACK.arguments, CLIENT_SALT, sender=world.validator)


def _exchange(world: World, is_neighbour: bool) -> Any:
    return world.reputation.exchange(*_agree(world, is_neighbour), *OPENINGS, sender=world.validator)


def _two_open_transactions(world: World, is_neighbour: bool) -> Any:
    """Let both sides rate openly, in a transaction each."""
    _agree(world, is_neighbour)
    rating = world.reputation.rateClient(CLIENT_ID, RATING, sender=world.owner)
    feedback = world.reputation.giveFeedback(SERVER_ID, *FEEDBACK.arguments, sender=world.client)
    return rating.gas_used + feedback.gas_used


def _textbook(world: World) -> Any:
    """Let both sides commit and reveal one byte each, by the textbook: four transactions."""
    textbook = world.deployer.deploy(ape.project.MockCommitReveal)
    sides = ((world.client, world.owner, CLIENT_SALT), (world.owner, world.client, SERVER_SALT))
    receipts = [
        textbook.commit(other, keccak(bytes([RATING]) + salt), sender=account) for account, other, salt in sides
    ]
    receipts += [textbook.reveal(other, RATING, salt, sender=account) for account, other, salt in sides]
    return sum(int(receipt.gas_used) for receipt in receipts)


BLIND_CASES = [
    GasCase.of("exchange, a second feedback and a neighbour", 113_000, _exchange, is_neighbour=True),
    GasCase.of("exchange, all new", 175_000, _exchange, is_neighbour=False),
    GasCase.of("seal, a neighbour", 76_500, _seal, is_neighbour=True),
    GasCase.of("seal, first in a word", 93_500, _seal, is_neighbour=False),
    GasCase.of("open, a second feedback", 95_000, _open, is_neighbour=True),
    GasCase.of("open, a client's first feedback", 140_000, _open, is_neighbour=False),
    GasCase("openRating", 39_500, _open_rating),
    GasCase("openFeedback, a client's first", 137_500, _open_feedback),
    GasCase.of("the same openly, two transactions, a neighbour", 115_000, _two_open_transactions, is_neighbour=True),
    GasCase.of("the same openly, two transactions, all new", 176_500, _two_open_transactions, is_neighbour=False),
    GasCase("textbook commit and reveal of one byte each, four transactions", 230_000, _textbook),
]
"""The calls of blind ratings, and the alternatives beside them."""


CASES = [*REPUTATION_CASES, *RATINGS_CASES, *BLIND_CASES]
