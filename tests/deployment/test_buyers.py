"""`ape run deploy --parameters deployments/buyers.yaml`: the registry of buyers, with its roles and tokens."""

from __future__ import annotations

import json

import pytest
import yaml
from click.testing import CliRunner

from bilateral.core.contracts import Deployment
from scripts._build import ROOT
from scripts._deployment.block_explorer import KEY, block_explorer
from scripts._deployment.parameters import load_parameters
from scripts._deployment.plan import make_plan
from scripts.deploy import cli
from tests.calls import encoded
from tests.deployment.conftest import BASE_SEPOLIA, run_ape
from tests.deployment.installing import install_token

PARAMETERS = ROOT / "deployments" / "buyers.yaml"
PRIVATE = ROOT / "deployments" / "private-tiers.yaml"
ATTESTOR = "0x000000000000000000000000000000000000dEaD"
ANCHORER = "0x00000000000000000000000000000000DeaDBeef"
ROLES = ("--given", f"attestor={ATTESTOR}", "--given", f"anchorer={ANCHORER}")


@pytest.fixture
def deploy(tmp_path):
    """Runs the command for the registry; its records go to `tmp_path`."""

    def run(network, *options):
        where = ["--records", str(tmp_path), "--parameters", str(PARAMETERS)]
        arguments = ["--network", f"base:sepolia:{network.url}", "--account", "TEST::0", "--yes", *where, *options]
        return CliRunner().invoke(cli, arguments)

    return run


def asked(network, to, *call):
    return network.request("eth_call", {"to": to, "data": f"0x{encoded(*call).hex()}"}, "latest")[2:]


def test_registry_is_deployed_at_a_known_address_with_its_roles(deploy, network, tmp_path):
    tokens = [install_token(network), install_token(network)]
    for told in ("to be deployed", "Everything was in place, nothing was sent."):
        result = deploy(network, *ROLES, "--given", f"tokens={','.join(tokens)}")
        assert result.exit_code == 0, result.output
        assert told in result.output
        for address in (ATTESTOR, ANCHORER, *tokens):
            assert address in result.output

    text = (tmp_path / f"{BASE_SEPOLIA}.json").read_text()
    entry = json.loads(text)["contracts"]["BuyerReputationRegistry"]
    parameters = {"given.tokens[]": tokens, "given.attestor": ATTESTOR, "given.anchorer": ANCHORER}
    plan = {planned.name: planned.address for planned in make_plan(load_parameters(PARAMETERS), parameters)}
    assert entry["address"] == plan["BuyerReputationRegistry"]
    assert entry["constructorArguments"] == {
        "identityRegistry": plan["IdentityRegistry"],
        "tokens": tokens,
        "attestor": ATTESTOR,
        "anchorer": ANCHORER,
    }
    deployment = Deployment.from_record(text)
    assert (deployment.buyers, deployment.identity) == (entry["address"], plan["IdentityRegistry"])
    for role, holder in ((0, ATTESTOR), (1, ANCHORER)):
        answer = asked(network, entry["address"], "roleHolderOf(uint8)", role)
        assert answer == f"{int(holder, 16):064x}{0:064x}"


def test_role_holders_are_printed_before_anything_is_sent(deploy, network):
    result = deploy(network, *ROLES, "--given", f"tokens={install_token(network)}")
    assert result.output.index(ATTESTOR) < result.output.index("sending")
    assert result.output.index(ANCHORER) < result.output.index("sending")
    assert "an account without code" in result.output


@pytest.mark.nightly
def test_registry_is_verified_at_the_block_explorer(deploy, network, home, tmp_path):
    result = deploy(network, *ROLES, "--given", f"tokens={install_token(network)}")
    assert result.exit_code == 0, result.output
    record = tmp_path / f"{BASE_SEPOLIA}.json"
    content = json.loads(record.read_text())
    del content["contracts"]["IdentityRegistry"]  # other tests verify it
    record.write_text(json.dumps(content))
    with block_explorer({BASE_SEPOLIA: network.url}) as explorer:
        (home / "ape-config.yaml").write_text(yaml.safe_dump({"etherscan": explorer.settings()}))
        options = ["--network", "base:sepolia:node", "--records", str(tmp_path)]
        run = run_ape(home, "verify", *options, ETHERSCAN_API_KEY=KEY, WEB3_PROVIDER_URI=network.url)
        assert run.returncode == 0, run.stdout + run.stderr
    entries = json.loads(record.read_text())["contracts"]
    assert {name: entry["verified"] for name, entry in entries.items()} == {"BuyerReputationRegistry": True}


@pytest.mark.nightly
def test_private_tiers_are_deployed_beside_the_registry_with_semaphores_verifier(deploy, network, tmp_path):
    assert deploy(network, *ROLES, "--given", f"tokens={install_token(network)}").exit_code == 0
    record = tmp_path / f"{BASE_SEPOLIA}.json"
    registry = json.loads(record.read_text())["contracts"]["BuyerReputationRegistry"]["address"]
    for told in ("to be deployed", "Everything was in place, nothing was sent."):
        result = deploy(network, "--parameters", str(PRIVATE), "--given", f"registry={registry}")
        assert result.exit_code == 0, result.output
        assert told in result.output
    entries = json.loads(record.read_text())["contracts"]
    proofs, verifier = (entries[name]["address"] for name in ("BuyerTierProofs", "TierProofVerifier"))
    assert entries["BuyerTierProofs"]["constructorArguments"] == {"registry": registry, "verifier": verifier}
    deployment = Deployment.from_record(record.read_text())
    assert (deployment.buyers, deployment.tier_proofs) == (registry, proofs)
    answers = [asked(network, proofs, getter) for getter in ("getBuyerRegistry()", "getProofVerifier()")]
    assert [int(answer, 16) for answer in answers] == [int(registry, 16), int(verifier, 16)]


SOMEBODY = "0x8004B663056A597Dffe9eCcC1965A193B7388713"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ([], "anchorer is not given: --given anchorer=ADDRESS"),
        ([*ROLES], "tokens is not given: --given tokens=ADDRESS,ADDRESS"),
        (["--given", "attestor=0x1"], "expected an address other than zero, with a checksum, not '0x1'"),
        (["--given", f"attestor=0x{'00' * 20}"], "expected an address other than zero"),
        (["--given", f"owner={SOMEBODY}"], "the parameters ask for anchorer, attestor, tokens"),
        ([*ROLES, "--given", f"attestor={SOMEBODY}"], "--given attestor: named twice"),
        ([*ROLES, "--given", f"tokens={SOMEBODY},{SOMEBODY}"], "an address is there twice"),
        ([*ROLES, "--given", "tokens="], "expected an address other than zero"),
        ([*ROLES, "--given", f"tokens={SOMEBODY}"], f"expected one of the tokens at {SOMEBODY}, found no code"),
    ],
    ids=["nothing", "no tokens", "no address", "zero", "unknown", "twice", "token twice", "empty list", "no code"],
)
def test_address_that_is_missing_or_invalid_is_refused_before_anything_is_sent(
    deploy, network, tmp_path, options, problem
):
    result = deploy(network, *options)
    assert result.exit_code == 1
    assert problem in " ".join(result.output.split())
    assert network.sent == 0
    assert not (tmp_path / f"{BASE_SEPOLIA}.json").exists()
