"""What a deployed registry says about itself."""

from __future__ import annotations

import pytest
from eth_abi.abi import encode
from eth_utils import function_signature_to_4byte_selector

ZERO_ADDRESS = "0x0000000000000000000000000000000000000000"
ERROR_SELECTOR = function_signature_to_4byte_selector("Error(string)")
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
def test_what_has_no_code_is_no_identity_registry(project, chain, stranger, account):
    address = ZERO_ADDRESS if account == "zero address" else stranger.address
    creation = project.AuthorizedReputationRegistry.constructor.serialize_transaction(address)
    call = {"from": stranger.address, "data": creation.data.to_0x_hex()}
    response = chain.provider.web3.provider.make_request("eth_call", [call, "latest"])
    reason = ERROR_SELECTOR + encode(["string"], ["bad identity"])
    assert response["error"]["data"] == f"0x{reason.hex()}"


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
