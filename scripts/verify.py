"""`ape run verify`: publishes the sources of recorded contracts at the chain's block explorer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from scripts._build import ROOT
from scripts._deployment.command import NetworkCommand, chain_of, make_console
from scripts._deployment.errors import DeploymentError, explained
from scripts._deployment.records import ContractRecord, Records
from scripts._deployment.verification import Publication, RejectionError, open_explorer, rebuild

if TYPE_CHECKING:
    from ape.api import ProviderAPI

    from scripts._deployment.live_chain import Chain


@click.command(cls=NetworkCommand)
@click.option(
    "--records",
    type=click.Path(path_type=Path, file_okay=False),
    default=ROOT / "deployments",
    help="The folder of records, instead of deployments/.",
)
@click.option("--timeout", type=float, default=300.0, show_default=True, help="Seconds to wait for each verdict.")
@click.option(
    "--explorer",
    "explorer_url",
    metavar="URL",
    help="Another explorer with Etherscan's API, such as that of `ape run explorer`.",
)
def cli(provider: ProviderAPI, records: Path, timeout: float, explorer_url: str | None) -> None:
    """Publish and verify each contract that is on record for the network, and record that it is verified."""
    console, store, rejections = make_console(), Records(records), []
    with explained(f"The node of {provider.network.choice} fails"):
        chain = chain_of(provider)
        with store.locked(chain.chain_id):
            record = store.load(chain.chain_id, chain.network)
            if not record.contracts:
                raise DeploymentError(f"Nothing is on record for chain {chain.chain_id}: ape run deploy")
            console.print("Publishing what is on record; a verdict usually takes 10 to 60 seconds for each contract.")
            explorer = open_explorer(provider.network, explorer_url)
            for name, entry in sorted(record.contracts.items()):
                if not entry.verified:
                    _require_on_chain(chain, name, entry)
                    publication = Publication(rebuild(name, entry), explorer, timeout, console.print)
                    try:
                        entry.explorer = publication.run()
                    except RejectionError as rejection:
                        console.print(rejection.message)
                        rejections.append(name)
                        continue
                    entry.verified = True
                    store.save(record)
                console.print(f"{name}: verified, {entry.explorer}")
    if rejections:
        raise DeploymentError(f"Not verified: {', '.join(rejections)}.")


def _require_on_chain(chain: Chain, name: str, entry: ContractRecord) -> None:
    code = chain.code(to_checksum_address(entry.address))
    if f"0x{keccak(code).hex()}" != entry.code_hash:
        raise DeploymentError(f"{name}: what is at {entry.address} on chain {chain.chain_id} is not what is on record.")
