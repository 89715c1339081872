"""Builds the npm package: Solidity interfaces and gates, TypeScript for buyers and sellers, ABIs typed for viem.

python -m scripts.npm_package FOLDER                write bilateral-<version>.tgz into FOLDER
python -m scripts.npm_package FOLDER --unchecked    the same without checking the types, as `make npm-types` does that
python -m scripts.npm_package --tests               write the generated sources into npm/source/, for the tests

The same commit gives the same archive, byte for byte: npm sets the times of its files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import ChainMap, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bilateral.core.contracts import Registry
from bilateral.core.contracts.records import BOOK
from bilateral.core.signatures import AgentWalletSet, Feedback, FeedbackAuth, TypedMessage
from scripts import keccak_wasm
from scripts._build import ROOT

SOURCE: Final = ROOT / "npm"
"""The package's manifest, page and hand-written TypeScript."""

_TOOLS: Final = ROOT / ".cache" / "npm-package"
"""The compilers that npm/package-lock.json pins."""

REPOSITORY: Final = "BILATERAL_REPOSITORY"
"""The variable with the https URL of the repository, see toolchain/metadata_hook.py."""

GATES: Final = ("reputation/ReputationGated.sol", "buyers/BuyerTierGated.sol", "base/IdentityBound.sol")
"""The abstract contracts that contracts of others inherit. Interfaces and examples are shipped whole."""

_LEFT_OUT: Final = ("node_modules", "tests", "tsconfig.tests.json", "vitest.*", "coverage")
"""Files of npm/ that the package is not built from."""

_TRUSTED: Final = ("IdentityRegistry", "ReputationRegistry")

_IMPORT: Final = re.compile(r'^import .*?"(\.[^"]+)";', re.MULTILINE | re.DOTALL)


def contract_sources(contracts: Path) -> list[Path]:
    """Return the Solidity files of the package: interfaces, examples, gates, and all that these import.

    Args:
        contracts: The folder of contracts.

    Returns:
        Paths relative to that folder, sorted.
    """
    pending = [
        *contracts.glob("interfaces/*.sol"),
        *contracts.glob("examples/*.sol"),
        *(contracts / gate for gate in GATES),
    ]
    files: set[Path] = set()
    while pending:
        file = pending.pop().resolve()
        if file not in files:
            files.add(file)
            pending.extend(file.parent / imported for imported in _IMPORT.findall(file.read_text(encoding="utf-8")))
    return sorted(file.relative_to(contracts.resolve()) for file in files)


def abi_module(abis: dict[str, str]) -> str:
    """Return TypeScript with each ABI as a constant, from which viem infers the types of calls.

    Args:
        abis: The JSON of each ABI, by the registry's name.
    """
    constants = [
        f"/** The ABI of {name}. */\nexport const {name[0].lower()}{name[1:]}Abi = {text.strip()} as const;\n"
        for name, text in sorted(abis.items())
    ]
    return "\n".join(constants)


def addresses_module(records: dict[str, str]) -> str:
    """Return TypeScript with the addresses of all registries on each public chain.

    Args:
        records: The address book of canonical registries, and a record for each own deployment, by file name.
    """
    book = json.loads(records[BOOK])
    canonical = {
        str(chain["chainId"]): {
            name: entry["address"] for group in chain["groups"] for name, entry in book["groups"][group].items()
        }
        for chain in book["chains"]
    }
    own = {
        name.removesuffix(".json"): {
            contract: entry["address"] for contract, entry in json.loads(text)["contracts"].items()
        }
        for name, text in sorted(records.items())
        if name != BOOK
    }
    return (
        "/** The registries that the authors of ERC-8004 deployed, by chain id. */\n"
        f"export const canonicalAddresses = {json.dumps(canonical, indent=2, sort_keys=True)} as const;\n\n"
        "/** The registries of Bilateral, by chain id. */\n"
        f"export const bilateralAddresses = {json.dumps(own, indent=2, sort_keys=True)} as const;\n"
    )


