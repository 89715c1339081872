"""`bilateral watch`, on the index of the world that the service answers from."""

from __future__ import annotations

import json

import pytest

from tests.api.world import FRANK


def lines(ran):
    assert (ran.code, ran.err) == (0, "")
    return ran.out.splitlines()


def test_the_changes_of_an_agent_are_one_line_each(bilateral, api_sqlite):
    options = ("--since", "0", "--once", "--database", api_sqlite)
    told = [json.loads(line) for line in lines(bilateral("watch", "agent", "31337:1", *options, "--json"))]
    assert {change["kind"] for change in told} >= {"owner", "feedback", "response", "rating", "validation", "file"}
    assert all("31337:1" in change["agents"] for change in told)
    shown = lines(bilateral("watch", "agent", "31337:1", *options))
    assert [line.split()[2] for line in shown] == [change["id"] for change in told]
    later = lines(bilateral("watch", "agent", "31337:1", "--since", told[4]["id"], *options[2:], "--json"))
    assert [json.loads(line) for line in later] == told[5:]
    assert lines(bilateral("watch", "agent", "31337:1", "--once", "--database", api_sqlite)) == []


def test_the_changes_of_an_account_are_filtered(bilateral, api_sqlite):
    options = ("--since", "0", "--once", "--database", api_sqlite, "--json")
    ran = bilateral("watch", "account", FRANK.address, "--kind", "feedback", "--tag", "responseTime", *options)
    (change,) = map(json.loads, lines(ran))
    assert (change["details"]["client"], change["tags"]) == (FRANK.address, ["responseTime"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("agent", "31337:1", "--kind", "gossip"), 'kind "gossip" is unknown: choose one of feedback, revoked'),
        (("agent", "31337:1", "--since", "x"), "the cursor 'x' is malformed"),
        (("agent", "1"), '"1" is not an agent id that includes a chain'),
        (("account", "0x12"), "0x12"),
    ],
)
def test_wrong_arguments_are_refused(refused, api_sqlite, arguments, message):
    assert message in refused(3, "watch", *arguments, "--once", "--database", api_sqlite)["message"]
