"""Authorised feedback from the command line."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from eth_account import Account

from bilateral.signatures import Domain, FeedbackAuth, decode_feedback_auth, sign_feedback_auth

FAR = 2**256 - 1

pytestmark = pytest.mark.usefixtures("agent")


@pytest.fixture
def authorization(bilateral, owner, client):
    """What the owner hands to the client: leave for two feedbacks."""
    ran = bilateral("auth", "create", 1, client.address, "--count", 2, key=owner)
    assert (ran.code, ran.err) == (0, "")
    return ran.out.strip()


def test_an_authorisation_is_used_up_to_its_limit(done, refused, authorized, authorization, client):
    ran = done("auth", "give", 1, 92, authorization, "--tag1", "quality", "--text", "good", key=client)
    assert (ran["result"]["score"], ran["result"]["tag1"], ran["result"]["client"]) == (92, "quality", client.address)
    done("auth", "give", 1, 70, "-", key=client, stdin=authorization)
    assert tuple(authorized.getSummary(1)) == (2, 81)
    assert refused(4, "auth", "give", 1, 70, authorization, key=client)["reason"] == "index_limit_reached"


def test_authorised_feedback_is_listed_and_averaged(done, bilateral, authorization, client):
    assert done("auth", "summary", 1) == {"agent": "31337:1", "count": 0, "average": None}
    done("auth", "give", 1, 92, authorization, "--tag1", "quality", key=client)
    assert done("auth", "summary", 1) == {"agent": "31337:1", "count": 1, "average": "92"}
    (entry,) = done("auth", "list", 1)
    assert (entry["position"], entry["client"], entry["score"], entry["tag1"]) == (0, client.address, 92, "quality")
    assert done("auth", "list", 1, "--client", client.address, "--limit", 1) == [entry]
    assert done("auth", "list", 1, "--offset", 1) == []
    assert "quality" in bilateral("auth", "list", 1).out


def test_an_authorisation_is_taken_apart_without_a_node(done, authorization, client):
    shown = done("auth", "show", authorization, BILATERAL_RPC_URL=None)
    assert (shown["agent_id"], shown["client"], shown["index_limit"], shown["chain_id"]) == (
        "1",
        client.address,
        2,
        "31337",
    )
    assert shown["encoded"] == authorization
    assert shown.keys() == {"agent_id", "client", "index_limit", "expiry", "chain_id", "signature", "encoded"}


def test_a_node_tells_whether_the_owner_signed(done, authorization, owner):
    shown = done("auth", "show", "-", stdin=authorization)
    assert (shown["signer"], shown["owner"], shown["is_signed_by_owner"]) == (owner.address, owner.address, True)
    assert (shown["is_for_this_chain"], shown["is_expired"]) == (True, False)


def test_an_authorisation_that_somebody_else_signed_is_told_apart(done, authorized, owner, client, stranger):
    auth = FeedbackAuth(1, client.address, 1, 4, 31337)
    key = Account.from_key(stranger.private_key)
    encoded = sign_feedback_auth(auth, Domain(31337, authorized.address), key)
    shown = done("auth", "show", "0x" + encoded.hex())
    assert (shown["signer"], shown["owner"], shown["is_signed_by_owner"]) == (stranger.address, owner.address, False)
    assert shown["is_expired"] is True


def test_only_the_owner_authorises(refused, client, stranger):
    error = refused(4, "auth", "create", 1, client.address, key=stranger)
    assert error["reason"] == "not_agent_owner"


def test_limit_and_expiry_are_as_asked_for(done, chain, owner, client):
    expiry = chain.pending_timestamp + 1000
    shown = done("auth", "create", 1, client.address, "--index-limit", 7, "--expiry", expiry, key=owner)
    assert (shown["index_limit"], shown["expiry"]) == (7, f"{datetime.fromtimestamp(expiry, UTC):%Y-%m-%dT%H:%M:%SZ}")
    auth, _ = decode_feedback_auth(bytes.fromhex(shown["encoded"][2:]))
    assert (auth.index_limit, auth.expiry) == (7, expiry)


@pytest.mark.parametrize(
    ("expiry", "shown"), [(253402300799, "9999-12-31T23:59:59Z"), (253402300800, "253402300800"), (FAR, str(FAR))]
)
def test_an_expiry_is_a_time_as_far_as_calendars_reach(done, authorized, owner, client, expiry, shown):
    auth = FeedbackAuth(1, client.address, 1, expiry, 31337)
    encoded = sign_feedback_auth(auth, Domain(31337, authorized.address), Account.from_key(owner.private_key))
    for options in ({}, {"BILATERAL_RPC_URL": None}):
        assert done("auth", "show", "0x" + encoded.hex(), **options)["expiry"] == shown


@pytest.mark.parametrize("text", ["0x12", "zz", "0x" + "ff" * 225], ids=["short", "no digits", "no address"])
def test_what_is_no_authorisation_is_refused(refused, client, text):
    for arguments in (["auth", "show", text], ["auth", "give", 1, 92, text]):
        error = refused(3, *arguments, key=client)
        assert error["reason"] in ("invalid_argument", "malformed_authorization")
