"""Arguments of SATI's `createFeedback`, for agents on Solana. Nothing here writes to Solana: SATI's client does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bilateral.errors import InvalidArgumentError
from bilateral.identifiers import AccountId

if TYPE_CHECKING:
    from bilateral.documents import FeedbackFile


def sati_feedback(file: FeedbackFile, uri: str) -> dict[str, Any]:
    """Return the arguments of `createFeedback` for a feedback file ("Backend Submission Examples").

    Args:
        file: The feedback file of an agent on Solana, signed by the client.
        uri: The URI at which it is stored.

    Raises:
        InvalidArgumentError: A field is missing, or the agent and its client are not on one Solana chain.
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
        raise InvalidArgumentError(f"{registry} and {client} are not on one Solana chain")
    return {**arguments, "clientAddress": client.address}
