"""Failed settlements proven by the chain: a payment could be settled at one block, but not soon afterwards.

Neither a facilitator's response nor a failed transaction proves anything about the payer, because whoever sends a
transaction can make it fail. The proof is the chain's state at two blocks, which anyone can verify.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from bilateral.client.operations.registries import block_time, latest_block
from bilateral.core.identifiers import checksummed
from bilateral.core.payments import InvalidPaymentError, PaymentKind, SignedPayment
from bilateral.core.payments.contracts import EXACT_PROXY, PERMIT2, UPTO_PROXY
from bilateral.core.payments.signed import WORD
from bilateral.core.values.failures import FailureReason
from bilateral.node import answers
from bilateral.node.steps import Batch, Operation, Rpc
from bilateral.x402.proof.errors import UnprovenFailureError
from bilateral.x402.proof.settlements import look_up, nonce_call
from bilateral.x402.proof.verifier import Verifier

MOST_BLOCKS: Final = 64
"""The maximum distance of the two states, in blocks: funds that a payer had long before signing prove nothing."""

MOST_SECONDS: Final = 900
"""The maximum time from the first state to the payment's deadline, in seconds. States before signing prove nothing.

A payment does not contain its signing time. By default, sellers give clients 300 seconds to pay.
"""

_KEY_SIGNATURE: Final = 65  # bytes
_PERMIT: Final = "((address,uint256),uint256,uint256)"


@dataclass(frozen=True)
class FailureProof:
    """The chain states that show why a payment was not settled.

    Attributes:
        reason: Why the payment could not be settled at `block`.
        block: A block within the payment's validity period at which the payment could not be settled.
        payable_block: An earlier block at which the payment could be settled; None if none was found.
    """

    reason: FailureReason
    block: int
    payable_block: int | None


@dataclass(frozen=True)
class FailedPayment:
    """A signed payment, and the amount to be settled."""

    accepted: Mapping[str, Any]
    payload: Mapping[str, Any]
    amount: int

    @cached_property
    def signed(self) -> SignedPayment:
        """The payment as its payer signed it."""
        return SignedPayment.of(self.accepted, self.payload)

    def find_proof(self, transaction: str) -> Operation[FailureProof | None]:
        """Find the states that prove a failure, starting from the failed transaction's block or the latest block."""
        receipt = (yield Rpc("eth_getTransactionReceipt", (transaction,))) if transaction else None
        block = answers.quantity(answers.record(receipt).get("blockNumber")) if receipt else (yield from latest_block())
        reason = yield from self.reason_at(block)
        if reason is None:
            return None
        earlier = [block - 2**power for power in range(MOST_BLOCKS.bit_length()) if block >= 2**power]
        return FailureProof(reason, block, next(iter((yield from self._payable_blocks(earlier))), None))

    def check_proof(self, proof: FailureProof) -> Operation[None]:
        """Verify the chain states that someone else reported, and check that the payment can no longer be settled.

        Raises:
            UnprovenFailureError: A state differs from the proof, or the payment was made or may still be made.
        """
        block, payable = proof.block, proof.payable_block
        if (yield from self.reason_at(block)) is not proof.reason:
            raise UnprovenFailureError("reason_not_shown", f"the state at block {block} does not show {proof.reason}")
        is_near = payable is not None and 0 < block - payable <= MOST_BLOCKS
        if payable is None or not is_near or not (yield from self._payable_blocks([payable])):
            problem = f"none of the {MOST_BLOCKS} blocks before {block} shows that the payment could be settled"
            raise UnprovenFailureError("never_payable", problem)
        if (yield from block_time(payable)).timestamp() < self.signed.deadline - MOST_SECONDS:
            problem = f"block {payable} is more than {MOST_SECONDS} seconds before the payment's deadline"
            raise UnprovenFailureError("too_early", problem)
        settlement = yield from look_up(self.signed)
        if settlement.is_paid is not False:
            raise UnprovenFailureError("payment_made", "the payment was made later, or its outcome is unknown")
        if not settlement.is_expired:
            raise UnprovenFailureError("still_payable", "the payment can still be settled: wait until it expires")

    def reason_at(self, block: int) -> Operation[FailureReason | None]:
        """Return why the payment could not be settled at a block, or None if the payer is not the cause."""
        signed, payer, at = self.signed, ("address", self.signed.payer), hex(block)
        nonces_call, bit = nonce_call(signed)
        calls = [_call(signed.asset, "balanceOf", payer), nonces_call]
        if signed.kind is not PaymentKind.EIP3009:
            calls.append(_call(signed.asset, "allowance", payer, ("address", PERMIT2)))
        replies = yield Batch(tuple(Rpc("eth_call", (call, at)) for call in calls))
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply  # for example, the node lacks the block's state
        states = [answers.data(reply) for reply in replies]
        time = (yield from block_time(block)).timestamp()
        # A missing contract, or one whose fallback function accepts any call, returns no data.
        if not signed.valid_after < time < signed.deadline or any(len(state) != WORD for state in states):
            return None
        balance, nonces, *allowance = map(int.from_bytes, states)
        if nonces >> bit & 1:
            settlement = yield from look_up(signed)
            return FailureReason.AUTHORIZATION_CANCELED if settlement.is_canceled else None
        if balance < self.amount:
            return FailureReason.INSUFFICIENT_BALANCE
        return FailureReason.INSUFFICIENT_ALLOWANCE if any(most < self.amount for most in allowance) else None

    def _payable_blocks(self, blocks: list[int]) -> Operation[list[int]]:
        call = self.settling_call()  # the contract checks the signature too
        codes = [Rpc("eth_getCode", (call["to"], hex(block))) for block in blocks]
        replies = yield Batch((*codes, *(Rpc("eth_call", (call, hex(block))) for block in blocks)))
        payable = []
        for block, code, reply in zip(blocks, replies, replies[len(blocks) :], strict=False):
            failed = any(isinstance(answer, Exception) for answer in (code, reply))
            if not failed and answers.data(code):  # a call to an account without code succeeds
                payable.append(block)
        return payable

    def settling_call(self) -> dict[str, str]:
        """Return the call that would settle the payment."""
        signed, signature = self.signed, _signature(self.payload)
        payer, amount = ("address", signed.payer), ("uint256", self.amount)
        proof: tuple[tuple[str, Any], ...] = (("bytes", signature),)
        if signed.kind is PaymentKind.EIP3009:
            times = ("uint256", signed.valid_after), ("uint256", signed.deadline), ("bytes32", signed.nonce)
            if len(signature) == _KEY_SIGNATURE:
                r, s, v = signature[:32], signature[32:64], signature[64]
                proof = ("uint8", v if v > 1 else v + 27), ("bytes32", r), ("bytes32", s)
            terms = payer, ("address", signed.payee), amount, *times
            return _call(signed.asset, "transferWithAuthorization", *terms, *proof)
        permit = (_PERMIT, ((signed.asset, signed.amount), int.from_bytes(signed.nonce), signed.deadline))
        if signed.kind is PaymentKind.PERMIT2_EXACT:
            witness: tuple[str, Any] = ("(address,uint256)", (signed.payee, signed.valid_after))
            return _call(EXACT_PROXY, "settle", permit, payer, witness, *proof)
        witness = "(address,address,uint256)", (signed.payee, signed.facilitator, signed.valid_after)
        call = _call(UPTO_PROXY, "settle", permit, amount, payer, witness, *proof)
        return call | {"from": str(signed.facilitator)}


