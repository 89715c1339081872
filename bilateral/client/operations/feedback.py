"""Operations for giving, responding to and revoking open feedback."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from bilateral.client.operations import documents, registries, transactions
from bilateral.client.operations.documents import Unstored
from bilateral.client.results import FeedbackEntry, FeedbackEvent, FeedbackResponse, FeedbackRevocation
from bilateral.client.state import AgentLike, ClientState, ResponseLink, Sent, feedback_id, hash_bytes
from bilateral.core.contracts import Deployment, Registry
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.events import Event, FeedbackRevoked, NewFeedback, ResponseAppended
from bilateral.core.identifiers import AccountId, AgentId, ChainId, FeedbackId, GlobalAgentId
from bilateral.core.text.encoding import encode_object
from bilateral.core.values import FeedbackValue, HumanValue, value_for_tag
from bilateral.documents import FeedbackFile
from bilateral.node.steps import Operation

GIVE: Final = "giveFeedback"

Link: TypeAlias = "tuple[str, bytes | str | None]"
"""The URI and the hash of an existing file."""


@dataclass(frozen=True)
class Draft:
    """The feedback to give. See `Client.give_feedback`."""

    value: HumanValue | FeedbackValue
    tag1: str = ""
    tag2: str = ""
    endpoint: str = ""
    file: FeedbackFile | None = None
    link: Link = ("", None)

    @property
    def stored(self) -> FeedbackValue:
        """The value in the form in which the registry stores it."""
        return self.value if isinstance(self.value, FeedbackValue) else value_for_tag(self.tag1, self.value, self.tag2)

    @property
    def all_endpoint(self) -> str:
        """The endpoint that the caller passed or, if none was passed, the endpoint in the file; may be empty."""
        return self.endpoint or (self.file.endpoint if self.file else None) or ""


def give(state: ClientState, agent_id: AgentLike, draft: Draft) -> Operation[Sent[FeedbackEntry]]:
    """See `Client.give_feedback`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    arguments = yield from arguments_of(state, agent, draft)
    client = registries.require_address(state)
    return (yield from transactions.send(state, Registry.REPUTATION, GIVE, arguments, feedback_decoder(agent, client)))


def arguments_of(state: ClientState, agent: AgentId, draft: Draft) -> Operation[tuple[Any, ...]]:
    """Return the arguments of `giveFeedback`, with a placeholder for the URI of a file not stored yet."""
    value = draft.stored
    uri, digest = yield from file_link(state, agent, draft)
    return (agent.token_id, value.value, value.decimals, draft.tag1, draft.tag2, draft.all_endpoint, uri, digest)


def respond(
    state: ClientState,
    agent_id: AgentLike | FeedbackId,
    client_address: str | None,
    feedback_index: int | None,
    response: str | ResponseLink | Mapping[str, str | bytes | None] | None,
) -> Operation[Sent[FeedbackResponse]]:
    """See `Client.append_response`."""
    feedback = reference((yield from registries.connect(state)), agent_id, client_address, feedback_index)
    uri, digest = _response_link(response)

    def decode(events: Sequence[Event]) -> FeedbackResponse:
        key = {"client_address": feedback.client, "feedback_index": feedback.on_chain_index}
        event = transactions.require_event(events, ResponseAppended, agent_id=feedback.agent.token_id, **key)
        return read_response(feedback.agent, event)

    function = "appendResponse"
    arguments = (feedback.agent.token_id, feedback.client, feedback.on_chain_index, uri, digest)
    return (yield from transactions.send(state, Registry.REPUTATION, function, arguments, decode))


