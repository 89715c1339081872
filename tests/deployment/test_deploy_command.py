"""`ape run deploy`, end to end."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import ape
import pytest
from click.testing import CliRunner
from eth_account import Account

from scripts._anvil import running_anvil
from scripts._build import ROOT
from scripts.deploy import cli
from tests.deployment.conftest import BASE_SEPOLIA

FUJI = 43113
PASSPHRASE = "correct horse battery staple"  # noqa: S105  # of a key that is worth nothing


@pytest.fixture
def deploy(tmp_path):
    """Runs the command; its records go to `tmp_path`."""

    def run(network: str, *options: str, answer: str | None = None):
        arguments = ["--network", network, "--account", "TEST::0", "--records", str(tmp_path), *options]
        return CliRunner().invoke(cli, arguments, input=answer)

    return run


def address_on_record(folder: Path, chain_id: int) -> str:
    return json.loads((folder / f"{chain_id}.json").read_text())["contracts"]["IdentityRegistry"]["address"]


def test_second_run_sends_nothing_and_leaves_the_record_byte_for_byte(deploy, node, tmp_path):
    first = deploy(f"base:sepolia:{node}", "--yes")
    assert first.exit_code == 0, first.output
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


@pytest.mark.parametrize(("answer", "exit_code"), [("y\n", 0), ("n\n", 1), ("", 1)])
def test_live_network_is_confirmed_before_anything_is_sent(deploy, node, tmp_path, answer, exit_code):
    result = deploy(f"base:sepolia:{node}", answer=answer)
    assert result.exit_code == exit_code
    assert f"Deploy to base:sepolia (chain {BASE_SEPOLIA})? [y/N]" in result.output
    assert (tmp_path / f"{BASE_SEPOLIA}.json").exists() is (exit_code == 0)


def test_local_network_is_not_confirmed(deploy):
    result = deploy("ethereum:local:foundry")
    assert result.exit_code == 0, result.output
    assert "[y/N]" not in result.output


def test_account_without_funds_is_told_what_it_lacks(deploy, network, tmp_path):
    network.request("anvil_setBalance", network.account.address, hex(10**15))
    result = deploy(f"base:sepolia:{network.url}", "--yes")
    assert result.exit_code == 1
    assert f"Error: {network.account.address} cannot pay for it: it lacks 0.00" in result.output
    assert not (tmp_path / f"{BASE_SEPOLIA}.json").exists()


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


@pytest.fixture
def home(tmp_path) -> Path:
    """The data folder of a user of Ape's, with a key file `deployer`."""
    (tmp_path / "accounts").mkdir()
    keyfile = Account.encrypt("0x" + "ab" * 32, PASSPHRASE, kdf="pbkdf2", iterations=1000)
    (tmp_path / "accounts" / "deployer.json").write_text(json.dumps(keyfile))
    (tmp_path / "packages").symlink_to(ape.config.DATA_FOLDER / "packages")
    return tmp_path


def run_ape(home: Path, node: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"APE_DATA_FOLDER": str(home), "WEB3_PROVIDER_URI": node} | variables
    command = [ROOT / ".venv/bin/ape", "run", *arguments]
    return subprocess.run(  # noqa: S603  # the project's own command
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_key_file_signs_unattended_on_the_node_of_the_environment(home, network, tmp_path):
    payer = Account.from_key("0x" + "ab" * 32).address
    network.request("anvil_setBalance", payer, hex(10**18))
    arguments = ["--network", "base:sepolia:node", "--account", "deployer", "--yes", "--records", str(tmp_path)]
    run = run_ape(home, network.url, "deploy", *arguments, APE_ACCOUNTS_deployer_PASSPHRASE=PASSPHRASE)
    assert run.returncode == 0, run.stderr
    assert (
        json.loads((tmp_path / f"{BASE_SEPOLIA}.json").read_text())["contracts"]["IdentityRegistry"]["deployer"]
        == payer
    )


def test_node_of_the_environment_that_serves_another_chain_is_an_error(home, node, tmp_path):
    arguments = ["--network", "avalanche:fuji:node", "--account", "TEST::0", "--yes", "--records", str(tmp_path)]
    run = run_ape(home, node, "deploy", *arguments)
    assert run.returncode == 1
    assert "WEB3_PROVIDER_URI names a node of another chain than the one that was asked for." in run.stderr
