"""Validations from the command line."""

from __future__ import annotations

import pytest
from eth_utils.crypto import keccak

HASH = "0x" + "07" * 32

pytestmark = pytest.mark.usefixtures("agent")


@pytest.fixture
def requested(agent, validation, owner, validator):
    validation.validationRequest(validator, 1, "ipfs://work", HASH, sender=owner)


def test_a_validation_is_requested_by_hash(done, validation, owner, validator):
    ran = done("validation", "request", 1, validator.address, "--uri", "ipfs://work", "--hash", HASH, key=owner)
    assert ran["result"] == {
        "request_hash": HASH,
        "agent": "31337:1",
        "validator": validator.address,
        "uri": "ipfs://work",
    }
    assert validation.getValidatorRequests(validator) == [bytes.fromhex(HASH[2:])]


def test_a_validation_is_requested_with_a_document(done, owner, validator):
    ran = done("validation", "request", 1, validator.address, "--document", "-", key=owner, stdin="work")
    assert ran["result"]["request_hash"] == "0x" + keccak(b"work").hex()
    assert ran["result"]["uri"].startswith("data:")


@pytest.mark.usefixtures("requested")
def test_a_request_is_answered_and_shown(done, bilateral, validator):
    shown = done("validation", "show", HASH)
    assert (shown["response"], shown["is_surely_answered"]) == (0, False)
    ran = done("validation", "respond", HASH, 100, "--tag", "zkml", "--uri", "ipfs://proof", key=validator)
    assert (ran["result"]["response"], ran["result"]["tag"], ran["result"]["uri"]) == (100, "zkml", "ipfs://proof")
    shown = done("validation", "show", HASH)
    assert shown.keys() == {
        *(
            "request_hash",
            "agent",
            "validator",
            "response",
            "response_hash",
            "tag",
            "last_update",
            "is_surely_answered",
        ),
    }
    assert (shown["response"], shown["tag"], shown["is_surely_answered"]) == (100, "zkml", True)
    assert "zkml" in bilateral("validation", "show", HASH).out


@pytest.mark.usefixtures("requested")
def test_requests_are_listed(done, bilateral, validator):
    by_agent = done("validation", "list", "--agent", 1)
    assert [entry["request_hash"] for entry in by_agent] == [HASH]
    assert done("validation", "list", "--validator", validator.address) == by_agent
    assert HASH in bilateral("validation", "list", "--agent", 1).out


@pytest.mark.parametrize("options", [[], ["--agent", "1", "--validator", "0x" + "11" * 20]], ids=["neither", "both"])
def test_requests_are_listed_for_an_agent_or_a_validator(refused, options):
    assert refused(3, "validation", "list", *options)["reason"] == "invalid_argument"


@pytest.mark.usefixtures("requested")
def test_answers_are_averaged(done, validator):
    assert done("validation", "summary", 1)["average"] is None
    done("validation", "respond", HASH, 80, "--tag", "zkml", key=validator)
    summary = done("validation", "summary", 1, "--tag", "zkml", "--validator", validator.address)
    assert (summary["count"], summary["average"], summary["validators"]) == (1, "80", [validator.address])
    assert done("validation", "summary", 1, "--tag", "tee")["count"] == 0


def test_an_unknown_request_is_refused(refused):
    assert refused(4, "validation", "show", HASH)["reason"] == "unknown_request"


def test_a_stranger_may_not_answer(refused, requested, stranger):
    assert refused(4, "validation", "respond", HASH, 1, key=stranger)["reason"] == "not_validator"


def test_an_invalid_hash_is_refused(refused):
    assert refused(3, "validation", "show", "0x12")["reason"] == "invalid_argument"