def built_in_module(records: dict[str, str]) -> str:
    """Return TypeScript with the registries that buyers trust by default, and the chains that have them.

    Args:
        records: As of `addresses_module`. An own deployment comes before the canonical one of its chain.
    """
    book, chains = json.loads(records[BOOK]), defaultdict[tuple[str, ...], list[str]](list)
    listed = [json.loads(text) for name, text in sorted(records.items()) if name != BOOK]
    groups = book["groups"]
    listed += [{**chain, "contracts": ChainMap(*map(groups.get, chain["groups"]))} for chain in book["chains"]]
    for record in listed:
        addresses = [record["contracts"].get(name, {}).get("address") for name in _TRUSTED]
        if all(addresses):
            chains[tuple(addresses)].append(str(record["chainId"]))
    lines = [[*addresses, " ".join(ids)] for addresses, ids in chains.items()]
    return (
        "/** The identity registry, the reputation registry, and the ids of the chains that have them. */\n"
        f"export const BUILT_IN: readonly (readonly [string, string, string])[] = {json.dumps(lines, indent=2)};\n"
    )


def outcomes_module(table: str) -> str:
    """Return TypeScript with the action for each outcome of a payment and each kind of answer, as Python has it.

    Args:
        table: The JSON of `payment_outcomes.json`.
    """
    actions = json.dumps(json.loads(table)["actions"], indent=2)
    return (
        "/** The action for each outcome of a payment and each kind of answer, from `payment_outcomes.json`. */\n"
        f"export const ACTIONS = {actions} as const;\n"
    )


def typed_data_module(messages: Iterable[type[TypedMessage]]) -> str:
    """Return TypeScript with the name of the domain and the fields of each message that registries verify (EIP-712).

    Args:
        messages: The kinds of messages.
    """
    constants = []
    for message in messages:
        fields = [{"name": name, "type": kind} for name, kind in message.solidity_types.items()]
        described = {
            "domain": message.domain_name,
            "types": {message.__name__: fields},
            "primaryType": message.__name__,
        }
        name = message.__name__[0].lower() + message.__name__[1:]
        comment = (
            f"/** The message `{message.__name__}`: the name of its domain, whose version is 1, and its fields. */"
        )
        constants.append(f"{comment}\nexport const {name}Message = {json.dumps(described, indent=2)} as const;\n")
    return "\n".join(constants)


def _assets_module(*, is_common: bool) -> str:
    """Return TypeScript with the dollars that the x402 SDK lists, on the chains of most sellers or on the others."""
    program = """
        const [lists, { DEFAULT_ASSETS }] = [{}, await import("@x402/evm")];
        for (const [chain, assets] of Object.entries(DEFAULT_ASSETS)) for (const { asset, ...unit } of assets)
          if (["eip155:8453", "eip155:84532"].includes(chain) === IS_COMMON)
            (lists[`${unit.decimals} ${unit.symbol}`] ??= []).push(`${chain.slice(7)}:${asset.slice(2)}`.toLowerCase());
        console.log(JSON.stringify(Object.entries(lists).map(([unit, list]) => [unit, list.join(" ")]), null, 2));
    """.replace("IS_COMMON", str(is_common).lower())
    lists = _run("node", "--input-type=module", "--eval", program, folder=_tools()).strip()
    comment = "/** Dollars that the x402 SDK lists: decimals and symbol, and each chain's id with an address. */\n"
    return f"{comment}export const ASSETS: readonly (readonly [string, string])[] = {lists};\n"


def with_repository(manifest: str, repository: str) -> str:
    """Return the package's manifest with the address of its repository, which npm compares with the workflow's.

    Args:
        manifest: The manifest.
        repository: The https URL of the repository; an empty one changes nothing.
    """
    if not repository:
        return manifest
    addresses = {
        "repository": {"type": "git", "url": f"git+{repository}.git", "directory": "npm"},
        "homepage": f"{repository}/tree/main/npm",
        "bugs": f"{repository}/issues",
    }
    return json.dumps({**json.loads(manifest), **addresses}, indent=2) + "\n"


