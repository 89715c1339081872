"""Feedback that its client signs for somebody else to send (`giveFeedbackBySig`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilateral.client.inputs import SignedFeedback
from bilateral.client.operations import agents, authorized, documents, feedback, registries, signing, transactions
from bilateral.client.results import VoidedSignatures
from bilateral.core.contracts import Registry
from bilateral.core.contracts.reverts import ContractRevertError
from bilateral.core.errors import InvalidArgumentError, MissingFunctionError, UnexpectedAnswerError
from bilateral.core.events import SignaturesVoided
from bilateral.core.identifiers import AgentId, checksummed
from bilateral.core.signatures import Domain, Feedback
from bilateral.core.values.times import moment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bilateral.client.inputs import AgentLike
    from bilateral.client.operations.feedback import Draft
    from bilateral.client.operations.transactions import Sent
    from bilateral.client.results import FeedbackEntry
    from bilateral.client.state import ClientState
    from bilateral.core.events import Event
    from bilateral.node.steps import Operation


def sign(state: ClientState, agent_id: AgentLike, draft: Draft, deadline: datetime | None) -> Operation[SignedFeedback]:
    """See `Client.sign_feedback`."""
    deployment = yield from registries.connect_to_sign(state)
    agent, signer = registries.agent_of(deployment, agent_id), registries.require_signer(state)
    deployment.require_function(Registry.REPUTATION, "giveFeedbackBySig")
    client = checksummed(signer.address)
    until = yield from authorized.later(deadline, "a deadline")
    arguments = yield from feedback.arguments_of(state, agent, draft)
    yield from _require_later_deadline(state, client, until)
    # The registry checks signed and direct feedback alike, so simulate a direct one.
    data = registries.calldata(Registry.REPUTATION, feedback.GIVE, documents.rehearsed(arguments))
    registry = yield from registries.require_registry(state, Registry.REPUTATION)
    yield from registries.simulate({"from": client, "to": registry, "data": "0x" + data.hex()})
    function = "getLastIndex"
    (last,) = yield from registries.call(state, Registry.REPUTATION, function, agent.token_id, client)
    token, *rest = yield from documents.settled(state, arguments)
    message = Feedback(token, client, last + 1, *rest, until)  # type: ignore[arg-type, call-arg]  # seven of them
    domain = Domain(deployment.chain_id, registry)  # type: ignore[arg-type]  # it is checksummed
    return SignedFeedback(message, (yield from signing.sign_message(signer, message.signable(domain))))


def void(state: ClientState, through: datetime) -> Operation[Sent[VoidedSignatures]]:
    """See `Client.void_signatures`."""
    client = registries.require_address(state)
    deadline = agents.seconds(through)

    def decode(events: Sequence[Event]) -> VoidedSignatures:
        event = transactions.require_event(events, SignaturesVoided, client_address=client, deadline=deadline)
        return VoidedSignatures(event.client_address, moment(event.deadline))

    return (yield from transactions.send(state, Registry.REPUTATION, "voidSignaturesThrough", (deadline,), decode))


def voided_deadline(state: ClientState, client_address: str | None) -> Operation[datetime | None]:
    """See `Client.get_voided_deadline`."""
    client = registries.require_address(state) if client_address is None else checksummed(client_address)
    (deadline,) = yield from registries.call(state, Registry.REPUTATION, "getVoidedDeadline", client)
    return moment(deadline) if deadline else None


def _require_later_deadline(state: ClientState, client: str, deadline: int) -> Operation[None]:
    """Refuse a deadline that the client has voided. Registries that lack the function void nothing."""
    try:
        (voided,) = yield from registries.call(state, Registry.REPUTATION, "getVoidedDeadline", client)
    except (ContractRevertError, MissingFunctionError, UnexpectedAnswerError):
        return
    if voided and deadline <= voided:
        raise InvalidArgumentError(
            f"{client} has voided its signatures through {moment(voided).isoformat()}: give a later deadline"
        )


def submit(state: ClientState, signed: SignedFeedback) -> Operation[Sent[FeedbackEntry]]:
    """See `Client.submit_signed_feedback`."""
    deployment = yield from registries.connect(state)
    content = signed.feedback
    agent = AgentId(content.agent_id, deployment.chain_id)
    params = (
        content.agent_id,
        content.feedback_index,
        content.value,
        content.value_decimals,
        content.tag1,
        content.tag2,
        content.endpoint,
        content.feedback_uri,
        content.feedback_hash,
    )
    function = "giveFeedbackBySig"
    arguments = (checksummed(content.client_address), params, content.deadline, signed.signature)
    decode = feedback.given_decoder(agent, checksummed(content.client_address))
    return (yield from transactions.send(state, Registry.REPUTATION, function, arguments, decode))
