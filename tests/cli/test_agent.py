"""Agents from the command line."""

from __future__ import annotations

import json

import ape
import pytest
from eth_utils.crypto import keccak

from bilateral.core.signatures import AgentWalletSet, Domain
from bilateral.documents import RegistrationFile

FILE = RegistrationFile.new("Weather agent", "Forecasts", "https://agent.example/i.png").to_bytes()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "agent.json"
    path.write_bytes(FILE)
    return path


def test_an_agent_is_registered_by_uri(done, identity, owner):
    ran = done("agent", "register", "https://agent.example/agent.json", "--metadata", "tier=gold", key=owner)
    number = identity.getAgentCount()
    assert ran["result"] == {
        "agent": f"31337:{number}",
        "owner": owner.address,
        "uri": "https://agent.example/agent.json",
        "metadata": [["tier", "0x" + b"gold".hex()]],
        "domain": "",
    }
    assert ran.keys() == {"hash", "gas", "transaction", "result"}
    assert ape.chain.provider.get_receipt(ran["hash"]).sender == owner.address
    assert identity.tokenURI(number) == "https://agent.example/agent.json"


def test_an_agent_is_registered_by_file_and_shown(done, bilateral, owner, file):
    agent = done("agent", "register", "--file", file, key=owner)["result"]["agent"]
    shown = done("agent", "show", agent)
    assert shown.keys() == {
        *("id", "registry", "owner", "wallet", "uri", "domain", "file", "file_problem"),
        *("global_id", "name", "description", "image", "is_confirmed"),
    }
    assert (shown["name"], shown["owner"], shown["file"]["description"]) == (
        "Weather agent",
        owner.address,
        "Forecasts",
    )
    table = bilateral("agent", "show", agent)
    assert table.code == 0
    assert "Weather agent" in table.out
    assert owner.address in table.out
    assert "does not list this agent" in table.err


def test_a_file_comes_from_the_standard_input(done, identity, owner):
    agent = done("agent", "register", "--file", "-", key=owner, stdin=FILE)["result"]["agent"]
    assert done("agent", "show", agent)["name"] == "Weather agent"


def test_an_agent_is_registered_by_domain_and_found(done, owner):
    agent = done("agent", "register", "--domain", "Agent.example", key=owner)["result"]["agent"]
    assert done("agent", "resolve", "agent.EXAMPLE")["agent"] == agent
    assert done("agent", "resolve", owner.address)["agent"]["id"] == agent
    entry = {"agent": agent, "domain": "Agent.example", "address": owner.address}
    assert done("agent", "resolve", owner.address, "--entry") == entry


def test_an_address_that_speaks_as_no_agent_is_said_to(done, stranger):
    assert done("agent", "resolve", stranger.address) == {
        "address": stranger.address,
        "agent": None,
        "name": None,
        "image": None,
    }


def test_a_domain_goes_with_nothing_else(refused, owner):
    error = refused(3, "agent", "register", "https://e.example", "--domain", "e.example", key=owner)
    assert error["reason"] == "invalid_argument"


def test_a_uri_is_replaced(done, identity, agent, owner):
    done("agent", "set-uri", agent, "ipfs://x", key=owner)
    assert identity.tokenURI(agent) == "ipfs://x"
    done("agent", "set-uri", agent, "", key=owner)
    assert identity.tokenURI(agent) == ""


@pytest.mark.parametrize("arguments", [[], ["ipfs://x", "--file", "agent.json"]], ids=["neither", "both"])
def test_a_registration_file_is_a_uri_or_a_file(refused, agent, owner, arguments):
    error = refused(3, "agent", "set-uri", agent, *arguments, key=owner)
    assert (error["reason"], "file's URI and --file" in error["message"]) == ("invalid_argument", True)


def test_a_wallet_is_set_by_its_own_keystore_and_unset(done, identity, agent, owner, wallet_key, keystore):
    variables = keystore("wallet", wallet_key) | {"BILATERAL_PASSPHRASE": "correct horse"}
    ran = done("agent", "set-wallet", agent, wallet_key.address, "--wallet-account", "wallet", key=owner, **variables)
    assert ran["result"] == {"agent": f"31337:{agent}", "wallet": wallet_key.address}
    assert identity.getAgentWallet(agent) == wallet_key.address
    assert done("agent", "unset-wallet", agent, key=owner)["result"]["wallet"] is None
    assert identity.getAgentWallet(agent) == ape.utils.ZERO_ADDRESS


def test_a_wallet_is_set_by_its_key_in_a_variable(done, identity, agent, owner, wallet_key):
    variable = {"BILATERAL_WALLET_PRIVATE_KEY": wallet_key.private_key}
    done("agent", "set-wallet", agent, wallet_key.address, key=owner, **variable)
    assert identity.getAgentWallet(agent) == wallet_key.address


def test_a_wallet_is_set_by_a_signature_made_elsewhere(done, chain, identity, agent, owner, wallet_key):
    deadline = chain.pending_timestamp + 200
    message = AgentWalletSet(agent, wallet_key.address, owner.address, deadline)
    signature = wallet_key.sign_message(message.signable(Domain(chain.chain_id, identity.address))).encode_rsv()
    options = ("--signature", "0x" + bytes(signature).hex(), "--deadline", deadline)
    done("agent", "set-wallet", agent, wallet_key.address, *options, key=owner)
    assert identity.getAgentWallet(agent) == wallet_key.address


def test_the_signer_may_be_the_wallet_itself(done, identity, agent, owner):
    done("agent", "unset-wallet", agent, key=owner)
    done("agent", "set-wallet", agent, owner.address.lower(), key=owner)
    assert identity.getAgentWallet(agent) == owner.address


