"""Feedback from the command line."""

from __future__ import annotations

import json

import pytest

from bilateral.documents import DataUriStore, Loader

pytestmark = pytest.mark.usefixtures("agent")


@pytest.fixture
def feedback_id(reputation, client):
    """A feedback of the client's, with a file; its textual id."""
    file = DataUriStore().put(b'{"text": "fast and right"}')
    arguments = (9977, 2, "uptime", "30days", "https://e.example", file.uri, file.hash)
    reputation.giveFeedback(1, *arguments, sender=client)
    return f"31337:1:{client.address}:0"


@pytest.mark.parametrize(
    ("arguments", "stored"),
    [
        (["87", "--tag1", "starred", "--tag2", "finance"], (87, 0, "starred", "finance")),
        (["99.77", "--tag1", "uptime"], (9977, 2, "uptime", "")),
        (["-3.2", "--tag1", "tradingYield", "--tag2", "week"], (-32, 1, "tradingYield", "week")),
        (["true", "--tag1", "reachable"], (1, 0, "reachable", "")),
        (["4.5", "--stars"], (90, 0, "starred", "")),
        (["4.5", "--stars", "--tag1", "starred"], (90, 0, "starred", "")),
    ],
)
def test_feedback_is_given(done, reputation, client, arguments, stored):
    ran = done("feedback", "give", 1, *arguments, key=client)
    assert ran["result"]["id"] == f"31337:1:{client.address}:0"
    assert tuple(reputation.readFeedback(1, client, 1)) == (*stored, False)


def test_text_goes_into_a_file(done, client):
    options = [
        "--text",
        "good",
        "--capability",
        "tools",
        "--name",
        "analyze",
        "--skill",
        "a",
        "--skill",
        "b",
        "--task",
        "t",
    ]
    ran = done("feedback", "give", 1, "87", *options, "--endpoint", "https://e.example", key=client)
    shown = done("feedback", "show", ran["result"]["id"])["feedback"]
    assert (shown["text"], shown["file"]["mcp"], shown["file_problem"]) == ("good", {"tool": "analyze"}, None)
    assert shown["file"]["a2a"] == {"skills": ["a", "b"], "taskId": "t"}
    assert shown["event"]["endpoint"] == "https://e.example"


def test_a_file_is_completed_and_stored_in_a_folder(done, client, tmp_path):
    (tmp_path / "feedback.json").write_text('{"text": "good"}')
    options = ["--file", tmp_path / "feedback.json", "--store-folder", tmp_path / "stored"]
    ran = done("feedback", "give", 1, "87", *options, "--store-url", "https://files.example", key=client)
    (stored,) = (tmp_path / "stored").iterdir()
    assert json.loads(stored.read_bytes())["clientAddress"] == f"eip155:31337:{client.address}"
    assert ran["result"]["event"]["uri"] == f"https://files.example/{stored.name}"


def test_a_file_that_is_kept_elsewhere_is_named(done, client):
    digest = "0x" + "07" * 32
    ran = done("feedback", "give", 1, "87", "--uri", "ipfs://x", "--hash", digest, key=client)
    assert (ran["result"]["event"]["uri"], ran["result"]["event"]["hash"]) == ("ipfs://x", digest)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["1e3"], "unrepresentable_value"),
        (["101", "--tag1", "uptime"], "unrepresentable_value"),
        (["6", "--stars"], "unrepresentable_value"),
        (["4.5", "--stars", "--tag1", "uptime"], "invalid_argument"),
        (["87", "--hash", "0x12"], "invalid_argument"),
        (["87", "--file", "-", "--text", "both"], "invalid_argument"),
    ],
)
def test_invalid_feedback_is_refused_before_anything_is_sent(refused, client, arguments, reason):
    before = client.nonce
    assert refused(3, "feedback", "give", 1, *arguments, key=client)["reason"] == reason
    assert client.nonce == before


def test_the_client_of_a_feedback_is_an_account_of_ones_own_by_name(done, refused, feedback_id, client, keystore):
    agent, _, index = feedback_id.rsplit(":", 2)
    names = keystore("bob", client)
    assert done("feedback", "show", f"{agent}:bob:{index}", **names)["feedback"]["id"] == feedback_id
    error = refused(3, "feedback", "show", f"{agent}:alice:{index}", **names)
    assert 'the client "alice" is neither an address nor an alias in `bilateral account list`' in error["message"]


def test_a_feedback_is_shown_with_its_answers(done, bilateral, feedback_id, owner, client):
    done("feedback", "respond", feedback_id, "--text", "thank you", key=owner)
    done("feedback", "respond", feedback_id, "--uri", "ipfs://answer", key=owner)
    shown = done("feedback", "show", feedback_id)
    feedback = shown["feedback"]
    assert feedback.keys() == {
        *("id", "stored", "tag1", "tag2", "is_revoked", "event", "file", "file_problem", "value", "tags", "text"),
    }
    assert (feedback["id"], feedback["value"], feedback["stored"]) == (
        feedback_id,
        "99.77",
        {"value": "9977", "decimals": 2},
    )
    assert feedback["text"] == "fast and right"
    first, second = shown["responses"]
    assert json.loads(Loader().load(first["uri"]).content)["text"] == "thank you"
    assert (second["uri"], second["responder"], second["feedback"]) == ("ipfs://answer", owner.address, feedback_id)
    table = bilateral("feedback", "show", feedback_id).out
    assert "fast and right" in table
    assert feedback_id in table


