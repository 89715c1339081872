"""A tag is a string of any length. Views return it unchanged, and only equal strings match."""

from __future__ import annotations

import pytest
from ape.types import HexBytes
from eth_abi import decode, encode
from eth_utils import keccak

from tests.validation.conftest import RESPONSE_HASH

TAGS_SLOT = 4
"""The storage slot of the registry's mapping of tags."""

NOTHING = (0, 0)


def selector(signature):
    return keccak(text=signature)[:4]


RESPONSE_SELECTOR = selector("validationResponse(bytes32,uint8,string,bytes32,string)")


def first_id_of(tag):
    """Return the first candidate for a tag's id: the low 88 bits of its hash, with the lowest bit set."""
    return int.from_bytes(keccak(text=tag)[-11:], "big") | 1


def slot_of(tag_id):
    return int.from_bytes(keccak(encode(["uint256", "uint256"], [tag_id, TAGS_SLOT])), "big")


def stored(tag):
    """Return the storage word of a tag of at most 31 bytes: its bytes, then its length."""
    return tag.encode().ljust(31, b"\0") + bytes([len(tag)])


@pytest.fixture(scope="session")
def occupy(networks, validation):
    """Stores a tag under the id of another, as if their hashes shared 87 bits. Such a pair cannot be computed."""

    def occupy(tag_id, with_tag):
        networks.provider.set_storage(validation.address, slot_of(tag_id), HexBytes(stored(with_tag)))

    return occupy


@pytest.fixture(scope="session")
def raw_status(networks, validation):
    """Returns the fields of a request's status. The tag is bytes, because it may be invalid UTF-8."""

    def raw_status(request_hash):
        data = HexBytes(validation.getValidationStatus.encode_input(request_hash)).to_0x_hex()
        returned = networks.provider.make_request("eth_call", [{"to": validation.address, "data": data}, "latest"])
        types = ["address", "uint256", "uint8", "bytes32", "bytes", "uint256"]
        parts = decode(types, HexBytes(returned))
        assert encode(types, parts) == HexBytes(returned), "the answer is not padded with zeros"
        return parts

    return raw_status


@pytest.mark.parametrize(
    "tag",
    [
        "a",
        "a" * 30,
        "a" * 31,
        "a" * 32,
        "a" * 33,
        "a" * 254,
        "a" * 255,
        "a" * 256,
        "long " * 2_000,
        "\x00",
        "a\x00",
        "🤖",
        "é",
        " ",
        '"><script>alert(1)</script>',
        "'; DROP TABLE tags; --",
        "\u202egnp.exe",
        "0x0000000000000000000000000000000000000000000000000000000000000000",
    ],
    ids=lambda tag: repr(tag[:12]) + f" of {len(tag.encode())} bytes",
)
def test_tag_comes_back_and_filters(ask, answer, status, summary, tag):
    answer(ask("untagged"), 50)
    request_hash = ask("tagged")
    answer(request_hash, 100, tag=tag)
    assert status(request_hash)["tag"] == tag
    assert summary(tag=tag) == (1, 100)


@pytest.mark.parametrize(
    ("first_tag", "second_tag"),
    [
        ("a", "A"),
        ("a", "a\x00"),
        ("a", "a "),
        ("a" * 31, "a" * 32),
        ("a" * 254, "a" * 255),
        ("é", "e\u0301"),
        ("a" * 300, "a" * 299 + "b"),
    ],
    ids=["case", "zero byte", "space", "31 and 32 bytes", "254 and 255 bytes", "composition", "last byte"],
)
def test_tags_that_differ_are_not_the_same(ask, answer, status, summary, first_tag, second_tag):
    first, second = ask("one"), ask("other")
    answer(first, 10, tag=first_tag)
    answer(second, 90, tag=second_tag)
    assert (status(first)["tag"], status(second)["tag"]) == (first_tag, second_tag)
    assert summary(tag=first_tag) == (1, 10)
    assert summary(tag=second_tag) == (1, 90)


def test_tag_is_shared_by_agents_and_validators(ask, answer, summary, other_validator, other_agent_id, other_owner):
    answer(ask("one's"), 10, tag="shared")
    request_hash = ask("the other's", agent=other_agent_id, sender=other_owner, of=other_validator)
    answer(request_hash, 90, tag="shared", sender=other_validator)
    assert summary(tag="shared") == (1, 10)
    assert summary(tag="shared", agent=other_agent_id) == (1, 90)


def test_tag_of_bytes_that_are_not_text_comes_back(validation, ask, validator, raw_status):
    request_hash = ask("work")
    tag = b"\xff\xfe\x80"
    arguments = encode(
        ["bytes32", "uint8", "bytes", "bytes32", "bytes"], [request_hash, 100, b"\xc3", RESPONSE_HASH, tag]
    )
    validator.transfer(validation, 0, data=RESPONSE_SELECTOR + arguments)
    assert raw_status(request_hash)[4] == tag


def test_dirt_behind_a_tag_in_the_calldata_is_left_out(validation, ask, answer, validator, raw_status, summary):
    answer(ask("clean"), 10, tag="a")
    request_hash = ask("dirty")
    arguments = encode(["bytes32", "uint8", "string", "bytes32", "string"], [request_hash, 90, "", RESPONSE_HASH, "a"])
    dirty = arguments[:-31] + b"\xff" * 31
    validator.transfer(validation, 0, data=RESPONSE_SELECTOR + dirty)
    assert raw_status(request_hash)[4] == b"a"
    assert summary(tag="a") == (2, 50)


def test_dirt_behind_the_first_use_of_a_tag_is_left_out(validation, ask, answer, validator, raw_status, summary):
    request_hash = ask("dirty")
    arguments = encode(["bytes32", "uint8", "string", "bytes32", "string"], [request_hash, 90, "", RESPONSE_HASH, "a"])
    dirty = arguments[:-31] + b"\xff" * 31
    validator.transfer(validation, 0, data=RESPONSE_SELECTOR + dirty)
    answer(ask("clean"), 10, tag="a")
    assert raw_status(request_hash)[4] == b"a"
    assert summary(tag="a") == (2, 50)


@pytest.mark.parametrize("tag", ["passed", "quality"], ids=["lowest bit 1", "lowest bit 0"])
def test_new_tag_is_stored_under_the_id_from_its_hash(networks, validation, ask, answer, tag):
    answer(ask("work"), 100, tag=tag)
    word = networks.provider.get_storage(validation.address, slot_of(first_id_of(tag)))
    assert word == stored(tag)


def test_tag_whose_id_another_has_gets_the_next_that_is_free(ask, answer, status, summary, occupy):
    occupy(first_id_of("passed"), "squatter")
    occupy(first_id_of("passed") + 2, "its neighbour")
    first, second = ask("first"), ask("second")
    answer(first, 100, tag="passed")
    answer(second, 50, tag="passed")
    assert (status(first)["tag"], status(second)["tag"]) == ("passed", "passed")
    assert summary(tag="passed") == (2, 75)


def test_tag_whose_id_another_has_is_not_found_before_it_is_used(ask, answer, summary, occupy):
    occupy(first_id_of("passed"), "squatter")
    answer(ask("work"), 100, tag="failed")
    assert summary(tag="passed") == NOTHING
