"""What can be wrong with a deployment, a signer, a node, or a transaction on its way."""

from __future__ import annotations

from bilateral.errors.base import BilateralError
from bilateral.text import quoted


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
    """A node answers a request with an error, or a read with HTTP status 400, 413 or 422: it may ask for too much.

    Attributes:
        code: The error's code in JSON-RPC; None if it has none.
        node_message: What the node says, a stranger's text; or the HTTP status.
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
    """A node cannot be reached, or answers with an HTTP error that says nothing of what was asked, see `NodeError`."""

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
    """A transaction was handed to a node, and the node did not say whether it took it. Look it up before a new try.

    So it is if the node says that its nonce is used, and shows neither it nor another with that nonce.
    """

    reason = "send_uncertain"


class TransactionPendingError(TransactionError, TimeoutError):
    """A transaction is not known to be in as many blocks as were waited for.

    Attributes:
        __cause__: How the node failed to say; None if it said.
    """

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
    """Sending many transactions stopped in the middle. The message says why.

    Attributes:
        __cause__: The error that stopped it; None if other transactions of the same account did.
        hashes: The hashes of those that were sent.
        missing: How many were not.
    """

    reason = "batch_interrupted"

    def __init__(self, hashes: tuple[str, ...], missing: int, why: str) -> None:
        """Compose the message from how far it came."""
        super().__init__(f"{len(hashes)} transactions were sent, {missing} were not: {why}. Run it again to go on.")
        self.hashes = hashes
        self.missing = missing
