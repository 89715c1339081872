"""A client that names no deployment uses the canonical registries; this project's only by name."""

from __future__ import annotations

import json

import pytest

from bilateral.client import Client, Clients
from bilateral.core.contracts import Deployment, deployments
from bilateral.core.contracts.origin import Origin
from bilateral.core.errors import InvalidArgumentError, UnknownDeploymentError, WrongChainError
from tests.sdk.deployed.world import CANONICAL, CHAIN_ID, OWNER, REVIEWER

OURS = "0x" + "11" * 20


@pytest.fixture
def packaged(monkeypatch, tmp_path):
    """The package carries a record of this project's registries on the chain too."""
    (tmp_path / "deployments").mkdir()
    (tmp_path / "abi").symlink_to(deployments.files("bilateral") / "abi")
    record = {"chainId": CHAIN_ID, "contracts": {"IdentityRegistry": {"address": OURS}}}
    (tmp_path / "deployments" / f"{CHAIN_ID}.json").write_text(json.dumps(record))
    monkeypatch.setattr(deployments, "files", lambda _: tmp_path)


def test_an_agent_is_registered_rated_and_read_without_naming_a_deployment(url, loader):
    with Client(url, signer=OWNER, loader=loader) as owner, Client(url, signer=REVIEWER, loader=loader) as reviewer:
        agent = owner.register_agent("https://agent.example").wait().agent
        reviewer.give_feedback(agent, 87, "starred").wait()
        assert owner.get_reputation_summary(agent, "starred").average == 87
        assert owner.get_deployment() == CANONICAL


@pytest.mark.usefixtures("packaged")
def test_the_canonical_deployment_comes_before_this_projects(canonical):
    assert canonical.connect().get_deployment() == CANONICAL
    assert canonical.connect(deployment="canonical").get_deployment() == CANONICAL


@pytest.mark.usefixtures("packaged")
def test_this_projects_deployment_is_used_where_it_is_named(canonical):
    for name in ("bilateral", Origin.BILATERAL):
        deployment = canonical.connect(deployment=name).get_deployment()
        assert (deployment.identity, deployment.origin) == (OURS, Origin.BILATERAL)


def test_a_deployment_that_is_given_comes_before_both(canonical):
    deployment = Deployment(CHAIN_ID, CANONICAL.identity)
    assert canonical.connect(deployment=deployment).get_deployment() is deployment


def test_a_name_without_a_packaged_deployment_is_an_error(canonical):
    with pytest.raises(UnknownDeploymentError, match="no packaged bilateral deployment for chain 8453") as caught:
        canonical.connect(deployment="bilateral").get_deployment()
    assert (caught.value.chain_id, caught.value.origin) == (CHAIN_ID, "bilateral")


def test_another_name_is_refused(canonical):
    with pytest.raises(InvalidArgumentError, match='expected a Deployment, "canonical" or "bilateral"'):
        canonical.connect(deployment="ours")


def test_a_deployment_of_another_chain_is_refused_with_both_chains(canonical):
    with pytest.raises(WrongChainError, match="serves chain 8453, but the deployment is on chain 1"):
        canonical.connect(deployment=Deployment.canonical(1)).get_deployment()


@pytest.mark.usefixtures("packaged")
def test_clients_of_several_chains_choose_alike(url):
    ours = Deployment(CHAIN_ID, OURS)
    with Clients({CHAIN_ID: url}) as clients:
        assert clients.of(f"{CHAIN_ID}:0").get_deployment() == CANONICAL
    with Clients({CHAIN_ID: url}, deployment="bilateral") as clients:
        assert clients.on(CHAIN_ID).get_deployment().origin is Origin.BILATERAL
    with Clients({CHAIN_ID: url}, deployments=[ours], deployment="canonical") as clients:
        assert clients.on(CHAIN_ID).get_deployment() is ours


def test_a_read_on_a_chain_costs_no_request_more_than_with_a_given_deployment(node, canonical):
    asked = []
    for deployment in (None, CANONICAL):
        node.methods.clear()
        canonical.connect(rpc=node.url, deployment=deployment).load_agent(canonical.agent, load_file=False)
        asked.append(list(node.methods))
    assert asked[0] == asked[1] == ["eth_chainId", "eth_call", "eth_call", "eth_call"]
