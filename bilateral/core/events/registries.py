"""Events emitted by the registries for agents, feedback, ratings and validations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from bilateral.core.contracts import Registry
from bilateral.core.events.base import Event
from bilateral.core.text import ChainText


@dataclass(frozen=True, slots=True)
class Transfer(Event):
    """An agent's token was minted or transferred to a new owner (ERC-721).

    Attributes:
        from_address: The previous owner; the zero address at registration.
        to_address: The new owner.
    """

    from_address: str
    to_address: str
    agent_id: int


@dataclass(frozen=True, slots=True)
class Approval(Event):
    """An account was approved to transfer one token and act for its agent, or an approval was removed (ERC-721).

    Attributes:
        account: The approved account; the zero address if the approval was removed.
    """

    owner: str
    account: str
    agent_id: int


@dataclass(frozen=True, slots=True)
class ApprovalForAll(Event):
    """An account was approved to act for all agents of an owner, or lost that approval (ERC-721).

    Attributes:
        operator: The account that may act.
        is_approved: True if the operator was approved, False if the approval was removed.
    """

    owner: str
    operator: str
    is_approved: bool


@dataclass(frozen=True, slots=True)
class MetadataUpdate(Event):
    """The token's URI changed (ERC-4906). `URIUpdated` contains the new URI."""

    agent_id: int


@dataclass(frozen=True, slots=True)
class Registered(Event):
    """An agent was registered (ERC-8004).

    Attributes:
        agent_uri: The URI of the agent's registration file; may be empty.
        owner: The agent's owner, which is also its wallet.
    """

    agent_id: int
    agent_uri: ChainText
    owner: str


@dataclass(frozen=True, slots=True)
class URIUpdated(Event):
    """The URI of an agent's registration file was replaced (ERC-8004).

    Attributes:
        new_uri: The new URI; may be empty.
        updated_by: The account that replaced the URI.
    """

    agent_id: int
    new_uri: ChainText
    updated_by: str


@dataclass(frozen=True, slots=True)
class MetadataSet(Event):
    """An agent's metadata value was set (ERC-8004).

    Attributes:
        indexed_metadata_key: The keccak-256 hash of the key.
        metadata_key: The key. For `agentWallet`, the value is the wallet's 20 bytes, or empty if there is no wallet.
    """

    agent_id: int
    indexed_metadata_key: bytes
    metadata_key: ChainText
    metadata_value: bytes


@dataclass(frozen=True, slots=True)
class AgentRegistered(Event):
    """An agent was registered with a domain (ERC-8004 of August 2025).

    Attributes:
        agent_domain: The agent's domain, exactly as registered.
        agent_address: The agent's owner and wallet.
    """

    agent_id: int
    agent_domain: ChainText
    agent_address: str


@dataclass(frozen=True, slots=True)
class AgentUpdated(Event):
    """An agent's domain or address changed (ERC-8004 of August 2025).

    Attributes:
        agent_domain: The agent's current domain; empty if the agent has none.
        agent_address: The agent's current wallet, or the agent's owner if there is no wallet.
    """

    agent_id: int
    agent_domain: ChainText
    agent_address: str


@dataclass(frozen=True, slots=True)
class AgentCountRaised(Event):
    """A companion contract's agent count increased, because an agent with a higher id was proven to exist.

    Attributes:
        agent_count: The highest agent id that has been proven to exist.
    """

    agent_count: int


@dataclass(frozen=True, slots=True)
class PrimaryAgentSet(Event):
    """An account chose its primary agent, in whose name it rates others."""

    account: str
    agent_id: int


@dataclass(frozen=True, slots=True)
class NewFeedback(Event):
    """A client gave feedback (ERC-8004).

    Attributes:
        feedback_index: The entry's index among the client's feedback entries for the agent, from 1.
        value: The value, times `10 ** value_decimals`; within ±1e38.
        value_decimals: The number of decimals, 0 to 18.
        indexed_tag1: The keccak-256 hash of the first tag.
        tag1: The first tag; may be empty.
        tag2: The second tag; may be empty.
        endpoint: The endpoint that was used; may be empty.
        feedback_uri: The URI of the feedback file; may be empty.
        feedback_hash: The keccak-256 hash of the feedback file; all zeros if not provided.
    """

    agent_id: int
    client_address: str
    feedback_index: int
    value: int
    value_decimals: int
    indexed_tag1: bytes
    tag1: ChainText
    tag2: ChainText
    endpoint: ChainText
    feedback_uri: ChainText
    feedback_hash: bytes


@dataclass(frozen=True, slots=True)
class FeedbackRevoked(Event):
    """A client revoked its feedback (ERC-8004).

    Attributes:
        feedback_index: The feedback's index, counted from 1.
    """

    agent_id: int
    client_address: str
    feedback_index: int


