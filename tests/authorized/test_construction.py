"""Surface of a deployed registry: functions, events, interfaces and domain."""

from __future__ import annotations

import ape
import pytest
from eth_utils import function_signature_to_4byte_selector

from tests.surface import events, functions

ZERO_ADDRESS = "0x0000000000000000000000000000000000000000"
ERC165_INTERFACE_ID = "0x01ffc9a7"
NO_INTERFACE_ID = "0xffffffff"

FUNCTIONS = {
    "giveFeedback(uint256,uint8,bytes32,bytes32,string,bytes32,bytes)": "nonpayable",
    "getSummary(uint256)": "view returns (uint64,uint8)",
    "getLastIndex(uint256,address)": "view returns (uint64)",
    "getFeedbackCount(uint256)": "view returns (uint64)",
    "getFeedback(uint256,uint64)": "view returns ((uint64,address,uint8,bytes32,bytes32,uint64))",
    "getFeedbackPage(uint256,uint256,uint256)": "view returns ((uint64,address,uint8,bytes32,bytes32,uint64)[])",
    "getClientFeedbackPage(uint256,address,uint256,uint256)": (
        "view returns ((uint64,address,uint8,bytes32,bytes32,uint64)[])"
    ),
    "hashFeedbackAuth((uint256,address,uint64,uint256,uint256))": "view returns (bytes32)",
}
"""The functions of `IAuthorizedReputationRegistry`: FR-008, FR-012, and ours."""

OTHER_FUNCTIONS = {
    "getIdentityRegistry()": "view returns (address)",
    "supportsInterface(bytes4)": "view returns (bool)",
    "eip712Domain()": "view returns (bytes1,string,string,uint256,address,bytes32,uint256[])",
    "MAX_SCORE()": "view returns (uint8)",
}

EVENTS = {
    "NewFeedback(uint256 indexed agentId, address indexed clientAddress, uint8 score, bytes32 indexed tag1, "
    "bytes32 tag2, string fileuri, bytes32 filehash)",
}
"""FR-011, with the indexed fields of the reference implementation of October 2025, which FeedbackAuth names."""


def test_functions_are_those_of_the_specification_and_the_documented_ones(registry):
    assert functions(registry) == FUNCTIONS | OTHER_FUNCTIONS


def test_event_has_the_fields_and_the_indexes_that_clients_filter(registry):
    assert events(registry) == EVENTS


def test_registry_is_bound_to_its_identity_registry(registry, identity):
    assert registry.getIdentityRegistry() == identity.address


@pytest.mark.parametrize("account", ["zero address", "account without code"])
def test_address_without_code_is_refused_as_identity_registry(
    project, networks, deployer, stranger, monkeypatch, account
):
    # Ape would query a public block explorer for the address of the missing contract.
    monkeypatch.setitem(networks.provider.network.__dict__, "explorer", None)
    with ape.reverts("bad identity"):
        deployer.deploy(project.AuthorizedReputationRegistry, ZERO_ADDRESS if account == "zero address" else stranger)


def test_interface_id_is_that_of_the_documented_surface(registry):
    interface_id = 0
    for signature in FUNCTIONS:
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