@pytest.mark.parametrize(
    "options",
    [[], ["--text", ""], ["--text", "x", "--uri", "ipfs://x"], ["--text", "x", "--hash", "0x" + "07" * 32]],
    ids=["neither", "an empty text", "both", "a text with a hash"],
)
def test_an_answer_is_a_text_or_a_uri(refused, feedback_id, owner, options):
    assert refused(3, "feedback", "respond", feedback_id, *options, key=owner)["reason"] == "invalid_argument"


def test_feedback_is_listed(done, bilateral, feedback_id, reputation, client, other_client):
    reputation.giveFeedback(1, 80, 0, "starred", "", "", "", bytes(32), sender=other_client)
    assert [entry["value"] for entry in done("feedback", "list", 1)] == ["99.77", "80"]
    assert [entry["id"] for entry in done("feedback", "list", 1, "--tag1", "uptime")] == [feedback_id]
    assert [entry["value"] for entry in done("feedback", "list", 1, "--reviewer", other_client.address)] == ["80"]
    table = bilateral("feedback", "list", 1).out
    assert feedback_id in table
    assert "starred" in table


def test_revoked_feedback_is_listed_when_asked_for(done, feedback_id, client):
    assert done("feedback", "revoke", feedback_id, key=client)["result"] == {"feedback": feedback_id}
    assert done("feedback", "list", 1) == []
    assert [entry["is_revoked"] for entry in done("feedback", "list", 1, "--revoked")] == [True]


def test_an_agent_without_feedback_is_said_to_have_none(bilateral):
    ran = bilateral("feedback", "list", 1)
    assert (ran.code, ran.out) == (0, "no feedback\n")


def test_feedback_is_searched(done, feedback_id, reputation, client, other_client):
    reputation.giveFeedback(1, 80, 0, "starred", "", "", "", bytes(32), sender=other_client)
    assert [entry["id"] for entry in done("feedback", "search", 1, "--min", "90")] == [feedback_id]
    assert [entry["value"] for entry in done("feedback", "search", 1, "--max", "90")] == ["80"]
    assert done("feedback", "search", 1, "--min", "-3.2", "--max", "-1") == []
    assert [entry["id"] for entry in done("feedback", "search", 1, "--tag", "30days")] == [feedback_id]
    assert [entry["id"] for entry in done("feedback", "search", "--reviewer", client.address)] == [feedback_id]
    assert [entry["text"] for entry in done("feedback", "search", 1, "--load")] == ["fast and right", ""]


def test_a_search_for_nobody_is_refused(refused):
    assert refused(3, "feedback", "search")["reason"] == "invalid_argument"


def test_feedback_is_averaged_as_the_registry_does(done, bilateral, feedback_id, reputation, client, other_client):
    reputation.giveFeedback(1, 80, 0, "", "", "", "", bytes(32), sender=other_client)
    summary = done("feedback", "summary", 1)
    count, value, decimals = reputation.getSummary(1, [client, other_client], "", "")
    assert (summary["count"], summary["stored"]) == (count, {"value": str(value), "decimals": decimals})
    assert (summary["average"], summary["is_everybody"]) == ("89", True)
    trusted = done("feedback", "summary", 1, "--reviewer", client.address, "--tag1", "uptime")
    assert (trusted["average"], trusted["is_everybody"], trusted["reviewers"]) == ("99.77", False, [client.address])
    assert "Choose the clients that you trust" in bilateral("feedback", "summary", 1).err


def test_an_average_has_the_most_decimals_that_fit(done, reputation, client):
    for value, decimals in ((10**38, 0), (0, 1), (0, 1)):
        reputation.giveFeedback(1, value, decimals, "", "", "", "", bytes(32), sender=client)
    summary = done("feedback", "summary", 1)
    assert summary["stored"] == {"value": str(10**38 // 3), "decimals": 0}
    assert summary["average"] == str(10**38 // 3)


def test_the_clients_are_listed(done, feedback_id, client):
    assert done("feedback", "clients", 1) == [client.address]


def test_a_feedback_is_signed_by_one_and_sent_by_another(bilateral, done, reputation, client, stranger):
    signed = bilateral("feedback", "sign", 1, "-1.5", "--text", "slow", key=client)
    assert (signed.code, signed.err) == (0, "")
    ran = done("feedback", "submit", "-", key=stranger, stdin=signed.out)
    assert ran["result"]["id"] == f"31337:1:{client.address}:0"
    assert tuple(reputation.readFeedback(1, client, 1))[:2] == (-15, 1)


def test_signed_feedback_is_voided(bilateral, done, refused, reputation, client, stranger):
    signed = bilateral("feedback", "sign", 1, "87", key=client).out
    deadline = int(json.loads(signed)["deadline"])
    assert done("feedback", "voided", client.address)["voided_through"] is None
    done("feedback", "void", deadline, key=client)
    assert done("feedback", "voided", client.address)["voided_through"] is not None
    assert refused(4, "feedback", "submit", "-", key=stranger, stdin=signed)["reason"] == "signature_voided"


def test_invalid_signed_feedback_is_refused(refused, stranger):
    assert refused(3, "feedback", "submit", "-", key=stranger, stdin="{}")["reason"] == "invalid_argument"


def test_the_registrys_refusal_is_told_with_its_reason(refused, owner, feedback_id, stranger):
    assert refused(4, "feedback", "give", 1, "87", key=owner)["reason"] == "self_feedback"
    error = refused(4, "feedback", "give", 404, "87", key=stranger)
    assert (error["reason"], error["arguments"]) == ("erc721_nonexistent_token", {"tokenId": 404})
