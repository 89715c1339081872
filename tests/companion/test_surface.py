"""Functions, events, interface id and storage of the companion."""

from __future__ import annotations

import solcx
from ape import compilers
from eth_utils import keccak

from tests.surface import events, functions

OWN = {
    "proveAgent(uint256)": "nonpayable returns (uint256)",
    "ownerOf(uint256)": "view returns (address)",
    "getAgentWallet(uint256)": "view returns (address)",
    "isAuthorizedOrOwner(address,uint256)": "view returns (bool)",
}
"""The functions of `ICompanionDirectory`."""

OTHERS = {"getIdentityRegistry()": "view returns (address)", "supportsInterface(bytes4)": "view returns (bool)"}
REFUSED = {
    "newAgent(string,address)",
    "updateAgent(uint256,string,address)",
    "releaseAgentDomain(uint256)",
    "resolveByDomain(string)",
}


def test_companion_has_the_functions_of_a_directory_and_its_own(project, companion):
    directory = functions(project.IAgentDirectory)
    expected = {name: kind for name, kind in directory.items() if name not in REFUSED} | OWN | OTHERS
    own_functions = functions(companion)
    assert own_functions.keys() == expected.keys() | REFUSED
    assert {name: own_functions[name] for name in expected} == expected
    assert {own_functions[name].partition(" ")[0] for name in REFUSED} == {"pure"}


def test_companion_has_an_event_for_each_word_that_it_writes(project, companion):
    assert {name for name in events(companion) if "Agent" in name} == events(project.IAgentDirectory) | {
        "AgentCountRaised(uint256 agentCount)"
    }


def test_interface_ids_of_its_own_are_supported_and_others_passed_on(companion):
    interface_id = 0
    for function in OWN:
        interface_id ^= int.from_bytes(keccak(text=function)[:4])
    assert companion.supportsInterface(interface_id.to_bytes(4))
    assert companion.supportsInterface("0x01ffc9a7")
    assert companion.supportsInterface("0x80ac58cd")
    assert companion.supportsInterface("0x49064906")
    assert not companion.supportsInterface("0xffffffff")
    assert not companion.supportsInterface("0xdeadbeef")


def test_invalid_interface_id_is_not_passed_on(project, deployer, identity):
    registry = deployer.deploy(project.IdentityReturnsJunk, identity)
    companion = deployer.deploy(project.CompanionDirectory, registry)
    registry.turn(keccak(text="supportsInterface(bytes4)")[:4], bytes(31) + b"\x01", sender=deployer)
    assert companion.supportsInterface("0xdeadbeef")
    assert not companion.supportsInterface("0xffffffff")


def test_storage_has_the_chosen_agents_and_the_count(project):
    source = project.CompanionDirectory.contract_type.source_id
    with project.isolate_in_tempdir() as copy:
        ((version, data),) = compilers.solidity.get_standard_input_json([copy.path / source], project=copy).items()
        data["settings"]["viaIR"] = False
        data["settings"]["outputSelection"] = {source: {"*": ["storageLayout"]}}
        output = solcx.compile_standard(data, solc_version=version.base_version, base_path=copy.path)
    layout = output["contracts"][source]["CompanionDirectory"]["storageLayout"]["storage"]
    assert [(row["slot"], row["offset"], row["label"]) for row in layout] == [
        ("0", 0, "_chosenAgents"),
        ("1", 0, "_agentCount"),
    ]
