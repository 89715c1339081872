"""Others read this client's writes with the ABI alone, and this client reads theirs."""

from __future__ import annotations

import base64
import json

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils.crypto import keccak
from web3.logs import DISCARD

from bilateral.client import Client
from bilateral.core.contracts import Registry
from bilateral.core.errors import HashMismatchError
from bilateral.documents import RegistrationFile, prepare_feedback_file
from tests.sdk.client.helpers import plain, transact

pytestmark = pytest.mark.parametrize("connect", [Client], indirect=True)  # what comes back does not depend on it


@pytest.fixture
def identity(web3, deployment):
    return plain(web3, Registry.IDENTITY, deployment.identity)


@pytest.fixture
def reputation(web3, deployment):
    return plain(web3, Registry.REPUTATION, deployment.reputation)


def inline(uri):
    """The document in a data URI, decoded as anybody would."""
    return base64.b64decode(uri.partition(",")[2])


def test_others_read_our_registration(connect, owner, identity, web3):
    file = RegistrationFile.new("Agent", "Does things", "https://agent.example/i.png")
    handle = connect(owner).register_agent(file=file, metadata={"key": b"\x01\x02"})
    agent = handle.wait().agent.token_id
    assert identity.functions.ownerOf(agent).call() == owner.address
    assert identity.functions.getAgentWallet(agent).call() == owner.address
    assert identity.functions.getMetadata(agent, "key").call() == b"\x01\x02"
    assert json.loads(inline(identity.functions.tokenURI(agent).call()))["name"] == "Agent"
    (event,) = identity.events.Registered().process_receipt(web3.eth.get_transaction_receipt(handle.hash), DISCARD)
    assert (event["args"]["agentId"], event["args"]["owner"]) == (agent, owner.address)


def test_others_accept_our_wallet_proof(connect, owner, agent, identity):
    wallet = Account.create()
    connect(owner).set_agent_wallet(agent, wallet.address, new_wallet_signer=wallet).wait()
    assert identity.functions.getAgentWallet(agent.token_id).call() == wallet.address


def test_others_read_our_feedback(connect, reviewer, agent, reputation, web3):
    file = prepare_feedback_file(text="Good", capability="tools", name="analyzer")
    handle = connect(reviewer).give_feedback(agent, "99.77", "uptime", "week", "https://a.example", file)
    handle.wait()
    token = agent.token_id
    read = reputation.functions.readFeedback(token, reviewer.address, 1).call()
    assert read == [9977, 2, "uptime", "week", False]
    assert reputation.functions.getSummary(token, [reviewer.address], "uptime", "").call() == [1, 9977, 2]
    receipt = web3.eth.get_transaction_receipt(handle.hash)
    (event,) = reputation.events.NewFeedback().process_receipt(receipt, DISCARD)
    content = inline(event["args"]["feedbackURI"])
    assert keccak(content) == event["args"]["feedbackHash"]
    parsed = json.loads(content)
    assert (parsed["text"], parsed["mcp"], parsed["value"], parsed["valueDecimals"]) == (
        "Good",
        {"tool": "analyzer"},
        9977,
        2,
    )


def test_we_read_what_others_registered(connect, owner, identity, web3):
    uri = "data:application/json," + json.dumps({"name": "Theirs", "endpoints": [], "unknown": [1, 2]})
    register = identity.get_function_by_signature("register(string,(string,bytes)[])")
    receipt = transact(web3, register(uri, [("key", b"\xff")]), owner)
    (event,) = identity.events.Registered().process_receipt(receipt, DISCARD)
    agent = connect().load_agent(event["args"]["agentId"])
    assert (agent.name, agent.owner, agent.wallet, agent.uri) == ("Theirs", owner.address, owner.address, uri)
    assert agent.file.model_extra == {"unknown": [1, 2]}
    assert connect().get_metadata(agent.id, "key") == b"\xff"


