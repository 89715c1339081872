"""Several chains: one client each, chosen by the agent's chain."""

from __future__ import annotations

import asyncio

import pytest
from web3 import HTTPProvider, Web3

from bilateral import AsyncClients, Clients, Deployment
from bilateral.core.errors import MalformedIdentifierError, UnknownChainError, WrongChainError
from scripts._anvil import running_anvil
from tests.sdk.client.helpers import deploy

OTHER_CHAIN = 84532


@pytest.fixture(scope="module")
def other_rpc():
    """The URL of a second chain."""
    with running_anvil("--chain-id", str(OTHER_CHAIN)) as url:
        yield url


@pytest.fixture(scope="module")
def other_deployment(other_rpc, project):
    """An identity registry on the second chain."""
    return Deployment(OTHER_CHAIN, identity=deploy(Web3(HTTPProvider(other_rpc)), project.IdentityRegistry))


@pytest.fixture
def clients(rpc, deployment, other_rpc, other_deployment, owner):
    rpcs = {deployment.chain_id: rpc, OTHER_CHAIN: other_rpc}
    settings = {"signer": owner, "poll_interval": 0.02}
    with Clients(rpcs, deployments=[deployment, other_deployment], **settings) as clients:
        yield clients


def test_an_agents_id_chooses_its_chain(clients, agent, owner):
    other = clients.on(OTHER_CHAIN).register_agent("https://other.example").wait().agent
    assert (other.chain_id, agent.chain_id) == (OTHER_CHAIN, 31337)
    assert clients.of(str(other)).load_agent(other, load_file=False).uri == "https://other.example"
    assert clients.of(agent).get_agent_owner(agent) == owner.address
    assert clients.chain_ids == (31337, OTHER_CHAIN)


def test_a_global_id_chooses_its_chain(clients, other_deployment):
    assert clients.of(f"{other_deployment.agent_registry}#1") is clients.on(OTHER_CHAIN)


def test_the_asynchronous_clients_choose_alike(rpc, deployment, agent, owner):
    async def ask():
        async with AsyncClients({deployment.chain_id: rpc}, deployments=[deployment]) as clients:
            return await clients.of(agent).get_agent_owner(agent)

    assert asyncio.run(ask()) == owner.address


def test_an_id_without_a_chain_is_refused(clients):
    with pytest.raises(MalformedIdentifierError, match="the chain is missing"):
        clients.of(42)


def test_a_chain_without_a_node_is_named(clients):
    with pytest.raises(UnknownChainError, match="no node is configured for chain 10, only for 31337, 84532") as refused:
        clients.of("10:42")
    assert (refused.value.chain_id, refused.value.chain_ids) == (10, (31337, OTHER_CHAIN))


def test_a_node_of_another_chain_is_refused(other_rpc, deployment):
    with (
        Clients({deployment.chain_id: other_rpc}, deployments=[deployment]) as clients,
        pytest.raises(WrongChainError),
    ):
        clients.on(deployment.chain_id).get_deployment()
