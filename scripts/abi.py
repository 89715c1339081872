"""`make abi`: writes the ABIs that the Python package carries to bilateral/abi/."""

from __future__ import annotations

import json
from typing import Any

import ape
import click

from bilateral.contracts import Registry
from scripts._build import ROOT
from scripts._files import write_atomically

FOLDER = ROOT / "bilateral" / "abi"


def compiled_abi(registry: Registry) -> list[dict[str, Any]]:
    """The ABI of a registry as the compiler gave it.

    Args:
        registry: The registry.

    Returns:
        Its entries in the compiler's order.
    """
    contract_type = getattr(ape.project, registry.value).contract_type
    abi: list[dict[str, Any]] = json.loads(contract_type.model_dump_json(by_alias=True, exclude_none=True))["abi"]
    return abi


def abi_file(registry: Registry) -> str:
    """What the package's file for a registry contains: one entry a line, so that changes can be read."""
    entries = (json.dumps(entry, separators=(",", ":"), sort_keys=True) for entry in compiled_abi(registry))
    return "[\n" + ",\n".join(entries) + "\n]\n"


@click.command()
def cli() -> None:
    """Copy the compiler's ABIs into the package."""
    for registry in Registry:
        write_atomically(FOLDER / f"{registry}.json", abi_file(registry))
    click.echo(f"abi: wrote {len(Registry)} files to {FOLDER.relative_to(ROOT)}.")
