"""Sends transactions: simulates each one, sends it once, and looks it up by signature. Signing requires solders."""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from bilateral.core.errors import BilateralError, MissingExtraError
from bilateral.core.errors.solana import SolanaWriteError
from bilateral.node import answers
from bilateral.node.steps import Operation, Pause, Rpc
from bilateral.solana.instructions import Account, Call
from bilateral.solana.nodes import SolanaNode
from bilateral.solana.transactions import MAX_TRANSACTION

if TYPE_CHECKING:
    from solders.keypair import Keypair

_POLL_SECONDS: Final = 0.5
"""The seconds to wait between polls. A slot takes 0.4 seconds."""

EXPIRED: Final = "blockhash_expired"


def keypair_of(secret: bytes) -> Keypair:
    """Return the key pair for a secret: a 32-byte seed, or the 64 bytes in a Solana key file."""
    try:
        from solders.keypair import Keypair  # noqa: PLC0415  # an extra
    except ImportError:
        raise MissingExtraError("solana", ["solders"]) from None
    try:
        return Keypair.from_seed(secret) if len(secret) == 32 else Keypair.from_bytes(secret)  # noqa: PLR2004  # a seed
    except ValueError:
        raise SolanaWriteError("the key is neither a 32-byte seed nor a 64-byte key pair", "invalid_key") from None


def signed(calls: Sequence[Call], keypair: Keypair, blockhash: str) -> tuple[str, bytes]:
    """Sign a transaction, and return its id and bytes."""
    from solders.hash import Hash  # noqa: PLC0415  # an extra
    from solders.instruction import AccountMeta, Instruction  # noqa: PLC0415
    from solders.message import MessageV0  # noqa: PLC0415
    from solders.pubkey import Pubkey  # noqa: PLC0415
    from solders.transaction import VersionedTransaction  # noqa: PLC0415

    key = Pubkey.from_string

    def meta(account: Account) -> AccountMeta:
        return AccountMeta(key(account.address), account.is_signer, account.is_writable)

    instructions = [Instruction(key(call.program), call.data, list(map(meta, call.accounts))) for call in calls]
    message = MessageV0.try_compile(keypair.pubkey(), instructions, [], Hash.from_string(blockhash))
    transaction = VersionedTransaction(message, [keypair])
    content = bytes(transaction)
    if len(content) > MAX_TRANSACTION:
        problem = f"the transaction has {len(content)} bytes, but at most {MAX_TRANSACTION} are allowed: write less"
        raise SolanaWriteError(problem, "too_large")
    return str(transaction.signatures[0]), content


def send(node: SolanaNode, calls: Sequence[Call], keypair: Keypair, seconds: float) -> Operation[str]:
    """Simulate a transaction, send it once, and wait for it."""
    latest = yield from node.ask(Rpc("getLatestBlockhash", ({"commitment": node.commitment},)))
    blockhash = answers.record(answers.record(latest).get("value")).get("blockhash")
    if not isinstance(blockhash, str):
        answers.malformed("a blockhash")
    signature, content = signed(calls, keypair, blockhash)
    text = base64.b64encode(content).decode()
    options = {"encoding": "base64", "commitment": node.commitment, "sigVerify": True}
    simulated = answers.record((yield from node.ask(Rpc("simulateTransaction", (text, options)))))
    error = answers.record(simulated.get("value")).get("err")
    if error is not None:
        raise SolanaWriteError(
            f"the transaction would fail, so it was not sent: {str(error)[:200]}", "simulation_failed"
        )
    sending = {"encoding": "base64", "preflightCommitment": node.commitment}
    refusal = ""
    try:
        yield Rpc("sendTransaction", (text, sending))
    except BilateralError as failure:  # it may have been sent all the same, so it is looked up
        refusal = f"; the node reported: {failure}"
    return (yield from _confirmed(node, signature, blockhash, time.monotonic() + seconds, refusal))


def _confirmed(node: SolanaNode, signature: str, blockhash: str, end: float, refusal: str) -> Operation[str]:
    while True:
        # Check validity first: a transaction that is still missing after its blockhash became invalid is lost.
        validity = answers.record((yield Rpc("isBlockhashValid", (blockhash, {"commitment": node.commitment}))))
        statuses = yield Rpc("getSignatureStatuses", ([signature], {"searchTransactionHistory": True}))
        values = answers.record(statuses).get("value")
        status: Any = values[0] if isinstance(values, list) and values else None
        if status is not None and answers.record(status).get("err") is not None:
            raise SolanaWriteError(f"the transaction {signature} failed: {status['err']}", "transaction_failed")
        if status is not None and status.get("confirmationStatus") in {node.commitment, "finalized"}:
            return signature
        if status is None and validity.get("value") is False:
            problem = f"the transaction {signature} was not included before its blockhash expired{refusal}: try again"
            raise SolanaWriteError(problem, EXPIRED)
        if time.monotonic() >= end:
            problem = f"the transaction {signature} is not confirmed yet{refusal}: look it up before trying again"
            raise SolanaWriteError(problem, "transaction_pending")
        yield Pause(_POLL_SECONDS)
