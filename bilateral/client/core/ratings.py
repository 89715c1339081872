"""Ratings that servers give their clients and validators (EIP-8004a)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilateral.client.core import chain, transactions
from bilateral.client.inputs import checked_uint
from bilateral.client.results import Rating, RatingKind
from bilateral.contracts import Registry
from bilateral.errors import InvalidArgumentError, UnexpectedAnswerError
from bilateral.identifiers import AgentId

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bilateral.client.core.chain import Log
    from bilateral.client.core.transactions import Sent
    from bilateral.client.inputs import AgentLike
    from bilateral.client.session import Session
    from bilateral.client.steps import Operation


def rate(session: Session, kind: RatingKind, subject_id: AgentLike, rating: int) -> Operation[Sent[Rating]]:
    """See `Client.rate_client` and `Client.rate_validator`."""
    deployment = yield from chain.connect(session)
    subject = chain.agent_of(deployment, subject_id)

    def decode(logs: Sequence[Log]) -> Rating:
        return _read(deployment.chain_id, kind, transactions.the(logs, _event(kind)))

    function = f"rate{kind.capitalize()}(uint256,uint8)"
    arguments = (subject.token_id, checked_uint(rating, 8, "a rating"))
    return (yield from transactions.send(session, Registry.BIDIRECTIONAL, function, arguments, decode))


def rate_many(
    session: Session, kind: RatingKind, ratings: Mapping[AgentLike, int]
) -> Operation[Sent[tuple[Rating, ...]]]:
    """See `Client.rate_clients` and `Client.rate_validators`."""
    deployment = yield from chain.connect(session)
    subjects = [chain.agent_of(deployment, subject).token_id for subject in ratings]
    if len(set(subjects)) != len(subjects):
        raise InvalidArgumentError("two of the keys name the same agent")
    values = [checked_uint(rating, 8, "a rating") for rating in ratings.values()]

    def decode(logs: Sequence[Log]) -> tuple[Rating, ...]:
        transactions.the(logs, _event(kind))
        return tuple(_read(deployment.chain_id, kind, log.fields) for log in logs if log.name == _event(kind))

    function = f"rate{kind.capitalize()}s(uint256[],uint8[])"
    return (yield from transactions.send(session, Registry.BIDIRECTIONAL, function, (subjects, values), decode))


def get(session: Session, kind: RatingKind, subject_id: AgentLike, server_id: AgentLike) -> Operation[Rating]:
    """See `Client.get_client_rating` and `Client.get_validator_rating`."""
    deployment = yield from chain.connect(session)
    subject, server = chain.agent_of(deployment, subject_id), chain.agent_of(deployment, server_id)
    function = f"get{kind.capitalize()}Rating(uint256,uint256)"
    answer = yield from chain.call(session, Registry.BIDIRECTIONAL, function, subject.token_id, server.token_id)
    has_rating, rating = answer
    return Rating(kind, subject, server, rating if has_rating else None)


def get_many(session: Session, client_ids: Sequence[AgentLike], server_id: AgentLike) -> Operation[list[Rating]]:
    """See `Client.get_client_ratings`."""
    deployment = yield from chain.connect(session)
    clients = [chain.agent_of(deployment, client) for client in client_ids]
    server = chain.agent_of(deployment, server_id)
    function, ids = "getClientRatings(uint256[],uint256)", [client.token_id for client in clients]
    has_rating, ratings = yield from chain.call(session, Registry.BIDIRECTIONAL, function, ids, server.token_id)
    if not len(clients) == len(has_rating) == len(ratings):
        raise UnexpectedAnswerError("the reputation registry answers getClientRatings with lists of another length")
    return [
        Rating(RatingKind.CLIENT, client, server, rating if has else None)
        for client, has, rating in zip(clients, has_rating, ratings, strict=True)
    ]


def _event(kind: RatingKind) -> str:
    """The event of a rating."""
    return f"{kind.capitalize()}Rated"


def _read(chain_id: int, kind: RatingKind, event: Mapping[str, int]) -> Rating:
    """The rating that an event tells of."""
    subject = AgentId(event[f"{kind}Id"], chain_id)
    return Rating(kind, subject, AgentId(event["serverId"], chain_id), event["rating"])
