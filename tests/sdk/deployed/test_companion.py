"""Agents of the canonical identity registry rate each other through a companion."""

from __future__ import annotations

import json

import ape
import pytest
from eth_account import Account

from bilateral.core.contracts import REGISTRY_ATTRIBUTES, Deployment
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import MissingFunctionError, UnexpectedAnswerError, WrongIdentityRegistryError
from tests.sdk.client.helpers import deploy
from tests.sdk.deployed.world import CANONICAL, CHAIN_ID


@pytest.fixture
def world(worlds):
    """The canonical registries, with a companion and this project's registries on top."""
    return worlds["with companion"]


@pytest.fixture
def server(world):
    """A client that speaks as an agent of its own."""
    client = world.newcomer()
    client.set_primary_agent(client.register_agent().wait().agent).wait()
    return client


def reason_of(call):
    with pytest.raises(ContractRevertError) as caught:
        call()
    return caught.value.reason


def test_the_deployment_says_whose_each_registry_is(world):
    deployment = world.owner.get_deployment()
    assert (deployment.identity, deployment.reputation) == (CANONICAL.identity, CANONICAL.reputation)
    assert {name: deployment.origin_of(name) for name in REGISTRY_ATTRIBUTES} == {
        "identity": "canonical",
        "reputation": "canonical",
        "validation": "canonical",
        "ratings": "bilateral",
        "authorized": "bilateral",
        "directory": "bilateral",
        "buyers": None,
        "tier_proofs": None,
    }
    report = world.owner.inspect_deployment()
    assert report.problems == ()
    assert {registry.registry: registry.identity_registry for registry in report.registries} == {
        "identity": None,
        "reputation": CANONICAL.identity,
        "ratings": deployment.directory,
        "authorized": deployment.directory,
        "validation": CANONICAL.identity,
        "directory": CANONICAL.identity,
    }


def test_a_rating_is_given_and_read(world, server):
    client = world.reviewer.register_agent().wait().agent
    rate_client = server.rate_client(client, 35).wait()
    assert world.owner.get_client_rating(client, rate_client.server).rating == 35
    assert reason_of(lambda: server.rate_client(client, 90)) == "already_rated"


def test_agent_0_is_rated(world, server):
    rate_validator = server.rate_validator(0, 80).wait()
    assert world.owner.get_validator_rating(0, rate_validator.server).rating == 80


def test_nobody_speaks_as_agent_0(canonical, world):
    owner = canonical.connect().get_agent_owner(0)
    assert reason_of(lambda: world.owner.set_primary_agent(0)) == "nobody_speaks_as_agent_zero"
    with pytest.raises(ContractRevertError):
        world.owner.resolve_by_address(owner)


def test_an_account_speaks_for_no_agent_until_it_chose_one(world):
    newcomer = world.newcomer()
    newcomer.register_agent().wait()
    assert reason_of(lambda: newcomer.rate_client(world.other, 80)) == "rater_not_registered"


def test_an_account_that_handed_its_agent_on_speaks_for_it_no_more(world, server):
    agent = world.owner.resolve_by_address(server.address).agent
    server.transfer_agent(agent, Account.create().address).wait()
    assert reason_of(lambda: server.rate_client(world.other, 80)) == "rater_not_registered"


def test_a_batch_names_proven_agents_only(world, server):
    agents = [world.reviewer.register_agent().wait().agent for _ in range(2)]
    ratings = dict.fromkeys(agents, 70)
    assert reason_of(lambda: server.rate_clients(ratings)) == "rating_refused"
    assert world.payer.prove_agent(agents[1]).wait().is_highest
    assert [rate_client.rating for rate_client in server.rate_clients(ratings).wait()] == [70, 70]
    assert reason_of(lambda: world.payer.prove_agent(10**6)) == "erc721_nonexistent_token"


def test_a_rater_is_found_by_its_choice_and_else_by_its_wallet(world, server):
    chosen = world.owner.resolve_by_address(server.address)
    assert world.owner.resolve_rater(server.address).agent.id == chosen.agent
    newcomer = world.newcomer()
    agent = newcomer.register_agent().wait().agent
    assert world.owner.resolve_rater(newcomer.address).agent.id == agent


def test_domains_stay_with_this_projects_identity_registry(world):
    for call in (
        lambda: world.owner.new_agent("a.example"),
        lambda: world.owner.update_agent(world.agent, domain="a.example"),
        lambda: world.owner.release_agent_domain(world.agent),
        lambda: world.owner.resolve_by_domain("a.example"),
    ):
        with pytest.raises(MissingFunctionError, match="domains require this project's IdentityRegistry"):
            call()


def record(**contracts):
    places = {name: {"address": address} for name, address in contracts.items()}
    return Deployment.from_record(json.dumps({"chainId": CHAIN_ID, "contracts": places}))


def test_a_companion_of_another_identity_registry_is_named(world, web3):
    identity = deploy(web3, ape.project.IdentityRegistry)
    companion = deploy(web3, ape.project.CompanionDirectory, identity)
    with pytest.raises(WrongIdentityRegistryError, match=f"belongs to the identity registry {identity}") as caught:
        world.connect(deployment=record(CompanionDirectory=companion)).get_deployment()
    error = caught.value
    assert (error.registry, error.address) == ("directory", companion)
    assert (error.expected, error.found) == (CANONICAL.identity, identity)


def test_ratings_on_another_companion_are_named(world, web3):
    directory = world.owner.get_deployment().directory
    other = deploy(web3, ape.project.CompanionDirectory, CANONICAL.identity)
    ratings = deploy(web3, ape.project.BidirectionalReputationRegistry, other)
    mixed = record(CompanionDirectory=directory, BidirectionalReputationRegistry=ratings)
    with pytest.raises(WrongIdentityRegistryError, match=f"belongs to the identity registry {other}") as caught:
        world.connect(deployment=mixed).load_agent(0)
    assert (caught.value.registry, caught.value.expected) == ("ratings", CANONICAL.identity)


def test_a_companion_that_is_another_contract_is_named(world):
    nowhere = Account.create().address
    for address in (nowhere, CANONICAL.identity):
        with pytest.raises(UnexpectedAnswerError, match=f"another contract is at {address}, where CompanionDirectory"):
            world.connect(deployment=record(CompanionDirectory=address)).get_deployment()
