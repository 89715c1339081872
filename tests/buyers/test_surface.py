"""Functions, interface ids, storage and size of the buyer reputation registry."""

from __future__ import annotations

import solcx
from ape import compilers
from eth_utils import keccak

from scripts._build import build
from tests.surface import functions

SPECIFIED = {
    "getBuyerScore(address)": "view returns (uint8)",
    "getBuyerTier(address)": "view returns (string)",
    "recordPayment(address,uint256,bytes32)": "nonpayable",
    "recordFeedback(address,address,int8)": "nonpayable",
}
"""The interface of the Buyer Reputation Protocol, section 8."""

INTERFACES = [
    "IBuyerReputationRegistry",
    "IBuyerRecords",
    "IBuyerSettlement",
    "IBuyerAttestation",
    "IBuyerAnchors",
    "IBuyerCredentials",
]
MAX_CODE = 24_576


def test_specified_functions_are_there_as_specified(project, registry):
    assert functions(project.IBuyerReputationRegistry) == SPECIFIED
    assert SPECIFIED.items() <= functions(registry).items()


def test_registry_has_the_functions_of_its_interfaces_and_no_others(project, registry):
    declared = {}
    for name in INTERFACES:
        declared |= functions(getattr(project, name))
    others = {"getIdentityRegistry()", "supportsInterface(bytes4)", "eip712Domain()"}
    assert functions(registry).keys() == declared.keys() | others


def test_interfaces_are_supported(project, registry):
    for name in INTERFACES:
        interface_id = 0
        for function in functions(getattr(project, name)):
            interface_id ^= int.from_bytes(keccak(text=function)[:4])
        assert registry.supportsInterface(interface_id.to_bytes(4)), name
    assert registry.supportsInterface("0x01ffc9a7")
    assert not registry.supportsInterface("0xffffffff")
    assert not registry.supportsInterface("0xdeadbeef")


def test_frequent_functions_are_found_first(registry):
    """The compiler compares selectors in ascending order, at 22 gas each. docs/gas.md explains the names."""
    selectors = sorted((keccak(text=name)[:4], name.partition("(")[0]) for name in functions(registry))
    assert [name for _, name in selectors[:8]] == [
        "supportsInterface", "eip712Domain", "recordFeedback", "getBuyerTier", "getIdentityRegistry", "recordPayment",
        "settle", "getBuyerScore",
    ]  # fmt: skip


def test_code_is_below_the_limit():
    assert len(build("BuyerReputationRegistry").runtime_code) < MAX_CODE


def test_registry_takes_no_ether(registry):
    payable = [entry.name for entry in registry.contract_type.abi if getattr(entry, "stateMutability", "") == "payable"]
    assert payable == []


def test_storage_has_the_records_the_roles_and_the_roots(project):
    source = project.BuyerReputationRegistry.contract_type.source_id
    with project.isolate_in_tempdir() as copy:
        ((version, data),) = compilers.solidity.get_standard_input_json([copy.path / source], project=copy).items()
        data["settings"]["viaIR"] = False
        data["settings"]["outputSelection"] = {source: {"*": ["storageLayout"]}}
        output = solcx.compile_standard(data, solc_version=version.base_version, base_path=copy.path)
    layout = output["contracts"][source]["BuyerReputationRegistry"]["storageLayout"]["storage"]
    assert [(row["slot"], row["offset"], row["label"]) for row in layout] == [
        ("0", 0, "_settled"),
        ("1", 0, "_anchorState"),
        ("2", 0, "_attestor"),
        ("3", 0, "_nominees"),
        ("4", 0, "_votes"),
        ("5", 0, "_roots"),
    ]
