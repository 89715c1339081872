"""Transactions returned by an endpoint, and what a transaction's hash proves (EIP-2718 and Ethereum's types)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from eth_hash.auto import keccak

from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.logs import LogEntry, amount, bytes_of, optional_quantity
from bilateral.index.errors import EndpointLiesError
from bilateral.node import rlp

_AT_ONCE: Final = 100
"""The number of transactions to request per batch."""

_DYNAMIC_FEE: Final = ("chainId", "nonce", "maxPriorityFeePerGas", "maxFeePerGas", "gas", "to", "value", "input")
_FIELDS: Final[Mapping[int, Sequence[str]]] = {
    0: ("nonce", "gasPrice", "gas", "to", "value", "input"),
    1: ("chainId", "nonce", "gasPrice", "gas", "to", "value", "input", "accessList"),
    2: (*_DYNAMIC_FEE, "accessList"),
    3: (*_DYNAMIC_FEE, "accessList", "maxFeePerBlobGas", "blobVersionedHashes"),
    4: (*_DYNAMIC_FEE, "accessList", "authorizationList"),
}
"""The signed fields of each type, in the order of their encoding: legacy, EIP-2930, EIP-1559, EIP-4844, EIP-7702."""

_AUTHORIZATION: Final = ("chainId", "address", "nonce", "yParity", "r", "s")
_SIGNATURE: Final = ("v", "r", "s")


Transaction: TypeAlias = dict[str, Any]
"""A transaction in JSON-RPC form."""


def is_provable(transaction: Transaction) -> bool:
    """Return True if the hash can be recomputed from the fields. Some chains have transaction types of their own.

    A transaction without a signature comes from another layer or from the chain itself.
    """
    return _type_of(transaction) in _FIELDS and bool(str(transaction.get("r") or "").strip("0x"))


def computed_hash(transaction: Transaction) -> bytes:
    """Return the hash of a provable transaction."""
    kind = _type_of(transaction)
    try:
        items = [_item(name, transaction.get(name)) for name in (*_FIELDS[kind], *_SIGNATURE)]
    except (TypeError, KeyError) as problem:
        text = f"transaction {str(transaction.get('hash'))[:80]} of type {kind} cannot be read: {problem}"
        raise MalformedNodeAnswerError(text) from None
    return keccak((bytes([kind]) if kind else b"") + rlp.encode(items))


def _type_of(transaction: Transaction) -> int:
    return optional_quantity(transaction.get("type")) or 0


def _item(name: str, value: Any) -> Any:
    if name in ("to", "address"):
        return bytes_of(value) if value else b""
    if name == "input":
        return bytes_of(value)
    if name == "blobVersionedHashes":
        return [bytes_of(hash_) for hash_ in value]
    if name == "accessList":
        return [[bytes_of(entry["address"]), [bytes_of(key) for key in entry["storageKeys"]]] for entry in value]
    if name == "authorizationList":
        return [[_item(field, entry[field]) for field in _AUTHORIZATION] for entry in value]
    return amount(hex(value) if isinstance(value, int) else value)


def read_transactions(endpoint: Endpoint, logs: Sequence[LogEntry]) -> list[Transaction]:
    """Return each log's transaction. The input of a provable transaction is verified against the hash."""
    # By block and position, because many nodes do not find old transactions by hash. Few omit the position.
    places = [optional_quantity(log.transactionIndex) for log in logs]
    method, calls = "eth_getTransactionByHash", [(log.transactionHash,) for log in logs]
    if None not in places:
        method = "eth_getTransactionByBlockHashAndIndex"
        calls = [(log.blockHash, hex(place or 0)) for log, place in zip(logs, places, strict=True)]  # type: ignore[misc]
    entries = list[Transaction]()
    for start in range(0, len(calls), _AT_ONCE):
        part = calls[start : start + _AT_ONCE]
        answers: list[Transaction | None] = endpoint.each(method, part, dict[str, Any] | None)  # type: ignore[arg-type]
        for log, entry in zip(logs[start : start + _AT_ONCE], answers, strict=True):
            if entry is None:
                raise MalformedNodeAnswerError(f"{endpoint.name} lacks transaction {log.transactionHash}")
            is_other = str(entry.get("hash")).lower() != log.transactionHash.lower()
            if is_other or (is_provable(entry) and computed_hash(entry) != bytes_of(log.transactionHash)):
                raise EndpointLiesError(endpoint.name, f"a transaction other than {log.transactionHash} was returned")
            entries.append(entry)
    return entries