def _call(to: str, name: str, *arguments: tuple[str, Any]) -> dict[str, str]:
    types = [kind for kind, _ in arguments]
    data = keccak(text=f"{name}({','.join(types)})")[:4] + encode(types, [value for _, value in arguments])
    return {"to": to, "data": "0x" + data.hex()}


def _signature(payload: Mapping[str, Any]) -> bytes:
    return bytes.fromhex(str(payload.get("signature")).removeprefix("0x"))


def check_failure(verifier: Verifier, evidence: Any, *, tokens: Collection[str]) -> FailureReason:
    """Check the evidence of a failed settlement (`failedSettlement` in a feedback file) with your own node.

    Args:
        verifier: Reads the payment's chain. The node must provide the state at both blocks.
        evidence: The evidence: `accepted`, `payload`, `amount`, `reason`, `block` and `payableBlock`.
        tokens: The accepted tokens. A seller's own token could report any balance for a buyer.

    Returns:
        The reason that the chain proves.

    Raises:
        UnprovenFailureError: The evidence is malformed, or does not match the chain.
        BilateralError: The node failed, or cannot provide the states.
    """
    try:
        payment = FailedPayment(evidence["accepted"], evidence["payload"], int(evidence["amount"]))
        signed, blocks = payment.signed, (int(evidence["block"]), int(evidence["payableBlock"]))
        proof = FailureProof(FailureReason(evidence["reason"]), *blocks)
        least = 1 if signed.kind is PaymentKind.PERMIT2_UPTO else signed.amount
        if min(blocks) < 0 or not least <= payment.amount <= signed.amount:
            raise ValueError(f"amount {payment.amount} does not match the signed amount, or a block is negative")  # noqa: TRY301
        _signature(payment.payload)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, InvalidPaymentError) as error:
        raise UnprovenFailureError("malformed_evidence", f"the evidence is malformed: {error}") from None
    if signed.asset not in {checksummed(listed) for listed in tokens}:
        raise UnprovenFailureError("unlisted_token", f"the token {signed.asset} is not among the accepted tokens")
    verifier.run_on(str(payment.accepted.get("network")), payment.check_proof(proof))
    return proof.reason
