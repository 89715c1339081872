"""Open feedback by the client: giving, reading, answering, revoking."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from bilateral.client import FeedbackResponse, FeedbackRevocation, ResponseLink
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import (
    InvalidArgumentError,
    MalformedIdentifierError,
    UnrepresentableValueError,
)
from bilateral.core.identifiers import AgentId, FeedbackId
from bilateral.core.values import FeedbackValue
from bilateral.documents import DataUriStore, prepare_feedback_file
from tests.sdk.client.helpers import nonce_of

pytestmark = pytest.mark.one_client

HASH = b"\xab" * 32


def test_the_least_feedback_is_a_value(connect, reviewer, agent):
    client = connect(reviewer)
    entry = client.give_feedback(agent, 85).wait()
    assert entry.id == FeedbackId(agent, reviewer.address, 1)
    assert (entry.value, entry.tags, entry.is_revoked, entry.text) == (Decimal(85), (), False, "")
    assert (entry.event.endpoint, entry.event.uri, entry.event.hash) == ("", "", bytes(32))


def test_feedback_is_read_as_it_was_given(connect, reviewer, agent, web3):
    client = connect(reviewer)
    handle = client.give_feedback(agent, "99.77", "uptime", "week", "https://mcp.example")
    feedback = handle.wait()
    read = client.get_feedback(agent, reviewer.address, 0)
    assert read == client.get_feedback(feedback.id)
    assert (read.id, read.value, read.stored) == (feedback.id, Decimal("99.77"), FeedbackValue(9977, 2))
    assert (read.tags, read.event.endpoint) == (("uptime", "week"), "https://mcp.example")
    assert read.event.transaction == handle.hash
    block = web3.eth.get_block(read.event.block)
    assert read.event.given_at == datetime.fromtimestamp(block["timestamp"], UTC)


def test_feedback_comes_with_a_file(connect, reviewer, agent, deployment):
    client = connect(reviewer)
    file = prepare_feedback_file(text="Good", capability="tools", name="analyzer", endpoint="https://a.example")
    feedback = client.give_feedback(str(agent), 85, "starred", "finance", feedback_file=file).wait()
    assert feedback.event.endpoint == "https://a.example"
    read = client.get_feedback(feedback.id)
    assert (read.text, read.file.mcp.tool, read.file_problem) == ("Good", "analyzer", None)
    assert read.file.agent_registry == str(deployment.agent_registry)
    assert read.file.agent_id == agent.token_id
    assert read.file.client_address == f"eip155:{deployment.chain_id}:{reviewer.address}"
    assert (read.file.value, read.file.tag1, read.file.tag2) == (85, "starred", "finance")
    assert client.get_feedback(feedback.id, load_file=False).file is None


def test_a_file_may_be_kept_elsewhere(connect, reviewer, agent):
    stored = DataUriStore().put(b'{"text":"Elsewhere"}')
    client = connect(reviewer)
    link = {"feedback_uri": stored.uri, "feedback_hash": "0x" + stored.hash.hex()}
    assert client.get_feedback(client.give_feedback(agent, 1, **link).wait().id).text == "Elsewhere"


def test_a_feedback_value_is_stored_as_it_is(connect, reviewer, agent):
    assert connect(reviewer).give_feedback(agent, FeedbackValue(10**38, 18), "starred").wait().stored.value == 10**38


@pytest.mark.parametrize(
    ("value", "tag1", "tag2"),
    [(1.5, "", ""), (101, "starred", ""), (2, "reachable", ""), ("1e3", "", ""), (1, "tradingYield", "decade")],
)
def test_a_value_without_meaning_is_refused(connect, reviewer, agent, value, tag1, tag2):
    with pytest.raises(UnrepresentableValueError):
        connect(reviewer).give_feedback(agent, value, tag1, tag2)


@pytest.mark.parametrize(
    "arguments",
    [
        {"feedback_file": prepare_feedback_file(text="x"), "feedback_uri": "data:,"},
        {"feedback_uri": "data:,", "feedback_hash": b"short"},
        {"feedback_uri": "data:,", "feedback_hash": "0xno"},
        {"feedback_hash": HASH},
        {"tag1": "\ud800"},
    ],
)
def test_arguments_that_do_not_fit_are_refused(connect, reviewer, agent, arguments):
    with pytest.raises(InvalidArgumentError):
        connect(reviewer).give_feedback(agent, 1, **arguments)


def test_an_owner_does_not_rate_its_own_agent(connect, owner, agent, web3):
    before = nonce_of(web3, owner)
    with pytest.raises(ContractRevertError) as caught:
        connect(owner).give_feedback(agent, 100)
    assert caught.value.reason == "self_feedback"
    assert caught.value.advice == "Rate from an account that is neither owner nor operator."
    assert nonce_of(web3, owner) == before


def test_an_unknown_agent_is_not_rated(connect, reviewer):
    with pytest.raises(ContractRevertError) as caught:
        connect(reviewer).give_feedback(2**200, 1)
    assert caught.value.reason == "erc721_nonexistent_token"
    assert caught.value.arguments == {"tokenId": 2**200}


def test_feedback_that_does_not_exist_is_refused(connect, agent, reviewer):
    with pytest.raises(ContractRevertError) as caught:
        connect().get_feedback(agent, reviewer.address, 0)
    assert caught.value.reason == "index_out_of_bounds"
    with pytest.raises(MalformedIdentifierError):
        connect().get_feedback(agent, reviewer.address, -1)


def test_feedback_is_named_wholly_and_once(connect, agent, reviewer):
    client = connect(reviewer)
    for named in [(agent,), (agent, reviewer.address), (FeedbackId(agent, reviewer.address, 1), reviewer.address)]:
        with pytest.raises(InvalidArgumentError, match="a feedback id"):
            client.get_feedback(*named)
    elsewhere = FeedbackId(AgentId(1, 1), reviewer.address, 1)
    with pytest.raises(MalformedIdentifierError, match="its chain is 1"):
        client.get_feedback(elsewhere)


def test_a_text_answers_feedback(connect, reviewer, owner, agent):
    feedback = connect(reviewer).give_feedback(agent, 10).wait()
    client = connect(owner)
    result = client.append_response(agent, reviewer.address, 0, response="We have mended it").wait()
    assert (result.feedback, result.responder) == (feedback.id, owner.address)
    assert client.get_responses(feedback.id) == [result]
    document = client.state.loader.load(result.uri, result.hash)
    assert b'"text":"We have mended it"' in document.content


@pytest.mark.parametrize(
    "response",
    [
        ResponseLink("ipfs://answer", HASH),
        {"uri": "ipfs://answer", "hash": HASH},
        {"uri": "ipfs://answer", "hash": "0x" + HASH.hex()},
    ],
)
def test_a_link_answers_feedback(connect, reviewer, payer, agent, response):
    feedback = connect(reviewer).give_feedback(agent, 10).wait()
    client = connect(payer)
    result = client.append_response(feedback.id, response=response).wait()
    assert result == FeedbackResponse(feedback.id, payer.address, "ipfs://answer", HASH)


@pytest.mark.parametrize("response", [{}, {"uri": 1}, {"uri": "x", "text": "y"}, 7])
def test_another_response_is_refused(connect, reviewer, agent, response):
    with pytest.raises(InvalidArgumentError, match="response"):
        connect(reviewer).append_response(agent, reviewer.address, 0, response=response)


def test_an_empty_uri_answers_nothing(connect, reviewer, agent):
    feedback = connect(reviewer).give_feedback(agent, 10).wait()
    with pytest.raises(ContractRevertError) as caught:
        connect(reviewer).append_response(feedback.id, response=ResponseLink(""))
    assert caught.value.reason == "empty_uri"


def test_answers_to_other_feedback_are_others(connect, reviewer, payer, agent):
    client = connect(reviewer)
    client.give_feedback(agent, 1).wait()
    second = client.give_feedback(agent, 2).wait()
    answerer = connect(payer)
    answerer.append_response(agent, reviewer.address, 0, response="first").wait()
    answer = answerer.append_response(agent, reviewer.address, 1, response="second").wait()
    assert client.get_responses(second.id) == [answer]


def test_feedback_is_revoked_once(connect, reviewer, agent, web3):
    client = connect(reviewer)
    feedback = client.give_feedback(agent, 1).wait()
    assert client.revoke_feedback(agent, 0).wait() == FeedbackRevocation(feedback.id)
    assert client.get_feedback(feedback.id).is_revoked
    assert client.read_all_feedback(agent) == []
    assert [entry.is_revoked for entry in client.read_all_feedback(agent, include_revoked=True)] == [True]
    before = nonce_of(web3, reviewer)
    with pytest.raises(ContractRevertError) as caught:
        client.revoke_feedback(feedback.id)
    assert caught.value.reason == "already_revoked"
    assert nonce_of(web3, reviewer) == before


def test_nobody_revokes_anothers_feedback(connect, reviewer, other_reviewer, agent):
    feedback = connect(reviewer).give_feedback(agent, 1).wait()
    with pytest.raises(InvalidArgumentError, match="only that client can revoke"):
        connect(other_reviewer).revoke_feedback(feedback.id)


def test_a_client_that_gave_nothing_has_nothing_to_revoke(connect, reviewer, agent):
    with pytest.raises(ContractRevertError) as caught:
        connect(reviewer).revoke_feedback(agent, 0)
    assert caught.value.reason == "index_out_of_bounds"


def test_a_file_is_dated_by_when_it_was_given(connect, reviewer, agent):
    client = connect(reviewer)
    feedback = client.give_feedback(agent, 1, feedback_file=prepare_feedback_file(text="x")).wait()
    created = client.get_feedback(feedback.id).file.created
    assert abs(created - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_response_may_be_the_fourth_argument(connect, reviewer, agent):
    client = connect(reviewer)
    feedback = client.give_feedback(agent, 10).wait()
    link = {"uri": "ipfs://answer", "hash": HASH}
    result = client.append_response(str(agent), reviewer.address, feedback.id.index, link).wait()
    assert result == FeedbackResponse(feedback.id, reviewer.address, "ipfs://answer", HASH)


@pytest.mark.parametrize("response", [None, ""])
def test_an_answer_that_says_nothing_is_refused(connect, reviewer, agent, response):
    with pytest.raises(InvalidArgumentError, match="a response must be a string"):
        connect(reviewer).append_response(agent, reviewer.address, 0, response)
