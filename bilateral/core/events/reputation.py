"""Events of the reputation registries: feedback to servers, and ratings that servers give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bilateral.core.events.base import Event

if TYPE_CHECKING:
    from bilateral.core.text import ChainText


@dataclass(frozen=True, slots=True)
class NewFeedback(Event):
    """A client gave feedback (ERC-8004).

    Attributes:
        feedback_index: The feedback's index among those of the client about the agent, from 1.
        value: The value, times `10 ** value_decimals`; within ±1e38.
        value_decimals: The number of decimals, 0 to 18.
        indexed_tag1: The keccak-256 hash of the first tag.
        tag1: The first tag; may be empty.
        tag2: The second tag; may be empty.
        endpoint: The endpoint that was used; may be empty.
        feedback_uri: The URI of the feedback file; may be empty.
        feedback_hash: The keccak-256 hash of that file; zeros without one.
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

    abi_name: ClassVar = "NewFeedback"


@dataclass(frozen=True, slots=True)
class FeedbackRevoked(Event):
    """A client revoked its feedback (ERC-8004).

    Attributes:
        feedback_index: The feedback's index, from 1.
    """

    agent_id: int
    client_address: str
    feedback_index: int

    abi_name: ClassVar = "FeedbackRevoked"


@dataclass(frozen=True, slots=True)
class ResponseAppended(Event):
    """An account responded to a feedback (ERC-8004). Anyone may.

    Attributes:
        client_address: The client who gave the feedback.
        feedback_index: The feedback's index, from 1.
        responder: The account that responded.
        response_hash: The keccak-256 hash of the file there; zeros without one.
    """

    agent_id: int
    client_address: str
    feedback_index: int
    responder: str
    response_uri: ChainText
    response_hash: bytes

    abi_name: ClassVar = "ResponseAppended"


@dataclass(frozen=True, slots=True)
class SignaturesVoided(Event):
    """A client voided its signed feedback up to a deadline.

    Attributes:
        deadline: The latest voided deadline, in Unix time.
    """

    client_address: str
    deadline: int

    abi_name: ClassVar = "SignaturesVoided"


@dataclass(frozen=True, slots=True)
class ClientRated(Event):
    """A server rated a client (EIP-8004a).

    Attributes:
        client_id: The client's agent.
        rating: 0 to 100.
    """

    client_id: int
    server_id: int
    rating: int

    abi_name: ClassVar = "ClientRated"


@dataclass(frozen=True, slots=True)
class ValidatorRated(Event):
    """A server rated a validator (EIP-8004a).

    Attributes:
        validator_id: The validator's agent.
        rating: 0 to 100.
    """

    validator_id: int
    server_id: int
    rating: int

    abi_name: ClassVar = "ValidatorRated"


@dataclass(frozen=True, slots=True)
class RatingsSealed(Event):
    """A client and a server sealed their ratings of each other (ours).

    Attributes:
        client_id: The client's agent.
    """

    client_id: int
    server_id: int
    interaction: bytes

    abi_name: ClassVar = "RatingsSealed"


@dataclass(frozen=True, slots=True)
class RatingsOpened(Event):
    """Blind ratings were opened (ours): the rating, the feedback, or both.

    Attributes:
        client_id: The client's agent.
        client: The account whose feedback belongs to the pair.
        feedback_index: The index of the opened feedback, from 1; 0 if only the rating was opened.
    """

    client_id: int
    server_id: int
    interaction: bytes
    client: str
    feedback_index: int

    abi_name: ClassVar = "RatingsOpened"


@dataclass(frozen=True, slots=True)
class AuthFeedback(Event):
    """A server authorised a client's feedback (August 2025).

    Attributes:
        agent_client_id: The client's agent.
        feedback_auth_id: The authorisation's id.
    """

    agent_client_id: int
    agent_server_id: int
    feedback_auth_id: bytes

    abi_name: ClassVar = "AuthFeedback"


@dataclass(frozen=True, slots=True)
class NewAuthorizedFeedback(Event):
    """A client gave feedback that the agent's owner had authorised (FeedbackAuth, event `NewFeedback`).

    Attributes:
        score: 0 to 100.
        tag1: The first tag, filled up with zeros to 32 bytes.
        tag2: The second tag, in the same form.
        file_uri: The URI of the feedback file; may be empty.
        file_hash: The keccak-256 hash of that file; zeros without one.
    """

    agent_id: int
    client_address: str
    score: int
    tag1: bytes
    tag2: bytes
    file_uri: ChainText
    file_hash: bytes

    abi_name: ClassVar = "NewFeedback"
