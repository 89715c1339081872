"""`ape run deploy --parameters deployments/companion-buyers.yaml`: buyers of agents of the canonical registry."""

from __future__ import annotations

import json

from click.testing import CliRunner
from eth_account import Account

from bilateral.core.contracts import Deployment
from scripts._build import ROOT
from scripts._deployment.parameters import load_parameters
from scripts._deployment.plan import make_plan
from scripts.deploy import cli
from tests.calls import encoded
from tests.deployment.conftest import BASE_SEPOLIA
from tests.deployment.installing import CANONICAL, install_stand_in, install_token
from tests.sdk.client.helpers import signed_payment

DEPLOYMENTS = ROOT / "deployments"
ATTESTOR = "0x000000000000000000000000000000000000dEaD"
ANCHORER = "0x00000000000000000000000000000000DeaDBeef"
BUYER = Account.from_key(b"\x0b" * 32)
AMOUNT = 5_000_000
SETTLE = "settle(address,address,uint256,uint256,uint256,bytes32,address,bytes)"


def deploy(network, records, parameters, *options):
    """Run the command, and return what is recorded of the chain."""
    where = ["--network", f"base:sepolia:{network.url}", "--account", "TEST::0", "--records", str(records)]
    result = CliRunner().invoke(cli, [*where, "--yes", "--parameters", str(DEPLOYMENTS / parameters), *options])
    assert result.exit_code == 0, result.output
    return (records / f"{BASE_SEPOLIA}.json").read_text()


def test_payment_to_an_agent_of_the_canonical_registry_counts(network, tmp_path):
    install_stand_in(network)
    token = install_token(network)
    options = ("--given", f"tokens={token}", "--given", f"attestor={ATTESTOR}", "--given", f"anchorer={ANCHORER}")
    deploy(network, tmp_path, "companion.yaml")
    text = deploy(network, tmp_path, "companion-buyers.yaml", *options)

    deployment = Deployment.from_record(text)
    planned = {
        "canonical.IdentityRegistry": CANONICAL,
        "given.tokens[]": [token],
        "given.attestor": ATTESTOR,
        "given.anchorer": ANCHORER,
    }
    plan = {
        contract.name: contract.address
        for contract in make_plan(load_parameters(DEPLOYMENTS / "companion-buyers.yaml"), planned)
    }
    assert (deployment.identity, deployment.directory, deployment.buyers) == (
        CANONICAL,
        plan["CompanionDirectory"],
        plan["BuyerReputationRegistry"],
    )
    entry = json.loads(text)["contracts"]["BuyerReputationRegistry"]
    assert entry["constructorArguments"]["identityRegistry"] == deployment.directory

    seller = network.account.address
    payment = signed_payment(BUYER, seller, AMOUNT, b"\x01" * 32, token, BASE_SEPOLIA)
    for target, call in (
        (CANONICAL, ("register()",)),
        (CANONICAL, ("register()",)),
        (deployment.directory, ("setPrimaryAgent(uint256)", 1)),
        (token, ("mint(address,uint256)", BUYER.address, AMOUNT)),
        (
            deployment.buyers,
            (SETTLE, BUYER.address, seller, AMOUNT, 0, 2**32, payment.nonce, token, payment.signature),
        ),
    ):
        network.send({"from": seller, "to": target, "data": f"0x{encoded(*call).hex()}"})
    (log,) = network.request("eth_getLogs", {"address": deployment.buyers})
    assert [int(topic, 16) for topic in log["topics"][1:]] == [int(BUYER.address, 16), 1]
    question = {"to": deployment.buyers, "data": f"0x{encoded('settlementScoreOf(address)', BUYER.address).hex()}"}
    assert int(network.request("eth_call", question, "latest")[2:66], 16) > 0
