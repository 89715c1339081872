"""Feedback that the agent's owner has authorised (FeedbackAuth)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from bilateral.client.operations import agents, documents, feedback, registries, transactions
from bilateral.client.operations.feedback import Draft
from bilateral.client.results import FeedbackEntry
from bilateral.client.state import AgentLike, ClientState, FeedbackAuthorization, Sent, SignedFeedback, checked_uint
from bilateral.core import errors
from bilateral.core.contracts import Registry
from bilateral.core.events import Event, NewAuthorizedFeedback, SignaturesVoided
from bilateral.core.identifiers import AgentId, checksummed
from bilateral.core.signatures import Domain, Feedback, FeedbackAuth
from bilateral.core.text import ChainText
from bilateral.core.values import FeedbackValue
from bilateral.core.values.times import chain_time
from bilateral.node.steps import Operation

LIFETIME: Final = timedelta(days=1)  # clients usually act within a day; longer permissions are riskier

_PAGE: Final = 1000
"""How many entries to read per call. Reading them uses about six million gas, which every node allows."""


@dataclass(frozen=True)
class AuthorizedFeedbackEntry:
    """A feedback entry that the agent's owner authorised.

    Attributes:
        client: The client that gave the feedback.
        score: The score, from 0 to 100.
        tag1: The first tag; empty if not set.
        tag2: The second tag; empty if not set.
        position: The entry's position among all of the agent's entries, counted from 0; None if the entry was just
            given.
        given_at: The time of the entry's block; None if the entry was just given.
        uri: The URI of the feedback file; None if the entry was read from the registry, which does not store the URI.
        hash: The hash of the feedback file; None if the entry was read from the registry.
    """

    agent: AgentId
    client: str
    score: int
    tag1: ChainText
    tag2: ChainText
    position: int | None = None
    given_at: datetime | None = None
    uri: ChainText | None = None
    hash: bytes | None = None


@dataclass(frozen=True)
class AuthorizedSummary:
    """The average of all authorised feedback for an agent.

    Attributes:
        count: The number of entries.
        average: The average score, truncated to an integer by the registry; None if there are no entries.
    """

    agent: AgentId
    count: int
    average: Decimal | None


@dataclass(frozen=True)
class VoidedSignatures:
    """The result of invalidating a client's signed feedback.

    Attributes:
        deadline: The latest invalidated deadline. New signatures need a later deadline.
    """

    client: str
    deadline: datetime


def authorize(  # noqa: PLR0913, PLR0917  # the method's own parameters
    state: ClientState,
    agent_id: AgentLike,
    client_address: str,
    count: int,
    last_index: int,
    index_limit: int | None,
    expiry: datetime | None,
) -> Operation[FeedbackAuthorization]:
    """See `Client.authorize_feedback`."""
    deployment = yield from registries.connect_to_sign(state)
    agent, client = registries.agent_of(deployment, agent_id), checksummed(client_address)
    signer = registries.require_signer(state)
    owner = yield from agents.owner_of(state, agent)
    if checksummed(signer.address) != owner:
        raise errors.NotAgentOwnerError(checksummed(signer.address), owner)
    if (yield from agents.is_authorized_or_owner(state, client, agent)):
        raise errors.InvalidArgumentError(f"{client} may act for the agent, so it cannot rate the agent")
    if index_limit is None:
        if count < 1:
            raise errors.InvalidArgumentError(
                "count must be at least 1, because it is the number of feedback entries that the client may give"
            )
        (last,) = yield from registries.call(state, Registry.AUTHORIZED, "getLastIndex", agent.token_id, client)
        if last != last_index:  # a malicious node could otherwise make the owner permit any number of entries
            raise errors.IndexMismatchError(client, last, last_index)
        index_limit = last + count
    expires = yield from later(expiry, "an expiry")
    auth = FeedbackAuth(
        agent.token_id,
        client,  # type: ignore[arg-type]  # it is checksummed
        checked_uint(index_limit, 64, "an index limit"),
        expires,
        deployment.chain_id,
    )
    domain = Domain(deployment.chain_id, deployment.address_of(Registry.AUTHORIZED))  # type: ignore[arg-type]
    return FeedbackAuthorization(auth, (yield from registries.sign_message(signer, auth.signable(domain))))


def give(
    state: ClientState,
    agent_id: AgentLike,
    score: int,
    feedback_auth: FeedbackAuthorization | bytes | str,
    draft: Draft,
) -> Operation[Sent[AuthorizedFeedbackEntry]]:
    """See `Client.give_authorized_feedback`. The score replaces the draft's own value."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    client = registries.require_address(state)
    words = [tag_word(tag) for tag in (draft.tag1, draft.tag2)]
    # The score is stored unchanged: only open feedback restricts the values of a tag. This registry accepts any score.
    value = FeedbackValue(checked_uint(score, 8, "a score"))
    uri, digest = yield from feedback.file_link(state, agent, replace(draft, value=value))

    def decode(events: Sequence[Event]) -> AuthorizedFeedbackEntry:
        event = transactions.require_event(
            events, NewAuthorizedFeedback, agent_id=agent.token_id, client_address=client, score=score
        )
        tags = tag_text(event.tag1), tag_text(event.tag2)
        entry = AuthorizedFeedbackEntry(agent, event.client_address, event.score, *tags)
        return replace(entry, uri=event.file_uri, hash=event.file_hash)

    function = "giveFeedback"
    arguments = (agent.token_id, score, *words, uri, digest, _encoded(feedback_auth))
    return (yield from transactions.send(state, Registry.AUTHORIZED, function, arguments, decode))


