"""Tags are any strings. The registry stores them unchanged and compares them exactly."""

from __future__ import annotations

import ape
import pytest
from eth_utils import keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import isolated, logged
from tests.reputation.storage import TAG_COUNT_SLOT

LAST_TAG_ID = 2**40 - 1
"""The highest id of a tag."""

HOSTILE = [
    "\0",
    "starred\0",
    "\0starred",
    " starred",
    "Starred",
    "ѕtarred",  # a Cyrillic s  # noqa: RUF001
    "\u202estarred",
    "⭐" * 85,
    "'; DROP TABLE feedback; --",
    "<script>alert(1)</script>",
    "x" * 30,
    "x" * 31,
    "x" * 32,
    "x" * 33,
    "x" * 254,
    "x" * 255,
    "x" * 256,
    "x" * 5_000,
]


@pytest.mark.parametrize("tag", HOSTILE, ids=lambda tag: ascii(tag[:12]) + f"*{len(tag)}")
def test_tag_is_kept_and_found_as_it_is(give, reputation, agent, client, tag):
    give(client, value=10, tag1="starred", tag2="x" * 29)
    receipt = give(client, value=90, tag1=tag, tag2=tag)
    event = logged(receipt)[0][1]
    assert (event["tag1"], event["tag2"], event["indexedTag1"]) == (tag, tag, keccak(text=tag))
    assert tuple(reputation.readFeedback(agent, client, 2)) == (90, 0, tag, tag, False)
    assert tuple(reputation.getSummary(agent, [client], tag, tag)) == (1, 90, 0)
    assert tuple(reputation.getSummary(agent, [client], "starred", "")) == (1, 10, 0)


@given(tags=st.lists(st.text(max_size=70), min_size=1, max_size=6))
@settings(max_examples=8, deadline=None, derandomize=True)
def test_any_tags_are_read_back(give, reputation, chain, agent, client, tags):
    with isolated(chain):
        for tag in tags:
            give(client, tag1=tag, tag2=tag[::-1])
        columns = reputation.readAllFeedback(agent, [client], "", "", True)
        assert columns.tag1s == tags
        assert columns.tag2s == [tag[::-1] for tag in tags]


def test_bytes_in_invalid_utf8_are_kept_too(reputation, networks, agent, client):
    call = bytes(reputation.giveFeedback.encode_input(agent, 87, 0, "ab", "", "", "", bytes(32)))
    client.transfer(reputation, 0, data=call.replace(b"ab" + bytes(30), b"\xff\xfe" + bytes(30)))
    read = bytes(reputation.readFeedback.encode_input(agent, client, 1))
    query = {"to": reputation.address, "data": f"0x{read.hex()}"}
    answer = networks.provider.make_request("eth_call", [query, "latest"])
    assert "fffe".ljust(64, "0") in answer


def test_known_tag_takes_no_new_word(give, client):
    first = give(client, tag1="starred", tag2="finance").gas_used
    second = give(client, tag1="starred", tag2="finance").gas_used
    swapped = give(client, tag1="finance", tag2="starred").gas_used
    assert first - second > 4 * 20_000
    assert abs(swapped - second) < 1_000


@pytest.fixture
def dictionary_of(reputation, networks):
    """A function that sets the number of stored tags in storage."""

    def dictionary_of(count):
        networks.provider.set_storage(reputation.address, TAG_COUNT_SLOT, count.to_bytes(32))

    return dictionary_of


def test_last_tag_that_the_dictionary_holds_is_entered(dictionary_of, give, reputation, agent, client):
    dictionary_of(LAST_TAG_ID - 1)
    give(client, value=-1, decimals=18, tag1="last", tag2="last")
    assert tuple(reputation.readFeedback(agent, client, 1)) == (-1, 18, "last", "last", False)
    assert tuple(reputation.getSummary(agent, [client], "last", "last")) == (1, -1, 18)


def test_no_tag_follows_the_last(dictionary_of, give, reputation, client):
    dictionary_of(LAST_TAG_ID)
    with ape.reverts(reputation.TagsExhausted, limit=LAST_TAG_ID):
        give(client, tag1="one too many")


def test_known_and_empty_tags_are_taken_from_a_full_dictionary(dictionary_of, give, reputation, agent, client):
    give(client, tag1="known", tag2="known")
    dictionary_of(LAST_TAG_ID)
    give(client, tag1="known", tag2="")
    assert tuple(reputation.getSummary(agent, [client], "known", "")) == (2, 87, 0)
    assert tuple(reputation.readFeedback(agent, client, 2)) == (87, 0, "known", "", False)
