"""A silent change of compiler, setting, library or source does not pass."""

from __future__ import annotations

import copy
import shutil

import ape
import pytest
import solcx

from scripts import _build
from scripts._build import (
    CACHE,
    DECISIVE,
    NOT_DEPLOYED,
    ROOT,
    WHOLE,
    Build,
    build,
    build_all,
    bytecode_lock,
    deployable_contracts,
)


def test_creation_code_of_every_contract_is_as_locked():
    locked = (ROOT / "contracts" / "bytecode.lock").read_text()
    assert bytecode_lock() == locked, "if the change is intended: make bytecode-lock"


def test_every_concrete_contract_outside_the_excluded_folders_is_deployable():
    for name, contract in ape.project.load_contracts().items():
        folder = contract.contract_type.source_id.split("/")[1]
        concrete = bool(contract.contract_type.get_deployment_bytecode())
        assert (name in deployable_contracts()) == (concrete and folder not in NOT_DEPLOYED)


def test_the_tested_code_is_the_deployed_code():
    for name, built in build_all(deployable_contracts()).items():
        tested = ape.project.load_contracts()[name].contract_type
        assert bytes(tested.get_runtime_bytecode()) == built.runtime_code, "`ape compile` adds metadata: make compile"
        assert bytes(tested.get_deployment_bytecode()) == built.creation_code


@pytest.fixture
def whole(monkeypatch, tmp_path):
    """A copy of the compiler's output for the whole project, and no compiler."""

    def refuse(*_, **__):
        raise AssertionError("it is compiled again")

    monkeypatch.setattr(solcx, "compile_standard", refuse)
    monkeypatch.setattr(_build, "CACHE", tmp_path)
    return shutil.copyfile(CACHE / WHOLE, tmp_path / WHOLE)


def test_build_is_taken_from_the_compilation_of_the_whole_project(whole):
    built = _build._build_together.__wrapped__(("MockRegistry",))["MockRegistry"]
    assert built == build("MockRegistry")


def test_build_whose_sources_changed_since_then_is_compiled(whole):
    whole.write_text(whole.read_text().replace("IDENTITY_REGISTRY", "OTHER_REGISTRY"))
    with pytest.raises(AssertionError, match="compiled again"):
        _build._build_together.__wrapped__(("MockRegistry",))


@pytest.mark.nightly
def test_build_does_not_depend_on_what_is_built_with_it(monkeypatch, tmp_path):
    runs = []

    def compile_once(*arguments, **options):
        runs.append(arguments)
        return compile_standard(*arguments, **options)

    compile_standard = solcx.compile_standard
    monkeypatch.setattr(solcx, "compile_standard", compile_once)

    def build_anew(folder, *names):
        monkeypatch.setattr(_build, "INPUTS", tmp_path / folder)
        monkeypatch.setattr(_build, "CACHE", tmp_path / folder / "builds")
        return _build._build_together.__wrapped__(names)["MockRegistry"]

    alone: Build = build_anew("alone", "MockRegistry")
    together = build_anew("together", "MockWallet", "MockRegistry", "GatedService")
    assert len(runs) == 2, "contracts that are built together are compiled in one run"
    assert alone == together == build_anew("together", "MockRegistry") == build("MockRegistry")
    assert len(runs) == 2, "a build is kept"


def test_a_build_says_how_long_the_compiler_usually_takes(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(_build, "CACHE", tmp_path)
    _build._build_together.__wrapped__(("MockRegistry",))
    assert capsys.readouterr().err == "compile: compiling 1 contract, about 4 seconds, once …\n"
    _build._build_together.__wrapped__(("MockRegistry",))
    assert not capsys.readouterr().err


@pytest.mark.parametrize("changed", [*DECISIVE, "contracts/interfaces/IAgentDirectory.sol", "contracts/mocks/New.sol"])
def test_imports_are_collected_again_after_a_change_of_a_source_or_a_lock(monkeypatch, tmp_path, changed):
    shutil.copytree(ROOT / "contracts", tmp_path / "contracts", ignore=shutil.ignore_patterns(".cache"))
    (tmp_path / "toolchain").mkdir()
    for name in DECISIVE:
        shutil.copyfile(ROOT / name, tmp_path / name)
    before = _build._input_hash("contracts/mocks/MockRegistry.sol")
    monkeypatch.setattr(_build, "ROOT", tmp_path)
    assert _build._input_hash("contracts/mocks/MockRegistry.sol") == before
    with (tmp_path / changed).open("a") as file:
        file.write("\n")
    assert _build._input_hash("contracts/mocks/MockRegistry.sol") != before


def test_imports_are_collected_again_with_other_settings():
    before = _build._input_hash("contracts/mocks/MockRegistry.sol")
    with ape.project.temp_config(solidity={"optimization_runs": 1}):
        assert _build._input_hash("contracts/mocks/MockRegistry.sol") != before


@pytest.mark.nightly
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
