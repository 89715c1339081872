"""Signed transactions, rebuilt from a node's answer. Their hash proves each field, so no node needs to be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import rlp
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.signatures import recover_signer
from bilateral.node import answers

if TYPE_CHECKING:
    from collections.abc import Mapping

_LEGACY: Final = 0  # transactions before EIP-2718
_ACCESS_LIST: Final = 1  # EIP-2930
_DYNAMIC_FEE: Final = 2  # EIP-1559

_V_WITHOUT_CHAIN: Final = frozenset({27, 28})  # of signatures from before EIP-155

_PRICES: Final = {
    _LEGACY: ("gasPrice",),
    _ACCESS_LIST: ("gasPrice",),
    _DYNAMIC_FEE: ("maxPriorityFeePerGas", "maxFeePerGas"),
}
"""The fees of each type of transaction that can be replaced, in the order in which they are signed (EIP-2930, 1559).

Blobs (EIP-4844) and delegations (EIP-7702) are missing: a replacement without them would do something else.
"""


def require_transaction(answer: Any, hash_: str, sender: str, chain_id: int) -> dict[str, Any]:
    """Check that the signer signed a transaction with this hash, and return it as web3.py writes one.

    Args:
        answer: The node's answer to `eth_getTransactionByHash`.
        hash_: The hash that the caller named.
        sender: The signer.
        chain_id: The chain of the deployment.

    Raises:
        MalformedNodeAnswerError: The answer's fields and signature have another hash.
        InvalidArgumentError: Another account signed it, it is of another chain, or it cannot be replaced.
    """
    record = answers.record(answer)
    kind = answers.quantity(record.get("type", "0x0" if record.get("maxFeePerGas") is None else "0x2"))
    if kind not in _PRICES:
        raise InvalidArgumentError(f"transaction {hash_} has type {kind}: only those of types 0, 1 and 2 are replaced")
    costs = {name: answers.quantity(record.get(name)) for name in ("nonce", *_PRICES[kind], "gas")}
    value = answers.quantity(record.get("value"))
    to = b"" if record.get("to") is None else answers.data(record["to"])
    data = answers.data(record.get("input"))
    fields = [*costs.values(), to, value, data]
    access = _access_list(record)
    signed = _Signed.legacy(record, fields) if kind == _LEGACY else _Signed.typed(record, fields, kind, access)
    if signed.hash != bytes.fromhex(hash_.removeprefix("0x")):
        answers.malformed("the transaction of that hash: its fields and signature have another hash")
    if signed.sender != sender:
        raise InvalidArgumentError(f"another account than the signer {sender} sent transaction {hash_}")
    if signed.chain_id not in {None, chain_id}:
        raise InvalidArgumentError(f"transaction {hash_} is of chain {signed.chain_id}: use a node of that chain")
    if not to:
        raise InvalidArgumentError(f"transaction {hash_} creates a contract: only calls can be replaced")
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
        chain_id: The chain that it was signed for; None for one that is valid on all.
        unsigned: The encoding that was signed.
        raw: The encoding with the signature.
    """

    chain_id: int | None
    unsigned: bytes
    raw: bytes
    signature: bytes

    @classmethod
    def legacy(cls, record: Mapping[str, Any], fields: list[Any]) -> _Signed:
        """Encode a transaction without type. Its chain is in the signature's `v` (EIP-155)."""
        v, r, s = (answers.quantity(record.get(name)) for name in "vrs")
        chain_id = None if v in _V_WITHOUT_CHAIN else (v - 35) // 2
        protection = [] if chain_id is None else [max(chain_id, 0), 0, 0]
        parity = (v - 27 if chain_id is None else v - 35) % 2
        return cls(chain_id, rlp.encode(fields + protection), rlp.encode([*fields, v, r, s]), _bytes(r, s, parity))

    @classmethod
    def typed(cls, record: Mapping[str, Any], fields: list[Any], kind: int, access: list[Any]) -> _Signed:
        """Encode a transaction with a type."""
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
        """The account that signed it; None if the signature gives none."""
        return recover_signer(keccak(self.unsigned), self.signature)


def _bytes(r: int, s: int, parity: int) -> bytes:
    """Return a signature as the registries take it."""
    return r.to_bytes(32) + s.to_bytes(32) + bytes([27 + parity])


def _access_list(record: Mapping[str, Any]) -> list[tuple[bytes, list[bytes]]]:
    """Return an access list as it is signed: addresses with storage keys (EIP-2930)."""
    entries = []
    for entry in answers.records(record.get("accessList") or []):
        keys = entry.get("storageKeys")
        if not isinstance(keys, list):
            answers.malformed("an access list")
        entries.append((answers.data(entry.get("address")), [answers.data(key) for key in keys]))
    return entries
