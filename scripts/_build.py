"""Builds a contract from exactly the sources that it imports, without metadata in its code.

The compiler usually adds a hash of its metadata to the code, which covers every comment and every remapping of the run.
A build here depends on the contract's code alone, and so does its CREATE2 address. The input of the build is also what
a block explorer needs for verification.
"""

from __future__ import annotations

import copy
import fcntl
import hashlib
import json
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ape
import click
import solcx
from ape.contracts import ContractContainer
from eth_utils.crypto import keccak
from ethpm_types import ContractType
from packaging.version import Version

from scripts._files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "contracts" / "bytecode.lock"
CACHE = ROOT / ".cache" / "builds"
WHOLE = "whole.json"
"""The file in `CACHE` with the outputs for all contracts, as `make compile` left them."""

INPUTS = ROOT / ".cache" / "inputs"
"""The compiler's inputs, by what decides them. To collect the imports of a contract takes Ape a second."""

DECISIVE = ("ape-config.yaml", "package-lock.json", "toolchain/requirements.lock")
"""The files beside the sources that decide the compiler's inputs: settings, libraries, and the version of Ape."""

NOT_DEPLOYED = ("base", "examples", "interfaces", "libraries", "mocks")
"""Folders of `contracts/` whose contracts never go to real networks."""

OUTPUTS = ["abi", "evm.bytecode.object", "evm.deployedBytecode.object", "evm.deployedBytecode.immutableReferences"]
"""The parts of the compiler's output that a build needs."""

SECONDS = 4
"""The seconds that the compiler usually takes for one of our contracts, as JavaScript on one core."""

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


def sources() -> dict[str, str]:
    """Find the files that declare contracts. Nothing is compiled: each file declares the contract of its name.

    Returns:
        The file of each contract by name, relative to the project.
    """
    # Ape unpacks libraries into a hidden folder at times
    files = sorted(ROOT.glob("contracts/[!.]*/**/*.sol"))
    return {file.stem: str(file.relative_to(ROOT)) for file in files}


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


def container(name: str) -> ContractContainer:
    """Build one contract in the form in which Ape deploys contracts and calls them.

    Ape's own `project.Name` compiles every contract of the project first.

    Args:
        name: The contract's name.

    Returns:
        The contract.
    """
    contract = build(name)
    code = {"deploymentBytecode": contract.creation_code, "runtimeBytecode": contract.runtime_code}
    codes = {key: {"bytecode": f"0x{value.hex()}"} for key, value in code.items()}
    return ContractContainer(ContractType.model_validate({"contractName": name, "abi": contract.abi, **codes}))


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
    declared = sources()
    files = {name: INPUTS / f"{_input_hash(declared[name])}.json" for name in names}
    with _only_one_process():
        missing = sorted(name for name, file in files.items() if not file.exists())
        _collect_inputs({files[name]: (name, declared[name]) for name in missing})
        inputs = {name: tuple(json.loads(file.read_text())) for name, file in files.items()}
        _compile(_take_from_whole([entry for entry in inputs.values() if not _kept(*entry).exists()]))
    return {name: _read(name, declared[name], *entry) for name, entry in inputs.items()}


@contextmanager
def _only_one_process() -> Iterator[None]:
    """Wait while another process builds. Then its builds are found, and not made twice."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _collect_inputs(missing: dict[Path, tuple[str, str]]) -> None:
    """Write the compiler's input for each contract, given by name and source, to its file."""
    if not missing:
        return
    with ape.project.isolate_in_tempdir() as project:
        for file, (name, source_id) in missing.items():
            by_version = ape.compilers.solidity.get_standard_input_json([project.path / source_id], project=project)
            ((version, standard_json),) = by_version.items()
            standard_json["settings"]["outputSelection"] = {source_id: {name: OUTPUTS}}
            standard_json["settings"]["metadata"] = NO_METADATA
            write_atomically(file, json.dumps([str(version), standard_json]))


def _input_hash(source_id: str) -> str:
    """Return a hash of all that can decide the input for a file: sources, settings, libraries and Ape."""
    decisive = [*sources().values(), *DECISIVE]
    content = [(name, (ROOT / name).read_text(encoding="utf-8")) for name in decisive]
    settings = ape.project.config.get_config("solidity").model_dump(mode="json")
    return hashlib.sha256(json.dumps([source_id, settings, content]).encode()).hexdigest()


