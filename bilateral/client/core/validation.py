"""Validation of an agent's work (ERC-8004)."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bilateral.client.core import chain, transactions
from bilateral.client.core.documents import Unstored
from bilateral.client.inputs import checked_uint, distinct, hash_bytes
from bilateral.client.results import ValidationAnswered, ValidationRequested, ValidationStatus, ValidationSummary
from bilateral.contracts import Registry
from bilateral.errors import InvalidArgumentError
from bilateral.identifiers import AgentId, checksummed
from bilateral.times import moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.client.core.chain import Log
    from bilateral.client.core.feedback import Link
    from bilateral.client.core.transactions import Sent
    from bilateral.client.inputs import AgentLike
    from bilateral.client.session import Session
    from bilateral.client.steps import Operation


def request(
    session: Session, agent_id: AgentLike, validator_address: str, link: Link, document: bytes | None
) -> Operation[Sent[ValidationRequested]]:
    """See `Client.request_validation`."""
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)
    uri, digest = link
    if (document is None) == (digest is None) or (document is not None and uri):
        raise InvalidArgumentError("give a document, or the hash of one and its URI")
    unstored = None if document is None else Unstored(bytes(document))

    def decode(logs: Sequence[Log]) -> ValidationRequested:
        event = transactions.the(logs, "ValidationRequest")
        return ValidationRequested(event["requestHash"], agent, event["validatorAddress"], event["requestURI"])

    function = "validationRequest(address,uint256,string,bytes32)"
    name = unstored.hash if unstored else hash_bytes(digest, "the request's hash")
    arguments = (checksummed(validator_address), agent.token_id, unstored or uri, name)
    return (yield from transactions.send(session, Registry.VALIDATION, function, arguments, decode))


def respond(
    session: Session, request_hash: bytes | str, response: int, link: Link, tag: str
) -> Operation[Sent[ValidationAnswered]]:
    """See `Client.respond_to_validation`."""
    deployment = yield from chain.connect(session)
    name = hash_bytes(request_hash, "the request's hash")
    uri, digest = link

    def decode(logs: Sequence[Log]) -> ValidationAnswered:
        event = transactions.the(logs, "ValidationResponse")
        return ValidationAnswered(
            request_hash=event["requestHash"],
            agent=AgentId(event["agentId"], deployment.chain_id),
            validator=event["validatorAddress"],
            response=event["response"],
            uri=event["responseURI"],
            hash=event["responseHash"],
            tag=event["tag"],
        )

    function = "validationResponse(bytes32,uint8,string,bytes32,string)"
    arguments = (name, checked_uint(response, 8, "a response"), uri, hash_bytes(digest, "the response's hash"), tag)
    return (yield from transactions.send(session, Registry.VALIDATION, function, arguments, decode))


def status(session: Session, request_hash: bytes | str) -> Operation[ValidationStatus]:
    """See `Client.get_validation_status`."""
    deployment = yield from chain.connect(session)
    name = hash_bytes(request_hash, "the request's hash")
    answer = yield from chain.call(session, Registry.VALIDATION, "getValidationStatus(bytes32)", name)
    validator, agent, response, digest, tag, updated = answer
    agent_id = AgentId(agent, deployment.chain_id)
    return ValidationStatus(name, agent_id, validator, response, digest, tag, moment(updated))


def summarize(
    session: Session, agent_id: AgentLike, validators: Sequence[str], tag: str
) -> Operation[ValidationSummary]:
    """See `Client.get_validation_summary`."""
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)
    trusted = distinct([checksummed(it) for it in validators])
    function = "getSummary(uint256,address[],string)"
    count, average = yield from chain.call(session, Registry.VALIDATION, function, agent.token_id, trusted, tag)
    return ValidationSummary(agent, count, Decimal(average) if count else None, tag, trusted)


def of_agent(session: Session, agent_id: AgentLike) -> Operation[list[bytes]]:
    """See `Client.get_agent_validations`."""
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)
    topics = [None, chain.topic(agent.token_id)]
    return (yield from _requests(session, "getAgentValidations(uint256)", agent.token_id, topics))


def of_validator(session: Session, validator_address: str) -> Operation[list[bytes]]:
    """See `Client.get_validator_requests`."""
    validator = checksummed(validator_address)
    return (yield from _requests(session, "getValidatorRequests(address)", validator, [chain.topic(validator)]))


def _requests(session: Session, function: str, of: int | str, topics: Sequence[Any]) -> Operation[list[bytes]]:
    """The hashes of requests, from the logs where a node refuses the call: others may have made it long."""
    try:
        (hashes,) = yield from chain.call(session, Registry.VALIDATION, function, of)
    except chain.TOO_MUCH as error:
        chain.require_too_much(error)
        logs = yield from chain.logs(session, Registry.VALIDATION, "ValidationRequest", topics)
        hashes = [log.fields["requestHash"] for log in logs]
    return list(hashes)
