"""Writes on their way: handles, dry runs, nonces, and what can become of a transaction."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from eth_account import Account

from bilateral.client import AsyncClient, Client
from bilateral.client.core import transactions
from bilateral.contracts import Registry
from bilateral.errors import (
    InsufficientFundsError,
    NodeError,
    NotSentError,
    SendUncertainError,
    TransactionDroppedError,
    TransactionFailedError,
    TransactionPendingError,
    TransactionReplacedError,
    UnexpectedAnswerError,
)
from bilateral.reverts import ContractRevertError
from tests.sdk.client.helpers import nonce_of, plain, send
from tests.sdk.client.unreliable import answers, refuses, times


@pytest.fixture
def held(web3, agent):
    """The chain puts nothing into a block until told to by the fixture's call."""
    web3.provider.make_request("anvil_setAutomine", [False])
    yield lambda: web3.provider.make_request("anvil_mine", [])
    web3.provider.make_request("anvil_dropAllTransactions", [])
    web3.provider.make_request("anvil_setAutomine", [True])


def test_a_write_returns_before_it_is_in_a_block(connect, held, newcomer, web3, agent):
    handle = connect(newcomer).give_feedback(agent, 1)
    assert web3.eth.get_transaction(handle.hash)["blockNumber"] is None
    assert dict(handle.transaction)["nonce"] == 0
    assert handle.transaction["gas"] > handle.gas
    held()
    assert handle.wait().value == 1
    assert handle.wait().value == 1  # as often as one likes


def test_a_dry_run_checks_and_sends_nothing(connect, newcomer, web3, agent):
    client = connect(newcomer, dry_run=True)
    handle = client.give_feedback(agent, 1, "starred")
    assert (handle.hash, handle.raw_transaction) == (None, None)
    assert "not sent" in repr(handle)
    assert nonce_of(web3, newcomer) == 0
    used = connect(newcomer).give_feedback(agent, 1, "starred")
    assert dict(used.transaction) | _FEES == dict(handle.transaction) | _FEES
    used.wait()
    receipt = web3.eth.get_transaction_receipt(used.hash)
    assert receipt["gasUsed"] <= handle.gas < handle.transaction["gas"]
    with pytest.raises(NotSentError):
        handle.wait()


_FEES = {"maxFeePerGas": 0, "maxPriorityFeePerGas": 0}


def test_a_dry_run_refuses_who_could_not_pay(connect, web3, agent):
    nearly = Account.create()
    price = connect(nearly, dry_run=True)
    web3.provider.make_request("anvil_setBalance", [nearly.address, hex(10**18)])
    cost = (tried := price.give_feedback(agent, 1).transaction)["gas"] * tried["maxFeePerGas"]
    web3.provider.make_request("anvil_setBalance", [nearly.address, hex(cost)])
    assert price.give_feedback(agent, 1).hash is None
    web3.provider.make_request("anvil_setBalance", [nearly.address, hex(cost - 1)])
    with pytest.raises(InsufficientFundsError, match=f"it has {cost - 1} wei, and the transaction may cost {cost}"):
        price.give_feedback(agent, 1)


def test_a_dry_run_refuses_what_the_registry_would(connect, owner, agent):
    with pytest.raises(ContractRevertError) as caught:
        connect(owner, dry_run=True).give_feedback(agent, 1)
    assert caught.value.reason == "self_feedback"


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


@pytest.fixture
def overtaken(web3, deployment, owner, agent, held):
    """Sees to it that the account becomes the agent's owner just before a transaction of it gets into a block."""

    def overtake(account):
        identity = plain(web3, Registry.IDENTITY, deployment.identity)
        transfer = identity.functions.transferFrom(owner.address, account.address, agent.token_id)
        send(web3, owner, deployment.identity, transfer._encode_transaction_data(), tip=10**10, then=held)

    return overtake


def test_a_revert_in_a_block_is_decoded(connect, newcomer, agent, overtaken):
    handle = connect(newcomer).give_feedback(agent, 1)
    overtaken(newcomer)
    with pytest.raises(ContractRevertError) as caught:
        handle.wait()
    assert (caught.value.reason, caught.value.transaction) == ("self_feedback", handle.hash)


def test_a_failure_that_no_node_explains_is_told(connect, node, newcomer, agent, overtaken):
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    overtaken(newcomer)
    node.interference["eth_call"] = refuses("missing trie node")
    with pytest.raises(TransactionFailedError) as caught:
        handle.wait()
    assert caught.value.hash == handle.hash


def test_a_transaction_that_takes_long_is_pending(connect, newcomer, agent, held):
    handle = connect(newcomer).give_feedback(agent, 1)
    with pytest.raises(TransactionPendingError) as caught:
        handle.wait(0.1)
    assert isinstance(caught.value, TimeoutError)
    assert (caught.value.hash, caught.value.raw) == (handle.hash, handle.raw_transaction)
    held()
    assert handle.wait().value == 1


