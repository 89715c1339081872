"""Feedback files, in which clients add details to their on-chain values (best practices, "Off-Chain Feedback File")."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import NoneType
from typing import Any, Final, Literal, Self, TypeAlias, get_args

from pydantic import Field

from bilateral.core.errors import MalformedDocumentError, MalformedIdentifierError
from bilateral.core.identifiers import AccountId, ChainId, GlobalAgentId, TransactionRef
from bilateral.core.text.encoding import encode_object
from bilateral.core.values import FeedbackValue
from bilateral.documents.model import DocumentModel, as_list, as_object, sorted_names

SIGNED_FIELDS: Final = frozenset(
    {
        *("agentRegistry", "agentId", "clientAddress", "value", "valueDecimals", "tag1", "tag2"),
        *("taskRef", "interactionHash", "agentSignature", "clientSignature", "proofOfInteraction"),
    }
)
"""The fields that are also on chain or signed. If one is malformed, the file is invalid; other malformed fields are
dropped."""

_FLAT_NAMES: Final = {
    "mcp": {"tool": "mcpTool", "prompt": "mcpPrompt", "resource": "mcpResource"},
    "a2a": {"skills": "a2aSkills", "contextId": "a2aContextId", "taskId": "a2aTaskId"},
    "oasf": {"skills": "oasfSkills", "domains": "oasfDomains"},
}
"""The flat fields in which agent0's SDKs store values that belong in nested fields."""

Capability: TypeAlias = Literal["tools", "prompts", "resources"]


class McpUse(DocumentModel):
    """The part of the agent's MCP server that was used."""

    tool: str | None = None
    prompt: str | None = None
    resource: str | None = None


class A2aUse(DocumentModel):
    """The agent's A2A skills that were used, with context and task."""

    skills: list[str] | None = None
    context_id: str | None = None
    task_id: str | None = None


class OasfUse(DocumentModel):
    """The skills and domains from the OASF taxonomy that were used."""

    skills: list[str] | None = None
    domains: list[str] | None = None


class ProofOfPayment(DocumentModel):
    """The payment that the feedback is about."""

    from_address: str | None = None
    to_address: str | None = None
    chain_id: str | int | None = None
    tx_hash: str | None = None

    def require_complete(self) -> Self:
        """Check that the fields that identify a payment are present and valid.

        Returns:
            The proof of payment, with checksummed addresses and the hash in lower case.

        Raises:
            MalformedDocumentError: A field is missing or malformed.
        """
        missing = [name for name in ("fromAddress", "toAddress", "chainId", "txHash") if not self.to_object().get(name)]
        if missing:
            raise MalformedDocumentError(f"proofOfPayment lacks {', '.join(missing)}")
        chain = str(self.chain_id)
        try:
            payment = TransactionRef(ChainId.parse(chain if ":" in chain else f"eip155:{chain}"), str(self.tx_hash))
            payer, payee = (
                AccountId(payment.chain, str(address)).address for address in (self.from_address, self.to_address)
            )
        except MalformedIdentifierError as error:
            raise MalformedDocumentError(f"proofOfPayment: {error}") from None
        fields = {"fromAddress": payer, "toAddress": payee, "chainId": chain, "txHash": payment.transaction}
        return type(self).of(self.to_object() | fields)


class ProofOfInteraction(DocumentModel):
    """Proof that a paid service was delivered, as defined by the x402 extension's upstream draft `reputation`."""

    task_ref: str | None = None
    data_hash: str | None = None
    agent_signer_public_key: str | None = None
    agent_signature: str | None = None
    agent_signature_algorithm: str | None = None
    reviewer_address: str | None = None
    reviewer_signature: str | None = None
    reviewer_signature_algorithm: str | None = None


