"""The hashes that agents and clients sign.

Bodies are bytes: for text they are its UTF-8 form, and binary bodies need no special case. They are the bytes that the
application sees, after any `Content-Encoding` was removed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import rfc8785
from eth_hash.auto import keccak as keccak_state
from eth_utils.crypto import keccak

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import GlobalAgentId
from bilateral.core.values import FeedbackValue
from bilateral.x402.proof.bodies import MAX_BODY
from bilateral.x402.proof.errors import BodyTooLargeError

DRAFT_DOMAIN: Final = b"x402:reputation:v1"
"""The text with which the signed data of the profile `reputation` begins."""

MAX_SIGNED_VALUE: Final = 255
"""The largest value of a signed feedback: the signed message has one byte for it."""


def interaction_hash(task_ref: str, request: bytes, response: bytes) -> bytes:
    """Hash a paid interaction ("Signature Protocol").

    The three parts have no lengths between them: other parts with the same concatenation have the same hash. Recompute
    the hash from bodies that you sent and received yourself, never from bodies that the server names. A request without
    a body is hashed without its path and query.

    Args:
        task_ref: The reference of the payment's transaction.
        request: The request's body; empty if it has none.
        response: The response's body.

    Returns:
        The keccak-256 hash, 32 bytes.
    """
    return _hash(task_ref.encode(), request, response)


def draft_data_hash(request: bytes, response: bytes) -> bytes:
    """Hash both bodies in the profile `reputation`. The request's length comes first, so the boundary is signed.

    Args:
        request: The request's body; its path and query if it has no body.
        response: The response's body.

    Returns:
        The keccak-256 hash, 32 bytes.
    """
    return _hash(len(request).to_bytes(4), request, response)


def draft_interaction_hash(task_ref: str, data_hash: bytes) -> bytes:
    """Hash a paid interaction in the profile `reputation`.

    Args:
        task_ref: The reference of the payment's transaction.
        data_hash: The hash of both bodies, see `draft_data_hash`.

    Returns:
        The keccak-256 hash, 32 bytes.
    """
    return _hash(DRAFT_DOMAIN, task_ref.encode(), data_hash)


def client_message_hash(agent: GlobalAgentId, task_ref: str, value: int) -> bytes:
    """Hash the message that a client signs as its feedback ("Client Signature").

    Args:
        agent: The agent that is rated.
        task_ref: The reference of the payment's transaction.
        value: The feedback's integer value on chain, from 0 to 255.

    Returns:
        The keccak-256 hash, 32 bytes.

    Raises:
        InvalidArgumentError: One byte cannot hold the value.
    """
    if not 0 <= value <= MAX_SIGNED_VALUE:
        raise InvalidArgumentError(f"value {value} is out of range 0..{MAX_SIGNED_VALUE} of a signed feedback")
    return keccak(f"{agent.registry}{agent.agent}{task_ref}".encode() + bytes([value]))


def draft_reviewer_hash(  # noqa: PLR0913, PLR0917  # the fields of the message
    agent: GlobalAgentId, task_ref: str, data_hash: bytes, value: FeedbackValue, tag1: str, tag2: str
) -> bytes:
    """Hash the message that a client signs as its feedback in the profile `reputation` ("Reviewer Signature").

    Args:
        agent: The agent that is rated.
        task_ref: The reference of the payment's transaction.
        data_hash: The hash of both bodies, see `draft_data_hash`.
        value: The feedback's value.
        tag1: The first tag; may be empty.
        tag2: The second tag; may be empty.

    Returns:
        The keccak-256 hash, 32 bytes.

    Raises:
        InvalidArgumentError: A tag holds NUL, which separates the fields.
    """
    if "\0" in tag1 + tag2:
        raise InvalidArgumentError("a tag holds NUL, which separates the fields of a signed review")
    head = "".join(f"{text}\0" for text in (agent.registry, agent.agent, task_ref)).encode()
    number = value.value.to_bytes(16, signed=True) + bytes([value.decimals])
    return keccak(head + data_hash + number + f"{tag1}\0{tag2}".encode())


def tool_request(name: str, arguments: Mapping[str, Any], limit: int = MAX_BODY) -> bytes:
    """Return the request body of an MCP tool call: its name and arguments as canonical JSON (RFC 8785)."""
    return _canonical({"name": name, "arguments": dict(arguments)}, limit)


def tool_response(content: Sequence[Any], structured_content: Any = None, limit: int = MAX_BODY) -> bytes:
    """Return the response body of an MCP tool call: its content as canonical JSON (RFC 8785), without `_meta`."""
    result: dict[str, Any] = {"content": list(content)}
    if structured_content is not None:
        result["structuredContent"] = structured_content
    return _canonical(result, limit)


def message_parts(parts: Sequence[Any], limit: int = MAX_BODY) -> bytes:
    """Return the body of a message between agents (A2A): its parts as canonical JSON (RFC 8785)."""
    return _canonical(list(parts), limit, "message")


def _hash(*parts: bytes) -> bytes:
    """Hash parts one after the other (keccak-256). They are not copied into one: bodies may have 32 MiB."""
    state = keccak_state.new(b"")
    for part in parts:
        state.update(part)
    return state.digest()


def _canonical(value: dict[str, Any] | list[Any], limit: int, subject: str = "tool call") -> bytes:
    try:
        body = rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, RecursionError) as error:
        raise InvalidArgumentError(f"the {subject} has no canonical JSON: {error}") from None
    if len(body) > limit:
        raise BodyTooLargeError(limit)
    return body
