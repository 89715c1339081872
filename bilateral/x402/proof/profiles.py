"""The hashes that agents and clients sign, and the two profiles (formats of declarations and statements).

Bodies are hashed as the application sees them, after removing any `Content-Encoding`. Text is hashed as UTF-8, and
binary bodies are hashed as they are.

`8004-reputation` is the specification's format and the default. `reputation` is the later upstream draft, which is
opt-in and may change until it is released. Clients can verify both formats.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import rfc8785
from eth_hash.auto import keccak as keccak_state
from eth_utils.crypto import keccak

from bilateral.client import AgentLike
from bilateral.client.operations.registries import agent_of
from bilateral.core.contracts import Deployment
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AccountId, ChainId, GlobalAgentId
from bilateral.core.values import FeedbackValue
from bilateral.x402.proof import fields as read
from bilateral.x402.proof.errors import BodyTooLargeError, InvalidMessageError
from bilateral.x402.proof.types import REPUTATION_8004, AgentRegistration, BlindTerms, InteractionData, ReputationInfo

DRAFT_DOMAIN: Final = b"x402:reputation:v1"
"""The prefix of the signed data in the profile `reputation`."""

MAX_SIGNED_VALUE: Final = 255
"""The largest value of signed feedback, because the signed message stores the value in one byte."""


def interaction_hash(task_ref: str, request: bytes, response: bytes) -> bytes:
    """Hash a paid interaction ("Signature Protocol").

    The lengths of the three parts are not hashed, so different parts with the same concatenation have the same hash.
    Recompute the hash from the bodies that you sent and received yourself, never from bodies reported by the server. If
    a request has no body, its path and query are not hashed either.

    Args:
        task_ref: The reference to the payment's transaction.
        request: The request's body; empty if it has none.
        response: The response's body.

    Returns:
        The 32-byte keccak-256 hash.
    """
    return _hash(task_ref.encode(), request, response)


def draft_data_hash(request: bytes, response: bytes) -> bytes:
    """Hash both bodies in the profile `reputation`. The request's length comes first, so that the signature covers it.

    Args:
        request: The request's body; its path and query if it has no body.
        response: The response's body.

    Returns:
        The 32-byte keccak-256 hash.
    """
    return _hash(len(request).to_bytes(4), request, response)


def draft_interaction_hash(task_ref: str, data_hash: bytes) -> bytes:
    """Hash a paid interaction in the profile `reputation`.

    Args:
        task_ref: The reference to the payment's transaction.
        data_hash: The hash of both bodies. See `draft_data_hash`.

    Returns:
        The 32-byte keccak-256 hash.
    """
    return _hash(DRAFT_DOMAIN, task_ref.encode(), data_hash)


def client_message_hash(agent: GlobalAgentId, task_ref: str, value: int) -> bytes:
    """Hash the message that a client signs as its feedback ("Client Signature").

    Args:
        agent: The rated agent.
        task_ref: The reference to the payment's transaction.
        value: The feedback's on-chain integer value, from 0 to 255.

    Returns:
        The 32-byte keccak-256 hash.

    Raises:
        InvalidArgumentError: The value does not fit in one byte.
    """
    if not 0 <= value <= MAX_SIGNED_VALUE:
        raise InvalidArgumentError(f"value {value} is out of range 0..{MAX_SIGNED_VALUE} for signed feedback")
    return keccak(f"{agent.registry}{agent.agent}{task_ref}".encode() + bytes([value]))


def draft_reviewer_hash(  # noqa: PLR0913, PLR0917  # the fields of the message
    agent: GlobalAgentId, task_ref: str, data_hash: bytes, value: FeedbackValue, tag1: str, tag2: str
) -> bytes:
    """Hash the message that a client signs as its feedback in the profile `reputation` ("Reviewer Signature").

    Args:
        agent: The rated agent.
        task_ref: The reference to the payment's transaction.
        data_hash: The hash of both bodies. See `draft_data_hash`.
        value: The feedback's value.
        tag1: The first tag; may be empty.
        tag2: The second tag; may be empty.

    Returns:
        The 32-byte keccak-256 hash.

    Raises:
        InvalidArgumentError: A tag contains NUL, which separates the fields.
    """
    if "\0" in tag1 + tag2:
        raise InvalidArgumentError("a tag contains NUL, which separates the fields of a signed review")
    head = "".join(f"{text}\0" for text in (agent.registry, agent.agent, task_ref)).encode()
    number = value.value.to_bytes(16, signed=True) + bytes([value.decimals])
    return keccak(head + data_hash + number + f"{tag1}\0{tag2}".encode())


def tool_request(name: str, arguments: Mapping[str, Any], limit: int = read.MAX_BODY) -> bytes:
    """Return an MCP tool call's request body: the tool's name and arguments as canonical JSON (RFC 8785)."""
    return _canonical({"name": name, "arguments": dict(arguments)}, limit)


def tool_response(content: Sequence[Any], structured_content: Any = None, limit: int = read.MAX_BODY) -> bytes:
    """Return an MCP tool call's response body: its content as canonical JSON (RFC 8785), without `_meta`."""
    result: dict[str, Any] = {"content": list(content)}
    if structured_content is not None:
        result["structuredContent"] = structured_content
    return _canonical(result, limit)


