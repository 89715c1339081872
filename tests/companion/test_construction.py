"""A companion belongs to one identity registry, and accepts no contract that could not be one."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS
from eth_utils import keccak

from tests.delegation import delegate
from tests.deployed import deploy_behind_proxy

SUPPORTS_INTERFACE = keccak(text="supportsInterface(bytes4)")[:4]
OWNER_OF = keccak(text="ownerOf(uint256)")[:4]
GET_AGENT_WALLET = keccak(text="getAgentWallet(uint256)")[:4]


@pytest.fixture(autouse=True)
def _no_explorer(monkeypatch, networks):
    """Ape would query a public block explorer for the address of the missing contract."""
    monkeypatch.setitem(networks.provider.network.__dict__, "explorer", None)


def test_companion_names_its_identity_registry(companion, identity):
    assert companion.getIdentityRegistry() == identity.address


def test_registry_without_agents_has_a_companion(project, deployer):
    empty = deploy_behind_proxy(project, deployer, "MockDeployedIdentityRegistry")
    assert deployer.deploy(project.CompanionDirectory, empty).getAgentCount() == 0


@pytest.mark.parametrize("name", ["IdentityRegistry", "MockWalletToken"])
def test_token_with_wallets_has_a_companion(project, deployer, name):
    token = deployer.deploy(getattr(project, name))
    assert deployer.deploy(project.CompanionDirectory, token).getIdentityRegistry() == token.address


def test_companion_of_a_companion_answers_as_the_first(project, deployer, companion, identity, agent, owner):
    second = deployer.deploy(project.CompanionDirectory, companion)
    assert (second.ownerOf(agent), second.isAuthorizedOrOwner(owner, agent)) == (owner, True)


@pytest.mark.parametrize("account", ["zero address", "account without code"])
def test_account_is_refused(project, deployer, stranger, account):
    with ape.reverts("bad identity"):
        deployer.deploy(project.CompanionDirectory, ZERO_ADDRESS if account == "zero address" else stranger)


def test_account_with_delegated_code_is_refused(project, networks, deployer, stranger, identity):
    delegate(networks.provider.web3, stranger, identity, deployer)
    with ape.reverts("bad identity"):
        deployer.deploy(project.CompanionDirectory, stranger)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("MockBatcher", SUPPORTS_INTERFACE),
        ("ValidationRegistry", SUPPORTS_INTERFACE),
        ("IdentityAgreesWithEverything", SUPPORTS_INTERFACE),
        ("IdentityHasEveryAgent", OWNER_OF),
        ("IdentityWithoutWallets", GET_AGENT_WALLET),
        ("IdentityRefusesUnknownFunctions", GET_AGENT_WALLET),
    ],
)
def test_contract_that_lacks_a_function_is_refused_with_its_name(project, deployer, identity, name, missing):
    arguments = [identity] if name == "ValidationRegistry" else []
    contract = deployer.deploy(getattr(project, name), *arguments)
    with ape.reverts(
        project.CompanionDirectory.NotAnIdentityRegistry, identityRegistry=contract.address, selector=missing
    ):
        deployer.deploy(project.CompanionDirectory, contract)


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (OWNER_OF, b""),
        (OWNER_OF, bytes(31)),
        (OWNER_OF, bytes(31) + b"\x01"),
        (GET_AGENT_WALLET, b""),
        (GET_AGENT_WALLET, bytes(31)),
        (GET_AGENT_WALLET, bytes(31) + b"\x01"),
    ],
)
def test_wrong_answer_about_an_unknown_agent_is_refused(project, deployer, identity, function, answer):
    registry = deployer.deploy(project.IdentityReturnsJunk, identity)
    registry.turn(function, answer, sender=deployer)
    with ape.reverts(
        project.CompanionDirectory.NotAnIdentityRegistry, identityRegistry=registry.address, selector=function
    ):
        deployer.deploy(project.CompanionDirectory, registry)


@pytest.mark.parametrize("function", [OWNER_OF, GET_AGENT_WALLET])
def test_revert_without_data_is_refused(project, deployer, identity, function):
    registry = deployer.deploy(project.IdentityReverts, identity)
    registry.turn(function, b"", sender=deployer)
    with ape.reverts(
        project.CompanionDirectory.NotAnIdentityRegistry, identityRegistry=registry.address, selector=function
    ):
        deployer.deploy(project.CompanionDirectory, registry)


def test_zero_address_as_the_owner_of_an_unknown_agent_is_accepted(project, deployer, identity, agent, owner):
    registry = deployer.deploy(project.IdentityReturnsJunk, identity)
    registry.turn(OWNER_OF, bytes(32), sender=deployer)
    companion = deployer.deploy(project.CompanionDirectory, registry)
    with ape.reverts(companion.ERC721NonexistentToken, tokenId=agent):
        companion.ownerOf(agent)
    assert not companion.agentExists(agent)
