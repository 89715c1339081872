"""Operations on blind ratings: signing envelopes, sealing them on chain, and opening them."""

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from bilateral.client.blind_vault import BlindVault
from bilateral.client.operations import documents, feedback, registries, transactions
from bilateral.client.operations.feedback import Draft
from bilateral.client.state import AgentLike, ClientState, Sent
from bilateral.core.contracts import Registry, has_private_mempool
from bilateral.core.errors import InvalidArgumentError, SealUnsettledError
from bilateral.core.events import ClientRated, Event, RatingsOpened, RatingsSealed
from bilateral.core.identifiers import AgentId, FeedbackId, checksummed
from bilateral.core.signatures import Domain, blind_ratings
from bilateral.core.signatures.blind_messages import (
    FeedbackOpening,
    Opening,
    RatingOpening,
    SignedEnvelope,
    require_fit,
)
from bilateral.node.steps import Blocking, Operation, Pause, together

_SIDES: Final = ("client", "server")


@dataclass(frozen=True)
class BlindStatus:
    """The state of a server's rating of a client.

    Attributes:
        state: The state: none, open, sealed, or blind (sealed, then opened).
        pair_hash: The hash of the stored pair; 0 if no pair is stored.
        is_feedback_open: True if the client's feedback in the stored pair has been opened.
    """

    client: AgentId
    server: AgentId
    state: blind_ratings.RatingState
    pair_hash: int
    is_feedback_open: bool


@dataclass(frozen=True)
class SealedRatings:
    """The result of sealing a pair of ratings.

    Attributes:
        interaction: The id of the interaction, 32 bytes.
    """

    client: AgentId
    server: AgentId
    interaction: bytes


@dataclass(frozen=True)
class OpenedRatings:
    """The result of opening blind ratings.

    Attributes:
        interaction: The id of the interaction, 32 bytes.
        rating: The server's rating; None if only the feedback was opened.
        feedback: The client's feedback; None if only the rating was opened.
    """

    client: AgentId
    server: AgentId
    interaction: bytes
    rating: int | None
    feedback: FeedbackId | None


def seal_rating(  # noqa: PLR0913, PLR0917  # the method's own parameters
    state: ClientState, vault: BlindVault, client: tuple[AgentLike, str], rating: int, interaction: bytes, lifetime: int
) -> Operation[SignedEnvelope]:
    """See `Client.seal_rating`."""
    deployment = yield from registries.connect(state)
    client_id, account = registries.agent_of(deployment, client[0]).token_id, checksummed(client[1])
    server = checksummed(registries.require_signer(state).address)
    server_id = yield from speaks_as(state, server)
    yield from _require_agent(state, "client", account, client_id)
    opening = RatingOpening(rating, secrets.token_bytes(blind_ratings.HASH_BYTES))
    sides = (client_id, account, server_id, server, interaction)
    deadline = yield from _deadline(lifetime, blind_ratings.MAX_SERVER_LIFETIME)
    envelope = blind_ratings.SealedRating(*sides, bytes(blind_ratings.HASH_BYTES), deadline)
    return (yield from _sign(state, vault, envelope, opening))


def seal_feedback(  # noqa: PLR0913, PLR0917  # the method's own parameters
    state: ClientState,
    vault: BlindVault,
    offer: SignedEnvelope,
    draft: Draft,
    agent_id: AgentLike | None,
    lifetime: int,
) -> Operation[SignedEnvelope]:
    """See `Client.seal_feedback`."""
    theirs = offer.envelope
    if not isinstance(theirs, blind_ratings.SealedRating):
        raise InvalidArgumentError("offer: expected the server's envelope, a SealedRating")
    client = checksummed(registries.require_signer(state).address)
    if theirs.client != client:
        raise InvalidArgumentError(f"offer: the envelope is for client {theirs.client}, but the signer is {client}")
    deployment = yield from registries.connect(state)
    agent = AgentId(theirs.server_id, deployment.chain_id)
    if agent_id is not None and registries.agent_of(deployment, agent_id) != agent:
        raise InvalidArgumentError(f"offer: the envelope is from server {agent}, not from {agent_id}")
    yield from verify(state, offer)
    arguments = yield from feedback.arguments_of(state, agent, draft)
    if documents.are_published(state, arguments):
        raise InvalidArgumentError(
            "feedback_file: storing the file would reveal the feedback before it is "
            "sealed; use a DataUriStore, or pass feedback_uri"
        )
    settled = yield from documents.settled(state, arguments)
    registry = yield from registries.require_registry(state, Registry.BIDIRECTIONAL)
    # The registry performs the same checks for blind and open feedback, so simulate open feedback.
    data = registries.calldata(Registry.REPUTATION, feedback.GIVE, settled)
    yield from registries.simulate({"from": client, "to": registry, "data": "0x" + data.hex()})
    opening = FeedbackOpening(blind_ratings.BlindFeedback(*settled[1:]), secrets.token_bytes(blind_ratings.HASH_BYTES))
    deadline = yield from _deadline(lifetime, blind_ratings.MAX_CLIENT_LIFETIME)
    envelope = blind_ratings.SealedFeedback(*theirs.common, bytes(blind_ratings.HASH_BYTES), deadline)
    return (yield from _sign(state, vault, envelope, opening))


