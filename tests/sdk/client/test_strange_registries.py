"""Registries that answer or log impossible values: the error blames the registry, not the caller."""

from __future__ import annotations

import pytest
from eth_abi import encode
from eth_account import Account

from bilateral.core.errors import UnexpectedAnswerError
from tests.sdk.client.unreliable import answers

pytestmark = pytest.mark.one_client

ONE = ["int128", "uint8", "string", "string", "bool"]
ALL = ["address[]", "uint64[]", "int128[]", "uint8[]", "string[]", "string[]", "bool[]"]


def logging(change):
    """A node in whose receipts the registry's logs have other data."""

    def interfere(_, forward):
        answer = forward()
        for log in answer["result"]["logs"]:
            log["data"] = "0x" + change(bytes.fromhex(log["data"][2:])).hex()
        return answer

    return interfere


def with_word(number, value):
    """Data with another word in one place."""
    return lambda data: data[: 32 * number] + value.to_bytes(32) + data[32 * (number + 1) :]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (with_word(0, 0), r"index, 0, is not between 1 and 2\^64 - 1"),
        (with_word(2, 19), "decimals 19 is out of range"),
        (with_word(1, 10**38 + 1), "1e38"),
        (lambda data: data[:64], "NewFeedback in an unexpected form"),
        (lambda _: b"", "NewFeedback in an unexpected form"),
    ],
    ids=["index", "decimals", "value", "cut", "empty"],
)
def test_an_invalid_feedback_event_is_an_error_with_the_hash(connect, node, newcomer, agent, change, told):
    handle = connect(newcomer, to=node.url).give_feedback(agent, 1)
    node.interference["eth_getTransactionReceipt"] = logging(change)
    with pytest.raises(UnexpectedAnswerError, match=told) as caught:
        handle.wait(60)
    assert caught.value.transaction == handle.hash
    assert handle.hash in str(caught.value)


@pytest.mark.parametrize("length", [1, 19, 21])
def test_an_invalid_wallet_is_an_error_with_the_hash(connect, node, owner, agent, length):
    wallet = Account.create()
    handle = connect(owner, to=node.url).set_agent_wallet(agent, wallet.address, new_wallet_signer=wallet)
    value = encode(["string", "bytes"], ["agentWallet", bytes(length)])
    node.interference["eth_getTransactionReceipt"] = logging(lambda _: value)
    with pytest.raises(UnexpectedAnswerError, match="is not an EVM address") as caught:
        handle.wait(60)
    assert caught.value.transaction == handle.hash


@pytest.mark.parametrize(("value", "decimals"), [(1, 19), (10**38 + 1, 0)])
def test_a_value_out_of_range_is_the_registrys_error(connect, node, reviewer, agent, value, decimals):
    client = connect(to=node.url)
    node.interference["eth_call"] = answers("0x" + encode(ONE, [value, decimals, "", "", False]).hex())
    with pytest.raises(UnexpectedAnswerError, match="ReputationRegistry returned an invalid value") as caught:
        client.get_feedback(agent, reviewer.address, 0)
    assert caught.value.transaction is None
    columns = [[reviewer.address], [1], [value], [decimals], [""], [""], [False]]
    node.interference["eth_call"] = answers("0x" + encode(ALL, columns).hex())
    with pytest.raises(UnexpectedAnswerError, match="ReputationRegistry returned an invalid value"):
        client.read_all_feedback(agent)


def test_the_greatest_value_that_a_registry_holds_is_read(connect, node, reviewer, agent):
    node.interference["eth_call"] = answers("0x" + encode(ONE, [10**38, 18, "", "", False]).hex())
    assert connect(to=node.url).get_feedback(agent, reviewer.address, 0).value == 10**20


def test_feedback_index_zero_is_the_registrys_error(connect, node, reviewer, agent):
    columns = [[reviewer.address], [0], [1], [0], [""], [""], [False]]
    node.interference["eth_call"] = answers("0x" + encode(ALL, columns).hex())
    with pytest.raises(UnexpectedAnswerError, match="ReputationRegistry returned an invalid value"):
        connect(to=node.url).read_all_feedback(agent)


def test_an_event_with_feedback_index_zero_is_the_registrys_error(connect, node, reviewer, agent):
    client = connect(reviewer, to=node.url)
    client.append_response(client.give_feedback(agent, 1).wait().id, response="yes").wait()

    def with_index_0(_, forward):
        answer = forward()
        for log in answer["result"]:
            log["data"] = "0x" + with_word(0, 0)(bytes.fromhex(log["data"][2:])).hex()
        return answer

    node.interference["eth_getLogs"] = with_index_0
    for read in (client.get_responses, client.get_feedback):
        with pytest.raises(UnexpectedAnswerError, match=r"index, 0, is not between 1 and 2\^64 - 1"):
            read(agent, reviewer.address, 0)


@pytest.mark.parametrize("columns", [([True], []), ([], [7]), ([True] * 2, [7] * 2)])
def test_ratings_of_others_than_were_asked_for_are_refused(connect, node, agent, columns):
    node.interference["eth_call"] = answers("0x" + encode(["bool[]", "uint8[]"], columns).hex())
    with pytest.raises(UnexpectedAnswerError, match="lists of the wrong length for getClientRatings"):
        connect(to=node.url).get_client_ratings([agent], agent)
