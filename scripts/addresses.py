"""`make addresses`: writes the addresses of all networks into README.md."""

from __future__ import annotations

import click

from scripts._build import ROOT
from scripts._deployment.address_table import with_addresses
from scripts._deployment.errors import DeploymentError
from scripts._deployment.records import Records
from scripts._files import write_atomically

README = ROOT / "README.md"


@click.command()
@click.option("--check", is_flag=True, help="Write nothing, but fail if the table is stale.")
def cli(check: bool) -> None:
    """Renew README's table of addresses from the records."""
    page = README.read_text()
    renewed = with_addresses(page, Records(ROOT / "deployments").load_all())
    if check and renewed != page:
        raise DeploymentError("README.md's addresses are stale: make addresses")
    if not check:
        write_atomically(README, renewed)


if __name__ == "__main__":
    cli()
