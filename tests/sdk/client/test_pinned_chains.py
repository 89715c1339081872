"""The caller pins the chain for which a client signs; without a pin, the first write says which chain it is."""

from __future__ import annotations

import json
import logging
from contextlib import suppress

import pytest

from bilateral import Clients
from bilateral.core.errors import InvalidArgumentError, TransactionDroppedError, WrongChainError
from tests.sdk.client.test_deployments import packaged, record  # noqa: F401  # a fixture
from tests.sdk.client.unreliable import answers

pytestmark = pytest.mark.one_client

BASE = 8453

WRITES = {
    "transaction": lambda client, agent, _: client.set_metadata(agent, "key", b""),
    "authorisation": lambda client, agent, other: client.authorize_feedback(agent, other.address),
    "signed feedback": lambda client, agent, _: client.sign_feedback(agent, 5),
    "replacement": lambda client, *_: client.find_transaction("0x" + "07" * 32),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("named", [None, "canonical", "bilateral"])
def test_a_node_of_another_chain_than_the_pinned_one_gets_no_signature(
    connect, node, owner, reviewer, agent, named, write
):
    node.interference["eth_chainId"] = answers(hex(BASE))
    client = connect(owner, to=node.url, deployment=named, chain_id=31337)
    with pytest.raises(WrongChainError, match="serves chain 8453, but the client is pinned to chain 31337") as caught:
        WRITES[write](client, agent.token_id, reviewer)
    assert (caught.value.expected, caught.value.actual) == (31337, BASE)
    assert set(node.methods) == {"eth_chainId"}


@pytest.fixture
def on_record(packaged, deployment):  # noqa: F811
    """The package carries a record of the chain, whose network has a name."""
    (packaged / "31337.json").write_text(json.dumps(json.loads(record(deployment, 1)) | {"network": "home:made"}))


@pytest.mark.usefixtures("on_record")
def test_the_first_write_without_a_pin_names_the_chain_once(connect, owner, agent, caplog):
    client = connect(owner, deployment=None)
    client.load_agent(agent)
    assert caplog.records == []
    for key in ("first", "second"):
        client.set_metadata(agent, key, b"1").wait()
    (told,) = caplog.records
    assert (told.name, told.levelno) == ("bilateral.client", logging.WARNING)
    assert told.getMessage() == (
        "Signing for chain 31337 (home:made), as reported by the node: to be sure, pass chain_id=31337 or --chain "
        "31337."
    )


@pytest.mark.usefixtures("on_record")
@pytest.mark.parametrize("write", ["authorisation", "signed feedback", "replacement"])
def test_a_signature_without_a_pin_names_the_chain_too(connect, owner, reviewer, agent, caplog, write):
    client = connect(reviewer if write == "signed feedback" else owner, deployment=None)
    with suppress(TransactionDroppedError):  # the node does not know the transaction to replace
        WRITES[write](client, agent, reviewer)
    assert [told.getMessage()[:40] for told in caplog.records] == ["Signing for chain 31337 (home:made), as "]


@pytest.mark.usefixtures("on_record")
@pytest.mark.parametrize("pin", [{"chain_id": 31337, "deployment": None}, {}], ids=["chain_id", "deployment"])
def test_a_write_with_a_pin_says_nothing(connect, owner, agent, caplog, pin):
    connect(owner, **pin).set_metadata(agent, "key", b"1").wait()
    assert caplog.records == []


def test_a_pin_that_contradicts_the_deployment_is_refused(connect):
    with pytest.raises(InvalidArgumentError, match="chain_id is 8453, but the deployment is on chain 31337"):
        connect(chain_id=BASE)


def test_the_clients_of_several_chains_are_pinned(node):
    node.interference["eth_chainId"] = answers(hex(BASE))
    with Clients({1: node.url}) as clients, pytest.raises(WrongChainError, match="pinned to chain 1: "):
        clients.on(1).get_deployment()
