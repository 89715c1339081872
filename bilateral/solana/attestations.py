"""SATI feedback as bytes: its data, the messages that both sides sign, and strictly decoded attestations.

Nothing here writes to Solana. SATI's client submits feedback through Light's programs, and Photon returns attestations.
The layouts match version 1.0.0 of SATI's program.
"""

import json
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Self

from eth_utils.crypto import keccak

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers.caip import base58_text
from bilateral.solana.addresses import address_bytes, address_text
from bilateral.solana.fields import Fields

MAX_CONTENT: Final = 512
MAX_PUBLIC_CONTENT: Final = 100
"""The maximum size of the content of public feedback, in bytes. A transaction contains the content twice."""

_VERSION: Final = 1  # the version of SATI's layout
_INTERACTION: Final = b"SATI:interaction:v1"
_MAX_CONTENT_TYPE: Final = 15  # SATI reserves 6 to 15
_HASH_BYTES: Final = 32  # of keccak-256 or SHA-256
_SIGNATURE_BYTES: Final = 64  # of Ed25519 (RFC 8032, section 5.1.6)
_SIGNATURES: Final = 2  # of the agent and of the counterparty


class Outcome(IntEnum):
    """The outcomes that feedback may have."""

    NEGATIVE = 0
    NEUTRAL = 1
    POSITIVE = 2


class ContentType(IntEnum):
    """The types of content. SATI reserves the numbers 6 to 15."""

    NONE = 0
    JSON = 1
    TEXT = 2
    IPFS = 3
    ARWEAVE = 4
    ENCRYPTED = 5


@dataclass(frozen=True)
class FeedbackData:
    """The data of an attestation that contains feedback.

    Attributes:
        task_ref: The hash that identifies the task; see `task_ref_of`.
        agent: The agent's mint.
        counterparty: The account that gives the feedback.
        data_hash: The hash of the request and response, which the agent's holder signs.

    Raises:
        InvalidArgumentError: A field is out of range, or the agent is its own counterparty.
    """

    task_ref: bytes
    agent: str
    counterparty: str
    outcome: Outcome
    data_hash: bytes
    content_type: int = ContentType.NONE
    content: bytes = b""

    def __post_init__(self) -> None:
        """Reject data that SATI's program would reject."""
        if self.outcome not in tuple(Outcome):
            raise InvalidArgumentError(f"outcome {self.outcome} is not one of 0 (negative), 1 (neutral), 2 (positive)")
        for name, value in (("task_ref", self.task_ref), ("data_hash", self.data_hash)):
            if len(value) != _HASH_BYTES:
                raise InvalidArgumentError(f"{name} has {len(value)} bytes, but {_HASH_BYTES} are expected")
        if not 0 <= self.content_type <= _MAX_CONTENT_TYPE:
            raise InvalidArgumentError(f"content type {self.content_type} is out of range 0..{_MAX_CONTENT_TYPE}")
        if len(self.content) > MAX_CONTENT:
            raise InvalidArgumentError(
                f"the content has {len(self.content)} bytes, but at most {MAX_CONTENT} are allowed"
            )
        if address_bytes(self.agent) == address_bytes(self.counterparty):
            raise InvalidArgumentError(f"the agent {self.agent} cannot give feedback about itself")

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Read an attestation's data.

        Raises:
            MalformedAccountError: The bytes have an unknown version or layout.
        """
        fields = Fields(content, "an attestation's data")
        version = fields.number(1)
        if version != _VERSION:
            raise fields.malformed(f"its version {version} is unknown")
        task_ref, agent, counterparty = fields.take(32), address_text(fields.take(32)), address_text(fields.take(32))
        outcome, data_hash, content_type = fields.number(1), fields.take(32), fields.number(1)
        if outcome not in tuple(Outcome):
            raise fields.malformed(f"its outcome {outcome} is unknown: expected 0, 1 or 2")
        try:
            return cls(
                task_ref, agent, counterparty, Outcome(outcome), data_hash, content_type, fields.take(fields.left)
            )
        except InvalidArgumentError as error:
            raise fields.malformed(str(error)) from None

    def to_bytes(self) -> bytes:
        """Return the data as bytes."""
        parts = bytes([_VERSION]), self.task_ref, address_bytes(self.agent), address_bytes(self.counterparty)
        return b"".join((*parts, bytes([self.outcome]), self.data_hash, bytes([self.content_type]), self.content))

    def require_public(self) -> None:
        """Check that the content fits into public feedback.

        Raises:
            InvalidArgumentError: The content is too large.
        """
        if len(self.content) > MAX_PUBLIC_CONTENT:
            problem = f"at most {MAX_PUBLIC_CONTENT} fit into public feedback: store the rest and write its IPFS CID"
            raise InvalidArgumentError(f"the content has {len(self.content)} bytes, but {problem}")

    def interaction_hash(self, schema: str) -> bytes:
        """Return the 32 bytes that the agent's holder signs with ed25519 before knowing the outcome.

        Args:
            schema: The address of the schema.
        """
        return keccak(_INTERACTION + address_bytes(schema) + self.task_ref + self.data_hash)

    def message(self, schema_name: str) -> bytes:
        """Return the text that the counterparty signs with ed25519, as displayed by wallets.

        Args:
            schema_name: The name of the schema, such as `Feedback`.
        """
        lines = (
            f"SATI {schema_name}",
            "",
            f"Agent: {self.agent}",
            f"Task: {base58_text(self.task_ref)}",
            f"Outcome: {self.outcome.name.capitalize()}",
            f"Details: {self._details()}",
            "",
            "Sign to create this attestation.",
        )
        return "\n".join(lines).encode()

    def nonce(self, schema: str) -> bytes:
        """Return the nonce, which limits feedback to one entry per task, schema, agent and counterparty."""
        parts = self.task_ref, address_bytes(schema), address_bytes(self.agent), address_bytes(self.counterparty)
        return keccak(b"".join(parts))

    def _details(self) -> str:
        """Return the content in the form in which SATI's program includes it in the text."""
        size = f"({len(self.content)} bytes)"
        if not self.content or self.content_type == ContentType.NONE:
            return "(none)"
        if self.content_type in {ContentType.JSON, ContentType.TEXT}:
            try:
                return self.content.decode()
            except UnicodeDecodeError:
                return size
        stored = base58_text(self.content)
        texts: dict[int, str] = {
            ContentType.IPFS: f"ipfs://{stored}",
            ContentType.ARWEAVE: f"ar://{stored}",
            ContentType.ENCRYPTED: "(encrypted)",
        }
        return texts.get(self.content_type, size)


