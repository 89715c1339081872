"""Blind ratings from the command line: sealed in two files, stored on chain, opened, and listed at each step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eth_utils import keccak

from bilateral.client.blind_vault import BlindVault
from bilateral.client.operations.blind import pair_of
from bilateral.core.signatures.blind_messages import SignedEnvelope

INTERACTION = "0x" + keccak(text="a paid interaction").hex()


@pytest.fixture(autouse=True)
def _parties(identity, owner, client):
    """The owner is agent 1, the server; the client is agent 2."""
    for account in (owner, client):
        identity.register(sender=account)


@pytest.fixture
def vaults(tmp_path):
    """The options that name the vault of the server, and the vault of the client."""
    return [("--vault", str(tmp_path / f"{side}.sqlite")) for side in ("server", "client")]


@pytest.fixture
def offer(bilateral, owner, client, vaults, tmp_path):
    """The file with the server's envelope, which seals 20."""
    options = ("--blind", INTERACTION, "--client-account", client.address, *vaults[0])
    ran = bilateral("rate", "client", 2, 20, *options, key=owner)
    assert ran.code == 0, ran.err
    path = tmp_path / "server.json"
    path.write_text(ran.out)
    return str(path)


@pytest.fixture
def answer(bilateral, client, vaults, offer, tmp_path):
    """The file with the client's envelope, which seals 87."""
    ran = bilateral("feedback", "give", 1, 87, "--tag1", "starred", "--blind", offer, *vaults[1], key=client)
    assert ran.code == 0, ran.err
    path = tmp_path / "client.json"
    path.write_text(ran.out)
    return str(path)


def test_ratings_are_sealed_listed_and_opened(done, reputation, owner, client, stranger, vaults, offer, answer):
    def states():
        rows = [done("blind", "list", *vault)[0] for vault in vaults]
        return [(row["as"], row["sealed"], row["state"], row["missing"]) for row in rows]

    unsealed = "the other envelope, and its seal on chain"
    assert states() == [("server", 20, "not sealed", unsealed), ("client", 87, "not sealed", unsealed)]
    sealed = done("blind", "seal", answer, offer, key=stranger)["result"]
    assert (sealed["client"], sealed["server"]) == ("31337:2", "31337:1")
    assert {state[2:] for state in states()} == {("sealed, not opened", "the client's opening")}
    opened = done("blind", "open", answer, offer, *vaults[1], key=client)["result"]
    assert (opened["rating"], opened["feedback"]) == (None, f"31337:1:{client.address}:0")
    assert {state[2:] for state in states()} == {("sealed, not opened", "the server's opening")}
    assert done("blind", "open", answer, offer, *vaults[0], key=owner)["result"]["rating"] == 20
    assert {state[2:] for state in states()} == {("opened", None)}
    assert tuple(reputation.getClientRating(2, 1)) == (True, 20)


def test_rating_that_was_opened_alone_waits_for_the_feedback(done, reputation, stranger, vaults, offer, answer):
    done("blind", "seal", answer, offer, key=stranger)
    pair, _ = pair_of(*(SignedEnvelope.from_json(Path(file).read_text()) for file in (offer, answer)))
    (sealed,) = BlindVault(Path(vaults[0][1])).all()
    reputation.openRating(pair.arguments, *sealed.opening.arguments, sender=stranger)
    rows = [done("blind", "list", *vault)[0] for vault in vaults]
    assert {(row["state"], row["missing"]) for row in rows} == {("opened", "the client's opening")}


def test_revenge_is_refused_with_the_registrys_reason(done, refused, owner, stranger, offer, answer):
    done("blind", "seal", answer, offer, key=stranger)
    error = refused(4, "rate", "client", 2, 0, key=owner)
    assert (error["reason"], error["arguments"]) == ("already_rated", {"subjectId": 2, "serverId": 1})


def test_relayer_exchanges_with_both_openings(bilateral, done, refused, stranger, vaults, offer, answer, tmp_path):
    files = []
    for name, envelope, vault in (("theirs", offer, vaults[0]), ("ours", answer, vaults[1])):
        ran = bilateral("blind", "opening", envelope, *vault)
        assert ran.code == 0, ran.err
        path = tmp_path / f"{name}.opening.json"
        path.write_text(ran.out)
        files += ["--opening", str(path)]
    empty = ("--vault", str(tmp_path / "empty.sqlite"))
    error = refused(3, "blind", "exchange", answer, offer, *files, *empty, key=stranger)
    assert "may have a public mempool" in error["message"]
    done_ = done("blind", "exchange", answer, offer, *files, *empty, "--public-mempool", key=stranger)
    assert done_["result"]["rating"] == 20


def test_opening_that_the_vault_lacks_is_refused(refused, offer, vaults):
    error = refused(3, "blind", "opening", offer, *vaults[1])
    assert (
        error["message"]
        == "envelope: the vault contains no opening for this envelope: pass a different vault with --vault"
    )


def test_feedback_for_another_server_than_the_envelopes_is_refused(refused, client, offer, vaults):
    error = refused(3, "feedback", "give", 2, 87, "--blind", offer, *vaults[1], key=client)
    assert error["message"] == "offer: the envelope is from server 31337:1, not from 2"


def test_client_account_is_needed_to_seal(refused, owner, vaults):
    error = refused(3, "rate", "client", 2, 20, "--blind", INTERACTION, *vaults[0], key=owner)
    assert error["message"] == "--blind requires --client-account, the account that gives the feedback"


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"kind": "SealedRating"})])
def test_malformed_envelope_is_refused(refused, client, vaults, tmp_path, text):
    path = tmp_path / "malformed.json"
    path.write_text(text)
    assert refused(3, "feedback", "give", 1, 87, "--blind", path, *vaults[1], key=client)["reason"] in {
        "invalid_argument",
        "malformed_document",
    }