def message_parts(parts: Sequence[Any], limit: int = read.MAX_BODY) -> bytes:
    """Return the body of an agent-to-agent (A2A) message: its parts as canonical JSON (RFC 8785)."""
    return _canonical(list(parts), limit, "message")


def _hash(*parts: bytes) -> bytes:
    """Hash consecutive parts (keccak-256) without concatenating them, because bodies may be 32 MiB long."""
    state = keccak_state.new(b"")
    for part in parts:
        state.update(part)
    return state.digest()


def _canonical(value: dict[str, Any] | list[Any], limit: int, subject: str = "tool call") -> bytes:
    try:
        body = rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, RecursionError) as error:
        raise InvalidArgumentError(f"the {subject} cannot be encoded as canonical JSON: {error}") from None
    if len(body) > limit:
        raise BodyTooLargeError(limit)
    return body


REPUTATION_DRAFT: Final = "reputation"
"""The upstream draft's key in `extensions` of x402 messages."""

_KEY_BYTES: Final = {"ed25519": (32,), "secp256k1": (33, 65)}  # RFC 8032, section 5.1.5; SEC 1, section 2.3.3


def _schema(agent_fields: tuple[str, ...], uris: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the JSON Schema sent with a declaration, verbatim from the specification."""
    agent = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in agent_fields},
        "required": list(agent_fields),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
            "registrations": {"type": "array", "minItems": 1, "items": agent},
            **{name: {"type": "string", "format": "uri"} for name in uris},
        },
        "required": ["version", "registrations"],
    }


reputation_8004_schema: Final = _schema(
    ("agentRegistry", "agentId", "reputationRegistry"), uris=("endpoint", "feedbackAggregator")
)
reputation_draft_schema: Final = _schema(("agentRegistry", "agentId"))
"""The schema of the upstream draft `reputation`."""


class Hashes(NamedTuple):
    """The hashes of a paid interaction.

    Attributes:
        interaction: The hash that the agent signs.
        data: The hash of both bodies; None in the profile `8004-reputation`, which does not use it.
    """

    interaction: bytes
    data: bytes | None = None


class Profile:
    """One format of the messages. Methods that are not overridden follow the specification.

    Attributes:
        key: The key in `extensions`.
        schema: The JSON Schema that a server sends with its declaration.
    """

    key: str = REPUTATION_8004
    schema: dict[str, Any] = reputation_8004_schema

    def info_of(self, value: Any) -> ReputationInfo:
        """Read a declaration. Raise an `InvalidMessageError` for an invalid field."""
        return ReputationInfo.of(value)

    def info_object(self, info: ReputationInfo) -> dict[str, Any]:
        """Return a declaration as a JSON object."""
        return info.to_object()

    def hashes(self, task_ref: str, request: bytes, target: str, response: bytes) -> Hashes:  # noqa: ARG002  # unsigned
        """Hash a paid interaction."""
        return Hashes(interaction_hash(task_ref, request, response))

    def statement_of(self, value: Any) -> InteractionData:
        """Read a statement. Raise an `InvalidMessageError` for an invalid field."""
        return InteractionData.of(value)

    def statement_object(self, statement: InteractionData) -> dict[str, Any]:
        """Return a statement as a JSON object."""
        return statement.to_object()

    def declaration(self, info: ReputationInfo) -> dict[str, Any]:
        """Return a declaration with its schema under this profile's key."""
        written = self.info_object(info)
        self.info_of(written)
        return {self.key: {"info": written, "schema": self.schema}}


class _ProfileDraft(Profile):
    """The upstream draft."""

    key, schema = REPUTATION_DRAFT, reputation_draft_schema

    def info_of(self, value: Any) -> ReputationInfo:
        return ReputationInfo.of(value, is_draft=True)

    def info_object(self, info: ReputationInfo) -> dict[str, Any]:
        agents = [registration.agent for registration in info.registrations]
        registrations = [{"agentRegistry": str(agent.registry), "agentId": agent.agent} for agent in agents]
        return {"version": info.version, "registrations": registrations}

    def hashes(self, task_ref: str, request: bytes, target: str, response: bytes) -> Hashes:
        data = draft_data_hash(request or target.encode(), response)
        return Hashes(draft_interaction_hash(task_ref, data), data)

    def statement_of(self, value: Any) -> InteractionData:
        fields = read.record(value, self.key)
        registry = read.account(fields, "agentRegistry")
        read.agent(registry, fields, "agentId")
        payment = read.transaction(fields, "taskRef")
        algorithm = read.text(fields, "agentSignatureAlgorithm")
        if algorithm not in _KEY_BYTES:
            algorithms = " or ".join(_KEY_BYTES)
            raise InvalidMessageError("agentSignatureAlgorithm", "malformed", f"expected {algorithms}")
        return InteractionData(
            network=payment.chain,
            agent_id=fields["agentId"],
            task_ref=fields["taskRef"],
            interaction_hash=read.hexadecimal(fields, "interactionHash", 32),
            signature=read.hexadecimal(fields, "agentSignature", 64, 65),
            timestamp=None,
            agent_registry=registry,
            data_hash=read.hexadecimal(fields, "dataHash", 32),
            public_key=read.hexadecimal(fields, "agentSignerPublicKey", *_KEY_BYTES[algorithm]),
            algorithm=algorithm,
            feedback_endpoint=read.optional_uri(fields, "feedbackEndpoint"),
        )

    def statement_object(self, statement: InteractionData) -> dict[str, Any]:
        endpoint = statement.feedback_endpoint
        return {
            "agentRegistry": str(statement.agent_registry),
            "agentId": statement.agent_id,
            "taskRef": statement.task_ref,
            "dataHash": _hexadecimal(statement.data_hash),
            "interactionHash": _hexadecimal(statement.interaction_hash),
            "agentSignerPublicKey": _hexadecimal(statement.public_key),
            "agentSignature": _hexadecimal(statement.signature),
            "agentSignatureAlgorithm": statement.algorithm,
            **({} if endpoint is None else {"feedbackEndpoint": endpoint}),
        }


PROFILE_8004: Final = Profile()
PROFILE_DRAFT: Final[Profile] = _ProfileDraft()

PROFILES: Final[Mapping[str, Profile]] = {profile.key: profile for profile in (PROFILE_8004, PROFILE_DRAFT)}
"""The profiles, by their key in `extensions`. If a message contains both keys, the first profile is used."""


def profile_among(*extensions: Any) -> Profile:
    """Return the profile used in the first `extensions` object that contains one; by default, `8004-reputation`."""
    for extension in extensions:
        for key, profile in PROFILES.items():
            if isinstance(extension, dict) and key in extension:
                return profile
    return PROFILE_8004


def _hexadecimal(value: bytes | None) -> str:
    return "0x" + (value or b"").hex()


def registration_of(agent_id: AgentLike, deployment: Deployment) -> AgentRegistration:
    """Return an agent's registration in a deployment.

    Raises:
        MalformedIdentifierError: The agent is malformed, or belongs to a different chain or registry.
        InvalidArgumentError: The deployment has no reputation registry.
    """
    if deployment.reputation is None:
        raise InvalidArgumentError(f"the deployment on chain {deployment.chain_id} has no reputation registry")
    registry = deployment.agent_registry
    token = agent_of(deployment, agent_id).token_id
    reputation = AccountId(ChainId.evm(deployment.chain_id), deployment.reputation)
    return AgentRegistration(GlobalAgentId(registry, str(token)), reputation)


def declare_8004_reputation(  # noqa: PLR0913  # options, all but two with a default
    agent_id: AgentLike,
    deployment: Deployment,
    *others: AgentRegistration,
    endpoint: str | None = None,
    feedback_aggregator: str | None = None,
    blind: BlindTerms | None = None,
    free_answers: bool = False,
) -> dict[str, Any]:
    """Return a route's declaration of the extension, to be used as `RouteConfig.extensions` or as a part of it.

    Args:
        agent_id: The server's agent.
        deployment: The agent's registries.
        *others: The agent's registrations on additional chains, one per chain.
        endpoint: The service's URL.
        feedback_aggregator: The URL of a service that sends signed feedback and pays for the gas.
        blind: The terms on which answers include an envelope for blind ratings; None for no envelopes. See
            `BlindSealer`.
        free_answers: True to deliver an answer for which a route with the scheme `upto` charges nothing. Such an answer
            has no proof, because there is no payment. By default, it is rejected with `nothing_charged`.

    Returns:
        The declaration under the extension's key.

    Raises:
        MalformedIdentifierError: The agent is malformed, or belongs to a different chain or registry.
        InvalidArgumentError: The deployment has no reputation registry, or two registrations are on the same chain.
        InvalidMessageError: A URL is malformed.
    """
    registrations = (registration_of(agent_id, deployment), *others)
    options: dict[str, Any] = {"endpoint": endpoint, "feedback_aggregator": feedback_aggregator, "blind": blind}
    return PROFILE_8004.declaration(_info(registrations, **options, free_answers=free_answers))


def declare_reputation_draft(agent_id: AgentLike, deployment: Deployment, *others: AgentRegistration) -> dict[str, Any]:
    """Declare the upstream draft `reputation` for a route, instead of `8004-reputation` or in addition to it.

    routes = {"GET /weather": RouteConfig(…, extensions={**declare_8004_reputation(…), **declare_reputation_draft(…)})}

    Args:
        agent_id: The server's agent.
        deployment: The agent's registries.
        *others: The agent's registrations on additional chains, one per chain.

    Returns:
        The declaration under the draft's key.

    Raises:
        MalformedIdentifierError: The agent is malformed, or belongs to a different chain or registry.
        InvalidArgumentError: The deployment has no reputation registry, or two registrations are on the same chain.
    """
    return PROFILE_DRAFT.declaration(_info((registration_of(agent_id, deployment), *others)))


def declaration_of(
    *registrations: AgentRegistration, profile: Profile = PROFILE_8004, endpoint: str | None = None
) -> dict[str, Any]:
    """Declare the extension for a route whose agent has the given registrations, one per chain."""
    return profile.declaration(_info(registrations, endpoint=endpoint))


def _info(registrations: tuple[AgentRegistration, ...], **options: Any) -> ReputationInfo:
    if len({registration.chain for registration in registrations}) < len(registrations):
        raise InvalidArgumentError("two registrations are on the same chain: declare one per chain")
    return ReputationInfo(registrations, **options)
