"""Keys that sign paid answers are listed, added and retired from the command line."""

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import UTC, datetime

import ape
import pytest
from eth_account import Account

from bilateral.core.contracts import Deployment
from bilateral.documents import DataUriStore, RegistrationFile
from bilateral.x402 import Ed25519Key, Secp256k1Key, declare_8004_reputation
from tests.cli.conftest import PASSPHRASE
from tests.sdk.servers import HttpServer, respond
from tests.x402.world import encoded, signer_entry

OLD = Secp256k1Key(bytes(range(1, 33)))
NEW = Ed25519Key(bytes(range(2, 34)))
SECRET = {"BILATERAL_X402_KEY": NEW.secret.hex()}
SIGNERS = ("x402", "signers")


@pytest.fixture
def publish(agent, identity, owner):
    """Publishes a registration file of the agent with signers."""

    def make(*signers, **fields):
        texts = ("Weather agent", "Forecasts", "https://a.example/i.png")
        file = RegistrationFile.new(*texts, signers=list(signers), **fields)
        identity.setAgentURI(agent, DataUriStore().put(file.to_bytes()).uri, sender=owner)

    make(signer_entry(OLD))
    return make


def now():
    return datetime.now(UTC).timestamp()


@pytest.fixture
def listed(publish, done):
    return lambda: done(*SIGNERS, "list", 1)


def test_keys_are_listed(listed, bilateral):
    assert listed() == [signer_entry(OLD)]
    shown = bilateral(*SIGNERS, "list", 1)
    assert shown.code == 0
    assert OLD.public_key[:20] in shown.out.replace("\n", "")


def test_times_of_keys_are_shown_as_dates(publish, bilateral):
    publish(signer_entry(OLD, valid_from=1_790_000_000, valid_until=1_800_000_000), signer_entry(NEW))
    rows = bilateral(*SIGNERS, "list", 1).out
    assert "2026-09-21T14:13:20Z" in rows
    assert "2027-01-15T08:00:00Z" in rows
    assert "1970-01-01T00:00:00Z" in rows
    assert "1790000000" not in rows


def test_key_of_the_environment_is_added(listed, done, owner, identity):
    before = identity.tokenURI(1)
    ran = done(*SIGNERS, "add", 1, "--algorithm", "ed25519", "--comment", "hot", key=owner, **SECRET)
    assert ran["result"]["uri"] == identity.tokenURI(1) != before
    old, new = listed()
    assert old == signer_entry(OLD)
    assert (new["publicKey"], new["algorithm"], new["role"]) == (NEW.public_key, "ed25519", "delegate")
    assert (new["validUntil"], new["comment"]) == (None, "hot")
    assert abs(new["validFrom"] - now()) < 600


def test_key_of_a_keystore_is_added(listed, done, owner, tmp_path):
    account = Account.from_key(b"\x05" * 32)
    path = tmp_path / "hot.json"
    path.write_text(json.dumps(Account.encrypt(account.key, PASSPHRASE, kdf="pbkdf2", iterations=1)))
    ran = (*SIGNERS, "add", 1, "--signing-keystore", path, "--role", "owner", "--valid-from", 5, "--valid-until", 2**33)
    done(*ran, key=owner, BILATERAL_PASSPHRASE=PASSPHRASE)
    new = listed()[-1]
    assert new["publicKey"] == Secp256k1Key(bytes(account.key)).public_key
    assert (new["role"], new["validFrom"], new["validUntil"]) == ("owner", 5, 2**33)


def test_public_key_that_another_program_holds_is_added(listed, done, owner, tmp_path):
    path = tmp_path / "kms.hex"
    path.write_text(f"0x{NEW.public_key}\n")
    done(*SIGNERS, "add", 1, "--public-key-file", path, "--algorithm", "ed25519", key=owner)
    assert listed()[-1]["publicKey"] == NEW.public_key


@pytest.mark.parametrize(("options", "seconds"), [((), 24 * 3600), (("--overlap-hours", "0.5"), 1800)])
def test_key_is_retired_with_an_overlap(listed, done, owner, options, seconds):
    done(*SIGNERS, "retire", 1, OLD.public_key[:8].upper(), *options, key=owner)
    assert abs(listed()[0]["validUntil"] - now() - seconds) < 600


def test_stolen_key_is_retired_at_once(listed, done, owner):
    done(*SIGNERS, "retire", 1, f"0x{OLD.public_key}", "--overlap-hours", 0, key=owner)
    assert listed()[0]["validUntil"] <= now()


def test_dry_run_changes_nothing(listed, done, owner, identity):
    before = identity.tokenURI(1)
    assert (
        done(*SIGNERS, "retire", 1, OLD.public_key[:8], "--dry-run", key=owner)["transaction"]["from"] == owner.address
    )
    assert identity.tokenURI(1) == before


@pytest.mark.parametrize(
    ("digits", "problem"),
    [
        (OLD.public_key[:7], "is too short: pass at least 8 digits of the public key"),
        ("ffffffff", "0 listed keys begin with"),
        (Secp256k1Key(bytes(range(9, 41))).public_key[:8], "0 listed keys begin with"),
    ],
    ids=["short", "unknown", "other"],
)
def test_digits_that_name_no_key_are_refused(publish, refused, owner, digits, problem):
    error = refused(3, *SIGNERS, "retire", 1, digits, key=owner)
    assert (error["reason"], problem in error["message"]) == ("invalid_argument", True)


