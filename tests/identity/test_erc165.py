"""`supportsInterface`, and the functions and events that clients of the deployed registries expect."""

from __future__ import annotations

from functools import reduce

import pytest
from eth_utils import keccak

from tests.identity.surface import (
    AGENT_DIRECTORY_FUNCTIONS,
    CONSTANTS,
    EVENTS,
    IDENTITY_REGISTRY_FUNCTIONS,
    TOKEN_FUNCTIONS,
)
from tests.surface import events, functions


def interface_id(signatures):
    """Return the interface id of ERC-165: the exclusive or of all selectors."""
    selectors = (int.from_bytes(keccak(text=signature)[:4], "big") for signature in signatures)
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


def test_functions_are_those_that_clients_call_and_no_others(identity):
    known = IDENTITY_REGISTRY_FUNCTIONS | AGENT_DIRECTORY_FUNCTIONS | TOKEN_FUNCTIONS | CONSTANTS
    assert functions(identity) == known


def test_events_have_the_topics_and_the_indexed_fields_that_clients_filter(identity):
    assert events(identity) == EVENTS
