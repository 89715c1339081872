"""Ratings that servers give their clients and validators (EIP-8004a)."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

from bilateral.client.operations import registries, transactions
from bilateral.client.state import AgentLike, ClientState, Sent, checked_uint
from bilateral.core.contracts import Registry
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import AgentUnsettledError, InvalidArgumentError, UnexpectedAnswerError
from bilateral.core.events import ClientRated, Event, ValidatorRated
from bilateral.core.identifiers import AgentId, checksummed
from bilateral.node.steps import Operation, Pause, together

T = TypeVar("T")


class RatingKind(StrEnum):
    """The role in which a server rates an agent: client or validator."""

    CLIENT = "client"
    VALIDATOR = "validator"


@dataclass(frozen=True)
class Rating:
    """A server's rating of a client or validator (EIP-8004a), which is final.

    Attributes:
        kind: The role in which the subject was rated.
        subject: The client or validator.
        rating: The rating, from 0 to 100; None if the server has not rated the subject.
    """

    kind: RatingKind
    subject: AgentId
    server: AgentId
    rating: int | None

    @property
    def has_rating(self) -> bool:
        """True if the server gave a rating."""
        return self.rating is not None


@dataclass(frozen=True)
class Expectation:
    """The facts on which a rating depends, and which may change before the rating's transaction is in a block.

    Attributes:
        server_id: The server that rates; None for the signer's primary agent.
        owner: The subject's expected owner, for a single rating; None for the current owner.
        confirmations: For how many blocks, including the latest, the subject must have had its current owner.
        timeout: How many seconds to wait for these blocks.
    """

    server_id: AgentLike | None = None
    owner: str | None = None
    confirmations: int = 1
    timeout: float = 120.0

    @property
    def is_explicit(self) -> bool:
        """True if the caller specified the rater or the owner, which the registry must then check."""
        return self.server_id is not None or self.owner is not None


def rate(
    state: ClientState, kind: RatingKind, subject_id: AgentLike, rating: int, expected: Expectation
) -> Operation[Sent[Rating]]:
    """See `Client.rate_client` and `Client.rate_validator`."""
    deployment = yield from registries.connect(state)
    subject = registries.agent_of(deployment, subject_id)

    def decode(events: Sequence[Event]) -> Rating:
        arguments = {f"{kind}_id": subject.token_id, "rating": rating}
        return _read(deployment.chain_id, kind, transactions.require_event(events, _EVENTS[kind], **arguments))

    function = f"rate{kind.capitalize()}"
    arguments = (subject.token_id, checked_uint(rating, 8, "a rating"))
    server = yield from _server(state, expected)
    (owner,) = yield from _owners(state, [subject], expected)
    if expected.owner is not None:
        owner = checksummed(expected.owner)
    return (yield from _send(state, function, arguments, (server, owner), expected, decode))


def rate_many(
    state: ClientState, kind: RatingKind, ratings: Mapping[AgentLike, int], expected: Expectation
) -> Operation[Sent[tuple[Rating, ...]]]:
    """See `Client.rate_clients` and `Client.rate_validators`."""
    deployment = yield from registries.connect(state)
    subjects = [registries.agent_of(deployment, subject).token_id for subject in ratings]
    if len(set(subjects)) != len(subjects):
        raise InvalidArgumentError("two of the keys identify the same agent")
    values = [checked_uint(rating, 8, "a rating") for rating in ratings.values()]

    def decode(events: Sequence[Event]) -> tuple[Rating, ...]:
        matching = [
            transactions.require_event(events, _EVENTS[kind], **{f"{kind}_id": subject, "rating": value})
            for subject, value in zip(subjects, values, strict=True)
        ]
        return tuple(_read(deployment.chain_id, kind, event) for event in matching)

    function = f"rate{kind.capitalize()}s"
    server = yield from _server(state, expected)
    owners = yield from _owners(state, [AgentId(subject, deployment.chain_id) for subject in subjects], expected)
    return (yield from _send(state, function, (subjects, values), (server, owners), expected, decode))


def get(state: ClientState, kind: RatingKind, subject_id: AgentLike, server_id: AgentLike) -> Operation[Rating]:
    """See `Client.get_client_rating` and `Client.get_validator_rating`."""
    deployment = yield from registries.connect(state)
    subject, server = registries.agent_of(deployment, subject_id), registries.agent_of(deployment, server_id)
    function = f"get{kind.capitalize()}Rating"
    answer = yield from registries.call(state, Registry.BIDIRECTIONAL, function, subject.token_id, server.token_id)
    has_rating, rating = answer
    return Rating(kind, subject, server, rating if has_rating else None)


def get_many(state: ClientState, client_ids: Sequence[AgentLike], server_id: AgentLike) -> Operation[list[Rating]]:
    """See `Client.get_client_ratings`."""
    deployment = yield from registries.connect(state)
    clients = [registries.agent_of(deployment, client) for client in client_ids]
    server = registries.agent_of(deployment, server_id)
    function, ids = "getClientRatings", [client.token_id for client in clients]
    has_rating, ratings = yield from registries.call(state, Registry.BIDIRECTIONAL, function, ids, server.token_id)
    if not len(clients) == len(has_rating) == len(ratings):
        raise UnexpectedAnswerError("the reputation registry returned lists of the wrong length for getClientRatings")
    return [
        Rating(RatingKind.CLIENT, client, server, rating if has else None)
        for client, has, rating in zip(clients, has_rating, ratings, strict=True)
    ]


def _server(state: ClientState, expected: Expectation) -> Operation[int | None]:
    """Return the server that rates; None if the identity registry does not support primary agents."""
    if expected.server_id is not None:
        return registries.agent_of((yield from registries.connect(state)), expected.server_id).token_id
    signer = registries.require_address(state)
    registry = (yield from registries.connect(state)).directory_registry
    try:
        (server,) = yield from registries.call(state, registry, "agentOf", signer)
    except registries.NO_FUNCTION:
        return None
    return int(server)


def _owners(state: ClientState, subjects: Sequence[AgentId], expected: Expectation) -> Operation[list[str]]:
    """Wait until the agents' owners have been the same for the required number of blocks, and return the owners."""
    if expected.confirmations < 1:
        raise InvalidArgumentError(f"confirmations must be at least 1, not {expected.confirmations}")
    end = time.monotonic() + expected.timeout
    while True:
        owners = yield from _owners_at(state, subjects, "latest")
        if expected.confirmations == 1:
            return owners
        last = yield from registries.latest_block()
        earlier = last - expected.confirmations + 1
        before: list[str | None] = [None] * len(subjects)
        if earlier >= 0:
            before = yield from together([_owner_then(state, subject, hex(earlier)) for subject in subjects])
        unsettled = [subject for subject, now, then in zip(subjects, owners, before, strict=True) if now != then]
        if not unsettled:
            return owners
        if time.monotonic() >= end:
            raise AgentUnsettledError(str(unsettled[0]), expected.confirmations, expected.timeout)
        yield Pause(min(state.poll_interval, max(end - time.monotonic(), 0)))