def _kept(version: str, standard_json: dict[str, Any]) -> Path:
    """Return the file in which the compiler's output for an input is kept."""
    return CACHE / f"{hashlib.sha256(json.dumps([version, standard_json]).encode()).hexdigest()}.json"


def keep_whole(version: str, standard_json: dict[str, Any], output: dict[str, Any]) -> None:
    """Keep the compiler's output for all contracts at once, so that `build` need not compile them again.

    Args:
        version: The compiler's version.
        standard_json: The compiler's input.
        output: Its output, with all of `OUTPUTS`.
    """
    contracts = {
        source_id: {name: {"abi": contract["abi"], "evm": _codes(contract["evm"])} for name, contract in named.items()}
        for source_id, named in output["contracts"].items()
    }
    whole = {"version": version, "input": _comparable(standard_json), "contracts": contracts}
    CACHE.mkdir(parents=True, exist_ok=True)
    write_atomically(CACHE / WHOLE, json.dumps(whole))


def _codes(evm: dict[str, Any]) -> dict[str, Any]:
    runtime = evm["deployedBytecode"]
    return {
        "bytecode": {"object": evm["bytecode"]["object"]},
        "deployedBytecode": {key: runtime.get(key, {}) for key in ("object", "immutableReferences")},
    }


def _comparable(standard_json: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of an input that decide code: no outputs, and remappings only by the sources they lead to."""
    ignored = ("outputSelection", "remappings")
    settings = {key: value for key, value in standard_json["settings"].items() if key not in ignored}
    return {"sources": standard_json["sources"], "settings": settings}


def _take_from_whole(inputs: Sequence[tuple[str, dict[str, Any]]]) -> Sequence[tuple[str, dict[str, Any]]]:
    """Keep those outputs that were compiled with all contracts, from the same sources. Return the other inputs."""
    if not inputs or not (CACHE / WHOLE).exists():
        return inputs
    whole = json.loads((CACHE / WHOLE).read_text())
    left = []
    for version, standard_json in inputs:
        ((source_id, (name,)),) = standard_json["settings"]["outputSelection"].items()
        own = _comparable(standard_json)
        is_same = whole["version"] == Version(version).base_version and whole["input"]["settings"] == own["settings"]
        if is_same and own["sources"].items() <= whole["input"]["sources"].items():
            write_atomically(_kept(version, standard_json), json.dumps(whole["contracts"][source_id][name]))
        else:
            left.append((version, standard_json))
    return left


def _compile(inputs: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Compile contracts in one run, which costs less than half of a run for each, and keep their outputs.

    What is compiled beside a contract seldom changes its code. If it does, the code is not the locked one.
    """
    if not inputs:
        return
    version, whole = inputs[0][0], copy.deepcopy(inputs[0][1])
    remappings: set[str] = set()
    for other, standard_json in inputs:
        if other != version:
            raise ValueError(f"contracts ask for the compilers {version} and {other}: name one in ape-config.yaml")
        whole["sources"] |= standard_json["sources"]
        whole["settings"]["outputSelection"] |= standard_json["settings"]["outputSelection"]
        remappings.update(standard_json["settings"].get("remappings", ()))
    whole["settings"]["remappings"] = sorted(remappings)
    count = f"{len(inputs)} contract{'s' if len(inputs) > 1 else ''}"
    click.echo(f"compile: compiling {count}, about {SECONDS * len(inputs)} seconds, once …", err=True)
    output = solcx.compile_standard(whole, solc_version=Version(version).base_version)
    for _, standard_json in inputs:
        ((source_id, (name,)),) = standard_json["settings"]["outputSelection"].items()
        write_atomically(_kept(version, standard_json), json.dumps(output["contracts"][source_id][name]))


def _read(name: str, source_id: str, version: str, standard_json: dict[str, Any]) -> Build:
    """Read a build from the kept output."""
    compiled = json.loads(_kept(version, standard_json).read_text())
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
        immutables=tuple(sorted((place["start"], place["length"]) for places in references for place in places)),
    )


def bytecode_lock() -> str:
    """Return the hash of the creation code of each contract that is meant for real networks.

    Returns:
        What belongs into `contracts/bytecode.lock`: a line a contract, sorted by name.
    """
    builds = build_all(deployable_contracts())
    return "".join(builds[name].lock_line for name in sorted(builds))
