"""A silent change of compiler, setting, library or source does not pass."""

from __future__ import annotations

import copy

import ape
import solcx

from scripts._build import NOT_DEPLOYED, ROOT, Build, build, build_all, bytecode_lock, deployable_contracts

METADATA_MARK = b"\xfe"
"""The invalid opcode between code and metadata."""

METADATA_LENGTH = 2
"""The bytes at the end of the code that give the length of the metadata before them."""


def without_metadata(code: bytes) -> bytes:
    code = code[: -METADATA_LENGTH - int.from_bytes(code[-METADATA_LENGTH:], "big")]
    assert code.endswith(METADATA_MARK)
    return code.removesuffix(METADATA_MARK)


def test_creation_code_of_every_contract_is_as_locked():
    locked = (ROOT / "contracts" / "bytecode.lock").read_text()
    assert bytecode_lock() == locked, "if the change is intended: make bytecode-lock"


def test_every_concrete_contract_outside_the_excluded_folders_is_deployable():
    for name, contract in ape.project.load_contracts().items():
        folder = contract.contract_type.source_id.split("/")[1]
        concrete = bool(contract.contract_type.get_deployment_bytecode())
        assert (name in deployable_contracts()) == (concrete and folder not in NOT_DEPLOYED)


def test_the_tested_code_is_the_deployed_code_but_for_metadata():
    for name, built in build_all(deployable_contracts()).items():
        tested = bytes(ape.project.load_contracts()[name].contract_type.get_runtime_bytecode())
        assert built.runtime_code == without_metadata(tested)


def test_build_does_not_depend_on_what_is_built_with_it():
    alone: Build = build("MockRegistry")
    together = build_all(["MockWallet", "MockRegistry", "IdentityRegistry"])["MockRegistry"]
    assert alone == together


def test_comments_do_not_change_the_creation_code():
    registry: Build = build("MockRegistry")
    standard_json = copy.deepcopy(dict(registry.standard_json))
    source = standard_json["sources"][registry.source_id]
    assert "    constructor(" in source["content"]
    source["content"] = source["content"].replace("    constructor(", "    // A comment.\n    constructor(")
    standard_json["settings"]["outputSelection"] = {"*": {"*": ["evm.bytecode.object"]}}
    output = solcx.compile_standard(standard_json, solc_version=registry.compiler.split("+")[0])
    compiled = output["contracts"][registry.source_id]["MockRegistry"]
    assert bytes.fromhex(compiled["evm"]["bytecode"]["object"]) == registry.creation_code


def test_build_contains_only_what_the_contract_imports():
    assert list(build("MockRegistry").standard_json["sources"]) == ["contracts/mocks/MockRegistry.sol"]
