"""The exceptions of the package. Each class carries a `reason`, which programs can compare and which never changes."""

from __future__ import annotations

from typing import ClassVar

from bilateral.text import quoted


class BilateralError(Exception):
    """Base of every exception that the package raises on purpose.

    Attributes:
        reason: What went wrong, for machines: lower case with underscores, stable from release to release.
    """

    reason: ClassVar[str] = "error"


class MalformedIdentifierError(BilateralError, ValueError):
    """A text is not the identifier that it is taken for.

    Attributes:
        kind: The identifier that was expected.
        text: The text that was given, whole; of what is no text, its type.
        problem: What is wrong with it.
    """

    reason = "malformed_identifier"

    def __init__(self, kind: str, text: object, problem: str) -> None:
        """Compose the message from what was expected, what was given and what is wrong with it."""
        given = text if isinstance(text, str) else type(text).__name__
        super().__init__(f"{quoted(given)} is not {kind}: {problem}")
        self.kind = kind
        self.text = given
        self.problem = problem


class UnrepresentableValueError(BilateralError, ValueError):
    """A value has no exact form in the registry, or lies outside what its tag measures. It is never rounded."""

    reason = "unrepresentable_value"


class DocumentError(BilateralError):
    """A registration or feedback file cannot be read, trusted or stored."""

    reason = "document"


class MalformedDocumentError(DocumentError, ValueError):
    """A document is not what its format says: no JSON object, a field of the wrong type, a required field missing."""

    reason = "malformed_document"


class UnsupportedUriError(DocumentError, ValueError):
    """A URI is malformed, or of a scheme that is not loaded here."""

    reason = "unsupported_uri"


class ForbiddenAddressError(DocumentError):
    """A URI leads to an address that is not public, such as the machine itself, its network or a cloud's metadata.

    Attributes:
        host: The host as the URI names it.
        address: The address that the host stands for.
    """

    reason = "forbidden_address"

    def __init__(self, host: str, address: str) -> None:
        """Compose the message from the host and its address."""
        super().__init__(f"{quoted(host)} leads to {address}, which is not a public address")
        self.host = host
        self.address = address


class DocumentTooLargeError(DocumentError):
    """A document is larger than the limit.

    Attributes:
        limit: The limit, in bytes.
    """

    reason = "document_too_large"

    def __init__(self, limit: int) -> None:
        """Compose the message from the limit."""
        super().__init__(f"the document exceeds the limit of {limit} bytes")
        self.limit = limit


class DocumentTimeoutError(DocumentError, TimeoutError):
    """A document did not arrive in time.

    Attributes:
        seconds: The time that was allowed for everything: names, connections, redirects, blocks and content.
    """

    reason = "document_timeout"

    def __init__(self, seconds: float) -> None:
        """Compose the message from the time allowed."""
        super().__init__(f"the document did not arrive within {seconds:g} seconds")
        self.seconds = seconds


class TooManyRedirectsError(DocumentError):
    """A server redirects more often than the limit allows, or from https to http."""

    reason = "too_many_redirects"


class UnreachableDocumentError(DocumentError):
    """No server delivers the document: no such name, no connection, an untrusted certificate, or an error status."""

    reason = "unreachable_document"


class HashMismatchError(DocumentError):
    """A document is not the one whose hash is on chain.

    Attributes:
        content: The document.
        expected: The hash on chain.
        actual: The keccak-256 hash of the document.
        variant: The known other serialisation or digest of the same document that has the expected hash, if one has.
            The content then is what its author meant, though not byte for byte what the author hashed.
    """

    reason = "hash_mismatch"

    def __init__(self, content: bytes, expected: bytes, actual: bytes, variant: str | None) -> None:
        """Compose the message from both hashes."""
        known = f"; the expected hash is that of {variant}" if variant else ""
        super().__init__(f"the document's hash is 0x{actual.hex()}, but 0x{expected.hex()} was expected{known}")
        self.content = content
        self.expected = expected
        self.actual = actual
        self.variant = variant


class CidMismatchError(DocumentError):
    """A gateway delivers content that is not what the CID identifies.

    Attributes:
        expected: The CID that was asked for.
        actual: The CID of what was delivered.
    """

    reason = "cid_mismatch"

    def __init__(self, expected: str, actual: str) -> None:
        """Compose the message from both identifiers."""
        super().__init__(f"the content's CID is {actual}, but {expected} was asked for")
        self.expected = expected
        self.actual = actual


class DeploymentRecordError(BilateralError, ValueError):
    """A deployment record cannot be read, or records no identity registry."""

    reason = "deployment_record"


class UnexpectedAnswerError(BilateralError):
    """What is at a registry's address does not answer as the registry does.

    Attributes:
        transaction: The hash of the transaction that it did not answer in a block; None if it was only asked.
    """

    reason = "unexpected_answer"

    def __init__(self, message: str, transaction: str | None = None) -> None:
        """Keep the message and the hash."""
        super().__init__(message)
        self.transaction = transaction


class MalformedAuthorizationError(BilateralError, ValueError):
    """A text or some bytes are no authorisation of feedback (FeedbackAuth)."""

    reason = "malformed_authorization"

    def __init__(self, problem: str) -> None:
        """Compose the message from the problem."""
        super().__init__(f"not an authorisation of feedback (five words of 32 bytes and a signature): {problem}")


class InvalidArgumentError(BilateralError, ValueError):
    """An argument is ambiguous, missing, or does not fit what it is for."""

    reason = "invalid_argument"


class MissingSignerError(BilateralError):
    """A write or a signature needs a signer, and the client has none that could sign it."""

    reason = "missing_signer"


