"""A node may die at any request of a deployment: nothing is lost, nothing is paid for twice."""

from __future__ import annotations

import json

import pytest

from scripts._deployment.errors import DeploymentError
from tests.deployment.conftest import BASE_SEPOLIA, connected
from tests.deployment.unreliable import unreliable

MOST_REQUESTS = 200


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
