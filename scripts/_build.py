"""Builds a contract from exactly the sources that it imports.

What Ape leaves in `.build` depends on what else was compiled in the same run: the remappings that the run used go into
the metadata, the metadata's hash into the creation code, and the creation code into the CREATE2 address. A build from
the contract's own imports depends on nothing else, and its input is at once what a block explorer verifies.
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

from scripts._files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from packaging.version import Version

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "contracts" / "bytecode.lock"
CACHE = ROOT / ".cache" / "builds"
NOT_DEPLOYED = ("interfaces", "libraries", "mocks")
"""Folders of `contracts/` with nothing that is deployed to real networks."""


@dataclass(frozen=True)
class Build:
    """A compiled contract and all that decided its bytecode.

    Attributes:
        name: Its name.
        source_id: The file that declares it, relative to the project.
        compiler: The compiler's long version, as `0.8.37+commit.f401782d`.
        standard_json: The compiler's standard JSON input, limited to the contract's imports.
        abi: Its ABI.
        creation_code: What a creation transaction runs, without constructor arguments.
        runtime_code: What is stored on chain, with zeros where immutable values go.
        immutables: Where in `runtime_code` immutable values go, as `(start, length)` in bytes.
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
        """Whether the contract has an external function of this name.

        Args:
            name: The function's name.

        Returns:
            Whether it has.
        """
        return any(entry["type"] == "function" and entry["name"] == name for entry in self.abi)

    def runs_as(self, code: bytes) -> bool:
        """Whether deployed code is this contract's, whatever its immutable values.

        Args:
            code: What is stored on chain.

        Returns:
            Whether it is.
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
    with ape.project.isolate_in_tempdir() as project:
        inputs = {
            name: ape.compilers.solidity.get_standard_input_json([project.path / source], project=project)
            for name, source in sources.items()
        }
    builds = {}
    for name, by_version in inputs.items():
        ((version, standard_json),) = by_version.items()
        builds[name] = _compile(name, sources[name], version, standard_json)
    return builds


def _compile(name: str, source_id: str, version: Version, standard_json: dict[str, Any]) -> Build:
    outputs = ["abi", "evm.bytecode.object", "evm.deployedBytecode.object", "evm.deployedBytecode.immutableReferences"]
    standard_json["settings"]["outputSelection"] = {source_id: {name: outputs}}
    cached = CACHE / f"{hashlib.sha256(json.dumps([str(version), standard_json]).encode()).hexdigest()}.json"
    if not cached.exists():
        output = solcx.compile_standard(standard_json, solc_version=version.base_version)
        write_atomically(cached, json.dumps(output["contracts"][source_id][name]))
    compiled = json.loads(cached.read_text())
    runtime = compiled["evm"]["deployedBytecode"]
    references = runtime["immutableReferences"].values()
    return Build(
        name=name,
        source_id=source_id,
        compiler=str(version),
        standard_json=standard_json,
        abi=compiled["abi"],
        creation_code=bytes.fromhex(compiled["evm"]["bytecode"]["object"]),
        runtime_code=bytes.fromhex(runtime["object"]),
        immutables=tuple((place["start"], place["length"]) for places in references for place in places),
    )


def bytecode_lock() -> str:
    """The hash of the creation code of each contract that is meant for real networks.

    Returns:
        What belongs into `contracts/bytecode.lock`: a line a contract, sorted by name.
    """
    builds = build_all(deployable_contracts())
    return "".join(builds[name].lock_line for name in sorted(builds))
