"""Chapter: a client and a server rate each other blind, and the server's revenge for a bad word is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eth_utils.crypto import keccak

from bilateral.core.signatures import Domain
from bilateral.core.signatures.blind_ratings import (
    BlindFeedback,
    Pair,
    RatingState,
    SealedFeedback,
    SealedRating,
    rating_seal,
)

if TYPE_CHECKING:
    from ape.contracts import ContractInstance

    from scripts._demo.stage import Stage

HOUR: Final = 3_600
WORD, PRAISE = 12, 90
FEEDBACK: Final = BlindFeedback(WORD, 0, "starred")
SALTS: Final = (keccak(text="the guest's salt"), keccak(text="the host's salt"))
"""Fixed, so that the story is the same each time. The SDK draws 32 random bytes, and stores them first."""


@dataclass(frozen=True)
class _Agreement:
    """Both envelopes and their signatures."""

    pair: Pair
    signatures: tuple[bytes, bytes]


def play(stage: Stage) -> None:
    """Seal both ratings, open the client's, and let the server try to answer it.

    Args:
        stage: The stage.
    """
    stage.chapter("Blind ratings")
    registry = stage.registry("BidirectionalReputationRegistry")
    agreement = _agree(stage, registry)
    _seal(stage, registry, agreement)
    _take_revenge(stage, registry, agreement.pair)
    _open(stage, registry, agreement.pair)


def _agree(stage: Stage, registry: ContractInstance) -> _Agreement:
    """Register both agents, and let each sign its envelope. Neither knows the other's rating."""
    identity = stage.registry("IdentityRegistry")
    guest, host = stage.account("guest"), stage.account("host")
    with stage.step("A guest and a host register: they have no past with anybody.") as step:
        for account in (guest, host):
            identity.register(sender=account)
        client_id, server_id = identity.agentOf(guest), identity.agentOf(host)
        step.check("ratings", registry.ratingStateOf(client_id, server_id), RatingState.NONE)
    sides = (client_id, str(guest.address), server_id, str(host.address), keccak(text="one night"))
    deadline = stage.now() + HOUR
    feedback = SealedFeedback(*sides, FEEDBACK.seal(SALTS[0], str(guest.address), server_id), deadline)
    rating = SealedRating(*sides, rating_seal(PRAISE, SALTS[1], client_id, server_id), deadline)
    domain = Domain(stage.chain_id, registry.address)
    signed: list[Any] = [
        account.sign_message(envelope.signable(domain)) for account, envelope in ((guest, feedback), (host, rating))
    ]
    return _Agreement(Pair.of(feedback, rating), (signed[0].encode_rsv(), signed[1].encode_rsv()))


def _seal(stage: Stage, registry: ContractInstance, agreement: _Agreement) -> None:
    pair, relayer = agreement.pair, stage.account("relayer")
    ids = pair.client_id, pair.server_id
    with stage.step("The host seals its rating before it knows the guest's, and a relayer stores both seals.") as step:
        registry.seal(pair.arguments, *agreement.signatures, sender=relayer)
        step.check("state", RatingState(registry.ratingStateOf(*ids)).name, "SEALED")
        step.check("rating shown", tuple(registry.getClientRating(*ids)), (False, 0))


def _take_revenge(stage: Stage, registry: ContractInstance, pair: Pair) -> None:
    guest, host = stage.account("guest"), stage.account("host")
    ids = pair.client_id, pair.server_id
    with stage.step(f"The guest opens a bad word: {WORD} of 100.") as step:
        registry.openFeedback(pair.arguments, FEEDBACK.arguments, SALTS[0], sender=guest)
        step.check("value", registry.readFeedback(pair.server_id, guest, 1).value, WORD)
    with stage.refused(registry.AlreadyRated, "The host wants to answer with a 0.", subjectId=ids[0], serverId=ids[1]):
        registry.rateClient(pair.client_id, 0, sender=host)
    with stage.refused(
        registry.SealMismatch,
        "The host wants to open 0, though it sealed another rating.",
        seal=pair.server_seal,
        opening=rating_seal(0, SALTS[1], *ids),
    ):
        registry.openRating(pair.arguments, 0, SALTS[1], sender=host)


def _open(stage: Stage, registry: ContractInstance, pair: Pair) -> None:
    ids = pair.client_id, pair.server_id
    with stage.step("The host withholds its rating: everybody sees that it is sealed, and whose turn it is.") as step:
        step.check("state", RatingState(registry.ratingStateOf(*ids)).name, "SEALED")
        step.check("guest's side open", registry.getSealedPair(*ids).isFeedbackOpen, True)
        step.check("rating shown", tuple(registry.getClientRating(*ids)), (False, 0))
    with stage.step(f"The host opens what it sealed: {PRAISE}, the one rating that it can still give.") as step:
        registry.openRating(pair.arguments, PRAISE, SALTS[1], sender=stage.account("host"))
        step.check("rating", tuple(registry.getClientRating(*ids)), (True, PRAISE))
        step.check("state", RatingState(registry.ratingStateOf(*ids)).name, "BLIND")
