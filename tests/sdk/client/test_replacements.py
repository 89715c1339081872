"""A pending transaction is replaced only if its hash proves it: a node's word for its fields is not enough."""

from __future__ import annotations

import pytest
import rlp
from eth_account import Account
from eth_utils import keccak, to_checksum_address

from bilateral.core.errors import FeeLimitError, InvalidArgumentError, MalformedNodeAnswerError
from tests.sdk.client.helpers import CHAIN_ID, nonce_of
from tests.sdk.client.unreliable import answers

pytestmark = pytest.mark.one_client

GWEI = 10**9
ETHER = 10**18
THIEF = to_checksum_address("0x" + "bad0" * 10)

FEES = {"maxFeePerGas": 4 * GWEI, "maxPriorityFeePerGas": GWEI}
KINDS = {
    "legacy": {"gasPrice": 4 * GWEI},
    "legacy for any chain": {"gasPrice": 4 * GWEI, "chainId": None},
    "access list": {
        "gasPrice": 4 * GWEI,
        "type": 1,
        "accessList": [{"address": "0x" + "11" * 20, "storageKeys": ["0x" + "22" * 32]}],
    },
    "dynamic fee": FEES,
}


def changed(fields):
    """The node's own answer with other fields."""

    def lie(_, forward):
        answer = forward()
        return answer | {"result": answer["result"] | fields}

    return lie


@pytest.fixture
def send(web3, newcomer, held):
    """Sends ether of the newcomer's by another program, and returns the hash of the pending transaction."""

    def send(value=ETHER, **changes):
        base = {"chainId": CHAIN_ID, "to": "0x" + "77" * 20, "value": value, "gas": 50_000, "nonce": 0, "data": b"\x07"}
        transaction = {name: content for name, content in (base | changes).items() if content is not None}
        sent = web3.eth.send_raw_transaction(newcomer.sign_transaction(transaction).raw_transaction)
        return "0x" + bytes(sent).hex()

    return send


@pytest.mark.parametrize("kind", KINDS)
def test_a_replacement_does_what_the_pending_transaction_does(connect, newcomer, send, held, web3, kind):
    pending = send(**KINDS[kind])
    faster = connect(newcomer).find_transaction(pending).speed_up()
    held()
    assert faster.wait() is True
    fields = newcomer.address, "0x" + "77" * 20, ETHER, 50_000, 0, b"\x07"
    sent = web3.eth.get_transaction(faster.hash)
    assert tuple(sent[name] for name in ("from", "to", "value", "gas", "nonce", "input")) == fields
    assert [dict(entry) for entry in sent.get("accessList", [])] == KINDS[kind].get("accessList", [])


@pytest.mark.parametrize("kind", ["legacy", "dynamic fee"])
@pytest.mark.parametrize(
    ("field", "lie"),
    [
        ("to", THIEF),
        ("value", hex(99 * ETHER)),
        ("input", "0x"),
        ("gas", hex(30_000_000)),
        ("nonce", "0x1"),
        ("r", "0x7"),
        ("v", "0x25"),
    ],
)
@pytest.mark.parametrize("method", ["speed_up", "cancel"])
def test_no_field_of_a_lying_node_is_signed(connect, node, newcomer, web3, send, kind, field, lie, method):
    pending = send(**KINDS[kind])

    node.interference["eth_getTransactionByHash"] = changed({field: lie})
    with pytest.raises(MalformedNodeAnswerError, match="its fields and signature have a different hash"):
        getattr(connect(newcomer, to=node.url).find_transaction(pending), method)()
    assert ("eth_sendRawTransaction" in node.methods, web3.eth.get_balance(THIEF)) == (False, 0)


@pytest.mark.parametrize("method", ["speed_up", "cancel"])
def test_a_fee_that_the_node_invents_is_not_raised(connect, node, newcomer, send, method):
    pending = send(**FEES)
    node.interference["eth_getTransactionByHash"] = changed({"maxFeePerGas": hex(400 * GWEI)})
    with pytest.raises(MalformedNodeAnswerError, match="have a different hash"):
        getattr(connect(newcomer, to=node.url).find_transaction(pending), method)()


def test_a_transaction_of_another_account_is_not_replaced(connect, node, newcomer, send):
    pending, stranger = send(**FEES), Account.create()
    node.interference["eth_getTransactionByHash"] = changed({"from": stranger.address})
    with pytest.raises(InvalidArgumentError, match=f"an account other than the signer {stranger.address}"):
        connect(stranger, to=node.url).find_transaction(pending)


