"""Feedback on agents in SATI, a registry on Solana, as bytes. SATI's own client must submit the bytes.

    data = payment_feedback(task_ref, mint, client, data_hash, outcome=Outcome.POSITIVE)
    signature = key.sign(data.message("Feedback"))

The specification shows a call `createFeedback({...})`, which is only an example. SATI's program uses different names,
stores neither the text of `taskRef` nor the file's URI, and rejects the agent's signature over `interactionHash`.
Instead, it requires signatures over `interaction_hash` by the agent's holder, and over `message` by the counterparty.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.errors.solana import MalformedAccountError
from bilateral.core.identifiers import AccountId, TransactionRef
from bilateral.core.identifiers.caip import base58_bytes
from bilateral.documents import FeedbackFile
from bilateral.solana.addresses import address_bytes
from bilateral.solana.attestations import Attestation, ContentType, FeedbackData, Outcome, feedback_content, task_ref_of
from bilateral.x402.proof.keys import is_signature_of

__all__ = ["Attestation", "ContentType", "FeedbackData", "Outcome", "ReadAttestation", "Schema", "feedback_content"]
__all__ += ["payment_feedback", "read_attestation", "sati_feedback"]

Mode: TypeAlias = Literal["both", "counterparty", "owner"]
"""Who signs a schema's attestations: the holder and the counterparty, only the counterparty, or only the holder."""

Proof: TypeAlias = Literal["blind", "public", "unverifiable"]


@dataclass(frozen=True)
class Schema:
    """An attestation schema. Schemas are settings, not constants, because SATI has changed some of them since 2026-01.

    Attributes:
        name: The schema's name in the text that the counterparty signs, such as `Feedback`.
        mode: Who signs the attestations.
    """

    name: str
    mode: Mode


@dataclass(frozen=True)
class ReadAttestation:
    """An attestation, and what its signatures prove.

    Attributes:
        proof: `blind` if both the holder and the counterparty signed, and the holder did so before it knew the outcome;
            `public` if only one of them signed; `unverifiable` if the signatures do not match, or cannot be checked.
        problem: The reason why the attestation is unverifiable; empty otherwise.
    """

    attestation: Attestation
    proof: Proof
    problem: str = ""


def payment_feedback(  # noqa: PLR0913  # the fields of the layout
    task_ref: str, agent: str, client: str, data_hash: bytes, *, outcome: Outcome | None = None, content: bytes = b""
) -> FeedbackData:
    """Return the feedback data for a paid request.

    Args:
        task_ref: The reference to the payment: `taskRef` in the statement.
        agent: The agent's mint.
        client: The account that gives feedback.
        data_hash: The hash of the request and response, as signed by the agent.
        outcome: The outcome: negative, neutral or positive. It is required, because it is never derived from a feedback
            value.
        content: The content as JSON. See `feedback_content`.

    Raises:
        InvalidArgumentError: The outcome is missing, the payment is not on Solana, or a field is out of range.
        MalformedIdentifierError: The payment, the agent or the client is malformed.
    """
    if outcome is None:
        raise InvalidArgumentError(
            "outcome is missing: choose NEGATIVE, NEUTRAL or POSITIVE, because it is not derived from the value"
        )
    payment = TransactionRef.parse(task_ref)
    if payment.chain.is_evm:
        raise InvalidArgumentError(f"{task_ref} is not a payment on Solana")
    data = FeedbackData(
        task_ref=task_ref_of(base58_bytes(payment.transaction)),
        agent=agent,
        counterparty=client,
        outcome=outcome,
        data_hash=data_hash,
        content_type=ContentType.JSON if content else ContentType.NONE,
        content=content,
    )
    data.require_public()
    return data


def read_attestation(content: bytes, schemas: Mapping[str, Schema], holder: str | None = None) -> ReadAttestation:
    """Decode an attestation strictly, and verify its signatures.

    Args:
        content: The attestation's bytes, as returned by the indexer Photon.
        schemas: The supported schemas, keyed by address.
        holder: The account that held the agent at signing time, for schemas that the holder signs. The attestation's
            bytes do not contain this account.

    Raises:
        MalformedAccountError: The layout, the version or the schema is unknown.
    """
    attestation = Attestation.of(content)
    if attestation.schema not in schemas:
        raise MalformedAccountError("an attestation", f"schema {attestation.schema} is unknown")
    schema, data = schemas[attestation.schema], attestation.data
    message, digest = data.message(schema.name), data.interaction_hash(attestation.schema)
    roles: dict[Mode, list[tuple[str | None, bytes]]] = {
        "both": [(holder, digest), (data.counterparty, message)],
        "counterparty": [(data.counterparty, message)],
        "owner": [(holder, digest)],
    }
    expected = roles[schema.mode]
    if len(expected) != len(attestation.signatures):
        problem = f"there are {len(attestation.signatures)} signatures, but the schema requires {len(expected)}"
        return ReadAttestation(attestation, "unverifiable", problem)
    if holder == data.counterparty:
        return ReadAttestation(attestation, "unverifiable", f"{holder} is both the agent's holder and the counterparty")
    for (signer, signed), signature in zip(expected, attestation.signatures, strict=True):
        if signer is None:
            return ReadAttestation(attestation, "unverifiable", "the agent's holder is unknown")
        if not is_signature_of(signed, signature, address_bytes(signer).hex(), "ed25519"):
            return ReadAttestation(attestation, "unverifiable", f"a signature was not made by {signer}")
    return ReadAttestation(attestation, "blind" if schema.mode == "both" else "public")


def sati_feedback(file: FeedbackFile, uri: str) -> dict[str, Any]:
    """Return the arguments of the specification's example `createFeedback` ("Backend Submission Examples").

    No published SATI client accepts these arguments. See `payment_feedback` for the bytes that SATI's program accepts.

    Args:
        file: The feedback file of an agent on Solana, signed by the client.
        uri: The URI at which the file is stored.

    Raises:
        InvalidArgumentError: A field is missing, or the agent and its client are not on the same Solana chain.
        MalformedIdentifierError: The registry or the client is malformed.
    """
    arguments = {
        "agentId": file.agent_id,
        "clientAddress": file.client_address,
        "taskRef": file.task_ref,
        "value": file.value,
        "valueDecimals": file.value_decimals,
        "tags": file.tags,
        "feedbackURI": uri,
        "agentSignature": file.agent_signature,
        "clientSignature": file.client_signature,
        "interactionHash": file.interaction_hash,
    }
    missing = [name for name, value in arguments.items() if value in (None, "")]
    if missing or not file.agent_registry:
        raise InvalidArgumentError(f"the feedback file lacks {', '.join(missing) or 'agentRegistry'}")
    registry, client = AccountId.parse(file.agent_registry), AccountId.parse(str(file.client_address))
    if registry.chain.namespace != "solana" or client.chain != registry.chain:
        raise InvalidArgumentError(f"{registry} and {client} are not on the same Solana chain")
    return {**arguments, "clientAddress": client.address}
