"""A node may die at any request of a deployment, lag behind or refuse: nothing is lost, nothing is paid for twice."""

from __future__ import annotations

import json

import pytest

from scripts._anvil import running_anvil
from scripts._deployment.errors import DeploymentError
from scripts._deployment.execution import State
from scripts._deployment.records import Records
from tests.deployment.conftest import BASE_SEPOLIA, connected
from tests.deployment.unreliable import unreliable

MOST_REQUESTS = 200


@pytest.mark.sample(1)
@pytest.mark.parametrize("handles_the_last", [False, True], ids=["request lost", "answer lost"])
def test_node_may_die_at_any_request(networks, account, node, plan, records, handles_the_last):
    small = plan[:2]
    with unreliable(node) as proxy, connected(networks, account, proxy.url) as network:
        snapshot, undisturbed = network.request("evm_snapshot"), None
        for dies_at in range(1, MOST_REQUESTS):
            proxy.revive(dies_at, handles_the_last=handles_the_last)
            try:
                list(network.deploy(small, records))
            except DeploymentError:
                proxy.revive()
                list(network.deploy(small, records))
            else:
                undisturbed = proxy.requests
            proxy.revive()
            assert network.sent == len(small)
            assert records.load(BASE_SEPOLIA).contracts.keys() == {contract.name for contract in small}
            assert "pending" not in json.loads(records.path(BASE_SEPOLIA).read_text())
            records.path(BASE_SEPOLIA).unlink()
            network.restore(snapshot)
            snapshot = network.request("evm_snapshot")
            if undisturbed:
                break
    assert undisturbed
    assert undisturbed >= 20


def test_dead_node_is_told_in_one_line(networks, account, node, plan, records):
    with unreliable(node) as proxy, connected(networks, account, proxy.url) as network:
        run = network.deploy(plan, records)
        next(run)
        proxy.revive(dies_at=1)
        with pytest.raises(DeploymentError) as failure:
            next(run)
        assert failure.value.message == (
            "MockRegistry: cut off, and resumed by running the same command again: no answer"
        )


@pytest.fixture
def proxy(node):
    """Passes on to the node, or to another one of the same chain that has seen no block of it."""
    with running_anvil("--chain-id", str(BASE_SEPOLIA)) as lagging, unreliable(node) as proxy:
        proxy.lagging = lagging
        yield proxy


@pytest.fixture
def network(networks, account, proxy):
    with connected(networks, account, proxy.url) as network:
        yield network


def states(outcomes):
    return [outcome.state for outcome in outcomes]


def test_record_is_left_as_it_is_by_a_node_that_lags_behind_the_creation(network, proxy, plan, records):
    list(network.deploy(plan[:1], records))
    before = records.path(BASE_SEPOLIA).read_bytes()
    proxy.lags = {"eth_blockNumber": 1, "eth_getTransactionByHash": 1}
    assert states(network.deploy(plan[:1], records)) == [State.IN_PLACE]
    assert records.path(BASE_SEPOLIA).read_bytes() == before


def test_transaction_of_an_earlier_run_is_not_sent_again_by_a_node_that_lags_behind_it(network, proxy, plan, records):
    network.request("evm_setAutomine", False)
    with pytest.raises(DeploymentError, match="is in no block after 0 s"):
        list(network.deploy(plan[:1], records, timeout=0.3))
    network.request("evm_mine")
    network.request("evm_setAutomine", True)
    proxy.lags = {"eth_getCode": 4}  # two before the transaction is looked up, and two after
    assert states(network.deploy(plan[:1], records)) == [State.DEPLOYED]
    assert network.sent == 1


def test_nonce_is_not_used_again_by_a_node_that_lags_behind_it(network, proxy, plan, records):
    told = []
    run = network.deploy(plan[:2], records, tell=told.append)
    next(run)
    proxy.lags = {"eth_getTransactionCount": 3}
    assert states(run) == [State.DEPLOYED]
    assert proxy.lags["eth_getTransactionCount"] < 3
    assert [message.split()[1] for message in told] == ["sending", "sending"]


FORGOTTEN = {"refused": (403, b""), "missing": (200, b'{"error": {"code": -32000, "message": "missing trie node"}}')}
OVERRUN = {"refused": (429, b""), "limit": (200, b'{"error": {"code": -32005, "message": "limit exceeded"}}')}


@pytest.mark.parametrize("refusal", FORGOTTEN.values(), ids=FORGOTTEN)
def test_contract_is_recorded_without_its_creation_if_the_node_cannot_tell(network, proxy, plan, records, refusal):
    list(network.deploy(plan[:1], records))
    proxy.refusals = {"eth_getBlockByNumber": refusal}
    (outcome,) = network.deploy(plan[:1], Records(records.folder / "other"))
    assert outcome.state is State.FOUND
    assert (outcome.record.transaction, outcome.record.block, outcome.record.deployer) == (None, None, None)


@pytest.mark.parametrize("refusal", OVERRUN.values(), ids=OVERRUN)
def test_contract_is_recorded_later_if_the_node_was_asked_too_much(network, proxy, plan, records, refusal):
    list(network.deploy(plan[:1], records))
    proxy.refusals = {"eth_getBlockByNumber": refusal}
    other = Records(records.folder / "other")
    with pytest.raises(DeploymentError, match=r"^IdentityRegistry: cut off, and resumed by running"):
        list(network.deploy(plan[:1], other))
    proxy.refusals = {}
    assert states(network.deploy(plan[:1], other)) == [State.FOUND]
    assert other.load(BASE_SEPOLIA) == records.load(BASE_SEPOLIA)
