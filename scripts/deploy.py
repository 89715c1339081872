"""`ape run deploy`: puts the registries on a network, at the same addresses everywhere."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click
from ape.cli import account_option
from eth_utils.address import to_checksum_address
from rich.table import Table

from scripts._build import ROOT
from scripts._deployment.canonical import canonical_addresses, require_canonical
from scripts._deployment.command import NetworkCommand, chain_of, make_console
from scripts._deployment.errors import DeploymentError, explained
from scripts._deployment.execution import UNCOMMITTED, Outcome, State, execute, git_commit, survey, with_margin
from scripts._deployment.parameters import GIVEN, LIST, given_addresses, load_parameters, require_contracts
from scripts._deployment.plan import make_plan, require_locked
from scripts._deployment.records import Records
from scripts._deployment.wallet import Wallet
from scripts._explorer import use_explorer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ape.api import AccountAPI, ProviderAPI

    from scripts._deployment.live_chain import Chain
    from scripts._deployment.plan import PlannedContract

DEPLOYMENTS = ROOT / "deployments"


@click.command(cls=NetworkCommand)
@account_option()  # type: ignore[untyped-decorator]
@click.option("--yes", is_flag=True, help="Skip the confirmation and the prompt to sign.")
@click.option(
    "--parameters",
    type=click.Path(path_type=Path),
    default=DEPLOYMENTS / "parameters.yaml",
    help="The file of parameters, instead of deployments/parameters.yaml.",
)
@click.option(
    "--records",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEPLOYMENTS,
    help="The folder of records, instead of deployments/.",
)
@click.option(
    "--canonical",
    metavar="NAME=ADDRESS",
    multiple=True,
    help="The address of a canonical registry, instead of that in deployments/canonical.json.",
)
@click.option(
    "--given",
    "given_texts",
    metavar="NAME=ADDRESS",
    multiple=True,
    help="An address that the parameters ask for, such as attestor; several with commas for a list, such as tokens.",
)
@click.option("--timeout", type=float, default=600.0, show_default=True, help="Seconds to wait for a transaction.")
def cli(  # noqa: PLR0913, PLR0917  # as many as the user has options
    provider: ProviderAPI,
    account: AccountAPI,
    yes: bool,
    parameters: Path,
    records: Path,
    canonical: tuple[str, ...],
    given_texts: tuple[str, ...],
    timeout: float,
) -> None:
    """Deploy the registries, or find them in place.

    May be cut off at any point: what was deployed is on record, and the next run resumes.
    """
    console, store = make_console(), Records(records)
    if provider.network.is_fork and records == DEPLOYMENTS:
        raise DeploymentError(
            f"{provider.network.choice} is a fork: what is deployed to it is not on the chain whose id it has. "
            "Have it recorded elsewhere by --records."
        )
    with explained(f"The node of {provider.network.choice} fails"):
        use_explorer(provider.network, None)
        chain = chain_of(provider)
        entries = load_parameters(parameters)
        addresses = canonical_addresses(chain.chain_id, entries, canonical)
        others = given_addresses(entries, given_texts)
        console.print(f"Building {len(entries)} contracts and reading chain {chain.chain_id}, usually in 5 seconds …")
        plan = make_plan(entries, addresses | others)
        with store.locked(chain.chain_id):
            states = survey(chain, plan, store.load(chain.chain_id, chain.network))
            missing = [contract for contract in plan if states[contract.name] is State.MISSING]
            require_canonical(chain, missing, addresses)
            require_contracts(chain, others)
            console.print(plan_table(chain, plan, states))
            if others:
                console.print(given_table(chain, others))
            wallet = Wallet(account, chain.chain_id)
            if missing:
                if not provider.network.is_dev:
                    require_locked(missing)
                cost = chain.gas_price() * sum(contract.estimated_gas for contract in missing)
                limit = wallet.highest_fee() * sum(with_margin(contract.required_gas) for contract in missing)
                balance = chain.balance(account.address)
                costs = f"It costs about {ether(cost)}, at the highest fee {ether(limit)}"
                console.print(f"{costs}; {account.address} has {ether(balance)}.")
                if balance < limit:
                    raise DeploymentError(f"{account.address} cannot pay for it: it lacks {ether(limit - balance)}.")
                if not provider.network.is_dev and git_commit().endswith(UNCOMMITTED):
                    console.print("The sources have uncommitted changes: without these, nobody can verify contracts.")
                if not provider.network.is_dev and not yes:
                    click.confirm(f"Deploy to {chain.network} (chain {chain.chain_id})?", abort=True)
                console.print("Each contract usually takes one or two blocks.")
            if missing and yes:
                wallet.sign_unattended()
            outcomes = list(execute(chain, wallet, plan, store, timeout=timeout, tell=console.print))
    if missing:
        console.print(outcome_table(chain, outcomes))
        console.print(f"Paid {ether(sum(outcome.cost for outcome in outcomes))}.")
    else:
        console.print("Everything was in place, nothing was sent.")
    console.print(f"On record in {store.path(chain.chain_id)}.")


WEI = Decimal(10) ** 18


def ether(wei: int) -> str:
    """Show an amount.

    Args:
        wei: The amount in wei.

    Returns:
        It, in ether (or whatever the chain's coin is).
    """
    return f"{(wei / WEI).normalize():f} ETH"


def plan_table(chain: Chain, plan: Sequence[PlannedContract], states: Mapping[str, State]) -> Table:
    """Show what a deployment will do.

    Args:
        chain: The chain.
        plan: The plan.
        states: The state of each contract, by its name.

    Returns:
        A table, a row a contract.
    """
    table = Table(
        "contract", "address", "state", title=f"Plan for {chain.network} (chain {chain.chain_id})", title_justify="left"
    )
    table.add_column("gas, about", justify="right")
    for contract in plan:
        state = states[contract.name]
        gas = f"{contract.estimated_gas:,}" if state is State.MISSING else "0"
        table.add_row(contract.name, contract.address, state.value, gas)
    return table


def given_table(chain: Chain, addresses: Mapping[str, str | list[str]]) -> Table:
    """Show the addresses that a user gave: the holders of roles above all.

    Args:
        chain: The chain.
        addresses: The addresses by reference.

    Returns:
        A table, a row an address.
    """
    table = Table(
        "given", "address", "on this chain", title="Given addresses, final but for roles", title_justify="left"
    )
    for reference, value in addresses.items():
        for address in value if isinstance(value, list) else [value]:
            name = reference.removeprefix(GIVEN).removesuffix(LIST)
            kind = "a contract" if chain.code(to_checksum_address(address)) else "an account without code"
            table.add_row(name, address, kind)
    return table


def outcome_table(chain: Chain, outcomes: Iterable[Outcome]) -> Table:
    """Show what a deployment did.

    Args:
        chain: The chain.
        outcomes: The outcome for each contract.

    Returns:
        A table, a row a contract.
    """
    title = f"{chain.network} (chain {chain.chain_id})"
    table = Table("contract", "address", "result", "block", title=title, title_justify="left")
    for outcome in outcomes:
        block = outcome.record.block
        table.add_row(outcome.contract.name, outcome.record.address, outcome.state.value, f"{block or ''}")
    return table
