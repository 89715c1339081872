"""The exceptions of the package. Each class has a `reason`, which programs can compare and which never changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, fields
from importlib.util import find_spec
from typing import Any, ClassVar, Final, dataclass_transform

from bilateral.core.text import quoted


class BilateralError(Exception):
    """Base of every exception that the package raises on purpose.

    Attributes:
        reason: The kind of error, for programs: lower case with underscores, stable from release to release.
    """

    reason: ClassVar[str] = "error"


@dataclass_transform(eq_default=False)
class FormattedError(BilateralError):
    """An error that is declared by its fields. Its message is the template, filled with them; bytes are hexadecimal.

    A field that is an `InitVar` appears in the message alone.
    """

    template: ClassVar[str]

    def __init_subclass__(cls) -> None:
        """Make the constructor."""
        super().__init_subclass__()
        dataclass(eq=False, repr=False)(cls)

    def __post_init__(self, *message_only: Any) -> None:
        """Fill the template."""
        attributes = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        names = [name for name in self.__dataclass_fields__ if name not in attributes]  # type: ignore[attr-defined]
        values = attributes | dict(zip(names, message_only, strict=True))
        shown = {name: f"0x{value.hex()}" if isinstance(value, bytes) else value for name, value in values.items()}
        super().__init__(self.template.format_map(shown))


class MalformedIdentifierError(BilateralError, ValueError):
    """A text is not a valid identifier of the expected kind.

    Attributes:
        kind: The identifier that was expected.
        text: The whole text; for a value of another type, the name of its type.
        problem: The reason why it is invalid.
    """

    reason = "malformed_identifier"

    def __init__(self, kind: str, text: object, problem: str) -> None:
        shown = text if isinstance(text, str) else type(text).__name__
        super().__init__(f"{quoted(shown)} is not {kind}: {problem}")
        self.kind = kind
        self.text = shown
        self.problem = problem


class UnrepresentableValueError(BilateralError, ValueError):
    """The registry cannot store a value exactly, or the value is out of range for its tag. Values are never rounded."""

    reason = "unrepresentable_value"


class MalformedAuthorizationError(FormattedError, ValueError):
    """A feedback authorisation (FeedbackAuth) is invalid."""

    reason = "malformed_authorization"
    template = "invalid feedback authorisation (five words of 32 bytes and a signature): {problem}"
    problem: InitVar[str]


class EnvelopeMismatchError(BilateralError, ValueError):
    """Two envelopes of sealed ratings do not belong together.

    Attributes:
        field: The field in which they differ.
    """

    reason = "envelope_mismatch"

    def __init__(self, field: str, ours: object, theirs: object) -> None:
        client, server = (value.hex() if isinstance(value, bytes) else value for value in (ours, theirs))
        super().__init__(
            f"the client's envelope has {field} {client}, the server's has {server}: "
            "ask for an envelope of this interaction"
        )
        self.field = field


class SealMismatchError(FormattedError, ValueError):
    """An opening does not belong to an envelope.

    Attributes:
        seal: The seal of the envelope.
        opening: The hash of the opening.
    """

    reason = "seal_mismatch"
    template = (
        "the opening has the hash {opening}, the envelope's seal is {seal}: open with the salt and the rating that "
        "were sealed"
    )
    seal: bytes
    opening: bytes


class AlreadySealedError(FormattedError, ValueError):
    """Another rating is already sealed for this interaction. A second one would contradict the first."""

    reason = "already_sealed"
    template = "another rating is already sealed for interaction {interaction}: use the sealed one"
    interaction: InitVar[bytes]


class InvalidArgumentError(BilateralError, ValueError):
    """An argument is invalid, missing, or contradicts another."""

    reason = "invalid_argument"


class MissingExtraError(BilateralError, ImportError):
    """An optional part of the package needs distributions that are not installed.

    Attributes:
        extra: The extra that installs them.
        modules: The modules that are missing.
    """

    reason = "missing_extra"

    def __init__(self, extra: str, modules: Sequence[str]) -> None:
        super().__init__(f"{', '.join(modules)} missing: install them with pip install 'bilateral[{extra}]'")
        self.extra = extra
        self.modules = tuple(modules)


def require_modules(extra: str, *names: str) -> None:
    """Check that the modules of an extra are installed. None of them is imported.

    Args:
        *names: The names by which they are imported.

    Raises:
        MissingExtraError: Some are missing.
    """
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise MissingExtraError(extra, missing)


class UnexpectedAnswerError(FormattedError):
    """The contract at a registry's address does not answer like that registry.

    Attributes:
        transaction: The hash of the mined transaction with the unexpected events; None for a call.
    """

    reason = "unexpected_answer"
    template = "{message}"
    message: InitVar[str]
    transaction: str | None = None


class MissingSignerError(BilateralError):
    """The client has no signer for a write or a signature."""

    reason = "missing_signer"


class SignerFailedError(BilateralError):
    """The signer raised an exception, kept as `__cause__`. Nothing was signed."""

    reason = "signer_failed"

    def __init__(self, signer_error: Exception) -> None:
        super().__init__(f"the signer failed with {type(signer_error).__name__}; see __cause__")


class AgentUnsettledError(FormattedError, TimeoutError):
    """An agent has not had its owner for the requested number of blocks. Nothing was sent.

    Attributes:
        confirmations: The requested number of blocks.
    """

    reason = "agent_unsettled"
    template = (
        "agent {agent} has not had its owner for {confirmations} blocks after {seconds:g} seconds: wait for more "
        "blocks, or ask for fewer confirmations"
    )
    agent: str
    confirmations: int
    seconds: InitVar[float]


class SealUnsettledError(FormattedError, TimeoutError):
    """A pair of ratings has not been sealed for the requested number of blocks. Nothing was opened."""

    reason = "seal_unsettled"
    template = (
        "the pair of client {client_id} and server {server_id} has not been sealed for {confirmations} blocks after "
        "{seconds:g} seconds: seal it first, or wait for more blocks"
    )
    client_id: InitVar[int]
    server_id: InitVar[int]
    confirmations: InitVar[int]
    seconds: InitVar[float]


class NotAgentOwnerError(FormattedError):
    """A registry accepts this signature from the agent's owner only.

    Attributes:
        signer: The account that would have signed.
        owner: The agent's owner.
    """

    reason = "not_agent_owner"
    template = "{signer} does not own the agent: sign with the owner's account, {owner}"
    signer: str
    owner: str


class IndexMismatchError(FormattedError, ValueError):
    """A node says another number of feedbacks of a client than the caller. Nothing was signed.

    Attributes:
        node_index: The number by the node.
        last_index: The number by the caller.
    """

    reason = "index_mismatch"
    template = (
        "the node says that {client} has given {node_index} feedbacks for the agent, not {last_index}: if you know "
        "that the node is right, give its number as last_index; or name the limit as index_limit"
    )
    client: str
    node_index: int
    last_index: int


class NodeError(BilateralError):
    """A node answers with a JSON-RPC error, or refuses a read that may be too large (HTTP status 400, 413 or 422).

    Attributes:
        code: The error's JSON-RPC code; None without one.
        node_message: The node's message, a stranger's text; or the HTTP status.
        data: The error's data.
        wait_seconds: The seconds that the node asks to wait before the next request; None if it does not say.
    """

    reason = "node_error"

    def __init__(
        self,
        method: str,
        code: int | None,
        node_message: str,
        data: object = None,
        *,
        wait_seconds: float | None = None,
    ) -> None:
        super().__init__(f"the node refuses {method}: {quoted(node_message, 300)}")
        self.code = code
        self.node_message = node_message
        self.data = data
        self.wait_seconds = wait_seconds


class NodeUnreachableError(FormattedError, ConnectionError):
    """A node is unreachable, or answers with an HTTP error other than those of `NodeError`.

    Attributes:
        is_final: True if asking again does not help, because the node's URL redirects.
    """

    reason = "node_unreachable"
    template = "{message}"
    message: InitVar[str]
    _: KW_ONLY
    is_final: bool = False


class NodeTimeoutError(BilateralError, TimeoutError):
    """A node does not answer in time."""

    reason = "node_timeout"


class MalformedNodeAnswerError(BilateralError):
    """A node's answer is not JSON-RPC, or its result has another form than the method's."""

    reason = "malformed_node_answer"


NODE_FAILURES: Final = (NodeError, NodeUnreachableError, NodeTimeoutError, MalformedNodeAnswerError)
"""The errors of a node that does not answer a request, or not as asked."""


class InsufficientFundsError(BilateralError):
    """The signer cannot pay for the transaction. Nothing was sent.

    Attributes:
        account: The signer.
    """

    reason = "insufficient_funds"

    def __init__(self, account: str, node_message: str) -> None:
        super().__init__(f"{account} cannot pay for the transaction: {quoted(node_message, 300)}")
        self.account = account


class FeeLimitError(FormattedError):
    """A transaction would cost more than the client's limit. Nothing was sent.

    Attributes:
        wei: The amount: of the whole transaction, or per gas.
        limit: The limit, in wei.
    """

    reason = "fee_limit"
    template = "the {name} of {wei} wei exceeds the limit of {limit}: wait, or raise {setting}"
    name: InitVar[str]
    wei: int
    limit: int
    setting: InitVar[str]


class PaymentSettledHereError(BilateralError):
    """The registry settled a payment itself, so it must not be attested: it would count twice. Nothing was sent.

    Attributes:
        transaction_hash: The hash of the payment's transaction.
        buyer: The account that paid.
    """

    reason = "payment_settled_here"

    def __init__(self, transaction_hash: bytes, buyer: str, *, is_whole: bool = False) -> None:
        shown = f"0x{transaction_hash.hex()}"
        advice = "; record another payment of the transaction by record_payments, with its position" if is_whole else ""
        super().__init__(
            f"the registry itself settled and counted a payment of {buyer} in {shown}: leave it out{advice}"
        )
        self.transaction_hash = transaction_hash
        self.buyer = buyer


class MissingReceiptError(FormattedError):
    """The node has no receipt of a payment's transaction, so nobody knows who settled it. Nothing was sent.

    Attributes:
        transaction_hash: The hash of the payment's transaction.
    """

    reason = "missing_receipt"
    template = (
        "the node has no receipt of {transaction_hash}: wait until it is in a block, or use a node that keeps old "
        "receipts"
    )
    transaction_hash: bytes


class NotSentError(BilateralError):
    """A client with `dry_run=True` sent nothing, so there is nothing to wait for."""

    reason = "not_sent"


class TransactionError(FormattedError):
    """A signed transaction did not succeed, or its outcome is unknown.

    Attributes:
        hash: Its hash, 0x and 64 digits.
        raw: The signed transaction. It may be sent again, to any node: it takes effect at most once.
    """

    reason = "transaction"
    template = "transaction {hash} {message}"
    message: InitVar[str]
    hash: str
    raw: bytes | None = None


class SendUncertainError(TransactionError):
    """A node did not confirm that it accepted a transaction. Look the transaction up before you retry.

    Also raised if the node reports the nonce as used, but shows no transaction with it.
    """

    reason = "send_uncertain"


class TransactionPendingError(TransactionError, TimeoutError):
    """A transaction does not have the requested confirmations yet.

    Attributes:
        __cause__: The node's failure, if the last look-up failed; else None.
    """

    reason = "transaction_pending"


class TransactionDroppedError(TransactionError):
    """A transaction is in no block, and the node no longer knows it. It may be sent again as it is."""

    reason = "transaction_dropped"


class TransactionReplacedError(TransactionError):
    """Another transaction with the same account and nonce was mined, so this one never will be."""

    reason = "transaction_replaced"


class TransactionFailedError(TransactionError):
    """A transaction was mined and failed, and the node gives no reason. It may have run out of gas."""

    reason = "transaction_failed"


class BatchInterruptedError(BilateralError):
    """Sending many transactions stopped before the end. The message gives the reason.

    Attributes:
        __cause__: The error that stopped it; None if other transactions of the same account did.
        hashes: The hashes of the sent transactions.
        missing: The number of transactions that were not sent.
    """

    reason = "batch_interrupted"

    def __init__(self, hashes: tuple[str, ...], missing: int, why: str) -> None:
        super().__init__(f"{len(hashes)} transactions were sent, {missing} were not: {why}. Run it again to continue.")
        self.hashes = hashes
        self.missing = missing


class DeploymentRecordError(BilateralError, ValueError):
    """A deployment record is invalid or lacks the identity registry."""

    reason = "deployment_record"


class UnknownDeploymentError(BilateralError):
    """The package has no deployment on a chain.

    Attributes:
        origin: The deployment that the caller named: `canonical` or `bilateral`; None without a name.
    """

    reason = "unknown_deployment"

    def __init__(self, chain_id: int, origin: str | None = None) -> None:
        kind = f"{origin} deployment" if origin else "deployment"
        super().__init__(
            f"no packaged {kind} for chain {chain_id}: "
            f"give the client deployment=Deployment({chain_id}, identity=…, reputation=…, …)"
        )
        self.chain_id = chain_id
        self.origin = origin


class MissingRegistryError(BilateralError):
    """The deployment in use lacks a registry. The message says which contract to deploy.

    Attributes:
        registry: Its attribute of `Deployment`.
        contract: The contract of this project that would be this registry.
    """

    reason = "missing_registry"

    def __init__(self, registry: str, chain_id: int) -> None:
        contract = _CONTRACTS[registry]
        super().__init__(
            f"the deployment on chain {chain_id} has no {registry} registry: name one that exists by {registry}=…, "
            f"or deploy {contract} (docs/deployed-registries.md)"
        )
        self.registry = registry
        self.chain_id = chain_id
        self.contract = contract


_CONTRACTS: Final = {
    "identity": "IdentityRegistry",
    "reputation": "BidirectionalReputationRegistry",
    "ratings": "BidirectionalReputationRegistry",
    "authorized": "AuthorizedReputationRegistry",
    "validation": "ValidationRegistry",
    "directory": "CompanionDirectory",
    "buyers": "BuyerReputationRegistry",
    "tier_proofs": "BuyerTierProofs",
}
"""The contract of this project for each attribute of `Deployment`."""


class MissingFunctionError(BilateralError):
    """A registry of the deployment lacks a function, as the canonical registries lack some of this project's.

    Attributes:
        registry: Its attribute of `Deployment`.
        function: The function's name in Solidity.
    """

    reason = "missing_function"

    def __init__(self, registry: str, function: str, chain_id: int) -> None:
        super().__init__(
            f"the {registry} registry on chain {chain_id} has no function {function}: {_INSTEAD.get(function, _OTHER)}"
        )
        self.registry = registry
        self.function = function
        self.chain_id = chain_id


_OTHER: Final = "use a registry of this project (docs/deployed-registries.md)"
_DOMAINS: Final = "domains need an IdentityRegistry of this project"
_SIGNED: Final = "signed feedback needs a BidirectionalReputationRegistry of this project, by reputation=…"
_PRIMARY: Final = "deploy CompanionDirectory for this identity registry, and name it by directory=…"
_INSTEAD: Final = {
    "newAgent": f"register by register_agent; {_DOMAINS}",
    "updateAgent": f"hand the agent on by transfer_agent; {_DOMAINS}",
    "releaseAgentDomain": _DOMAINS,
    "resolveByDomain": _DOMAINS,
    "resolveByAddress": _PRIMARY,
    "setPrimaryAgent": _PRIMARY,
    "agentOf": _PRIMARY,
    "giveFeedbackBySig": _SIGNED,
    "voidSignaturesThrough": _SIGNED,
    "getVoidedDeadline": _SIGNED,
}
"""The advice for each function that canonical registries lack."""


class WrongIdentityRegistryError(FormattedError):
    """A registry of the deployment belongs to another identity registry.

    Attributes:
        registry: Its attribute of `Deployment`.
        expected: The identity registry that it should belong to.
        found: The identity registry that it belongs to.
    """

    reason = "wrong_identity_registry"
    template = (
        "the {registry} registry {address} belongs to the identity registry {found}, not to {expected}: name a "
        "registry of the same deployment"
    )
    registry: str
    address: str
    expected: str
    found: str


class UnknownChainError(BilateralError):
    """No node of a chain was given.

    Attributes:
        chain_ids: The chains whose nodes were given.
    """

    reason = "unknown_chain"

    def __init__(self, chain_id: int, chain_ids: tuple[int, ...]) -> None:
        known = ", ".join(map(str, chain_ids)) or "no chain"
        super().__init__(f"no node of chain {chain_id} was given, only of {known}")
        self.chain_id = chain_id
        self.chain_ids = chain_ids


class WrongChainError(BilateralError):
    """The node serves another chain than the deployment's, or than the chain to which the client is pinned.

    Attributes:
        expected: The deployment's chain, or the pinned one.
        actual: The node's chain.
    """

    reason = "wrong_chain"

    def __init__(self, expected: int, actual: int, *, is_pinned: bool = False) -> None:
        super().__init__(
            f"the node serves chain {actual}, but the client is pinned to chain {expected}: use a node of that chain"
            if is_pinned
            else f"the node serves chain {actual}, but the deployment is on chain {expected}: use a node of chain "
            f"{expected}, or a deployment on chain {actual}"
        )
        self.expected = expected
        self.actual = actual


class DocumentError(BilateralError):
    """A registration or feedback file cannot be read, trusted or stored."""

    reason = "document"


class MalformedDocumentError(DocumentError, ValueError):
    """A document violates its format: not a JSON object, a field of the wrong type, or a required field missing."""

    reason = "malformed_document"


class UnsupportedUriError(DocumentError, ValueError):
    """A URI is malformed, or its scheme is not supported."""

    reason = "unsupported_uri"


class ForbiddenAddressError(DocumentError):
    """A URI leads to an address that is not public: this machine, its network, or a cloud's metadata service.

    Attributes:
        host: The host as the URI names it.
        address: The host's address.
    """

    reason = "forbidden_address"

    def __init__(self, host: str, address: str) -> None:
        super().__init__(f"{quoted(host)} leads to {address}, which is not a public address")
        self.host = host
        self.address = address


class DocumentTooLargeError(FormattedError, DocumentError):
    """A document is larger than the limit.

    Attributes:
        limit: The limit, in bytes.
    """

    reason = "document_too_large"
    template = "the document exceeds the limit of {limit} bytes"
    limit: int


class DocumentTimeoutError(FormattedError, DocumentError, TimeoutError):
    """A document did not arrive in time.

    Attributes:
        seconds: The time limit for everything: names, connections, redirects, blocks and content.
    """

    reason = "document_timeout"
    template = "the document did not arrive within {seconds:g} seconds"
    seconds: float


class TooManyRedirectsError(DocumentError):
    """A server redirects more often than the limit allows, or from https to http."""

    reason = "too_many_redirects"


class UnreachableDocumentError(DocumentError):
    """No server delivers the document: unknown name, no connection, untrusted certificate, or error status."""

    reason = "unreachable_document"


class RefusedDocumentError(FormattedError, UnreachableDocumentError):
    """A server answers, but with another status than success.

    Attributes:
        wait_seconds: The seconds that the server asks to wait before the next request; None if it does not say.
    """

    template = "{shown_url} answers with status {status}"
    shown_url: InitVar[str]
    status: int
    wait_seconds: int | None = None


class HashMismatchError(DocumentError):
    """A document does not have the hash on chain.

    Attributes:
        content: The document.
        expected: The hash on chain.
        actual: The keccak-256 hash of the document.
        variant: The known other serialisation or digest of the same document that has the expected hash; None without
            one. The content is then the author's, though not byte for byte what the author hashed.
    """

    reason = "hash_mismatch"

    def __init__(self, content: bytes, expected: bytes, actual: bytes, variant: str | None) -> None:
        known = f"; the expected hash is that of {variant}" if variant else ""
        super().__init__(f"the document's hash is 0x{actual.hex()}, but 0x{expected.hex()} was expected{known}")
        self.content = content
        self.expected = expected
        self.actual = actual
        self.variant = variant


class CidMismatchError(FormattedError, DocumentError):
    """A gateway delivers content that does not match its CID.

    Attributes:
        expected: The requested CID.
        actual: The CID of the delivered content.
    """

    reason = "cid_mismatch"
    template = "the content's CID is {actual}, but {expected} was asked for"
    expected: str
    actual: str
