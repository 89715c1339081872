"""`supportsInterface`, and the functions and events that clients of the deployed registries were compiled against."""

from __future__ import annotations

from functools import reduce

import pytest
from eth_utils import keccak

from tests.identity.surface import (
    AGENT_DIRECTORY_FUNCTIONS,
    EVENTS,
    IDENTITY_REGISTRY_FUNCTIONS,
    TOKEN_FUNCTIONS,
)


def interface_id(functions):
    """ERC-165: the exclusive or of all selectors."""
    selectors = (int.from_bytes(keccak(text=function)[:4], "big") for function in functions)
    return reduce(int.__xor__, selectors).to_bytes(4, "big")


SUPPORTED = {
    "ERC-165": bytes.fromhex("01ffc9a7"),
    "ERC-721": bytes.fromhex("80ac58cd"),
    "ERC-721 metadata": bytes.fromhex("5b5e139f"),
    "ERC-4906": bytes.fromhex("49064906"),
    "IIdentityRegistry": interface_id(IDENTITY_REGISTRY_FUNCTIONS),
    "IAgentDirectory": interface_id(AGENT_DIRECTORY_FUNCTIONS),
}

UNSUPPORTED = {
    "none": bytes.fromhex("00000000"),
    "the invalid one": bytes.fromhex("ffffffff"),
    "ERC-721 enumerable": bytes.fromhex("780e9d63"),
    "ERC-721 receiver": bytes.fromhex("150b7a02"),
    "ERC-1155": bytes.fromhex("d9b67a26"),
}


@pytest.mark.parametrize("interface", SUPPORTED)
def test_interface_is_supported(identity, interface):
    assert identity.supportsInterface(SUPPORTED[interface])


@pytest.mark.parametrize("interface", UNSUPPORTED)
def test_interface_is_not_supported(identity, interface):
    assert not identity.supportsInterface(UNSUPPORTED[interface])


@pytest.mark.parametrize("function", IDENTITY_REGISTRY_FUNCTIONS + AGENT_DIRECTORY_FUNCTIONS + TOKEN_FUNCTIONS)
def test_function_has_the_selector_that_clients_call(identity, function):
    assert keccak(text=function)[:4] in identity.contract_type.methods


@pytest.mark.parametrize("event", EVENTS)
def test_event_has_the_topic_and_the_indexed_fields_that_clients_filter(identity, event):
    abis = {abi.name: abi for abi in identity.contract_type.events}
    name, _ = event.split("(")
    inputs = ",".join(f"{field.type} indexed" if field.indexed else f"{field.type}" for field in abis[name].inputs)
    assert f"{name}({inputs})" == event
