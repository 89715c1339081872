"""Feedback that its client signs for somebody else to send (`giveFeedbackBySig`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilateral.client.core import authorized, chain, documents, feedback, signing, transactions
from bilateral.client.inputs import SignedFeedback
from bilateral.contracts import Registry
from bilateral.identifiers import AgentId, checksummed
from bilateral.signatures import Domain, Feedback

if TYPE_CHECKING:
    from datetime import datetime

    from bilateral.client.core.feedback import Draft
    from bilateral.client.core.transactions import Sent
    from bilateral.client.inputs import AgentLike
    from bilateral.client.results import FeedbackEntry
    from bilateral.client.session import Session
    from bilateral.client.steps import Operation


def sign(session: Session, agent_id: AgentLike, draft: Draft, deadline: datetime | None) -> Operation[SignedFeedback]:
    """See `Client.sign_feedback`."""
    deployment = yield from chain.connect(session)
    agent, signer = chain.agent_of(deployment, agent_id), chain.require_signer(session)
    client = checksummed(signer.address)
    until = yield from authorized.later(deadline, "a deadline")
    arguments = yield from feedback.arguments_of(session, agent, draft)
    # What the registry will ask of the feedback it asks of one that the client sends itself.
    data = chain.calldata(Registry.REPUTATION, feedback.GIVE, documents.rehearsed(arguments))
    registry = yield from chain.require_code(session, Registry.REPUTATION)
    yield from chain.simulate({"from": client, "to": registry, "data": "0x" + data.hex()})
    function = "getLastIndex(uint256,address)"
    (last,) = yield from chain.call(session, Registry.REPUTATION, function, agent.token_id, client)
    token, *rest = yield from documents.settled(session, arguments)
    message = Feedback(token, client, last + 1, *rest, until)  # type: ignore[arg-type, call-arg]  # seven of them
    domain = Domain(deployment.chain_id, registry)  # type: ignore[arg-type]  # it is checksummed
    return SignedFeedback(message, (yield from signing.message(signer, message.signable(domain))))


def submit(session: Session, signed: SignedFeedback) -> Operation[Sent[FeedbackEntry]]:
    """See `Client.submit_signed_feedback`."""
    deployment = yield from chain.connect(session)
    it = signed.feedback
    agent = AgentId(it.agent_id, deployment.chain_id)
    params = (
        it.agent_id,
        it.feedback_index,
        it.value,
        it.value_decimals,
        it.tag1,
        it.tag2,
        it.endpoint,
        it.feedback_uri,
        it.feedback_hash,
    )
    function = (
        "giveFeedbackBySig(address,(uint256,uint64,int128,uint8,string,string,string,string,bytes32),uint256,bytes)"
    )
    arguments = (checksummed(it.client_address), params, it.deadline, signed.signature)
    decode = feedback.given_decoder(agent)
    return (yield from transactions.send(session, Registry.REPUTATION, function, arguments, decode))