def test_a_dropped_transaction_is_told_and_may_be_sent_again(connect, newcomer, agent, held, web3):
    handle = connect(newcomer).give_feedback(agent, 1)
    web3.provider.make_request("anvil_dropTransaction", [handle.hash])
    with pytest.raises(TransactionDroppedError) as caught:
        handle.wait(0.1)
    assert caught.value.hash == handle.hash
    web3.eth.send_raw_transaction(caught.value.raw)
    held()
    assert handle.wait().value == 1


def test_after_a_dropped_transaction_its_nonce_is_used(connect, newcomer, agent, held, web3):
    client = connect(newcomer)
    handle = client.give_feedback(agent, 1)
    web3.provider.make_request("anvil_dropTransaction", [handle.hash])
    with pytest.raises(TransactionDroppedError):
        handle.wait(0.1)
    assert client.give_feedback(agent, 2).transaction["nonce"] == 0


def test_a_replaced_transaction_is_told(connect, newcomer, agent, held, web3, monkeypatch):
    monkeypatch.setattr(transactions, "_REPLACED_SECONDS", 0.1)
    handle = connect(newcomer).give_feedback(agent, 1)
    replacement = {
        "to": newcomer.address,
        "nonce": 0,
        "gas": 21_000,
        "chainId": 31337,
        "maxFeePerGas": 10**11,
        "maxPriorityFeePerGas": 10**10,
    }
    web3.eth.send_raw_transaction(newcomer.sign_transaction(replacement).raw_transaction)
    held()
    with pytest.raises(TransactionReplacedError) as caught:
        handle.wait(10)
    assert caught.value.hash == handle.hash


def test_confirmations_are_waited_for(connect, newcomer, agent, held):
    handle = connect(newcomer).give_feedback(agent, 1)
    held()
    assert handle.wait(0.1).value == 1
    with pytest.raises(TransactionPendingError):
        handle.wait(0.1, confirmations=2)
    held()
    assert handle.wait(0.1, confirmations=2).value == 1


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


def test_a_node_that_fails_while_it_is_waited_for_is_waited_out(connect, node, newcomer, agent):
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    node.interference["eth_getTransactionReceipt"] = times(2, refuses("busy"))
    assert handle.wait().value == 1


def test_a_node_that_goes_on_failing_is_told_with_the_hash(connect, node, newcomer, agent):
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    node.interference["eth_getTransactionReceipt"] = answers({"status": "yes", "blockNumber": "0x1"})
    with pytest.raises(TransactionPendingError, match="a number") as caught:
        handle.wait(0.1)
    assert caught.value.hash == handle.hash


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


def test_a_transaction_that_the_node_still_knows_is_not_called_replaced(connect, node, newcomer, agent, monkeypatch):
    """One of two nodes behind one name counts the nonce already, and the other has no receipt yet."""
    monkeypatch.setattr(transactions, "_REPLACED_SECONDS", 0)
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    node.interference["eth_getTransactionReceipt"] = times(2, answers(None))
    assert handle.wait(10).value == 1


def test_a_receipt_without_the_event_is_told_with_the_hash(connect, node, newcomer, agent):
    def without_logs(_, forward):
        answer = forward()
        return {**answer, "result": {**answer["result"], "logs": []}}

    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    node.interference["eth_getTransactionReceipt"] = without_logs
    with pytest.raises(UnexpectedAnswerError, match="did not log NewFeedback") as caught:
        handle.wait()
    assert handle.hash in str(caught.value)


def test_events_of_nobody_in_a_receipt_are_passed_over(connect, node, newcomer, agent):
    def with_more(_, forward):
        answer = forward()
        (log,) = answer["result"]["logs"]
        strange = [log | {"topics": ["0x" + "11" * 32]}, log | {"address": newcomer.address}, log]
        return {**answer, "result": {**answer["result"], "logs": strange}}

    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    node.interference["eth_getTransactionReceipt"] = with_more
    assert handle.wait().value == 1


def test_who_cannot_pay_is_told_by_the_estimate(connect, node, newcomer, agent):
    node.interference["eth_estimateGas"] = refuses("insufficient funds for transfer")
    with pytest.raises(InsufficientFundsError):
        connect(newcomer, to=node.url).give_feedback(agent, 1)


def test_an_estimate_that_fails_otherwise_is_told(connect, node, newcomer, agent):
    node.interference["eth_estimateGas"] = refuses("rate limit")
    with pytest.raises(NodeError, match="rate limit"):
        connect(newcomer, to=node.url).give_feedback(agent, 1)


def test_a_transaction_that_nobody_can_look_up_is_not_called_dropped(connect, node, newcomer, agent, held):
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    node.interference["eth_getTransactionByHash"] = refuses("busy")
    with pytest.raises(TransactionPendingError):
        handle.wait(0.05)
    node.interference["eth_getTransactionByHash"] = answers(None)
    node.interference["eth_getTransactionReceipt"] = times(1, answers(None), then=refuses("busy"))
    with pytest.raises(TransactionPendingError):
        handle.wait(0)
