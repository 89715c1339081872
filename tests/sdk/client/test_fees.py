"""Fees that a node quotes are signed up to a limit; pending transactions are sped up and cancelled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bilateral.core.contracts import max_fees_of
from bilateral.core.errors import (
    FeeLimitError,
    InvalidArgumentError,
    NotSentError,
    TransactionReplacedError,
)
from tests.sdk.client.helpers import nonce_of
from tests.sdk.client.unreliable import answers, refuses

pytestmark = pytest.mark.one_client

GWEI = 10**9
MAX_FEE, MAX_TIP = 500 * GWEI, 50 * GWEI  # of a chain that the address book lacks


def quotes(base, tip):
    """A node's history of fees with one base fee and one tip."""
    return answers({"baseFeePerGas": [hex(base)] * 11, "reward": [[hex(tip)]] * 10})


@pytest.mark.parametrize(
    ("base", "tip", "fees"),
    [
        (GWEI, MAX_TIP, (2 * GWEI + MAX_TIP, MAX_TIP)),
        (450 * GWEI, MAX_TIP, (MAX_FEE, MAX_TIP)),
    ],
    ids=["tip at the limit", "both at the limit"],
)
def test_fees_up_to_the_default_limits_are_signed(connect, node, newcomer, agent, base, tip, fees):
    node.interference["eth_feeHistory"] = quotes(base, tip)
    tried = connect(newcomer, to=node.url, dry_run=True).give_feedback(agent, 1).transaction
    assert (tried["maxFeePerGas"], tried["maxPriorityFeePerGas"]) == fees


@pytest.mark.parametrize(
    ("base", "tip", "problem"),
    [
        (GWEI, MAX_TIP + 1, "tip per gas of 50000000001 wei exceeds the limit of 50000000000"),
        (46 * GWEI, 453 * GWEI, "tip per gas"),
        (450 * GWEI + 1, MAX_TIP, "fee per gas of 500000000001 wei exceeds"),
        (GWEI, 1_000_000 * GWEI, "tip per gas"),
    ],
)
def test_fees_beyond_the_default_limits_are_not_signed(connect, node, newcomer, agent, web3, base, tip, problem):
    node.interference["eth_feeHistory"] = quotes(base, tip)
    with pytest.raises(FeeLimitError, match=f"{problem}.*raise max_fee_per_gas"):
        connect(newcomer, to=node.url).give_feedback(agent, 1)
    assert ("eth_sendRawTransaction" in node.methods, nonce_of(web3, newcomer)) == (False, 0)


@pytest.mark.parametrize("tips", [[], [["0x0"]]])
def test_a_tip_that_the_node_suggests_is_limited_too(connect, node, newcomer, agent, tips):
    node.interference["eth_feeHistory"] = answers({"baseFeePerGas": [hex(GWEI)], "reward": tips})
    node.interference["eth_maxPriorityFeePerGas"] = answers(hex(MAX_TIP + 1))
    with pytest.raises(FeeLimitError, match="tip per gas"):
        connect(newcomer, to=node.url).give_feedback(agent, 1)


def test_a_gas_price_is_limited_too(connect, node, newcomer, agent):
    node.interference["eth_feeHistory"] = refuses("the method does not exist", -32601)
    node.interference["eth_gasPrice"] = answers(hex(MAX_TIP))
    client = connect(newcomer, to=node.url, dry_run=True)
    assert client.give_feedback(agent, 1).transaction["gasPrice"] == MAX_TIP
    node.interference["eth_gasPrice"] = answers(hex(MAX_TIP + 1))
    with pytest.raises(FeeLimitError, match="gas price"):
        client.give_feedback(agent, 1)


@pytest.mark.parametrize(
    ("chain_id", "fee", "tip"),
    [(1, 500, 10), (8453, 500, 10), (137, 5000, 500), (296, 5000, 5000), (2345, 25, 1), (84532, 500, 50)],
)
def test_limits_of_fee_and_tip_are_the_chains_own(chain_id, fee, tip):
    assert max_fees_of(chain_id) == (fee * GWEI, tip * GWEI)


