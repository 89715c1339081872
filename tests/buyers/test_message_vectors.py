"""Messages about buyers and credentials: the package signs and reads what other implementations do."""

from __future__ import annotations

import json

import pytest

from bilateral.buyers import messages
from bilateral.core.contracts.buyer_terms import BuyerTier, TierCredential
from bilateral.core.signatures import Domain, recover_signer
from tests.buyers import message_vectors

VECTORS = json.loads(message_vectors.FILE.read_text())
EACH = pytest.mark.parametrize("vector", VECTORS, ids=[vector["primaryType"] for vector in VECTORS])


def value_of(vector, field):
    """Return a value of a message as the package's classes take it."""
    value = vector["message"][field["name"]]
    if field["type"] == "bytes32":
        return bytes.fromhex(value[2:])
    if field["name"] == "tier":
        return BuyerTier.of_level(value)
    return int(value) if field["type"].startswith("uint") else value


def message_of(vector):
    """Return a vector as a message of the package."""
    kind = vector["primaryType"]
    made = TierCredential if kind == "TierCredential" else getattr(messages, kind)
    return made(*[value_of(vector, field) for field in vector["types"][kind]])


def test_file_of_vectors_is_the_generated_one():
    assert list(message_vectors.written()) == VECTORS


@EACH
def test_package_signs_the_vector(vector):
    domain, message = vector["domain"], message_of(vector)
    assert (message.domain_name, "1") == (domain["name"], domain["version"])
    digest = message.digest(Domain(domain["chainId"], domain["verifyingContract"]))
    assert digest.hex() == vector["digest"][2:]
    assert recover_signer(digest, bytes.fromhex(vector["signature"][2:])) == vector["signer"]


@EACH
def test_hashes_among_the_values_are_of_the_texts(vector):
    for name, text in vector["texts"].items():
        hashed = messages.text_hash(text) if isinstance(text, str) else messages.content_hash(text)
        assert "0x" + hashed.hex() == vector["message"][name]
