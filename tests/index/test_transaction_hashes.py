"""The hash of a transaction is computed from what the node says it signed, for each type of Ethereum."""

from __future__ import annotations

import pytest
from eth_account import Account
from eth_utils.crypto import keccak

from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.index.chain.transactions import computed_hash, is_provable

SENDER = Account.from_key(keccak(text="sender of every type"))
TO = Account.from_key(keccak(text="receiver")).address
DYNAMIC = {"maxFeePerGas": 10**11, "maxPriorityFeePerGas": 1}
ACCESS = [{"address": TO, "storageKeys": ["0x" + "07" * 32]}]
TYPES = {
    "legacy": {"gasPrice": 10**11},
    "before EIP-155": {"gasPrice": 10**11, "chainId": None},
    "EIP-2930": {"gasPrice": 10**11, "type": 1, "accessList": ACCESS},
    "EIP-1559": {**DYNAMIC, "type": 2, "accessList": ACCESS},
    "creation": {**DYNAMIC, "type": 2, "to": None},
    "EIP-4844": {**DYNAMIC, "type": 3, "maxFeePerBlobGas": 10**11},
    "EIP-7702": {**DYNAMIC, "type": 4},
}


@pytest.fixture(params=TYPES)
def entry(request, event_chain):
    """A transaction of each type, as anvil gives it."""
    fields = {
        "to": TO,
        "value": 3,
        "gas": 500_000,
        "nonce": 0,
        "chainId": 31337,
        "data": b"\0\1\2",
        **TYPES[request.param],
    }
    fields = {name: value for name, value in fields.items() if value is not None}
    blobs = {"blobs": [bytes(131072)]} if request.param == "EIP-4844" else {}
    if request.param == "EIP-7702":
        authorization = {"chainId": 31337, "address": TO, "nonce": 1}
        fields["authorizationList"] = [SENDER.sign_authorization(authorization)]
    event_chain.rpc("anvil_setBalance", SENDER.address, hex(10**20))
    raw = SENDER.sign_transaction(fields, **blobs).raw_transaction
    hash_ = event_chain.rpc("eth_sendRawTransaction", "0x" + bytes(raw).hex())
    event_chain.rpc("evm_mine")
    return event_chain.rpc("eth_getTransactionByHash", hash_)


def test_hash_covers_every_signed_field(entry):
    assert is_provable(entry)
    assert computed_hash(entry).hex() == entry["hash"][2:]
    assert computed_hash(entry | {"input": "0x00"}) != computed_hash(entry)


@pytest.mark.parametrize(
    "changes", [{"nonce": None}, {"value": -1}, {"input": "12"}, {"input": None}, {"accessList": [{}]}, {"v": "0x"}]
)
def test_transaction_with_a_missing_or_malformed_field_is_malformed(changes):
    fields = dict.fromkeys(("nonce", "gasPrice", "gas", "value", "chainId", "v", "r", "s"), "0x1")
    entry = {"hash": "0x", "input": "0x", "type": "0x1", "accessList": [], **fields, **changes}
    with pytest.raises(MalformedNodeAnswerError):
        computed_hash(entry)


@pytest.mark.parametrize("changes", [{"type": "0x7e"}, {"type": 0x64}, {"r": "0x0"}, {"r": None}])
def test_transaction_of_another_layer_is_not_provable(changes):
    entry = {"hash": "0x", "input": "0x", "type": "0x2", "r": "0x1", **changes}
    assert not is_provable(entry)
