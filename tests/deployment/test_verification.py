"""`ape run verify`: the explorer compiles what is submitted, and believes nothing else."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from unittest.mock import Mock

import ape
import pytest
import requests
from ape_etherscan import client
from click.testing import CliRunner

from scripts._build import ROOT
from scripts._deployment import block_explorer as etherscan
from scripts._deployment import verification
from scripts._deployment.block_explorer import KEY, RATE_LIMIT, block_explorer, compiler_version
from scripts.verify import cli
from tests.deployment.conftest import BASE_SEPOLIA


@pytest.fixture
def explorer(node):
    with block_explorer({BASE_SEPOLIA: node}) as explorer:
        yield explorer


@pytest.fixture
def deployed(network, plan, records):
    """Deploy and record the second contract, which takes an argument, and the first, which it needs."""
    list(network.deploy(plan[:2], records))
    record = records.load(BASE_SEPOLIA)
    record.contracts["IdentityRegistry"].verified = True  # it takes long to compile, and other tests verify it
    records.save(record)
    return record


@pytest.fixture
def verify(network, explorer, deployed, records, monkeypatch):  # there is something to verify
    """Runs the command against the explorer."""
    monkeypatch.setenv("ETHERSCAN_API_KEY", KEY)
    monkeypatch.setattr(verification, "PAUSE", 0.05)

    def run(*options: str, settings: dict | None = None):
        arguments = ["--network", f"base:sepolia:{network.url}", "--records", str(records.folder), *options]
        with ape.project.temp_config(etherscan=explorer.settings() if settings is None else settings):
            return CliRunner().invoke(cli, arguments)

    return run


def test_the_command_line_names_the_explorer_of_a_rehearsal(verify, explorer, records):
    result = verify("--explorer", explorer.url, settings={})
    assert result.exit_code == 0, result.output
    assert records.load(BASE_SEPOLIA).contracts["MockRegistry"].explorer.startswith(f"{explorer.url}/address/")


def test_one_command_starts_a_local_explorer_and_says_how_to_use_it(node):
    command = [ROOT / ".venv" / "bin" / "ape", "run", "explorer", "--node", node]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        url = re.search(r"--explorer (http://\S+)", lines[2])[1]
        asked = {"chainid": BASE_SEPOLIA, "module": "contract", "action": "verifysourcecode", "apikey": KEY}
        form = {"contractaddress": f"0x{1:040x}"}
        answer = requests.post(f"{url}/v2/api", params=asked, data=form, timeout=60).json()
        assert answer["result"] == f"Unable to locate ContractCode at 0x{1:040x}"
        assert f"ETHERSCAN_API_KEY={KEY} ape run verify" in lines[2]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 0


def is_verified(records) -> bool:
    return records.load(BASE_SEPOLIA).contracts["MockRegistry"].verified


def test_contract_is_verified_and_its_page_recorded(verify, explorer, records):
    result = verify()
    assert result.exit_code == 0, result.output
    entry = records.load(BASE_SEPOLIA).contracts["MockRegistry"]
    assert entry.verified
    assert entry.explorer == f"{explorer.url}/address/{entry.address}#code"
    assert f"MockRegistry: verified, {entry.explorer}" in result.output


def test_contract_is_verified_by_an_explorer_that_compiles_it_itself(verify, records, tmp_path, monkeypatch):
    monkeypatch.setattr(etherscan, "CACHE", tmp_path / "no builds")
    monkeypatch.setattr(etherscan, "compile_standard_json", compiled := Mock(wraps=etherscan.compile_standard_json))
    result = verify()
    assert result.exit_code == 0, result.output
    assert is_verified(records)
    compiled.assert_called_once()


def test_submission_says_all_that_decides_the_bytecode(verify, explorer, plan):
    verify()
    (form,) = explorer.submissions.values()
    assert form["contractname"] == "contracts/mocks/MockRegistry.sol:MockRegistry"
    assert form["compilerversion"] == compiler_version()
    assert form["constructorArguements"] == plan[1].constructor_arguments.hex()
    assert (form["optimizationUsed"], form["runs"], form["evmversion"]) == ("1", "1000000", "cancun")
    assert form["licenseType"] == "3"
    assert json.loads(form["sourceCode"]) == plan[1].build.standard_json


def test_second_run_submits_nothing_and_leaves_the_record_as_it_is(verify, explorer, records):
    verify()
    before = records.path(BASE_SEPOLIA).read_bytes()
    result = verify()
    assert result.exit_code == 0
    assert len(explorer.submissions) == 1
    assert records.path(BASE_SEPOLIA).read_bytes() == before


def test_already_verified_is_success(verify, records):
    verify()
    record = records.load(BASE_SEPOLIA)
    record.contracts["MockRegistry"].verified = False
    records.save(record)
    assert verify().exit_code == 0
    assert is_verified(records)


def test_pending_verdict_is_waited_for(verify, explorer, records):
    explorer.pending = 3
    assert verify().exit_code == 0
    assert explorer.pending == 0
    assert is_verified(records)


def test_verdict_that_stays_pending_is_told(verify, explorer, records):
    explorer.pending = 10_000
    result = verify("--timeout", "0.3")
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == (
        "Error: MockRegistry: there is no verdict yet (Pending in queue). Run the same command again later."
    )
    assert not is_verified(records)


def test_missing_key_is_told_before_anything_is_asked(verify, monkeypatch):
    monkeypatch.delenv("ETHERSCAN_API_KEY")
    result = verify()
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == (
        "Error: ETHERSCAN_API_KEY is not set. One key of https://etherscan.io/apidashboard serves every chain."
    )


def test_wrong_key_is_told(verify, monkeypatch):
    monkeypatch.setenv("ETHERSCAN_API_KEY", "WRONG")
    result = verify()
    assert result.exit_code == 1
    assert "Error: The explorer refuses the key in ETHERSCAN_API_KEY: " in result.output.splitlines()[-1]
    assert "Invalid API Key" in result.output


@pytest.mark.parametrize("refusal", [RATE_LIMIT, "Max rate limit reached", 429])
def test_rate_limit_is_waited_out(verify, explorer, records, refusal):
    explorer.refusals = [refusal]
    assert verify().exit_code == 0
    assert is_verified(records)


def test_rate_limit_that_stays_is_told(verify, explorer):
    explorer.refusals = [RATE_LIMIT] * 10_000
    result = verify("--timeout", "0.3")
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == (
        "Error: MockRegistry: the explorer's rate limit is exhausted. Run the same command again later."
    )


def test_explorer_that_has_not_seen_the_contract_yet_is_asked_again(verify, explorer, records):
    explorer.unseen = 2
    assert verify().exit_code == 0
    assert is_verified(records)


def test_explorer_that_does_not_see_the_contract_is_told(verify, explorer):
    explorer.unseen = 10_000
    result = verify("--timeout", "0.3")
    assert result.exit_code == 1
    assert "the explorer has not seen the contract yet." in result.output.splitlines()[-1]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("source", "The bytecode differs"),
        ("runs", "The bytecode differs"),
        ("argument", "The constructor arguments differ"),
        ("name", "No contract contracts/mocks/MockRegistry.sol:Other"),
        ("compiler", "No compiler v0.8.36+commit.00000000"),
    ],
)
def test_wrong_submission_is_rejected(verify, explorer, records, monkeypatch, change, reason):
    serve = explorer.serve

    def tamper(query):
        if query["action"] == "verifysourcecode":
            submission = json.loads(query["sourceCode"])
            if change == "source":
                source = submission["sources"]["contracts/mocks/MockRegistry.sol"]
                source["content"] = source["content"].replace("return IDENTITY_REGISTRY", "return address(this)")
            if change == "runs":
                submission["settings"]["optimizer"]["runs"] = 1
            if change == "argument":
                query["constructorArguements"] = f"{1:064x}"
            if change == "name":
                query["contractname"] = query["contractname"].replace(":MockRegistry", ":Other")
            if change == "compiler":
                query["compilerversion"] = "v0.8.36+commit.00000000"
            query["sourceCode"] = json.dumps(submission)
        return serve(query)

    monkeypatch.setattr(explorer, "serve", tamper)
    result = verify()
    assert result.exit_code == 1
    assert f"MockRegistry: the explorer rejects it: Fail - Unable to verify. {reason}" in result.output
    assert result.output.splitlines()[-1] == "Error: Not verified: MockRegistry."
    assert not is_verified(records)


def test_refused_submission_is_told(verify, explorer):
    explorer.refusals = ["Error! Source code too large"]
    result = verify()
    assert result.exit_code == 1
    assert "MockRegistry: the explorer refuses the submission: " in result.output
    assert "Source code too large" in result.output


def test_explorer_that_does_not_answer_is_told(verify, explorer):
    explorer.refusals = [503]
    result = verify()
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == (
        "Error: MockRegistry: the explorer does not answer; run the same command again later."
    )


def test_sources_that_are_not_those_that_were_deployed_are_not_submitted(verify, explorer, records):
    record = records.load(BASE_SEPOLIA)
    record.contracts["MockRegistry"].init_code_hash = f"0x{1:064x}"
    records.save(record)
    result = verify()
    assert result.exit_code == 1
    assert "MockRegistry: sources, compiler or settings are not those that were deployed. Check out" in result.output
    assert not explorer.submissions


def test_contract_that_the_sources_no_longer_have_is_not_submitted(verify, explorer, records):
    record = records.load(BASE_SEPOLIA)
    record.contracts["FormerRegistry"] = record.contracts.pop("MockRegistry")
    records.save(record)
    result = verify()
    assert result.exit_code == 1
    assert "FormerRegistry: sources, compiler or settings are not those that were deployed. Check" in result.output
    assert not explorer.submissions


def test_contract_that_is_not_on_this_chain_is_not_submitted(verify, explorer, network, deployed):
    address = deployed.contracts["MockRegistry"].address
    network.request("anvil_setCode", address, "0x")
    result = verify()
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == (
        f"Error: MockRegistry: what is at {address} on chain {BASE_SEPOLIA} is not what is on record."
    )
    assert not explorer.submissions


def test_chain_without_a_record_is_told(verify, tmp_path):
    result = verify("--records", str(tmp_path / "empty"))
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == f"Error: Nothing is on record for chain {BASE_SEPOLIA}: ape run deploy"


def list_chains(monkeypatch, chains):
    """Make Etherscan's list of chains, which is on the internet, this one."""
    monkeypatch.setattr(client, "get_supported_chains", chains)


def test_explorer_is_found_in_the_list_of_chains(verify, explorer, records, monkeypatch):
    api = f"{explorer.url}/v2/api?chainid={BASE_SEPOLIA}"
    entry = {"chainid": str(BASE_SEPOLIA), "blockexplorer": f"{explorer.url}/pages", "apiurl": api}
    list_chains(monkeypatch, lambda: [entry])
    result = verify(settings={})
    assert result.exit_code == 0, result.output
    entry = records.load(BASE_SEPOLIA).contracts["MockRegistry"]
    assert entry.explorer == f"{explorer.url}/pages/address/{entry.address}#code"


def test_chain_that_etherscan_does_not_know_is_told(verify, monkeypatch):
    list_chains(monkeypatch, list)
    result = verify(settings={})
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == (
        f"Error: Etherscan does not know the chain {BASE_SEPOLIA}. For another explorer that speaks its API, set "
        "etherscan.base.sepolia.uri and .api_uri in Ape's settings."
    )


def test_unreachable_list_of_chains_is_an_error(verify, monkeypatch):
    def offline():
        raise requests.ConnectionError

    list_chains(monkeypatch, offline)
    result = verify(settings={})
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == "Error: Etherscan does not answer; run the same command again later."