@pytest.mark.parametrize(("chain_id", "base", "tip"), [(296, 710, 0), (137, 700, 30)], ids=["Hedera", "Polygon"])
def test_usual_base_fees_of_a_chain_are_signed_by_default_up_to_its_own_limit(
    connect, node, newcomer, agent, deployment, chain_id, base, tip
):
    limit = max_fees_of(chain_id)[0]
    node.interference["eth_chainId"] = answers(hex(chain_id))
    node.interference["eth_feeHistory"] = quotes(base * GWEI, tip * GWEI)
    node.interference["eth_maxPriorityFeePerGas"] = answers("0x0")
    client = connect(newcomer, to=node.url, dry_run=True, deployment=replace(deployment, chain_id=chain_id))
    assert client.give_feedback(agent.token_id, 1).transaction["maxFeePerGas"] == (2 * base + tip) * GWEI
    node.interference["eth_feeHistory"] = quotes(limit + 1, tip * GWEI)
    with pytest.raises(FeeLimitError, match=f"fee per gas of .* exceeds the limit of {limit}"):
        client.give_feedback(agent.token_id, 1)


@pytest.mark.parametrize("chain_id", [1, 84532])
@pytest.mark.parametrize("base", [GWEI, 46 * GWEI])
def test_no_number_of_the_node_raises_a_tip_beyond_the_limit_of_the_chain(
    connect, node, newcomer, agent, deployment, chain_id, base
):
    node.interference["eth_chainId"] = answers(hex(chain_id))
    node.interference["eth_feeHistory"] = quotes(base, max_fees_of(chain_id)[1])
    client = connect(newcomer, to=node.url, dry_run=True, deployment=replace(deployment, chain_id=chain_id))
    assert client.give_feedback(agent.token_id, 1).transaction["maxPriorityFeePerGas"] == max_fees_of(chain_id)[1]
    node.interference["eth_feeHistory"] = quotes(base, max_fees_of(chain_id)[1] + 1)
    with pytest.raises(FeeLimitError, match="tip per gas"):
        client.give_feedback(agent.token_id, 1)


def test_a_replacement_pays_no_larger_tip_than_the_limit(connect, node, newcomer, agent, held):
    node.interference["eth_feeHistory"] = quotes(GWEI, 45 * GWEI)
    handle = connect(newcomer, to=node.url).give_feedback(agent, 7)
    for replace_ in (handle.speed_up, handle.cancel):
        with pytest.raises(FeeLimitError, match="maxPriorityFeePerGas of 50625000001 wei"):
            replace_()


def test_an_explicit_limit_replaces_the_default_ones(connect, node, newcomer, agent):
    node.interference["eth_feeHistory"] = quotes(GWEI, 900 * GWEI)
    raised = connect(newcomer, to=node.url, dry_run=True, max_fee_per_gas=901 * GWEI)
    tried = raised.give_feedback(agent, 1).transaction
    assert (tried["maxFeePerGas"], tried["maxPriorityFeePerGas"]) == (901 * GWEI, 900 * GWEI)
    with pytest.raises(FeeLimitError) as caught:
        connect(newcomer, to=node.url, max_fee_per_gas=901 * GWEI - 1).give_feedback(agent, 1)
    assert (caught.value.wei, caught.value.limit) == (901 * GWEI, 901 * GWEI - 1)


def test_a_transaction_may_cost_as_much_as_the_limit_and_no_more(connect, node, newcomer, agent):
    node.interference["eth_feeHistory"] = quotes(GWEI, GWEI)
    tried = connect(newcomer, to=node.url, dry_run=True).give_feedback(agent, 1).transaction
    cost = tried["gas"] * tried["maxFeePerGas"]
    assert connect(newcomer, to=node.url, dry_run=True, max_cost=cost).give_feedback(agent, 1).hash is None
    with pytest.raises(FeeLimitError, match=f"cost of {cost} wei exceeds the limit of {cost - 1}: .* raise max_cost"):
        connect(newcomer, to=node.url, max_cost=cost - 1).give_feedback(agent, 1)


@pytest.mark.parametrize("name", ["max_fee_per_gas", "max_cost"])
def test_a_limit_below_zero_is_invalid(connect, name):
    with pytest.raises(InvalidArgumentError, match=f"{name} is -1 wei"):
        connect(**{name: -1})


