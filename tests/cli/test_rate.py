"""Ratings from the command line."""

from __future__ import annotations

import pytest


@pytest.fixture
def parties(identity, owner, client, other_client, validator):
    """The owner is agent 1, the clients are agents 2 and 3, the validator is agent 4."""
    for account in (owner, client, other_client, validator):
        identity.register(sender=account)


@pytest.fixture(autouse=True)
def _parties(parties):
    """Every test has them."""


@pytest.mark.parametrize("kind", ["client", "validator"])
def test_one_is_rated(done, reputation, owner, kind):
    ran = done("rate", kind, 2, 90, key=owner)
    rating = {"kind": kind, "subject": "31337:2", "server": "31337:1", "rating": 90, "has_rating": True}
    assert ran["result"] == rating
    read = reputation.getClientRating if kind == "client" else reputation.getValidatorRating
    assert tuple(read(2, 1)) == (True, 90)
    option = ["--validator"] if kind == "validator" else []
    assert done("rate", "show", 2, "--by", 1, *option) == [rating]


@pytest.mark.parametrize("kind", ["client", "validator"])
def test_many_are_rated_at_once(done, bilateral, owner, kind):
    ran = done("rate", f"{kind}s", "2=90", "3=0", "31337:4=100", key=owner)
    assert [entry["rating"] for entry in ran["result"]] == [90, 0, 100]
    option = ["--validator"] if kind == "validator" else []
    shown = bilateral("rate", "show", 2, 3, 4, "--by", 1, *option)
    assert shown.code == 0
    assert shown.out.count(f" {kind} ") == 3
    assert [entry["rating"] for entry in done("rate", "show", 2, 3, 1, "--by", 1, *option)] == [90, 0, None]


def test_many_are_shown_as_a_table_when_written(bilateral, owner):
    ran = bilateral("rate", "clients", "2=90", "3=0", key=owner)
    assert ran.code == 0
    assert "Clients rated" in ran.out


def test_a_rating_is_final(done, refused, owner):
    done("rate", "client", 2, 90, key=owner)
    error = refused(4, "rate", "client", 2, 10, key=owner)
    assert (error["reason"], error["arguments"]) == ("already_rated", {"subjectId": 2, "serverId": 1})
    assert error["message"].endswith("Ratings are final: read the existing one.")


@pytest.mark.parametrize("pairs", [["2"], ["2="], ["=90"], ["2=-1"], ["2=٣"], ["2=1", "2=2"]])
def test_an_invalid_pair_of_agent_and_rating_is_refused(refused, owner, pairs):
    assert refused(3, "rate", "clients", *pairs, key=owner)["reason"] == "invalid_argument"


def test_a_rating_beyond_100_is_refused_by_the_registry(refused, owner):
    assert refused(4, "rate", "client", 2, 101, key=owner)["reason"] == "rating_too_high"


def test_a_rater_that_the_signer_does_not_speak_as_is_refused(refused, owner):
    error = refused(4, "rate", "client", 2, 90, "--by", 3, key=owner)
    assert (error["reason"], error["arguments"]) == ("unexpected_rater", {"expected": 3, "found": 1})
    assert refused(4, "rate", "clients", "2=90", "--by", 3, key=owner)["reason"] == "unexpected_rater"


@pytest.mark.parametrize("kind", ["client", "validator"])
def test_an_agent_of_another_owner_than_the_expected_one_is_refused(refused, done, owner, client, stranger, kind):
    error = refused(4, "rate", kind, 2, 90, "--owner", stranger.address, key=owner)
    assert error["reason"] == "unexpected_owner"
    assert done("rate", kind, 2, 90, "--owner", client.address, "--by", 1, key=owner)["result"]["rating"] == 90


@pytest.mark.parametrize("subject", [("client", 4, 90), ("validators", "4=90")])
def test_a_rating_waits_for_confirmations_as_long_as_told(refused, done, chain, identity, owner, stranger, subject):
    identity.register(sender=stranger)
    agent = identity.agentOf(stranger)
    kind, *arguments = (str(part).replace("4", str(agent), 1) for part in subject)
    options = ["--confirmations", 2, "--timeout", 0.2]
    assert refused(9, "rate", kind, *arguments, *options, key=owner)["reason"] == "agent_unsettled"
    chain.mine(1)
    done("rate", kind, *arguments, *options, key=owner)


def test_a_rating_needs_one_confirmation_at_least(refused, owner):
    assert refused(2, "rate", "client", 2, 90, "--confirmations", 0, key=owner)["reason"] == "usage"
