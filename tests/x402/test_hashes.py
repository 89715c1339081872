"""Hashes and signatures are those of the committed vectors, which other libraries made."""

from __future__ import annotations

import json

import pytest
from eth_utils.address import to_checksum_address
from hypothesis import given, settings
from hypothesis import strategies as st

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AccountId, GlobalAgentId
from bilateral.x402 import client_message_hash, interaction_hash, key_from_secret
from bilateral.x402.proof.keys import is_signature_of
from bilateral.x402.proof.profiles import tool_request, tool_response
from tests.x402 import examples
from tests.x402.vectors import FILE, SECRET, digest_of, vectors

VECTORS = json.loads(FILE.read_text(encoding="utf-8"))
AGENT = GlobalAgentId.parse(f"{examples.BASE}:{examples.IDENTITY}#42")


def test_vectors_are_those_of_the_script():
    assert vectors() == VECTORS


@pytest.mark.parametrize("vector", VECTORS["interactions"], ids=lambda value: value["name"])
def test_interaction_hash_is_the_vectors(vector):
    bodies = (bytes.fromhex(vector[name]) for name in ("requestBody", "responseBody"))
    assert "0x" + interaction_hash(vector["taskRef"], *bodies).hex() == vector["interactionHash"]


@pytest.mark.parametrize("algorithm", ["secp256k1", "ed25519"])
@pytest.mark.parametrize("vector", VECTORS["interactions"], ids=lambda value: value["name"])
def test_signature_is_the_vectors(vector, algorithm):
    digest, key = bytes.fromhex(vector["interactionHash"][2:]), key_from_secret(SECRET, algorithm)
    assert key.sign(digest).hex() == vector[algorithm]
    assert key.public_key == VECTORS["publicKeys"][algorithm]
    assert is_signature_of(digest, bytes.fromhex(vector[algorithm]), VECTORS["publicKeys"][algorithm], algorithm)


@pytest.mark.parametrize("vector", VECTORS["clientMessages"], ids=lambda value: str(value["value"]))
def test_client_message_is_the_vectors(vector):
    assert vector["agentRegistry"] == f"{examples.BASE}:{to_checksum_address(examples.IDENTITY)}"
    digest = client_message_hash(AGENT, vector["taskRef"], vector["value"])
    assert "0x" + digest.hex() == vector["clientMessage"]
    assert key_from_secret(SECRET).sign(digest).hex() == vector["clientSignature"]


@pytest.mark.parametrize("value", [-1, 256, 10**38])
def test_value_that_one_byte_cannot_hold_has_no_client_message(value):
    with pytest.raises(InvalidArgumentError, match=f"value {value} is out of range 0..255"):
        client_message_hash(AGENT, "task", value)


def test_tool_calls_are_hashed_in_canonical_form():
    call = VECTORS["toolCall"]
    assert tool_request(**call["request"]).hex() == call["requestBody"]
    content, structured = call["response"]["content"], call["response"]["structuredContent"]
    assert tool_response(content, structured).hex() == call["responseBody"]
    assert tool_response(content) == b'{"content":[{"text":"snow","type":"text"}]}'


@pytest.mark.parametrize("value", [{1: 2}, {"a": float("nan")}, {"a": 2**60}, {"a": b"bytes"}, {"a": "\ud800"}])
def test_tool_call_without_canonical_form_is_refused(value):
    with pytest.raises(InvalidArgumentError, match="cannot be encoded as canonical JSON"):
        tool_request("forecast", value)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    task=st.text(max_size=80).filter(lambda character: character.isascii()),
    request=st.binary(max_size=200),
    response=st.binary(),
)
def test_hash_is_that_of_the_concatenation(task, request, response):
    assert interaction_hash(task, request, response) == digest_of(task.encode(), request, response)


def test_boundary_between_the_bodies_is_not_signed():
    """A property of the specification that `docs/x402.md` warns of: recompute the hash from your own bodies."""
    assert interaction_hash("task", b"ab", b"c") == interaction_hash("task", b"a", b"bc")


def test_agents_whose_texts_run_together_have_one_message():
    """A property of the specification: the parts of the client's message have no boundaries either."""
    registry = AccountId.parse(f"{examples.BASE}:{examples.IDENTITY}")
    message = client_message_hash(GlobalAgentId(registry, "4"), "2:task", 1)
    assert message == client_message_hash(GlobalAgentId(registry, "42"), ":task", 1)
