"""Open feedback: giving, answering, revoking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bilateral.client.core import chain, documents, transactions
from bilateral.client.core.documents import Unstored
from bilateral.client.inputs import ResponseLink, feedback_id, hash_bytes
from bilateral.client.results import FeedbackEntry, FeedbackEvent, FeedbackResponse, FeedbackRevocation
from bilateral.contracts import Registry
from bilateral.documents.encoding import encode_object
from bilateral.errors import InvalidArgumentError
from bilateral.identifiers import AccountId, AgentId, ChainId, FeedbackId, GlobalAgentId
from bilateral.values import FeedbackValue, value_for_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bilateral.client.core.chain import Log
    from bilateral.client.core.transactions import Sent
    from bilateral.client.inputs import AgentLike
    from bilateral.client.session import Session
    from bilateral.client.steps import Operation
    from bilateral.contracts import Deployment
    from bilateral.documents import FeedbackFile
    from bilateral.values import HumanValue

GIVE: Final = "giveFeedback(uint256,int128,uint8,string,string,string,string,bytes32)"

Link: TypeAlias = "tuple[str, bytes | str | None]"
"""The URI and the hash of a file that is kept elsewhere."""


@dataclass(frozen=True)
class Draft:
    """A feedback as a caller wants it, see `Client.give_feedback`."""

    value: HumanValue | FeedbackValue
    tag1: str = ""
    tag2: str = ""
    endpoint: str = ""
    file: FeedbackFile | None = None
    link: Link = ("", None)

    @property
    def stored(self) -> FeedbackValue:
        """The value in the registry's form.

        Raises:
            UnrepresentableValueError: It has none, or means nothing under its tag.
        """
        return self.value if isinstance(self.value, FeedbackValue) else value_for_tag(self.tag1, self.value, self.tag2)

    @property
    def all_endpoint(self) -> str:
        """What was used, according to the caller or the file."""
        return self.endpoint or (self.file.endpoint if self.file else None) or ""


def give(session: Session, agent_id: AgentLike, draft: Draft) -> Operation[Sent[FeedbackEntry]]:
    """See `Client.give_feedback`."""
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)
    arguments = yield from arguments_of(session, agent, draft)
    return (yield from transactions.send(session, Registry.REPUTATION, GIVE, arguments, given_decoder(agent)))


def arguments_of(session: Session, agent: AgentId, draft: Draft) -> Operation[tuple[Any, ...]]:
    """The arguments of `giveFeedback`. The feedback file among them is not stored yet.

    Raises:
        UnrepresentableValueError: The value has no exact form, or means nothing under its tag.
        InvalidArgumentError: Both a file and a link are given, or the link's hash is none.
    """
    value = draft.stored
    uri, digest = yield from file_link(session, agent, draft)
    return (
        agent.token_id,
        value.value,
        value.decimals,
        draft.tag1,
        draft.tag2,
        draft.all_endpoint,
        uri,
        digest,
    )


def respond(
    session: Session,
    agent_id: AgentLike | FeedbackId,
    client_address: str | None,
    feedback_index: int | None,
    response: str | ResponseLink | Mapping[str, str | bytes | None] | None,
) -> Operation[Sent[FeedbackResponse]]:
    """See `Client.append_response`."""
    deployment = yield from chain.connect(session)
    feedback = named(deployment, agent_id, client_address, feedback_index)
    uri, digest = _response_link(response)

    def decode(logs: Sequence[Log]) -> FeedbackResponse:
        return read_response(feedback.agent, transactions.the(logs, "ResponseAppended"))

    function = "appendResponse(uint256,address,uint64,string,bytes32)"
    arguments = (feedback.agent.token_id, feedback.client, feedback.on_chain_index, uri, digest)
    return (yield from transactions.send(session, Registry.REPUTATION, function, arguments, decode))


def revoke(
    session: Session, agent_id: AgentLike | FeedbackId, feedback_index: int | None
) -> Operation[Sent[FeedbackRevocation]]:
    """See `Client.revoke_feedback`."""
    deployment = yield from chain.connect(session)
    signer = chain.require_address(session)
    feedback = (
        named(deployment, agent_id, None, feedback_index)
        if isinstance(agent_id, FeedbackId)
        else named(deployment, agent_id, signer, feedback_index)
    )
    if feedback.client != signer:
        raise InvalidArgumentError(f"{feedback} is {feedback.client}'s feedback, and only that client can revoke it")

    def decode(logs: Sequence[Log]) -> FeedbackRevocation:
        event = transactions.the(logs, "FeedbackRevoked")
        return FeedbackRevocation(FeedbackId(feedback.agent, event["clientAddress"], event["feedbackIndex"]))

    function, arguments = "revokeFeedback(uint256,uint64)", (feedback.agent.token_id, feedback.on_chain_index)
    return (yield from transactions.send(session, Registry.REPUTATION, function, arguments, decode))


def named(
    deployment: Deployment, agent_id: AgentLike | FeedbackId, client_address: str | None, feedback_index: int | None
) -> FeedbackId:
    """The feedback that a caller means.

    Raises:
        InvalidArgumentError: It is not named wholly, or twice.
    """
    feedback = agent_id if isinstance(agent_id, FeedbackId) else chain.agent_of(deployment, agent_id)
    return feedback_id(deployment.chain_id, feedback, client_address, feedback_index)


def file_link(session: Session, agent: AgentId, draft: Draft) -> Operation[tuple[str | Unstored, bytes]]:
    """The URI and hash of the feedback file: of the one that was given, once it is completed.

    Raises:
        InvalidArgumentError: Both a file and a link are given, or the link's hash is none.
        MissingSignerError: There is no client whose feedback the file could be.
    """
    if draft.file is None:
        return documents.link(*draft.link, "the file's hash")
    if draft.link != ("", None):
        raise InvalidArgumentError("give a file or its URI and hash, not both")
    deployment = yield from chain.connect(session)
    client = chain.require_address(session)
    complete = draft.file.complete(
        GlobalAgentId(deployment.agent_registry, str(agent.token_id)),
        AccountId(ChainId.evm(deployment.chain_id), client),
        draft.stored,
        tag1=draft.tag1,
        tag2=draft.tag2,
        endpoint=draft.all_endpoint,
    )
    unstored = Unstored(complete.to_bytes())
    return unstored, unstored.hash


def given_decoder(agent: AgentId) -> Callable[[Sequence[Log]], FeedbackEntry]:
    """What makes an entry of the event of a feedback."""

    def decode(logs: Sequence[Log]) -> FeedbackEntry:
        transactions.the(logs, "NewFeedback")
        return read_given(agent.chain_id, next(log for log in logs if log.name == "NewFeedback"))

    return decode


def read_given(chain_id: int | None, log: Log) -> FeedbackEntry:
    """The entry that an event tells of, as it was when it was given."""
    event = log.fields
    agent = AgentId(event["agentId"], chain_id)
    with chain.given_by(Registry.REPUTATION):
        feedback = FeedbackId(agent, event["clientAddress"], event["feedbackIndex"])
        value = FeedbackValue(event["value"], event["valueDecimals"])
    link = event["endpoint"], event["feedbackURI"], event["feedbackHash"]
    return FeedbackEntry(
        feedback, value, event["tag1"], event["tag2"], event=FeedbackEvent(*link, log.block, log.transaction)
    )


def read_response(agent: AgentId, event: Mapping[str, Any]) -> FeedbackResponse:
    """The answer that an event tells of."""
    with chain.given_by(Registry.REPUTATION):
        feedback = FeedbackId(agent, event["clientAddress"], event["feedbackIndex"])
    return FeedbackResponse(feedback, event["responder"], event["responseURI"], event["responseHash"])


def _response_link(
    response: str | ResponseLink | Mapping[str, str | bytes | None] | None,
) -> tuple[str | Unstored, bytes]:
    """Where an answer is: where the caller says, or in the client's store if it is a text."""
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
    raise InvalidArgumentError('a response is a text, a ResponseLink, or {"uri": …, "hash": …}')
