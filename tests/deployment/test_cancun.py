"""A deployment needs a chain with Cancun, and registries that answer there."""

from __future__ import annotations

import json

import pytest

from scripts._anvil import running_anvil
from scripts._build import ROOT
from scripts._deployment.errors import DeploymentError
from scripts._deployment.parameters import ContractParameters, load_parameters
from scripts._deployment.plan import make_plan
from tests.deployment.conftest import BASE_SEPOLIA, SALTS, connected, run_ape
from tests.deployment.unreliable import unreliable

REFUSAL = (
    "Chain 84532 does not run Cancun, so the registries would be dead there: its node answers the opcode MCOPY "
    "(EIP-5656) with "
)


@pytest.fixture
def shanghai():
    """The URL of a chain that has not upgraded to Cancun."""
    with running_anvil("--chain-id", str(BASE_SEPOLIA), "--hardfork", "shanghai") as url:
        yield url


def rpc(answer):
    """Return a node's answer with HTTP status 200, as the proxy gives it."""
    return 200, json.dumps({"jsonrpc": "2.0", "id": 1} | answer).encode()


def expecting(**expected: object):
    return make_plan({"IdentityRegistry": ContractParameters(salt=SALTS[0], expected=expected)})


def test_command_refuses_a_chain_without_cancun_before_it_sends_anything(shanghai, home, tmp_path):
    options = [
        "--network",
        "base:sepolia:node",
        "--account",
        "TEST::0",
        "--yes",
        "--records",
        str(tmp_path / "records"),
    ]
    run = run_ape(home, "deploy", *options, WEB3_PROVIDER_URI=shanghai)
    assert run.returncode == 1
    assert REFUSAL in run.stderr
    assert "Deploy to a chain that has the Cancun upgrade." in run.stderr
    assert not (tmp_path / "records" / f"{BASE_SEPOLIA}.json").exists()


def test_nothing_is_sent_to_a_chain_without_cancun(networks, account, shanghai, records):
    with connected(networks, account, shanghai) as network:
        with pytest.raises(DeploymentError) as refusal:
            list(network.deploy(expecting(), records))
        assert refusal.value.message.startswith(REFUSAL)
        assert network.sent == 0


@pytest.mark.parametrize(
    "answer",
    [{"result": "0x00"}, {"error": {"code": -32000, "message": "invalid opcode: MCOPY"}}],
    ids=["data", "error"],
)
def test_every_answer_but_empty_data_means_that_cancun_is_missing(networks, account, node, records, answer):
    with unreliable(node) as proxy, connected(networks, account, proxy.url) as network:
        proxy.refusals = {"eth_call": rpc(answer)}
        with pytest.raises(DeploymentError) as refusal:
            list(network.deploy(expecting(), records))
        assert refusal.value.message.startswith(REFUSAL)


def test_overloaded_node_does_not_mean_that_cancun_is_missing(networks, account, node, records):
    with unreliable(node) as proxy, connected(networks, account, proxy.url) as network:
        proxy.refusals = {"eth_call": rpc({"error": {"code": -32005, "message": "rate limit reached"}})}
        with pytest.raises(DeploymentError, match=r"^The node fails: .*rate limit reached"):
            list(network.deploy(expecting(), records))


def test_contract_whose_view_does_not_run_on_the_chain_is_not_recorded(networks, account, node, records):
    plan = expecting(getVersion="2.0.0")
    with unreliable(node) as proxy, connected(networks, account, proxy.url) as network:
        proxy.refusals = {"eth_call": rpc({"result": "0x"})}  # as if Cancun ran
        with pytest.raises(DeploymentError) as refusal:
            list(network.deploy(plan, records))
    call = f"IdentityRegistry: getVersion() at {plan[0].address}"
    assert refusal.value.message.startswith(f"{call} fails (BadFunctionCallOutput: ")
    assert refusal.value.message.endswith("expected 2.0.0. The contract does not run on this chain: do not use it.")
    assert json.loads(records.path(BASE_SEPOLIA).read_text())["contracts"] == {}


def test_contract_whose_view_returns_another_value_is_not_recorded(network, records):
    plan = expecting(getVersion="1.9.9")
    with pytest.raises(DeploymentError) as refusal:
        list(network.deploy(plan, records))
    assert refusal.value.message == (
        f"IdentityRegistry: getVersion() at {plan[0].address} returns 2.0.0, expected 1.9.9. Do not use this contract."
    )
    assert json.loads(records.path(BASE_SEPOLIA).read_text())["contracts"] == {}


def test_contract_whose_view_returns_the_expected_value_is_recorded(network, records):
    (outcome,) = network.deploy(expecting(getVersion="2.0.0"), records)
    assert records.load(BASE_SEPOLIA).contracts == {"IdentityRegistry": outcome.record}


def test_every_registry_of_the_project_has_a_view_that_is_compared():
    for contract in make_plan(load_parameters(ROOT / "deployments" / "parameters.yaml")):
        assert contract.expected, contract.name


@pytest.mark.parametrize("view", ["getVersions", "ownerOf"], ids=["unknown", "with an argument"])
def test_expectation_of_a_view_that_cannot_be_called_is_refused(view):
    with pytest.raises(DeploymentError) as refusal:
        expecting(**{view: 1})
    assert refusal.value.message == (
        f"IdentityRegistry: `expected` names ['{view}'], but it has no such view without arguments."
    )