@dataclass(frozen=True, slots=True)
class ResponseAppended(Event):
    """An account responded to feedback (ERC-8004). Anyone may do so.

    Attributes:
        client_address: The client that gave the feedback.
        feedback_index: The feedback's index, counted from 1.
        responder: The account that responded.
        response_hash: The keccak-256 hash of the response file; all zeros if not provided.
    """

    agent_id: int
    client_address: str
    feedback_index: int
    responder: str
    response_uri: ChainText
    response_hash: bytes


@dataclass(frozen=True, slots=True)
class SignaturesVoided(Event):
    """A client invalidated its feedback signatures with deadlines up to a given time.

    Attributes:
        deadline: The latest invalidated deadline, in Unix time.
    """

    client_address: str
    deadline: int


@dataclass(frozen=True, slots=True)
class ClientRated(Event):
    """A server rated a client (EIP-8004a).

    Attributes:
        client_id: The client's agent.
        rating: The rating, 0 to 100.
    """

    client_id: int
    server_id: int
    rating: int


@dataclass(frozen=True, slots=True)
class ValidatorRated(Event):
    """A server rated a validator (EIP-8004a).

    Attributes:
        validator_id: The validator's agent.
        rating: The rating, 0 to 100.
    """

    validator_id: int
    server_id: int
    rating: int


@dataclass(frozen=True, slots=True)
class RatingsSealed(Event):
    """A client and a server sealed their ratings of each other (this project's extension).

    Attributes:
        client_id: The client's agent.
    """

    client_id: int
    server_id: int
    interaction: bytes


@dataclass(frozen=True, slots=True)
class RatingsOpened(Event):
    """Sealed ratings were opened: the server's rating, the client's feedback, or both (this project's extension).

    Attributes:
        client_id: The client's agent.
        client: The account whose feedback is part of the sealed pair.
        feedback_index: The index of the opened feedback, from 1; 0 if only the rating was opened.
    """

    client_id: int
    server_id: int
    interaction: bytes
    client: str
    feedback_index: int


@dataclass(frozen=True, slots=True)
class AuthFeedback(Event):
    """A server authorised feedback from a client (ERC-8004 of August 2025).

    Attributes:
        agent_client_id: The client's agent.
        feedback_auth_id: The authorisation's id.
    """

    agent_client_id: int
    agent_server_id: int
    feedback_auth_id: bytes


@dataclass(frozen=True, slots=True)
class NewAuthorizedFeedback(Event):
    """A client gave feedback that the agent's owner had authorised (FeedbackAuth, event `NewFeedback`).

    Attributes:
        score: The score, 0 to 100.
        tag1: The first tag, padded with zeros to 32 bytes.
        tag2: The second tag, padded with zeros to 32 bytes.
        file_uri: The URI of the feedback file; may be empty.
        file_hash: The keccak-256 hash of the feedback file; all zeros if not provided.
    """

    agent_id: int
    client_address: str
    score: int
    tag1: bytes
    tag2: bytes
    file_uri: ChainText
    file_hash: bytes

    abi_name: ClassVar = "NewFeedback"


@dataclass(frozen=True, slots=True)
class ValidationRequest(Event):
    """An agent's owner asked a validator to validate the agent's work.

    Attributes:
        request_uri: The URI of the request file.
        request_hash: The request's id: the keccak-256 hash of the request file.
    """

    validator_address: str
    agent_id: int
    request_uri: ChainText
    request_hash: bytes


@dataclass(frozen=True, slots=True)
class ValidationResponse(Event):
    """A validator responded to a validation request.

    Attributes:
        request_hash: The request's id.
        response: The result, a number from 0 to 100.
        response_uri: The URI of the evidence; may be empty.
        response_hash: The keccak-256 hash of the evidence; all zeros if not provided.
        tag: A category that the validator chose; may be empty.
    """

    validator_address: str
    agent_id: int
    request_hash: bytes
    response: int
    response_uri: ChainText
    response_hash: bytes
    tag: ChainText


_FEEDBACK: Final = (NewFeedback, FeedbackRevoked, ResponseAppended, SignaturesVoided)

REGISTRY_EVENTS: Final[Mapping[Registry, tuple[type[Event], ...]]] = {
    Registry.IDENTITY: (
        Transfer,
        Approval,
        ApprovalForAll,
        MetadataUpdate,
        Registered,
        URIUpdated,
        MetadataSet,
        AgentRegistered,
        AgentUpdated,
        PrimaryAgentSet,
    ),
    Registry.REPUTATION: _FEEDBACK,
    Registry.BIDIRECTIONAL: (*_FEEDBACK, ClientRated, ValidatorRated, AuthFeedback, RatingsSealed, RatingsOpened),
    Registry.AUTHORIZED: (NewAuthorizedFeedback,),
    Registry.VALIDATION: (ValidationRequest, ValidationResponse),
    Registry.COMPANION: (AgentRegistered, AgentUpdated, PrimaryAgentSet, AgentCountRaised),
}
"""The event classes of each registry for agents, feedback, ratings and validations."""
