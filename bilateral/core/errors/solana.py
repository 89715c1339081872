"""Errors related to agents, payments and nodes on Solana."""

from dataclasses import InitVar

from bilateral.core.errors import FormattedError


class SolanaError(FormattedError):
    """The base class of errors related to Solana.

    Attributes:
        code: The kind of problem: `agent_not_registered`, `authority_mismatch`, `malformed_wallet`,
            `not_provable_for_the_past`, `payment_not_found`, `payment_mismatch`, `payment_unconfirmed`, `cannot_check`.
    """

    reason = "solana"
    template = "{problem}"
    problem: InitVar[str]
    code: str = "cannot_check"


class MalformedAccountError(SolanaError, ValueError):
    """The bytes of an account, a transaction or an attestation do not have the expected layout."""

    reason = "malformed_account"

    def __init__(self, kind: str, problem: str) -> None:
        super().__init__(f"{kind}: {problem}")
        self.kind = kind


class WrongNodeError(SolanaError):
    """The node does not serve the expected chain."""

    reason = "wrong_node"

    def __init__(self, chain: str, genesis: str) -> None:
        super().__init__(f"the node serves a different chain: its genesis hash is {genesis[:64]}, expected {chain}")


class InconsistentNodeError(SolanaError):
    """The node responded from different slots, so its responses are inconsistent."""

    reason = "inconsistent_node"


class AgentRefusedError(SolanaError):
    """The accounts on Solana do not prove that the agent exists and may be paid or trusted. See `code`."""

    reason = "agent_refused"


class SolanaPaymentError(SolanaError):
    """The transaction is not the payment that was requested. See `code`.

    Attributes:
        is_final: False if the same check may have a different result later.
    """

    reason = "solana_payment"
    code: str = "payment_mismatch"
    is_final: bool = True


class UnknownTransactionError(SolanaPaymentError):
    """The node does not have the transaction, at least not yet."""

    reason = "unknown_transaction"

    def __init__(self, transaction: str) -> None:
        super().__init__(f"the node has no transaction {transaction[:100]}", "payment_not_found", is_final=False)


class SolanaWriteError(SolanaError):
    """A transaction to change an agent failed, or its outcome is unknown.

    Attributes:
        code: The kind of problem. Nothing was sent if it is `not_the_owner`, `soulbound`, `same_owner`,
            `malformed_wallet`, `malformed_owner`, `reserved_key`, `missing_key`, `invalid_key`, `too_large` or
            `simulation_failed`. Nothing changed if it is `transaction_failed` or `blockhash_expired`. The outcome is
            unknown if it is `transaction_pending`.
    """

    reason = "solana_write"