def _owners_at(state: ClientState, subjects: Sequence[AgentId], block: str) -> Operation[list[str]]:
    calls = [
        registries.call(state, Registry.IDENTITY, "ownerOf", subject.token_id, block=block) for subject in subjects
    ]
    return [str(owner) for (owner,) in (yield from together(calls))]


def _owner_then(state: ClientState, subject: AgentId, block: str) -> Operation[str | None]:
    """Return an agent's owner at the end of an earlier block, or None if the agent or registry did not exist then."""
    try:
        (owner,) = yield from _owners_at(state, [subject], block)
    except (ContractRevertError, UnexpectedAnswerError):
        return None
    return owner


def _send(  # noqa: PLR0913, PLR0917  # a call, the facts that it checks, and its result
    state: ClientState,
    function: str,
    arguments: tuple[Any, ...],
    facts: tuple[int | None, str | Sequence[str]],
    expected: Expectation,
    decode: Callable[[Sequence[Event]], T],
) -> Operation[Sent[T]]:
    """Send ratings with the function that checks the rater and owners or, if missing, with EIP-8004a's function."""
    if facts[0] is not None:
        try:
            call = f"{function}As", (*arguments, *facts)
            return (yield from transactions.send(state, Registry.BIDIRECTIONAL, *call, decode))
        except ContractRevertError as refusal:
            if refusal.data:
                raise
    if expected.is_explicit:
        raise InvalidArgumentError(f"the reputation registry has no function {function}As: omit server_id and owner")
    return (yield from transactions.send(state, Registry.BIDIRECTIONAL, function, arguments, decode))


_EVENTS: Final[Mapping[RatingKind, type[ClientRated | ValidatorRated]]] = {
    RatingKind.CLIENT: ClientRated,
    RatingKind.VALIDATOR: ValidatorRated,
}
"""The name of the event for each kind of rating."""


def _read(chain_id: int, kind: RatingKind, event: ClientRated | ValidatorRated) -> Rating:
    subject = AgentId(getattr(event, f"{kind}_id"), chain_id)
    return Rating(kind, subject, AgentId(event.server_id, chain_id), event.rating)