def answer_of(transaction, signer):
    """A node's answer about a transaction that no chain has seen."""
    signed = signer.sign_transaction(transaction)
    names = {"chainId", "nonce", "maxFeePerGas", "maxPriorityFeePerGas", "gas", "value", "gasPrice"}
    numbers = {name: hex(content) for name, content in transaction.items() if name in names}
    signature = {"v": hex(signed.v), "r": hex(signed.r), "s": hex(signed.s)}
    kind = "0x2" if "maxFeePerGas" in transaction else "0x0"
    known = {"type": kind, "input": "0x", "to": transaction.get("to"), "accessList": []}
    return "0x" + signed.hash.hex(), known | numbers | signature


@pytest.mark.parametrize("prices", [FEES, {"gasPrice": GWEI}], ids=["typed", "legacy"])
def test_a_transaction_of_another_chain_is_not_replaced(connect, node, newcomer, prices):
    foreign = {"chainId": 5, "to": "0x" + "77" * 20, "value": 1, "gas": 50_000, "nonce": 0} | prices
    hash_, answer = answer_of(foreign, newcomer)
    node.interference["eth_getTransactionByHash"] = answers(answer)
    with pytest.raises(InvalidArgumentError, match="is on chain 5: use a node for that chain"):
        connect(newcomer, to=node.url).find_transaction(hash_)


def test_a_transaction_that_creates_a_contract_is_not_replaced(connect, node, newcomer):
    hash_, answer = answer_of({"chainId": CHAIN_ID, "value": 0, "gas": 50_000, "nonce": 0} | FEES, newcomer)
    node.interference["eth_getTransactionByHash"] = answers(answer)
    with pytest.raises(InvalidArgumentError, match="creates a contract"):
        connect(newcomer, to=node.url).find_transaction(hash_)


@pytest.mark.parametrize("kind", ["0x3", "0x4", "0x7e"])
def test_a_transaction_that_carries_more_than_a_call_is_not_replaced(connect, node, newcomer, kind):
    hash_, answer = answer_of({"chainId": CHAIN_ID, "value": 0, "gas": 50_000, "nonce": 0} | FEES, newcomer)
    node.interference["eth_getTransactionByHash"] = answers(answer | {"type": kind})
    with pytest.raises(InvalidArgumentError, match=f"has type {int(kind, 16)}: only types 0, 1 and 2"):
        connect(newcomer, to=node.url).find_transaction(hash_)


@pytest.mark.parametrize("v", [0, 27, 37, CHAIN_ID * 2 + 35])
def test_a_signature_that_gives_no_account_is_not_the_signer(connect, node, newcomer, v):
    answer = {"type": "0x0", "to": THIEF, "input": "0x", "v": hex(v), "r": "0x0", "s": "0x0"}
    answer |= dict.fromkeys(("nonce", "gas", "gasPrice", "value"), "0x1")
    raw = rlp.encode([1, 1, 1, bytes.fromhex(THIEF[2:]), 1, b"", v, 0, 0])
    node.interference["eth_getTransactionByHash"] = answers(answer)
    with pytest.raises(InvalidArgumentError, match="an account other than the signer"):
        connect(newcomer, to=node.url).find_transaction("0x" + keccak(raw).hex())


@pytest.mark.parametrize(
    "change", [{"accessList": [{"address": THIEF}]}, {"accessList": "0x"}, {"type": "2"}, {"r": None}, {"to": 7}]
)
def test_a_malformed_transaction_is_not_replaced(connect, node, newcomer, change):
    call = {"chainId": CHAIN_ID, "to": THIEF, "value": 0, "gas": 50_000, "nonce": 0}
    hash_, answer = answer_of(call | FEES, newcomer)
    node.interference["eth_getTransactionByHash"] = answers(answer | change)
    with pytest.raises(MalformedNodeAnswerError):
        connect(newcomer, to=node.url).find_transaction(hash_)


@pytest.mark.parametrize("method", ["speed_up", "cancel"])
def test_the_value_counts_towards_the_largest_cost(connect, newcomer, send, web3, method):
    pending = send(**FEES)
    refused = connect(newcomer, max_cost=ETHER).find_transaction(pending)
    if method == "cancel":  # it moves nothing, so that only its gas costs
        assert refused.cancel().hash
        return
    with pytest.raises(FeeLimitError, match=f"exceeds the limit of {ETHER}: .* raise max_cost"):
        refused.speed_up()
    assert connect(newcomer, max_cost=ETHER + ETHER // 100).find_transaction(pending).speed_up().hash
    assert nonce_of(web3, newcomer) == 1