def test_digits_of_two_keys_are_refused(publish, refused, owner):
    digits, similar = OLD.public_key, OLD.public_key[:8] + "0" * 122
    publish(signer_entry(OLD), signer_entry(OLD) | {"publicKey": similar})
    assert digits[:8] == similar[:8]
    assert "2 listed keys begin with" in refused(3, *SIGNERS, "retire", 1, digits[:8], key=owner)["message"]


@pytest.mark.parametrize(
    ("code", "arguments", "variables", "reason"),
    [
        (7, (), {}, "malformed_key"),
        (7, (), {"BILATERAL_X402_KEY": "zz"}, "malformed_key"),
        (7, ("--algorithm", "rsa"), SECRET, "malformed_key"),
        (3, ("--role", "thief"), SECRET, "invalid_argument"),
        (3, ("--valid-until", "-1"), SECRET, "invalid_argument"),
        (3, (), {"BILATERAL_X402_KEY": OLD.secret.hex()}, "invalid_argument"),
        (3, ("--signing-keystore", "a", "--public-key-file", "b"), {}, "invalid_argument"),
        (6, ("--public-key-file", "missing.hex"), {}, "unreachable_document"),
        (7, ("--signing-keystore", "missing.json"), {"BILATERAL_PASSPHRASE": "p"}, "malformed_key"),
    ],
    ids=["missing", "not hexadecimal", "algorithm", "role", "end", "listed", "two", "no file", "no keystore"],
)
def test_key_that_cannot_be_added_is_refused(publish, refused, owner, code, arguments, variables, reason):
    error = refused(code, *SIGNERS, "add", 1, *arguments, key=owner, **variables)
    assert error["reason"] == reason
    assert not any(secret in str(error) for secret in (NEW.secret.hex(), OLD.secret.hex()))


def test_stranger_may_not_add_a_key(publish, refused, stranger):
    error = refused(4, *SIGNERS, "add", 1, "--algorithm", "ed25519", key=stranger, **SECRET)
    assert error["reason"] == "not_authorized"


def test_agent_without_a_file_has_no_keys(agent, refused):
    assert "has no registration file" in refused(3, *SIGNERS, "list", 1)["message"]


def test_group_inside_a_group_shows_its_help(bilateral):
    ran = bilateral("x402", "signers")
    assert (ran.code, ran.err) == (2, "")
    assert "retire" in ran.out


@pytest.fixture
def priced(identity, reputation, agent, owner, token):
    """A server that asks for a payment to any account, as the agent's."""
    deployment = Deployment(ape.chain.chain_id, identity.address, reputation=reputation.address)

    @contextmanager
    def serve(pay_to=owner.address, agent_id=agent):
        price = {
            "x402Version": 2,
            "accepts": [
                {
                    "scheme": "exact",
                    "network": f"eip155:{ape.chain.chain_id}",
                    "asset": token.address,
                    "amount": "1000",
                    "payTo": pay_to,
                    "maxTimeoutSeconds": 60,
                    "extra": {"name": "Test Dollar", "version": "2"},
                }
            ],
            "extensions": declare_8004_reputation(agent_id, deployment),
        }
        with HttpServer() as server:
            headers = {"PAYMENT-REQUIRED": encoded(json.dumps(price).encode())}
            server.routes["/weather"] = lambda handler: respond(handler, b"{}", 402, **headers)
            yield server.url + "/weather"

    return serve


def test_server_is_checked(publish, priced, done, agent, identity):
    registry = f"eip155:{ape.chain.chain_id}:{identity.address}"
    publish(signer_entry(OLD), registrations=[{"agentId": agent, "agentRegistry": registry}])
    with priced() as url:
        checks = done("x402", "check", url)
    assert [(entry["check"], entry["code"]) for entry in checks] == [("wallet", ""), ("keys", "")]


def test_server_whose_wallet_is_anothers_is_declined(publish, priced, bilateral, token):
    with priced(pay_to=token.address) as url:
        ran = bilateral("x402", "check", url)
        assert "payment_address_mismatch" in ran.out
        assert ran.code == 13
        assert bilateral("x402", "check", url.replace("/weather", "/none")).code == 3
    assert bilateral("x402", "check", url).code == 6


def test_service_is_checked_by_its_url_alone(publish, priced, bilateral, agent, identity):
    registry = f"eip155:{ape.chain.chain_id}:{identity.address}"
    publish(signer_entry(OLD), registrations=[{"agentId": agent, "agentRegistry": registry}], x402Support=True)
    with priced() as url:
        ran = bilateral("check", url, "--json")
    answer = json.loads(ran.out)
    assert (ran.code, answer["verdict"]) == (12, "caution")
    assert [entry["code"] for entry in answer["findings"]] == ["", ""]
    (server,) = answer["agents"]
    assert server["agent"] == f"{ape.chain.chain_id}:{agent}"
    assert [reason["code"] for reason in server["reasons"] if reason["severity"] == "caution"] == ["no_ratings"]
    assert server["untrusted"]["name"] == "Weather agent"


def test_service_that_pays_another_account_is_declined(publish, priced, bilateral, token):
    with priced(pay_to=token.address) as url:
        ran = bilateral("check", url, "--json")
    answer = json.loads(ran.out)
    assert (ran.code, answer["verdict"]) == (13, "decline")
    assert answer["price"][0]["payTo"] == token.address
    assert answer["agents"][0]["reasons"][0]["code"] == "pay_to_differs"
