"""Both commands, as a team would type them, on the networks that the specifications name."""

from __future__ import annotations

import json

import pytest
import yaml

from scripts._anvil import running_anvil
from scripts._build import ROOT
from scripts._deployment.block_explorer import KEY, block_explorer
from tests.deployment.conftest import BASE_SEPOLIA, FUJI, run_ape

REGISTRIES = yaml.safe_load((ROOT / "deployments/parameters.yaml").read_text()).keys()


@pytest.fixture
def nodes():
    with running_anvil("--chain-id", str(BASE_SEPOLIA)) as base, running_anvil("--chain-id", str(FUJI)) as fuji:
        yield {BASE_SEPOLIA: base, FUJI: fuji}


@pytest.mark.nightly
def test_two_commands_deploy_and_verify_every_registry_on_base_sepolia_and_on_fuji(nodes, home, tmp_path):
    records = tmp_path / "records"
    with block_explorer(nodes) as explorer:
        # One node is named in Ape's settings, the other one by the environment.
        settings = {"etherscan": explorer.settings(), "node": {"avalanche": {"fuji": {"uri": nodes[FUJI]}}}}
        (home / "ape-config.yaml").write_text(yaml.safe_dump(settings))
        environments = {
            "base:sepolia:node": (BASE_SEPOLIA, {"WEB3_PROVIDER_URI": nodes[BASE_SEPOLIA]}),
            "avalanche:fuji:node": (FUJI, {}),
        }
        entries = {}
        for network, (chain_id, variables) in environments.items():
            options = ["--network", network, "--records", str(records)]
            deployment = [*options, "--account", "TEST::0", "--yes"]
            deploy = run_ape(home, "deploy", *deployment, **variables)
            assert deploy.returncode == 0, deploy.stdout + deploy.stderr
            verify = run_ape(home, "verify", *options, ETHERSCAN_API_KEY=KEY, **variables)
            assert verify.returncode == 0, verify.stdout + verify.stderr

            entries[chain_id] = json.loads((records / f"{chain_id}.json").read_text())["contracts"]
            assert entries[chain_id].keys() == REGISTRIES
            for entry in entries[chain_id].values():
                assert entry["verified"]
                assert f"{explorer.url}/address/{entry['address']}#code" in verify.stdout
    for name in REGISTRIES:
        assert entries[BASE_SEPOLIA][name]["address"] == entries[FUJI][name]["address"]
