"""Surface of the registry: its identity registry, version, functions, events and interfaces."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS
from eth_utils import keccak

from tests.reputation import surface
from tests.surface import events, functions

CONTRACTS = ["ReputationRegistry", "BidirectionalReputationRegistry"]


@pytest.fixture(scope="session")
def selectors():
    def selectors(interface):
        return [bytes(keccak(text=method.selector)[:4]) for method in interface.contract_type.view_methods] + [
            bytes(keccak(text=method.selector)[:4]) for method in interface.contract_type.mutable_methods
        ]

    return selectors


@pytest.fixture
def no_explorer(networks, monkeypatch):
    """Keep Ape from a query of a public block explorer for the address of the missing contract."""
    monkeypatch.setitem(networks.provider.network.__dict__, "explorer", None)


@pytest.mark.usefixtures("no_explorer")
@pytest.mark.parametrize("name", CONTRACTS)
def test_zero_address_is_refused_as_identity_registry(project, deployer, name):
    with ape.reverts("bad identity"):
        deployer.deploy(getattr(project, name), ZERO_ADDRESS)


@pytest.mark.usefixtures("no_explorer")
@pytest.mark.parametrize("name", CONTRACTS)
def test_account_without_code_is_refused_as_identity_registry(project, deployer, stranger, name):
    with ape.reverts("bad identity"):
        deployer.deploy(getattr(project, name), stranger)


@pytest.mark.parametrize("name", CONTRACTS)
def test_registry_names_its_identity_registry(project, deployer, identity, name):
    assert deployer.deploy(getattr(project, name), identity).getIdentityRegistry() == identity


def test_version_is_that_of_the_surface(reputation):
    assert reputation.getVersion() == "2.0.0"


def test_interface_is_that_of_its_functions(project, reputation, selectors):
    interface_id = 0
    for selector in selectors(project.IReputationRegistry):
        interface_id ^= int.from_bytes(selector)
    assert reputation.supportsInterface(interface_id.to_bytes(4))


def test_interface_of_erc_165_is_supported(reputation):
    assert reputation.supportsInterface("0x01ffc9a7")


@pytest.mark.parametrize("interface_id", ["0xffffffff", "0x00000000", "0x80ac58cd"])
def test_other_interfaces_are_not_supported(reputation, interface_id):
    assert not reputation.supportsInterface(interface_id)


def test_eip_712_domain_is_readable(reputation, chain):
    _, name, version, chain_id, contract, salt, extensions = reputation.eip712Domain()
    assert (name, version, chain_id, contract) == (
        "ERC8004ReputationRegistry",
        "1",
        chain.chain_id,
        reputation.address,
    )
    assert (bytes(salt), list(extensions)) == (bytes(32), [])


def test_registry_takes_no_ether(reputation, stranger):
    with pytest.raises(ape.exceptions.TransactionError):
        stranger.transfer(reputation, 1)


@pytest.mark.parametrize("name", CONTRACTS)
def test_functions_and_events_are_those_of_the_deployed_registries(project, name):
    contract = getattr(project, name)
    assert functions(contract).items() >= surface.FUNCTIONS.items()
    assert events(contract) >= surface.EVENTS


def test_registry_has_no_other_functions_and_events(reputation):
    assert functions(reputation) == surface.FUNCTIONS
    assert events(reputation) == surface.EVENTS
