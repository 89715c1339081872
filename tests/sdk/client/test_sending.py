"""Writes as they are sent: what they pay, whose nonce they get, and what a node says of them."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from eth_account import Account

from bilateral.client import AsyncClient, Client
from bilateral.errors import InsufficientFundsError, NodeError, SendUncertainError, UnexpectedAnswerError
from tests.sdk.client.helpers import nonce_of
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
            return sorted(it.value for it in await asyncio.gather(*(handle.wait() for handle in handles)))

    assert asyncio.run(run()) == list(range(24))


def test_a_nonce_that_another_program_took_is_passed_over(connect, node, newcomer, agent, web3, held):
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


def test_a_nonce_that_is_always_taken_is_given_up(connect, node, newcomer, agent):
    node.interference["eth_sendRawTransaction"] = refuses("nonce too low: next nonce 5, tx nonce 0")
    with pytest.raises(NodeError, match="nonce too low"):
        connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert node.methods.count("eth_sendRawTransaction") == 5


def test_who_cannot_pay_is_told_before_anything_is_sent(connect, agent):
    poor = Account.create()
    with pytest.raises(InsufficientFundsError) as caught:
        connect(poor).give_feedback(agent, 1)
    assert caught.value.account == poor.address


def test_that_nobody_knows_whether_it_was_sent_is_told_with_the_hash(connect, node, newcomer, agent, web3):
    node.interference["eth_sendRawTransaction"] = answers_nothing_to_it
    node.interference["eth_getTransactionByHash"] = lambda *_: 500
    with pytest.raises(SendUncertainError) as caught:
        connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert web3.eth.get_transaction(caught.value.hash)["from"] == newcomer.address


def answers_nothing_to_it(_, forward):
    """The node takes the transaction, and its answer is lost."""
    forward()
    return 502


def test_a_taken_nonce_is_not_passed_over_while_nobody_can_say_by_whom(connect, node, newcomer, agent, web3):
    def twice(_, forward):
        forward()
        return refuses("nonce too low")(_, forward)  # a proxy sent it again

    node.interference["eth_sendRawTransaction"] = twice
    node.interference["eth_getTransactionByHash"] = refuses("busy")
    with pytest.raises(SendUncertainError):
        connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert nonce_of(web3, newcomer) == 1


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


def test_a_node_that_takes_no_transaction_says_why(connect, node, newcomer, agent, web3):
    node.interference["eth_sendRawTransaction"] = refuses("tx fee exceeds the configured cap")
    with pytest.raises(NodeError, match="configured cap"):
        connect(newcomer, to=node.url).give_feedback(agent, 1)
    node.interference["eth_sendRawTransaction"] = refuses("insufficient funds for gas * price + value")
    with pytest.raises(InsufficientFundsError):
        connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert nonce_of(web3, newcomer) == 0


def test_a_chain_without_a_base_fee_is_paid_a_gas_price(connect, node, newcomer, agent):
    node.interference["eth_feeHistory"] = refuses("the method does not exist", -32601)
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert "gasPrice" in handle.transaction
    assert handle.wait().value == 1


def test_where_nobody_tips_the_node_is_asked_what_to_tip(connect, node, newcomer, agent):
    node.interference["eth_feeHistory"] = answers({"baseFeePerGas": ["0x5", "0x7"], "reward": [["0x0"]]})
    node.interference["eth_maxPriorityFeePerGas"] = answers("0x3")
    handle = connect(newcomer, to=node.url, dry_run=True).give_feedback(agent, 1)
    assert (handle.transaction["maxFeePerGas"], handle.transaction["maxPriorityFeePerGas"]) == (17, 3)


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
def test_who_cancels_a_write_learns_its_hash(node, newcomer, agent, deployment, web3, stalled, interference):
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
    assert web3.eth.wait_for_transaction_receipt(sent, timeout=10)["from"] == newcomer.address


def test_who_cannot_pay_is_told_by_the_estimate(connect, node, newcomer, agent):
    node.interference["eth_estimateGas"] = refuses("insufficient funds for transfer")
    with pytest.raises(InsufficientFundsError):
        connect(newcomer, to=node.url).give_feedback(agent, 1)


def test_an_estimate_that_fails_otherwise_is_told(connect, node, newcomer, agent):
    node.interference["eth_estimateGas"] = refuses("rate limit")
    with pytest.raises(NodeError, match="rate limit"):
        connect(newcomer, to=node.url).give_feedback(agent, 1)
