"""The transactions of an aggregator, as operations: prepared, signed apart from being sent, looked up, replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Row

from bilateral.client.operations import confirmations, feedback, fees, registries, transactions
from bilateral.client.state import ClientState, Sent
from bilateral.core import errors
from bilateral.core.contracts import Registry
from bilateral.core.contracts.reverts import ContractRevertError
from bilateral.core.identifiers import AgentId
from bilateral.node import answers
from bilateral.node.refusals import Refusal
from bilateral.node.steps import Batch, Operation, Rpc
from bilateral.x402.aggregator.tables import SIGNED_COLUMNS

FUNCTION: Final = "giveFeedbackBySig"

_FINAL_REASONS: Final = frozenset(
    {"signature_expired", "signature_voided", "invalid_signature", "self_feedback", "too_much_feedback"}
)


@dataclass(frozen=True)
class SignedMessage:
    """A feedback that its client signed, as `giveFeedbackBySig` takes it.

    Attributes:
        agent_id: The rated agent.
        arguments: The arguments of the function.
    """

    agent_id: int
    client: str
    arguments: tuple[Any, ...]

    @classmethod
    def of_row(cls, row: Row[Any]) -> SignedMessage:
        """Read a row of the queue."""
        return cls.of(row, row.client, row.signature)

    @classmethod
    def of(cls, fields: Any, client: str, signature: bytes) -> SignedMessage:
        """Collect the arguments from an object that has them under the names of the columns."""
        *params, file_hash, deadline = (getattr(fields, name) for name in SIGNED_COLUMNS)
        return cls(fields.agent_id, client, (client, (*params, bytes(file_hash)), deadline, bytes(signature)))


def is_final(revert: ContractRevertError) -> bool:
    """Tell if a feedback that the registry refuses now will never be taken.

    A feedback whose index is too high may be taken later: after a reorganisation an earlier one may be missing.
    """
    if revert.reason == "unexpected_feedback_index":
        index, expected = (revert.arguments.get(name) for name in ("feedbackIndex", "expected"))
        return not (isinstance(index, int) and isinstance(expected, int) and index > expected)
    return revert.reason in _FINAL_REASONS


def prepare(state: ClientState, message: SignedMessage) -> Operation[Sent[Any]]:
    """Simulate a signed feedback, and set its gas limit and fees."""
    decode = yield from _decoder(state, message)
    return (yield from transactions.prepare(state, Registry.REPUTATION, FUNCTION, message.arguments, decode))


def restore(state: ClientState, message: SignedMessage, fees_: Mapping[str, int]) -> Operation[Sent[Any]]:
    """Return a stored transaction of a signed feedback as it was prepared."""
    decode = yield from _decoder(state, message)
    data = registries.calldata(Registry.REPUTATION, FUNCTION, message.arguments)
    deployment = yield from registries.connect(state)
    to = deployment.address_of(Registry.REPUTATION)
    transaction = {"to": to, "data": "0x" + data.hex(), "chainId": deployment.chain_id, "value": 0, **fees_}
    return Sent(Registry.REPUTATION, transaction, fees_["gas"], decode)


def prepare_again(state: ClientState, message: SignedMessage, previous: Mapping[str, int]) -> Operation[Sent[Any]]:
    """Prepare a feedback that is pending, with the fees of now. Pending transactions do not count in the simulation."""
    prepared = yield from restore(state, message, previous)
    call = {name: prepared.transaction[name] for name in ("to", "data")}
    yield from registries.simulate({"from": registries.address_of(state), **call})
    price = yield from fees.quote(state, (yield Batch((fees.HISTORY,)))[0])
    return replace(prepared, transaction=prepared.transaction | price)


def _decoder(state: ClientState, message: SignedMessage) -> Operation[Any]:
    deployment = yield from registries.connect(state)
    return feedback.feedback_decoder(AgentId(message.agent_id, deployment.chain_id), message.client)


def prepare_empty(state: ClientState) -> Operation[Sent[Any]]:
    """Prepare a transaction that only uses up a nonce."""
    deployment = yield from registries.connect(state)
    sender = registries.require_address(state)
    call = {"from": sender, "to": sender, "data": "0x"}
    estimate, history = yield Batch((Rpc("eth_estimateGas", (call,)), fees.HISTORY))
    if isinstance(estimate, Exception):
        raise estimate
    gas = answers.quantity(estimate)
    price = yield from fees.quote(state, history)
    transaction = {"chainId": deployment.chain_id, "to": sender, "value": 0, "data": "0x", "gas": gas + gas // 5}
    return Sent(Registry.REPUTATION, {**transaction, **price}, gas, lambda _: True)


def outbid(state: ClientState, prepared: Sent[Any], previous: Mapping[str, int]) -> Sent[Any]:
    """Raise the fees of a transaction, so that it replaces a pending one with its nonce."""
    higher = fees.replacing(state, prepared.transaction["chainId"], previous, prepared.transaction)
    raised = replace(prepared, transaction=prepared.transaction | higher)
    fees.require_cost(state, raised.transaction)
    return raised


def fees_of(prepared: Sent[Any]) -> dict[str, int]:
    """Return the gas limit and the fees of a transaction."""
    names = ("gas", "gasPrice", "maxFeePerGas", "maxPriorityFeePerGas")
    return {name: prepared.transaction[name] for name in names if name in prepared.transaction}


def broadcast(raw: bytes) -> Operation[errors.BilateralError | None]:
    """Send a stored transaction. It may have been sent before."""
    try:
        yield Rpc("eth_sendRawTransaction", ("0x" + raw.hex(),))
    except errors.NODE_FAILURES as failure:
        if isinstance(failure, errors.NodeError) and Refusal.of(failure) is Refusal.HAS_IT:
            return None
        return failure
    return None


@dataclass(frozen=True)
class AccountStatus:
    """The state of an account's transactions, as a node shows it.

    Attributes:
        head: The number of the latest block.
        used: The number of nonces that blocks hold.
        receipts: The receipt of each transaction that is in a block, by its hash.
    """

    head: int
    used: int
    receipts: Mapping[bytes, dict[str, Any]]


def look(state: ClientState, hashes: Sequence[bytes]) -> Operation[AccountStatus]:
    """Look up transactions in one batch."""
    requests = (
        Rpc("eth_blockNumber", ()),
        Rpc("eth_getTransactionCount", (registries.address_of(state), "latest")),
        *(Rpc("eth_getTransactionReceipt", ("0x" + hash_.hex(),)) for hash_ in hashes),
    )
    results = yield Batch(requests)
    for result in results:
        if isinstance(result, Exception):
            raise result
    receipts = {
        hash_: answers.record(receipt)
        for hash_, receipt in zip(hashes, results[2:], strict=True)
        if receipt is not None
    }
    return AccountStatus(answers.quantity(results[0]), answers.quantity(results[1]), receipts)


def outcome(state: ClientState, prepared: Sent[Any], hash_: bytes, receipt: Mapping[str, Any]) -> Operation[str | None]:
    """Judge the receipt of a feedback."""
    try:
        yield from confirmations.outcome_of(state, prepared, "0x" + hash_.hex(), receipt)
    except (ContractRevertError, errors.TransactionFailedError, errors.UnexpectedAnswerError) as problem:
        return str(problem)
    return None


def paid(receipt: Mapping[str, Any]) -> int:
    """Return the wei that a transaction cost, with the fee for the first layer where the node reports one."""
    gas, price = (answers.quantity(receipt.get(name)) for name in ("gasUsed", "effectiveGasPrice"))
    return gas * price + answers.quantity(receipt.get("l1Fee") or "0x0")
