"""Builds the npm package: Solidity interfaces and gates, ABIs typed for viem, addresses, and a client of the service.

python -m scripts.npm_package FOLDER    write bilateral-<version>.tgz into FOLDER

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
from pathlib import Path
from typing import Final

from bilateral.core.contracts import Registry
from bilateral.core.contracts.records import BOOK
from scripts._build import ROOT

SOURCE: Final = ROOT / "npm"
"""The package's manifest, page and hand-written TypeScript."""

_TOOLS: Final = ROOT / ".cache" / "npm-package"
"""The compilers that npm/package-lock.json pins."""

REPOSITORY: Final = "BILATERAL_REPOSITORY"
"""The variable with the https URL of the repository, see toolchain/metadata_hook.py."""

GATES: Final = ("reputation/ReputationGated.sol", "buyers/BuyerTierGated.sol", "base/IdentityBound.sol")
"""The abstract contracts that contracts of others inherit. Interfaces and examples are shipped whole."""

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


def build(folder: Path) -> Path:
    """Build the package.

    Args:
        folder: The folder of the archive.

    Returns:
        The archive.
    """
    tools = _tools()
    with tempfile.TemporaryDirectory() as temporary:
        stage = Path(temporary, "bilateral")
        shutil.copytree(SOURCE, stage, ignore=shutil.ignore_patterns("node_modules"))
        manifest = stage / "package.json"
        manifest.write_text(with_repository(manifest.read_text(encoding="utf-8"), os.environ.get(REPOSITORY, "")))
        (stage / "node_modules").symlink_to(tools / "node_modules")
        _copy_contracts(stage)
        _write_abis(stage)
        records = {
            file.name: file.read_text(encoding="utf-8") for file in (ROOT / "bilateral/deployments").glob("*.json")
        }
        (stage / "source/addresses.ts").write_text(addresses_module(records), encoding="utf-8")
        shutil.copyfile(ROOT / "LICENSE", stage / "LICENSE")
        programs = tools / "node_modules" / ".bin"
        openapi = ROOT / "docs" / "openapi.json"
        _run(programs / "openapi-typescript", openapi, "--output", stage / "source/openapi.ts", folder=stage)
        _run(programs / "tsc", "--project", ".", folder=stage)
        folder.mkdir(parents=True, exist_ok=True)
        archive = _run(
            "npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", folder.resolve(), folder=stage
        )
    return folder / archive.strip()


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


def _write_abis(stage: Path) -> None:
    files = {registry.value: ROOT / "bilateral/abi" / f"{registry}.json" for registry in Registry}
    (stage / "abi").mkdir()
    for file in files.values():
        shutil.copyfile(file, stage / "abi" / file.name)
    abis = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    (stage / "source/abi.ts").write_text(abi_module(abis), encoding="utf-8")


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
    print(build(Path(sys.argv[1])))
