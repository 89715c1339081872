"""`bilateral deployment …`: the registries in use, as found on chain, and the packaged address book."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from bilateral.cli.columns import columns
from bilateral.cli.errors import ExitCode
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import command, make_group

if TYPE_CHECKING:
    from bilateral.client import RegistryReport

app = make_group("deployment")


@command(app)
def show(invocation: Invocation) -> None:
    """Inspect the registries on chain: their code, who can change it, and whether they use the same identity registry.

    The exit code is 8 if there is a problem.
    """
    from bilateral.cli.json_values import plain  # noqa: PLC0415  # slow to import

    with invocation.reading("Inspecting the registries") as client:
        report = client.inspect_deployment()
    deployment = report.deployment
    value = {
        "chain_id": deployment.chain_id,
        "deployment": invocation.choice_of(deployment),
        "first_agent_id": deployment.first_agent_id,
        "registries": plain(report.registries),
    }
    view = {
        "chain": deployment.chain_id,
        "deployment": invocation.choice_of(deployment),
        "first agent": str(deployment.first_agent_id),
        **{registry.registry: _view(registry) for registry in report.registries},
    }
    invocation.output.result(value, title="Deployment", view=view)
    if report.problems:
        raise typer.Exit(ExitCode.DEPLOYMENT)


@command(app, "list", is_local=True)
def list_deployments(invocation: Invocation) -> None:
    """List the chains in the packaged address book: those where the authors of ERC-8004 deployed, and Solana."""
    from bilateral.core.contracts.records import address_book, foreign_book  # noqa: PLC0415  # slow to import

    fields = columns(
        chain="chain_id",
        network="network",
        identity="contracts.IdentityRegistry.address",
        reputation="contracts.ReputationRegistry.address",
        validation="contracts.ValidationRegistry.address",
    )
    records = [address_book()[chain_id] for chain_id in sorted(address_book())]
    rows = [{label: read(record) for label, read in fields.items()} for record in records]
    for book in foreign_book().values():
        for name, program in book.registries.items():  # one program serves as both of its registries
            programs = {"identity": program, "reputation": program, "validation": None}
            rows.append({"chain": book.chain, "network": f"{book.network} ({name})", **programs})
    invocation.output.results(rows, columns(*fields))


def _view(report: RegistryReport) -> dict[str, Any]:
    return {
        "address": report.address,
        "origin": None if report.origin is None else str(report.origin),
        "version": report.version,
        "identity registry": report.identity_registry,
        "code": "a proxy: its owner can change it" if report.is_upgradable else "cannot change (not a proxy)",
        "implementation": report.implementation,
        "owner": report.owner,
        "problem": report.problem,
    }
