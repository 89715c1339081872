"""The ABI of the validation registry is that of the deployed registries."""

from __future__ import annotations

from functools import reduce
from operator import xor

import ape
import pytest
from eth_utils import keccak

from tests.surface import events, functions

ZERO_ADDRESS = "0x" + "00" * 20

OWN_FUNCTIONS = {
    "validationRequest(address,uint256,string,bytes32)": "nonpayable",
    "validationResponse(bytes32,uint8,string,bytes32,string)": "nonpayable",
    "getValidationStatus(bytes32)": "view returns (address,uint256,uint8,bytes32,string,uint256)",
    "getSummary(uint256,address[],string)": "view returns (uint64,uint8)",
    "getAgentValidations(uint256)": "view returns (bytes32[])",
    "getValidatorRequests(address)": "view returns (bytes32[])",
    "getVersion()": "pure returns (string)",
}
"""The declarations of `IValidationRegistry`."""

INHERITED_FUNCTIONS = {
    "getIdentityRegistry()": "view returns (address)",
    "supportsInterface(bytes4)": "view returns (bool)",
}

EVENTS = {
    "ValidationRequest(address indexed validatorAddress, uint256 indexed agentId, string requestURI, "
    "bytes32 indexed requestHash)",
    "ValidationResponse(address indexed validatorAddress, uint256 indexed agentId, bytes32 indexed requestHash, "
    "uint8 response, string responseURI, bytes32 responseHash, string tag)",
}


@pytest.fixture
def no_explorer(networks, monkeypatch):
    """Keep Ape from looking up a failed deployment at a block explorer."""
    monkeypatch.setitem(vars(networks.provider.network), "explorer", None)


def selector(signature):
    return keccak(text=signature)[:4]


def test_functions_are_those_of_the_surface_and_no_others(validation):
    assert functions(validation) == OWN_FUNCTIONS | INHERITED_FUNCTIONS


def test_events_are_those_of_the_surface_and_no_others(validation):
    assert events(validation) == EVENTS


def test_version_is_that_of_the_surface(validation):
    assert validation.getVersion() == "2.0.0"


def test_identity_registry_is_the_one_it_was_deployed_with(validation, identity):
    assert validation.getIdentityRegistry() == identity.address


@pytest.mark.usefixtures("no_explorer")
@pytest.mark.parametrize("address", [ZERO_ADDRESS, "0x" + "11" * 20], ids=["zero", "without code"])
def test_registry_is_not_deployed_without_an_identity_registry(project, deployer, address):
    with ape.reverts("bad identity"):
        deployer.deploy(project.ValidationRegistry, address)


def test_erc165_knows_the_registrys_interface(validation):
    interface_id = reduce(xor, (int.from_bytes(selector(signature), "big") for signature in OWN_FUNCTIONS))
    assert validation.supportsInterface(interface_id.to_bytes(4, "big"))


def test_erc165_knows_itself(validation):
    assert validation.supportsInterface("0x01ffc9a7")


@pytest.mark.parametrize("interface_id", ["0xffffffff", "0x80ac58cd", "0x00000000"])
def test_erc165_denies_other_interfaces(validation, interface_id):
    assert not validation.supportsInterface(interface_id)


def test_registry_takes_no_ether(validation):
    contract_type = validation.contract_type
    assert not any(function.is_payable for function in contract_type.mutable_methods)
    assert contract_type.fallback is None
    assert not any(entry.type == "receive" for entry in contract_type.abi)