@dataclass(frozen=True)
class Attestation:
    """A compressed attestation, as Photon returns it.

    Attributes:
        schema: The address of the schema.
        signatures: One or two signatures.
    """

    schema: str
    data: FeedbackData
    signatures: tuple[bytes, ...]

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Read an attestation.

        Raises:
            MalformedAccountError: The bytes have an unknown layout, or contain two different agents.
        """
        fields = Fields(content, "an attestation")
        schema, mint = address_text(fields.take(32)), address_text(fields.take(32))
        data = FeedbackData.of(fields.take(fields.number(4)))
        count = fields.number(1)
        signatures = fields.take(_SIGNATURE_BYTES), fields.take(_SIGNATURE_BYTES)
        fields.end()
        if mint != data.agent:
            raise fields.malformed(f"the attestation is about {mint}, but its data is about {data.agent}")
        if not 1 <= count <= _SIGNATURES:
            raise fields.malformed(f"the attestation has {count} signatures")
        if count == 1 and any(signatures[1]):
            raise fields.malformed("the unused second signature is not empty")
        return cls(schema, data, signatures[:count])

    def to_bytes(self) -> bytes:
        """Return the attestation as bytes."""
        data = self.data.to_bytes()
        filled = b"".join(self.signatures).ljust(_SIGNATURES * _SIGNATURE_BYTES, b"\0")
        head = address_bytes(self.schema) + address_bytes(self.data.agent)
        return head + len(data).to_bytes(4, "little") + data + bytes([len(self.signatures)]) + filled


def task_ref_of(signature: bytes) -> bytes:
    """Return the hash that identifies the task for which a payment was made."""
    if len(signature) != _SIGNATURE_BYTES:
        raise InvalidArgumentError(f"a signature must have {_SIGNATURE_BYTES} bytes, but this one has {len(signature)}")
    return keccak(signature)


def feedback_content(value: int, decimals: int, tag1: str = "", tag2: str = "") -> bytes:
    """Return a value and two tags as JSON, using the same names as SATI's own client.

    Args:
        tag1: The main tag.
        tag2: The second tag.
    """
    fields = {"value": value, "valueDecimals": decimals, "tag1": tag1, "tag2": tag2}
    return json.dumps({name: field for name, field in fields.items() if field != ""}, separators=(",", ":")).encode()
