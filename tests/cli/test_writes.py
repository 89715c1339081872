"""What is shown of a write: its result, the transaction, and whatever went wrong after it was sent."""

from __future__ import annotations

import re

import pytest

from tests.helpers import logged

pytestmark = pytest.mark.usefixtures("agent")

DIGEST = "0x" + "07" * 32


def fields_of(table):
    """The fields that a table shows, by name."""
    return dict(re.findall(r"^ *(\w+) +(\S.*)$", table, re.MULTILINE))


@pytest.fixture
def shown(bilateral, chain):
    """Runs a write that must succeed: the fields that people see, and those of the event that it logged."""

    def run(*arguments, **settings):
        ran = bilateral(*arguments, **settings)
        assert ran.code == 0
        sent = ran.err.removeprefix("sent ").strip()
        fields = fields_of(ran.out)
        assert fields["transaction"] == sent
        ((_, event),) = logged(chain.provider.get_receipt(sent))
        return fields, event

    return run


def test_an_answers_hash_is_the_documents(shown, reputation, owner, client):
    reputation.giveFeedback(1, 87, 0, "", "", "", "", bytes(32), sender=client)
    fields, event = shown("feedback", "respond", f"31337:1:{client.address}:0", "--text", "sorry", key=owner)
    assert fields["hash"] == "0x" + event["responseHash"].hex()


def test_an_authorised_feedbacks_hash_is_the_documents(bilateral, shown, owner, client):
    authorization = bilateral("auth", "create", 1, client.address, key=owner).out.strip()
    fields, event = shown("auth", "give", 1, 92, authorization, "--text", "good", key=client)
    assert fields["hash"] == "0x" + event["filehash"].hex()


def test_a_validations_hash_is_the_evidences(shown, validation, owner, validator):
    validation.validationRequest(validator, 1, "ipfs://work", DIGEST, sender=owner)
    evidence = "0x" + "08" * 32
    options = ["--uri", "ipfs://proof", "--hash", evidence]
    fields, event = shown("validation", "respond", DIGEST, 100, *options, key=validator)
    assert fields["hash"] == "0x" + event["responseHash"].hex() == evidence
