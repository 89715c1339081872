"""The payment that a message names, reply in the chain before any gas is spent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from bilateral.client.operations import registries
from bilateral.client.state import ClientState
from bilateral.core.contracts import Registry
from bilateral.core.contracts.reverts import ContractRevertError
from bilateral.core.identifiers import AccountId, GlobalAgentId, TransactionRef
from bilateral.node import answers
from bilateral.node.steps import Operation, Rpc
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError
from bilateral.x402.aggregator.settings import SponsoredChain
from bilateral.x402.proof.payments import TRANSFER, ReceiptLog, address_topic
from bilateral.x402.proof.readers import ZERO

_WORD: Final = 32  # bytes of a word of the contract ABI
_RETRY_SECONDS: Final = 5  # two blocks of most chains


@dataclass(frozen=True)
class Payment:
    """A payment of a reviewer to an agent's wallet.

    Attributes:
        asset: The token.
        amount: The amount, in the token's smallest unit.
        log_index: The transfer's log in its block. With chain and transaction, it identifies the payment.
        time: The block's time.
    """

    asset: str
    amount: int
    log_index: int
    block: int
    time: datetime


class Paid(Protocol):
    """A message about a payment."""

    @property
    def payment(self) -> TransactionRef:
        """The payment's transaction."""

    @property
    def reviewer(self) -> AccountId:
        """The account that paid."""

    @property
    def agent(self) -> GlobalAgentId:
        """The agent that was paid."""


def find_payments(state: ClientState, chain: SponsoredChain, submission: Paid) -> Operation[tuple[Payment, ...]]:
    """Find the reviewer's payments to the agent's wallet in the transaction."""
    reply = yield Rpc("eth_getTransactionReceipt", (submission.payment.transaction,))
    if reply is None:
        raise FeedbackRefusedError(
            Code.PAYMENT_NOT_FOUND, "the transaction of taskRef is in no block", retry_seconds=_RETRY_SECONDS
        )
    receipt = answers.record(reply)
    if answers.quantity(receipt.get("status")) != 1:
        raise FeedbackRefusedError(Code.PAYMENT_NOT_FOUND, "the transaction of taskRef failed")
    block = answers.quantity(receipt.get("blockNumber"))
    depth = (yield from registries.latest_block()) - block + 1
    if depth < chain.confirmations:
        problem = f"the payment has {depth} of {chain.confirmations} confirmations"
        raise FeedbackRefusedError(Code.PAYMENT_UNCONFIRMED, problem, retry_seconds=_RETRY_SECONDS)
    wallet = yield from _wallet_at(state, submission.agent, block)
    time = yield from registries.block_time(block)
    transfer = (TRANSFER, address_topic(submission.reviewer.address), address_topic(wallet))
    logs = [ReceiptLog.of(record) for record in answers.records(receipt.get("logs"))]
    payments = tuple(
        Payment(log.address, int.from_bytes(log.data), log.index, block, time)
        for log in logs
        if log.topics == transfer and len(log.data) == _WORD and _is_enough(chain, log)
    )
    if not payments:
        accepted = ", ".join(f"{minimum} of {token}" for token, minimum in chain.tokens.items())
        problem = f"the transaction does not pay at least {accepted}, from {submission.reviewer.address} to {wallet}"
        raise FeedbackRefusedError(Code.PAYMENT_MISMATCH, problem)
    return payments


def _is_enough(chain: SponsoredChain, log: ReceiptLog) -> bool:
    """Check that a transfer is of an accepted token, and large enough."""
    minimum = chain.tokens.get(log.address)
    return minimum is not None and int.from_bytes(log.data) >= minimum


def _wallet_at(state: ClientState, agent: GlobalAgentId, block: int) -> Operation[str]:
    """Return the agent's wallet at the end of a block."""
    token = agent.agent_id.token_id
    try:
        (wallet,) = yield from registries.call(state, Registry.IDENTITY, "getAgentWallet", token, block=hex(block))
        if wallet == ZERO:  # ERC-8004's registry answers so for agents that do not exist, too
            yield from registries.call(state, Registry.IDENTITY, "ownerOf", token)
    except ContractRevertError as error:
        raise FeedbackRefusedError(Code.UNKNOWN_AGENT, f"{agent} does not exist: {error}") from None
    if wallet == ZERO:
        raise FeedbackRefusedError(Code.PAYMENT_MISMATCH, f"{agent} had no wallet at the payment's block")
    return str(wallet)