def build(folder: Path, *, check_types: bool = True) -> Path:
    """Build the package.

    Args:
        folder: The folder of the archive.
        check_types: Whether to fail if the types of the sources are wrong. The archive is the same without it.

    Returns:
        The archive.
    """
    tools = _tools()
    with tempfile.TemporaryDirectory() as temporary:
        stage = Path(temporary, "bilateral")
        shutil.copytree(SOURCE, stage, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        manifest = stage / "package.json"
        manifest.write_text(with_repository(manifest.read_text(encoding="utf-8"), os.environ.get(REPOSITORY, "")))
        (stage / "node_modules").symlink_to(tools / "node_modules")
        _copy_contracts(stage)
        _copy_abis(stage)
        generate(stage / "source")
        shutil.copyfile(ROOT / "LICENSE", stage / "LICENSE")
        options = () if check_types else ("--noCheck",)
        _run(tools / "node_modules" / ".bin" / "tsc", "--project", ".", *options, folder=stage)
        folder.mkdir(parents=True, exist_ok=True)
        archive = _run(
            "npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", folder.resolve(), folder=stage
        )
    return folder / archive.strip()


def generate(folder: Path) -> None:
    """Write the generated sources: ABIs, addresses, and the types of the service.

    Args:
        folder: The folder of the package's sources.
    """
    abis = {name: file.read_text(encoding="utf-8") for name, file in _abi_files().items()}
    records = {file.name: file.read_text(encoding="utf-8") for file in (ROOT / "bilateral/deployments").glob("*.json")}
    (folder / "abi.ts").write_text(abi_module(abis), encoding="utf-8")
    (folder / "addresses.ts").write_text(addresses_module(records), encoding="utf-8")
    (folder / "x402/proof/built-in.ts").write_text(built_in_module(records), encoding="utf-8")
    outcomes = (ROOT / "bilateral/x402/clients/payment_outcomes.json").read_text(encoding="utf-8")
    (folder / "x402/buyer/outcomes.ts").write_text(outcomes_module(outcomes), encoding="utf-8")
    typed_data = typed_data_module((AgentWalletSet, Feedback, FeedbackAuth))
    (folder / "registries/typed-data.ts").write_text(typed_data, encoding="utf-8")
    (folder / "x402/proof/keccak-wasm.ts").write_text(keccak_wasm.typescript(), encoding="utf-8")
    for name, is_common in {"assets": True, "other-assets": False}.items():
        (folder / f"x402/buyer/{name}.ts").write_text(_assets_module(is_common=is_common), encoding="utf-8")
    program = _tools() / "node_modules" / ".bin" / "openapi-typescript"
    _run(program, ROOT / "docs" / "openapi.json", "--output", folder / "openapi.ts", folder=_TOOLS)


def prepare_tests() -> None:
    """Write the generated sources beside the others, and link the installed packages, so that vitest finds both."""
    modules = SOURCE / "node_modules"
    if not modules.exists():
        modules.symlink_to(os.path.relpath(_tools() / "node_modules", SOURCE))
    generate(SOURCE / "source")


def _tools() -> Path:
    """Install what npm/package-lock.json pins, unless it is installed."""
    locked = (SOURCE / "package-lock.json").read_text(encoding="utf-8")
    stamp = _TOOLS / "installed.json"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != locked:
        shutil.rmtree(_TOOLS, ignore_errors=True)
        _TOOLS.mkdir(parents=True)
        for file in (SOURCE / "package.json", SOURCE / "package-lock.json", ROOT / ".npmrc"):
            shutil.copyfile(file, _TOOLS / file.name)
        _run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", folder=_TOOLS)
        stamp.write_text(locked, encoding="utf-8")
    return _TOOLS


def _copy_contracts(stage: Path) -> None:
    for source in contract_sources(ROOT / "contracts"):
        target = stage / "contracts" / source
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / "contracts" / source, target)


def _abi_files() -> dict[str, Path]:
    return {registry.value: ROOT / "bilateral/abi" / f"{registry}.json" for registry in Registry}


def _copy_abis(stage: Path) -> None:
    (stage / "abi").mkdir()
    for file in _abi_files().values():
        shutil.copyfile(file, stage / "abi" / file.name)


def _run(*command: str | Path, folder: Path) -> str:
    """Run a command and return its output.

    Raises:
        SystemExit: It failed; the message is its output.
    """
    words = [str(word) for word in command]
    run = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603  # ours
    if run.returncode:
        sys.exit(f"{' '.join(words)}\n{run.stdout}{run.stderr}")
    return run.stdout


if __name__ == "__main__":
    if sys.argv[1] == "--tests":
        prepare_tests()
    else:
        print(build(Path(sys.argv[1]), check_types="--unchecked" not in sys.argv))
