"""Contracts, code and addresses of a deployment are known and checked before it spends gas."""

from __future__ import annotations

import re

import pytest

from scripts._build import ROOT, build, deployable_contracts
from scripts._deployment.errors import DeploymentError
from scripts._deployment.parameters import ContractParameters, load_parameters
from scripts._deployment.plan import DEPLOYER, make_plan
from tests.deployment.conftest import SALTS


def test_contracts_come_after_those_that_they_refer_to(plan):
    assert [contract.name for contract in plan] == ["IdentityRegistry", "MockRegistry", "MockWallet"]


def test_reference_becomes_the_predicted_address(plan):
    identity, registry, wallet = plan
    assert registry.arguments == {"identityRegistry": identity.address}
    assert wallet.arguments == {"key": registry.address}
    assert registry.constructor_arguments == bytes(12) + bytes.fromhex(identity.address[2:])


def test_salt_moves_the_address(plan):
    moved = make_plan({"IdentityRegistry": ContractParameters(salt=SALTS[0])})
    assert moved[0].init_code == plan[0].init_code
    assert moved[0].address != plan[0].address


def test_every_deployable_contract_in_the_parameters_of_the_project_makes_a_plan():
    parameters = load_parameters(ROOT / "deployments" / "parameters.yaml")
    assert parameters.keys() <= set(deployable_contracts())
    assert {contract.name for contract in make_plan(parameters)} == parameters.keys()


def test_guide_shows_the_contracts_of_the_project_and_no_address_that_depends_on_their_code():
    guide = (ROOT / "docs" / "deploying.md").read_text()
    planned = [contract.name for contract in make_plan(load_parameters(ROOT / "deployments" / "parameters.yaml"))]
    assert re.findall(r"^│ (\w+) ", guide, re.MULTILINE) == [*planned, *planned]
    assert re.findall(r"^(\w+): sending", guide, re.MULTILINE) == planned
    assert set(re.findall(r"0x[0-9a-fA-F]{40}\b", guide)) == {DEPLOYER}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "MockRegistry: its constructor's argument 'identityRegistry' is not given."),
        (
            {"identityRegistry": f"0x{1:040x}", "owner": f"0x{1:040x}"},
            "MockRegistry: its constructor has no argument 'owner', only ['identityRegistry'].",
        ),
        ({"identityRegistry": "$Missing"}, "MockRegistry: $Missing is not among the contracts to deploy."),
        ({"identityRegistry": "$MockRegistry"}, "These contracts refer to each other: MockRegistry → MockRegistry."),
    ],
)
def test_arguments_that_do_not_match_the_constructor_are_refused(arguments, message):
    with pytest.raises(DeploymentError) as refusal:
        make_plan({"MockRegistry": ContractParameters(salt=SALTS[0], arguments=arguments)})
    assert refusal.value.message == message


@pytest.mark.parametrize("value", ["0x01", 5, True, None])
def test_argument_of_another_type_is_refused(value):
    with pytest.raises(DeploymentError, match=r"^MockRegistry: its constructor refuses"):
        make_plan({"MockRegistry": ContractParameters(salt=SALTS[0], arguments={"identityRegistry": value})})


def test_contract_that_the_project_lacks_is_refused():
    with pytest.raises(DeploymentError, match=r"^Nothing: the project has no such contract. It has .*IdentityRegistry"):
        make_plan({"Nothing": ContractParameters(salt=SALTS[0])})


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("IdentityRegistry: {salt: 0x01}", "IdentityRegistry.salt: Input should be a valid string"),
        ("IdentityRegistry: {salt: '0x01'}", "IdentityRegistry.salt: String should match pattern"),
        ("IdentityRegistry: {arguments: {}}", "IdentityRegistry.salt: Field required"),
        (f"IdentityRegistry: {{salt: '{SALTS[0]}', argument: 1}}", "IdentityRegistry.argument: Extra inputs are not"),
        ("IdentityRegistry: [", "while parsing a flow node"),
        ("", "Input should be a valid dictionary"),
        (b"IdentityRegistry: \xff", "unacceptable character #x00ff: invalid start byte"),
    ],
)
def test_parameters_are_checked_against_their_schema(tmp_path, text, mistake):
    path = tmp_path / "parameters.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DeploymentError) as refusal:
        load_parameters(path)
    assert refusal.value.message.startswith(f"{path}: ")
    assert mistake in refusal.value.message


def test_missing_parameters_are_named(tmp_path):
    with pytest.raises(DeploymentError, match=r"missing.yaml: No such file or directory$"):
        load_parameters(tmp_path / "missing.yaml")


def test_build_recognises_its_code_whatever_the_immutable_values():
    registry = build("MockRegistry")
    ((start, length),) = registry.immutables
    code = bytearray(registry.runtime_code)
    code[start : start + length] = b"\x11" * length
    assert registry.runs_as(bytes(code))


def test_build_recognises_no_other_code():
    registry = build("MockRegistry")
    changed = bytes([registry.runtime_code[0] ^ 1]) + registry.runtime_code[1:]
    assert not registry.runs_as(changed)
    assert not registry.runs_as(registry.runtime_code + b"\x00")
    assert not registry.runs_as(b"")
