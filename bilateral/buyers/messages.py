"""Messages that sellers and buyers sign (EIP-712): feedback on a buyer, reviews, disputes and sellers' services.

The domain has the name `BilateralBuyers` and the version `1`; its contract is the seller's identity registry.
`tagsHash` and `contentHash` are the keccak-256 hashes of canonical JSON (RFC 8785); `noteHash` is the keccak-256 hash
of the text in UTF-8.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import rfc8785
from eth_utils.crypto import keccak

from bilateral.core.signatures.messages import Address, Bytes32, Domain, String, TypedMessage, Uint8, Uint64, Uint256


def content_hash(value: Any) -> bytes:
    """Return the keccak-256 hash of a JSON value in canonical form (RFC 8785)."""
    return keccak(rfc8785.dumps(value))


def domain_of(chain_id: int) -> Domain:
    """Return the EIP-712 domain for messages that no contract verifies. Its contract is the zero address."""
    return Domain(chain_id, "0x" + "00" * 20)  # type: ignore[arg-type]  # it is checksummed


def text_hash(text: str) -> bytes:
    """Return the keccak-256 hash of a text in UTF-8."""
    return keccak(text.encode())


@dataclass(frozen=True)
class _BuyerMessage(TypedMessage):
    """The base class of the messages about buyers."""

    domain_name: ClassVar[str] = "BilateralBuyers"


@dataclass(frozen=True)
class ScoredPayment(_BuyerMessage):
    """A score for one payment: the fields common to feedback and reviews.

    Attributes:
        seller_registry: The seller's identity registry.
        score: The score, from 0 to 100.
        tags_hash: The hash of the list of tags; for a review, the hash of its two tags.
        tx_hash: The payment's transaction.
    """

    buyer: Address
    seller_registry: Address
    seller_agent_id: Uint256
    score: Uint8
    tags_hash: Bytes32
    note_hash: Bytes32
    tx_hash: Bytes32
    chain_id: Uint256


@dataclass(frozen=True)
class BuyerFeedback(ScoredPayment):
    """A seller's feedback on a buyer (section 5.3), signed by the agent's wallet or owner."""


@dataclass(frozen=True)
class AgentReview(ScoredPayment):
    """A buyer's review of a seller (`/api/review`), signed by the buyer."""


@dataclass(frozen=True)
class BuyerDispute(_BuyerMessage):
    """A seller's dispute about a payment, or the withdrawal of a dispute.

    Attributes:
        seller_registry: The seller's identity registry.
        state: `filed` or `withdrawn`.
        tx_hash: The payment's transaction.
    """

    buyer: Address
    seller_registry: Address
    seller_agent_id: Uint256
    state: String
    reason_hash: Bytes32
    tx_hash: Bytes32
    chain_id: Uint256


@dataclass(frozen=True)
class AgentEnrichment(_BuyerMessage):
    """A seller's service with its policy for buyers (section 6.1), signed by the agent's wallet, owner or operator.

    Attributes:
        registry: The seller's identity registry.
        agent_id: The seller.
        content_hash: The hash of the body without its `signature` field.
        issued_at: The message's time, in Unix seconds. A message with a later time replaces this one.
    """

    registry: Address
    agent_id: Uint256
    content_hash: Bytes32
    issued_at: Uint64
    chain_id: Uint256


@dataclass(frozen=True)
class BuyerReply(_BuyerMessage):
    """A buyer's reply to feedback or a dispute about the buyer, signed by the buyer. Each message may have one reply.

    Attributes:
        message_id: The id of the message, as shown by `?expand=messages`.
        text_hash: The hash of the reply's text.
        chain_id: The payment's chain.
    """

    buyer: Address
    message_id: Bytes32
    text_hash: Bytes32
    chain_id: Uint256


@dataclass(frozen=True)
class CredentialRequest(_BuyerMessage):
    """A buyer's request for a credential for its tier, signed by the buyer.

    Attributes:
        buyer: The buyer whose tier the credential proves.
        holder: The address for which the credential is requested.
        policy: The scoring policy's name.
        scope: The scope in which the credential may be used.
        chain_id: The chain on which the payments were made.
        expires_at: The last second in which the request is valid, in Unix time.
    """

    buyer: Address
    holder: Address
    policy: String
    scope: Bytes32
    chain_id: Uint256
    expires_at: Uint64


@dataclass(frozen=True)
class TierMember(_BuyerMessage):
    """A buyer's request to join the groups for private tier proofs, signed by the buyer.

    Attributes:
        commitment: The public commitment of the buyer's identity, as a 32-byte word.
        policy: The hash of the scoring policy's name.
        from_epoch: The first UTC day on which the commitment is valid, in days since the Unix epoch.
        chain_id: The chain on which the payments were made.
    """

    buyer: Address
    commitment: Uint256
    policy: Bytes32
    from_epoch: Uint64
    chain_id: Uint256
