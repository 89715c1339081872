"""`ape run deploy --parameters deployments/companion.yaml`: registries on top of the canonical identity registry."""

from __future__ import annotations

import json

import pytest
import yaml
from click.testing import CliRunner

from bilateral.core.contracts import Deployment
from scripts._anvil import running_anvil
from scripts._build import ROOT
from scripts._deployment.block_explorer import KEY, block_explorer
from scripts._deployment.parameters import load_parameters
from scripts._deployment.plan import make_plan
from scripts.deploy import cli
from tests.calls import encoded
from tests.deployment.conftest import BASE_SEPOLIA, connected, run_ape
from tests.deployment.installing import CANONICAL, install_stand_in

PARAMETERS = ROOT / "deployments" / "companion.yaml"
CONTRACTS = list(load_parameters(PARAMETERS))
LOCAL = 31337
NOBODY = "0x000000000000000000000000000000000000dEaD"


@pytest.fixture
def deploy(tmp_path):
    """Runs the command for a companion; its records go to `tmp_path`."""

    def run(network: str, *options: str):
        where = ["--records", str(tmp_path), "--parameters", str(PARAMETERS)]
        return CliRunner().invoke(cli, ["--network", network, "--account", "TEST::0", "--yes", *where, *options])

    return run


def test_companion_and_registries_are_deployed_at_known_addresses_and_work(deploy, network, tmp_path):
    install_stand_in(network)
    for told in ("to be deployed", "Everything was in place, nothing was sent."):
        result = deploy(f"base:sepolia:{network.url}")
        assert result.exit_code == 0, result.output
        assert told in result.output

    text = (tmp_path / f"{BASE_SEPOLIA}.json").read_text()
    entries = json.loads(text)["contracts"]
    plan = make_plan(load_parameters(PARAMETERS), {"canonical.IdentityRegistry": CANONICAL})
    assert {name: entry["address"] for name, entry in entries.items()} == {
        account.name: account.address for account in plan
    }
    assert sorted(entries) == sorted(CONTRACTS)
    assert entries["CompanionDirectory"]["constructorArguments"] == {"identityRegistry": CANONICAL}

    deployed = Deployment.from_record(text)
    assert (deployed.identity, deployed.directory) == (CANONICAL, entries["CompanionDirectory"]["address"])
    ratings = entries["BidirectionalReputationRegistry"]["address"]
    server = network.account.address
    for target, call in (
        (CANONICAL, ("register()",)),
        (CANONICAL, ("register()",)),
        (deployed.directory, ("setPrimaryAgent(uint256)", 1)),
        (ratings, ("rateClient(uint256,uint8)", 0, 35)),
    ):
        network.send({"from": server, "to": target, "data": f"0x{encoded(*call).hex()}"})
    question = {"to": ratings, "data": f"0x{encoded('getClientRating(uint256,uint256)', 0, 1).hex()}"}
    assert network.request("eth_call", question, "latest")[2:] == f"{1:064x}{35:064x}"


@pytest.mark.nightly
def test_companion_is_verified_at_the_block_explorer(deploy, network, home, tmp_path):
    install_stand_in(network)
    only = tmp_path / "only.yaml"
    parameters = load_parameters(PARAMETERS)["CompanionDirectory"].model_dump()
    only.write_text(yaml.safe_dump({"CompanionDirectory": parameters}))
    result = deploy(f"base:sepolia:{network.url}", "--parameters", str(only))
    assert result.exit_code == 0, result.output
    with block_explorer({BASE_SEPOLIA: network.url}) as explorer:
        (home / "ape-config.yaml").write_text(yaml.safe_dump({"etherscan": explorer.settings()}))
        options = ["--network", "base:sepolia:node", "--records", str(tmp_path)]
        run = run_ape(home, "verify", *options, ETHERSCAN_API_KEY=KEY, WEB3_PROVIDER_URI=network.url)
        assert run.returncode == 0, run.stdout + run.stderr
    entries = json.loads((tmp_path / f"{BASE_SEPOLIA}.json").read_text())["contracts"]
    assert {name: entry["verified"] for name, entry in entries.items()} == {"CompanionDirectory": True}


def test_registry_of_a_local_chain_is_named(deploy, networks, account, tmp_path):
    with running_anvil() as url, connected(networks, account, url, "ethereum:local") as network:
        install_stand_in(network)
        result = deploy(f"ethereum:local:{url}", "--canonical", f"IdentityRegistry={CANONICAL}")
        assert result.exit_code == 0, result.output
    entries = json.loads((tmp_path / f"{LOCAL}.json").read_text())["contracts"]
    assert entries["CompanionDirectory"]["constructorArguments"] == {"identityRegistry": CANONICAL}
    assert sorted(entries) == sorted(CONTRACTS)


def refused(result, network, tmp_path):
    """Return the last line, after checking that nothing was sent and nothing recorded."""
    assert result.exit_code == 1
    assert network.sent == 0
    assert not (tmp_path / f"{network.chain.chain_id}.json").exists()
    return result.output.splitlines()[-1]


def test_chain_without_a_canonical_registry_is_refused(deploy, tmp_path, networks, account):
    with running_anvil() as url, connected(networks, account, url, "ethereum:local") as network:
        assert refused(deploy(f"ethereum:local:{url}"), network, tmp_path) == (
            "Error: Chain 31337: deployments/canonical.json has no canonical IdentityRegistry of this chain. If there "
            "is one, name it: --canonical IdentityRegistry=ADDRESS"
        )


@pytest.mark.parametrize("text", ["", "IdentityRegistry", f"IdentityRegistry={NOBODY.lower()}"])
def test_invalid_address_is_refused(deploy, network, tmp_path, text):
    assert refused(deploy(f"base:sepolia:{network.url}", "--canonical", text), network, tmp_path) == (
        f"Error: --canonical {text}: expected NAME=ADDRESS, with a checksum in the address."
    )


def test_address_without_code_is_refused(deploy, network, tmp_path):
    assert refused(deploy(f"base:sepolia:{network.url}"), network, tmp_path) == (
        f"Error: Chain {BASE_SEPOLIA}: expected the canonical IdentityRegistry at {CANONICAL}, found no code. Nothing "
        "was sent."
    )


@pytest.mark.parametrize(
    ("code", "refusal"),
    [
        ("0x00", f"NotAnIdentityRegistry({CANONICAL.lower()}, 0x01ffc9a7)"),
        (f"0xef0100{NOBODY[2:]}", "Error(bad identity)"),
    ],
    ids=["another contract", "delegated account"],
)
def test_contract_that_the_companion_refuses_stops_the_deployment(deploy, network, tmp_path, code, refusal):
    network.request("anvil_setCode", CANONICAL, code)
    assert refused(deploy(f"base:sepolia:{network.url}"), network, tmp_path) == (
        f"Error: CompanionDirectory: expected an identity registry at {CANONICAL}, found a contract that its "
        f"constructor refuses with {refusal}. Nothing was sent."
    )


def test_guide_shows_the_contracts_on_top_of_the_canonical_registry():
    guide = (ROOT / "docs" / "deploying.md").read_text()
    section = guide.partition("## On top of the deployed registries")[2].partition("\n## ")[0]
    assert all(name in section for name in CONTRACTS)
