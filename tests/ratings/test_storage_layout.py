"""The bidirectional registry is a superset of its base: same storage slots, functions and events."""

from __future__ import annotations

import pytest
import solcx
from ape import compilers
from eth_utils import keccak

BASE = "ReputationRegistry"
FLAGSHIP = "BidirectionalReputationRegistry"


@pytest.fixture(scope="module")
def layouts(project):
    """The compiler's storage layout of both contracts: `(slot, offset, label, type)` of each variable."""
    sources = {name: getattr(project, name).contract_type.source_id for name in (BASE, FLAGSHIP)}
    with project.isolate_in_tempdir() as copy:
        files = [copy.path / source for source in sources.values()]
        ((version, data),) = compilers.solidity.get_standard_input_json(files, project=copy).items()
        data["settings"]["viaIR"] = False
        data["settings"]["outputSelection"] = {source: {"*": ["storageLayout"]} for source in sources.values()}
        output = solcx.compile_standard(data, solc_version=version.base_version, base_path=copy.path)
    layouts = {}
    for name, source in sources.items():
        layout = output["contracts"][source][name]["storageLayout"]
        layouts[name] = [
            (int(entry["slot"]), entry["offset"], entry["label"], layout["types"][entry["type"]]["label"])
            for entry in layout["storage"]
        ]
    return layouts


def test_base_storage_keeps_its_slots(layouts):
    assert layouts[FLAGSHIP][: len(layouts[BASE])] == layouts[BASE]


def test_extension_starts_where_the_base_ends(layouts):
    assert [row[:3] for row in layouts[BASE]] == [
        (0, 0, "_reputations"),
        (1, 0, "_tags"),
        (4, 0, "_voidedDeadlines"),
    ]
    assert [row[:3] for row in layouts[FLAGSHIP][len(layouts[BASE]) :]] == [
        (5, 0, "_clientRatings"),
        (6, 0, "_validatorRatings"),
        (7, 0, "_authorizedClients"),
        (8, 0, "_sealedPairs"),
    ]


def test_flagship_has_all_that_the_base_has(project):
    base, flagship = (getattr(project, name).contract_type for name in (BASE, FLAGSHIP))
    for kind in ("methods", "events", "errors"):
        assert {entry.selector for entry in getattr(base, kind)} <= {
            entry.selector for entry in getattr(flagship, kind)
        }


@pytest.mark.parametrize(
    "interface",
    ["IReputationRegistry", "IBidirectionalRatings", "IBidirectionalReputationRegistry", "IBlindRatings"],
)
def test_interfaces_are_those_of_their_functions(project, registry, interface):
    abi = getattr(project, interface).contract_type
    interface_id = 0
    for method in [*abi.view_methods, *abi.mutable_methods]:
        interface_id ^= int.from_bytes(keccak(text=method.selector)[:4])
    assert registry.supportsInterface(interface_id.to_bytes(4))


@pytest.mark.parametrize("interface_id", ["0x01ffc9a7", "0xffffffff"])
def test_erc_165_is_supported_and_nothing_is_not(registry, interface_id):
    assert registry.supportsInterface(interface_id) == (interface_id == "0x01ffc9a7")
