"""The first commands of a new user tell what happened, and refuse what is incomplete."""

from __future__ import annotations

import re

import pytest


def test_info_shows_the_chain_the_registries_and_the_balance(done, bilateral, chain, identity, owner):
    shown = done("info", key=owner)
    assert (shown["chain_id"], shown["block"]["number"]) == (31337, chain.blocks.height)
    assert shown["registries"]["identity"] == identity.address
    assert (shown["signer"], shown["balance_wei"]) == (owner.address, str(owner.balance))
    assert re.search(r"^balance +[\d.]+ ETH$", bilateral("info", key=owner).out, re.MULTILINE)


def test_info_needs_neither_a_key_nor_a_deployment(done):
    shown = done("info", BILATERAL_DEPLOYMENT=None)
    assert (shown["registries"], shown["signer"], shown["balance_wei"]) == (None, None, None)


def test_a_registration_by_options_confirms_its_file(done, identity, owner):
    options = ["--name", "Agent", "--description", "It works", "--image", "https://agent.example/i.png"]
    ran = done("agent", "register", *options, "--service", "web=https://agent.example/?a=b", key=owner)
    agent = done("agent", "show", ran["result"]["agent"])
    assert (agent["name"], agent["is_confirmed"]) == ("Agent", True)
    assert agent["file"]["services"] == [{"name": "web", "endpoint": "https://agent.example/?a=b"}]
    assert ran["confirmation"]["result"]["uri"] == identity.tokenURI(identity.getAgentCount())


def test_a_registration_by_options_is_whole(refused, owner):
    for options in (["--name", "Agent"], ["--name", "Agent", "--file", "x"], ["--service", "web=https://e.example"]):
        assert refused(3, "agent", "register", *options, key=owner)["reason"] == "invalid_argument"


def test_an_unknown_capability_is_an_argument_error(refused, agent, client):
    for options in (["--capability", "tool", "--name", "x"], ["--capability", "tools"], ["--name", "x"]):
        assert refused(3, "feedback", "give", 1, 87, *options, key=client)["reason"] == "invalid_argument"


def test_an_average_over_several_tags_says_so(bilateral, reputation, agent, client):
    for tag in ("starred", "uptime"):
        reputation.giveFeedback(1, 87, 0, tag, "", "", "", bytes(32), sender=client)
    assert 'different tags: "starred", "uptime"' in bilateral("feedback", "summary", 1).err
    assert "mixes" not in bilateral("feedback", "summary", 1, "--tag1", "starred").err


@pytest.mark.parametrize(
    ("tag", "shown"),
    [
        ("st\u0430rred", '(not ASCII) "st\u0430rred"'),
        ("Starred", '(not starred) "Starred"'),
        ("starred ", '(not starred) "starred "'),
        ("upt1me", '(not uptime) "upt1me"'),
        ("quality ", '(blanks) "quality "'),
        ("starred", " starred "),
    ],
)
def test_a_tag_that_may_be_taken_for_another_is_marked(bilateral, reputation, agent, client, tag, shown):
    reputation.giveFeedback(1, 87, 0, tag, "", "", "", bytes(32), sender=client)
    listed = bilateral("feedback", "list", 1).out
    assert (shown in listed, "(not" in listed or "(blanks" in listed) == (True, tag != "starred")


def test_a_given_tag_that_resembles_a_standard_one_is_noted(bilateral, agent, client):
    ran = bilateral("feedback", "give", 1, 87, "--tag1", "Starred", key=client)
    assert (ran.code, 'The tag "Starred" differs from the standard tag "starred".' in ran.err) == (0, True)
