"""Each command shows people the fields that they need of its result, once; `--json` has all of them."""

from __future__ import annotations

import re

import pytest

IMAGE = "https://agent.example/i.png"
MCP = "https://agent.example/mcp"


def fields(text):
    """Return the fields that a command showed, by label."""
    rows = (re.split(r"  +", line, maxsplit=1) for line in text.splitlines() if "  " in line.strip())
    return {row[0]: row[1] for row in rows if row[0]}


@pytest.fixture
def shows(bilateral):
    """Runs a command that must succeed; the fields that it shows."""

    def run(*arguments, **settings):
        ran = bilateral(*arguments, **settings)
        assert ran.code == 0, ran.err
        shown = fields(ran.out)
        assert len(shown) == len({line.split("  ")[0] for line in ran.out.splitlines() if "  " in line.strip()})
        return shown

    return run


def test_an_agent_is_shown_with_its_services_and_its_owner(shows, bilateral, owner):
    options = ["--name", "Agent", "--description", "It works", "--image", IMAGE, "--service", f"MCP={MCP}"]
    assert bilateral("agent", "register", *options, key=owner).code == 0
    shown = shows("agent", "show", 1)
    assert list(shown) == [
        "agent", "name", "description", "image", "services", "owner", "wallet", "uri", "file names it", "global id",
    ]  # fmt: skip
    assert (shown["services"], shown["file names it"]) == (f"MCP  {MCP}", "yes")


def test_an_agent_without_a_wallet_and_a_file_says_so(shows, identity, agent, owner, client):
    identity.transferFrom(owner, client, agent, sender=owner)
    shown = shows("agent", "show", agent)
    assert list(shown) == ["agent", "owner", "wallet", "global id"]
    assert shown["wallet"] == "none"


def test_an_address_is_shown_with_its_primary_agent(shows, agent, owner, stranger):
    assert shows("agent", "resolve", owner.address)["agent"] == "31337:1"
    assert shows("agent", "resolve", stranger.address) == {"address": stranger.address, "agent": "none"}


def test_a_feedback_is_shown_by_its_value_tags_and_words(shows, agent, client, owner):
    sent = shows("feedback", "give", agent, "99.5", "--tag1", "starred", "--text", "fast and right", key=client)
    assert list(sent) == ["feedback", "value", "tags", "file", "file hash", "block", "transaction", "max cost"]
    identifier = sent["feedback"]
    shown = shows("feedback", "show", identifier)
    assert (shown["value"], shown["tags"], shown["text"]) == ("99.5", "starred", "fast and right")
    assert "revoked" not in shown
    shows("feedback", "revoke", identifier, key=client)
    assert shows("feedback", "show", identifier)["revoked"] == "yes"


def test_an_average_is_shown_with_the_number_of_feedback_and_of_reviewers(shows, agent, client):
    assert shows("feedback", "summary", agent) == {
        "agent": "31337:1", "average": "none", "feedback": "0", "reviewers": "all 0",
    }  # fmt: skip
    shows("feedback", "give", agent, 87, key=client)
    assert shows("feedback", "summary", agent)["reviewers"] == "all 1"
    assert shows("feedback", "summary", agent, "--reviewer", client.address)["reviewers"] == client.address


def test_a_rating_is_shown_by_both_agents(shows, identity, agent, owner, client):
    identity.register(sender=client)
    shown = shows("rate", "client", 2, 0, key=owner)
    assert list(shown) == ["subject", "as", "by", "rating", "transaction", "max cost"]
    assert list(shown.values())[:4] == ["31337:2", "client", "31337:1", "0"]


def test_a_validation_is_shown_without_zeros(shows, validation, agent, owner, validator):
    request = bytes(range(32))
    validation.validationRequest(validator, agent, "", request, sender=owner)
    asked = shows("validation", "show", f"0x{request.hex()}")
    assert list(asked) == ["request", "agent", "validator", "answer", "last update"]
    assert asked["answer"].startswith("none")
    validation.validationResponse(request, 90, "", bytes(32), "zkml", sender=validator)
    assert shows("validation", "show", f"0x{request.hex()}")["answer"] == "90"
    assert shows("validation", "summary", agent) == {
        "agent": "31337:1", "average": "90", "answers": "1", "validators": "all",
    }  # fmt: skip


def test_authorised_feedback_is_shown_without_empty_fields(shows, bilateral, agent, owner, client):
    assert shows("auth", "summary", agent) == {"agent": "31337:1", "average": "none", "feedback": "0"}
    authorization = bilateral("auth", "create", agent, client.address, key=owner).out.strip()
    sent = shows("auth", "give", 92, authorization, "--tag1", "quality", key=client)
    assert list(sent)[:4] == ["agent", "client", "score", "tags"]
    assert shows("auth", "summary", agent)["average"] == "92"
