"""Nodes that cannot be reached, take too long, or answer nonsense: an error that says so, and never something else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from web3 import AsyncHTTPProvider, HTTPProvider

from bilateral.client import Client
from bilateral.core.contracts import Deployment
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import (
    InvalidArgumentError,
    MalformedNodeAnswerError,
    MissingRegistryError,
    NodeError,
    NodeTimeoutError,
    NodeUnreachableError,
    UnexpectedAnswerError,
    UnknownDeploymentError,
    WrongChainError,
)
from tests.sdk.client.unreliable import answers, refuses, times

pytestmark = pytest.mark.one_client


def test_a_node_that_is_not_there_is_told(connect):
    with pytest.raises(NodeUnreachableError) as caught:
        connect(to="http://127.0.0.1:9/secret-key").get_deployment()
    assert isinstance(caught.value, ConnectionError)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("status", [500, 401, 429])
def test_an_http_error_is_told(connect, node, status):
    node.interference["eth_chainId"] = lambda *_: status
    with pytest.raises(NodeUnreachableError, match=f"HTTP status {status}"):
        connect(to=node.url).get_deployment()


def test_a_read_is_tried_again(connect, node, deployment):
    node.interference["eth_chainId"] = times(2, lambda *_: 503)
    assert connect(to=node.url).get_deployment() == deployment


def test_a_node_that_does_not_answer_is_told(connect, node):
    node.interference["eth_chainId"] = lambda *_: None
    with pytest.raises(NodeTimeoutError) as caught:
        connect(to=node.url, request_timeout=1.0).get_deployment()
    assert isinstance(caught.value, TimeoutError)
    assert node.methods == ["eth_chainId"]


@pytest.mark.parametrize(
    "junk", [b"<html>", b"[]", b"{}", b"\xff\xfe", b"", b"7", b'{"result"', pytest.param(b"[" * 100_000, id="brackets")]
)
def test_an_answer_that_is_not_json_rpc_is_an_error(connect, node, junk):
    node.interference["eth_chainId"] = lambda *_: junk
    with pytest.raises(MalformedNodeAnswerError, match="JSON-RPC"):
        connect(to=node.url).get_deployment()


@pytest.mark.parametrize("result", ["7", "0x", None, 7, [], "0xzz", "0x" + "1" * 70])
def test_an_invalid_number_is_an_error(connect, node, result):
    node.interference["eth_chainId"] = answers(result)
    with pytest.raises(MalformedNodeAnswerError, match="a number"):
        connect(to=node.url).get_deployment()


@pytest.mark.parametrize("result", ["0x1", None, 7, "no"])
def test_invalid_bytes_are_an_error(connect, node, result, agent):
    node.interference["eth_call"] = answers(result)
    with pytest.raises(MalformedNodeAnswerError, match="bytes"):
        connect(to=node.url).load_agent(agent)


@pytest.mark.parametrize("result", ["0x", "0x" + "ff" * 32])
def test_an_answer_that_the_registry_never_gives_is_told(connect, node, result, agent):
    node.interference["eth_call"] = answers(result)
    with pytest.raises(UnexpectedAnswerError):
        connect(to=node.url).load_agent(agent)


@pytest.mark.parametrize("result", [None, {}, [7], [{}], [{"topics": "x"}], [{"topics": ["0x"], "data": 1}]])
def test_invalid_logs_are_an_error(connect, node, result, agent, reviewer):
    connect(reviewer).give_feedback(agent, 1).wait()
    node.interference["eth_getLogs"] = answers(result)
    with pytest.raises(MalformedNodeAnswerError):
        connect(to=node.url).get_feedback(agent, reviewer.address, 0)


@pytest.mark.parametrize("error", ["busy", 7, {"code": "x"}, {"message": "\x1b[2J"}])
def test_an_error_in_any_form_is_told_harmlessly(connect, node, error):
    node.interference["eth_chainId"] = lambda *_: {"error": error}
    with pytest.raises(NodeError) as caught:
        connect(to=node.url).get_deployment()
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(("depth", "error"), [(64, NodeError), (65, MalformedNodeAnswerError)])
def test_deeply_nested_brackets_are_an_error(connect, node, depth, error):
    node.interference["eth_chainId"] = lambda *_: b'{"error":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    with pytest.raises(error):
        connect(to=node.url).get_deployment()


@pytest.mark.parametrize(
    "write",
    [
        lambda client, agent, owner, _: client.set_agent_wallet(agent, owner.address),
        lambda client, agent, _, stranger: client.authorize_feedback(agent, stranger.address),
        lambda client, agent, *_: client.sign_feedback(agent, 1),
    ],
    ids=["a wallet", "an authorisation", "a signature"],
)
def test_a_block_in_a_time_after_which_there_is_none_is_told(connect, node, owner, payer, agent, write):
    node.interference["eth_getBlockByNumber"] = answers({"timestamp": hex(LAST_SECOND + 1)})
    with pytest.raises(MalformedNodeAnswerError, match="before the year 9999"):
        write(connect(owner, to=node.url), agent, owner, payer)


def test_a_block_in_the_last_year_after_which_there_is_one_is_read(connect, node, reviewer, agent):
    connect(reviewer).give_feedback(agent, 1).wait()
    node.interference["eth_getBlockByNumber"] = answers({"timestamp": hex(LAST_SECOND)})
    entry = connect(to=node.url).get_feedback(agent, reviewer.address, 0)
    assert entry.event.given_at == datetime(9998, 12, 31, 23, 59, 59, tzinfo=UTC)


LAST_SECOND = int(datetime(9998, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())


REVERT = "0x08c379a0" + f"{32:064x}" + f"{14:064x}" + b"Not authorized".hex() + "00" * 18


@pytest.mark.parametrize(
    "error",
    [
        {"code": 3, "message": "execution reverted: Not authorized", "data": REVERT},
        {"code": -32000, "message": "execution reverted", "data": REVERT},
        {"code": -32015, "message": "VM execution error.", "data": f"Reverted {REVERT}"},
        {"code": -32603, "message": "Internal error", "data": {"message": "reverted", "data": REVERT}},
        {"code": -32000, "message": "VM Exception", "data": {"result": REVERT}},
    ],
)
def test_a_revert_is_understood_however_a_node_reports_it(connect, node, owner, agent, error):
    node.interference["eth_estimateGas"] = lambda *_: {"error": error}
    with pytest.raises(ContractRevertError) as caught:
        connect(owner, to=node.url).set_metadata(agent, "key", b"")
    assert caught.value.reason == "not_authorized"


def test_a_revert_that_an_estimate_does_not_explain_is_looked_up(connect, node, other_owner, agent):
    node.interference["eth_estimateGas"] = refuses("execution reverted")
    with pytest.raises(ContractRevertError) as caught:
        connect(other_owner, to=node.url).set_metadata(agent, "key", b"")
    assert caught.value.reason == "not_authorized"


def test_a_revert_that_nothing_explains_is_still_one(connect, node, owner, agent):
    node.interference["eth_estimateGas"] = refuses("execution reverted")
    with pytest.raises(ContractRevertError) as caught:
        connect(owner, to=node.url).set_metadata(agent, "key", b"")
    assert (caught.value.reason, caught.value.error) == ("reverted", "")


def test_a_node_of_another_chain_is_refused(connect, deployment):
    elsewhere = Deployment(84532, deployment.identity)
    with pytest.raises(WrongChainError) as caught:
        connect(deployment=elsewhere).get_deployment()
    assert (caught.value.expected, caught.value.actual) == (84532, 31337)


def test_a_chain_without_a_record_is_refused_with_what_to_give(rpc):
    with Client(rpc) as client, pytest.raises(UnknownDeploymentError, match=r"deployment=Deployment\(31337, identity="):
        client.get_deployment()


def test_a_deployment_without_a_registry_says_which(connect, deployment, agent):
    identity_only = Deployment(deployment.chain_id, deployment.identity)
    with pytest.raises(MissingRegistryError, match="no reputation registry"):
        connect(deployment=identity_only).get_clients(agent)
    assert connect(deployment=identity_only).load_agent(agent).id == agent


def test_the_chain_is_asked_for_once(connect, node, agent):
    client = connect(to=node.url)
    client.load_agent(agent)
    client.load_agent(agent)
    assert node.methods.count("eth_chainId") == 1


def test_a_provider_of_web3_may_be_given(connect, request, rpc, node, agent):
    kind = HTTPProvider if request.node.callspec.params["connect"] is Client else AsyncHTTPProvider
    assert connect(to=kind(rpc)).load_agent(agent).id == agent
    node.interference["eth_chainId"] = lambda *_: b"junk"
    with pytest.raises(MalformedNodeAnswerError):
        connect(to=kind(node.url)).load_agent(agent)


def test_a_lone_surrogate_is_refused_harmlessly(connect, owner, agent):
    with pytest.raises(InvalidArgumentError) as caught:
        connect(owner).set_metadata(agent, "\ud800\x1b[2J", b"")
    assert str(caught.value).isprintable()