def verify(state: ClientState, signed: SignedEnvelope) -> Operation[None]:
    """See `Client.verify_envelope`."""
    envelope = signed.envelope
    now = int((yield from registries.block_time()).timestamp())
    if envelope.deadline < now:
        raise InvalidArgumentError(f"deadline: {envelope.deadline} has passed; the chain's time is {now}")
    yield from _require_agent(state, "server", envelope.server, envelope.server_id)
    yield from _require_agent(state, "client", envelope.client, envelope.client_id)
    domain = yield from _domain(state)
    digest = envelope.digest(domain)
    verifier = str(domain.verifying_contract)
    if not (yield from registries.is_valid_signature(state, envelope.signer, digest, signed.signature, verifier)):
        raise InvalidArgumentError(f"signature: {envelope.signer} did not sign the envelope for this registry")


def status(state: ClientState, client_id: AgentLike, server_id: AgentLike) -> Operation[BlindStatus]:
    """See `Client.get_blind_status`."""
    deployment = yield from registries.connect(state)
    client, server = registries.agent_of(deployment, client_id), registries.agent_of(deployment, server_id)
    ids = client.token_id, server.token_id
    (number,), (pair_hash, is_open) = yield from together(
        [registries.call(state, Registry.BIDIRECTIONAL, name, *ids) for name in ("ratingStateOf", "getSealedPair")]
    )
    return BlindStatus(client, server, blind_ratings.RatingState(number), pair_hash, is_open)


def seal(state: ClientState, theirs: SignedEnvelope, ours: SignedEnvelope) -> Operation[Sent[SealedRatings]]:
    """See `Client.seal_ratings`."""
    pair, signatures = pair_of(theirs, ours)
    chain_id = (yield from registries.connect(state)).chain_id

    def decode(events: Sequence[Event]) -> SealedRatings:
        ids = {"client_id": pair.client_id, "server_id": pair.server_id, "interaction": pair.interaction}
        event = transactions.require_event(events, RatingsSealed, **ids)
        sides = AgentId(event.client_id, chain_id), AgentId(event.server_id, chain_id)
        return SealedRatings(*sides, event.interaction)

    arguments = (pair.arguments, *signatures)
    return (yield from transactions.send(state, Registry.BIDIRECTIONAL, "seal", arguments, decode))


def exchange(
    state: ClientState, envelopes: Sequence[SignedEnvelope], openings: Sequence[Opening], *, accept_public_mempool: bool
) -> Operation[Sent[OpenedRatings]]:
    """See `Client.exchange`."""
    if len(envelopes) != len(_SIDES):
        raise InvalidArgumentError(f"envelopes: expected {len(_SIDES)} (one from each side), got {len(envelopes)}")
    pair, signatures = pair_of(*envelopes)
    client, server = _openings_of(pair, openings)
    if client is None or server is None:
        raise InvalidArgumentError("openings: `exchange` requires an opening from each side")
    chain_id = (yield from registries.connect(state)).chain_id
    if not has_private_mempool(chain_id) and not accept_public_mempool:
        raise InvalidArgumentError(
            f"chain {chain_id} may have a public mempool, which would reveal both ratings before they are stored: "
            "call `seal_ratings` and then `open_ratings`, or pass accept_public_mempool"
        )
    arguments = (pair.arguments, *signatures, *client.arguments, *server.arguments)
    decode = partial(_opened, pair, chain_id)
    return (yield from transactions.send(state, Registry.BIDIRECTIONAL, "exchange", arguments, decode))


def open_(
    state: ClientState, pair: blind_ratings.Pair, openings: Sequence[Opening], confirmations: int, timeout: float
) -> Operation[Sent[OpenedRatings]]:
    """See `Client.open_ratings`."""
    client, server = _openings_of(pair, openings)
    chain_id = (yield from registries.connect(state)).chain_id
    yield from _await_seal(state, pair, confirmations, timeout)
    if client is None:
        yield from _require_turn(state, pair)
    functions = {(True, True): "open", (True, False): "openFeedback", (False, True): "openRating"}
    function = functions[client is not None, server is not None]
    arguments_of = [opening.arguments for opening in (client, server) if opening is not None]
    arguments = (pair.arguments, *(value for opening in arguments_of for value in opening))
    decode = partial(_opened, pair, chain_id)
    return (yield from transactions.send(state, Registry.BIDIRECTIONAL, function, arguments, decode))


def pair_of(first: SignedEnvelope, second: SignedEnvelope) -> tuple[blind_ratings.Pair, tuple[bytes, bytes]]:
    """Combine two envelopes, which may be passed in either order."""
    client, server = (first, second) if isinstance(first.envelope, blind_ratings.SealedFeedback) else (second, first)
    if not (
        isinstance(client.envelope, blind_ratings.SealedFeedback)
        and isinstance(server.envelope, blind_ratings.SealedRating)
    ):
        raise InvalidArgumentError("envelopes: expected one from the client and one from the server")
    return blind_ratings.Pair.of(client.envelope, server.envelope), (client.signature, server.signature)


