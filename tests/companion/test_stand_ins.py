"""The stand-ins differ from this project's registries as the deployed ones do."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS

from bench.measurement import execution_gas
from bilateral.core.signatures import AgentWalletSet, Domain
from tests.deployed import deploy_behind_proxy, implementation_of
from tests.helpers import logged
from tests.identity.events import registered, wallet_set
from tests.surface import functions

URI = "https://agent.example.com/registration.json"
VALUE = (87, 0, "starred", "", "https://agent.example.com", "ipfs://feedback", bytes(32))
OURS = {
    "IdentityRegistry": {
        "newAgent(string,address)",
        "updateAgent(uint256,string,address)",
        "releaseAgentDomain(uint256)",
        "setPrimaryAgent(uint256)",
        "getAgent(uint256)",
        "resolveByDomain(string)",
        "resolveByAddress(address)",
        "agentExists(uint256)",
        "getAgentCount()",
        "agentOf(address)",
        "resolveRating(address,uint256)",
        "MAX_DEADLINE_DELAY()",
    },
    "ReputationRegistry": {
        "giveFeedbackBySig(address,(uint256,uint64,int128,uint8,string,string,string,string,bytes32),uint256,bytes)",
        "voidSignaturesThrough(uint256)",
        "getVoidedDeadline(address)",
        "eip712Domain()",
        "supportsInterface(bytes4)",
    },
    "ValidationRegistry": {"supportsInterface(bytes4)"},
}
"""The functions of this project's registries that the deployed ones lack."""

UPGRADES = {
    "UPGRADE_INTERFACE_VERSION()",
    "initialize(address)",
    "initialize(address,address)",
    "owner()",
    "proxiableUUID()",
    "renounceOwnership()",
    "transferOwnership(address)",
    "upgradeToAndCall(address,bytes)",
}
"""The functions that the stand-ins have because their code can be replaced."""


@pytest.fixture(scope="module")
def identity(project, deployer):
    return deploy_behind_proxy(project, deployer, "MockDeployedIdentityRegistry")


@pytest.fixture(scope="module")
def reputation(project, deployer, identity):
    return deploy_behind_proxy(project, deployer, "MockDeployedReputationRegistry", identity.address)


@pytest.fixture(scope="module")
def validation(project, deployer, identity):
    return deploy_behind_proxy(project, deployer, "MockDeployedValidationRegistry", identity.address)


@pytest.fixture
def agent(identity, owner):
    identity.register(URI, sender=owner)
    return 0


@pytest.mark.parametrize("name", OURS)
def test_stand_in_has_the_functions_of_the_common_surface(project, name):
    stand_in, ours = functions(getattr(project, f"MockDeployed{name}")), functions(getattr(project, name))
    assert ours.keys() - stand_in.keys() == OURS[name]
    assert stand_in.keys() - ours.keys() <= UPGRADES
    for function in stand_in.keys() & ours.keys():  # they differ in whether a transfer takes ether
        assert stand_in[function].partition(" ")[2] == ours[function].partition(" ")[2]


def test_first_agent_has_id_zero(identity, owner, other_owner):
    first, second = identity.register(URI, sender=owner), identity.register(sender=other_owner)
    minted, *_ = logged(first)
    assert minted == ("Transfer", {"from": ZERO_ADDRESS, "to": owner.address, "tokenId": 0})
    assert logged(first)[-2:] == [registered(0, URI, owner), wallet_set(0, owner)]
    assert logged(second)[-2:] == [registered(1, "", other_owner), wallet_set(1, other_owner)]
    assert (identity.ownerOf(0), identity.ownerOf(1)) == (owner, other_owner)


def test_agent_has_its_uri_and_wallet_behind_the_proxy(identity, agent, owner):
    assert (identity.name(), identity.symbol()) == ("AgentIdentity", "AGENT")
    assert (identity.tokenURI(agent), identity.getAgentWallet(agent)) == (URI, owner)


