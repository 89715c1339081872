"""`bilateral solana …` shows and changes an agent."""

from __future__ import annotations

import json

import pytest
from solders.keypair import Keypair

from bilateral.solana.addresses import MAINNET
from tests.commands import run_here


@pytest.fixture
def key_file(tmp_path, owner):
    path = tmp_path / "owner.json"
    path.write_text(json.dumps(list(bytes(owner))))
    return path


@pytest.fixture
def bilateral(rpc, monkeypatch, key_file):
    """Runs a command as JSON, and returns its exit code and its answer."""
    monkeypatch.setenv("BILATERAL_SOLANA_RPC_URL", rpc)
    monkeypatch.setenv("BILATERAL_SOLANA_KEY_FILE", str(key_file))

    def run(*arguments):
        code, out, err = run_here("solana", *arguments, "--json")
        return code, json.loads(out or err)

    return run


def test_s35_agent_is_shown_and_changed_by_commands(bilateral, agent, owner, stranger):
    assert bilateral("show", agent)[1]["holder"] == str(owner.pubkey())
    wallet = str(Keypair().pubkey())
    for arguments in (
        ("set-uri", agent, "https://agent.example/b.json"),
        ("set-metadata", agent, "region", "no"),
        ("set-wallet", agent, wallet),
    ):
        code, answer = bilateral(*arguments)
        assert (code, len(answer["transaction"]) > 80) == (0, True)
    shown = bilateral("show", agent)[1]
    assert (shown["uri"], shown["wallet"]) == ("https://agent.example/b.json", wallet)
    assert shown["metadata"]["entries"] == {"region": "no", "agentWallet": f"{MAINNET}:{wallet}"}
    assert bilateral("remove", agent, "region")[0] == 0
    assert bilateral("transfer", agent, str(stranger.pubkey()))[0] == 0
    assert bilateral("show", agent)[1]["holder"] == str(stranger.pubkey())
    code, answer = bilateral("set-wallet", agent, wallet)
    assert (code, answer["reason"], answer["arguments"]["code"]) == (4, "solana_write", "not_the_owner")


def test_seller_on_solana_is_checked_from_outside(bilateral, rpc, shop, sell, selling_agent, stranger):
    def check(url):
        code, out, _ = run_here("x402", "check", url, "--method", "POST", "--solana-node", rpc, "--json")
        return code, [(finding["check"], finding["code"]) for finding in json.loads(out)]

    assert check(shop[0]) == (0, [("wallet", ""), ("keys", "")])
    with sell(selling_agent, str(stranger.pubkey())) as (url, _):
        assert check(url) == (13, [("wallet", "payment_address_mismatch"), ("keys", "")])


def test_node_of_another_cluster_and_malformed_key_files_are_told(bilateral, agent, key_file):
    code, answer = bilateral("show", agent, "--cluster", "devnet")
    assert (code, answer["reason"]) == (5, "wrong_node")
    for content in ("", "[1, 2]", '"x"', "[300]", "[" * 5000):
        key_file.write_text(content)
        code, answer = bilateral("set-uri", agent, "x")
        assert (code, answer["reason"]) == (7, "malformed_key")
