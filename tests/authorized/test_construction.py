"""What a deployed registry says about itself."""

from __future__ import annotations

import ape
import pytest
from eth_utils import function_signature_to_4byte_selector

ZERO_ADDRESS = "0x0000000000000000000000000000000000000000"
ERC165_INTERFACE_ID = "0x01ffc9a7"
NO_INTERFACE_ID = "0xffffffff"

SURFACE = [
    "giveFeedback(uint256,uint8,bytes32,bytes32,string,bytes32,bytes)",
    "getSummary(uint256)",
    "getLastIndex(uint256,address)",
    "getFeedbackCount(uint256)",
    "getFeedback(uint256,uint64)",
    "getFeedbackPage(uint256,uint256,uint256)",
    "getClientFeedbackPage(uint256,address,uint256,uint256)",
    "hashFeedbackAuth((uint256,address,uint64,uint256,uint256))",
]


def test_registry_is_bound_to_its_identity_registry(registry, identity):
    assert registry.getIdentityRegistry() == identity.address


@pytest.mark.parametrize("account", ["zero address", "account without code"])
def test_what_has_no_code_is_no_identity_registry(project, networks, deployer, stranger, monkeypatch, account):
    # Ape would ask a block explorer on the internet about the address that the contract did not get.
    monkeypatch.setitem(networks.provider.network.__dict__, "explorer", None)
    with ape.reverts("bad identity"):
        deployer.deploy(project.AuthorizedReputationRegistry, ZERO_ADDRESS if account == "zero address" else stranger)


def test_interface_id_is_that_of_the_documented_surface(registry):
    interface_id = 0
    for signature in SURFACE:
        interface_id ^= int.from_bytes(function_signature_to_4byte_selector(signature))
    assert registry.supportsInterface(interface_id.to_bytes(4))


def test_registry_supports_erc165(registry):
    assert registry.supportsInterface(ERC165_INTERFACE_ID)
    assert not registry.supportsInterface(NO_INTERFACE_ID)


def test_registry_does_not_claim_another_interface(registry):
    assert not registry.supportsInterface("0x80ac58cd")


def test_eip712_domain_is_readable(registry, chain):
    domain = registry.eip712Domain()
    assert domain.fields.hex().removeprefix("0x") == "0f"
    assert (domain.name, domain.version) == ("AuthorizedReputationRegistry", "1")
    assert (domain.chainId, domain.verifyingContract) == (chain.chain_id, registry.address)
    assert bytes(domain.salt) == bytes(32)
    assert domain.extensions == []
