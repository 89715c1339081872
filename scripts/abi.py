"""`make abi`: writes what the Python package carries of the contracts: ABIs, and records of where they are deployed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import ape
import click

from bilateral.core.contracts import Registry
from bilateral.core.contracts.records import BOOK
from bilateral.dev.contracts import CODE, CONTRACTS
from scripts._build import ROOT, build_all
from scripts._deployment.live_chain import LOCAL_CHAIN_IDS
from scripts._deployment.records import Records
from scripts._files import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "bilateral" / "abi"
RECORDS = ROOT / "deployments"
CODE_OF_DEV = ROOT / "bilateral" / "dev" / CODE
PACKAGED_RECORDS = ROOT / "bilateral" / "deployments"


def compiled_abi(registry: Registry) -> list[dict[str, Any]]:
    """Return the ABI of a registry as the compiler gave it.

    Args:
        registry: The registry.

    Returns:
        Its entries in the compiler's order.
    """
    contract_type = getattr(ape.project, registry.value).contract_type
    abi: list[dict[str, Any]] = json.loads(contract_type.model_dump_json(by_alias=True, exclude_none=True))["abi"]
    return abi


def abi_file(registry: Registry) -> str:
    """Return the package's file for a registry: one entry a line, for readable diffs."""
    entries = (json.dumps(entry, separators=(",", ":"), sort_keys=True) for entry in compiled_abi(registry))
    return "[\n" + ",\n".join(entries) + "\n]\n"


def code_file() -> str:
    """Return the package's file with the creation code for `bilateral dev`: one contract a line."""
    builds = build_all(sorted(CONTRACTS))
    entries = (f'"{name}": "0x{builds[name].creation_code.hex()}"' for name in sorted(CONTRACTS))
    return "{\n" + ",\n".join(entries) + "\n}\n"


def public_records(folder: Path) -> dict[str, str]:
    """Return the records of deployments to public chains, and the address book of canonical registries if it is there.

    Args:
        folder: The folder of records.

    Returns:
        The text of each by the name of its file.
    """
    records = Records(folder)
    paths = [records.path(chain_id) for chain_id in records.chain_ids() if chain_id not in LOCAL_CHAIN_IDS]
    paths += [folder / BOOK] if (folder / BOOK).exists() else []
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


@click.command()
def cli() -> None:
    """Copy the compiler's ABIs and the deployment records into the package."""
    for registry in Registry:
        write_atomically(FOLDER / f"{registry}.json", abi_file(registry))
    write_atomically(CODE_OF_DEV, code_file())
    records = public_records(RECORDS)
    for former in set(public_records(PACKAGED_RECORDS)) - set(records):
        (PACKAGED_RECORDS / former).unlink()
    for name, text in records.items():
        write_atomically(PACKAGED_RECORDS / name, text)
    click.echo(f"abi: wrote {len(Registry)} ABIs and {len(records)} files of deployments to bilateral/.")