class FeedbackFile(DocumentModel):
    """A feedback file, as defined by ERC-8004's best practices, the x402 extension, and its upstream draft.

    Attributes:
        agent_registry: The identity registry, as a CAIP-10 account id.
        agent_id: The agent's token id, or mint address.
        client_address: The client, as a CAIP-10 account id.
        created_at: The time of the feedback, in ISO 8601.
        value: The on-chain integer value.
        value_decimals: The number of decimals of the value.
        tag1: What was measured.
        tag2: The qualifier.
        endpoint: The URI of the endpoint that was used.
        text: The client's comment.
        mcp: The part of the MCP server that was used.
        a2a: The A2A skills that were used.
        oasf: The OASF skills and domains that were used.
        context: Additional data from the client.
        task_ref: The payment's transaction reference. This field and the next five are from the x402 extension.
        interaction_hash: The hash that the agent signed, in hexadecimal digits.
        agent_signature: The agent's signature of `interaction_hash`, in hexadecimal digits.
        client_signature: The client's signature of the feedback, in hexadecimal digits.
        tags: Both tags, in one list.
        comment: The client's comment.
        proof_of_interaction: The payment, the hash and the signatures. This field and `reasoning` are from the upstream
            draft.
        reasoning: The client's reasons for its feedback.
    """

    agent_registry: str | None = None
    agent_id: int | str | None = None
    client_address: str | None = None
    created_at: str | None = None
    value: int | float | None = None
    value_decimals: int | None = None
    tag1: str | None = None
    tag2: str | None = None
    endpoint: str | None = None
    text: str | None = None
    mcp: McpUse | None = None
    a2a: A2aUse | None = Field(default=None, alias="a2a")  # in camel case it would be a2A
    oasf: OasfUse | None = None
    context: Any = None
    proof_of_payment: ProofOfPayment | None = None
    task_ref: str | None = None
    interaction_hash: str | None = None
    agent_signature: str | None = None
    client_signature: str | None = None
    tags: list[str] | None = None
    comment: str | None = None
    proof_of_interaction: ProofOfInteraction | None = None
    reasoning: str | None = None

    @classmethod
    def _in_present_form(cls, source: dict[str, Any], faults: list[str]) -> dict[str, Any]:
        value = super()._in_present_form(source, faults)
        for name, flat in _FLAT_NAMES.items():
            parts = {part: value[other] for part, other in flat.items() if value.get(other) is not None}
            if parts and value.get(name) is None:
                value = {**value, name: parts}
        if value.get("proofOfPayment") is None and isinstance(value.get("proof_of_payment"), dict):  # ChaosChain's SDK
            value = {**value, "proofOfPayment": value["proof_of_payment"]}
        return value

    @property
    def payment_reference(self) -> str | None:
        """The reference to the payment's transaction, from any field that contains one; None if there is none."""
        return self.task_ref if self.proof_of_interaction is None else self.proof_of_interaction.task_ref

    def to_bytes(self) -> bytes:
        """Return the bytes to store and hash. Files that follow the upstream draft are in canonical JSON (RFC 8785)."""
        fields = self.to_object()
        return encode_object(fields if self.proof_of_interaction is None else sorted_names(fields))

    @property
    def created(self) -> datetime | None:
        """The time of the feedback in UTC; None if it is missing, or is not in ISO 8601 with an offset."""
        try:
            time = datetime.fromisoformat(self.created_at or "")
            return time.astimezone(UTC) if time.tzinfo else None
        except (ValueError, OverflowError):  # the offset moves the time out of the range of datetime
            return None

    def complete(  # noqa: PLR0913  # the feedback's own parameters
        self,
        agent: GlobalAgentId,
        client: AccountId,
        value: FeedbackValue,
        *,
        tag1: str = "",
        tag2: str = "",
        endpoint: str = "",
        created_at: datetime | None = None,
    ) -> Self:
        """Return the file with the fields that will also be on chain, replacing existing values.

        Args:
            agent: The agent that the feedback is about.
            client: The client that gives the feedback.
            value: The value that will be put on chain.
            tag1: What was measured.
            tag2: The qualifier.
            endpoint: The URI of the endpoint that was used; if empty, the endpoint in the file.
            created_at: The time of the feedback, with a time zone; now by default.

        Returns:
            The file to store.
        """
        fields = self.to_object()
        endpoint = endpoint or self.endpoint or ""
        chain_says = {
            "agentRegistry": str(agent.registry),
            "agentId": int(agent.agent) if agent.registry.chain.is_evm else agent.agent,
            "clientAddress": str(client),
            "createdAt": _iso(created_at or datetime.now(UTC)),
            "value": value.value,
            "valueDecimals": value.decimals,
            **{name: text for name, text in (("tag1", tag1), ("tag2", tag2), ("endpoint", endpoint)) if text},
        }
        replaced = {*chain_says, "tag1", "tag2"}
        return type(self).of(chain_says | {name: field for name, field in fields.items() if name not in replaced})


