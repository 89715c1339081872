"""Builds a contract from exactly the sources that it imports, without metadata in its code.

Ape's own builds carry the hash of the compiler's metadata, which covers every comment and every remapping of the run.
A build here depends on the contract's code alone, and so does its CREATE2 address. The input of the build is also what
a block explorer needs for verification.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ape
import solcx
from eth_utils.crypto import keccak
from packaging.version import Version

from scripts._files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "contracts" / "bytecode.lock"
CACHE = ROOT / ".cache" / "builds"
INPUTS = ROOT / ".cache" / "inputs"
"""The compiler's inputs, by what decides them. To collect the imports of a contract takes Ape a second."""

DECISIVE = ("ape-config.yaml", "package-lock.json", "toolchain/requirements.lock")
"""The files beside the sources that decide the compiler's inputs: settings, libraries, and the version of Ape."""

NOT_DEPLOYED = ("base", "examples", "interfaces", "libraries", "mocks")
"""Folders of `contracts/` whose contracts never go to real networks."""

NO_METADATA = {"bytecodeHash": "none", "appendCBOR": False}
"""The compiler's setting `metadata` that leaves nothing but code in the bytecode. ape-solidity has no option for it."""


@dataclass(frozen=True)
class Build:
    """A compiled contract and all that decided its bytecode.

    Attributes:
        name: Its name.
        source_id: The file that declares it, relative to the project.
        compiler: The compiler's long version, as `0.8.37+commit.f401782d`.
        standard_json: The compiler's standard JSON input, limited to the contract's imports.
        abi: Its ABI.
        creation_code: The creation code without constructor arguments.
        runtime_code: The code on chain, with zeros in place of immutable values.
        immutables: The places of immutable values in `runtime_code`, as `(start, length)` in bytes.
    """

    name: str
    source_id: str
    compiler: str
    standard_json: Mapping[str, Any]
    abi: list[dict[str, Any]]
    creation_code: bytes
    runtime_code: bytes
    immutables: tuple[tuple[int, int], ...]

    @property
    def settings(self) -> dict[str, Any]:
        """The compiler settings that decide the bytecode."""
        return {key: value for key, value in self.standard_json["settings"].items() if key != "outputSelection"}

    @property
    def constructor_inputs(self) -> list[dict[str, Any]]:
        """The constructor's parameters as in the ABI; none if it has no constructor."""
        inputs = [entry["inputs"] for entry in self.abi if entry["type"] == "constructor"]
        return inputs[0] if inputs else []

    @property
    def lock_line(self) -> str:
        """The hash of its creation code, as in `contracts/bytecode.lock`."""
        return f"{self.name} 0x{keccak(self.creation_code).hex()}\n"

    def has_function(self, name: str) -> bool:
        """Check for an external function by name.

        Args:
            name: The function's name.

        Returns:
            True if the contract has it.
        """
        return any(entry["type"] == "function" and entry["name"] == name for entry in self.abi)

    def runs_as(self, code: bytes) -> bool:
        """Compare deployed code with this contract's, ignoring immutable values.

        Args:
            code: The code on chain.

        Returns:
            True if the code is this contract's.
        """
        if len(code) != len(self.runtime_code):
            return False
        masked = bytearray(code)
        for start, length in self.immutables:
            masked[start : start + length] = bytes(length)
        return masked == self.runtime_code


def deployable_contracts() -> list[str]:
    """Find the contracts of the project that are meant for real networks.

    Returns:
        Their names, sorted.
    """
    excluded = tuple(f"contracts/{folder}/" for folder in NOT_DEPLOYED)
    kinds = {name: contract.contract_type for name, contract in ape.project.load_contracts().items()}
    return sorted(
        name
        for name, kind in kinds.items()
        if kind.get_deployment_bytecode() and not kind.source_id.startswith(excluded)
    )


def build(name: str) -> Build:
    """Build one contract, or take it from the cache.

    Args:
        name: The contract's name.

    Returns:
        The build.

    Raises:
        KeyError: If the project has no such contract.
    """
    return build_all([name])[name]


def build_all(names: Iterable[str]) -> dict[str, Build]:
    """Build contracts, each from its own imports, or take them from the cache.

    Args:
        names: The contracts' names.

    Returns:
        The builds by name.

    Raises:
        KeyError: If the project has no such contract.
    """
    return _build_together(tuple(names))


@cache
def _build_together(names: tuple[str, ...]) -> dict[str, Build]:
    contracts = ape.project.load_contracts()
    sources = {name: str(contracts[name].contract_type.source_id) for name in names}
    files = {source: INPUTS / f"{_input_hash(source)}.json" for source in sources.values()}
    missing = sorted(source for source, file in files.items() if not file.exists())
    if missing:
        with ape.project.isolate_in_tempdir() as project:
            for source in missing:
                by_version = ape.compilers.solidity.get_standard_input_json([project.path / source], project=project)
                ((version, standard_json),) = by_version.items()
                write_atomically(files[source], json.dumps([str(version), standard_json]))
    return {name: _compile(name, source, *json.loads(files[source].read_text())) for name, source in sources.items()}


def _input_hash(source_id: str) -> str:
    """Return a hash of all that can decide the input for a file: sources, settings, libraries and Ape."""
    sources = sorted(ROOT.glob("contracts/[!.]*/**/*.sol"))  # Ape unpacks libraries into a hidden folder at times
    decisive = [*sources, *(ROOT / name for name in DECISIVE)]
    content = [(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in decisive]
    settings = ape.project.config.get_config("solidity").model_dump(mode="json")
    return hashlib.sha256(json.dumps([source_id, settings, content]).encode()).hexdigest()


def _compile(name: str, source_id: str, version: str, standard_json: dict[str, Any]) -> Build:
    outputs = ["abi", "evm.bytecode.object", "evm.deployedBytecode.object", "evm.deployedBytecode.immutableReferences"]
    standard_json["settings"]["outputSelection"] = {source_id: {name: outputs}}
    standard_json["settings"]["metadata"] = NO_METADATA
    cached = CACHE / f"{hashlib.sha256(json.dumps([version, standard_json]).encode()).hexdigest()}.json"
    if not cached.exists():
        output = solcx.compile_standard(standard_json, solc_version=Version(version).base_version)
        write_atomically(cached, json.dumps(output["contracts"][source_id][name]))
    compiled = json.loads(cached.read_text())
    runtime = compiled["evm"]["deployedBytecode"]
    references = runtime["immutableReferences"].values()
    return Build(
        name=name,
        source_id=source_id,
        compiler=version,
        standard_json=standard_json,
        abi=compiled["abi"],
        creation_code=bytes.fromhex(compiled["evm"]["bytecode"]["object"]),
        runtime_code=bytes.fromhex(runtime["object"]),
        immutables=tuple((place["start"], place["length"]) for places in references for place in places),
    )


def bytecode_lock() -> str:
    """Return the hash of the creation code of each contract that is meant for real networks.

    Returns:
        What belongs into `contracts/bytecode.lock`: a line a contract, sorted by name.
    """
    builds = build_all(deployable_contracts())
    return "".join(builds[name].lock_line for name in sorted(builds))
