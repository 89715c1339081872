"""Settings come from a file, and keys from elsewhere."""

from __future__ import annotations

import json

import pytest
from eth_account import Account

from bilateral.core.contracts import Deployment
from bilateral.core.errors import InvalidArgumentError, MissingFunctionError
from bilateral.x402.aggregator.settings import AggregatorSettings, SponsoredChain, read_aggregator_settings

KEY, ADDRESS = "0x" + "33" * 32, "0x" + "11" * 20
CHAIN = f"""
[[chain]]
rpc_url = "http://127.0.0.1:9"
deployment = "record.json"
key_variable = "TEST_SPONSOR_KEY"
tokens = {{ "{ADDRESS}" = 5 }}
budget = "100000000000000000000"
"""


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Read a file beside a deployment record."""
    monkeypatch.setenv("TEST_SPONSOR_KEY", KEY)
    contracts = {
        name: {"address": address} for name, address in (("IdentityRegistry", ADDRESS), ("ReputationRegistry", ADDRESS))
    }
    (tmp_path / "record.json").write_text(json.dumps({"chainId": 5, "contracts": contracts}))

    def make(text):
        (tmp_path / "aggregator.toml").write_text(text)
        return read_aggregator_settings(tmp_path / "aggregator.toml")

    return make


def test_file_is_read_with_its_defaults(read):
    read_chain = read(CHAIN)
    (chain,) = read_chain.chains
    assert (chain.chain_id, chain.account, chain.budget) == (5, Account.from_key(KEY).address, 10**20)
    assert (dict(chain.tokens), chain.confirmations, chain.requires_bound_proof) == ({ADDRESS: 5}, 3, False)
    assert not chain.requires_checked_file
    assert read(CHAIN + "\nrequires_checked_file = true").chains[0].requires_checked_file
    assert read_chain.answer_seconds == AggregatorSettings.answer_seconds
    assert KEY[2:] not in repr(read_chain)


def test_keystore_is_found(read, tmp_path, monkeypatch):
    keystore = Account.encrypt(KEY, "secret", kdf="pbkdf2", iterations=1000)
    (tmp_path / "sponsor.json").write_text(json.dumps(keystore))
    monkeypatch.setenv("TEST_PASSPHRASE", "secret")
    named = 'keystore = "sponsor.json"\npassphrase_variable = "TEST_PASSPHRASE"'
    (chain,) = read(CHAIN.replace('key_variable = "TEST_SPONSOR_KEY"', named)).chains
    assert chain.account == Account.from_key(KEY).address


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("rpc_url", "rpc_uri", "chain.0.rpc_url: Field required"),
        ("tokens", "coins", "chain.0.tokens: Field required"),
        ('budget = "1', 'budget = "x1', "budget 'x1"),
        ("[[chain]]", "x = 1\n[[chain]]", "x: Extra inputs"),
        ("[[chain]]", "answer_seconds = 61.0\n[[chain]]", "answer_seconds: Input should be less than or equal to 60"),
        ('deployment = "record.json"', "", "chain.0.deployment: Field required"),
        ("record.json", "absent.json", "absent.json cannot be read"),
        ('key_variable = "TEST_SPONSOR_KEY"', "", "set exactly one of key_variable and keystore"),
        ('key_variable = "TEST_SPONSOR_KEY"', 'keystore = "x"', "passphrase_variable"),
        (f'{{ "{ADDRESS}" = 5 }}', "{}", "because anyone can create a token"),
        (f'"{ADDRESS}" = 5', '"0x12" = 5', "a token's address is invalid"),
        (f'"{ADDRESS}" = 5', f'"{ADDRESS}" = 0', "at least 1"),
        ("[[chain]]", "[[chain", "cannot be read"),
        (CHAIN, CHAIN * 2, "each chain may only be listed once"),
        (CHAIN, "", "chain: Field required"),
    ],
    ids=range(15),
)
def test_invalid_setting_is_named(read, old, new, problem):
    assert old in CHAIN
    with pytest.raises(InvalidArgumentError, match=problem.replace("[", r"\[")):
        read(CHAIN.replace(old, new, 1))


def test_key_that_is_missing_is_named(read, monkeypatch):
    monkeypatch.delenv("TEST_SPONSOR_KEY")
    with pytest.raises(InvalidArgumentError, match="TEST_SPONSOR_KEY is not set"):
        read(CHAIN)


def test_keystore_that_is_missing_is_named(read, monkeypatch):
    monkeypatch.setenv("TEST_PASSPHRASE", "secret")
    named = 'keystore = "absent.json"\npassphrase_variable = "TEST_PASSPHRASE"'
    with pytest.raises(InvalidArgumentError, match=r"absent\.json"):
        read(CHAIN.replace('key_variable = "TEST_SPONSOR_KEY"', named))


def test_registries_that_take_no_signed_feedback_are_refused():
    with pytest.raises(MissingFunctionError, match="giveFeedbackBySig"):
        SponsoredChain(
            "http://127.0.0.1:9", Deployment.canonical(84532), Account.from_key(KEY), tokens={ADDRESS: 1}, budget=0
        )


@pytest.mark.parametrize("changes", [{"budget": -1}, {"confirmations": 0}], ids=["budget", "confirmations"])
def test_values_out_of_range_are_refused(changes):
    deployment = Deployment(5, ADDRESS, ADDRESS)
    arguments = {"tokens": {ADDRESS: 1}, "budget": 0, **changes}
    with pytest.raises(InvalidArgumentError, match="at least"):
        SponsoredChain("http://127.0.0.1:9", deployment, Account.from_key(KEY), **arguments)
