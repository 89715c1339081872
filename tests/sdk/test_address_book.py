"""The packaged address book: the canonical registries of each chain, in the schema of this project's own records."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from eth_utils.address import is_checksum_address

from bilateral.core.contracts import REGISTRY_ATTRIBUTES, Deployment, Registry, packaged_deployment
from bilateral.core.contracts.origin import Origin
from bilateral.core.contracts.records import BOOK, DeploymentRecord, address_book, foreign_book, read_book
from bilateral.core.errors import DeploymentRecordError, MissingFunctionError, MissingRegistryError
from bilateral.solana.addresses import DEVNET, SATI, registry_address
from bilateral.solana.addresses import MAINNET as MAINNET_SOLANA
from bilateral.solana.addresses import TESTNET as TESTNET_SOLANA
from scripts._deployment.records import ContractRecord
from scripts.abi import RECORDS
from tests.sdk.strategies import EVM_ADDRESS

BOOK_FILE = json.loads((RECORDS / BOOK).read_text())

MAINNET = ("0x8004A169FB4a3325136EB29fA0ceB6D2e539a432", "0x8004BAa17C55a88189AE136b182e5fdA19dE9b63")
TESTNET = ("0x8004A818BFB912233c491871b3d84c89A494BD9e", "0x8004B663056A597Dffe9eCcC1965A193B7388713")
COMPANION_ADDRESS = "0x" + f"{1:040x}"
RATINGS_ADDRESS = "0x" + f"{2:040x}"
OTHER = "0x" + "22" * 20


def test_each_chain_is_listed_once():
    chain_ids = [chain["chainId"] for chain in BOOK_FILE["chains"]]
    assert len(chain_ids) == len(set(chain_ids)) == len(address_book()) == 50
    networks = [chain["network"] for chain in BOOK_FILE["chains"]]
    assert len(networks) == len(set(networks))
    assert all(re.fullmatch(r"[0-9a-z-]+:[a-z]+", network) for network in networks)


def test_every_address_has_its_checksum():
    entries = [entry for group in BOOK_FILE["groups"].values() for entry in group.values()]
    assert len(entries) == 6
    assert all(is_checksum_address(entry["address"]) for entry in entries)


def test_solana_has_its_registries_on_each_network():
    programs = {chain: record.registries for chain, record in foreign_book().items()}
    assert [*programs] == [MAINNET_SOLANA, DEVNET, TESTNET_SOLANA]
    assert {record["SATI"] for record in programs.values()} == {SATI}
    assert "8004-solana" not in programs[TESTNET_SOLANA]
    assert registry_address(SATI) == "EdtfLCcsiMPuNdVTUivqAsomTYwqdLcha7Y8KM8ndB5p"


@pytest.mark.parametrize("change", [("chain", "solana:x"), ("registries", {"SATI": "0x12"}), ("registries", {"a": 1})])
def test_a_malformed_entry_of_solana_is_refused(change):
    book = BOOK_FILE | {"solana": [BOOK_FILE["solana"][0] | dict([change])]}
    with pytest.raises(DeploymentRecordError, match=r"^invalid address book: solana"):
        read_book(json.dumps(book).encode())


@pytest.mark.parametrize("chain_id", sorted(address_book()))
def test_a_chain_has_the_registries_of_its_kind(chain_id):
    deployment = Deployment.canonical(chain_id)
    assert (deployment.identity, deployment.reputation) in (MAINNET, TESTNET)
    is_mainnet = deployment.identity == MAINNET[0]
    kinds = {group.removesuffix("Validation") for group in _groups(chain_id)}
    assert kinds == {"mainnet" if is_mainnet else "testnet"}
    assert deployment.chain_id == chain_id
    assert (deployment.ratings, deployment.authorized, deployment.directory) == (None, None, None)
    assert deployment.first_agent_id == 0
    assert deployment.origin is Origin.CANONICAL
    assert all(facts.is_upgradable and facts.origin is Origin.CANONICAL for facts in deployment.facts.values())


def _groups(chain_id):
    return next(chain["groups"] for chain in BOOK_FILE["chains"] if chain["chainId"] == chain_id)


@pytest.mark.parametrize("chain_id", [1, 8453, 42161, 10, 137, 56, 43114])
def test_well_known_mainnets_have_the_mainnets_addresses(chain_id):
    deployment = Deployment.canonical(chain_id)
    assert (deployment.identity, deployment.reputation) == MAINNET


@pytest.mark.parametrize("chain_id", [11155111, 84532, 421614, 11155420, 80002, 97, 43113])
def test_well_known_testnets_have_the_testnets_addresses(chain_id):
    deployment = Deployment.canonical(chain_id)
    assert (deployment.identity, deployment.reputation) == TESTNET


def test_the_validation_registry_is_absent_where_its_authors_do_not_list_it():
    without = {chain_id for chain_id in address_book() if Deployment.canonical(chain_id).validation is None}
    assert without == {4663, 46630, 45056, 6913, 1776, 1439, 16661, 16602}


def test_a_book_of_the_same_form_is_read_as_the_packaged_one_is():
    book = Deployment.from_book((RECORDS / BOOK).read_bytes())
    assert book == {chain_id: Deployment.canonical(chain_id) for chain_id in address_book()}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"groups": {}}, "chain 1 refers to the group 'mainnet', which is missing"),
        ({"chains": [{"chainId": 1, "network": "a:b", "groups": []}]}, "neither IdentityRegistry nor CompanionDirect"),
        ({"chains": 1}, "invalid address book: chains: Input should be a valid list"),
        ({"sources": None}, "invalid address book: sources: "),
    ],
)
def test_a_malformed_book_is_refused_with_its_problem(change, problem):
    with pytest.raises(DeploymentRecordError, match=re.escape(problem)):
        Deployment.from_book(json.dumps(BOOK_FILE | change).encode())


def test_an_own_record_has_the_fields_of_the_address_book():
    entry = BOOK_FILE["groups"]["mainnet"]["IdentityRegistry"]
    names = {field.alias or name for name, field in ContractRecord.model_fields.items()}
    assert set(entry) <= names
    record = {"chainId": 1, "network": "a:b", "contracts": {"IdentityRegistry": entry}}
    assert DeploymentRecord.read(json.dumps(record)).contracts["IdentityRegistry"].first_agent_id == 0


def test_canonical_registries_lack_what_only_this_project_has():
    deployment = Deployment.canonical(8453)
    for function in ("agentOf", "setPrimaryAgent", "newAgent", "resolveByDomain"):
        assert deployment.lacks(Registry.IDENTITY, function)
        with pytest.raises(MissingFunctionError, match=f"identity registry on chain 8453 has no function {function}"):
            deployment.require_function(Registry.IDENTITY, function)
    for function in ("ownerOf", "register", "isAuthorizedOrOwner"):
        deployment.require_function(Registry.IDENTITY, function)
    with pytest.raises(MissingFunctionError, match="requires this project's BidirectionalReputationRegistry") as caught:
        deployment.require_function(Registry.REPUTATION, "giveFeedbackBySig")
    error = caught.value
    assert (error.registry, error.function, error.chain_id) == ("reputation", "giveFeedbackBySig", 8453)
    with pytest.raises(MissingRegistryError, match="or deploy BidirectionalReputationRegistry") as caught:
        deployment.require_function(Registry.BIDIRECTIONAL, "rateClient")
    assert (caught.value.registry, caught.value.contract) == ("ratings", "BidirectionalReputationRegistry")


def test_a_registry_that_the_caller_named_may_have_any_function():
    deployment = Deployment(8453, *MAINNET)
    assert deployment.origin is None
    assert not deployment.lacks(Registry.IDENTITY, "agentOf")
    replaced = replace(Deployment.canonical(8453), reputation=EVM_ADDRESS.lower().replace("8004", "1234"))
    assert replaced.origin_of("reputation") is None
    assert not replaced.lacks(Registry.REPUTATION, "giveFeedbackBySig")
    assert replaced.lacks(Registry.IDENTITY, "agentOf")


def record(**contracts):
    entries = {name: {"address": address} for name, address in contracts.items()}
    return json.dumps({"chainId": 8453, "contracts": entries})


def test_a_record_with_a_companion_is_completed_from_the_address_book():
    deployment = Deployment.from_record(
        record(CompanionDirectory=COMPANION_ADDRESS, BidirectionalReputationRegistry=RATINGS_ADDRESS)
    )
    assert (deployment.identity, deployment.reputation) == MAINNET
    assert (deployment.directory, deployment.ratings) == (COMPANION_ADDRESS, RATINGS_ADDRESS)
    assert deployment.validation == Deployment.canonical(8453).validation
    assert deployment.first_agent_id == 0
    assert {name: deployment.origin_of(name) for name in REGISTRY_ATTRIBUTES} == {
        "identity": "canonical",
        "reputation": "canonical",
        "validation": "canonical",
        "ratings": "bilateral",
        "authorized": None,
        "directory": "bilateral",
        "buyers": None,
        "tier_proofs": None,
    }


def above(identity, chain_id=8453, **contracts):
    """A record of a companion that belongs to an identity registry."""
    companion = {"address": COMPANION_ADDRESS, "constructorArguments": {"identityRegistry": identity}}
    entries = {name: {"address": address} for name, address in contracts.items()}
    return json.dumps({"chainId": chain_id, "contracts": entries | {"CompanionDirectory": companion}})


def test_a_companion_tells_the_identity_registry_of_a_chain_outside_the_address_book():
    deployment = Deployment.from_record(above(OTHER, 31337, BidirectionalReputationRegistry=RATINGS_ADDRESS))
    assert (deployment.identity, deployment.directory) == (OTHER, COMPANION_ADDRESS)
    assert deployment.reputation == deployment.ratings == RATINGS_ADDRESS
    assert (deployment.origin, deployment.first_agent_id) == (None, 0)
    assert not deployment.lacks(Registry.IDENTITY, "agentOf")


def test_a_companion_of_another_registry_than_the_canonical_one_is_not_completed():
    deployment = Deployment.from_record(above(OTHER))
    assert (deployment.identity, deployment.reputation, deployment.validation) == (OTHER, None, None)
    assert Deployment.from_record(above(MAINNET[0])).reputation == MAINNET[1]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (record(BidirectionalReputationRegistry=RATINGS_ADDRESS), "neither IdentityRegistry nor CompanionDirectory"),
        (
            record(CompanionDirectory=COMPANION_ADDRESS).replace("8453", "31337"),
            "the companion's identity registry is missing",
        ),
        (above("0x1"), "is not an EVM address"),
        (above(OTHER, IdentityRegistry=MAINNET[0]), f"is {MAINNET[0]}, but its CompanionDirectory belongs to {OTHER}"),
    ],
)
def test_a_record_whose_identity_registry_is_not_clear_is_refused(text, mistake):
    with pytest.raises(DeploymentRecordError, match=mistake):
        Deployment.from_record(text)


def test_the_canonical_deployment_is_chosen_unless_another_is_named(own_record):
    own_record.write_text(record(IdentityRegistry=EVM_ADDRESS))
    assert packaged_deployment(8453) == packaged_deployment(8453, Origin.CANONICAL) == Deployment.canonical(8453)
    own = packaged_deployment(8453, Origin.BILATERAL)
    assert (own.identity, own.first_agent_id, own.origin) == (EVM_ADDRESS, 1, Origin.BILATERAL)


def test_a_name_without_a_deployment_finds_none(own_record):
    assert packaged_deployment(8453, Origin.BILATERAL) is None
    assert packaged_deployment(31337, Origin.CANONICAL) is None
    assert packaged_deployment(31337) is None


@pytest.fixture
def own_record(monkeypatch, tmp_path):
    """The place of this project's record of chain 8453, in a package without other records."""
    (tmp_path / "deployments").mkdir()
    monkeypatch.setattr("bilateral.core.contracts.deployments.files", lambda _: tmp_path)
    return tmp_path / "deployments" / "8453.json"


def test_every_attribute_for_an_address_is_a_field():
    assert set(REGISTRY_ATTRIBUTES) <= set(Deployment.__dataclass_fields__)


def test_the_page_counts_the_chains():
    page = " ".join((RECORDS.parent / "docs" / "deployed-registries.md").read_text().split())
    mainnets = [chain for chain in BOOK_FILE["chains"] if "mainnet" in chain["groups"]]
    listed = [chain for chain in BOOK_FILE["chains"] if len(chain["groups"]) == 2]
    testnets = len(BOOK_FILE["chains"]) - len(mainnets)
    assert f"on {len(mainnets)} mainnets and {testnets} testnets" in page
    assert f"a validation registry's address for {len(listed)} chains" in page
