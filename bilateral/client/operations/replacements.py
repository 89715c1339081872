"""Replacing a pending transaction with one that has the same nonce: a faster one, or one that does nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from bilateral.client.operations import confirmations, fees, registries, transactions
from bilateral.client.state import ClientState, Sent
from bilateral.core.contracts import Registry
from bilateral.core.errors import InvalidArgumentError, NotSentError, TransactionDroppedError, TransactionReplacedError
from bilateral.core.signatures import recover_signer
from bilateral.core.text import quoted
from bilateral.node import answers, rlp
from bilateral.node.steps import Batch, Exclusive, Operation, Rpc

T = TypeVar("T")

_HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}")


def find(state: ClientState, transaction_hash: str) -> Operation[Sent[bool]]:
    """Find a transaction from the signer. See `Client.find_transaction`."""
    if not _HASH.fullmatch(transaction_hash):
        raise InvalidArgumentError(
            f"{quoted(transaction_hash)} is not a transaction hash: expected 0x and 64 hexadecimal digits"
        )
    hash_ = transaction_hash.lower()
    sender = registries.require_address(state)
    deployment = yield from registries.connect_to_sign(state)
    answer = yield Rpc("eth_getTransactionByHash", (hash_,))
    if answer is None:
        raise TransactionDroppedError("is unknown to the node", hash_)
    transaction = require_transaction(answer, hash_, sender, deployment.chain_id)
    return Sent(
        Registry.IDENTITY, transaction, transaction["gas"], lambda _: True, hash=hash_, nonce=transaction["nonce"]
    )


def speed_up(state: ClientState, sent: Sent[T]) -> Operation[Sent[T]]:
    """Send a transaction again with higher fees. See `Handle.speed_up`."""
    if sent.hash is None:
        raise NotSentError("nothing was sent, so there is nothing to speed up")
    if (yield from confirmations.read_receipt(sent.hash)) is not None:
        return sent
    price = yield from fees.quote(state, (yield Batch((fees.HISTORY,)))[0])
    transaction = sent.transaction | fees.replacing(state, int(sent.transaction["chainId"]), sent.transaction, price)
    faster = replace(sent, transaction=transaction, hash=None, raw=None, earlier=(sent.hash, *sent.earlier))
    try:
        sent_again: Sent[T] = yield Exclusive(_send(state, faster, sent.hash))
    except TransactionReplacedError:
        if (yield from confirmations.read_receipt(sent.hash)) is None:
            raise
        return sent  # it has been included in a block in the meantime
    return sent_again


def cancel(state: ClientState, sent: Sent[Any]) -> Operation[Sent[bool]]:
    """Send an empty transaction with the nonce of a pending transaction. See `Handle.cancel`."""
    if sent.hash is None:
        raise NotSentError("nothing was sent, so there is nothing to cancel")
    sender = registries.require_address(state)
    if (yield from confirmations.read_receipt(sent.hash)) is not None:
        raise TransactionReplacedError("has already been mined, so it cannot be cancelled", sent.hash, sent.raw)
    call = {"from": sender, "to": sender, "data": "0x"}
    gas = answers.quantity((yield Rpc("eth_estimateGas", (call,))))
    price = yield from fees.quote(state, (yield Batch((fees.HISTORY,)))[0])
    chain_id = int(sent.transaction["chainId"])
    empty = {"chainId": chain_id, "to": sender, "value": 0, "data": "0x", "gas": gas + gas // 5}
    empty |= {"nonce": sent.transaction["nonce"]} | fees.replacing(state, chain_id, sent.transaction, price)
    nothing = Sent(sent.registry, empty, gas, lambda _: True)
    sent_again: Sent[bool] = yield Exclusive(_send(state, nothing, sent.hash))
    return sent_again


def _send(state: ClientState, prepared: Sent[T], previous: str) -> Operation[Sent[T]]:
    """Send a transaction that already has a nonce, without lowering the client's next nonce."""
    fees.require_cost(state, prepared.transaction)
    yield from transactions.require_balance(state, fees.most(prepared.transaction))
    if state.dry_run:
        return prepared
    nonces = state.nonces
    try:
        return (yield from transactions.send_with_nonce(state, prepared, int(prepared.transaction["nonce"])))
    except transactions.NonceUsedError:
        raise TransactionReplacedError(
            "has already been mined, or was replaced by another transaction with the same nonce", previous
        ) from None
    finally:
        state.nonces = nonces


_LEGACY: Final = 0  # transactions before EIP-2718
_ACCESS_LIST: Final = 1  # EIP-2930
_DYNAMIC_FEE: Final = 2  # EIP-1559

_V_WITHOUT_CHAIN: Final = frozenset({27, 28})  # of signatures from before EIP-155