def prepare_feedback_file(  # noqa: PLR0913  # the published SDKs' arguments
    *,
    text: str | None = None,
    capability: Capability | None = None,
    name: str | None = None,
    skill: str | Sequence[str] | None = None,
    task: str | None = None,
    context: str | Mapping[str, Any] | None = None,
    proof_of_payment: ProofOfPayment | Mapping[str, Any] | None = None,
    oasf_skills: Sequence[str] | None = None,
    oasf_domains: Sequence[str] | None = None,
    endpoint: str | None = None,
    **fields: Any,
) -> FeedbackFile:
    """Create a feedback file that describes an interaction (best practices, "Give Feedback").

    Args:
        text: The client's comment.
        capability: The kind of MCP capability that was used. Together with `name`, it becomes `mcp.tool`, `.prompt` or
            `.resource`.
        skill: The A2A skill or skills that were used, which become `a2a.skills`.
        task: The A2A task, which becomes `a2a.taskId`.
        context: The A2A context's id, which becomes `a2a.contextId`, or an object, which is stored as `context`. If the
            object has a `contextId`, that also becomes `a2a.contextId`.
        proof_of_payment: The payment: `fromAddress`, `toAddress`, `chainId`, `txHash`.
        oasf_skills: The OASF skills that were used, such as `analytical_skills/mathematical_reasoning`. They become
            `oasf.skills`.
        oasf_domains: The OASF domains of the skills, which become `oasf.domains`.
        endpoint: The URI of the endpoint that was used.
        **fields: Any other fields, keyed by JSON name. You can also pass `mcp`, `a2a`, `oasf` and `proofOfPayment` as
            whole objects, instead of the arguments for their parts.

    Returns:
        The file without the on-chain fields, which `FeedbackFile.complete` adds.

    Raises:
        MalformedDocumentError: An argument has the wrong type, only one of `capability` and `name` is passed, the proof
            of payment is incomplete, or a field is passed twice or by its Python name instead of its JSON name.
    """
    if capability is not None and capability not in get_args(Capability):
        raise MalformedDocumentError(f"capability must be one of {', '.join(get_args(Capability))}")
    if (capability is None) != (name is None):
        raise MalformedDocumentError("capability and name must be passed together")
    if not isinstance(context, (str, Mapping, NoneType)):
        raise MalformedDocumentError("context must be the id of an A2A context, or an object")
    in_context = context.get("contextId") if isinstance(context, Mapping) else context
    described = _present(
        text=text,
        endpoint=endpoint,
        mcp={capability.removesuffix("s"): name} if capability else None,
        a2a=_present(skills=[skill] if isinstance(skill, str) else as_list(skill), contextId=in_context, taskId=task)
        or None,
        oasf=_present(skills=as_list(oasf_skills), domains=as_list(oasf_domains)) or None,
        context=context if isinstance(context, Mapping) else None,
        proofOfPayment=proof_of_payment,
    )
    further = _present(**fields)
    if twice := sorted(described.keys() & further.keys()):
        raise MalformedDocumentError(f"some fields were passed both as a whole and in parts: {', '.join(twice)}")
    file = FeedbackFile.written({name: as_object(field) for name, field in (further | described).items()})
    if file.proof_of_payment is not None:
        payment = file.proof_of_payment.require_complete()
        file = FeedbackFile.of(file.to_object() | {"proofOfPayment": payment.to_object()})
    file.to_bytes()  # raises an error for values that JSON cannot hold
    return file


def _present(**fields: Any) -> dict[str, Any]:
    return {name: field for name, field in fields.items() if field is not None}


def _iso(time: datetime) -> str:
    """Format a time in ISO 8601, in UTC and without fractions of a second, as ERC-8004's best practices do."""
    if time.tzinfo is None:
        raise MalformedDocumentError("created_at has no time zone: pass a datetime with tzinfo")
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
