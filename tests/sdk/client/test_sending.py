"""Writes as they are sent: what they pay, whose nonce they get, and what a node says of them."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from eth_account import Account

from bilateral.client import AsyncClient, Client
from bilateral.core.errors import InsufficientFundsError, NodeError, SendUncertainError, UnexpectedAnswerError
from tests.sdk.client.helpers import CHAIN_ID, nonce_of, overtaken_by, send
from tests.sdk.client.unreliable import answers, refuses, times


def test_threads_share_a_client(rpc, deployment, newcomer, agent, held):
    with (
        Client(rpc, signer=newcomer, deployment=deployment, poll_interval=0.02) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        handles = list(pool.map(lambda value: client.give_feedback(agent, value), range(24)))
        assert sorted(handle.transaction["nonce"] for handle in handles) == list(range(24))
        held()
        assert sorted(handle.wait().value for handle in handles) == list(range(24))


def test_tasks_share_a_client(rpc, deployment, newcomer, agent, held):
    async def run():
        async with AsyncClient(rpc, signer=newcomer, deployment=deployment, poll_interval=0.02) as client:
            handles = await asyncio.gather(*(client.give_feedback(agent, value) for value in range(24)))
            assert sorted(handle.transaction["nonce"] for handle in handles) == list(range(24))
            held()
            return sorted(entry.value for entry in await asyncio.gather(*(handle.wait() for handle in handles)))

    assert asyncio.run(run()) == list(range(24))


def test_a_nonce_that_another_program_took_is_passed_over(connect, node, newcomer, agent, held, impatient):
    other = connect(newcomer).give_feedback(agent, 1)
    node.interference["eth_getTransactionCount"] = times(1, answers("0x0"))  # the node lags behind
    handle = connect(newcomer, to=node.url).give_feedback(agent, 2)
    assert (other.transaction["nonce"], handle.transaction["nonce"]) == (0, 1)
    held()
    assert (other.wait().value, handle.wait().value) == (1, 2)


def test_a_node_that_lags_behind_is_known_better(connect, node, newcomer, agent, held):
    client = connect(newcomer, to=node.url)
    node.interference["eth_getTransactionCount"] = answers("0x0")
    handles = [client.give_feedback(agent, value) for value in range(3)]
    assert [handle.transaction["nonce"] for handle in handles] == [0, 1, 2]


def test_a_nonce_that_is_always_taken_is_given_up(connect, node, newcomer, agent, web3):
    node.interference["eth_sendRawTransaction"] = overtaken_by(web3, newcomer)
    with pytest.raises(NodeError, match="nonce too low"):
        connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert node.methods.count("eth_sendRawTransaction") == nonce_of(web3, newcomer) == 5


@pytest.mark.one_client
@pytest.mark.parametrize("nonce", [0, 1, 5, 7])
def test_a_nonce_that_was_taken_some_blocks_ago_is_passed_over(connect, node, newcomer, agent, web3, nonce):
    for _ in range(8):
        send(web3, newcomer, newcomer.address, "0x")
    node.interference["eth_getTransactionCount"] = times(1, answers(hex(nonce)))  # the node lags behind
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert handle.transaction["nonce"] == 8
    assert handle.wait().value == 1


def test_a_nonce_that_no_transaction_took_is_not_passed_over(connect, node, newcomer, agent, web3, impatient):
    """An authorisation (EIP-7702) uses a nonce too."""
    web3.provider.make_request("anvil_setNonce", [newcomer.address, "0x5"])
    web3.provider.make_request("anvil_mine", [])
    node.interference["eth_getTransactionCount"] = times(1, answers("0x0"))
    with pytest.raises(SendUncertainError, match="nonce too low"):
        connect(newcomer, to=node.url).give_feedback(agent, 1)


def test_a_price_too_low_to_replace_leaves_the_nonce_undecided(connect, node, newcomer, agent, web3, held, impatient):
    send_pending(web3, newcomer)
    node.interference["eth_getTransactionCount"] = times(1, answers("0x0"))
    node.interference["eth_getTransactionByHash"] = refuses("busy")
    with pytest.raises(SendUncertainError, match="underpriced"):
        connect(newcomer, to=node.url).give_feedback(agent, 2)


def send_pending(web3, account):
    """Send a transaction that stays on its way, at a price that the client does not outbid."""
    price = {"maxFeePerGas": 10**12, "maxPriorityFeePerGas": 10**12, "gas": 21_000, "chainId": CHAIN_ID}
    transaction = price | {"to": account.address, "nonce": nonce_of(web3, account)}
    web3.eth.send_raw_transaction(account.sign_transaction(transaction).raw_transaction)


def test_insufficient_funds_are_an_error_before_sending(connect, agent):
    poor = Account.create()
    with pytest.raises(InsufficientFundsError) as caught:
        connect(poor).give_feedback(agent, 1)
    assert caught.value.account == poor.address


def test_an_uncertain_sending_is_an_error_with_the_hash(connect, node, newcomer, agent, web3):
    node.interference["eth_sendRawTransaction"] = answers_nothing_to_it
    node.interference["eth_getTransactionByHash"] = lambda *_: 500
    with pytest.raises(SendUncertainError) as caught:
        connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert web3.eth.get_transaction(caught.value.hash)["from"] == newcomer.address


def answers_nothing_to_it(_, forward):
    """The node takes the transaction, and its answer is lost."""
    forward()
    return 502


def sent_twice(_, forward):
    """A proxy hands the transaction to the node, and once more, and tells only how that ended."""
    forward()
    return refuses("nonce too low")(_, forward)


@pytest.mark.parametrize(
    "words",
    [
        "nonce too low: next nonce 1, tx nonce 0, which is not too high",
        "Transaction nonce is too low. Try incrementing the nonce.",
        "the nonce has already been used",
        "OldNonce",
        "refused:\ninvalid nonce",
    ],
)
def test_a_nonce_that_is_used_is_understood_in_any_words(connect, node, newcomer, agent, web3, words):
    overtake = overtaken_by(web3, newcomer)
    answer = refuses(words)
    node.interference["eth_sendRawTransaction"] = times(1, lambda *value: overtake(*value) and answer(*value))
    assert connect(newcomer, to=node.url).give_feedback(agent, 1).transaction["nonce"] == 1


@pytest.mark.parametrize(
    "words", ["replacement transaction underpriced", "could not replace existing tx", "another with same nonce"]
)
def test_a_nonce_on_its_way_is_understood_in_any_words(connect, node, newcomer, agent, web3, held, impatient, words):
    send_pending(web3, newcomer)
    node.interference["eth_getTransactionCount"] = times(1, answers("0x0"))  # the node lags behind
    node.interference["eth_sendRawTransaction"] = times(1, refuses(words))
    assert connect(newcomer, to=node.url).give_feedback(agent, 1).transaction["nonce"] == 1


@pytest.fixture
def lagging(node):
    """Another node behind the same name answers look-ups: it has not heard of anything yet."""
    lagging = {"eth_getTransactionByHash": answers(None), "eth_getTransactionReceipt": answers(None)}
    node.interference |= lagging
    return lagging


def test_a_taken_nonce_is_not_passed_over_while_nobody_can_say_by_whom(connect, node, newcomer, agent, web3, impatient):
    node.interference |= {"eth_sendRawTransaction": sent_twice, "eth_getTransactionByHash": refuses("busy")}
    node.interference["eth_blockNumber"] = refuses("busy")
    with pytest.raises(SendUncertainError) as caught:
        connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert web3.eth.get_transaction(caught.value.hash)["from"] == newcomer.address
    assert nonce_of(web3, newcomer) == 1


def test_a_taken_nonce_is_not_passed_over_while_another_node_lags(
    connect, node, newcomer, agent, web3, lagging, impatient
):
    node.interference |= {"eth_sendRawTransaction": sent_twice, "eth_getTransactionCount": answers("0x0")}
    with pytest.raises(SendUncertainError) as caught:
        connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert web3.eth.get_transaction(caught.value.hash)["from"] == newcomer.address
    assert nonce_of(web3, newcomer) == 1


@pytest.mark.parametrize("heard_of_it", [1, 3])
def test_a_transaction_that_was_sent_twice_is_found_once_the_other_node_has_heard_of_it(
    connect, node, newcomer, agent, web3, heard_of_it
):
    node.interference["eth_sendRawTransaction"] = sent_twice
    for method in ("eth_getTransactionByHash", "eth_getTransactionReceipt"):
        node.interference[method] = times(heard_of_it, answers(None))
    node.interference["eth_blockNumber"] = times(heard_of_it, answers("0x0"))
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert handle.wait().value == 1
    assert nonce_of(web3, newcomer) == 1


def test_a_transaction_that_was_sent_twice_is_found_in_its_block(connect, node, newcomer, agent, web3, lagging):
    node.interference["eth_sendRawTransaction"] = sent_twice
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert (handle.hash, nonce_of(web3, newcomer)) == (web3.eth.get_block("latest")["transactions"][0].to_0x_hex(), 1)


def test_a_transaction_that_the_node_took_silently_is_found(connect, node, newcomer, agent):
    node.interference["eth_sendRawTransaction"] = answers_nothing_to_it
    assert connect(newcomer, to=node.url).give_feedback(agent, 1).wait().value == 1
    assert node.methods.count("eth_sendRawTransaction") == 1


def test_a_transaction_that_the_node_has_already_is_as_good_as_sent(connect, node, newcomer, agent):
    def twice(_, forward):
        forward()
        return forward()  # "already known", or its nonce is too low

    node.interference["eth_sendRawTransaction"] = twice
    assert connect(newcomer, to=node.url).give_feedback(agent, 1).wait().value == 1


@pytest.mark.one_client
@pytest.mark.parametrize(
    "words",
    [
        "already known",
        "AlreadyKnown",
        "Known transaction",
        "known transaction: 0x12",
        "Transaction with the same hash was already imported.",
        "tx already in mempool",
        "existing tx with same hash",
    ],
)
def test_a_node_that_has_it_already_need_not_show_it(connect, node, newcomer, agent, web3, lagging, words):
    node.interference["eth_sendRawTransaction"] = lambda _, forward: forward() and refuses(words)(_, forward)
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert web3.eth.get_transaction(handle.hash)["nonce"] == 0
    assert node.methods.count("eth_sendRawTransaction") == 1


@pytest.mark.one_client
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("request timed out", -32002),
        ("Resource unavailable", -32002),
        ("Internal error", -32603),
        ("request timed out", -32000),
        ("Timeout", None),
        ("context deadline exceeded", -32000),
        ("context canceled", -32000),
        ("502 Bad Gateway", -32000),
        ("upstream connect error", -32000),
        ("dial tcp 10.0.0.1:8545: connection refused", -32000),
        ("service temporarily unavailable", -32000),
    ],
)
def test_an_error_that_leaves_it_open_is_told_with_the_hash(connect, node, newcomer, agent, web3, lagging, words, code):
    node.interference["eth_sendRawTransaction"] = lambda _, forward: forward() and refuses(words, code)(_, forward)
    with pytest.raises(SendUncertainError, match=words) as caught:
        connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert web3.eth.get_transaction(caught.value.hash)["from"] == newcomer.address
    assert isinstance(caught.value.__cause__, NodeError)


@pytest.mark.one_client
@pytest.mark.parametrize(
    "words",
    [
        "tx fee exceeds the configured cap",
        "unknown transaction type",
        "transaction underpriced",
        "intrinsic gas too low",
        "nonce too high: tx nonce 9, next nonce 0",
        "the pool is full",
    ],
)
def test_a_node_that_takes_no_transaction_says_why(connect, node, newcomer, agent, web3, words):
    node.interference["eth_sendRawTransaction"] = refuses(words)
    with pytest.raises(NodeError, match=words):
        connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert (node.methods.count("eth_sendRawTransaction"), nonce_of(web3, newcomer)) == (1, 0)


def test_a_node_that_finds_too_little_ether_says_so(connect, node, newcomer, agent, web3):
    node.interference["eth_sendRawTransaction"] = refuses("insufficient funds for gas * price + value")
    with pytest.raises(InsufficientFundsError) as caught:
        connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert (caught.value.account, nonce_of(web3, newcomer)) == (newcomer.address, 0)


def test_a_chain_without_a_base_fee_is_paid_a_gas_price(connect, node, newcomer, agent):
    node.interference["eth_feeHistory"] = refuses("the method does not exist", -32601)
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert "gasPrice" in handle.transaction
    assert handle.wait().value == 1


def test_the_node_suggests_the_tip_if_recent_blocks_have_none(connect, node, newcomer, agent):
    node.interference["eth_feeHistory"] = answers({"baseFeePerGas": ["0x5", "0x7"], "reward": [["0x0"]]})
    node.interference["eth_maxPriorityFeePerGas"] = answers("0x3")
    handle = connect(newcomer, to=node.url, dry_run=True).give_feedback(agent, 1)
    assert (handle.transaction["maxFeePerGas"], handle.transaction["maxPriorityFeePerGas"]) == (17, 3)


def test_a_chain_that_asks_nothing_for_gas_is_paid_nothing(connect, node, newcomer, agent):
    node.interference["eth_feeHistory"] = answers({"baseFeePerGas": ["0x0", "0x0"], "reward": [["0x0"]]})
    node.interference["eth_maxPriorityFeePerGas"] = answers("0x0")
    tried = connect(newcomer, to=node.url, dry_run=True).give_feedback(agent, 1).transaction
    assert (tried["maxFeePerGas"], tried["maxPriorityFeePerGas"]) == (0, 0)
    node.interference["eth_feeHistory"] = refuses("the method does not exist", -32601)
    node.interference["eth_gasPrice"] = answers("0x0")
    assert connect(newcomer, to=node.url, dry_run=True).give_feedback(agent, 1).transaction["gasPrice"] == 0


def test_a_transaction_to_no_contract_is_refused(connect, newcomer, agent, deployment, web3):
    nowhere = replace(deployment, reputation=Account.create().address)
    with pytest.raises(UnexpectedAnswerError, match="no contract"):
        connect(newcomer, deployment=nowhere).give_feedback(agent, 1)
    assert nonce_of(web3, newcomer) == 0


def take_and_stall(_, forward):
    forward()


@pytest.mark.parametrize(
    ("stalled", "interference"),
    [
        ("eth_sendRawTransaction", {"eth_sendRawTransaction": take_and_stall}),
        (
            "eth_getTransactionByHash",
            {"eth_sendRawTransaction": answers_nothing_to_it, "eth_getTransactionByHash": take_and_stall},
        ),
    ],
    ids=["sent", "looked up"],
)
def test_a_cancelled_write_has_its_hash(node, newcomer, agent, deployment, web3, stalled, interference):
    async def run():
        async with AsyncClient(node.url, signer=newcomer, deployment=deployment) as client:
            writing = asyncio.create_task(client.give_feedback(agent, 1))
            while stalled not in node.methods:
                await asyncio.sleep(0.01)
            writing.cancel()
            await writing

    node.interference |= interference
    with pytest.raises(asyncio.CancelledError) as caught:
        asyncio.run(run())
    (note,) = caught.value.__notes__
    sent = re.search("0x[0-9a-f]{64}", note)[0]
    assert web3.eth.wait_for_transaction_receipt(sent, timeout=60)["from"] == newcomer.address


def test_insufficient_funds_are_an_error_of_the_estimate(connect, node, newcomer, agent):
    node.interference["eth_estimateGas"] = refuses("insufficient funds for transfer")
    with pytest.raises(InsufficientFundsError):
        connect(newcomer, to=node.url).give_feedback(agent, 1)


def test_an_estimate_that_fails_otherwise_is_told(connect, node, newcomer, agent):
    node.interference["eth_estimateGas"] = refuses("rate limit")
    with pytest.raises(NodeError, match="rate limit"):
        connect(newcomer, to=node.url).give_feedback(agent, 1)
