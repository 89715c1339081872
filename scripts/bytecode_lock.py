"""`make bytecode-lock`: writes contracts/bytecode.lock."""

from __future__ import annotations

import click

from scripts._build import LOCK, ROOT, bytecode_lock
from scripts._files import write_atomically


@click.command()
def cli() -> None:
    """Record the hash of each contract's creation code."""
    write_atomically(LOCK, bytecode_lock())
    click.echo(f"bytecode-lock: wrote {LOCK.relative_to(ROOT)}.")
