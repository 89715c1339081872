"""The package has the compiler's ABIs, and reads deployment records."""

from __future__ import annotations

import json

import pytest
from eth_utils.crypto import keccak
from hypothesis import given
from hypothesis import strategies as st

from bilateral.core.contracts import Deployment, Registry, abi, selectors
from bilateral.core.errors import (
    DeploymentRecordError,
    InvalidArgumentError,
    MalformedIdentifierError,
    MissingRegistryError,
)
from bilateral.dev.contracts import CONTRACTS, TOKEN
from scripts._build import ROOT, build
from scripts.abi import CODE_OF_DEV, FOLDER, abi_file, compiled_abi
from tests.sdk.strategies import EVM_ADDRESS

OTHER = "0x8004B663056A597Dffe9eCcC1965A193B7388713"


@pytest.mark.parametrize("registry", Registry)
def test_the_packages_abi_is_the_compilers(registry):
    """If this fails, run `make abi`."""
    assert list(abi(registry)) == compiled_abi(registry)
    assert (FOLDER / f"{registry}.json").read_text() == abi_file(registry)


def test_packaged_code_of_local_markets_is_that_of_the_lock():
    """A test of the lock compares it with the compiler's output. The token is a mock, which the lock leaves out."""
    locked = (ROOT / "contracts" / "bytecode.lock").read_text() + build(TOKEN).lock_line
    packaged = json.loads(CODE_OF_DEV.read_text())
    assert set(packaged) == set(CONTRACTS)
    for name, code in packaged.items():
        assert f"{name} 0x{keccak(hexstr=code).hex()}\n" in locked, "run `make abi`"


@pytest.mark.parametrize("registry", Registry)
def test_selectors_and_topics_are_those_of_the_compiled_contract(registry, project):
    contract = getattr(project, registry.value).contract_type
    functions = [*contract.view_methods, *contract.mutable_methods]
    assert set(selectors(registry, "function")) == {keccak(text=entry.selector)[:4] for entry in functions}
    assert set(selectors(registry, "error")) == {keccak(text=entry.selector)[:4] for entry in contract.errors}
    assert set(selectors(registry, "event")) == {keccak(text=entry.selector) for entry in contract.events}


def test_the_packages_folder_has_no_other_files():
    assert {path.stem for path in FOLDER.iterdir()} == set(Registry)


@pytest.mark.parametrize(
    ("registry", "kind", "selector", "name"),
    [
        (Registry.IDENTITY, "error", "7e273289", "ERC721NonexistentToken"),
        (Registry.IDENTITY, "function", "6352211e", "ownerOf"),
        (
            Registry.IDENTITY,
            "event",
            "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
            "Transfer",
        ),
    ],
)
def test_well_known_selectors_are_found(registry, kind, selector, name):
    assert selectors(registry, kind)[bytes.fromhex(selector)]["name"] == name


def record(**contracts):
    return json.dumps({"chainId": 84532, "contracts": {name: {"address": a} for name, a in contracts.items()}})


def test_a_record_is_read():
    deployment = Deployment.from_record(
        record(IdentityRegistry=EVM_ADDRESS.lower(), AuthorizedReputationRegistry=OTHER, ValidationRegistry=OTHER)
    )
    assert deployment == Deployment(84532, EVM_ADDRESS, None, OTHER, OTHER)
    assert str(deployment.agent_registry) == f"eip155:84532:{EVM_ADDRESS}"


@pytest.mark.parametrize(
    "names", [["ReputationRegistry", "BidirectionalReputationRegistry"], ["BidirectionalReputationRegistry"]]
)
def test_the_registry_with_ratings_is_preferred(names):
    places = {name: EVM_ADDRESS if name == "ReputationRegistry" else OTHER for name in names}
    assert Deployment.from_record(record(IdentityRegistry=EVM_ADDRESS, **places)).reputation == OTHER


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"chainId": 1, "contracts": []}',
        record(),
        record(IdentityRegistry="0x1"),
        record(IdentityRegistry=None),
        record(IdentityRegistry=EVM_ADDRESS).replace("84532", "true"),
        record(IdentityRegistry=EVM_ADDRESS).replace("84532", '"84532"'),
        record(IdentityRegistry=EVM_ADDRESS).replace("84532", "84532.0"),
        record(IdentityRegistry=EVM_ADDRESS).replace("84532", "-1"),
        record(IdentityRegistry=EVM_ADDRESS).replace("}}", ', "block": "5"}}'),
        record(IdentityRegistry=EVM_ADDRESS).replace("}}", ', "block": true}}'),
        record(IdentityRegistry=EVM_ADDRESS).replace("}}", ', "block": -1}}'),
    ],
)
def test_an_invalid_record_is_refused(text):
    with pytest.raises(DeploymentRecordError, match="invalid deployment record"):
        Deployment.from_record(text)


def test_a_record_that_is_nested_too_deeply_is_refused():
    with pytest.raises(DeploymentRecordError, match="nested deeper"):
        Deployment.from_record("[" * 100_000)


@given(st.text(max_size=50))
def test_no_text_breaks_the_reader_of_records(text):
    with pytest.raises(DeploymentRecordError):
        Deployment.from_record(text)


def test_an_address_with_a_wrong_checksum_is_refused():
    with pytest.raises(MalformedIdentifierError, match="checksum"):
        Deployment(1, EVM_ADDRESS.replace("A169", "a169"))


def test_a_deployment_is_on_a_chain_with_a_number():
    with pytest.raises(MalformedIdentifierError, match="expected a value of type int"):
        Deployment("84532", EVM_ADDRESS)
    with pytest.raises(MalformedIdentifierError, match="an EVM address"):
        Deployment(84532, None)
    with pytest.raises(InvalidArgumentError, match="first_block"):
        Deployment(84532, EVM_ADDRESS, first_block="0")


def test_a_deployment_tells_the_address_of_each_registry():
    first, *others = ("0x" + f"{number:040x}" for number in range(1, 8))
    deployment = Deployment(84532, first, *others[:3], directory=others[3], buyers=others[4], tier_proofs=others[5])
    assert [int(deployment.address_of(registry), 16) for registry in Registry] == [1, 2, 2, 3, 4, 5, 6, 7]


def test_ratings_may_be_in_another_registry_or_in_none():
    first, *others = ("0x" + f"{number:040x}" for number in range(1, 4))
    apart = Deployment(84532, first, others[0], ratings=others[1])
    assert int(apart.address_of(Registry.BIDIRECTIONAL), 16) == 3
    assert int(apart.address_of(Registry.REPUTATION), 16) == 2
    with pytest.raises(MissingRegistryError, match="no ratings registry"):
        Deployment(84532, first, others[0], ratings=None).address_of(Registry.BIDIRECTIONAL)


def test_a_deployment_without_a_registry_has_no_address_of_it():
    with pytest.raises(MissingRegistryError, match="no validation registry") as caught:
        Deployment(84532, "0x" + f"{1:040x}").address_of(Registry.VALIDATION)
    assert (caught.value.registry, caught.value.chain_id) == ("validation", 84532)
