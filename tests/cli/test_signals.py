"""A watchtower's measurements from the command line."""

from __future__ import annotations

import json
import re

import pytest

pytestmark = pytest.mark.usefixtures("agent")

MEASURED = [
    {"agent": "1", "tag": "reachable", "value": True, "endpoint": "https://e.example"},
    {"agent": 1, "tag": "uptime", "value": 99.80},
]


def test_signals_are_published_once_a_period(done, reputation, client):
    ran = done("signals", "publish", "-", "--period", "2026-W47", key=client, stdin=json.dumps(MEASURED))
    assert len(ran["hashes"]) == 2
    assert ran["already_published"] == []
    assert [entry["value"] for entry in ran["results"]] == ["1", "99.8"]
    assert tuple(reputation.readFeedback(1, client, 2)) == (998, 1, "uptime", "2026-W47", False)
    again = done("signals", "publish", "-", "--period", "2026-W47", key=client, stdin=json.dumps(MEASURED))
    assert (again["hashes"], [entry["tag"] for entry in again["already_published"]]) == ([], ["reachable", "uptime"])
    assert reputation.getLastIndex(1, client) == 2


def test_a_signal_names_its_evidence(done, client):
    evidence = {"feedback_uri": "ipfs://bafy", "feedback_hash": "0x" + "07" * 32}
    measured = [{"agent": 1, "tag": "ownerVerified", "value": True} | evidence]
    (published,) = done("signals", "publish", "-", key=client, stdin=json.dumps(measured))["results"]
    assert {name: published["event"][name] for name in ("uri", "hash")} == {
        "uri": evidence["feedback_uri"],
        "hash": evidence["feedback_hash"],
    }


def test_signals_name_all_transactions_before_the_first_wait(bilateral, client):
    ran = bilateral("signals", "publish", "-", key=client, stdin=json.dumps(MEASURED))
    assert re.fullmatch("(sent 0x[0-9a-f]{64}\n){2}", ran.err)


def test_decimals_are_published_as_they_are_written(done, reputation, client):
    done("signals", "publish", "-", key=client, stdin='[{"agent": 1, "tag": "uptime", "value": 99.80}]')
    assert tuple(reputation.readFeedback(1, client, 1))[:2] == (9980, 2)


def test_a_dry_run_publishes_nothing(done, reputation, client):
    ran = done("signals", "publish", "-", "--dry-run", key=client, stdin=json.dumps(MEASURED))
    assert (ran["hashes"], ran["results"]) == ([None, None], None)
    assert [transaction["from"] for transaction in ran["transactions"]] == [client.address] * 2
    assert [transaction["nonce"] for transaction in ran["transactions"]] == [client.nonce, client.nonce + 1]
    assert all(transaction["to"] == reputation.address for transaction in ran["transactions"])
    assert [
        transaction["gas"] > gas > 21_000 for transaction, gas in zip(ran["transactions"], ran["gas"], strict=True)
    ] == [True] * 2
    assert reputation.getLastIndex(1, client) == 0


def test_people_see_that_a_dry_run_publishes_nothing(bilateral, client):
    ran = bilateral("signals", "publish", "-", "--dry-run", key=client, stdin=json.dumps(MEASURED))
    assert ran.out.startswith("Not sent (dry run)")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1]",
        '[{"agent": "1", "tag": "uptime"}]',
        '[{"agent": "1", "tag": "uptime", "value": "1", "other": "x"}]',
        '[{"agent": "1", "tag": "uptime", "value": null}]',
        '[{"agent": "1", "tag": "uptime", "value": ["1"]}]',
    ],
)
def test_invalid_measurements_are_refused(refused, client, text):
    assert refused(3, "signals", "publish", "-", key=client, stdin=text)["reason"] == "invalid_argument"
