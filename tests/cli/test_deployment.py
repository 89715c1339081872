"""Commands say which registries they use, and look at them on the chain."""

from __future__ import annotations

import json

import pytest
from web3 import HTTPProvider, Web3

from bilateral.core.contracts.records import address_book
from tests.sdk.deployed.world import CANONICAL, OWNER, REVIEWER, canonical_chain


@pytest.fixture(scope="module")
def base():
    """The variables for a node of Base, with stand-ins for the canonical registries."""
    with canonical_chain() as url:
        yield {"BILATERAL_RPC_URL": url, "BILATERAL_DEPLOYMENT": None}


@pytest.fixture
def key():
    return {"BILATERAL_PRIVATE_KEY": OWNER.key.hex()}


def test_the_address_book_is_listed(done, bilateral):
    listed = done("deployment", "list")
    chains = [entry["chain"] for entry in listed]
    assert chains[: len(address_book())] == sorted(address_book())
    assert [entry["network"] for entry in listed if str(entry["chain"]).startswith("solana:")] == [
        "solana:mainnet (SATI)",
        "solana:mainnet (8004-solana)",
        "solana:devnet (SATI)",
        "solana:devnet (8004-solana)",
        "solana:testnet (SATI)",
    ]
    assert next(entry for entry in listed if entry["chain"] == 8453) == {
        "chain": 8453,
        "network": "base:mainnet",
        "identity": CANONICAL.identity,
        "reputation": CANONICAL.reputation,
        "validation": CANONICAL.validation,
    }
    assert "base:mainnet" in bilateral("deployment", "list").out


def test_a_pinned_chain_refuses_a_node_of_another_one(refused, done, base, key):
    for pin in (("--chain", 1), ()):
        variables = base | key | ({} if pin else {"BILATERAL_CHAIN": "1"})
        error = refused(8, "agent", "register", *pin, **variables)
        assert (error["reason"], error["arguments"]) == ("wrong_chain", {"expected": 1, "actual": 8453})
    assert done("agent", "register", "--chain", 8453, **base | key)["hash"]


def test_a_write_without_a_pin_names_the_chain_to_people(bilateral, base, key):
    note = (
        "Signing for chain 8453 (base:mainnet), as reported by the node: "
        "to be sure, pass chain_id=8453 or --chain 8453."
    )
    ran = bilateral("agent", "register", **base | key)
    assert (ran.code, ran.err.replace("\n", " ").count(note), note in ran.out) == (0, 1, False)
    assert bilateral("agent", "register", "--json", **base | key).err == ""
    assert note not in bilateral("agent", "register", "--chain", 8453, **base | key).err


def test_info_says_whose_registries_are_used(done, bilateral, base, record):
    shown = done("info", **base)
    assert shown["deployment"].startswith("canonical: deployed by the authors of ERC-8004")
    assert shown["registries"]["identity"] == CANONICAL.identity
    assert shown["registries"]["ratings"] is None
    assert "canonical: deployed by" in bilateral("info", **base).out
    assert done("info")["deployment"] == f"specified by --deployment {record}"
    assert done("info", **base | {"BILATERAL_DEPLOYMENT": "canonical"})["registries"] == shown["registries"]


def test_a_deployment_is_shown_with_implementations_and_owners(done, bilateral, base):
    owner = Web3(HTTPProvider(base["BILATERAL_RPC_URL"])).eth.accounts[0]
    shown = done("deployment", "show", **base)
    assert (shown["chain_id"], shown["first_agent_id"]) == (8453, 0)
    assert [registry["registry"] for registry in shown["registries"]] == ["identity", "reputation", "validation"]
    for registry in shown["registries"]:
        assert (registry["owner"], registry["origin"], registry["is_upgradable"], registry["problem"]) == (
            owner,
            "canonical",
            True,
            None,
        )
    told = bilateral("deployment", "show", **base).out
    assert "a proxy: its owner can change it" in told
    assert shown["registries"][0]["implementation"] in told


def test_registries_of_this_project_are_shown_as_they_are(bilateral):
    ran = bilateral("deployment", "show")
    assert ran.code == 0
    assert ran.out.count("cannot change (not a proxy)") == 5


def test_a_problem_of_a_deployment_is_shown_with_exit_code_8(bilateral, tmp_path, identity, stranger):
    record = tmp_path / "record.json"
    places = {"IdentityRegistry": {"address": identity.address}, "ReputationRegistry": {"address": stranger.address}}
    record.write_text(json.dumps({"chainId": 31337, "contracts": places}))
    ran = bilateral("deployment", "show", "--deployment", record)
    assert (ran.code, f"there is no contract at {stranger.address}" in ran.out) == (8, True)


def test_a_write_says_which_registries_it_uses(bilateral, base, key):
    ran = bilateral("agent", "register", **base, **key)
    assert ran.code == 0
    assert "The registries are canonical: deployed by the authors of ERC-8004" in ran.err
    options = ["--name", "Agent", "--description", "It works", "--image", "https://agent.example/i.png"]
    made = bilateral("agent", "register", *options, **base, **key)
    assert (made.code, made.err.count("The registries are canonical")) == (0, 1)
    named = bilateral("agent", "register", "--deployment", "canonical", **base, **key)
    assert (named.code, "The registries are" in named.err) == (0, False)


def test_a_missing_registry_is_named_with_the_contract_to_deploy(refused, base, key):
    error = refused(8, "rate", "client", "0", "80", **base, **key)
    assert error["reason"] == "missing_registry"
    assert error["arguments"]["contract"] == "BidirectionalReputationRegistry"
    assert error["message"].endswith("or deploy BidirectionalReputationRegistry (docs/deployed-registries.md)")


def test_a_missing_function_is_named(refused, base):
    error = refused(8, "agent", "resolve", "agent.example", **base)
    assert error["reason"] == "missing_function"
    assert error["arguments"] == {"registry": "identity", "function": "resolveByDomain", "chain_id": 8453}


def test_a_named_deployment_that_the_package_lacks_is_an_error(refused, base):
    error = refused(8, "agent", "show", "0", "--deployment", "bilateral", **base)
    assert (error["reason"], error["arguments"]) == ("unknown_deployment", {"chain_id": 8453, "origin": "bilateral"})


def test_agent_0_is_shown_and_rated(done, base, key):
    done("agent", "register", **base, **key)
    assert done("agent", "show", "0", "--no-load", **base)["id"] == "8453:0"
    sent = done("feedback", "give", "0", "87", **base, BILATERAL_PRIVATE_KEY=REVIEWER.key.hex())
    assert sent["result"]["id"].startswith("8453:0:")
    assert done("feedback", "summary", "0", **base)["average"] == "87"
