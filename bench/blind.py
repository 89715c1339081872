"""Gas cases of blind ratings in the bidirectional reputation registry."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import ape
from eth_utils.crypto import keccak

from bench.measurement import GasCase, World
from bilateral.core.signatures import Domain
from bilateral.core.signatures.blind_ratings import BlindFeedback, Envelope, Pair, rating_seal

SERVER_ID = 1

CLIENT_ID = 32
"""The first agent of a word of ratings."""

DEADLINE = 4_102_444_800
"""The year 2100. A time that does not pass makes the same signature, and so the same gas, each time."""

RATING = 95

FEEDBACK = BlindFeedback(
    value=87,
    tag1="starred",
    tag2="finance",
    feedback_uri="ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG",
    feedback_hash=bytes(range(200, 232)),
)
"""A feedback with a file and two tags that somebody used before."""

INTERACTION, CLIENT_SALT, SERVER_SALT = (keccak(text=name) for name in ("interaction", "client", "server"))
"""Fixed values, because a zero byte of calldata is cheaper."""

OPENINGS = (FEEDBACK.arguments, CLIENT_SALT, RATING, SERVER_SALT)
"""The arguments that open both ratings."""


@dataclass(frozen=True)
class Agreement:
    """A pair with both signatures.

    Attributes:
        pair: The pair as the registry takes it.
        signatures: The client's signature, and the server's.
    """

    pair: tuple[Any, ...]
    signatures: tuple[bytes, bytes]


def _agree(world: World, is_neighbour: bool) -> Agreement:
    """Register the server and its client, and let both sign. Another client rated the server with the usual tags.

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
    signatures = (_sign(world, pair.feedback_envelope, world.client), _sign(world, pair.rating_envelope, world.owner))
    return Agreement(pair.arguments, signatures)


def _sign(world: World, envelope: Envelope, account: Any) -> bytes:
    signable = envelope.signable(Domain(ape.chain.chain_id, world.reputation.address))
    return bytes(account.sign_message(signable).encode_rsv())


def _seal(world: World, is_neighbour: bool) -> int:
    agreement = _agree(world, is_neighbour)
    return int(world.reputation.seal(agreement.pair, *agreement.signatures, sender=world.validator).gas_used)


def _sealed(world: World, is_neighbour: bool) -> tuple[Any, ...]:
    agreement = _agree(world, is_neighbour)
    world.reputation.seal(agreement.pair, *agreement.signatures, sender=world.validator)
    return agreement.pair


def _open(world: World, is_neighbour: bool) -> int:
    pair = _sealed(world, is_neighbour)
    return int(world.reputation.open(pair, *OPENINGS, sender=world.validator).gas_used)


def _open_rating(world: World) -> int:
    pair = _sealed(world, is_neighbour=True)
    return int(world.reputation.openRating(pair, RATING, SERVER_SALT, sender=world.validator).gas_used)


def _open_feedback(world: World) -> int:
    pair = _sealed(world, is_neighbour=False)
    receipt = world.reputation.openFeedback(pair, FEEDBACK.arguments, CLIENT_SALT, sender=world.validator)
    return int(receipt.gas_used)


def _exchange(world: World, is_neighbour: bool) -> int:
    agreement = _agree(world, is_neighbour)
    receipt = world.reputation.exchange(agreement.pair, *agreement.signatures, *OPENINGS, sender=world.validator)
    return int(receipt.gas_used)


def _two_open_transactions(world: World, is_neighbour: bool) -> int:
    """Let both sides rate openly, in a transaction each."""
    _agree(world, is_neighbour)
    rating = world.reputation.rateClient(CLIENT_ID, RATING, sender=world.owner)
    feedback = world.reputation.giveFeedback(SERVER_ID, *FEEDBACK.arguments, sender=world.client)
    return int(rating.gas_used + feedback.gas_used)


def _textbook(world: World) -> int:
    """Let both sides commit and reveal one byte each, by the textbook: four transactions."""
    textbook = world.deployer.deploy(ape.project.MockCommitReveal)
    sides = ((world.client, world.owner, CLIENT_SALT), (world.owner, world.client, SERVER_SALT))
    receipts = [
        textbook.commit(other, keccak(bytes([RATING]) + salt), sender=account) for account, other, salt in sides
    ]
    receipts += [textbook.reveal(other, RATING, salt, sender=account) for account, other, salt in sides]
    return sum(int(receipt.gas_used) for receipt in receipts)


CASES = [
    GasCase("exchange, a second feedback and a neighbour", 113_000, partial(_exchange, is_neighbour=True)),
    GasCase("exchange, all new", 175_000, partial(_exchange, is_neighbour=False)),
    GasCase("seal, a neighbour", 76_500, partial(_seal, is_neighbour=True)),
    GasCase("seal, first in a word", 93_500, partial(_seal, is_neighbour=False)),
    GasCase("open, a second feedback", 95_000, partial(_open, is_neighbour=True)),
    GasCase("open, a client's first feedback", 140_000, partial(_open, is_neighbour=False)),
    GasCase("openRating", 39_500, _open_rating),
    GasCase("openFeedback, a client's first", 137_500, _open_feedback),
    GasCase(
        "the same openly, two transactions, a neighbour", 115_000, partial(_two_open_transactions, is_neighbour=True)
    ),
    GasCase("the same openly, two transactions, all new", 176_500, partial(_two_open_transactions, is_neighbour=False)),
    GasCase("textbook commit and reveal of one byte each, four transactions", 230_000, _textbook),
]
"""The calls of blind ratings, and the alternatives beside them."""