def test_a_registration_file_is_edited(done, owner, file):
    done("agent", "register", "--file", file, key=owner)
    new = ["--description", "Hourly", "--service", "A2A=https://agent.example/a2a"]
    assert done("agent", "edit", 1, *new, key=owner)["result"]["agent"] == "31337:1"
    edited = done("agent", "show", 1)["file"]
    assert (edited["name"], edited["description"]) == ("Weather agent", "Hourly")
    assert edited["services"] == [{"name": "A2A", "endpoint": "https://agent.example/a2a"}]
    done("agent", "edit", 1, "--remove-service", "A2A", key=owner)
    assert done("agent", "show", 1)["file"]["services"] == []


@pytest.mark.parametrize("options", [[], ["--service", "A2A"], ["--remove-service", "MCP"]], ids=str)
def test_an_edit_that_changes_nothing_or_cannot_is_refused(refused, owner, file, done, options):
    done("agent", "register", "--file", file, key=owner)
    assert refused(3, "agent", "edit", 1, *options, key=owner)["reason"] == "invalid_argument"


def test_metadata_is_set_and_shown(done, agent, owner):
    done("agent", "set-metadata", agent, "tier", "gold", key=owner)
    assert done("agent", "metadata", agent, "tier") == {"key": "tier", "value": "0x676f6c64", "text": "gold"}
    done("agent", "set-metadata", agent, "root", "0x00ff", "--hex", key=owner)
    assert done("agent", "metadata", agent, "root") == {"key": "root", "value": "0x00ff", "text": None}


def test_an_agent_is_handed_on(done, identity, agent, owner, other_owner):
    result = done("agent", "transfer", agent, other_owner.address, key=owner)["result"]
    assert result == {"agent": "31337:1", "former_owner": owner.address, "owner": other_owner.address}
    assert identity.ownerOf(agent) == other_owner.address


def test_a_domain_is_changed(done, identity, agent, owner):
    done("agent", "update", agent, "--domain", "new.example", key=owner)
    assert identity.resolveByDomain("new.example").agentId == agent


def test_a_domain_is_released(done, identity, agent, owner):
    done("agent", "update", agent, "--domain", "old.example", key=owner)
    result = done("agent", "release-domain", agent, key=owner)["result"]
    assert (result["agent"], result["domain"]) == ("31337:1", "")
    with ape.reverts(identity.AgentNotFound):
        identity.resolveByDomain("old.example")


def test_an_update_that_would_change_nothing_is_refused(refused, agent, owner):
    error = refused(3, "agent", "update", agent, key=owner)
    assert (error["reason"], "--domain, --address or both" in error["message"]) == ("invalid_argument", True)


def test_the_primary_agent_is_chosen(done, identity, agent, owner):
    other = done("agent", "register", key=owner)["result"]["agent"].split(":")[1]
    done("agent", "set-primary", other, key=owner)
    assert identity.agentOf(owner) == int(other)


def test_an_account_that_may_act_is_shown_as_such(done, agent, owner, stranger):
    assert done("agent", "can-act", owner.address, agent)["may_act"] is True
    assert done("agent", "can-act", stranger.address, agent)["may_act"] is False


def test_a_dry_run_sends_nothing(done, bilateral, identity, owner):
    before = identity.getAgentCount(), owner.nonce
    ran = done("agent", "register", "data:,", "--dry-run", key=owner)
    assert (ran["hash"], ran["result"]) == (None, None)
    assert ran["transaction"]["to"] == identity.address
    assert bytes.fromhex(ran["transaction"]["data"][2:10]) == keccak(text="register(string)")[:4]
    assert ran["gas"] > 21_000
    assert "Not sent (dry run)" in bilateral("agent", "register", "data:,", "--dry-run", key=owner).out
    assert (identity.getAgentCount(), owner.nonce) == before


def test_a_dry_run_says_what_the_registry_would_refuse(refused, agent, stranger):
    error = refused(4, "agent", "set-uri", agent, "data:,", "--dry-run", key=stranger)
    assert error["reason"] == "not_authorized"


def test_nobody_waits_who_does_not_want_to(done, owner):
    ran = done("agent", "register", "--no-wait", key=owner)
    assert ran["result"] is None
    assert len(bytes.fromhex(ran["hash"][2:])) == 32


def test_a_written_result_is_shown_as_a_table(bilateral, owner):
    ran = bilateral("agent", "register", "https://agent.example/a", key=owner)
    assert ran.code == 0
    assert "Agent registered" in ran.out
    assert "https://agent.example/a" in ran.out
    assert ran.err.startswith("sent 0x")


def test_metadata_that_is_given_twice_is_refused(refused, owner):
    error = refused(3, "agent", "register", "--metadata", "tier=gold", "--metadata", "tier=lead", key=owner)
    assert (error["reason"], error["message"]) == ("invalid_argument", '--metadata specifies the key "tier" twice')


@pytest.mark.parametrize("metadata", ["tier", ""])
def test_metadata_without_a_value_is_refused(refused, owner, metadata):
    assert refused(3, "agent", "register", "--metadata", metadata, key=owner)["reason"] == "invalid_argument"


def test_an_invalid_registration_file_is_refused(refused, owner, tmp_path):
    (tmp_path / "x").write_text(json.dumps(["no object"]))
    assert refused(6, "agent", "register", "--file", tmp_path / "x", key=owner)["reason"] == "malformed_document"
    assert refused(6, "agent", "register", "--file", tmp_path / "y", key=owner)["reason"] == "unreachable_document"
