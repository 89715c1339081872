"""The hash of a document, and hashes of other serialisations that published clients put on chain."""

from __future__ import annotations

import hashlib
import json

import pytest
from eth_utils.crypto import keccak
from hypothesis import given
from hypothesis import strategies as st

from bilateral.core.errors import HashMismatchError
from bilateral.documents import document_hash, verify_hash

FILE = {
    "value": 85,
    "agentId": 42,
    "text": "très bien",
    "ratio": 2.0,
    "a2a": {"taskId": "t", "skills": ["s"], "text": "kept"},
}


@given(st.binary())
def test_the_hash_is_keccak_of_the_bytes(content):
    assert document_hash(content) == keccak(content)
    assert verify_hash(content, keccak(content)) is True


def test_a_zero_hash_on_chain_means_no_hash():
    assert verify_hash(b"anything", bytes(32)) is False


@given(st.binary(max_size=100), st.binary(min_size=32, max_size=32).filter(any))
def test_another_hash_is_a_mismatch_whatever_the_document(content, expected):
    with pytest.raises(HashMismatchError) as refusal:
        verify_hash(content, expected)
    assert (refusal.value.expected, refusal.value.actual) == (expected, keccak(content))
    assert refusal.value.variant is None
    assert refusal.value.reason == "hash_mismatch"


@pytest.mark.parametrize(
    ("hashed", "variant"),
    [
        (json.dumps(FILE, sort_keys=True), "agent0-py's form with sorted names"),
        (
            '{"a2a":{"text":"kept"},"agentId":42,"ratio":2,"text":"très bien","value":85}',
            "agent0-ts's form with sorted names",
        ),
        (
            '{"value":85,"agentId":42,"text":"très bien","ratio":2,"a2a":{"taskId":"t","skills":["s"],"text":"kept"}}',
            "the compact form (JSON.stringify)",
        ),
        (
            '{"a2a":{"skills":["s"],"taskId":"t","text":"kept"},"agentId":42,"ratio":2,"text":"très bien","value":85}',
            "the compact form with sorted names",
        ),
    ],
)
def test_the_known_serialisation_that_was_hashed_is_named(hashed, variant):
    """The published clients store the file indented by 2, and hash it in another form."""
    stored = json.dumps(FILE, indent=2).encode()
    with pytest.raises(HashMismatchError, match="the expected hash is that of") as refusal:
        verify_hash(stored, keccak(hashed.encode()))
    assert refusal.value.variant == variant
    assert variant in str(refusal.value)


def test_an_indented_form_of_a_compact_file_is_named():
    stored = b'{"a":{"b":[1,2.0]}}'
    hashed = b'{\n  "a": {\n    "b": [\n      1,\n      2\n    ]\n  }\n}'
    with pytest.raises(HashMismatchError) as refusal:
        verify_hash(stored, keccak(hashed))
    assert refusal.value.variant == "the form indented by 2 (JSON.stringify)"


@pytest.mark.parametrize(
    ("expected", "variant"),
    [
        (hashlib.sha256(b"{}\n").digest(), "the same bytes with SHA-256"),
        (keccak(b"{}"), "the same bytes without trailing white space"),
    ],
)
def test_another_digest_and_an_editors_last_line_break_are_named(expected, variant):
    with pytest.raises(HashMismatchError) as refusal:
        verify_hash(b"{}\n", expected)
    assert refusal.value.variant == variant


def test_a_file_without_json_is_still_compared():
    with pytest.raises(HashMismatchError) as refusal:
        verify_hash(b"\xff\xfe", hashlib.sha256(b"\xff\xfe").digest())
    assert refusal.value.variant == "the same bytes with SHA-256"