def revoke(
    state: ClientState, agent_id: AgentLike | FeedbackId, feedback_index: int | None
) -> Operation[Sent[FeedbackRevocation]]:
    """See `Client.revoke_feedback`."""
    deployment = yield from registries.connect(state)
    signer = registries.require_address(state)
    feedback = reference(deployment, agent_id, None if isinstance(agent_id, FeedbackId) else signer, feedback_index)
    if feedback.client != signer:
        raise InvalidArgumentError(f"{feedback} is {feedback.client}'s feedback, and only that client can revoke it")

    def decode(events: Sequence[Event]) -> FeedbackRevocation:
        key = {"client_address": feedback.client, "feedback_index": feedback.on_chain_index}
        event = transactions.require_event(events, FeedbackRevoked, agent_id=feedback.agent.token_id, **key)
        return FeedbackRevocation(FeedbackId(feedback.agent, event.client_address, event.feedback_index))

    function, arguments = "revokeFeedback", (feedback.agent.token_id, feedback.on_chain_index)
    return (yield from transactions.send(state, Registry.REPUTATION, function, arguments, decode))


def reference(
    deployment: Deployment, agent_id: AgentLike | FeedbackId, client_address: str | None, feedback_index: int | None
) -> FeedbackId:
    """Return the id of the feedback that the arguments identify."""
    feedback = agent_id if isinstance(agent_id, FeedbackId) else registries.agent_of(deployment, agent_id)
    return feedback_id(deployment.chain_id, feedback, client_address, feedback_index)


def file_link(state: ClientState, agent: AgentId, draft: Draft) -> Operation[tuple[str | Unstored, bytes]]:
    """Return the feedback file's URI and hash. If the caller passed the file itself, complete it first."""
    if draft.file is None:
        return documents.link(*draft.link, "the file's hash")
    if draft.link != ("", None):
        raise InvalidArgumentError("pass either a file or its URI and hash, not both")
    deployment = yield from registries.connect(state)
    complete = draft.file.complete(
        GlobalAgentId(deployment.agent_registry, str(agent.token_id)),
        AccountId(ChainId.evm(deployment.chain_id), registries.require_address(state)),
        draft.stored,
        tag1=draft.tag1,
        tag2=draft.tag2,
        endpoint=draft.all_endpoint,
    )
    unstored = Unstored(complete.to_bytes())
    return unstored, unstored.hash


def feedback_decoder(agent: AgentId, client: str) -> Callable[[Sequence[Event]], FeedbackEntry]:
    """Return a function that creates a feedback entry from the event of a client's feedback."""

    def decode(events: Sequence[Event]) -> FeedbackEntry:
        event = transactions.require_event(events, NewFeedback, agent_id=agent.token_id, client_address=client)
        return read_feedback(agent.chain_id, event)

    return decode


def read_feedback(chain_id: int | None, event: NewFeedback) -> FeedbackEntry:
    """Return the feedback entry that an event describes, regardless of any later revocation."""
    agent = AgentId(event.agent_id, chain_id)
    with registries.blame_registry(Registry.REPUTATION):
        feedback = FeedbackId(agent, event.client_address, event.feedback_index)
        value = FeedbackValue(event.value, event.value_decimals)
    link = event.endpoint, event.feedback_uri, event.feedback_hash
    mined = event.position.block_number, event.position.transaction_hash
    return FeedbackEntry(feedback, value, event.tag1, event.tag2, event=FeedbackEvent(*link, *mined))


def read_response(agent: AgentId, event: ResponseAppended) -> FeedbackResponse:
    """Return the response that an event describes."""
    with registries.blame_registry(Registry.REPUTATION):
        feedback = FeedbackId(agent, event.client_address, event.feedback_index)
    return FeedbackResponse(feedback, event.responder, event.response_uri, event.response_hash)


def _response_link(
    response: str | ResponseLink | Mapping[str, str | bytes | None] | None,
) -> tuple[str | Unstored, bytes]:
    """Return the location that the caller passed or, for a text response, a placeholder for the stored text's URI."""
    if isinstance(response, ResponseLink):
        return response.uri, hash_bytes(response.hash, "the response's hash")
    if isinstance(response, str) and response:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        unstored = Unstored(encode_object({"text": response, "createdAt": now}))
        return unstored, unstored.hash
    if isinstance(response, Mapping) and set(response) <= {"uri", "hash"}:
        uri = response.get("uri")
        if isinstance(uri, str):
            return documents.link(uri, response.get("hash"), "the response's hash")
    raise InvalidArgumentError('a response must be a string, a ResponseLink, or {"uri": …, "hash": …}')