def test_we_read_a_wallet_that_others_proved(connect, owner, agent, identity, deployment, web3):
    wallet = Account.create()
    deadline = web3.eth.get_block("latest")["timestamp"] + 100
    message = encode_typed_data(
        {
            "name": "ERC8004IdentityRegistry",
            "version": "1",
            "chainId": deployment.chain_id,
            "verifyingContract": deployment.identity,
        },
        {
            "AgentWalletSet": [
                {"name": "agentId", "type": "uint256"},
                {"name": "newWallet", "type": "address"},
                {"name": "owner", "type": "address"},
                {"name": "deadline", "type": "uint256"},
            ]
        },
        {"agentId": agent.token_id, "newWallet": wallet.address, "owner": owner.address, "deadline": deadline},
    )
    signature = wallet.sign_message(message).signature
    transact(web3, identity.functions.setAgentWallet(agent.token_id, wallet.address, deadline, signature), owner)
    assert connect().load_agent(agent).wallet == wallet.address


def as_python_sdk(file):
    """The hash that agent0's Python SDK gives, whatever it stores."""
    return keccak(json.dumps(file, sort_keys=True).encode())


def as_javascript(file):
    """Return the hash of the result of `JSON.stringify`."""
    return keccak(json.dumps(file, separators=(",", ":"), ensure_ascii=False).encode())


@pytest.mark.parametrize(
    ("hashed", "variant"),
    [
        (as_python_sdk, "agent0-py's form with sorted names"),
        (as_javascript, "the compact form (JSON.stringify)"),
    ],
)
def test_we_read_feedback_whose_hash_is_of_another_serialisation(
    connect, reviewer, agent, reputation, web3, hashed, variant
):
    file = {"text": "Théirs", "agentId": agent.token_id, "a2a": {"skills": ["b", "a"]}}
    uri = "data:application/json;base64," + base64.b64encode(json.dumps(file, indent=4).encode()).decode()
    call = reputation.functions.giveFeedback(agent.token_id, 85, 0, "starred", "", "", uri, hashed(file))
    transact(web3, call, reviewer)
    entry = connect().get_feedback(agent, reviewer.address, 0)
    assert (entry.value, entry.text, entry.file.a2a.skills) == (85, "Théirs", ["b", "a"])
    assert isinstance(entry.file_problem, HashMismatchError)
    assert entry.file_problem.variant == variant
    assert entry.file_problem.expected == hashed(file)


def test_tampered_feedback_is_refused(connect, reviewer, agent, reputation, web3):
    uri = "data:application/json," + json.dumps({"text": "Tampered"})
    transact(web3, reputation.functions.giveFeedback(agent.token_id, 1, 0, "", "", "", uri, b"\1" * 32), reviewer)
    entry = connect().get_feedback(agent, reviewer.address, 0)
    assert (entry.file, entry.text) == (None, "")
    assert isinstance(entry.file_problem, HashMismatchError)
    assert (entry.file_problem.variant, entry.file_problem.expected) == (None, b"\1" * 32)


def test_we_read_a_right_hash(connect, reviewer, agent, reputation, web3):
    content = json.dumps({"text": "Theirs", "rating": 5}).encode()
    uri = "data:application/json;base64," + base64.b64encode(content).decode()
    transact(web3, reputation.functions.giveFeedback(agent.token_id, 1, 0, "", "", "", uri, keccak(content)), reviewer)
    entry = connect().get_feedback(agent, reviewer.address, 0)
    assert (entry.text, entry.file_problem, entry.file.model_extra) == ("Theirs", None, {"rating": 5})


def test_we_read_what_others_revoked_and_answered(connect, reviewer, payer, agent, reputation, web3):
    token = agent.token_id
    transact(web3, reputation.functions.giveFeedback(token, 1, 0, "", "", "", "", bytes(32)), reviewer)
    answered = reputation.functions.appendResponse(token, reviewer.address, 1, "ipfs://answer", b"\2" * 32)
    transact(web3, answered, payer)
    transact(web3, reputation.functions.revokeFeedback(token, 1), reviewer)
    (answer,) = connect().get_responses(agent, reviewer.address, 0)
    assert (answer.responder, answer.uri, answer.hash) == (payer.address, "ipfs://answer", b"\2" * 32)
    assert connect().get_feedback(agent, reviewer.address, 0).is_revoked