def test_uri_of_an_unknown_agent_is_refused(identity, agent):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=1):
        identity.tokenURI(1)
    assert identity.getAgentWallet(1) == ZERO_ADDRESS


def test_wallet_consents_by_the_signature_that_clients_know(identity, chain, agent, owner, wallet_key):
    deadline = chain.blocks.head.timestamp + 120
    message = AgentWalletSet(agent, wallet_key.address, owner.address, deadline)
    signature = wallet_key.sign_message(message.signable(Domain(chain.chain_id, identity.address))).encode_rsv()
    identity.setAgentWallet(agent, wallet_key, deadline, signature, sender=owner)
    assert identity.getAgentWallet(agent) == wallet_key
    identity.transferFrom(owner, wallet_key, agent, sender=owner)
    assert identity.getAgentWallet(agent) == ZERO_ADDRESS


def test_owner_of_the_proxy_can_replace_the_code(identity, deployer, stranger, project):
    other = deployer.deploy(project.MockDeployedIdentityRegistry)
    with ape.reverts(identity.OwnableUnauthorizedAccount, account=stranger.address):
        identity.upgradeToAndCall(other, b"", sender=stranger)
    identity.upgradeToAndCall(other, b"", sender=deployer)
    assert implementation_of(identity) == other.address


def test_owner_may_not_rate_its_agent(reputation, agent, owner):
    with ape.reverts("Self-feedback not allowed"):
        reputation.giveFeedback(agent, *VALUE, sender=owner)


def test_summary_is_that_of_the_erc(reputation, agent, client, other_client):
    for giver, value, decimals in ((client, 9977, 2), (client, 35, 0), (other_client, -7, 0)):
        reputation.giveFeedback(agent, value, decimals, "uptime", "day", "", "", bytes(32), sender=giver)
    reputation.revokeFeedback(agent, 2, sender=client)
    everybody = [client.address, other_client.address]
    assert reputation.getSummary(agent, everybody, "uptime", "") == (2, 46, 0)
    assert reputation.getSummary(agent, [client.address], "", "day") == (1, 9977, 2)
    assert reputation.getSummary(agent, everybody, "starred", "") == (0, 0, 0)
    with ape.reverts("clientAddresses required"):
        reputation.getSummary(agent, [], "", "")
    assert reputation.readAllFeedback(agent, [], "", "", True)[0] == [client, client, other_client]


def test_summary_costs_more_with_every_feedback(reputation, project, deployer, agent):
    giver = deployer.deploy(project.MockFeedbackGiver)
    data = reputation.giveFeedback.encode_input(agent, *VALUE)
    costs = []
    for _ in range(2):
        giver.repeat(reputation, data, 20, sender=deployer)
        costs.append(execution_gas(reputation.getSummary, agent, [giver.address], "", ""))
    assert costs[1] - costs[0] > 20 * 2_100  # a cold word of storage each


def test_responses_are_counted(reputation, agent, client, owner, stranger):
    reputation.giveFeedback(agent, *VALUE, sender=client)
    for responder in (owner, owner, stranger):
        reputation.appendResponse(agent, client, 1, "ipfs://response", bytes(32), sender=responder)
    assert reputation.getResponseCount(agent, ZERO_ADDRESS, 0, []) == 3
    assert reputation.getResponseCount(agent, client, 1, [owner.address]) == 2
    assert reputation.getResponseCount(agent, client, 2, []) == 0


def test_validator_answers_the_owners_request(validation, agent, owner, validator, stranger):
    request = bytes(31) + b"\x01"
    with ape.reverts("Not authorized"):
        validation.validationRequest(validator, agent, "", request, sender=stranger)
    validation.validationRequest(validator, agent, "", request, sender=owner)
    assert validation.getSummary(agent, [], "") == (0, 0)
    validation.validationResponse(request, 90, "", bytes(32), "soft", sender=validator)
    assert validation.getSummary(agent, [validator.address], "soft") == (1, 90)
    assert validation.getValidationStatus(request)[:3] == (validator, agent, 90)