def summarize(state: ClientState, agent_id: AgentLike) -> Operation[AuthorizedSummary]:
    """See `Client.get_authorized_summary`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    count, average = yield from registries.call(state, Registry.AUTHORIZED, "getSummary", agent.token_id)
    return AuthorizedSummary(agent, count, Decimal(average) if count else None)


def read(
    state: ClientState, agent_id: AgentLike, client_address: str | None, offset: int, limit: int | None
) -> Operation[list[AuthorizedFeedbackEntry]]:
    """See `Client.get_authorized_feedback`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    client = None if client_address is None else checksummed(client_address)
    checked_uint(offset, 256, "an offset")
    checked_uint(limit or 0, 256, "a limit")
    entries: list[AuthorizedFeedbackEntry] = []
    size = _PAGE
    while limit is None or len(entries) < limit:
        count = size if limit is None else min(size, limit - len(entries))
        try:
            page = yield from _page(state, agent, client, offset + len(entries), count)
        except (errors.NodeError, errors.NodeTimeoutError, errors.MalformedNodeAnswerError):
            if count == 1:
                raise
            size = count // 2
            continue
        entries += page
        if len(page) < count:
            break
    return entries


def later(time: datetime | None, name: str) -> Operation[int]:
    """Return a time in Unix seconds, by default a day after the chain's time. Reject times that have passed."""
    now = yield from registries.block_time()
    if time is None:
        if now > datetime.now(UTC) + LIFETIME:  # a malicious node could make the signature last for ever
            raise errors.InvalidArgumentError(
                f"the node's time is {now.isoformat()}, more than a day ahead: pass {name}"
            )
        return agents.seconds(now + LIFETIME)
    if time.tzinfo is not None and time < now:
        raise errors.InvalidArgumentError(
            f"{name} of {time.isoformat()} has passed: the chain's time is {now.isoformat()}"
        )
    return agents.seconds(time)


def tag_word(tag: str) -> bytes:
    """Return a tag as the registry for authorised feedback stores it: UTF-8, padded with zeros to 32 bytes."""
    word = tag.encode()
    if len(word) > 32 or word.endswith(b"\0"):  # noqa: PLR2004  # a word
        raise errors.InvalidArgumentError("a tag must have at most 32 bytes in UTF-8 and must not end in NUL")
    return word.ljust(32, b"\0")


def tag_text(word: bytes) -> ChainText:
    """Decode a tag in the format that `tag_word` returns."""
    return ChainText(word.rstrip(b"\0"))


def _page(
    state: ClientState, agent: AgentId, client: str | None, offset: int, limit: int
) -> Operation[list[AuthorizedFeedbackEntry]]:
    function, clients = ("getFeedbackPage", ()) if client is None else ("getClientFeedbackPage", (client,))
    arguments = agent.token_id, *clients, offset, limit
    (page,) = yield from registries.call(state, Registry.AUTHORIZED, function, *arguments)
    return [
        AuthorizedFeedbackEntry(
            *(agent, item["clientAddress"], item["score"], tag_text(item["tag1"]), tag_text(item["tag2"])),
            position=item["position"],
            given_at=chain_time(item["timestamp"]),
        )
        for item in page
    ]


