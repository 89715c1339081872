"""Errors related to signatures and transactions."""

from dataclasses import InitVar

from bilateral.core.errors.base import BilateralError, FormattedError
from bilateral.core.text import quoted


class UnexpectedAnswerError(FormattedError):
    """The contract at a registry's address does not behave like that registry.

    Attributes:
        transaction: The hash of the mined transaction with the unexpected events; None for a call.
    """

    reason = "unexpected_answer"
    template = "{message}"
    message: InitVar[str]
    transaction: str | None = None


class MissingSignerError(BilateralError):
    """The client has no signer, which is required for a write or a signature."""

    reason = "missing_signer"


class SignerFailedError(BilateralError):
    """The signer raised an exception, available as `__cause__`. Nothing was signed."""

    reason = "signer_failed"

    def __init__(self, signer_error: Exception) -> None:
        super().__init__(f"the signer failed with {type(signer_error).__name__}; see __cause__")


class AgentUnsettledError(FormattedError, TimeoutError):
    """An agent's current owner has not owned it for the requested number of blocks. Nothing was sent.

    Attributes:
        confirmations: The requested number of blocks.
    """

    reason = "agent_unsettled"
    template = (
        "agent {agent} has not had the same owner for {confirmations} blocks, after waiting for {seconds:g} seconds: "
        "wait for more blocks, or request fewer confirmations"
    )
    agent: str
    confirmations: int
    seconds: InitVar[float]


class SealUnsettledError(FormattedError, TimeoutError):
    """A pair of ratings was sealed fewer than the requested number of blocks ago. Nothing was opened."""

    reason = "seal_unsettled"
    template = (
        "the ratings of client {client_id} and server {server_id} have not been sealed for {confirmations} blocks, "
        "after waiting for {seconds:g} seconds: seal them first, or wait for more blocks"
    )
    client_id: InitVar[int]
    server_id: InitVar[int]
    confirmations: InitVar[int]
    seconds: InitVar[float]


class NotAgentOwnerError(FormattedError):
    """Only the agent's owner can sign this message, but the signer is another account.

    Attributes:
        signer: The account that would have signed.
        owner: The agent's owner.
    """

    reason = "not_agent_owner"
    template = "{signer} does not own the agent: sign with the owner's account, {owner}"
    signer: str
    owner: str


class IndexMismatchError(FormattedError, ValueError):
    """The node and the caller's `last_index` disagree on the number of feedback entries. Nothing was signed.

    Attributes:
        node_index: The number of feedback entries according to the node.
        last_index: The number of feedback entries according to the caller.
    """

    reason = "index_mismatch"
    template = (
        "the node states that {client} has given {node_index} feedback entries for the agent, not {last_index}: if the "
        "node is right, pass its number as last_index; otherwise pass index_limit"
    )
    client: str
    node_index: int
    last_index: int


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
    """A transaction would cost more than the client's limits allow. Nothing was sent.

    Attributes:
        wei: The cost in wei, either of the whole transaction or per gas.
        limit: The limit, in wei.
    """

    reason = "fee_limit"
    template = "the {name} of {wei} wei exceeds the limit of {limit}: wait, or raise {setting}"
    name: InitVar[str]
    wei: int
    limit: int
    setting: InitVar[str]


class PaymentSettledHereError(BilateralError):
    """The registry settled a payment itself. Attesting the payment would count it twice, so nothing was sent.

    Attributes:
        transaction_hash: The payment's transaction hash.
        buyer: The account that paid.
    """

    reason = "payment_settled_here"

    def __init__(self, transaction_hash: bytes, buyer: str, *, is_whole: bool = False) -> None:
        digits = f"0x{transaction_hash.hex()}"
        advice = "; record another payment in the transaction with record_payments and its position" if is_whole else ""
        super().__init__(
            f"the registry already settled and counted a payment by {buyer} in transaction {digits}: omit it{advice}"
        )
        self.transaction_hash = transaction_hash
        self.buyer = buyer


class MissingReceiptError(FormattedError):
    """The node has no receipt for a payment's transaction, so it is unknown who settled the payment. Nothing was sent.

    Attributes:
        transaction_hash: The payment's transaction hash.
    """

    reason = "missing_receipt"
    template = (
        "no receipt for {transaction_hash}: wait until the transaction is in a block, or use a node that keeps old "
        "receipts"
    )
    transaction_hash: bytes


class NotSentError(BilateralError):
    """A client with `dry_run=True` sent no transaction, so there is nothing to wait for."""

    reason = "not_sent"


class TransactionError(FormattedError):
    """A signed transaction did not succeed, or its outcome is unknown.

    Attributes:
        hash: The transaction's hash, 0x and 64 digits.
        raw: The signed transaction. It can safely be sent again to any node, because it takes effect at most once.
    """

    reason = "transaction"
    template = "transaction {hash} {message}"
    message: InitVar[str]
    hash: str
    raw: bytes | None = None


class SendUncertainError(TransactionError):
    """A node did not confirm that it accepted a transaction. Look up the transaction before retrying.

    Also raised if the node reports that the nonce was used, but does not have the transaction that used it.
    """

    reason = "send_uncertain"


class TransactionPendingError(TransactionError, TimeoutError):
    """A transaction does not have the requested confirmations yet.

    Attributes:
        __cause__: The error from the node if the last lookup failed; otherwise None.
    """

    reason = "transaction_pending"


class TransactionDroppedError(TransactionError):
    """A transaction was not included in a block, and the node has dropped it. It may be sent again unchanged."""

    reason = "transaction_dropped"


class TransactionReplacedError(TransactionError):
    """A different transaction with the same account and nonce was mined, so this one will never be mined."""

    reason = "transaction_replaced"


class TransactionFailedError(TransactionError):
    """A mined transaction failed, and the node returned no reason. It may have run out of gas."""

    reason = "transaction_failed"


class BatchInterruptedError(BilateralError):
    """A batch of transactions was only partly sent. The message states the reason.

    Attributes:
        __cause__: The error that stopped the batch; None if it was stopped because of other transactions from the same
            account.
        hashes: The hashes of the sent transactions.
        missing: The number of transactions that were not sent.
    """

    reason = "batch_interrupted"

    def __init__(self, hashes: tuple[str, ...], missing: int, why: str) -> None:
        super().__init__(f"{len(hashes)} transactions were sent, but {missing} were not: {why}. Retry to continue.")
        self.hashes = hashes
        self.missing = missing
