"""Validation of an agent's work (ERC-8004)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from bilateral.client.operations import registries, transactions
from bilateral.client.operations.documents import Unstored
from bilateral.client.operations.feedback import Link
from bilateral.client.state import AgentLike, ClientState, Sent, checked_uint, distinct, hash_bytes
from bilateral.core.contracts import Registry
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.events import Event, ValidationRequest, ValidationResponse
from bilateral.core.identifiers import AgentId, checksummed
from bilateral.core.text import ChainText
from bilateral.core.values.times import chain_time
from bilateral.node.steps import Operation


@dataclass(frozen=True)
class ValidationRequested:
    """The result of requesting a validation.

    Attributes:
        request_hash: The hash that identifies the request.
        agent: The agent whose work is to be validated.
        validator: The requested validator.
        uri: The URI of the material for the validator.
    """

    request_hash: bytes
    agent: AgentId
    validator: str
    uri: ChainText


@dataclass(frozen=True)
class ValidationAnswered:
    """The result of responding to a validation request.

    Attributes:
        agent: The agent whose work was validated.
        validator: The account that responded.
        response: The response, from 0 to 100.
        uri: The URI of the evidence; may be empty.
        hash: The hash of the evidence; all zeros if there is none.
        tag: The category that the validator chose; may be empty.
    """

    request_hash: bytes
    agent: AgentId
    validator: str
    response: int
    uri: ChainText
    hash: bytes
    tag: ChainText


@dataclass(frozen=True)
class ValidationStatus:
    """A validation request and its last response, as the registry stores them.

    Attributes:
        validator: The requested validator.
        response: The last response, from 0 to 100; 0 if there is none yet.
        response_hash: The hash included in the last response; all zeros if it has none.
        tag: The tag included in the last response; may be empty.
        last_update: The time of the last response or, if there is none yet, the time of the request.
    """

    request_hash: bytes
    agent: AgentId
    validator: str
    response: int
    response_hash: bytes
    tag: ChainText
    last_update: datetime

    @property
    def is_surely_answered(self) -> bool:
        """True if the registry's record shows a response. A response of 0 without a hash or tag cannot be detected."""
        return self.response != 0 or bool(self.tag) or any(self.response_hash)


@dataclass(frozen=True)
class ValidationSummary:
    """The average of the latest responses to an agent's validation requests.

    Attributes:
        count: The number of requests whose latest responses are averaged.
        average: The average, which the registry truncates to an integer; None if there are no matching responses.
        tag: The tag that responses must have; an empty string matches any tag.
        validators: The validators whose responses are included; empty for all validators.
    """

    agent: AgentId
    count: int
    average: Decimal | None
    tag: str
    validators: tuple[str, ...]


def request(
    state: ClientState, agent_id: AgentLike, validator_address: str, link: Link, document: bytes | None
) -> Operation[Sent[ValidationRequested]]:
    """See `Client.request_validation`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    uri, digest = link
    if (document is None) == (digest is None) or (document is not None and uri):
        raise InvalidArgumentError("pass either a document, or its hash and URI, but not both")
    unstored = None if document is None else Unstored(bytes(document))
    request_hash = unstored.hash if unstored else hash_bytes(digest, "the request's hash")

    def decode(events: Sequence[Event]) -> ValidationRequested:
        names = {"agent_id": agent.token_id, "request_hash": request_hash}
        event = transactions.require_event(events, ValidationRequest, **names)
        return ValidationRequested(event.request_hash, agent, event.validator_address, event.request_uri)

    function = "validationRequest"
    arguments = (checksummed(validator_address), agent.token_id, unstored or uri, request_hash)
    return (yield from transactions.send(state, Registry.VALIDATION, function, arguments, decode))


def respond(
    state: ClientState, request_hash: bytes | str, response: int, link: Link, tag: str
) -> Operation[Sent[ValidationAnswered]]:
    """See `Client.respond_to_validation`."""
    deployment = yield from registries.connect(state)
    name = hash_bytes(request_hash, "the request's hash")
    uri, digest = link

    def decode(events: Sequence[Event]) -> ValidationAnswered:
        event = transactions.require_event(events, ValidationResponse, request_hash=name, response=response)
        agent, evidence = AgentId(event.agent_id, deployment.chain_id), (event.response_uri, event.response_hash)
        return ValidationAnswered(
            event.request_hash, agent, event.validator_address, event.response, *evidence, event.tag
        )

    function = "validationResponse"
    arguments = (name, checked_uint(response, 8, "a response"), uri, hash_bytes(digest, "the response's hash"), tag)
    return (yield from transactions.send(state, Registry.VALIDATION, function, arguments, decode))


def status(state: ClientState, request_hash: bytes | str) -> Operation[ValidationStatus]:
    """See `Client.get_validation_status`."""
    deployment = yield from registries.connect(state)
    name = hash_bytes(request_hash, "the request's hash")
    answer = yield from registries.call(state, Registry.VALIDATION, "getValidationStatus", name)
    validator, agent, response, digest, tag, updated = answer
    agent_id = AgentId(agent, deployment.chain_id)
    return ValidationStatus(name, agent_id, validator, response, digest, tag, chain_time(updated))


def summarize(
    state: ClientState, agent_id: AgentLike, validators: Sequence[str], tag: str
) -> Operation[ValidationSummary]:
    """See `Client.get_validation_summary`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    trusted = distinct([checksummed(validator) for validator in validators])
    count, average = yield from registries.call(state, Registry.VALIDATION, "getSummary", agent.token_id, trusted, tag)
    return ValidationSummary(agent, count, Decimal(average) if count else None, tag, trusted)


def of_agent(state: ClientState, agent_id: AgentLike) -> Operation[list[bytes]]:
    """See `Client.get_agent_validations`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    topics = [None, registries.topic(agent.token_id)]
    return (yield from _requests(state, "getAgentValidations", agent.token_id, topics))


def of_validator(state: ClientState, validator_address: str) -> Operation[list[bytes]]:
    """See `Client.get_validator_requests`."""
    validator = checksummed(validator_address)
    return (yield from _requests(state, "getValidatorRequests", validator, [registries.topic(validator)]))


def _requests(state: ClientState, function: str, of: int | str, topics: Sequence[Any]) -> Operation[list[bytes]]:
    """Return requests' hashes. If the call is too large (anyone may add requests), read the hashes from the logs."""
    try:
        (hashes,) = yield from registries.call(state, Registry.VALIDATION, function, of)
    except registries.TOO_LARGE as error:
        registries.raise_if_explained(error)
        requests = yield from registries.events(state, Registry.VALIDATION, ValidationRequest, topics)
        hashes = [request.request_hash for request in requests]
    return list(hashes)
