"""`bilateral info`: the node, the registries, and the account that commands use."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from bilateral.cli.invocation import Invocation
from bilateral.cli.options import command
from bilateral.core.errors import UnknownDeploymentError
from bilateral.core.values.currency import ether, symbol_of

if TYPE_CHECKING:
    from bilateral.core.contracts import Deployment
    from bilateral.node.steps import Operation


app = typer.Typer()


@command(app, signs=True)
def info(invocation: Invocation) -> None:
    """Show the chain, its latest block, the registries, and the signer with its balance."""
    from bilateral.core.contracts import REGISTRY_ATTRIBUTES  # noqa: PLC0415  # slow to import
    from bilateral.node import answers  # noqa: PLC0415

    address = invocation.signer.address if invocation.has_key else None
    with invocation.reading() as client:
        chain_id, block, balance = client.runner.run(_read(address))
        try:
            deployment: Deployment | None = client.get_deployment()
        except UnknownDeploymentError:
            deployment = None
    registries = {name: getattr(deployment, name, None) for name in REGISTRY_ATTRIBUTES}
    choice = None if deployment is None else invocation.choice_of(deployment)
    timestamp = datetime.fromtimestamp(answers.quantity(block["timestamp"]), UTC)
    value: dict[str, Any] = {
        "chain_id": chain_id,
        "block": {"number": answers.quantity(block["number"]), "time": timestamp},
        "deployment": choice,
        "registries": registries if deployment else None,
        "signer": address,
        "balance_wei": None if balance is None else str(balance),
    }
    view = {
        "chain": chain_id,
        "block": f"{value['block']['number']} ({timestamp:%Y-%m-%d %H:%M:%S} UTC)",
        "deployment": choice,
        "registries": value["registries"] or "unknown: pass a deployment record as --deployment",
        "signer": address or "none: choose a keystore with --account",
        "balance": None if balance is None else f"{ether(balance)} {symbol_of(chain_id)}",
    }
    invocation.output.result(value, title="Network", view=view)


def _read(address: str | None) -> Operation[tuple[int, Any, int | None]]:
    from bilateral.node import answers  # noqa: PLC0415  # slow to import
    from bilateral.node.steps import Rpc  # noqa: PLC0415

    chain_id = answers.quantity((yield Rpc("eth_chainId")))
    block = yield Rpc("eth_getBlockByNumber", ("latest", False))
    balance = answers.quantity((yield Rpc("eth_getBalance", (address, "latest")))) if address else None
    return chain_id, block, balance
