"""Deployments: the packaged records, and the client's use of them."""

from __future__ import annotations

import json

import pytest

from bilateral.client import Client
from bilateral.core.contracts import Deployment, deployments, packaged_deployment
from bilateral.core.errors import DeploymentRecordError
from scripts.abi import PACKAGED_RECORDS, RECORDS, public_records


def record(deployment, block):
    """A record as the deployment script writes it, of all registries in one block."""
    names = {
        "IdentityRegistry": deployment.identity,
        "BidirectionalReputationRegistry": deployment.reputation,
        "AuthorizedReputationRegistry": deployment.authorized,
        "ValidationRegistry": deployment.validation,
    }
    contracts = {name: {"address": address, "block": block} for name, address in names.items()}
    return json.dumps({"chainId": deployment.chain_id, "network": "a:b", "contracts": contracts})


@pytest.fixture
def packaged(monkeypatch, tmp_path):
    """A folder in place of the package's own, with its ABIs."""
    (tmp_path / "abi").symlink_to(PACKAGED_RECORDS.with_name("abi"))
    monkeypatch.setattr(deployments, "files", lambda _: tmp_path)
    (tmp_path / "deployments").mkdir()
    return tmp_path / "deployments"


def test_the_package_carries_every_public_record():
    assert public_records(PACKAGED_RECORDS) == public_records(RECORDS), "run `make abi`"


def test_the_record_of_a_development_chain_is_nobodys(tmp_path):
    for name in ("1337.json", "31337.json", "8453.json", "8453-former.json", "parameters.yaml", ".8453.lock"):
        (tmp_path / name).write_text(name)
    assert public_records(tmp_path) == {"8453.json": "8453.json"}


def test_a_deployment_is_found_by_the_nodes_chain(packaged, rpc, deployment, agent):
    (packaged / "31337.json").write_text(record(deployment, 1))
    with Client(rpc) as client:
        assert client.load_agent(agent).id == agent
        assert client.get_deployment() == Deployment(**vars(deployment) | {"first_block": 1})


def test_logs_are_looked_for_from_the_first_block(packaged, node, deployment, agent, reviewer, connect):
    (packaged / "31337.json").write_text(record(deployment, 2))
    connect(reviewer).give_feedback(agent, 1).wait()
    asked = []
    node.interference["eth_getLogs"] = lambda parameters, forward: asked.append(parameters[0]) or forward()
    with Client(node.url) as client:
        client.get_feedback(agent, reviewer.address, 0)
    assert [entry["fromBlock"] for entry in asked] == ["0x2"]


def test_a_contract_of_unknown_block_may_be_anywhere(deployment):
    assert Deployment.from_record(record(deployment, None)).first_block == 0


def test_a_chain_without_a_record_has_none(packaged):
    assert packaged_deployment(31337) is None


def test_a_record_that_cannot_be_read_is_told(packaged):
    (packaged / "31337.json").write_text("{}")
    with pytest.raises(DeploymentRecordError, match="chainId: Field required"):
        packaged_deployment(31337)