def _encoded(feedback_auth: FeedbackAuthorization | bytes | str) -> bytes:
    if isinstance(feedback_auth, FeedbackAuthorization):
        return feedback_auth.encoded
    if not isinstance(feedback_auth, str):
        return bytes(feedback_auth)
    try:
        return bytes.fromhex(feedback_auth.removeprefix("0x"))
    except ValueError:
        raise errors.InvalidArgumentError("the authorisation is not hexadecimal") from None


def sign(state: ClientState, agent_id: AgentLike, draft: Draft, deadline: datetime | None) -> Operation[SignedFeedback]:
    """See `Client.sign_feedback`."""
    deployment = yield from registries.connect_to_sign(state)
    agent, signer = registries.agent_of(deployment, agent_id), registries.require_signer(state)
    deployment.require_function(Registry.REPUTATION, "giveFeedbackBySig")
    client = checksummed(signer.address)
    until = yield from later(deadline, "a deadline")
    arguments = yield from feedback.arguments_of(state, agent, draft)
    yield from _require_later_deadline(state, client, until)
    # The registry performs the same checks for signed and direct feedback, so simulate a direct call.
    data = registries.calldata(Registry.REPUTATION, feedback.GIVE, documents.rehearsed(arguments))
    registry = yield from registries.require_registry(state, Registry.REPUTATION)
    yield from registries.simulate({"from": client, "to": registry, "data": "0x" + data.hex()})
    (last,) = yield from registries.call(state, Registry.REPUTATION, "getLastIndex", agent.token_id, client)
    token, *rest = yield from documents.settled(state, arguments)
    message = Feedback(token, client, last + 1, *rest, until)  # type: ignore[arg-type, call-arg]  # seven of them
    domain = Domain(deployment.chain_id, registry)  # type: ignore[arg-type]  # it is checksummed
    return SignedFeedback(message, (yield from registries.sign_message(signer, message.signable(domain))))


def void(state: ClientState, through: datetime) -> Operation[Sent[VoidedSignatures]]:
    """See `Client.void_signatures`."""
    client = registries.require_address(state)
    deadline = agents.seconds(through)

    def decode(events: Sequence[Event]) -> VoidedSignatures:
        event = transactions.require_event(events, SignaturesVoided, client_address=client, deadline=deadline)
        return VoidedSignatures(event.client_address, chain_time(event.deadline))

    return (yield from transactions.send(state, Registry.REPUTATION, "voidSignaturesThrough", (deadline,), decode))


def voided_deadline(state: ClientState, client_address: str | None) -> Operation[datetime | None]:
    """See `Client.get_voided_deadline`."""
    client = registries.require_address(state) if client_address is None else checksummed(client_address)
    (deadline,) = yield from registries.call(state, Registry.REPUTATION, "getVoidedDeadline", client)
    return chain_time(deadline) if deadline else None


def _require_later_deadline(state: ClientState, client: str, deadline: int) -> Operation[None]:
    """Reject a deadline that the client has invalidated. If the registry lacks that feature, accept any deadline."""
    try:
        (voided,) = yield from registries.call(state, Registry.REPUTATION, "getVoidedDeadline", client)
    except registries.NO_FUNCTION:
        return
    if voided and deadline <= voided:
        raise errors.InvalidArgumentError(
            f"{client} has invalidated its signatures up to {chain_time(voided).isoformat()}: pass a later deadline"
        )


def submit(state: ClientState, signed: SignedFeedback) -> Operation[Sent[FeedbackEntry]]:
    """See `Client.submit_signed_feedback`."""
    deployment = yield from registries.connect(state)
    content = signed.feedback
    agent = AgentId(content.agent_id, deployment.chain_id)
    token, client, *rest, deadline = vars(content).values()
    arguments = (checksummed(client), (token, *rest), deadline, signed.signature)
    decode = feedback.feedback_decoder(agent, checksummed(client))
    return (yield from transactions.send(state, Registry.REPUTATION, "giveFeedbackBySig", arguments, decode))