def _sign(
    state: ClientState,
    vault: BlindVault,
    draft: blind_ratings.SealedFeedback | blind_ratings.SealedRating,
    opening: Opening,
) -> Operation[SignedEnvelope]:
    """Store an opening, then sign its envelope. Repeating the call after a crash signs the same seal again."""
    domain = yield from _domain(state)
    stored: Opening = yield Blocking(partial(vault.keep, domain, draft, opening))
    envelope = type(draft)(*draft.common, stored.seal_for(draft), draft.deadline)
    signer = registries.require_signer(state)
    signed = SignedEnvelope(envelope, (yield from registries.sign_message(signer, envelope.signable(domain))))
    yield Blocking(partial(vault.note, domain, signed))
    return signed


def _domain(state: ClientState) -> Operation[Domain]:
    deployment = yield from registries.connect(state)
    deployment.require_function(Registry.BIDIRECTIONAL, "exchange")
    registry = yield from registries.require_registry(state, Registry.BIDIRECTIONAL)
    return Domain(deployment.chain_id, registry)  # type: ignore[arg-type]  # it is checksummed


def _deadline(lifetime: int, longest: int) -> Operation[int]:
    if not 0 < lifetime <= longest:
        raise InvalidArgumentError(f"lifetime {lifetime} is out of range 1..{longest} seconds")
    return int((yield from registries.block_time()).timestamp()) + lifetime


def speaks_as(state: ClientState, account: str) -> Operation[int]:
    """Return an account's primary agent, or 0 if it has none."""
    registry = (yield from registries.connect(state)).directory_registry
    (agent_id,) = yield from registries.call(state, registry, "agentOf", account)
    return int(agent_id)


def _require_agent(state: ClientState, side: str, account: str, expected: int) -> Operation[None]:
    """Raise an error if an account's primary agent is not the expected one: the registry would reject its envelope."""
    agent_id = yield from speaks_as(state, account)
    if agent_id != expected:
        raise InvalidArgumentError(
            f"{side}: the primary agent of {account} is {agent_id}, not {expected}; change it with `set_primary_agent`"
        )


def _openings_of(
    pair: blind_ratings.Pair, openings: Sequence[Opening]
) -> tuple[FeedbackOpening | None, RatingOpening | None]:
    """Return the client's opening and the server's, after checking that they match their envelopes."""
    client, server = None, None
    for opening in openings:
        if isinstance(opening, FeedbackOpening):
            require_fit(pair.feedback_envelope, opening)
            client = opening
        else:
            require_fit(pair.rating_envelope, opening)
            server = opening
    if client is None and server is None:
        raise InvalidArgumentError("openings: pass at least one side's opening")
    return client, server


def _await_seal(state: ClientState, pair: blind_ratings.Pair, confirmations: int, timeout: float) -> Operation[None]:
    """Wait until a pair's seal has the given number of confirmations, including the block that contains it."""
    if confirmations < 1:
        raise InvalidArgumentError(f"confirmations must be at least 1, not {confirmations}")
    end = time.monotonic() + timeout
    ids = pair.client_id, pair.server_id
    while True:
        last = yield from registries.latest_block()
        block = hex(max(last - confirmations + 1, 0))
        pair_hash, _ = yield from registries.call(state, Registry.BIDIRECTIONAL, "getSealedPair", *ids, block=block)
        if pair_hash == pair.hash:
            return
        if time.monotonic() >= end:
            raise SealUnsettledError(pair.client_id, pair.server_id, confirmations, timeout)
        yield Pause(min(state.poll_interval, max(end - time.monotonic(), 0)))


def _require_turn(state: ClientState, pair: blind_ratings.Pair) -> Operation[None]:
    """Raise an error if the client could see the server's rating before the client's feedback is opened."""
    now = int((yield from registries.block_time()).timestamp())
    ids = pair.client_id, pair.server_id
    _, is_open = yield from registries.call(state, Registry.BIDIRECTIONAL, "getSealedPair", *ids)
    silent_until = pair.client_deadline + blind_ratings.CLIENT_SILENCE_SECONDS
    if not is_open and now < silent_until:
        raise InvalidArgumentError(
            f"openings: the client's feedback is sealed; wait until it is opened, or until Unix time {silent_until}"
        )


def _opened(pair: blind_ratings.Pair, chain_id: int, events: Sequence[Event]) -> OpenedRatings:
    ids = {"client_id": pair.client_id, "server_id": pair.server_id}
    event = transactions.require_event(events, RatingsOpened, **ids, interaction=pair.interaction)
    client, server = AgentId(pair.client_id, chain_id), AgentId(pair.server_id, chain_id)
    ratings = [event.rating for event in events if isinstance(event, ClientRated) and event.client_id == pair.client_id]
    index = event.feedback_index
    feedback_id = FeedbackId(server, event.client, index) if index else None
    return OpenedRatings(client, server, event.interaction, ratings[0] if ratings else None, feedback_id)