def test_a_pending_transaction_is_sped_up(connect, newcomer, agent, held, web3):
    handle = connect(newcomer).give_feedback(agent, 7)
    faster = handle.speed_up()
    assert faster.hash != handle.hash
    assert faster.transaction["nonce"] == handle.transaction["nonce"]
    for name in ("maxFeePerGas", "maxPriorityFeePerGas"):
        assert faster.transaction[name] >= handle.transaction[name] * 1.125
    held()
    assert faster.wait().value == 7
    assert web3.eth.get_transaction_receipt(faster.hash)["status"] == 1


def test_a_faster_transaction_accepts_that_the_slower_one_was_in_time(connect, node, newcomer, agent, held):
    handle = connect(newcomer, to=node.url).give_feedback(agent, 7)
    held()
    node.interference["eth_getTransactionReceipt"] = lambda _, forward: (
        {"result": None} if node.methods.count("eth_getTransactionReceipt") == 1 else forward()
    )
    assert handle.speed_up().hash == handle.hash  # the first look missed the receipt, and the node refused the nonce
    assert handle.wait().value == 7
    assert handle.speed_up().hash == handle.hash


def test_a_pending_transaction_is_cancelled(connect, newcomer, agent, held, web3, impatient):
    client = connect(newcomer)
    handle = client.give_feedback(agent, 7)
    cancelled = handle.cancel()
    held()
    assert cancelled.wait() is True
    assert web3.eth.get_transaction(cancelled.hash)["to"] == newcomer.address
    with pytest.raises(TransactionReplacedError):
        handle.wait(60)
    assert client.get_clients(agent) == []


def test_a_transaction_of_another_program_is_found_and_replaced(connect, newcomer, agent, held, web3):
    sent = connect(newcomer).give_feedback(agent, 7)
    transaction = connect(newcomer).find_transaction(str(sent.hash))
    fields = ("to", "data", "value", "nonce", "gas", "chainId", "maxFeePerGas", "maxPriorityFeePerGas")
    assert [transaction.transaction[name] for name in fields] == [sent.transaction[name] for name in fields]
    faster = transaction.speed_up()
    held()
    assert (faster.wait(), sent.hash != faster.hash) == (True, True)
    assert web3.eth.get_transaction_receipt(faster.hash)["status"] == 1


def test_a_dry_run_finds_a_transaction_and_replaces_nothing(connect, newcomer, agent, held, web3):
    sent = connect(newcomer).give_feedback(agent, 7)
    transaction = connect(newcomer, dry_run=True).find_transaction(str(sent.hash))
    assert (transaction.speed_up().hash, transaction.cancel().hash) == (None, None)
    held()
    assert sent.wait().value == 7


def test_a_transaction_in_a_block_is_not_cancelled(connect, newcomer, agent):
    handle = connect(newcomer).give_feedback(agent, 7)
    handle.wait()
    with pytest.raises(TransactionReplacedError, match="has already been mined, so it cannot be cancelled"):
        handle.cancel()


def test_a_replacement_keeps_to_the_limits(connect, node, newcomer, agent, held, web3):
    node.interference["eth_feeHistory"] = quotes(GWEI, GWEI)
    handle = connect(newcomer, to=node.url, max_fee_per_gas=3 * GWEI).give_feedback(agent, 7)
    with pytest.raises(FeeLimitError):
        handle.speed_up()
    with pytest.raises(FeeLimitError):
        handle.cancel()
    assert nonce_of(web3, newcomer) == 1


def test_a_replacement_does_not_forget_later_nonces(connect, newcomer, agent, held):
    client = connect(newcomer)
    first, second = client.give_feedback(agent, 1), client.give_feedback(agent, 2)
    first.speed_up()
    assert client.give_feedback(agent, 3).transaction["nonce"] == second.transaction["nonce"] + 1


@pytest.mark.parametrize("method", ["speed_up", "cancel"])
def test_a_dry_run_can_be_neither_sped_up_nor_cancelled(connect, newcomer, agent, method):
    with pytest.raises(NotSentError, match="nothing was sent"):
        getattr(connect(newcomer, dry_run=True).give_feedback(agent, 1), method)()