_PRICES: Final = {
    _LEGACY: ("gasPrice",),
    _ACCESS_LIST: ("gasPrice",),
    _DYNAMIC_FEE: ("maxPriorityFeePerGas", "maxFeePerGas"),
}
"""The fee fields of each replaceable transaction type, in the order in which they are signed (EIP-2930, 1559).

Transactions with blobs (EIP-4844) or delegations (EIP-7702) are not supported: a replacement would lack these, and thus
have a different effect.
"""


def require_transaction(answer: Any, hash_: str, sender: str, chain_id: int) -> dict[str, Any]:
    """Check that `sender` signed the transaction with this hash, and return the transaction in web3.py's form."""
    record = answers.record(answer)
    kind = answers.quantity(record.get("type", "0x0" if record.get("maxFeePerGas") is None else "0x2"))
    if kind not in _PRICES:
        raise InvalidArgumentError(f"transaction {hash_} has type {kind}: only types 0, 1 and 2 can be replaced")
    costs = {name: answers.quantity(record.get(name)) for name in ("nonce", *_PRICES[kind], "gas")}
    value = answers.quantity(record.get("value"))
    to = b"" if record.get("to") is None else answers.data(record["to"])
    data = answers.data(record.get("input"))
    fields = [*costs.values(), to, value, data]
    access = _access_list(record)
    signed = _Signed.legacy(record, fields) if kind == _LEGACY else _Signed.typed(record, fields, kind, access)
    if signed.hash != bytes.fromhex(hash_.removeprefix("0x")):
        answers.malformed("the transaction with that hash: its fields and signature have a different hash")
    if signed.sender != sender:
        raise InvalidArgumentError(f"an account other than the signer {sender} sent transaction {hash_}")
    if signed.chain_id not in {None, chain_id}:
        raise InvalidArgumentError(f"transaction {hash_} is on chain {signed.chain_id}: use a node for that chain")
    if not to:
        raise InvalidArgumentError(f"transaction {hash_} creates a contract, but only calls can be replaced")
    transaction = {"chainId": chain_id, "to": to_checksum_address(to), "data": "0x" + data.hex(), "value": value}
    if access:
        transaction["accessList"] = [
            {"address": to_checksum_address(address), "storageKeys": ["0x" + key.hex() for key in keys]}
            for address, keys in access
        ]
    return transaction | costs


@dataclass(frozen=True)
class _Signed:
    """A signed transaction's encodings (RLP, EIP-2718).

    Attributes:
        chain_id: The chain for which the transaction was signed; None if it is valid on all chains.
        unsigned: The encoding that was signed.
        raw: The encoding with the signature.
    """

    chain_id: int | None
    unsigned: bytes
    raw: bytes
    signature: bytes

    @classmethod
    def legacy(cls, record: Mapping[str, Any], fields: list[Any]) -> _Signed:
        """Encode an untyped transaction. The signature's `v` contains its chain id (EIP-155)."""
        v, r, s = (answers.quantity(record.get(name)) for name in "vrs")
        chain_id = None if v in _V_WITHOUT_CHAIN else (v - 35) // 2
        protection = [] if chain_id is None else [max(chain_id, 0), 0, 0]
        parity = (v - 27 if chain_id is None else v - 35) % 2
        return cls(chain_id, rlp.encode(fields + protection), rlp.encode([*fields, v, r, s]), _bytes(r, s, parity))

    @classmethod
    def typed(cls, record: Mapping[str, Any], fields: list[Any], kind: int, access: list[Any]) -> _Signed:
        """Encode a typed transaction."""
        chain_id = answers.quantity(record.get("chainId"))
        parity = answers.quantity(record.get("v", record.get("yParity")))
        r, s = (answers.quantity(record.get(name)) for name in "rs")
        payload = [chain_id, *fields, access]
        unsigned, raw = (bytes([kind]) + rlp.encode(content) for content in (payload, [*payload, parity, r, s]))
        return cls(chain_id, unsigned, raw, _bytes(r, s, parity % 2))

    @property
    def hash(self) -> bytes:
        """The transaction's hash."""
        return keccak(self.raw)

    @property
    def sender(self) -> str | None:
        """The account that signed the transaction; None if it cannot be recovered."""
        return recover_signer(keccak(self.unsigned), self.signature)


def _bytes(r: int, s: int, parity: int) -> bytes:
    return r.to_bytes(32) + s.to_bytes(32) + bytes([27 + parity])


def _access_list(record: Mapping[str, Any]) -> list[tuple[bytes, list[bytes]]]:
    entries = []
    for entry in answers.records(record.get("accessList") or []):
        keys = entry.get("storageKeys")
        if not isinstance(keys, list):
            answers.malformed("an access list")
        entries.append((answers.data(entry.get("address")), [answers.data(key) for key in keys]))
    return entries
