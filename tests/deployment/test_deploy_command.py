"""`ape run deploy`, end to end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from eth_account import Account
from web3 import Web3

from scripts import deploy as deploy_module
from scripts._anvil import running_anvil
from scripts._build import LOCK
from scripts._deployment import plan
from scripts._deployment.execution import with_margin
from scripts._deployment.parameters import ContractParameters
from scripts._deployment.plan import DEPLOYER, make_plan
from scripts._deployment.records import Records
from scripts.deploy import cli
from tests.deployment.conftest import BASE_SEPOLIA, DEPLOYER_KEY, FUJI, PASSPHRASE, SALTS, run_ape
from tests.helpers import free_port

DEVNET = 4242
LOCAL = 31337


@pytest.fixture
def deploy(tmp_path):
    """Runs the command for one contract; its records go to `tmp_path`."""
    parameters = tmp_path / "one.yaml"
    parameters.write_text(f"IdentityRegistry: {{salt: '{SALTS[0]}'}}")

    def run(network: str, *options: str, answer: str | None = None):
        where = ["--records", str(tmp_path), "--parameters", str(parameters)]
        arguments = ["--network", network, "--account", "TEST::0", *where, *options]
        return CliRunner().invoke(cli, arguments, input=answer)

    return run


def address_on_record(folder: Path, chain_id: int) -> str:
    return json.loads((folder / f"{chain_id}.json").read_text())["contracts"]["IdentityRegistry"]["address"]


def test_second_run_sends_nothing_and_leaves_the_record_byte_for_byte(deploy, node, tmp_path):
    first = deploy(f"base:sepolia:{node}", "--yes")
    assert first.exit_code == 0, first.output
    # Ape may log lines of its own before.
    told, _, sent = first.output.partition("Each contract usually takes one or two blocks.\n")
    assert f"Building 1 contracts and reading chain {BASE_SEPOLIA}, usually in 5 seconds …\n" in told
    assert sent.startswith("IdentityRegistry: sending")
    assert "to be deployed" in first.output
    assert "It costs about" in first.output
    assert address_on_record(tmp_path, BASE_SEPOLIA) in first.output
    before = (tmp_path / f"{BASE_SEPOLIA}.json").read_bytes()

    second = deploy(f"base:sepolia:{node}", "--yes")
    assert second.exit_code == 0, second.output
    assert "Everything was in place, nothing was sent." in second.output
    assert (tmp_path / f"{BASE_SEPOLIA}.json").read_bytes() == before


def test_addresses_are_the_same_on_every_chain(deploy, node, tmp_path):
    assert deploy(f"base:sepolia:{node}", "--yes").exit_code == 0
    with running_anvil("--chain-id", str(FUJI)) as fuji:
        assert deploy(f"avalanche:fuji:{fuji}", "--yes").exit_code == 0
    assert address_on_record(tmp_path, BASE_SEPOLIA) == address_on_record(tmp_path, FUJI)


@pytest.mark.parametrize(("answer", "exit_code"), [("y\n", 0), ("n\n", 1)])
def test_live_network_is_confirmed_before_anything_is_sent(deploy, node, tmp_path, answer, exit_code):
    result = deploy(f"base:sepolia:{node}", answer=answer)
    assert result.exit_code == exit_code
    assert f"Deploy to base:sepolia (chain {BASE_SEPOLIA})? [y/N]" in result.output
    assert (tmp_path / f"{BASE_SEPOLIA}.json").exists() is (exit_code == 0)


@pytest.mark.parametrize(("commit", "is_told"), [("0" * 40, False), ("0" * 40 + "-dirty", True)])
def test_uncommitted_changes_are_told_before_a_live_deployment_is_confirmed(deploy, node, monkeypatch, commit, is_told):
    monkeypatch.setattr(deploy_module, "git_commit", lambda: commit)
    result = deploy(f"base:sepolia:{node}", answer="n\n")
    told = "The sources have uncommitted changes: without these, nobody can verify contracts.\nDeploy to"
    assert (told in result.output) is is_told


def deploy_to_fork(home, node, *options):
    """Run the command for a fork of the node's chain. Ape's own anvil gets a port that is free."""
    arguments = ["--network", "base:sepolia-fork:foundry", "--account", "TEST::0", *options]
    variables = {"WEB3_PROVIDER_URI": node, "APE_FOUNDRY_HOST": f"http://127.0.0.1:{free_port()}"}
    return run_ape(home, "deploy", *arguments, **variables)


@pytest.mark.nightly
def test_fork_is_not_recorded_as_the_live_chain(home, node):
    run = deploy_to_fork(home, node)
    assert run.returncode == 1
    assert (
        "base:sepolia-fork is a fork: what is deployed to it is not on the chain whose id it has. "
        "Have it recorded elsewhere by --records."
    ) in run.stderr


@pytest.mark.nightly
def test_fork_is_recorded_where_the_user_wants(home, node, tmp_path):
    run = deploy_to_fork(home, node, "--records", str(tmp_path))
    assert run.returncode == 0, run.stdout + run.stderr
    assert address_on_record(tmp_path, BASE_SEPOLIA)


def test_local_network_is_not_confirmed(deploy):
    result = deploy("ethereum:local:foundry")
    assert result.exit_code == 0, result.output
    assert "[y/N]" not in result.output


def test_account_without_funds_is_told_what_it_lacks(deploy, network, tmp_path):
    network.request("anvil_setBalance", network.account.address, hex(10**15))
    result = deploy(f"base:sepolia:{network.url}", "--yes")
    assert result.exit_code == 1
    assert f"Error: {network.account.address} cannot pay for it: it lacks 0.0" in result.output
    assert not (tmp_path / f"{BASE_SEPOLIA}.json").exists()


@pytest.mark.parametrize("balance_short_of", [0, 1], ids=["enough", "one wei too little"])
def test_account_has_what_it_costs_at_the_highest_fee_and_with_the_gas_margin(
    deploy, network, tmp_path, balance_short_of
):
    (contract,) = make_plan({"IdentityRegistry": ContractParameters(salt=SALTS[0])})
    limit = network.wallet.highest_fee() * with_margin(contract.required_gas)
    network.request("anvil_setBalance", network.account.address, hex(limit - balance_short_of))
    result = deploy(f"base:sepolia:{network.url}", "--yes")
    assert result.exit_code == balance_short_of, result.output
    assert ("it lacks 0.000000000000000001 ETH." in result.output) is bool(balance_short_of)
    assert (tmp_path / f"{BASE_SEPOLIA}.json").exists() is not bool(balance_short_of)


def test_highest_fee_is_the_signed_fee(network):
    highest = network.wallet.highest_fee()
    signed = network.wallet.sign(network.account.address, b"", 21_000)
    network.chain.send(signed.raw)
    transaction = network.provider.web3.eth.get_transaction(signed.hash)
    assert transaction["maxFeePerGas"] == highest > network.chain.gas_price()


def test_local_node_of_the_users_own_is_deployed_to(deploy, tmp_path):
    with running_anvil() as url:
        result = deploy(f"ethereum:local:{url}")
        assert result.exit_code == 0, result.output
        assert Web3(Web3.HTTPProvider(url)).eth.get_code(address_on_record(tmp_path, LOCAL))
    assert not Records(tmp_path).load(LOCAL).pending


def test_live_chain_is_not_taken_for_a_local_one(deploy, network, tmp_path):
    result = deploy(f"ethereum:local:{network.url}", "--yes")
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == (
        "Error: ethereum:local is a local network, but the node serves chain 84532."
    )
    assert network.sent == 0
    assert not (tmp_path / f"{BASE_SEPOLIA}.json").exists()


@pytest.fixture
def mock_parameters(tmp_path) -> Path:
    path = tmp_path / "mock.yaml"
    path.write_text(f"MockWallet: {{salt: '{SALTS[0]}', arguments: {{key: '{DEPLOYER}'}}}}")
    return path


def test_contract_that_is_not_locked_is_not_deployed_to_a_live_network(deploy, network, mock_parameters, tmp_path):
    result = deploy(f"base:sepolia:{network.url}", "--yes", "--parameters", str(mock_parameters))
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == (
        "Error: MockWallet: its creation code is not in contracts/bytecode.lock, so it is not for live networks."
    )
    assert network.sent == 0
    assert not (tmp_path / f"{BASE_SEPOLIA}.json").exists()


def test_contract_that_is_not_locked_is_deployed_to_a_local_network(deploy, mock_parameters):
    result = deploy("ethereum:local:foundry", "--parameters", str(mock_parameters))
    assert result.exit_code == 0, result.output


def test_contract_that_is_locked_with_other_code_is_not_deployed_to_a_live_network(
    deploy, network, tmp_path, monkeypatch
):
    lock = tmp_path / "bytecode.lock"
    lock.write_text(re.sub("(IdentityRegistry 0x).*", rf"\g<1>{1:064x}", LOCK.read_text()))
    monkeypatch.setattr(plan, "LOCK", lock)
    result = deploy(f"base:sepolia:{network.url}", "--yes")
    assert result.exit_code == 1
    assert "Error: IdentityRegistry: its creation code is not in contracts/bytecode.lock" in result.output
    assert network.sent == 0


def test_wrong_chain_id_is_an_error(deploy, node):
    result = deploy(f"ethereum:sepolia:{node}", "--yes")
    assert result.exit_code == 1
    assert result.output.splitlines()[-1].startswith(
        "Error: The network cannot be used: NetworkMismatchError: Provider connected to chain ID '84532', which does "
        "not match network chain ID '11155111'."
    )


def test_unknown_network_is_an_error(deploy):
    result = deploy("base:sepulia")
    assert result.exit_code == 2
    assert "No network in 'base' named 'sepulia'. Did you mean 'sepolia" in result.output


def test_missing_node_is_an_error(deploy):
    result = deploy("base:sepolia:http://127.0.0.1:9", "--yes")
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == (
        "Error: The network cannot be used: ProviderError: No (supported) node found on 'http://127.0.0.1:9'."
    )


def test_other_parameters_may_be_named(deploy, node, tmp_path):
    parameters = tmp_path / "parameters.yaml"
    parameters.write_text("IdentityRegistry: {salt: '0x01'}")
    result = deploy(f"base:sepolia:{node}", "--yes", "--parameters", str(parameters))
    assert result.exit_code == 1
    assert f"Error: {parameters}: IdentityRegistry.salt: String should match pattern" in result.output


def test_key_file_signs_unattended_on_a_network_of_the_users_own(home, tmp_path):
    devnet = {"name": "devnet", "chain_id": DEVNET, "ecosystem": "ethereum", "default_provider": "node"}
    (home / "ape-config.yaml").write_text(yaml.safe_dump({"networks": {"custom": [devnet]}}))
    payer = Account.from_key(DEPLOYER_KEY).address
    with running_anvil("--chain-id", str(DEVNET)) as url:
        Web3(Web3.HTTPProvider(url)).provider.make_request("anvil_setBalance", [payer, hex(10**18)])
        arguments = ["--network", "ethereum:devnet", "--account", "deployer", "--yes", "--records", str(tmp_path)]
        variables = {"WEB3_PROVIDER_URI": url, "APE_ACCOUNTS_deployer_PASSPHRASE": PASSPHRASE}
        run = run_ape(home, "deploy", *arguments, **variables)
    assert run.returncode == 0, run.stdout + run.stderr
    record = Records(tmp_path).load(DEVNET)
    assert record.network == "ethereum:devnet"
    assert record.contracts["IdentityRegistry"].deployer == payer


@pytest.mark.nightly
def test_node_of_the_environment_that_serves_another_chain_is_an_error(home, node, tmp_path):
    arguments = ["--network", "avalanche:fuji:node", "--account", "TEST::0", "--yes", "--records", str(tmp_path)]
    run = run_ape(home, "deploy", *arguments, WEB3_PROVIDER_URI=node)
    assert run.returncode == 1
    assert "WEB3_PROVIDER_URI names a node of another chain than --network names." in run.stderr
