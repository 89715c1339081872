"""Writes on their way: handles, dry runs, and what can become of a transaction."""

from __future__ import annotations

import pytest
from eth_account import Account

from bilateral.client.operations import confirmations
from bilateral.core.contracts import Registry
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import (
    InsufficientFundsError,
    NotSentError,
    TransactionDroppedError,
    TransactionFailedError,
    TransactionPendingError,
    TransactionReplacedError,
    UnexpectedAnswerError,
)
from tests.sdk.client.helpers import nonce_of, plain, send
from tests.sdk.client.unreliable import answers, refuses, times

pytestmark = pytest.mark.one_client


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
    with pytest.raises(
        InsufficientFundsError, match=f"the balance is {cost - 1} wei, but the transaction may cost {cost}"
    ):
        price.give_feedback(agent, 1)


def test_a_dry_run_of_a_contract_account_needs_no_ether(connect, web3, agent):
    """Its paymaster pays, and wants the call data."""
    wallet = Account.create()
    web3.provider.make_request("anvil_setCode", [wallet.address, "0x00"])
    tried = connect(wallet, dry_run=True).give_feedback(agent, 1)
    assert web3.eth.get_balance(wallet.address) == 0
    assert tried.transaction["data"]
    with pytest.raises(InsufficientFundsError):
        connect(wallet).give_feedback(agent, 1)


def test_a_dry_run_refuses_what_the_registry_would(connect, owner, agent):
    with pytest.raises(ContractRevertError) as caught:
        connect(owner, dry_run=True).give_feedback(agent, 1)
    assert caught.value.reason == "self_feedback"


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
    monkeypatch.setattr(confirmations, "LAG_SECONDS", 0.1)
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
        handle.wait(60)
    assert caught.value.hash == handle.hash


def test_confirmations_are_waited_for(connect, newcomer, agent, held):
    handle = connect(newcomer).give_feedback(agent, 1)
    held()
    assert handle.wait(0.1).value == 1
    with pytest.raises(TransactionPendingError):
        handle.wait(0.1, confirmations=2)
    held()
    assert handle.wait(0.1, confirmations=2).value == 1


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


def test_a_transaction_that_the_node_still_knows_is_not_called_replaced(connect, node, newcomer, agent, monkeypatch):
    """One of two nodes behind one name counts the nonce already, and the other has no receipt yet."""
    monkeypatch.setattr(confirmations, "LAG_SECONDS", 0)
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    node.interference["eth_getTransactionReceipt"] = times(2, answers(None))
    assert handle.wait(60).value == 1


def test_a_receipt_without_the_event_is_told_with_the_hash(connect, node, newcomer, agent):
    def without_logs(_, forward):
        answer = forward()
        return {**answer, "result": {**answer["result"], "logs": []}}

    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    node.interference["eth_getTransactionReceipt"] = without_logs
    with pytest.raises(UnexpectedAnswerError, match="without emitting NewFeedback") as caught:
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


def test_a_transaction_that_nobody_can_look_up_is_not_called_dropped(connect, node, newcomer, agent, held):
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    node.interference["eth_getTransactionByHash"] = refuses("busy")
    with pytest.raises(TransactionPendingError):
        handle.wait(0.05)
    node.interference["eth_getTransactionByHash"] = answers(None)
    node.interference["eth_getTransactionReceipt"] = times(1, answers(None), then=refuses("busy"))
    with pytest.raises(TransactionPendingError):
        handle.wait(0)


def test_the_receipt_of_another_clients_feedback_is_not_taken_for_ours(
    connect, node, web3, agent, reviewer, other_reviewer
):
    foreign = connect(other_reviewer).give_feedback(agent, 1)
    foreign.wait()
    receipt = web3.provider.make_request("eth_getTransactionReceipt", [foreign.hash])["result"]

    def swap(parameters, _):
        (asked,) = parameters
        disguise = {"from": reviewer.address.lower(), "transactionHash": asked}
        return {"jsonrpc": "2.0", "result": receipt | disguise}

    node.interference["eth_getTransactionReceipt"] = swap
    with pytest.raises(UnexpectedAnswerError, match=f"but with values other than .*client_address={reviewer.address}"):
        connect(reviewer, to=node.url).give_feedback(agent, 2).wait()