class SignerFailedError(BilateralError):
    """The signer raised an exception of its own, which is `__cause__`. Nothing was signed."""

    reason = "signer_failed"

    def __init__(self, signer_error: Exception) -> None:
        """Name the signer's exception without its text, in which there may be a key."""
        super().__init__(f"the signer failed with {type(signer_error).__name__}; see __cause__")


class NotAgentOwnerError(BilateralError):
    """Only the agent's owner can sign this so that a registry takes it.

    Attributes:
        signer: The account that was to sign.
        owner: The agent's owner.
    """

    reason = "not_agent_owner"

    def __init__(self, signer: str, owner: str) -> None:
        """Compose the message from both accounts."""
        super().__init__(f"{signer} does not own the agent, {owner} does: its signature would count for nothing")
        self.signer = signer
        self.owner = owner


class UnknownDeploymentError(BilateralError):
    """No packaged record says where the registries of a chain are.

    Attributes:
        chain_id: The chain.
    """

    reason = "unknown_deployment"

    def __init__(self, chain_id: int) -> None:
        """Compose the message from the chain."""
        super().__init__(
            f"where the registries of chain {chain_id} are is not known: "
            f"give the client deployment=Deployment({chain_id}, identity=…, reputation=…, …)"
        )
        self.chain_id = chain_id


class MissingRegistryError(BilateralError):
    """The deployment in use does not have a registry that is needed.

    Attributes:
        registry: What it is called in `Deployment`.
        chain_id: The chain.
    """

    reason = "missing_registry"

    def __init__(self, registry: str, chain_id: int) -> None:
        """Compose the message from the registry and the chain."""
        super().__init__(f"the deployment on chain {chain_id} has no {registry} registry: give its address")
        self.registry = registry
        self.chain_id = chain_id


class WrongChainError(BilateralError):
    """The node is of another chain than the deployment.

    Attributes:
        expected: The deployment's chain.
        actual: The node's chain.
    """

    reason = "wrong_chain"

    def __init__(self, expected: int, actual: int) -> None:
        """Compose the message from both chains."""
        super().__init__(f"the node is of chain {actual}, the deployment of chain {expected}")
        self.expected = expected
        self.actual = actual


class NodeError(BilateralError):
    """A node answers a request with an error.

    Attributes:
        code: The error's code in JSON-RPC; None if it has none.
        node_message: What the node says; a stranger's text.
        data: What comes with it.
    """

    reason = "node_error"

    def __init__(self, method: str, code: int | None, node_message: str, data: object = None) -> None:
        """Compose the message from what the node says."""
        super().__init__(f"the node refuses {method}: {quoted(node_message, 300)}")
        self.code = code
        self.node_message = node_message
        self.data = data


class NodeUnreachableError(BilateralError, ConnectionError):
    """A node cannot be reached, or answers with an HTTP error."""

    reason = "node_unreachable"


class NodeTimeoutError(BilateralError, TimeoutError):
    """A node does not answer in time."""

    reason = "node_timeout"


class MalformedNodeAnswerError(BilateralError):
    """A node answers with something else than JSON-RPC, or with a result of another form than its method has."""

    reason = "malformed_node_answer"


class InsufficientFundsError(BilateralError):
    """The signer cannot pay for the transaction. Nothing was sent.

    Attributes:
        account: The signer.
    """

    reason = "insufficient_funds"

    def __init__(self, account: str, node_message: str) -> None:
        """Compose the message from the account and what the node says."""
        super().__init__(f"{account} cannot pay for the transaction: {quoted(node_message, 300)}")
        self.account = account


class NotSentError(BilateralError):
    """There is nothing to wait for: the client only tries its writes."""

    reason = "not_sent"


class TransactionError(BilateralError):
    """Something is the matter with a transaction that was signed.

    Attributes:
        hash: Its hash, 0x and 64 digits.
        raw: The signed transaction; it may be sent again to any node, and takes effect at most once.
    """

    reason = "transaction"

    def __init__(self, message: str, hash: str, raw: bytes | None = None) -> None:  # noqa: A002  # what everybody calls it
        """Compose the message from what is the matter and the hash."""
        super().__init__(f"transaction {hash} {message}")
        self.hash = hash
        self.raw = raw


class SendUncertainError(TransactionError):
    """A transaction was handed to a node, and the node did not say whether it took it. Look it up before a new try."""

    reason = "send_uncertain"


class TransactionPendingError(TransactionError, TimeoutError):
    """A transaction is not yet in as many blocks as were waited for."""

    reason = "transaction_pending"


class TransactionDroppedError(TransactionError):
    """A transaction is in no block, and the node does not know it any more. It may be sent again as it is."""

    reason = "transaction_dropped"


class TransactionReplacedError(TransactionError):
    """Another transaction of the same account and nonce is in a block, so this one never will be."""

    reason = "transaction_replaced"


class TransactionFailedError(TransactionError):
    """A transaction is in a block and failed, and the node does not tell why: perhaps it ran out of gas."""

    reason = "transaction_failed"


class BatchInterruptedError(BilateralError):
    """Sending many transactions stopped in the middle; `__cause__` says why.

    Attributes:
        hashes: The hashes of those that were sent.
        missing: How many were not.
    """

    reason = "batch_interrupted"

    def __init__(self, hashes: tuple[str, ...], missing: int, why: str) -> None:
        """Compose the message from how far it came."""
        super().__init__(f"{len(hashes)} transactions were sent, {missing} were not: {why}. Run it again to go on.")
        self.hashes = hashes
        self.missing = missing
